//! Flow control of queues and of ports (Section IV-E).
//!
//! A class is paused at the neighbour while its queue or its port is OFF. A port that turns OFF
//! pauses all lossless classes in one frame; while it is OFF, queues change their states without a
//! frame. A port that turns ON resumes the classes whose queues are ON. Its frame also renews the
//! pauses of the other classes, which from then on are pauses of their queues.

use super::estimation::Estimator;
use super::pools::{has_share, settle};
use super::settings::Options;
use super::state::PortLine;
use super::{Dsh, activity, state};
use crate::hop_control::{ClassPauses, HopControl, Order, PauseLevel, next_pause};
use crate::map_abi::{OFF_WITHOUT_ROOM, Pool, SwitchConfig};
use crate::policy::ThresholdScheme;
use crate::priority;
use crate::scheme::{Ingress, Scheme, end_renewed, renew_queue, xon_without_room};
use crate::tables::Tables;
use units::Nanos;

/// X_poff: the port's queues may hold together what each of them may hold (Eq. 11).
#[inline(always)]
pub fn port_xoff(config: &SwitchConfig, threshold: u64) -> u64 {
    // A static threshold may be any number. The limit keeps its product with at most 8 from overflowing.
    const MAX_SIZE: u64 = u64::MAX >> 4;
    threshold.min(MAX_SIZE) * u64::from(config.lossless_queues)
}

/// Pauses queues above X_qoff = T - tau (Eq. 10) and ports above X_poff = N_q T (Eq. 11).
#[inline(always)]
pub fn after_arrival<T: Tables>(
    at: &Ingress<'_, T>,
    pool: Pool,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) {
    let Ingress { config, queue, .. } = *at;
    let Some((port, estimator)) = state::port(at).zip(Estimator::new(at)) else { return };
    let single = activity::observe(estimator.settings, port, at.priority, now);
    estimator.measure(queue, now);
    if !matches!(at.policy.threshold(), ThresholdScheme::Stored) {
        estimator.queue.tau_bytes.store(tau(at, &estimator, single));
    }
    let threshold = Dsh::threshold(at);
    let queue_xoff = threshold.saturating_sub(u64::from(estimator.queue.tau_bytes.load()));
    let had_share = has_share(at);
    let queue_turns_off = queue.off.load() == 0 && queue.shared_bytes.load() > queue_xoff;
    if queue_turns_off {
        queue.off.store(1);
    }
    if port.off.load() != 0 {
        return;
    }
    let port_xoff = port_xoff(config, threshold);
    let shared = port.shared_bytes.load();
    if shared > port_xoff || matches!(pool, Pool::Headroom) {
        port.off.store(1);
        let pause = next_pause::<T>(&port.pauses);
        let room = if had_share { at.shared_free() } else { 0 };
        send(&Order { pause, ..pause_port(at, port, port_xoff.min(shared + room)) });
    } else if queue_turns_off {
        let pause = next_pause::<T>(&queue.pauses);
        send(&Order { pause, ..at.pause_queue(queue_xoff) });
    }
}

/// Moves insurance to the shared pool as far as there is room, then turns the queue and the port ON if possible.
#[inline]
pub fn after_departure<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    settle(at);
    let resumed = resume_queue(at);
    if state::port(at)?.off.load() != 0 {
        return resume_settled(at);
    }
    resumed
}

/// Turns an OFF queue ON if it is at or below X_qon. The order is not sent to the neighbour while the port is OFF.
#[inline(always)]
pub fn resume_queue<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    if at.queue.off.load() == 0 {
        return None;
    }
    let xon = queue_xon(at, Dsh::threshold(at));
    if at.queue.shared_bytes.load() > xon {
        return None;
    }
    at.queue.off.store(0);
    Some(at.resume_queue(xon))
}

/// Returns X_qon (Eq. 10) under a threshold.
#[inline(always)]
pub fn queue_xon<T: Tables>(at: &Ingress<'_, T>, threshold: u64) -> u64 {
    threshold.saturating_sub(Dsh::margin(at)).saturating_sub(at.config.xon_offset_bytes)
}

