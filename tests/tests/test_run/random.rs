//! A million frames of every kind into the eBPF program: each ends as a record with a named outcome,
//! and the counters add up. Needs root.
//!
//! `XOFF_SEED` replaces the seed, which a failure prints.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::arrival::Outcome;
use fabric_core::departure::{Fate, departure};
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::HopControl;
use fabric_core::lossy::{self, CoDel, FairDropping, FairShares, FlowTable, Kind, Prioritisation};
use fabric_core::policy::{MarkingScheme, Policy, SchemeKind, StormAction, ThresholdScheme};
use fabric_core::queue::{FLOW_QUEUES, QueueRange, one_per_priority_from};
use fabric_core::scheme::{
    Configure, SchemeSettings, Selected, Watched, bfc, gfc, ofc, pfc_family, spfc,
};
use fabric_core::wire::roce::Ecn;
use fabric_core::wire::{LinkDelayFrame, PfcFrame, link_delay};
use switch_user::hook::Hook;
use tests::generated::Random;
use tests::switch::frame::{
    acknowledge, bytes, congestion_notification, data, hop_control_bytes, inbound,
    link_delay_bytes, message, pfc_bytes, repair_checksum,
};
use tests::switch::{
    BfcState, CAPACITY, HOSTS, KernelSwitch, NO_PORT, PORTS, RuleState, SpfcRow, State, class_row,
    in_namespace,
};
use units::{Bytes, Nanos};

const SIH: Policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue);

/// Frames under each scheme, in a PFC storm on which a watchdog acts, and under each buffer management: more than a million in
/// all.
fn frames() -> impl Iterator<Item = (Policy, u64)> {
    let schemes = SchemeSettings::every().map(|scheme| {
        let policy = scheme.select(SIH);
        (policy, if policy.scheme() == SchemeKind::Pfc { 500_000 } else { 100_000 })
    });
    let lossy = lossy_kinds().map(|lossy| (lossy.select(SIH), 50_000));
    schemes.chain([(SIH.with_storm_action(StormAction::Drop), 100_000)]).chain(lossy)
}

/// Every buffer management except the schemes', for a small buffer, and one with CoDel.
fn lossy_kinds() -> impl Iterator<Item = lossy::Settings> {
    let flows = FlowTable { flows: 8, idle: Nanos(100_000) };
    let small = move |kind| match kind {
        Kind::FlowAware { .. } => Kind::FlowAware { short_bytes: Bytes(5000), flows },
        Kind::Intelligent { fair_dropping, prioritisation, .. } => Kind::Intelligent {
            fair_dropping: fair_dropping.map(|FairDropping { shares, .. }| FairDropping {
                shares: match shares {
                    FairShares::Queues => FairShares::Queues,
                    FairShares::Elephants(_) => FairShares::Elephants(Bytes(5000)),
                },
                window: Nanos(10_000),
                first_share: Bytes(20_000),
                desired: Bytes(1000),
                least_bytes: Bytes(1000),
                ..FairDropping::DEFAULT
            }),
            // Priority 3 is lossless.
            prioritisation: prioritisation.map(|first| Prioritisation { packets: 3, ..first }),
            flows,
        },
        kind => kind,
    };
    let codel = CoDel { target: Nanos(1000), interval: Nanos(5000) };
    let others = Kind::EVERY
        .into_iter()
        .skip(1)
        .map(move |kind| lossy::Settings { kind: small(kind), ..lossy::Settings::default() });
    others.chain([lossy::Settings { codel: Some(codel), ..lossy::Settings::default() }])
}

const SEED: u64 = 0x5eed;
/// The shortest frame that `BPF_PROG_TEST_RUN` takes on every kernel.
const MIN_LENGTH: usize = 14;
/// Longer than a page holds next to the headroom of a frame.
const MAX_LENGTH: usize = 3700;
/// Templates of frames that are right.
const TEMPLATES: usize = 256;

