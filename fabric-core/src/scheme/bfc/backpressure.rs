//! Pauses of a neighbour's queues by the switch (Section 3.3.2, Appendix B), and pauses of the
//! switch's queues by its neighbours.

use super::settings::Options;
use super::state::{self, PortLine};
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::queue::{QueueId, QueueSet};
use crate::scheme::{Arriving, Ingress, Leaving};
use crate::tables::Tables;

/// Counts a packet that has joined a queue of `out` beyond its threshold, unless its turn is elided. The first such
/// packet pauses the neighbour's queue that it left. Returns the queue whose counter counts the packet.
#[inline(always)]
pub fn enqueued<T: Tables>(
    packet: &Arriving<'_, T>,
    out: &PortLine,
    send: &mut impl FnMut(&Order),
) -> Option<QueueId> {
    let at = &packet.ingress;
    let upstream = packet.fields.upstream;
    let length = packet.egress.bytes.load();
    let threshold = threshold(at.tables, packet.egress_port, out)?;
    if length <= threshold || !upstream.is_flow_queue() || is_elided(packet) {
        return None;
    }
    let counter = state::counter(at.tables, at.port_number, upstream)?;
    if counter.add::<T>(1) == 1 {
        send_pause(at, upstream, true, [length, threshold], send);
    }
    Some(upstream)
}

/// Uncounts a packet that has left its queue. Resumes the neighbour's queue if the packet was the
/// last that the counter of `upstream` counted.
#[inline(always)]
pub fn dequeued<T: Tables>(
    packet: &Leaving<'_, T>,
    out: &PortLine,
    upstream: QueueId,
    send: &mut impl FnMut(&Order),
) {
    let at = &packet.ingress;
    let Some(counter) = state::counter(at.tables, at.port_number, upstream) else { return };
    if counter.sub::<T>(1) == 0 {
        let length = packet.egress.bytes.load();
        let threshold = threshold(at.tables, packet.egress_port, out).unwrap_or(0);
        send_pause(at, upstream, false, [length, threshold], send);
    }
}

/// True if packets from this packet's ingress port to its egress port trigger no backpressure (Appendix B).
#[inline(always)]
fn is_elided<T: Tables>(packet: &Arriving<'_, T>) -> bool {
    let at = &packet.ingress;
    let options = Options::from_policy(at.policy);
    options.elides
        && state::elided(at.tables, options, at.config.ports, at.port_number)
            .is_some_and(|elided| elided.contains(packet.egress_port))
}

/// Returns Th of an egress port's queues: the bytes that an active queue drains in one hop RTT at its share.
#[inline(always)]
fn threshold<T: Tables>(tables: &T, egress_port: u32, out: &PortLine) -> Option<u64> {
    // A queue that is paused and alone will be the only one to drain when it is resumed.
    Some(state::threshold(tables, egress_port, out.active().max(1))?.load().into())
}

/// Pauses or resumes a queue of the neighbour at the port of `at`. `length` and `threshold` of the
/// switch's queue are the reason.
#[inline(always)]
fn send_pause<T: Tables>(
    at: &Ingress<'_, T>,
    queue: QueueId,
    paused: bool,
    [length, threshold]: [u64; 2],
    send: &mut impl FnMut(&Order),
) {
    if let Some(port) = state::port(at.tables, at.port_number) {
        port.pausing.set(queue, paused);
    }
    send(&Order {
        control: HopControl::Queue { queue, paused },
        level: PauseLevel::Queue,
        resumes: !paused,
        pause: 0,
        occupancy_bytes: length,
        threshold_bytes: threshold,
        shared_free_bytes: at.shared_free(),
    });
}

/// Applies pauses and resumes of queues by the neighbour at a port.
#[inline(always)]
pub fn receive<T: Tables>(tables: &T, port: u32, control: &HopControl) -> Result<(), DropReason> {
    let port = state::port(tables, port).ok_or(DropReason::BrokenTable)?;
    match *control {
        HopControl::Queue { queue, paused } => port.paused.set(queue, paused),
        HopControl::Queues { paused } => port.paused.store(paused),
        HopControl::Classes(_) | HopControl::Flows { .. } | HopControl::Rate { .. } => {
            return Err(DropReason::UnexpectedHopControl);
        }
    }
    Ok(())
}

/// Returns the queues of a port that its neighbour has paused.
#[inline(always)]
pub fn paused<T: Tables>(tables: &T, port: u32) -> Option<QueueSet> {
    match state::port(tables, port)?.paused.words() {
        [0, 0] => None,
        [low, high] => Some(QueueSet::from_flow_queues(u128::from(low) | u128::from(high) << 64)),
    }
}
