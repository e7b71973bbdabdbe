//! `xoff compare`: runs, and runs with a simulator's files. Needs no privilege.

use std::fs;

use serde_json::{Value, json as value};
use tests::command::{Finished, ScenarioFolder, finish, json, shipped, xoff};

/// Runs a scenario that ships, in memory.
fn run(folder: &ScenarioFolder, name: &str, more: &[&str]) {
    let (scenario, out) = (shipped("incast"), folder.path(name));
    let fixed = ["run", &scenario, "--datapath", "memory", "--out", &out];
    finish(&mut xoff(fixed.into_iter().chain(more.iter().copied()))).assert_code(0);
}

fn compare(folder: &ScenarioFolder, a: &str, b: &str, more: &[&str]) -> Finished {
    let sides = ["compare", a, b].into_iter().chain(more.iter().copied());
    finish(xoff(sides).current_dir(folder.path(".")))
}

/// Rows of a table whose fields have no commas.
fn rows(folder: &ScenarioFolder, file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.path(file)).expect("it is written");
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Whatever the format of the tables.
#[test]
fn a_run_equals_itself() {
    let folder = ScenarioFolder::new();
    run(&folder, "a", &[]);
    run(&folder, "b", &["--format", "parquet", "--threads", "2"]);
    let text = compare(&folder, "a", "b", &[]).assert_code(0).stdout;
    assert!(text.starts_with("A: a\nB: b\nequal: "), "{text}");
    let answer = json(&compare(&folder, "a", "b", &["--json"]).assert_code(0).stdout);
    assert_eq!((&answer["equal"], &answer["first"]), (&true.into(), &Value::Null), "{answer:#}");
    let flows = &answer["flows"];
    assert_eq!(
        (&flows["matched"], &flows["equal_fcts"]),
        (&flows["flows"]["a"], &flows["matched"])
    );
    let [key] = &answer["scenario"].as_array().expect("a list")[..] else { panic!("{answer:#}") };
    assert_eq!(key, &value!({ "key": "results.format", "a": null, "b": "parquet" }));
}

