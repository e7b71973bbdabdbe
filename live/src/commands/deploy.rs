//! `xoff deploy`: starts a live fabric.
//!
//! # Adding an option
//!
//! `Arguments` or `Pace` here, and `Options` in `emulation/src/live.rs`. Not checked by the compiler: `Launch` and
//! `start` in `deploy/launch.rs`, `Description` in `live/folder.rs`, which `--replace` compares, and docs/live.md.

mod launch;
mod replacement;
mod supervise;

use std::fmt::Write as _;
use std::fs;
use std::path::{self, Path, PathBuf};

use emulation::live::stacks::Waiting;
use emulation::live::thread::Priority;
use emulation::live::{Dilation, Options};
use emulation::run::Threads;
use scenario::whole_number::between;
use scenario::{MAX_SEED, Scenario, quantity};
use serde::Serialize;
use serde_json::json;
use terminal::Complaint;
use topology::HostId;
use units::BitsPerSecond;

use super::tables::{self, Format};
use super::{Exit, destroy, interrupt, json_errors};
use crate::changes::Change;
use crate::folder::{Description, LiveFolder, State};
use launch::{Failure, Launch, in_background};
use replacement::{ARE, Again, Running, WILL_BE, both_gone, deploy_again, running};
use supervise::stay;

pub use supervise::{SuperviseArguments, supervise};

/// Name of the supervisor's command.
pub const SUPERVISE: &str = "supervise";

/// Arguments of `xoff deploy`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct Arguments {
    /// The scenario.
    file: PathBuf,
    /// Name of the fabric for other commands. Default: the scenario's `name`.
    #[arg(long)]
    name: Option<String>,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Seed of all randomness; replaces `seed`.
    #[arg(long, value_name = "N", value_parser = between(0, MAX_SEED), allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Also starts the scenario's flows.
    #[arg(long)]
    play: bool,
    /// Writes results to this folder when the fabric is destroyed, as `xoff run` does.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Format of the results' tables, instead of `results.format`.
    #[arg(long, value_enum, requires = "out")]
    format: Option<Format>,
    /// Replaces the live fabric of this name, if there is one and it differs.
    #[arg(long)]
    replace: bool,
    /// Stays in the foreground until the fabric is destroyed or a signal ends it; messages go to standard error. For
    /// service managers: notifies systemd when the fabric is up.
    #[arg(long)]
    foreground: bool,
    #[command(flatten)]
    pace: Pace,
    /// Prints JSON instead of text, including errors.
    #[arg(long)]
    json: bool,
}

/// Options for a fabric's speed and resources.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Pace {
    /// Wall-clock seconds per emulated second. With 10, programs see a fabric ten times slower, and a busy machine
    /// disturbs it ten times less. `auto` measures for about a second and takes the lowest value at which this machine
    /// is punctual under load.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = dilation, allow_hyphen_values = true)]
    dilation: Dilation,
    /// Polls continuously for due events instead of sleeping: lower latency, but a whole processor stays busy.
    #[arg(long)]
    busy_poll: bool,
    /// Runs the fabric at real-time priority, ahead of the machine's ordinary programs, so that it stays punctual on
    /// busy processors.
    #[arg(long)]
    real_time: bool,
    /// Number of threads that run the fabric.
    #[arg(long, value_name = "N|auto", default_value = "1", allow_hyphen_values = true)]
    threads: Threads,
}

/// Parses `--dilation`.
fn dilation(text: &str) -> Result<Dilation, String> {
    if text == "auto" {
        return Ok(Dilation::Auto);
    }
    let dilation = text.parse().map(Dilation::Exactly);
    dilation.map_err(|_| "write a whole number of seconds from 1 up, or `auto`".to_owned())
}

/// Outcome of a deployment, in JSON.
#[derive(Debug, Serialize)]
struct Deployed<'a> {
    /// "deployed", "replaced" or "unchanged".
    outcome: &'a str,
    /// Differences from the fabric that was up.
    changes: &'a [Change],
    fabric: &'a Description,
}

impl Pace {
    /// Returns the options of a live fabric at this pace.
    fn options(self, plays: bool, results: Option<&Path>) -> Options<'_> {
        let Self { dilation, busy_poll, real_time, threads } = self;
        let waiting = if busy_poll { Waiting::Spin } else { Waiting::Sleep };
        let priority = if real_time { Priority::RealTime } else { Priority::Ordinary };
        Options { plays, dilation, threads, waiting, priority, results }
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    json_errors::answer_in_json(arguments.json);
    let mut sets = arguments.sets.clone();
    sets.extend(arguments.format.map(|format| tables::key(format.into())));
    sets.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    let read = Scenario::load_live(&arguments.file, &sets);
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
    if let Some(warning) = too_fast(&scenario, arguments.pace.dilation) {
        super::warn(warning);
    }
    deploy(scenario, arguments).unwrap_or_else(super::refuse)
}

