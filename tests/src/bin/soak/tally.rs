//! Counts, maxima and failures of a soak.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use crate::now;
use crate::steps::{Act, Hang, Step};

/// Failures that are kept.
const MAX_FAILURES: usize = 50;

/// See the module.
#[derive(Debug)]
pub struct Tally {
    begun: Instant,
    steps: u64,
    /// Number of steps of each kind.
    kinds: BTreeMap<&'static str, u64>,
    /// The largest value of each thing that was measured, with its unit.
    largest: BTreeMap<&'static str, (f64, &'static str)>,
    checks: u64,
    failures: Vec<String>,
}

impl Tally {
    /// Tally of a soak that begins.
    pub fn new(begun: Instant) -> Self {
        let (kinds, largest) = (BTreeMap::new(), BTreeMap::new());
        Self { begun, steps: 0, kinds, largest, checks: 0, failures: Vec::new() }
    }

    /// Counts a step.
    pub fn step(&mut self, step: &Step) {
        self.steps = step.number;
        let kind = match &step.act {
            Act::Client(plan) => plan.label,
            Act::Hang(Hang::Mixed(_)) => "clients that hang",
            Act::Hang(Hang::Captures) => "80 captures",
            Act::Blow(blow) => blow.label(),
        };
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Counts a check.
    pub fn check(&mut self) {
        self.checks += 1;
    }

    /// Keeps the largest value of a quantity.
    pub fn measure(&mut self, what: &'static str, value: f64, unit: &'static str) {
        let largest = self.largest.entry(what).or_insert((value, unit));
        largest.0 = largest.0.max(value);
    }

    /// Prints and keeps a failure. `step` is the last step, or the one at fault.
    pub fn fail(&mut self, step: u64, what: impl Into<String>) {
        let what = what.into();
        let after = self.begun.elapsed().as_secs();
        println!("after {after} s, step {step}: {what}");
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(format!("step {step}: {what}"));
        }
    }

    /// The number of the last step.
    pub const fn last_step(&self) -> u64 {
        self.steps
    }

    /// Failures, the first one first.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// All results as a table.
    pub fn table(&self) -> String {
        let took = now() - self.begun;
        let mut text =
            format!("{} steps and {} checks in {} s\n\n", self.steps, self.checks, took.as_secs());
        let mut line = |name: &str, value: String| {
            writeln!(text, "{name:<28}{value:>12}").expect("a String takes every write");
        };
        for (kind, count) in &self.kinds {
            line(kind, count.to_string());
        }
        line("", String::new());
        for (what, (value, unit)) in &self.largest {
            line(what, format!("{value:.1} {unit}"));
        }
        line("failures", self.failures.len().to_string());
        for failure in &self.failures {
            text += failure;
            text.push('\n');
        }
        text
    }
}
