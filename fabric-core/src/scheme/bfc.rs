//! BFC, Backpressure Flow Control (Goyal et al., NSDI 2022): each flow has a separate egress queue
//! while enough queues are free, and a switch pauses single queues of its neighbour.
//!
//! [`assignment`] assigns queues to flows (Section 3.3.1), [`backpressure`] counts packets and pauses queues (Section
//! 3.3.2), [`sampling`] may exempt packets (Appendix A.8). [`state`] is the state, [`settings`] the configuration.
//!
//! A frame's source address names the queue of the neighbour's port that it left, upstreamQ in the paper:
//! [`QueueId::in_address`]. Packets without a named queue are queued like others and pause no queue.
//!
//! The buffer is managed as under PFC ([`Pfc`]). PFC protects packets of lossless priorities in addition to BFC;
//! packets of lossy priorities may be dropped. BFC itself does not prevent losses (Section 5).
//!
//! Choices that the paper leaves open: a queue's length includes the packet that is compared with the threshold; a flow
//! gets the next empty queue in turn that is not paused, if there is one (Section 4 also has a rotating start); a queue
//! stops as soon as the pause is received. Active queues are the data queues of all priorities, also under a strict
//! scheduler; a queue whose class PFC has paused counts.
//!
//! The control plane computes the turns without backpressure, so that deadlocks are impossible
//! (Appendix B, [`Configure::elide`](super::Configure::elide)). The scheme looks them up.

pub mod assignment;
pub mod backpressure;
pub mod note;
pub mod sampling;
pub mod settings;
pub mod state;

use super::pfc::Pfc;
use super::{Announces, Arriving, FlowUse, Ingress, Leaving, Room, Scheme, Watched};
use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::hop_control::{HopControl, Order};
use crate::map_abi::{Descriptor, Pool};
use crate::policy::Policy;
use crate::priority;
use crate::queue::{QueueId, QueueSet};
use crate::tables::Tables;
use units::Nanos;

use note::Note;
pub use settings::{Assignment, Options, Settings};
use state::QueueBits;

/// The scheme; its parts are functions of the modules.
#[derive(Debug)]
pub struct Bfc;

impl Scheme for Bfc {
    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        egress_port: u32,
        now: Nanos,
        fields: &Ipv4Fields,
    ) -> QueueId {
        if Options::from_policy(at.policy).is_backpressured(at.priority) {
            assignment::queue(at, egress_port, now, fields)
        } else {
            at.config.queues_of(at.priority).select(|| at.queue_hash(fields))
        }
    }

    #[inline(always)]
    fn named_queue(_policy: Policy, queue: QueueId) -> u64 {
        queue.in_address()
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
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        Pfc::after_departure(packet, send);
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        Pfc::resume(at)
    }

    #[inline(always)]
    fn enqueued<T: Tables>(
        packet: &Arriving<'_, T>,
        descriptor: &Descriptor,
        send: &mut impl FnMut(&Order),
    ) {
        let Ingress { tables, policy, priority, .. } = packet.ingress;
        let Some(out) = state::port(tables, packet.egress_port) else { return };
        let options = Options::from_policy(policy);
        let is_backpressured = options.is_backpressured(priority);
        let is_sampled = is_backpressured && sampling::is_sampled(packet, options);
        let entry =
            is_backpressured.then(|| assignment::enqueued(packet, out, is_sampled)).flatten();
        assignment::occupy(out, packet.queue);
        if is_sampled {
            let note = Note::new(backpressure::enqueued(packet, out, send), entry);
            descriptor.note.store(note.to_bits());
        } else {
            descriptor.note.store(Note::default().to_bits());
        }
    }

    #[inline(always)]
    fn dequeued<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        let Ingress { tables, policy, priority, .. } = packet.ingress;
        let Some(out) = state::port(tables, packet.egress_port) else { return };
        assignment::vacate(out, packet.queue, packet.egress);
        if !Options::from_policy(policy).is_backpressured(priority) {
            return;
        }
        let note = Note::from_bits(packet.note);
        if let Some(entry) = note.entry() {
            assignment::dequeued(packet, out, entry);
        }
        if let Some(upstream) = note.counted() {
            backpressure::dequeued(packet, out, upstream, send);
        }
    }

    fn room(policy: Policy, ports: u32) -> Room {
        let lines = state::lines(Options::from_policy(policy), ports);
        Room { lines, blocks: state::blocks(ports) }
    }
}

impl Announces for Bfc {
    #[inline(always)]
    fn receive<T: Tables>(
        tables: &T,
        _policy: Policy,
        port: u32,
        control: &HopControl,
        _now: Nanos,
    ) -> Result<(), DropReason> {
        backpressure::receive(tables, port, control)
    }

    #[inline(always)]
    fn paused<T: Tables>(tables: &T, _policy: Policy, port: u32, _now: Nanos) -> Option<QueueSet> {
        backpressure::paused(tables, port)
    }

    fn announce<T: Tables>(
        tables: &T,
        _policy: Policy,
        port: u32,
        send: &mut impl FnMut(HopControl),
    ) {
        if let Some(port) = state::port(tables, port) {
            send(HopControl::Queues { paused: port.pausing.words() });
        }
    }
}

impl Watched for Bfc {
    fn flow_use<T: Tables>(tables: &T, policy: Policy, port: u32) -> Option<FlowUse> {
        let port = state::port(tables, port)?;
        let config = tables.config()?;
        let own = priority::in_mask(Options::from_policy(policy).priorities).fold(
            [0; 2],
            |all, priority| {
                let [low, high] = config.queues_of(priority).flow_queue_words();
                [all[0] | low, all[1] | high]
            },
        );
        let among = |queues: &QueueBits, own: [u64; 2]| {
            let [low, high] = queues.words();
            (low & own[0]).count_ones() + (high & own[1]).count_ones()
        };
        let count = |queues| among(queues, [u64::MAX; 2]);
        Some(FlowUse {
            flows: port.flows.load(),
            queues: among(&port.in_use, own),
            paused: count(&port.paused),
            pausing: count(&port.pausing),
            activations: port.activations.load(),
            collisions: port.collisions.load(),
        })
    }

    fn queue_behind(_policy: Policy, note: u32) -> Option<QueueId> {
        Note::from_bits(note).counted()
    }
}

#[cfg(test)]
mod tests;
