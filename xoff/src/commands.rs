//! The binary's commands, one file each, and shared helpers.

#[cfg(feature = "kernel")]
pub mod capture;
pub mod completions;
#[cfg(feature = "kernel")]
pub mod deploy;
#[cfg(feature = "kernel")]
pub mod destroy;
#[cfg(feature = "kernel")]
pub mod doctor;
#[cfg(feature = "kernel")]
pub mod exec;
mod exit_codes;
pub mod explain;
pub mod graph;
#[cfg(feature = "kernel")]
pub mod impair;
pub mod import;
pub mod init;
pub mod inspect;
mod interrupt;
mod json_errors;
#[cfg(feature = "kernel")]
mod leave;
#[cfg(feature = "kernel")]
pub mod link;
#[cfg(feature = "kernel")]
pub mod list;
pub mod man;
#[cfg(not(feature = "kernel"))]
mod memory_only;
#[cfg(feature = "kernel")]
pub mod metrics;
mod open_files;
pub mod report;
pub mod reproduce;
pub mod run;
mod run_progress;
pub mod schema;
#[cfg(feature = "kernel")]
pub mod selftest;
#[cfg(feature = "kernel")]
pub mod send;
#[cfg(feature = "kernel")]
pub mod storm;
pub mod sweep;
mod sweep_progress;
mod tables;
#[cfg(feature = "kernel")]
pub mod top;
pub mod validate;
#[cfg(feature = "kernel")]
pub mod watch;

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use clap::{CommandFactory, Parser, Subcommand};
use scenario::report::{printable_json, printable_lines};
use scenario::{Scenario, ScenarioError};
use serde_json::Value;

use crate::complaint::Complaint;
#[cfg(feature = "kernel")]
use crate::live::folder::LiveFolder;
use crate::{expectation, guardian};

pub use json_errors::parse;
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

/// Exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Success,
    /// The command ran, and its result is negative.
    Unsound,
    /// The input or the machine does not allow it.
    BadInput,
    /// Nothing could be done here: a skip, in the terms of kernel developers.
    Skipped,
    /// The program to start cannot be executed.
    NotExecutable,
    /// The program to start does not exist.
    NotFound,
    /// The user interrupted it.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Unsound => 1,
            Self::BadInput => 2,
            // KSFT_SKIP of the kernel's selftests.
            Self::Skipped => 4,
            // As in shells and `ip netns exec`.
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }
}

/// Prepares the process for runs: signals, limits, a guardian. If `fabrics` is true, the command may create fabrics, so
/// fabrics left by killed runs are removed first. Returns the flag that an interrupt sets.
fn prepare(fabrics: bool) -> Result<&'static AtomicBool, String> {
    let interrupted = interrupt::watch();
    // A fabric that needs more than the limit reports it itself.
    let _ = open_files::raise_limit();
    match guardian::start(fabrics) {
        Err(error) if fabrics => {
            return Err(format!(
                "cannot start the process that cleans up when a run is killed: {error}; raise the limits \
                 on processes and memory (`ulimit -u`, `ulimit -v`) and mount /proc"
            ));
        }
        // Without fabrics, a killed run leaves files only in its results folder, where the next run removes them.
        _ => {}
    }
    if fabrics {
        destroy::remove_what_can_be();
    }
    Ok(interrupted)
}

/// Writes what a command is asked for to standard output, with hidden characters of names escaped; `exit` is how the command
/// ended so far.
fn print(text: &str, exit: Exit) -> Exit {
    print_document(&legible(text), exit)
}

/// Like [`print`], of a text in a format of its own, or with styles.
fn print_document(text: &str, exit: Exit) -> Exit {
    let mut output = io::stdout().lock();
    match writeln!(output, "{}", text.trim_end()).and_then(|()| output.flush()) {
        // The reader has closed the pipe (`xoff run .. | head`): not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            refuse(format!("cannot write to standard output: {error}; send it somewhere else"))
        }
        _ => exit,
    }
}

/// Prints a command's answer to standard output, as text or as JSON.
fn answer(text: &str, json: &Value, exit: Exit) -> Exit {
    if json_errors::answers_in_json() {
        print(&format!("{json:#}"), exit)
    } else {
        print(text, exit)
    }
}

/// A text, or JSON where that is asked for, without characters that a terminal obeys.
fn legible(text: &str) -> Cow<'_, str> {
    if json_errors::answers_in_json() { printable_json(text) } else { printable_lines(text) }
}

/// Prints an error and returns the exit status of a refused command.
fn refuse(complaint: impl Into<Complaint>) -> Exit {
    json_errors::error(complaint, Exit::BadInput)
}

/// Prints a warning.
pub fn warn(complaint: impl Into<Complaint>) {
    json_errors::warning(complaint);
}

