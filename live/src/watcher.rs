//! Who looks at a live fabric again and again, until it ends.

use std::time::Duration;

use emulation::live::view::View;

use super::client::{self, Client};
use super::folder::{Description, LiveFolder, State};
use super::protocol::{Answer, Request};

/// A supervisor that has not answered for so long is late.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Clone, Debug)]
pub struct Watcher {
    description: Description,
}

/// Why there is nothing to be seen: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The fabric is no longer there.
    Ended(String),
    /// Its supervisor does not answer; it may when asked again.
    Late(String),
}

impl Watcher {
    /// Of a fabric that is up.
    pub fn of(name: &str) -> Result<Self, String> {
        client::find(name).map(|(_, description)| Self { description })
    }

    /// What does not change of the fabric.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// How the fabric is now. Each look has a connection of its own, so that none stays open while nobody looks.
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

    /// A sentence, if the fabric is no longer there.
    pub fn ended(&self) -> Option<String> {
        let Description { name, process, .. } = &self.description;
        let folder = match LiveFolder::of(name) {
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