/// A right frame, and the port where it is expected.
fn template(random: &mut Random) -> (u32, Vec<u8>) {
    let port = random.below(u64::from(PORTS)) as u32;
    // One beyond the last host has no route.
    let host = random.below(u64::from(HOSTS) + 1) as u32;
    let priority = if random.below(2) == 0 { 3 } else { random.below(8) as u8 };
    let ecn = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced]
        [random.below(4) as usize];
    let payload = random.below(1500) as u16;
    let packet = match random.below(8) {
        0 => message(host, priority, ecn, payload),
        1 => acknowledge(host, priority),
        2 => congestion_notification(host, priority),
        3 => {
            let quanta = [random.next() as u16; 8];
            let source = if random.below(4) == 0 { [0; 6] } else { inbound(port).source };
            let pfc = PfcFrame { source, class_enable: random.byte(), quanta };
            return (port, pfc_bytes(&pfc));
        }
        4 => {
            let request = LinkDelayFrame::request(inbound(port).source, random.next() as u32);
            return (port, link_delay_bytes(&request));
        }
        5 => {
            let control = HopControl::Queues { paused: [random.next(), random.next()] };
            return (port, hop_control_bytes(inbound(port).source, control));
        }
        _ => data(host, priority, ecn, payload),
    };
    (port, bytes(&packet, &inbound(port)))
}

/// Fills `frame` with the next frame, and returns its port.
fn next_frame(random: &mut Random, templates: &[(u32, Vec<u8>)], frame: &mut Vec<u8>) -> u32 {
    let (port, bytes) = &templates[random.below(TEMPLATES as u64) as usize];
    frame.clear();
    let any_port = random.below(u64::from(PORTS) + 1) as u32;
    let any_port = if any_port == PORTS { NO_PORT } else { any_port };
    match random.below(8) {
        0 => {
            // Noise, half of it under an EtherType that is parsed.
            let length = MIN_LENGTH + random.below(200) as usize;
            frame.extend((0..length).map(|_| random.byte()));
            if random.below(2) == 0 {
                frame[..6].copy_from_slice(&inbound(any_port).destination);
                let ether_type = [[8, 0], [0x88, 8], [0x88, 0xb5]][random.below(3) as usize];
                frame[12..14].copy_from_slice(&ether_type);
            }
            return any_port;
        }
        1 => {
            frame.extend_from_slice(bytes);
            let length = random.below(bytes.len() as u64 + 1) as usize;
            frame.truncate(length.max(MIN_LENGTH));
        }
        2 => {
            frame.extend_from_slice(bytes);
            frame.resize(bytes.len() + random.below((MAX_LENGTH - bytes.len()) as u64) as usize, 0);
        }
        3 => {
            // Headers alone matter; the last bytes of a packet are payload and ICRC.
            frame.extend_from_slice(bytes);
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len().min(64) as u64) as usize;
                frame[at] = random.byte();
            }
            if random.below(2) == 0 {
                repair_checksum(frame);
            }
        }
        4 => {
            // One field of the IPv4 header, or the opcode of a control frame.
            frame.extend_from_slice(bytes);
            let at = [14, 14, 16, 17, 22, 22, 23, 33][random.below(8) as usize];
            frame[at] = random.below(256) as u8 >> random.below(8);
            repair_checksum(frame);
        }
        5 => {
            frame.extend_from_slice(bytes);
            return any_port;
        }
        _ => frame.extend_from_slice(bytes),
    }
    *port
}

#[derive(Default)]
struct Counted {
    queued: u64,
    pauses: u64,
    link_delays: u64,
    drops: BTreeMap<DropReason, u64>,
    drops_of_queued: BTreeMap<DropReason, u64>,
}

#[test]
fn a_million_frames_end_with_a_name() {
    let seed = std::env::var("XOFF_SEED").map_or(SEED, |seed| seed.parse().expect("a number"));
    println!("XOFF_SEED={seed}");
    let mut met = BTreeSet::new();
    for (policy, frames) in frames() {
        met.extend(in_namespace(|| run(seed, policy, frames)));
    }
    let impossible = [
        DropReason::RingFull,
        DropReason::SubstrateLoss,
        DropReason::InjectedLoss,
        DropReason::Corrupted,
        DropReason::LinkDown,
        DropReason::BrokenTable,
        // Of a scheme in memory only.
        DropReason::EgressPoolExhausted,
    ];
    for reason in DropReason::ALL {
        assert_eq!(met.contains(reason), !impossible.contains(reason), "{reason}");
    }
}

