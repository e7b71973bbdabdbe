//! `xoff destroy`: destroys live fabrics, and removes leftovers of killed runs and supervisors.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub use netns::Process;
use netns::{FabricStatus, Owner};
use serde_json::json;
use terminal::abandoned::left_of;

use super::{Exit, json_errors};
use crate::client::Client;
use crate::folder::{LiveFolder, State};
use crate::protocol::Request;

/// Polls of a fabric that is being taken down before it counts as stuck: one minute.
const LOOKS: u32 = 6000;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Polls of a lock that a process just killed may still hold: five seconds.
const LOOKS_AT_LOCKS: u32 = 500;

/// Arguments of `xoff destroy`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Live fabrics to destroy. Default: none; only leftovers of killed runs and supervisors are removed.
    #[arg(conflicts_with = "all")]
    names: Vec<String>,
    /// Destroys all live fabrics.
    #[arg(long)]
    all: bool,
    /// Prints JSON instead of text, including errors.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    json_errors::answer_in_json(arguments.json);
    let folders = if arguments.all {
        LiveFolder::all()
    } else {
        arguments.names.iter().map(|name| LiveFolder::new(name)).collect()
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
                    json_errors::error(ended_badly(folder.name(), why), Exit::Unsound);
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
    /// Folder for the fabric's results.
    results: Option<String>,
    /// Last words of a supervisor that died while it took the fabric down.
    pub failed: Option<String>,
}

impl Taken {
    /// Returns the folder with the fabric's results, if there are any.
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

/// Returns the message about a fabric whose supervisor died while it took the fabric down.
pub(super) fn ended_badly(name: &str, why: &str) -> String {
    format!("{name} did not end well: {why}")
}

/// Time after which a supervisor that does not answer gets a signal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Destroys one fabric, or removes its leftovers. If `is_impatient` returns true, does not wait until the fabric is
/// down.
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
            remove_namespaces(folder)?;
            return folder.remove().map(|()| taken);
        }
        State::Up(description) => {
            taken.results.clone_from(&description.results);
            let asked = Client::connect(name).and_then(|mut client| {
                client.set_patience(PATIENCE);
                client.ask_once(&Request::Stop {})
            });
            // A supervisor that does not answer, for example because it has too many clients, obeys signals.
            if asked.is_err() {
                terminate(description.process);
            }
        }
        State::Changing { process } => process.into_iter().for_each(terminate),
    }
    for _ in 0..LOOKS {
        match folder.state()? {
            State::Absent => return Ok(taken),
            // The supervisor died while it took the fabric down. A supervisor that was killed before or after the
            // request has reported nothing, and then only its results are lost.
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

/// Removes the namespaces of an abandoned fabric, or returns why they remain.
pub(super) fn remove_namespaces(folder: &LiveFolder) -> Result<(), String> {
    let owner = folder.last_supervisor();
    let mut looks = 0;
    loop {
        let report = netns::destroy_abandoned().map_err(|error| error.to_string())?;
        let Some(left) = owner.and_then(|owner| left_of(owner, &report)) else { return Ok(()) };
        // A killed process holds its locks until its memory is freed, and releases them one by one.
        looks += 1;
        if looks == LOOKS_AT_LOCKS {
            let (name, namespaces) = (folder.name(), left.namespaces.len());
            return Err(format!(
                "{name} is not destroyed: its supervisor is gone, but {namespaces} namespaces are left, because {}",
                held(left)
            ));
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// Returns the message that names the lock holder of a fabric that counts as living.
fn held(fabric: &FabricStatus) -> String {
    let lock = fabric.fabric.lock_path();
    let holders: Vec<String> =
        fabric.fabric.lock_holders().iter().map(|process| format!("process {process}")).collect();
    let holders = if holders.is_empty() { "a process".to_owned() } else { holders.join(", ") };
    format!("{holders} holds {}; end it, and try again", lock.display())
}

/// Returns true if the process that owned a fabric is gone, and another process holds its lock. The owner may run in another
/// PID namespace; then `/proc/locks` has no holder.
fn has_lost_lock(fabric: &FabricStatus) -> bool {
    let Owner::Living(Some(owner)) = fabric.owner else { return false };
    let holders = fabric.fabric.lock_holders();
    !holders.is_empty() && !holders.contains(&owner.number) && owner.is_over()
}

/// Returns the last message of an abandoned fabric's supervisor.
fn last_words(folder: &LiveFolder) -> String {
    let said = folder.last_words().unwrap_or_else(|| "its supervisor said nothing".to_owned());
    said.strip_prefix("error: ").unwrap_or(&said).to_owned()
}

/// Sends SIGTERM to a process that holds a fabric's lock, so that no other process can have its number.
fn terminate(process: u32) {
    if let Ok(process) = process.try_into() {
        let _ = kill(Pid::from_raw(process), Signal::SIGTERM);
    }
}

/// Returns the names of live fabrics by the identifiers in the names of their namespaces.
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
    // The folder of a fabric whose leftovers could not all be removed stays, so that the fabric can be found.
    let is_whole = |folder: &LiveFolder| {
        folder.last_supervisor().is_none_or(|owner| left_of(owner, &report).is_none())
    };
    let folders = folders.iter().filter(|folder| {
        folder.state() == Ok(State::Abandoned) && is_whole(folder) && folder.remove().is_ok()
    });
    let folders: Vec<&str> = folders.map(LiveFolder::name).collect();
    let (held_by_others, living): (Vec<_>, Vec<_>) =
        report.living.iter().partition(|it| has_lost_lock(it));
    for fabric in &held_by_others {
        let why = format!("fabric {} is left, because {}", fabric.fabric, held(fabric));
        json_errors::error(&why, Exit::Unsound);
    }
    let exit = if held_by_others.is_empty() { Exit::Success } else { Exit::Unsound };
    if in_json {
        let id = |it: &FabricStatus| it.fabric.to_string();
        let removed: Vec<String> = report.removed.iter().map(id).collect();
        let living: Vec<String> = report.living.iter().map(id).collect();
        let done = json!({ "removed": removed, "left_alone": living, "live_fabrics": folders });
        return super::print(&done.to_string(), exit);
    }
    let removed = report.removed.iter().map(|it| format!("removed fabric {}\n", it.fabric));
    let names = live_names();
    let living = living.iter().map(|it| match names.get(&it.fabric.to_string()) {
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
    if text.is_empty() && exit != Exit::Success {
        return exit;
    }
    super::print(if text.is_empty() { "nothing to remove" } else { &text }, exit)
}
