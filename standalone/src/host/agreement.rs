//! The agreement of two hosts before a transfer: queue pair numbers, first PSNs and sizes.
//!
//! The sender connects to the receiver's TCP port, which belongs to the kernel's stack, and both write one line of
//! JSON at a time: [`Offer`] and [`Answer`], then, when all is acknowledged, [`Done`] and [`Delivered`]. The
//! receiver chooses the number of a queue pair, which both ends use. If the connection ends early, the receiver
//! forgets the queue pairs.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::clock::Countdown;
use crate::wait::Waiter;

/// Default TCP port of receivers.
pub const PORT: u16 = 18_515;
/// Version of this protocol.
pub const VERSION: u32 = 1;
/// Max length of a line, bytes. Longer lines come from another program.
const MAX_LINE_LENGTH: usize = 64 * 1024;
/// Max number of flows in an offer.
pub const MAX_FLOWS: usize = 256;

/// Queue pairs of transfers: 0 and 1 are InfiniBand's own, and numbers have 24 bits.
pub const QUEUE_PAIRS: RangeInclusive<u32> = 2..=0x00ff_ffff;

/// Offer of a sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// [`VERSION`].
    pub version: u32,
    /// The sender's address in RoCEv2 packets.
    pub address: Ipv4Addr,
    /// Max payload of a packet, bytes.
    pub payload: u16,
    /// Repair of losses, named as in `host.transport.reliability`.
    pub reliability: String,
    /// The flows.
    pub flows: Vec<OfferedFlow>,
}

/// A flow of an [`Offer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedFlow {
    /// Payload bytes.
    pub bytes: u64,
    /// PSN of the first packet.
    pub initial_psn: u32,
    /// UDP source port.
    pub source_port: u16,
}

/// Answer of the receiver to an offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The queue pairs of the flows are open.
    Open {
        /// One queue pair number per flow.
        queue_pairs: Vec<u32>,
    },
    /// The receiver refuses the offer.
    Refused {
        /// Reason for the refusal.
        reason: String,
    },
}

/// The sender's message once it has the last ACK of each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Number of flows.
    pub flows: u32,
}

/// The receiver's answer to [`Done`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// Payload bytes received in order, by flow.
    pub bytes: Vec<u64>,
}

/// A connection between two hosts.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    /// A connection over a stream.
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// The stream.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Writes a line. A nonblocking stream takes all of it or returns an error.
    pub fn write(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// Reads a line, or the available part of it. Returns `Ok(None)` if the line is not complete yet, and an error
    /// if the other end has closed the connection or sent an invalid line.
    pub fn try_read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if self.read.len() > MAX_LINE_LENGTH {
                return Err(io::Error::other("the other end speaks another protocol"));
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.read.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a line from a nonblocking stream, waiting for it until a signal arrives.
    pub fn read<T: DeserializeOwned>(
        &mut self,
        most: Duration,
        waiter: &mut Waiter,
    ) -> Result<T, Error> {
        let gone = |what: String| Error::Peer(format!("the receiver does not answer: {what}"));
        let countdown = Countdown::start(most);
        loop {
            if let Some(message) = self.try_read().map_err(|error| gone(error.to_string()))? {
                return Ok(message);
            }
            let left = countdown.left();
            if left.is_zero() {
                return Err(gone(format!("nothing came for {} s", most.as_secs())));
            }
            let signals = waiter.wait([self.stream.as_fd()], left);
            signals.map_err(|source| Error::System { step: "wait", source })?.or_end()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> [Connection; 2] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let one = TcpStream::connect(address).expect("it listens");
        let (other, _) = listener.accept().expect("one connects");
        [one, other].map(Connection::new)
    }

    #[test]
    fn messages_are_lines() {
        let [mut sender, mut receiver] = pair();
        receiver.stream().set_nonblocking(true).expect("a stream");
        let nothing: Option<Offer> = receiver.try_read().expect("it is open");
        assert_eq!(nothing, None);
        let flows = vec![OfferedFlow { bytes: 5, initial_psn: 7, source_port: 49_152 }];
        let reliability = "go-back-n".to_owned();
        let address = Ipv4Addr::new(10, 0, 1, 1);
        let offer = Offer { version: VERSION, address, payload: 1000, reliability, flows };
        sender.write(&offer).expect("it is open");
        sender.write(&Done { flows: 1 }).expect("it is open");
        let mut waiter = Waiter::new().expect("signals");
        let minute = Duration::from_mins(1);
        assert_eq!(receiver.read::<Offer>(minute, &mut waiter).expect("a line"), offer);
        assert_eq!(receiver.read::<Done>(minute, &mut waiter).expect("more"), Done { flows: 1 });
        let error = receiver.read::<Done>(Duration::ZERO, &mut waiter).expect_err("no more");
        assert!(error.to_string().contains("nothing came for 0 s"), "{error}");
        drop(sender);
        let error = receiver.read::<Done>(minute, &mut waiter).expect_err("it is gone");
        assert!(error.to_string().contains("does not answer"), "{error}");
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let [mut stranger, mut receiver] = pair();
        stranger.stream.write_all(b"GET / HTTP/1.1\r\n").expect("it is open");
        receiver.stream().set_nonblocking(true).expect("a stream");
        let mut waiter = Waiter::new().expect("signals");
        receiver.read::<Offer>(Duration::from_mins(1), &mut waiter).expect_err("it is not JSON");
    }
}
