//! Kernel stacks of all hosts: the frames that they send, and the waits for these frames.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use fabric_core::wire::{ethernet, ipv4};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use netns::Tap;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::timerfd::{self, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::clock::{RealClock, wall};

/// Max number of frames taken from a host at once.
pub const AT_ONCE: usize = 64;

/// See the module.
pub struct Stacks {
    /// Interfaces of the stacks, by host.
    taps: Vec<Arc<Tap>>,
    poll: Poll,
    /// Timer that ends a sleep.
    timer: TimerFd,
    events: Events,
    /// Hosts that may have frames to send, in the order in which they were found.
    ready: Vec<usize>,
    /// True for hosts in `ready`, by host.
    is_ready: Box<[bool]>,
    /// True if a host in `ready` has more frames and need not wait.
    has_more: bool,
    /// Method of waiting.
    waiting: Waiting,
    /// Buffer for the longest frame of the fabric, and one more byte.
    buffer: Vec<u8>,
}

/// Method of waiting for the next due event and for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// The thread sleeps. The machine may wake it up late.
    #[default]
    Sleep,
    /// The thread polls without sleeping and keeps a processor busy.
    Spin,
}

/// A frame sent by a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<'a> {
    /// A frame of valid length.
    Frame {
        /// Its bytes.
        bytes: &'a [u8],
        /// The frame's priority, from its DSCP.
        priority: u32,
    },
    /// A frame longer than the max of the fabric: the user has raised the MTU.
    TooLong,
}

impl Stacks {
    /// The stacks behind these interfaces, by host. No frame of the fabric is longer than `longest` bytes.
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
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(timerfd::ClockId::CLOCK_MONOTONIC, flags)?;
        Ok(Self { taps, poll, timer, events, ready, is_ready, has_more: true, waiting, buffer })
    }

    /// The waker, which ends a wait from another thread. Call it once.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), Token(self.taps.len()))
    }

    /// The interface of a host's stack.
    pub fn tap(&self, host: usize) -> Arc<Tap> {
        Arc::clone(&self.taps[host])
    }

    /// Waits until a program sends a frame, the waker wakes the thread, or the time is over. Records the sleep in
    /// the clock.
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

    /// Sleeps until a descriptor is readable or the time is over. Returns true if the time is over.
    ///
    /// A timer ends the sleep instead of the timeout of `ppoll`: the kernel may end that up to 0.1 % late, in order
    /// to end several at once.
    fn sleep(&self, time: Duration) -> io::Result<bool> {
        self.timer.set(Expiration::OneShot(time.into()), TimerSetTimeFlags::empty())?;
        let readable = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut descriptors =
            [readable(self.poll.registry().as_fd()), readable(self.timer.as_fd())];
        // An interrupted wait ends early.
        let seen = poll(&mut descriptors, PollTimeout::NONE);
        Ok(seen == Ok(1) && descriptors[1].any() == Some(true))
    }

    /// Polls for programs that have sent frames. Returns true if there were events.
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

    /// Number of hosts in `ready`.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Number of the host at an index of `ready`.
    pub fn ready_host(&self, place: usize) -> usize {
        self.ready[place]
    }

    /// The next frame from a host; `None` after the last one.
    pub fn receive(&mut self, host: usize) -> Option<Sent<'_>> {
        // An interface that its user has deleted sends nothing.
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

    /// Removes hosts without more frames from `ready`. `has_more` is true if some host may have more frames and
    /// need not wait for an event in the fabric.
    pub fn taken(&mut self, has_more: bool) {
        self.has_more = has_more;
        let is_ready = &self.is_ready;
        self.ready.retain(|&host| is_ready[host]);
    }
}

/// Priority of a frame: the class selector of its DSCP; 0 if the frame is not IPv4.
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
        // The second sleep is in full, too, although the timer has expired before.
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
