//! What GFC keeps: a line with the stages, one for each port with their rates, one for each port and priority.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine, class_row};
use crate::priority::Priority;
use crate::scheme::state::Line;
use crate::tables::Tables;
use units::Nanos;

/// The most stages below line rate.
pub const MOST_STAGES: u8 = 14;
/// Words of a line.
const WORDS: usize = 16;

/// Where stages begin.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct StagesLine {
    /// `B_1`, `B_2` and so on: a queue that holds as much is in that stage. `u32::MAX` behind the last.
    pub begin_bytes: [Cell32; MOST_STAGES as usize],
    /// What a frame takes on the wire beyond its length.
    pub overhead_bytes: Cell32,
    /// To the end of the line.
    pub reserved: Cell32,
}

/// The rates of one port's stages.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct RatesLine {
    /// By stage, kilobits a second; the first is the line rate.
    pub kilobits: [Cell32; WORDS],
}

/// One (port, priority), as an ingress queue and as egress queues.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// The stage that the neighbour was told last.
    pub stage: Cell32,
    /// The rate at which the neighbour takes packets of the egress queues, kilobits a second; 0: at line rate.
    pub kilobits: Cell32,
    /// When the last of these packets started.
    pub start_ns: Cell64,
    /// Its bytes on the wire.
    pub bytes: Cell64,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for StagesLine {}
// SAFETY: as above.
unsafe impl Line for RatesLine {}
// SAFETY: as above.
unsafe impl Line for QueueLine {}

impl StagesLine {
    /// The stage of a queue that holds so many bytes.
    #[inline(always)]
    pub fn of(&self, bytes: u64) -> u32 {
        let mut stage = 0;
        for begin in &self.begin_bytes {
            // 1 if `begin` is at most `bytes`, without a branch: the verifier would follow each.
            stage += (u64::from(begin.load()).wrapping_sub(bytes.wrapping_add(1)) >> 63) as u32;
        }
        stage
    }

    /// The last stage.
    pub fn last(&self) -> u32 {
        self.of(u64::from(u32::MAX) - 1)
    }

    /// Where a stage begins.
    #[inline(always)]
    pub fn begins(&self, stage: u32) -> u64 {
        let begin = self.begin_bytes.get((stage as usize).wrapping_sub(1));
        begin.map_or(0, |begin| begin.load().into())
    }
}

impl RatesLine {
    /// The rate of a stage.
    #[inline(always)]
    pub fn of(&self, stage: u32) -> u32 {
        self.kilobits[stage as usize & (WORDS - 1)].load()
    }
}

impl QueueLine {
    /// When the gap behind the last packet is over: its time on the wire at the present rate, rounded up to a nanosecond.
    #[inline(always)]
    pub fn opens(&self) -> Nanos {
        let kilobits = u64::from(self.kilobits.load());
        if kilobits == 0 {
            return Nanos(0);
        }
        let bits_in_millionths = self.bytes.load().wrapping_mul(8_000_000);
        Nanos(self.start_ns.load().wrapping_add(bits_in_millionths.div_ceil(kilobits)))
    }
}

const STAGES: u32 = 0;
const FIRST_PORT: u32 = 1;

/// Where stages begin.
#[inline(always)]
pub fn stages<T: Tables>(tables: &T) -> Option<&StagesLine> {
    tables.scheme_line(STAGES).map(SchemeLine::view)
}

/// The rates of a port.
#[inline(always)]
pub fn rates<T: Tables>(tables: &T, port: u32) -> Option<&RatesLine> {
    tables.scheme_line(FIRST_PORT.wrapping_add(port)).map(SchemeLine::view)
}

/// A port and priority, of a switch with so many ports.
#[inline(always)]
pub fn queue<T: Tables>(
    tables: &T,
    ports: u32,
    port: u32,
    priority: Priority,
) -> Option<&QueueLine> {
    let row = FIRST_PORT.wrapping_add(ports).wrapping_add(class_row(port, priority));
    tables.scheme_line(row).map(SchemeLine::view)
}

/// Lines of a switch with so many ports.
pub const fn lines(ports: u32) -> u32 {
    FIRST_PORT + (1 + PRIORITIES as u32) * ports
}
