//! The kernel stacks of all hosts: what they have sent, and what wakes whoever waits for it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use fabric_core::wire::{ethernet, ipv4};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use netns::Tap;

use super::clock::{RealClock, wall};

/// Frames of one host that are taken in one go.
pub const AT_ONCE: usize = 64;

/// No limit, for `poll`.
const FOR_EVER: libc::c_int = -1;

/// See the module.
pub struct Stacks {
    /// By host.
    taps: Vec<Arc<Tap>>,
    poll: Poll,
    /// Ends a sleep.
    timer: OwnedFd,
    events: Events,
    /// Hosts that may have more to send, in the order in which they were found.
    ready: Vec<usize>,
    /// By host: whether it is among them.
    is_ready: Box<[bool]>,
    /// Whether one of them has, and need not wait.
    has_more: bool,
    /// How it is waited.
    waiting: Waiting,
    /// Room for the longest frame of the fabric, and a byte more.
    buffer: Vec<u8>,
}

/// How it is waited for what is due next, and for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// The thread sleeps. The machine may wake it up late.
    #[default]
    Sleep,
    /// It looks again and again, and keeps a processor busy.
    Spin,
}

/// What a program has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<'a> {
    /// A frame.
    Frame {
        /// Its bytes.
        bytes: &'a [u8],
        /// By its DSCP.
        priority: u32,
    },
    /// One that is longer than any of the fabric: its user has raised the MTU.
    TooLong,
}

impl Stacks {
    /// Those behind these interfaces, by host. No frame of the fabric is longer than `longest` bytes.
    pub fn new(taps: Vec<Tap>, longest: usize, waiting: Waiting) -> io::Result<Self> {
        let poll = Poll::new()?;
        let taps: Vec<Arc<Tap>> = taps.into_iter().map(Arc::new).collect();
        for (host, tap) in taps.iter().enumerate() {
            let descriptor = tap.as_raw_fd();
            let mut source = SourceFd(&descriptor);
            poll.registry().register(&mut source, Token(host), Interest::READABLE)?;
        }
        let events = Events::with_capacity(taps.len() + 1);
        let ready = (0..taps.len()).collect();
        let is_ready = vec![true; taps.len()].into();
        let buffer = vec![0; longest + 1];
        let timer = timer()?;
        Ok(Self { taps, poll, timer, events, ready, is_ready, has_more: true, waiting, buffer })
    }

    /// What ends a wait from another thread; there is one.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), Token(self.taps.len()))
    }

    /// The interface of a host's stack.
    pub fn tap(&self, host: usize) -> Arc<Tap> {
        Arc::clone(&self.taps[host])
    }

    /// Waits until a program sends something, the waker is used, or the time is over, and tells the clock.
    pub fn wait(&mut self, time: Duration, clock: &mut RealClock) -> io::Result<()> {
        if time.is_zero() || self.has_more {
            return self.look().map(drop);
        }
        let began = wall();
        let in_full = match self.waiting {
            Waiting::Sleep => {
                let in_full = self.sleep(time)?;
                self.look()?;
                in_full
            }
            Waiting::Spin => loop {
                if self.look()? {
                    break false;
                }
                if wall().saturating_duration_since(began) >= time {
                    break true;
                }
            },
        };
        clock.slept(wall(), began, time, in_full);
        Ok(())
    }

    /// Sleeps until something is to be seen, or the time is over, which it tells.
    ///
    /// A timer ends the sleep, and not a time limit of `ppoll`, which the kernel lets end late by up to 0.1 % of it, so that it
    /// can end several at once.
    fn sleep(&self, time: Duration) -> io::Result<bool> {
        set(&self.timer, time)?;
        let readable = |descriptor: &dyn AsRawFd| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut descriptors = [readable(&self.poll), readable(&self.timer)];
        // An interrupted wait is a short one.
        // SAFETY: two descriptors outlive the call.
        let seen = unsafe { libc::poll(descriptors.as_mut_ptr(), 2, FOR_EVER) };
        Ok(seen == 1 && descriptors[1].revents != 0)
    }

    /// Looks which programs have sent something; says whether there was anything to see.
    fn look(&mut self) -> io::Result<bool> {
        match self.poll.poll(&mut self.events, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        for host in self.events.iter().map(|event| event.token().0) {
            if let Some(is_ready) = self.is_ready.get_mut(host)
                && !std::mem::replace(is_ready, true)
            {
                self.ready.push(host);
            }
        }
        Ok(!self.events.is_empty())
    }

    /// How many hosts may have something to send.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// The number of one of them.
    pub fn ready_host(&self, place: usize) -> usize {
        self.ready[place]
    }

    /// What a host sends next; nothing if that is all.
    pub fn receive(&mut self, host: usize) -> Option<Sent<'_>> {
        // An interface that its user has deleted sends nothing any more.
        let Ok(Some(length)) = self.taps[host].receive(&mut self.buffer) else {
            self.is_ready[host] = false;
            return None;
        };
        if length == self.buffer.len() {
            return Some(Sent::TooLong);
        }
        let bytes = &self.buffer[..length];
        Some(Sent::Frame { bytes, priority: priority(bytes) })
    }

    /// What is ready has been taken; `has_more`: some host may have more to send, and need not wait for anything in the
    /// fabric.
    pub fn taken(&mut self, has_more: bool) {
        self.has_more = has_more;
        let is_ready = &self.is_ready;
        self.ready.retain(|&host| is_ready[host]);
    }
}

/// A timer that can be waited for together with other descriptors.
fn timer() -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: takes no pointer.
    match unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was just opened, and has no other owner.
        timer => Ok(unsafe { OwnedFd::from_raw_fd(timer) }),
    }
}

/// Lets a timer expire in `time`, which is above zero. That it has expired before is forgotten.
fn set(timer: &OwnedFd, time: Duration) -> io::Result<()> {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let it_value = libc::timespec { tv_sec: seconds, tv_nsec: i64::from(time.subsec_nanos()) };
    let setting = libc::itimerspec { it_interval: once, it_value };
    // SAFETY: the setting outlives the call, which is to tell nothing.
    match unsafe {
        libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const setting, std::ptr::null_mut())
    } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The priority of a frame: the class selector of its DSCP, 0 of what is not IPv4.
fn priority(frame: &[u8]) -> u32 {
    let ether_type = frame.get(ethernet::ETHER_TYPE_AT..ethernet::LEN);
    if ether_type != Some(&ethernet::ETHER_TYPE_IPV4.to_be_bytes()) {
        return 0;
    }
    let service = frame.get(ethernet::LEN + ipv4::TYPE_OF_SERVICE_AT).copied().unwrap_or(0);
    u32::from(service >> 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_with_its_time_or_with_a_wake() {
        let time = Duration::from_micros(100);
        let stacks = Stacks::new(Vec::new(), 100, Waiting::Sleep).unwrap();
        let waker = stacks.waker().unwrap();
        let began = wall();
        // The second one, too, although the timer has expired.
        for sleeps in 1..=2 {
            assert!(stacks.sleep(time).unwrap());
            assert!(wall().saturating_duration_since(began) >= time * sleeps);
        }
        waker.wake().unwrap();
        assert!(!stacks.sleep(Duration::from_secs(1000)).unwrap());
    }

    #[test]
    fn a_priority_is_that_of_the_dscp() {
        let mut frame = vec![0; 34];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[15] = 24 << 2 | 2;
        assert_eq!(priority(&frame), 3);
        assert_eq!(priority(&frame[..15]), 0);
        frame[12] = 0x86;
        assert_eq!(priority(&frame), 0);
        assert_eq!(priority(&[]), 0);
    }
}
