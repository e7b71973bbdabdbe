//! Waits of a process for descriptors, signals and instants.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use crate::Error;

/// Min span for a sleep. Shorter waits poll, because a process that sleeps wakes up too late.
pub const SPIN: Duration = Duration::from_micros(30);
/// Signals that end a node.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Waits for events. While it exists, SIGUSR1 and signals that end the process only wake the process.
#[derive(Debug)]
pub struct Waiter {
    signals: OwnedFd,
    polled: Vec<libc::pollfd>,
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
        // SAFETY: an integer set, for which zero is a value.
        let mut set: libc::sigset_t = unsafe { mem::zeroed() };
        // SAFETY: `set` is a set of signals, which the calls fill in and read.
        let signals = unsafe {
            libc::sigemptyset(&raw mut set);
            for signal in ENDING.into_iter().chain([libc::SIGUSR1]) {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if signals < 0 {
            return Err(io::Error::last_os_error());
        }
        // Without this, the kernel may extend a sleep by 50 us.
        // SAFETY: it takes an integer.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
        // SAFETY: the descriptor was just opened and has no other owner.
        let signals = unsafe { OwnedFd::from_raw_fd(signals) };
        Ok(Self { signals, polled: Vec::new() })
    }

    /// Waits until one of `descriptors` is readable, a signal arrives or the span is over.
    pub fn wait(
        &mut self,
        descriptors: impl IntoIterator<Item = RawFd>,
        span: Duration,
    ) -> io::Result<Signals> {
        self.wait_for(descriptors.into_iter().map(|fd| (fd, libc::POLLIN)), span)
    }

    /// Waits until a descriptor is writable, a signal arrives or the span is over.
    pub fn wait_to_write(&mut self, descriptor: RawFd, span: Duration) -> io::Result<Signals> {
        self.wait_for([(descriptor, libc::POLLOUT)], span)
    }

    fn wait_for(
        &mut self,
        descriptors: impl IntoIterator<Item = (RawFd, libc::c_short)>,
        span: Duration,
    ) -> io::Result<Signals> {
        self.polled.clear();
        let all = [(self.signals.as_raw_fd(), libc::POLLIN)].into_iter().chain(descriptors);
        self.polled.extend(all.map(|(fd, events)| libc::pollfd { fd, events, revents: 0 }));
        let span = libc::timespec {
            tv_sec: span.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: span.subsec_nanos().into(),
        };
        let count = self.polled.len() as libc::nfds_t;
        // SAFETY: the array has `count` entries; span and array outlive the call.
        let ready =
            unsafe { libc::ppoll(self.polled.as_mut_ptr(), count, &raw const span, ptr::null()) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted {
                Ok(Signals::default())
            } else {
                Err(error)
            };
        }
        Ok(self.taken())
    }

    /// Takes the signals that have arrived.
    pub fn taken(&self) -> Signals {
        let mut signals = Signals::default();
        loop {
            // SAFETY: a struct of integers, for which zero is a value.
            let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
            let size = size_of_val(&info);
            let target = (&raw mut info).cast();
            // SAFETY: `info` has `size` bytes.
            let read = unsafe { libc::read(self.signals.as_raw_fd(), target, size) };
            if usize::try_from(read).ok() != Some(size) {
                return signals;
            }
            if info.ssi_signo == libc::SIGUSR1.cast_unsigned() {
                signals.report = true;
            } else {
                signals.end = true;
            }
        }
    }
}
