//! State of BFC: a line of settings; a line, eight lines of pause counters and a part of the flow table for each port;
//! a line of elided turns for each port if deadlocks are prevented; and a block of thresholds.

use zerocopy::FromBytes;

use super::settings::Options;
use crate::cell::{Cell32, Cell64};
use crate::map_abi::{MAX_PORTS, SCHEME_BLOCK_WORDS, SchemeLine};
use crate::queue::{FLOW_QUEUES, MAX_DATA_QUEUES, QueueId};
use crate::scheme::state::Line;
use crate::tables::Tables;

/// Settings of a switch's BFC.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// Time that a flow without packets in the switch keeps its queue, ns.
    pub sticky_ns: Cell64,
    /// Sampling rate in units of 2^-32.
    pub sampled: Cell64,
}

/// Set of flow queues of a port, one bit each.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueBits([Cell64; 2]);

impl QueueBits {
    /// Returns the set: bit n of the first word is queue n, bit n of the second word queue 64 + n.
    #[inline(always)]
    pub fn words(&self) -> [u64; 2] {
        [self.0[0].load(), self.0[1].load()]
    }

    /// Replaces the set.
    #[inline(always)]
    pub fn store(&self, [low, high]: [u64; 2]) {
        self.0[0].store(low);
        self.0[1].store(high);
    }

    /// True if `queue` is in the set.
    #[inline(always)]
    pub fn has(&self, queue: QueueId) -> bool {
        let number = queue.number();
        self.0[usize::from(number >> 6 & 1)].load() >> (number & 63) & 1 != 0
    }

    /// Adds or removes a queue.
    #[inline(always)]
    pub fn set(&self, queue: QueueId, is_in: bool) {
        let number = queue.number();
        let word = &self.0[usize::from(number >> 6 & 1)];
        let bit = 1 << (number & 63);
        let others = word.load() & !bit;
        word.store(if is_in { others | bit } else { others });
    }
}

/// State of one port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// Flow queues of the port that hold packets.
    pub in_use: QueueBits,
    /// Queues of the port that the neighbour has paused.
    pub paused: QueueBits,
    /// Queues of the neighbour with a pause counter above zero.
    pub pausing: QueueBits,
    /// Entries of the port's flow table that count packets: active flows. Flows that share an entry count as one.
    pub flows: Cell32,
    /// Times that an entry began to count packets.
    pub activations: Cell32,
    /// Times that the entry's queue held other packets at that moment.
    pub collisions: Cell32,
    /// Low bits: the queue after the last one assigned. From [`OTHERS_AT`]: one bit for each data
    /// queue beyond the flow queues that holds packets.
    turn: Cell32,
}

/// Lowest bit of the other data queues in [`PortLine::turn`].
const OTHERS_AT: u32 = 8;

impl PortLine {
    /// Returns the flow queue that is next in turn for assignment.
    #[inline(always)]
    pub fn next_given(&self) -> QueueId {
        QueueId::from_bits(self.turn.load() & 127)
    }

    /// Records that `queue` was assigned to a flow.
    #[inline(always)]
    pub fn give(&self, queue: QueueId) {
        let others = self.turn.load() & !0xff;
        self.turn.store(others | u32::from(queue.number().wrapping_add(1) & 127));
    }

    /// Records whether a data queue holds packets.
    #[inline(always)]
    pub fn set_in_use(&self, queue: QueueId, is_in: bool) {
        if queue.is_flow_queue() {
            self.in_use.set(queue, is_in);
        } else if queue.is_data() {
            let bit = 1 << (OTHERS_AT + u32::from(queue.number() & 7));
            let rest = self.turn.load() & !bit;
            self.turn.store(if is_in { rest | bit } else { rest });
        }
    }

    /// Number of data queues that hold packets and that the neighbour has not paused one by one.
    #[inline(always)]
    pub fn active(&self) -> u32 {
        let ([low, high], [low_paused, high_paused]) = (self.in_use.words(), self.paused.words());
        let others = self.turn.load() >> OTHERS_AT;
        count_ones([low & !low_paused, high & !high_paused, others.into()])
    }
}

