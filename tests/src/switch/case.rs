//! Generated cases: any policy, any configuration, any state, any sequence of frames and departures.

mod bfc;
mod lossy;
mod ofc;
mod rule;
mod spfc;

use fabric_core::hop_control::{FlowList, HopControl, MAX_FLOWS};
use fabric_core::lossy::Settings;
use fabric_core::map_abi::{FIRST_HOST_ADDRESS, FlowKey, PRIORITIES, QUEUE_ROWS};
use fabric_core::marking::slope_q48;
use fabric_core::policy::{MarkingScheme, Policy, StormAction, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::queue::{
    FLOW_QUEUES, QueueId, QueueRange, QueueRanges, one_per_priority, one_per_priority_from,
};
use fabric_core::scheme::{Configure, SchemeSettings, dsh};
use fabric_core::wire::ipv4::{FIRST_RTT, PROTOCOL_UDP};
use fabric_core::wire::roce::{Ecn, UDP_PORT};
use fabric_core::wire::{LinkDelayFrame, PfcFrame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use units::{Bytes, Nanos};

use super::frame::{
    acknowledge, bytes, congestion_notification, data, hop_control_bytes, inbound,
    link_delay_bytes, message, outbound, pfc_bytes, repair_checksum,
};
use super::{
    CAPACITY, DshQueueRow, EgressQueueRow, HOSTS, IngressQueueRow, NO_PORT, PORTS, PauseRow, State,
    StormRow, class_row, queue_row,
};

const SLOTS: u64 = CAPACITY.slots as u64;
/// Threshold schemes, in the order of [`policies`].
const THRESHOLDS: [ThresholdScheme; 3] =
    [ThresholdScheme::Dynamic, ThresholdScheme::Static, ThresholdScheme::Stored];
const MARKINGS: [MarkingScheme; 3] =
    [MarkingScheme::Off, MarkingScheme::AtEnqueue, MarkingScheme::AtDequeue];

/// Every threshold with every marking, with every scheme and with a watchdog's every action, and every buffer management;
/// programs are loaded once for each.
pub fn policies() -> Vec<Policy> {
    let of = |threshold| {
        let marked = MARKINGS.map(|marking| Policy::new(threshold, marking));
        let others = SchemeSettings::every().skip(1);
        let watched = [StormAction::Drop, StormAction::Forward];
        let watched = watched.map(|action| marked[1].with_storm_action(action));
        let others = others.map(move |scheme| scheme.select(marked[0]));
        marked.into_iter().chain(others).chain(watched)
    };
    let plain = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtDequeue);
    THRESHOLDS.into_iter().flat_map(of).chain(lossy::policies(plain)).collect()
}

/// A switch and its events.
#[derive(Clone, Debug)]
pub struct Case {
    /// Index into [`policies`].
    pub policy: usize,
    /// The state before the first step.
    pub state: State,
    /// Time of the first step.
    pub start: u64,
    /// Events, in order.
    pub steps: Vec<Step>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Step {
    /// Nanoseconds since the step before.
    pub wait: u64,
    /// The event.
    pub action: Action,
}

/// An event at a switch.
#[derive(Clone, Debug)]
pub enum Action {
    /// A frame comes in.
    Arrive {
        /// Port of the arrival.
        port: u32,
        /// Bytes of the frame.
        frame: Vec<u8>,
    },
    /// One of the packets that are held departs.
    Depart(Index),
    /// Whatever is in this slot departs, or nothing.
    DepartSlot(u32),
    /// A frame leaves, its transmission having begun `age` before now.
    Audit {
        /// Port of the departure, or [`NO_PORT`].
        port: u32,
        /// Nanoseconds.
        age: u32,
        /// Bytes of the frame.
        frame: Vec<u8>,
    },
    /// The control plane observes the switch under this policy.
    Observe(Policy),
    /// The control plane counts congested queues, and measures rates.
    UpdateLossy,
}

/// `usual` in seven cases of eight.
fn mostly<T: Copy + std::fmt::Debug>(
    usual: T,
    unusual: impl Strategy<Value = T>,
) -> impl Strategy<Value = T> {
    prop_oneof![7 => Just(usual), 1 => unusual]
}

fn ecn() -> impl Strategy<Value = Ecn> {
    select(vec![Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced])
}

fn port() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0..PORTS, 1 => Just(NO_PORT)]
}

