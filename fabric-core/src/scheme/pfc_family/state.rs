//! State of the PFC family: a line of settings, and the counts of the rule. P-PFC's mean has a line
//! for each priority, its prediction a line for each ingress queue, G-PFC a line for each port.

use zerocopy::FromBytes;

use super::settings::Rule;
use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine, class_row};
use crate::scheme::Ingress;
use crate::scheme::state::Line;
use crate::tables::Tables;

/// Thresholds of the rule; thresholds of other rules are zero.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// `X_low`.
    pub low_bytes: Cell64,
    /// `X_egress` of caPFC.
    pub egress_bytes: Cell64,
    /// H of P-PFC's prediction.
    pub horizon_ns: Cell64,
    /// Min time between measurements of a queue in P-PFC's prediction, ns.
    pub interval_ns: Cell64,
    /// -log2 of the weight of the latest measurement.
    pub weight_shift: Cell32,
    /// 1 if the mean of P-PFC is over egress queues that hold packets.
    pub of_non_empty: Cell32,
    /// Low priorities of G-PFC, one bit each.
    pub low_classes: Cell32,
    /// Padding to a multiple of eight bytes.
    pub reserved: Cell32,
}

/// Egress queues of one lossless priority, at all ports.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct ClassLine {
    /// Bytes in these queues.
    pub bytes: Cell64,
    /// Number of these queues that hold packets.
    pub queues: Cell64,
}

/// State of one ingress port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// Bytes of the port's lossless ingress queues in the shared pool.
    pub shared_bytes: Cell64,
}

/// Slope of one ingress queue.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// Time of the last measurement, ns.
    pub measured_ns: Cell64,
    /// Length at the last measurement, bytes.
    pub measured_bytes: Cell64,
    /// Predicted growth until the horizon, a signed number of bytes: the average of the slopes.
    pub growth_bytes: Cell64,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for SettingsLine {}
// SAFETY: as above.
unsafe impl Line for ClassLine {}
// SAFETY: as above.
unsafe impl Line for PortLine {}
// SAFETY: as above.
unsafe impl Line for QueueLine {}

const SETTINGS: u32 = 0;
const FIRST: u32 = 1;

/// Returns the settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// Returns the egress queues of an ingress queue's priority; only with [`Rule::MeanOfEgress`].
#[inline(always)]
pub fn class<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a ClassLine> {
    at.tables.scheme_line(FIRST + at.priority.index() as u32).map(SchemeLine::view)
}

/// Returns the port of an ingress queue; only with [`Rule::PriorityAware`].
#[inline(always)]
pub fn port<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a PortLine> {
    at.tables.scheme_line(FIRST.wrapping_add(at.port_number)).map(SchemeLine::view)
}

/// Returns an ingress queue; only with [`Rule::Predictive`].
#[inline(always)]
pub fn queue<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a QueueLine> {
    let row = class_row(at.port_number, at.priority);
    at.tables.scheme_line(FIRST.wrapping_add(row)).map(SchemeLine::view)
}

/// Number of lines for a switch with `ports` ports.
pub const fn lines(rule: Rule, ports: u32) -> u32 {
    FIRST
        + match rule {
            Rule::CongestionAware => 0,
            Rule::MeanOfEgress => PRIORITIES as u32,
            Rule::Predictive => PRIORITIES as u32 * ports,
            Rule::PriorityAware => ports,
        }
}
