//! A section of a JSON Schema, as text.

mod markdown;

use std::collections::BTreeSet;
use std::fmt::Write;

pub use markdown::markdown;
use scenario::document::suggestion;
use serde_json::{Map, Value};

/// Key of a table that selects its kind.
const TAG: &str = "kind";
/// Characters per line.
const WIDTH: usize = 100;
const INDENT: &str = "    ";
const WRITES: &str = "a String takes every write";

/// A table of a file, or a key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Schema of the whole file.
    root: &'a Value,
    schema: &'a Value,
}

impl<'a> Section<'a> {
    /// Returns the section at a path of keys, kinds and list positions. An error has a title and a help text.
    pub fn find(root: &'a Value, path: &str) -> Result<Self, (String, String)> {
        let whole = Self { root, schema: root };
        path.split('.').try_fold(whole, |section, step| {
            section.inner(step).ok_or_else(|| {
                let names = section.steps();
                let help = suggestion(step, "the keys here are", names.iter().map(String::as_str));
                (format!("a file has no section `{path}`: there is no `{step}`"), help)
            })
        })
    }

    /// The section as a JSON Schema of its own: with the definitions that it refers to, and those that they refer to.
    pub fn json(&self) -> Value {
        let mut names = BTreeSet::new();
        let mut found = vec![self.schema];
        while let Some(schema) = found.pop() {
            for name in references(schema) {
                if names.insert(name) {
                    found.push(&self.root["$defs"][name]);
                }
            }
        }
        let mut schema = self.schema.clone();
        let definition = |name: &str| (name.to_owned(), self.root["$defs"][name].clone());
        let definitions: Map<String, Value> = names.into_iter().map(definition).collect();
        if let Value::Object(keys) = &mut schema
            && !definitions.is_empty()
        {
            keys.insert("$defs".to_owned(), definitions.into());
        }
        schema
    }

    /// Returns the section as text; `path` is its name.
    pub fn text(&self, path: &str) -> String {
        let mut text = format!("{path}: {}\n", self.shape());
        wrap(&mut text, &self.description(), "");
        let tables = self.tables();
        for table in &tables {
            if let Some(kind) = table.kind() {
                write!(text, "\n{TAG} = \"{kind}\"\n").expect(WRITES);
                if tables.len() > 1 {
                    wrap(&mut text, &table.description(), INDENT);
                }
            }
            for (key, value) in table.properties().filter(|(key, _)| *key != TAG) {
                write!(text, "\n{key}: {}\n", value.shape()).expect(WRITES);
                wrap(&mut text, &value.description(), INDENT);
            }
        }
        text
    }

    const fn with_schema(&self, schema: &'a Value) -> Self {
        Self { root: self.root, schema }
    }

    /// Resolves a reference to its schema.
    fn referred(&self) -> Self {
        let name = |schema: &'a Value| schema["$ref"].as_str()?.strip_prefix("#/$defs/");
        match name(self.schema) {
            Some(name) => self.with_schema(&self.root["$defs"][name]).referred(),
            None => *self,
        }
    }

    /// Returns the value itself, or its alternatives.
    fn choices(&self) -> Vec<Self> {
        let referred = self.referred();
        let lists = ["oneOf", "anyOf"].map(|key| referred.schema[key].as_array());
        match lists.into_iter().flatten().next() {
            Some(list) => {
                list.iter().flat_map(|choice| self.with_schema(choice).choices()).collect()
            }
            None => vec![referred],
        }
    }

    /// Returns the tables that a value, or an entry of it, may be.
    fn tables(&self) -> Vec<Self> {
        let tables = self.choices().into_iter().flat_map(|choice| match &choice.schema["items"] {
            items if items.is_object() => choice.with_schema(items).tables(),
            _ if choice.schema["properties"].is_object() => vec![choice],
            _ => Vec::new(),
        });
        tables.collect()
    }

