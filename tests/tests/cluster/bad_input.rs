//! Sweeps that cannot be submitted or executed.

use std::fs;

use tests::slurm::Slurm;

use crate::sweep::Sweep;

#[test]
fn jobs_that_slurm_refuses_are_reported_and_leave_no_job() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    for (arguments, expected) in [
        (
            vec!["--partition", "nope"],
            "the cluster has no partition `nope`; `sinfo` lists debug, short",
        ),
        (vec!["--memory", "2"], "write a number with K, M, G or T"),
        (vec!["--time", "1h"], "write MINUTES, MINUTES:SECONDS"),
        (vec!["--", "--array=1-3"], "--array=1-3 cannot be given to sbatch here"),
        (vec!["--", "-a1-3"], "-a1-3 cannot be given to sbatch here"),
        (vec!["--", "--dep=singleton"], "--dep=singleton cannot be given to sbatch here"),
        (vec!["--", "--no-such-option"], "`sbatch` failed: "),
        (vec!["--memory", "9T"], "`sbatch` failed: "),
        (vec!["--cpus", "64"], "`sbatch` failed: "),
        (vec!["--dry-run", "--", "--partition=nope"], "`sbatch` failed: "),
    ] {
        let refused = sweep.on(&slurm, "out", &arguments).finish().assert_code(2);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
        let jobs = fs::read_dir(sweep.folder.path("out/jobs")).map_or(0, Iterator::count);
        assert_eq!(jobs, 0, "{arguments:?}");
    }
    assert_eq!(slurm.states(), Vec::<String>::new());

    // Slurm takes a job that is over the partition's time limit, and lets it wait.
    let more = ["--partition", "short", "--time", "30"];
    let refused = sweep.on(&slurm, "out", &more).finish().assert_code(2);
    assert!(refused.stderr.contains("Slurm cannot start tasks: "), "{}", refused.stderr);
    assert!(slurm.states().iter().all(|state| state == "CANCELLED"), "{:?}", slurm.states());
}

#[test]
fn a_folder_that_tasks_do_not_see_is_found_before_anything_runs() {
    let mut slurm = Slurm::start();
    let sweep = Sweep::new();
    let out = sweep.folder.path("out");
    fs::create_dir(&out).expect("a folder can be made");
    slurm.run(&format!("mount -t tmpfs none {out}"));
    let refused = sweep.on(&slurm, "out", &[]).finish().assert_code(2);
    assert!(refused.stderr.contains(&format!("does not see {out}")), "{}", refused.stderr);
    let log = sweep.folder.path("out/jobs/1/task-0.log");
    assert!(!fs::exists(log).expect("readable"), "a task ran");
    slurm.run(&format!("umount {out}"));
    sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    assert_eq!(sweep.tables("out"), sweep.local());
}

#[test]
fn another_build_or_a_processor_that_computes_something_else_runs_nothing() {
    let slurm = Slurm::start();
    let sweep = Sweep::new();
    sweep.on(&slurm, "out", &[]).finish().assert_code(0);
    let job = sweep.read("out/jobs/1/job.json");
    let task = || sweep.command("out", &["--job", "1", "--task", "0"]).finish();
    let edit = |key: &str, value: &str| {
        let mut edited: serde_json::Value = serde_json::from_str(&job).expect("it is JSON");
        edited[key] = value.into();
        sweep.folder.write("out/jobs/1/job.json", edited.to_string());
    };
    edit("build", "0123");
    let refused = task().assert_code(2);
    assert!(refused.stderr.contains("-0123: xoff was replaced since then"), "{}", refused.stderr);
    assert!(sweep.read("out/jobs/1/reports/0.json").contains("-0123 back on all of them"));
    // Another build may describe jobs in another way.
    let other = r#"{ "version": "9.0.0", "build": "0123", "host": "node1", "runs": "many" }"#;
    sweep.folder.write("out/jobs/1/job.json", other);
    assert!(task().assert_code(2).stderr.contains("submitted by 9.0.0-0123: xoff was replaced"));

    // On another kind of processor, the witness must have equal results.
    let mut foreign: serde_json::Value = serde_json::from_str(&job).expect("it is JSON");
    foreign["witness"]["processor"] = "another".into();
    sweep.folder.write("out/jobs/1/job.json", foreign.to_string());
    task().assert_code(0);
    let job: serde_json::Value = serde_json::from_str(&job).expect("it is JSON");
    let witness = job["witness"]["run"].as_str().expect("a run was measured");
    let flows = format!("out/runs/{witness}/flows.csv");
    sweep.folder.write(&flows, sweep.read(&flows) + "\n");
    let differs = task().assert_code(2);
    assert!(differs.stderr.contains("gives another flows.csv"), "{}", differs.stderr);
}
