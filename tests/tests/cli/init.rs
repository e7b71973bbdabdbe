//! `xoff init`: its files, and a test of the next steps that it prints.

use std::fs;
use std::process::Command;

use tests::command::{Finished, ScenarioFolder, finish, xoff};

fn command(folder: &ScenarioFolder, arguments: &str) -> Finished {
    let mut command: Command = xoff(arguments.split(' '));
    finish(command.current_dir(folder.path("")))
}

/// The steps that an answer names, without the steps as root.
fn steps(answer: &str) -> Vec<String> {
    let (_, steps) = answer.split_once("\nnext:\n").expect("what to do next");
    let commands = steps.lines().map(|line| line.trim_start().split("  ").next().unwrap());
    commands.filter_map(|it| it.strip_prefix("xoff ")).map(str::to_owned).collect()
}

#[test]
fn what_to_do_next_works_for_each_kind() {
    for (kind, count) in [("incast", 4), ("fabric", 4), ("lossy", 4), ("sweep", 3)] {
        let folder = ScenarioFolder::new();
        let written = command(&folder, &format!("init lab --kind {kind}")).assert_code(0);
        assert_eq!(written.stderr, "", "{kind}");
        let text = fs::read_to_string(folder.path("lab.toml")).unwrap();
        let steps = steps(&written.stdout);
        assert_eq!(steps.len(), count, "{}", written.stdout);
        for step in steps {
            assert!(text.contains(&step), "{kind}: the file does not say {step}");
            let done = command(&folder, &step).assert_code(0);
            assert!(!done.stderr.contains("warning"), "{kind}: {step}: {done:?}");
        }
        assert!(
            folder.entries().contains(&"report.html".to_owned()),
            "{kind}: {:?}",
            folder.entries()
        );
        if kind == "incast" {
            let counters = fs::read_to_string(folder.path("lab.results/counters.csv")).unwrap();
            assert!(counters.contains(",PFC_3_TX_PKTS,"), "it pauses: {counters}");
        }
    }
}

#[test]
fn nothing_is_replaced_and_nothing_is_left_half() {
    let folder = ScenarioFolder::new();
    command(&folder, "init lab.toml").assert_code(0);
    assert_eq!(folder.entries(), ["lab.toml"]);
    let before = fs::read_to_string(folder.path("lab.toml")).unwrap();
    command(&folder, "init lab --kind fabric")
        .assert_refused(&["lab.toml is there already", "help: choose another name"]);
    assert_eq!(fs::read_to_string(folder.path("lab.toml")).unwrap(), before);
    folder.write("alpha-incast.toml", "mine");
    command(&folder, "init alpha --kind sweep")
        .assert_refused(&["alpha-incast.toml is there already"]);
    assert_eq!(folder.entries(), ["alpha-incast.toml", "lab.toml"]);
    for name in ["a/b", "..", "a b", "_x", ""] {
        finish(xoff(["init", name]).current_dir(folder.path("")))
            .assert_refused(&["cannot name a scenario", "help: write 1 to 64 letters"]);
    }
    assert_eq!(folder.entries().len(), 2);
}
