//! Output schemas for a tool list that models pay for: derived from the types, then made small and portable.
//!
//! What is kept: names, types, words to choose from, what is required. What goes: prose, references, formats that only
//! Rust knows (`uint64`), and the inside of objects within objects. `kennel schema NAME` prints all of it.

use rmcp::model::JsonObject;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// How deep objects are described.
const DEPTH_MAX: usize = 1;

/// The schema of a result, small.
pub(crate) fn of<T: JsonSchema>() -> JsonObject {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let root = schema.to_value();
    let definitions = root.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    match small(&root, &definitions, 0) {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// The same for a tool that, when it fails, has nothing but `key` and why.
pub(crate) fn or_error<T: JsonSchema>(key: &str) -> JsonObject {
    let mut schema = of::<T>();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("success".to_owned(), json!({"type": "boolean"}));
        properties.insert("error".to_owned(), json!({"type": "string"}));
    }
    schema.insert("required".to_owned(), json!([key]));
    schema
}

fn small(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Value {
    let Some(object) = schema.as_object() else { return json!({}) };
    if let Some(name) = object.get("$ref").and_then(Value::as_str) {
        let target = definitions.get(name.trim_start_matches("#/$defs/"));
        return target.map_or_else(|| json!({}), |target| small(target, definitions, depth));
    }
    for words in ["anyOf", "oneOf"] {
        if let Some(choices) = object.get(words).and_then(Value::as_array) {
            return choice(choices, definitions, depth);
        }
    }
    let mut out = Map::new();
    if let Some(kind) = object.get("type") {
        out.insert("type".to_owned(), not_null(kind));
    }
    if let Some(words) = object.get("enum") {
        out.insert("enum".to_owned(), words.clone());
    }
    if let Some(items) = object.get("items") {
        out.insert("items".to_owned(), small(items, definitions, depth + 1));
    }
    if let Some(properties) =
        object.get("properties").and_then(Value::as_object).filter(|_| depth < DEPTH_MAX)
    {
        let inside =
            properties.iter().map(|(name, value)| (name.clone(), small(value, definitions, depth + 1)));
        out.insert("properties".to_owned(), inside.collect::<Map<_, _>>().into());
        if depth == 0
            && let Some(required) = object.get("required")
        {
            out.insert("required".to_owned(), required.clone());
        }
    }
    Value::Object(out)
}

/// `X or null` is X, for what is left out when there is none; words are an enum; anything else is an object.
fn choice(choices: &[Value], definitions: &Map<String, Value>, depth: usize) -> Value {
    let real: Vec<&Value> =
        choices.iter().filter(|choice| choice.get("type") != Some(&"null".into())).collect();
    if let [one] = real.as_slice() {
        return small(one, definitions, depth);
    }
    let words: Option<Vec<&Value>> = real.iter().map(|choice| choice.get("const")).collect();
    match words {
        Some(words) => json!({"type": "string", "enum": words}),
        None => json!({"type": "object"}),
    }
}

fn not_null(kind: &Value) -> Value {
    match kind.as_array().map(Vec::as_slice) {
        Some([one, null]) if *null == "null" => one.clone(),
        _ => kind.clone(),
    }
}