/// Returns the folder of the live fabric named `file`, if no such file exists. Prints an error if its existence cannot
/// be determined.
#[cfg(feature = "kernel")]
fn live_fabric(file: &Path) -> Result<Option<LiveFolder>, Exit> {
    let folder = file.to_str().and_then(|name| LiveFolder::of(name).ok());
    let Some(folder) = folder.filter(|_| !file.exists()) else { return Ok(None) };
    match folder.is_there() {
        Ok(is_there) => Ok(is_there.then_some(folder)),
        Err(why) => Err(refuse(format!("there is no file {}, and {why}", file.display()))),
    }
}

/// Closes standard output, so that its reader sees the end of the output.
#[cfg(feature = "kernel")]
fn close_output() {
    // SAFETY: both descriptors are open for as long as they are used; from here on standard output goes nowhere.
    unsafe {
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        libc::dup2(nowhere, libc::STDOUT_FILENO);
        libc::close(nowhere);
    }
}

/// Reads a scenario, and prints its errors and warnings.
fn load(file: &Path, sets: &[String]) -> Result<Scenario, Exit> {
    checked(Scenario::load(file, sets))
}

/// Reads a scenario from a file, or from the live fabric of this name.
fn load_or_find(file: &Path, sets: &[String]) -> Result<Scenario, Exit> {
    #[cfg(feature = "kernel")]
    if let Some(folder) = live_fabric(file)? {
        return checked(Scenario::load_live(&folder.file("scenario.toml"), sets));
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

fn checked(read: Result<Scenario, ScenarioError>) -> Result<Scenario, Exit> {
    let scenario = read.map_err(refuse)?;
    expectation::check(&scenario).map_err(refuse)?;
    for warning in scenario.warnings() {
        warn(warning);
    }
    for warning in scenario.warnings_with_places() {
        warn(warning);
    }
    Ok(scenario)
}

/// Checks that an output path's directory exists and that the path is not a pipe, socket or block device.
fn require_place(file: &Path) -> Result<(), Complaint> {
    // Opening a pipe waits for its reader. `/dev/stdout` is a link, so it passes.
    if let Ok(found) = file.symlink_metadata().map(|it| it.file_type())
        && (found.is_fifo() || found.is_socket() || found.is_block_device())
    {
        let file = file.display();
        let title = format!("cannot write {file}: it is a pipe, a socket or a disk");
        return Err(Complaint::new(title).with_help("name a file"));
    }
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let (file, folder) = (file.display(), folder.display());
            let title = format!("cannot write {file}: there is no folder {folder}");
            Err(Complaint::new(title).with_help("make the folder, or name another file"))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error, for a person who watches the command.
#[cfg(feature = "kernel")]
pub(crate) fn tell(line: impl Display) {
    say(line);
}

/// Writes a line to standard error. A write error does not change the command's exit status.
fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", legible(&line.to_string()));
}

/// Prints an error with its causes and its advice. Returns `exit`, the command's exit status.
fn complain(error: &(dyn Error + 'static), exit: Exit) -> Exit {
    json_errors::error(Complaint::of(error), exit)
}

/// Returns an error's text, the causes that the text leaves out, and advice.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let advice = LIMITS.iter().find(|(code, _)| Some(*code) == os_error(error));
    match advice {
        Some((_, advice)) if !text.contains(advice) => format!("{text}; {advice}"),
        _ => text,
    }
}

/// Returns the errno in an error's chain of causes.
fn os_error(error: &(dyn Error + 'static)) -> Option<libc::c_int> {
    let mut chain = std::iter::successors(Some(error), |&cause| cause.source());
    let mut last = error;
    let named = chain.find_map(|cause| {
        last = cause;
        cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error)
    });
    named.or_else(|| {
        // Some libraries append the system's error to their text without naming it as a cause.
        let text = last.to_string();
        let (_, number) = text.strip_suffix(')')?.rsplit_once("(os error ")?;
        number.parse().ok()
    })
}

/// Advice for errors of a limit that was reached.
const LIMITS: [(libc::c_int, &str); 4] = [
    (libc::EMFILE, open_files::ADVICE),
    (libc::ENFILE, open_files::ADVICE),
    (libc::EAGAIN, "raise the limits on threads and memory (`ulimit -u`, `ulimit -v`)"),
    (
        libc::ENOMEM,
        "raise the limits on memory (`ulimit -v unlimited`, `ulimit -l unlimited`), or shrink \
         `switch.buffer`: 60 bytes of it take 40 bytes for a descriptor in each switch",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("making a map")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_error_shows_its_causes_once_and_what_to_do() {
        let error = Outer(io::Error::from_raw_os_error(libc::EMFILE));
        assert_eq!(
            with_causes(&error),
            format!("making a map: Too many open files (os error 24); {}", open_files::ADVICE)
        );
        let error = io::Error::other("it is broken");
        assert_eq!(with_causes(&error), "it is broken");
    }
}
