//! TCP: RFC 9293 with time stamps and window scale (RFC 7323), SACK (RFC 2018) and loss recovery by it (RFC 6675),
//! ECN (RFC 3168; RFC 8257 for DCTCP), and a tail loss probe (RFC 8985, section 7).
//!
//! A connection carries one flow, from the end that opens it to the other. docs/tcp.md specifies the packets and the
//! omissions. The sender cuts the flow into segments once, and numbers them from 0 in 64 bits; sequence numbers are a
//! function of the segment's number, so a retransmission is always the original segment.

mod ecn;
mod receiver;
mod retransmission_timeout;
mod scoreboard;
mod sender;
mod sequence;

pub use ecn::Ecn;
pub use receiver::{Answers, Receiver};
pub use sender::{Expiry, Sender};
use units::Picos;

/// Parameters of a host's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Retransmission timeout until a round trip has been measured, above zero (RFC 6298, 2.1: 1 s).
    pub initial_timeout: Picos,
    /// Min retransmission timeout, above zero (RFC 6298, 2.4: 1 s).
    pub minimum_timeout: Picos,
    /// Max retransmission timeout; at least the other two (RFC 6298, 2.5: 60 s or more).
    pub maximum_timeout: Picos,
    /// SACKed segments behind a missing one that make it lost, at least 1 (`DupThresh` in RFC 6675: 3).
    pub loss_threshold: u32,
    /// True to send a tail loss probe before the timeout.
    pub tail_loss_probe: bool,
    /// Max time that an ACK waits for a second segment (RFC 1122, 4.2.3.2); zero: every segment is acknowledged at
    /// once.
    pub delayed_ack: Picos,
    /// True to open connections with SYN. Otherwise a connection is open when its flow starts.
    pub handshake: bool,
}

/// A microsecond.
pub(crate) const TICK: Picos = Picos(1_000_000);

/// The clock of time stamps ticks once a microsecond. RFC 7323, 5.4, has 1 ms to 1 s; round trips here are shorter.
#[expect(clippy::cast_possible_truncation, reason = "a clock of 32 bits wraps, after 71 minutes")]
fn ticks(now: Picos) -> u32 {
    (now.0 / TICK.0) as u32
}

/// The time between two readings of the clock.
fn span_of(ticks: u32) -> Picos {
    Picos(u64::from(ticks) * TICK.0)
}

#[cfg(test)]
pub(crate) mod tests;
