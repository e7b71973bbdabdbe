//! Scenarios: one TOML file in, one fully resolved [`Scenario`] out.
//!
//! A [`Scenario`] that exists is valid: quantities have units, names exist, buffers hold the pools that are reserved in
//! them, and every flow has a path. A setting is declared once, in the lowest crate that uses it: congestion controls in
//! `host-agent`, quantities and ranges in `units`. The type of a section reads and writes it, and its documentation is
//! the JSON Schema's. Defaults are in the type's `Default` or next to the key. A default that depends on other keys is an
//! `Option`, which the section's `complete` fills after the file has been read; `complete` also checks keys against
//! each other. Only a transport has another form in files (`TransportKeys`): its keys choose one of several tables.
//!
//! This crate does not know how a scenario is run: it has no datapath. Of the results it knows the names of tables
//! (`results::TABLES`) and the aggregates of expectations (`results::query::Aggregate`), and it has no rows.

#![forbid(unsafe_code)]

mod buffer;
mod buffer_size;
mod by_rate;
mod capture;
mod datapath;
mod default_kinds;
mod deserializer;
mod dialect;
mod disk;
pub mod document;
mod ecn;
mod expect;
mod fault;
mod flow_keys;
mod flow_list;
mod flow_queues;
pub mod flow_routes;
mod flows;
mod frames;
mod generated;
pub mod glob;
mod headroom;
mod host;
mod hpcc;
mod idle_keys;
mod incasts;
mod kind;
mod link_failure;
mod load;
mod lossy;
mod names;
mod omitted;
mod on_demand;
mod outage;
mod pairs;
mod pause;
mod priority;
mod queries;
mod reliability;
pub mod report;
mod results;
mod round_trip;
mod routes;
mod scenario_keys;
mod scheduling;
mod schema;
mod scheme;
mod shape;
mod simulator_routes;
mod sizes;
mod split_flows;
pub mod standalone;
mod storm;
mod switch;
mod switches;
mod telemetry;
mod thousandths;
mod threshold;
mod threshold_update;
pub mod transport;
mod transports;
mod unused_routes;
mod warnings;
mod watchdog;
pub mod whole_number;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FrameTime, Picos, ratio, refusal};

pub use buffer::BufferPools;
pub use capture::{Capture, CaptureFilter};
pub use datapath::{Datapath, DatapathKind, HookKind, LinkKind};
pub use dialect::{Dialect, Ecmp, NS3_SEEDS, NextHops, Numbers, Order};
pub use disk::from_disk;
pub use ecn::{Ecn, EcnOfRate, EcnThresholds, MarkAt};
pub use expect::{Aggregate, Expectation, Operator, Plain, Subject, Written};
pub use fault::{
    Fault, FrameClass, Lateness, MAX_DELAY, MIN_PERIOD, MIN_RATE, NoReroute, Reroute, Selection,
    WirePattern,
};
pub use flow_keys::Workload;
pub use flow_queues::FlowQueues;
pub use flows::{FlowsEntry, MAX_FLOWS};
pub use frames::{Frames, TimeOfFrames};
pub use headroom::Headroom;
pub use host::{Host, MAX_PAYLOAD};
pub use hpcc::{Hpcc, HpccFabric, HpccLines};
pub use incasts::{ManyIncasts, Senders};
pub use link_failure::LinkFailure;
pub use load::{Load, LoadOf, Sigma};
pub use lossy::{
    AlphaOfPriority, CoDel, Congested, FairDropping, FairShares, FlowTable, Lossy, LossyPeriod,
    LossyPool, Prioritisation,
};
pub use names::Names;
pub use omitted::Omitted;
pub use on_demand::{MAX_LIFE, ON_DEMAND};
pub use outage::{Flap, Outage, Span};
pub use pairs::PairChoice;
pub use pause::{PauseLasts, PauseRefresh, PauseResponse, ResumeTest};
pub use priority::{AckPriority, OptionalPriority, Priorities, Priority};
pub use queries::{QueryRate, Total};
pub use reliability::{Reliability, SelectiveRepeat};
pub use report::ScenarioError;
pub use results::{FlowTrace, Results, TableFormat, Throughput};
pub use routes::{MAX_ROUTES, RouteEntry};
pub use scenario_keys::{MAX_DURATION, MAX_SEED};
pub use scheduling::NicScheduler;
pub use schema::{json_schema, schema_of};
pub use scheme::{
    Assignment, Bfc, Dsh, Estimation, FlowPauses, LeftShift, MeanOf, Ofc, QueuePauses, RightShift,
    Scheme, Spfc, StateOf, Victims,
};
pub use shape::{Link, LinkSpeed, Shape};
pub use simulator_routes::{BasePath, SimulatorRoutes};
pub use sizes::{LengthText, Sizes};
pub use split_flows::Group;
pub use storm::Storm;
pub use switch::{PrivateFill, Reserves, Scheduler, Switch};
pub use switches::SwitchesEntry;
pub use telemetry::TelemetrySteps;
pub use threshold::{AlphaOfRate, Dt, Threshold};
pub use threshold_update::ThresholdUpdate;
pub use transport::{CongestionControl, Transport};
pub use units::quantity;
pub use units::ratio::{FineProbability, Probability, Ratio};
pub use units::refusal::Refusal;
pub use watchdog::{Watchdog, WatchdogAction};
pub use workload::{Flow, FlowStream, Length, PriorityChoice, Source};