    fn kind(&self) -> Option<&'a str> {
        self.schema["properties"][TAG]["const"].as_str()
    }

    fn properties(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        properties.map(|(key, schema)| (key.as_str(), self.with_schema(schema)))
    }

    /// Returns the names that may follow in a path.
    fn steps(&self) -> Vec<String> {
        let tables = self.tables();
        let kinds = tables.iter().filter_map(Self::kind);
        let keys = tables.iter().flat_map(Self::properties).map(|(key, _)| key);
        let mut names: Vec<String> = kinds.chain(keys).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn inner(&self, step: &str) -> Option<Self> {
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.choices().into_iter().find(|it| it.schema["items"].is_object());
        }
        let tables = self.tables();
        let key = || tables.iter().flat_map(Self::properties).find(|(key, _)| *key == step);
        let kind = tables.iter().find(|table| table.kind() == Some(step));
        kind.copied().or_else(|| key().map(|(_, section)| section))
    }

    /// Returns the description of a key, or else of the schema that it refers to.
    fn description(&self) -> String {
        let own = self.schema["description"].as_str();
        let text = own.or_else(|| self.referred().schema["description"].as_str());
        text.unwrap_or_default().to_owned()
    }

    /// Describes the shape of a value in a few words.
    fn shape(&self) -> String {
        let mut shapes: Vec<String> = Vec::new();
        for choice in self.choices() {
            let shape = choice.own_shape();
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        match shapes.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => "anything".to_owned(),
        }
    }

    fn own_shape(&self) -> String {
        let schema = self.schema;
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        }
        if let Some(example) = schema["examples"].get(0).filter(|_| schema["type"] == "string") {
            return format!("a text such as {example}");
        }
        let bounds = [("minimum", "from "), ("exclusiveMinimum", "above "), ("maximum", "to ")];
        let bounds = bounds
            .iter()
            .filter_map(|(key, word)| schema.get(*key).map(|bound| format!(" {word}{bound}")));
        match schema["type"].as_str() {
            Some("integer") => format!("a whole number{}", bounds.collect::<String>()),
            Some("number") => format!("a number{}", bounds.collect::<String>()),
            Some("boolean") => "true or false".to_owned(),
            Some("array") if schema["items"].is_object() => {
                format!("a list, of which each is {}", self.with_schema(&schema["items"]).shape())
            }
            Some("array") => "a list".to_owned(),
            Some("object") => "a table".to_owned(),
            _ => "a text".to_owned(),
        }
    }
}

/// The names of the definitions that a schema refers to, at any depth.
fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(keys) => {
            let own = keys.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|name| name.strip_prefix("#/$defs/"));
            own.into_iter().chain(keys.values().flat_map(references)).collect()
        }
        Value::Array(values) => values.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Appends a text, wrapped into lines.
fn wrap(out: &mut String, text: &str, indent: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.len() + 1 + word.len() > WIDTH {
            writeln!(out, "{indent}{line}").expect(WRITES);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    if !line.is_empty() {
        writeln!(out, "{indent}{line}").expect(WRITES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_keys_with_what_they_say() {
        let schema = scenario::json_schema();
        let text = |path: &str| Section::find(&schema, path).expect(path).text(path);
        let ecn = text("switch.ecn");
        for words in
            ["switch.ecn: a table\n", "\npriorities: a list", "\nkmin: a text such as \"200kB\"\n"]
        {
            assert!(ecn.contains(words), "{words}: {ecn}");
        }
        assert!(ecn.lines().all(|line| line.len() <= WIDTH), "{ecn}");
        let transport = text("host.transport");
        assert!(transport.contains("\nkind = \"tcp\"\n"), "{transport}");
        assert!(!text("host.transport.tcp").contains("roce-rc"));
        assert!(text("flows.0.poisson.load").starts_with("flows.0.poisson.load: "));
    }

    #[test]
    fn every_key_can_be_looked_up() {
        fn walk(section: Section<'_>, path: &str, depth: usize) -> usize {
            // The first line is the path and the shape.
            assert!(!section.description().is_empty(), "{path} has no description");
            assert!(section.text(path).lines().count() > 1, "{path}");
            if depth == 4 {
                return 1;
            }
            // What a kind is for stands at the table of that kind.
            let steps = section.steps().into_iter().filter(|step| step != TAG);
            let inner = steps.map(|step| {
                let inner = section.inner(&step).unwrap_or_else(|| panic!("{path}.{step}"));
                walk(inner, &format!("{path}.{step}"), depth + 1)
            });
            1 + inner.sum::<usize>()
        }
        for schema in [scenario::json_schema(), sweep::json_schema()] {
            let whole = Section { root: &schema, schema: &schema };
            assert!(walk(whole, "", 0) > 10);
        }
    }

    #[test]
    fn a_section_in_json_has_all_that_it_refers_to() {
        for (schema, path) in [
            (scenario::json_schema(), "switch.ecn"),
            (scenario::json_schema(), "host.transport"),
            (scenario::json_schema(), "flows.0.poisson"),
            (sweep::json_schema(), "axes"),
        ] {
            let section = Section::find(&schema, path).expect(path).json();
            assert!(!references(&section).is_empty() || path == "axes", "{path}: {section:#}");
            for name in references(&section) {
                assert!(section["$defs"][name].is_object(), "{path}: {name}");
                assert_eq!(section["$defs"][name], schema["$defs"][name], "{path}: {name}");
            }
            // No more than that.
            let all = section["$defs"].as_object().map_or(0, Map::len);
            assert!(all < schema["$defs"].as_object().map_or(usize::MAX, Map::len), "{path}");
        }
    }

    #[test]
    fn an_unknown_section_is_refused_with_the_ones_that_there_are() {
        let schema = scenario::json_schema();
        let (title, help) = Section::find(&schema, "switch.enc").unwrap_err();
        assert_eq!(title, "a file has no section `switch.enc`: there is no `enc`");
        assert!(help.starts_with("did you mean `ecn`? the keys here are "), "{help}");
    }
}
