//! `xoff compare`: runs, and runs with a simulator's files. Needs no privilege.

use std::fs;

use serde_json::{Value, json as value};
use tests::command::{Finished, ScenarioFolder, finish, json, shipped, xoff};
use tests::sweep::BASE;

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
    let version = env!("CARGO_PKG_VERSION");
    let start = format!("equal: everything that A and B both have\nA: a, seed 1, xoff {version} ");
    assert!(text.starts_with(&start) && !text.contains("builds of xoff differ"), "{text}");
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
    let difference = i64::try_from(counts[1]).unwrap() - i64::try_from(counts[0]).unwrap();
    let of_both = value!({ "a": counts[0], "b": counts[1], "b_minus_a": difference });
    assert_eq!(answer["pauses"]["all"]["pauses"], of_both);
    let first = answer["first"]["at_ns"].as_u64().expect("an instant");
    assert!(instant.is_some_and(|instant| first <= instant), "{answer:#}");

    // As text, and in a report.
    let text = compare(&folder, "a", "b", &[]).assert_code(1).stdout;
    for words in ["different: from ", "switch.threshold.alpha", &line, "First difference: flow "] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let report = ["report", "a", "b", "--compare"];
    finish(xoff(report).current_dir(folder.path("."))).assert_code(0);
    let html = fs::read_to_string(folder.path("report.html")).expect("a report");
    assert!(html.contains("<h2>Comparison</h2>") && html.contains(&line), "{line}");
    // All rows are in the page.
    let html = html.replace("<wbr>", "");
    let metrics = answer["summary"].as_array().expect("a list");
    for metric in metrics {
        let key = metric["key"].as_str().expect("a name");
        assert!(html.contains(&format!("<td>{key}</td>")), "{key}");
    }
    assert!(metrics.len() > 20 && html.contains(&format!("<summary>{} more<", metrics.len() - 20)));
    let extent = |metric: &Value| {
        let [a, b] = ["a", "b"].map(|side| metric[side].as_f64().expect("a number"));
        assert!((b - a - metric["b_minus_a"].as_f64().unwrap()).abs() < 1e-6, "{metric}");
        (b - a).abs() / a.abs().max(b.abs())
    };
    assert!(metrics.iter().map(extent).is_sorted_by(|a, b| a >= &(b - 1e-6)), "{metrics:#?}");
    let verdict = answer["verdict"].as_str().expect("a sentence");
    assert!(text.starts_with(verdict) && html.contains(verdict), "{verdict}");
    finish(xoff(["report", "a", "--only", "flows"]).current_dir(folder.path(".")))
        .assert_refused(&["--tolerance and --only are for --compare"]);
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
    assert_eq!(flows["equal_fcts"].as_u64(), Some(matched - 1), "{flows:#}");
    let difference = i64::try_from(time ^ 1).unwrap() - i64::try_from(time).unwrap();
    assert_eq!(flows["first"]["b_minus_a_ns"], difference);
    assert_eq!(flows["first"]["b"]["flow"], 3);
    assert_eq!(answer["pauses"]["first"], Value::Null);

    // Times that differ by the tolerance at most count as equal.
    let close = compare(&folder, "a", "mix/fct.txt", &["--tolerance", "1ns"]).assert_code(0);
    assert!(close.stdout.starts_with("equal up to 1 ns: everything"), "{}", close.stdout);
    compare(&folder, "a", "mix/fct.txt", &["--tolerance", "999ps"]).assert_code(1);
    compare(&folder, "a", "mix/fct.txt", &["--only", "pauses"]).assert_code(0);
    compare(&folder, "a", "mix/pfc.txt", &["--only", "pauses"]).assert_code(0);

    // In the report of the run.
    let report = ["report", "a", "mix/fct.txt", "--compare", "--only", "flows"];
    finish(xoff(report).current_dir(folder.path("."))).assert_code(0);
    let html = fs::read_to_string(folder.path("report.html")).expect("a report");
    let verdict = answer["flows"]["first"]["at_ns"].as_u64().expect("an instant");
    let verdict = format!("<b>different: from {} ns on", results::count(verdict));
    assert!(html.contains(&verdict) && html.contains("a, mix/fct.txt"), "{verdict}");
    compare(&folder, "a", "mix/fct.txt", &["--only", "metrics"])
        .assert_refused(&["--only metrics leaves nothing to compare"]);

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
    let pfc = fs::read_to_string(folder.path("a/pfc.txt")).expect("it is written");
    folder.write("arrivals.txt", &pfc);
    finish(std::process::Command::new("mkfifo").arg(folder.path("pipe"))).assert_code(0);
    fs::create_dir_all(folder.path("sweep/runs")).expect("a folder can be made");
    folder.write("sweep/summary.csv", "metric,mean\n");
    for (side, words) in [
        ("none", &["cannot read none", "No such file", "xoff run --out"][..]),
        ("sweep", &["is the folder of a sweep", "sweep/runs"]),
        ("sweep/runs", &["holds no results"]),
        ("cut.txt", &["cut.txt line ", "it was cut"]),
        ("pipe", &["pipe is not a table: it is a pipe", "save its text as a file"]),
        ("arrivals.txt", &["arrivals.txt line 1: fields: 5, expected: 8 (sip dip"]),
    ] {
        compare(&folder, "a", side, &[]).assert_refused(words);
        compare(&folder, side, "a", &[]).assert_refused(words);
    }
}

