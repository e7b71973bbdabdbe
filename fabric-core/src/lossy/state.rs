//! State of the buffer management in `LOSSY_LINES`: a line for each priority, three lines of parameters, a line for
//! each egress queue, and a [flow table](super::flow_table) if the scheme uses one.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine};
use crate::priority::Priority;
use crate::scheme::state::Line;
use crate::tables::Tables;
use crate::threshold::scaled;

/// Line of the parameters for all queues.
const PARAMETERS_AT: u32 = PRIORITIES as u32;
/// Line of the parameters for flows.
const FLOW_PARAMETERS_AT: u32 = PARAMETERS_AT + 1;
/// Line of the parameters of approximate fair dropping.
const FAIR_PARAMETERS_AT: u32 = FLOW_PARAMETERS_AT + 1;
/// Line of the first egress queue; row n ([`queue_row`](crate::map_abi::SwitchConfig::queue_row)) has line n + this.
pub const QUEUES_AT: u32 = FAIR_PARAMETERS_AT + 1;

/// One congested queue in [`PriorityLine::congested`], a fixed-point number.
pub const ONE_QUEUE: u32 = 1 << 16;
/// The port's whole rate in [`QueueLine::drain_rate`], a fixed-point number.
pub const WHOLE_RATE: u32 = 1 << 16;

/// State of one priority.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PriorityLine {
    /// alpha, numerator.
    pub alpha_numerator: Cell32,
    /// alpha, denominator.
    pub alpha_denominator: Cell32,
    /// alpha of packets at the start of their flow, numerator.
    pub first_alpha_numerator: Cell32,
    /// alpha of packets at the start of their flow, denominator.
    pub first_alpha_denominator: Cell32,
    /// Congested queues at the last count, in units of 1 / [`ONE_QUEUE`]. Less than one queue counts as one.
    pub congested: Cell32,
    /// Padding to the end of the line.
    pub unused: [Cell32; 11],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for PriorityLine {}

impl PriorityLine {
    /// Returns alpha times `bytes`, rounded down. Buffers are below 2^30 bytes and alpha is at most
    /// [2^16](super::settings::MAX_ALPHA), so 16 bits more fit the result.
    #[inline(always)]
    pub fn scaled(&self, bytes: u64, first: bool) -> u64 {
        let (numerator, denominator) = if first {
            (&self.first_alpha_numerator, &self.first_alpha_denominator)
        } else {
            (&self.alpha_numerator, &self.alpha_denominator)
        };
        scaled(bytes, numerator.load(), denominator.load())
    }

    /// Returns the congested queues, at least one, in units of 1 / [`ONE_QUEUE`].
    #[inline(always)]
    pub fn congested(&self) -> u64 {
        u64::from(self.congested.load().max(ONE_QUEUE))
    }
}

/// Parameters for all queues.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct Parameters {
    /// `MinBytes` of BSHARE: a queue with fewer bytes drops no packet at departure.
    pub least_bytes: Cell64,
    /// Start of the current period, ns.
    pub period_began_ns: Cell64,
    /// CoDel's target sojourn time, ns.
    pub codel_target_ns: Cell64,
    /// Max time above CoDel's target before a drop, ns.
    pub codel_interval_ns: Cell64,
    /// Definition of a congested queue; see [`congestion`](super::congestion).
    pub congestion_form: Cell32,
    /// Numerator of a fraction, or a number of bytes.
    pub congestion_numerator: Cell32,
    /// Denominator of a fraction.
    pub congestion_denominator: Cell32,
    /// Padding to the end of the line.
    pub unused: [Cell32; 5],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for Parameters {}

/// Parameters for flows.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FlowParameters {
    /// Silence after which a flow's counts start again from zero, ns.
    pub idle_ns: Cell64,
    /// FAB: bytes at which a flow is no longer short. IB: bytes that make a flow an elephant.
    pub bytes: Cell64,
    /// Times that a new flow took the entry of a flow that was not silent for [`idle_ns`](Self::idle_ns).
    pub replaced: Cell64,
    /// First line of the flow table.
    pub first_line: Cell32,
    /// Index of the last set: a power of two minus 1.
    pub last_set: Cell32,
    /// Number of prioritised packets of a flow.
    pub packets: Cell32,
    /// Priority of these packets.
    pub priority: Cell32,
    /// Padding to the end of the line.
    pub unused: [Cell32; 6],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FlowParameters {}

