//! State of OFC: a line of settings; for each port a line, a line for each of its priorities, and a
//! flow table with four flows in a line.

use zerocopy::FromBytes;

use super::settings::Options;
use crate::cell::{Cell32, Cell64};
use crate::hop_control::MAX_FLOWS;
use crate::map_abi::{PRIORITIES, SchemeLine, class_row};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueRange};
use crate::routing::{member, mix};
use crate::scheme::bfc::state::QueueBits;
use crate::scheme::state::Line;
use crate::tables::Tables;

/// Index of the normal queue among a priority's three queues; the other two are backup queues.
pub const NORMAL: u32 = 0;
/// Number of queues of each priority at a port.
pub const QUEUES: u8 = 3;

/// Settings of a switch's OFC.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// `X_off^c`, bytes.
    pub congested_bytes: Cell64,
}

/// State of one port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// Queues of the port that must not send, without those of classes that PFC has paused.
    pub held: QueueBits,
}

/// State of one priority of a port. All fields but `last_reported`, the counts of frames and `named` are about its egress side.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct ClassLine {
    /// Flows that the neighbour has paused: rows of `congested_flow_tab`.
    pub paused_flows: Cell32,
    /// Paused flows without an entry. While there are any, no packet leaves the normal queue.
    pub unnamed_flows: Cell32,
    /// [`TURN`], [`DRAINING`] and [`PENDING`].
    rotation: Cell32,
    /// Flow last reported to the neighbour, in the form of [`FlowEntry::link`]: first row of `pause_frame_tab`.
    pub last_reported: Cell32,
    /// Times that the class was paused because a flow had no entry.
    pub class_pauses: Cell32,
    /// Packets whose flow had no entry.
    pub unnamed_packets: Cell32,
    /// Frames sent to the neighbour to pause flows.
    pub pause_frames: Cell32,
    /// Flows named in `pause_frames`.
    pub reported_flows: Cell32,
    /// Frames sent to the neighbour to resume flows.
    pub resume_frames: Cell32,
    /// Entry of the last packet's flow, in the form of a note. The verifier takes a value from memory for any number;
    /// from the look-up, it would follow each place of the table to the end of the program.
    pub found: Cell32,
    /// Number of flows in the last frame that paused flows.
    pub names: Cell32,
    /// These flows, followed by zeros.
    pub named: [Cell32; MAX_FLOWS],
}

/// Flag: the second backup queue is the paused queue, instead of the first.
const TURN: u32 = 1;
/// Flag: the other backup queue is being drained.
const DRAINING: u32 = 2;
/// Flag: flows wait for the end of the rotation to be resumed.
const PENDING: u32 = 4;

impl ClassLine {
    /// Returns the paused queue, which takes packets of paused flows, or the other backup queue.
    #[inline(always)]
    const fn backup(rotation: u32, queues: QueueRange) -> QueueId {
        queues.member(1 + (rotation & TURN))
    }

    /// Returns the current paused queue.
    #[inline(always)]
    pub fn paused(&self, queues: QueueRange) -> QueueId {
        Self::backup(self.rotation.load(), queues)
    }

    /// Returns the queue that is drained, during a rotation.
    #[inline(always)]
    pub fn drained(&self, queues: QueueRange) -> Option<QueueId> {
        self.is_draining().then(|| Self::backup(self.rotation.load() ^ TURN, queues))
    }

    /// True during a rotation.
    #[inline(always)]
    pub fn is_draining(&self) -> bool {
        self.rotation.load() & DRAINING != 0
    }

    /// Begins to drain the paused queue; the other backup queue becomes the paused queue (Algorithm 3, lines 4 and 5).
    #[inline(always)]
    pub fn begin_rotation(&self) {
        self.rotation.store((self.rotation.load() ^ TURN) | DRAINING);
    }

    /// Ends a rotation, as the drained queue is empty. Returns true if flows have waited for this.
    pub fn end_rotation(&self) -> bool {
        let rotation = self.rotation.load();
        self.rotation.store(rotation & TURN);
        rotation & PENDING != 0
    }

    /// Records that flows wait for the end of the rotation.
    #[inline(always)]
    pub fn wait_for_end(&self) {
        self.rotation.store(self.rotation.load() | PENDING);
    }

    /// Holds or releases the queues of the priority at `port` as the state requires.
    #[inline(always)]
    pub fn show(&self, port: &PortLine, queues: QueueRange) {
        let draining = self.is_draining();
        let rotation = self.rotation.load();
        port.held.set(queues.member(NORMAL), draining || self.unnamed_flows.load() != 0);
        port.held.set(Self::backup(rotation, queues), true);
        port.held.set(Self::backup(rotation ^ TURN, queues), !draining);
    }
}

