//! `dialect`: the rules of a simulator, a key each, chosen together.
//!
//! A dialect sets the keys in `Dialect::apply` that a file does not set itself. `xoff validate --resolved` writes them
//! out. Keys are documented in their sections; their needs are checked here.

mod keys;

use host_agent::ns3::{Control, has_stamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use units::checked::Period;
use units::{Bytes, Nanos, Picos};
use workload::{Flow, FlowStream};

use fabric_core::buffer::MAX_BUFFER;
use topology::{Wire, WireId};

use super::document::Document;
use super::fault::FrameClass;
use super::lossy::Lossy;
use super::report::ScenarioError;
use super::{
    DatapathKind, Fault, Headroom, PauseLasts, Scenario, Scheme, Source, Threshold, Transport,
};

/// A simulator whose rules a scenario follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// HPCC's simulator: ns-3, alibaba-edu/High-Precision-Congestion-Control.
    HpccNs3,
    /// `ConWeave`'s simulator: ns-3, conweave-project/conweave-ns3, with ECMP. Written from the simulator's source; no run
    /// of it has been compared.
    ConweaveNs3,
    /// ns3-datacenter: ns-3, inet-tub/ns3-datacenter, with the programs of `PowerTCP`'s evaluation. Written from the
    /// simulator's source; no run of it has been compared.
    Ns3Datacenter,
}

/// Order of events at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "OrderOfEvents")]
pub enum Order {
    /// By node and port.
    #[default]
    Nodes,
    /// As other events have inserted them into one queue.
    Insertion,
}

/// Source of random numbers for marks and losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RandomNumbers")]
pub enum Numbers {
    /// Generators of each switch and wire, from the scenario's seed.
    #[default]
    Seed,
    /// Streams of one generator, as ns-3 draws them.
    #[serde(rename = "mrg32k3a")]
    Mrg32k3a,
    /// A stream of that generator for each switch, under the scenario's seed.
    #[serde(rename = "mrg32k3a-of-switches")]
    Mrg32k3aOfSwitches,
}

/// Hash by which ECMP chooses among next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "EcmpHash")]
pub enum Ecmp {
    /// A hash of the five-tuple under a seed of each switch.
    #[default]
    FiveTuple,
    /// `MurmurHash3` of addresses and ports under the switch's id.
    Murmur3,
}

/// Order of the next hops from which ECMP chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "OrderOfNextHops")]
pub enum NextHops {
    /// From the highest id down.
    #[default]
    Descending,
    /// From the lowest id up.
    Ascending,
}

/// Seeds of `MRG32k3a`: above zero and below its smaller modulus.
pub const NS3_SEEDS: std::ops::RangeInclusive<u64> = 1..=4_294_944_442;

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// True if a file or an override sets a key.
pub(super) fn is_set(document: &Document<'_>, path: &str) -> bool {
    let mut node = Some(&document.root);
    for name in path.split('.') {
        node = node.and_then(|node| node.child(name));
    }
    node.is_some()
}

impl Scenario {
    /// Adds the keys to a resolved scenario that are left out where they have xoff's own values.
    pub(super) fn name_dialects_keys(&self, table: &mut toml::Table) {
        let value = |key: &str, value: toml::Value| (key.to_owned(), value);
        let text = |kind: Result<toml::Value, _>| kind.expect("a text");
        let own = [
            value("order", text(toml::Value::try_from(self.order))),
            value("numbers", text(toml::Value::try_from(self.numbers))),
        ];
        let of_switch = [
            value("ecmp", text(toml::Value::try_from(self.switch.ecmp))),
            value("next_hops", text(toml::Value::try_from(self.switch.next_hops))),
            value("pause_lasts", text(toml::Value::try_from(self.switch.pause_lasts))),
            value("reserves", text(toml::Value::try_from(self.switch.reserves))),
        ];
        table.extend(own);
        if let Some(toml::Value::Table(switch)) = table.get_mut("switch") {
            switch.extend(of_switch);
        }
    }

