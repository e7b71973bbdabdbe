//! Which packets are counted (Appendix A.8): a switch whose departures are costly to count, because each recirculates a
//! header, counts only some.
//!
//! A packet that is not counted leaves no trace but its place in its queue: a flow that has only such packets in the switch
//! counts as one without, and may get another queue, so that its packets overtake each other.

use super::settings::Options;
use super::state;
use crate::routing::mix;
use crate::scheme::Arriving;
use crate::tables::Tables;

/// A part of all packets: of 2^32, so many. All: one more than a number of 32 bits has.
pub const ALL: u64 = 1 << 32;

/// Whether a packet that has joined a queue is counted there.
#[inline(always)]
pub fn is_sampled<T: Tables>(packet: &Arriving<'_, T>, options: Options) -> bool {
    if !options.samples {
        return true;
    }
    let part = state::settings(packet.ingress.tables).map_or(ALL, |line| line.sampled.load());
    // Packets of a flow come at instants of their own.
    u64::from(mix(packet.flow_hash() ^ packet.now.0 as u32)) < part
}
