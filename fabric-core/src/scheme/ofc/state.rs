//! What OFC keeps: a line of settings; for each port a line, and one for each of its priorities; and for each port its flow
//! table, four flows in a line.

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

/// Which of a priority's three queues is the normal one; the other two are backup queues.
pub const NORMAL: u32 = 0;
/// Queues of each priority at a port.
pub const QUEUES: u8 = 3;

/// How a switch's OFC is configured.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// `X_off^c` in bytes.
    pub congested_bytes: Cell64,
}

/// One port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// Its queues that must not send, besides those of classes that PFC has paused.
    pub held: QueueBits,
}

/// One priority of a port. All but `told`, the counts of frames and `named` are of its egress side.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct ClassLine {
    /// Flows that the neighbour has paused: rows of `congested_flow_tab`.
    pub paused_flows: Cell32,
    /// Of these, flows for which the table had no room; nothing leaves the normal queue while there are some.
    pub unnamed_flows: Cell32,
    /// [`TURN`], [`DRAINING`] and [`PENDING`].
    rotation: Cell32,
    /// The flow of which the neighbour was told last, as [`FlowEntry::link`] has it: the rows of `pause_frame_tab`.
    pub told: Cell32,
    /// How often the class was paused because a flow had no entry.
    pub class_pauses: Cell32,
    /// Packets whose flow had no entry.
    pub unnamed_packets: Cell32,
    /// Frames by which the neighbour was told to pause flows.
    pub pause_frames: Cell32,
    /// Flows that these named.
    pub told_flows: Cell32,
    /// Frames by which it was told to resume flows.
    pub resume_frames: Cell32,
    /// Where the flow of the last packet was found, as a note has it. From memory, the verifier takes it for any number; from
    /// the look-up, it would follow each place of the table to the end of the program.
    pub found: Cell32,
    /// How many flows the last frame named by which it was told to pause some.
    pub names: Cell32,
    /// These flows, then zeros.
    pub named: [Cell32; MAX_FLOWS],
}

/// Whether the second backup queue is the paused queue, and not the first.
const TURN: u32 = 1;
/// Whether the other backup queue is being drained.
const DRAINING: u32 = 2;
/// Whether flows wait for the end of that to be resumed.
const PENDING: u32 = 4;

impl ClassLine {
    /// The paused queue, which takes packets of paused flows, or the other backup queue.
    #[inline(always)]
    const fn backup(rotation: u32, queues: QueueRange) -> QueueId {
        queues.member(1 + (rotation & TURN))
    }

    /// The paused queue now.
    #[inline(always)]
    pub fn paused(&self, queues: QueueRange) -> QueueId {
        Self::backup(self.rotation.load(), queues)
    }

    /// The queue that is drained, during a rotation.
    #[inline(always)]
    pub fn drained(&self, queues: QueueRange) -> Option<QueueId> {
        self.is_draining().then(|| Self::backup(self.rotation.load() ^ TURN, queues))
    }

    /// Whether a rotation is going on.
    #[inline(always)]
    pub fn is_draining(&self) -> bool {
        self.rotation.load() & DRAINING != 0
    }

    /// The paused queue is to be drained, the other backup queue takes its role (Algorithm 3, lines 4 and 5).
    #[inline(always)]
    pub fn begin_rotation(&self) {
        self.rotation.store((self.rotation.load() ^ TURN) | DRAINING);
    }

    /// It is empty. Returns whether flows have waited for that.
    pub fn end_rotation(&self) -> bool {
        let rotation = self.rotation.load();
        self.rotation.store(rotation & TURN);
        rotation & PENDING != 0
    }

    /// Flows wait for the end of the rotation.
    #[inline(always)]
    pub fn wait_for_end(&self) {
        self.rotation.store(self.rotation.load() | PENDING);
    }