    /// Returns a warning about a link whose rate the simulator's telemetry cannot name.
    pub(super) fn warning_of_stamps(&self) -> Option<String> {
        let control = self.host.ns3.as_ref()?.control;
        let is_stamped = matches!(control, Control::Hpcc | Control::PowerTcp);
        let wires = self.fabric.wires().iter().filter(|_| is_stamped);
        let rate = wires.map(|wire| wire.rate).find(|rate| !has_stamp(*rate))?;
        Some(format!(
            "the simulator's telemetry has no number for {rate} and says 25 Gbit/s, so senders compute with that: give links 25, \
             50, 100, 200 or 400 Gbit/s if that is not meant"
        ))
    }

    /// Returns false if no result depends on `seed`: random numbers and the hash of ECMP are a simulator's, all flows are
    /// listed, and there are no faults.
    pub fn depends_on_seed(&self) -> bool {
        let is_drawn = |source: &Source| !matches!(source, Source::Listed(_));
        self.numbers != Numbers::Mrg32k3a
            || self.switch.ecmp != Ecmp::Murmur3
            || !self.faults.is_empty()
            || self.sources.iter().any(is_drawn)
    }

    /// Checks that the keys that belong to a simulator have what they need.
    pub(super) fn check_dialect(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        self.check_pauses_that_last(document)?;
        self.check_pause_time(document)?;
        if self.numbers == Numbers::Mrg32k3aOfSwitches && !NS3_SEEDS.contains(&self.seed) {
            let help =
                format!("write {} to {}, as ns-3 has them", NS3_SEEDS.start(), NS3_SEEDS.end());
            return Err(document.error("seed", "a seed that MRG32k3a does not have", &help));
        }
        let in_order = self.order == Order::Insertion;
        let needs_order = [
            ("numbers", self.numbers != Numbers::default(), "random numbers in ns-3's order"),
            ("host.ns3", self.host.ns3.is_some(), "hosts of HPCC's simulator"),
        ];
        if !in_order {
            return match needs_order.iter().find(|(_, is_there, _)| *is_there) {
                None => self.check_times(document).and_then(|()| self.check_ecmp(document)),
                Some((path, _, what)) => {
                    let title = format!("{what}, and events by node");
                    let help = "write order = \"insertion\", or dialect = \"hpcc-ns3\", \"conweave-ns3\" or \
                                \"ns3-datacenter\" for all of the simulator's rules";
                    Err(document.error(path, &title, help))
                }
            };
        }
        if self.datapath.kind == DatapathKind::Kernel {
            let title = "events in the order of insertion, on the kernel datapath";
            let help = "the kernel's switches take frames by node and port: write datapath.kind = \
                        \"memory\", or leave out `dialect` and `order`";
            let path = if is_set(document, "datapath.kind") { "datapath.kind" } else { "order" };
            return Err(document.error(path, title, help));
        }
        self.check_order(document)?;
        self.check_ecmp(document)
    }

    /// Checks that each frame arrives after its beginning: events by node are computed ahead until then.
    fn check_times(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let shortest = self.frames.lengths().shortest() + self.frame_time().overhead;
        let takes_none = |wire: &Wire| {
            let simulated = self.frames.time.simulated();
            let time = simulated.map(|arithmetic| arithmetic.transmission(shortest, wire.rate));
            wire.delay == Picos::ZERO && time == Some(Nanos(0))
        };
        if !self.fabric.wires().iter().any(takes_none) {
            return Ok(());
        }
        let title = format!("frames of {shortest} B that take no time on a link");
        let help = "give all links a delay, or write order = \"insertion\"";
        Err(document.error("frames.time", &title, help))
    }

    /// Checks that all packets have the simulator's next hops.
    fn check_ecmp(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let is_ordered = self.switch.next_hops != NextHops::default();
        if self.switch.ecmp == Ecmp::FiveTuple {
            if is_ordered && self.host.ns3.is_none() {
                let title = "an order of next hops that has no effect";
                let help = "it belongs to switch.ecmp = \"murmur3\"";
                return Err(document.error("switch.next_hops", title, help));
            }
            return Ok(());
        }
        let routes = if self.routes.is_empty() { "flows" } else { "routes" };
        let is_tcp = self.transports_in_use().any(|it| matches!(it, Transport::Tcp(_)));
        let in_the_way = [
            ("datapath.kind", self.datapath.kind == DatapathKind::Kernel, "the kernel datapath"),
            (routes, !self.fabric.static_routes().is_empty(), "static routes or paths of flows"),
            ("host.transport", is_tcp && self.host.ns3.is_none(), "TCP"),
        ];
        match in_the_way.iter().find(|(_, is_there, _)| *is_there) {
            None => Ok(()),
            Some((path, _, what)) => {
                let title = format!("{what}, and ECMP by MurmurHash3");
                let help = "this hash chooses next hops of RoCEv2 packets in memory: write switch.ecmp = \"five-tuple\"";
                Err(document.error(path, &title, help))
            }
        }
    }

