//! Settings of switches from a scenario: schemes, tables, egress queues.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::buffer::slots_for;
use fabric_core::map_abi::{self, port_shift};
use fabric_core::policy::{MarkingScheme, Policy, StormAction, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::queue::{
    FLOW_QUEUES, QueueRange, QueueRanges, one_per_priority, one_per_priority_from, places,
};
use fabric_core::scheme::{Configure, Scheme, SchemeSettings, Selected};
use scenario::{
    Ecn, FlowQueues, Lossy, MarkAt, Numbers, PauseLasts, PrivateFill, ResumeTest, Scenario,
    Threshold, ThresholdUpdate, Watchdog, WatchdogAction,
};
use switch_user::control_plane::{Marking, PortSettings, next_hops_for};
use switch_user::policy_table::PolicyTable;
use switch_user::switch::{PortConfig, SwitchConfig};
use switch_user::tables::{Capacity, SwitchTables};
use switch_user::traffic_manager::{PortQueues, Scheduler};
use switch_user::watchdog::WatchdogConfig;
use topology::{Fabric, HostId, NodeKind, RouteMatch, Routes, SwitchId, UpDown};
use units::{BitsPerSecond, Bytes, Nanos};
use workload::random::mix;

use crate::mac_addresses::{mac_address, port_number};

/// Interface index of a switch's port 0: index 1 is the loopback.
pub const FIRST_INTERFACE: u32 = 2;

/// The schemes that a scenario's switches run.
pub fn policy(scenario: &Scenario) -> Policy {
    let threshold = match (scenario.switch.thresholds, &scenario.switch.threshold) {
        (ThresholdUpdate::Period(_), _) => ThresholdScheme::Stored,
        (ThresholdUpdate::PerPacket, _) => computed_threshold(scenario),
    };
    let marking = match &scenario.switch.ecn {
        // The driver of the switches decides, in the order of all their events.
        _ if scenario.numbers != Numbers::Seed => MarkingScheme::Off,
        None => MarkingScheme::Off,
        Some(ecn) => match ecn.mark_at {
            MarkAt::Enqueue => MarkingScheme::AtEnqueue,
            MarkAt::Dequeue => MarkingScheme::AtDequeue,
        },
    };
    let policy = scheme(scenario).select(Policy::new(threshold, marking));
    let policy = scenario.lossy_settings().select(policy);
    policy.with_storm_action(storm_action(scenario))
}

/// Action of the switches' watchdogs in the arrival pipeline.
fn storm_action(scenario: &Scenario) -> StormAction {
    match scenario.switch.watchdog.map(|watchdog| watchdog.action) {
        None | Some(WatchdogAction::Alert) => StormAction::None,
        Some(WatchdogAction::Drop) => StormAction::Drop,
        Some(WatchdogAction::Forward) => StormAction::Forward,
    }
}

/// The policy by which the control plane computes thresholds.
pub fn control_plane_policy(scenario: &Scenario) -> Policy {
    let plain = Policy::new(computed_threshold(scenario), MarkingScheme::Off);
    scheme(scenario).select(plain)
}

/// Scheme of the first switch: its part in a policy is equal at all switches.
fn scheme(scenario: &Scenario) -> SchemeSettings {
    scenario.scheme(SwitchId(0))
}

fn computed_threshold(scenario: &Scenario) -> ThresholdScheme {
    match scenario.switch.threshold {
        Threshold::Dt(_) => ThresholdScheme::Dynamic,
        Threshold::Static { .. } | Threshold::EqualShares { .. } => ThresholdScheme::Static,
    }
}

/// True if switches measure the links of their ports.
pub fn measures_links(scenario: &Scenario) -> bool {
    let switch = &scenario.switch;
    switch.headroom.measurement_period().is_some() && switch.lossless.count() != 0
}

/// Capacity of the tables of a switch that has these routes.
pub fn capacity(scenario: &Scenario, switch: SwitchId, routes: &RouteTables) -> Capacity {
    let fabric = scenario.fabric();
    let ports = fabric.switch(switch).port_count().into();
    Capacity {
        ports,
        hosts: fabric.host_count(),
        slots: slots_for(scenario.switch_at(switch).buffer()),
        queues: u32::try_from(places(&queues(scenario))).expect("a port has 137 queues"),
        next_hops: next_hops(scenario, switch, routes),
        policies: routes.policies.rows(),
        scheme: Selected::room(policy(scenario), ports),
        lossy_flow_lines: scenario.lossy_settings().flow_lines(),
    }
}

/// Number of members of all ECMP groups: the present number or, if routes may change, the max number.
fn next_hops(scenario: &Scenario, switch: SwitchId, routes: &RouteTables) -> u32 {
    let now = next_hops_for(&routes.groups);
    if !scenario.may_reroute() {
        return now;
    }
    // All hosts of a switch have the same group, of ports to other switches.
    let fabric = scenario.fabric();
    let edges: BTreeSet<SwitchId> =
        (0..fabric.host_count()).map(|host| fabric.edge(HostId(host))).collect();
    now.max(topology::in_32_bits(edges.len() * ports_to_switches(fabric, switch)))
}

fn ports_to_switches(fabric: &Fabric, switch: SwitchId) -> usize {
    let is_switch = |kind| matches!(kind, NodeKind::Switch(_));
    fabric.switch(switch).ports.iter().filter(|&&wire| is_switch(fabric.ends(wire).to)).count()
}

/// The egress queues of each priority. A priority with one queue has the queue with the priority's number. If other
/// priorities are spread over flow queues, this queue lies behind the flow queues.
pub(crate) fn queues(scenario: &Scenario) -> QueueRanges {
    let control = scenario.switch.control_priority.0.map(Priority::new);
    if scenario.switch.spread().next().is_none() {
        return one_per_priority(control);
    }
    let mut ranges = one_per_priority_from(FLOW_QUEUES, control);
    let mut first = 0;
    for FlowQueues { priority, queues } in scenario.switch.spread() {
        let queues = u8::try_from(queues).expect("a port has 128 queues");
        ranges[usize::from(priority.0)] = QueueRange::flow_queues(first, queues);
        first += queues;
    }
    ranges
}

/// The priorities that are spread over several egress queues of a port, one bit each.
pub fn spread_classes(scenario: &Scenario) -> u8 {
    scenario.switch.spread().fold(0, |classes, spread| classes | 1 << spread.priority.0)
}

/// The priorities whose queues also take packets of other priorities, one bit each.
pub fn prioritising_classes(scenario: &Scenario) -> u8 {
    match &scenario.switch.lossy {
        Lossy::Ib(ib) => ib.prioritisation.map_or(0, |of| 1 << of.priority.0),
        _ => 0,
    }
}

/// Routes of a switch in the form of its tables.
#[derive(Clone, Debug)]
pub struct RouteTables {
    /// The ports of each ECMP group, each group once.
    groups: Vec<Vec<u8>>,
    /// Index of each host's group, by host.
    hosts: Vec<usize>,
    /// Static routes that override the groups.
    policies: PolicyTable,
}

impl RouteTables {
    /// The routes of a switch.
    pub fn new(scenario: &Scenario, switch: SwitchId) -> Self {
        Self::on(scenario, switch, scenario.fabric().shortest_routes(switch))
    }

    /// The routes of a switch for other shortest paths.
    pub fn on(scenario: &Scenario, switch: SwitchId, shortest: &Routes) -> Self {
        let fabric = scenario.fabric();
        let to_bytes = |group: &[u16]| group.iter().copied().map(port_number).collect();
        let mut groups: Vec<Vec<u8>> =
            shortest.groups().iter().map(|group| to_bytes(group)).collect();
        let mut hosts: Vec<usize> =
            (0..fabric.host_count()).map(|host| shortest.group_to(HostId(host))).collect();
        let mut numbers: BTreeMap<Vec<u8>, usize> = groups.iter().cloned().zip(0..).collect();
        let mut number = |ports: &[u16]| {
            *numbers.entry(to_bytes(ports)).or_insert_with_key(|group| {
                groups.push(group.clone());
                groups.len() - 1
            })
        };
        for (frames, ports) in fabric.static_routes().at(switch) {
            if let RouteMatch { class: None, source: None, destination: Some(host) } = frames {
                hosts[host.0 as usize] = number(ports);
            }
        }
        let policies = scenario.policy_routes(switch);
        let policies: Vec<_> = policies.iter().map(|(key, ports)| (*key, number(ports))).collect();
        Self { groups, hosts, policies: PolicyTable::new(&policies) }
    }

    /// Writes the routes into a switch's tables.
    pub fn install(self, tables: &mut SwitchTables) {
        tables.install_routes(&self.groups, self.hosts, &self.policies);
    }
}

/// Configures a switch: settings, ports, routes, first thresholds. `order` is the scenario's
/// [`deadlock_prevention`](Scenario::deadlock_prevention).
pub fn configure(
    scenario: &Scenario,
    switch: SwitchId,
    routes: RouteTables,
    order: Option<&UpDown>,
    tables: &mut SwitchTables,
) {
    let fabric = scenario.fabric();
    let pools = scenario.buffer_pools(switch);
    let settings = scenario.switch_at(switch);
    let ecn = settings.ecn.as_ref();
    let capacity = capacity(scenario, switch, &routes);
    let config = routes.policies.announced_in(map_abi::SwitchConfig {
        shared_pool_bytes: pools.shared.0,
        private_bytes: settings.private_per_queue.0,
        static_xoff_bytes: scenario.static_xoff(switch).0,
        xon_offset_bytes: settings.threshold.xon_offset().0,
        headroom_pool_bytes: pools.headroom.0,
        lossy_pool_bytes: pools.lossy.0,
        ecmp_seed: scenario.ecmp_seed(switch),
        first_interface_index: FIRST_INTERFACE,
        ports: capacity.ports,
        hosts: capacity.hosts,
        slots: capacity.slots.next_power_of_two(),
        lossless_queues: settings.lossless.count(),
        queues: queues(scenario),
        lossless_classes: settings.lossless.0,
        ecn_classes: ecn.map_or(0, |ecn| ecn.priorities().0),
        pause_quanta: settings.pause_lasts.quanta(settings.pause_quanta),
        port_shift: port_shift(capacity.ports),
        tests_renewed_pauses: u8::from(settings.resume_test == ResumeTest::Refresh),
        splits_packets: u8::from(settings.private_fill == PrivateFill::Bytes),
        ..map_abi::SwitchConfig::default()
    });
    let node = fabric.switch_node(switch);
    let ports: Vec<PortSettings> = fabric
        .node(node)
        .ports
        .iter()
        .zip(&pools.headroom_by_port)
        .map(|(&id, &phi)| {
            let wire = fabric.wire(id);
            PortSettings {
                rate: wire.rate,
                headroom: settings.scheme.reserved(phi),
                required_headroom: phi,
                alpha: alpha(&settings.threshold, wire.rate),
                marking: ecn.map_or_else(Marking::default, |ecn| marking(ecn, wire.rate)),
                response: scenario.pause_response_ns(wire.from, wire.rate),
                quantum: settings.pause_lasts.quantum(wire.rate, settings.pause_quanta),
                address: mac_address(fabric, wire.from, wire.from_port),
                peer_address: mac_address(fabric, wire.to, wire.to_port),
            }
        })
        .collect();
    let seed = mix(scenario.seed, u64::from(switch.0) + (1 << 32));
    let scheme = scenario.scheme(switch);
    tables.configure(config, &ports, &scheme, &scenario.lossy_settings(), seed);
    let elided = order.into_iter().flat_map(|order| order.elided(fabric, switch));
    scheme.elide(tables, elided.map(|turn| (turn.ingress.into(), turn.egress.into())));
    routes.install(tables);
    tables.observe(control_plane_policy(scenario), Nanos(0));
}

/// The configuration of a switch, except its tables.
pub fn switch_config(scenario: &Scenario, switch: SwitchId) -> SwitchConfig {
    let fabric = scenario.fabric();
    let settings = scenario.switch_at(switch);
    let pools = scenario.buffer_pools(switch);
    let ports = fabric.switch(switch).ports.iter().zip(&pools.headroom_by_port);
    let port = |(&id, &headroom)| {
        let wire = fabric.wire(id);
        PortConfig {
            address: mac_address(fabric, wire.from, wire.from_port),
            rate: wire.rate,
            response: scenario.pause_response_ns(wire.from, wire.rate),
            refresh_period: settings.pause_lasts.refresh_period(
                settings.pause_refresh,
                settings.pause_quanta,
                wire.rate,
            ),
            headroom,
        }
    };
    SwitchConfig {
        policy: policy(scenario),
        computed: control_plane_policy(scenario),
        queues: port_queues(scenario),
        slots: slots_for(settings.buffer()) as usize,
        ports: ports.map(port).collect(),
        frames: scenario.link_frames(),
        measures_links: measures_links(scenario),
        sends_superseded: settings.pause_lasts != PauseLasts::Quanta,
        device_queue: settings.device_queue.map(|packets| packets as usize),
        watchdog: settings.watchdog.map(|watchdog| {
            let Watchdog { detection_time, restoration_time, poll_interval, .. } = watchdog;
            WatchdogConfig {
                action: storm_action(scenario),
                detection: detection_time,
                restoration: restoration_time,
                poll_interval,
            }
        }),
    }
}

/// alpha of a port; zeros if thresholds are fixed.
fn alpha(threshold: &Threshold, rate: BitsPerSecond) -> [u32; 2] {
    threshold.alpha(rate).map_or([0, 1], |alpha| [alpha.numerator, alpha.denominator])
}

/// Marking at each port of each switch; empty without marks.
pub(crate) fn marks(scenario: &Scenario) -> Vec<Vec<Marking>> {
    let fabric = scenario.fabric();
    let of_switch = |switch| {
        let ecn = scenario.switch_at(switch).ecn.as_ref()?;
        let ports = fabric.switch(switch).ports.iter();
        Some(ports.map(|&wire| marking(ecn, fabric.wire(wire).rate)).collect())
    };
    let switches = (0..fabric.switch_count()).map(SwitchId).map(of_switch);
    switches.collect::<Option<_>>().unwrap_or_default()
}

/// Marking rule of a port.
fn marking(ecn: &Ecn, rate: BitsPerSecond) -> Marking {
    let scenario::EcnThresholds { kmin, kmax, pmax } = ecn.thresholds(rate);
    Marking { kmin, kmax, pmax_millionths: pmax.millionths }
}

/// A quantum in the units of the traffic manager.
fn bytes_of(quantum: Bytes) -> u32 {
    u32::try_from(quantum.0).expect("a quantum is less than 4 GiB")
}

/// The egress queues of a switch's ports.
fn port_queues(scenario: &Scenario) -> PortQueues {
    PortQueues {
        data_queues: (places(&queues(scenario)) - 1).max(1),
        scheduler: match scenario.switch.scheduler {
            scenario::Scheduler::Strict { quantum } => {
                Scheduler::Strict { quantum: bytes_of(quantum.get()) }
            }
            scenario::Scheduler::Dwrr { quantum } => {
                Scheduler::Dwrr { quantum: bytes_of(quantum.get()) }
            }
            scenario::Scheduler::RoundRobin {} => Scheduler::RoundRobin,
            scenario::Scheduler::Srf {} => Scheduler::ShortestRemaining,
        },
        ranges: queues(scenario),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::in_memory;
    use std::path::Path;

    #[test]
    fn queues_of_spread_priorities_lie_before_the_others() {
        let text = "[datapath]\nkind = \"memory\"\n[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"
[switch]\nflow_queues = [{ priority = 5, queues = 100 }, { priority = 3, queues = 28 }]";
        let scenario = Scenario::parse(text, Path::new("queues.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let mut expected = one_per_priority_from(128, Some(Priority::new(6)));
        expected[5] = QueueRange::flow_queues(0, 100);
        expected[3] = QueueRange::flow_queues(100, 28);
        assert_eq!(queues(&scenario), expected);
        let routes = RouteTables::new(&scenario, SwitchId(0));
        assert_eq!(capacity(&scenario, SwitchId(0), &routes).queues, 137);
        assert_eq!(port_queues(&scenario).data_queues, 136);
        assert_eq!(spread_classes(&scenario), 1 << 5 | 1 << 3);
    }

    #[test]
    fn a_switch_has_descriptors_for_its_own_buffer() {
        let text = "[datapath]\nkind = \"memory\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2
spines = 1\nhosts_per_leaf = 1\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"
[switch]\nbuffer = \"3MB\"\n[[switches]]\nat = \"leaf1\"\nbuffer = \"6MB\"";
        let scenario = Scenario::parse(text, Path::new("buffers.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        for (switch, shortest_frames) in [(0, 50_000), (1, 100_000)] {
            let switch = SwitchId(switch);
            let routes = RouteTables::new(&scenario, switch);
            assert_eq!(capacity(&scenario, switch, &routes).slots, shortest_frames);
            assert_eq!(switch_config(&scenario, switch).slots, shortest_frames as usize);
        }
    }

    #[test]
    fn switches_draw_random_numbers_of_their_own_from_the_scenarios_seed() {
        let of_seed = |seed: u32| {
            let text = format!(
                "seed = {seed}\n[datapath]\nkind = \"memory\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2
spines = 2\nhosts_per_leaf = 1\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
fabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\""
            );
            let scenario = Scenario::parse(&text, Path::new("build.toml"), &[]);
            let datapath = in_memory(&scenario.unwrap_or_else(|error| panic!("{error}")));
            let datapath = datapath.expect("memory for four switches");
            let seeds = |switch: usize| {
                let tables = &datapath.tables[switch];
                (tables.state().random.load(), tables.settings().ecmp_seed)
            };
            (0..4).map(seeds).collect::<Vec<_>>()
        };
        let all = [of_seed(1), of_seed(2)].concat();
        assert_eq!(of_seed(1), all[..4]);
        assert_eq!(all.iter().map(|seeds| seeds.0).collect::<BTreeSet<_>>().len(), 8, "marking");
        assert_eq!(all.iter().map(|seeds| seeds.1).collect::<BTreeSet<_>>().len(), 8, "ECMP");
    }
}