/// A source port: often one of the few that policy routes are for.
fn source_port() -> impl Strategy<Value = u16> {
    prop_oneof![0..3u16, any::<u16>()]
}

/// Routes of flows from host 0, and of pairs with it.
fn policy_routes() -> impl Strategy<Value = Vec<(FlowKey, Vec<u8>)>> {
    let key = (0..HOSTS, prop_oneof![3 => source_port().prop_map(Some), 2 => Just(None)]);
    let key = key.prop_map(|(host, port)| FlowKey {
        source: FIRST_HOST_ADDRESS,
        destination: FIRST_HOST_ADDRESS + host,
        ports: port.map_or(0, |port| u32::from(port) << 16 | u32::from(UDP_PORT)),
        protocol: port.map_or(0, |_| PROTOCOL_UDP.into()),
    });
    let routes = proptest::collection::btree_map(key, group(), 0..12);
    prop_oneof![Just(Vec::new()), routes.prop_map(|routes| routes.into_iter().collect())]
}

/// An ECMP group; port 4 does not exist.
fn group() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![30 => 0..PORTS as u8, 1 => Just(4)], 0..12)
}

/// The bytes of a RoCE packet; host 8 has no route.
fn roce(outwards: bool) -> impl Strategy<Value = (u32, Vec<u8>)> {
    let priority = prop_oneof![Just(3u8), 0..8u8];
    let ttl = prop_oneof![8 => 2..=255u8, 1 => 0..2u8];
    let payload = (0..1500u16, any::<bool>());
    (port(), 0..=HOSTS, priority, ecn(), payload, ttl, 0..8u8, source_port()).prop_map(
        move |(port, host, priority, ecn, (payload, is_first_rtt), ttl, kind, entropy)| {
            let mut packet = match kind {
                0 => acknowledge(host, priority),
                1 => congestion_notification(host, priority),
                2 => message(host, priority, ecn, payload),
                _ => data(host, priority, ecn, payload),
            };
            packet.ttl = ttl;
            packet.dscp |= if is_first_rtt { FIRST_RTT } else { 0 };
            packet.source_port = entropy;
            (port, bytes(&packet, &if outwards { outbound(port) } else { inbound(port) }))
        },
    )
}

fn pfc() -> impl Strategy<Value = (u32, Vec<u8>)> {
    let quantum = prop_oneof![Just(0u16), Just(u16::MAX), any::<u16>()];
    let class_enable = prop_oneof![Just(1u8 << 3), any::<u8>()];
    (port(), class_enable, proptest::array::uniform8(quantum), 0..4u8).prop_map(
        |(port, class_enable, quanta, source)| {
            let source = if source == 0 { [0; 6] } else { inbound(port).source };
            (port, pfc_bytes(&PfcFrame { source, class_enable, quanta }))
        },
    )
}

fn link_delay() -> impl Strategy<Value = (u32, Vec<u8>)> {
    (port(), any::<u32>(), any::<bool>(), any::<[u32; 4]>()).prop_map(
        |(port, sequence, is_response, [sent, received, answered, response])| {
            let [sent, received, answered, response] =
                [sent, received, answered, response].map(|time| Nanos(time.into()));
            let source = inbound(port).source;
            let mut message = LinkDelayFrame::request(source, sequence);
            message.stamp(sent);
            if is_response {
                message = message.answer(source, received, response);
                message.stamp(answered);
            }
            (port, link_delay_bytes(&message))
        },
    )
}

/// A hop control frame other than PFC, about queues only, which only BFC accepts; now and then its kind does not exist.
fn hop_control() -> impl Strategy<Value = (u32, Vec<u8>)> {
    let priority = || (0..PRIORITIES as u8).prop_map(Priority::new);
    let flows = vec(any::<u32>(), 0..=MAX_FLOWS).prop_map(|flows| FlowList::new(&flows));
    let control = prop_oneof![
        (0..128u8, any::<bool>()).prop_map(|(queue, paused)| {
            HopControl::Queue { queue: QueueId::data(queue), paused }
        }),
        any::<[u64; 2]>().prop_map(|paused| HopControl::Queues { paused }),
        (priority(), any::<bool>(), flows).prop_map(|(priority, paused, flows)| {
            HopControl::Flows { priority, paused, flows: flows.expect("no more than fit") }
        }),
        (priority(), any::<u32>()).prop_map(|(priority, kilobits_per_second)| {
            HopControl::Rate { priority, kilobits_per_second }
        }),
    ];
    (port(), control, mostly(0, 5..=8u8)).prop_map(|(port, control, other_kind)| {
        let mut frame = hop_control_bytes(inbound(port).source, control);
        frame[17] |= other_kind;
        (port, frame)
    })
}

