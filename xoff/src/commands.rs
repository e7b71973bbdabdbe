//! The commands of the binary, one file each, and what they share.

mod command_line;
pub mod completions;
mod exit_codes;
pub mod graph;
pub mod import;
pub mod init;
pub mod inspect;
pub mod man;
#[cfg(not(feature = "kernel"))]
mod memory_only;
pub mod run;
pub mod schema;
pub mod validate;

use std::path::Path;

#[cfg(feature = "kernel")]
use ::selftest::commands::{doctor, selftest};
use ::sweep::commands::{run_progress, sweep};
use analysis::checked::{checked, load};
use analysis::commands::{explain, report};
use clap::{CommandFactory, Parser, Subcommand};
#[cfg(feature = "kernel")]
use live::commands::{
    capture, deploy, destroy, exec, impair, link, list, metrics, send, storm, top, watch,
};
#[cfg(feature = "kernel")]
use live::folder::LiveFolder;
use papers::commands::reproduce;
use scenario::Scenario;
use terminal::{
    Exit, answer, complain, guardian, interrupt, json_errors, prepare, print, refuse,
    require_place, say, tables, warn, with_causes,
};

pub use command_line::parse;
#[cfg(not(feature = "kernel"))]
pub use memory_only::{
    capture, deploy, destroy, doctor, exec, impair, link, list, metrics, selftest, send, storm,
    top, watch,
};

/// A laboratory for lossless Ethernet on one Linux machine.
#[derive(Debug, Parser)]
#[command(name = "xoff", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Prints JSON instead of text. Errors and warnings are JSON, too, a line each on standard error: `error`, `code` (the exit
    /// code), `message`, `file`, `line`, `column`, `hint`.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Writes a commented scenario to begin with: an incast, a fabric, a lossy switch, a live fabric, or a sweep.
    Init(init::Arguments),
    /// Runs a scenario.
    Run(run::Arguments),
    /// Runs a scenario over a matrix of settings and seeds; goes on where an earlier call ended.
    Sweep(Box<sweep::Arguments>),
    /// Reproduces a paper's figures with sweeps that ship with xoff, and compares.
    Reproduce(reproduce::Arguments),
    /// Says why flows were slow: what held them where, and which queue or host was the cause.
    Explain(explain::Arguments),
    /// Makes one HTML file of runs and sweeps, with charts, that a browser opens.
    Report(report::Arguments),
    /// Checks a scenario without running it.
    Validate(validate::Arguments),
    /// Makes a scenario of another program's files.
    Import(import::Arguments),
    /// Shows what a scenario's fabric is like: links, paths, base RTTs, headroom, expected load, and cycles
    /// of buffer dependency.
    Inspect(inspect::Arguments),
    /// Draws a scenario's fabric, as SVG, DOT or Mermaid.
    Graph(graph::Arguments),
    /// Prints the JSON Schema of scenarios, or of sweeps.
    Schema(schema::Arguments),
    /// Prints a script by which a shell completes commands and options.
    Completions(completions::Arguments),
    /// Prints a manual page, or writes all.
    Man(man::Arguments),
    /// Checks that this machine can run fabrics, and says what to do where it cannot.
    Doctor(doctor::Arguments),
    /// Tests the kernel below a fabric: XDP, TC, AF_XDP, BPF rings and maps, veth, namespaces.
    Selftest(selftest::Arguments),
    /// Brings a scenario's fabric up on the real clock, for programs and RoCE traffic, until it is destroyed.
    Deploy(deploy::Arguments),
    /// Lists live fabrics.
    List(list::Arguments),
    /// Runs a program in a host of a live fabric.
    Exec(exec::Arguments),
    /// Sends RoCE flows from one host of a live fabric to another.
    Send(send::Arguments),
    /// Sends RoCE flows from many hosts of a live fabric to one, all at once.
    Incast(send::IncastArguments),
    /// Shows a live fabric on a terminal, again and again: rates, queues, pauses, drops.
    Top(top::Arguments),
    /// The same as a line a period, for files and programs.
    Watch(watch::Arguments),
    /// Serves a live fabric's metrics to Prometheus, as long as it runs.
    Metrics(metrics::Arguments),
    /// Captures what crosses wires of a live fabric, as pcapng.
    Capture(capture::Arguments),
    /// Takes a wire of a live fabric down, or up again, or lets it flap.
    Link(link::Arguments),
    /// Has a host of a live fabric pause its switch without end: a PFC storm.
    Storm(storm::Arguments),
    /// Makes a wire of a live fabric lose, damage or delay frames, or slows it; shows what is set.
    Impair(impair::Arguments),
    /// Takes live fabrics down, or removes what killed runs have left.
    Destroy(destroy::Arguments),
    /// Keeps a live fabric up; `deploy` starts it.
    #[command(name = deploy::SUPERVISE, hide = true)]
    Supervise(deploy::SuperviseArguments),
    /// Waits for the end of a run and removes what it leaves; runs start it themselves.
    #[command(name = guardian::COMMAND, hide = true)]
    Guardian(guardian::Arguments),
}

