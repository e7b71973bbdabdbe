//! Additions to a case under BFC: BFC's state, and packets that name queues.

use fabric_core::hop_control::HopControl;
use fabric_core::policy::{Policy, SchemeKind};
use fabric_core::queue::{FLOW_QUEUES, QueueId, QueueRange, one_per_priority_from};
use fabric_core::scheme::bfc::{Options, Settings};
use fabric_core::wire::RemainingSize;
use fabric_core::wire::ipv4::INCAST_LABEL;
use fabric_core::wire::roce::Ecn;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use units::Nanos;

use super::super::bfc::{BfcPort, BfcState};
use super::super::frame::{bytes, data, hop_control_bytes, inbound};
use super::super::row::BfcFlowRow;
use super::super::{EgressQueueRow, PORTS, State, queue_row};
use super::{Action, Step};

/// The priority whose queues every [`Options::EVERY`] pauses.
const PRIORITY: u8 = 3;
/// Payload of most packets, whose frames have [`LENGTH`] bytes: a whole number of nanoseconds at all rates.
const PAYLOAD: u16 = 992;
const LENGTH: u64 = 1050;
/// The third byte of a source address.
const QUEUE_AT: usize = 8;

/// Data drawn for a case, used if its policy is BFC.
#[derive(Clone, Debug)]
pub struct Extra {
    /// Queues of the priority; `None` for the number drawn for other schemes.
    queues: Option<u8>,
    /// Th of a queue that is alone, in bytes.
    threshold_bytes: u64,
    sticky: u64,
    /// Packets counted, of 2^32.
    sampled: u32,
    ports: Vec<Port>,
    /// Queues that packets of other steps name, in turns.
    named: Vec<u8>,
    /// Further steps, and before which others they come.
    steps: Vec<(Index, Step)>,
}

/// Paused queues; pause counters; members and packets of the queues; entries: members, packets, and last use; egress
/// ports to which packets from this port trigger no backpressure.
#[derive(Clone, Debug)]
struct Port {
    paused: Vec<u8>,
    counters: Vec<(u8, u32)>,
    egress: Vec<(u32, u64)>,
    flows: Vec<(u32, (u32, u32, u64))>,
    elided: Vec<u32>,
}

/// A data queue of a neighbour, often one of a few.
fn upstream() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0..3u8, 1 => 0..FLOW_QUEUES]
}

/// The byte by which an address names a queue; now and then the queue does not exist.
fn place() -> impl Strategy<Value = u8> {
    prop_oneof![8 => upstream().prop_map(|queue| queue + 1), 1 => Just(0), 1 => any::<u8>()]
}

fn packet() -> impl Strategy<Value = (u32, Vec<u8>)> {
    let payload = prop_oneof![3 => Just(PAYLOAD), 1 => 0..1500u16];
    let upstream_fields = (any::<bool>(), any::<u16>());
    (0..PORTS, 0..4u32, payload, 0..4u16, place(), upstream_fields).prop_map(
        |(port, host, payload, entropy, place, (labelled, remaining))| {
            let mut packet = data(host, PRIORITY, Ecn::Capable0, payload);
            packet.source_port = entropy;
            packet.dscp |= u8::from(labelled) * INCAST_LABEL;
            packet.remaining = RemainingSize::from_wire(remaining);
            let mut frame = bytes(&packet, &inbound(port));
            frame[QUEUE_AT] = place;
            (port, frame)
        },
    )
}

fn hop_control() -> impl Strategy<Value = (u32, Vec<u8>)> {
    // Each bit with probability 1/4.
    let word = || (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b);
    let control = prop_oneof![
        (upstream(), any::<bool>())
            .prop_map(|(queue, paused)| HopControl::Queue { queue: QueueId::data(queue), paused }),
        [word(), word()].prop_map(|paused| HopControl::Queues { paused }),
    ];
    (0..PORTS, control)
        .prop_map(|(port, control)| (port, hop_control_bytes(inbound(port).source, control)))
}

fn step() -> impl Strategy<Value = Step> {
    let arrive = |(port, frame)| Action::Arrive { port, frame };
    let action = prop_oneof![
        8 => packet().prop_map(arrive),
        5 => any::<Index>().prop_map(Action::Depart),
        1 => hop_control().prop_map(arrive),
    ];
    (0..2000u64, action).prop_map(|(wait, action)| Step { wait, action })
}

