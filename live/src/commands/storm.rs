//! `xoff storm`: makes the NIC of a live fabric's host pause its switch continuously.

use std::collections::BTreeMap;

use emulation::live::view::StormSpan;
use scenario::Refusal;
use scenario::whole_number::between;
use serde_json::json;
use units::{Nanos, Picos};

use super::Exit;
use crate::client::Client;
use crate::protocol::{Answer, Request};

/// Arguments of `xoff storm`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// Host that sends the storm.
    host: String,
    /// Lossless priorities to pause. Default: all of them.
    #[arg(long, value_delimiter = ',', value_parser = between(0u8, 7), allow_hyphen_values = true)]
    priority: Vec<u8>,
    /// Duration in emulated time, such as 100ms. Default: until `--stop`.
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    span: Option<Picos>,
    /// Ends a storm with a RESUME.
    #[arg(long, conflicts_with = "span")]
    stop: bool,
    /// Prints JSON instead of text, including errors.
    #[arg(long)]
    json: bool,
}

/// Parses a time with its unit, above zero.
fn time(text: &str) -> Result<Picos, Refusal> {
    match scenario::quantity::parse::<Picos>(text)? {
        Picos::ZERO => {
            Err(Refusal::new("the time is zero", "write a time above zero, such as 100ms"))
        }
        time => Ok(time),
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let Arguments { name, host, priority, span, stop, json } = arguments;
    super::json_errors::answer_in_json(*json);
    let (of, priorities) = (host.clone(), priority.clone());
    let request = if *stop {
        Request::EndStorm { host: of, priorities }
    } else {
        Request::Storm { host: of, priorities, span_ps: span.map(|span| span.0) }
    };
    let done = Client::connect(name).and_then(|mut client| client.ask_once(&request));
    match done {
        Ok(Answer::Storm { priorities, spans }) => {
            let text = outcome(arguments, &priorities, &spans);
            let mut json = json!({ "host": host, "priorities": priorities, "ended": stop });
            if !*stop {
                json["storms"] = json!(spans);
            }
            super::answer(&text, &json, Exit::Success)
        }
        Ok(_) => super::refuse("the supervisor answered something else; is it of another version?"),
        Err(message) => super::refuse(message),
    }
}

/// Returns the effect of the command: one line for all priorities that are paused equally long.
fn outcome(arguments: &Arguments, priorities: &[u8], spans: &[StormSpan]) -> String {
    let Arguments { name, host, span, stop, .. } = arguments;
    let what = |priorities: &[u8]| {
        let numbers: Vec<String> = priorities.iter().map(u8::to_string).collect();
        let noun = if priorities.len() == 1 { "priority" } else { "priorities" };
        format!("{noun} {}", numbers.join(", "))
    };
    if *stop {
        return format!("{host} no longer pauses {}", what(priorities));
    }
    // Storms without an end, which are as good as the longest, come last.
    let mut alike: BTreeMap<(bool, Option<u64>), Vec<u8>> = BTreeMap::new();
    for StormSpan { priority, left_ps } in spans {
        alike.entry((left_ps.is_none(), *left_ps)).or_default().push(*priority);
    }
    let asked = span.map(|span| span.0);
    let lines = alike.into_iter().map(|((_, left), priorities)| {
        let what = what(&priorities);
        let earlier = if left == asked { "" } else { ": an earlier storm lasts longer" };
        match left {
            Some(left) if Some(left) == asked => {
                format!("{host} pauses {what} for {}", scenario::quantity::display(Picos(left)))
            }
            Some(left) => {
                format!("{host} pauses {what} for {}{earlier}", results::span(Nanos(left / 1000)))
            }
            None => {
                format!("{host} pauses {what} until `xoff storm {name} {host} --stop`{earlier}")
            }
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_storm_that_lasts_longer_is_reported() {
        let arguments = |span| Arguments {
            name: "lab".into(),
            host: "h0".into(),
            priority: Vec::new(),
            span,
            stop: false,
            json: false,
        };
        let span = |priority, left_ps| StormSpan { priority, left_ps };
        let (short, long) = (20_000_000_000, 480_000_000_000);
        let asked = arguments(Some(Picos(short)));
        let said = |spans: &[StormSpan]| outcome(&asked, &[], spans);
        assert_eq!(
            said(&[span(3, Some(short)), span(4, Some(short))]),
            "h0 pauses priorities 3, 4 for 20ms"
        );
        assert_eq!(
            said(&[span(3, None), span(4, Some(short)), span(5, Some(long))]),
            "h0 pauses priority 4 for 20ms\n\
             h0 pauses priority 5 for 480 ms: an earlier storm lasts longer\n\
             h0 pauses priority 3 until `xoff storm lab h0 --stop`: an earlier storm lasts longer"
        );
        assert_eq!(
            outcome(&arguments(None), &[], &[span(3, None)]),
            "h0 pauses priority 3 until `xoff storm lab h0 --stop`"
        );
    }
}
