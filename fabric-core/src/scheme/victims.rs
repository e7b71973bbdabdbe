//! Victims of congestion elsewhere in a scheme (SPFC, Section IV-B): a victim's ingress queues may
//! use the whole shared pool, all other queues have the policy's threshold.
//!
//! [`spfc`](super::spfc) defines when a port is a victim, and its [`state`](super::spfc::state) is the circuit that
//! detects it. A scheme returns the position of its circuits by [`HasVictims`], and calls
//!
//! | from | this |
//! | --- | --- |
//! | [`Scheme::threshold`] | [`threshold()`] |
//! | [`Scheme::admit`] | [`threshold_of_arrival`] |
//! | [`Scheme::after_arrival`] | [`tick`] first, and [`paused`] for each order |
//! | [`Scheme::at_departure`] | [`count`] |
//! | [`Scheme::after_departure`], [`Scheme::renewal`] | [`resumed`] for each order |
//! | [`Scheme::observe`] | [`threshold_of_normal`]: a victim's threshold needs no control plane |
//! | [`Watched::states`](super::Watched::states), [`Watched::state`](super::Watched::state), [`Watched::tick`](super::Watched::tick), [`Scheme::room`] | [`states`], [`state`], [`tick_of`], [`lines`] |
//!
//! A queue that is OFF is not a victim, and neither is its port: its PAUSE has reset the state. So the threshold that
//! ends a pause is equal in all periods, and a packet that is dropped, which does not depart, need not tick.

use super::spfc::settings::{Settings, StateOf};
use super::spfc::state::StateLine;
use super::{Arriving, Ingress, IngressState, Leaving, Scheme};
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::map_abi::{PRIORITIES, SchemeLine, class_row};
use crate::policy::Policy;
use crate::priority::{self, Priority};
use crate::tables::Tables;
use crate::threshold;
use units::{BitsPerSecond, Nanos};

/// A scheme that can have victims.
pub trait HasVictims: Scheme {
    /// Returns the position of the circuits of a switch with `ports` ports. `None` if the policy has no victims.
    fn circuits(policy: Policy, ports: u32) -> Option<Circuits>;
}

/// Position of a scheme's circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuits {
    /// Owner of a circuit: each port or each queue.
    pub per: StateOf,
    /// Line of the first circuit. The others follow in the order of ports or of (port, priority).
    pub first_line: u32,
}

impl Circuits {
    /// Returns the circuit of (`port`, `priority`).
    #[inline(always)]
    pub fn line<T: Tables>(self, tables: &T, port: u32, priority: Priority) -> Option<&StateLine> {
        let row = match self.per {
            StateOf::Port => port,
            StateOf::Queue => class_row(port, priority),
        };
        tables.scheme_line(self.first_line.wrapping_add(row)).map(SchemeLine::view)
    }

    /// Number of lines of the circuits of a switch with `ports` ports.
    pub const fn lines(self, ports: u32) -> u32 {
        match self.per {
            StateOf::Port => ports,
            StateOf::Queue => ports * PRIORITIES as u32,
        }
    }

    /// Writes the settings into the circuits of `port`, which has this rate.
    ///
    /// # Panics
    /// If the tables are too small.
    pub fn write<T: Tables>(self, tables: &T, port: u32, rate: BitsPerSecond, settings: &Settings) {
        for priority in priority::all() {
            let line = self.line(tables, port, priority);
            settings.write_line(line.expect("the tables have room for the scheme's state"), rate);
        }
    }
}

/// Returns the circuit of an ingress queue, or of its port. `None` if the policy has no victims.
#[inline(always)]
fn line<'a, S: HasVictims, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a StateLine> {
    S::circuits(at.policy, at.config.ports)?.line(at.tables, at.port_number, at.priority)
}

/// Returns the circuit of (`port`, `priority`). `None` if the policy has no victims.
#[inline(always)]
fn line_of<S: HasVictims, T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    priority: Priority,
) -> Option<&StateLine> {
    S::circuits(policy, tables.config()?.ports)?.line(tables, port, priority)
}

/// Returns T(t) in the state after the last arrival, departure or end of a period.
#[inline(always)]
pub fn threshold<S: HasVictims, T: Tables>(at: &Ingress<'_, T>) -> u64 {
    threshold_by(at, line::<S, T>(at).is_some_and(|line| line.victim.load() != 0))
}

