//! `xoff inspect`: what is a scenario's fabric like?

use std::path::PathBuf;

use super::Exit;
use crate::inspect;

/// Arguments of `xoff inspect`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario.
    file: PathBuf,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    match super::load(&arguments.file, &arguments.sets) {
        Ok(scenario) => super::print(&inspect::report(&scenario), Exit::Success),
        Err(exit) => exit,
    }
}
