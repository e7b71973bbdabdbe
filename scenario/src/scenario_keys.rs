//! Keys of a scenario, section by section, and their resolution.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use topology::{Fabric, Racks, SwitchId};
use units::Picos;
use workload::MaterialisedFlows;

use crate::capture::Capture;
use crate::datapath::Datapath;
use crate::dialect::{Dialect, Numbers, Order};
use crate::document::Document;
use crate::fault::FaultPlace;
use crate::flows::{self, Expanded, Expansion, NeedsFlows};
use crate::idle_keys::IdleKeys;
use crate::report::ScenarioError;
use crate::routes::{ResolvedRoutes, RouteEntry, set_routes};
use crate::schema::in_words;
use crate::simulator_routes::FoundRoutes;
use crate::switches::{PortRates, SwitchKinds, SwitchesEntry};
use crate::transport::TransportKeys;
use crate::transports::Transports;
use crate::unused_routes::UnusedRoute;
use crate::{
    Clock, Expectation, Fault, Frames, Host, ReadFile, Results, Scenario, Shape, Stop, Storm,
    Switch, Workload, telemetry,
};

/// A scenario of xoff. Quantities are texts with a unit, such as "100Gbps", "10us" and "2MB".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "xoff scenario")]
pub struct ScenarioKeys {
    /// Name of the run: 1 to 64 letters, digits, `-`, `_` and `.`. Default: the file's name without its extension.
    pub name: Option<String>,
    /// Simulator whose rules the run follows. "hpcc-ns3": HPCC's simulator, whose results an imported run has to the
    /// nanosecond: an import also writes its sizes of frames, buffers and queues. Sets the keys that the file does not set: `datapath.kind`, `order`, `numbers`, `frames.time`, `frames.shortest`,
    /// `switch.ecmp`, `switch.scheme`, `switch.pause_lasts`, `switch.reserves`, `switch.scheduler` and `host.ns3`.
    /// "conweave-ns3": ConWeave's simulator with ECMP, without IRN; written from the simulator's source, no run of it has
    /// been compared. Sets these keys to its values, and `switch.threshold`, `switch.headroom`,
    /// `switch.private_per_queue`, `switch.control_priority`, `host.ack_priority`, `host.ack_queue` and, if the file has
    /// `results.hpcc`, its `lines`. "ns3-datacenter": the fork of PowerTCP's authors (ns-3.39), with the programs of
    /// PowerTCP's evaluation; written from the simulator's source, no run of it has been compared. Sets these keys to its
    /// values, and `switch.threshold`, `switch.headroom`, `switch.private_per_queue` and, if the file has `switch.ecn`, its
    /// `mark_at`. Default: none; the rules are xoff's own.
    pub dialect: Option<Dialect>,
    /// Order of events at one instant. "nodes": by node and port, so that nodes run on several threads. "insertion": in
    /// the order in which other events have caused them, as in ns-3. Runs on one thread, in memory, with PFC and links
    /// that stay up. Default "nodes".
    #[serde(default)]
    pub order: Order,
    /// Source of random numbers for marks and losses. "seed": generators of each switch and wire, from `seed`.
    /// "mrg32k3a": streams of one generator in the order of events, as in ns-3. `seed` has no effect on them, and PFC
    /// frames use numbers up. A loss that covers some links only is a link's own, and one of all links is common to the
    /// others. "mrg32k3a-of-switches": one such stream for each switch from its start, and losses as before, under `seed`,
    /// 1 to 4294944442, as in ConWeave's simulator. Needs `order = "insertion"`. Default "seed".
    #[serde(default)]
    pub numbers: Numbers,
    /// Seed of all randomness of the run, from 0 up. Default 1.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// Emulated time at which the run ends if flows are not done before; above zero, at most "36000s". Default "1s".
    #[serde(default = "default_duration")]
    pub duration: Picos,
    /// Condition that ends the run before `duration`. "done": every flow is done. "deadlock": also if queues wait for
    /// each other and can never resume. "window": also if every flow that starts between `results.from` and
    /// `results.to` is done. Flows that are not done at that time do not make the run fail. Default "done".
    #[serde(default)]
    pub stop: Stop,
    /// Clock of the events.
    #[serde(default)]
    pub clock: Clock,
    /// Environment of the switches.
    #[serde(default)]
    pub datapath: Datapath,
    /// Shape of the fabric.
    pub topology: Shape,
    /// Configuration of every switch.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub switch: Switch,
    /// Values of some switches that differ from `switch`. Default: none.
    #[serde(default)]
    pub switches: Vec<SwitchesEntry>,
    /// Configuration of every host.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub host: Host<TransportKeys>,
    /// Accounted lengths of frames.
    #[serde(default)]
    pub frames: Frames,
    /// Traffic between hosts; at least one entry.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub flows: Vec<Workload>,
    /// Next hops of switches that override the shortest paths. Default: none.
    #[serde(default)]
    pub routes: Vec<RouteEntry>,
    /// Wires that are recorded into pcapng files. Default: none.
    #[serde(default)]
    pub captures: Vec<Capture>,
    /// Deliberate faults on wires. Default: none.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub faults: Vec<Fault>,
    /// Hosts that pause their switch continuously. Default: none.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub storms: Vec<Storm>,
    /// Tables and files that the run writes.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub results: Results,
    /// Conditions on the results. Default: none.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub expect: Vec<Expectation>,
}

/// Maximum seed, the largest integer of TOML.
pub const MAX_SEED: u64 = i64::MAX as u64;

pub const fn default_seed() -> u64 {
    1
}

/// Maximum duration, 10 hours of emulated time.
pub const MAX_DURATION: Picos = Picos(36_000_000_000_000_000);