/// A frame that was right until a few of its bytes, or its length, changed.
fn mutated() -> impl Strategy<Value = (u32, Vec<u8>)> {
    let whole = prop_oneof![6 => roce(false), 2 => pfc(), 1 => link_delay()];
    // IPv4 options, the opcode of a global PAUSE, a class-enable vector of nothing.
    let significant = select(vec![(14, 0x46), (14, 0), (17, 0)]);
    let changes = vec(prop_oneof![3 => (0..64usize, any::<u8>()), 1 => significant], 0..4);
    let length = prop_oneof![2 => Just(None), 1 => (14..3600usize).prop_map(Some)];
    (whole, changes, length, any::<bool>()).prop_map(
        |((port, mut frame), changes, length, repair)| {
            for (at, value) in changes {
                let at = at % frame.len();
                frame[at] = value;
            }
            frame.resize(length.unwrap_or(frame.len()), 0);
            if repair {
                repair_checksum(&mut frame);
            }
            (port, frame)
        },
    )
}

fn garbage() -> impl Strategy<Value = (u32, Vec<u8>)> {
    (port(), vec(any::<u8>(), 14..120))
}

fn action() -> impl Strategy<Value = Action> {
    let arrive = |(port, frame)| Action::Arrive { port, frame };
    let audit = |((port, frame), age)| Action::Audit { port, age, frame };
    prop_oneof![
        12 => roce(false).prop_map(arrive),
        3 => pfc().prop_map(arrive),
        1 => link_delay().prop_map(arrive),
        1 => hop_control().prop_map(arrive),
        3 => mutated().prop_map(arrive),
        1 => garbage().prop_map(arrive),
        6 => any::<Index>().prop_map(Action::Depart),
        1 => (0..CAPACITY.slots).prop_map(Action::DepartSlot),
        3 => (prop_oneof![5 => roce(true), 1 => pfc(), 1 => link_delay()], 0..2000u32).prop_map(audit),
        1 => select(policies()).prop_filter("computed", |policy| {
            policy.threshold() != ThresholdScheme::Stored
        }).prop_map(Action::Observe),
        1 => Just(Action::UpdateLossy),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![0..200u64, 0..400_000u64];
    vec((wait, action()).prop_map(|(wait, action)| Step { wait, action }), 1..24)
}

/// A queue for each priority, with a control queue or without, and 24 and 128 flow queues of the
/// usual priority before the others.
fn queue_ranges() -> Vec<QueueRanges> {
    let many = |count| {
        let mut ranges = one_per_priority_from(FLOW_QUEUES, Some(Priority::new(6)));
        ranges[3] = QueueRange::flow_queues(0, count);
        ranges
    };
    vec![one_per_priority(None), one_per_priority(Some(Priority::new(3))), many(24), many(128)]
}

/// A configuration in the range that scenarios resolve to.
fn config() -> impl Strategy<Value = State> {
    let pools = (0..200_000u64, 0..5000u64, 0..40_000u64, 0..10_000u64, 0..30_000u64);
    let alpha = || (0..=16u32, 0..=16u32);
    let ecn = (0..4_000u32, 0..8_000u32, 0..=1_000_000u32);
    let of_ports = vec((alpha(), ecn), PORTS as usize);
    let classes = (any::<u8>(), any::<u8>(), any::<u16>(), any::<u32>());
    let dsh = (0..10_000u64, 0..60_000u64, 0..1_000_000u64, [0..=6u8, 0..=6u8, 0..=6u8]);
    let queues = select(queue_ranges());
    let rate = (0..40_000u64, select(vec![10u64, 1000, 40_000, 100_000, 400_000]));
    let sizes = (mostly(PORTS, 1..=PORTS), mostly(HOSTS, 0..=HOSTS), mostly(6, 0..=6u32));
    (pools, of_ports, classes, (sizes, queues), dsh, rate).prop_map(
        |(
            pools,
            of_ports,
            classes,
            ((ports, hosts, slots), queues),
            dsh,
            (required_headroom, megabits),
        )| {
            let mut state = State::fresh();
            let config = &mut state.config;
            let headroom;
            (config.shared_pool_bytes, config.private_bytes, config.static_xoff_bytes, ..) = pools;
            (.., config.xon_offset_bytes, headroom) = pools;
            let seed;
            (config.lossless_classes, config.ecn_classes, config.pause_quanta, seed) = classes;
            // Half of the cases have the usual lossless priority.
            config.lossless_classes |= (seed as u8 & 1) << 3;
            config.lossless_queues = config.lossless_classes.count_ones();
            config.splits_packets = seed as u8 >> 1 & 1;
            let (port_xon_offset, window, shifts);
            (port_xon_offset, config.headroom_pool_bytes, window, shifts) = dsh;
            let [gradient_weight_shift, deviation_weight_shift, deviation_gain_shift] = shifts;
            state.dsh = dsh::Settings {
                options: dsh::Options::default(),
                port_xon_offset: Bytes(port_xon_offset),
                single_queue_window: Nanos(window),
                gradient_weight_shift,
                deviation_weight_shift,
                deviation_gain_shift,
                ..dsh::Settings::default()
            };
            config.ecmp_seed = seed;
            config.queues = queues;
            (config.ports, config.hosts, config.slots) = (ports, hosts, 1 << slots);
            for (port, (alpha, (kmin, span, pmax))) in state.ports.iter_mut().zip(of_ports) {
                port.headroom_bytes = headroom;
                port.rate_bps = megabits * 1_000_000;
                (port.alpha_numerator, port.alpha_denominator) = alpha;
                (port.ecn_kmin_bytes, port.ecn_kmax_bytes) = (kmin, kmin + span);
                port.ecn_slope_q48 = slope_q48(kmin.into(), (kmin + span).into(), pmax);
            }
            state.required_headroom = required_headroom;
            state
        },
    )
}

/// State that a switch may have before the first step.
fn history() -> impl Strategy<Value = History> {
    let class = || (0..PORTS, 0..PRIORITIES as u8).prop_map(|at| class_row(at.0, at.1));
    let ingress = (class(), 0..5000u64, 0..40_000u64, 0..30_000u64);
    let averages = (-(1 << 20)..=1i32 << 20, 0..=1u32 << 21, 0..60_000u32);
    let measured = (0..1_000_000u64, 0..60_000u32, averages);
    let ingress = (ingress, 0..60_000u64, 0..2u32, measured);
    let port = (0..PORTS as usize, 0..1_000_000u64, 0..=8u32, 0..2u32, 0..2u32);
    let queue = prop_oneof![7 => 0..=PRIORITIES, 1 => 0..QUEUE_ROWS].prop_map(QueueId::from_place);
    let queue = (0..PORTS, queue).prop_map(|(port, queue)| queue_row(port, queue));
    let egress = (queue, 0..80_000u64);
    let pause = (class(), 0..1_000_000u64, 0..400_000u64);
    let storm = (class(), mostly(1, 0..2u64), 0..10u64);
    let in_use = mostly(0, 0..=SLOTS);
    let counters = (0..150_000u64, 0..60_000u64, 1..u64::MAX, any::<u32>(), in_use);
    let routes = (vec(group(), HOSTS as usize), policy_routes());
    let ingress = (vec(ingress, 0..12), vec(port, 0..3));
    let pauses = (vec(pause, 0..6), vec(storm, 0..24));
    (ingress, vec(egress, 0..32), pauses, counters, routes).prop_map(
        |((ingress, ports), egress, (pauses, storms), counters, (groups, policies))| History {
            ingress,
            ports,
            egress,
            pauses,
            storms,
            counters,
            groups,
            policies,
        },
    )
}

/// Row, bytes in pools; stored threshold; OFF; time and length of the last measurement, averages, tau.
type IngressEntry = ((usize, u64, u64, u64), u64, u32, (u64, u32, (i32, u32, u32)));
/// Port; instant and number of its last queue; 1 if that is the only one; OFF.
type PortEntry = (usize, u64, u32, u32, u32);

#[derive(Clone, Debug)]
struct History {
    ingress: Vec<IngressEntry>,
    ports: Vec<PortEntry>,
    egress: Vec<(usize, u64)>,
    pauses: Vec<(usize, u64, u64)>,
    /// Row, whether the watchdog acts, and packets that it has dropped.
    storms: Vec<(usize, u64, u64)>,
    /// Shared bytes, headroom bytes, random state, slots taken, slots in use.
    counters: (u64, u64, u64, u32, u64),
    groups: Vec<Vec<u8>>,
    policies: Vec<(FlowKey, Vec<u8>)>,
}

impl History {
    fn apply(self, state: &mut State) {
        for ((row, private, shared, headroom), stored, off, measured) in self.ingress {
            let (measured_ns, measured_bytes, (average, deviation, tau_bytes)) = measured;
            state.ingress_queues[row] = IngressQueueRow {
                private_bytes: private,
                shared_bytes: shared,
                headroom_bytes: headroom,
                stored_threshold_bytes: stored,
                off,
                pauses: off,
            };
            state.dsh_queues[row] = DshQueueRow {
                measured_ns,
                measured_bytes,
                gradient_average: average.cast_unsigned(),
                gradient_deviation: deviation,
                tau_bytes,
            };
        }
        for (port, since, last_queue, single_queue, off) in self.ports {
            let row = &mut state.dsh_ports[port];
            row.single_queue_since_ns = since;
            (row.last_queue, row.single_queue, row.off, row.pauses) =
                (last_queue, single_queue, off, off);
        }
        // A port holds at least what its lossless queues hold.
        for (number, port) in (0..).zip(&mut state.dsh_ports) {
            let queues =
                (0..PRIORITIES as u8).map(|class| &state.ingress_queues[class_row(number, class)]);
            port.shared_bytes = queues.clone().map(|queue| queue.shared_bytes).sum();
            port.insurance_bytes = queues.map(|queue| queue.headroom_bytes).sum();
        }
        for (row, bytes) in self.egress {
            state.egress_queues[row] = EgressQueueRow { bytes };
        }
        for (row, binds_ns, lasts) in self.pauses {
            state.pauses[row] =
                PauseRow { binds_ns, until_ns: binds_ns + lasts, ..PauseRow::default() };
        }
        for (row, active, egress_packets) in self.storms {
            state.storms[row] = StormRow { active, egress_packets, ..StormRow::default() };
        }
        let (shared, headroom, random, taken, in_use) = self.counters;
        let slots = u64::from(state.config.slots);
        // A switch holds at least what its queues hold.
        let held = |of: fn(&IngressQueueRow) -> u64| state.ingress_queues.iter().map(of).sum();
        let (in_private, in_shared, in_headroom): (u64, u64, u64) = (
            held(|queue| queue.private_bytes),
            held(|queue| queue.shared_bytes),
            held(|queue| queue.headroom_bytes),
        );
        let switch = &mut state.switch;
        switch.private_bytes = in_private;
        switch.shared_bytes = shared.max(in_shared);
        switch.headroom_bytes = headroom.max(in_headroom);
        switch.random = random;
        switch.slots_taken = u64::from(taken);
        switch.slots_limit = u64::from(taken) + slots - in_use.min(slots);
        // Any order of the slots: an odd multiplier is a permutation of a power of two.
        let multiplier = random | 1;
        state.free_slots =
            (0..slots).map(|entry| entry ^ (entry.wrapping_mul(multiplier) % slots)).collect();
        state.routes = self.groups;
        state.policies = self.policies;
    }
}

/// Makes the control plane compute with the switch's own scheme, whose lines another one would misread.
fn observe_with(policy: Policy, steps: &mut [Step]) {
    for step in steps {
        if let Action::Observe(computed) = &mut step.action {
            *computed = computed.with_scheme(policy.scheme(), policy.options);
        }
    }
}

/// Any case.
pub fn cases() -> impl Strategy<Value = Case> {
    let extras = (bfc::extras(), spfc::lines(), lossy::settings(), rule::drawn(), ofc::extras());
    let (all, lossy) = (policies().len(), Settings::every().count());
    let policy = prop_oneof![2 => 0..all, 1 => all - lossy..all];
    (policy, config(), history(), 0..1_000_000u64, steps(), extras).prop_map(
        |(policy, mut state, history, start, mut steps, (extra, lines, lossy, rule, ofc))| {
            lossy.apply(policies()[policy], &mut state);
            history.apply(&mut state);
            extra.apply(policies()[policy], &mut state, &mut steps);
            spfc::apply(lines, policies()[policy], &mut state, &mut steps);
            rule::apply(rule, policies()[policy], &mut state, &mut steps);
            ofc.apply(policies()[policy], &mut state, &mut steps);
            Case { policy, state, start, steps }
        },
    )
}
