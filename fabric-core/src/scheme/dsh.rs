//! DSH: dynamic and shared headroom (Shan et al., IEEE Transactions on Networking, 2025, Section IV).
//!
//! The buffer consists of private pools, insurance headroom (Phi for each port, Eq. 9), and the
//! rest, which holds both shared footroom and shared headroom under DT (Eq. 2). [`estimation`]
//! predicts the headroom that a queue needs, [`activity`] detects a queue that is the only active
//! one of its port, [`pools`] chooses the pool of a packet, and [`two_level`] pauses queues (Eq.
//! 10) and ports (Eq. 11). [`state`] is the state, [`settings`] the configuration.
//! **No lossless packet is lost.** A port is ON only while its insurance headroom is empty: a
//! packet that enters insurance turns the port OFF, and the port turns ON only when insurance is
//! empty again. So after the packet that turns the port OFF, at most the bytes arrive that the link
//! carries until the PAUSE of all classes takes effect. Phi with the terms of [`crate::headroom`]
//! covers these bytes, whatever T(t), tau and the other ports do. Some of these bytes may go to the
//! shared pool: a port that is OFF still uses its share there, as an ingress queue that is OFF does
//! in Algorithm 1. This does not weaken the bound, and it ends OFF sooner.
//!
//! Ports that are [victims](victim_ports) (SPFC) have a different T(t).

pub mod activity;
pub mod estimation;
pub mod look_up;
pub mod pools;
pub mod settings;
pub mod state;
pub mod two_level;
pub mod victim_ports;

use super::victims;
use super::{
    Announces, Arriving, Changes, Ingress, IngressState, Leaving, PortUse, Released, Room, Scheme,
    Stays, Verdict, Watched, free_beside, highest_threshold,
};
use crate::drop_reason::DropReason;
use crate::hop_control::{Order, PauseLevel};
use crate::map_abi::{OFF_WITHOUT_ROOM, Pool};
use crate::policy::{Policy, ThresholdScheme};
use crate::priority::Priority;
use crate::tables::Tables;
use units::Nanos;

pub use settings::{Estimation, Options, Settings};

/// The scheme; its parts are functions of the modules.
#[derive(Debug)]
pub struct Dsh;

impl Scheme for Dsh {
    #[inline(always)]
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        victims::threshold::<Self, T>(at)
    }

    /// Returns tau in Eq. 10.
    #[inline(always)]
    fn margin<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        state::queue(at).map_or(0, |queue| u64::from(queue.tau_bytes.load()))
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        pools::admit(packet, victims::threshold_of_arrival::<Self, T>(packet)?)
    }

    #[inline(always)]
    fn charge<T: Tables>(packet: &Arriving<'_, T>, pool: Pool, bytes: u64) {
        pools::charge(&packet.ingress, pool, bytes);
    }

    #[inline(always)]
    fn release<T: Tables>(packet: &Leaving<'_, T>, given_back: Released) {
        pools::release(&packet.ingress, given_back);
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let at = &packet.ingress;
        victims::tick::<Self, T>(at, packet.now);
        let note_and_send = &mut |order: &Order| {
            victims::paused::<Self, T>(at, order);
            send(order);
        };
        two_level::after_arrival(at, pool, packet.now, note_and_send);
    }

    #[inline(always)]
    fn note_refusal<T: Tables>(at: &Ingress<'_, T>) {
        if let Some(port) = state::port(at).filter(|port| port.off.load() != 0) {
            port.off.store(OFF_WITHOUT_ROOM);
        }
    }

    #[inline(always)]
    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
        victims::count::<Self, T>(packet);
        Verdict::Send(Changes::default())
    }

    #[inline]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        let at = &packet.ingress;
        if let Some(order) = two_level::after_departure(at) {
            victims::resumed::<Self, T>(at, &order, packet.now);
            send(&order);
        }
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        two_level::resume_queue(at)
    }

    /// Also resumes a port that can turn ON now, because no departure does so if all its packets wait behind other
    /// pauses.
    fn renewal<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        pause: u32,
        now: Nanos,
    ) -> Option<Order> {
        let order = two_level::renewal(at, level, pause)?;
        victims::resumed::<Self, T>(at, &order, now);
        Some(order)
    }

    /// A queue turns ON at a renewal of its pause if it is at or below X_qon.
    ///
    /// A port turns ON if its occupancy is at or below X_pon and all its insurance can move to the
    /// shared pool ([`pools::settle`]). Without departures or arrivals, the sum of both does not
    /// change. If a queue that is OFF keeps insurance, because it gets no shared headroom, the port
    /// never turns ON at a renewal. The threshold is highest when all bytes that can leave have
    /// left and insurance has moved; a stored threshold may be older than either event.
    fn may_resume<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        computed: Policy,
        stays: Stays,
    ) -> bool {
        let stays = stays.in_pool;
        let highest = |stays| highest_threshold::<Self, T>(at, computed, stays);
        if level == PauseLevel::Queue {
            return at.queue.shared_bytes.load() <= two_level::queue_xon(at, highest(stays));
        }
        let Some((settings, port)) = state::settings(at.tables).zip(state::port(at)) else {
            return false;
        };
        if pools::keeps_insurance(at) {
            return false;
        }
        let insurance = port.insurance_bytes.load();
        let highest = highest(match at.policy.threshold() {
            ThresholdScheme::Stored => stays,
            ThresholdScheme::Dynamic | ThresholdScheme::Static => stays + insurance,
        });
        let xon = two_level::port_xoff(at.config, highest)
            .saturating_sub(settings.port_xon_offset_bytes.load());
        let free = free_beside(at, Stays { in_pool: stays, ..Stays::default() });
        two_level::port_xon(at, port, xon, free)
            .is_some_and(|xon| port.shared_bytes.load() + insurance <= xon)
    }

    fn observe<T: Tables>(at: &Ingress<'_, T>, _now: Nanos) {
        at.queue.stored_threshold_bytes.store(victims::threshold_of_normal(at));
        if let Some((port, estimator)) = state::port(at).zip(estimation::Estimator::new(at)) {
            let tau = two_level::tau(at, &estimator, port.single_queue.load() != 0);
            estimator.queue.tau_bytes.store(tau);
        }
    }

    fn room(policy: Policy, ports: u32) -> Room {
        let lines = state::lines(ports) + victims::lines::<Self>(policy, ports);
        Room { lines, blocks: state::blocks(ports) }
    }
}

impl Announces for Dsh {}

impl Watched for Dsh {
    fn port_use<T: Tables>(tables: &T, _policy: Policy, port: u32) -> PortUse {
        state::port_of(tables, port).map_or_else(PortUse::default, |port| PortUse {
            shared_bytes: port.shared_bytes.load(),
            headroom_bytes: port.insurance_bytes.load(),
            off: port.off.load() != 0,
        })
    }

    fn states(policy: Policy) -> Option<PauseLevel> {
        victims::states::<Self>(policy)
    }

    fn state<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
    ) -> Option<IngressState> {
        victims::state::<Self, T>(tables, policy, port, priority)
    }

    fn tick<T: Tables>(tables: &T, policy: Policy, port: u32, priority: Priority, now: Nanos) {
        victims::tick_of::<Self, T>(tables, policy, port, priority, now);
    }

    fn pauses_ports(_policy: Policy) -> bool {
        true
    }
}
