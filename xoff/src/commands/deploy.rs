//! `xoff deploy`: a fabric that stays up.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use emulation::live::stacks::Waiting;
use emulation::live::thread::Priority;
use emulation::live::{Dilation, Options};
use emulation::run::Threads;
use scenario::Scenario;
use sd_notify::NotifyState;
use serde::Serialize;
use serde_json::json;

use super::run::threads;
use super::{Exit, destroy, json_errors};
use crate::live::changes::{self, Change};
use crate::live::client;
use crate::live::folder::{Description, LiveFolder, State};
use crate::live::supervisor::{self, Settings};

/// Name of the supervisor's command.
pub const SUPERVISE: &str = "supervise";
/// What a supervisor says once its fabric forwards.
const READY: &str = "ready";

/// Arguments of `xoff deploy`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
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
    /// Takes the fabric of this name down, if it is up and another one, and deploys this one.
    #[arg(long)]
    replace: bool,
    /// Stays in the foreground until the fabric is destroyed or a signal ends it; messages go to standard error. For service
    /// managers: it tells systemd when the fabric is up.
    #[arg(long)]
    foreground: bool,
    #[command(flatten)]
    pace: Pace,
    /// Answers in JSON, errors too.
    #[arg(long)]
    json: bool,
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

/// A fabric to be supervised.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Launch {
    name: String,
    /// The resolved scenario.
    toml: String,
    /// As `--dilation` takes it, and then as `--threads` does.
    dilation: String,
    threads: String,
    busy_poll: bool,
    real_time: bool,
    plays: bool,
    /// An absolute path.
    results: Option<PathBuf>,
}

/// What there is to replace.
struct Running {
    launch: Launch,
    description: Description,
    changes: Vec<Change>,
}

/// What has become of a deployment, in JSON.
#[derive(Debug, Serialize)]
struct Deployed<'a> {
    /// "deployed", "replaced" or "unchanged".
    outcome: &'a str,
    /// How it differs from what was up.
    changes: &'a [Change],
    fabric: &'a Description,
}

impl Pace {
    /// How a fabric is live with it.
    fn options(self, plays: bool, results: Option<&Path>) -> Options<'_> {
        let Self { dilation, busy_poll, real_time, threads } = self;
        let waiting = if busy_poll { Waiting::Spin } else { Waiting::Sleep };
        let priority = if real_time { Priority::RealTime } else { Priority::Ordinary };
        Options { plays, dilation, threads, waiting, priority, results }
    }
}

impl Launch {
    /// What the fabric is run with that is no part of its scenario.
    fn options(&self) -> [(&'static str, Option<String>); 6] {
        let results = self.results.as_ref().map(|folder| folder.display().to_string());
        [
            ("--dilation", Some(self.dilation.clone())),
            ("--threads", Some(self.threads.clone())),
            ("--busy-poll", Some(self.busy_poll.to_string())),
            ("--real-time", Some(self.real_time.to_string())),
            ("--play", Some(self.plays.to_string())),
            ("--out", results),
        ]
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    json_errors::answer_in_json(arguments.json);
    let read = Scenario::load_live(&arguments.file, &arguments.sets);
    let scenario = match super::checked(read) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    if !scenario.captures.is_empty() {
        super::warn("a live fabric does not make [[captures]]; `xoff capture` does");
    }
    if !arguments.play && !scenario.storms.is_empty() {
        super::warn("[[storms]] begin with --play only; `xoff storm` begins one");
    }
    if arguments.play && scenario.workloads.is_empty() {
        super::warn("there are no [[flows]] to play");
    }
    deploy(scenario, arguments).unwrap_or_else(|message| super::refuse(&message))
}

fn deploy(scenario: Scenario, arguments: &Arguments) -> Result<Exit, String> {
    // Whatever can be found wrong with the new fabric is found before the old one is touched.
    emulation::live::fitness(&scenario).map_err(|error| error.to_string())?;
    super::doctor::require_kernel_datapath()?;
    let Pace { dilation, busy_poll, real_time, threads } = arguments.pace;
    let absolute = |folder: &PathBuf| {
        path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))
    };
    let launch = Launch {
        name: arguments.name.as_ref().unwrap_or(&scenario.name).clone(),
        toml: scenario.to_toml(),
        dilation: dilation.to_string(),
        threads: threads.to_string(),
        busy_poll,
        real_time,
        plays: arguments.play,
        results: arguments.out.as_ref().map(absolute).transpose()?,
    };
    let folder = LiveFolder::of(&launch.name)?;
    let running = match folder.state()? {
        State::Up(description) => Some(running(&folder, *description, &launch)?),
        State::Changing { .. } => return Err(folder.taken().to_string()),
        State::Absent | State::Abandoned => None,
    };
    let answer = |outcome, changes: &[Change], description: &Description| {
        answer(arguments.json, &Deployed { outcome, changes, fabric: description })
    };
    if let Some(Running { launch: old, description, changes }) = &running {
        if changes.is_empty() && !arguments.foreground {
            return Ok(answer("unchanged", changes, description));
        }
        if !arguments.replace {
            return Ok(refuse_changes(&folder, changes));
        }
        // The old fabric writes to its own.
        if let Some(results) = launch.results.as_ref()
            && !old.results.as_ref().is_some_and(|old| is_same(old, results))
        {
            let checked = emulation::live::check_results(&scenario, results);
            checked.map_err(|error| super::with_causes(&error))?;
        }
        if let Some(why) = destroy::take_down(&folder)?.failed {
            super::warn(destroy::ended_badly(&launch.name, &why));
        }
    }
    let changes = running.as_ref().map_or(&[][..], |running| &running.changes);
    let outcome = if running.is_some() { "replaced" } else { "deployed" };
    let deployed = if arguments.foreground {
        let up = |description: &Description| {
            // Nobody has to read it.
            answer(outcome, changes, description);
        };
        stay(scenario, &launch, arguments, up).map(|()| Exit::Success)
    } else {
        in_background(&launch).map(|description| answer(outcome, changes, &description))
    };
    match (deployed, running) {
        // What failed in the foreground had perhaps been up for hours.
        (Err(why), Some(Running { launch, .. })) if !arguments.foreground => {
            Err(format!("{why}\n{}", deploy_again(launch)))
        }
        (deployed, _) => deployed,
    }
}