fn deploy(scenario: Scenario, arguments: &Arguments) -> Result<Exit, Complaint> {
    // All errors of the new fabric are found before the old one is touched.
    emulation::live::fitness(&scenario).map_err(|error| Complaint::from_error(&error))?;
    emulation::require_kernel_datapath()?;
    interrupt::watch();
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
    let folder = LiveFolder::new(&launch.name)?;
    let running = match folder.state()? {
        State::Up(description) => Some(running(&folder, *description, &launch)?),
        State::Changing { process } => return Err(changing(&launch.name, process)),
        State::Abandoned => {
            // With the folder would go what says whose the namespaces are.
            destroy::remove_namespaces(&folder)
                .map_err(|why| format!("{} is not deployed: {why}", launch.name))?;
            None
        }
        State::Absent => None,
    };
    let answer = |outcome, changes: &[Change], description: &Description| {
        answer(&Deployed { outcome, changes, fabric: description })
    };
    if let Some(Running { launch: old, description, changes }) = &running {
        if changes.is_empty() && !arguments.foreground {
            return Ok(answer("unchanged", changes, description));
        }
        if !arguments.replace {
            return Ok(refuse_changes(&folder, changes));
        }
        // The old fabric writes to its own folder.
        if let Some(results) = launch.results.as_ref()
            && !old.results.as_ref().is_some_and(|old| is_same(old, results))
        {
            let checked = emulation::live::check_results(&scenario, results);
            checked.map_err(|error| Complaint::from_error(&error))?;
        }
        if interrupt::times() > 0 {
            return Ok(interrupted(&format!("{} is up as it was", launch.name)));
        }
        match destroy::take_down(&folder, is_impatient) {
            Err(_) if is_impatient() => return Ok(interrupted(&both_gone(&launch.name, WILL_BE))),
            taken => {
                if let Some(why) = taken?.failed {
                    super::warn(destroy::ended_badly(&launch.name, &why));
                }
            }
        }
    }
    let changes = running.as_ref().map_or(&[][..], |running| &running.changes);
    let outcome = if running.is_some() { "replaced" } else { "deployed" };
    let name = &launch.name;
    if arguments.foreground {
        if interrupt::times() > 0 && running.is_some() {
            return Ok(interrupted(&format!("{name} is down, and nothing is deployed instead")));
        }
        let up = |description: &Description| {
            // A closed standard output is not an error.
            answer(outcome, changes, description);
        };
        // The failed fabric may have been up for hours, so the fabric that it replaced stays down.
        return Ok(stay(scenario, &launch, arguments, up).map(|()| Exit::Success)?);
    }
    let failure = match in_background(&launch, 0) {
        Ok(description) => return Ok(answer(outcome, changes, &description)),
        Err(failure) => failure,
    };
    let Some(Running { launch: old, .. }) = running else {
        return match failure {
            Failure::Failed(why) => Err(why),
            Failure::Interrupted => Ok(interrupted(&format!("nothing of {name} is left"))),
            Failure::Left => Ok(interrupted(&format!(
                "{name} is being taken down (`xoff list` shows it until then)"
            ))),
        };
    };
    bring_back(old, failure)
}

/// Throughput of programs over a fabric in real time on two processors, in bit/s, as docs/live.md has it.
const CARRIED: u64 = 500_000_000;

/// Returns a warning if links are faster than this machine can carry at the fabric's dilation.
fn too_fast(scenario: &Scenario, dilation: Dilation) -> Option<String> {
    // With `auto` the machine itself is measured.
    let Dilation::Exactly(dilation) = dilation else { return None };
    let fabric = scenario.fabric();
    let wires = (0..fabric.host_count()).map(|host| fabric.host(HostId(host)).ports[0]);
    let rate = wires.map(|wire| fabric.wire(wire).rate).max()?;
    (rate.0 / u64::from(dilation.get()) > CARRIED).then(|| {
        format!(
            "links of {} are faster than what programs get in real time, some {} on two processors (docs/live.md): \
             `--dilation auto` slows the fabric down until this machine is punctual",
            quantity::display(rate),
            quantity::display(BitsPerSecond(CARRIED)),
        )
    })
}

