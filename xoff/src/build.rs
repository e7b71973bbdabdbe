//! From a scenario to what runs it: wires with addresses, switches with tables, hosts with NICs.

use fabric_core::frame::Ipv4Fields;
use fabric_core::map_abi::{FIRST_HOST_ADDRESS, SwitchConfig};
use fabric_core::policy::{EstimationForm, HeadroomScheme, MarkingScheme, Policy, ThresholdScheme};
use fabric_core::routing::flow_hash;
use fabric_core::units::{BitsPerSecond, Bytes, Picos};
use fabric_core::wire::{LinkAddresses, Psn, roce};
use host_agent::dcqcn::{Fraction, Parameters};
use host_agent::{CongestionControl, FlowRequest, HostConfig, ResponderRequest};
use switch_user::control_plane::{Marking, PortSettings, slots_for};
use switch_user::tables::{Capacity, SwitchTables};
use switch_user::traffic_manager::{PortQueues, Scheduler};

use crate::datapath::kernel::FIRST_SWITCH_INTERFACE;
use crate::scenario::{self, Ecn, Flow, Headroom, MarkAt, Scenario, Threshold, ThresholdUpdate};
use crate::topology::{Fabric, HostId, NodeId, NodeKind, SwitchId, WireId};

/// First UDP source port of flows: the dynamic ports of RFC 6335, which `RoCEv2` uses as entropy.
const FIRST_SOURCE_PORT: u16 = 49_152;

/// The queue pair of flow 0: InfiniBand reserves 0 and 1 for management datagrams. `MAX_FLOWS` leaves out the
/// last number, too.
const FIRST_QUEUE_PAIR: u32 = 2;

/// One direction of a link, as datapaths see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireEnds {
    /// The sender.
    pub from: NodeKind,
    /// The sender's port.
    pub from_port: u16,
    /// The receiver.
    pub to: NodeKind,
    /// The receiver's port.
    pub to_port: u16,
}

/// The station address of a node's port.
fn station(fabric: &Fabric, node: NodeId, port: u16) -> [u8; 6] {
    match fabric.node(node).kind {
        NodeKind::Host(HostId(host)) => {
            let [_, _, high, low] = host.to_be_bytes();
            [0x02, 0x01, 0, 0, high, low]
        }
        NodeKind::Switch(SwitchId(switch)) => {
            let [_, _, high, low] = switch.to_be_bytes();
            [0x02, 0x02, 0, high, low, port_number(port)]
        }
    }
}

/// A switch's port in one byte.
fn port_number(port: u16) -> u8 {
    port.try_into().expect("a switch has at most 64 ports")
}

/// All wires of a fabric, by [`WireId`].
pub fn wires(fabric: &Fabric) -> Vec<WireEnds> {
    fabric
        .wires()
        .iter()
        .map(|wire| WireEnds {
            from: fabric.node(wire.from).kind,
            from_port: wire.from_port,
            to: fabric.node(wire.to).kind,
            to_port: wire.to_port,
        })
        .collect()
}

/// What frames on a fabric's wires carry, by [`WireId`].
pub fn addresses(fabric: &Fabric) -> Vec<LinkAddresses> {
    fabric
        .wires()
        .iter()
        .map(|wire| LinkAddresses {
            source: station(fabric, wire.from, wire.from_port),
            destination: station(fabric, wire.to, wire.to_port),
        })
        .collect()
}

/// The schemes that a scenario's switches run.
pub fn policy(scenario: &Scenario) -> Policy {
    let threshold = match (scenario.switch.thresholds, &scenario.switch.threshold) {
        (ThresholdUpdate::Period(_), _) => ThresholdScheme::Stored,
        (ThresholdUpdate::PerPacket, _) => computed_threshold(scenario),
    };
    let marking = match &scenario.switch.ecn {
        None => MarkingScheme::Off,
        Some(ecn) => match ecn.mark_at {
            MarkAt::Enqueue => MarkingScheme::AtEnqueue,
            MarkAt::Dequeue => MarkingScheme::AtDequeue,
        },
    };
    with_headroom(scenario, Policy::new(threshold, marking))
}

