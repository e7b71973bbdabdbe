//! `results.omit`: tables that a run does not write.

use results::TABLES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{Document, suggestion};
use super::glob;
use super::report::ScenarioError;

/// Patterns of names of tables that a run does not write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Omitted(Vec<String>);

impl Omitted {
    /// Returns true if the table is omitted. `table` has no `.csv`.
    pub fn covers(&self, table: &str) -> bool {
        self.0.iter().any(|pattern| glob::matches(pattern, table))
    }

    /// Returns true if no table is omitted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that each pattern matches a table.
    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        for (place, pattern) in self.0.iter().enumerate() {
            if !names().any(|table| glob::matches(pattern, table)) {
                let title = format!("no table is called `{pattern}`");
                let help = suggestion(pattern, "the tables are", names());
                return Err(document.error(&format!("results.omit.{place}"), &title, &help));
            }
        }
        Ok(())
    }
}

/// Returns the names of all tables, in the order of docs/reference.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    TABLES.iter().map(|table| table.name)
}
