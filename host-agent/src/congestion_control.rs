//! Congestion control of a queue pair: the algorithms that set its rate and window.
//!
//! An algorithm is a [`CongestionControl`] at the sender and a [`CongestionFeedback`] at the receiver of a
//! queue pair. Each has methods for all events; an algorithm overrides those that it uses.
//!
//! # Adding one
//!
//! 1. In a file or folder here, `Settings`, which are the keys of a file with their defaults, ranges and documentation,
//!    the parameters on a link that are computed from them, its needs (base round-trip time, losses, marks or
//!    telemetry), and types that implement the two traits, with their tests. An algorithm whose receiver sends no
//!    feedback uses the feedback of `line_rate`.
//! 2. In this file a `mod` line and a line of [`congestion_controls!`](crate::congestion_controls), from which the
//!    types of the choice, the tables of a scenario's transports and the texts that list the names are derived.
//! 3. Not checked by the compiler: `is_unlimited` in `scenario/src/scheme/bfc.rs`, if a window does not limit its
//!    senders; [`CongestionControl::congestion`] and its name in the column `congestion` of
//!    `results/src/tables/flows.rs`; the tables of docs/transports.md and docs/tcp.md; a check in
//!    `tests/src/fabric/congestion.rs`.

mod algorithm;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
mod fraction;
pub mod hpcc;
pub(crate) mod line_rate;
mod multiple;
mod path;
pub mod powertcp;
mod rounds;
pub mod rtt_target;
mod settings;
pub mod theta_powertcp;
pub mod timely;

pub use algorithm::{Algorithm, Name, Settings};
pub(crate) use algorithm::{Control, Feedback};
use enum_dispatch::enum_dispatch;
pub use fabric_core::wire::HopTelemetry;
use fabric_core::wire::TelemetryFields;
pub use fraction::Fraction;
use line_rate::LineRate;
pub use multiple::Multiple;
pub use settings::{Complete, Link};
use units::{BitsPerSecond, Bytes, Picos};

use crate::tcp::Ecn;

/// Passes the congestion controls to a macro, by the transports that they can drive: first those of TCP alone, then
/// those of RoCEv2 alone, then those of both. Other tokens follow the list.
///
/// A line has the variant, the module, the name in files, the name in texts, and the module's feedback type if its
/// receiver sends feedback.
#[macro_export]
macro_rules! congestion_controls {
    ($macro:ident $($others:tt)*) => {
        $macro! {
            tcp {
                Cubic = cubic, "cubic", "Cubic";
            }
            roce {
                Dcqcn = dcqcn, "dcqcn", "DCQCN", Feedback;
            }
            both {
                Dctcp = dctcp, "dctcp", "DCTCP", Feedback;
                Hpcc = hpcc, "hpcc", "HPCC";
                PowerTcp = powertcp, "powertcp", "PowerTCP";
                RttTarget = rtt_target, "rtt-target", "the control to combine with BFC";
                ThetaPowerTcp = theta_powertcp, "theta-powertcp", "theta-PowerTCP";
                Timely = timely, "timely", "TIMELY";
            }
            $($others)*
        }
    };
}

/// Sender side of a congestion control: receives the events of its queue pair and sets its rate and window.
///
/// Instants never go backwards. Bytes of payload are counted once when they are first sent and once when
/// they are acknowledged, so that an algorithm can keep the flow's sequence numbers if it needs them.
#[enum_dispatch]
pub trait CongestionControl {
    /// Handles a packet that starts at `now`.
    #[inline]
    fn transmitted(&mut self, _now: Picos, _packet: &Transmitted) {}

    /// Handles an ACK or NAK for packets that were sent, even if it acknowledges nothing new.
    #[inline]
    fn acknowledged(&mut self, _now: Picos, _acknowledged: &Acknowledged<'_>) {}

    /// Handles a CNP.
    #[inline]
    fn notified(&mut self, _now: Picos) {}

    /// Handles a loss. If an ACK or NAK reports the loss, [`acknowledged`](Self::acknowledged) is called first.
    #[inline]
    fn lost(&mut self, _now: Picos, _loss: Loss) {}

    /// The rate at which frames may follow each other from `now` on, counted in bytes on the wire. At the line rate
    /// or above, nothing is paced.
    #[inline]
    fn rate(&mut self, _now: Picos) -> BitsPerSecond {
        BitsPerSecond(u64::MAX)
    }

    /// Returns true if a new rate moves the start of the next packet: to the last packet's start plus its time on the wire
    /// at the new rate. Otherwise a new rate holds from the next packet on.
    #[inline]
    fn moves_next_start(&self) -> bool {
        false
    }

    /// Max payload bytes unacknowledged at `now`; `None` for no limit. The value changes only when another method of
    /// the algorithm is called. One packet may always be outstanding.
    #[inline]
    fn window(&self, _now: Picos) -> Option<Bytes> {
        None
    }

    /// Number of cuts of rate or window because of congestion. Each algorithm defines which steps count.
    #[inline]
    fn cuts(&self) -> u64 {
        0
    }

    /// The algorithm's measure of congestion, for traces: its central number in millionths, rounded down. An algorithm
    /// that updates the number only when needed returns its last value. `None` if it has no such number.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        None
    }

