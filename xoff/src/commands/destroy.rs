//! `xoff destroy`: takes live fabrics down, and removes what killed runs and supervisors left.

use std::fmt::Write;
use std::thread;
use std::time::Duration;

use super::Exit;
use crate::live::client::Client;
use crate::live::folder::{LiveFolder, State};
use crate::live::protocol::Request;

/// Looks at a fabric that is being taken down before it counts as stuck: a minute.
const LOOKS: u32 = 6000;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Arguments of `xoff destroy`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Live fabrics to take down. Default: none; what killed runs and supervisors have left is removed.
    #[arg(conflicts_with = "all")]
    names: Vec<String>,
    /// Takes all live fabrics down.
    #[arg(long)]
    all: bool,
}

/// Removes it without a word: what cannot be removed is in nobody's way, and the command says why.
pub fn remove_what_can_be() {
    let _ = netns::destroy_abandoned();
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let folders = if arguments.all {
        LiveFolder::all()
    } else {
        arguments.names.iter().map(|name| LiveFolder::of(name)).collect()
    };
    let folders = match folders {
        Ok(folders) => folders,
        Err(message) => return super::refuse(&message),
    };
    if folders.is_empty() && !arguments.all {
        return remove_abandoned();
    }
    let mut lines = Vec::new();
    let mut exit = Exit::Success;
    for folder in &folders {
        match take_down(folder) {
            Ok(taken) => {
                lines.push(taken.line(folder.name()));
                if let Some(why) = taken.failed {
                    super::say(format_args!("error: {} did not end well: {why}", folder.name()));
                    exit = Exit::Unsound;
                }
            }
            Err(message) => exit = super::refuse(&message),
        }
    }
    if lines.is_empty() {
        if exit != Exit::Success {
            return exit;
        }
        lines.push("there is no live fabric".to_owned());
    }
    super::print(&lines.join("\n"), exit)
}

/// A fabric that was taken down.
#[derive(Debug, Default)]
struct Taken {
    /// The folder with its results.
    results: Option<String>,
    /// What its supervisor had to say when it died over it.
    failed: Option<String>,
}

impl Taken {
    fn line(&self, name: &str) -> String {
        match &self.results {
            Some(folder) if self.failed.is_none() => {
                format!("destroyed {name}; {folder} has its results")
            }
            _ => format!("destroyed {name}"),
        }
    }
}

/// Takes one fabric down, or removes what it has left.
fn take_down(folder: &LiveFolder) -> Result<Taken, String> {
    let name = folder.name();
    let mut taken = Taken::default();
    match folder.state()? {
        State::Absent => {
            return Err(format!(
                "there is no live fabric {name}; `xoff list` shows those that there are"
            ));
        }
        State::Abandoned => {
            netns::destroy_abandoned().map_err(|error| error.to_string())?;
            return folder.remove().map(|()| taken);
        }
        State::Up(description) => {
            taken.results.clone_from(&description.results);
            let asked = Client::connect(name).and_then(|mut it| it.ask_once(&Request::Stop {}));
            // A supervisor that does not listen, such as one with too many clients, obeys signals.
            if asked.is_err() {
                terminate(description.process);
            }
        }
        State::Changing { process } => process.into_iter().for_each(terminate),
    }
    for _ in 0..LOOKS {
        match folder.state()? {
            State::Absent => return Ok(taken),
            // It died over it.
            State::Abandoned => {
                let said = folder.last_words().unwrap_or_else(|| "it said nothing".to_owned());
                let failed = said.strip_prefix("error: ").unwrap_or(&said).to_owned();
                return take_down(folder).map(|taken| Taken { failed: Some(failed), ..taken });
            }
            _ => thread::sleep(LOOK_INTERVAL),
        }
    }
    Err(format!(
        "{name} was asked to end a minute ago, and lives; kill its supervisor (`xoff list`)"
    ))
}

/// Asks a process to end that holds a fabric's lock, so that its number is its own.
fn terminate(process: u32) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: sends a signal.
        unsafe { libc::kill(process, libc::SIGTERM) };
    }
}

fn remove_abandoned() -> Exit {
    let report = match netns::destroy_abandoned() {
        Ok(report) => report,
        Err(error) => {
            super::complain(&error);
            return Exit::BadInput;
        }
    };
    let removed = report.removed.iter().map(|it| format!("removed fabric {}\n", it.fabric));
    let living = report
        .living
        .iter()
        .map(|it| format!("left fabric {} alone: its run is still alive\n", it.fabric));
    let mut text: String = removed.chain(living).collect();
    for folder in LiveFolder::all().unwrap_or_default() {
        if folder.state() == Ok(State::Abandoned) && folder.remove().is_ok() {
            writeln!(text, "removed what the live fabric {} has left", folder.name())
                .expect("a String takes every write");
        }
    }
    super::print(if text.is_empty() { "nothing to remove" } else { &text }, Exit::Success)
}
