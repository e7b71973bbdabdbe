//! `xoff link`: wires of a live fabric, taken down and up again.

use super::Exit;
use crate::live::client::Client;
use crate::live::protocol::Request;

/// Arguments of `xoff link`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// The wire, such as "h0->leaf0", or the link, such as "h0-leaf0": both of its wires.
    wire: String,
    /// What becomes of it. A wire that is down loses every frame; routes stay as they are.
    state: State,
    /// Answers in JSON, errors too.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum State {
    /// It carries frames.
    Up,
    /// It loses them.
    Down,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let Arguments { name, wire, state, json } = arguments;
    super::json_errors::answer_in_json(*json);
    let request = Request::Link { wire: wire.clone(), up: *state == State::Up };
    let done = Client::connect(name).and_then(|mut client| client.ask_once(&request));
    match done {
        Ok(_) if *json => {
            let done = serde_json::json!({ "wire": wire, "up": *state == State::Up });
            super::print(&done.to_string(), Exit::Success)
        }
        Ok(_) => Exit::Success,
        Err(message) => super::refuse(&message),
    }
}
