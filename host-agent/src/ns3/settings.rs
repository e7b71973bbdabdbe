//! Settings of hosts of HPCC's simulator, and of `ConWeave`'s and ns3-datacenter, which differ by constants and rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::{Part, Period, SomeBytes, Weight};
use units::quantity::Increase;
use units::ratio::{Probability, Ratio};
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Bytes, Picos};

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &["control", "paths", "window_rate", "list", "wake", "ports"] }
}

/// Hosts of HPCC's simulator (ns-3): NIC, queue pairs and congestion control with its rules and its arithmetic in
/// doubles. They take the place of the NIC and the transport of all hosts. Of the other keys of `host`, `payload` and
/// `ack_queue` apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SimulatedHostKeys", transform = in_words())]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the simulator's config")]
pub struct Settings {
    /// Congestion control: "none", "dcqcn", "hpcc", "timely" or "dctcp" (`CC_MODE`), and of ns3-datacenter "powertcp" and
    /// "theta-powertcp". Default "none".
    pub control: Control,
    /// True if flows have a window of the bandwidth-delay product (`HAS_WIN`). Default false.
    pub window: bool,
    /// Paths that base round-trip times and windows are computed for: "longest", the longest of all pairs of hosts, or
    /// "own", the path of the flow's pair (`GLOBAL_T`). Default "longest".
    pub paths: Paths,
    /// Rate that a window is computed with: "path", the lowest of the path, or "line", the sender's line rate, as in
    /// ns3-datacenter. Default "path".
    pub window_rate: WindowRate,
    /// True if windows shrink with the rate (`VAR_WIN`). Default false.
    pub window_scales: bool,
    /// True if a window that shrinks with the rate is the rate times the base round-trip time, also without `window`, as in
    /// ns3-datacenter with PowerTCP. Otherwise it is as much of the whole window as the rate is of the line rate. Default
    /// false.
    pub window_by_rtt: bool,
    /// True if the rate paces packets; otherwise packets follow at line rate (`RATE_BOUND`). Default true.
    pub paced: bool,
    /// Bytes of a flow from which on each packet is acknowledged (`L2_ACK_INTERVAL`). Default "1B".
    pub ack_from: Bytes,
    /// Length of a chunk; the packet that ends a chunk is acknowledged in any case (`L2_CHUNK_SIZE`). Default "4kB".
    pub chunk: SomeBytes,
    /// True if a loss is repaired from the beginning of its chunk (`L2_BACK_TO_ZERO`). Default false.
    pub repeats_chunk: bool,
    /// Time in which a receiver does not repeat a NACK of a byte. Default "500us"; ConWeave's simulator has "4us".
    pub nack_interval: Period,
    /// True if a NACK also notifies congestion, as in ConWeave's simulator. Default false.
    pub nack_notifies: bool,
    /// True if ACKs and NACKs have class 0, as in ConWeave's simulator; otherwise the class of their data. Default false.
    pub acks_in_class_0: bool,
    /// True if a receiver acknowledges packets that it has had before, and takes packets of which it has had a part, as in
    /// ConWeave's simulator. Default false: it is silent.
    pub acknowledges_again: bool,
    /// True if a sender that has gone back does not send bytes that have been acknowledged since, as in ConWeave's
    /// simulator. Default false.
    pub skips_acknowledged: bool,
    /// Time without an ACK or a packet sent after which a sender goes back to the oldest byte that is not acknowledged.
    /// ConWeave's simulator has "4ms". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Period>,
    /// The NIC's list of queue pairs, in which they take turns by their places. "cleared": completed queue pairs are taken
    /// out now and then, which moves the others. "kept": each keeps its place, as in ConWeave's simulator. Default
    /// "cleared".
    pub list: List,
    /// Instant at which a NIC looks for a packet again if no queue pair may send. "earliest": the earliest start that pacing
    /// sets, but never if that is over for some queue pair that waits for something else. "next": the earliest that is not
    /// over, as in ConWeave's simulator. Default "earliest".
    pub wake: Wake,
    /// UDP ports. "pairs": source ports from 10000 up for each pair of hosts, and the flows' destination ports. "hosts":
    /// source ports from 10000 up for each sender, and destination ports from 100 up for each receiver, as in ConWeave's
    /// simulator. Default "pairs".
    pub ports: Ports,
    /// Minimum rate (`MIN_RATE`). Default "100Mbps".
    pub minimum_rate: BitsPerSecond,
    /// Step of additive increase (`RATE_AI`, of DCTCP `DCTCP_RATE_AI`). Default "5Mbps".
    pub additive_increase: Increase,
    /// Step of hyper increase (`RATE_HAI`), of DCQCN and TIMELY. Default "50Mbps".
    pub hyper_increase: Increase,
    /// Weight of an update of alpha, of DCQCN and DCTCP (`EWMA_GAIN`). Default "1/16".
    pub gain: Weight,
    /// Time between DCQCN's updates of alpha (`ALPHA_RESUME_INTERVAL`). Default "55us".
    pub alpha_update_interval: Period,
    /// Time between DCQCN's looks for a cut (`RATE_DECREASE_INTERVAL`). Default "4us".
    pub rate_decrease_interval: Period,
    /// Period of DCQCN's rate increase timer (`RP_TIMER`). Default "1500us".
    pub rate_increase_timer: Period,
    /// Stages of DCQCN's fast recovery (`FAST_RECOVERY_TIMES`). Default 5.
    pub fast_recovery_stages: u32,
    /// True if each of DCQCN's cuts lowers the target (`CLAMP_TARGET_RATE`). Default false.
    pub clamp_target_rate: bool,
    /// Utilisation that HPCC aims at, above 0, up to 1 (`U_TARGET`). Default 0.95.
    pub utilisation: Part,
    /// HPCC's round trips of additive increase (`MI_THRESH`). Default 5.
    pub max_stage: u32,
    /// True if each ACK changes HPCC's rate; otherwise one of each round trip (`FAST_REACT`). Default true.
    pub fast_reaction: bool,
    /// True if HPCC has a rate for each hop, of which the least applies (`MULTI_RATE`). Default false.
    pub rate_per_hop: bool,
    /// True if hops without a queue count once a round trip only (`SAMPLE_FEEDBACK`). Default false.
    pub skips_empty_queues: bool,
    /// Factor by which telemetry is coarser than 128 B sent and 80 B queued, from 1 up (`INT_MULTI`). Default 1.
    #[schemars(range(min = 1))]
    pub stamp_multiple: u32,
}