/// Renews a queue's pause unless it is over or its port's pause covers it; ends it if possible and
/// if the switch tests pauses at renewals. Renews a port's pause, or turns the port ON if possible.
pub fn renewal<T: Tables>(at: &Ingress<'_, T>, level: PauseLevel, pause: u32) -> Option<Order> {
    let port = state::port(at)?;
    let port_off = port.off.load() != 0;
    match level {
        PauseLevel::Queue if port_off => None,
        PauseLevel::Queue => renew_queue::<Dsh, T>(at, pause),
        PauseLevel::Port if port_off && port.pauses.load() == pause => {
            settle(at);
            let again = || pause_port(at, port, port_xoff(at.config, Dsh::threshold(at)));
            Some(resume_settled(at).unwrap_or_else(again))
        }
        PauseLevel::Port => None,
    }
}

/// Turns an OFF port ON if its insurance headroom is empty and its shared occupancy is at or below
/// X_pon. The RESUME renews the pauses of the classes whose queues are OFF. From then on these are
/// pauses of the queues.
fn resume_settled<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    let Ingress { config, .. } = *at;
    let (settings, port) = (state::settings(at.tables)?, state::port(at)?);
    let xon =
        port_xoff(config, Dsh::threshold(at)).saturating_sub(settings.port_xon_offset_bytes.load());
    if port.insurance_bytes.load() != 0 || port.shared_bytes.load() > xon {
        return None;
    }
    let xon = port_xon(at, port, xon, at.shared_free())?;
    port.off.store(0);
    let mut still_off = 0;
    for queue in priority::all().filter_map(|priority| at.sibling(priority)) {
        if queue.queue.off.load() != 0 && end_renewed::<Dsh, T>(&queue).is_none() {
            still_off |= queue.priority.bit();
            next_pause::<T>(&queue.queue.pauses);
        }
    }
    let still_off = still_off & config.lossless_classes;
    let resumed = ClassPauses::xon(config.lossless_classes & !still_off);
    let pauses = resumed.and_xoff(still_off, config.pause_quanta);
    Some(port_order(at, port, pauses, true, xon))
}

/// X_pon of a port that is OFF and without insurance, `free` bytes of the shared pool being free: `xon`, unless it has refused a
/// packet. `None` if it has, and its lossless queues still hold more than `xon_without_room`.
pub fn port_xon<T: Tables>(
    at: &Ingress<'_, T>,
    port: &PortLine,
    xon: u64,
    free: u64,
) -> Option<u64> {
    if port.off.load() != OFF_WITHOUT_ROOM {
        return Some(xon);
    }
    let shared = port.shared_bytes.load();
    let offset = state::settings(at.tables)?.port_xon_offset_bytes.load();
    let xon = xon_without_room(xon, shared + free, offset);
    let classes = priority::in_mask(at.config.lossless_classes);
    let queues = classes.filter_map(|priority| at.sibling(priority));
    let private: u64 = queues.map(|queue| queue.queue.private_bytes.load()).sum();
    (private + shared <= xon).then_some(xon)
}

/// Pauses all lossless classes.
#[inline(always)]
fn pause_port<T: Tables>(at: &Ingress<'_, T>, port: &PortLine, xoff: u64) -> Order {
    let Ingress { config, .. } = *at;
    let pauses = ClassPauses::xoff(config.lossless_classes, config.pause_quanta);
    port_order(at, port, pauses, false, xoff)
}

#[inline(always)]
fn port_order<T: Tables>(
    at: &Ingress<'_, T>,
    port: &PortLine,
    pauses: ClassPauses,
    resumes: bool,
    threshold_bytes: u64,
) -> Order {
    Order {
        control: HopControl::Classes(pauses),
        level: PauseLevel::Port,
        resumes,
        pause: port.pauses.load(),
        occupancy_bytes: port.shared_bytes.load() + port.insurance_bytes.load(),
        threshold_bytes,
        shared_free_bytes: at.shared_free(),
    }
}

/// Returns the current tau (Algorithm 4): phi-hat, or 0 if the port has a single active queue or no
/// shared headroom.
///
/// Line 4 of Algorithm 4 sets tau only when the queue changes. Eq. 10 uses the current phi-hat,
/// which changes with every packet; this function follows Eq. 10.
#[inline(always)]
pub fn tau<T>(at: &Ingress<'_, T>, estimator: &Estimator<'_>, single_queue: bool) -> u32 {
    let shared_headroom = Options::from_bits(at.policy.options).shared_headroom;
    if single_queue || !shared_headroom { 0 } else { estimator.headroom() }
}

#[cfg(test)]
mod tests;
