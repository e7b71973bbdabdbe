//! Scenarios: one TOML file in, one fully resolved [`Scenario`] out.
//!
//! A [`Scenario`] that exists is right: quantities have units, names exist, buffers hold what is
//! set aside in them, and every flow has a path. Each section of the file has a module with two
//! types: its keys as a file gives them (`..Keys`, from which the JSON Schema is generated) and
//! what they resolve to. Defaults stand in the `Default` of the keys, or with the key.
//!
//! Nothing here knows how a run is made of a scenario, or what it leaves: no table, no datapath, no row.

mod backpressure;
mod buffer;
mod by_rate;
mod capture;
mod datapath;
mod deserializer;
pub mod document;
mod ecn;
mod fault;
mod fault_keys;
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
mod incasts;
mod load;
mod names;
mod on_demand;
mod outage;
mod pairs;
mod pause;
mod priority;
pub mod quantity;
mod ratio;
mod reliability;
pub mod report;
mod results;
mod round_trip;
mod routes;
mod scheduling;
mod schema;
mod shape;
mod sizes;
pub mod standalone;
mod storm;
mod switch;
mod switches;
mod telemetry;
mod threshold;
mod threshold_update;
mod topology_keys;
pub mod transport;
mod transports;
mod unused_routes;
mod warnings;
mod watchdog;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FrameTime, Picos};

pub use backpressure::{Assignment, Backpressure, Bfc};
pub use buffer::BufferPools;
pub use capture::{Capture, CaptureFilter};
pub use datapath::{Datapath, DatapathKind, HookKind, LinkKind};
pub use ecn::{Ecn, EcnOfRate, EcnThresholds, MarkAt};
pub use fault::{
    Fault, FrameClass, LEAST_PERIOD, LEAST_RATE, Lateness, MOST_DELAY, Reroute, Scope, Selection,
    WirePattern,
};
pub use fault_keys::NoReroute;
pub use flow_queues::FlowQueues;
pub use flows::{FlowsEntry, MAX_FLOWS, Transfer, Workload};
pub use frames::{Frames, TimeOfFrames};
pub use generated::{AllAtOnce, OpenLoop};
pub use headroom::{Dsh, Estimation, Headroom, PowerOfTwo};
pub use host::{Host, MAX_PAYLOAD};
pub use hpcc::Hpcc;
pub use incasts::{IncastBytes, ManyIncasts, Pace};
pub use load::{Load, LoadOf, Sigma};
pub use names::Names;
pub use on_demand::{LONGEST_LIFE, ON_DEMAND};
pub use outage::{Flap, Outage, Span};
pub use pairs::PairChoice;
pub use pause::{PauseRefresh, PauseResponse, ResumeTest};
pub use priority::{AckPriority, Priorities};
pub use ratio::{Probability, Ratio};
pub use reliability::{Reliability, SelectiveRepeat};
pub use report::ScenarioError;
pub use results::{FlowTrace, Results, Throughput};
pub use routes::{MOST_ROUTES, RouteEntry};
pub use scheduling::NicScheduler;
pub use schema::{json_schema, schema_of};
pub use shape::{Link, LinkSpeed, Shape, ShapeKind};
pub use sizes::Sizes;
pub use storm::Storm;
pub use switch::{LossyThreshold, PrivateFill, Scheduler, Switch};
pub use switches::SwitchesEntry;
pub use telemetry::TelemetrySteps;
pub use threshold::{AlphaOfRate, Dt, Spfc, StateOf, Threshold};
pub use threshold_update::ThresholdUpdate;
pub use transport::{CongestionControl, Transport};
pub use watchdog::{Watchdog, WatchdogAction};
pub use workload::{Flow, FlowStream, Length, PriorityChoice, Source};

use document::{Document, DocumentKind, Settings};
use fault_keys::{FaultKeys, FaultPlace};
use flow_routes::FlowRoutes;
use flows::{Expanded, Expansion, NeedsFlows};
use quantity::{Quantity, Time};
use routes::{ResolvedRoutes, set_routes};
use switches::SwitchKinds;
use topology::{Fabric, Racks};
use transports::Transports;
use unused_routes::UnusedRoute;
use workload::MaterialisedFlows;

/// What gives the text of a file.
pub type ReadFile<'a> = dyn Fn(&Path) -> io::Result<String> + 'a;

