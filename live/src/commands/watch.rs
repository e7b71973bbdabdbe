//! `xoff watch`: the events of a live fabric, one line per period.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use emulation::live::view::View;
use results::span;
use scenario::Refusal;
use scenario::whole_number::at_least;
use units::{Nanos, Picos};

use super::{Exit, json_errors, leave};
use crate::client;
use crate::glance::Glance;
use crate::rates::{bits_per_second, bytes};
use crate::watcher::{Missed, Watcher};

/// Min period. Each view interrupts the engine for a moment, and a large fabric's answer takes noticeable processor
/// time.
const MIN_PERIOD: Duration = Duration::from_millis(50);
const MAX_PERIOD: Duration = Duration::from_hours(1);
/// Time after which a supervisor that does not answer is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two checks for an interrupt.
const MOMENT: Duration = Duration::from_millis(100);

/// Arguments of `xoff watch`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    #[command(flatten)]
    period: Period,
    /// Ends after N lines.
    #[arg(short = 'n', long, value_name = "N", value_parser = at_least(1u64), allow_hyphen_values = true)]
    count: Option<u64>,
    /// Prints one line of JSON per period, with all ports, switches and hosts.
    #[arg(long)]
    json: bool,
}

/// Period of a watched fabric's output.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Period {
    /// Wall-clock time between updates, such as 500ms or 10s.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = period, allow_hyphen_values = true)]
    pub every: Duration,
}

/// Parses a time with its unit.
fn period(text: &str) -> Result<Duration, Refusal> {
    let Picos(picos) = scenario::quantity::parse::<Picos>(text)?;
    let period = Duration::from_nanos(picos / 1000);
    if (MIN_PERIOD..=MAX_PERIOD).contains(&period) {
        return Ok(period);
    }
    Err(Refusal::new(
        format!("{text} is too short or too long"),
        "write a period from 50ms to 3600s",
    ))
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    json_errors::answer_in_json(arguments.json);
    let interrupted = leave::watch(Exit::Success, false);
    match watch(arguments, interrupted) {
        Ok(exit) => exit,
        Err(message) => super::refuse(message),
    }
}

fn watch(arguments: &Arguments, interrupted: &AtomicBool) -> Result<Exit, String> {
    let watcher = Watcher::new(&arguments.name)?;
    let mut before: Option<Box<View>> = None;
    let mut lines = 0;
    let mut answered = now();
    let mut due = now();
    loop {
        match watcher.look() {
            Ok(view) => {
                answered = now();
                if let Some(before) = before.as_deref() {
                    if !print(&Glance::between(before, &view), arguments.json)? {
                        return Ok(Exit::Success);
                    }
                    lines += 1;
                }
                before = Some(view);
            }
            // The command ends with the fabric.
            Err(Missed::Ended(why)) => {
                json_errors::ended(&why);
                return Ok(Exit::Success);
            }
            Err(Missed::Late(why)) if now() - answered > PATIENCE => return Err(why),
            Err(Missed::Late(_)) => {}
        }
        if Some(lines) == arguments.count {
            return Ok(Exit::Success);
        }
        // Periods that have already passed are skipped.
        due = (due + arguments.period.every).max(now());
        while now() < due {
            if interrupted.load(Ordering::Relaxed) || !client::is_read(io::stdout()) {
                return Ok(Exit::Success);
            }
            std::thread::sleep((due - now()).min(MOMENT));
        }
    }
}

/// Prints a line. Returns true if it was read.
fn print(glance: &Glance, in_json: bool) -> Result<bool, String> {
    let line = if in_json {
        serde_json::to_string(glance).expect("a glance is plain data")
    } else {
        line(glance)
    };
    let mut output = io::stdout().lock();
    match writeln!(output, "{line}").and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if leave::is_of_gone_reader(&error) => Ok(false),
        Err(error) => Err(format!("cannot write to standard output: {error}")),
    }
}

/// Formats the events of a period as one line.
fn line(glance: &Glance) -> String {
    let queued: u64 = glance.ports.iter().flat_map(|port| port.queued_bytes).sum();
    let mut text = format!(
        "{:8.3} s  to hosts {:>11}  flows {} ({} done)  waiting {}",
        glance.emulated_ns as f64 / 1e9,
        bits_per_second(glance.delivered_bps()),
        glance.active_flows,
        glance.completed_flows,
        bytes(queued),
    );
    let longest = glance.holds.iter().max_by_key(|hold| hold.paused_ns);
    if let Some(hold) = longest {
        let share = u128::from(hold.paused_ns) * 100 / u128::from(glance.period_ns.max(1));
        write!(
            text,
            "  paused {}, longest {} by {} in {} for {share} %",
            glance.holds.len(),
            hold.wire,
            hold.by,
            hold.priority
        )
        .expect(WRITES);
    }
    for (reason, count) in glance.drops().into_iter().filter(|(_, count)| count.period > 0) {
        write!(text, "  {reason} {}", count.period).expect(WRITES);
    }
    let marked = glance.ecn_marked().period;
    if marked > 0 {
        write!(text, "  marked {marked}").expect(WRITES);
    }
    let fidelity = &glance.fidelity;
    let good = if fidelity.is_good { "good" } else { "NOT GOOD" };
    write!(text, "  fidelity {good} ({})", span(Nanos(fidelity.recent.p99_ns))).expect(WRITES);
    if fidelity.recently_lost_ns > 0 {
        write!(text, ", lost {}", span(Nanos(fidelity.recently_lost_ns))).expect(WRITES);
    }
    text
}

const WRITES: &str = "a String takes every write";

#[expect(clippy::disallowed_methods, reason = "when a line is due, never what is in it")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::glance::fixture;

    #[test]
    fn a_period_is_a_line() {
        let glance = Glance::between(&fixture::before(), &fixture::now());
        assert_snapshot!(line(&glance));
        let json = serde_json::to_string(&glance).unwrap();
        assert!(!json.contains('\n') && json.contains("\"out_bps\":80000000"), "{json}");
    }

    #[test]
    fn periods_have_units_and_bounds() {
        assert_eq!(period("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(period("50ms"), Ok(Duration::from_millis(50)));
        for wrong in ["1", "10us", "2h", "3601s", ""] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }
}
