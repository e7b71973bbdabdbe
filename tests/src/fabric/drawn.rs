//! Scenarios drawn at random: shapes, links, buffers, schemes and traffic.

mod backpressure;
mod lossy;
mod rendering;
pub mod variation;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use scenario::Scenario;
use topology::SwitchId;

use super::{Run, Runner};
pub use backpressure::Backpressure;
pub use rendering::{PLAIN, Rendering};

/// A scenario.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Nodes and their links.
    pub shape: Shape,
    /// Hosts' links.
    pub host_link: Link,
    /// Links between switches.
    pub fabric_link: Link,
    /// Payload of a packet.
    pub payload: u64,
    /// Packets that one ACK may cover.
    pub ack_interval: u32,
    /// Stamps of switches for which packets have room; `None` leaves the key out, so that congestion control decides.
    pub telemetry_hops: Option<u8>,
    /// The priorities, all lossless unless BFC is without PFC; the first of them carries ACKs, the last CNPs.
    pub lossless: Vec<u8>,
    /// True if the inner priorities, which carry neither ACKs nor CNPs, are lossy, with or without BFC.
    pub loses: bool,
    /// The keys of `switch.lossy`, if it is there.
    pub lossy: Option<&'static str>,
    /// The keys of `switch.threshold`.
    pub threshold: &'static str,
    /// Instead: the keys of SPFC, period apart.
    pub victims: Option<&'static str>,
    /// The keys of `switch.pause_rule`, times of slopes and low priorities apart, if it is there.
    pub pause_rule: Option<&'static str>,
    /// Period of the control plane's threshold computation, in nanoseconds, if it computes thresholds.
    pub threshold_period: Option<u64>,
    /// Headroom scheme.
    pub headroom: Headroom,
    /// BFC, if switches run it.
    pub backpressure: Option<Backpressure>,
    /// Flows that a table of OFC has room for, if switches run that.
    pub ofc: Option<u32>,
    /// Bytes of shared buffer at the switch that has least of it.
    pub shared: u64,
    /// Private buffer of a queue.
    pub private: u64,
    /// Fill rule of the private buffer.
    pub private_fill: &'static str,
    /// The keys of `switch.scheduler`.
    pub scheduler: &'static str,
    /// The keys of `switch.ecn`, if there is marking.
    pub ecn: Option<&'static str>,
    /// The keys of `host.transport` beside its kind.
    pub congestion_control: &'static str,
    /// Keys of TCP for other flows.
    pub beside: Option<&'static str>,
    /// Flows.
    pub flows: Vec<DrawnFlow>,
}

/// Hosts and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Six hosts on a switch.
    Star,
    /// Three and three hosts.
    Dumbbell,
    /// Two leaves with three hosts each, two spines.
    LeafSpine,
    /// 16 hosts, 20 switches.
    FatTree,
    /// A ring of this many switches, each with two hosts: PFC may deadlock.
    Ring(u32),
}

/// Rate in megabits a second and delay in nanoseconds.
pub type Link = (u64, u64);

/// Headroom scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// For each queue.
    Sih,
    /// By measured links.
    Adaptive,
    /// For each port.
    Dsh,
    /// Without shared headroom.
    DshInsuranceAlone,
    /// Less than queues may need: the only kind that may lose packets.
    Oversubscribed,
}

/// One flow.
#[derive(Clone, Copy, Debug)]
pub struct DrawnFlow {
    /// Sender, modulo the number of hosts.
    pub source: u32,
    /// The receiver is that many hosts further on, modulo the number of hosts less one.
    pub distance: u32,
    /// Modulo the number of lossless priorities.
    pub class: u8,
    /// Size of the flow.
    pub bytes: u64,
    /// Start of the flow.
    pub start_ns: u64,
}

/// Pairs of senders and receivers.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// As drawn for each flow.
    Any,
    /// All flows to host 0.
    Incast,
    /// Each flow to the fourth host after its sender: on a ring two switches further on, where pauses may close a
    /// cycle.
    Cycle,
}

