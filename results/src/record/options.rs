//! Options and inputs of a record.

use std::collections::BTreeMap;

use units::{Bytes, Nanos};

use crate::manifest::Manifest;
use crate::size_class::SizeClasses;
use crate::throughput::ThroughputMeter;
use crate::window::Window;

/// Options of a record.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is followed")]
pub struct RecordOptions {
    /// Upper bounds of the bins of flow sizes: inclusive, ascending.
    pub flow_size_bins: Vec<Bytes>,
    /// Classes of flow sizes in the summary.
    pub size_classes: SizeClasses,
    /// Capacity of each switch's buffer, by the switch's name.
    pub capacities: BTreeMap<String, Bytes>,
    /// The part of the run to report separately as well.
    pub window: Option<Window>,
    /// Time between two samples of a port's flows, if switches pause single queues.
    pub flow_queues: Option<Nanos>,
    /// True to count rows of OFC's tables.
    pub flow_tables: bool,
    /// True to compute mean queue lengths of ports.
    pub port_queues: bool,
    /// True if ports have states.
    pub port_states: bool,
    /// True if switches have a watchdog.
    pub watchdog: bool,
    /// Counts the payload that receivers get, if there is a folder to write it to.
    pub throughput: Option<ThroughputMeter>,
}

/// Facts about a run that the engine does not report.
#[derive(Clone, Debug)]
pub struct RunDescription<'a> {
    /// The resolved scenario.
    pub scenario_toml: &'a str,
    /// Inputs of the run.
    pub manifest: &'a Manifest,
    /// See [`RunReport::fabric`](crate::RunReport::fabric).
    pub fabric: String,
    /// The lossless priorities.
    pub lossless: Vec<u8>,
}
