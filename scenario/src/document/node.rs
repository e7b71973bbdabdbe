//! Nodes of a document's tree.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{Origin, Source, TAG};

/// A value, its path in the tree and its place in the source.
#[derive(Clone, Debug)]
pub struct Node {
    /// Path with dots and array indices, such as `flows.0.bytes`; empty for the root.
    pub(crate) path: String,
    /// Place of the value in the source.
    pub origin: Origin,
    /// The value.
    pub value: Value,
}

/// TOML value; dates are texts.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text in quotes.
    Text(String),
    /// Whole number.
    Integer(i128),
    /// Number with a point or an exponent.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// List in square brackets, or tables of one name.
    Array(Vec<Node>),
    /// Table, with its keys in the order of the file.
    Table(Vec<Entry>),
}

/// Key of a table and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Place of the key in the source.
    pub key_origin: Origin,
    /// The value.
    pub node: Node,
}

impl Entry {
    /// Returns an entry that gives the default kind of the table at `path`.
    pub(crate) fn tag(kind: &str, path: &str, origin: Origin) -> Self {
        let path = child_path(path, TAG);
        let node = Node { path, origin: origin.clone(), value: Value::Text(kind.to_owned()) };
        Self { key: TAG.to_owned(), key_origin: origin, node }
    }
}

