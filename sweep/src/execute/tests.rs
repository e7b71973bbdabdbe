//! Runs of a sweep that succeed, and runs that fail.

use std::fs;

use super::*;
use crate::folder::{Claim, RunState};
use crate::made_up;
use crate::{Plan, SweepOptions};

/// Executes `plan`. Returns the outcomes of its runs with their indices, in the order in which they ended.
fn executed(
    plan: &Plan,
    folder: &SweepFolder,
    jobs: usize,
    interrupted: bool,
) -> Vec<(usize, Result<RunResult, Failure>)> {
    let runs: Vec<&Run> = plan.runs.iter().collect();
    let interrupted = AtomicBool::new(interrupted);
    let mut ends = Vec::new();
    execute(&plan.sweep, &runs, folder, jobs, &interrupted, |run, news| {
        if let News::Ended(result) = news {
            ends.push((run.index, result));
        }
    })
    .expect("a thread starts");
    ends
}

fn claim(folder: &Path) -> SweepFolder {
    SweepFolder::claim(folder, "", results::TableFormat::Csv, Claim::Alone)
        .expect("nobody else has it")
}

#[test]
fn every_run_ends_once_on_any_number_of_threads() {
    let plan = made_up::plan();
    for jobs in [1, 3, 100] {
        let temp = tempfile::tempdir().unwrap();
        let folder = claim(temp.path());
        let mut ends = executed(&plan, &folder, jobs, false);
        if jobs == 1 {
            assert!(ends.is_sorted_by_key(|(index, _)| *index), "one thread keeps the order");
        }
        ends.sort_by_key(|(index, _)| *index);
        assert!(ends.iter().map(|(index, _)| *index).eq(0..plan.runs.len()), "{jobs} threads");
        for ((_, result), run) in ends.iter().zip(&plan.runs) {
            let result = result.as_ref().expect("it ends well");
            assert_eq!((result.state, &result.doubt), (RunState::Complete, &None));
            assert_eq!(folder.result(&run.id).as_ref(), Some(result), "as it was written");
        }
    }
}

#[test]
fn how_far_a_run_is_comes_before_its_end() {
    let plan = made_up::plan();
    let temp = tempfile::tempdir().unwrap();
    let (folder, interrupted) = (claim(temp.path()), AtomicBool::new(false));
    let mut last = vec![None; plan.runs.len()];
    let runs: Vec<&Run> = plan.runs.iter().collect();
    execute(&plan.sweep, &runs, &folder, 2, &interrupted, |run, news| match news {
        News::UnderWay { progress, duration } => {
            assert!(progress.now <= duration);
            last[run.index] = Some(progress.packet_hops);
        }
        News::Ended(result) => {
            result.expect("it ends well");
            assert!(last[run.index].is_some_and(|hops| hops > 0), "run {}", run.index);
        }
    })
    .expect("a thread starts");
}

#[test]
fn no_run_starts_after_an_interruption() {
    let temp = tempfile::tempdir().unwrap();
    assert_eq!(executed(&made_up::plan(), &claim(temp.path()), 2, true), []);
}

#[test]
fn a_run_that_fails_does_not_keep_others_from_running() {
    let plan = made_up::plan();
    let temp = tempfile::tempdir().unwrap();
    let folder = claim(temp.path());
    let place = folder.run_folder(&plan.runs[1].id);
    fs::write(&place, "in the way").unwrap();
    let ends = executed(&plan, &folder, 1, false);
    let text = "its results cannot appear as";
    let title = format!("{text} {}: Not a directory (os error 20)", place.display());
    assert_eq!(ends[1].1, Err(Failure::Failed(title)));
    assert!(ends.iter().all(|(index, result)| result.is_ok() == (*index != 1)));
}

/// A sweep of one run whose flows are in a file.
fn from_file(folder: &Path, bytes: u64) -> Plan {
    let scenario = r#"
duration = "1s"
[topology]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[[flows]]
kind = "list"
file = "flows.csv"
"#;
    fs::write(folder.join("base.toml"), scenario).unwrap();
    fs::write(folder.join("sweep.toml"), "scenario = \"base.toml\"").unwrap();
    write_flows(folder, bytes);
    let sweep = Sweep::load(&folder.join("sweep.toml"), &SweepOptions::default());
    sweep.and_then(Plan::new).unwrap_or_else(|error| panic!("{error}"))
}

fn write_flows(folder: &Path, bytes: u64) {
    let flows = format!("start_ns,src,dst,bytes,priority\n0,h0,h1,{bytes},3\n");
    fs::write(folder.join("flows.csv"), flows).unwrap();
}

#[test]
fn a_run_whose_file_has_changed_since_it_was_named_fails() {
    let temp = tempfile::tempdir().unwrap();
    let folder = claim(&temp.path().join("out"));
    let plan = from_file(temp.path(), 1000);
    write_flows(temp.path(), 2000);
    let text = "a file that its scenario names was changed while the sweep ran";
    assert_eq!(executed(&plan, &folder, 1, false), [(0, Err(Failure::Failed(text.into())))]);
    write_flows(temp.path(), 1000);
    assert!(executed(&plan, &folder, 1, false)[0].1.is_ok());
}

#[test]
fn an_interrupted_run_is_no_failure() {
    let temp = tempfile::tempdir().unwrap();
    let folder = claim(&temp.path().join("out"));
    let plan = from_file(temp.path(), 10_000_000);
    let one = execute_one(&plan.sweep, &plan.runs[0], &folder, &AtomicBool::new(true), &mut |_| {});
    assert_eq!(one, Err(Failure::Interrupted));
    assert!(!folder.run_folder(&plan.runs[0].id).exists(), "it leaves nothing");
}

#[test]
fn failures_say_why() {
    assert_eq!(failed(&io::Error::other("full")), Failure::Failed("full".into()));
    let place = Path::new("out/runs/1");
    let text = "its results in out/runs/1 cannot be read back";
    assert_eq!(gone(place), Failure::Failed(text.into()));
    let panicked = |why: &str| Failure::Failed(format!("xoff panicked: {why}"));
    assert_eq!(super::panicked(&"borrowed"), panicked("borrowed"));
    assert_eq!(super::panicked(&String::from("owned")), panicked("owned"));
    assert_eq!(super::panicked(&7), panicked("for no reason"));
}
