//! Live fabrics for a long time: a program of the `tests` package, which this builds and runs with the binary beside it.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::{binaries, packages, privilege, process, workspace};

/// Duration and seed of the commands.
#[derive(Args)]
pub struct Options {
    /// Minutes of commands; the check at the end comes on top
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Seed of the sequence of commands
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs it.
pub fn run(options: &Options) -> Result<()> {
    privilege::require_root("this tool", "soak", None)?;
    packages::iproute()?;
    packages::ping()?;
    packages::iperf3()?;
    binaries::build()?;
    let Options { minutes, seed } = options;
    let numbers = [minutes, seed].map(u64::to_string);
    let mut soak = Command::new(workspace::target_dir().join("debug/soak"));
    soak.args(["--minutes", &numbers[0], "--seed", &numbers[1]]);
    process::run(soak.current_dir(workspace::root()))
}