/// Keys of TCP for some of the flows.
const BESIDE: [&str; 7] = [
    "congestion_control = \"dctcp\"",
    "congestion_control = \"cubic\", cubic = { ecn = true }, delayed_ack = \"50us\"",
    "congestion_control = \"timely\", window = \"bdp\", tail_loss_probe = true",
    "congestion_control = \"theta-powertcp\", handshake = false",
    "congestion_control = \"none\", window = \"30kB\"",
    "congestion_control = \"powertcp\"",
    "congestion_control = \"hpcc\", delayed_ack = \"50us\"",
];

/// Returns true if a transport's keys name a congestion control that needs telemetry.
pub fn needs_telemetry(keys: &str) -> bool {
    ["\"hpcc\"", "\"powertcp\""].iter().any(|name| keys.contains(name))
}

/// Any scenario.
pub fn scenarios() -> impl Strategy<Value = Drawn> {
    let rates = vec![1000, 10_000, 25_000, 40_000, 100_000, 400_000u64];
    let congestion_control = select(vec![
        "congestion_control = \"none\"",
        "congestion_control = \"dcqcn\"",
        "congestion_control = \"dcqcn\", dcqcn = { profile = \"paper\" }",
        "congestion_control = \"dcqcn\", window = \"bdp\", window_scales = true",
        "congestion_control = \"dctcp\"",
        "congestion_control = \"dctcp\", dctcp = { start = \"slow-start\" }, window = \"20kB\"",
        "congestion_control = \"timely\", timely = { form = \"patched\" }",
        "congestion_control = \"timely\", window = \"bdp\"",
        "congestion_control = \"theta-powertcp\"",
        "congestion_control = \"hpcc\"",
        "congestion_control = \"hpcc\", hpcc = { max_stage = 0 }, window = \"bdp\"",
        "congestion_control = \"powertcp\"",
        "congestion_control = \"rtt-target\"",
    ]);
    drawn(rates, congestion_control.boxed(), &BESIDE)
}

/// Scenarios in which every instant is a whole number of nanoseconds, even if all times are twice as long: a byte takes
/// 1 to 4 ns on every link. DCQCN is left out, because its rates are rounded, and adaptive headroom, because measured
/// delays have a resolution of a nanosecond at any rate. BFC is left out because the instant decides the queue of flows
/// that find no empty queue.
pub fn whole_nanoseconds() -> impl Strategy<Value = Drawn> {
    let none = Just("congestion_control = \"none\"").boxed();
    let any = drawn(vec![2000, 4000, 8000], none, &[]);
    any.prop_map(|mut drawn| {
        if drawn.headroom == Headroom::Adaptive {
            drawn.headroom = Headroom::Sih;
        }
        drawn.backpressure = None;
        (drawn.loses, drawn.lossy) = (false, None);
        drawn
    })
}

const SCHEDULERS: [&str; 4] = [
    "kind = \"strict\"",
    "kind = \"dwrr\"",
    "kind = \"dwrr\", quantum = \"300B\"",
    "kind = \"round-robin\"",
];

const ECN: [Option<&str>; 3] = [
    None,
    Some("kmin = \"5kB\", kmax = \"20kB\", pmax = 0.2"),
    Some("kmin = \"10kB\", kmax = \"10kB\", pmax = 1, mark_at = \"enqueue\""),
];

