//! Which packets are counted (Appendix A.8): a switch whose departures are costly to count, because each recirculates a
//! header, counts only some.
//!
//! A packet that is not counted pauses nobody. It renews its flow's hold on its queue when it comes, but not when it leaves: a
//! flow that has only such packets in the switch counts as one without, and may get another queue, so that its packets
//! overtake each other.

use super::settings::Options;
use super::state;
use crate::routing::mix;
use crate::scheme::Arriving;
use crate::tables::Tables;
use units::Nanos;

/// A part of all packets: of 2^32, so many. All: one more than a number of 32 bits has.
pub const ALL: u64 = 1 << 32;

/// Draws of its own: the queue of a flow that finds none empty is drawn from the same hash and instant.
const SALT: u32 = 0x85eb_ca6b;

/// Whether a packet that has joined a queue is counted there.
#[inline(always)]
pub fn is_sampled<T: Tables>(packet: &Arriving<'_, T>, options: Options) -> bool {
    if !options.samples {
        return true;
    }
    let part = state::settings(packet.ingress.tables).map_or(ALL, |line| line.sampled.load());
    u64::from(draw(packet.flow_hash(), packet.now)) < part
}

/// A number for a packet of a flow with this hash; packets of a flow come at instants of their own.
#[inline(always)]
pub(super) const fn draw(hash: u32, now: Nanos) -> u32 {
    mix(hash ^ now.0 as u32 ^ SALT)
}
