//! How commands reach a live fabric.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use super::folder::{Description, LiveFolder, State};
use super::protocol::{Answer, Request};

/// Looks at a fabric whose supervisor has just closed a connection: for two seconds.
const LOOKS: u32 = 100;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

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
        loop {
            if let Some(answer) = self.read()? {
                return Ok(answer);
            }
        }
    }

    /// The next answer, if it begins within this time and is more than a sign of life.
    pub fn answer_within(&mut self, patience: Duration) -> Result<Option<Answer>, String> {
        if self.await_answer(patience) { self.read() } else { Ok(None) }
    }

    /// What comes next; nothing for a sign of life.
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
        let name = &self.name;
        match self.fate() {
            Fate::Died(obituary) => obituary,
            Fate::Ended => format!("the fabric {name} has ended"),
            Fate::Unknown => {
                format!("lost the supervisor of {name}: {why}; `xoff list` says whether it lives")
            }
        }
    }

    /// Why the fabric has ended, as far as its supervisor has said so.
    fn ended(&self, why: &str) -> String {
        match self.fate() {
            Fate::Died(obituary) => format!("{why}; {obituary}"),
            Fate::Ended | Fate::Unknown => why.to_owned(),
        }
    }

    /// What has become of a fabric whose supervisor no longer answers. It may need a moment to end.
    fn fate(&self) -> Fate {
        let Ok(folder) = LiveFolder::of(&self.name) else { return Fate::Unknown };
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

/// What has become of a fabric.
enum Fate {
    /// Its supervisor died, or ended by an error: a sentence.
    Died(String),
    /// It was taken down.
    Ended,
    /// Neither, yet.
    Unknown,
}

/// Waits until a descriptor can be read or written, or is at its end, for at most this long. A signal ends the wait.
pub fn is_ready(descriptor: RawFd, events: libc::c_short, patience: Duration) -> bool {
    let mut descriptor = libc::pollfd { fd: descriptor, events, revents: 0 };
    let millis = patience.as_millis().try_into().unwrap_or(libc::c_int::MAX);
    // SAFETY: one descriptor outlives the call.
    unsafe { libc::poll(&raw mut descriptor, 1, millis) > 0 }
}

/// Whether anyone reads what is written to a descriptor, as far as one can know before writing.
pub fn is_read(descriptor: RawFd) -> bool {
    let mut descriptor = libc::pollfd { fd: descriptor, events: 0, revents: 0 };
    // SAFETY: one descriptor outlives the call, which does not wait.
    unsafe { libc::poll(&raw mut descriptor, 1, 0) };
    descriptor.revents & libc::POLLERR == 0
}