/// The text of a file of this machine.
pub fn from_disk(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// Everything that decides what a run does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scenario {
    /// Names the run: 1 to 64 letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Where all randomness of the run comes from.
    pub seed: u64,
    /// Emulated time at which the run ends, if flows are not done before.
    #[serde(serialize_with = "quantity::serialize")]
    pub duration: Picos,
    /// What else ends the run.
    pub stop: Stop,
    /// Which clock events run by.
    pub clock: Clock,
    /// Where switches run.
    pub datapath: Datapath,
    /// The fabric's shape; [`Self::fabric`] is the fabric.
    #[serde(rename = "topology")]
    pub shape: Shape,
    /// Every switch, except for what `switches` says; [`Self::switch_at`] is one of them.
    pub switch: Switch,
    /// What some switches have instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchesEntry>,
    /// Every host.
    pub host: Host,
    /// How long frames count.
    pub frames: Frames,
    /// Entries of `[[flows]]`; [`Self::flow_stream`] are the flows.
    #[serde(rename = "flows")]
    pub workloads: Vec<FlowsEntry>,
    /// What goes before the shortest paths.
    pub routes: Vec<RouteEntry>,
    /// What is recorded.
    pub captures: Vec<Capture>,
    /// What goes wrong on purpose.
    pub faults: Vec<Fault>,
    /// Hosts that pause without end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storms: Vec<Storm>,
    /// What is written.
    pub results: Results,
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
    /// Where the default of a key depends on it; otherwise zero.
    #[serde(skip)]
    longest_round_trip: Picos,
}

/// What ends a run before its duration is over, besides that all flows are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Nothing else.
    #[default]
    Done,
    /// Paused queues that wait for each other and can never resume.
    Deadlock,
    /// All flows that start in the window of `results` are done.
    Window,
}

/// Which clock events run by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// "virtual": events run in order, as fast as they can. Default "virtual".
    pub mode: ClockMode,
}

/// What drives a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMode {
    /// Events run in order, as fast as they can.
    #[default]
    Virtual,
}

/// A scenario of xoff: quantities are texts with a unit, such as "100Gbps", "10us" and "2MB".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "xoff scenario")]
struct ScenarioKeys {
    /// Names the run: 1 to 64 letters, digits, `-`, `_` and `.`. Default: the file's name without
    /// its extension.
    name: Option<String>,
    /// Where all randomness of the run comes from, from 0 up. Default 1.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    seed: u64,
    /// Emulated time at which the run ends, if flows are not done before; above zero, at most
    /// "36000s". Default "1s".
    #[serde(default = "default_duration")]
    duration: Time,
    /// What ends the run before that. "done": every flow is done. "deadlock": that, or queues that wait
    /// for each other and can never resume. "window": that, or every flow that starts between `results.from` and
    /// `results.to` is done. Flows that are not done then do not make the run fail. Default "done".
    #[serde(default)]
    stop: Stop,
    /// Which clock events run by.
    #[serde(default)]
    clock: Clock,
    /// Where switches run.
    #[serde(default)]
    datapath: Datapath,
    /// The shape of the fabric.
    topology: topology_keys::TopologyKeys,
    /// Every switch.
    #[serde(default)]
    switch: switch::SwitchKeys,
    /// What some switches have instead of what `switch` says. Default: nothing.
    #[serde(default)]
    switches: Vec<SwitchesEntry>,
    /// Every host.
    #[serde(default)]
    host: host::HostKeys,
    /// How long frames count.
    #[serde(default)]
    frames: frames::FramesKeys,
    /// What hosts send to each other; at least one entry.
    #[serde(default)]
    flows: Vec<flow_keys::WorkloadKeys>,
    /// Next hops of switches instead of the shortest paths. Default: none.
    #[serde(default)]
    routes: Vec<RouteEntry>,
    /// What is recorded. Default: nothing.
    #[serde(default)]
    captures: Vec<Capture>,
    /// What goes wrong on purpose. Default: nothing.
    #[serde(default)]
    faults: Vec<FaultKeys>,
    /// Hosts that pause their switch without end. Default: none.
    #[serde(default)]
    storms: Vec<storm::StormKeys>,
    /// What is written.
    #[serde(default)]
    results: results::ResultsKeys,
}

const fn default_seed() -> u64 {
    1
}

/// A run may last 10 hours of emulated time.
pub const LONGEST_DURATION: Picos = Picos(36_000_000_000_000_000);

