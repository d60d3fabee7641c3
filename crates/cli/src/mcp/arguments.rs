//! The arguments of a call, read field by field. What is wrong with one is said by its name.
//!
//! Models write `"5000"` for 5000 and `null` for nothing; both are understood. A name that no tool has is told to the
//! caller instead of being dropped in silence.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::answer::Refusal;

/// What is left of a call's arguments.
#[derive(Debug)]
pub(crate) struct Arguments {
    left: JsonObject,
}

impl Arguments {
    pub(crate) fn new(given: Option<JsonObject>) -> Self {
        Self { left: given.unwrap_or_default() }
    }

    /// The first of these names that has a value, with that value. All of them count as known.
    fn take(&mut self, names: &[&'static str]) -> Option<(&'static str, Value)> {
        let mut found = None;
        for name in names {
            let value = self.left.shift_remove(*name).filter(|value| !value.is_null());
            found = found.or_else(|| value.map(|value| (*name, value)));
        }
        found
    }

    /// A text.
    pub(crate) fn text(&mut self, names: &[&'static str]) -> Result<Option<String>, Refusal> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            // An id that is all digits may come as a number.
            Some((_, Value::Number(number))) => Ok(Some(number.to_string())),
            Some((name, other)) => Err(wrong(name, &other, "a string")),
        }
    }

    /// A text that must be there.
    pub(crate) fn required_text(&mut self, names: &[&'static str]) -> Result<String, Refusal> {
        let name = names.first().copied().unwrap_or_default();
        self.text(names)?.ok_or_else(|| {
            Refusal::argument(name, format!("`{name}` is missing"), format!("give `{name}`, a string"))
        })
    }

    /// A whole number, zero or more.
    pub(crate) fn number(&mut self, names: &[&'static str]) -> Result<Option<u64>, Refusal> {
        let Some((name, value)) = self.take(names) else { return Ok(None) };
        let read = match &value {
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        read.map(Some).ok_or_else(|| wrong(name, &value, "a whole number, zero or more"))
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self, names: &[&'static str]) -> Result<Option<bool>, Refusal> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(flag)),
            Some((name, Value::String(text))) => match text.as_str() {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(wrong(name, &Value::String(text), "true or false")),
            },
            Some((name, other)) => Err(wrong(name, &other, "true or false")),
        }
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        names: &[&'static str],
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Refusal> {
        let Some((name, value)) = self.take(names) else { return Ok(None) };
        let chosen = value.as_str().and_then(|text| choices.iter().find(|(word, _)| *word == text));
        chosen.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            wrong(name, &value, &format!("one of {}", words.join(", ")))
        })
    }

    /// An object of texts: an environment.
    pub(crate) fn variables(&mut self, name: &'static str) -> Result<Vec<(String, String)>, Refusal> {
        match self.take(&[name]) {
            None => Ok(Vec::new()),
            Some((_, Value::Object(map))) => map
                .into_iter()
                .map(|(key, value)| match value {
                    Value::String(text) => Ok((key, text)),
                    Value::Number(_) | Value::Bool(_) => Ok((key, value.to_string())),
                    other => Err(wrong(name, &other, &format!("a string as the value of {key:?}"))),
                })
                .collect(),
            Some((name, other)) => Err(wrong(name, &other, "an object of strings, as {\"NAME\": \"value\"}")),
        }
    }

    /// A value of any shape.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.take(&[name]).map(|(_, value)| value)
    }

    /// The names that nobody asked for.
    pub(crate) fn unknown(&self) -> Vec<String> {
        self.left.keys().cloned().collect()
    }
}

/// A number that a client wrote with a decimal point.
fn whole(number: f64) -> Option<u64> {
    let fits = number >= 0.0 && number.fract() == 0.0 && number <= 9e15;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked on the line above")]
    fits.then_some(number as u64)
}

fn wrong(name: &str, value: &Value, wanted: &str) -> Refusal {
    let shown: String = value.to_string().chars().take(80).collect();
    Refusal::argument(name, format!("`{name}` is {shown}"), format!("`{name}` must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: impl Into<Value>) -> Arguments {
        Arguments::new(value.into().as_object().cloned())
    }

    #[test]
    fn numbers_come_in_all_the_ways_that_models_write_them() {
        for (value, wanted) in [(json!(5), 5), (json!(5.0), 5), (json!("5"), 5), (json!(" 7 "), 7)] {
            assert_eq!(arguments(json!({"timeout": value})).number(&["timeout"]).unwrap(), Some(wanted));
        }
        assert_eq!(arguments(json!({"timeout": null})).number(&["timeout"]).unwrap(), None);
        for value in [json!(-1), json!(1.5), json!("soon"), json!([1])] {
            let refusal = arguments(json!({"timeout": value})).number(&["timeout"]).unwrap_err();
            assert!(refusal.text().contains("`timeout`"), "{}", refusal.text());
        }
    }

    #[test]
    fn the_first_name_with_a_value_counts_and_the_others_are_known() {
        let mut given = arguments(json!({"bash_id": "a", "shell_id": null, "task_id": "b", "colour": 1}));
        assert_eq!(given.required_text(&["shell_id", "bash_id", "task_id"]).unwrap(), "a");
        assert_eq!(given.unknown(), ["colour"]);
        let refusal = arguments(json!({})).required_text(&["command"]).unwrap_err();
        assert!(refusal.text().contains("`command` is missing"));
    }

    #[test]
    fn an_environment_is_an_object_of_texts() {
        let read = arguments(json!({"env": {"A": "1", "B": 2}})).variables("env").unwrap();
        assert_eq!(read, [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "2".to_owned())]);
        assert!(arguments(json!({"env": ["A=1"]})).variables("env").is_err());
        assert!(arguments(json!({"env": {"A": [1]}})).variables("env").is_err());
    }
}