/// Parameters of approximate fair dropping; see [`FairDropping`](super::settings::FairDropping).
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FairParameters {
    /// Length of a window, ns.
    pub window_ns: Cell64,
    /// `Q_ref`.
    pub desired_bytes: Cell64,
    /// Queue length up to which no packet is dropped.
    pub least_bytes: Cell64,
    /// Factor of a window's bytes before they are compared with the fair share.
    pub windows: Cell32,
    /// Decrease of `M_fair` for each byte above `Q_ref` now: numerator and denominator.
    pub fall: [Cell32; 2],
    /// Increase of `M_fair` for each byte above `Q_ref` one window ago: numerator and denominator.
    pub rise: [Cell32; 2],
    /// Padding to the end of the line.
    pub unused: [Cell32; 5],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FairParameters {}

/// State of one egress queue in ABM. Schemes use the first half of a queue's line, CoDel the second.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// Bytes that have left the queue, without dropped packets.
    pub sent_bytes: Cell64,
    /// Value of `sent_bytes` at the start of the current period.
    pub sent_before: Cell64,
    /// Rate of the queue in the last period as a fraction of its port's rate, in units of 1 / [`WHOLE_RATE`].
    pub drain_rate: Cell32,
    /// Padding to the end of the first half.
    pub unused: [Cell32; 3],
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for QueueLine {}

/// State of one egress queue in IB.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct FairQueueLine {
    /// Start of the current window, ns.
    pub began_ns: Cell64,
    /// `M_fair`.
    pub share_bytes: Cell64,
    /// Number of the current window.
    pub window: Cell32,
    /// Bytes that have arrived in the current window.
    pub arrived_bytes: Cell32,
    /// Bytes that arrived in the window before.
    pub arrived_before: Cell32,
    /// Length of the queue at the start of the current window, bytes.
    pub queue_before: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for FairQueueLine {}

/// State of one egress queue in CoDel (RFC 8289, Section 5.2).
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct CodelLine {
    /// First half of the line, used by the scheme.
    pub of_the_scheme: [Cell64; 4],
    /// `first_above_time`: time at which the delay will have exceeded the target for an interval; 0 if below.
    pub first_above_ns: Cell64,
    /// `drop_next`: time of the next drop.
    pub drop_next_ns: Cell64,
    /// `count`: packets dropped since the queue entered drop state, plus a rest from the last drop state.
    pub count: Cell32,
    /// `lastcount`: value of `count` when the queue entered drop state.
    pub last_count: Cell32,
    /// [State](super::codel) of the queue.
    pub state: Cell32,
    /// `maxpacket`: longest packet that has left the queue.
    pub longest_packet: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for CodelLine {}

/// Returns the line of a priority.
#[inline(always)]
pub fn priority<T: Tables>(tables: &T, priority: Priority) -> Option<&PriorityLine> {
    tables.lossy_line(priority.index() as u32).map(SchemeLine::view)
}

/// Returns the parameters for all queues.
#[inline(always)]
pub fn parameters<T: Tables>(tables: &T) -> Option<&Parameters> {
    tables.lossy_line(PARAMETERS_AT).map(SchemeLine::view)
}

/// Returns the parameters for flows.
#[inline(always)]
pub fn flow_parameters<T: Tables>(tables: &T) -> Option<&FlowParameters> {
    tables.lossy_line(FLOW_PARAMETERS_AT).map(SchemeLine::view)
}

/// Returns the parameters of approximate fair dropping.
#[inline(always)]
pub fn fair_parameters<T: Tables>(tables: &T) -> Option<&FairParameters> {
    tables.lossy_line(FAIR_PARAMETERS_AT).map(SchemeLine::view)
}

/// Returns ABM's line of the egress queue in `row`.
#[inline(always)]
pub fn queue<T: Tables>(tables: &T, row: u32) -> Option<&QueueLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}

/// Returns IB's line of the egress queue in `row`.
#[inline(always)]
pub fn fair_queue<T: Tables>(tables: &T, row: u32) -> Option<&FairQueueLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}

/// Returns CoDel's line of the egress queue in `row`.
#[inline(always)]
pub fn codel_queue<T: Tables>(tables: &T, row: u32) -> Option<&CodelLine> {
    tables.lossy_line(QUEUES_AT + row).map(SchemeLine::view)
}