fn of_port() -> impl Strategy<Value = Port> {
    let counters = btree_map(upstream(), 1..4u32, 0..4);
    let flows = btree_map(any::<u32>(), (any::<u32>(), 0..3u32, 0..1_000_000u64), 0..24);
    let egress = vec((any::<u32>(), 1..6u64), 0..4);
    let elided = vec(0..PORTS, 0..3);
    (vec(upstream(), 0..4), counters, egress, flows, elided).prop_map(
        |(paused, counters, egress, flows, elided)| Port {
            paused,
            counters: counters.into_iter().collect(),
            egress,
            flows: flows.into_iter().collect(),
            elided,
        },
    )
}

/// Additions for any case.
pub fn extras() -> impl Strategy<Value = Extra> {
    let queues = prop_oneof![Just(None), (1..6u8).prop_map(Some)];
    // Often the total length of some packets, so that a queue reaches the threshold exactly.
    let threshold =
        prop_oneof![3 => select(vec![1, 2, 3, 4, 6]).prop_map(|n| n * LENGTH), 1 => 0..20_000u64];
    let ports = vec(of_port(), PORTS as usize);
    let steps = vec((any::<Index>(), step()), 4..24);
    let sampled = select(vec![0, 1 << 30, u32::MAX]);
    (queues, threshold, 0..3000u64, sampled, ports, vec(place(), 1..8), steps).prop_map(
        |(queues, threshold_bytes, sticky, sampled, ports, named, steps)| Extra {
            queues,
            threshold_bytes,
            sticky,
            sampled,
            ports,
            named,
            steps,
        },
    )
}

impl Extra {
    /// Adds it to a case.
    pub fn apply(self, policy: Policy, state: &mut State, steps: &mut Vec<Step>) {
        if policy.scheme() != SchemeKind::Bfc {
            return;
        }
        let options = Options::from_policy(policy);
        if let Some(count) = self.queues {
            state.config.queues = one_per_priority_from(FLOW_QUEUES, None);
            state.config.queues[usize::from(PRIORITY)] = QueueRange::flow_queues(0, count);
        }
        let queues = state.config.queues[usize::from(PRIORITY)];
        let megabits = state.ports[0].rate_bps / 1_000_000;
        let settings = Settings {
            options,
            sticky: Nanos(self.sticky),
            sampled: self.sampled,
            threshold: Nanos(self.threshold_bytes * 8000 / megabits),
        };
        let ports = (0..).zip(self.ports).map(|(number, port)| {
            for (member, packets) in &port.egress {
                let row = queue_row(number, queues.member(*member));
                state.egress_queues[row] = EgressQueueRow { bytes: packets * LENGTH };
            }
            port.resolve(queues, options.entries())
        });
        let ports = ports.collect();
        state.bfc = Some(BfcState { settings, ports });
        self.named.iter().cycle().zip(&mut *steps).for_each(|(place, step)| name(step, *place));
        for (before, step) in self.steps {
            steps.insert(before.index(steps.len() + 1), step);
        }
        for step in steps {
            if let Action::Observe(computed) = &mut step.action {
                *computed = computed.with_scheme(SchemeKind::Bfc, policy.options);
            }
        }
    }
}

/// Lets an IPv4 packet that comes in name a queue.
fn name(step: &mut Step, place: u8) {
    if let Action::Arrive { frame, .. } = &mut step.action
        && frame[12..14] == [8, 0]
    {
        frame[QUEUE_AT] = place;
    }
}

impl Port {
    fn resolve(self, queues: QueueRange, entries: u32) -> BfcPort {
        let paused = self.paused.iter().fold(0, |mask, queue| mask | 1u128 << queue);
        let count = |(queue, count)| (QueueId::data(queue), count);
        let flow = |(number, (member, packets, seen_ns)): (u32, (u32, _, _))| {
            let member = member % u32::from(queues.count.max(1)) + 1;
            (number % entries, BfcFlowRow { seen_ns, packets, member })
        };
        BfcPort {
            paused: [paused as u64, (paused >> 64) as u64],
            counters: self.counters.into_iter().map(count).collect(),
            flows: self.flows.into_iter().map(flow).collect(),
            elided: self.elided,
        }
    }
}
