//! The PFC family: PFC that may also pause an ingress queue before it is above `X_off`. OFC is
//! compared with these schemes (Xiao et al., Sections IV-A4 and V).
//!
//! | rule | also pauses | source |
//! | --- | --- | --- |
//! | [`CongestionAware`](Settings::CongestionAware) | from `X_low` on, for a packet whose egress queue is congested | caPFC: Avci, Li and Liu, IFIP Networking 2016 |
//! | [`MeanOfEgress`](Settings::MeanOfEgress) | from `X_low` on, for a packet whose egress queue is as long as the mean | P-PFC, as OFC describes it |
//! | [`Predictive`](Settings::Predictive) | a queue that will have reached `X_off` at a horizon | P-PFC: Tian et al., IEEE TPDS 31(6), 2020 |
//! | [`PriorityAware`](Settings::PriorityAware) | low priorities, from `X_low` of their port on | G-PFC: Cui and Rim, APNOMS 2020 |
//!
//! None of the four papers is public with its formulas. The first, second and fourth are
//! reconstructed from the text of OFC, the third from the abstract of its paper, which uses the
//! derivative of the occupancy. [`settings`] and [`slope`] document the choices made here.
//!
//! Everything else is as in PFC ([`pfc`]): pools, each queue's own headroom, `X_off` = T(t), `X_on` below it. A rule
//! never delays a PAUSE, so headroom that is sufficient for PFC is sufficient here. The occupancy of a queue or port is
//! its bytes in the shared pool, as for `X_off`. It includes the packet that has just been admitted, and so does the
//! egress queue's length. All thresholds of a rule are reached at equality, as in OFC's Algorithm 1.
//!
//! **RESUME.** A queue resumes at or below `X_on`, unless its rule would pause it again at the next packet: at or above
//! `X_low`. (The literal rule of caPFC also requires that no egress queue with packets of the ingress queue is
//! congested, which has no effect below `X_low`.) With fixed thresholds `X_on` is below `X_low` and decides alone.

pub mod settings;
pub mod slope;
pub mod state;

use super::{
    Announces, Arriving, Ingress, Leaving, PauseLevel, Released, Room, Scheme, Stays, Watched,
    free_beside, highest_threshold, pfc, xon_of_queue,
};
use crate::drop_reason::DropReason;
use crate::hop_control::Order;
use crate::map_abi::Pool;
use crate::policy::Policy;
use crate::priority;
use crate::tables::Tables;
use crate::threshold;
use units::Nanos;

pub use settings::{MeanOf, Options, Rule, Settings};

/// The scheme.
#[derive(Debug)]
pub struct PfcFamily;

