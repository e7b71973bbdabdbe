//! Sweep files that are right, and what is said about those that are not.

use std::fs;

use insta::assert_snapshot;

use super::{Plan, Sweep};

const SCENARIO: &str = r#"
duration = "1ms"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
[[flows]]
kind = "incast"
senders = ["h1", "h2"]
receiver = "h0"
bytes = "10kB"
"#;

fn planned(text: &str) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("base.toml"), SCENARIO).unwrap();
    let path = folder.path().join("sweep.toml");
    fs::write(&path, format!("scenario = \"base.toml\"\n{text}")).unwrap();
    let plan = Sweep::load(&path).and_then(Plan::of);
    plan.map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
}

fn runs(text: &str) -> Vec<String> {
    let plan = planned(text).unwrap_or_else(|error| panic!("{error}"));
    plan.runs.iter().map(|run| plan.sweep.describe(&run.choices, run.seed)).collect()
}

fn report(text: &str) -> String {
    planned(text).err().unwrap_or_else(|| panic!("this is right:\n{text}"))
}

#[test]
fn runs_are_the_product_with_seeds_turning_fastest() {
    let text = r#"
seeds = [7, 5]
[matrix]
"switch.buffer" = ["1MB", "2MB"]
"flows.0.bytes" = ["20kB"]
[[variants]]
name = "sih"
set = { "switch.headroom" = { kind = "sih" } }
[[variants]]
name = "large"
set = { "switch.headroom" = { kind = "sih", bytes = "60kB" }, "switch.lossless" = [3] }
"#;
    assert_snapshot!(runs(text).join("\n"), @"
    variant=sih switch.buffer=1MB flows.0.bytes=20kB seed=7
    variant=sih switch.buffer=1MB flows.0.bytes=20kB seed=5
    variant=sih switch.buffer=2MB flows.0.bytes=20kB seed=7
    variant=sih switch.buffer=2MB flows.0.bytes=20kB seed=5
    variant=large switch.buffer=1MB flows.0.bytes=20kB seed=7
    variant=large switch.buffer=1MB flows.0.bytes=20kB seed=5
    variant=large switch.buffer=2MB flows.0.bytes=20kB seed=7
    variant=large switch.buffer=2MB flows.0.bytes=20kB seed=5
    ");
    assert_eq!(runs("seeds = 3"), ["seed=1", "seed=2", "seed=3"]);
    assert_eq!(runs(""), ["seed=1"]);
}

#[test]
fn a_run_of_an_index_is_that_of_the_plan() {
    let plan = planned("seeds = 2\n[matrix]\n\"switch.buffer\" = [\"1MB\", \"2MB\"]").unwrap();
    let ids: Vec<String> = plan.runs.iter().map(|run| run.id.to_string()).collect();
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{ids:?}");
    // The scenario's folder is gone, and its text is known.
    for (index, run) in plan.runs.iter().enumerate() {
        let (found, scenario) = plan.sweep.run(index).unwrap();
        assert_eq!((&found, scenario.seed), (run, run.seed));
    }
}

#[test]
fn the_name_of_a_run_follows_the_content_of_files_and_not_their_place() {
    let list = |rows: &str| {
        let folder = tempfile::tempdir().unwrap();
        let scenario = SCENARIO.split("[[flows]]").next().unwrap();
        let text = format!("{scenario}[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\n");
        fs::write(folder.path().join("base.toml"), text).unwrap();
        let header = "start_ns,src,dst,bytes,priority";
        fs::write(folder.path().join("flows.csv"), format!("{header}\n{rows}\n")).unwrap();
        let path = folder.path().join("sweep.toml");
        fs::write(&path, "scenario = \"base.toml\"").unwrap();
        Plan::of(Sweep::load(&path).unwrap()).unwrap().runs[0].id.clone()
    };
    assert_eq!(list("0,h0,h1,9,3"), list("0,h0,h1,9,3"));
    assert_ne!(list("0,h0,h1,9,3"), list("0,h0,h1,8,3"));
}

#[test]
fn wrong_values_are_shown_where_the_sweep_has_them() {
    let matrix = |line: &str| report(&format!("[matrix]\n{line}\n"));
    assert_snapshot!(matrix("\"switch.bufer\" = [\"1MB\"]"), @"");
    assert_snapshot!(matrix("\"switch.buffer\" = [\"1MB\", \"2\"]"), @"");
    assert_snapshot!(matrix("\"flows.4.bytes\" = [\"2kB\"]"), @"");
    assert_snapshot!(matrix("\"switch.buffer.shared\" = [\"2kB\"]"), @"");
    assert_snapshot!(report("[[variants]]\nname = \"a\"\nset = { \"flows.0.size\" = 3 }"), @"");
}

#[test]
fn wrong_axes_are_refused() {
    let matrix = |line: &str| report(&format!("[matrix]\n{line}\n"));
    assert_snapshot!(matrix("\"switch.buffer\" = []"), @"");
    assert_snapshot!(matrix("switch.buffer = [\"1MB\"]"), @"");
    assert_snapshot!(matrix("\"switch.buffer\" = \"1MB\""), @"");
    assert_snapshot!(matrix("\"seed\" = [1, 2]"), @"");
    assert_snapshot!(matrix("\"switch.buffer\" = [\"1MB\", \"1000kB\"]"), @"");
    let headroom = "\"switch.headroom\" = [{ kind = \"sih\" }]";
    assert_snapshot!(matrix(&format!("{headroom}\n\"switch.headroom.bytes\" = [\"60kB\"]")), @"");
    let variant = |name: &str, set: &str| format!("[[variants]]\nname = \"{name}\"\nset = {set}\n");
    let buffer = "{ \"switch.buffer\" = \"1MB\" }";
    assert_snapshot!(report(&(variant("a", buffer) + &variant("a", "{}"))), @"");
    assert_snapshot!(report(&variant("a", "{ switch.buffer = \"1MB\" }")), @"");
    let both = format!("[matrix]\n\"switch.buffer\" = [\"1MB\"]\n{}", variant("a", buffer));
    assert_snapshot!(report(&both), @"");
}

#[test]
fn wrong_keys_are_refused() {
    assert_snapshot!(report("seed = 3"), @"");
    assert_snapshot!(report("seeds = [1, 2, 1]"), @"");
    assert_snapshot!(report("seeds = []"), @"");
    assert_snapshot!(report("seeds = 0"), @"");
    assert_snapshot!(report("seeds = -2"), @"");
    assert_snapshot!(report("seeds = [1, \"two\"]"), @"");
    assert_snapshot!(report("seeds = 2000000"), @"");
    assert_snapshot!(report("metrics = [\"fct_ns.p98\"]"), @"");
    assert_snapshot!(report("metrics = [\"wall_seconds\"]"), @"");
    assert_snapshot!(report("metrics = []"), @"");
    assert_snapshot!(report("datapath = \"asic\""), @"");
    assert_snapshot!(report("[[variants]]\nname = \"a\""), @"");
}

#[test]
fn wrong_files_are_refused() {
    let missing = Sweep::load(std::path::Path::new("/nowhere/sweep.toml")).unwrap_err();
    assert_snapshot!(missing, @"");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.toml");
    let report = |text: &str| {
        fs::write(&path, text).unwrap();
        let error = Sweep::load(&path).unwrap_err().to_string();
        error.replace(&folder.path().display().to_string(), "")
    };
    assert_snapshot!(report("scenario = \"base.toml\""), @"");
    assert_snapshot!(report("seeds = 3"), @"");
}
