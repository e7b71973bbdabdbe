//! What a record is made with.

use std::collections::BTreeMap;

use units::{Bytes, Nanos};

use crate::manifest::Manifest;
use crate::size_class::SizeClasses;
use crate::throughput::ThroughputMeter;
use crate::window::Window;

/// What a record follows.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is followed")]
pub struct RecordOptions {
    /// Upper bounds of the bins of flow sizes: inclusive, ascending.
    pub flow_size_bins: Vec<Bytes>,
    /// Classes of flow sizes in the summary.
    pub size_classes: SizeClasses,
    /// What the buffer of each switch can hold, by the switch's name.
    pub capacities: BTreeMap<String, Bytes>,
    /// A part of the run to look at by itself.
    pub window: Option<Window>,
    /// Where switches pause single queues: the time between two samples of their flows.
    pub flow_queues: Option<Nanos>,
    /// Whether rows of OFC's tables are counted.
    pub flow_tables: bool,
    /// Whether mean queue lengths of ports are.
    pub port_queues: bool,
    /// Whether ports have states.
    pub port_states: bool,
    /// Whether switches have a watchdog.
    pub watchdog: bool,
    /// Counts what receivers get, if there is a folder to write it to.
    pub throughput: Option<ThroughputMeter>,
}

/// What a record cannot know by itself.
#[derive(Clone, Debug)]
pub struct RunDescription<'a> {
    /// The resolved scenario.
    pub scenario_toml: &'a str,
    /// What the run was made with.
    pub manifest: &'a Manifest,
    /// See [`RunReport::fabric`](crate::RunReport::fabric).
    pub fabric: String,
    /// The lossless priorities.
    pub lossless: Vec<u8>,
}
