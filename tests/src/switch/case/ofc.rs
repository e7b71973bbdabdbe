//! Additions to a case under OFC: three queues, flows that meet again, and their PAUSEs and RESUMEs.

use fabric_core::hop_control::{FlowList, HopControl, MAX_FLOWS};
use fabric_core::map_abi::FlowKey;
use fabric_core::policy::{Policy, SchemeKind};
use fabric_core::priority::Priority;
use fabric_core::queue::{FLOW_QUEUES, QueueRange, one_per_priority_from};
use fabric_core::routing::key_name;
use fabric_core::scheme::ofc::state::QUEUES;
use fabric_core::scheme::ofc::{Options, Settings};
use fabric_core::wire::RocePacket;
use fabric_core::wire::ipv4::PROTOCOL_UDP;
use fabric_core::wire::roce::{Ecn, UDP_PORT};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use units::Bytes;

use super::super::frame::{bytes, data, hop_control_bytes, inbound};
use super::super::{PORTS, State};
use super::{Action, Step};

/// The priority whose flows every [`Options::EVERY`] pauses.
const PRIORITY: Priority = Priority::new(3);
/// Payload of most packets, whose frames have [`LENGTH`] bytes.
const PAYLOAD: u16 = 992;
const LENGTH: u64 = 1050;

/// Data drawn for a case, used if its policy is OFC.
#[derive(Clone, Debug)]
pub struct Extra {
    /// `X_off^c`, and the distance of `X_off` above it.
    thresholds: [u64; 2],
    /// Further steps, and before which others they come.
    steps: Vec<(Index, Step)>,
}

/// One of a few flows.
fn flow() -> impl Strategy<Value = RocePacket> {
    let payload = prop_oneof![5 => Just(PAYLOAD), 1 => 0..1500u16];
    let entropy = prop_oneof![5 => 0..4u16, 1 => 0..200u16];
    (0..4u32, payload, entropy).prop_map(|(host, payload, source_port)| RocePacket {
        source_port,
        ..data(host, PRIORITY.number(), Ecn::Capable0, payload)
    })
}

fn name(packet: &RocePacket) -> u32 {
    key_name(&FlowKey {
        source: packet.source,
        destination: packet.destination,
        ports: u32::from(packet.source_port) << 16 | u32::from(UDP_PORT),
        protocol: PROTOCOL_UDP.into(),
    })
}

fn hop_control() -> impl Strategy<Value = (u32, Vec<u8>)> {
    let flows = vec(flow().prop_map(|packet| name(&packet)), 0..=MAX_FLOWS);
    (0..PORTS, any::<bool>(), flows).prop_map(|(port, paused, flows)| {
        let flows = FlowList::new(&flows).expect("no more than fit");
        let control = HopControl::Flows { priority: PRIORITY, paused, flows };
        (port, hop_control_bytes(inbound(port).source, control))
    })
}

fn step() -> impl Strategy<Value = Step> {
    let arrive = |(port, frame)| Action::Arrive { port, frame };
    let packet =
        (0..PORTS, flow()).prop_map(|(port, packet)| (port, bytes(&packet, &inbound(port))));
    let action = prop_oneof![
        8 => packet.prop_map(arrive),
        5 => any::<Index>().prop_map(Action::Depart),
        3 => hop_control().prop_map(arrive),
    ];
    (0..2000u64, action).prop_map(|(wait, action)| Step { wait, action })
}

/// Additions for any case.
pub(super) fn extras() -> impl Strategy<Value = Extra> {
    // Often the total length of some packets, so that a queue reaches the threshold exactly.
    let bytes =
        || prop_oneof![4 => select(vec![1, 2, 3]).prop_map(|n| n * LENGTH), 1 => 0..20_000u64];
    let steps = vec((any::<Index>(), step()), 4..32);
    ([bytes(), bytes()], steps).prop_map(|(thresholds, steps)| Extra { thresholds, steps })
}

impl Extra {
    /// Adds it to a case.
    pub(super) fn apply(self, policy: Policy, state: &mut State, steps: &mut Vec<Step>) {
        if policy.scheme() != SchemeKind::Ofc {
            return;
        }
        let [congested, more] = self.thresholds;
        let config = &mut state.config;
        config.queues = one_per_priority_from(FLOW_QUEUES, None);
        config.queues[PRIORITY.index()] = QueueRange::flow_queues(0, QUEUES);
        config.lossless_classes |= PRIORITY.bit();
        config.lossless_queues = config.lossless_classes.count_ones();
        config.static_xoff_bytes = congested + more;
        config.xon_offset_bytes = more;
        let options = Options::from_policy(policy);
        state.ofc = Some(Settings { options, congested: Bytes(congested) });
        for (before, step) in self.steps {
            steps.insert(before.index(steps.len() + 1), step);
        }
        for step in steps {
            if let Action::Observe(computed) = &mut step.action {
                *computed = computed.with_scheme(SchemeKind::Ofc, policy.options);
            }
        }
    }
}
