//! `xoff inspect`: what is a scenario's fabric like?

use std::path::PathBuf;

use super::Exit;
use crate::inspect;

/// Arguments of `xoff inspect`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario, or the name of a live fabric.
    file: PathBuf,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Prints JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    super::json_errors::answer_in_json(arguments.json);
    #[cfg(feature = "kernel")]
    match super::live_fabric(&arguments.file) {
        Ok(None) => {}
        Ok(Some(folder)) => return look(folder.name(), arguments.json),
        Err(exit) => return exit,
    }
    match super::load_or_find(&arguments.file, &arguments.sets) {
        Ok(scenario) => {
            let report = if arguments.json { inspect::json } else { inspect::report };
            super::print(&report(&scenario), Exit::Success)
        }
        Err(exit) => exit,
    }
}

/// Shows how a live fabric is.
#[cfg(feature = "kernel")]
fn look(name: &str, json: bool) -> Exit {
    use crate::live::client::{self, Client};
    use crate::live::protocol::{Answer, Request};
    use crate::live::report;

    let seen = Client::connect(name).and_then(|mut client| {
        let (_, description) = client::find(name)?;
        Ok((description, client.ask_once(&Request::Look {})?))
    });
    match seen {
        Ok((description, Answer::View(view))) if json => {
            let seen = report::Seen { calibration: description.calibration, view };
            let text = serde_json::to_string_pretty(&seen).expect("a view is plain data");
            super::print(&text, Exit::Success)
        }
        Ok((description, Answer::View(view))) => {
            super::print(&report::render(&description, &view), Exit::Success)
        }
        Ok(_) => super::refuse("the supervisor answered something else; is it of another version?"),
        Err(message) => super::refuse(&message),
    }
}
