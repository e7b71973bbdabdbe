//! Repeated views of a live fabric, until it ends.

use std::time::Duration;

use emulation::live::view::View;

use super::client::{self, Client};
use super::folder::{Description, LiveFolder, State};
use super::protocol::{Answer, Request};

/// Time after which a supervisor that has not answered is late.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Clone, Debug)]
pub struct Watcher {
    description: Description,
}

/// Reason why there is no view, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The fabric has ended.
    Ended(String),
    /// The supervisor does not answer in time; a later request may succeed.
    Late(String),
}

impl Watcher {
    /// Watches a fabric that is up.
    pub fn new(name: &str) -> Result<Self, String> {
        client::find(name).map(|(_, description)| Self { description })
    }

    /// Returns the constant properties of the fabric.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the current state of the fabric. Each view uses a new connection, so that none stays open between views.
    pub fn look(&self) -> Result<Box<View>, Missed> {
        if let Some(why) = self.ended() {
            return Err(Missed::Ended(why));
        }
        let answer = Client::connect(&self.description.name).and_then(|mut client| {
            client.set_patience(PATIENCE);
            client.ask_once(&Request::Look {})
        });
        match answer {
            Ok(Answer::View(view)) => Ok(view),
            Ok(_) => Err(Missed::Ended("the supervisor is of another version of xoff".to_owned())),
            Err(why) => Err(self.ended().map_or(Missed::Late(why), Missed::Ended)),
        }
    }

    /// Returns a sentence if the fabric has ended.
    pub fn ended(&self) -> Option<String> {
        let Description { name, process, .. } = &self.description;
        let folder = match LiveFolder::new(name) {
            Ok(folder) => folder,
            Err(why) => return Some(why),
        };
        Some(match folder.state() {
            Ok(State::Up(description)) if description.process == *process => return None,
            Ok(State::Up(_)) => format!("the fabric {name} was destroyed and deployed again"),
            Ok(State::Absent | State::Changing { .. }) => format!("the fabric {name} has ended"),
            Ok(State::Abandoned) => folder.obituary(),
            Err(why) => why,
        })
    }
}