/// Returns the error for a fabric of this name that another process deploys or destroys, or whose lock it holds.
fn changing(name: &str, process: Option<u32>) -> Complaint {
    let by = process.map(|process| format!(" by process {process}")).unwrap_or_default();
    Complaint::new(format!("{name} is being deployed or destroyed{by}")).with_help(
        "wait until `xoff list` shows what has come of that, or give this one another name (--name)",
    )
}

/// Returns true if the user interrupted again, and does not wait for the cleanup either.
fn is_impatient() -> bool {
    interrupt::times() > 1
}

/// Prints the outcome of an interrupt.
fn interrupted(outcome: &str) -> Exit {
    json_errors::error(format!("interrupted; {outcome}"), Exit::Interrupted)
}

/// Deploys the replaced fabric again, because the new fabric failed.
fn bring_back(old: Launch, failure: Failure) -> Result<Exit, Complaint> {
    let name = old.name.clone();
    let why = match failure {
        Failure::Failed(why) => Some(why),
        Failure::Interrupted if !is_impatient() => {
            super::warn(format!(
                "interrupted; {name} is deployed again as it was, unless there is another interrupt"
            ));
            None
        }
        Failure::Interrupted => return Ok(interrupted(&both_gone(&name, ARE))),
        Failure::Left => return Ok(interrupted(&both_gone(&name, WILL_BE))),
    };
    match (deploy_again(old), why) {
        (Again::Up(outcome) | Again::Interrupted(outcome), None) => Ok(interrupted(&outcome)),
        (Again::Interrupted(outcome), Some(why)) => {
            let why = why.about(&format!("interrupted; {outcome}"));
            Ok(json_errors::error(why, Exit::Interrupted))
        }
        (Again::Up(outcome) | Again::Failed(outcome), Some(why)) => Err(why.with_lines([outcome])),
        (Again::Failed(outcome), None) => Err(format!("interrupted; {outcome}").into()),
    }
}

/// Returns true if both paths lead to the same folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Refuses a deployment whose fabric differs from the live fabric of its name, and prints the differences.
fn refuse_changes(folder: &LiveFolder, changes: &[Change]) -> Exit {
    let name = folder.name();
    let title = if changes.is_empty() {
        format!("there is a live fabric {name}, and it is the same")
    } else {
        format!("there is a live fabric {name}, and this one is another:")
    };
    let advice = format!(
        "`--replace` takes it down and deploys this one, `--name` gives this one another name, and `xoff destroy {name}` \
         takes it down"
    );
    let lines = changes.iter().map(|change| format!("  {change}")).chain([advice]);
    let complaint = Complaint::new(title).with_lines(lines).with("changes", json!(changes));
    json_errors::error(complaint, Exit::BadInput)
}

/// Prints the outcome of the deployment.
fn answer(deployed: &Deployed<'_>) -> Exit {
    let text = match deployed.outcome {
        "unchanged" => format!("{} is up, and nothing has changed", deployed.fabric.name),
        _ => welcome(deployed),
    };
    super::answer(&text, &json!(deployed), Exit::Success)
}

/// Suggests commands for a fabric that has just come up.
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    enum CommandLine {
        Deploy(Arguments),
    }

    #[test]
    fn links_that_no_machine_carries_in_real_time_get_a_warning() {
        let text = "[topology]\nkind = \"star\"\nhosts = 2\n\
                    host_link = { rate = \"25Gbps\", delay = \"1us\" }\n";
        let warning = |rate: &str, dilation: Dilation| {
            let text = text.replace("25Gbps", rate);
            let scenario = Scenario::parse_live(&text, Path::new("a.toml"), &[]).unwrap();
            too_fast(&scenario, dilation)
        };
        let exactly = |dilation: &str| dilation.parse().map(Dilation::Exactly).unwrap();
        let warned = warning("25Gbps", exactly("1")).expect("it is too fast");
        assert!(warned.contains("25Gbps") && warned.contains("500Mbps"), "{warned}");
        assert_eq!(warning("25Gbps", exactly("50")), None);
        assert_eq!(warning("25Gbps", Dilation::Auto), None);
        assert_eq!(warning("100Mbps", exactly("1")), None);
        assert_eq!(warning("500Mbps", exactly("1")), None);
    }

    #[test]
    fn the_document_has_the_rate_above_which_deployments_warn() {
        let document = include_str!("../../../docs/live.md");
        let document = document.split_whitespace().collect::<Vec<_>>().join(" ");
        let rate = format!("{} Mbit/s", CARRIED / 1_000_000);
        let words =
            format!("Programs get some {rate} in real time over a fabric on two processors");
        assert!(document.contains(&words), "{words}");
        assert!(document.contains(&format!("link is faster than {rate} times the dilation")));
    }

    /// The example unit starts a command that exists.
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
