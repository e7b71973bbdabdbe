//! The demo: one scenario through the kernel, with an explanation.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{privilege, process, workspace};

const SCENARIO: &str = "scenarios/victim.toml";
/// Features of `xoff` that the demo needs.
pub const FEATURES: [&str; 3] = ["--no-default-features", "--features", "kernel"];
/// The label of the flow that the demo is about.
const VICTIM: &str = "victim";

/// Builds `xoff` and runs the scenario; results go to `demo` in the target folder, their report to `demo.html`.
pub fn run() -> Result<()> {
    privilege::require_root("the demo", "demo", None)?;
    process::run(process::cargo("build").args(["--package", "xoff"]).args(FEATURES))?;
    let target_dir = workspace::target_dir();
    let results = target_dir.join("demo");
    let mut xoff = Command::new(target_dir.join("debug/xoff"));
    xoff.args(["run", SCENARIO, "--out"]).arg(&results);
    process::run(xoff.current_dir(workspace::root()))?;
    println!(
        "\nWhat to look at\n{}",
        story(&read(&results, "flows.csv")?, &read(&results, "pauses.csv")?)?
    );
    let report = target_dir.join("demo.html");
    let mut xoff = Command::new(target_dir.join("debug/xoff"));
    process::run(xoff.arg("report").arg(&results).arg("--out").arg(&report))?;
    Ok(())
}

fn read(results: &Path, file: &str) -> Result<String> {
    let path = results.join(file);
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

/// Explanation of the victim's wait, from the run's results.
fn story(flows: &str, pauses: &str) -> Result<String> {
    let victim = rows(flows, ["label", "src", "dst", "fct_ns", "ideal_ns", "cnps"])?
        .into_iter()
        .find(|row| row[0] == VICTIM)
        .with_context(|| format!("{SCENARIO} has no flow with the label {VICTIM:?}"))?;
    let [_, source, destination, completion, ideal, notifications] = victim;
    let stopped: BTreeSet<(&str, &str)> = rows(pauses, ["node", "peer", "event"])?
        .into_iter()
        .filter(|[_, _, event]| *event == "xoff")
        .map(|[switch, peer, _]| (switch, peer))
        .collect();
    // Switches that paused the source, switches that paused these, and so on: the path of the congestion.
    let mut chain = vec![BTreeSet::from([source])];
    loop {
        let last = &chain[chain.len() - 1];
        let by: BTreeSet<&str> = stopped
            .iter()
            .filter(|(_, peer)| last.contains(peer))
            .map(|(switch, _)| *switch)
            .filter(|switch| !chain.iter().any(|level| level.contains(switch)))
            .collect();
        if by.is_empty() {
            break;
        }
        chain.push(by);
    }
    let names = |level: &BTreeSet<&str>| level.iter().copied().collect::<Vec<_>>().join(" and ");
    let steps: Vec<String> = chain
        .windows(2)
        .rev()
        .map(|pair| format!("{} paused {}", names(&pair[1]), names(&pair[0])))
        .collect();
    Ok(format!(
        "The victim, {source} -> {destination}, shares no port with the incast's receiver and got \
         {notifications} congestion notifications.\n\
         Yet it took {} us where {} us would do, for PAUSE stops whole links:\n\
         {}.",
        microseconds(completion)?,
        microseconds(ideal)?,
        steps.join(", ")
    ))
}

/// The columns `names` of a table without quoted fields.
fn rows<'a, const N: usize>(csv: &'a str, names: [&str; N]) -> Result<Vec<[&'a str; N]>> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let mut columns = [0; N];
    for (column, name) in columns.iter_mut().zip(names) {
        *column = header
            .iter()
            .position(|title| *title == name)
            .with_context(|| format!("a table of results has no column {name:?}"))?;
    }
    Ok(lines
        .map(|fields| columns.map(|column| fields.get(column).copied().unwrap_or_default()))
        .collect())
}

fn microseconds(nanoseconds: &str) -> Result<String> {
    let value: u64 =
        nanoseconds.parse().with_context(|| format!("{nanoseconds:?} is not a time in ns"))?;
    Ok(format!("{}.{}", value / 1000, value % 1000 / 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_follows_the_pauses_back_to_the_congestion() {
        let flows = "flow,label,src,dst,fct_ns,ideal_ns,cnps\n\
                     0,incast,h3,h0,9,9,9\n\
                     12,victim,h15,h1,249157,42917,0\n";
        let pauses = "time_ns,node,peer,event\n\
                      1,leaf0,spine0,xoff\n1,leaf0,h3,xoff\n2,spine0,leaf1,xoff\n\
                      2,leaf0,spine1,xoff\n3,spine1,leaf1,xoff\n4,leaf1,h15,xoff\n\
                      5,leaf1,h15,xon\n6,leaf1,spine0,xon\n";
        assert_eq!(
            story(flows, pauses).unwrap(),
            "The victim, h15 -> h1, shares no port with the incast's receiver and got 0 congestion \
             notifications.\n\
             Yet it took 249.1 us where 42.9 us would do, for PAUSE stops whole links:\n\
             leaf0 paused spine0 and spine1, spine0 and spine1 paused leaf1, leaf1 paused h15."
        );
        assert!(story("flow,label\n", pauses).is_err());
    }
}
