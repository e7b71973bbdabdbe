//! `xoff list`: live fabrics on this machine.

use std::fmt::Write;

use serde::Serialize;

use super::Exit;
use crate::folder::{Description, LiveFolder, State};

/// Arguments of `xoff list`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Prints JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// A fabric in JSON.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    /// "up", "changing" or "abandoned".
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fabric: Option<Box<Description>>,
    /// Last message of an abandoned fabric's supervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_words: Option<String>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    super::json_errors::answer_in_json(arguments.json);
    let listed = LiveFolder::all().and_then(|folders| {
        let listed = folders.into_iter().map(|folder| {
            let name = folder.name().to_owned();
            let listed = |state, fabric, last_words| Listed { name, state, fabric, last_words };
            Ok(match folder.state()? {
                State::Absent => None,
                State::Changing { .. } => Some(listed("changing", None, None)),
                State::Abandoned => Some(listed("abandoned", None, folder.last_words())),
                State::Up(fabric) => Some(listed("up", Some(fabric), None)),
            })
        });
        listed.filter_map(Result::transpose).collect::<Result<Vec<_>, String>>()
    });
    match listed {
        Err(message) => super::refuse(message),
        Ok(listed) if arguments.json => {
            let text = serde_json::to_string_pretty(&listed).expect("a list is plain data");
            super::print(&text, Exit::Success)
        }
        Ok(listed) => super::print(&table(&listed), Exit::Success),
    }
}

fn table(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "there is no live fabric; `xoff deploy FILE` makes one".to_owned();
    }
    let width = listed.iter().map(|it| it.name.len()).max().unwrap_or(0).max(4);
    let mut text = format!("{:width$}  state      process  hosts  fabric", "name");
    for Listed { name, state, fabric, last_words } in listed {
        write!(text, "\n{name:width$}  {state:9}").expect("a String takes every write");
        match fabric {
            Some(it) => write!(
                text,
                "  {:7}  {:5}  {}, {}",
                it.process,
                it.hosts.len(),
                it.fabric,
                it.shape
            ),
            None if *state == "abandoned" => {
                let said = last_words.as_ref().map(|words| format!(", having said \"{words}\""));
                let said = said.unwrap_or_default();
                write!(
                    text,
                    "  its supervisor died{said}; `xoff destroy {name}` removes what it has left"
                )
            }
            None => write!(text, "  it is being deployed or destroyed"),
        }
        .expect("a String takes every write");
    }
    text
}
