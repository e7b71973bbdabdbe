//! Outcome of an expectation.

use std::fmt::Write;

use results::query::{Scalar, ScalarKind};
use results::{Style, TableFormat};
use scenario::{Expectation, Subject};
use serde::Serialize;

/// Value of an expectation's subject.
pub(super) struct Finding {
    value: Result<Scalar, String>,
    look: String,
}

impl Finding {
    /// Makes a finding of a value and its location.
    pub(super) const fn new(value: Scalar, look: String) -> Self {
        Self { value: Ok(value), look }
    }

    /// Makes a finding without a value: the reason, and the value's expected location.
    pub(super) const fn nothing(why: String, look: String) -> Self {
        Self { value: Err(why), look }
    }
}

/// Verdict on an expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Name of the expectation in the scenario, or its text.
    pub name: String,
    /// Expected relation, as text.
    pub expected: String,
    /// Value in the run, or the reason why the run lacks the value.
    pub got: String,
    /// True if the expectation holds.
    pub passed: bool,
    /// File with the value, and rows or a line in it.
    pub look: String,
}

impl Verdict {
    /// Describes a failure in one line.
    pub fn failure(&self) -> String {
        format!("expected {}, got {}; look at {}", self.expected, self.got, self.look)
    }
}

pub(super) fn judge(
    expectation: &Expectation,
    kind: ScalarKind,
    value: &Scalar,
    finding: Finding,
    format: TableFormat,
) -> Verdict {
    let subject = described(expectation.subject(), format);
    let expected = format!("{subject} {} {}", expectation.operator, kind.show(value));
    let passed = finding.value.as_ref().is_ok_and(|it| expectation.operator.holds(it, value));
    let got = finding.value.as_ref().map_or_else(Clone::clone, |value| kind.show(value));
    let name = expectation.name.clone().unwrap_or_else(|| expected.clone());
    Verdict { name, expected, got, passed, look: finding.look }
}

fn described(subject: Subject<'_>, format: TableFormat) -> String {
    match subject {
        Subject::Summary(summary) => summary.to_owned(),
        Subject::Table { table, column, aggregate, filter } => {
            let column = column.unwrap_or("rows");
            let file = format.file(table);
            let mut text = format!("{} of {column} in {file}", aggregate.name());
            for (number, (column, value)) in filter.iter().enumerate() {
                let word = if number == 0 { "where" } else { "and" };
                write!(text, " {word} {column} = {value}").expect("a String takes every write");
            }
            text
        }
    }
}

/// Returns the section of a run's report. Empty without expectations.
pub fn render(verdicts: &[Verdict], style: Style) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style.heading("Expectations"));
    for verdict in verdicts {
        let Verdict { name, expected, got, passed, look } = verdict;
        let mark = if *passed { style.good("ok  ") } else { style.bad("FAIL") };
        let line = if name == expected { name.clone() } else { format!("{name}: {expected}") };
        writeln!(text, "{mark}  {line}; got {got}").expect("a String takes every write");
        if !passed {
            writeln!(text, "      look at {look}").expect("a String takes every write");
        }
    }
    text
}
