//! `xoff destroy`: takes live fabrics down, and removes what killed runs and supervisors left.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Exit, json_errors};
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
    /// Answers in JSON, errors too.
    #[arg(long)]
    json: bool,
}

/// Removes it without a word: what cannot be removed is in nobody's way, and the command says why.
pub fn remove_what_can_be() {
    let _ = netns::destroy_abandoned();
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    json_errors::answer_in_json(arguments.json);
    let folders = if arguments.all {
        LiveFolder::all()
    } else {
        arguments.names.iter().map(|name| LiveFolder::of(name)).collect()
    };
    let folders = match folders {
        Ok(folders) => folders,
        Err(message) => return super::refuse(message),
    };
    if folders.is_empty() && !arguments.all {
        return remove_abandoned(arguments.json);
    }
    let mut destroyed = Vec::new();
    let mut exit = Exit::Success;
    for folder in &folders {
        match take_down(folder, || false) {
            Ok(taken) => {
                if let Some(why) = &taken.failed {
                    json_errors::error(&ended_badly(folder.name(), why), Exit::Unsound);
                    exit = Exit::Unsound;
                }
                destroyed.push((folder.name(), taken));
            }
            Err(message) => exit = super::refuse(message),
        }
    }
    if destroyed.is_empty() && exit != Exit::Success {
        return exit;
    }
    if arguments.json {
        let names: Vec<&str> = destroyed.iter().map(|(name, _)| *name).collect();
        let results: BTreeMap<&str, &str> =
            destroyed.iter().filter_map(|(name, taken)| Some((*name, taken.results()?))).collect();
        let mut done = json!({ "destroyed": names });
        if !results.is_empty() {
            done["results"] = json!(results);
        }
        return super::print(&done.to_string(), exit);
    }
    let mut lines: Vec<String> = destroyed.iter().map(|(name, taken)| taken.line(name)).collect();
    if lines.is_empty() {
        lines.push("there is no live fabric".to_owned());
    }
    super::print(&lines.join("\n"), exit)
}

/// A fabric that was taken down.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// The folder for its results.
    results: Option<String>,
    /// What its supervisor had to say when it died over it.
    pub failed: Option<String>,
}

impl Taken {
    /// The folder that has its results, if there are any.
    fn results(&self) -> Option<&str> {
        self.results.as_deref().filter(|_| self.failed.is_none())
    }

    fn line(&self, name: &str) -> String {
        match self.results() {
            Some(folder) => format!("destroyed {name}; {folder} has its results"),
            None => format!("destroyed {name}"),
        }
    }
}

/// What is said of a fabric whose supervisor died over it.
pub(super) fn ended_badly(name: &str, why: &str) -> String {
    format!("{name} did not end well: {why}")
}

/// A supervisor that does not answer for so long gets a signal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes one fabric down, or removes what it has left. Whoever is impatient does not wait until it is down.
pub(super) fn take_down(
    folder: &LiveFolder,
    is_impatient: impl Fn() -> bool,
) -> Result<Taken, String> {
    let name = folder.name();
    let mut taken = Taken::default();
    match folder.state()? {
        State::Absent => {
            return Err(format!(
                "there is no live fabric {name}; `xoff list` shows those that there are"
            ));
        }
        State::Abandoned => {
            taken.failed = folder.lost_results().map(|results| {
                format!("{}; what was to go to {results} is lost", last_words(folder))
            });
            netns::destroy_abandoned().map_err(|error| error.to_string())?;
            return folder.remove().map(|()| taken);
        }
        State::Up(description) => {
            taken.results.clone_from(&description.results);
            let asked = Client::connect(name).and_then(|mut client| {
                client.set_patience(PATIENCE);
                client.ask_once(&Request::Stop {})
            });
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
            // It died over it. One that was killed, before or after it was asked, has said nothing about that, and then only
            // its results are lost.
            State::Abandoned => {
                let failure = folder.failure();
                return take_down(folder, is_impatient)
                    .map(|left| Taken { failed: left.failed.or(failure), ..taken });
            }
            _ if is_impatient() => {
                return Err(format!("interrupted; {name} was asked to end, and will"));
            }
            _ => thread::sleep(LOOK_INTERVAL),
        }
    }
    Err(format!(
        "{name} was asked to end a minute ago, and lives; kill its supervisor (`xoff list`)"
    ))
}

/// What the supervisor of an abandoned fabric said last.
fn last_words(folder: &LiveFolder) -> String {
    let said = folder.last_words().unwrap_or_else(|| "its supervisor said nothing".to_owned());
    said.strip_prefix("error: ").unwrap_or(&said).to_owned()
}

/// Asks a process to end that holds a fabric's lock, so that its number is its own.
fn terminate(process: u32) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: sends a signal.
        unsafe { libc::kill(process, libc::SIGTERM) };
    }
}

/// The names of live fabrics, by the identifiers in the names of their namespaces.
fn live_names() -> BTreeMap<String, String> {
    let folders = LiveFolder::all().unwrap_or_default();
    let names = folders.iter().filter_map(|folder| match folder.state() {
        Ok(State::Up(description)) => Some((description.fabric, description.name)),
        _ => None,
    });
    names.collect()
}

fn remove_abandoned(in_json: bool) -> Exit {
    let report = match netns::destroy_abandoned() {
        Ok(report) => report,
        Err(error) => return super::complain(&error, Exit::BadInput),
    };
    let folders = LiveFolder::all().unwrap_or_default();
    let folders = folders
        .iter()
        .filter(|folder| folder.state() == Ok(State::Abandoned) && folder.remove().is_ok());
    let folders: Vec<&str> = folders.map(LiveFolder::name).collect();
    if in_json {
        let fabrics = |of: &[netns::FabricStatus]| {
            of.iter().map(|it| it.fabric.to_string()).collect::<Vec<_>>()
        };
        let (removed, living) = (fabrics(&report.removed), fabrics(&report.living));
        let done = json!({ "removed": removed, "left_alone": living, "live_fabrics": folders });
        return super::print(&done.to_string(), Exit::Success);
    }
    let removed = report.removed.iter().map(|it| format!("removed fabric {}\n", it.fabric));
    let names = live_names();
    let living = report.living.iter().map(|it| match names.get(&it.fabric.to_string()) {
        Some(name) => {
            format!("left the live fabric {name} alone: `xoff destroy {name}` takes it down\n")
        }
        None => format!("left fabric {} alone: its run is still alive\n", it.fabric),
    });
    let mut text: String = removed.chain(living).collect();
    for name in folders {
        writeln!(text, "removed what the live fabric {name} has left")
            .expect("a String takes every write");
    }
    super::print(if text.is_empty() { "nothing to remove" } else { &text }, Exit::Success)
}
