//! `xoff storm`: a host of a live fabric whose NIC pauses its switch without end.

use scenario::Refusal;
use scenario::whole_number::between;
use serde_json::json;
use units::Picos;

use super::Exit;
use crate::client::Client;
use crate::protocol::{Answer, Request};

/// Arguments of `xoff storm`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// The host.
    host: String,
    /// The lossless priorities that it pauses. Default: all of them.
    #[arg(long, value_delimiter = ',', value_parser = between(0u8, 7), allow_hyphen_values = true)]
    priority: Vec<u8>,
    /// How long, of emulated time, such as 100ms. Default: until `--stop`.
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    span: Option<Picos>,
    /// Ends a storm, with a RESUME.
    #[arg(long, conflicts_with = "span")]
    stop: bool,
    /// Answers in JSON, errors too.
    #[arg(long)]
    json: bool,
}

/// A time with its unit, above zero.
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
    let (host, priorities) = (host.clone(), priority.clone());
    let request = if *stop {
        Request::EndStorm { host, priorities }
    } else {
        Request::Storm { host, priorities, span_ps: span.map(|span| span.0) }
    };
    let done = Client::connect(name).and_then(|mut client| client.ask_once(&request));
    match done {
        Ok(Answer::Storm { priorities }) => {
            let json = json!({ "host": arguments.host, "priorities": priorities, "ended": stop });
            super::answer(&outcome(arguments, &priorities), &json, Exit::Success)
        }
        Ok(_) => super::refuse("the supervisor answered something else; is it of another version?"),
        Err(message) => super::refuse(message),
    }
}

/// What has come of it.
fn outcome(arguments: &Arguments, priorities: &[u8]) -> String {
    let Arguments { name, host, span, stop, .. } = arguments;
    let numbers: Vec<String> = priorities.iter().map(u8::to_string).collect();
    let noun = if priorities.len() == 1 { "priority" } else { "priorities" };
    let what = format!("{noun} {}", numbers.join(", "));
    match span {
        _ if *stop => format!("{host} no longer pauses {what}"),
        Some(span) => {
            format!("{host} pauses {what} for {}", scenario::quantity::display(*span))
        }
        None => format!("{host} pauses {what} until `xoff storm {name} {host} --stop`"),
    }
}