/// Returns T(t) for an arriving packet. Changes no state.
///
/// # Errors
/// [`DropReason::BrokenTable`] if the line of a circuit that the policy has is missing.
#[inline(always)]
pub fn threshold_of_arrival<S: HasVictims, T: Tables>(
    packet: &Arriving<'_, T>,
) -> Result<u64, DropReason> {
    let at = &packet.ingress;
    let Some(circuits) = S::circuits(at.policy, at.config.ports) else {
        return Ok(threshold_of_normal(at));
    };
    let line = circuits.line(at.tables, at.port_number, at.priority);
    let line = line.ok_or(DropReason::BrokenTable)?;
    Ok(threshold_by(at, line.is_victim(packet.now)))
}

/// Returns T(t) of a normal port or queue.
#[inline(always)]
pub fn threshold_of_normal<T: Tables>(at: &Ingress<'_, T>) -> u64 {
    threshold::evaluate(at.policy, at.config, at.switch, at.port, at.queue)
}

/// Returns T(t) of a victim, or of a normal port or queue.
#[inline(always)]
pub(super) fn threshold_by<T: Tables>(at: &Ingress<'_, T>, is_victim: bool) -> u64 {
    if is_victim { at.config.shared_pool_bytes } else { threshold_of_normal(at) }
}

/// Updates the state to time `now`.
#[inline(always)]
pub fn tick<S: HasVictims, T: Tables>(at: &Ingress<'_, T>, now: Nanos) {
    if let Some(line) = line::<S, T>(at) {
        line.tick(now);
    }
}

/// Counts a departing packet, lossless or lossy: the ingress dequeue signal of Fig. 10. A lossy queue has no state.
#[inline(always)]
pub fn count<S: HasVictims, T: Tables>(packet: &Leaving<'_, T>) {
    let at = &packet.ingress;
    let Some(circuits) = S::circuits(at.policy, at.config.ports) else { return };
    if circuits.per == StateOf::Queue && !at.config.is_lossless(at.priority) {
        return;
    }
    if let Some(line) = circuits.line(at.tables, at.port_number, at.priority) {
        line.tick(packet.now);
        line.count::<T>(packet.length);
    }
}

/// Records that the neighbour is paused. Call [`tick`] first, so that the state is current.
#[inline(always)]
pub fn paused<S: HasVictims, T: Tables>(at: &Ingress<'_, T>, order: &Order) {
    if let (Some(line), HopControl::Classes(pauses)) = (line::<S, T>(at), order.control) {
        line.reset(pauses.named);
    }
}

/// Records that the neighbour is resumed. A renewed PAUSE changes nothing. Kept apart from [`paused`], because
/// verifiers reject a program that scans the order of an arrival for resumed classes, which it never has.
pub fn resumed<S: HasVictims, T: Tables>(at: &Ingress<'_, T>, order: &Order, now: Nanos) {
    if let (Some(line), HopControl::Classes(pauses)) = (line::<S, T>(at), order.control) {
        line.tick(now);
        line.release(pauses.resumed());
    }
}

/// Returns the level of the states. `None` if the policy has no victims.
pub fn states<S: HasVictims>(policy: Policy) -> Option<PauseLevel> {
    // The level does not depend on the number of ports.
    S::circuits(policy, 0).map(|circuits| match circuits.per {
        StateOf::Port => PauseLevel::Port,
        StateOf::Queue => PauseLevel::Queue,
    })
}

/// Returns the state of (`port`, `priority`) after the last arrival, departure or end of a period.
pub fn state<S: HasVictims, T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    priority: Priority,
) -> Option<IngressState> {
    line_of::<S, T>(tables, policy, port, priority).map(StateLine::shown)
}

/// Runs [`tick`] for (`port`, `priority`).
pub fn tick_of<S: HasVictims, T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    priority: Priority,
    now: Nanos,
) {
    if let Some(line) = line_of::<S, T>(tables, policy, port, priority) {
        line.tick(now);
    }
}

/// Number of lines of all circuits of a switch with `ports` ports, for [`Room`](super::Room).
pub fn lines<S: HasVictims>(policy: Policy, ports: u32) -> u32 {
    S::circuits(policy, ports).map_or(0, |circuits| circuits.lines(ports))
}
