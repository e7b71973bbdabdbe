//! Sweeps as a person runs, interrupts, kills and resumes them. Needs no privilege.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tests::command::{Finished, Running, ScenarioFolder, finish, shipped_sweep, terminal, xoff};
use tests::sweep::{BASE, SWEEP, appeared, sweep_folder, tables};

const RUNS: usize = 12;

fn arguments(folder: &ScenarioFolder, out: &str, more: &[&str]) -> Vec<String> {
    let (file, out) = (folder.path("sweep.toml"), folder.path(out));
    let fixed = ["sweep", &file, "--out", &out].map(str::to_owned);
    fixed.into_iter().chain(more.iter().map(|&text| text.to_owned())).collect()
}

fn sweep(folder: &ScenarioFolder, out: &str, more: &[&str]) -> Finished {
    finish(&mut xoff(arguments(folder, out, more).iter().map(String::as_str)))
}

fn start(folder: &ScenarioFolder, out: &str) -> Running {
    Running::start(&mut xoff(arguments(folder, out, &[]).iter().map(String::as_str)))
}

fn read(folder: &ScenarioFolder, path: &str) -> String {
    fs::read_to_string(folder.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Signals a sweep when it has completed a run; returns the number of completed runs at its end.
fn signalled(folder: &ScenarioFolder, out: &str, signal: libc::c_int, code: i32) -> usize {
    let earlier = appeared(folder, out);
    let mut running = start(folder, out);
    while appeared(folder, out) == earlier && running.is_alive() {
        thread::sleep(Duration::from_millis(1));
    }
    running.signal(signal);
    running.finish().assert_code(code);
    appeared(folder, out)
}

#[test]
fn an_interrupted_sweep_resumes_to_the_same_bytes() {
    let folder = sweep_folder();
    sweep(&folder, "whole", &["--jobs", "2"]).assert_code(0);
    let expected = tables(&folder, "whole");
    let metrics = expected[0].lines().filter(|line| line.contains(",fct_ns.mean,")).count();
    assert_eq!(metrics, RUNS, "a row for each run");

    let interrupted = signalled(&folder, "broken", libc::SIGINT, 130);
    assert!((1..RUNS).contains(&interrupted), "{interrupted} runs were complete");
    let partial = read(&folder, "broken/sweep.csv");
    assert_eq!(partial.matches(",fct_ns.mean,").count(), interrupted, "the table has them");
    let killed = signalled(&folder, "broken", libc::SIGKILL, 128 + libc::SIGKILL);
    assert!((interrupted + 1..RUNS).contains(&killed), "{killed} runs were complete");

    let resumed = sweep(&folder, "broken", &[]).assert_code(0);
    let report = format!("{RUNS} of {RUNS} runs are done, {killed} of them from before");
    assert!(resumed.stdout.contains(&report), "{}", resumed.stdout);
    assert_eq!(tables(&folder, "broken"), expected);
    let mut entries: Vec<_> = fs::read_dir(folder.path("broken"))
        .expect("it is there")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    entries.sort();
    assert_eq!(entries, ["runs", "summary.csv", "sweep.csv", "sweep.toml"]);
}

#[test]
fn the_count_of_jobs_and_single_runs_change_nothing() {
    let folder = sweep_folder();
    sweep(&folder, "one", &["--jobs", "1"]).assert_code(0);
    sweep(&folder, "two", &["--jobs", "2"]).assert_code(0);
    let listed = sweep(&folder, "three", &["--list"]).assert_code(0).stdout;
    assert_eq!(listed.lines().count(), RUNS);
    assert!(listed.lines().all(|line| line.contains("\tto do\t")), "{listed}");
    assert!(listed.starts_with("0\t"), "{listed}");
    assert!(!Path::new(&folder.path("three")).exists(), "a list leaves nothing");
    for index in [7, 0] {
        sweep(&folder, "three", &["--only", &index.to_string()]).assert_code(0);
        sweep(&folder, "three", &["--only", &index.to_string()]).assert_code(0);
    }
    let listed = sweep(&folder, "three", &["--list"]).assert_code(0).stdout;
    let done: Vec<&str> = listed.lines().filter(|line| line.contains("\tcomplete\t")).collect();
    assert!(done.len() == 2 && done[0].starts_with("0\t") && done[1].starts_with("7\t"));
    sweep(&folder, "three", &["--only", "12"]).assert_refused(&["no run 12", "from 0 to 11"]);
    let last = sweep(&folder, "three", &[]).assert_code(0);
    assert!(last.stdout.contains("2 of them from before"), "{}", last.stdout);
    let expected = tables(&folder, "one");
    assert_eq!(tables(&folder, "two"), expected);
    assert_eq!(tables(&folder, "three"), expected);
    assert!(!expected[0].contains("seconds"), "the machine's times are no metrics");
}

#[test]
fn a_run_that_fails_is_named_and_tried_again() {
    let folder = sweep_folder();
    let listed = sweep(&folder, "out", &["--list"]).assert_code(0).stdout;
    let name = listed.lines().nth(4).and_then(|line| line.split('\t').nth(1)).expect("it has 12");
    // A folder that no run wrote is in the place of one.
    let place = folder.path(&format!("out/runs/{name}"));
    fs::create_dir_all(&place).expect("a folder can be made");
    fs::write(folder.path("out/sweep.toml"), SWEEP).expect("it can be written");
    fs::write(format!("{place}/thesis.tex"), "").expect("it can be written");
    let failed = sweep(&folder, "out", &[]).assert_code(1);
    let words = ["run 4 (variant=dcqcn switch.threshold.alpha=1 seed=2): ", "thesis.tex"];
    for word in words {
        assert!(failed.stderr.contains(word), "{word:?}: {}", failed.stderr);
    }
    assert!(failed.stdout.contains("11 of 12 runs are done"), "{}", failed.stdout);
    assert_eq!(read(&folder, "out/sweep.csv").matches(",fct_ns.mean,").count(), RUNS - 1);
    fs::remove_file(format!("{place}/thesis.tex")).expect("it is there");
    let again = sweep(&folder, "out", &[]).assert_code(0);
    assert!(again.stdout.contains("11 of them from before"), "{}", again.stdout);
    assert_eq!(read(&folder, "out/sweep.csv").matches(",fct_ns.mean,").count(), RUNS);
}

#[test]
fn a_run_that_is_not_what_it_claims_has_its_rows_and_is_named() {
    let folder = sweep_folder();
    folder.write("base.toml", BASE.replace("\"50ms\"", "\"4ms\"").replace("0.2", "0.9"));
    let text = "scenario = \"base.toml\"\nmetrics = [\"flows_*\"]\n";
    folder.write("sweep.toml", text);
    for _ in 0..2 {
        let finished = sweep(&folder, "out", &[]).assert_code(1);
        assert!(finished.stderr.contains("run 0 (seed=1): "), "{}", finished.stderr);
        assert!(finished.stderr.contains("flows completed"), "{}", finished.stderr);
        assert!(finished.stdout.contains("1 of 1 runs are done"), "{}", finished.stdout);
        assert!(finished.stdout.contains("1 of them cut by their duration"), "{}", finished.stdout);
    }
    let listed = sweep(&folder, "out", &["--list"]).assert_code(0).stdout;
    assert!(listed.contains("\tincomplete\t"), "{listed}");
    let table = read(&folder, "out/sweep.csv");
    assert!(table.starts_with("seed,run,state,metric,value\n1,"), "{table}");
    assert_eq!(
        table.matches(",incomplete,").count(),
        2,
        "the metrics that were asked for: {table}"
    );
    folder.write("sweep.toml", text.replace("flows_*", "fct_ns.mean"));
    sweep(&folder, "out", &[]).assert_code(1);
    assert!(read(&folder, "out/sweep.csv").contains(",incomplete,fct_ns.mean,"));
    let table = read(&folder, "out/summary.csv");
    assert!(table.ends_with("\nfct_ns.mean,0,1,0,,,,,\n"), "{table}");
}

/// Losses are results, and the sweep names the runs that had them.
#[test]
fn a_run_that_loses_lossless_packets_has_its_rows_and_is_named() {
    let folder = sweep_folder();
    let scenario = BASE.replace("[host]", "headroom = { kind = \"sih\" }\n[host]");
    folder.write("base.toml", scenario.replace("1/8", "1/64"));
    let text = "scenario = \"base.toml\"\nmetrics = [\"drops.policy\", \"lossless\"]\n\
                [matrix]\n\"switch.headroom.bytes\" = [\"1200B\", \"100kB\"]\n";
    folder.write("sweep.toml", text);
    for _ in 0..2 {
        let finished = sweep(&folder, "out", &[]).assert_code(1);
        for words in ["run 0 (switch.headroom.bytes=1200B seed=1): ", "headroom-exhausted"] {
            assert!(finished.stderr.contains(words), "{words}: {}", finished.stderr);
        }
        assert!(!finished.stderr.contains("run 1 "), "{}", finished.stderr);
        assert!(finished.stdout.contains("2 of 2 runs are done"), "{}", finished.stdout);
    }
    let table = read(&folder, "out/sweep.csv");
    let rows: Vec<&str> = table.lines().map(|row| row.rsplit_once(',').unwrap().1).collect();
    assert!(rows[1].parse::<u64>().unwrap() > 0, "{table}");
    assert_eq!(rows[2..], ["0", "0", "1"], "{table}");
}

#[test]
fn two_sweeps_do_not_share_a_sweep_folder() {
    let folder = sweep_folder();
    let mut first = start(&folder, "out");
    while appeared(&folder, "out") == 0 && first.is_alive() {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(first.is_alive(), "twelve runs take longer than one");
    // The others wait a moment for it.
    first.signal(libc::SIGSTOP);
    sweep(&folder, "out", &[]).assert_refused(&["another run of xoff writes to", "--out"]);
    sweep(&folder, "out", &["--only", "0"]).assert_refused(&["another run of xoff writes to"]);
    first.signal(libc::SIGKILL);
    first.finish();
    sweep(&folder, "out", &["--only", "0"]).assert_code(0);
}

#[test]
fn wrong_sweeps_run_nothing() {
    for (from, to, words) in [
        ("\"1/8\", \"1\"", "\"1/8\", \"0\"", &["`switch.threshold.alpha`", "sweep.toml:5:36"]),
        ("\"1/8\", \"1\"", "", &["has no value", "sweep.toml:5:"]),
        ("\"1/8\", \"1\"", "\"1/8\", \"1/8\"", &["two runs are the same", ":5:36"]),
        ("switch.threshold.alpha", "switch.threshold.alfa", &["unknown key `alfa`", ":5:19"]),
        ("[1, 2, 3]", "[1, 2, 2]", &["seed 2 is listed twice", "sweep.toml:3:16"]),
        ("seeds", "sedes", &["unknown key `sedes`", "did you mean `seeds`?"]),
        ("base.toml", "bases.toml", &["cannot read the scenario", "sweep.toml:2:12"]),
        ("\"pfc\"", "\"dcqcn\"", &["two variants are called `dcqcn`", "sweep.toml:10:8"]),
        ("\"none\"", "\"some\"", &["cannot be `some`", "sweep.toml:11:"]),
    ] {
        let folder = sweep_folder();
        assert!(SWEEP.contains(from), "{from}");
        folder.write("sweep.toml", SWEEP.replacen(from, to, 1));
        let before = folder.entries();
        sweep(&folder, "out", &[]).assert_refused(words);
        sweep(&folder, "out", &["--list"]).assert_refused(words);
        assert_eq!(folder.entries(), before, "{to} left something behind");
    }
    let folder = sweep_folder();
    folder.write("base.toml", BASE.replace("hosts = 5", "hosts = 1"));
    sweep(&folder, "out", &[]).assert_refused(&["base.toml:"]);
    let folder = sweep_folder();
    fs::create_dir(folder.path("out")).expect("a folder can be made");
    folder.write("out/summary.csv", "mine");
    sweep(&folder, "out", &[]).assert_refused(&["summary.csv", "no run of xoff wrote", "--out"]);
    assert_eq!(read(&folder, "out/summary.csv"), "mine");
    sweep(&folder, "out", &["--jobs", "0"]).assert_refused(&["--jobs"]);
    sweep(&folder, "base.toml", &[]).assert_refused(&["is not a folder"]);
}

#[test]
fn the_shipped_sweep_runs() {
    let folder = ScenarioFolder::new();
    let (file, out) = (shipped_sweep("alpha"), folder.path("out"));
    finish(&mut xoff(["sweep", &file, "--out", &out])).assert_code(0);
    let table = read(&folder, "out/summary.csv");
    let header = "variant,switch.threshold.alpha,metric,n,incomplete,deadlock,mean,ci95_low,ci95_high,min,max";
    assert_eq!(table.lines().next(), Some(header));
    // PFC acts on thresholds: the smaller they are, the longer it pauses.
    let pauses = |alpha: &str| -> f64 {
        let start = format!("pfc-only,{alpha},paused_ns,3,0,0,");
        let line = table.lines().find_map(|line| line.strip_prefix(&start));
        let line = line.unwrap_or_else(|| panic!("{start}: {table}"));
        line.split(',').next().and_then(|mean| mean.parse().ok()).expect("a number")
    };
    assert!(pauses("1/16") > pauses("1"), "{table}");
    assert!(
        table.lines().filter(|line| line.contains(",lossless,")).all(|line| line.ends_with('1'))
    );
}

#[test]
fn the_schema_of_sweeps_describes_every_key() {
    let text = finish(&mut xoff(["schema", "sweep"])).assert_code(0).stdout;
    let schema: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for key in ["scenario", "datapath", "seeds", "metrics", "matrix", "variants"] {
        let about = &schema["properties"][key]["description"];
        assert!(about.is_string(), "{key}: {schema}");
    }
    assert_eq!(schema["required"], serde_json::json!(["scenario"]));
}

#[test]
fn a_terminal_sees_a_bar_with_the_time_left() {
    use std::io::Read;
    let folder = sweep_folder();
    let (mut master, slave) = terminal();
    let output = || std::process::Stdio::from(slave.try_clone().expect("it can be copied"));
    let mut command = xoff(arguments(&folder, "out", &[]).iter().map(String::as_str));
    let mut child = command.stdout(output()).stderr(output()).spawn().expect("it starts");
    drop((command, slave));
    let mut seen = Vec::new();
    // Reading ends with an error when the last writer has gone.
    let _ = master.read_to_end(&mut seen);
    assert_eq!(child.wait().expect("it is a child").code(), Some(0));
    let seen = String::from_utf8_lossy(&seen);
    assert!(seen.contains("of 12 runs") && seen.contains(" left"), "there is no bar: {seen}");
    let erased = seen.rfind("\x1b[2K").expect("the bar goes");
    assert!(seen[erased..].contains("12 of 12 runs are done"), "{seen}");
}
