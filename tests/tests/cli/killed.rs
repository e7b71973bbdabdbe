//! Runs in memory that are killed leave no half-written results.

use std::fs;
use std::path::Path;

use tests::command::{
    ENDLESS, Running, ScenarioFolder, await_that, finish, guardian_of, kill, shipped, xoff,
};

const PARTIAL: &str = ".xoff-partial";

/// A run without end that has begun to write to `out`, and its guardian.
fn endless(out: &str) -> (Running, u32) {
    let scenario = shipped("single-flow");
    let arguments = ["run", &scenario, "--datapath", "memory", "--out", out];
    let run = Running::start(&mut xoff(arguments.into_iter().chain(ENDLESS)));
    await_that("a run begins to write", || Path::new(out).join(PARTIAL).exists());
    let guardian = guardian_of(run.id());
    (run, guardian)
}

fn run_to_its_end(out: &str) {
    let scenario = shipped("single-flow");
    finish(&mut xoff(["run", &scenario, "--datapath", "memory", "--out", out])).assert_code(0);
}

#[test]
fn the_folders_that_a_killed_run_made_go_with_its_guardian() {
    let folder = ScenarioFolder::new();
    let (run, _) = endless(&folder.path("results/of/today"));
    run.signal(libc::SIGKILL);
    run.finish().assert_code(137);
    await_that("a guardian removes folders", || folder.entries().is_empty());
}

/// As in a container whose first process does not reap: a guardian that its run did not wait for stays a zombie.
#[test]
fn a_run_that_ends_orderly_ends_its_guardian() {
    // SAFETY: changes only the parent of orphans.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let folder = ScenarioFolder::new();
    let (run, guardian) = endless(&folder.path("results"));
    run.signal(libc::SIGINT);
    run.finish().assert_code(130);
    assert!(!Path::new(&format!("/proc/{guardian}")).exists());
}

#[test]
fn a_sweep_that_was_killed_goes_on_at_once() {
    let folder = ScenarioFolder::new();
    let scenario = shipped("incast");
    let text =
        format!("scenario = {scenario:?}\nseeds = 2\n[matrix]\n\"datapath.kind\" = [\"memory\"]\n");
    let (file, out) = (folder.write("sweep.toml", text), folder.path("out"));
    let arguments = ["sweep", &file, "--out", &out];
    for _ in 0..5 {
        let sweep = Running::start(&mut xoff(arguments));
        await_that("a sweep claims its folder", || Path::new(&out).join("runs").exists());
        sweep.signal(libc::SIGKILL);
        // Not waited for: the next one comes while it dies.
        finish(&mut xoff(arguments)).assert_code(0);
        sweep.finish();
        fs::remove_dir_all(&out).expect("a sweep made it");
    }
}

#[test]
fn the_results_of_an_earlier_run_stay() {
    let folder = ScenarioFolder::new();
    let out = folder.path("results");
    run_to_its_end(&out);
    let flows = || fs::read(Path::new(&out).join("flows.csv")).expect("a run wrote it");
    let earlier = flows();
    let (run, _) = endless(&out);
    run.signal(libc::SIGKILL);
    run.finish().assert_code(137);
    await_that("a guardian removes what is half-written", || {
        !Path::new(&out).join(PARTIAL).exists()
    });
    assert_eq!(flows(), earlier);
    run_to_its_end(&out);
}

#[test]
fn the_next_run_into_a_folder_removes_what_a_run_and_its_guardian_left() {
    let folder = ScenarioFolder::new();
    let out = folder.path("results");
    let (run, guardian) = endless(&out);
    kill(guardian);
    run.signal(libc::SIGKILL);
    run.finish().assert_code(137);
    assert!(Path::new(&out).join(PARTIAL).exists(), "nobody is left who could clean up");
    run_to_its_end(&out);
    assert!(!Path::new(&out).join(PARTIAL).exists());
}

#[test]
fn every_run_of_a_sweep_is_cleaned_up_after() {
    let folder = ScenarioFolder::new();
    let scenario = shipped("single-flow");
    let text = format!(
        "scenario = {scenario:?}\nseeds = 2\n[matrix]\n\"flows.0.bytes\" = [\"100GB\"]\n\
         duration = [\"1000s\"]\n"
    );
    let (file, out) = (folder.write("sweep.toml", text), folder.path("out"));
    let sweep = Running::start(&mut xoff(["sweep", &file, "--out", &out, "--jobs", "2"]));
    let runs = || -> Vec<_> {
        let entries = fs::read_dir(Path::new(&out).join("runs"));
        let folders = entries.into_iter().flatten().flatten();
        folders.filter(|folder| folder.path().join(PARTIAL).exists()).collect()
    };
    await_that("both runs begin to write", || runs().len() == 2);
    guardian_of(sweep.id());
    sweep.signal(libc::SIGKILL);
    sweep.finish().assert_code(137);
    await_that("a guardian removes the folders of both runs", || {
        fs::read_dir(Path::new(&out).join("runs")).expect("it stays").count() == 0
    });
}
