//! A TOML file and the overrides of the command line as one tree, in which every value knows its place in the source.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use toml::de::{DeTable, DeValue};

use super::default_kinds::{default_kind, default_section};
use super::report::{Place, ScenarioError, nearest};

/// Key that gives the kind of a table.
pub(super) const TAG: &str = "kind";

/// A file as written, with overrides and settings.
pub struct Document<'a> {
    pub(super) kind: DocumentKind,
    sources: Sources<'a>,
    /// Copy of the sources, made on first use.
    texts: OnceLock<Arc<Texts>>,
    /// Paths of tables that were made for one of their keys, and start from another section.
    unfinished: BTreeSet<String>,
    /// Table of the whole file.
    pub root: Node,
}

/// Names of a kind of file in errors.
#[derive(Clone, Copy, Debug)]
pub struct DocumentKind {
    /// Noun with its article.
    pub noun: &'static str,
    /// Command that prints the schema.
    pub schema: &'static str,
    /// Default kind of the table at a path that the file omits; `None` if there is no default.
    pub(super) default_kind: fn(&str) -> Option<&'static str>,
    /// The path of the table that stands in for the one at a path if the file does not have it.
    pub(super) default_section: fn(&str) -> Option<&'static str>,
}

impl DocumentKind {
    /// Scenario file.
    pub const SCENARIO: Self =
        Self { noun: "the scenario", schema: "xoff schema", default_kind, default_section };
    /// Sweep file.
    pub const SWEEP: Self = Self {
        noun: "the sweep",
        schema: "xoff schema sweep",
        default_kind: |_| None,
        default_section: |_| None,
    };
}

/// Texts that a tree was read from.
#[derive(Clone, Copy)]
struct Sources<'a> {
    file: &'a str,
    text: &'a str,
    overrides: &'a [String],
    settings: Settings<'a>,
}

/// Texts of a document, for errors that are found after it was dropped.
#[derive(Debug, Default)]
pub struct Texts {
    file: String,
    text: String,
    overrides: Vec<String>,
    settings_file: String,
    settings_text: String,
}

impl Texts {
    /// Returns an error at an origin, or about the whole file.
    pub fn error_at(
        &self,
        origin: Option<&Origin>,
        title: &str,
        help: Option<&str>,
    ) -> ScenarioError {
        let settings =
            Settings { file: &self.settings_file, text: &self.settings_text, entries: &[] };
        let (file, text, overrides) = (&*self.file, &*self.text, &*self.overrides);
        Sources { file, text, overrides, settings }.error_at(origin, title, help)
    }
}

/// Keys that another file sets in a document.
#[derive(Clone, Copy, Default)]
pub struct Settings<'a> {
    /// Name of the other file.
    pub file: &'a str,
    /// Text of the other file.
    pub text: &'a str,
    /// Entries to set. Each key is a path as in `--set`; later entries win.
    pub entries: &'a [&'a Entry],
}

/// A value, its path in the tree and its place in the source.
#[derive(Clone, Debug)]
pub struct Node {
    /// Path with dots and array indices, such as `flows.0.bytes`; empty for the root.
    pub(super) path: String,
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

/// Place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    source: Source,
    /// Bytes of the source text.
    pub span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    File,
    /// An override, by its number among the `--set` options.
    Override(usize),
    /// The file of the [`Settings`].
    Settings,
}

impl<'a> Document<'a> {
    /// Parses `text`, called `file`, and sets in it `overrides` such as `switch.buffer=4MB`, then
    /// `settings`.
    pub fn parse(
        kind: DocumentKind,
        file: &'a str,
        text: &'a str,
        overrides: &'a [String],
        settings: Settings<'a>,
    ) -> Result<Self, ScenarioError> {
        let table = DeTable::parse(text).map_err(|error| {
            let place = Place { name: file, text, span: Some(error.span().unwrap_or(0..0)) };
            let title = format!("not TOML: {}", error.message());
            ScenarioError::at(&place, &title, Some(advice(error.message())))
        })?;
        let origin = Origin { source: Source::File, span: table.span() };
        let root = table_node(String::new(), &origin, table.get_ref(), Source::File, 0);
        let sources = Sources { file, text, overrides, settings };
        let (texts, unfinished) = (OnceLock::new(), BTreeSet::new());
        let mut document = Self { kind, sources, texts, unfinished, root };
        for number in 0..overrides.len() {
            document.set_override(number)?;
        }
        for entry in settings.entries {
            document.set_entry(entry)?;
        }
        while let Some(path) = document.unfinished.pop_first() {
            document.finish(&path);
        }
        Ok(document)
    }

