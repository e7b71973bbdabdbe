//! `xoff compare`: differences of two runs, of a run and a simulator's files, or of two sweeps.

use std::fmt::Display;
use std::path::PathBuf;

use serde::Serialize;
use terminal::Complaint;

use super::Exit;
use crate::compare::{CompareError, ComparisonArguments, Pair, compare, compare_sweeps};

/// Arguments of `xoff compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff run scenario.toml --out a && xoff run scenario.toml --set switch.buffer=4MB --out b && xoff compare a b
  xoff compare a b --only flows --tolerance 1us,0.5%
  xoff run imported.toml --format hpcc --out a && xoff compare a simulation/mix/fct.txt")]
pub struct Arguments {
    /// Folder of a run or of a sweep, or the `fct.txt` of a simulator such as HPCC's or ConWeave's, or a folder with one. A `pfc.txt`
    /// beside it is compared, too; beside `7_out_fct.txt` it is `7_out_pfc.txt`. A `pfc.txt` alone has pauses only.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other side, in the same forms.
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    options: ComparisonArguments,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let options = match arguments.options.options() {
        Ok(options) => options,
        Err(refusal) => return super::refuse(refusal),
    };
    let sides = Pair { a: &*arguments.a, b: &*arguments.b };
    let compared = match compare_sweeps(sides, &options) {
        Ok(Some(sweeps)) => Ok(answer(&sweeps, sweeps.equal)),
        Ok(None) => compare(sides, &options).map(|runs| answer(&runs, runs.equal)),
        Err(error) => Err(error),
    };
    compared.unwrap_or_else(|error| super::refuse(complaint(error)))
}

fn answer(comparison: &(impl Display + Serialize), is_equal: bool) -> Exit {
    let exit = if is_equal { Exit::Success } else { Exit::Unsound };
    let json = serde_json::to_value(comparison).expect("a comparison is plain data");
    super::answer(&comparison.to_string(), &json, exit)
}

/// Converts an error, with its place if it is one of a scenario.
pub fn complaint(error: CompareError) -> Complaint {
    match error {
        CompareError::Scenario(error) => error.into(),
        error => error.to_string().into(),
    }
}