/// A flow of one priority at one egress port. All zeros in a free entry.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowEntry {
    /// Hash of the flow.
    pub hash: Cell32,
    /// Packets of the flow in the switch.
    pub packets: Cell32,
    /// [`PAUSED`], [`REPORTED`], [`RESUMES_NEXT`], [`TAKEN`] and [`AGE`]; the flow's priority at
    /// [`PRIORITY_AT`], its ingress port at [`INGRESS_AT`].
    pub state: Cell32,
    /// For a flow reported to the neighbour: switch-wide number plus 1 of the flow reported before
    /// it; 0 if there was none.
    pub link: Cell32,
}

/// Flag: the neighbour behind the egress port has paused the flow.
pub const PAUSED: u32 = 1;
/// Flag: the neighbour at the flow's ingress port was sent a PAUSE of it.
pub const REPORTED: u32 = 2;
/// Flag: the flow is resumed when the rotation ends.
pub const RESUMES_NEXT: u32 = 4;
/// Flag: the entry is in use.
pub const TAKEN: u32 = 8;
/// Number of periods since the neighbour named the flow, at [`AGE_AT`]. If all bits are set, the
/// flow is forgotten at the next period.
pub const AGE: u32 = 3 << AGE_AT;
/// Lowest bit of the age.
pub const AGE_AT: u32 = 12;
const FLAGS: u32 = PAUSED | REPORTED | RESUMES_NEXT;
/// Lowest bit of the priority.
pub const PRIORITY_AT: u32 = 8;
const PRIORITY: u32 = 7 << PRIORITY_AT;
/// Lowest bit of the ingress port.
pub const INGRESS_AT: u32 = 16;
/// Bits of the ingress port. All are set until the first packet of the flow.
pub const INGRESS: u32 = 0x1ff << INGRESS_AT;

/// Flag in the note of a packet that is not counted because its flow found no entry. The other bits are from the flow's
/// hash, so that the packet is held back if the flow has an entry when its turn comes.
pub const UNCOUNTED: u32 = 1 << 31;

/// Returns the switch-wide number of the entry that counts a packet with this note, if any.
#[inline(always)]
pub const fn counting(note: u32) -> Option<u32> {
    if note & UNCOUNTED == 0 { note.checked_sub(1) } else { None }
}

/// Bits of [`FlowEntry::state`] that identify flows of a priority.
#[inline(always)]
pub const fn priority_bits(priority: Priority) -> u32 {
    TAKEN | (priority.number() as u32) << PRIORITY_AT
}

impl FlowEntry {
    /// True if the entry is the flow with this priority and hash.
    #[inline(always)]
    fn is(&self, priority: Priority, hash: u32) -> bool {
        self.hash.load() == hash
            && self.state.load() & (TAKEN | PRIORITY) == priority_bits(priority)
    }

    /// True if the entry is a flow of this priority.
    pub fn is_of(&self, priority: Priority) -> bool {
        self.state.load() & (TAKEN | PRIORITY) == priority_bits(priority)
    }

    /// True if all of `flags` are set.
    #[inline(always)]
    pub fn has(&self, flags: u32) -> bool {
        self.state.load() & flags == flags
    }

    /// Sets flags.
    #[inline(always)]
    pub fn set(&self, flags: u32) {
        self.state.store(self.state.load() | flags);
    }

    /// Clears flags, and frees the entry if it is no longer needed.
    #[inline(always)]
    pub fn clear(&self, flags: u32) {
        let state = self.state.load() & !flags;
        let is_needed = state & FLAGS != 0 || self.packets.load() != 0;
        self.state.store(if is_needed { state } else { 0 });
    }

    /// Records the ingress port of the flow's packets.
    #[inline(always)]
    pub fn comes_in_at(&self, port: u32) {
        self.state.store(self.state.load() & !INGRESS | port << INGRESS_AT);
    }
}

/// Four entries of a flow table.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowLine([FlowEntry; ENTRIES_IN_A_LINE as usize]);

