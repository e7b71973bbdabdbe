//! Connections of commands to a live fabric.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::folder::{Description, LiveFolder, State};
use super::protocol::{Answer, Request};

/// Polls of a fabric whose supervisor has just closed a connection: two seconds.
const LOOKS: u32 = 100;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A live fabric with a connection to its supervisor.
#[derive(Debug)]
pub struct Client {
    name: String,
    stream: BufReader<UnixStream>,
}

/// Returns the folder and the description of a fabric that is up. The error is a sentence with advice.
pub fn find(name: &str) -> Result<(LiveFolder, Description), String> {
    let folder = LiveFolder::new(name)?;
    match folder.state()? {
        State::Up(description) => Ok((folder, *description)),
        State::Absent => {
            Err(format!("there is no live fabric {name}; `xoff list` shows those that there are"))
        }
        State::Changing { .. } => {
            Err(format!("the fabric {name} is just being deployed or destroyed; try again"))
        }
        State::Abandoned => Err(folder.obituary()),
    }
}

impl Client {
    /// Connects to a fabric that is up.
    pub fn connect(name: &str) -> Result<Self, String> {
        let (folder, _) = find(name)?;
        let stream = UnixStream::connect(folder.file("socket")).map_err(|error| {
            format!("cannot reach the supervisor of {name}: {error}; it may just be ending")
        })?;
        Ok(Self { name: name.to_owned(), stream: BufReader::new(stream) })
    }

    /// Sets the timeout of answers.
    pub fn set_patience(&self, patience: Duration) {
        // Fails only for a timeout of zero.
        let _ = self.stream.get_ref().set_read_timeout(Some(patience));
    }

    /// Sends a request.
    pub fn ask(&mut self, request: &Request) -> Result<(), String> {
        let mut line = serde_json::to_string(request).expect("a request is plain data");
        line.push('\n');
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(|error| self.lost(&error.to_string()))
    }

    /// Waits for the next answer; a refusal is an error.
    pub fn answer(&mut self) -> Result<Answer, String> {
        loop {
            if let Some(answer) = self.read()? {
                return Ok(answer);
            }
        }
    }

    /// Returns the next answer if it begins within this time and is not just a sign of life.
    pub fn answer_within(&mut self, patience: Duration) -> Result<Option<Answer>, String> {
        if self.await_answer(patience) { self.read() } else { Ok(None) }
    }

    /// Reads the next line; `None` for a sign of life.
    fn read(&mut self) -> Result<Option<Answer>, String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => Err(self.lost("the connection was closed")),
            Err(error) => Err(self.lost(&error.to_string())),
            Ok(_) if line == "\n" => Ok(None),
            Ok(_) => match serde_json::from_str(&line) {
                Ok(Answer::Refused { why, ended: true }) => Err(self.ended(&why)),
                Ok(Answer::Refused { why, ended: false }) => Err(why),
                Ok(answer) => Ok(Some(answer)),
                Err(error) => Err(self.lost(&format!("it speaks another version: {error}"))),
            },
        }
    }

    /// Waits at most `patience` for an answer to begin. Returns true if one has. A signal ends the wait.
    pub fn await_answer(&self, patience: Duration) -> bool {
        self.has_more() || is_ready(self.stream.get_ref(), PollFlags::POLLIN, patience)
    }

    /// Returns true if a part of the next answer has arrived.
    pub fn has_more(&self) -> bool {
        !self.stream.buffer().is_empty()
    }

    /// Sends a request that has a single answer.
    pub fn ask_once(&mut self, request: &Request) -> Result<Answer, String> {
        self.ask(request)?;
        self.answer()
    }

    fn lost(&self, why: &str) -> String {
        let name = &self.name;
        match self.fate() {
            Fate::Died(obituary) => obituary,
            Fate::Ended => format!("the fabric {name} has ended"),
            Fate::Unknown => {
                format!("lost the supervisor of {name}: {why}; `xoff list` says whether it lives")
            }
        }
    }

    /// Returns the reason why the fabric has ended, as far as its supervisor has logged it.
    fn ended(&self, why: &str) -> String {
        match self.fate() {
            Fate::Died(obituary) => format!("{why}; {obituary}"),
            Fate::Ended | Fate::Unknown => why.to_owned(),
        }
    }

    /// Returns the fate of a fabric whose supervisor no longer answers. The supervisor may need a moment to end.
    fn fate(&self) -> Fate {
        let Ok(folder) = LiveFolder::new(&self.name) else { return Fate::Unknown };
        for _ in 0..LOOKS {
            match folder.state() {
                Ok(State::Abandoned) => return Fate::Died(folder.obituary()),
                Ok(State::Absent) => return Fate::Ended,
                Ok(State::Up(_) | State::Changing { .. }) => thread::sleep(LOOK_INTERVAL),
                Err(_) => return Fate::Unknown,
            }
        }
        Fate::Unknown
    }
}

/// Fate of a fabric.
enum Fate {
    /// The supervisor died, or ended with an error: a sentence.
    Died(String),
    /// The fabric was taken down.
    Ended,
    /// Neither is known yet.
    Unknown,
}

/// Waits at most `patience` until a descriptor is ready for `events`, or is at its end. A signal ends the wait.
pub fn is_ready(descriptor: impl AsFd, events: PollFlags, patience: Duration) -> bool {
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    let mut polled = [PollFd::new(descriptor.as_fd(), events)];
    poll(&mut polled, patience).is_ok_and(|ready| ready > 0)
}

/// Returns true if the descriptor still has a reader, as far as this can be known before writing.
pub fn is_read(descriptor: impl AsFd) -> bool {
    let mut polled = [PollFd::new(descriptor.as_fd(), PollFlags::empty())];
    let polls = poll(&mut polled, PollTimeout::ZERO);
    polls.is_err() || !polled[0].revents().is_some_and(|it| it.contains(PollFlags::POLLERR))
}
