//! How fast a queue pair sends: congestion control as a part.
//!
//! An algorithm is a [`CongestionControl`] at the sender and a [`CongestionFeedback`] at the receiver of a
//! queue pair. Each has methods for all events; an algorithm overrides those that it uses.
//!
//! # Adding one
//!
//! 1. In a file or folder here, types that implement the two traits, with their tests. One whose receiver says
//!    nothing has the feedback of `line_rate`.
//! 2. In `algorithm.rs`, the only place that names the algorithms: a variant of [`Algorithm`], which has its
//!    parameters, of `Control`, and of `Feedback` if it has one of its own. The compiler asks for the arm in `ends`;
//!    `enum_dispatch` writes the others.
//! 3. In `scenario/src/transport/` a file with its keys, a table of `RoceRcKeys` and, if TCP may use it, of `TcpKeys`
//!    (`transport/tcp.rs`), and a variant of `CongestionControl` and of `CongestionControlKeys`
//!    (`transport/congestion_control.rs`). The compiler asks for what it needs (marks, losses, telemetry), for the arms in
//!    `transport.rs` and `transport/tcp.rs`, and for the line in `emulation/src/host_settings.rs`.
//! 4. What the compiler does not ask for: [`CongestionControl::congestion`] and its name in the column `congestion` of
//!    `results/src/flow_trace.rs`; the names in the documentation of the keys `congestion_control`, which is the schema's, and
//!    in the two errors that list them (`transport.rs`, `transport/tcp.rs`); the tables of docs/scenarios.md and of
//!    ARCHITECTURE.md; a check in `tests/src/fabric/congestion.rs`.

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
pub mod theta_powertcp;
pub mod timely;

pub use algorithm::Algorithm;
pub(crate) use algorithm::{Control, Feedback};
use enum_dispatch::enum_dispatch;
pub use fabric_core::wire::HopTelemetry;
use fabric_core::wire::TelemetryFields;
pub use fraction::Fraction;
use line_rate::LineRate;
pub use multiple::Multiple;
use units::{BitsPerSecond, Bytes, Picos};

use crate::tcp::Ecn;

/// The sending end's part: it is told what happens to its queue pair, and says how fast it may send.
///
/// Instants never go backwards. Bytes of payload are counted once when they are first sent and once when
/// they are acknowledged, so that an algorithm can keep the flow's sequence numbers if it needs them.
#[enum_dispatch]
pub trait CongestionControl {
    /// Takes note of a packet that starts at `now`.
    #[inline]
    fn transmitted(&mut self, _now: Picos, _packet: &Transmitted) {}

    /// Takes an ACK or NAK for packets that were sent, even if it acknowledges nothing new.
    #[inline]
    fn acknowledged(&mut self, _now: Picos, _acknowledged: &Acknowledged<'_>) {}

    /// Takes a CNP.
    #[inline]
    fn notified(&mut self, _now: Picos) {}

    /// Takes a loss. One that an ACK or NAK reports comes after its [`acknowledged`](Self::acknowledged).
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

    /// Payload bytes that may be unacknowledged at `now`; `None` for no limit. It changes only when another
    /// method of the algorithm is called. One packet may always be outstanding.
    #[inline]
    fn window(&self, _now: Picos) -> Option<Bytes> {
        None
    }

    /// How often it has cut its rate or window because of congestion, by a step that it counts.
    #[inline]
    fn cuts(&self) -> u64 {
        0
    }

    /// What it makes of congestion, for traces: the number that the algorithm is about, in millionths, rounded down. Where
    /// it is brought up to date only when it is needed, what it was then. `None` if there is no such number.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        None
    }

    /// How a TCP connection that it drives uses ECN.
    #[inline]
    fn tcp_ecn(&self) -> Ecn {
        Ecn::Off
    }

    /// Whether [`Acknowledged::round_trip`] is wanted: it costs an entry for each outstanding packet.
    #[inline]
    fn measures_round_trips(&self) -> bool {
        false
    }
}

/// The receiving end's part: what it tells the sender.
#[enum_dispatch]
pub trait CongestionFeedback {
    /// Takes a data packet that arrives at `now`, `marked` congestion experienced or not; true if a CNP is
    /// due.
    #[inline]
    fn received(&mut self, _now: Picos, _marked: bool) -> bool {
        false
    }

    /// Whether the ACK or NAK that is being made says that packets were marked.
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
    /// Its payload.
    pub payload: Bytes,
    /// Whether it was sent before.
    pub again: bool,
}

/// What an ACK or NAK tells the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged<'a> {
    /// Payload bytes that were not acknowledged before.
    pub bytes: Bytes,
    /// Time from the start of the acknowledged packet to the arrival of this ACK, by the NIC's clock. Only if this ACK
    /// allows it, and for certain only if the algorithm [asks for it](CongestionControl::measures_round_trips): one that
    /// does not must not depend on it.
    pub round_trip: Option<Picos>,
    /// What the receiver's [`echo`](CongestionFeedback::echo) said.
    pub congestion_echo: bool,
    /// Stamps of the switches on the path of the packet that this ACK or NAK answers, first hop first, at most 8. Empty
    /// unless packets [have room](crate::Transport::telemetry_hops) for them.
    pub telemetry: &'a [HopTelemetry],
    /// Whether the path had more hops than the packet had room for, so that stamps of the last ones are missing.
    pub telemetry_exceeded: bool,
}

/// What an ACK or NAK says of the path: part of [`Acknowledged`], whose fields it shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo<'a> {
    congestion: bool,
    telemetry: &'a [HopTelemetry],
    telemetry_exceeded: bool,
}

impl<'a> Echo<'a> {
    /// Of a packet with these stamps. Stamps that are not an echo are those of the way back, and mean nothing.
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

    /// All that the ACK or NAK tells.
    #[inline]
    pub const fn acknowledged(self, bytes: Bytes, round_trip: Option<Picos>) -> Acknowledged<'a> {
        let Self { congestion: congestion_echo, telemetry, telemetry_exceeded } = self;
        Acknowledged { bytes, round_trip, congestion_echo, telemetry, telemetry_exceeded }
    }
}

/// How a loss became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver's answers say so.
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

    /// Stamps of the way back are not those of the data.
    #[test]
    fn only_an_echo_has_telemetry() {
        let stamps = [HopTelemetry::default(); 2];
        let fields = TelemetryFields { room: 3, hops: 2, echo: true, exceeded: true };
        let told = |telemetry| {
            let acknowledged = Echo::new(true, telemetry, &stamps).acknowledged(Bytes(0), None);
            assert!(acknowledged.congestion_echo);
            (acknowledged.telemetry.len(), acknowledged.telemetry_exceeded)
        };
        assert_eq!(told(Some(fields)), (2, true));
        assert_eq!(told(Some(TelemetryFields { exceeded: false, ..fields })), (2, false));
        assert_eq!(told(Some(TelemetryFields { echo: false, ..fields })), (0, false));
        assert_eq!(told(None), (0, false));
    }
}
