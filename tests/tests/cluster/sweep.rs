//! A sweep that is run locally and on Slurm.

use std::fs;
use std::path::Path;
use std::process::Command;

use tests::command::{Finished, Running, ScenarioFolder, finish, xoff};
use tests::slurm::Slurm;

/// Forty runs in four cells; a run takes some tenths of a second.
const SWEEP: &str = r#"
scenario = "base.toml"
seeds = 10
[matrix]
"switch.threshold.alpha" = ["1/8", "1"]
[[variants]]
name = "dcqcn"
set = {}
[[variants]]
name = "pfc"
set = { "host.transport.congestion_control" = "none" }
"#;

const BASE: &str = r#"
duration = "500ms"
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
stop = "60ms"
"#;

pub const RUNS: usize = 40;

/// A sweep in a folder of a test.
pub struct Sweep {
    pub folder: ScenarioFolder,
}

impl Sweep {
    pub fn new() -> Self {
        Self::of(SWEEP)
    }

    /// With another sweep file for the same scenario.
    pub fn of(text: &str) -> Self {
        let folder = ScenarioFolder::new();
        folder.write("base.toml", BASE);
        folder.write("sweep.toml", text);
        Self { folder }
    }

    /// Runs it here, and returns its tables.
    pub fn local(&self) -> [String; 2] {
        self.command("local", &[]).finish().assert_code(0);
        self.tables("local")
    }

    /// `xoff sweep` into the folder `out`, with more arguments.
    pub fn command(&self, out: &str, more: &[&str]) -> Call {
        let (file, out) = (self.folder.path("sweep.toml"), self.folder.path(out));
        let mut command = xoff(["sweep", &file, "--out", &out]);
        command.args(more);
        Call(command)
    }

    /// The same on Slurm.
    pub fn on(&self, slurm: &Slurm, out: &str, more: &[&str]) -> Call {
        let mut call = self.command(out, &["--on", "slurm"]);
        slurm.equip(call.0.args(more));
        call
    }

    pub fn tables(&self, out: &str) -> [String; 2] {
        ["sweep.csv", "summary.csv"].map(|name| self.read(&format!("{out}/{name}")))
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// How many runs have appeared in the folder `out`.
    pub fn appeared(&self, out: &str) -> usize {
        let runs = self.folder.path(&format!("{out}/runs"));
        let Ok(entries) = fs::read_dir(Path::new(&runs)) else { return 0 };
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| !name.as_encoded_bytes().starts_with(b".")).count()
    }
}

/// A command to be run.
pub struct Call(pub Command);

impl Call {
    pub fn finish(mut self) -> Finished {
        finish(&mut self.0)
    }

    pub fn start(mut self) -> Running {
        Running::start(&mut self.0)
    }
}
