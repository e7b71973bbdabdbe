//! The binary's commands, one file each, and shared helpers.

mod command_line;
pub mod completions;
mod exit_codes;
pub mod graph;
#[cfg(feature = "import")]
pub mod import;
pub mod init;
pub mod inspect;
#[cfg(not(all(feature = "import", feature = "live", feature = "papers", feature = "selftest")))]
mod left_out;
pub mod man;
pub mod run;
pub mod schema;
pub mod validate;

use std::path::Path;

#[cfg(feature = "selftest")]
use ::selftest::commands::{doctor, selftest};
use ::sweep::commands::{run_progress, sweep};
use analysis::checked::load;
use analysis::commands::{compare, explain, report};
use clap::{CommandFactory, Parser, Subcommand};
#[cfg(feature = "live")]
use live::commands::{
    capture, deploy, destroy, exec, impair, link, list, metrics, send, storm, top, watch,
};
#[cfg(feature = "live")]
use live::folder::LiveFolder;
#[cfg(feature = "papers")]
use papers::commands::reproduce;
use scenario::Scenario;
use terminal::{
    Exit, answer, complain, guardian, interrupt, json_errors, prepare, print, print_document,
    refuse, require_place, say, tables,
};

pub use command_line::parse;
#[cfg(not(feature = "import"))]
use left_out::import;
#[cfg(not(feature = "papers"))]
use left_out::reproduce;
#[cfg(not(feature = "live"))]
use left_out::{
    capture, deploy, destroy, exec, impair, link, list, metrics, send, storm, top, watch,
};
#[cfg(not(feature = "selftest"))]
use left_out::{doctor, selftest};

/// A laboratory for lossless Ethernet on one Linux machine.
#[derive(Debug, Parser)]
#[command(name = "xoff", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Prints JSON instead of text. Errors and warnings are JSON, too, one line each on standard error: `error`, `code`
    /// (the exit code), `message`, `file`, `line`, `column`, `hint`.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Writes a commented scenario as a starting point: an incast, a fabric, a lossy switch, a live fabric, or a sweep.
    Init(init::Arguments),
    /// Runs a scenario.
    Run(run::Arguments),
    /// Runs a scenario over a matrix of settings and seeds, and resumes where an earlier call ended.
    Sweep(Box<sweep::Arguments>),
    /// Reproduces a paper's figures with the sweeps that ship with xoff, and compares the results.
    Reproduce(reproduce::Arguments),
    /// Explains why flows were slow: where they waited, and which queue or host caused it.
    Explain(explain::Arguments),
    /// Compares two runs, two sweeps, or a run with the `fct.txt` of a simulator: flows, pauses, tables, metrics.
    Compare(compare::Arguments),
    /// Writes an HTML report with charts of runs and sweeps.
    Report(report::Arguments),
    /// Checks a scenario without running it.
    Validate(validate::Arguments),
    /// Converts another simulator's files to a scenario.
    Import(import::Arguments),
    /// Describes a scenario's fabric: links, paths, base RTTs, headroom, expected load, and cycles of buffer
    /// dependency.
    Inspect(inspect::Arguments),
    /// Draws a scenario's fabric, as SVG, DOT or Mermaid.
    Graph(graph::Arguments),
    /// Prints the JSON Schema of scenarios or sweeps.
    Schema(schema::Arguments),
    /// Prints a shell completion script.
    Completions(completions::Arguments),
    /// Prints a manual page, or writes all of them.
    Man(man::Arguments),
    /// Checks that this machine can run fabrics, and suggests fixes if it cannot.
    Doctor(doctor::Arguments),
    /// Tests the kernel features that fabrics use: XDP, TC, AF_XDP, BPF rings and maps, veth, namespaces.
    Selftest(selftest::Arguments),
    /// Starts a scenario as a live fabric: it runs in real time, for programs and RoCE traffic, until it is destroyed.
    Deploy(deploy::Arguments),
    /// Lists live fabrics.
    List(list::Arguments),
    /// Runs a program in a host of a live fabric.
    Exec(exec::Arguments),
    /// Sends RoCE flows from one host of a live fabric to another.
    Send(send::Arguments),
    /// Sends RoCE flows from many hosts of a live fabric to one at the same time.
    Incast(send::IncastArguments),
    /// Shows a live fabric on the terminal: rates, queues, pauses, drops.
    Top(top::Arguments),
    /// Prints one line per period: `top` for logs and scripts.
    Watch(watch::Arguments),
    /// Serves a live fabric's metrics to Prometheus while the fabric runs.
    Metrics(metrics::Arguments),
    /// Captures frames on wires of a live fabric, as pcapng.
    Capture(capture::Arguments),
    /// Takes a wire of a live fabric down or up, or makes it flap.
    Link(link::Arguments),
    /// Makes a host of a live fabric pause its switch continuously: a PFC storm.
    Storm(storm::Arguments),
    /// Makes a wire of a live fabric lose, damage, delay or throttle frames, and shows its impairments.
    Impair(impair::Arguments),
    /// Destroys live fabrics, or removes leftovers of killed runs.
    Destroy(destroy::Arguments),
    /// Supervises a live fabric; `deploy` starts this process.
    #[command(name = deploy::SUPERVISE, hide = true)]
    Supervise(deploy::SuperviseArguments),
    /// Waits for the end of a run and removes its leftovers; runs start this process themselves.
    #[command(name = guardian::COMMAND, hide = true)]
    Guardian(guardian::Arguments),
}

/// Returns the command-line parser, with each command's exit codes in its help.
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
            Command::Compare(arguments) => compare::execute(arguments),
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

/// Returns the folder of the live fabric named `file`, if no such file exists. Prints an error if its existence cannot
/// be determined.
#[cfg(feature = "live")]
fn live_fabric(file: &Path) -> Result<Option<LiveFolder>, Exit> {
    let folder = file.to_str().and_then(|name| LiveFolder::new(name).ok());
    let Some(folder) = folder.filter(|_| !file.exists()) else { return Ok(None) };
    match folder.is_there() {
        Ok(is_there) => Ok(is_there.then_some(folder)),
        Err(why) => Err(refuse(format!("there is no file {}, and {why}", file.display()))),
    }
}

/// Reads a scenario from a file, or from the live fabric of this name.
fn load_or_find(file: &Path, sets: &[String]) -> Result<Scenario, Exit> {
    #[cfg(feature = "live")]
    if let Some(folder) = live_fabric(file)? {
        return analysis::checked::checked(Scenario::load_live(
            &folder.file("scenario.toml"),
            sets,
        ));
    }
    require_file(file)?;
    load(file, sets)
}

/// Refuses a name for which there is neither a file nor a live fabric.
fn require_file(file: &Path) -> Result<(), Exit> {
    if file.exists() {
        return Ok(());
    }
    let file = file.display();
    Err(refuse(format!(
        "there is neither a file nor a live fabric {file}; give the path of a scenario, or a name that `xoff list` shows"
    )))
}
