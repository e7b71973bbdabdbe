//! `xoff explain`: causes of slow flows.

use std::path::PathBuf;

use scenario::whole_number::at_least;
use scenario::{Refusal, quantity};
use units::Picos;

use super::Exit;
use crate::explain::Explainer;

/// Arguments of `xoff explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff run scenario.toml --set results.explain=true --out run && xoff explain run
  xoff explain run --flow 7
  xoff explain run --pause leaf0:spine1:3@120us")]
pub struct Arguments {
    /// Folder of a run with `results.explain`.
    #[arg(value_name = "RESULTS")]
    folder: PathBuf,
    /// Breaks down the time of one flow, by its number in flows.csv. Default: the five flows that lost most time, and
    /// congestion trees.
    #[arg(long, value_name = "N", value_parser = at_least(0u32), conflicts_with = "pause")]
    flow: Option<u32>,
    /// Prints the cause and the victims of a pause that a switch sent to the neighbour at a port (number or name): the
    /// pause in effect at TIME since the run's start, or the next one.
    #[arg(long, value_name = "SWITCH:PORT:PRIORITY@TIME", value_parser = parse_pause)]
    pause: Option<PauseName>,
    /// Prints JSON, with times in picoseconds.
    #[arg(long)]
    json: bool,
}

/// Name of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PauseName {
    switch: String,
    port: String,
    priority: u8,
    at: Picos,
}

fn parse_pause(text: &str) -> Result<PauseName, Refusal> {
    let shapeless = || {
        let help = "write SWITCH:PORT:PRIORITY@TIME, such as leaf0:spine1:3@120us";
        Refusal::new("it does not name a pause", help)
    };
    let (place, at) = text.rsplit_once('@').ok_or_else(shapeless)?;
    let [switch, port, priority] = place.split(':').collect::<Vec<_>>()[..] else {
        return Err(shapeless());
    };
    let priority = priority.parse().ok().filter(|priority| *priority < 8);
    let priority = priority
        .ok_or_else(|| Refusal::new("there is no such priority", "priorities are 0 to 7"))?;
    let at = quantity::parse(at)?;
    Ok(PauseName { switch: switch.to_owned(), port: port.to_owned(), priority, at })
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    super::json_errors::answer_in_json(arguments.json);
    match answer(arguments) {
        Ok(text) => super::print(&text, Exit::Success),
        Err(error) => super::refuse(error.to_string()),
    }
}

fn answer(arguments: &Arguments) -> Result<String, crate::explain::ExplainError> {
    let explainer = Explainer::read(&arguments.folder)?;
    let json = arguments.json;
    Ok(match (&arguments.flow, &arguments.pause) {
        (Some(flow), _) => shown(&explainer.flow(*flow)?, json),
        (None, Some(PauseName { switch, port, priority, at })) => {
            shown(&explainer.pause(switch, port, *priority, *at)?, json)
        }
        (None, None) => shown(&explainer.overview(), json),
    })
}

fn shown<T: serde::Serialize + std::fmt::Display>(value: &T, json: bool) -> String {
    if json {
        serde_json::to_string_pretty(value).expect("an explanation is plain data")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_named_by_switch_port_priority_and_time() {
        let named = parse_pause("leaf0:spine1:3@120us").unwrap();
        assert_eq!((named.switch.as_str(), named.port.as_str()), ("leaf0", "spine1"));
        assert_eq!((named.priority, named.at), (3, Picos(120_000_000)));
        for wrong in
            ["leaf0", "leaf0:1:3", "leaf0:1@3us", "leaf0:1:8@3us", "leaf0:1:3@3", "a:b:c:1@1us"]
        {
            assert!(parse_pause(wrong).is_err(), "{wrong}");
        }
    }
}
