//! Events at a switch, and the kinds of buffer management under test.

use super::super::*;
use proptest::prelude::*;

use crate::tables::owned::PORTS;

pub(super) const SHARED_POOL: u64 = 20_000;
pub(super) const SHORT: u64 = 4000;
pub(super) const MIN: u64 = 2000;
pub(super) const IDLE: u64 = 3000;
pub(super) const FIRST_PACKETS: u32 = 2;
/// Priority whose queue first packets join.
pub(super) const FIRST_CLASS: u8 = 1;
pub(super) const FAIR: FairDropping = FairDropping {
    shares: FairShares::Queues,
    window: Nanos(500),
    windows: 5,
    first_share: Bytes(6000),
    desired: Bytes(2500),
    least_bytes: Bytes(1500),
    ..FairDropping::DEFAULT
};

/// Each kind, with settings that matter in a small buffer.
pub(super) fn kinds() -> Vec<Kind> {
    let flows = FlowTable { flows: 512, idle: Nanos(IDLE) };
    let forms = [NINE_TENTHS, Congestion::OfBuffer(ratio(1, 3)), Congestion::Bytes(3000)];
    let adapt = |kind| match kind {
        Kind::Active(_) => forms.map(Kind::Active).to_vec(),
        Kind::Bshare { .. } => {
            forms.map(|congestion| Kind::Bshare { congestion, least_bytes: Bytes(MIN) }).to_vec()
        }
        Kind::FlowAware { .. } => vec![Kind::FlowAware { short_bytes: Bytes(SHORT), flows }],
        Kind::Intelligent { fair_dropping, prioritisation, .. } => vec![Kind::Intelligent {
            fair_dropping: fair_dropping.map(|usual| FairDropping {
                shares: match usual.shares {
                    FairShares::Queues => FairShares::Queues,
                    FairShares::Elephants(_) => FairShares::Elephants(Bytes(SHORT)),
                },
                ..FAIR
            }),
            prioritisation: prioritisation.map(|_| Prioritisation {
                packets: FIRST_PACKETS,
                priority: Priority::new(FIRST_CLASS),
            }),
            flows,
        }],
        other => vec![other],
    };
    Kind::EVERY.into_iter().flat_map(adapt).collect()
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A packet arrives at a port and leaves by the other.
    Arrival { port: u32, class: u8, flow: u16, first_rtt: bool, padding: u64 },
    /// The scheduler chooses the first packet of a queue.
    Turn { port: u32, class: u8 },
    /// The first packet of a queue is dropped for a reason that is not the scheme's.
    Discard { port: u32, class: u8 },
    /// Lossless packets hold this many bytes of the shared pool.
    Others(u64),
    /// The control plane counts congested queues and measures rates.
    Update,
    /// Time passes.
    Time(u64),
}

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    let at = || (0..PORTS as u32, 0..4u8);
    prop_oneof![
        10 => (at(), prop_oneof![0..2u16, 0..6u16], any::<bool>(), 0..400u64).prop_map(
            |((port, class), flow, first_rtt, padding)| {
                Event::Arrival { port, class, flow, first_rtt, padding }
            }
        ),
        6 => at().prop_map(|(port, class)| Event::Turn { port, class }),
        1 => at().prop_map(|(port, class)| Event::Discard { port, class }),
        1 => prop_oneof![Just(0), 0..10_000u64].prop_map(Event::Others),
        2 => Just(Event::Update),
        3 => (0..400u64).prop_map(Event::Time),
        1 => (0..2 * IDLE).prop_map(Event::Time),
    ]
}
