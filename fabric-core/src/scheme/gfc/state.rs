//! State of GFC: a line with the stages, a line with the rates of each port, and a line for each port and priority.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine, class_row};
use crate::priority::Priority;
use crate::scheme::state::Line;
use crate::tables::Tables;
use units::Nanos;

/// Max number of stages below line rate.
pub const MAX_STAGES: u8 = 14;
/// Number of words in a line.
const WORDS: usize = 16;

/// Starts of the stages.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct StagesLine {
    /// `B_1`, `B_2` and so on, the min occupancy of each stage; `u32::MAX` behind the last.
    pub begin_bytes: [Cell32; MAX_STAGES as usize],
    /// Bytes of a frame on the wire beyond its length.
    pub overhead_bytes: Cell32,
    /// Padding to the end of the line.
    pub reserved: Cell32,
}

/// Rates of one port's stages.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct RatesLine {
    /// Rate of each stage, kbit/s; the first is the line rate.
    pub kilobits: [Cell32; WORDS],
}

/// State of one (port, priority), as an ingress queue and as egress queues.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// Stage that was last sent to the neighbour.
    pub stage: Cell32,
    /// Max rate of the egress queues, set by the neighbour, kbit/s; 0 means line rate.
    pub kilobits: Cell32,
    /// Start of the last packet of the egress queues, ns.
    pub start_ns: Cell64,
    /// Bytes of that packet on the wire.
    pub bytes: Cell64,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for StagesLine {}
// SAFETY: as above.
unsafe impl Line for RatesLine {}
// SAFETY: as above.
unsafe impl Line for QueueLine {}

impl StagesLine {
    /// Returns the stage of a queue that holds `bytes`.
    #[inline(always)]
    pub fn stage(&self, bytes: u64) -> u32 {
        let mut stage = 0;
        for begin in &self.begin_bytes {
            // 1 if `begin` is at most `bytes`. No branch, because the verifier would follow each.
            stage += (u64::from(begin.load()).wrapping_sub(bytes.wrapping_add(1)) >> 63) as u32;
        }
        stage
    }

    /// Returns the last stage.
    pub fn last(&self) -> u32 {
        self.stage(u64::from(u32::MAX) - 1)
    }

    /// Returns the start of a stage.
    #[inline(always)]
    pub fn begins(&self, stage: u32) -> u64 {
        let begin = self.begin_bytes.get((stage as usize).wrapping_sub(1));
        begin.map_or(0, |begin| begin.load().into())
    }
}

impl RatesLine {
    /// Returns the rate of a stage.
    #[inline(always)]
    pub fn rate(&self, stage: u32) -> u32 {
        self.kilobits[stage as usize & (WORDS - 1)].load()
    }
}

impl QueueLine {
    /// End of the gap after the last packet: the packet's time on the wire at the current rate, rounded up to 1 ns.
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

/// Returns the starts of the stages.
#[inline(always)]
pub fn stages<T: Tables>(tables: &T) -> Option<&StagesLine> {
    tables.scheme_line(STAGES).map(SchemeLine::view)
}

/// Returns the rates of a port.
#[inline(always)]
pub fn rates<T: Tables>(tables: &T, port: u32) -> Option<&RatesLine> {
    tables.scheme_line(FIRST_PORT.wrapping_add(port)).map(SchemeLine::view)
}

/// Returns a port and priority of a switch with `ports` ports.
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

/// Number of lines for a switch with `ports` ports.
pub const fn lines(ports: u32) -> u32 {
    FIRST_PORT + (1 + PRIORITIES as u32) * ports
}