    /// Use of ECN by a TCP connection that the algorithm controls.
    #[inline]
    fn tcp_ecn(&self) -> Ecn {
        Ecn::Off
    }

    /// Returns true if the algorithm needs [`Acknowledged::round_trip`], which costs an entry per outstanding packet.
    #[inline]
    fn measures_round_trips(&self) -> bool {
        false
    }
}

/// Receiver side of a congestion control: the feedback that it sends to the sender.
#[enum_dispatch]
pub trait CongestionFeedback {
    /// Handles a data packet that arrives at `now`; `marked` if congestion experienced. Returns true if a CNP is due.
    #[inline]
    fn received(&mut self, _now: Picos, _marked: bool) -> bool {
        false
    }

    /// Returns true if the ACK or NAK being built reports marked packets.
    #[inline]
    fn echo(&mut self) -> bool {
        false
    }
}

/// A data packet that starts onto the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmitted {
    /// Bytes on the wire: frame, preamble, FCS and gap.
    pub wire: Bytes,
    /// Payload bytes.
    pub payload: Bytes,
    /// True for a retransmission.
    pub again: bool,
}

/// Contents of an ACK or NAK for the sender's congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged<'a> {
    /// Payload bytes that were not acknowledged before.
    pub bytes: Bytes,
    /// Time from the start of the acknowledged packet to the arrival of this ACK, by the NIC's clock. `None` if this
    /// ACK allows no measurement. Guaranteed only if the algorithm [requests
    /// it](CongestionControl::measures_round_trips); other algorithms must not depend on it.
    pub round_trip: Option<Picos>,
    /// The receiver's [`echo`](CongestionFeedback::echo).
    pub congestion_echo: bool,
    /// Stamps of the switches on the path of the packet that this ACK or NAK answers, first hop first, at most 8. Empty
    /// unless packets [have room](crate::Transport::telemetry_hops) for them.
    pub telemetry: &'a [HopTelemetry],
    /// True if the path had more hops than the packet had room for, so that the last hops' stamps are missing.
    pub telemetry_exceeded: bool,
}

/// Feedback of an ACK or NAK about the path: part of [`Acknowledged`], whose fields it shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo<'a> {
    congestion: bool,
    telemetry: &'a [HopTelemetry],
    telemetry_exceeded: bool,
}

impl<'a> Echo<'a> {
    /// Echo of a packet with these stamps. Stamps that are not an echo are from the way back, and are ignored.
    #[inline]
    pub const fn new(
        congestion: bool,
        fields: Option<TelemetryFields>,
        stamps: &'a [HopTelemetry],
    ) -> Self {
        match fields {
            Some(TelemetryFields { echo: true, exceeded, .. }) => {
                Self { congestion, telemetry: stamps, telemetry_exceeded: exceeded }
            }
            _ => Self { congestion, telemetry: &[], telemetry_exceeded: false },
        }
    }

    /// All feedback of the ACK or NAK.
    #[inline]
    pub const fn acknowledged(self, bytes: Bytes, round_trip: Option<Picos>) -> Acknowledged<'a> {
        let Self { congestion: congestion_echo, telemetry, telemetry_exceeded } = self;
        Acknowledged { bytes, round_trip, congestion_echo, telemetry, telemetry_exceeded }
    }
}

/// The way in which a loss was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Reported by an ACK or NAK.
    Reported,
    /// The retransmission timer expired.
    Timeout,
}

/// The rate at which a window is sent in `span`, which is above zero, at least 1 bit/s; saturates.
#[inline]
fn rate_of(window: Bytes, span: Picos) -> BitsPerSecond {
    const PICOS_PER_SECOND_TIMES_BITS: u128 = 8_000_000_000_000;
    let rate = u128::from(window.0) * PICOS_PER_SECOND_TIMES_BITS / u128::from(span.0);
    BitsPerSecond(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps from the way back are not the data's stamps.
    #[test]
    fn only_an_echo_has_telemetry() {
        let stamps = [HopTelemetry::default(); 2];
        let fields = TelemetryFields { room: 3, hops: 2, echo: true, exceeded: true };
        let echoed = |telemetry| {
            let acknowledged = Echo::new(true, telemetry, &stamps).acknowledged(Bytes(0), None);
            assert!(acknowledged.congestion_echo);
            (acknowledged.telemetry.len(), acknowledged.telemetry_exceeded)
        };
        assert_eq!(echoed(Some(fields)), (2, true));
        assert_eq!(echoed(Some(TelemetryFields { exceeded: false, ..fields })), (2, false));
        assert_eq!(echoed(Some(TelemetryFields { echo: false, ..fields })), (0, false));
        assert_eq!(echoed(None), (0, false));
    }
}
