//! `[switch]`: buffer, flow control, marking and scheduling of the fabric's switches.

use std::collections::BTreeSet;

use fabric_core::buffer::MAX_BUFFER;
use fabric_core::map_abi::MAX_SLOTS;
use fabric_core::wire::ethernet::MINIMUM_FRAME_LENGTH;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::{Checked, Range};
use units::refusal::Refusal;
use units::{BitsPerSecond, Bytes};

use super::buffer_size::BufferSize;
use super::dialect::{Ecmp, NextHops, is_default};
use super::document::Document;
use super::ecn::Ecn;
use super::flow_queues::{self, FlowQueues};
use super::headroom::Headroom;
use super::kind::by_kind;
use super::lossy::Lossy;
use super::pause::{PauseLasts, PauseRefresh, PauseResponse, ResumeTest};
use super::priority::{OptionalPriority, Priorities};
use super::quantity;
use super::report::ScenarioError;
use super::schema::{in_words, without_default_tables};
use super::scheme::Scheme;
use super::telemetry::TelemetrySteps;
use super::threshold::Threshold;
use super::threshold_update::ThresholdUpdate;
use super::watchdog::Watchdog;

/// Order among the queues of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "SchedulerKeys")]
pub enum Scheduler {
    /// The highest priority first. If a priority has several queues, they take turns (deficit weighted round robin;
    /// BFC, Appendix A.3).
    Strict {
        /// Bytes that a queue may send in a round among the queues of its priority, above zero and less than "4GiB".
        /// Default "1600B".
        #[serde(default = "default_quantum")]
        quantum: Checked<Bytes, Quantum>,
    },
    /// Deficit weighted round robin with equal weights.
    Dwrr {
        /// Bytes that a queue may send in a round, above zero and less than "4GiB". Default "1600B".
        #[serde(default = "default_quantum")]
        quantum: Checked<Bytes, Quantum>,
    },
    /// One packet of each queue in turn, whatever its length, as in ABM's simulator.
    RoundRobin {},
    /// Shortest remaining flow first: the queue whose first packet belongs to the flow with the fewest bytes left to
    /// send. Packets carry this number (BFC, Appendix A.2). ACKs and CNPs do not, and go first. Flows must be RoCEv2
    /// and have a size.
    Srf {},
}

by_kind!(Scheduler);

impl Default for Scheduler {
    fn default() -> Self {
        Self::Dwrr { quantum: default_quantum() }
    }
}

/// Sizes above zero that fit into 32 bits.
#[derive(Debug)]
pub enum Quantum {}

impl Range<Bytes> for Quantum {
    fn check(quantum: &Bytes) -> Result<(), Refusal> {
        match *quantum {
            Bytes(0) => {
                Err(Refusal::sentence("a quantum of no bytes", "write a size such as \"1600B\""))
            }
            quantum if quantum.0 > u64::from(u32::MAX) => Err(Refusal::sentence(
                format!("a quantum of {}", quantity::display(quantum)),
                "a switch counts it in 32 bits: write a size below \"4GiB\", such as \"1600B\"",
            )),
            _ => Ok(()),
        }
    }
}

/// Granularity at which private buffers are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateFill {
    /// Whole packets.
    #[default]
    Packets,
    /// Bytes; the rest of a packet is in the shared pool.
    Bytes,
}

/// Owner of private buffers and headroom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reserves {
    /// Each lossless ingress queue.
    #[default]
    Queues,
    /// Each port.
    Ports,
}

