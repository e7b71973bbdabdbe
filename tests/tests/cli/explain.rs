//! `xoff explain` as a user calls it, and its errors for results that explain nothing.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tests::command::{finish, shipped, xoff};

/// Runs the shipped victim in memory, with or without a log of wires.
fn run(out: &Path, explain: &str) {
    let mut command = xoff(["run", &shipped("victim.toml"), "--datapath", "memory"]);
    command.args(["--set", &format!("results.explain={explain}"), "--set", "captures=[]", "--out"]);
    finish(command.arg(out)).assert_code(0);
}

fn explain(folder: &Path, more: &[&str]) -> tests::command::Finished {
    finish(xoff(["explain"]).arg(folder).args(more))
}

#[test]
fn a_victim_is_explained_in_words_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    run(&out, "true");
    let words = explain(&out, &[]).assert_code(0);
    let first = words.stdout.lines().find(|line| line.starts_with("flow ")).unwrap();
    assert!(first.contains("(victim), h15 to h1"), "{}", words.stdout);
    assert!(words.stdout.contains("the queue of leaf0->h0 held"), "{}", words.stdout);
    let json = explain(&out, &["--flow", "12", "--json"]).assert_code(0);
    let explanation: Value = serde_json::from_str(&json.stdout).unwrap();
    let parts = explanation["parts"].as_array().unwrap();
    let parts: u64 = parts.iter().map(|part| part["ps"].as_u64().unwrap()).sum();
    let own = explanation["own_ps"].as_u64().unwrap();
    assert_eq!(parts + own, explanation["time_ps"].as_u64().unwrap(), "{explanation}");
    assert_eq!(explanation["way"].as_array().unwrap().len(), 4, "{explanation}");
    let pause = explain(&out, &["--pause", "leaf1:h15:3@0us", "--json"]).assert_code(0);
    let explanation: Value = serde_json::from_str(&pause.stdout).unwrap();
    assert_eq!(explanation["wire"], "h15->leaf1", "{explanation}");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (logged, plain) = (folder.path().join("logged"), folder.path().join("plain"));
    run(&logged, "true");
    run(&plain, "false");
    for (folder, arguments, expected) in [
        (&plain, &[][..], "--set results.explain=true"),
        (&logged, &["--flow", "99"], "there is no flow 99: flows.csv has 0 to 12"),
        (&logged, &["--pause", "leaf1:h15:4@0us"], "no pause of that priority came to it"),
        (&logged, &["--pause", "leaf1:h99:3@0us"], "leaf1 has sent no pause from port h99"),
        (&logged, &["--pause", "leaf1:h15:3@9ms"], "the last pause of it ended at"),
        (&logged, &["--pause", "leaf1:h15:3"], "write SWITCH:PORT:PRIORITY@TIME"),
        (&logged, &["--flow", "1", "--pause", "leaf1:h15:3@0us"], "cannot be used with"),
        (&folder.path().join("none"), &[], "holds no results"),
    ] {
        let refused = explain(folder, arguments).assert_code(2);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
    }
    let log = logged.join("wire_log.bin");
    let whole = fs::read(&log).unwrap();
    for (bytes, expected) in [
        (&whole[..whole.len() - 3], "it ends within a record"),
        (&b"not a log"[..], "it is no wire log of this version of xoff"),
        (&[&whole[..40], &[200; 64]].concat()[..], "it ends within a record"),
        (&[&whole[..8], &[200; 64]].concat()[..], "record 0 is of a kind that does not exist"),
        (&[&whole[..8], &[3; 64]].concat()[..], "there is no wire 50529027"),
    ] {
        fs::write(&log, bytes).unwrap();
        let refused = explain(&logged, &[]).assert_code(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}
