//! Reliability of a queue pair: delivers every byte of a flow once and in order over wires that lose packets.
//!
//! A scheme is a [`ReliableSender`] at the requester and a [`ReliableReceiver`] at the responder of a queue pair. It
//! works on the numbers of a flow's packets; [`Flow`] builds the packets.
//!
//! # Adding one
//!
//! 1. In a folder here, types that implement the two traits, with their tests.
//! 2. In `scheme.rs`, the only place that names the schemes: a variant of [`Reliability`], `Sender` and `Receiver`.
//! 3. In `scenario/src/reliability.rs` a variant of `Reliability` and of `ReliabilityKey`; its parameters are keys in
//!    `RoceRcKeys` in `scenario/src/transport.rs`. The compiler requires the line in
//!    `emulation/src/host_settings.rs`.
//! 4. Not checked by the compiler: a check in `tests/src/fabric/`.

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

/// Requester side of a scheme: chooses the next packet and handles the responder's answers.
pub trait ReliableSender {
    /// The packet to send next, if there is one and the scheme has room for it.
    fn next(&self, flow: &Flow) -> Option<u64>;

    /// Records that the [`next`](Self::next) packet, which must exist, starts at `now`.
    fn transmit(&mut self, now: Picos, flow: &Flow) -> Transmission;

    /// Payload bytes that a window counts when the [`next`](Self::next) packet is to start: sent, neither acknowledged
    /// nor considered lost. Zero for a packet that may start whatever the window.
    fn outstanding(&self, flow: &Flow) -> Bytes;

    /// Handles an ACK or NAK.
    fn receive(&mut self, now: Picos, answer: &Answer, flow: &Flow) -> Answered;

    /// Instant at which the retransmission timer expires, if it runs.
    fn retransmission_deadline(&self) -> Option<Picos>;

    /// Handles an expiry of the retransmission timer.
    fn expire(&mut self, now: Picos);

    /// Returns true if the last packet is acknowledged.
    fn is_complete(&self, flow: &Flow) -> bool;
}

/// Responder side of a scheme: accepts or drops packets and answers them.
pub trait ReliableReceiver {
    /// Handles a data packet. Returns its outcome, and the answer that is due.
    fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>);

    /// Payload bytes received in order.
    fn delivered_bytes(&self) -> u64;
}

/// A packet that the requester sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The packet's number.
    pub number: u64,
    /// True for a retransmission.
    pub again: bool,
    /// True if it requests an ACK, even if it does not end a message.
    pub ack_request: bool,
}

/// An answer of a responder to its requester: an ACK or NAK without addresses and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The last packet acknowledged, or the packet that a NAK expects.
    pub psn: Psn,
    /// ACK or NAK, and messages completed.
    pub aeth: AethFields,
}

/// Effect of an ACK or NAK at the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Outcome for the queue pair.
    pub outcome: Outcome,
    /// Payload bytes that it acknowledged and that were not acknowledged before.
    pub bytes: Bytes,
    /// Every packet before this one is acknowledged.
    pub first_open: u64,
    /// True if it reports a loss.
    pub loss: bool,
}

/// Outcome of an ACK or NAK for the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Something new is acknowledged or requested again.
    Useful,
    /// The last packet is acknowledged.
    Completed,
    /// Nothing new is acknowledged or requested.
    Stale,
    /// The answer names a packet that was never sent.
    BeyondSent,
}

/// Outcome of a data packet at the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// Accepted.
    InOrder {
        /// Payload bytes that are in order now and were not before.
        bytes: u64,
        /// True if a message is complete.
        message_complete: bool,
    },
    /// Received before.
    Duplicate,
    /// An earlier one is missing.
    OutOfOrder,
    /// Contradicts the message being received.
    Mismatch,
}
