//! PFC on service pools: the buffer of `ConWeave`'s ns-3 simulator (`SwitchMmu`), modelled there on Broadcom's chips.
//!
//! A packet is counted twice: in an ingress pool, by its port and class, and in the egress pool, by its egress queue.
//!
//! | | rule |
//! | --- | --- |
//! | egress | a packet is dropped if its queue would hold more than the egress pool has left; a frame's length of each queue, and 1 B, is not in the pool |
//! | ingress | a packet that takes its pool above the pool's size is in headroom; it is dropped if it does not fit there, unless its queue holds no more than a frame |
//! | PAUSE | with every packet, for each class of its port that holds more than two frames, and above them more than alpha times what the pool has left. For all of them if the packet's queue uses headroom |
//! | RESUME | below the threshold by the offset, and without headroom; tested when a packet of the class leaves, and for all classes of a port when a packet comes in |
//!
//! The ingress pools are one for class 1 and one for all others, of equal size; both count against the buffer. What a packet
//! takes of its port's headroom returns first. A pause ends by itself after a time: the driver clears `off` then.

pub mod settings;

use zerocopy::FromBytes;

use super::state::Line;
use super::{
    Announces, Arriving, Ingress, Leaving, PauseLevel, Released, Room, Scheme, Stays, Watched,
};
use crate::cell::Cell64;
use crate::drop_reason::DropReason;
use crate::hop_control::{Order, next_pause};
use crate::map_abi::{Pool, SchemeLine};
use crate::policy::Policy;
use crate::priority::{self, Priority};
use crate::tables::Tables;

pub use settings::Settings;

/// Class that counts in the second ingress pool; all others count in the first.
const CLASS_OF_SECOND_POOL: u8 = 1;
/// Frames of a queue that call for no PAUSE.
const FRAMES_WITHOUT_PAUSE: u64 = 2;

/// See the module.
#[derive(Debug)]
pub struct ServicePools;

/// Sizes of the pools, and their bytes in use.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PoolsLine {
    /// Size of each ingress pool, bytes.
    pub ingress_bytes: Cell64,
    /// Size of the egress pool, bytes.
    pub egress_bytes: Cell64,
    /// Length of a full frame.
    pub frame_bytes: Cell64,
    /// Bytes in the ingress pool of all classes but one.
    pub ingress_used: Cell64,
    /// Bytes in the ingress pool of class 1.
    pub second_ingress_used: Cell64,
    /// Bytes in the egress pool.
    pub egress_used: Cell64,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for PoolsLine {}

impl PoolsLine {
    /// Bytes of an egress queue of `held` bytes that are in the egress pool.
    #[inline(always)]
    fn in_egress_pool(&self, held: u64) -> u64 {
        held.saturating_sub(self.frame_bytes.load() + 1)
    }

    #[inline(always)]
    fn used(&self, class: Priority) -> &Cell64 {
        if class.number() == CLASS_OF_SECOND_POOL {
            &self.second_ingress_used
        } else {
            &self.ingress_used
        }
    }

    /// Bytes that the ingress pool of a class has left; negative if headroom is in use.
    #[inline(always)]
    fn ingress_left(&self, class: Priority) -> i64 {
        self.ingress_bytes.load().cast_signed() - self.used(class).load().cast_signed()
    }
}

/// The pools of a switch.
#[inline(always)]
pub fn pools<T: Tables>(tables: &T) -> Option<&PoolsLine> {
    tables.scheme_line(0).map(SchemeLine::view)
}

/// Bytes of a queue beyond those that call for no PAUSE; negative if there are fewer.
#[inline(always)]
fn beyond_free<T>(at: &Ingress<'_, T>, pools: &PoolsLine) -> i64 {
    at.queue.held_bytes().cast_signed()
        - (FRAMES_WITHOUT_PAUSE * pools.frame_bytes.load()).cast_signed()
}

/// Compares `bytes` of a queue with alpha times `left` bytes of a pool.
#[inline(always)]
fn compare<T>(at: &Ingress<'_, T>, bytes: i64, left: i64) -> core::cmp::Ordering {
    let numerator = i64::from(at.port.alpha_numerator.load());
    let denominator = i64::from(at.port.alpha_denominator.load());
    (bytes * denominator).cmp(&(left * numerator))
}