impl Node {
    /// Describes the value in words, for messages.
    pub fn described(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("the text \"{text}\""),
            Value::Integer(number) => format!("the number {number}"),
            Value::Float(number) => format!("the number {number}"),
            Value::Boolean(value) => format!("{value}"),
            Value::Array(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }

    /// Returns the value as TOML on one line.
    pub(crate) fn inline(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("{text:?}"),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Boolean(value) => value.to_string(),
            Value::Array(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(Self::inline).collect();
                format!("[{}]", nodes.join(", "))
            }
            Value::Table(entries) if entries.is_empty() => "{}".into(),
            Value::Table(entries) => {
                let pair = |entry: &Entry| format!("{} = {}", entry.key, entry.node.inline());
                let pairs: Vec<String> = entries.iter().map(pair).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }

    /// Takes over the keys of a table that this one does not have, at all depths. A table of another kind has other keys.
    pub(super) fn start_from(&mut self, base: &Self) {
        let kind = |node: &Self| match node.child(TAG).map(|it| &it.value) {
            Some(Value::Text(kind)) => Some(kind.clone()),
            _ => None,
        };
        if let (Some(own), Some(other)) = (kind(self), kind(base))
            && own != other
        {
            return;
        }
        let path = self.path.clone();
        let (Value::Table(entries), Value::Table(others)) = (&mut self.value, &base.value) else {
            return;
        };
        for other in others {
            match entries.iter_mut().find(|entry| entry.key == other.key) {
                Some(entry) => entry.node.start_from(&other.node),
                None => entries.push(Entry {
                    key: other.key.clone(),
                    key_origin: other.key_origin.clone(),
                    node: other.node.copied(child_path(&path, &other.key), None),
                }),
            }
        }
    }

    /// Copies the node to another path of another document; `source` identifies this document's file there.
    pub(super) fn moved(&self, path: String, source: Source) -> Self {
        self.copied(path, Some(source))
    }

    /// Copies the node to another path of its document.
    pub(crate) fn at_path(&self, path: &str) -> Self {
        self.copied(path.to_owned(), None)
    }

    /// A copy at another path; it was written in `source`, or where this one was.
    fn copied(&self, path: String, source: Option<Source>) -> Self {
        let origin = |origin: &Origin| Origin {
            source: source.unwrap_or(origin.source),
            span: origin.span.clone(),
        };
        let value = match &self.value {
            Value::Array(nodes) => {
                let moved = |(place, node): (usize, &Self)| {
                    node.copied(child_path(&path, &place.to_string()), source)
                };
                Value::Array(nodes.iter().enumerate().map(moved).collect())
            }
            Value::Table(entries) => {
                let moved = |entry: &Entry| Entry {
                    key: entry.key.clone(),
                    key_origin: origin(&entry.key_origin),
                    node: entry.node.copied(child_path(&path, &entry.key), source),
                };
                Value::Table(entries.iter().map(moved).collect())
            }
            plain => plain.clone(),
        };
        Self { origin: origin(&self.origin), value, path }
    }

    /// Returns the value of a key of a table, or of an index of a list.
    pub fn child(&self, step: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => {
                entries.iter().find(|entry| entry.key == step).map(|entry| &entry.node)
            }
            Value::Array(nodes) => nodes.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    pub(crate) fn child_mut(&mut self, step: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Table(entries) => {
                entries.iter_mut().find(|entry| entry.key == step).map(|entry| &mut entry.node)
            }
            Value::Array(nodes) => nodes.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Returns the child for a step of an override's path, and adds missing keys. An error is a title and a help text.
    pub(super) fn child_or_new(
        &mut self,
        step: &str,
        origin: &Origin,
    ) -> Result<&mut Self, (String, String)> {
        let path = child_path(&self.path, step);
        match &mut self.value {
            Value::Table(entries) => {
                let known = entries.iter().position(|entry| entry.key == step);
                let place = known.unwrap_or_else(|| {
                    let value = Value::Table(Vec::new());
                    entries.push(Entry {
                        key: step.to_owned(),
                        key_origin: origin.clone(),
                        node: Self { path, origin: origin.clone(), value },
                    });
                    entries.len() - 1
                });
                Ok(&mut entries[place].node)
            }
            Value::Array(nodes) => {
                let count = nodes.len();
                let place = step.parse().ok().filter(|place| *place < count);
                place.map(|place: usize| &mut nodes[place]).ok_or_else(|| {
                    let last = count.saturating_sub(1);
                    let help = format!("its entries are numbered from 0 to {last}");
                    (format!("`{}` has no entry `{step}`", self.path), help)
                })
            }
            _ => {
                let help = "leave out what follows it".to_owned();
                Err((format!("`{}` is a value and has no key `{step}`", self.path), help))
            }
        }
    }
}

pub(super) fn child_path(parent: &str, step: &str) -> String {
    if parent.is_empty() { step.to_owned() } else { format!("{parent}.{step}") }
}

/// Converts a parsed value. `offset` is the start of the parsed text in its source.
pub(super) fn node_of(
    path: String,
    value: &DeValue<'_>,
    origin: Origin,
    source: Source,
    offset: usize,
) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| Value::Text(number.to_string()), Value::Integer)
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse();
            parsed.map_or_else(|_| Value::Text(number.as_str().into()), Value::Float)
        }
        DeValue::Boolean(value) => Value::Boolean(*value),
        // No key accepts a date; as a text it is refused like any other wrong text.
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Array(values) => Value::Array(
            values
                .iter()
                .enumerate()
                .map(|(place, value)| {
                    let path = child_path(&path, &place.to_string());
                    let origin = Origin { source, span: shifted(&value.span(), offset) };
                    node_of(path, value.get_ref(), origin, source, offset)
                })
                .collect(),
        ),
        DeValue::Table(table) => return table_node(path, &origin, table, source, offset),
    };
    Node { path, origin, value }
}

pub(super) fn table_node(
    path: String,
    origin: &Origin,
    table: &DeTable<'_>,
    source: Source,
    offset: usize,
) -> Node {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| {
            let path = child_path(&path, key.get_ref());
            let place = |span: Range<usize>| Origin { source, span: shifted(&span, offset) };
            Entry {
                key: key.get_ref().to_string(),
                key_origin: place(key.span()),
                node: node_of(path, value.get_ref(), place(value.span()), source, offset),
            }
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_origin.span.start);
    Node { path, origin: origin.clone(), value: Value::Table(entries) }
}

pub(super) fn shifted(span: &Range<usize>, offset: usize) -> Range<usize> {
    span.start + offset..span.end + offset
}
