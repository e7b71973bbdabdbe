//! A job from its submission to the tables.

use std::fs;
use std::process::Command;
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
    let sweep = Sweep::from_text("scenario = \"base.toml\"\nseeds = 3\n");
    let whole = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(whole.stdout.contains("3 of 3 runs are done"), "{}", whole.stdout);
    assert_eq!(slurm.states(), Vec::<String>::new());
    assert_eq!(fs::read_dir(sweep.folder.path("out/jobs")).expect("it is there").count(), 0);
}

#[test]
fn a_job_runs_what_it_was_submitted_with_whatever_becomes_of_its_files() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let expected = sweep.local();
    // No task begins before its files are replaced.
    slurm.ask("scontrol", &["update", "PartitionName=debug", "State=DOWN"]).assert_code(0);
    sweep.on(&slurm, "out", &["--detach", "--time", "30"]).finish().assert_code(0);
    let text = sweep.read("sweep.toml");
    sweep.folder.write("sweep.toml", "scenario = \"base.toml\"\nseeds = [7");
    let base = sweep.read("base.toml");
    sweep.folder.write("base.toml", base.replace("1MB", "2MB"));
    slurm.ask("scontrol", &["update", "PartitionName=debug", "State=UP"]).assert_code(0);
    slurm.await_that("all tasks have ended", |slurm| {
        slurm.states().iter().all(|state| state == "COMPLETED")
    });
    sweep.folder.write("sweep.toml", &text);
    sweep.folder.write("base.toml", base);
    let whole = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(!whole.stderr.contains("submitted job"), "{}", whole.stderr);
    assert_eq!(sweep.tables("out"), expected);
}

#[test]
fn a_call_with_other_runs_and_options_follows_and_says_what_has_no_effect() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    sweep.on(&slurm, "out", &["--detach", "--time", "30"]).finish().assert_code(0);
    let same = sweep.on(&slurm, "out", &["--detach", "--time", "30"]).finish().assert_code(0);
    assert!(!same.stderr.contains("warning"), "{}", same.stderr);
    let text = sweep.read("sweep.toml");
    let text = text.replace("seeds = 10", "seeds = { first = 2, count = 11 }");
    sweep.folder.write("sweep.toml", text);
    let more = ["--memory", "1G", "--time", "60"];
    let planned = sweep.on(&slurm, "out", &["--dry-run"]).finish().assert_code(0);
    assert!(planned.stderr.contains("job 1 is under way: without --dry-run"), "{}", planned.stderr);
    let followed = sweep.on(&slurm, "out", &more).finish().assert_code(1);
    let said = &followed.stderr;
    for expected in [
        "under way as it was submitted; to change its options, `scancel ",
        "--memory 1G has no effect, because the job was submitted without --memory",
        "--time 60 has no effect, because the job was submitted with --time 30",
        "that the sweep does not have any more; they run, and are in no table",
        "8 runs of the sweep are not in job 1; when it has ended, the same command submits them",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(followed.stdout.contains("36 of 44 runs are done"), "{}", followed.stdout);
    let newest = sweep.read("out/sweep.toml");
    assert!(newest.contains("count = 11"), "a task put its own in the place of it: {newest}");
    sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert_eq!(sweep.tables("out"), sweep.local());
    let nothing = sweep.on(&slurm, "out", &["--dry-run"]).finish().assert_code(0);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("nothing is left to submit"), "{}", nothing.stderr);
}

#[test]
fn runs_whose_file_was_changed_have_one_line_and_are_submitted_again() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let list = "kind = \"list\"\nfile = \"flows.csv\"\n";
    let base = sweep.read("base.toml");
    let (start, _) = base.split_once("kind = \"poisson\"").expect("it has flows");
    sweep.folder.write("base.toml", format!("{start}{list}"));
    let flows = |bytes: u32| {
        sweep
            .folder
            .write("flows.csv", format!("start_ns,src,dst,bytes,priority\n0,h0,h1,{bytes},3\n"))
    };
    flows(1_000_000);
    sweep.folder.write("sweep.toml", sweep.read("sweep.toml").replace("seeds = 10", "seeds = 3"));
    sweep.command("out", &["--only", "0"]).finish().assert_code(0);
    slurm.ask("scontrol", &["update", "PartitionName=debug", "State=DOWN"]).assert_code(0);
    sweep.on(&slurm, "out", &["--detach"]).finish().assert_code(0);
    // The probe has nothing to compare, so that tasks find the change.
    let mut job: serde_json::Value =
        serde_json::from_str(&sweep.read("out/jobs/1/job.json")).expect("it is JSON");
    job["witness"] = serde_json::Value::Null;
    sweep.folder.write("out/jobs/1/job.json", job.to_string());
    flows(2_000_000);
    slurm.ask("scontrol", &["update", "PartitionName=debug", "State=UP"]).assert_code(0);
    slurm.await_that("the task has failed", |slurm| slurm.states().contains(&"FAILED".to_owned()));
    let again = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    let of_job = || again.stderr.lines().filter(|line| line.contains("job 1: "));
    assert_eq!(of_job().count(), 1, "{}", again.stderr);
    let expected =
        "and 10 more: a file that its scenario names was changed since the job was submitted";
    assert!(of_job().all(|line| line.contains(expected)), "{}", again.stderr);
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn a_xoff_that_is_gone_or_another_program_gives_a_job_one_line() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    let own = sweep.folder.path("xoff");
    let mut call = sweep.command("out", &["--on", "slurm", "--detach", "--tasks", "2"]);
    fs::copy(call.0.get_program(), &own).expect("it can be copied");
    let arguments: Vec<_> = call.0.get_args().map(ToOwned::to_owned).collect();
    call.0 = Command::new(&own);
    slurm.equip(call.0.args(arguments));
    slurm.ask("scontrol", &["update", "PartitionName=debug", "State=DOWN"]).assert_code(0);
    call.finish().assert_code(0);
    let submitted: serde_json::Value =
        serde_json::from_str(&sweep.read("out/jobs/1/submitted.json")).expect("it is JSON");
    // The tasks start without the probe, as they do if the program is replaced behind it.
    let array = submitted["array"].to_string();
    slurm.ask("scontrol", &["update", &format!("JobId={array}"), "Dependency="]).assert_code(0);
    fs::remove_file(&own).expect("it is there");
    slurm.ask("scancel", &[&submitted["probe"].to_string()]).assert_code(0);
    slurm.ask("scontrol", &["update", "PartitionName=debug", "State=UP"]).assert_code(0);
    slurm.await_that("all tasks have ended", |slurm| {
        slurm.states().iter().all(|state| ["CANCELLED", "FAILED"].contains(&state.as_str()))
    });
    let again = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    let of_job = || again.stderr.lines().filter(|line| line.contains("job 1: "));
    assert_eq!(of_job().count(), 1, "{}", again.stderr);
    assert!(of_job().all(|line| line.contains("put it back")), "{}", again.stderr);
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn a_job_whose_submission_was_killed_is_found() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    sweep.on(&slurm, "out", &["--detach"]).finish().assert_code(0);
    // As after a call that was killed before it noted the job's numbers.
    fs::remove_file(sweep.folder.path("out/jobs/1/submitted.json")).expect("it is there");
    let followed = sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert!(!followed.stderr.contains("submitted job"), "{}", followed.stderr);
    assert_eq!(sweep.tables("out"), sweep.local());
}