/// Congestion control of senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SimulatedControl")]
pub enum Control {
    /// Packets are sent at line rate.
    #[default]
    None,
    /// DCQCN.
    Dcqcn,
    /// HPCC.
    Hpcc,
    /// TIMELY.
    Timely,
    /// DCTCP.
    Dctcp,
    /// `PowerTCP` of ns3-datacenter, by telemetry of bytes received.
    #[serde(rename = "powertcp")]
    PowerTcp,
    /// theta-PowerTCP of ns3-datacenter, by round-trip times.
    #[serde(rename = "theta-powertcp")]
    ThetaPowerTcp,
}

impl Control {
    /// Its name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dcqcn => "dcqcn",
            Self::Hpcc => "hpcc",
            Self::Timely => "timely",
            Self::Dctcp => "dctcp",
            Self::PowerTcp => "powertcp",
            Self::ThetaPowerTcp => "theta-powertcp",
        }
    }

    /// True for the two algorithms of `PowerTCP`.
    pub const fn is_power(self) -> bool {
        matches!(self, Self::PowerTcp | Self::ThetaPowerTcp)
    }

    /// True if packets carry telemetry of switches.
    pub const fn has_telemetry(self) -> bool {
        matches!(self, Self::Hpcc) || self.is_power()
    }
}

/// Rate that windows are computed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SimulatedWindowRate")]
pub enum WindowRate {
    /// The lowest of the path.
    #[default]
    Path,
    /// The line rate of the sender.
    Line,
}

/// Paths of base round-trip times and windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SimulatedPaths")]
pub enum Paths {
    /// The longest of all pairs of hosts.
    #[default]
    Longest,
    /// The path of the flow's pair.
    Own,
}