/// A switch that a few dozen packets fill; under BFC its queues may hold two or three.
fn small_buffer(policy: Policy) -> State {
    let mut state = State::fresh();
    state.config.shared_pool_bytes = 20_000;
    state.config.headroom_pool_bytes = 6000;
    for port in &mut state.ports {
        port.headroom_bytes = 4000;
    }
    if let Some(lossy) = lossy_kinds().find(|lossy| lossy.select(policy) == policy) {
        state.lossy = lossy::Settings { alphas: state.lossy.alphas, ..lossy };
    }
    if policy.storm_action() == StormAction::Drop {
        state.storms[class_row(2, 3)].active = 1;
        // No link leads to the last host.
        state.routes[HOSTS as usize - 1].clear();
    }
    if policy.scheme() == SchemeKind::Bfc {
        state.config.queues = one_per_priority_from(FLOW_QUEUES, None);
        state.config.queues[3] = QueueRange::flow_queues(0, 4);
        let mut bfc = BfcState::fresh(bfc::Settings {
            options: bfc::Options::from_policy(policy),
            sticky: Nanos(1000),
            threshold: Nanos(200),
            sampled: 1 << 31,
        });
        bfc.ports[1].elided = vec![0, 2];
        state.bfc = Some(bfc);
    }
    state.rule = small_rule(policy).map(RuleState::fresh);
    if policy.scheme() == SchemeKind::Ofc {
        state.config.queues = one_per_priority_from(FLOW_QUEUES, None);
        state.config.queues[3] = QueueRange::flow_queues(0, ofc::state::QUEUES);
        let options = ofc::Options::from_policy(policy);
        state.ofc = Some(ofc::Settings { options, congested: Bytes(4000) });
    }
    if Selected::states(policy).is_some() {
        let is_dsh = policy.scheme() == SchemeKind::Dsh;
        let options =
            if is_dsh { spfc::Options::default() } else { spfc::Options::from_policy(policy) };
        let lines = if options.per == spfc::StateOf::Port { PORTS } else { 8 * PORTS };
        state.dsh.options.victims = is_dsh;
        let row = SpfcRow { period_ns: 20_000, victim_bytes: 4000, ..SpfcRow::default() };
        state.spfc = Some((options, vec![row; lines as usize]));
    }
    state
}

/// The policy's rule, if it has one, with thresholds of a few packets.
fn small_rule(policy: Policy) -> Option<SchemeSettings> {
    use pfc_family::{MeanOf, Options, Rule, Settings};
    let low = Bytes(3000);
    let family = || match Options::from_policy(policy).rule {
        Rule::CongestionAware => Settings::CongestionAware { low, egress: Bytes(2000) },
        Rule::MeanOfEgress => Settings::MeanOfEgress { low, of: MeanOf::NonEmpty },
        Rule::Predictive => {
            let (horizon, interval) = (Nanos(2000), Nanos(500));
            Settings::Predictive { horizon, interval, weight_shift: 1 }
        }
        Rule::PriorityAware => Settings::PriorityAware { low, classes: 1 << 3 },
    };
    match policy.scheme() {
        SchemeKind::PfcFamily => Some(SchemeSettings::PfcFamily(family())),
        SchemeKind::Gfc => {
            let most = Bytes(6000);
            let settings = gfc::Settings { first: low, most, ..gfc::Settings::default() };
            Some(SchemeSettings::Gfc(settings))
        }
        _ => None,
    }
}

