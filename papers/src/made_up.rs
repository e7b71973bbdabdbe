//! An invented figure, for tests of computations with its runs.

use std::sync::LazyLock;

use results::Number;
use sweep::made_up::{plan, run_with};
use sweep::{Claim as FolderClaim, RunResult, SweepFolder};

use super::{
    Bound, Choice, Claim, Criterion, Expected, Figure, Folder, Outcome, Paper, Quantity, Source,
    Unit, View,
};

/// Indices of the figure's quantities.
pub const PAUSED: usize = 1;
pub const ONSET: usize = 2;

/// Choices of the buffer.
pub fn small() -> Choice {
    ("switch.buffer".to_owned(), "1MB".to_owned())
}

pub fn large() -> Choice {
    ("switch.buffer".to_owned(), "2MB".to_owned())
}

pub static CLAIM: LazyLock<Claim> = LazyLock::new(|| Claim {
    place: "I".to_owned(),
    text: "it is less".to_owned(),
    paper: Expected::Words("yes".to_owned()),
    holds: Criterion::Each(Bound::AtMost(Number::whole(30))),
    quantity: 0,
    view: View::Itself,
    cells: vec![large()],
    readings: Vec::new(),
    against: None,
});

pub static FIGURE: LazyLock<Figure> = LazyLock::new(|| {
    let quantity = |name: &str, unit, source| Quantity { name: name.to_owned(), unit, source };
    let metric = |path: &str| Source::Metric(path.to_owned());
    let up_to = Expected::UpTo(Number::per_mille(300));
    Figure {
        name: "fig1".to_owned(),
        also: Vec::new(),
        title: "A figure".to_owned(),
        notes: "None.".to_owned(),
        has_small: true,
        baseline: small(),
        quantities: vec![
            quantity("mean FCT", Unit::Plain, metric("fct_ns.mean")),
            quantity("pauses", Unit::Plain, metric("paused_ns")),
            quantity("onset", Unit::Milliseconds, Source::Onset("onset_ns".to_owned())),
        ],
        claims: vec![
            CLAIM.clone(),
            Claim {
                text: "pauses are shorter by".to_owned(),
                holds: Criterion::within_a_fifth(&up_to),
                paper: up_to,
                quantity: PAUSED,
                view: View::Reduction,
                cells: Vec::new(),
                readings: vec!["switch.buffer".to_owned()],
                ..CLAIM.clone()
            },
        ],
        check: vec![large()],
        chart: crate::Chart::default(),
    }
});

/// Returns a paper of the figure.
pub fn paper(check: &'static str) -> Paper {
    static FOLDER: Folder = Folder { name: "paper", files: &[] };
    let (figures, title) = (vec![FIGURE.clone()], "A paper".to_owned());
    Paper { name: "paper", place: 1, title, folder: &FOLDER, figures, check }
}

/// Returns the outcome for three seeds of each of two buffers.
pub fn outcome(results: &[Option<RunResult>; 6]) -> Outcome {
    let (plan, temp) = (plan(), tempfile::tempdir().unwrap());
    let folder =
        SweepFolder::claim(temp.path(), "", results::TableFormat::Csv, FolderClaim::Alone).unwrap();
    Outcome::new(&FIGURE, &plan, results, &folder)
}

/// Returns a run of 100 ms in which an event happened at a time in milliseconds.
pub fn onset(time: Option<i32>) -> RunResult {
    let happened = time.map(|time| ("onset_ns", time * 1_000_000));
    let numbers: Vec<_> = happened.into_iter().chain([("emulated_ns", 100_000_000)]).collect();
    run_with(&numbers)
}