    /// Checks that nothing computes with the duration of a pause that lasts until its RESUME.
    fn check_pauses_that_last(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let lasts = self.switch.pause_lasts != PauseLasts::Quanta;
        let in_the_way = [
            ("storms", !self.storms.is_empty(), "PFC storms"),
            ("switch.lossy", matches!(self.switch.lossy, Lossy::Bshare(_)), "BSHARE"),
        ];
        match in_the_way.iter().find(|(_, is_there, _)| lasts && *is_there) {
            None => Ok(()),
            Some((path, _, what)) => {
                let title = format!("{what}, and pauses that do not count in quanta");
                let help = "they count in quanta: write switch.pause_lasts = \"quanta\"";
                Err(document.error(path, &title, help))
            }
        }
    }

    /// Checks that nothing asks for what is not done in the order of insertion.
    fn check_order(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let switch = &self.switch;
        let fits = matches!(
            switch.scheme,
            Scheme::Pfc(_)
                | Scheme::PfcReached(_)
                | Scheme::ServicePools(_)
                | Scheme::SonicPools(_)
        );
        let fixed = matches!(switch.headroom, Headroom::Sih { .. });
        let in_the_way = [
            ("switch.scheme", !fits, "a scheme other than PFC"),
            ("switch.headroom", !fixed, "headroom that is measured"),
            ("switch.device_queue", switch.device_queue.is_some(), "a FIFO of the device"),
        ];
        let other = in_the_way.iter().find(|(_, is_there, _)| *is_there);
        if let Some((path, _, what)) = other {
            let title = format!("{what}, and events in the order of insertion");
            let help = "leave out one of them: `order` and `dialect` do without it";
            return Err(document.error(path, &title, help));
        }
        self.check_service_pools(document)?;
        if self.host.ns3.is_some() {
            self.check_simulated_hosts(document)?;
        }
        for (number, fault) in self.faults.iter().enumerate() {
            self.check_fault_in_order(number, fault, document)?;
        }
        Ok(())
    }

    /// Checks that a switch with a simulator's pools has what they count with.
    fn check_service_pools(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        if !self.switch.scheme.is_in_memory_only() {
            return Ok(());
        }
        let offset = match &self.switch.threshold {
            Threshold::Dt(dt) => dt.xon_offset,
            Threshold::Static { .. } | Threshold::EqualShares { .. } => Bytes(0),
        };
        let in_the_way = [
            (
                "switch.scheme",
                self.host.ns3.is_none(),
                "xoff's own hosts",
                "write the table [host.ns3]",
            ),
            (
                "switch.lossy",
                self.switch.lossy != Lossy::default(),
                "another management of lossy traffic",
                "leave out `lossy`: the pools drop lossy packets, too",
            ),
            (
                "switch.threshold.xon_offset",
                offset > MAX_BUFFER,
                "an offset above any buffer",
                "write at most 960MiB",
            ),
        ];
        match in_the_way.iter().find(|(_, is_there, ..)| *is_there) {
            None => Ok(()),
            Some((path, _, what, help)) => {
                let title = format!("a simulator's pools, and {what}");
                Err(document.error(path, &title, help))
            }
        }
    }