impl Scheme for PfcFamily {
    /// T(t). Under G-PFC, the port's T(t) minus the bytes of its other lossless queues.
    #[inline(always)]
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        threshold_of_port(at).saturating_sub(siblings(at))
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        pfc::admit(packet, Self::threshold(&packet.ingress))
    }

    #[inline(always)]
    fn charge<T: Tables>(packet: &Arriving<'_, T>, pool: Pool, bytes: u64) {
        let at = &packet.ingress;
        match Options::from_policy(at.policy).rule {
            Rule::MeanOfEgress => {
                let Some(class) = state::class(at) else { return };
                class.bytes.add::<T>(packet.length);
                // The packet is counted in its egress queue later.
                class.queues.add::<T>(u64::from(packet.egress.bytes.load() == 0));
            }
            Rule::PriorityAware if matches!(pool, Pool::Shared | Pool::PrivateAndShared) => {
                if let Some(port) = state::port(at) {
                    port.shared_bytes.add::<T>(bytes);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn release<T: Tables>(packet: &Leaving<'_, T>, given_back: Released) {
        let at = &packet.ingress;
        match Options::from_policy(at.policy).rule {
            Rule::MeanOfEgress => {
                let Some(class) = state::class(at) else { return };
                class.bytes.sub::<T>(packet.length);
                let is_last = packet.egress.bytes.load() == packet.length;
                class.queues.sub::<T>(u64::from(is_last));
            }
            Rule::PriorityAware => {
                if let Some(port) = state::port(at) {
                    port.shared_bytes.sub::<T>(given_back.shared);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let at = &packet.ingress;
        let xoff = Self::threshold(at);
        let early = early_limit(packet, xoff);
        let is_due = pfc::is_due(at, xoff, pool);
        let is_early = early.is_some_and(|limit| at.queue.shared_bytes.load() >= limit);
        let limit = if is_due { xoff } else { early.unwrap_or(xoff) };
        pfc::pause_if(at, is_due || is_early, limit, send);
    }

    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        let at = &packet.ingress;
        match Options::from_policy(at.policy).rule {
            Rule::CongestionAware | Rule::MeanOfEgress => Self::resume(at).iter().for_each(send),
            Rule::Predictive => resume_by_slope(at, packet.now).iter().for_each(send),
            // A departure also raises the limits of the other queues of its port.
            Rule::PriorityAware => {
                let classes = priority::in_mask(at.config.lossless_classes);
                let queues = classes.filter_map(|class| at.sibling(class));
                queues.filter_map(|queue| Self::resume(&queue)).for_each(|order| send(&order));
            }
        }
    }

    /// A renewal tests lengths, not slopes: departures from other queues may end the PAUSE of a
    /// queue without departures.
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        let xon = xon(at, Self::threshold(at), siblings(at))?;
        pfc::resume_at(at, xon)
    }

    /// As [`Self::resume`], if only stuck bytes are left: other queues of the port may hold less then.
    fn may_resume<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        computed: Policy,
        stays: Stays,
    ) -> bool {
        let beside = match Options::from_policy(at.policy).rule {
            Rule::PriorityAware => stays.beside,
            _ => 0,
        };
        let of_port = highest_threshold::<Self, T>(at, computed, stays.in_pool);
        let highest = of_port.saturating_sub(beside);
        level == PauseLevel::Queue
            && at.queue.headroom_bytes.load() == 0
            && xon(at, highest, beside)
                .filter(|xon| at.queue.shared_bytes.load() <= *xon)
                .and_then(|xon| xon_of_queue(at, xon, free_beside(at, stays)))
                .is_some()
    }

    fn observe<T: Tables>(at: &Ingress<'_, T>, _now: Nanos) {
        at.queue.stored_threshold_bytes.store(threshold_of_port(at));
    }

    fn room(policy: Policy, ports: u32) -> Room {
        Room { lines: state::lines(Options::from_policy(policy).rule, ports), blocks: 1 }
    }
}

impl Announces for PfcFamily {}

impl Watched for PfcFamily {}

/// T(t) without regard to other queues of the port.
#[inline(always)]
fn threshold_of_port<T: Tables>(at: &Ingress<'_, T>) -> u64 {
    threshold::evaluate(at.policy, at.config, at.switch, at.port, at.queue)
}

/// Bytes of the port's other lossless queues, if the rule counts per port.
#[inline(always)]
fn siblings<T: Tables>(at: &Ingress<'_, T>) -> u64 {
    match Options::from_policy(at.policy).rule {
        Rule::PriorityAware => state::port(at).map_or(0, |port| {
            port.shared_bytes.load().saturating_sub(at.queue.shared_bytes.load())
        }),
        _ => 0,
    }
}

/// Returns the threshold at which the rule pauses the queue of an admitted, counted packet. `None` if it does not.
#[inline(always)]
fn early_limit<T: Tables>(packet: &Arriving<'_, T>, xoff: u64) -> Option<u64> {
    let at = &packet.ingress;
    let settings = state::settings(at.tables)?;
    let low = settings.low_bytes.load();
    let held = packet.egress.bytes.load();
    match Options::from_policy(at.policy).rule {
        Rule::CongestionAware => (held >= settings.egress_bytes.load()).then_some(low),
        Rule::MeanOfEgress => {
            let class = state::class(at)?;
            let queues = if settings.of_non_empty.load() != 0 {
                class.queues.load()
            } else {
                let of_port = at.config.queues_of(at.priority).count.max(1);
                u64::from(at.config.ports) * u64::from(of_port)
            };
            // Wraps, because tests use tables without valid counts.
            (held.wrapping_mul(queues) >= class.bytes.load()).then_some(low)
        }
        Rule::Predictive => {
            let growth = slope::sample(at, settings, packet.now)?;
            // No departure would resume an empty queue.
            (growth > 0).then(|| xoff.saturating_sub(growth.unsigned_abs()).max(1))
        }
        Rule::PriorityAware => {
            let is_low = at.priority.is_in(settings.low_classes.load() as u8);
            is_low.then(|| low.saturating_sub(siblings(at)))
        }
    }
}

/// Returns `X_on` of a queue with the T(t) `threshold`, if the other queues of its port hold
/// `siblings` bytes. `None` if the rule pauses it at any length.
fn xon<T: Tables>(at: &Ingress<'_, T>, threshold: u64, siblings: u64) -> Option<u64> {
    let xon = threshold.saturating_sub(at.config.xon_offset_bytes);
    let settings = state::settings(at.tables)?;
    let has_low = match Options::from_policy(at.policy).rule {
        Rule::CongestionAware | Rule::MeanOfEgress => true,
        Rule::Predictive => false,
        Rule::PriorityAware => at.priority.is_in(settings.low_classes.load() as u8),
    };
    if !has_low {
        return Some(xon);
    }
    let below = settings.low_bytes.load().saturating_sub(siblings).checked_sub(1)?;
    Some(xon.min(below))
}

/// Resumes a queue whose extrapolated length at the horizon is at most `X_on`, or that is empty:
/// its slope may be old, and no departure will measure it again.
fn resume_by_slope<T: Tables>(at: &Ingress<'_, T>, now: Nanos) -> Option<Order> {
    let growth = slope::sample(at, state::settings(at.tables)?, now)?;
    let xon = PfcFamily::threshold(at).saturating_sub(at.config.xon_offset_bytes);
    let length = at.queue.shared_bytes.load();
    let then = length.saturating_add_signed(growth);
    (then <= xon || length == 0).then(|| pfc::end_pause(at, xon)).flatten()
}

#[cfg(test)]
mod tests;
