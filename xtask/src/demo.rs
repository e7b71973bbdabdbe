//! The demo: one scenario through the kernel, told to a person.

use std::process::Command;

use anyhow::Result;

use crate::{privilege, process, workspace};

const SCENARIO: &str = "scenarios/victim.toml";

/// Builds `xoff` and runs the scenario; results go to `demo` in the target folder.
pub fn run() -> Result<()> {
    privilege::require_root("the demo", "demo", None)?;
    process::run(process::cargo("build").args(["--release", "--package", "xoff"]))?;
    let target_dir = workspace::target_dir();
    let mut xoff = Command::new(target_dir.join("release/xoff"));
    xoff.args(["run", SCENARIO, "--out"]).arg(target_dir.join("demo"));
    process::run(xoff.current_dir(workspace::root()))
}
