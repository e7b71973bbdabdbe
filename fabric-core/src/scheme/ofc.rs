//! OFC, Original congestion-based fine-grained priority Flow Control (Xiao et al., "OFC: An Original congestion-based
//! Fine-grained Priority Flow Control"): a switch pauses the flows that meet congestion, and not their whole class.
//!
//! [`identification`] is Algorithm 1, [`notification`] Algorithm 2 and [`rotation`] Algorithm 3; [`state`] is the
//! state, [`settings`] the configuration, and [`repetition`] an option. `q_in` is the number of bytes of an ingress
//! queue beyond its private buffer, `q_out` the number of bytes of the packet's priority at the egress port.
//!
//! **State.** The paper's three tables are one flow table for each egress port, which is set-associative and of bounded
//! size. An entry that counts packets is a row of `flow_in_port_tab`; an entry that the neighbour behind the egress
//! port has paused is a row of `congested_flow_tab`; an entry that the switch has reported to the neighbour at the
//! flow's ingress port is a row of `pause_frame_tab`, and the rows of an ingress queue are linked. A flow is the hash
//! of its five-tuple ([`flow_name`](crate::routing::flow_name)), which is equal at all switches; flows with equal
//! hashes are paused together.
//!
//! **Arrival.** A packet joins the normal queue of its priority, its flow's entry counts it, and the descriptor's note
//! stores the entry. With `X_off^c <= q_in < X_off` and `q_out >= X_off^c` the neighbour is sent a PAUSE of the
//! packet's flow: always if no flow of the egress port is paused (original congestion), otherwise only if this flow is
//! (local congestion). The frame also names up to three other such flows of this ingress port whose entries are near;
//! the rest follow with their own next packets, so that no arrival sends more than one frame. A flow is reported once
//! until it is resumed. Above `X_off` PFC pauses the class: the paper's "all flows paused", which prevents loss.
//!
//! **Control frames.** A PAUSE enters flows into the table. A RESUME removes them, and begins a rotation if the paused
//! queue holds packets. A RESUME during a rotation takes effect after the rotation: its flows may have packets in both
//! backup queues, and their packets in the queue that is drained may not be the oldest. The order mark needs no place
//! in a queue: no packet joins the queue that is drained, so its end is the mark.
//!
//! **Departure.** A packet of a paused flow moves to the paused queue when its turn comes ([`Verdict::Requeue`]).
//! During a rotation only the former paused queue is served; the two backup queues have exchanged their roles. The
//! paper counts queues modulo 2 there, which would select the normal queue; the exchange follows the paper's text.
//!
//! `X_on` is tested when a packet departs. The paper tests it when a packet arrives, so that a port
//! without arrivals, because all its flows are paused, would never resume them.
//!
//! **Full tables.** If a packet's flow finds no entry, the class is paused instead ([`state::ClassLine::class_pauses`]
//! counts this), and the packet keeps the flow's name ([`state::UNCOUNTED`]), to be held back after a later PAUSE with
//! an entry. If a PAUSE finds no entry for a flow, no packet leaves the normal queue until that flow is resumed.

pub mod identification;
pub mod notification;
pub mod repetition;
pub mod rotation;
pub mod settings;
pub mod state;
mod watched;

use super::pfc::{self, Pfc};
use super::{Announces, Arriving, Ingress, Leaving, Room, Scheme, Verdict};
use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::hop_control::{HopControl, Order};
use crate::map_abi::{Descriptor, Pool};
use crate::policy::Policy;
use crate::queue::{QueueId, QueueSet};
use crate::tables::Tables;
use units::Nanos;

pub use settings::{Options, Settings};

/// The scheme; its parts are functions of the modules.
#[derive(Debug)]
pub struct Ofc;

impl Scheme for Ofc {
    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        _egress_port: u32,
        _now: Nanos,
        fields: &Ipv4Fields,
    ) -> QueueId {
        let queues = at.config.queues_of(at.priority);
        if Options::from_policy(at.policy).covers(at.priority) {
            queues.member(state::NORMAL)
        } else {
            queues.select(|| at.queue_hash(fields))
        }
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        Pfc::admit(packet)
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        Pfc::after_arrival(packet, pool, send);
    }

    #[inline(always)]
    fn enqueued<T: Tables>(
        packet: &Arriving<'_, T>,
        descriptor: &Descriptor,
        send: &mut impl FnMut(&Order),
    ) {
        if Options::from_policy(packet.ingress.policy).covers(packet.ingress.priority) {
            let note = identification::enqueued(packet, send);
            descriptor.note.store(note);
        }
    }

    #[inline(always)]
    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
        rotation::at_departure(packet)
    }

    fn requeued<T: Tables>(packet: &Leaving<'_, T>, descriptor: &Descriptor) {
        rotation::requeued(packet, descriptor);
    }

    #[inline(always)]
    fn dequeued<T: Tables>(packet: &Leaving<'_, T>, _send: &mut impl FnMut(&Order)) {
        if Options::from_policy(packet.ingress.policy).covers(packet.ingress.priority) {
            rotation::dequeued(packet);
        }
    }

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        Pfc::after_departure(packet, send);
        identification::resume(&packet.ingress, send);
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        pfc::resume::<Self, T>(at)
    }

    fn room(policy: Policy, ports: u32) -> Room {
        Room { lines: state::lines(Options::from_policy(policy), ports), blocks: 1 }
    }
}

impl Announces for Ofc {
    #[inline(always)]
    fn receive<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        control: &HopControl,
        _now: Nanos,
    ) -> Result<(), DropReason> {
        notification::receive(tables, Options::from_policy(policy), port, control)
    }

    #[inline(always)]
    fn paused<T: Tables>(tables: &T, _policy: Policy, port: u32, _now: Nanos) -> Option<QueueSet> {
        match state::port(tables, port)?.held.words() {
            [0, 0] => None,
            [low, high] => {
                Some(QueueSet::from_flow_queues(u128::from(low) | u128::from(high) << 64))
            }
        }
    }

    fn announce<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        send: &mut impl FnMut(HopControl),
    ) {
        repetition::announce(tables, Options::from_policy(policy), port, send);
    }

    fn relinked<T: Tables>(tables: &T, policy: Policy, port: u32) {
        repetition::forget_all(tables, Options::from_policy(policy), port);
    }
}

#[cfg(test)]
mod held;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