#[test]
fn runs_that_differ_part_at_the_first_row_that_differs() {
    let folder = ScenarioFolder::new();
    run(&folder, "a", &[]);
    run(&folder, "b", &["--set", "switch.threshold.alpha=1/4"]);
    let answer = json(&compare(&folder, "a", "b", &["--json"]).assert_code(1).stdout);
    assert_eq!(answer["equal"], false, "{answer:#}");
    let keys = answer["scenario"].as_array().expect("a list");
    assert_eq!(keys[..], [value!({ "key": "switch.threshold.alpha", "a": "1/2", "b": "1/4" })]);

    // The first rows of pauses differ where the answer says.
    let [a, b] = ["a", "b"].map(|name| rows(&folder, &format!("{name}/pauses.csv")));
    let place = a.iter().zip(&b).position(|(a, b)| a != b).expect("they pause differently");
    let tables = answer["tables"].as_array().expect("a list");
    let pauses = tables.iter().find(|table| table["table"] == "pauses").expect("a table");
    let line = format!("pauses.csv line {}", place + 1);
    assert_eq!(pauses["first"]["place"], value!({ "a": line, "b": line }));
    let instant = [&a, &b].map(|rows| rows[place][0].parse::<u64>().unwrap()).into_iter().min();
    assert_eq!(pauses["first"]["at_ns"].as_u64(), instant);
    let counts = [&a, &b].map(|rows| rows.iter().filter(|row| row[5] == "xoff").count());
    assert_eq!(answer["pauses"]["all"]["pauses"], value!({ "a": counts[0], "b": counts[1] }));
    let first = answer["first"]["at_ns"].as_u64().expect("an instant");
    assert!(instant.is_some_and(|instant| first <= instant), "{answer:#}");

    // As text, and in a report.
    let text = compare(&folder, "a", "b", &[]).assert_code(1).stdout;
    for words in ["\ndifferent: from ", "switch.threshold.alpha", &line, "First difference: flow "]
    {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let report = ["report", "a", "b", "--compare"];
    finish(xoff(report).current_dir(folder.path("."))).assert_code(0);
    let html = fs::read_to_string(folder.path("report.html")).expect("a report");
    assert!(html.contains("<h2>Comparison</h2>") && html.contains(&line), "{line}");
    finish(xoff(["report", "a", "--compare"]).current_dir(folder.path(".")))
        .assert_refused(&["--compare is for two runs", "name two folders"]);
}

#[test]
fn a_run_equals_its_own_files_for_a_simulators_users_up_to_a_digit() {
    let folder = ScenarioFolder::new();
    run(&folder, "a", &["--format", "hpcc", "--set", "results.hpcc.time_offset=2s"]);
    fs::create_dir(folder.path("mix")).expect("a folder can be made");
    let [fct, pfc] = ["fct.txt", "pfc.txt"].map(|name| {
        let text = fs::read_to_string(folder.path(&format!("a/{name}"))).expect("it is written");
        folder.write(&format!("mix/{name}"), &text);
        text
    });
    let text = compare(&folder, "a", "mix/fct.txt", &[]).assert_code(0).stdout;
    assert!(
        text.contains("Pauses (pfc.txt)") && text.contains("Counts of all ports are equal"),
        "{text}"
    );

    // The last digit of the third flow's completion time.
    let mut lines: Vec<String> = fct.lines().map(str::to_owned).collect();
    let mut words: Vec<String> = lines[2].split(' ').map(str::to_owned).collect();
    let time: u64 = words[6].parse().unwrap();
    words[6] = (time ^ 1).to_string();
    lines[2] = words.join(" ");
    folder.write("mix/fct.txt", lines.join("\n") + "\n");
    let answer = json(&compare(&folder, "a", "mix/fct.txt", &["--json"]).assert_code(1).stdout);
    let flows = &answer["flows"];
    let matched = flows["matched"].as_u64().expect("a number");
    assert_eq!(flows["equal_starts"].as_u64(), Some(matched));
    assert_eq!(flows["equal_fcts"].as_u64(), Some(matched - 1), "{flows:#}");
    assert_eq!(flows["fct_ns"]["max"], 1);
    assert_eq!(flows["first"]["b"]["flow"], 3);
    assert_eq!(answer["pauses"]["first"], Value::Null);

    // A pause less, of the file alone.
    let (_, rest) = pfc.split_once('\n').expect("it has lines");
    folder.write("mix/fct.txt", &fct);
    folder.write("mix/pfc.txt", rest);
    let answer = json(&compare(&folder, "mix/fct.txt", "a", &["--json"]).assert_code(1).stdout);
    let first = pfc.split(' ').next().and_then(|time| time.parse::<u64>().ok());
    assert_eq!(answer["first"]["at_ns"].as_u64(), first.map(|time| time - 2_000_000_000));
    let pauses = &answer["pauses"]["all"]["pauses"];
    assert_eq!(pauses["a"].as_u64().map(|count| count + 1), pauses["b"].as_u64());
}

#[test]
fn sides_that_cannot_be_compared_are_refused() {
    let folder = ScenarioFolder::new();
    run(&folder, "a", &["--format", "hpcc"]);
    let fct = fs::read_to_string(folder.path("a/fct.txt")).expect("it is written");
    folder.write("cut.txt", &fct[..fct.len() - 3]);
    finish(std::process::Command::new("mkfifo").arg(folder.path("pipe"))).assert_code(0);
    fs::create_dir_all(folder.path("sweep/runs")).expect("a folder can be made");
    folder.write("sweep/summary.csv", "metric,mean\n");
    for (side, words) in [
        ("none", &["cannot read none", "No such file", "xoff run --out"][..]),
        ("sweep", &["is the folder of a sweep", "sweep/runs"]),
        ("sweep/runs", &["holds no results"]),
        ("cut.txt", &["cut.txt line ", "it was cut"]),
        ("pipe", &["pipe is not a table: it is a pipe", "save its text as a file"]),
        ("a/pfc.txt", &["pfc.txt line 1: fields: 5, expected: 8 (sip dip"]),
    ] {
        compare(&folder, "a", side, &[]).assert_refused(words);
        compare(&folder, side, "a", &[]).assert_refused(words);
    }
}

/// The run ends while flows are under way; a run may have no table of flows.
#[test]
fn a_run_equals_its_own_file_of_completed_flows() {
    let folder = ScenarioFolder::new();
    run(&folder, "all", &["--format", "hpcc"]);
    let times = |row: &Vec<String>| row[6].parse::<u64>().ok().zip(row[7].parse::<u64>().ok());
    let flows = rows(&folder, "all/flows.csv");
    let column = |name: &str| flows[0].iter().position(|column| column == name).expect("a column");
    assert_eq!([column("start_ns"), column("fct_ns")], [6, 7]);
    let mut ends: Vec<u64> = flows.iter().filter_map(times).map(|(at, fct)| at + fct).collect();
    ends.sort_unstable();
    let half = format!("duration={}ns", ends[ends.len() / 2]);

    let shorter = ["--format", "hpcc", "--set", &half];
    let (scenario, out) = (shipped("incast"), folder.path("half"));
    let fixed = ["run", &scenario, "--datapath", "memory", "--out", &out];
    finish(&mut xoff(fixed.into_iter().chain(shorter)));
    let answer = json(&compare(&folder, "half", "half/fct.txt", &["--json"]).assert_code(0).stdout);
    let unfinished = &answer["flows"]["unfinished"];
    assert!(unfinished["a"].as_u64().is_some_and(|flows| flows > 0), "{answer:#}");
    assert_eq!(unfinished["b"], 0);

    run(&folder, "none", &["--format", "hpcc", "--set", "results.omit=[\"flows\"]"]);
    let text = compare(&folder, "none", "all/fct.txt", &[]).assert_code(1).stdout;
    assert!(text.contains("fct.txt: only B has it"), "{text}");
}
