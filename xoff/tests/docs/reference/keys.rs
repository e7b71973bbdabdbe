//! Keys of a TOML file as Markdown, from its JSON Schema.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use serde_json::Value;

/// A section for each table of keys, in the order in which the schema reaches them.
pub fn markdown(schema: &Value) -> String {
    let mut pages = Pages { schema, waiting: VecDeque::new(), seen: BTreeSet::new() };
    let mut text = String::from(
        "A value in the column `value` is one of the alternatives between bars. A key without `needed` may be left out.\n",
    );
    pages.section(&mut text, "Top level", schema);
    while let Some((path, name)) = pages.waiting.pop_front() {
        let table = &schema["$defs"][&name];
        pages.section(&mut text, &format!("`{path}`"), table);
    }
    text
}

struct Pages<'a> {
    schema: &'a Value,
    /// Tables to describe: path of their first use, and name of their definition.
    waiting: VecDeque<(String, String)>,
    seen: BTreeSet<String>,
}

impl Pages<'_> {
    fn section(&mut self, text: &mut String, title: &str, table: &Value) {
        let path = title.trim_matches('`').to_owned();
        let path = if path == "Top level" { String::new() } else { format!("{path}.") };
        write!(text, "\n## {title}\n\n{}\n", description(table)).expect("a String grows");
        if table.get("properties").is_some() {
            self.rows(text, &path, table);
        }
        for variant in alternatives(table) {
            let variant = self.resolved(variant).clone();
            let Some(properties) = variant["properties"].as_object() else { continue };
            let chosen = properties.iter().find_map(|(key, value)| {
                let name = value.get("const").or_else(|| value["enum"].get(0))?;
                Some(format!("{key} = {name}"))
            });
            let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
            let chosen = chosen.unwrap_or_else(|| format!("with {}", keys.join(", ")));
            write!(text, "\n### {}{chosen}\n\n{}\n", path, description(&variant))
                .expect("a String grows");
            self.rows(text, &path, &variant);
        }
    }

    fn rows(&mut self, text: &mut String, path: &str, table: &Value) {
        let Some(properties) = table["properties"].as_object() else { return };
        let needed: BTreeSet<&str> =
            table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        text.push_str("\n| key | value | meaning |\n| --- | --- | --- |\n");
        for (key, value) in properties {
            if value.get("const").is_some() {
                continue;
            }
            let shape = self.shape(&format!("{path}{key}"), value);
            let need = if needed.contains(key.as_str()) { "needed; " } else { "" };
            let about = description(value).replace('\n', " ").replace('|', "\\|");
            writeln!(text, "| `{key}` | {need}{} | {about} |", shape.replace('|', "\\|"))
                .expect("a String grows");
        }
    }

    fn resolved<'b>(&'b self, value: &'b Value) -> &'b Value {
        match name_of(value) {
            Some(name) => &self.schema["$defs"][name],
            None => value,
        }
    }

    /// Shape of a value in a few words. Tables get a section of their own.
    fn shape(&mut self, path: &str, value: &Value) -> String {
        if let Some(name) = name_of(value) {
            let target = self.schema["$defs"][name].clone();
            if is_table(&target) || alternatives(&target).iter().any(|it| is_table(self.resolved(it))) {
                if self.seen.insert(name.to_owned()) {
                    self.waiting.push_back((path.to_owned(), name.to_owned()));
                    return format!("table, see `{path}`");
                }
                let kind = name.trim_end_matches(|it: char| it.is_ascii_digit());
                return format!("table of {}", kind.trim_end_matches("Keys"));
            }
            return self.shape(path, &target);
        }
        if let Some(name) = value.get("const") {
            return format!("`{name}`");
        }
        if let Some(names) = value["enum"].as_array() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            return names.join(" | ");
        }
        let several = alternatives(value);
        if !several.is_empty() {
            let mut shapes: Vec<String> = several.iter().map(|it| self.shape(path, it)).collect();
            shapes.dedup();
            return shapes.join(" | ");
        }
        if let Some(examples) = value["examples"].as_array() {
            let example = examples.first().map(ToString::to_string).unwrap_or_default();
            return format!("such as `{example}`");
        }
        let bounds = match (value.get("minimum"), value.get("maximum")) {
            (Some(least), Some(most)) => format!(", {least} to {most}"),
            (Some(least), None) => format!(", at least {least}"),
            (None, Some(most)) => format!(", at most {most}"),
            (None, None) => String::new(),
        };
        match value["type"].as_str() {
            Some("array") => format!("list: {}", self.shape(path, &value["items"])),
            Some("integer") => format!("integer{bounds}"),
            Some("number") => format!("number{bounds}"),
            Some("boolean") => "`true` | `false`".to_owned(),
            Some("string") => "text".to_owned(),
            Some("object") => "table".to_owned(),
            _ => "text, number or truth".to_owned(),
        }
    }
}

fn alternatives(value: &Value) -> Vec<&Value> {
    let several = value.get("oneOf").or_else(|| value.get("anyOf"));
    several.and_then(Value::as_array).map(|it| it.iter().collect()).unwrap_or_default()
}

/// Name of the definition that a value refers to.
fn name_of(value: &Value) -> Option<&str> {
    let only = match alternatives(value)[..] {
        [only] => only,
        _ => value,
    };
    only["$ref"].as_str()?.strip_prefix("#/$defs/")
}

fn is_table(value: &Value) -> bool {
    value.get("properties").is_some()
}

fn description(value: &Value) -> &str {
    value["description"].as_str().unwrap_or_default()
}
