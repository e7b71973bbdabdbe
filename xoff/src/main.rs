//! The binary `xoff`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xoff::commands::{
    Exit, destroy, doctor, import, inspect, reproduce, run, schema, sweep, validate,
};

/// A laboratory for lossless Ethernet on one Linux machine.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a scenario.
    Run(run::Arguments),
    /// Runs a scenario over a matrix of settings and seeds; goes on where an earlier call ended.
    Sweep(sweep::Arguments),
    /// Reproduces a paper's figures with sweeps that ship with xoff, and compares.
    Reproduce(reproduce::Arguments),
    /// Checks a scenario without running it.
    Validate(validate::Arguments),
    /// Makes a scenario of another program's files.
    Import(import::Arguments),
    /// Shows what a scenario's fabric is like: links, paths, base RTTs, headroom, expected load, and cycles
    /// of buffer dependency.
    Inspect(inspect::Arguments),
    /// Prints the JSON Schema of scenarios, or of sweeps.
    Schema(schema::Arguments),
    /// Checks that this machine can run fabrics, and says what to do where it cannot.
    Doctor,
    /// Removes namespaces that killed runs have left; living fabrics are left alone.
    Destroy,
}

fn main() -> ExitCode {
    let exit: Exit = match Arguments::parse().command {
        Command::Run(arguments) => run::execute(&arguments),
        Command::Sweep(arguments) => sweep::execute(&arguments),
        Command::Reproduce(arguments) => reproduce::execute(&arguments),
        Command::Validate(arguments) => validate::execute(&arguments),
        Command::Import(arguments) => import::execute(&arguments),
        Command::Inspect(arguments) => inspect::execute(&arguments),
        Command::Schema(arguments) => schema::execute(&arguments),
        Command::Doctor => doctor::execute(),
        Command::Destroy => destroy::execute(),
    };
    ExitCode::from(exit.code())
}