pub const fn default_duration() -> Picos {
    Picos(1_000_000_000_000)
}

impl ScenarioKeys {
    /// Resolves the keys into a scenario.
    pub fn resolve(
        mut self,
        path: &Path,
        document: &Document<'_>,
        read: &ReadFile<'_>,
        needs_flows: NeedsFlows,
    ) -> Result<Scenario, ScenarioError> {
        self.check_bounds(document)?;
        if let Some(dialect) = self.dialect {
            dialect.apply(&mut self, document);
        }
        let mut fabric = self.topology.complete(document)?;
        let shape = self.topology;
        let routes = ResolvedRoutes::new(&self.routes, &shape, &fabric, document)?;
        set_routes(&mut fabric, &routes, document)?;
        let duration = self.duration;
        let folder = path.parent().unwrap_or(Path::new(""));
        let (switch_kinds, switches) =
            resolve_switches(&mut self.switch, self.switches, &shape, &fabric, document)?;
        let switch = self.switch;
        let mut host = self.host.complete(switch.scheduler, document)?;
        let expansion = Expansion {
            document,
            fabric: &fabric,
            shape: &shape,
            racks: Arc::new(Racks::new(&fabric)),
            groups: &Racks::by_routes(&fabric),
            switch_kinds: &switch_kinds,
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
        let transports = Transports::new(&host, &workloads, document)?;
        let labels = flows::labels(&workloads, &sources);
        self.results.complete(&labels, &fabric, (duration, self.stop), document)?;
        for (number, capture) in self.captures.iter().enumerate() {
            capture.check(&format!("captures.{number}"), &fabric, document)?;
        }
        let needs_flows = needs_flows == NeedsFlows::Yes;
        let lasts = needs_flows.then_some(duration);
        for (number, storm) in self.storms.iter_mut().enumerate() {
            let path = format!("storms.{number}");
            storm.complete(&path, switch.lossless, lasts, &fabric, document)?;
        }
        let name = run_name(self.name, path, document)?;
        self.frames.check(document)?;
        for (number, fault) in self.faults.iter_mut().enumerate() {
            let path = &format!("faults.{number}");
            fault.complete(&FaultPlace { path, fabric: &fabric, duration: lasts, document })?;
        }
        let mut scenario = Scenario {
            name,
            dialect: self.dialect,
            order: self.order,
            numbers: self.numbers,
            seed: self.seed,
            duration,
            stop: self.stop,
            clock: self.clock,
            datapath: self.datapath,
            shape,
            switch,
            switches,
            host,
            frames: self.frames,
            workloads,
            routes: self.routes,
            captures: self.captures,
            faults: self.faults,
            storms: self.storms,
            results: self.results,
            expectations: Vec::new(),
            fabric,
            switch_kinds,
            sources,
            flows: MaterialisedFlows::default(),
            transports,
            flow_routes,
            unused_routes: Vec::new(),
            old_keys: document.old_keys.clone(),
            idle_keys: IdleKeys::default(),
            found_routes: FoundRoutes::default(),
            longest_round_trip: Picos::ZERO,
        };
        for (workload, paths) in &expected_paths {
            let workload = topology::in_32_bits(*workload);
            paths.check(&scenario.fabric, workload, |flow| scenario.path_of(flow).0)?;
        }
        scenario.check(needs_flows, document)?;
        Expectation::complete_all(&mut self.expect, &scenario, document)?;
        scenario.expectations = self.expect;
        scenario.unused_routes = UnusedRoute::all(&routes.entries, &scenario, document);
        scenario.idle_keys = IdleKeys::new(&scenario, document);
        Ok(scenario)
    }

    fn check_bounds(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        if self.duration == Picos::ZERO {
            let help =
                "write a time such as \"20ms\"; the run ends earlier when every flow is done";
            return Err(document.error("duration", "a run of no time", help));
        }
        if self.duration > MAX_DURATION {
            let help = "write at most 36000s";
            return Err(document.error("duration", "a run of more than 10 hours", help));
        }
        if self.seed > MAX_SEED {
            let help = "write a whole number from 0 to 2^63 - 1, the largest of TOML";
            return Err(document.error("seed", "the seed is too large", help));
        }
        Ok(())
    }
}

impl Scenario {
    /// Checks the keys against each other.
    fn check(&mut self, needs_flows: bool, document: &Document<'_>) -> Result<(), ScenarioError> {
        self.check_dialect(document)?;
        self.transports.check(self, document)?;
        self.check_pauses(document)?;
        self.longest_round_trip = self.find_longest_round_trip();
        self.check_scheme(document)?;
        self.check_scheduling(document)?;
        self.check_faults(document)?;
        self.check_buffers(document)?;
        self.check_lossy(needs_flows, document)
    }
}

/// Returns the name that the file gives, or the file's name.
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

/// Completes the configuration of all switches, and returns the configuration of each and the entries that set it.
fn resolve_switches(
    switch: &mut Switch,
    entries: Vec<SwitchesEntry>,
    shape: &Shape,
    fabric: &Fabric,
    document: &Document<'_>,
) -> Result<(SwitchKinds, Vec<SwitchesEntry>), ScenarioError> {
    let buffer = switch.buffer;
    let rates = PortRates::new(shape);
    let usual = buffer.at(rates.at(&fabric.switch(SwitchId(0)).name, switch.ports));
    switch.complete(usual, &shape.rates(), document)?;
    let kinds = SwitchKinds::new(&entries, switch, (buffer, &rates), fabric, document)?;
    let entries = kinds.settled(entries, switch, buffer, fabric);
    Ok((kinds, entries))
}
