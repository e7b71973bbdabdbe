//! What a scheme does with victims of congestion elsewhere (SPFC, Section IV-B): a victim's ingress queues may hold the
//! whole shared pool, all others what the policy's threshold says.
//!
//! [`spfc`](super::spfc) says when a port is a victim, and its [`state`](super::spfc::state) is the circuit that knows
//! it. Here is what a scheme asks of these circuits: it says by [`HasVictims`] where they are, and calls
//!
//! | from | this |
//! | --- | --- |
//! | [`Scheme::threshold`] | [`threshold()`] |
//! | [`Scheme::admit`] | [`threshold_of_arrival`] |
//! | [`Scheme::after_arrival`] | [`tick`] first, and [`paused`] for each order |
//! | [`Scheme::at_departure`] | [`count`] |
//! | [`Scheme::after_departure`], [`Scheme::renewal`] | [`resumed`] for each order |
//! | [`Scheme::observe`] | [`threshold_of_normal`]: a victim's threshold needs no control plane |
//! | [`Scheme::states`], [`Scheme::state`], [`Scheme::tick`], [`Scheme::room`] | [`states`], [`state`], [`tick_of`], [`lines`] |
//!
//! A queue that is OFF is no victim, nor is its port: its PAUSE has reset the state. So a threshold by which a pause ends
//! is the same in every period, and a packet that is dropped, which has not departed, need not tick.

use super::spfc::settings::{Per, Settings};
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
    /// Where the circuits of a switch with so many ports are; `None` if the policy has no victims.
    fn circuits(policy: Policy, ports: u32) -> Option<Circuits>;
}

/// Where a scheme keeps its circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuits {
    /// What has one.
    pub per: Per,
    /// The line of the first. The others follow it, by port or by (port, priority).
    pub first_line: u32,
}

impl Circuits {
    /// The circuit of (`port`, `priority`).
    #[inline(always)]
    pub fn line<T: Tables>(self, tables: &T, port: u32, priority: Priority) -> Option<&StateLine> {
        let row = match self.per {
            Per::Port => port,
            Per::Queue => class_row(port, priority),
        };
        tables.scheme_line(self.first_line.wrapping_add(row)).map(SchemeLine::view)
    }

    /// How many lines they take on a switch with so many ports.
    pub const fn lines(self, ports: u32) -> u32 {
        match self.per {
            Per::Port => ports,
            Per::Queue => ports * PRIORITIES as u32,
        }
    }

    /// Writes the settings into those of `port`, whose rate this is.
    ///
    /// # Panics
    /// If the tables have no room for them.
    pub fn write<T: Tables>(self, tables: &T, port: u32, rate: BitsPerSecond, settings: &Settings) {
        for priority in priority::all() {
            let line = self.line(tables, port, priority);
            settings.write_line(line.expect("the tables have room for the scheme's state"), rate);
        }
    }
}

/// The circuit of an ingress queue, or of its port; `None` if the policy has no victims.
#[inline(always)]
fn line<'a, S: HasVictims, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a StateLine> {
    S::circuits(at.policy, at.config.ports)?.line(at.tables, at.port_number, at.priority)
}

/// The same of (`port`, `priority`).
#[inline(always)]
fn line_of<S: HasVictims, T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    priority: Priority,
) -> Option<&StateLine> {
    S::circuits(policy, tables.config()?.ports)?.line(tables, port, priority)
}

/// T(t), by the state as the last arrival, departure or end of a period has left it.
#[inline(always)]
pub fn threshold<S: HasVictims, T: Tables>(at: &Ingress<'_, T>) -> u64 {
    threshold_by(at, line::<S, T>(at).is_some_and(|line| line.victim.load() != 0))
}

/// T(t) for a packet that has just come in. Changes no state.
///
/// # Errors
/// [`DropReason::BrokenTable`] if there is no line for a circuit that the policy has.
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

/// T(t) of a port or queue that is normal.
#[inline(always)]
pub fn threshold_of_normal<T: Tables>(at: &Ingress<'_, T>) -> u64 {
    threshold::evaluate(at.policy, at.config, at.switch, at.port, at.queue)
}

/// T(t) of a victim, or of a port or queue that is normal.
#[inline(always)]
pub(super) fn threshold_by<T: Tables>(at: &Ingress<'_, T>, is_victim: bool) -> u64 {
    if is_victim { at.config.shared_pool_bytes } else { threshold_of_normal(at) }
}

/// Brings the state up to date.
#[inline(always)]
pub fn tick<S: HasVictims, T: Tables>(at: &Ingress<'_, T>, now: Nanos) {
    if let Some(line) = line::<S, T>(at) {
        line.tick(now);
    }
}

/// A packet departs, lossless or lossy: the ingress dequeue signal of Fig. 10. A lossy queue has no state of its own.
#[inline(always)]
pub fn count<S: HasVictims, T: Tables>(packet: &Leaving<'_, T>) {
    let at = &packet.ingress;
    let Some(circuits) = S::circuits(at.policy, at.config.ports) else { return };
    if circuits.per == Per::Queue && !at.config.is_lossless(at.priority) {
        return;
    }
    if let Some(line) = circuits.line(at.tables, at.port_number, at.priority) {
        line.tick(packet.now);
        line.count::<T>(packet.length);
    }
}

/// The neighbour is told to pause. The state must be that of now: [`tick`].
#[inline(always)]
pub fn paused<S: HasVictims, T: Tables>(at: &Ingress<'_, T>, order: &Order) {
    if let (Some(line), HopControl::Classes(pauses)) = (line::<S, T>(at), order.control) {
        line.reset(pauses.named);
    }
}

/// The neighbour is told to resume, or that a PAUSE goes on, which changes nothing. Separate from [`paused`]: verifiers refuse
/// a program that looks in the order of an arrival for classes that go on, of which there are none.
pub fn resumed<S: HasVictims, T: Tables>(at: &Ingress<'_, T>, order: &Order, now: Nanos) {
    if let (Some(line), HopControl::Classes(pauses)) = (line::<S, T>(at), order.control) {
        line.tick(now);
        line.release(pauses.resumed());
    }
}

/// What has a state, if something has.
pub fn states<S: HasVictims>(policy: Policy) -> Option<PauseLevel> {
    // What has circuits does not depend on the number of ports.
    S::circuits(policy, 0).map(|circuits| match circuits.per {
        Per::Port => PauseLevel::Port,
        Per::Queue => PauseLevel::Queue,
    })
}

/// The state of (`port`, `priority`), as the last arrival, departure or end of a period has left it.
pub fn state<S: HasVictims, T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    priority: Priority,
) -> Option<IngressState> {
    line_of::<S, T>(tables, policy, port, priority).map(StateLine::shown)
}

/// [`tick`] of (`port`, `priority`).
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

/// Lines of all circuits of a switch with so many ports, for [`Room`](super::Room).
pub fn lines<S: HasVictims>(policy: Policy, ports: u32) -> u32 {
    S::circuits(policy, ports).map_or(0, |circuits| circuits.lines(ports))
}
