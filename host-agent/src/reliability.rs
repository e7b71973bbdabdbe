//! How every byte of a flow arrives, once and in order, over wires that lose packets: reliability as a part.
//!
//! A scheme is a [`ReliableSender`] at the requester and a [`ReliableReceiver`] at the responder of a queue
//! pair. It works on the numbers of a flow's packets; [`Flow`] knows what is in them.
//!
//! # Adding one
//!
//! 1. In a folder here, types that implement the two traits, with their tests.
//! 2. In `scheme.rs`, the only place that names the schemes: a variant of [`Reliability`], `Sender` and `Receiver`.
//! 3. In `scenario/src/reliability.rs` a variant of `Reliability` and of `ReliabilityKey`; its parameters are keys in
//!    `RoceRcKeys` in `scenario/src/transport.rs`. The compiler asks for the line in
//!    `emulation/src/host_settings.rs`.
//! 4. What the compiler does not ask for: a check in `tests/src/fabric/`.

mod go_back_n;
mod scheme;
mod selective_repeat;

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, RocePacket};
pub use scheme::Reliability;
pub(crate) use scheme::{Receiver, Sender};
pub use selective_repeat::Parameters as SelectiveRepeat;
use units::{Bytes, Picos};

use crate::flow::Flow;

/// Packets that may be unacknowledged: fewer than half the PSN space, so that order stays defined.
const OUTSTANDING_PACKETS: u64 = (1 << 23) - 1;

/// The requester's part: which packet goes next, and what the responder's answers do.
pub trait ReliableSender {
    /// The packet to send next, if there is one and the scheme has room for it.
    fn next(&self, flow: &Flow) -> Option<u64>;

    /// Takes note that the [`next`](Self::next) packet starts at `now`; there is one.
    fn transmit(&mut self, now: Picos, flow: &Flow) -> Transmission;

    /// Payload bytes that a window counts when the [`next`](Self::next) packet is to start: sent, neither
    /// acknowledged nor taken for lost. Zero for a packet that may start whatever the window.
    fn outstanding(&self, flow: &Flow) -> Bytes;

    /// Takes an ACK or NAK.
    fn receive(&mut self, now: Picos, answer: &Answer, flow: &Flow) -> Answered;

    /// When the retransmission timer expires, if it runs.
    fn retransmission_deadline(&self) -> Option<Picos>;

    /// Takes note that it has expired.
    fn expire(&mut self, now: Picos);

    /// Whether the last packet is acknowledged.
    fn is_complete(&self, flow: &Flow) -> bool;
}

/// The responder's part: which packets it takes, and what it answers.
pub trait ReliableReceiver {
    /// Takes a data packet: what became of it, and the answer that is due.
    fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>);

    /// Payload bytes received in order.
    fn delivered_bytes(&self) -> u64;
}

/// A packet that the requester sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The packet's number.
    pub number: u64,
    /// Whether it was sent before.
    pub again: bool,
    /// Whether it asks for an ACK, even if it does not end a message.
    pub ack_request: bool,
}

/// What a responder tells its requester: an ACK or NAK without addresses and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The last packet acknowledged, or the one that a NAK expects.
    pub psn: Psn,
    /// ACK or NAK, and messages completed.
    pub aeth: AethFields,
}

/// What an ACK or NAK did at the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Whether the queue pair can go on.
    pub outcome: Outcome,
    /// Payload bytes that it acknowledged and that were not acknowledged before.
    pub bytes: Bytes,
    /// Every packet before this one is acknowledged.
    pub first_open: u64,
    /// Whether it reports a loss.
    pub loss: bool,
}

/// What an ACK or NAK means for the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It acknowledged something or asks for something again.
    Useful,
    /// It acknowledged the last packet.
    Completed,
    /// Nothing new.
    Stale,
    /// It names a packet that was never sent.
    BeyondSent,
}

/// What became of a data packet at the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// It was taken.
    InOrder {
        /// Payload bytes that are in order now and were not before.
        bytes: u64,
        /// Whether a message is complete.
        message_complete: bool,
    },
    /// Received before.
    Duplicate,
    /// An earlier one is missing.
    OutOfOrder,
    /// Contradicts the message being received.
    Mismatch,
}
