//! The kernel stacks of all hosts: what they have sent, and what wakes whoever waits for it.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use fabric_core::wire::{ethernet, ipv4};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use netns::Tap;

/// Frames of one host that are taken in one go.
const AT_ONCE: usize = 64;

/// See the module.
pub struct Stacks {
    /// By host.
    taps: Vec<Arc<Tap>>,
    poll: Poll,
    events: Events,
    /// Hosts that may have more to send.
    ready: BTreeSet<usize>,
    /// Whether one of them has, and need not wait.
    has_more: bool,
    /// Room for the longest frame of the fabric, and a byte more.
    buffer: Vec<u8>,
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
    pub fn new(taps: Vec<Tap>, longest: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let taps: Vec<Arc<Tap>> = taps.into_iter().map(Arc::new).collect();
        for (host, tap) in taps.iter().enumerate() {
            let descriptor = tap.as_raw_fd();
            let mut source = SourceFd(&descriptor);
            poll.registry().register(&mut source, Token(host), Interest::READABLE)?;
        }
        let events = Events::with_capacity(taps.len() + 1);
        let ready = (0..taps.len()).collect();
        Ok(Self { taps, poll, events, ready, has_more: true, buffer: vec![0; longest + 1] })
    }

    /// What ends a wait from another thread; there is one.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), Token(self.taps.len()))
    }

    /// The interface of a host's stack.
    pub fn tap(&self, host: usize) -> Arc<Tap> {
        Arc::clone(&self.taps[host])
    }

    /// Waits until a program sends something, the waker is used, or the time is over.
    ///
    /// `ppoll` waits by nanoseconds, and mio by milliseconds.
    pub fn wait(&mut self, time: Duration) -> io::Result<()> {
        if !time.is_zero() && !self.has_more {
            let mut descriptor =
                libc::pollfd { fd: self.poll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
            let limit = libc::timespec { tv_sec: seconds, tv_nsec: i64::from(time.subsec_nanos()) };
            // SAFETY: one descriptor and the time outlive the call; there is no signal mask.
            unsafe { libc::ppoll(&raw mut descriptor, 1, &raw const limit, std::ptr::null()) };
            // An interrupted wait is a short one.
        }
        match self.poll.poll(&mut self.events, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let hosts = self.events.iter().map(|event| event.token().0);
        self.ready.extend(hosts.filter(|&host| host < self.taps.len()));
        Ok(())
    }

    /// Hands what programs have sent to `send`, with the host. Hosts for which `accepts` says no have to wait: until
    /// something happens in the fabric that makes room.
    pub fn take(
        &mut self,
        mut accepts: impl FnMut(usize) -> bool,
        mut send: impl FnMut(usize, Sent<'_>),
    ) {
        let ready: Vec<usize> = self.ready.iter().copied().collect();
        self.has_more = false;
        for host in ready.into_iter().filter(|&host| accepts(host)) {
            self.has_more |= self.take_from(host, &mut send);
        }
    }

    /// Whether the host may have more.
    fn take_from(&mut self, host: usize, send: &mut impl FnMut(usize, Sent<'_>)) -> bool {
        for _ in 0..AT_ONCE {
            // An interface that its user has deleted sends nothing any more.
            let Ok(Some(length)) = self.taps[host].receive(&mut self.buffer) else {
                self.ready.remove(&host);
                return false;
            };
            let bytes = &self.buffer[..length];
            let is_too_long = length == self.buffer.len();
            let frame = Sent::Frame { bytes, priority: priority(bytes) };
            send(host, if is_too_long { Sent::TooLong } else { frame });
        }
        true
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
