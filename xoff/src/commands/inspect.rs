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
    /// Prints JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    match super::load(&arguments.file, &arguments.sets) {
        Ok(scenario) => {
            let report = if arguments.json { inspect::json } else { inspect::report };
            super::print(&report(&scenario), Exit::Success)
        }
        Err(exit) => exit,
    }
}