/// Buffer, flow control, marking and scheduling of every switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SwitchKeys", transform = without_default_tables)]
pub struct Switch {
    /// Size of a switch's packet buffer, unless `[[switches]]` sets another; at most "1006632960B". Private pools and
    /// headroom are taken from it; lossless and lossy traffic share the rest. Either a size, or a size for each Gbit/s
    /// of each port's rate, such as "9.6KiB/port/Gbps". Failed links count, and a port of `ports` without a link counts
    /// as the fastest port with one. Or a chip: "trident2" (9.6 KiB for each port and Gbit/s), "tomahawk" (5.12 KiB) or
    /// "tofino" (3.44 KiB). Default "16MB".
    pub(super) buffer: BufferSize,
    /// Number of a switch's ports, with or without a link. Buffer is reserved for all of them; a port without a link
    /// gets as much as the port of the switch that needs most. Default: number of ports with a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u32>,
    /// Private buffer of each lossless ingress queue (port and priority). Default "3000B".
    pub private_per_queue: Bytes,
    /// Granularity at which private buffers are filled. "packets": a packet is as a whole in the private buffer, the
    /// shared pool or headroom, and uses the next of these if it would fill one (DSH, Algorithm 1). "bytes": private
    /// buffers are filled to the byte, and the rest of a packet is in the shared pool; a pool also accepts a packet
    /// that just fits, and headroom takes whole packets, as in the HPCC simulator. Default "packets".
    pub private_fill: PrivateFill,
    /// Owner of the private buffers and headroom that are set aside. "queues": each lossless ingress queue. "ports": each port,
    /// though each of its queues may use as much, as in the HPCC simulator. With several lossless priorities a switch may
    /// then hold more than its buffer. Default "queues".
    #[serde(skip_serializing_if = "is_default")]
    pub reserves: Reserves,
    /// Priorities that PFC protects, any subset of 0 to 7. All others are lossy. Default `[3]`.
    pub lossless: Priorities,
    /// Scheme of the switches, with its own settings. `threshold` and `headroom` say how much buffer it uses. Default
    /// { kind = "pfc" }.
    pub scheme: Scheme,
    /// Thresholds at which a lossless ingress queue sends PAUSE and RESUME. Default { kind = "dt", alpha = "1/16" }.
    pub threshold: Threshold,
    /// Buffer for packets that arrive after a PAUSE. Default { kind = "sih" }.
    pub headroom: Headroom,
    /// ECN marking of egress queues. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// Order among the queues of a port, behind the control queue.
    /// Default { kind = "dwrr", quantum = "1600B" }.
    pub scheduler: Scheduler,
    /// Priorities whose packets are spread over several egress queues of a port by the hash of their flow (stochastic
    /// fair queueing), such as [{ priority = 3, queues = 32 }]. DWRR gives each of these queues as much as the only
    /// queue of another priority. ECN and `lossy` treat each queue separately; a PAUSE stops all of them. Default:
    /// none, so that each priority has one queue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow_queues: Vec<FlowQueues>,
    /// Priority whose queue goes ahead of all others, or "none". Default 6, the priority of CNPs.
    pub control_priority: OptionalPriority,
    /// Events at which thresholds are computed. "per-packet": every arrival. { period = "10us" }: the control plane
    /// computes them periodically, with DSH's margins (tau) below them. Default "per-packet".
    #[schemars(skip_serializing_if = "in_words")]
    pub thresholds: ThresholdUpdate,
    /// Sharing of the buffer by packets of lossy priorities: the rule that drops packets. Default { kind = "dt", alpha
    /// = "1" }.
    pub lossy: Lossy,
    /// Quanta of a PAUSE, each 512 bit times of the port: 1 to 65535. Default 65535. A PAUSE is renewed in time if the
    /// rest of its quanta, after `pause_refresh`, is as long as the longest frame and a control frame of each lossless
    /// priority. Otherwise a warning gives the minimum.
    #[schemars(range(min = 1))]
    pub pause_quanta: u16,
    /// Time after which a PAUSE is repeated while congestion lasts, before its quanta expire: a fraction of the pause
    /// time ("1/2") or a time ("100us"). Default "1/2".
    pub pause_refresh: PauseRefresh,
    /// End of a pause that a switch or NIC has received. "quanta": the end of its quanta. "until-resume": a RESUME only, as in
    /// the ns-3 simulators of HPCC. Switches then send each PAUSE once, and send RESUMEs and PAUSEs one after the other, also
    /// if they wait at a port together. A time, such as "5us": this time after the last PAUSE, at any rate, or a RESUME, as
    /// in ConWeave's simulator; needs `order = "insertion"`. Default "quanta".
    #[serde(skip_serializing_if = "is_default")]
    pub pause_lasts: PauseLasts,
    /// Hash by which ECMP chooses among next hops. "five-tuple": of addresses, protocol and ports, under a seed of each
    /// switch. "murmur3": MurmurHash3 of the addresses and ports that HPCC's simulator gives flows, under the switch's id
    /// (`results.hpcc.nodes`), modulo the number of next hops, of parallel links the last; ACKs of `host.ns3` are hashed by their own header. In memory,
    /// for RoCEv2, without static routes and rerouting. Default "five-tuple".
    #[serde(skip_serializing_if = "is_default")]
    pub ecmp: Ecmp,
    /// Order of next hops under `ecmp = "murmur3"`. The simulator searches breadth first from each host, and visits a
    /// node's neighbours in the order of their addresses in memory. "descending": from the highest id down, as on Linux
    /// with glibc. "ascending": from the lowest id up. Default "descending".
    #[serde(skip_serializing_if = "is_default")]
    pub next_hops: NextHops,
    /// Events at which a paused queue is compared with its RESUME threshold. "refresh": when one of its packets
    /// departs, and each time its PAUSE is due again. "departure": only when one of its packets departs, as in the ns-3
    /// simulators. A queue whose packets all wait behind other pauses then stays paused, even if its threshold has
    /// risen. Default "refresh".
    pub resume_test: ResumeTest,
    /// Time after a PAUSE in which a port may still start frames: "standard" (3840 B at the port's rate, the maximum of
    /// 802.1Qbb) or a shorter time, at least a nanosecond. Default "standard".
    pub pause_response: PauseResponse,
    /// Handling of a neighbour that pauses the switch continuously (PFC storm). Default: none; the switch obeys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Watchdog>,
    /// Capacity in packets of a FIFO below the egress queues of each port, 1 to 10000, in addition to the packet that
    /// is being sent. ABM's simulator has 100 (ns-3's device queue). A packet leaves its egress queue as soon as the
    /// FIFO has room, and is sent later: thresholds, marks, stamps and samples do not include packets in the FIFO.
    /// Needs `lossless = []`, because a FIFO cannot be paused. Default: no FIFO.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_queue: Option<u32>,
    /// Resolution of telemetry stamps.
    pub telemetry_steps: TelemetrySteps,
    /// Bytes on the wire beyond a frame, at switches and hosts alike: preamble 8, FCS 4,
    /// inter-frame gap 12. At most "1kB". Default "24B".
    pub wire_overhead: Bytes,
}