    /// Holds and frees the queues of the priority at `port` as the state demands.
    #[inline(always)]
    pub fn show(&self, port: &PortLine, queues: QueueRange) {
        let draining = self.is_draining();
        let rotation = self.rotation.load();
        port.held.set(queues.member(NORMAL), draining || self.unnamed_flows.load() != 0);
        port.held.set(Self::backup(rotation, queues), true);
        port.held.set(Self::backup(rotation ^ TURN, queues), !draining);
    }
}

/// A flow of one priority at one egress port. All zero if there is none.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowEntry {
    /// Its hash.
    pub hash: Cell32,
    /// Its packets in the switch.
    pub packets: Cell32,
    /// [`PAUSED`], [`TOLD`], [`RESUMES_NEXT`], [`TAKEN`] and [`AGE`]; from [`PRIORITY_AT`] on its priority, from [`INGRESS_AT`] on
    /// the port where it comes in.
    pub state: Cell32,
    /// Of a flow of which the neighbour was told: the one that it was told of before, as its number among all of the switch
    /// and 1, or 0.
    pub link: Cell32,
}

/// The neighbour behind the egress port has paused the flow.
pub const PAUSED: u32 = 1;
/// The neighbour at its ingress port has been told to pause it.
pub const TOLD: u32 = 2;
/// It is resumed when the rotation ends.
pub const RESUMES_NEXT: u32 = 4;
/// There is a flow.
pub const TAKEN: u32 = 8;
/// How often a period has ended since the neighbour named the flow, from [`AGE_AT`] on; all bits are set of one that is forgotten
/// next.
pub const AGE: u32 = 3 << AGE_AT;
/// Where that is.
pub const AGE_AT: u32 = 12;
const FLAGS: u32 = PAUSED | TOLD | RESUMES_NEXT;
/// Where the priority is.
pub const PRIORITY_AT: u32 = 8;
const PRIORITY: u32 = 7 << PRIORITY_AT;
/// Where the ingress port is.
pub const INGRESS_AT: u32 = 16;
/// Its bits. All are set if no packet of the flow has come yet.
pub const INGRESS: u32 = 0x1ff << INGRESS_AT;

/// Set in the note of a packet that no entry counts, because its flow found none. The other bits are those of its flow's
/// hash, so that it is held back should the flow have an entry when its turn comes.
pub const UNCOUNTED: u32 = 1 << 31;

/// The number among all of the switch of the flow that counts a packet with this note, if one does.
#[inline(always)]
pub const fn counting(note: u32) -> Option<u32> {
    if note & UNCOUNTED == 0 { note.checked_sub(1) } else { None }
}

/// What identifies flows of a priority in [`FlowEntry::state`].
#[inline(always)]
pub const fn of_priority(priority: Priority) -> u32 {
    TAKEN | (priority.number() as u32) << PRIORITY_AT
}

impl FlowEntry {
    /// Whether it is the flow with this hash.
    #[inline(always)]
    fn is(&self, priority: Priority, hash: u32) -> bool {
        self.hash.load() == hash && self.state.load() & (TAKEN | PRIORITY) == of_priority(priority)
    }

    /// Whether it is a flow of this priority.
    pub fn is_of(&self, priority: Priority) -> bool {
        self.state.load() & (TAKEN | PRIORITY) == of_priority(priority)
    }

    /// Whether flags are set.
    #[inline(always)]
    pub fn has(&self, flags: u32) -> bool {
        self.state.load() & flags == flags
    }

    /// Sets flags.
    #[inline(always)]
    pub fn set(&self, flags: u32) {
        self.state.store(self.state.load() | flags);
    }

    /// Clears flags, and gives the entry up if nothing needs it any more.
    #[inline(always)]
    pub fn clear(&self, flags: u32) {
        let state = self.state.load() & !flags;
        let is_needed = state & FLAGS != 0 || self.packets.load() != 0;
        self.state.store(if is_needed { state } else { 0 });
    }