/// Number of bits set in three words, at most 255. Computed as one sum: the verifier has bounds
/// only for each single `u64::count_ones`, and LLVM removes checks that it can prove itself.
#[inline(always)]
fn count_ones(words: [u64; 3]) -> u32 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    const ONES: u64 = 0x55 * BYTES;
    const PAIRS: u64 = 0x33 * BYTES;
    const FOURS: u64 = 0x0f * BYTES;
    let of_bytes = words.map(|word| {
        let of_pairs = word - ((word >> 1) & ONES);
        let of_fours = (of_pairs & PAIRS) + ((of_pairs >> 2) & PAIRS);
        (of_fours + (of_fours >> 4)) & FOURS
    });
    let [a, b, c] = of_bytes;
    ((a + b + c).wrapping_mul(BYTES) >> 56) as u32
}

/// Pause counters of 16 queues of a neighbour.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
struct CounterLine([Cell32; COUNTERS_IN_A_LINE]);

/// State of the flows with one hash at one egress port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowEntry {
    /// Time at which one of their packets was last enqueued or dequeued, ns.
    pub seen_ns: Cell64,
    /// Packets of these flows in the switch.
    pub packets: Cell32,
    /// Queue of these flows as an index within their priority, plus 1; 0 before their first packet.
    /// Within the priority, because flows of two priorities may share an entry.
    pub member: Cell32,
}

/// Four entries of the flow table.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
struct FlowLine([FlowEntry; ENTRIES_IN_A_LINE as usize]);

/// Egress ports to which packets from an ingress port trigger no backpressure, one bit each (Appendix B).
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct ElidedLine([Cell64; ELIDED_WORDS]);

impl ElidedLine {
    /// True if an egress port is in the set.
    #[inline(always)]
    pub fn contains(&self, egress_port: u32) -> bool {
        self.word(egress_port).load() >> (egress_port & 63) & 1 != 0
    }

    /// Adds an egress port.
    pub fn insert(&self, egress_port: u32) {
        let word = self.word(egress_port);
        word.store(word.load() | 1 << (egress_port & 63));
    }

