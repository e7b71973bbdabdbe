//! Algorithm 3: decision about a packet whose turn it is, and the rotation of a priority's queues.

use super::settings::Options;
use super::state::{
    self, ClassLine, ENTRIES_IN_A_LINE, FlowEntry, FlowTable, PAUSED, PortLine, RESUMES_NEXT,
    UNCOUNTED,
};
use crate::map_abi::Descriptor;
use crate::priority::Priority;
use crate::scheme::{Changes, Leaving, Verdict};
use crate::tables::Tables;

/// Begins a rotation, which drains the paused queue.
#[inline(always)]
pub fn begin(class: &ClassLine) {
    class.begin_rotation();
}

/// Sends a packet, or moves it to the paused queue if the neighbour has paused its flow (lines 7 to 14).
#[inline(always)]
pub fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
    let at = &packet.ingress;
    if Options::from_policy(at.policy).covers(at.priority)
        && flow_number(packet)
            .and_then(|number| state::flow(at.tables, at.config.ports, number))
            .is_some_and(|flow| flow.has(PAUSED))
        && let Some(class) = class_of(packet)
    {
        let queues = at.config.queues_of(at.priority);
        let paused = class.paused(queues);
        let is_last = packet.egress.bytes.load() == packet.length;
        if is_last && class.drained(queues) == Some(packet.queue) {
            // This packet is about to join the paused queue.
            end(packet, class, true);
        }
        return Verdict::Requeue(paused);
    }
    Verdict::Send(Changes::default())
}

/// Handles a packet that moves to the paused queue. If no entry has counted it, one does now, so
/// that its flow's entry is kept and a rotation keeps it in order.
pub fn requeued<T: Tables>(packet: &Leaving<'_, T>, descriptor: &Descriptor) {
    if packet.note & UNCOUNTED == 0 {
        return;
    }
    let at = &packet.ingress;
    if let Some(number) = flow_number(packet)
        && let Some(flow) = state::flow(at.tables, at.config.ports, number)
    {
        flow.packets.add::<T>(1);
        descriptor.note.store(number + 1);
    }
}

/// Handles a packet that has left, sent or dropped (lines 9 to 12).
#[inline(always)]
pub fn dequeued<T: Tables>(packet: &Leaving<'_, T>) {
    if let Some(flow) = flow_of(packet)
        && flow.packets.sub::<T>(1) == 0
    {
        flow.clear(if flow.has(RESUMES_NEXT) { PAUSED | RESUMES_NEXT } else { 0 });
    }
    let Some(class) = class_of(packet) else { return };
    if class.is_draining() && packet.egress.bytes.load() == 0 {
        let at = &packet.ingress;
        let queues = at.config.queues_of(at.priority);
        if class.drained(queues) == Some(packet.queue) {
            let row = at.config.queue_row(packet.egress_port, class.paused(queues));
            let row = at.tables.egress_queue(row);
            end(packet, class, row.is_some_and(|row| row.bytes.load() != 0));
        }
    }
}

#[inline(always)]
fn class_of<'a, T: Tables>(packet: &Leaving<'a, T>) -> Option<&'a ClassLine> {
    let at = &packet.ingress;
    state::class(at.tables, at.config.ports, packet.egress_port, at.priority)
}

/// Returns the entry that counts a packet, if any.
#[inline(always)]
fn flow_of<'a, T: Tables>(packet: &Leaving<'a, T>) -> Option<&'a FlowEntry> {
    let at = &packet.ingress;
    state::flow(at.tables, at.config.ports, state::counting(packet.note)?)
}

/// Returns the switch-wide number of a packet's flow, whether or not its entry counts the packet.
#[inline(always)]
fn flow_number<T: Tables>(packet: &Leaving<'_, T>) -> Option<u32> {
    let at = &packet.ingress;
    let (options, ports) = (Options::from_policy(at.policy), at.config.ports);
    let table = FlowTable { options, ports, port: packet.egress_port };
    table.resolve_note(at.tables, at.priority, packet.note)
}

/// Ends a rotation and resumes the flows that wait for this. Their RESUME begins another one if the paused queue has
/// packets.
#[cold]
fn end<T: Tables>(packet: &Leaving<'_, T>, class: &ClassLine, paused_queue_holds: bool) {
    let at = &packet.ingress;
    if class.end_rotation() {
        resume_waiting(at.tables, Options::from_policy(at.policy), at.config.ports, packet);
        if paused_queue_holds {
            class.begin_rotation();
        }
    }
    let port: Option<&PortLine> = state::port(at.tables, packet.egress_port);
    if let Some(port) = port {
        class.show(port, at.config.queues_of(at.priority));
    }
}

/// Resumes the flows of the packet's egress port and priority that wait for the end of a rotation.
fn resume_waiting<T: Tables>(tables: &T, options: Options, ports: u32, packet: &Leaving<'_, T>) {
    let first = state::first_flow(options, packet.egress_port);
    let entries = u32::from(options.flow_lines) * ENTRIES_IN_A_LINE;
    let priority: Priority = packet.ingress.priority;
    for number in first..first + entries {
        let Some(flow) = state::flow(tables, ports, number) else { return };
        if flow.is_of(priority) && flow.has(RESUMES_NEXT) {
            flow.clear(PAUSED | RESUMES_NEXT);
        }
    }
}
