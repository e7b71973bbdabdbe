//! An invented figure, for tests of computations with its runs.

use sweep::made_up::{plan, run_with};
use sweep::{Claim as FolderClaim, Decimal, RunResult, SweepFolder};

use super::{Bound, Claim, Criterion, Expected, Figure, Outcome, Quantity, Source, Unit, View};

/// Indices of the figure's quantities.
pub const PAUSED: usize = 1;
pub const ONSET: usize = 2;

pub const LARGE: (&str, &str) = ("switch.buffer", "2MB");

pub const CLAIM: Claim = Claim {
    place: "I",
    text: "it is less",
    paper: Expected::Words("yes"),
    holds: Criterion::Each(Bound::AtMost(Decimal::whole(30))),
    quantity: 0,
    view: View::Itself,
    cells: &[LARGE],
    readings: &[],
    against: None,
};

pub const FIGURE: Figure = Figure {
    name: "fig1",
    also: &[],
    title: "A figure",
    notes: "None.",
    has_small: true,
    baseline: ("switch.buffer", "1MB"),
    quantities: &[
        Quantity { name: "mean FCT", unit: Unit::Plain, source: Source::Metric("fct_ns.mean") },
        Quantity { name: "pauses", unit: Unit::Plain, source: Source::Metric("paused_ns") },
        Quantity { name: "onset", unit: Unit::Milliseconds, source: Source::Onset("onset_ns") },
    ],
    claims: &[
        CLAIM,
        Claim {
            text: "pauses are shorter by",
            paper: Expected::UpTo(Decimal::per_mille(300)),
            holds: Criterion::within_a_fifth(Expected::UpTo(Decimal::per_mille(300))),
            quantity: PAUSED,
            view: View::Reduction,
            cells: &[],
            readings: &["switch.buffer"],
            ..CLAIM
        },
    ],
    check: &[LARGE],
};

/// Returns the outcome for three seeds of each of two buffers.
pub fn outcome(results: &[Option<RunResult>; 6]) -> Outcome {
    let (plan, temp) = (plan(), tempfile::tempdir().unwrap());
    let folder =
        SweepFolder::claim(temp.path(), "", results::TableFormat::Csv, FolderClaim::Alone).unwrap();
    Outcome::of(&FIGURE, &plan, results, &folder)
}

/// Returns a run of 100 ms in which an event happened at a time in milliseconds.
pub fn onset(time: Option<i32>) -> RunResult {
    let happened = time.map(|time| ("onset_ns", time * 1_000_000));
    let numbers: Vec<_> = happened.into_iter().chain([("emulated_ns", 100_000_000)]).collect();
    run_with(&numbers)
}
