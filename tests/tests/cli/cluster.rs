//! Sweeps in parts, and for clusters, without a cluster.

use std::fs;
use std::process::Command;

use tests::command::{Finished, ScenarioFolder, finish, json, xoff};
use tests::sweep::{SWEEP, appeared, sweep_folder, tables};

/// A Python with kubernetes-validate; `cargo xtask test` sets it.
const PYTHON_VARIABLE: &str = "XOFF_TOOLS_PYTHON";
/// Holds a manifest against the schema that Kubernetes publishes, for the first version that has all its keys and the last one.
const VALIDATE: &str = "
import json, sys, kubernetes_validate
manifest = json.load(open(sys.argv[1]))
for version in ['1.29', kubernetes_validate.latest_version()]:
    kubernetes_validate.validate(manifest, version, strict=True)
";

fn sweep(folder: &ScenarioFolder, out: &str, more: &[&str]) -> Finished {
    let (file, out) = (folder.path("sweep.toml"), folder.path(out));
    let mut command = xoff(["sweep", &file, "--out", &out]);
    // Disables access to any cluster of this machine.
    command.args(more).env("PATH", "/nowhere");
    finish(&mut command)
}

#[test]
fn parts_make_the_tables_of_the_whole() {
    let folder = sweep_folder();
    sweep(&folder, "whole", &[]).assert_code(0);
    for part in ["0/4", "1/4", "2/4", "3/4"] {
        let done = sweep(&folder, "parts", &["--part", part]).assert_code(0);
        assert!(done.stdout.contains("runs are done, 0 failed"), "{}", done.stdout);
        let has_table = fs::exists(folder.path("parts/sweep.csv")).expect("readable");
        assert!(!has_table, "a part writes none");
    }
    let status = sweep(&folder, "parts", &["--status", "--json"]).assert_code(0);
    let status = json(&status.stdout);
    assert_eq!((&status["done"], &status["job"]), (&12.into(), &serde_json::Value::Null));
    sweep(&folder, "parts", &["--tables"]).assert_code(0);
    assert_eq!(tables(&folder, "parts"), tables(&folder, "whole"));
}

#[test]
fn tables_of_a_half_name_what_is_missing_and_run_nothing() {
    let folder = sweep_folder();
    sweep(&folder, "out", &["--part", "1/2"]).assert_code(0);
    let half = sweep(&folder, "out", &["--tables"]).assert_code(1);
    assert!(half.stdout.contains("6 of 12 runs are done"), "{}", half.stdout);
    assert!(
        half.stdout.contains("the same command without --tables runs the others"),
        "{}",
        half.stdout
    );
    assert_eq!(appeared(&folder, "out"), 6);
    let status = sweep(&folder, "out", &["--status"]).assert_code(0);
    assert!(status.stdout.contains("6 of 12 runs are done"), "{}", status.stdout);

    // Runs of another sweep in the same folder are counted separately.
    folder.write("sweep.toml", SWEEP.replace("[1, 2, 3]", "[7]"));
    let other = sweep(&folder, "out", &["--status"]).assert_code(0);
    assert!(
        other.stdout.contains("6 folders in runs/ are of another sweep file"),
        "{}",
        other.stdout
    );
}

