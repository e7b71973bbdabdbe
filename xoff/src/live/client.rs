//! How commands reach a live fabric.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::folder::{Description, LiveFolder, State};
use super::protocol::{Answer, Request};

/// A live fabric, and a connection to its supervisor.
#[derive(Debug)]
pub struct Client {
    name: String,
    stream: BufReader<UnixStream>,
}

/// The folder and the description of a fabric that is up; a sentence with what to do if there is none.
pub fn find(name: &str) -> Result<(LiveFolder, Description), String> {
    let folder = LiveFolder::of(name)?;
    match folder.state()? {
        State::Up(description) => Ok((folder, *description)),
        State::Absent => {
            Err(format!("there is no live fabric {name}; `xoff list` shows those that there are"))
        }
        State::Changing { .. } => {
            Err(format!("the fabric {name} is just being deployed or destroyed; try again"))
        }
        State::Abandoned => Err(format!(
            "the supervisor of {name} died; `xoff destroy {name}` removes what it has left"
        )),
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

    /// An answer that does not come within this time is an error from now on.
    pub fn set_patience(&self, patience: Duration) {
        // Refused for a time of zero only.
        let _ = self.stream.get_ref().set_read_timeout(Some(patience));
    }

    /// Asks for something.
    pub fn ask(&mut self, request: &Request) -> Result<(), String> {
        let mut line = serde_json::to_string(request).expect("a request is plain data");
        line.push('\n');
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(|error| self.lost(&error.to_string()))
    }

    /// The next answer; a refusal is an error.
    pub fn answer(&mut self) -> Result<Answer, String> {
        let mut line = String::new();
        let read = loop {
            let read = self.stream.read_line(&mut line);
            if line != "\n" {
                break read;
            }
            line.clear();
        };
        match read {
            Ok(0) => Err(self.lost("the connection was closed")),
            Err(error) => Err(self.lost(&error.to_string())),
            Ok(_) => match serde_json::from_str(&line) {
                Ok(Answer::Refused { why }) => Err(why),
                Ok(answer) => Ok(answer),
                Err(error) => Err(self.lost(&format!("it speaks another version: {error}"))),
            },
        }
    }

    /// Waits until an answer begins, for at most this long, and says whether it does. A signal ends the wait.
    pub fn await_answer(&self, patience: Duration) -> bool {
        self.has_more() || is_ready(self.stream.get_ref().as_raw_fd(), libc::POLLIN, patience)
    }

    /// Whether a part of the next answer has come in.
    pub fn has_more(&self) -> bool {
        !self.stream.buffer().is_empty()
    }

    /// Asks for what is answered once.
    pub fn ask_once(&mut self, request: &Request) -> Result<Answer, String> {
        self.ask(request)?;
        self.answer()
    }

    fn lost(&self, why: &str) -> String {
        format!("lost the supervisor of {}: {why}; `xoff list` says whether it lives", self.name)
    }
}

/// Waits until a descriptor can be read or written, or is at its end, for at most this long. A signal ends the wait.
pub fn is_ready(descriptor: RawFd, events: libc::c_short, patience: Duration) -> bool {
    let mut descriptor = libc::pollfd { fd: descriptor, events, revents: 0 };
    let millis = patience.as_millis().try_into().unwrap_or(libc::c_int::MAX);
    // SAFETY: one descriptor outlives the call.
    unsafe { libc::poll(&raw mut descriptor, 1, millis) > 0 }
}
