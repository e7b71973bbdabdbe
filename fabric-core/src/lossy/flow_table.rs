//! What flows have sent, in a table of a fixed size behind the lines of the queues.
//!
//! A flow is known by 32 bits of one hash of its five-tuple, and lies in one of the [`FLOWS_IN_A_SET`] entries of the set
//! that another hash selects. A new flow gets the entry of that set that has been silent for longest, in which case what
//! the other had sent is forgotten: if it was not [silent](FlowParameters::idle_ns), that is
//! [counted](FlowParameters::replaced).
//!
//! Two flows of a set that have the same 32 bits, one in 2^32 pairs, count as one.

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

/// Entries of a line.
pub const FLOWS_IN_A_LINE: u32 = 2;
/// Entries in which a flow may lie.
pub const FLOWS_IN_A_SET: u32 = 4;
const LINES_IN_A_SET: u32 = FLOWS_IN_A_SET / FLOWS_IN_A_LINE;

/// They differ from those of routing and of queues, or the flows that came this way would share few sets.
const SET_SALT: u32 = 0x85eb_ca77;
const TAG_SALT: u32 = 0xc2b2_ae3d;

/// One flow; zeros where there is none.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowEntry {
    /// When its last packet came.
    pub seen_ns: Cell64,
    /// The hash that it is known by, with the lowest bit set.
    pub tag: Cell32,
    /// What it has sent since it was last silent, at most 4 GiB.
    pub bytes: Cell32,
    /// The packets of that.
    pub packets: Cell32,
    /// IB: the window of its queue in which it was last counted.
    pub window: Cell32,
    /// What it has sent in that window.
    pub arrived_bytes: Cell32,
    /// What it had sent in the window before.
    pub arrived_before: Cell32,
}

#[repr(C)]
#[derive(Debug, Default, FromBytes)]
struct FlowLine([FlowEntry; FLOWS_IN_A_LINE as usize]);

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FlowLine {}

/// Where a packet's flow is looked for.
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

/// Packets that a packet's flow has sent since it was last silent; counts nothing.
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

/// Counts a packet of `length` bytes for its flow, and finds the flow an entry if it has none.
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

/// The flow's entry, or else an empty one, or else the one that has been silent for longest, the first of several.
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

/// When an entry was last used, counted from 1; 0 if it is empty.
#[inline(always)]
fn age(entry: &FlowEntry) -> u64 {
    if entry.tag.load() == 0 { 0 } else { entry.seen_ns.load() + 1 }
}

/// How often a flow has lost its entry while it was not silent: what was counted of it is too little.
pub fn replaced_flows<T: Tables>(tables: &T) -> u64 {
    state::flow_parameters(tables).map_or(0, |line| line.replaced.load())
}

const _: () = assert!(size_of::<FlowLine>() == size_of::<SchemeLine>());
