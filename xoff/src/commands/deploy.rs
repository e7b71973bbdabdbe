//! `xoff deploy`: a fabric that stays up.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::num::NonZeroU32;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use emulation::run::Threads;
use scenario::Scenario;

use super::Exit;
use super::run::threads;
use crate::live::client;
use crate::live::folder::{Description, LiveFolder, State};
use crate::live::supervisor::{self, Settings};

/// Name of the supervisor's command.
pub const SUPERVISE: &str = "supervise";
/// What a supervisor says once its fabric forwards.
const READY: &str = "ready";

/// Arguments of `xoff deploy`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario.
    file: PathBuf,
    /// What commands call the fabric. Default: the scenario's `name`.
    #[arg(long)]
    name: Option<String>,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Also starts the scenario's flows.
    #[arg(long)]
    play: bool,
    #[command(flatten)]
    pace: Pace,
}

/// How fast a fabric runs, and on what.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Pace {
    /// Seconds of the wall clock in an emulated second: with 10 programs see a fabric that is ten times slower, and a busy
    /// machine disturbs it ten times less.
    #[arg(long, value_name = "N", default_value = "1")]
    dilation: NonZeroU32,
    /// How many threads run the fabric.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = threads)]
    threads: Threads,
}

/// Arguments of the supervisor, which reads its scenario from standard input.
#[derive(Debug, clap::Args)]
pub struct SuperviseArguments {
    /// The fabric's name.
    name: String,
    #[arg(long)]
    play: bool,
    #[command(flatten)]
    pace: Pace,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let read = Scenario::load_live(&arguments.file, &arguments.sets);
    let scenario = match super::checked(read) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    if !scenario.captures.is_empty() {
        super::say("warning: a live fabric does not make [[captures]]; `xoff capture` does");
    }
    if !arguments.play && !scenario.storms.is_empty() {
        super::say("warning: [[storms]] begin with --play only; `xoff storm` begins one");
    }
    if arguments.play && scenario.workloads.is_empty() {
        super::say("warning: there are no [[flows]] to play");
    }
    let name = arguments.name.as_deref().unwrap_or(&scenario.name);
    match deploy(&scenario, name, arguments) {
        Ok(description) => super::print(&welcome(&description), Exit::Success),
        Err(message) => super::refuse(&message),
    }
}

fn deploy(scenario: &Scenario, name: &str, arguments: &Arguments) -> Result<Description, String> {
    emulation::live::fitness(scenario).map_err(|error| error.to_string())?;
    super::doctor::require_kernel_datapath()?;
    let folder = LiveFolder::of(name)?;
    if matches!(folder.state()?, State::Up(_) | State::Changing { .. }) {
        return Err(folder.taken().to_string());
    }
    let mut supervisor = start(scenario, name, arguments)
        .map_err(|error| format!("cannot start the supervisor: {error}"))?;
    let mut said = String::new();
    let mut output = BufReader::new(supervisor.stdout.take().expect("it is piped"));
    output.read_line(&mut said).map_err(|error| format!("lost the supervisor: {error}"))?;
    if said.trim() == READY {
        return client::find(name).map(|(_, description)| description);
    }
    let mut why = String::new();
    let mut errors = supervisor.stderr.take().expect("it is piped");
    // What it could not say is replaced below.
    let _ = errors.read_to_string(&mut why);
    let status = supervisor.wait();
    let ended = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let why = why.trim();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    Err(if why.is_empty() {
        format!("the supervisor ended ({ended}) and said nothing")
    } else {
        why.to_owned()
    })
}

/// Starts the supervisor in the background, in a session of its own.
fn start(scenario: &Scenario, name: &str, arguments: &Arguments) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("xoff").args([SUPERVISE, name]);
    command.arg("--dilation").arg(arguments.pace.dilation.to_string());
    command.arg("--threads").arg(match arguments.pace.threads {
        Threads::Auto => "auto".to_owned(),
        Threads::Exactly(threads) => threads.to_string(),
    });
    if arguments.play {
        command.arg("--play");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The folder that a user is in is not kept in use; the scenario names files by absolute paths.
    command.current_dir("/");
    // SAFETY: `setsid` is called between fork and exec, and takes no lock.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let mut supervisor = command.spawn()?;
    let mut input = supervisor.stdin.take().expect("it is piped");
    input.write_all(scenario.to_toml().as_bytes())?;
    Ok(supervisor)
}

/// What a person can do with a fabric that has just come up.
fn welcome(description: &Description) -> String {
    let Description { name, hosts, shape, dilation, .. } = description;
    let mut text = format!("{name} is up: {shape}, {} hosts", hosts.len());
    if *dilation > 1 {
        write!(text, ", an emulated second takes {dilation} seconds")
            .expect("a String takes every write");
    }
    let [first, .., last] = hosts.as_slice() else { return text };
    write!(
        text,
        "\n\ntry:\n  xoff exec {name} {first} -- ping -c 3 {last}\n  xoff send {name} {first} {last} --bytes 1MB\n  \
         xoff inspect {name}\n  xoff destroy {name}",
        first = first.name,
        last = last.name,
    )
    .expect("a String takes every write");
    text
}

/// Runs the supervisor's command.
pub fn supervise(arguments: &SuperviseArguments) -> Exit {
    let mut text = String::new();
    if let Err(error) = io::stdin().lock().read_to_string(&mut text) {
        return super::refuse(&format!("cannot read the scenario: {error}"));
    }
    let scenario = match Scenario::parse_live(&text, Path::new("scenario.toml"), &[]) {
        Ok(scenario) => scenario,
        Err(error) => return super::refuse(&error.to_string()),
    };
    let interrupted = match super::prepare(true) {
        Ok(interrupted) => interrupted,
        Err(message) => return super::refuse(&message),
    };
    let settings = Settings {
        name: &arguments.name,
        dilation: arguments.pace.dilation,
        threads: arguments.pace.threads,
        plays: arguments.play,
    };
    let ready = || {
        let mut output = io::stdout().lock();
        let told = writeln!(output, "{READY}").and_then(|()| output.flush());
        if told.is_err() {
            // Whoever wanted the fabric has gone.
            interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        // Nobody waits for more.
        super::close_output();
    };
    match supervisor::supervise(scenario, &settings, interrupted, ready) {
        Ok(()) => Exit::Success,
        Err(message) => super::refuse(&message),
    }
}