/// The policy by which the control plane computes thresholds.
pub fn control_plane_policy(scenario: &Scenario) -> Policy {
    with_headroom(scenario, Policy::new(computed_threshold(scenario), MarkingScheme::Off))
}

fn with_headroom(scenario: &Scenario, policy: Policy) -> Policy {
    match scenario.switch.headroom {
        Headroom::Sih { .. } | Headroom::Adaptive { .. } => {
            policy.with_headroom(HeadroomScheme::Independent)
        }
        Headroom::Oversubscribed { .. } => policy.with_headroom(HeadroomScheme::Pooled),
        Headroom::Dsh(dsh) => {
            let policy = policy
                .with_headroom(HeadroomScheme::Dsh)
                .with_estimation(EstimationForm::from(dsh.estimation));
            if dsh.shared_headroom { policy } else { policy.without_shared_headroom() }
        }
    }
}

fn computed_threshold(scenario: &Scenario) -> ThresholdScheme {
    match scenario.switch.threshold {
        Threshold::Dt { .. } => ThresholdScheme::Dynamic,
        Threshold::Static { .. } => ThresholdScheme::Static,
    }
}

/// Whether switches measure the links of their ports.
pub fn measures_links(scenario: &Scenario) -> bool {
    let headroom = &scenario.switch.headroom;
    matches!(headroom, Headroom::Adaptive { .. }) && scenario.switch.lossless.count() != 0
}

/// How large a switch's tables are.
pub fn capacity(scenario: &Scenario, switch: SwitchId) -> Capacity {
    let fabric = scenario.fabric();
    Capacity {
        ports: fabric.switch(switch).port_count().into(),
        hosts: fabric.host_count(),
        slots: slots_for(scenario.switch.buffer),
    }
}

/// The seed of one switch's ECMP hash.
pub fn ecmp_seed(scenario: &Scenario, switch: SwitchId) -> u32 {
    (mix(scenario.seed, u64::from(switch.0)) & 0xffff_ffff) as u32
}

/// Configures a switch: settings, ports, routes, first thresholds.
pub fn configure(scenario: &Scenario, switch: SwitchId, tables: &mut SwitchTables) {
    let fabric = scenario.fabric();
    let pools = scenario.buffer_pools(switch);
    let settings = &scenario.switch;
    let (static_xoff, xon_offset) = match settings.threshold {
        Threshold::Dt { xon_offset, .. } => (0, xon_offset.0),
        Threshold::Static { xoff, xon } => (xoff.0, xoff.0 - xon.0),
    };
    let ecn = settings.ecn.as_ref();
    let capacity = capacity(scenario, switch);
    let dsh = match &settings.headroom {
        Headroom::Dsh(dsh) => Some(dsh),
        Headroom::Sih { .. } | Headroom::Adaptive { .. } | Headroom::Oversubscribed { .. } => None,
    };
    let config = SwitchConfig {
        shared_pool_bytes: pools.shared.0,
        private_bytes: settings.private_per_queue.0,
        static_xoff_bytes: static_xoff,
        xon_offset_bytes: xon_offset,
        port_xon_offset_bytes: dsh.map_or(0, |dsh| dsh.port_xon_offset.0),
        headroom_pool_bytes: pools.headroom.0,
        single_queue_window_ns: dsh.map_or(0, |dsh| dsh.single_queue_window.to_nanos().0),
        lossy_alpha_numerator: settings.lossy_threshold.alpha.numerator,
        lossy_alpha_denominator: settings.lossy_threshold.alpha.denominator,
        ecmp_seed: ecmp_seed(scenario, switch),
        first_interface_index: FIRST_SWITCH_INTERFACE,
        ports: capacity.ports,
        hosts: capacity.hosts,
        slots: capacity.slots.next_power_of_two(),
        lossless_queues: settings.lossless.count(),
        gradient_weight_shift: dsh.map_or(0, |dsh| dsh.gradient_weight.right_shift()),
        deviation_weight_shift: dsh.map_or(0, |dsh| dsh.deviation_weight.right_shift()),
        deviation_gain_shift: dsh.map_or(0, |dsh| dsh.deviation_gain.left_shift()),
        reserved: 0,
        lossless_classes: settings.lossless.0,
        ecn_classes: ecn.map_or(0, |ecn| ecn.priorities.0),
        pause_quanta: settings.pause_quanta,
    };
    let node = fabric.switch_node(switch);
    let ports: Vec<PortSettings> = fabric
        .node(node)
        .ports
        .iter()
        .zip(&pools.headroom_by_port)
        .map(|(&id, &phi)| {
            let wire = fabric.wire(id);
            let uninsured = dsh.is_some_and(|dsh| !dsh.insurance_headroom);
            PortSettings {
                rate: wire.rate,
                headroom: if uninsured { Bytes(0) } else { phi },
                largest_estimate: dsh.map_or(Bytes(0), |_| phi),
                alpha: alpha(&settings.threshold, wire.rate),
                marking: ecn.map_or_else(Marking::default, |ecn| marking(ecn, wire.rate)),
                response: scenario.pause_response_ns(wire.from, wire.rate),
                address: station(fabric, wire.from, wire.from_port),
                peer_address: station(fabric, wire.to, wire.to_port),
            }
        })
        .collect();
    tables.configure(config, &ports, mix(scenario.seed, u64::from(switch.0) + (1 << 32)));
    let routes = fabric.routes(switch);
    for host in 0..fabric.host_count() {
        let group: Vec<u8> =
            routes.ports_to(HostId(host)).iter().copied().map(port_number).collect();
        tables.install_route(host as usize, &group);
    }
    tables.set_thresholds(control_plane_policy(scenario));
}

