//! PFC with static and independent headroom (SIH): each ingress queue pauses its class by its own
//! occupancy and has its own headroom (DSH, Section II-B).

use super::{Announces, Arriving, Configure, Ingress, Leaving, Scheme, Watched, xon_of_queue};
use crate::admission::{beyond_private, fits_headroom, fits_private, fits_shared};
use crate::drop_reason::DropReason;
use crate::hop_control::{Order, next_pause};
use crate::map_abi::Pool;
use crate::tables::Tables;
use crate::threshold::shared_free;

/// Settings of PFC: an empty set, because buffer and thresholds are the switch's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings;

impl Configure for Settings {}

/// Pools: private, shared, the queue's own headroom (DSH, Algorithm 1). X_off = T(t), X_on = X_off - delta.
#[derive(Debug)]
pub struct Pfc;

impl Scheme for Pfc {
    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        admit(packet, Self::threshold(&packet.ingress))
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        pause(&packet.ingress, Self::threshold(&packet.ingress), pool, send);
    }

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        if let Some(order) = Self::resume(&packet.ingress) {
            send(&order);
        }
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        resume::<Self, T>(at)
    }
}

impl Announces for Pfc {}

impl Watched for Pfc {}

/// Returns the pool that takes a lossless packet. `threshold` is T(t) of the packet's queue (DSH, Algorithm 1).
#[inline(always)]
pub fn admit<T: Tables>(packet: &Arriving<'_, T>, threshold: u64) -> Result<Pool, DropReason> {
    if fits_private(packet) {
        return Ok(Pool::Private);
    }
    if packet.ingress.config.splits_packets != 0 {
        return admit_split(packet, threshold);
    }
    if fits_shared(packet, threshold) {
        return Ok(Pool::Shared);
    }
    if fits_headroom(packet) {
        return Ok(Pool::Headroom);
    }
    Err(DropReason::HeadroomExhausted)
}

/// Runs [`admit`] with private buffers filled to the byte, as in the HPCC simulator (`SwitchMmu` of its ns-3). Pools
/// may fill completely, and headroom takes whole packets even if the private buffer has room for a part.
#[inline(always)]
fn admit_split<T: Tables>(packet: &Arriving<'_, T>, threshold: u64) -> Result<Pool, DropReason> {
    let Ingress { config, switch, port, queue, .. } = packet.ingress;
    let rest = beyond_private(packet);
    if rest == 0 {
        return Ok(Pool::Private);
    }
    if queue.shared_bytes.load() + rest <= threshold && rest <= shared_free(config, switch) {
        return Ok(Pool::PrivateAndShared);
    }
    if queue.headroom_bytes.load() + packet.length <= port.headroom_bytes.load() {
        return Ok(Pool::Headroom);
    }
    Err(DropReason::HeadroomExhausted)
}

/// Pauses the class if due after a packet was admitted to `pool`; `xoff` is the queue's X_off. ON
/// to OFF in DSH, Fig. 3. Returns true if it has paused.
#[inline(always)]
pub fn pause<T: Tables>(
    at: &Ingress<'_, T>,
    xoff: u64,
    pool: Pool,
    send: &mut impl FnMut(&Order),
) -> bool {
    pause_if(at, is_due(at, xoff, pool), xoff, send)
}

/// True if a queue whose packet was admitted to `pool` is above X_off.
#[inline(always)]
pub fn is_due<T>(at: &Ingress<'_, T>, xoff: u64, pool: Pool) -> bool {
    // Algorithm 1 keeps omega_s below T(t), so a queue without room for its next packet shows by
    // its use of headroom. omega_s exceeds X_off if T(t) has fallen.
    at.queue.shared_bytes.load() > xoff || matches!(pool, Pool::Headroom)
}

/// Pauses the class of a queue that is ON if `is_due`; `limit` is the threshold. Returns true if it has paused.
#[inline(always)]
pub fn pause_if<T: Tables>(
    at: &Ingress<'_, T>,
    is_due: bool,
    limit: u64,
    send: &mut impl FnMut(&Order),
) -> bool {
    if at.queue.off.load() != 0 || !is_due {
        return false;
    }
    let shared = at.queue.shared_bytes.load();
    at.queue.off.store(1);
    let pause = next_pause::<T>(&at.queue.pauses);
    send(&Order { pause, ..at.pause_queue(limit.min(shared + at.shared_free())) });
    true
}

/// Resumes the class of an OFF queue without headroom that has fallen to X_on: OFF to ON in DSH,
/// Fig. 3. X_off is the scheme's threshold.
#[inline(always)]
pub fn resume<S: Scheme, T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    if at.queue.off.load() == 0 || at.queue.headroom_bytes.load() != 0 {
        return None;
    }
    resume_at(at, S::threshold(at).saturating_sub(at.config.xon_offset_bytes))
}

/// Resumes the class of an OFF queue without headroom that has fallen to `xon`.
#[inline(always)]
pub fn resume_at<T: Tables>(at: &Ingress<'_, T>, xon: u64) -> Option<Order> {
    if at.queue.shared_bytes.load() > xon {
        return None;
    }
    end_pause(at, xon)
}

/// Resumes the class of a queue that is OFF and holds no headroom, because of X_on, unless it has refused a packet and is above
/// X_on with its private bytes.
#[inline(always)]
pub fn end_pause<T: Tables>(at: &Ingress<'_, T>, xon: u64) -> Option<Order> {
    if at.queue.off.load() == 0 || at.queue.headroom_bytes.load() != 0 {
        return None;
    }
    let xon = xon_of_queue(at, xon, at.shared_free())?;
    at.queue.off.store(0);
    Some(at.resume_queue(xon))
}

#[cfg(test)]
mod tests;