impl FlowLine {
    /// Returns entry `number` modulo 4.
    #[inline(always)]
    pub const fn entry(&self, number: u32) -> &FlowEntry {
        &self.0[(number & (ENTRIES_IN_A_LINE - 1)) as usize]
    }
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for SettingsLine {}
// SAFETY: as above.
unsafe impl Line for PortLine {}
// SAFETY: as above.
unsafe impl Line for ClassLine {}
// SAFETY: as above.
unsafe impl Line for FlowLine {}

/// Number of entries of a flow table in a line.
pub const ENTRIES_IN_A_LINE: u32 = 4;
const SETTINGS: u32 = 0;
const FIRST_PORT: u32 = 1;
const FIRST_CLASS: u32 = 1;
/// Number of entries in which a flow may lie: two lines, selected by its hash.
const PROBES: u32 = 2 * ENTRIES_IN_A_LINE;
const _: () = assert!(PROBES.is_power_of_two());

/// Returns the settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// Returns port `number`.
#[inline(always)]
pub fn port<T: Tables>(tables: &T, number: u32) -> Option<&PortLine> {
    tables.scheme_line(FIRST_PORT.wrapping_add(number)).map(SchemeLine::view)
}

/// Returns a priority of port `number` in a switch with `ports` ports.
#[inline(always)]
pub fn class<T: Tables>(
    tables: &T,
    ports: u32,
    number: u32,
    priority: Priority,
) -> Option<&ClassLine> {
    let row = class_row(number, priority);
    let line = FIRST_CLASS.wrapping_add(ports).wrapping_add(row);
    tables.scheme_line(line).map(SchemeLine::view)
}

/// Returns line `line` of all flow tables of a switch with `ports` ports. The lines of a port are adjacent.
#[inline(always)]
pub fn flow_line<T: Tables>(tables: &T, ports: u32, line: u32) -> Option<&FlowLine> {
    let first = FIRST_CLASS.wrapping_add(ports.wrapping_mul(1 + PRIORITIES as u32));
    tables.scheme_line(first.wrapping_add(line)).map(SchemeLine::view)
}

/// Returns the flow with the switch-wide number `number`.
#[inline(always)]
pub fn flow<T: Tables>(tables: &T, ports: u32, number: u32) -> Option<&FlowEntry> {
    Some(flow_line(tables, ports, number / ENTRIES_IN_A_LINE)?.entry(number))
}

/// Returns the switch-wide number of the first flow at egress port `port`.
#[inline(always)]
pub const fn first_flow(options: Options, port: u32) -> u32 {
    port.wrapping_mul(options.flow_lines as u32 * ENTRIES_IN_A_LINE)
}

/// Returns the position number `probe`, 0 to `PROBES` - 1, at which a flow may lie, as its number at its port.
#[inline(always)]
const fn place(options: Options, hash: u32, probe: u32) -> u32 {
    let hash = if probe < ENTRIES_IN_A_LINE { hash } else { mix(hash) };
    let line = member(hash, options.flow_lines as u32);
    line * ENTRIES_IN_A_LINE + (probe & (ENTRIES_IN_A_LINE - 1))
}

/// The flow table of an egress port.
#[derive(Clone, Copy, Debug)]
pub struct FlowTable {
    /// The options.
    pub options: Options,
    /// Number of ports of the switch.
    pub ports: u32,
    /// Egress port.
    pub port: u32,
}

impl FlowTable {
    /// Returns the switch-wide number plus 1 of the flow with this priority and hash; 0 if it has
    /// no entry. If `takes`, the flow gets an entry if there is room. Returns a number instead of
    /// the entry, because the verifier would follow each possible entry to the end.
    #[inline(always)]
    pub fn find<T: Tables>(self, tables: &T, priority: Priority, hash: u32, takes: bool) -> u32 {
        let first = first_flow(self.options, self.port);
        let probes = if takes { 2 * PROBES } else { PROBES };
        let mut probe = 0;
        while probe < probes {
            let number = first.wrapping_add(place(self.options, hash, probe & (PROBES - 1)));
            let Some(flow) = flow(tables, self.ports, number) else { return 0 };
            if probe < PROBES {
                if flow.is(priority, hash) {
                    return number.wrapping_add(1);
                }
            } else if flow.state.load() == 0 {
                flow.hash.store(hash);
                flow.packets.store(0);
                flow.link.store(0);
                flow.state.store(priority_bits(priority) | INGRESS);
                return number.wrapping_add(1);
            }
            probe += 1;
        }
        0
    }

    /// Returns the switch-wide number of the flow of a packet with this note: the flow whose entry
    /// counts it, or the flow that the note names.
    #[inline(always)]
    pub fn resolve_note<T: Tables>(self, tables: &T, priority: Priority, note: u32) -> Option<u32> {
        if note & UNCOUNTED == 0 { counting(note) } else { self.named(tables, priority, note) }
    }

    /// Finds the flow of a packet whose note has the flow's name, except for the bit of [`UNCOUNTED`].
    #[cold]
    fn named<T: Tables>(self, tables: &T, priority: Priority, note: u32) -> Option<u32> {
        let find = |hash| self.find(tables, priority, hash, false).checked_sub(1);
        find(note).or_else(|| find(note & !UNCOUNTED))
    }

    /// Returns the flow for a result of [`find`](Self::find), if not 0.
    #[inline(always)]
    pub fn flow<T: Tables>(self, tables: &T, note: u32) -> Option<&FlowEntry> {
        flow(tables, self.ports, note.checked_sub(1)?)
    }
}

/// Number of lines for a switch with `ports` ports.
pub const fn lines(options: Options, ports: u32) -> u32 {
    FIRST_PORT + ports * (1 + PRIORITIES as u32 + options.flow_lines as u32)
}
