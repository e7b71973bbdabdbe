//! The state of the buffer management in `LOSSY_LINES`: a line for each priority, one of parameters, one for each egress queue,
//! and a flow table, if the scheme has one.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine};
use crate::priority::Priority;
use crate::scheme::state::Line;
use crate::tables::Tables;
use crate::threshold::scaled;

/// The line of parameters that concern all queues.
const PARAMETERS_AT: u32 = PRIORITIES as u32;
/// The line of the first egress queue; that of row n ([`queue_row`](crate::map_abi::SwitchConfig::queue_row)) is n lines on.
pub const QUEUES_AT: u32 = PARAMETERS_AT + 1;

/// One congested queue in [`PriorityLine::congested`], which counts parts of queues, too.
pub const ONE_QUEUE: u32 = 1 << 16;
/// The rate of the port in [`QueueLine::drain_rate`].
pub const WHOLE_RATE: u32 = 1 << 16;

/// One priority.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PriorityLine {
    /// alpha, numerator.
    pub alpha_numerator: Cell32,
    /// alpha, denominator.
    pub alpha_denominator: Cell32,
    /// alpha of packets of their flow's first round trip, numerator.
    pub first_alpha_numerator: Cell32,
    /// The same, denominator.
    pub first_alpha_denominator: Cell32,
    /// Congested queues of the priority as last counted, in units of [`ONE_QUEUE`]. Less than one counts as one.
    pub congested: Cell32,
    /// To the end of the line.
    pub unused: [Cell32; 11],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for PriorityLine {}

impl PriorityLine {
    /// alpha times `bytes`, rounded down. Buffers are below 2^30 bytes and alpha is at most
    /// [2^16](super::settings::LARGEST_ALPHA), so that there is room for 16 bits more.
    #[inline(always)]
    pub fn scaled(&self, bytes: u64, first_rtt: bool) -> u64 {
        let (numerator, denominator) = if first_rtt {
            (&self.first_alpha_numerator, &self.first_alpha_denominator)
        } else {
            (&self.alpha_numerator, &self.alpha_denominator)
        };
        scaled(bytes, numerator.load(), denominator.load())
    }

    /// Congested queues, at least one, in units of [`ONE_QUEUE`].
    #[inline(always)]
    pub fn congested(&self) -> u64 {
        u64::from(self.congested.load().max(ONE_QUEUE))
    }
}

/// What concerns all queues.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct Parameters {
    /// `MinBytes` of BSHARE: a queue that holds less drops nothing at departure.
    pub least_bytes: Cell64,
    /// When the running period began.
    pub period_began_ns: Cell64,
    /// How the congestion of a queue is judged; see [`congestion`](super::congestion).
    pub congestion_form: Cell32,
    /// Of a part: its numerator. Of bytes: how many.
    pub congestion_numerator: Cell32,
    /// Of a part: its denominator.
    pub congestion_denominator: Cell32,
    /// To the end of the line.
    pub unused: [Cell32; 9],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for Parameters {}

/// One egress queue.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// Bytes that have left the queue, dropped ones not counted.
    pub sent_bytes: Cell64,
    /// What that was when the running period began.
    pub sent_before: Cell64,
    /// What part of its port's rate the queue had in the last period, in units of [`WHOLE_RATE`].
    pub drain_rate: Cell32,
    /// To the end of the line.
    pub unused: [Cell32; 11],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for QueueLine {}

/// The line of a priority.
#[inline(always)]
pub fn priority<T: Tables>(tables: &T, priority: Priority) -> Option<&PriorityLine> {
    tables.lossy_line(priority.index() as u32).map(SchemeLine::view)
}

/// The parameters.
#[inline(always)]
pub fn parameters<T: Tables>(tables: &T) -> Option<&Parameters> {
    tables.lossy_line(PARAMETERS_AT).map(SchemeLine::view)
}

/// The line of the egress queue in this row.
#[inline(always)]
pub fn queue<T: Tables>(tables: &T, row: u32) -> Option<&QueueLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}