    #[inline(always)]
    fn word(&self, egress_port: u32) -> &Cell64 {
        &self.0[(egress_port >> 6) as usize & (ELIDED_WORDS - 1)]
    }
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for SettingsLine {}
// SAFETY: as above.
unsafe impl Line for PortLine {}
// SAFETY: as above.
unsafe impl Line for CounterLine {}
// SAFETY: as above.
unsafe impl Line for FlowLine {}
// SAFETY: as above.
unsafe impl Line for ElidedLine {}

/// Number of entries of the flow table in a line.
pub const ENTRIES_IN_A_LINE: u32 = 4;
const COUNTERS_IN_A_LINE: usize = 16;
const COUNTER_LINES: u32 = (FLOW_QUEUES as usize / COUNTERS_IN_A_LINE) as u32;
const ELIDED_WORDS: usize = MAX_PORTS / 64;
const _: () = assert!(ELIDED_WORDS.is_power_of_two());
const SETTINGS: u32 = 0;
const FIRST_PORT: u32 = 1;
/// Lines of a port before its flow table: the port's line and its counters' lines.
const PORT_LINES: u32 = 1 + COUNTER_LINES;

/// Returns the settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// Returns port `number`.
#[inline(always)]
pub fn port<T: Tables>(tables: &T, number: u32) -> Option<&PortLine> {
    tables.scheme_line(FIRST_PORT + number.wrapping_mul(PORT_LINES)).map(SchemeLine::view)
}

/// Returns the pause counter of a queue of the neighbour at `port` (Section 3.3.2).
#[inline(always)]
pub fn counter<T: Tables>(tables: &T, port: u32, queue: QueueId) -> Option<&Cell32> {
    let number = usize::from(queue.number());
    let line = (number / COUNTERS_IN_A_LINE) as u32 & (COUNTER_LINES - 1);
    let line = (FIRST_PORT + 1).wrapping_add(port.wrapping_mul(PORT_LINES)).wrapping_add(line);
    let line: &CounterLine = tables.scheme_line(line)?.view();
    line.0.get(number & (COUNTERS_IN_A_LINE - 1))
}

/// Returns entry `number` of the flow table of egress port `port`, in a switch with `ports` ports.
#[inline(always)]
pub fn flow<T: Tables>(
    tables: &T,
    options: Options,
    ports: u32,
    port: u32,
    number: u32,
) -> Option<&FlowEntry> {
    let tables_before = port.wrapping_mul(options.flow_lines.into());
    let first = FIRST_PORT.wrapping_add(ports.wrapping_mul(PORT_LINES));
    let line = first.wrapping_add(tables_before).wrapping_add(number / ENTRIES_IN_A_LINE);
    let line: &FlowLine = tables.scheme_line(line)?.view();
    line.0.get((number & (ENTRIES_IN_A_LINE - 1)) as usize)
}

/// Returns the elided turns from ingress port `port` in a switch with `ports` ports, if the options enable them.
#[inline(always)]
pub fn elided<T: Tables>(
    tables: &T,
    options: Options,
    ports: u32,
    port: u32,
) -> Option<&ElidedLine> {
    let lines = PORT_LINES.wrapping_add(options.flow_lines.into());
    let first = FIRST_PORT.wrapping_add(ports.wrapping_mul(lines));
    tables.scheme_line(first.wrapping_add(port)).map(SchemeLine::view)
}

/// Number of lines for a switch with `ports` ports.
pub const fn lines(options: Options, ports: u32) -> u32 {
    FIRST_PORT + ports * (PORT_LINES + options.flow_lines as u32 + options.elides as u32)
}

/// Returns Th of the queues of `port` in bytes, with `active` active queues (Section 3.3.2). Each port has its own
/// block: an OR would select one of two ports in a block, and the verifier of Linux 6.1 derives no bounds from it.
#[inline(always)]
pub fn threshold<T: Tables>(tables: &T, port: u32, active: u32) -> Option<&Cell32> {
    Some(tables.scheme_block(port)?.word(active as usize))
}

const _: () =
    assert!(MAX_DATA_QUEUES < SCHEME_BLOCK_WORDS && MAX_DATA_QUEUES - FLOW_QUEUES as usize == 8);

/// Number of blocks for a switch with `ports` ports.
pub const fn blocks(ports: u32) -> u32 {
    ports
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_abi::SwitchConfig;
    use crate::tables::owned::{OwnedTables, PORTS};

    #[test]
    fn active_queues_are_those_in_use_that_are_not_paused() {
        let port = PortLine::default();
        let mut in_use = 0;
        for queue in (0..136).rev().map(QueueId::data) {
            port.set_in_use(queue, true);
            port.set_in_use(queue, true);
            in_use += 1;
            assert_eq!(port.active(), in_use, "{queue}");
        }
        port.give(QueueId::data(126));
        assert_eq!((port.next_given(), port.active()), (QueueId::data(127), 136));
        port.give(QueueId::data(127));
        assert_eq!(port.next_given(), QueueId::data(0));
        port.paused.store([u64::MAX, 1]);
        assert_eq!(port.active(), 136 - 65);
        port.set_in_use(QueueId::data(130), false);
        port.set_in_use(QueueId::data(100), false);
        port.set_in_use(QueueId::CONTROL, false);
        assert_eq!(port.active(), 136 - 67);
    }

    #[test]
    fn an_elided_turn_has_a_bit_of_its_own() {
        let ports = 0..MAX_PORTS as u32;
        for inserted in [0, 1, 63, 64, 127, 128, 200, 255] {
            let line = ElidedLine::default();
            line.insert(inserted);
            assert!(ports.clone().filter(|&port| line.contains(port)).eq([inserted]));
        }
        let line = ElidedLine::default();
        ports.clone().for_each(|port| line.insert(port));
        assert!(ports.clone().all(|port| line.contains(port)));
    }

    #[test]
    fn the_lines_of_elided_turns_are_the_last_ones() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        let ports = PORTS as u32;
        for options in Options::EVERY {
            let elides = Options { elides: true, ..options };
            let plain = Options { elides: false, ..options };
            assert_eq!(lines(elides, ports), lines(plain, ports) + ports);
            for port in 0..ports {
                let line = elided(&tables, elides, ports, port).expect("there is room");
                let expected = tables.scheme_line(lines(plain, ports) + port).expect("as above");
                assert!(core::ptr::addr_eq(line, expected));
            }
        }
    }
}
