//! Sampling of packets (Appendix A.8): a switch may count only a part of its packets if counting
//! departures is costly, because each recirculates a header.
//!
//! A packet that is not counted pauses no queue. It renews its flow's hold on its queue at arrival,
//! but not at departure. A flow with only such packets in the switch counts as a flow without
//! packets, and may get another queue, so that its packets overtake each other.

use super::settings::Options;
use super::state;
use crate::routing::mix;
use crate::scheme::Arriving;
use crate::tables::Tables;
use units::Nanos;

/// Sampling rate that counts every packet, in units of 2^-32. Does not fit 32 bits.
pub const ALL: u64 = 1 << 32;

/// Separates these draws from the choice of a queue if none is empty, which uses the same hash and time.
const SALT: u32 = 0x85eb_ca6b;

/// True if a packet that has joined a queue is counted.
#[inline(always)]
pub fn is_sampled<T: Tables>(packet: &Arriving<'_, T>, options: Options) -> bool {
    if !options.samples {
        return true;
    }
    let part = state::settings(packet.ingress.tables).map_or(ALL, |line| line.sampled.load());
    u64::from(draw(packet.flow_hash(), packet.now)) < part
}

/// Draws a number for a packet of a flow with this hash. Packets of one flow differ in their arrival times.
#[inline(always)]
pub(super) const fn draw(hash: u32, now: Nanos) -> u32 {
    mix(hash ^ now.0 as u32 ^ SALT)
}
