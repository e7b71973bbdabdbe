//! A TOML file and the overrides of the command line as one tree, in which every value knows its place in the source.

mod node;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use toml::de::{DeTable, DeValue};

use super::default_kinds::{default_kind, default_section};
use super::report::{Place, ScenarioError, nearest};
use super::scheme::OldKeys;

pub use node::{Entry, Node, Value};

use node::{node_of, shifted, table_node};

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
    /// Old keys that stood for others, which the tree has in their place.
    pub(super) old_keys: OldKeys,
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

/// Place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    source: Source,
    /// Bytes of the source text.
    pub span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    File,
    /// An override, by its number among the `--set` options.
    Override(usize),
    /// The file of the [`Settings`].
    Settings,
}

impl Origin {
    /// Orders places as they are read: the file, then overrides, then settings.
    pub(super) fn order(&self) -> impl Ord + use<> {
        (self.source, self.span.start)
    }
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
        let old_keys = OldKeys::default();
        let mut document = Self { kind, sources, texts, unfinished, old_keys, root };
        for number in 0..overrides.len() {
            document.set_override(number)?;
        }
        for entry in settings.entries {
            document.set_entry(entry)?;
        }
        while let Some(path) = document.unfinished.pop_first() {
            document.finish(&path);
        }
        document.old_keys = OldKeys::replace(&mut document)?;
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