const fn default_duration() -> Time {
    Quantity(Picos(1_000_000_000_000))
}

impl Scenario {
    /// Reads a file, with `overrides` such as `switch.buffer=4MB` on top of it.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::read(path, overrides, &from_disk)
    }

    /// Like [`load`](Self::load), with `read` to get the texts of files: the scenario's, and those that it names by
    /// absolute paths.
    pub fn read(
        path: &Path,
        overrides: &[String],
        read: &ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        let text = text_of(path, read)?;
        Self::parse_with(&text, path, overrides, Settings::default(), read)
    }

    /// Understands the text of a file; `path` names it in errors, and paths in it are relative to
    /// the folder of `path`.
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::parse_with(text, path, overrides, Settings::default(), &from_disk)
    }

    /// Like [`parse`](Self::parse), with another file's settings on top of the overrides, and `read` to get the texts
    /// of files.
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
        let keys: ScenarioKeys = document.read()?;
        keys.resolve(path, &document, read, NeedsFlows::Yes)
    }

    /// Like [`parse`](Self::parse), of a scenario for a live fabric, which needs no flows.
    pub fn parse_live(
        text: &str,
        path: &Path,
        overrides: &[String],
    ) -> Result<Self, ScenarioError> {
        let file = path.to_string_lossy();
        let kind = DocumentKind::SCENARIO;
        let document = Document::parse(kind, &file, text, overrides, Settings::default())?;
        let keys: ScenarioKeys = document.read()?;
        keys.resolve(path, &document, &from_disk, NeedsFlows::No)
    }

    /// Like [`load`](Self::load), of a scenario for a live fabric.
    pub fn load_live(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let text = text_of(path, &from_disk)?;
        Self::parse_live(&text, path, overrides)
    }

    /// The scenario as a file with every default written out; it loads into an equal scenario.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is a table of texts, numbers, lists and tables")
    }

    /// How long frames occupy ports.
    pub fn frame_time(&self) -> FrameTime {
        FrameTime {
            overhead: self.switch.wire_overhead.0,
            whole_nanos: self.frames.time == TimeOfFrames::WholeNanoseconds,
        }
    }

    /// Hosts, switches, links and routes.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// All flows one by one, in order of start; flows of one start are in the order of the file.
    pub fn flow_stream(&self) -> FlowStream {
        FlowStream::new(&self.sources, self.seed)
    }

    /// What flows come from, one for each of [`Self::workloads`].
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// What carries flows: that of the hosts, then those that `[[flows]]` name, each once.
    pub fn transports(&self) -> &[Transport] {
        self.transports.all()
    }

    /// Those of [`Self::transports`] that carry flows.
    pub fn transports_in_use(&self) -> impl Iterator<Item = &Transport> {
        self.transports.in_use()
    }

    /// The place of a flow's transport in [`Self::transports`].
    pub fn transport_of(&self, flow: &Flow) -> u16 {
        self.transports.place_of(flow.workload as usize)
    }

    /// All flows of [`Self::flow_stream`] in one list, which stays in memory.
    pub fn flows(&self) -> &[Flow] {
        self.flows.of(&self.sources, self.seed)
    }
}

/// The text of a scenario.
fn text_of(path: &Path, read: &ReadFile<'_>) -> Result<String, ScenarioError> {
    read(path).map_err(|error| {
        let place = report::Place { name: &path.to_string_lossy(), text: "", span: None };
        let help = "give the path of a scenario, a TOML file";
        ScenarioError::at(&place, &format!("cannot read the scenario: {error}"), Some(help))
    })
}

