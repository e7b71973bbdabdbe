//! Expectations of a scenario (`[[expect]]`), as far as they depend on results: checks that the numbers and columns
//! exist, and compares them at a run's end.
//!
//! [`check`] finds errors before a run, [`judge`] compares after it.

mod lent_folder;
mod metric;
mod table;
mod value;
mod verdict;

#[cfg(test)]
mod tests;

use std::path::Path;

use emulation::run::table_format;
use results::Summary;
use results::query::{Scalar, ScalarKind};
use scenario::{Expectation, Plain, Refusal, Scenario, ScenarioError, Subject};

pub use lent_folder::LentFolder;
pub use verdict::{Verdict, render};

/// Checks that every expectation is about a value that a run of the scenario has, in the right unit.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    if scenario.expectations.is_empty() {
        return Ok(());
    }
    let metrics = metric::Metrics::new(scenario);
    for expectation in &scenario.expectations {
        let kind = match expectation.subject() {
            Subject::Summary(summary) => metrics.kind(summary, &expectation.written)?,
            Subject::Table { table, column, aggregate, filter } => {
                let table = table::Known::new(table, scenario, &expectation.written)?;
                table.check_filter(filter, scenario, &expectation.written)?;
                table.kind(column, aggregate, &expectation.written)?
            }
        };
        let Expectation { operator, value, written, .. } = expectation;
        if !kind.has_order() && !operator.is_equality() {
            let title = format!("{} cannot be `{operator}`", kind.noun());
            return Err(written.error("operator", &title, "write \"==\" or \"!=\""));
        }
        read(kind, value, "value", expectation)?;
    }
    Ok(())
}

/// Returns true if expectations need a run's tables, and not only its summary.
pub fn needs_tables(scenario: &Scenario) -> bool {
    scenario.expectations.iter().any(|it| matches!(it.subject(), Subject::Table { .. }))
}

/// Compares the results of a run with expectations that [`check`] has accepted. `folder` has the run's tables.
///
/// # Panics
/// If `check` has not accepted the scenario.
pub fn judge(scenario: &Scenario, summary: &Summary, folder: Option<&Path>) -> Vec<Verdict> {
    let metrics = metric::Metrics::new(scenario);
    let found = metric::Found::new(summary);
    let judged = |expectation: &Expectation| {
        let written = &expectation.written;
        let (kind, finding) = match expectation.subject() {
            Subject::Summary(summary) => {
                let kind = metrics.kind(summary, written).expect("`check` has accepted it");
                (kind, found.value(summary))
            }
            Subject::Table { table, column, aggregate, filter } => {
                let known =
                    table::Known::new(table, scenario, written).expect("`check` has accepted it");
                let kind = known.kind(column, aggregate, written);
                let kind = kind.expect("`check` has accepted it");
                (kind, known.look(folder, column, aggregate, filter))
            }
        };
        let value = read(kind, &expectation.value, "value", expectation);
        let value = value.expect("`check` has accepted it");
        verdict::judge(expectation, kind, &value, finding, table_format(scenario))
    };
    scenario.expectations.iter().map(judged).collect()
}

/// Reads a value of the file as the kind with which it is compared.
fn read(
    kind: ScalarKind,
    value: &Plain,
    key: &str,
    expectation: &Expectation,
) -> Result<Scalar, ScenarioError> {
    value::read(kind, value)
        .map_err(|Refusal { title, help, .. }| expectation.written.error(key, &title, &help))
}
