//! A sweep for tests, and its output.

use std::fs;

use crate::command::ScenarioFolder;

/// Twelve runs, each long enough to be interrupted.
pub const SWEEP: &str = r#"
scenario = "base.toml"
seeds = [1, 2, 3]
[matrix]
"switch.threshold.alpha" = ["1/8", "1"]
[[variants]]
name = "dcqcn"
set = {}
[[variants]]
name = "pfc"
set = { "host.transport.congestion_control" = "none" }
"#;

/// Scenario of the sweep, `base.toml`.
pub const BASE: &str = r#"
duration = "50ms"
[topology]
kind = "star"
hosts = 5
host_link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "1MB"
threshold = { kind = "dt", alpha = "1/8" }
ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2, mark_at = "dequeue" }
[host]
transport = { kind = "roce-rc", congestion_control = "dcqcn", dcqcn = { profile = "hpcc" } }
[[flows]]
kind = "poisson"
load = 0.2
sizes = "64kB"
stop = "4ms"
"#;

/// A folder with the sweep and its scenario.
pub fn sweep_folder() -> ScenarioFolder {
    let folder = ScenarioFolder::new();
    folder.write("base.toml", BASE);
    folder.write("sweep.toml", SWEEP);
    folder
}

/// Both tables in `folder`'s subfolder `out`.
///
/// # Panics
/// If one is missing.
pub fn tables(folder: &ScenarioFolder, out: &str) -> [String; 2] {
    ["sweep.csv", "summary.csv"].map(|name| {
        let path = folder.path(&format!("{out}/{name}"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    })
}

/// Number of complete runs in `folder`'s subfolder `out`.
pub fn appeared(folder: &ScenarioFolder, out: &str) -> usize {
    let Ok(entries) = fs::read_dir(folder.path(&format!("{out}/runs"))) else { return 0 };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter(|name| !name.as_encoded_bytes().starts_with(b".")).count()
}
