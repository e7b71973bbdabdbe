//! `[[expect]]`: verdicts of a run. Needs no privilege.

use std::fs;

use serde_json::Value;
use tests::command::{ScenarioFolder, finish, shipped, xoff};

/// Expectations of `incast.toml`, whose flows all complete: one that holds and one that does not.
const HOLDS: &str = "[[expect]]\nsummary = \"lossless\"\noperator = \"==\"\nvalue = true\n";
const FAILS: &str =
    "[[expect]]\nname = \"quick\"\ntable = \"flows\"\ncolumn = \"fct_ns\"\naggregate = \"max\"
operator = \"<\"\nvalue = \"1us\"\n";

fn incast(folder: &ScenarioFolder, expectations: &str) -> String {
    let text = fs::read_to_string(shipped("incast")).expect("it ships");
    folder.write("incast.toml", format!("{text}\n{expectations}"))
}

#[test]
fn an_expectation_that_does_not_hold_fails_a_run_and_says_why() {
    let (folder, temporary) = (ScenarioFolder::new(), ScenarioFolder::new());
    let file = incast(&folder, &(HOLDS.to_owned() + FAILS));
    let mut run = xoff(["run", &file, "--datapath", "memory"]);
    let run = finish(run.env("TMPDIR", temporary.path(""))).assert_code(1);
    for words in [
        "ok    lossless == true",
        "FAIL  quick: max of fct_ns in flows.csv < 1 us; got ",
        "look at flows.csv, line ",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    // Its tables are written for the expectations only.
    assert!(temporary.entries().is_empty(), "{:?}", temporary.entries());
    assert!(!run.stdout.contains("Results in"), "{}", run.stdout);
    let held = incast(&folder, HOLDS);
    finish(&mut xoff(["run", &held, "--datapath", "memory"])).assert_code(0);
}

#[test]
fn verdicts_are_in_the_json() {
    let folder = ScenarioFolder::new();
    let file = incast(&folder, &(HOLDS.to_owned() + FAILS));
    let out = folder.path("results");
    let run = finish(&mut xoff(["run", &file, "--datapath", "memory", "--json", "--out", &out]));
    let run: Value = serde_json::from_str(&run.assert_code(1).stdout).expect("it is JSON");
    let verdicts = run["expectations"].as_array().expect("they are a list");
    let passed: Vec<_> = verdicts.iter().map(|it| it["passed"].as_bool()).collect();
    assert_eq!(passed, [Some(true), Some(false)]);
    assert_eq!(verdicts[1]["name"], "quick");
}

#[test]
fn an_expectation_of_nothing_is_refused_before_the_run() {
    let folder = ScenarioFolder::new();
    let file =
        incast(&folder, "[[expect]]\nsummary = \"losless\"\noperator = \"==\"\nvalue = true\n");
    let words = ["summary.json has no value `losless`", "did you mean `lossless`?", "incast.toml:"];
    finish(&mut xoff(["validate", &file])).assert_refused(&words);
    finish(&mut xoff(["run", &file, "--datapath", "memory"])).assert_refused(&words);
}
