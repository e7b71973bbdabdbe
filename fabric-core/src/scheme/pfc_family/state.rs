//! What the PFC family keeps: a line of settings, and what the rule counts. P-PFC's mean has a line for each priority, its
//! prediction one for each ingress queue, G-PFC one for each port.

use zerocopy::FromBytes;

use super::settings::Rule;
use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SchemeLine, class_row};
use crate::scheme::Ingress;
use crate::scheme::state::Line;
use crate::tables::Tables;

/// The thresholds of the rule; those of other rules are zero.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// `X_low`.
    pub low_bytes: Cell64,
    /// `X_egress` of caPFC.
    pub egress_bytes: Cell64,
    /// H of P-PFC's prediction.
    pub horizon_ns: Cell64,
    /// The least time between its measurements of a queue.
    pub interval_ns: Cell64,
    /// -log2 of the weight of the latest of them.
    pub weight_shift: Cell32,
    /// 1 if the mean of P-PFC is over egress queues that hold packets.
    pub of_non_empty: Cell32,
    /// The low priorities of G-PFC, a bit each.
    pub low_classes: Cell32,
    /// Keeps the size a multiple of eight.
    pub reserved: Cell32,
}

/// The egress queues of one lossless priority, at all ports.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct ClassLine {
    /// What they hold.
    pub bytes: Cell64,
    /// How many of them hold packets.
    pub queues: Cell64,
}

/// One ingress port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// What its lossless ingress queues hold in the shared pool.
    pub shared_bytes: Cell64,
}

/// The slope of one ingress queue.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// When it was last measured.
    pub measured_ns: Cell64,
    /// What it held then.
    pub measured_bytes: Cell64,
    /// By how much it will have grown at the horizon, a signed number: the average of its slopes.
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

/// The settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// The egress queues of an ingress queue's priority; only with [`Rule::MeanOfEgress`].
#[inline(always)]
pub fn class<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a ClassLine> {
    at.tables.scheme_line(FIRST + at.priority.index() as u32).map(SchemeLine::view)
}

/// The port of an ingress queue; only with [`Rule::PriorityAware`].
#[inline(always)]
pub fn port<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a PortLine> {
    at.tables.scheme_line(FIRST.wrapping_add(at.port_number)).map(SchemeLine::view)
}

/// An ingress queue; only with [`Rule::Predictive`].
#[inline(always)]
pub fn queue<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a QueueLine> {
    let row = class_row(at.port_number, at.priority);
    at.tables.scheme_line(FIRST.wrapping_add(row)).map(SchemeLine::view)
}

/// Lines of a switch with so many ports.
pub const fn lines(rule: Rule, ports: u32) -> u32 {
    FIRST
        + match rule {
            Rule::CongestionAware => 0,
            Rule::MeanOfEgress => PRIORITIES as u32,
            Rule::Predictive => PRIORITIES as u32 * ports,
            Rule::PriorityAware => ports,
        }
}
