//! Algorithm 1: selects the flows that a switch asks its neighbours to pause, and resumes them.
//!
//! In eBPF two of these functions are calls with their own stacks, because the arrival program's stack is full.

use super::settings::Options;
use super::state::{
    self, ClassLine, ENTRIES_IN_A_LINE, FlowEntry, FlowTable, INGRESS, INGRESS_AT, NORMAL, PAUSED,
    QUEUES, REPORTED, RESUMES_NEXT, UNCOUNTED,
};
use crate::hop_control::{FlowList, HopControl, MAX_FLOWS, Order, PauseLevel, next_pause};
use crate::map_abi::class_row;
use crate::priority::Priority;
use crate::routing::flow_name;
use crate::scheme::{Arriving, Ingress, Scheme};
use crate::tables::Tables;

use super::Ofc;

/// A packet's ingress port, egress port and priority, in one word.
#[derive(Clone, Copy)]
struct Way(u32);

impl Way {
    #[inline(always)]
    fn new<T: Tables>(packet: &Arriving<'_, T>) -> Self {
        let at = &packet.ingress;
        Self(packet.egress_port << 16 | class_row(at.port_number, at.priority))
    }

    #[inline(always)]
    const fn egress(self) -> u32 {
        self.0 >> 16
    }

    #[inline(always)]
    const fn ingress(self) -> u32 {
        self.0 >> 3 & 0x1fff
    }

    #[inline(always)]
    const fn priority(self) -> Priority {
        Priority::from_bits(self.0)
    }
}

/// Counts a packet that has joined its normal queue (Algorithm 2, line 12). Pauses flows at the neighbour if due, or
/// their class if the packet's flow has no entry. Returns the note for the descriptor: the switch-wide number of the
/// flow's entry plus 1, or the flow's name with [`UNCOUNTED`].
#[inline(always)]
pub fn enqueued<T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) -> u32 {
    let at = &packet.ingress;
    let (options, way) = (Options::from_policy(at.policy).to_bits(), Way::new(packet));
    let note = enter(at.tables, options, way, flow_name(packet.fields));
    let Some(threshold) = congested(packet) else { return note };
    if !name_flows(at.tables, options, way, note) {
        return note;
    }
    // One order for both cases, because each order would take its place on the stack.
    let mut order = at.pause_queue(threshold);
    if state::counting(note).is_none() {
        at.queue.off.store(1);
        order.pause = next_pause::<T>(&at.queue.pauses);
    } else if let Some(flows) = named(at) {
        order.control = HopControl::Flows { priority: at.priority, paused: true, flows };
    }
    send(&order);
    note
}

/// Returns the flows that [`name_flows`] has written.
#[inline(always)]
fn named<T: Tables>(at: &Ingress<'_, T>) -> Option<FlowList> {
    let class = state::class(at.tables, at.config.ports, at.port_number, at.priority)?;
    let [a, b, c, d] = &class.named;
    Some(FlowList::from_padded(class.names.load() as u8, [a.load(), b.load(), c.load(), d.load()]))
}

/// Counts a packet of the flow `name`. Returns the packet's note.
#[cfg_attr(target_arch = "bpf", inline(never))]
#[cfg_attr(not(target_arch = "bpf"), inline(always))]
fn enter<T: Tables>(tables: &T, options: u32, way: Way, name: u32) -> u32 {
    let Some(config) = tables.config() else { return 0 };
    let (ports, priority) = (config.ports, way.priority());
    let Some(out) = state::class(tables, ports, way.egress(), priority) else { return 0 };
    let table = FlowTable { options: Options::from_bits(options), ports, port: way.egress() };
    out.found.store(table.find(tables, priority, name, true));
    let note = out.found.load();
    if let Some(flow) = table.flow(tables, note) {
        flow.packets.add::<T>(1);
        if !flow.has(REPORTED) {
            flow.comes_in_at(way.ingress());
        }
    } else {
        out.unnamed_packets.add::<T>(1);
        return UNCOUNTED | name;
    }
    note
}

/// Returns `X_off^c` if `q_in` and `q_out` are at least this and the class is not paused (lines 3 and 4).
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

/// Max lines of a flow table scanned for one PAUSE, because verifiers follow each line separately.
const LINES_LOOKED_AT: u32 = 16;

