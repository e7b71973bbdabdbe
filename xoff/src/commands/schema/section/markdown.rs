//! All keys of a file as Markdown, a heading for each table.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use serde_json::Value;

use super::{Section, TAG, WRITES};

/// Markdown of a file's keys. A table that several keys share is described where it comes first.
pub fn markdown(schema: &Value) -> String {
    let whole = Section { root: schema, schema };
    let mut text = String::new();
    let mut waiting = VecDeque::from([(String::new(), whole)]);
    let mut described = BTreeSet::new();
    while let Some((path, section)) = waiting.pop_front() {
        let name = if path.is_empty() { "Top level".to_owned() } else { format!("`{path}`") };
        write!(text, "\n## {name}\n\n{}\n", section.description()).expect(WRITES);
        for table in section.tables() {
            let kind = table.kind();
            if let Some(kind) = kind {
                write!(text, "\n`{TAG} = \"{kind}\"`: {}\n", table.description()).expect(WRITES);
            }
            let step = kind.filter(|_| !path.is_empty()).map(|kind| format!(".{kind}"));
            let path = format!("{path}{}", step.unwrap_or_default());
            let keys: Vec<_> = table.properties().filter(|(key, _)| *key != TAG).collect();
            if !keys.is_empty() {
                text.push_str("\n| key | value | meaning |\n| --- | --- | --- |\n");
            }
            for (key, value) in keys {
                let [shape, about] = [value.shape(), value.description()]
                    .map(|it| it.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;"));
                writeln!(text, "| `{key}` | {shape} | {about} |").expect(WRITES);
                let inner = value.tables();
                if inner.first().is_some_and(|it| described.insert(std::ptr::from_ref(it.schema))) {
                    let path =
                        if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                    waiting.push_back((path, value));
                }
            }
        }
    }
    text
}
