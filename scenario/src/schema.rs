//! JSON Schema of TOML files, from the types that read them.

use schemars::JsonSchema;
use schemars::transform::{RecursiveTransform, Transform};

use super::ScenarioKeys;

/// Returns the JSON Schema of a scenario file, for editors: `xoff schema`.
pub fn json_schema() -> serde_json::Value {
    schema_of::<ScenarioKeys>()
}

/// Returns the JSON Schema of a TOML file's keys.
pub fn schema_of<Keys: JsonSchema>() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Keys);
    RecursiveTransform(without_null).transform(&mut schema);
    schema.to_value()
}

/// Removes the defaults of keys that are tables: the keys of these tables have defaults.
pub fn without_default_tables(schema: &mut schemars::Schema) {
    let keys = schema.get_mut("properties").and_then(|keys| keys.as_object_mut());
    for schema in keys.into_iter().flat_map(|keys| keys.values_mut()) {
        if schema["default"].is_object()
            && let Some(schema) = schema.as_object_mut()
        {
            schema.remove("default");
        }
    }
}

/// Keeps a default out of the schema, because the key's description has it: `#[schemars(skip_serializing_if = "in_words")]`.
pub fn in_words<T>(_: &T) -> bool {
    true
}

/// Removes null values: TOML has none, and a key without a value is omitted.
fn without_null(schema: &mut schemars::Schema) {
    let is_null = |value: &serde_json::Value| value == "null" || value["type"] == "null";
    if schema.get("default").is_some_and(serde_json::Value::is_null) {
        schema.remove("default");
    }
    if let Some(types) = schema.get_mut("type").and_then(|types| types.as_array_mut()) {
        types.retain(|name| !is_null(name));
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(choices) = schema.get_mut("anyOf").and_then(|choices| choices.as_array_mut()) {
        choices.retain(|choice| !is_null(choice));
    }
}
