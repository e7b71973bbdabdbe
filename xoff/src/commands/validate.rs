//! `xoff validate`: is a scenario right?

use std::path::{Path, PathBuf};

use results::counted;
use scenario::Scenario;

use super::Exit;

/// Arguments of `xoff validate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario.
    file: PathBuf,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Prints the scenario with its defaults written out, except those that follow from a link's rate or the base RTT.
    #[arg(long)]
    resolved: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let scenario = match super::load(&arguments.file, &arguments.sets) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    let text =
        if arguments.resolved { scenario.to_toml() } else { describe(&arguments.file, &scenario) };
    super::print(&text, Exit::Success)
}

/// A scenario in a line.
pub(super) fn describe(file: &Path, scenario: &Scenario) -> String {
    let fabric = scenario.fabric();
    format!(
        "{}: {}, {}, {}",
        file.display(),
        counted(fabric.switch_count().into(), "switch"),
        counted(fabric.host_count().into(), "host"),
        counted(scenario.flows().len() as u64, "flow")
    )
}