    /// Returns an error at the value of a path, or at the nearest enclosing table that was written; names the key.
    pub fn error(&self, path: &str, title: &str, help: &str) -> ScenarioError {
        let node = self.find(path);
        let place = if node.path.is_empty() { None } else { Some(&node.origin) };
        if node.path == path {
            return self.error_at(place, title, Some(help));
        }
        self.error_at(place, title, Some(&format!("{help} (`{path}` is not set)")))
    }

    /// Returns an error at an origin, or about the whole file.
    pub fn error_at(
        &self,
        origin: Option<&Origin>,
        title: &str,
        help: Option<&str>,
    ) -> ScenarioError {
        self.sources.error_at(origin, title, help)
    }

    /// Returns the node at a path, if it was written.
    pub fn node(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(&self.root, |node, step| node.child(step))
    }

    /// Returns the texts that the document was read from.
    pub fn texts(&self) -> Arc<Texts> {
        let copied = || {
            let Sources { file, text, overrides, settings } = self.sources;
            Arc::new(Texts {
                file: file.to_owned(),
                text: text.to_owned(),
                overrides: overrides.to_vec(),
                settings_file: settings.file.to_owned(),
                settings_text: settings.text.to_owned(),
            })
        };
        self.texts.get_or_init(copied).clone()
    }