    /// Where its packets come in.
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
    /// Entry `number`, counted modulo 4.
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

/// Entries of a flow table in a line.
pub const ENTRIES_IN_A_LINE: u32 = 4;
const SETTINGS: u32 = 0;
const FIRST_PORT: u32 = 1;
const FIRST_CLASS: u32 = 1;
/// Entries in which a flow may be: those of two lines, which its hash selects.
const PROBES: u32 = 2 * ENTRIES_IN_A_LINE;
const _: () = assert!(PROBES.is_power_of_two());

/// The settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// Port `number`.
#[inline(always)]
pub fn port<T: Tables>(tables: &T, number: u32) -> Option<&PortLine> {
    tables.scheme_line(FIRST_PORT.wrapping_add(number)).map(SchemeLine::view)
}

/// A priority of port `number`, in a switch with so many ports.
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

/// Line `line` of all flow tables of a switch with so many ports; those of a port are one after another.
#[inline(always)]
pub fn flow_line<T: Tables>(tables: &T, ports: u32, line: u32) -> Option<&FlowLine> {
    let first = FIRST_CLASS.wrapping_add(ports.wrapping_mul(1 + PRIORITIES as u32));
    tables.scheme_line(first.wrapping_add(line)).map(SchemeLine::view)
}

/// Flow `number` of all of the switch.
#[inline(always)]
pub fn flow<T: Tables>(tables: &T, ports: u32, number: u32) -> Option<&FlowEntry> {
    Some(flow_line(tables, ports, number / ENTRIES_IN_A_LINE)?.entry(number))
}

/// The number among all of the switch of the first flow at egress port `port`.
#[inline(always)]
pub const fn first_flow(options: Options, port: u32) -> u32 {
    port.wrapping_mul(options.flow_lines as u32 * ENTRIES_IN_A_LINE)
}

/// The place at which to look for a flow, 0 to `PROBES` - 1, as its number at its port.
#[inline(always)]
const fn place(options: Options, hash: u32, probe: u32) -> u32 {
    let hash = if probe < ENTRIES_IN_A_LINE { hash } else { mix(hash) };
    let line = member(hash, options.flow_lines as u32);
    line * ENTRIES_IN_A_LINE + (probe & (ENTRIES_IN_A_LINE - 1))
}

/// Where flows are looked up: an egress port of a switch.
#[derive(Clone, Copy, Debug)]
pub struct FlowTable {
    /// The options.
    pub options: Options,
    /// Ports of the switch.
    pub ports: u32,
    /// The egress port.
    pub port: u32,
}

impl FlowTable {
    /// The number among all of the switch, and 1, of the flow of a priority with this hash; 0 if there is none. If it `takes`
    /// one, the flow gets an entry if there is room for it. A number, and not its entry: the verifier would follow each place
    /// where one may lie to the end.
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
                flow.state.store(of_priority(priority) | INGRESS);
                return number.wrapping_add(1);
            }
            probe += 1;
        }
        0
    }

    /// The number among all of the switch of the flow of a packet with this note: of the one that counts it, or of the one
    /// whose name it has.
    #[inline(always)]
    pub fn of_note<T: Tables>(self, tables: &T, priority: Priority, note: u32) -> Option<u32> {
        if note & UNCOUNTED == 0 { counting(note) } else { self.named(tables, priority, note) }
    }

    /// Finds the flow of a packet that has its flow's name, except the bit of [`UNCOUNTED`].
    #[cold]
    fn named<T: Tables>(self, tables: &T, priority: Priority, note: u32) -> Option<u32> {
        let find = |hash| self.find(tables, priority, hash, false).checked_sub(1);
        find(note).or_else(|| find(note & !UNCOUNTED))
    }

    /// The flow of which [`find`](Self::find) has returned this, if it is one.
    #[inline(always)]
    pub fn flow<T: Tables>(self, tables: &T, note: u32) -> Option<&FlowEntry> {
        flow(tables, self.ports, note.checked_sub(1)?)
    }
}

/// Lines for a switch with so many ports.
pub const fn lines(options: Options, ports: u32) -> u32 {
    FIRST_PORT + ports * (1 + PRIORITIES as u32 + options.flow_lines as u32)
}
