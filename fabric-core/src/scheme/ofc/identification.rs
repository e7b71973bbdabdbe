//! Algorithm 1: which flows a switch tells its neighbours to pause, and when it lets them go on.

use super::settings::Options;
use super::state::{
    self, ClassLine, ENTRIES_IN_A_LINE, FlowEntry, FlowTable, INGRESS, INGRESS_AT, NORMAL, PAUSED,
    QUEUES, RESUMES_NEXT, TOLD,
};
use crate::hop_control::{FlowList, HopControl, MAX_FLOWS, Order, PauseLevel};
use crate::map_abi::Pool;
use crate::priority::Priority;
use crate::routing::flow_name;
use crate::scheme::{Arriving, Ingress, Scheme, pfc};
use crate::tables::Tables;

use super::Ofc;

/// Counts a packet that has joined its normal queue (Algorithm 2, line 12), and tells the neighbour to pause flows if that
/// is due. Returns the note of its descriptor: the number of its flow among those of the switch and 1, or 0.
#[inline(always)]
pub fn enqueued<T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) -> u32 {
    let at = &packet.ingress;
    let ports = at.config.ports;
    let table = FlowTable { options: Options::of(at.policy), ports, port: packet.egress_port };
    let Some(out) = state::class(at.tables, ports, packet.egress_port, at.priority) else {
        return 0;
    };
    let Some((number, flow)) = table.find_or_take(at.tables, at.priority, flow_name(packet.fields))
    else {
        out.unnamed_packets.add::<T>(1);
        pause_class(packet, out, send);
        return 0;
    };
    flow.packets.add::<T>(1);
    if !flow.has(TOLD) {
        flow.comes_in_at(at.port_number);
        pause_flows(packet, out, table, [number, flow.hash.load()], flow, send);
    }
    number.wrapping_add(1)
}

/// `X_off^c` if both ends of the switch hold that much, and not so much that the class is paused (lines 3 and 4).
#[inline(always)]
fn congested<T: Tables>(packet: &Arriving<'_, T>) -> Option<u64> {
    let at = &packet.ingress;
    let threshold = state::settings(at.tables)?.congested_bytes.load();
    if at.queue.off.load() != 0 || held(at) < threshold {
        return None;
    }
    let queues = at.config.queues_of(at.priority);
    let mut length = packet.egress.bytes.load();
    let mut backup = NORMAL + 1;
    while backup < QUEUES as u32 {
        let row = at.config.queue_row(packet.egress_port, queues.member(backup));
        length += at.tables.egress_queue(row)?.bytes.load();
        backup += 1;
    }
    (length >= threshold).then_some(threshold)
}

/// `q_in`.
#[inline(always)]
fn held<T: Tables>(at: &Ingress<'_, T>) -> u64 {
    at.queue.shared_bytes.load() + at.queue.headroom_bytes.load()
}

/// Pauses the class in place of a flow that cannot be told from others, if that flow would be paused.
#[inline(always)]
fn pause_class<T: Tables>(
    packet: &Arriving<'_, T>,
    out: &ClassLine,
    send: &mut impl FnMut(&Order),
) {
    // A flow without an entry is none that the neighbour has paused, unless it could not be entered then either.
    if out.paused_flows.load() != 0 && out.unnamed_flows.load() == 0 {
        return;
    }
    if let Some(threshold) = congested(packet)
        && pfc::pause(&packet.ingress, threshold, Pool::Headroom, send)
    {
        out.class_pauses.add::<T>(1);
    }
}

/// How many lines of a flow table are looked at for one PAUSE: the verifiers follow each of them by itself.
const LINES_LOOKED_AT: u32 = 16;

