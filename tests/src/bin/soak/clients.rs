//! Commands under way.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;
use tests::command::terminal;

use crate::fabrics::Fabrics;
use crate::processes::{self, Times};
use crate::steps::{End, Place, Plan, Step};
use crate::tally::Tally;
use crate::{TICK, now, xoff};

/// Max duration of a command that ends by itself.
const MAX_LENGTH: Duration = Duration::from_mins(1);
/// Time for a command to end after a signal or a hang-up, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time over which a command is looked at.
const WINDOW: Duration = Duration::from_secs(5);
/// A command that wants a processor for more than this share of the window does not wait for anything.
const FULL: f64 = 0.8;
/// Least share of the window that a command which spins has run. Others only wait for their turn.
const MIN_RUN: f64 = 0.08;

/// See the module.
pub struct Clients {
    all: Vec<Client>,
    /// Files for the commands' standard error.
    folder: TempDir,
}

/// Request to a command to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Signal(libc::c_int),
    HangUp,
}

struct Client {
    step: u64,
    plan: Plan,
    child: Child,
    begun: Instant,
    /// Index of its fabric, and the number of earlier strikes at that fabric.
    fabric: (usize, u64),
    /// The other end of its pipe or terminal.
    other_end: Option<File>,
    /// `None` until its end has been requested.
    asked: Option<Asked>,
    /// Instant by which it must have ended.
    deadline: Instant,
    /// Time of the last look, and its processor time then.
    seen: (Instant, Times),
}

impl Clients {
    /// None yet.
    pub fn new() -> Result<Self> {
        Ok(Self { all: Vec::new(), folder: tempfile::tempdir()? })
    }

