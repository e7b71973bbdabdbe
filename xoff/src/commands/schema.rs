//! `xoff schema`: the JSON Schema of scenarios and sweeps, for editors.

use super::Exit;
use crate::sweep;

/// Arguments of `xoff schema`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The kind of file.
    #[arg(default_value = "scenario")]
    of: Kind,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    /// What `xoff run` takes
    Scenario,
    /// What `xoff sweep` takes
    Sweep,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let schema = match arguments.of {
        Kind::Scenario => scenario::json_schema(),
        Kind::Sweep => sweep::json_schema(),
    };
    super::print(&format!("{schema:#}"), Exit::Success)
}