    fn find(&self, path: &str) -> &Node {
        let mut node = &self.root;
        for step in path.split('.') {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }

    /// Sets override `number` in the tree. A key that does not exist yet is added and checked later like any other.
    fn set_override(&mut self, number: usize) -> Result<(), ScenarioError> {
        let whole = &self.sources.overrides[number];
        let source = Source::Override(number);
        let Some((path, text)) = whole.split_once('=') else {
            let origin = Origin { source, span: 0..whole.len() };
            let help = "write --set KEY=VALUE, for example --set switch.buffer=4MB";
            return Err(self.error_at(Some(&origin), "an override without `=`", Some(help)));
        };
        let start = path.len() + 1;
        let origin = Origin { source, span: start..whole.len() };
        self.forget_below(path);
        let node = self.reach(path, |step| Origin { source, span: step })?;
        let path = node.path.clone();
        *node = match DeValue::parse(text) {
            Ok(value) => node_of(path, value.get_ref(), origin, source, start),
            Err(_) => Node { path, origin, value: Value::Text(text.to_owned()) },
        };
        Ok(())
    }

    /// Sets a key to a value of the settings, and records its place there.
    fn set_entry(&mut self, entry: &Entry) -> Result<(), ScenarioError> {
        let source = Source::Settings;
        let key = entry.key_origin.span.clone();
        let written = &self.sources.settings.text[key.clone()];
        // Only in a quoted key without escapes can each step be located.
        let start = written.find(&entry.key).map(|quote| key.start + quote);
        let place = |step: Range<usize>| Origin {
            source,
            span: start.map_or_else(|| key.clone(), |start| shifted(&step, start)),
        };
        self.forget_below(&entry.key);
        let node = self.reach(&entry.key, place)?;
        *node = entry.node.moved(node.path.clone(), source);
        Ok(())
    }

    /// Forgets the unfinished tables at a path and below it: what is written there whole starts from nothing.
    fn forget_below(&mut self, path: &str) {
        let is_below = |other: &str| {
            other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.unfinished.retain(|other| !is_below(other));
    }

    /// Gives a table that was made for one of its keys the other keys of the section that would stand in for it. The section
    /// is read last, so the order of the overrides does not matter.
    fn finish(&mut self, path: &str) {
        let mut base = path;
        while let Some(next) = (self.kind.default_section)(base) {
            base = next;
            if self.unfinished.remove(base) {
                self.finish(base);
            }
            if self.node(base).is_some() {
                break;
            }
        }
        let from = self.node(base).cloned();
        let default_kind = (self.kind.default_kind)(base);
        let mut node = &mut self.root;
        for step in path.split('.') {
            match node.child_mut(step) {
                Some(child) => node = child,
                None => return,
            }
        }
        match (from, default_kind) {
            (Some(from), _) => node.start_from(&from),
            (None, Some(kind)) if node.child(TAG).is_none() => {
                let tag = Entry::tag(kind, path, node.origin.clone());
                if let Value::Table(entries) = &mut node.value {
                    entries.push(tag);
                }
            }
            _ => {}
        }
    }

    /// The node of a path; `place` is where a step, given by its bytes in the path, was written. A table that is made on the
    /// way to a key of it has its default kind, or is finished later if another section stands in for it.
    fn reach(
        &mut self,
        path: &str,
        place: impl Fn(Range<usize>) -> Origin,
    ) -> Result<&mut Node, ScenarioError> {
        let mut start = 0;
        let mut node = &mut self.root;
        for step in path.split('.') {
            let origin = place(start..start + step.len());
            start += step.len() + 1;
            let is_new = node.child(step).is_none();
            node = node.child_or_new(step, &origin).map_err(|(title, help)| {
                self.sources.error_at(Some(&origin), &title, Some(&help))
            })?;
            if !is_new || start > path.len() {
                continue;
            }
            if (self.kind.default_section)(&node.path).is_some() {
                self.unfinished.insert(node.path.clone());
            } else if let Some(kind) = (self.kind.default_kind)(&node.path) {
                let tag = Entry::tag(kind, &node.path, origin);
                node.value = Value::Table(vec![tag]);
            }
        }
        Ok(node)
    }
}

impl Entry {
    /// Returns an entry that gives the default kind of the table at `path`.
    fn tag(kind: &str, path: &str, origin: Origin) -> Self {
        let path = child_path(path, TAG);
        let node = Node { path, origin: origin.clone(), value: Value::Text(kind.to_owned()) };
        Self { key: TAG.to_owned(), key_origin: origin, node }
    }
}

impl Sources<'_> {
    fn error_at(&self, origin: Option<&Origin>, title: &str, help: Option<&str>) -> ScenarioError {
        let (name, text) = match origin.map(|origin| origin.source) {
            None | Some(Source::File) => (self.file, self.text),
            Some(Source::Override(number)) => ("--set", self.overrides[number].as_str()),
            Some(Source::Settings) => (self.settings.file, self.settings.text),
        };
        let span = origin.map(|origin| origin.span.clone());
        ScenarioError::at(&Place { name, text, span }, title, help)
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

    /// Takes over the keys of a table that this one does not have, at all depths. A table of another kind has other keys.
    fn start_from(&mut self, base: &Self) {
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
    fn moved(&self, path: String, source: Source) -> Self {
        self.copied(path, Some(source))
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

    fn child_mut(&mut self, step: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Table(entries) => {
                entries.iter_mut().find(|entry| entry.key == step).map(|entry| &mut entry.node)
            }
            Value::Array(nodes) => nodes.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Returns the child for a step of an override's path, and adds missing keys. An error is a title and a help text.
    fn child_or_new(&mut self, step: &str, origin: &Origin) -> Result<&mut Self, (String, String)> {
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

/// Returns advice for a TOML syntax error, from the parser's message.
fn advice(message: &str) -> &'static str {
    let help = [
        ("duplicate key", "a key has one value: leave one of them out"),
        ("unclosed table", "a table's name ends with `]`, that of a list of tables with `]]`"),
        ("unclosed", "close it before the end of the file"),
        (
            "missing `=`",
            "a line is a key and its value, such as seed = 2, or a table's name in brackets",
        ),
    ];
    let known = help.into_iter().find(|(words, _)| message.contains(words));
    known.map_or("texts and quantities stand in quotes; https://toml.io describes the rest", |it| {
        it.1
    })
}

/// Suggests the most similar known name, and lists all known names.
pub fn suggestion<'a>(
    name: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let list = super::report::listed(known.clone());
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`? {what} {list}"),
        None => format!("{what} {list}"),
    }
}

fn child_path(parent: &str, step: &str) -> String {
    if parent.is_empty() { step.to_owned() } else { format!("{parent}.{step}") }
}

/// Converts a parsed value. `offset` is the start of the parsed text in its source.
fn node_of(
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

fn table_node(
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

fn shifted(span: &Range<usize>, offset: usize) -> Range<usize> {
    span.start + offset..span.end + offset
}
