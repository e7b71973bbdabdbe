//! The start of a supervisor in the background, and the wait until its fabric is up.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::poll::PollFlags;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use terminal::Complaint;

use super::SUPERVISE;
use super::supervise::READY;
use crate::client;
use crate::commands::interrupt;
use crate::folder::Description;

/// Time between two checks for an interrupt.
const MOMENT: Duration = Duration::from_millis(50);

/// A fabric for a supervisor to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub name: String,
    /// The resolved scenario.
    pub toml: String,
    /// Values of `--dilation` and `--threads`.
    pub dilation: String,
    pub threads: String,
    pub busy_poll: bool,
    pub real_time: bool,
    pub plays: bool,
    /// An absolute path.
    pub results: Option<PathBuf>,
}

impl Launch {
    /// Returns the fabric's options that are not part of its scenario.
    pub fn options(&self) -> [(&'static str, Option<String>); 6] {
        let results = self.results.as_ref().map(|folder| folder.display().to_string());
        [
            ("--dilation", Some(self.dilation.clone())),
            ("--threads", Some(self.threads.clone())),
            ("--busy-poll", Some(self.busy_poll.to_string())),
            ("--real-time", Some(self.real_time.to_string())),
            ("--play", Some(self.plays.to_string())),
            ("--out", results),
        ]
    }
}

/// Reason why a fabric is not up.
#[derive(Debug)]
pub(super) enum Failure {
    /// The user interrupted the wait. The fabric was taken down again.
    Interrupted,
    /// The user interrupted the wait for the fabric's end, too.
    Left,
    /// The fabric cannot be deployed.
    Failed(Complaint),
}

/// Starts a supervisor, and waits until its fabric is up. If this process has been interrupted more than `allowed`
/// times, the partial fabric is taken down again. One more interrupt skips the wait for that.
pub(super) fn in_background(launch: &Launch, allowed: u32) -> Result<Description, Failure> {
    if interrupt::times() > allowed {
        return Err(Failure::Interrupted);
    }
    let failed = |what: &str, error: io::Error| Failure::Failed(format!("{what}: {error}").into());
    let mut supervisor =
        start(launch).map_err(|error| failed("cannot start the supervisor", error))?;
    let mut said = String::new();
    let mut output = BufReader::new(supervisor.stdout.take().expect("it is piped"));
    // The supervisor writes its whole answer at once, or ends without one.
    while !client::is_ready(output.get_ref(), PollFlags::POLLIN, MOMENT) {
        if interrupt::times() > allowed {
            return Err(give_up(&mut supervisor, allowed));
        }
    }
    output.read_line(&mut said).map_err(|error| failed("lost the supervisor", error))?;
    if interrupt::times() > allowed {
        return Err(give_up(&mut supervisor, allowed));
    }
    if said.trim() == READY {
        let found = client::find(&launch.name).map_err(|why| Failure::Failed(why.into()));
        return found.map(|(_, description)| description);
    }
    let mut why = String::new();
    let mut errors = supervisor.stderr.take().expect("it is piped");
    // An error that cannot be read is replaced below.
    let _ = errors.read_to_string(&mut why);
    let status = supervisor.wait();
    if let Ok(complaint) = serde_json::from_str::<Complaint>(&said) {
        return Err(Failure::Failed(complaint.with_lines(why.trim().lines())));
    }
    let ended = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let why = why.trim();
    Err(Failure::Failed(if why.is_empty() {
        format!("the supervisor ended ({ended}) and said nothing").into()
    } else {
        Complaint::new(format!("the supervisor ended ({ended}):")).with_lines(why.lines())
    }))
}

/// Terminates a supervisor, and waits for its end unless the user interrupts.
fn give_up(supervisor: &mut Child, allowed: u32) -> Failure {
    // The child was not waited for, so no other process has its number.
    let _ = kill(Pid::from_raw(supervisor.id().cast_signed()), Signal::SIGTERM);
    // An error means that the child has already ended.
    while let Ok(None) = supervisor.try_wait() {
        if interrupt::times() > allowed + 1 {
            return Failure::Left;
        }
        thread::sleep(MOMENT);
    }
    Failure::Interrupted
}

/// Starts the supervisor in the background, as the leader of a new session.
fn start(launch: &Launch) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("xoff").args([SUPERVISE, &launch.name]);
    command.args(["--dilation", &launch.dilation, "--threads", &launch.threads]);
    let switches = [
        (launch.plays, "--play"),
        (launch.busy_poll, "--busy-poll"),
        (launch.real_time, "--real-time"),
    ];
    command.args(switches.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, option)| option));
    if let Some(folder) = &launch.results {
        command.arg("--out").arg(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The supervisor must not keep the user's current folder in use; the scenario names files by absolute paths.
    command.current_dir("/");
    linux::process::lead_session(&mut command);
    let mut supervisor = command.spawn()?;
    let mut input = supervisor.stdin.take().expect("it is piped");
    input.write_all(launch.toml.as_bytes())?;
    Ok(supervisor)
}
