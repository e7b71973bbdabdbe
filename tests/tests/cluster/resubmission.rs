//! Jobs that do not come to their end.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use tests::command::{finish, mount_small_disk, unmount};
use tests::slurm::Slurm;

use crate::sweep::{RUNS, Sweep};

/// Submits, and returns when runs of tasks have appeared.
fn submitted(slurm: &Slurm, sweep: &Sweep) {
    sweep.on(slurm, "out", &["--detach"]).finish().assert_code(0);
    let measured = sweep.appeared("out");
    slurm.await_that("a task runs", |_| sweep.appeared("out") > measured);
}

#[test]
fn a_cancelled_job_is_submitted_again() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    submitted(&slurm, &sweep);
    slurm.ask("scancel", &["--user=root"]).assert_code(0);
    slurm.await_that("all tasks have ended", |slurm| {
        slurm.states().iter().all(|state| ["CANCELLED", "COMPLETED"].contains(&state.as_str()))
    });
    assert!(sweep.appeared("out") < RUNS, "it was cancelled too late");
    let again = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(again.stderr.contains("job 1: task "), "{}", again.stderr);
    assert!(again.stderr.contains("ended as CANCELLED: it was stopped"), "{}", again.stderr);
    assert!(again.stderr.contains("submitted job 2: "), "{}", again.stderr);
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn a_killed_slurmd_costs_the_runs_under_way() {
    let mut slurm = Slurm::start();
    let sweep = Sweep::new();
    submitted(&slurm, &sweep);
    let following = sweep.on(&slurm, "out", &[]).start();
    slurm.kill_slurmd();
    slurm.await_that("Slurm sees that the node is gone", |slurm| {
        slurm.ask("sinfo", &["--noheader", "--format=%T"]).stdout.starts_with("down")
    });
    assert!(sweep.appeared("out") < RUNS, "it was killed too late");
    slurm.start_slurmd();
    // A task that is executed again waits for two minutes otherwise.
    slurm.ask("scontrol", &["update", "JobId=2", "StartTime=now"]);
    // Slurm executes the tasks again, or they have failed: then the next call submits them.
    let followed = following.finish();
    if followed.code != 0 {
        followed.assert_code(1);
        sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    }
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn a_task_without_enough_memory_is_reported_and_submitted_again() {
    // The short run is measured before and repeated by the probe; the long ones need more memory than 8 MB for seconds.
    let sweep = Sweep::from_text(
        r#"
scenario = "base.toml"
seeds = 3
[matrix]
"flows.0.stop" = ["100us", "400ms"]
"#,
    );
    let slurm = Slurm::start();
    let expected = sweep.local();
    sweep.command("out", &["--only", "0"]).finish().assert_code(0);
    let killed = sweep.on(&slurm, "out", &["--memory", "8M"]).finish().assert_code(1);
    assert!(killed.stderr.contains("task 0 ended as "), "{}", killed.stderr);
    assert!(
        killed.stderr.contains("more with --memory") || killed.stderr.contains("give --memory"),
        "{}",
        killed.stderr
    );
    assert!(killed.stdout.contains("the same command tries the others again"), "{}", killed.stdout);
    sweep.on(&slurm, "out", &["--memory", "500M"]).finish().assert_code(0);
    assert_eq!(sweep.tables("out"), expected);
}

#[test]
fn a_full_disk_fails_runs_and_the_next_call_completes_them() {
    let sweep = Sweep::new();
    let expected = sweep.local();
    let out = sweep.folder.path("out");
    fs::create_dir(&out).expect("a folder can be made");
    let needed = size_on_disk(Path::new(&sweep.folder.path("local")));
    let slurm = Slurm::start_after(|| mount_small_disk(Path::new(&out), needed / 2));
    let full = sweep.on(&slurm, "out", &[]).finish();
    assert!([1, 2].contains(&full.code), "{full:#?}");
    assert!(full.stderr.contains("No space left on device"), "{full:#?}");
    assert!(sweep.appeared("out") < RUNS, "the disk was too large");
    let mut remount = Command::new("mount");
    remount.args(["-o", &format!("remount,size={}", 4 * needed), &out]);
    finish(&mut remount).assert_code(0);
    sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert_eq!(sweep.tables("out"), expected);
    drop(slurm);
    unmount(Path::new(&out)).expect("it is mounted");
}

fn size_on_disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("readable"));
    let size = |entry: fs::DirEntry| {
        let metadata = entry.metadata().expect("readable");
        if metadata.is_dir() { size_on_disk(&entry.path()) } else { metadata.blocks() * 512 }
    };
    entries.map(size).sum()
}
