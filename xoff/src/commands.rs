//! The commands of the binary, one file each, and what they share.

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

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what it says.
    Success,
    /// It ran, and what it found is not right.
    Unsound,
    /// The input or the machine does not allow it.
    BadInput,
    /// Nothing of it could be done here; what kernel developers call a skip.
    Skipped,
    /// The program that it was to start cannot be executed.
    NotExecutable,
    /// The program that it was to start does not exist.
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
            // As shells and `ip netns exec` have them.
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }
}

/// Prepares the process for runs: signals, limits, a guardian. `fabrics`: whether it may make some; then
/// those that killed runs have left are removed first. Returns the flag that an interrupt sets.
fn prepare(fabrics: bool) -> Result<&'static AtomicBool, String> {
    let interrupted = interrupt::watch();
    // A fabric that needs more than the limit says so itself.
    let _ = open_files::raise_limit();
    match guardian::start(fabrics) {
        Err(error) if fabrics => {
            return Err(format!(
                "cannot start the process that cleans up when a run is killed: {error}; raise the limits \
                 on processes and memory (`ulimit -u`, `ulimit -v`) and mount /proc"
            ));
        }
        // Without fabrics all that a killed run leaves is in its results folder, where the next run removes it.
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
        // A reader that has gone away (`xoff run .. | head`) has seen what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            refuse(format!("cannot write to standard output: {error}; send it somewhere else"))
        }
        _ => exit,
    }
}

/// Writes what a command has found to standard output: as text or, where that is asked for, as JSON.
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

/// Says why a command does nothing.
fn refuse(complaint: impl Into<Complaint>) -> Exit {
    json_errors::error(complaint, Exit::BadInput)
}

/// Says what is hardly meant.
pub fn warn(complaint: impl Into<Complaint>) {
    json_errors::warning(complaint);
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

/// Lets whoever waits for this process's output know that no more comes.
#[cfg(feature = "kernel")]
fn close_output() {
    // SAFETY: both descriptors are open for as long as they are used; from here on standard output goes nowhere.
    unsafe {
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        libc::dup2(nowhere, libc::STDOUT_FILENO);
        libc::close(nowhere);
    }
}

/// Reads a scenario, and says what is wrong with it or hardly meant.
fn load(file: &Path, sets: &[String]) -> Result<Scenario, Exit> {
    checked(Scenario::load(file, sets))
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

/// Checks that the folder of a file that is to be written is there, and nothing in the file's place that is none.
fn require_place(file: &Path) -> Result<(), Complaint> {
    // Opening a pipe waits for its reader. `/dev/stdout`, a link, is none by itself.
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

/// Writes a line to standard error, for those who watch a command.
#[cfg(feature = "kernel")]
pub(crate) fn tell(line: impl Display) {
    say(line);
}

/// Writes a line to standard error. Whether anyone can read it changes nothing about how a command ends.
fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", legible(&line.to_string()));
}

/// Shows an error with its causes, and what to do about them. `exit` is how the command ends.
fn complain(error: &(dyn Error + 'static), exit: Exit) -> Exit {
    json_errors::error(Complaint::of(error), exit)
}

/// An error with those of its causes that its own text leaves out, and what to do about them.
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

/// The number of the system's error that an error comes from.
fn os_error(error: &(dyn Error + 'static)) -> Option<libc::c_int> {
    let mut chain = std::iter::successors(Some(error), |&cause| cause.source());
    let mut last = error;
    let named = chain.find_map(|cause| {
        last = cause;
        cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error)
    });
    named.or_else(|| {
        // Some libraries show the system's error at the end of their text without naming it as a cause.
        let text = last.to_string();
        let (_, number) = text.strip_suffix(')')?.rsplit_once("(os error ")?;
        number.parse().ok()
    })
}

/// What to do about the errors of a limit that was reached.
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
