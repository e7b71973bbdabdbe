//! Forms of JSON Schemas that several tables of files share.

use schemars::Schema;
use schemars::transform::Transform;
use serde_json::{Value, json};

/// Schema of a table whose keys are described with their defaults in words: no key has a `default`, except for some.
#[derive(Clone, Copy, Debug)]
pub struct DefaultsInWords {
    /// Keys that have a `default`.
    pub except: &'static [&'static str],
}

impl Transform for DefaultsInWords {
    fn transform(&mut self, schema: &mut Schema) {
        let keys = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (key, schema) in keys.into_iter().flatten() {
            let Some(schema) = schema.as_object_mut() else { continue };
            if self.except.contains(&key.as_str()) {
                continue;
            }
            schema.remove("default");
            // A reference beside other words is read by all tools if it is a choice of one.
            if let Some(reference) = schema.remove("$ref") {
                schema.insert("anyOf".into(), json!([{ "$ref": reference }]));
            }
        }
    }
}
