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
fn of_two_submissions_at_once_one_submits_and_both_follow() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let both = [(); 2].map(|()| sweep.on(&slurm, "out", &[]).start());
    let both = both.map(|call| call.finish().assert_code(0));
    let submitted = both.iter().filter(|it| it.stderr.contains("submitted job")).count();
    assert_eq!(submitted, 1, "{both:#?}");
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn a_sweep_that_is_complete_once_it_is_measured_needs_no_job() {
    let slurm = Slurm::start();
    let sweep = Sweep::of("scenario = \"base.toml\"\nseeds = 3\n");
    let whole = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(whole.stdout.contains("3 of 3 runs are done"), "{}", whole.stdout);
    assert_eq!(slurm.states(), Vec::<String>::new());
    assert_eq!(fs::read_dir(sweep.folder.path("out/jobs")).expect("it is there").count(), 0);
}

#[test]
fn runs_are_found_by_their_names_where_the_sweep_was_changed_meanwhile() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    sweep.on(&slurm, "out", &["--detach"]).finish().assert_code(0);
    let text = sweep.read("sweep.toml");
    sweep.folder.write("sweep.toml", text.replace("seeds = 10", "seeds = 12"));
    let followed = sweep.on(&slurm, "out", &["--memory", "1G"]).finish().assert_code(1);
    let said = &followed.stderr;
    assert!(
        said.contains("under way as it was submitted; to change its options, `scancel "),
        "{said}"
    );
    assert!(followed.stdout.contains("40 of 48 runs are done"), "{}", followed.stdout);
    sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn a_job_whose_submission_was_killed_is_found() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    sweep.on(&slurm, "out", &["--detach"]).finish().assert_code(0);
    // As a call leaves it that is killed before it has noted the job's numbers.
    fs::remove_file(sweep.folder.path("out/jobs/1/submitted.json")).expect("it is there");
    let followed = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(!followed.stderr.contains("submitted job"), "{}", followed.stderr);
    assert_eq!(sweep.tables("out"), sweep.local());
}
