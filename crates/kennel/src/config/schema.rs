//! The shape of a file, for editors.

use schemars::{Schema, schema_for};

use super::settings::Said;

/// The JSON Schema of a configuration file: the settings and the tables of rules.
pub fn config_schema() -> Schema {
    let (mut schema, rules) = (schema_for!(Said), policy::config_schema());
    for part in ["properties", "$defs"] {
        let more = rules.get(part).and_then(|part| part.as_object()).cloned().unwrap_or_default();
        let object = schema.ensure_object().entry(part).or_insert_with(|| serde_json::json!({}));
        if let Some(object) = object.as_object_mut() {
            object.extend(more);
        }
    }
    schema.insert("title".to_owned(), "kennel.toml".into());
    schema
}
