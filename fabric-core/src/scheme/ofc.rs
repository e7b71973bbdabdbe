//! OFC, Original congestion-based fine-grained priority Flow Control (Xiao et al., "OFC: An Original congestion-based
//! Fine-grained Priority Flow Control"): a switch pauses the flows that meet congestion, and not their whole class.
//!
//! [`identification`] is Algorithm 1, [`notification`] Algorithm 2 and [`rotation`] Algorithm 3; [`state`] is what is kept,
//! [`settings`] the configuration, and [`repetition`] an option. `q_in` is what an ingress queue holds beyond its private buffer, `q_out` what the egress
//! port holds of the packet's priority.
//!
//! **State.** The paper's three tables are one flow table for each egress port, a set-associative one of bounded size. An
//! entry that counts packets is a row of `flow_in_port_tab`; one that the neighbour behind the egress port has paused is a row
//! of `congested_flow_tab`; one of which the switch has told the neighbour at the flow's ingress port is a row of
//! `pause_frame_tab`, and those of an ingress queue are linked. A flow is the hash of its five-tuple
//! ([`flow_name`](crate::routing::flow_name)), which is the same at all switches; flows whose hashes are equal are paused
//! together.
//!
//! **Arrival.** A packet joins the normal queue of its priority, its flow's entry counts it, and the descriptor's note keeps
//! the entry. With `X_off^c <= q_in < X_off` and `q_out >= X_off^c` the neighbour is told of the packet's flow: always, if
//! no flow of the egress port is paused (original congestion), and otherwise if this flow is (local congestion). The frame
//! also names up to three other such flows that came in by the same port, of those near to it in the table; the rest follow with their own next packets, so
//! that no arrival has more than one frame to send. A flow is told of once, until it is resumed. Above `X_off` PFC pauses the
//! class: the paper's "all flows paused", and what keeps packets from loss.
//!
//! **Control frames.** A PAUSE puts flows into the table. A RESUME takes them out, and begins a rotation if the paused queue
//! holds packets. One that comes during a rotation takes effect when that is over: its flows may have packets in both backup
//! queues, and those that lie in the queue that is drained are not the oldest. The order mark needs no place in a
//! queue: nothing joins the queue that is drained, so the mark is its end.
//!
//! **Departure.** A packet of a paused flow moves to the paused queue when its turn comes ([`Verdict::Requeue`]). During a
//! rotation only the former paused queue is served; the two backup queues then have exchanged their roles. The paper counts
//! queues modulo 2 there, which names the normal queue; exchanged roles are what its text says.
//!
//! `X_on` is looked at when a packet departs. The paper looks at it when one arrives, so that a port at which nothing more
//! arrives, because all its flows are paused, would never resume them.
//!
//! **What has no room.** If a packet's flow finds no entry, the class is paused in its place ([`state::ClassLine::class_pauses`]
//! counts), and the packet keeps the flow's name ([`state::UNCOUNTED`]), by which it is held back if a later PAUSE finds an entry
//! for the flow. If a PAUSE names a flow that finds none, nothing of the priority leaves its normal queue until that flow is resumed.

pub mod identification;
pub mod notification;
pub mod repetition;
pub mod rotation;
pub mod settings;
pub mod state;

use super::pfc::{self, Pfc};
use super::{Arriving, Ingress, Leaving, Room, Scheme, Verdict};
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
        if Options::of(at.policy).covers(at.priority) {
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
        if Options::of(packet.ingress.policy).covers(packet.ingress.priority) {
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
        if Options::of(packet.ingress.policy).covers(packet.ingress.priority) {
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

    #[inline(always)]
    fn receive<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        control: &HopControl,
        _now: Nanos,
    ) -> Result<(), DropReason> {
        notification::receive(tables, Options::of(policy), port, control)
    }

    #[inline(always)]
    fn paused<T: Tables>(tables: &T, _policy: Policy, port: u32, _now: Nanos) -> Option<QueueSet> {
        match state::port(tables, port)?.held.words() {
            [0, 0] => None,
            [low, high] => Some(QueueSet::of_flow_queues(u128::from(low) | u128::from(high) << 64)),
        }
    }

    fn announce<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        send: &mut impl FnMut(HopControl),
    ) {
        repetition::announce(tables, Options::of(policy), port, send);
    }

    fn relinked<T: Tables>(tables: &T, policy: Policy, port: u32) {
        repetition::forget_all(tables, Options::of(policy), port);
    }

    fn room(policy: Policy, ports: u32) -> Room {
        Room { lines: state::lines(Options::of(policy), ports), blocks: 1 }
    }
}

#[cfg(test)]
mod held;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
