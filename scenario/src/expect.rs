//! `[[expect]]`: conditions on a run's results.
//!
//! This module checks the form of expectations. Code that has the results checks names of numbers and columns, and
//! reports errors at the place that [`Written`] keeps.
//!
//! # Adding a condition
//!
//! Its form belongs here. Units and aggregates are in `results/src/query.rs`, names and the tables that a scenario writes
//! in `analysis/src/expectation/`. docs/expectations.md documents both.

mod plain;
mod written;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use plain::Plain;
pub use results::query::Aggregate;
pub use written::Written;

use super::Scenario;
use super::document::{Document, suggestion};
use super::omitted;
use super::report::ScenarioError;

/// Maximum number of expectations in a scenario; each is evaluated separately at the run's end.
const MAX: usize = 1000;

/// A condition that must hold at the end of a run. It compares a value of `summary.json` (`summary`), or an aggregate
/// of a table's column (`table`, `column`, `aggregate`, `where`), with `value`. If it does not hold, `xoff run` ends
/// with exit code 1. Sweeps and live fabrics ignore it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ExpectKeys")]
pub struct Expectation {
    /// Name in reports. Default: the condition itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A value of `summary.json` by its path, such as "labels.victim.slowdown.p99" or "lossless".
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Name of a table without `.csv`, such as "pauses".
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    /// Column of the table. May be omitted with "count", which then counts rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    /// Function that aggregates the column: "sum", "min", "max", "mean", "count", "p50" or "p99". Empty fields do not
    /// count.
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate: Option<Aggregate>,
    /// Columns and the values that rows must have in them, such as `{ node = "leaf0", priority = 3 }`. Default: all
    /// rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("default" = {}))]
    r#where: BTreeMap<String, Plain>,
    /// Comparison: "==", "!=", "<", "<=", ">" or ">=". Texts and truth values allow "==" and "!=" only.
    pub operator: Operator,
    /// Expected value: a time, a size or a rate with its unit, a number, a text or a truth value, as in the column or
    /// the key of `summary.json`.
    pub value: Plain,
    /// Places of the keys in the file.
    #[serde(skip)]
    pub written: Written,
}

/// Tested value of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A value of `summary.json`, by its path with dots.
    Summary(&'a str),
    /// A number computed from rows of a table.
    Table {
        /// Name of the table without `.csv`: one of [`results::TABLES`], and not omitted.
        table: &'a str,
        /// Column of the table; `None` counts rows.
        column: Option<&'a str>,
        /// Function that aggregates the column's fields.
        aggregate: Aggregate,
        /// Values that rows must have in these columns.
        filter: &'a BTreeMap<String, Plain>,
    },
}

/// Comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// Equal.
    #[serde(rename = "==")]
    Equal,
    /// Not equal.
    #[serde(rename = "!=")]
    NotEqual,
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// Less or equal.
    #[serde(rename = "<=")]
    AtMost,
    /// Greater.
    #[serde(rename = ">")]
    Greater,
    /// Greater or equal.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Operator {
    /// Returns true if the comparison of `left` with `right` holds.
    pub fn holds<T: Ord + ?Sized>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }

    /// Returns true for `==` and `!=`.
    pub const fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        })
    }
}

impl Expectation {
    /// Returns the tested value of the results.
    pub fn subject(&self) -> Subject<'_> {
        match (&self.summary, &self.table, self.aggregate) {
            (None, Some(table), Some(aggregate)) => Subject::Table {
                table,
                column: self.column.as_deref(),
                aggregate,
                filter: &self.r#where,
            },
            (summary, ..) => {
                Subject::Summary(summary.as_ref().expect("an expectation has a subject"))
            }
        }
    }

    /// Checks entry number `number`, and keeps its place.
    fn complete(
        &mut self,
        number: usize,
        scenario: &Scenario,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let path = format!("expect.{number}");
        let error = |key: &str, title: &str, help: &str| {
            let path = if key.is_empty() { path.clone() } else { format!("{path}.{key}") };
            Err(document.error(&path, title, help))
        };
        match (&self.summary, &mut self.table) {
            (Some(_), Some(_)) => {
                let help = "keep one of the two, and write a second [[expect]] for the other";
                return error("", "an expectation of both `summary` and `table`", help);
            }
            (None, None) => {
                let help = "add summary = \"lossless\", or table = \"pauses\" with an aggregate";
                return error("", "an expectation without `summary` or `table`", help);
            }
            (Some(_), None) => {
                let keys = [
                    ("column", self.column.is_some()),
                    ("aggregate", self.aggregate.is_some()),
                    ("where", !self.r#where.is_empty()),
                ];
                if let Some((key, _)) = keys.into_iter().find(|(_, is_set)| *is_set) {
                    let title = format!("`{key}` of a value of summary.json");
                    return error(key, &title, "leave it out: it belongs to `table`");
                }
            }
            (None, Some(table)) => {
                table.truncate(table.strip_suffix(".csv").map_or(table.len(), str::len));
                if !omitted::names().any(|name| name == *table) {
                    let title = format!("no table is called `{table}`");
                    return error(
                        "table",
                        &title,
                        &suggestion(table, "the tables are", omitted::names()),
                    );
                }
                if scenario.results.omit.covers(table) {
                    let title = format!("`results.omit` leaves {table}.csv out");
                    let help = "an expectation reads it: take it out of `results.omit`";
                    return error("table", &title, help);
                }
                let Some(aggregate) = self.aggregate else {
                    let help = "add aggregate = \"max\", or one of `sum`, `min`, `mean`, `count`, `p50` and `p99`";
                    return error("", "a table without an `aggregate`", help);
                };
                if self.column.is_none() && aggregate != Aggregate::Count {
                    let title = format!("`{}` without a `column`", aggregate.name());
                    return error(
                        "aggregate",
                        &title,
                        "add column = \"..\"; docs/reference has them",
                    );
                }
            }
        }
        let is_word = matches!(self.value, Plain::Truth(_));
        if is_word && !self.operator.is_equality() {
            let title = format!("a truth value cannot be `{}`", self.operator);
            return error("operator", &title, "write \"==\" or \"!=\"");
        }
        self.written = Written::new(&path, document);
        Ok(())
    }

    /// Checks the expectations of a scenario that is otherwise complete.
    pub(super) fn complete_all(
        all: &mut [Self],
        scenario: &Scenario,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        if all.len() > MAX {
            let title = format!("{} expectations; the limit is {MAX}", all.len());
            return Err(document.error(&format!("expect.{MAX}"), &title, "write fewer"));
        }
        let mut all = all.iter_mut().enumerate();
        all.try_for_each(|(number, it)| it.complete(number, scenario, document))
    }
}
