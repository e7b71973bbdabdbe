//! Bench of a test: its steps, its time limit, and its interrupt flag.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::read;

use super::verdict::{Step, Verdict};

/// Time between two checks of a condition that is awaited.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// Settings shared by all tests of a call.
#[derive(Debug)]
pub struct Settings<'a> {
    /// Seed of frames and scenarios.
    pub seed: u64,
    /// Time limit of a test.
    pub time_limit: Duration,
    /// True to stop between set-up and traffic.
    pub pause: bool,
    /// Folder for a bug report's material.
    pub report: Option<&'a Path>,
}

/// A running test.
pub struct Bench<'a> {
    settings: &'a Settings<'a>,
    /// Set when the test has to end.
    stop: &'a AtomicBool,
    /// Folder of the test in the report.
    folder: Option<&'a Path>,
    steps: Vec<Step>,
}

/// A test that cannot continue; its last step gives the reason.
#[derive(Debug)]
pub struct Ended;

/// Held while a test waits for a line, so that only one does at a time.
static ASKING: Mutex<()> = Mutex::new(());

impl<'a> Bench<'a> {
    /// Makes a bench without steps.
    pub fn new(settings: &'a Settings<'a>, stop: &'a AtomicBool, folder: Option<&'a Path>) -> Self {
        Self { settings, stop, folder, steps: Vec::new() }
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// Returns the flag that is set when the test has to end.
    pub fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Returns the folder for evidence, if it is collected.
    pub fn folder(&self) -> Option<&'a Path> {
        self.folder
    }

    /// Returns the steps.
    pub fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// Does a step that the test needs to continue.
    #[expect(clippy::disallowed_methods, reason = "the duration of a step is reported")]
    pub fn step<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<T, Verdict>,
    ) -> Result<T, Ended> {
        let began = Instant::now();
        let done = work();
        let took = began.elapsed();
        let (verdict, value) = match done {
            Ok(value) => (Verdict::Pass, Some(value)),
            Err(verdict) => (verdict, None),
        };
        self.steps.push(Step { name: name.to_owned(), verdict, took });
        value.ok_or(Ended)
    }

    /// Does a step; the test continues even if it fails.
    pub fn look(&mut self, name: &str, work: impl FnOnce() -> Result<(), Verdict>) {
        let _: Result<(), Ended> = self.step(name, work);
    }

    /// Adds a step that was done.
    pub fn add(&mut self, name: &str, verdict: Verdict) {
        self.steps.push(Step { name: name.to_owned(), verdict, took: Duration::ZERO });
    }

    /// Returns the limits for waiting steps.
    pub fn patience(&self) -> Patience<'a> {
        Patience { stop: self.stop, time_limit: self.settings.time_limit }
    }

    /// With `--pause`, prints the namespaces and waits for a line on standard input.
    pub fn pause(&self, test: &str, namespaces: &[String]) {
        if !self.settings.pause {
            return;
        }
        let _one_at_a_time = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        terminal::say(format_args!(
            "{test} is set up in {}; press Enter for its traffic",
            namespaces.join(" ")
        ));
        await_line(self.stop);
    }
}

/// Waits for a line on standard input, for its end, or for an interrupt.
fn await_line(stop: &AtomicBool) {
    const LOOK_MS: u8 = 50;
    let (input, mut byte) = (io::stdin(), [0; 1]);
    while !stop.load(Ordering::Relaxed) {
        let mut polled = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        if !poll(&mut polled, LOOK_MS).is_ok_and(|ready| ready > 0) {
            continue;
        }
        // Reads single bytes past the buffer of `Stdin`, so that the next test's line stays in the input.
        if read(&input, &mut byte) != Ok(1) || byte == *b"\n" {
            return;
        }
    }
}

/// Limits for waiting steps: a time for each wait, and the test's time limit.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    stop: &'a AtomicBool,
    time_limit: Duration,
}

impl Patience<'_> {
    /// Fails if the test has to end.
    pub fn go_on(self) -> Result<(), Verdict> {
        if self.stop.load(Ordering::Relaxed) {
            let limit = self.time_limit.as_secs_f64();
            let expected = format!("an end within {limit} s (--time-limit)");
            return Err(Verdict::fail(expected, "a test that goes on", "this step"));
        }
        Ok(())
    }

    /// Waits until `done`, at most for `most` and the test's time. Returns true if done.
    #[expect(clippy::disallowed_methods, reason = "the kernel is waited for on the real clock")]
    pub fn wait(self, most: Duration, mut done: impl FnMut() -> bool) -> Result<bool, Verdict> {
        let began = Instant::now();
        loop {
            if done() {
                return Ok(true);
            }
            if began.elapsed() >= most {
                return Ok(false);
            }
            self.go_on()?;
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}
