//! Differences between two scenarios, key by key.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use toml::{Table, Value};

/// A key with different values in two scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The key, such as `switch.buffer` or `faults.0.wire`.
    pub key: String,
    /// Value in the old scenario, as TOML; `None` if it lacks the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// Value in the new scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, old, new } = self;
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "(nothing)".to_owned());
        write!(f, "{key}: {} -> {}", text(old), text(new))
    }
}

/// Returns the differences of the scenario `new` from `old`, by keys. Both are resolved, so that defaults are written
/// out.
pub fn between(old: &str, new: &str) -> Result<Vec<Change>, toml::de::Error> {
    let flat = |text: &str| {
        let mut values = BTreeMap::new();
        flatten("", &Value::Table(text.parse::<Table>()?), &mut values);
        Ok::<_, toml::de::Error>(values)
    };
    let (old, new) = (flat(old)?, flat(new)?);
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let change = |key: &String| {
        let (old, new) = (old.get(key).cloned(), new.get(key).cloned());
        (old != new).then(|| Change { key: key.clone(), old, new })
    };
    let mut changes: Vec<Change> = keys.filter_map(change).collect();
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(changes)
}

/// Flattens tables to paths of keys. A list of tables has its indices as keys.
fn flatten(path: &str, value: &Value, values: &mut BTreeMap<String, String>) {
    let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Table(table) if !table.is_empty() => {
            table.iter().for_each(|(key, value)| flatten(&inner(key), value, values));
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            (0..).zip(list).for_each(|(place, value)| {
                flatten(&inner(&i32::to_string(&place)), value, values);
            });
        }
        value => {
            values.insert(path.to_owned(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_are_named_with_both_values() {
        let old = "name = \"a\"\nseed = 1\n[switch]\nbuffer = \"1MB\"\nlossless = [3]\n[[flows]]\nbytes = \"1kB\"\n";
        let new = "name = \"a\"\n[switch]\nbuffer = \"2MB\"\nlossless = [3, 4]\n[[flows]]\nbytes = \"1kB\"\n[[flows]]\nbytes = \"2kB\"\n";
        let changes = between(old, new).unwrap();
        let lines: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "flows.1.bytes: (nothing) -> \"2kB\"",
                "seed: 1 -> (nothing)",
                "switch.buffer: \"1MB\" -> \"2MB\"",
                "switch.lossless: [3] -> [3, 4]",
            ]
        );
        assert_eq!(between(old, old), Ok(Vec::new()));
        assert!(between("x", old).is_err());
    }
}
