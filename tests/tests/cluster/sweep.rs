//! A sweep that is run locally and on Slurm.

use std::fs;
use std::process::Command;

use tests::command::{Finished, Running, ScenarioFolder, finish, xoff};
use tests::slurm::Slurm;
use tests::sweep::{BASE, SWEEP, appeared, tables};

pub const RUNS: usize = 40;

/// A sweep in a folder of a test.
pub struct Sweep {
    pub folder: ScenarioFolder,
}

impl Sweep {
    /// A sweep of forty runs in four cells; a run takes some tenths of a second.
    pub fn new() -> Self {
        Self::from_text(&SWEEP.replace("[1, 2, 3]", "10"))
    }

    /// A sweep with another sweep file for the scenario.
    pub fn from_text(text: &str) -> Self {
        let folder = ScenarioFolder::new();
        let base = BASE.replace("\"50ms\"", "\"500ms\"").replace("\"4ms\"", "\"60ms\"");
        folder.write("base.toml", base);
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

    /// Calls the sweep on Slurm.
    pub fn on(&self, slurm: &Slurm, out: &str, more: &[&str]) -> Call {
        let mut call = self.command(out, &["--on", "slurm"]);
        slurm.equip(call.0.args(more));
        call
    }

    pub fn tables(&self, out: &str) -> [String; 2] {
        tables(&self.folder, out)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn appeared(&self, out: &str) -> usize {
        appeared(&self.folder, out)
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
