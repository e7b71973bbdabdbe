//! `xoff compare`: differences of two runs, or of a run and a simulator's files.

use std::path::PathBuf;

use terminal::Complaint;

use super::Exit;
use crate::compare::{CompareError, Comparison, Pair, compare};

/// Arguments of `xoff compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff run scenario.toml --out a && xoff run scenario.toml --set seed=2 --out b && xoff compare a b
  xoff run imported.toml --format hpcc --out a && xoff compare a simulation/mix/fct.txt")]
pub struct Arguments {
    /// Folder of a run, or the `fct.txt` of a simulator such as HPCC's or ConWeave's, or a folder with one. A `pfc.txt`
    /// beside it is compared, too; beside `7_out_fct.txt` it is `7_out_pfc.txt`.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other side, in the same forms.
    #[arg(value_name = "B")]
    b: PathBuf,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    match compare(Pair { a: &arguments.a, b: &arguments.b }) {
        Ok(comparison) => {
            let exit = if comparison.equal { Exit::Success } else { Exit::Unsound };
            super::answer(&comparison.to_string(), &json(&comparison), exit)
        }
        Err(error) => super::refuse(complaint(error)),
    }
}

fn json(comparison: &Comparison) -> serde_json::Value {
    serde_json::to_value(comparison).expect("a comparison is plain data")
}

/// Converts an error, with its place if it is one of a scenario.
pub fn complaint(error: CompareError) -> Complaint {
    match error {
        CompareError::Scenario(error) => error.into(),
        error => error.to_string().into(),
    }
}
