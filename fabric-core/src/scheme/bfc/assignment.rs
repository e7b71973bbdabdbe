//! Assignment of egress queues to flows (Section 3.3.1), and its duration (Section 3.3.2, sticky queue assignment).

use super::settings::{Assignment, Options};
use super::state::{self, FlowEntry, PortLine};
use crate::frame::Ipv4Fields;
use crate::map_abi::EgressQueue;
use crate::queue::{QueueId, QueueRange};
use crate::routing::{member, mix};
use crate::scheme::{Arriving, Ingress, Leaving};
use crate::tables::Tables;
use units::Nanos;

/// Returns the queue of a packet's flow at an egress port.
#[inline(always)]
pub fn queue<T: Tables>(
    at: &Ingress<'_, T>,
    egress_port: u32,
    now: Nanos,
    fields: &Ipv4Fields,
) -> QueueId {
    let options = Options::from_policy(at.policy);
    let queues = at.config.queues_of(at.priority);
    if options.is_labelled(fields) {
        return QueueId::from_bits(queues.for_incasts(true).first.into());
    }
    let queues = if options.incast_queue { queues.for_incasts(false) } else { queues };
    let hash = at.queue_hash(fields);
    match options.assignment {
        Assignment::Dynamic => dynamic(at, egress_port, queues, now, hash),
        Assignment::Stochastic => queues.select(|| hash),
    }
}

/// Returns the queue, out of `queues`, of the flow with this hash (Section 3.3.1).
#[inline(always)]
fn dynamic<T: Tables>(
    at: &Ingress<'_, T>,
    egress_port: u32,
    queues: QueueRange,
    now: Nanos,
    hash: u32,
) -> QueueId {
    let Some((_, flow)) = entry(at, egress_port, hash) else { return queues.select(|| hash) };
    let assigned = flow.member.load();
    if assigned != 0 && is_held(at, flow, now) {
        return queues.member(assigned - 1);
    }
    let Some(port) = state::port(at.tables, egress_port) else { return queues.select(|| hash) };
    // A random queue if none is empty. The time is an input, so that the choice varies.
    empty(port, queues).unwrap_or_else(|| queues.select(|| mix(hash ^ now.0 as u32)))
}

/// True if a flow keeps its queue: it has packets in the switch, or had some a short time ago.
#[inline(always)]
fn is_held<T: Tables>(at: &Ingress<'_, T>, flow: &FlowEntry, now: Nanos) -> bool {
    let sticky = state::settings(at.tables).map_or(0, |settings| settings.sticky_ns.load());
    flow.packets.load() != 0 || now.0.wrapping_sub(flow.seen_ns.load()) <= sticky
}

/// Returns an empty queue, if any: the first that is not paused, in rotating order, or else the first. The order
/// rotates because a queue that has just become empty most likely has a sticky flow that comes back.
#[inline(always)]
fn empty(port: &PortLine, queues: QueueRange) -> Option<QueueId> {
    let empty = queues.flow_queue_words();
    let empty = without(empty, port.in_use.words());
    let open = without(empty, port.paused.words());
    first_from(if open == [0; 2] { empty } else { open }, port.next_given())
}

#[inline(always)]
const fn without(queues: [u64; 2], others: [u64; 2]) -> [u64; 2] {
    [queues[0] & !others[0], queues[1] & !others[1]]
}

/// Returns the first data queue of a set from `start`, in circular order. Words: eBPF has no wider integers.
#[inline(always)]
const fn first_from([low, high]: [u64; 2], start: QueueId) -> Option<QueueId> {
    let number = start.number();
    let from = u64::MAX << (number & 63);
    // Three ranges: the start's word from the start, the other word, and the start's word again.
    let in_low = number < 64;
    let [own, other] = if in_low { [low, high] } else { [high, low] };
    let [own_at, other_at] = if in_low { [0, 64] } else { [64, 0] };
    let [word, at] = if own & from != 0 {
        [own & from, own_at]
    } else if other != 0 {
        [other, other_at]
    } else {
        [own, own_at]
    };
    if word == 0 {
        return None;
    }
    Some(QueueId::from_bits((at + word.trailing_zeros() as u64) as u32))
}

/// Returns the entry of the flow table for the flow with this hash at an egress port, and the entry's number.
#[inline(always)]
fn entry<'a, T: Tables>(
    at: &Ingress<'a, T>,
    egress_port: u32,
    hash: u32,
) -> Option<(u32, &'a FlowEntry)> {
    let options = Options::from_policy(at.policy);
    let number = member(hash, options.entries());
    let flow = state::flow(at.tables, options, at.config.ports, egress_port, number)?;
    Some((number, flow))
}

/// Records that a queue of `out` is not empty, after a packet has joined it.
#[inline(always)]
pub fn occupy(out: &PortLine, queue: QueueId) {
    out.set_in_use(queue, true);
}

/// Records whether a queue of `out` is empty, after a packet has left it.
#[inline(always)]
pub fn vacate(out: &PortLine, queue: QueueId, row: &EgressQueue) {
    if row.bytes.load() == 0 {
        out.set_in_use(queue, false);
    }
}

/// Counts a packet that has joined a queue of `out`, if it is sampled, and returns the number of
/// the entry that counts it. Call it before [`occupy`].
#[inline(always)]
pub fn enqueued<T: Tables>(
    packet: &Arriving<'_, T>,
    out: &PortLine,
    is_sampled: bool,
) -> Option<u32> {
    let at = &packet.ingress;
    if Options::from_policy(at.policy).is_labelled(packet.fields) {
        return None;
    }
    let (number, flow) = entry(at, packet.egress_port, packet.flow_hash())?;
    flow.seen_ns.store(packet.now.0);
    if flow.packets.load() == 0 {
        let queues = at.config.queues_of(at.priority);
        flow.member.store(queues.number_of(packet.queue) + 1);
        out.give(packet.queue);
    }
    if !is_sampled {
        return None;
    }
    if flow.packets.add::<T>(1) == 1 {
        out.flows.add::<T>(1);
        out.activations.add::<T>(1);
        if out.in_use.has(packet.queue) {
            out.collisions.add::<T>(1);
        }
    }
    Some(number)
}

/// Uncounts a packet that has left its queue of `out`; `entry` is the entry that counts it.
#[inline(always)]
pub fn dequeued<T: Tables>(packet: &Leaving<'_, T>, out: &PortLine, entry: u32) {
    let at = &packet.ingress;
    let options = Options::from_policy(at.policy);
    if let Some(flow) = state::flow(at.tables, options, at.config.ports, packet.egress_port, entry)
    {
        if flow.packets.sub::<T>(1) == 0 {
            out.flows.sub::<T>(1);
        }
        flow.seen_ns.store(packet.now.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_queue_from_a_start_on_is_found_across_both_words() {
        let find =
            |queues: [u64; 2], start| first_from(queues, QueueId::data(start)).map(QueueId::number);
        let ends = [1, 1 << 63];
        for (start, found) in [(0, 0), (1, 127), (63, 127), (64, 127), (127, 127)] {
            assert_eq!(find(ends, start), Some(found), "from {start}");
        }
        assert_eq!(find([1 << 5, 0], 6), Some(5), "round the cycle");
        assert_eq!(find([0, 1 << 2], 67), Some(66));
        assert_eq!(find([1 << 9, 0], 70), Some(9));
        assert_eq!(find([0, 0], 3), None);
    }
}