/// Tells the neighbour to pause a packet's flow, if it is congested, and others of which it was not told.
#[inline(always)]
fn pause_flows<T: Tables>(
    packet: &Arriving<'_, T>,
    out: &ClassLine,
    table: FlowTable,
    [number, hash]: [u32; 2],
    flow: &FlowEntry,
    send: &mut impl FnMut(&Order),
) {
    let at = &packet.ingress;
    let Some(threshold) = congested(packet) else { return };
    // Local congestion, whose cause lies behind the egress port (line 8): only what that port's neighbour has paused.
    let is_local = out.paused_flows.load() != 0;
    let (flags, cause) = if is_local { (PAUSED | RESUMES_NEXT, PAUSED) } else { (0, 0) };
    if flow.state.load() & flags != cause {
        return;
    }
    let Some(class) = state::class(at.tables, table.ports, at.port_number, at.priority) else {
        return;
    };
    tell(class, flow, number);
    let (mut count, [mut second, mut third, mut fourth]) = (1, [0; MAX_FLOWS - 1]);
    let expected = state::of_priority(at.priority) | at.port_number << INGRESS_AT | cause;
    let looked_at = state::of_priority(Priority::new(7)) | INGRESS | TOLD | flags;
    let first = state::first_flow(table.options, table.port);
    let lines = u32::from(table.options.flow_lines);
    let own = number.wrapping_sub(first) / ENTRIES_IN_A_LINE;
    let mut line = 0;
    while line < LINES_LOOKED_AT && line < lines {
        let from =
            first.wrapping_add((own.wrapping_add(line) % lines).wrapping_mul(ENTRIES_IN_A_LINE));
        let Some(flows) = state::flow_line(at.tables, table.ports, from / ENTRIES_IN_A_LINE) else {
            break;
        };
        let mut entry = 0;
        while entry < ENTRIES_IN_A_LINE {
            let other = flows.entry(entry);
            if other.state.load() & looked_at == expected && count < MAX_FLOWS as u8 {
                tell(class, other, from.wrapping_add(entry));
                let name = other.hash.load();
                match count {
                    1 => second = name,
                    2 => third = name,
                    _ => fourth = name,
                }
                count += 1;
            }
            entry += 1;
        }
        line += 1;
    }
    class.pause_frames.add::<T>(1);
    class.told_flows.add::<T>(count.into());
    if let Some(flows) = FlowList::of_first(count, [hash, second, third, fourth]) {
        send(&order(at, true, flows, threshold));
    }
}

/// Puts a flow into `pause_frame_tab` (line 14).
#[inline(always)]
fn tell(class: &ClassLine, flow: &FlowEntry, number: u32) {
    flow.set(TOLD);
    flow.link.store(class.told.load());
    class.told.store(number.wrapping_add(1));
}

/// Lets all flows go on that were paused because of an ingress queue which has fallen to `X_on` (lines 16 to 19). There are
/// as many frames as their list needs.
#[inline(always)]
pub fn resume<T: Tables>(at: &Ingress<'_, T>, send: &mut impl FnMut(&Order)) {
    let options = Options::of(at.policy);
    if !options.covers(at.priority) {
        return;
    }
    let ports = at.config.ports;
    let Some(class) = state::class(at.tables, ports, at.port_number, at.priority) else { return };
    if class.told.load() != 0 {
        let xon = Ofc::threshold(at).saturating_sub(at.config.xon_offset_bytes);
        if held(at) <= xon {
            resume_flows(at, class, xon, send);
        }
    }
}

#[cold]
fn resume_flows<T: Tables>(
    at: &Ingress<'_, T>,
    class: &ClassLine,
    xon: u64,
    send: &mut impl FnMut(&Order),
) {
    let mut next = class.told.load();
    class.told.store(0);
    while next != 0 {
        let (mut count, mut names) = (0, [0; MAX_FLOWS]);
        while next != 0 && usize::from(count) < MAX_FLOWS {
            let Some(flow) = state::flow(at.tables, at.config.ports, next - 1) else { return };
            names[usize::from(count)] = flow.hash.load();
            count += 1;
            next = flow.link.load();
            flow.clear(TOLD);
        }
        class.resume_frames.add::<T>(1);
        if let Some(flows) = FlowList::of_first(count, names) {
            send(&order(at, false, flows, xon));
        }
    }
}

/// A frame about flows of the ingress queue `at`.
#[inline(always)]
fn order<T: Tables>(at: &Ingress<'_, T>, paused: bool, flows: FlowList, threshold: u64) -> Order {
    Order {
        control: HopControl::Flows { priority: at.priority, paused, flows },
        level: PauseLevel::Queue,
        resumes: !paused,
        pause: 0,
        occupancy_bytes: held(at),
        threshold_bytes: threshold,
        shared_free_bytes: at.shared_free(),
    }
}