/// Writes the flows to report to the neighbour into [`ClassLine::named`], and returns true if there are any: the flow
/// of a packet with this note, if it is congested and not yet reported, then others that are not yet reported. For a
/// flow without an entry it writes nothing, and returns true if the class must be paused instead.
#[cfg_attr(target_arch = "bpf", inline(never))]
#[cfg_attr(not(target_arch = "bpf"), inline(always))]
fn name_flows<T: Tables>(tables: &T, options: u32, way: Way, note: u32) -> bool {
    let name = |ports| -> Option<()> {
        let (options, priority) = (Options::from_bits(options), way.priority());
        let class = state::class(tables, ports, way.ingress(), priority)?;
        let out = state::class(tables, ports, way.egress(), priority)?;
        // Local congestion, caused behind the egress port (line 8): only flows that its neighbour has paused.
        let is_local = out.paused_flows.load() != 0;
        let (flags, cause) = if is_local { (PAUSED | RESUMES_NEXT, PAUSED) } else { (0, 0) };
        let Some(number) = state::counting(note) else {
            // The neighbour has not paused this flow, unless its PAUSE found no entry either.
            let is_congested = !is_local || out.unnamed_flows.load() != 0;
            return is_congested.then(|| {
                out.class_pauses.add::<T>(1);
            });
        };
        let looked_at = state::priority_bits(Priority::new(7)) | INGRESS | REPORTED | flags;
        let expected = state::priority_bits(priority) | way.ingress() << INGRESS_AT | cause;
        let flow = state::flow(tables, ports, number)?;
        if flow.state.load() & looked_at != expected {
            return None;
        }
        class.named.iter().for_each(|name| name.store(0));
        class.names.store(0);
        report(class, flow, number);
        let first = state::first_flow(options, way.egress());
        let lines = u32::from(options.flow_lines);
        let own = number.wrapping_sub(first) / ENTRIES_IN_A_LINE;
        let mut line = 0;
        while line < LINES_LOOKED_AT && line < lines {
            let from = first
                .wrapping_add((own.wrapping_add(line) % lines).wrapping_mul(ENTRIES_IN_A_LINE));
            let flows = state::flow_line(tables, ports, from / ENTRIES_IN_A_LINE)?;
            let mut entry = 0;
            while entry < ENTRIES_IN_A_LINE {
                let other = flows.entry(entry);
                if other.state.load() & looked_at == expected {
                    report(class, other, from.wrapping_add(entry));
                }
                entry += 1;
            }
            line += 1;
        }
        class.pause_frames.add::<T>(1);
        class.reported_flows.add::<T>(class.names.load());
        Some(())
    };
    tables.config().and_then(|config| name(config.ports)).is_some()
}

/// Adds a flow to `pause_frame_tab` (line 14), and to the frame's list if it has room.
///
/// The length of the list is stored in the table, because verifiers would follow the rest of the
/// program for each value of a variable.
#[inline(always)]
fn report(class: &ClassLine, flow: &FlowEntry, number: u32) {
    let count = class.names.load();
    if count < MAX_FLOWS as u32 {
        class.names.store(count + 1);
        class.named[count as usize & (MAX_FLOWS - 1)].store(flow.hash.load());
        flow.set(REPORTED);
        flow.link.store(class.last_reported.load());
        class.last_reported.store(number.wrapping_add(1));
    }
}

/// Resumes all flows that were paused because of an ingress queue that has fallen to `X_on` (lines
/// 16 to 19). Sends as many frames as the flows need.
#[inline(always)]
pub fn resume<T: Tables>(at: &Ingress<'_, T>, send: &mut impl FnMut(&Order)) {
    let options = Options::from_policy(at.policy);
    if !options.covers(at.priority) {
        return;
    }
    let ports = at.config.ports;
    let Some(class) = state::class(at.tables, ports, at.port_number, at.priority) else { return };
    if class.last_reported.load() != 0 {
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
    let mut next = class.last_reported.load();
    class.last_reported.store(0);
    while next != 0 {
        let (mut count, mut names) = (0, [0; MAX_FLOWS]);
        while next != 0 && usize::from(count) < MAX_FLOWS {
            let Some(flow) = state::flow(at.tables, at.config.ports, next - 1) else { return };
            names[usize::from(count)] = flow.hash.load();
            count += 1;
            next = flow.link.load();
            flow.clear(REPORTED);
        }
        class.resume_frames.add::<T>(1);
        if let Some(flows) = FlowList::from_first(count, names) {
            send(&order(at, flows, xon));
        }
    }
}

/// Returns a RESUME of flows of the ingress queue `at`.
fn order<T: Tables>(at: &Ingress<'_, T>, flows: FlowList, threshold: u64) -> Order {
    Order {
        control: HopControl::Flows { priority: at.priority, paused: false, flows },
        level: PauseLevel::Queue,
        resumes: true,
        pause: 0,
        occupancy_bytes: held(at),
        threshold_bytes: threshold,
        shared_free_bytes: at.shared_free(),
    }
}
