//! Bytes and packets that flows have sent, in a table of fixed size behind the lines of the queues.
//!
//! A flow is identified by 32 bits of a hash of its five-tuple, and lies in one of the
//! [`FLOWS_IN_A_SET`] entries of the set that another hash selects. A new flow takes the set's
//! entry that has been silent for longest, and the counts of the flow in it are lost. If that flow
//! was not [silent](FlowParameters::idle_ns), the loss is [counted](FlowParameters::replaced).
//!
//! Two flows of a set with equal 32 bits, one in 2^32 pairs, count as one flow.

use zerocopy::FromBytes;

use super::state::{self, FlowParameters};
use crate::cell::{Cell32, Cell64};
use crate::frame::Ipv4Fields;
use crate::map_abi::SchemeLine;
use crate::routing::flow_hash;
use crate::scheme::Ingress;
use crate::scheme::state::Line;
use crate::tables::Tables;
use units::Nanos;

/// Number of entries in a line.
pub const FLOWS_IN_A_LINE: u32 = 2;
/// Number of entries in which a flow may lie.
pub const FLOWS_IN_A_SET: u32 = 4;
const LINES_IN_A_SET: u32 = FLOWS_IN_A_SET / FLOWS_IN_A_LINE;

/// Differ from the salts of routing and queues; otherwise the flows of one path would share few sets.
const SET_SALT: u32 = 0x85eb_ca77;
const TAG_SALT: u32 = 0xc2b2_ae3d;

/// One flow; all zeros if the entry is empty.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowEntry {
    /// Arrival of its last packet, ns.
    pub seen_ns: Cell64,
    /// Hash that identifies the flow, with the lowest bit set.
    pub tag: Cell32,
    /// Bytes sent since the flow was last silent, at most 4 GiB.
    pub bytes: Cell32,
    /// Packets sent since the flow was last silent.
    pub packets: Cell32,
    /// IB: number of its queue's window in which the flow was last counted.
    pub window: Cell32,
    /// Bytes sent in that window.
    pub arrived_bytes: Cell32,
    /// Bytes sent in the window before.
    pub arrived_before: Cell32,
}

#[repr(C)]
#[derive(Debug, Default, FromBytes)]
struct FlowLine([FlowEntry; FLOWS_IN_A_LINE as usize]);

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FlowLine {}

/// The set and the tag of a packet's flow.
struct Place<'a> {
    lines: [&'a FlowLine; LINES_IN_A_SET as usize],
    tag: u32,
}

#[inline(always)]
fn place<'a, T: Tables>(
    at: &Ingress<'a, T>,
    parameters: &FlowParameters,
    fields: &Ipv4Fields,
) -> Option<Place<'a>> {
    let seed = at.config.ecmp_seed;
    let set = flow_hash(fields, seed ^ SET_SALT) & parameters.last_set.load();
    let first = parameters.first_line.load().wrapping_add(set.wrapping_mul(LINES_IN_A_SET));
    let lines = [
        at.tables.lossy_line(first)?.view::<FlowLine>(),
        at.tables.lossy_line(first.wrapping_add(1))?.view(),
    ];
    // An empty entry has no tag.
    Some(Place { lines, tag: flow_hash(fields, seed ^ TAG_SALT) | 1 })
}

/// Returns the packets that a packet's flow has sent since it was last silent. Counts nothing.
#[inline(always)]
pub fn packets_before<T: Tables>(
    at: &Ingress<'_, T>,
    fields: &Ipv4Fields,
    now: Nanos,
) -> Option<u32> {
    let parameters = state::flow_parameters(at.tables)?;
    let Place { lines, tag } = place(at, parameters, fields)?;
    let oldest = now.0.saturating_sub(parameters.idle_ns.load());
    let mut packets = 0;
    for line in lines {
        for entry in &line.0 {
            if entry.tag.load() == tag && entry.seen_ns.load() >= oldest {
                packets = entry.packets.load();
            }
        }
    }
    Some(packets)
}

/// Counts a packet of `length` bytes for its flow, and assigns an entry to the flow if it has none.
#[inline(always)]
pub fn count<'a, T: Tables>(
    at: &Ingress<'a, T>,
    fields: &Ipv4Fields,
    length: u64,
    now: Nanos,
) -> Option<&'a FlowEntry> {
    let parameters = state::flow_parameters(at.tables)?;
    let Place { lines, tag } = place(at, parameters, fields)?;
    let oldest = now.0.saturating_sub(parameters.idle_ns.load());
    let entry = entry_of(lines, tag);
    let is_silent = entry.seen_ns.load() < oldest;
    let is_other = entry.tag.load() != tag;
    if is_other && entry.tag.load() != 0 && !is_silent {
        parameters.replaced.add::<T>(1);
    }
    if is_other || is_silent {
        entry.tag.store(tag);
        for cell in [&entry.bytes, &entry.packets, &entry.window] {
            cell.store(0);
        }
        entry.arrived_bytes.store(0);
        entry.arrived_before.store(0);
    }
    entry.seen_ns.store(now.0);
    entry.bytes.store(entry.bytes.load().saturating_add(length as u32));
    entry.packets.store(entry.packets.load().saturating_add(1));
    Some(entry)
}

/// Returns the flow's entry, else an empty entry, else the first of the entries with the longest silence.
#[inline(always)]
fn entry_of(lines: [&FlowLine; LINES_IN_A_SET as usize], tag: u32) -> &FlowEntry {
    let [FlowLine([first, second]), FlowLine([third, fourth])] = lines;
    let mut best = first;
    for entry in [second, third, fourth] {
        if best.tag.load() != tag && (entry.tag.load() == tag || age(entry) < age(best)) {
            best = entry;
        }
    }
    best
}

/// Time of an entry's last use, plus 1; 0 if the entry is empty.
#[inline(always)]
fn age(entry: &FlowEntry) -> u64 {
    if entry.tag.load() == 0 { 0 } else { entry.seen_ns.load() + 1 }
}

/// Returns how often an active flow has lost its entry, so that its counts are too low.
pub fn replaced_flows<T: Tables>(tables: &T) -> u64 {
    state::flow_parameters(tables).map_or(0, |line| line.replaced.load())
}

const _: () = assert!(size_of::<FlowLine>() == size_of::<SchemeLine>());