fn drawn(
    rates: Vec<u64>,
    congestion_control: BoxedStrategy<&'static str>,
    beside: &'static [&'static str],
) -> impl Strategy<Value = Drawn> {
    let shape = prop_oneof![
        3 => Just(Shape::Star),
        2 => Just(Shape::Dumbbell),
        3 => Just(Shape::LeafSpine),
        1 => Just(Shape::FatTree),
        2 => (3..6u32).prop_map(Shape::Ring),
    ];
    let link = (select(rates), select(vec![0, 50, 500, 2000, 5000u64]));
    let payload = prop_oneof![select(vec![256, 1000, 3072u64]), 64..2000u64];
    // One stamp is too few for most paths.
    let telemetry_hops = prop_oneof![2 => Just(None), 1 => (1..=8u8).prop_map(Some)];
    let ack_interval = prop_oneof![1..9u32, Just(1000)];
    let packets = (payload, ack_interval, telemetry_hops, congestion_control);
    let lossless = select(vec![vec![3], vec![0, 3, 5], vec![0, 1, 2, 3, 4, 5, 6, 7u8]]);
    let threshold = select(vec![
        "kind = \"dt\", alpha = \"1/16\"",
        "kind = \"dt\", alpha = \"1/4\", xon_offset = \"2kB\"",
        "kind = \"dt\", alpha = \"1\"",
        "kind = \"static\", xoff = \"9kB\", xon = \"7kB\"",
    ]);
    let headroom = select(vec![
        Headroom::Sih,
        Headroom::Adaptive,
        Headroom::Dsh,
        Headroom::DshInsuranceAlone,
        Headroom::Oversubscribed,
    ]);
    let period = prop_oneof![4 => Just(None), 1 => Just(Some(3000))];
    let (scheduler, ecn) = (select(&SCHEDULERS), select(&ECN));
    let buffer = (10_000..200_000u64, select(vec![0, 1500, 3000u64]));
    let switch = (lossless, threshold, period, headroom, buffer, scheduler, ecn);
    let flows = (vec(flow(), 1..30), select(vec![Pattern::Any, Pattern::Incast, Pattern::Cycle]));
    (shape, link.clone(), link, packets, switch, flows).prop_map(
        |(shape, host_link, fabric_link, packets, switch, (mut flows, pattern))| {
            let (payload, ack_interval, telemetry_hops, congestion_control) = packets;
            let (lossless, threshold, threshold_period, headroom, buffer, scheduler, ecn) = switch;
            let hosts = shape.hosts();
            // Nothing more is drawn for it, so that other scenarios stay as they were.
            let choices = (3 * beside.len()).max(1) as u64;
            let choice = usize::try_from(flows[0].start_ns % choices).expect("a few choices");
            let beside = beside.get(choice).copied();
            let backpressure = Backpressure::new(&flows[0], &lossless);
            let (headroom, scheduler) = match &backpressure {
                None => (headroom, scheduler),
                Some(_) => (Headroom::Sih, flows[0].scheduler(beside).unwrap_or(scheduler)),
            };
            let loses = lossy::is_lossy(&flows[0], &lossless, backpressure.as_ref());
            let lossy = loses.then(|| lossy::keys(&flows[0], threshold)).flatten();
            let private_fill = if flows[0].bytes % 2 == 0 { "packets" } else { "bytes" };
            // A TCP segment has room for no more.
            let telemetry_hops = match (beside.is_some_and(needs_telemetry), telemetry_hops) {
                (true, Some(hops)) => Some(hops.min(3)),
                (true, None) if shape == Shape::FatTree => Some(3),
                (_, hops) => hops,
            };
            for flow in &mut flows {
                match pattern {
                    Pattern::Any => {}
                    Pattern::Incast => {
                        flow.source = 1 + flow.source % (hosts - 1);
                        flow.distance = hosts - flow.source - 1;
                    }
                    Pattern::Cycle => (flow.distance, flow.bytes) = (3, flow.bytes + 60_000),
                }
            }
            let (shared, private) = buffer;
            let victims = victims(&flows[0], headroom, backpressure.is_some());
            let has_scheme = backpressure.is_some() || victims.is_some() || loses;
            Drawn {
                shape,
                host_link,
                fabric_link,
                payload,
                ack_interval,
                telemetry_hops,
                lossless,
                loses,
                lossy,
                threshold,
                ofc: None,
                victims,
                pause_rule: pause_rule(&flows[0], headroom, has_scheme),
                threshold_period,
                headroom,
                backpressure,
                shared,
                private,
                private_fill,
                scheduler,
                ecn,
                congestion_control,
                beside,
                flows,
            }
            .perhaps_with_ofc()
        },
    )
}

fn flow() -> impl Strategy<Value = DrawnFlow> {
    (any::<u32>(), any::<u32>(), any::<u8>(), 1..60_000u64, 0..20_000u64).prop_map(
        |(source, distance, class, bytes, start_ns)| DrawnFlow {
            source,
            distance,
            class,
            bytes,
            start_ns,
        },
    )
}