/// True if a packet of the class `arriving` calls for a PAUSE of the queue.
#[inline(always)]
fn pauses<T>(at: &Ingress<'_, T>, pools: &PoolsLine, arriving: &Ingress<'_, T>) -> bool {
    let beyond = beyond_free(at, pools);
    beyond > 0
        && (compare(at, beyond, pools.ingress_left(arriving.priority)).is_gt()
            || arriving.queue.headroom_bytes.load() != 0)
}

/// True if a paused queue resumes.
#[inline(always)]
fn resumes<T>(at: &Ingress<'_, T>, pools: &PoolsLine) -> bool {
    let beyond = beyond_free(at, pools) + at.config.xon_offset_bytes.cast_signed();
    at.queue.off.load() != 0
        && at.queue.headroom_bytes.load() == 0
        && compare(at, beyond, pools.ingress_left(at.priority)).is_lt()
}

/// Counts up the number of pauses with each PAUSE, so that the end of one knows if another has come.
#[inline(always)]
fn pause<T: Tables>(at: &Ingress<'_, T>, limit: u64) -> Order {
    at.queue.off.store(1);
    let pause = next_pause::<T>(&at.queue.pauses);
    Order { pause, ..at.pause_queue(limit) }
}

impl Scheme for ServicePools {
    /// Alpha times the bytes that the queue's ingress pool has left, beside the bytes that call for no PAUSE.
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        let Some(pools) = pools(at.tables) else { return 0 };
        let left = u64::try_from(pools.ingress_left(at.priority)).unwrap_or(0);
        let numerator = u64::from(at.port.alpha_numerator.load());
        let denominator = u64::from(at.port.alpha_denominator.load()).max(1);
        left * numerator / denominator + FRAMES_WITHOUT_PAUSE * pools.frame_bytes.load()
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        let Arriving { ingress: at, egress, length, .. } = *packet;
        let pools = pools(at.tables).ok_or(DropReason::BrokenTable)?;
        let of_queue = pools.in_egress_pool(egress.bytes.load());
        if of_queue + length + pools.egress_used.load() > pools.egress_bytes.load() {
            return Err(DropReason::EgressPoolExhausted);
        }
        let left = pools.ingress_left(at.priority);
        // The pool is above its size before the packet, and the queue's first frame is free.
        let fits = at.queue.headroom_bytes.load() + length <= at.port.headroom_bytes.load();
        let is_first = at.queue.held_bytes() + length <= pools.frame_bytes.load();
        if left < 0 && !fits && !is_first {
            return Err(DropReason::HeadroomExhausted);
        }
        Ok(if left < length.cast_signed() { Pool::Headroom } else { Pool::Shared })
    }

    #[inline(always)]
    fn charge<T: Tables>(packet: &Arriving<'_, T>, _pool: Pool, bytes: u64) {
        let Some(pools) = pools(packet.ingress.tables) else { return };
        pools.used(packet.ingress.priority).add::<T>(bytes);
        let before = packet.egress.bytes.load();
        let grows = pools.in_egress_pool(before + bytes) - pools.in_egress_pool(before);
        pools.egress_used.add::<T>(grows);
    }

    #[inline(always)]
    fn release<T: Tables>(packet: &Leaving<'_, T>, _given_back: Released) {
        let Some(pools) = pools(packet.ingress.tables) else { return };
        pools.used(packet.ingress.priority).sub::<T>(packet.length);
        let before = packet.egress.bytes.load();
        let after = before.saturating_sub(packet.length);
        pools.egress_used.sub::<T>(pools.in_egress_pool(before) - pools.in_egress_pool(after));
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        _pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let arriving = &packet.ingress;
        let Some(pools) = pools(arriving.tables) else { return };
        // PAUSEs of all classes, then RESUMEs of all.
        let classes = || priority::in_mask(arriving.config.lossless_classes);
        for at in classes().filter_map(|class| arriving.sibling(class)) {
            if pauses(&at, pools, arriving) {
                send(&pause(&at, Self::threshold(&at)));
            }
        }
        for at in classes().filter_map(|class| arriving.sibling(class)) {
            if let Some(order) = Self::resume(&at) {
                send(&order);
            }
        }
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
        if !resumes(at, pools) {
            return None;
        }
        at.queue.off.store(0);
        Some(at.resume_queue(Self::threshold(at).saturating_sub(at.config.xon_offset_bytes)))
    }

    /// A pause ends by itself.
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

impl Announces for ServicePools {}

impl Watched for ServicePools {}

#[cfg(test)]
mod tests;