/// alpha of a port; nothing where thresholds are fixed.
fn alpha(threshold: &Threshold, rate: BitsPerSecond) -> [u32; 2] {
    threshold.alpha(rate).map_or([0, 1], |alpha| [alpha.numerator, alpha.denominator])
}

/// How a port marks.
fn marking(ecn: &Ecn, rate: BitsPerSecond) -> Marking {
    let scenario::EcnThresholds { kmin, kmax, pmax } = ecn.thresholds(rate);
    Marking { kmin, kmax, pmax_millionths: pmax.millionths }
}

/// The egress queues of a switch's ports.
pub fn port_queues(scenario: &Scenario) -> PortQueues {
    PortQueues {
        queues: fabric_core::map_abi::PRIORITIES,
        control: scenario.switch.control_priority,
        scheduler: match scenario.switch.scheduler {
            scenario::Scheduler::Strict => Scheduler::Strict,
            scenario::Scheduler::Dwrr { quantum } => Scheduler::Dwrr {
                quantum: u32::try_from(quantum.0).expect("a quantum is less than 4 GiB"),
            },
        },
    }
}

/// A host's NIC and transport.
pub fn host_config(scenario: &Scenario, host: HostId) -> HostConfig {
    let fabric = scenario.fabric();
    let link_rate = fabric.wire(fabric.host(host).ports[0]).rate;
    let settings = &scenario.host;
    let scenario::Transport::RoceRc { congestion_control } = &settings.transport;
    HostConfig {
        address: FIRST_HOST_ADDRESS + host.0,
        station: station(fabric, fabric.host_node(host), 0),
        link_rate,
        wire_overhead: scenario.switch.wire_overhead.0,
        payload: settings.payload.0.try_into().expect("a payload is at most 3072 bytes"),
        ack_priority: settings.ack_priority,
        cnp_priority: settings.cnp_priority,
        ack_interval: settings.ack_interval,
        retransmission_timeout: settings.retransmission_timeout,
        pause_response: settings.pause_response.at(link_rate),
        congestion_control: match congestion_control {
            scenario::CongestionControl::None => CongestionControl::None,
            scenario::CongestionControl::Dcqcn(dcqcn) => {
                CongestionControl::Dcqcn(dcqcn_parameters(dcqcn, link_rate))
            }
        },
    }
}