/// Whether two paths are of one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Deploys a fabric again that was taken down for another one, and says what has come of it. It leaves no results, which would
/// replace those that it has left.
fn deploy_again(launch: Launch) -> String {
    let results = launch.results.clone();
    let launch = Launch { results: None, ..launch };
    let name = &launch.name;
    match in_background(&launch) {
        Ok(_) => {
            let results = results.map(|folder| {
                format!("; it has left its results in {}, and leaves no others", folder.display())
            });
            format!(
                "{name} is up again as it was, without what programs had in it{}",
                results.unwrap_or_default()
            )
        }
        Err(again) => format!("nor could {name} be deployed again as it was: {again}"),
    }
}

/// The fabric that has the name, and how the new one differs from it.
fn running(folder: &LiveFolder, description: Description, new: &Launch) -> Result<Running, String> {
    let file = folder.file("scenario.toml");
    let toml = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let Description {
        dilation, calibration, threads, busy_poll, real_time, plays, results, ..
    } = description.clone();
    let launch = Launch {
        name: folder.name().to_owned(),
        toml,
        dilation: calibration.map_or_else(|| dilation.to_string(), |_| Dilation::Auto.to_string()),
        threads,
        busy_poll,
        real_time,
        plays,
        results: results.map(PathBuf::from),
    };
    let mut changes = changes::between(&launch.toml, &new.toml)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    for ((key, old), (_, new)) in launch.options().into_iter().zip(new.options()) {
        if old != new {
            changes.push(Change { key: key.to_owned(), old, new });
        }
    }
    Ok(Running { launch, description, changes })
}

/// Says how the new fabric differs from the one that has its name.
fn refuse_changes(folder: &LiveFolder, changes: &[Change]) -> Exit {
    let name = folder.name();
    let mut text = format!("there is a live fabric {name}");
    if changes.is_empty() {
        text += ", and it is the same";
    } else {
        text += ", and this one is another:";
        for change in changes {
            write!(text, "\n  {change}").expect("a String takes every write");
        }
    }
    text += "\n`--replace` takes it down and deploys this one, `--name` gives this one another name, and \
             `xoff destroy ";
    text += name;
    text += "` takes it down";
    json_errors::error_with(&text, &json!({ "changes": changes }));
    Exit::BadInput
}

/// Says what has become of the deployment.
fn answer(in_json: bool, deployed: &Deployed<'_>) -> Exit {
    if in_json {
        let text = serde_json::to_string(deployed).expect("a description is plain data");
        return super::print(&text, Exit::Success);
    }
    let text = match deployed.outcome {
        "unchanged" => format!("{} is up, and nothing has changed", deployed.fabric.name),
        _ => welcome(deployed),
    };
    super::print(&text, Exit::Success)
}

