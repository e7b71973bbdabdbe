//! Valid sweep files, and the errors of invalid ones.

use std::fs;

use insta::assert_snapshot;

use super::{Plan, Sweep, SweepOptions};

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
    let plan = Sweep::load(&path, &SweepOptions::default()).and_then(Plan::new);
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

const AXES: &str = r#"
[[axes]]
name = "size"
[[axes.variants]]
name = "small"
set = { "switch.buffer" = "1MB", "flows.0.bytes" = "10kB" }
[[axes.variants]]
name = "large"
set = { "switch.buffer" = "2MB", "flows.0.bytes" = "20kB" }
[[axes]]
name = "scheme"
[[axes.variants]]
name = "dsh"
set = { "switch.scheme" = { kind = "dsh" } }
[scales.short]
duration = "500us"
[scales.wrong]
"flows.0" = {}
"#;

#[test]
fn axes_of_their_own_are_columns_and_a_scale_is_in_every_run() {
    assert_eq!(runs(AXES), ["size=small scheme=dsh seed=1", "size=large scheme=dsh seed=1"]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("base.toml"), SCENARIO).unwrap();
    let path = folder.path().join("sweep.toml");
    fs::write(&path, format!("scenario = \"base.toml\"\n{AXES}")).unwrap();
    let load = |scale: &str, seeds| {
        let options = SweepOptions { scale: Some(scale.into()), seeds, format: None };
        Sweep::load(&path, &options).and_then(Plan::new)
    };
    let short = load("short", std::num::NonZeroU32::new(2)).unwrap();
    assert_eq!(short.runs.len(), 4);
    let scenario = short.sweep.run(3).unwrap().1;
    assert_eq!((scenario.duration.0, scenario.seed), (500_000_000, 2));
    assert_eq!(scenario.switch.buffer().0, 2_000_000);
    let text = |scale: &str| {
        let error = load(scale, None).expect_err("a wrong scale").to_string();
        error.replace(&folder.path().display().to_string(), "")
    };
    assert_snapshot!(text("shorter"), @r"
    error: the sweep has no scale `shorter`
      --> /sweep.toml:16:2
       |
    16 | [scales.short]
       |  ^^^^^^
       |
       = help: did you mean `short`? its scales are `short` and `wrong`
    ");
    assert_snapshot!(text("wrong"), @r#"
    error: `flows.0` and `flows.0.bytes` set the same
     --> /sweep.toml:7:34
      |
    7 | set = { "switch.buffer" = "1MB", "flows.0.bytes" = "10kB" }
      |                                  ^^^^^^^^^^^^^^^
      |
      = help: set a key in one place: a variant, or the matrix
    "#);
}

#[test]
fn axes_that_cannot_be() {
    let twice = "[[axes]]\nname = \"a\"\nvariants = [{ name = \"b\", set = {} }]\n";
    assert_snapshot!(report(&format!("{twice}{twice}")), @r#"
    error: two axes are called `a`
     --> /sweep.toml:6:8
      |
    6 | name = "a"
      |        ^^^
      |
      = help: an axis is a column of the tables: write another
    "#);
    assert_snapshot!(report("[[axes]]\nname = \"a\"\nvariants = []\n"), @r"
    error: an axis without variants
     --> /sweep.toml:4:12
      |
    4 | variants = []
      |            ^^
      |
      = help: add [[axes.variants]] with a name and what it sets
    ");
}

#[test]
fn a_run_of_an_index_is_that_of_the_plan() {
    let plan = planned("seeds = 2\n[matrix]\n\"switch.buffer\" = [\"1MB\", \"2MB\"]").unwrap();
    let ids: Vec<String> = plan.runs.iter().map(|run| run.id.to_string()).collect();
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{ids:?}");
    // The scenario's folder is gone, but its text is known.
    for (index, run) in plan.runs.iter().enumerate() {
        let (found, scenario) = plan.sweep.run(index).unwrap();
        assert_eq!((&found, scenario.seed), (run, run.seed));
    }
}

#[test]
fn wrong_values_are_shown_where_the_sweep_has_them() {
    let matrix = |line: &str| report(&format!("[matrix]\n{line}\n"));
    assert_snapshot!(matrix("\"topology.host_link.dely\" = [\"1us\"]"), @r#"
    error: unknown key `dely` in `topology.host_link`
     --> /sweep.toml:3:21
      |
    3 | "topology.host_link.dely" = ["1us"]
      |                     ^^^^
      |
      = help: did you mean `delay`? the keys here are `rate` and `delay`
    "#);
    assert_snapshot!(matrix("\"switch.buffer\" = [\"1MB\", \"2\"]"), @r#"
    error: `switch.buffer`: the size `2` has no unit
     --> /sweep.toml:3:27
      |
    3 | "switch.buffer" = ["1MB", "2"]
      |                           ^^^
      |
      = help: write a size such as "200kB"; units are B, kB, KiB, MB, MiB, GB, GiB, TB
    "#);
    assert_snapshot!(matrix("\"flows.4.bytes\" = [\"2kB\"]"), @r#"
    error: `flows` has no entry `4`
     --> /sweep.toml:3:8
      |
    3 | "flows.4.bytes" = ["2kB"]
      |        ^
      |
      = help: its entries are numbered from 0 to 0
    "#);
    assert_snapshot!(matrix("\"switch.buffer.shared\" = [\"2kB\"]"), @r#"
    error: `switch.buffer` is a table
     --> /sweep.toml:3:9
      |
    3 | "switch.buffer.shared" = ["2kB"]
      |         ^^^^^^
      |
      = help: write a size in quotes such as "16MB" or "9.6KiB/port/Gbps", or a chip
    "#);
    assert_snapshot!(report("[[variants]]\nname = \"a\"\nset = { \"flows.0.size\" = 3 }"), @r#"
    error: unknown key `size` in `flows.0`
     --> /sweep.toml:4:18
      |
    4 | set = { "flows.0.size" = 3 }
      |                  ^^^^
      |
      = help: the keys here are `label`, `senders`, `receiver`, `bytes`, `start`, `priority` and `transport`
    "#);
}

#[test]
fn wrong_axes_are_refused() {
    let matrix = |line: &str| report(&format!("[matrix]\n{line}\n"));
    assert_snapshot!(matrix("\"switch.buffer\" = []"), @r#"
    error: `switch.buffer` has no value
     --> /sweep.toml:3:19
      |
    3 | "switch.buffer" = []
      |                   ^^
      |
      = help: list the values to run, or leave the key out
    "#);
    assert_snapshot!(matrix("switch.buffer = [\"1MB\"]"), @r#"
    error: `switch` is a table here, not a value
     --> /sweep.toml:3:1
      |
    3 | switch.buffer = ["1MB"]
      | ^^^^^^
      |
      = help: write a path in quotes: "switch.buffer"
    "#);
    assert_snapshot!(matrix("\"switch.buffer\" = \"1MB\""), @r#"
    error: `switch.buffer` is the text "1MB"
     --> /sweep.toml:3:19
      |
    3 | "switch.buffer" = "1MB"
      |                   ^^^^^
      |
      = help: write a list of values in brackets
    "#);
    assert_snapshot!(matrix("\"seed\" = [1, 2]"), @r#"
    error: seeds are an axis of their own
     --> /sweep.toml:3:1
      |
    3 | "seed" = [1, 2]
      | ^^^^^^
      |
      = help: leave it out, and list them in `seeds`
    "#);
    assert_snapshot!(matrix("\"switch.buffer\" = [\"1MB\", \"1000kB\"]"), @r#"
    error: two runs are the same: switch.buffer=1MB seed=1 and switch.buffer=1000kB seed=1
     --> /sweep.toml:3:27
      |
    3 | "switch.buffer" = ["1MB", "1000kB"]
      |                           ^^^^^^^^
      |
      = help: leave this one out: it changes nothing
    "#);
    let headroom = "\"switch.headroom\" = [{ kind = \"sih\" }]";
    assert_snapshot!(matrix(&format!("{headroom}\n\"switch.headroom.bytes\" = [\"60kB\"]")), @r#"
    error: `switch.headroom` and `switch.headroom.bytes` set the same
     --> /sweep.toml:4:1
      |
    4 | "switch.headroom.bytes" = ["60kB"]
      | ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: set a key in one place: a variant, or the matrix
    "#);
    let variant = |name: &str, set: &str| format!("[[variants]]\nname = \"{name}\"\nset = {set}\n");
    let buffer = "{ \"switch.buffer\" = \"1MB\" }";
    assert_snapshot!(report(&(variant("a", buffer) + &variant("a", "{}"))), @r#"
    error: two variants are called `a`
     --> /sweep.toml:6:8
      |
    6 | name = "a"
      |        ^^^
      |
      = help: names tell variants apart in the tables: write another one
    "#);
    assert_snapshot!(report(&variant("a", "{ switch.buffer = \"1MB\" }")), @r#"
    error: `switch` is a table here, not a value
     --> /sweep.toml:4:9
      |
    4 | set = { switch.buffer = "1MB" }
      |         ^^^^^^
      |
      = help: write a path in quotes: "switch.buffer"
    "#);
    let both = format!("[matrix]\n\"switch.buffer\" = [\"1MB\"]\n{}", variant("a", buffer));
    assert_snapshot!(report(&both), @r#"
    error: `switch.buffer` is set twice
     --> /sweep.toml:3:1
      |
    3 | "switch.buffer" = ["1MB"]
      | ^^^^^^^^^^^^^^^
      |
      = help: set a key in one place: a variant, or the matrix
    "#);
}

#[test]
fn wrong_keys_are_refused() {
    assert_snapshot!(report("seed = 3"), @r"
    error: unknown key `seed`
     --> /sweep.toml:2:1
      |
    2 | seed = 3
      | ^^^^
      |
      = help: did you mean `seeds`? the keys here are `scenario`, `datapath`, `seeds`, `metrics`, `matrix`, `variants`, `axes` and `scales`
    ");
    assert_snapshot!(report("seeds = [1, 2, 1]"), @r"
    error: seed 1 is listed twice
     --> /sweep.toml:2:16
      |
    2 | seeds = [1, 2, 1]
      |                ^
      |
      = help: a seed gives the same run each time
    ");
    assert_snapshot!(report("seeds = []"), @r"
    error: a sweep without seeds
     --> /sweep.toml:2:9
      |
    2 | seeds = []
      |         ^^
      |
      = help: list one or more: seeds = [1, 2, 3]
    ");
    assert_snapshot!(report("seeds = 0"), @r"
    error: a sweep without seeds
     --> /sweep.toml:2:9
      |
    2 | seeds = 0
      |         ^
      |
      = help: write a count from 1 up
    ");
    assert_snapshot!(report("seeds = -2"), @r"
    error: `seeds`: -2 seeds
     --> /sweep.toml:2:9
      |
    2 | seeds = -2
      |         ^^
      |
      = help: write a count from 1 up
    ");
    assert_snapshot!(report("seeds = [1, \"two\"]"), @r#"
    error: `seeds.1` is the text "two"
     --> /sweep.toml:2:13
      |
    2 | seeds = [1, "two"]
      |             ^^^^^
      |
      = help: write a whole number from 0 up
    "#);
    assert_snapshot!(report("seeds = 2000000"), @r"
    error: 2000000 runs; the limit is 1000000
     --> /sweep.toml:2:9
      |
    2 | seeds = 2000000
      |         ^^^^^^^
      |
      = help: write fewer seeds, or several sweeps
    ");
}

#[test]
fn wrong_metrics_and_sections_are_refused() {
    assert_snapshot!(report("matrix = 3"), @r#"
    error: `matrix` is the number 3
     --> /sweep.toml:2:10
      |
    2 | matrix = 3
      |          ^
      |
      = help: write a table with paths in quotes as its keys: "switch.buffer"
    "#);
    assert_snapshot!(report("metrics = [\"fct_ns.p98\"]"), @r#"
    error: no metric is called `fct_ns.p98`
     --> /sweep.toml:2:12
      |
    2 | metrics = ["fct_ns.p98"]
      |            ^^^^^^^^^^^^
      |
      = help: did you mean `fct_ns.p99`? a metric is the path of a number in summary.json, such as `fct_ns.p99`, and `*` stands for any text
    "#);
    assert_snapshot!(report("metrics = [\"wall_seconds\"]"), @r#"
    error: no metric is called `wall_seconds`
     --> /sweep.toml:2:12
      |
    2 | metrics = ["wall_seconds"]
      |            ^^^^^^^^^^^^^^
      |
      = help: a metric is the path of a number in summary.json, such as `fct_ns.p99`, and `*` stands for any text
    "#);
    assert_snapshot!(report("metrics = []"), @r"
    error: a sweep without metrics
     --> /sweep.toml:2:11
      |
    2 | metrics = []
      |           ^^
      |
      = help: name some, or leave the key out to keep all
    ");
    assert_snapshot!(report("datapath = \"asic\""), @r#"
    error: `datapath` cannot be `asic`
     --> /sweep.toml:2:12
      |
    2 | datapath = "asic"
      |            ^^^^^^
      |
      = help: it is one of `kernel` and `memory`
    "#);
    assert_snapshot!(report("[[variants]]\nname = \"a\""), @r"
    error: `variants.0` has no `set`
     --> /sweep.toml:2:1
      |
    2 | [[variants]]
      | ^^^^^^^^^^^^
      |
      = help: add `set`; `xoff schema sweep` describes every key
    ");
}

#[test]
fn wrong_files_are_refused() {
    let missing =
        Sweep::load(std::path::Path::new("/nowhere/sweep.toml"), &SweepOptions::default())
            .unwrap_err();
    assert_snapshot!(missing, @r"
    error: cannot read the sweep: No such file or directory (os error 2)
    --> /nowhere/sweep.toml
     = help: give the path of a sweep, a TOML file
    ");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.toml");
    let report = |text: &str| {
        fs::write(&path, text).unwrap();
        let error = Sweep::load(&path, &SweepOptions::default()).unwrap_err().to_string();
        error.replace(&folder.path().display().to_string(), "")
    };
    assert_snapshot!(report("scenario = \"base.toml\""), @r#"
    error: cannot read the scenario /base.toml: No such file or directory (os error 2)
     --> /sweep.toml:1:12
      |
    1 | scenario = "base.toml"
      |            ^^^^^^^^^^^
      |
      = help: the path is relative to the sweep file's folder
    "#);
    assert_snapshot!(report("seeds = 3"), @r"
    error: the sweep has no `scenario`
    --> /sweep.toml
     = help: add `scenario`; `xoff schema sweep` describes every key
    ");
}
