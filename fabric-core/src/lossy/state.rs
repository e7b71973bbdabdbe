//! The state of the buffer management in `LOSSY_LINES`: a line for each priority, three of parameters, one for each egress
//! queue, and a [flow table](super::flow_table), if the scheme has one.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine};
use crate::priority::Priority;
use crate::scheme::state::Line;
use crate::tables::Tables;
use crate::threshold::scaled;

/// The line of parameters that concern all queues.
const PARAMETERS_AT: u32 = PRIORITIES as u32;
/// The line of parameters that concern flows.
const FLOW_PARAMETERS_AT: u32 = PARAMETERS_AT + 1;
/// The line of parameters of approximate fair dropping.
const FAIR_PARAMETERS_AT: u32 = FLOW_PARAMETERS_AT + 1;
/// The line of the first egress queue; that of row n ([`queue_row`](crate::map_abi::SwitchConfig::queue_row)) is n lines on.
pub const QUEUES_AT: u32 = FAIR_PARAMETERS_AT + 1;

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
    /// alpha of packets at the start of their flow, numerator.
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
    pub fn scaled(&self, bytes: u64, first: bool) -> u64 {
        let (numerator, denominator) = if first {
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
    /// The sojourn time that CoDel aims at.
    pub codel_target_ns: Cell64,
    /// How long it may be exceeded.
    pub codel_interval_ns: Cell64,
    /// How the congestion of a queue is judged; see [`congestion`](super::congestion).
    pub congestion_form: Cell32,
    /// Of a part: its numerator. Of bytes: how many.
    pub congestion_numerator: Cell32,
    /// Of a part: its denominator.
    pub congestion_denominator: Cell32,
    /// To the end of the line.
    pub unused: [Cell32; 5],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for Parameters {}

/// What concerns flows.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowParameters {
    /// After how long a silence a flow begins anew.
    pub idle_ns: Cell64,
    /// FAB: what a short flow has not sent yet. IB: what makes a flow an elephant.
    pub bytes: Cell64,
    /// How often a flow has got the entry of another that was not silent for [`idle_ns`](Self::idle_ns).
    pub replaced: Cell64,
    /// Where the flow table begins.
    pub first_line: Cell32,
    /// The number of its last set: one less than a power of two.
    pub last_set: Cell32,
    /// How many packets of a flow are prioritised.
    pub packets: Cell32,
    /// The priority that they get.
    pub priority: Cell32,
    /// To the end of the line.
    pub unused: [Cell32; 6],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FlowParameters {}

/// Approximate fair dropping: see [`FairDropping`](super::settings::FairDropping).
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FairParameters {
    /// How long arrivals are counted.
    pub window_ns: Cell64,
    /// `Q_ref`.
    pub desired_bytes: Cell64,
    /// Nothing is dropped of a queue that holds no more than this.
    pub least_bytes: Cell64,
    /// What arrives in one window counts so many times.
    pub windows: Cell32,
    /// How far `M_fair` falls for each byte above `Q_ref` now: numerator and denominator.
    pub fall: [Cell32; 2],
    /// How far it rises for each byte above `Q_ref` before.
    pub rise: [Cell32; 2],
    /// To the end of the line.
    pub unused: [Cell32; 5],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FairParameters {}

/// One egress queue in ABM. The schemes' views of a queue's line take its first half, CoDel's takes the second.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// Bytes that have left the queue, dropped ones not counted.
    pub sent_bytes: Cell64,
    /// What that was when the running period began.
    pub sent_before: Cell64,
    /// What part of its port's rate the queue had in the last period, in units of [`WHOLE_RATE`].
    pub drain_rate: Cell32,
    /// To the end of the first half.
    pub unused: [Cell32; 3],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for QueueLine {}

/// One egress queue in IB.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FairQueueLine {
    /// When the running window began.
    pub began_ns: Cell64,
    /// `M_fair`.
    pub share_bytes: Cell64,
    /// The number of the running window.
    pub window: Cell32,
    /// What has arrived in it.
    pub arrived_bytes: Cell32,
    /// What had arrived in the window before.
    pub arrived_before: Cell32,
    /// What the queue held when the running window began.
    pub queue_before: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FairQueueLine {}

/// One egress queue in CoDel (RFC 8289, Section 5.2).
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct CodelLine {
    /// The scheme's half.
    pub of_the_scheme: [Cell64; 4],
    /// `first_above_time`: when the sojourn time will have been above the target for an interval; 0 if it is below.
    pub first_above_ns: Cell64,
    /// `drop_next`: when to drop the next packet.
    pub drop_next_ns: Cell64,
    /// `count`: packets dropped since drop state was entered, or what is left of the last time's.
    pub count: Cell32,
    /// `lastcount`: what `count` was when drop state was entered.
    pub last_count: Cell32,
    /// In which [state](super::codel) the queue is.
    pub state: Cell32,
    /// `maxpacket`: the longest packet that the queue has let go.
    pub longest_packet: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for CodelLine {}

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

/// The parameters that concern flows.
#[inline(always)]
pub fn flow_parameters<T: Tables>(tables: &T) -> Option<&FlowParameters> {
    tables.lossy_line(FLOW_PARAMETERS_AT).map(SchemeLine::view)
}

/// The parameters of approximate fair dropping.
#[inline(always)]
pub fn fair_parameters<T: Tables>(tables: &T) -> Option<&FairParameters> {
    tables.lossy_line(FAIR_PARAMETERS_AT).map(SchemeLine::view)
}

/// The line of the egress queue in this row, for ABM.
#[inline(always)]
pub fn queue<T: Tables>(tables: &T, row: u32) -> Option<&QueueLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}

/// The same for IB.
#[inline(always)]
pub fn fair_queue<T: Tables>(tables: &T, row: u32) -> Option<&FairQueueLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}

/// The same for CoDel.
#[inline(always)]
pub fn codel_queue<T: Tables>(tables: &T, row: u32) -> Option<&CodelLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}