#[test]
fn invalid_calls_for_a_cluster_are_reported() {
    let folder = sweep_folder();
    let volume = format!("sweeps={}", folder.path("elsewhere"));
    let here = format!("sweeps={}", folder.path(""));
    let manifest = ["--manifest", "kubernetes", "--image", "xoff"];
    for (arguments, expected) in [
        (vec!["--on", "slurm"], "there is no `scontrol` on this machine"),
        (vec!["--on", "pbs"], "invalid value 'pbs'"),
        (vec!["--partition", "long"], "--partition is for --on alone"),
        (vec!["--cpus", "2"], "--cpus is for --on or --manifest alone"),
        (
            vec!["--part", "0/3", "--", "--account=lab"],
            "what follows -- means nothing with --part: leave it out",
        ),
        (
            [&manifest[..], &["--volume", &here, "--time", "30", "--detach"]].concat(),
            "--time, --detach mean nothing with --manifest: leave them out",
        ),
        (
            [&manifest[..], &["--volume", &here, "--build", "0"]].concat(),
            "--build means nothing with --manifest",
        ),
        ([&manifest[..], &["--volume", &here, "--job=1", "--task=0"]].concat(), "cannot be used"),
        (vec!["--status", "--image", "xoff"], "--image means nothing with --status"),
        (vec!["--on", "slurm", "--image", "xoff"], "--image means nothing with --on"),
        (vec!["--on", "slurm", "--cpus", "0"], "invalid value '0'"),
        (vec!["--part", "4/4"], "write K/N, such as 0/8"),
        (vec!["--part", "0/4", "--on", "slurm"], "cannot be used with"),
        (vec!["--tables", "--out", "missing"], "cannot be used multiple times"),
        (vec!["--manifest", "kubernetes"], "--image <IMAGE>"),
        ([&manifest[..], &["--volume", &volume]].concat(), "pods would not see it"),
        ([&manifest[..], &["--volume", "sweeps"]].concat(), "write CLAIM=FOLDER"),
        (vec!["--job", "1", "--task", "0"], "cannot read "),
    ] {
        let refused = sweep(&folder, "out", &arguments).assert_code(2);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
    }
    for call in ["--tables", "--status"] {
        let refused = sweep(&folder, "missing", &[call]).assert_code(2);
        assert!(refused.stderr.contains("missing is no folder of a sweep"), "{}", refused.stderr);
    }
}

#[test]
fn a_manifest_is_what_kubernetes_takes() {
    let python = std::env::var(PYTHON_VARIABLE)
        .unwrap_or_else(|_| panic!("{PYTHON_VARIABLE} is not set: `cargo xtask test` sets it"));
    let folder = sweep_folder();
    let volume = format!("sweeps={}:/data", folder.path(""));
    let more = ["--manifest", "kubernetes", "--image", "lab/xoff:0.2", "--volume", &volume];
    let more = [&more[..], &["--tasks", "6", "--cpus", "2", "--memory", "1G"]].concat();
    let manifest = sweep(&folder, "out", &more).assert_code(0);
    assert!(!fs::exists(folder.path("out")).expect("readable"), "nothing runs");
    let merge =
        format!("`xoff sweep {} --out={} --tables`", folder.path("sweep.toml"), folder.path("out"));
    assert!(manifest.stderr.contains(&merge), "{}", manifest.stderr);
    let file = folder.write("job.json", &manifest.stdout);
    finish(Command::new(python).args(["-c", VALIDATE, &file])).assert_code(0);
    let container = &json(&manifest.stdout)["spec"]["template"]["spec"]["containers"][0];
    let expected = ["sweep", "/data/sweep.toml", "--out=/data/out", "--jobs=2"];
    let arguments: Vec<&str> =
        container["args"].as_array().expect("a list").iter().filter_map(|it| it.as_str()).collect();
    assert_eq!(arguments[..4], expected);
    assert_eq!(arguments[5..], ["--part=$(JOB_COMPLETION_INDEX)/6"]);

    let many =
        ["--manifest", "kubernetes", "--image", "xoff", "--volume", &volume, "--tasks", "99"];
    let many = sweep(&folder, "out", &many).assert_code(0);
    assert_eq!(json(&many.stdout)["spec"]["completions"], 12, "{}", many.stdout);
    assert!(many.stderr.contains("--tasks 99 is more than there can be"), "{}", many.stderr);

    // Only the build that makes the tables may run tasks.
    sweep(&folder, "out", &["--part", "0/6", arguments[4]]).assert_code(0);
    let other = sweep(&folder, "out", &["--part", "1/6", "--build=0.1.0-0123"]).assert_code(2);
    assert!(other.stderr.contains("use the same binary in the image and here"), "{}", other.stderr);
}