    /// Starts a command.
    pub fn start(&mut self, step: &Step, plan: &Plan, fabrics: &Fabrics) -> Result<()> {
        let mut command = xoff(plan.arguments.iter().map(String::as_str));
        let errors = File::create(self.folder.path().join(step.number.to_string()))?;
        command.stdout(Stdio::null()).stderr(errors);
        let mut slave = None;
        let mut other_end = None;
        match plan.place {
            Place::Nowhere => {}
            Place::Pipe { .. } => {
                let (reader, writer) = std::io::pipe()?;
                command.stdout(writer);
                other_end = Some(File::from(std::os::fd::OwnedFd::from(reader)));
            }
            Place::Terminal { .. } => {
                let (master, of_command) = terminal();
                command.stdin(of_command.try_clone()?).stdout(of_command.try_clone()?);
                (slave, other_end) = (Some(of_command), Some(master));
            }
        }
        let child = command.spawn().with_context(|| format!("{plan:?}"))?;
        drop((command, slave));
        if let Some(other_end) = &other_end {
            // SAFETY: the descriptor is open.
            unsafe { libc::fcntl(other_end.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        }
        let begun = now();
        let plan = Plan { arguments: plan.arguments.clone(), ..*plan };
        let deadline = begun + MAX_LENGTH;
        let seen = (begun, Times::default());
        let fabric = (step.fabric, fabrics.strikes(step.fabric));
        let step = step.number;
        self.all.push(Client {
            step,
            plan,
            child,
            begun,
            fabric,
            other_end,
            asked: None,
            deadline,
            seen,
        });
        Ok(())
    }

    /// Looks at all commands, and ends those that are due.
    pub fn tick(&mut self, fabrics: &Fabrics, tally: &mut Tally) {
        let now = now();
        for client in &mut self.all {
            client.read();
            if client.asked.is_none() && client.is_due(now) {
                client.request_end(now);
            }
            client.look(now, tally);
        }
        let folder = &self.folder;
        self.all.retain_mut(|client| {
            let status = match client.child.try_wait() {
                Ok(Some(status)) => status,
                _ if now < client.deadline => return true,
                _ => {
                    tally.fail(client.step, format!("it does not end: {}", client.described()));
                    let _ = client.child.kill();
                    let _ = client.child.wait();
                    return false;
                }
            };
            let file = folder.path().join(client.step.to_string());
            let said = fs::read(&file).unwrap_or_default();
            let _ = fs::remove_file(file);
            let is_struck = fabrics.strikes(client.fabric.0) != client.fabric.1;
            client.judge(status, &String::from_utf8_lossy(&said), is_struck, tally);
            false
        });
    }

    /// Ends all, and waits until they have.
    pub fn end(&mut self, fabrics: &Fabrics, tally: &mut Tally) {
        let begun = now();
        while !self.all.is_empty() {
            // What ends by itself has its time.
            for client in &mut self.all {
                if client.plan.end != End::Itself && client.asked.is_none() {
                    client.request_end(begun);
                }
            }
            thread::sleep(TICK);
            self.tick(fabrics, tally);
        }
    }
}

impl Client {
    fn is_due(&self, now: Instant) -> bool {
        match self.plan.end {
            End::Itself => false,
            End::Signal(_, after) | End::HangUp(after) => now >= self.begun + after,
        }
    }

    fn request_end(&mut self, now: Instant) {
        self.deadline = now + PATIENCE;
        self.asked = Some(match self.plan.end {
            End::Signal(signal, _) => {
                // SAFETY: the child has not been waited for, so its number is its own.
                unsafe { libc::kill(self.child.id().cast_signed(), signal) };
                Asked::Signal(signal)
            }
            End::HangUp(_) | End::Itself => {
                self.other_end = None;
                Asked::HangUp
            }
        });
    }

    /// Reads the client's output, if it has a reader.
    fn read(&mut self) {
        let is_read = match self.plan.place {
            Place::Pipe { is_read } | Place::Terminal { is_read } => is_read,
            Place::Nowhere => false,
        };
        let Some(other_end) = self.other_end.as_mut().filter(|_| is_read) else { return };
        let mut part = [0; 1 << 14];
        loop {
            match other_end.read(&mut part) {
                Ok(read) if read > 0 => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }

    /// Fails the soak if it uses a whole processor instead of waiting.
    fn look(&mut self, now: Instant, tally: &mut Tally) {
        let (then, before) = self.seen;
        let span = now - then;
        // Programs of others are not looked at.
        if span < WINDOW || self.plan.label.starts_with("exec") {
            return;
        }
        let Some(times) = processes::times(self.child.id()) else { return };
        self.seen = (now, times);
        let [ran, wanted] = times.shares_since(before, span);
        tally.measure("processor of a command", ran * 100.0, "%");
        if wanted > FULL && ran > MIN_RUN {
            let share = ran * 100.0;
            let described = self.described();
            let what =
                format!("it wants a whole processor, and has {share:.0} % of it: {described}");
            tally.fail(self.step, what);
        }
    }

    fn judge(&self, status: ExitStatus, said: &str, is_struck: bool, tally: &mut Tally) {
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
        let Plan { by_itself, ended, place, .. } = &self.plan;
        let by_signal = |asked| matches!(asked, Asked::Signal(signal) if code == 128 + signal);
        let is_right = by_itself.contains(&code)
            || self.asked.is_some() && ended.contains(&code)
            // Before it has seen to it that signals do not.
            || self.asked.is_some_and(by_signal)
            // It had not yet looked at what it was started on.
            || self.asked == Some(Asked::HangUp) && matches!(place, Place::Terminal { .. }) && code == 2
            || is_struck && [0, 1, 2, 130].contains(&code)
            || code == 2 && ["too many clients", "no storm to stop"].iter().any(|it| said.contains(it));
        if !is_right {
            tally.fail(
                self.step,
                format!("exit code {code}: {}: {}", self.described(), said.trim()),
            );
        }
        if said.contains("panicked") {
            tally.fail(self.step, format!("a panic: {}: {said}", self.described()));
        }
    }

    fn described(&self) -> String {
        let Plan { arguments, place, end, .. } = &self.plan;
        format!("xoff {} ({place:?}, {end:?}, asked: {:?})", arguments.join(" "), self.asked)
    }
}
