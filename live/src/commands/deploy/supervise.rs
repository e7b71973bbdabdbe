//! The process that supervises a fabric: one in the background, or the command itself with `--foreground`.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use scenario::Scenario;
use sd_notify::NotifyState;
use terminal::Complaint;

use super::launch::Launch;
use super::{Arguments, Pace};
use crate::client;
use crate::commands::{Exit, close_output, prepare, refuse, warn};
use crate::folder::Description;
use crate::supervisor::{self, Settings};

/// Line that a supervisor prints once its fabric forwards.
pub(super) const READY: &str = "ready";

/// Arguments of the supervisor, which reads its scenario from standard input.
#[derive(Debug, clap::Args)]
pub struct SuperviseArguments {
    /// The fabric's name.
    name: String,
    #[arg(long)]
    play: bool,
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
}

/// Supervises the fabric in this process.
pub(super) fn stay(
    scenario: Scenario,
    launch: &Launch,
    arguments: &Arguments,
    up: impl FnOnce(&Description),
) -> Result<(), String> {
    let interrupted = prepare(true)?;
    let settings = Settings {
        name: &launch.name,
        options: arguments.pace.options(launch.plays, launch.results.as_deref()),
        keeps_log: false,
    };
    let ready = || {
        if let Ok((_, description)) = client::find(&launch.name) {
            up(&description);
        }
        // Fails unless systemd has started this process.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    };
    supervisor::supervise(scenario, &settings, interrupted, ready)
}

/// Runs the supervisor's command.
pub fn supervise(arguments: &SuperviseArguments) -> Exit {
    let mut text = String::new();
    if let Err(error) = io::stdin().lock().read_to_string(&mut text) {
        return give_up(format!("cannot read the scenario: {error}"));
    }
    let scenario = match Scenario::parse_live(&text, Path::new("scenario.toml"), &[]) {
        Ok(scenario) => scenario,
        Err(error) => return give_up(error),
    };
    let interrupted = match prepare(true) {
        Ok(interrupted) => interrupted,
        Err(message) => return give_up(message),
    };
    let settings = Settings {
        name: &arguments.name,
        options: arguments.pace.options(arguments.play, arguments.out.as_deref()),
        keeps_log: true,
    };
    let is_ready = Cell::new(false);
    let ready = || {
        is_ready.set(true);
        say_ready(interrupted);
    };
    match supervisor::supervise(scenario, &settings, interrupted, ready) {
        Ok(()) => Exit::Success,
        // The message goes to the log.
        Err(message) if is_ready.get() => refuse(message),
        Err(message) => give_up(message),
    }
}

/// Reports why no fabric came up to the command that waits for it: a line of JSON instead of [`READY`].
fn give_up(complaint: impl Into<Complaint>) -> Exit {
    let complaint = complaint.into();
    let line = serde_json::to_string(&complaint).expect("a complaint is plain data");
    let mut output = io::stdout().lock();
    // The reader may have ended.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
    Exit::BadInput
}

fn say_ready(interrupted: &AtomicBool) {
    let mut output = io::stdout().lock();
    let written = writeln!(output, "{READY}").and_then(|()| output.flush());
    if written.is_err() {
        // The process that asked for the fabric has ended.
        interrupted.store(true, Ordering::Relaxed);
    }
    // The reader expects no more output.
    if let Err(error) = close_output() {
        warn(format!(
            "cannot close the standard output, whose readers may wait for its end: {error}"
        ));
    }
}