/// Starts a supervisor, and waits until its fabric is up.
fn in_background(launch: &Launch) -> Result<Description, String> {
    let mut supervisor =
        start(launch).map_err(|error| format!("cannot start the supervisor: {error}"))?;
    let mut said = String::new();
    let mut output = BufReader::new(supervisor.stdout.take().expect("it is piped"));
    output.read_line(&mut said).map_err(|error| format!("lost the supervisor: {error}"))?;
    if said.trim() == READY {
        return client::find(&launch.name).map(|(_, description)| description);
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
fn start(launch: &Launch) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("xoff").args([SUPERVISE, &launch.name]);
    command.args(["--dilation", &launch.dilation, "--threads", &launch.threads]);
    let switches = [
        (launch.plays, "--play"),
        (launch.busy_poll, "--busy-poll"),
        (launch.real_time, "--real-time"),
    ];
    command.args(switches.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, option)| option));
    if let Some(folder) = &launch.results {
        command.arg("--out").arg(folder);
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
    input.write_all(launch.toml.as_bytes())?;
    Ok(supervisor)
}

/// What a person can do with a fabric that has just come up.
fn welcome(deployed: &Deployed<'_>) -> String {
    let Description { name, hosts, shape, dilation, calibration, .. } = deployed.fabric;
    let mut text = format!("{name} is up: {shape}, {} hosts", hosts.len());
    if *dilation > 1 {
        write!(text, ", an emulated second takes {dilation} seconds")
            .expect("a String takes every write");
    }
    if let Some(why) = calibration {
        write!(text, "\n{why}").expect("a String takes every write");
    }
    for change in deployed.changes {
        write!(text, "\n  {change}").expect("a String takes every write");
    }
    let [first, .., last] = hosts.as_slice() else { return text };
    write!(
        text,
        "\n\ntry:\n  xoff exec {name} {first} -- ping -c 3 {last}\n  xoff send {name} {first} {last} --bytes 1MB\n  \
         xoff inspect {name}\n  xoff top {name}\n  xoff destroy {name}",
        first = first.name,
        last = last.name,
    )
    .expect("a String takes every write");
    text
}

/// Supervises the fabric in this process.
fn stay(
    scenario: Scenario,
    launch: &Launch,
    arguments: &Arguments,
    up: impl FnOnce(&Description),
) -> Result<(), String> {
    let interrupted = super::prepare(true)?;
    let settings = Settings {
        name: &launch.name,
        options: arguments.pace.options(launch.plays, launch.results.as_deref()),
        keeps_log: false,
    };
    let ready = || {
        if let Ok((_, description)) = client::find(&launch.name) {
            up(&description);
        }
        // Nobody is there to be told unless systemd has started it.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    };
    supervisor::supervise(scenario, &settings, interrupted, ready)
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
        options: arguments.pace.options(arguments.play, arguments.out.as_deref()),
        keeps_log: true,
    };
    match supervisor::supervise(scenario, &settings, interrupted, || say_ready(interrupted)) {
        Ok(()) => Exit::Success,
        Err(message) => super::refuse(&message),
    }
}

fn say_ready(interrupted: &AtomicBool) {
    let mut output = io::stdout().lock();
    let told = writeln!(output, "{READY}").and_then(|()| output.flush());
    if told.is_err() {
        // Whoever wanted the fabric has gone.
        interrupted.store(true, Ordering::Relaxed);
    }
    // Nobody waits for more.
    super::close_output();
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Arguments as CommandLine;

    /// The example of a unit starts what there is.
    #[test]
    fn the_command_of_the_unit_is_read() {
        let unit = include_str!("../../../docs/xoff@.service");
        let lines: Vec<&str> =
            unit.lines().filter_map(|it| it.strip_prefix("ExecStart=")).collect();
        let [line] = lines[..] else { panic!("{lines:?}") };
        let line = line.replace("%i", "lab");
        let read = CommandLine::try_parse_from(line.split(' ')).expect("it is a command of xoff");
        let read = format!("{read:?}");
        assert!(read.contains("Deploy") && read.contains("foreground: true"), "{read}");
        assert!(
            read.contains("\"/etc/xoff/lab.toml\"") && read.contains("Some(\"lab\")"),
            "{read}"
        );
    }
}