fn default_quantum() -> Checked<Bytes, Quantum> {
    Checked::within(Bytes(1600))
}

impl Default for Switch {
    /// Defaults of DSH's evaluation, section V.
    fn default() -> Self {
        Self {
            buffer: BufferSize::Fixed(Bytes(16_000_000)),
            ports: None,
            private_per_queue: Bytes(3000),
            private_fill: PrivateFill::default(),
            reserves: Reserves::default(),
            lossless: Priorities(1 << 3),
            scheme: Scheme::default(),
            threshold: Threshold::default(),
            headroom: Headroom::default(),
            ecn: None,
            scheduler: Scheduler::default(),
            flow_queues: Vec::new(),
            control_priority: OptionalPriority(Some(6)),
            thresholds: ThresholdUpdate::default(),
            lossy: Lossy::default(),
            pause_quanta: u16::MAX,
            pause_refresh: PauseRefresh::default(),
            pause_lasts: PauseLasts::default(),
            ecmp: Ecmp::default(),
            next_hops: NextHops::default(),
            resume_test: ResumeTest::default(),
            pause_response: PauseResponse::Standard,
            watchdog: None,
            device_queue: None,
            telemetry_steps: TelemetrySteps::default(),
            wire_overhead: Bytes(24),
        }
    }
}

impl Switch {
    /// Returns the size of the whole packet buffer.
    pub fn buffer(&self) -> Bytes {
        self.buffer.fixed()
    }

    /// Adds defaults, and checks keys that do not depend on the topology. `rates` are the rates of its links, and
    /// `buffer` is the buffer of switches without one in `[[switches]]`.
    pub(super) fn complete(
        &mut self,
        buffer: Bytes,
        rates: &BTreeSet<BitsPerSecond>,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.{key}"), title, help))
        };
        if self.pause_quanta == 0 {
            let help = "write 1 to 65535; a PAUSE of no quanta would be a RESUME";
            return wrong("pause_quanta", "a PAUSE of no quanta", help);
        }
        if self.wire_overhead > Bytes(1000) {
            let help = "Ethernet has 24 bytes between frames; the limit is \"1kB\"";
            return wrong("wire_overhead", "too many bytes between frames", help);
        }
        if let Some(packets) = self.device_queue {
            let in_the_way = [
                (self.lossless.count() > 0, "lossless priorities", "write lossless = []"),
                (
                    self.scheme.paused_parts().is_some(),
                    "a `scheme` that pauses queues or flows",
                    "write another scheme",
                ),
                (self.watchdog.is_some(), "a `watchdog`", "leave that out"),
            ];
            if let Some((_, what, help)) = in_the_way.iter().find(|(is_there, ..)| *is_there) {
                let title = format!("a FIFO that nothing can pause, and {what}");
                let help = format!("{help}, or leave out `device_queue`");
                return wrong("device_queue", &title, &help);
            }
            if !(1..=10_000).contains(&packets) {
                let title = format!("a FIFO of {packets} packets");
                return wrong("device_queue", &title, "write 1 to 10000, or leave the key out");
            }
        }
        self.buffer = BufferSize::Fixed(buffer);
        self.scheme.complete(self.lossless, document)?;
        if let Some(watchdog) = &self.watchdog {
            watchdog.check(document)?;
        }
        self.threshold.complete(self.scheme.victims().is_some(), rates, document)?;
        self.headroom.check(document)?;
        if let Some(ecn) = &mut self.ecn {
            ecn.complete(self.lossless, rates, document)?;
        }
        flow_queues::check(&self.flow_queues, &self.scheme, self.control_priority.0, document)?;
        self.lossy.complete(self.lossless, document)
    }
}

/// Checks that a switch can have a buffer of this size; `path` is the key with the size.
pub(super) fn check_buffer(
    buffer: Bytes,
    path: &str,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    if buffer == Bytes(0) {
        return Err(document.error(path, "a buffer of no bytes", "write a size such as \"16MB\""));
    }
    if buffer > MAX_BUFFER {
        let title = format!("a buffer of {}", quantity::display(buffer));
        let help = format!(
            "write at most \"{}\", which is {MAX_SLOTS} frames of {MINIMUM_FRAME_LENGTH} bytes: a \
             switch has a descriptor for each",
            quantity::display(MAX_BUFFER),
        );
        return Err(document.error(path, &title, &help));
    }
    Ok(())
}