impl ScenarioKeys {
    fn resolve(
        self,
        path: &Path,
        document: &Document<'_>,
        read: &ReadFile<'_>,
        needs_flows: NeedsFlows,
    ) -> Result<Scenario, ScenarioError> {
        if self.duration.0 == Picos::ZERO {
            let help =
                "write a time such as \"20ms\"; the run ends earlier when every flow is done";
            return Err(document.error("duration", "a run of no time", help));
        }
        if self.duration.0 > LONGEST_DURATION {
            let help = "write at most 36000s";
            return Err(document.error("duration", "a run of more than 10 hours", help));
        }
        if self.seed > i64::MAX as u64 {
            let help = "write a whole number from 0 to 2^63 - 1, the largest of TOML";
            return Err(document.error("seed", "the seed is too large", help));
        }
        let (shape, mut fabric) = self.topology.resolve(document)?;
        let routes = ResolvedRoutes::of(&self.routes, &shape, &fabric, document)?;
        set_routes(&mut fabric, &routes, document)?;
        let rates = shape.rates();
        let duration = self.duration.0;
        let folder = path.parent().unwrap_or(Path::new(""));
        let switch = self.switch.resolve(&rates, document)?;
        let mut host = self.host.resolve(switch.scheduler, document)?;
        let expansion = Expansion {
            document,
            fabric: &fabric,
            shape: &shape,
            racks: Arc::new(Racks::of(&fabric)),
            groups: &Racks::by_routes(&fabric),
            classes: &routes.classes,
            host: &host,
            folder,
            duration,
            read,
            needs_flows,
        };
        let Expanded { mut workloads, sources, expected_paths } = expansion.expand(self.flows)?;
        let (routes, flow_routes) =
            routes.with_flows(self.seed, &workloads, &sources, &host, &fabric, document)?;
        set_routes(&mut fabric, &routes, document)?;
        telemetry::set_rooms(&mut host, &mut workloads, &fabric, document)?;
        let transports = Transports::of(&host, &workloads, document)?;
        let results = self.results.resolve(&workloads, &fabric, (duration, self.stop), document)?;
        for (number, capture) in self.captures.iter().enumerate() {
            capture.check(&format!("captures.{number}"), &fabric, document)?;
        }
        let lasts = (needs_flows == NeedsFlows::Yes).then_some(duration);
        let resolve_fault = |(number, keys): (usize, FaultKeys)| {
            let path = &format!("faults.{number}");
            keys.resolve(&FaultPlace { path, fabric: &fabric, duration: lasts, document })
        };
        let faults = self.faults.into_iter().enumerate().map(resolve_fault);
        let resolve_storm = |(number, keys): (usize, storm::StormKeys)| {
            let path = format!("storms.{number}");
            keys.resolve(&path, switch.lossless, lasts, &fabric, document)
        };
        let storms = self.storms.into_iter().enumerate().map(resolve_storm);
        let storms = storms.collect::<Result<_, _>>()?;
        let switch_kinds = SwitchKinds::of(&self.switches, &switch, &fabric, document)?;
        let mut scenario = Scenario {
            name: run_name(self.name, path, document)?,
            seed: self.seed,
            duration,
            stop: self.stop,
            clock: self.clock,
            datapath: self.datapath,
            shape,
            switch,
            switches: self.switches,
            host,
            frames: self.frames.resolve(document)?,
            workloads,
            routes: self.routes,
            captures: self.captures,
            faults: faults.collect::<Result<_, _>>()?,
            storms,
            results,
            fabric,
            switch_kinds,
            sources,
            flows: MaterialisedFlows::default(),
            transports,
            flow_routes,
            unused_routes: Vec::new(),
            longest_round_trip: Picos::ZERO,
        };
        for (workload, paths) in &expected_paths {
            let workload = topology::in_32_bits(*workload);
            paths.check(&scenario.fabric, workload, |flow| scenario.path_of(flow).0)?;
        }
        scenario.transports.check(&scenario, document)?;
        scenario.check_pauses(document)?;
        scenario.check_backpressure(document)?;
        scenario.check_spfc(document)?;
        if scenario.spfc().is_some() {
            scenario.longest_round_trip = scenario.find_longest_round_trip();
        }
        scenario.check_scheduling(document)?;
        scenario.check_faults(document)?;
        scenario.check_buffers(document)?;
        scenario.unused_routes = UnusedRoute::all(&routes.entries, &scenario, document);
        Ok(scenario)
    }
}

/// The name that the file gives, or else the file's own.
fn run_name(
    given: Option<String>,
    path: &Path,
    document: &Document<'_>,
) -> Result<String, ScenarioError> {
    let fits = |name: &str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        (1..=64).contains(&name.len())
            && name.chars().all(inner)
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    let Some(name) = given else {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(if fits(&stem) { stem } else { "scenario".into() });
    };
    if fits(&name) {
        return Ok(name);
    }
    let title = format!("`{name}` cannot name a run");
    let help = "write 1 to 64 letters, digits, `-`, `_` or `.`, a letter or a digit first";
    Err(document.error("name", &title, help))
}
