//! A job from its submission to the tables.

use std::fs;
use std::thread;
use std::time::Duration;

use tests::command::json;
use tests::slurm::Slurm;

use crate::sweep::{RUNS, Sweep};

#[test]
fn a_job_makes_the_tables_of_a_local_sweep() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let expected = sweep.local();
    let followed = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    let report = format!("{RUNS} of {RUNS} runs are done");
    assert!(followed.stdout.contains(&report), "{}", followed.stdout);
    assert!(followed.stderr.contains("submitted job 1: "), "{}", followed.stderr);
    assert!(followed.stderr.contains("running"), "{}", followed.stderr);
    assert_eq!(sweep.tables("out"), expected);
    assert!(sweep.read("out/jobs/1/task-0.log").contains("runs are done, 0 failed"));

    // Called again, it has nothing to submit.
    let again = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(again.stdout.contains(&report), "{}", again.stdout);
    assert!(!again.stderr.contains("submitted"), "{}", again.stderr);
    let mut status = sweep.command("out", &["--status", "--json"]);
    slurm.equip(&mut status.0);
    let status = json(&status.finish().assert_code(0).stdout);
    assert_eq!((&status["done"], &status["runs"]), (&RUNS.into(), &RUNS.into()), "{status:#}");
    assert_eq!(status["job"]["tasks"]["failed"], 0, "{status:#}");
    assert_eq!(status["processors"].as_object().expect("counts").len(), 1, "{status:#}");
}

#[test]
fn a_job_that_is_left_is_followed_by_the_next_call() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let left = sweep.on(&slurm, "out", &["--detach", "--json"]).finish().assert_code(0);
    let array = json(&left.stdout)["slurm"]["array"].clone();
    assert!(array.is_u64(), "{}", left.stdout);
    let mut following = sweep.on(&slurm, "out", &[]).start();
    while sweep.appeared("out") < RUNS / 2 && following.is_alive() {
        thread::sleep(Duration::from_millis(10));
    }
    following.signal(libc::SIGINT);
    let following = following.finish().assert_code(130);
    assert!(following.stderr.contains("the same command follows it again"), "{}", following.stderr);
    let end = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(!end.stderr.contains("submitted job"), "{}", end.stderr);
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn others_may_sweep_the_same_folder_at_the_same_time() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let expected = sweep.local();
    let job = sweep.on(&slurm, "out", &["--detach"]).finish();
    job.assert_code(0);
    let here = sweep.command("out", &["--jobs", "1"]).start();
    let following = sweep.on(&slurm, "out", &[]).start();
    let part = sweep.command("out", &["--part", "1/3"]).start();
    for call in [following, here, part] {
        call.finish().assert_code(0);
    }
    assert_eq!(sweep.tables("out"), expected);
    let left = fs::read_dir(sweep.folder.path("out/runs")).expect("it is there").count();
    assert_eq!(left, RUNS, "nothing but the runs");
}

#[test]
fn of_two_submissions_at_once_one_submits() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let both = [(); 2].map(|()| sweep.on(&slurm, "out", &[]).start());
    let both = both.map(tests::command::Running::finish);
    let submitted = both.iter().filter(|it| it.stderr.contains("submitted job")).count();
    assert_eq!(submitted, 1, "{both:#?}");
    for call in both {
        let lost = call.stderr.contains("another process is submitting this sweep");
        call.assert_code(if lost { 2 } else { 0 });
    }
    assert_eq!(sweep.tables("out"), sweep.local());
}