/// SPFC, in two of five scenarios that may have it. Nothing is drawn for it, so that other scenarios stay as they were.
fn victims(flow: &DrawnFlow, headroom: Headroom, has_bfc: bool) -> Option<&'static str> {
    const KEYS: [&str; 3] = [
        "alpha = \"1/4\", k_spfc = 3",
        "alpha = 1, xon_offset = \"2kB\"",
        "alpha = \"1/2\", k_spfc = \"5/2\", state_of = \"queue\"",
    ];
    if has_bfc || headroom == Headroom::Oversubscribed || flow.bytes % 5 > 1 {
        return None;
    }
    let is_dsh = matches!(headroom, Headroom::Dsh | Headroom::DshInsuranceAlone);
    let kinds = if is_dsh { 2 } else { 3 };
    Some(KEYS[usize::try_from(flow.start_ns % kinds).expect("three kinds")])
}

/// A rule of the PFC family, in half of the scenarios that may have one. No random number is drawn for it, so that
/// other scenarios stay the same. Thresholds are between those of the static kind.
fn pause_rule(flow: &DrawnFlow, headroom: Headroom, has_scheme: bool) -> Option<&'static str> {
    const KEYS: [&str; 6] = [
        "\"capfc\", xlow = \"8kB\", xegress = \"4kB\"",
        "\"p-pfc-ofc\", xlow = \"8kB\"",
        "\"p-pfc-ofc\", xlow = \"7500B\", mean_of = \"non-empty\"",
        "\"p-pfc-predict\", weight = \"1/2\"",
        "\"g-pfc\", xlow = \"8kB\"",
        "\"gfc\", b1 = \"3kB\", bm = \"8kB\", stages = 4",
    ];
    let may = matches!(headroom, Headroom::Sih | Headroom::Adaptive) && !has_scheme;
    let choice = usize::try_from(flow.start_ns % 10).expect("ten choices");
    KEYS.get(choice).copied().filter(|_| may)
}

impl Shape {
    /// Number of hosts.
    pub const fn hosts(self) -> u32 {
        match self {
            Self::Star | Self::Dumbbell | Self::LeafSpine => 6,
            Self::FatTree => 16,
            Self::Ring(switches) => 2 * switches,
        }
    }
}

impl Drawn {
    /// Adds OFC to half of the scenarios that may have it: fixed thresholds, static headroom, no other scheme, and no
    /// ring, whose pauses of flows may wait for each other in a cycle. No random number is drawn for it either.
    fn perhaps_with_ofc(self) -> Self {
        let beside = self.backpressure.is_some()
            || self.victims.is_some()
            || self.pause_rule.is_some()
            || self.loses;
        let fixed = self.headroom == Headroom::Sih && self.threshold.contains("static");
        let flow = &self.flows[0];
        if beside
            || !fixed
            || matches!(self.shape, Shape::Ring(_))
            || !flow.distance.is_multiple_of(2)
        {
            return self;
        }
        Self { ofc: Some([1, 8, 256][(flow.source % 3) as usize]), ..self }
    }

    /// Runs it, with more settings.
    pub fn run(&self, run: Runner, rendering: Rendering, more: &[&str]) -> Run {
        let (text, buffer) = self.file(rendering, more);
        run(&text, &[&[&*buffer], more].concat())
    }

    /// Text of the scenario, and the setting of its buffer, which depends on the reserves that it needs with more
    /// settings.
    pub fn file(&self, rendering: Rendering, more: &[&str]) -> (String, String) {
        let text = self.text(rendering);
        let large: Vec<String> =
            more.iter().chain(&["switch.buffer=1GB"]).map(ToString::to_string).collect();
        let scenario = Scenario::parse(&text, "test.toml".as_ref(), &large)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let reserved = (0..scenario.fabric().switch_count())
            .map(|switch| scenario.buffer_pools(SwitchId(switch)))
            .map(|pools| pools.headroom.0 + pools.private.0)
            .max()
            .expect("a fabric has switches");
        (text, format!("switch.buffer={}B", reserved + self.shared))
    }
}
