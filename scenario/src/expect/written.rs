//! Places of an expectation's keys in the file, for errors that are found later.

use std::sync::Arc;

use crate::document::{Document, Node, Origin, Texts, Value};
use crate::report::ScenarioError;

/// Places of a table and its keys in a file. All values compare as equal, so that equality of scenarios ignores places.
#[derive(Clone, Debug, Default)]
pub struct Written {
    texts: Arc<Texts>,
    /// Paths below the table, and their places. The empty path is the table itself.
    places: Vec<(String, Origin)>,
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

impl Written {
    /// Returns the places of the table at `path`.
    pub(super) fn new(path: &str, document: &Document<'_>) -> Self {
        let mut places = Vec::new();
        if let Some(node) = document.node(path) {
            collect("", node, &mut places);
        }
        Self { texts: document.texts(), places }
    }

    /// Returns an error at a key such as `value` or `where.node`, or at the table if the key is not set.
    pub fn error(&self, key: &str, title: &str, help: &str) -> ScenarioError {
        let at = |key: &str| self.places.iter().find(|(path, _)| path == key).map(|it| &it.1);
        self.texts.error_at(at(key).or_else(|| at("")), title, Some(help))
    }
}

fn collect(path: &str, node: &Node, places: &mut Vec<(String, Origin)>) {
    places.push((path.to_owned(), node.origin.clone()));
    let Value::Table(entries) = &node.value else { return };
    for entry in entries {
        let path =
            if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        collect(&path, &entry.node, places);
    }
}