/// The reasons for which frames were dropped.
fn run(seed: u64, policy: Policy, frames: u64) -> BTreeSet<DropReason> {
    let mut switch = KernelSwitch::load(CAPACITY, policy, Hook::Xdp, None);
    small_buffer(policy).write(switch.tables_mut());
    let mut random = Random::new(seed);
    let mut templates: Vec<_> = (0..TEMPLATES).map(|_| template(&mut random)).collect();
    if policy.scheme() == SchemeKind::Bfc {
        // Frames name queues of the neighbour.
        for (_, frame) in &mut templates {
            frame[8] = random.below(20) as u8;
        }
    }
    let mut counted = Counted::default();
    let mut held = Vec::new();
    let mut frame = Vec::with_capacity(MAX_LENGTH);
    for number in 0..frames {
        let port = next_frame(&mut random, &templates, &mut frame);
        let now = Nanos(number * 100);
        let arrival = switch
            .arrive(port, now, &frame)
            .unwrap_or_else(|error| panic!("frame {number} {frame:02x?}: {error}"));
        assert_eq!((arrival.port, arrival.time_ns), (port, now.0), "frame {number}");
        match arrival.outcome {
            Outcome::Queued(packet) => {
                counted.queued += 1;
                held.push(packet.slot);
                let (_, bytes) = arrival.queued.expect("a queued packet has bytes");
                assert_eq!(bytes.len(), frame.len(), "frame {number}");
                assert_eq!(bytes[34..], frame[34..], "frame {number}: a router leaves the payload");
            }
            Outcome::ControlReceived(_) => counted.pauses += 1,
            Outcome::LinkDelayReceived => {
                counted.link_delays += 1;
                let (_, bytes) = arrival.queued.expect("a link delay frame has bytes");
                assert_eq!(bytes, frame[..link_delay::LEN], "frame {number}");
            }
            Outcome::Dropped(reason) => *counted.drops.entry(reason).or_default() += 1,
        }
        // Now and then, so that thresholds, headroom and descriptors all run out at times.
        if random.below(100) == 0 {
            let keep = random.below(held.len() as u64 + 1) as usize;
            depart(&switch, policy, now, &mut held, keep, &mut counted);
        }
    }
    depart(&switch, policy, Nanos(frames * 100), &mut held, 0, &mut counted);
    check(&switch, policy, &counted, frames);
    counted.drops.into_keys().chain(counted.drops_of_queued.into_keys()).collect()
}

/// Lets packets depart, oldest first, until `keep` are left.
fn depart(
    switch: &KernelSwitch,
    policy: Policy,
    now: Nanos,
    held: &mut Vec<u32>,
    keep: usize,
    counted: &mut Counted,
) {
    switch.tables().update_lossy(policy, now);
    let leaving = held.len().saturating_sub(keep);
    for slot in held.drain(..leaving) {
        let left = departure(switch.tables(), policy, slot, now, &mut |_| {})
            .expect("the slot holds a packet");
        if let Fate::Dropped(reason) = left.fate {
            *counted.drops_of_queued.entry(reason).or_default() += 1;
        }
    }
}

fn check(switch: &KernelSwitch, policy: Policy, counted: &Counted, frames: u64) {
    let tables = switch.tables();
    let Counted { queued, pauses, link_delays, drops, drops_of_queued } = counted;
    println!(
        "{queued} queued, {pauses} PFC, {link_delays} link delay, {drops:?}, {drops_of_queued:?}"
    );
    let dropped: u64 = counted.drops.values().sum();
    assert_eq!(queued + pauses + link_delays + dropped, frames);
    for reason in DropReason::ALL {
        let of = |drops: &BTreeMap<_, u64>| drops.get(reason).copied().unwrap_or(0);
        let of_records = of(drops) + of(drops_of_queued);
        assert_eq!(tables.dropped(*reason), of_records, "{reason}: counter against records");
    }
    // Frames that no port accepted, or that are too long to parse.
    let outside = tables.dropped(DropReason::UnknownPort) + tables.dropped(DropReason::TooLong);
    assert_eq!(tables.state().received_frames.load() + outside, frames);
    let of_ports: u64 = (0..PORTS).map(|port| tables.received_frames(port)).sum();
    assert_eq!(of_ports + outside, frames);
    assert_eq!(tables.imbalances(policy), [""; 0]);
}