/// The command line that is understood: with the exit codes of each command in its help.
pub fn command() -> clap::Command {
    exit_codes::explained(Arguments::command())
}

impl Arguments {
    /// Runs the command.
    pub fn execute(&self) -> Exit {
        interrupt::survive_large_files();
        let exit = match &self.command {
            Command::Init(arguments) => init::execute(arguments),
            Command::Run(arguments) => run::execute(arguments),
            Command::Sweep(arguments) => sweep::execute(arguments),
            Command::Reproduce(arguments) => reproduce::execute(arguments),
            Command::Explain(arguments) => explain::execute(arguments),
            Command::Report(arguments) => report::execute(arguments),
            Command::Validate(arguments) => validate::execute(arguments),
            Command::Import(arguments) => import::execute(arguments),
            Command::Inspect(arguments) => inspect::execute(arguments),
            Command::Graph(arguments) => graph::execute(arguments),
            Command::Schema(arguments) => schema::execute(arguments),
            Command::Completions(arguments) => completions::execute(arguments),
            Command::Man(arguments) => man::execute(arguments),
            Command::Doctor(arguments) => doctor::execute(arguments),
            Command::Selftest(arguments) => selftest::execute(arguments),
            Command::Deploy(arguments) => deploy::execute(arguments),
            Command::List(arguments) => list::execute(arguments),
            Command::Exec(arguments) => exec::execute(arguments),
            Command::Send(arguments) => send::execute(arguments),
            Command::Incast(arguments) => send::incast(arguments),
            Command::Top(arguments) => top::execute(arguments),
            Command::Watch(arguments) => watch::execute(arguments),
            Command::Metrics(arguments) => metrics::execute(arguments),
            Command::Capture(arguments) => capture::execute(arguments),
            Command::Link(arguments) => link::execute(arguments),
            Command::Storm(arguments) => storm::execute(arguments),
            Command::Impair(arguments) => impair::execute(arguments),
            Command::Destroy(arguments) => destroy::execute(arguments),
            Command::Supervise(arguments) => deploy::supervise(arguments),
            Command::Guardian(arguments) => {
                if guardian::watch(arguments) {
                    Exit::Success
                } else {
                    Exit::Unsound
                }
            }
        };
        guardian::dismiss();
        exit
    }
}

/// The folder of the live fabric that is meant, if there is no such file. Says so if that cannot be known.
#[cfg(feature = "kernel")]
fn live_fabric(file: &Path) -> Result<Option<LiveFolder>, Exit> {
    let folder = file.to_str().and_then(|name| LiveFolder::of(name).ok());
    let Some(folder) = folder.filter(|_| !file.exists()) else { return Ok(None) };
    match folder.is_there() {
        Ok(is_there) => Ok(is_there.then_some(folder)),
        Err(why) => Err(refuse(format!("there is no file {}, and {why}", file.display()))),
    }
}

/// Reads a scenario, or that of the live fabric that is meant.
fn load_or_find(file: &Path, sets: &[String]) -> Result<Scenario, Exit> {
    #[cfg(feature = "kernel")]
    if let Some(folder) = live_fabric(file)? {
        return checked(Scenario::load_live(&folder.file("scenario.toml"), sets));
    }
    require_file(file)?;
    load(file, sets)
}

/// Says so if there is neither a file nor a live fabric.
fn require_file(file: &Path) -> Result<(), Exit> {
    if file.exists() {
        return Ok(());
    }
    let file = file.display();
    Err(refuse(format!(
        "there is neither a file nor a live fabric {file}; give the path of a scenario, or a name that `xoff list` shows"
    )))
}
