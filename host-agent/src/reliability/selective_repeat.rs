//! Selective repeat: the responder takes packets in any order, and the requester sends only missing packets again (IRN:
//! Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, 3.1).
//!
//! docs/selective-repeat.md specifies the packets. Each packet carries a RETH, so that the responder knows the address
//! of its bytes even while earlier packets are missing (IRN, 5.3).
//!
//! The cap on packets in flight (BDP-FC, IRN 3.2) is not part of the scheme: it is a window, which counts from the
//! oldest unacknowledged packet to the newest sent.

mod requester;
mod responder;
#[cfg(test)]
mod tests;

pub use requester::SelectiveRepeatRequester;
pub use responder::SelectiveRepeatResponder;
use serde::Serialize;
use units::Picos;

/// Parameters of selective repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Retransmission timeout while few packets are in flight, above zero (`RTO_low` in IRN, 100 us there).
    pub rto_low: Picos,
    /// Packets in flight from which on `rto_low` no longer applies; 0 or 1: it never applies (N in IRN, 3 there).
    pub rto_low_packets: u32,
}