use dialect::is_default;
use document::{Document, DocumentKind, Settings};
use flow_routes::FlowRoutes;
use flows::NeedsFlows;
use idle_keys::IdleKeys;
use scenario_keys::ScenarioKeys;
use scheme::OldKeys;
use switches::SwitchKinds;
use topology::Fabric;
use transports::Transports;
use unused_routes::UnusedRoute;
use workload::MaterialisedFlows;

/// Function that returns the text of a file.
pub type ReadFile<'a> = dyn Fn(&Path) -> io::Result<String> + 'a;

/// Complete description of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scenario {
    /// Name of the run: 1 to 64 letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Simulator whose rules the run follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Order of events at one instant.
    #[serde(skip_serializing_if = "is_default")]
    pub order: Order,
    /// Source of random numbers for marks and losses.
    #[serde(skip_serializing_if = "is_default")]
    pub numbers: Numbers,
    /// Seed of all randomness of the run.
    pub seed: u64,
    /// Emulated time at which the run ends if flows are not done before.
    pub duration: Picos,
    /// Other condition that ends the run.
    pub stop: Stop,
    /// Clock of the events.
    pub clock: Clock,
    /// Environment of the switches.
    pub datapath: Datapath,
    /// Shape of the fabric, from which [`Self::fabric`] is built.
    #[serde(rename = "topology")]
    pub shape: Shape,
    /// Configuration of every switch, except for the values in `switches`; see [`Self::switch_at`].
    pub switch: Switch,
    /// Values that differ for some switches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchesEntry>,
    /// Configuration of every host.
    pub host: Host,
    /// Accounted lengths of frames.
    pub frames: Frames,
    /// Entries of `[[flows]]`; [`Self::flow_stream`] returns their flows.
    #[serde(rename = "flows")]
    pub workloads: Vec<FlowsEntry>,
    /// Static routes; they override the shortest paths.
    pub routes: Vec<RouteEntry>,
    /// Wires that are recorded into pcapng files.
    pub captures: Vec<Capture>,
    /// Deliberate faults on wires.
    pub faults: Vec<Fault>,
    /// Hosts that pause their switch continuously.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storms: Vec<Storm>,
    /// Tables and files that the run writes.
    pub results: Results,
    /// Conditions on the results.
    #[serde(rename = "expect", skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    #[serde(skip)]
    fabric: Fabric,
    #[serde(skip)]
    switch_kinds: SwitchKinds,
    #[serde(skip)]
    sources: Vec<Source>,
    #[serde(skip)]
    flows: MaterialisedFlows,
    #[serde(skip)]
    transports: Transports,
    #[serde(skip)]
    flow_routes: FlowRoutes,
    #[serde(skip)]
    unused_routes: Vec<UnusedRoute>,
    #[serde(skip)]
    old_keys: OldKeys,
    #[serde(skip)]
    idle_keys: IdleKeys,
    #[serde(skip)]
    found_routes: simulator_routes::FoundRoutes,
    /// Longest round trip if the default of a key depends on it; otherwise zero.
    #[serde(skip)]
    longest_round_trip: Picos,
}

/// Condition that ends a run before its duration is over, besides the end of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// No other condition: all flows are done.
    #[default]
    Done,
    /// Paused queues wait for each other and can never resume.
    Deadlock,
    /// All flows that start in the window of `results` are done.
    Window,
}

/// Clock of the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// "virtual": events run in order, as fast as they can. Default "virtual".
    pub mode: ClockMode,
}

/// Clock of the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMode {
    /// Events run in order, as fast as they can.
    #[default]
    Virtual,
}

/// Reads the keys of a scenario. Refuses a sweep, which names a scenario, with advice.
fn keys_of(document: &Document<'_>) -> Result<ScenarioKeys, ScenarioError> {
    let root = &document.root;
    match root.child("scenario") {
        Some(named) if root.child("topology").is_none() => {
            let help = "run it with `xoff sweep`; the scenario that it varies is named here";
            Err(document.error_at(
                Some(&named.origin),
                "this is a sweep, not a scenario",
                Some(help),
            ))
        }
        _ => document.read(),
    }
}

