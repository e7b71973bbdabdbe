//! `xoff deploy`: a fabric that stays up.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, Stdio};

use emulation::live::stacks::Waiting;
use emulation::live::thread::Priority;
use emulation::live::{Dilation, Options};
use emulation::run::Threads;
use scenario::Scenario;

use super::Exit;
use super::run::threads;
use crate::live::client;
use crate::live::folder::{Description, LiveFolder, State};
use crate::live::supervisor;

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
    /// Leaves results in this folder when the fabric is destroyed, as `xoff run` does.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
}

/// How fast a fabric runs, and on what.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Pace {
    /// Seconds of the wall clock in an emulated second: with 10 programs see a fabric that is ten times slower, and a busy
    /// machine disturbs it ten times less. `auto`: the smallest one at which this machine is punctual under load, which is
    /// tried out for about a second.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = dilation)]
    dilation: Dilation,
    /// Keeps a processor busy with looking for what is due, instead of sleeping until then: it is served sooner.
    #[arg(long)]
    busy_poll: bool,
    /// Lets the fabric go before all ordinary programs of the machine, which makes it punctual where these keep the
    /// processors busy.
    #[arg(long)]
    real_time: bool,
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
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
}

/// What `--dilation` says.
fn dilation(text: &str) -> Result<Dilation, String> {
    if text == "auto" {
        return Ok(Dilation::Auto);
    }
    let dilation = text.parse().map(Dilation::Exactly);
    dilation.map_err(|_| "a whole number of seconds from 1 on, or `auto`".to_owned())
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
    let Pace { dilation, busy_poll, real_time, threads } = arguments.pace;
    command.arg("--dilation").arg(match dilation {
        Dilation::Auto => "auto".to_owned(),
        Dilation::Exactly(dilation) => dilation.to_string(),
    });
    command.arg("--threads").arg(match threads {
        Threads::Auto => "auto".to_owned(),
        Threads::Exactly(threads) => threads.to_string(),
    });
    let switches =
        [(arguments.play, "--play"), (busy_poll, "--busy-poll"), (real_time, "--real-time")];
    command.args(switches.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, option)| option));
    if let Some(folder) = &arguments.out {
        command.arg("--out").arg(path::absolute(folder)?);
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
    let Description { name, hosts, shape, dilation, calibration, .. } = description;
    let mut text = format!("{name} is up: {shape}, {} hosts", hosts.len());
    if *dilation > 1 {
        write!(text, ", an emulated second takes {dilation} seconds")
            .expect("a String takes every write");
    }
    if let Some(why) = calibration {
        write!(text, "\n{why}").expect("a String takes every write");
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
    let Pace { dilation, busy_poll, real_time, threads } = arguments.pace;
    let waiting = if busy_poll { Waiting::Spin } else { Waiting::Sleep };
    let (plays, results) = (arguments.play, arguments.out.as_deref());
    let priority = if real_time { Priority::RealTime } else { Priority::Ordinary };
    let options = Options { plays, dilation, threads, waiting, priority, results };
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
    match supervisor::supervise(scenario, &arguments.name, options, interrupted, ready) {
        Ok(()) => Exit::Success,
        Err(message) => super::refuse(&message),
    }
}
