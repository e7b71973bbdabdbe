//! Scenario files as a user has them: shipped files, and changed copies of them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder for one test's files, removed at the test's end.
#[derive(Debug)]
pub struct ScenarioFolder(TempDir);

impl ScenarioFolder {
    /// An empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// The path of an entry, as text.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a file; returns its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a temporary file can be written");
        path
    }

    /// The shipped `incast.toml` with `from`, which it has, replaced by `to`.
    pub fn incast_with(&self, from: &str, to: &str) -> String {
        let text = fs::read_to_string(shipped("incast")).expect("it ships");
        assert!(text.contains(from), "incast.toml has no {from:?}");
        self.write("scenario.toml", text.replacen(from, to, 1))
    }

    /// The names of the folder's entries, sorted.
    pub fn entries(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder exists");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("readable").file_name().display().to_string())
            .collect();
        names.sort();
        names
    }
}

impl Default for ScenarioFolder {
    fn default() -> Self {
        Self::new()
    }
}

/// The path of a scenario that ships.
pub fn shipped(name: &str) -> String {
    folder().join(name).with_extension("toml").display().to_string()
}

/// The path of a sweep that ships.
pub fn shipped_sweep(name: &str) -> String {
    folder().join("sweeps").join(name).with_extension("toml").display().to_string()
}

/// The paths of all scenarios that ship, sorted.
pub fn shipped_scenarios() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("scenarios ship");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let scenarios = paths.filter(|path| path.extension().is_some_and(|it| it == "toml"));
    let mut scenarios: Vec<String> = scenarios.map(|path| path.display().to_string()).collect();
    scenarios.sort();
    scenarios
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}