impl Scenario {
    /// Reads a file and applies `overrides` such as `switch.buffer=4MB`.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::read(path, overrides, &from_disk)
    }

    /// Like [`load`](Self::load), but reads files with `read`: the scenario, and files that it names, by absolute
    /// paths.
    pub fn read(
        path: &Path,
        overrides: &[String],
        read: &ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        let text = text_of(path, read)?;
        Self::parse_with(&text, path, overrides, Settings::default(), read)
    }

    /// Parses the text of a file. `path` names it in errors, and paths in it are relative to the folder of `path`.
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::parse_with(text, path, overrides, Settings::default(), &from_disk)
    }

    /// Like [`parse`](Self::parse), but applies another file's settings after the overrides, and reads files with
    /// `read`.
    pub fn parse_with(
        text: &str,
        path: &Path,
        overrides: &[String],
        settings: Settings<'_>,
        read: &ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        let file = path.to_string_lossy();
        let kind = DocumentKind::SCENARIO;
        let document = Document::parse(kind, &file, text, overrides, settings)?;
        keys_of(&document)?.resolve(path, &document, read, NeedsFlows::Yes)
    }

    /// Like [`parse`](Self::parse), for the scenario of a live fabric, which needs no flows.
    pub fn parse_live(
        text: &str,
        path: &Path,
        overrides: &[String],
    ) -> Result<Self, ScenarioError> {
        let file = path.to_string_lossy();
        let kind = DocumentKind::SCENARIO;
        let document = Document::parse(kind, &file, text, overrides, Settings::default())?;
        keys_of(&document)?.resolve(path, &document, &from_disk, NeedsFlows::No)
    }

    /// Like [`load`](Self::load), for the scenario of a live fabric.
    pub fn load_live(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let text = text_of(path, &from_disk)?;
        Self::parse_live(&text, path, overrides)
    }

    /// Returns the scenario as a file with all defaults, which loads into an equal scenario.
    pub fn to_toml(&self) -> String {
        let is_simulated = self.host.ns3.is_some();
        let text = if self.dialect.is_none() && !is_simulated {
            toml::to_string(self)
        } else {
            toml::Table::try_from(self).and_then(|mut table| {
                // With a dialect, a key that is left out has the dialect's value.
                if self.dialect.is_some() {
                    self.name_dialects_keys(&mut table);
                }
                let host = table.get_mut("host").and_then(toml::Value::as_table_mut);
                if let Some(host) = host.filter(|_| is_simulated) {
                    idle_keys::leave_out(host);
                }
                toml::to_string(&table)
            })
        };
        text.expect("a scenario is a table of texts, numbers, lists and tables")
    }

    /// Returns the rule that gives the time for which frames occupy ports.
    pub fn frame_time(&self) -> FrameTime {
        FrameTime {
            overhead: self.switch.wire_overhead.0,
            whole_nanos: self.frames.time != TimeOfFrames::Exact,
        }
    }

    /// Returns hosts, switches, links and routes.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Returns all flows one by one, in order of start time; flows with equal start times are in the order of the file.
    pub fn flow_stream(&self) -> FlowStream {
        let stream = FlowStream::new(&self.sources, self.seed);
        match &self.host.ns3 {
            None => stream,
            Some(hosts) => stream.with_counted_ports(simulator_routes::counted_ports(hosts)),
        }
    }

    /// Returns the sources of flows, one for each of [`Self::workloads`].
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the labels of all flows, including labels of single rows of flow lists.
    pub fn labels(&self) -> BTreeSet<&str> {
        flows::labels(&self.workloads, &self.sources)
    }

    /// Returns the transports, each once: the hosts' transport first, then transports that `[[flows]]` name.
    pub fn transports(&self) -> &[Transport] {
        self.transports.all()
    }

    /// Returns the transports that carry flows.
    pub fn transports_in_use(&self) -> impl Iterator<Item = &Transport> {
        self.transports.in_use()
    }

    /// Returns the index of a flow's transport in [`Self::transports`].
    pub fn transport_of(&self, flow: &Flow) -> u16 {
        self.transports.place_of(flow.workload as usize)
    }

    /// Returns all flows of [`Self::flow_stream`] in a list, which stays in memory.
    pub fn flows(&self) -> &[Flow] {
        self.flows.get(|| self.flow_stream())
    }
}

/// Reads the text of a scenario.
fn text_of(path: &Path, read: &ReadFile<'_>) -> Result<String, ScenarioError> {
    read(path).map_err(|error| {
        let place = report::Place { name: &path.to_string_lossy(), text: "", span: None };
        let help = "give the path of a scenario, a TOML file";
        ScenarioError::at(&place, &format!("cannot read the scenario: {error}"), Some(help))
    })
}
