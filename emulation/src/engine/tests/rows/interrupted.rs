//! Results of an interrupted run: the beginning of the results of the whole run.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use results::{Manifest, RunEnd};
use scenario::Scenario;

use super::{Left, flow, funnel};
use crate::engine::{RunError, Watch};
use crate::run::{Error, Threads, run_whole};

/// A flow that completes before the interrupt flag is checked, one that does not, and one that has yet to start.
fn flows() -> String {
    funnel(
        &(flow("h1", "h0", 1_000)
            + &flow("h2", "h0", 2_000_000)
            + &flow("h1", "h0", 2_000_000)
            + &flow("h1", "h0", 1_000)
            + "start = \"5ms\"\n"),
    )
}

#[test]
fn an_interrupted_run_leaves_what_was_measured_until_then() {
    let settings = ["duration=20ms", "results.throughput={interval=\"100us\"}"];
    let whole = Left::by(&flows(), &settings);
    let left = Left::by_watched(&flows(), &settings, &AtomicBool::new(true));
    assert_eq!(whole.summary.ended, RunEnd::Drained);
    assert_eq!(left.summary.ended, RunEnd::Interrupted);
    let end = left.summary.emulated_ns;
    assert!((1..5_000_000).contains(&end), "interrupted at {end}");
    let text = format!("the run was interrupted at {end} ns, with 2 flows under way");
    assert_eq!(left.summary.unfinished, Some(text));
    assert!(!left.summary.is_sound());
    assert_eq!(left.summary.books, [""; 0]);
    assert_eq!((left.summary.flows_completed, left.summary.flows_total), (1, 3));
    assert!(Manifest::from_run(left.folder.path()).is_some(), "the folder is a whole one");

    // Rows of unfinished flows come last, without a completion time. The first flow's row equals its row in the
    // whole run.
    let (of_left, of_whole) = (left.tables(&["flows.csv"]), whole.tables(&["flows.csv"]));
    let rows: Vec<&str> = of_left.lines().skip(1).collect();
    assert_eq!(of_whole.lines().nth(1), Some(rows[0]));
    let fct = |row: &str| row.split(',').nth(7).map(str::to_owned);
    assert!(rows[1..].iter().all(|row| fct(row).as_deref() == Some("")), "{rows:#?}");
    assert_eq!(rows.len(), 3);

    for table in ["pauses.csv", "queues.csv", "drops.csv"] {
        let (of_left, of_whole) = (left.tables(&[table]), whole.tables(&[table]));
        assert!(
            of_whole.starts_with(&of_left),
            "{table}:\n{of_left}\nis no beginning of\n{of_whole}"
        );
        let last = of_left.lines().skip(1).last().and_then(|row| row.split(',').next());
        assert!(
            last.is_none_or(|time| time.parse().is_ok_and(|time: u64| time <= end)),
            "{last:?}"
        );
    }
    assert_ne!(left.summary.pause_frames, 0, "there is something to compare");
}

#[test]
fn a_caller_that_wants_whole_runs_gets_nothing_of_an_interrupted_one() {
    let memory = ["datapath.kind=memory".to_owned()];
    let scenario = Scenario::parse(&flows(), Path::new("rows.toml"), &memory);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let temp = tempfile::tempdir().expect("a folder");
    let out = temp.path().join("out");
    let whole = |interrupted| {
        let interrupted = AtomicBool::new(interrupted);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
        run_whole(&scenario, Some(&out), Threads::ONE, &mut watch)
    };
    assert!(matches!(whole(true), Err(Error::Run(RunError::Interrupted))));
    assert!(!out.exists());
    assert_eq!(whole(false).expect("it ends").report.summary.ended, RunEnd::Drained);
    assert!(matches!(whole(true), Err(Error::Run(RunError::Interrupted))));
    assert!(Manifest::from_run(&out).is_some(), "the earlier run's results stay");
}