/// The NIC's list of queue pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SimulatedList")]
pub enum List {
    /// Completed queue pairs are taken out.
    #[default]
    Cleared,
    /// Each queue pair keeps its place.
    Kept,
}

/// Instant at which an idle NIC looks for a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SimulatedWake")]
pub enum Wake {
    /// The earliest start, if it is not over.
    #[default]
    Earliest,
    /// The earliest start that is not over.
    Next,
}

/// Numbers of UDP ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SimulatedPorts")]
pub enum Ports {
    /// Source ports count for each pair of hosts.
    #[default]
    Pairs,
    /// Source ports count for each sender, and destination ports for each receiver.
    Hosts,
}

impl Default for Settings {
    fn default() -> Self {
        let micros = |count: u64| Period::within(Picos(count * 1_000_000));
        Self {
            control: Control::None,
            window: false,
            paths: Paths::Longest,
            window_rate: WindowRate::Path,
            window_scales: false,
            window_by_rtt: false,
            paced: true,
            ack_from: Bytes(1),
            chunk: SomeBytes::within(Bytes(4000)),
            repeats_chunk: false,
            nack_interval: micros(500),
            nack_notifies: false,
            acks_in_class_0: false,
            acknowledges_again: false,
            skips_acknowledged: false,
            timeout: None,
            list: List::Cleared,
            wake: Wake::Earliest,
            ports: Ports::Pairs,
            minimum_rate: BitsPerSecond(100_000_000),
            additive_increase: Increase(BitsPerSecond(5_000_000)),
            hyper_increase: Increase(BitsPerSecond(50_000_000)),
            gain: Weight::within(Ratio::new(1, 16)),
            alpha_update_interval: micros(55),
            rate_decrease_interval: micros(4),
            rate_increase_timer: micros(1500),
            fast_recovery_stages: 5,
            clamp_target_rate: false,
            utilisation: Part::within(Probability { millionths: 950_000 }),
            max_stage: 5,
            fast_reaction: true,
            rate_per_hop: false,
            skips_empty_queues: false,
            stamp_multiple: 1,
        }
    }
}

impl Settings {
    /// Rules and constants of `ConWeave`'s simulator, from `rdma-hw.cc`, `qbb-net-device.cc` and `rdma-queue-pair`.
    pub fn conweave() -> Self {
        let micros = |count: u64| Period::within(Picos(count * 1_000_000));
        Self {
            nack_interval: micros(4),
            nack_notifies: true,
            acks_in_class_0: true,
            acknowledges_again: true,
            skips_acknowledged: true,
            timeout: Some(micros(4000)),
            list: List::Kept,
            wake: Wake::Next,
            ports: Ports::Hosts,
            ..Self::default()
        }
    }

    /// Rules of ns3-datacenter, from `rdma-hw.cc`.
    pub fn datacenter() -> Self {
        Self { window_rate: WindowRate::Line, ..Self::default() }
    }

    /// Takes the rules of a simulator, of keys that `is_free` names.
    pub fn follow(&mut self, there: &Self, is_free: impl Fn(&str) -> bool) {
        macro_rules! take {
            ($($key:ident),+) => {
                $(if is_free(stringify!($key)) {
                    self.$key = there.$key;
                })+
            };
        }
        take!(nack_interval, nack_notifies, acks_in_class_0, acknowledges_again);
        take!(skips_acknowledged);
        take!(timeout, list, wake, ports, window_rate);
    }

    /// The window of a flow from that of its path, its base round-trip time in ns, and the sender's line rate.
    pub fn window(&self, of_path: u32, rtt: u64, line: BitsPerSecond) -> u32 {
        match (self.window, self.window_rate) {
            (false, _) => 0,
            (true, WindowRate::Path) => of_path,
            (true, WindowRate::Line) => super::time::product(line.0, rtt) as u32,
        }
    }

    /// g as a double.
    pub(super) fn gain(&self) -> f64 {
        let Ratio { numerator, denominator } = self.gain.get();
        f64::from(numerator) / f64::from(denominator)
    }

    /// The utilisation that HPCC aims at, as a double.
    pub(super) fn target(&self) -> f64 {
        f64::from(self.utilisation.get().millionths) / 1e6
    }
}