    /// Checks that a fault has its effect on events in the order of insertion.
    fn check_fault_in_order(
        &self,
        number: usize,
        fault: &Fault,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let is_drawn = matches!(
            fault,
            Fault::Loss {
                at: None,
                r#for: None,
                r#match: FrameClass::All,
                rate: Some(_),
                nth: None,
                ..
            }
        );
        let (title, help) = match fault {
            Fault::Down { .. } => return self.check_link_failure(number, fault, document),
            Fault::Loss { .. } | Fault::Corrupt { .. }
                if self.numbers != Numbers::Seed && !is_drawn =>
            {
                (
                    "a fault that ns-3 does not draw",
                    "write kind = \"loss\" with a `rate`, for all frames and the whole run, or numbers = \"seed\"",
                )
            }
            Fault::Loss { .. } if self.numbers != Numbers::Seed && !self.covers_links(fault) => (
                "a loss on one wire of a link, which ns-3 does not draw",
                "name the link, such as wire = \"h0-s0\", or write numbers = \"seed\"",
            ),
            _ => return Ok(()),
        };
        Err(document.error(&format!("faults.{number}"), title, help))
    }

    /// True if the other wire of each link of a loss has a loss at this rate, too: by this entry or by another.
    fn covers_links(&self, fault: &Fault) -> bool {
        let rate_of = |fault: &Fault| match fault {
            Fault::Loss { rate, .. } => *rate,
            _ => None,
        };
        let alike: Vec<&Fault> =
            self.faults.iter().filter(|other| rate_of(other) == rate_of(fault)).collect();
        let name = |wire: WireId| &self.fabric.wire(wire).name;
        let wires = (0..self.fabric.wires().len()).map(WireId::at);
        let mut covered = wires.filter(|wire| fault.covers(name(*wire)));
        covered.all(|wire| alike.iter().any(|other| other.covers(name(wire.reverse()))))
    }

    /// Checks that hosts of the simulator can do what the scenario asks for.
    fn check_simulated_hosts(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let in_the_way = [
            (
                "switch.pause_lasts",
                self.switch.pause_lasts == PauseLasts::Quanta,
                "pauses that last their quanta",
            ),
            ("switch.watchdog", self.switch.watchdog.is_some(), "a watchdog"),
            ("storms", !self.storms.is_empty(), "PFC storms"),
            ("routes", !self.routes.is_empty(), "static routes"),
            ("results.flow_trace", self.results.flow_trace.is_some(), "a trace of senders"),
        ];
        let other = in_the_way.iter().find(|(_, is_there, _)| *is_there);
        if let Some((path, _, what)) = other {
            let title = format!("{what}, and hosts of HPCC's simulator");
            let help = "leave out one of them: these hosts do without it";
            return Err(document.error(path, &title, help));
        }
        for (key, period) in self.host.ns3.iter().flat_map(|it| {
            [
                ("alpha_update_interval", Some(it.alpha_update_interval)),
                ("rate_decrease_interval", Some(it.rate_decrease_interval)),
                ("rate_increase_timer", Some(it.rate_increase_timer)),
                ("nack_interval", Some(it.nack_interval)),
                ("timeout", it.timeout),
            ]
        }) {
            if period.is_some_and(|period: Period| period.get().0 < 1000) {
                let title = "a period below 1 ns";
                let help = "the simulator counts whole nanoseconds: write \"1ns\" or more";
                return Err(document.error(&format!("host.ns3.{key}"), title, help));
            }
        }
        self.check_flows_of_simulator(document)
    }

    /// Checks that each flow is one that the simulator's hosts can have: they count bytes in 32 bits, and choose ports and paths.
    fn check_flows_of_simulator(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let fault = |flow: &Flow| {
            // One that lasts to the end of the run never completes: its numbers wrap there, too.
            let is_long = flow.bytes.0 > u32::MAX.into() && !flow.long_lived;
            let faults = [
                (is_long, "more than 4294967295 bytes", "write a smaller size"),
                (flow.source_port.is_some(), "a source port", "leave out the column `source_port`"),
                (flow.path.is_some(), "a path", "leave out the column `path`"),
            ];
            faults.into_iter().find_map(|(is_there, what, help)| is_there.then_some((what, help)))
        };
        let mut flows = FlowStream::new(&self.sources, self.seed);
        match flows.find_map(|flow| fault(&flow).map(|fault| (flow, fault))) {
            None => Ok(()),
            Some((flow, (what, help))) => {
                let title =
                    format!("{what}, of flow {} with the hosts of HPCC's simulator", flow.id);
                Err(document.error(&format!("flows.{}", flow.workload), &title, help))
            }
        }
    }
}
