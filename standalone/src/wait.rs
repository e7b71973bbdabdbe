//! Waits of a process for descriptors, signals and instants.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

use crate::Error;

/// Min span for a sleep. Shorter waits poll, because a process that sleeps wakes up too late.
pub const SPIN: Duration = Duration::from_micros(30);
/// Signals that end a node, and the one for its counters.
const TAKEN: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1];

/// Waits for events. While it exists, SIGUSR1 and signals that end the process only wake the process.
#[derive(Debug)]
pub struct Waiter {
    signals: SignalFd,
    /// Empty between waits; a field so that its memory is reused.
    polled: Vec<PollFd<'static>>,
}

/// Signals that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// True if the process is to end.
    pub end: bool,
    /// True if the process is to report its counters: SIGUSR1.
    pub report: bool,
}

impl Signals {
    /// Returns an error if the process is to end.
    pub const fn or_end(self) -> Result<(), Error> {
        if self.end { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl Waiter {
    /// Blocks the process's signals and receives them. Call it before the process has another thread.
    pub fn new() -> io::Result<Self> {
        let taken: SigSet = TAKEN.into_iter().collect();
        taken.thread_block()?;
        let signals = SignalFd::with_flags(&taken, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        // Without this, the kernel may extend a sleep by 50 us.
        let _ = set_timerslack(1);
        Ok(Self { signals, polled: Vec::new() })
    }

    /// Waits until one of `descriptors` is readable, a signal arrives or the span is over.
    pub fn wait<'a>(
        &mut self,
        descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
        span: Duration,
    ) -> io::Result<Signals> {
        self.wait_for(descriptors, PollFlags::POLLIN, span)
    }

    /// Waits until a descriptor is writable, a signal arrives or the span is over.
    pub fn wait_to_write(
        &mut self,
        descriptor: BorrowedFd<'_>,
        span: Duration,
    ) -> io::Result<Signals> {
        self.wait_for([descriptor], PollFlags::POLLOUT, span)
    }

    fn wait_for<'a>(
        &mut self,
        descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
        events: PollFlags,
        span: Duration,
    ) -> io::Result<Signals> {
        let mut polled: Vec<PollFd<'_>> = std::mem::take(&mut self.polled);
        polled.push(PollFd::new(self.signals.as_fd(), PollFlags::POLLIN));
        polled.extend(descriptors.into_iter().map(|it| PollFd::new(it, events)));
        let woken = ppoll(&mut polled, Some(TimeSpec::from_duration(span)), None);
        polled.clear();
        // Collecting an empty vector into one of another lifetime keeps its memory.
        self.polled = polled.into_iter().map(|_| unreachable!("it is empty")).collect();
        match woken {
            Ok(_) => Ok(self.taken()),
            Err(Errno::EINTR) => Ok(Signals::default()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the signals that have arrived.
    pub fn taken(&self) -> Signals {
        let mut signals = Signals::default();
        while let Ok(Some(taken)) = self.signals.read_signal() {
            if taken.ssi_signo == (Signal::SIGUSR1 as i32).cast_unsigned() {
                signals.report = true;
            } else {
                signals.end = true;
            }
        }
        signals
    }
}