fn dcqcn_parameters(dcqcn: &scenario::Dcqcn, link_rate: BitsPerSecond) -> Parameters {
    Parameters {
        alpha_interval: dcqcn.alpha_update_interval,
        rate_decrease_interval: dcqcn.rate_decrease_interval,
        rate_increase_interval: dcqcn.rate_increase_timer,
        rate_increase_bytes: dcqcn.byte_counter,
        alpha_gain: Fraction::from_ratio(dcqcn.g.numerator, dcqcn.g.denominator),
        fast_recovery_stages: dcqcn.fast_recovery_stages,
        additive_increase: dcqcn.additive_increase,
        hyper_increase: dcqcn.hyper_increase,
        minimum_rate: dcqcn.minimum_rate.min(link_rate),
        clamp_target_rate: dcqcn.profile.published().clamp_target_rate,
        notification_interval: dcqcn.cnp_interval,
    }
}

/// The priorities of ACKs, NAKs and CNPs, a bit each.
pub fn control_classes(scenario: &Scenario) -> u8 {
    1 << scenario.host.ack_priority | 1 << scenario.host.cnp_priority
}

/// Both ends of a flow's queue pair.
pub fn queue_pair(scenario: &Scenario, flow: &Flow) -> (FlowRequest, ResponderRequest) {
    let entropy = mix(scenario.seed, u64::from(flow.id) + (1 << 33));
    let source_port = FIRST_SOURCE_PORT + (entropy & 0x3fff) as u16;
    let initial_psn = Psn::new((entropy >> 32) as u32);
    let qp = flow.id + FIRST_QUEUE_PAIR;
    let request = FlowRequest {
        flow: flow.id,
        destination: FIRST_HOST_ADDRESS + flow.destination.0,
        qp,
        initial_psn,
        source_port,
        priority: flow.priority,
        bytes: flow.bytes.0,
    };
    let responder = ResponderRequest {
        qp,
        peer: FIRST_HOST_ADDRESS + flow.source.0,
        initial_psn,
        source_port,
        bytes: flow.bytes.0,
    };
    (request, responder)
}

/// The flow of a queue pair number.
pub const fn flow_of(qp: u32) -> u32 {
    qp - FIRST_QUEUE_PAIR
}

/// The wires that a flow's packets cross, and those of its ACKs, as ECMP will choose them.
pub fn paths(scenario: &Scenario, flow: &Flow) -> (Vec<WireId>, Vec<WireId>) {
    let (request, _) = queue_pair(scenario, flow);
    let one_way = |source: HostId, destination: HostId| {
        let fields = Ipv4Fields {
            source: FIRST_HOST_ADDRESS + source.0,
            destination: FIRST_HOST_ADDRESS + destination.0,
            ports: u32::from(request.source_port) << 16 | u32::from(roce::UDP_PORT),
            protocol: 17,
            ..Ipv4Fields::default()
        };
        scenario
            .fabric()
            .path(source, destination, |switch, group| {
                let hash = flow_hash(&fields, ecmp_seed(scenario, switch));
                let ports = group.len().try_into().expect("a switch has at most 64 ports");
                group[fabric_core::routing::member(hash, ports) as usize]
            })
            .expect("a scenario's flows have paths")
    };
    (one_way(flow.source, flow.destination), one_way(flow.destination, flow.source))
}

/// The flow's completion time on an idle path.
pub fn ideal(scenario: &Scenario, flow: &Flow) -> Picos {
    let (path, back) = paths(scenario, flow);
    let fabric = scenario.fabric();
    crate::topology::ideal::completion(
        &fabric.hops(&path),
        &fabric.hops(&back),
        crate::topology::ideal::FlowShape {
            bytes: flow.bytes,
            payload: scenario.host.payload,
            ack_interval: scenario.host.ack_interval,
            wire_overhead: scenario.switch.wire_overhead,
        },
    )
}

/// 64 bits from a seed and a number (the finaliser of `SplitMix64`).
pub fn mix(seed: u64, number: u64) -> u64 {
    let mut value = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::Datapath;
    use crate::run::in_memory;
    use std::collections::BTreeSet;
    use std::path::Path;

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
            let seeds = |switch| {
                let tables = datapath.tables(switch);
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
