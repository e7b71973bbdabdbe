//! When a switch pauses a queue of its neighbour (Section 3.3.2), and which of its own queues its neighbours have paused.

use super::state;
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::queue::{QueueId, QueueSet};
use crate::scheme::{Arriving, Ingress, Leaving};
use crate::tables::Tables;

/// What a descriptor keeps of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note(u32);

const COUNTED: u32 = 1 << 8;
const ENTRY_AT: u32 = 9;

impl Note {
    /// Of a packet that named this queue.
    #[inline(always)]
    const fn new(upstream: QueueId, counted: bool) -> Self {
        Self(upstream.place() as u32 | if counted { COUNTED } else { 0 })
    }

    /// With the number of its flow's entry.
    #[inline(always)]
    #[must_use]
    pub const fn with_entry(self, number: u32) -> Self {
        Self(self.0 | number << ENTRY_AT)
    }

    /// As a descriptor has it.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`to_bits`](Self::to_bits).
    #[inline(always)]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The number of its flow's entry in the flow table.
    #[inline(always)]
    pub const fn entry(self) -> u32 {
        self.0 >> ENTRY_AT
    }

    /// The queue of the neighbour whose pause counter counts it, if one does.
    #[inline(always)]
    const fn counted(self) -> Option<QueueId> {
        if self.0 & COUNTED == 0 {
            return None;
        }
        Some(QueueId::of_place((self.0 & 0xff) as usize))
    }
}

const _: () = assert!(super::Options::MOST_ENTRIES < 1 << (u32::BITS - ENTRY_AT));

/// Counts a packet that has joined a queue beyond its threshold, and pauses the neighbour's queue that it came from if
/// it is the first.
#[inline(always)]
pub fn enqueued<T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) -> Note {
    let at = &packet.ingress;
    let upstream = packet.fields.upstream;
    let nothing = Note::new(upstream, false);
    let length = packet.egress.bytes.load();
    let Some(threshold) = threshold(at.tables, packet.egress_port) else { return nothing };
    if length <= threshold || !upstream.is_data() {
        return nothing;
    }
    let Some(counter) = state::counter(at.tables, at.port_number, upstream) else { return nothing };
    if counter.add::<T>(1) == 1 {
        tell(at, upstream, true, [length, threshold], send);
    }
    Note::new(upstream, true)
}

/// The same of a packet that has left its queue: it resumes the neighbour's queue if it was the last that counted.
#[inline(always)]
pub fn dequeued<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
    let at = &packet.ingress;
    let Some(upstream) = Note::of_bits(packet.note).counted() else { return };
    let Some(counter) = state::counter(at.tables, at.port_number, upstream) else { return };
    if counter.sub::<T>(1) == 0 {
        let length = packet.egress.bytes.load();
        let threshold = threshold(at.tables, packet.egress_port).unwrap_or(0);
        tell(at, upstream, false, [length, threshold], send);
    }
}

/// Th of the queues of an egress port: what drains in a hop's round trip at the share of an active queue.
#[inline(always)]
pub fn threshold<T: Tables>(tables: &T, egress_port: u32) -> Option<u64> {
    let port = state::port(tables, egress_port)?;
    let ([low, high], [low_paused, high_paused]) = (port.in_use.words(), port.paused.words());
    let active = (low & !low_paused).count_ones() + (high & !high_paused).count_ones();
    // A queue that is paused and alone drains as the only one when it is resumed.
    Some(state::threshold(tables, egress_port, active.max(1))?.load().into())
}

/// Pauses or resumes a queue of the neighbour at the port of `at`, because of a queue of this `length` with this
/// `threshold`.
#[inline(always)]
fn tell<T: Tables>(
    at: &Ingress<'_, T>,
    queue: QueueId,
    paused: bool,
    [length, threshold]: [u64; 2],
    send: &mut impl FnMut(&Order),
) {
    if let Some(port) = state::port(at.tables, at.port_number) {
        port.pausing.set(queue, paused);
    }
    send(&Order {
        control: HopControl::Queue { queue, paused },
        level: PauseLevel::Queue,
        resumes: !paused,
        pause: 0,
        occupancy_bytes: length,
        threshold_bytes: threshold,
        shared_free_bytes: at.shared_free(),
    });
}

/// The neighbour at a port has paused or resumed queues there.
#[inline(always)]
pub fn receive<T: Tables>(tables: &T, port: u32, control: &HopControl) -> Result<(), DropReason> {
    let port = state::port(tables, port).ok_or(DropReason::BrokenTable)?;
    match *control {
        HopControl::Queue { queue, paused } => port.paused.set(queue, paused),
        HopControl::Queues { paused } => port.paused.store(paused),
        HopControl::Classes(_) | HopControl::Flows { .. } | HopControl::Rate { .. } => {
            return Err(DropReason::UnexpectedHopControl);
        }
    }
    Ok(())
}

/// The queues of a port that its neighbour has paused.
#[inline(always)]
pub fn paused<T: Tables>(tables: &T, port: u32) -> Option<QueueSet> {
    match state::port(tables, port)?.paused.words() {
        [0, 0] => None,
        [low, high] => Some(QueueSet::of_data(u128::from(low) | u128::from(high) << 64)),
    }
}