/// Output that nobody reads changes no exit code, and output that cannot be written is an error.
#[test]
fn the_exit_code_is_of_the_comparison_unless_its_text_is_lost() {
    let folder = ScenarioFolder::new();
    run(&folder, "a", &[]);
    run(&folder, "b", &["--set", "switch.threshold.alpha=1/4"]);
    let xoff = xoff(["compare"]).get_program().to_owned();
    for (sides, output, code) in [
        ("a a", ">&-", 0),
        ("a b", ">&-", 1),
        ("a a", "| true; exit ${PIPESTATUS[0]}", 0),
        ("a b", "| true; exit ${PIPESTATUS[0]}", 1),
        ("a a", ">/dev/full", 2),
        ("a b", ">/dev/full", 2),
    ] {
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &format!("\"$0\" compare {sides} {output}")]).arg(&xoff);
        finish(shell.current_dir(folder.path("."))).assert_code(code);
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

/// Flow 7 of one seed has nothing to do with flow 7 of another.
#[test]
fn runs_of_two_seeds_have_distributions() {
    let folder = ScenarioFolder::new();
    let base = folder.write("base.toml", BASE);
    for seed in ["1", "2"] {
        let (out, set) = (folder.path(seed), format!("seed={seed}"));
        let run = ["run", &base, "--datapath", "memory", "--set", &set, "--out", &out];
        finish(&mut xoff(run)).assert_code(0);
    }
    let only = ["--only", "flows", "--json"];
    let answer = json(&compare(&folder, "1", "2", &only).assert_code(1).stdout);
    let flows = &answer["flows"];
    assert_eq!((&flows["matched"], &flows["fct_ns"]), (&0.into(), &Value::Null), "{flows:#}");
    let verdict = answer["verdict"].as_str().expect("a sentence");
    assert!(verdict.starts_with("different: the flows are not the same ("), "{verdict}");

    // Percentiles are those of the tables, by nearest rank.
    let class = &flows["sizes"][0];
    assert_eq!((&class["from_bytes"], &class["to_bytes"]), (&64_000.into(), &64_000.into()));
    let p99 = ["1", "2"].map(|seed| {
        let rows = rows(&folder, &format!("{seed}/flows.csv"));
        let column = rows[0].iter().position(|column| column == "fct_ns").expect("a column");
        let mut times: Vec<i64> =
            rows[1..].iter().map(|row| row[column].parse().unwrap()).collect();
        times.sort_unstable();
        times[(times.len() * 99).div_ceil(100) - 1]
    });
    let found = &class["fct_ns"]["p99"];
    assert_eq!((&found["a"], &found["b"]), (&p99[0].into(), &p99[1].into()), "{found}");
    assert_eq!(found["b_minus_a"], p99[1] - p99[0]);
    let text = compare(&folder, "1", "2", &[]).assert_code(1).stdout;
    for words in [
        "The seeds are 1 and 2; ",
        "  64,000 B  completed ",
        "rows (+8): of flows that are not the same",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    assert!(!text.contains("take longer in B"), "{text}");
}

/// Runs of sweeps are called by the values of the axes, and belong together if these are equal.
#[test]
fn sweeps_are_compared_run_by_run() {
    let folder = ScenarioFolder::new();
    let sweep = |name: &str, alphas: &str, load: &str| {
        let load = format!("load = {load}");
        let base = BASE.replace("load = 0.2", &load).replace("4ms", "1ms");
        folder.write(&format!("base-{name}.toml"), base);
        let text = format!(
            "scenario = \"base-{name}.toml\"\nseeds = 1\n[matrix]\n\
             \"switch.threshold.alpha\" = [{alphas}]\n\"switch.buffer\" = [\"1MB\", \"4MB\"]\n"
        );
        let file = folder.write(&format!("{name}.toml"), text);
        finish(&mut xoff(["sweep", &file, "--out", &folder.path(name)])).assert_code(0);
    };
    sweep("a", "\"1/8\", \"1\"", "0.2");
    sweep("b", "\"1\", \"1/8\"", "0.2");
    let text = compare(&folder, "a", "b", &[]).assert_code(0).stdout;
    assert!(text.starts_with("equal: 4 runs"), "{text}");
    assert!(text.contains("  alpha 1/8, buffer 4MB, seed 1"), "{text}");
    let runs = fs::read_dir(folder.path("a/runs")).expect("runs").flatten();
    let run = runs.map(|entry| entry.file_name().into_string().unwrap()).min().expect("a run");
    let run = format!("a/runs/{run}");
    let one = compare(&folder, &run, &run, &[]).assert_code(0).stdout;
    assert!(one.contains(&format!("\nA: {run}, alpha 1")), "{one}");
    finish(xoff(["report", &run]).current_dir(folder.path("."))).assert_code(0);
    let html = fs::read_to_string(folder.path("report.html")).expect("a report");
    assert!(html.contains("<h1>alpha 1"), "the run has its axes as its name");

    sweep("c", "\"1\", \"1/2\"", "0.3");
    let answer = json(&compare(&folder, "a", "c", &["--json"]).assert_code(1).stdout);
    let runs = answer["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 2, "{answer:#}");
    assert!(runs.iter().all(|run| run["comparison"]["equal"] == false), "{answer:#}");
    assert_eq!(answer["only"]["a"].as_array().map(Vec::len), Some(2), "{answer:#}");
    let text = compare(&folder, "a", "c", &[]).assert_code(1).stdout;
    assert!(
        text.starts_with("different: 2 of 2 runs, 2 runs only in A, 2 runs only in B\n"),
        "{text}"
    );
    compare(&folder, "a", &run, &[]).assert_refused(&[
        "a is the folder of a sweep",
        "the other side is not",
        "alpha 1",
    ]);
    finish(xoff(["report", "a", "b", "--compare"]).current_dir(folder.path(".")))
        .assert_refused(&["a is the folder of a sweep", "xoff compare"]);
}
