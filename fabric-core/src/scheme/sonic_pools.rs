//! PFC on the pools of SONiC, as ns3-datacenter's simulator models them (`SwitchMmu`, buffer model "sonic").
//!
//! A packet is counted at ingress, by its port and class, and at egress, by its egress queue. Both limits hold.
//!
//! | | rule |
//! | --- | --- |
//! | ingress pool | the buffer without the headroom of eight queues of each port. A queue's threshold is alpha times what the pool has left, with the packet itself in the pool |
//! | headroom | begins with the packet that takes its queue above the threshold, whatever its length, and takes all further packets until it is empty |
//! | ingress | a packet of a queue that uses headroom is dropped if it does not fit the queue's headroom, or all headroom |
//! | egress | a packet is dropped if its egress queue would hold more than alpha of the egress times what the egress pool has left, or if the pool has no room; the pool is the whole buffer |
//! | PAUSE | once, when headroom comes into use |
//! | RESUME | without headroom, below a fixed length or below the threshold by the offset; tested when a packet of the queue leaves |
//!
//! Bytes of a departing packet return to headroom first. If headroom is above the buffer, the size of the ingress pool wraps
//! in the simulator: the pool has no end, and nothing pauses.

pub mod settings;

use zerocopy::FromBytes;

use super::pfc::pause_if;
use super::state::Line;
use super::{
    Announces, Arriving, Ingress, Leaving, PauseLevel, Released, Room, Scheme, Stays, Watched,
};
use crate::cell::Cell64;
use crate::drop_reason::DropReason;
use crate::hop_control::Order;
use crate::map_abi::{Pool, SchemeLine};
use crate::policy::Policy;
use crate::tables::Tables;

pub use settings::Settings;

/// See the module.
#[derive(Debug)]
pub struct SonicPools;

/// Sizes of the pools, and bytes in use at egress.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PoolsLine {
    /// Size of the ingress pool, bytes.
    pub ingress_bytes: Cell64,
    /// Size of the egress pool: the whole buffer.
    pub egress_bytes: Cell64,
    /// Headroom of all queues.
    pub headroom_bytes: Cell64,
    /// Alpha of egress queues.
    pub egress_alpha: Cell64,
    /// Length below which a queue resumes whatever its threshold.
    pub xon_bytes: Cell64,
    /// Bytes in the egress pool.
    pub egress_used: Cell64,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for PoolsLine {}

/// The pools of a switch.
#[inline(always)]
pub fn pools<T: Tables>(tables: &T) -> Option<&PoolsLine> {
    tables.scheme_line(0).map(SchemeLine::view)
}

/// Threshold of a queue while the ingress pool has `more` bytes than now.
#[inline(always)]
fn threshold_with<T>(at: &Ingress<'_, T>, pools: &PoolsLine, more: u64) -> u64 {
    let used = at.switch.buffered_bytes() - at.switch.headroom_bytes.load() + more;
    let left = pools.ingress_bytes.load().saturating_sub(used);
    if left > u64::from(u32::MAX) {
        // The pool wraps: no queue reaches any share of it.
        return u64::MAX;
    }
    let numerator = u64::from(at.port.alpha_numerator.load());
    left * numerator / u64::from(at.port.alpha_denominator.load()).max(1)
}

/// True if a packet fits the egress pool, and its egress queue.
#[inline(always)]
fn fits_egress<T>(packet: &Arriving<'_, T>, pools: &PoolsLine) -> bool {
    let left = pools.egress_bytes.load().saturating_sub(pools.egress_used.load());
    let of_queue = packet.egress.bytes.load() + packet.length;
    // At most the largest buffer times 2^32 - 1, which is a u64.
    packet.length <= left && of_queue <= left * pools.egress_alpha.load()
}

impl Scheme for SonicPools {
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        pools(at.tables).map_or(0, |pools| threshold_with(at, pools, 0))
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        let Arriving { ingress: at, length, .. } = *packet;
        let pools = pools(at.tables).ok_or(DropReason::BrokenTable)?;
        let headroom = at.queue.headroom_bytes.load();
        let fits_headroom = headroom + length <= at.port.headroom_bytes.load()
            && at.switch.headroom_bytes.load() + length <= pools.headroom_bytes.load();
        if headroom > 0 && !fits_headroom {
            return Err(DropReason::HeadroomExhausted);
        }
        if !fits_egress(packet, pools) {
            return Err(DropReason::EgressPoolExhausted);
        }
        let is_above = at.queue.held_bytes() + length > threshold_with(&at, pools, length);
        Ok(if headroom > 0 || is_above { Pool::Headroom } else { Pool::Shared })
    }

    #[inline(always)]
    fn charge<T: Tables>(packet: &Arriving<'_, T>, _pool: Pool, bytes: u64) {
        if let Some(pools) = pools(packet.ingress.tables) {
            pools.egress_used.add::<T>(bytes);
        }
    }

    #[inline(always)]
    fn release<T: Tables>(packet: &Leaving<'_, T>, _given_back: Released) {
        if let Some(pools) = pools(packet.ingress.tables) {
            pools.egress_used.sub::<T>(packet.length);
        }
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        _pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let at = &packet.ingress;
        pause_if(at, at.queue.headroom_bytes.load() > 0, Self::threshold(at), send);
    }

    #[inline(always)]
    fn refused<T: Tables>(_packet: &Arriving<'_, T>, _send: &mut impl FnMut(&Order)) {}

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        if let Some(order) = Self::resume(&packet.ingress) {
            send(&order);
        }
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        let pools = pools(at.tables)?;
        if at.queue.off.load() == 0 || at.queue.headroom_bytes.load() != 0 {
            return None;
        }
        let (held, threshold) = (at.queue.held_bytes(), threshold_with(at, pools, 0));
        if held >= pools.xon_bytes.load() && held + at.config.xon_offset_bytes > threshold {
            return None;
        }
        at.queue.off.store(0);
        Some(at.resume_queue(threshold.saturating_sub(at.config.xon_offset_bytes)))
    }

    /// An empty queue resumes whatever the thresholds.
    fn may_resume<T: Tables>(
        _at: &Ingress<'_, T>,
        level: PauseLevel,
        _computed: Policy,
        _stays: Stays,
    ) -> bool {
        level == PauseLevel::Queue
    }

    fn room(_policy: Policy, _ports: u32) -> Room {
        Room { lines: 1, blocks: 1 }
    }
}

impl Announces for SonicPools {}

impl Watched for SonicPools {}

#[cfg(test)]
mod tests;
