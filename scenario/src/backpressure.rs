//! `switch.backpressure`: schemes by which a switch pauses single queues or flows of its neighbours.

mod ofc;

use fabric_core::headroom::LinkFrames;
use fabric_core::scheme::ofc::state::QUEUES;
use fabric_core::scheme::{SchemeSettings, bfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{SwitchId, UpDown, WireId};
use units::{Bytes, Picos};
use workload::Flow;

use super::Scenario;
use super::document::Document;
use super::flow_queues::{FlowQueues, MAX_FLOW_QUEUES};
use super::flows::Workload;
use super::headroom::Headroom;
use super::priority::{AckPriority, Priorities};
use super::quantity;
use super::ratio::{Probability, Ratio};
use super::report::ScenarioError;
use super::switch::Switch;
use super::transport::{CongestionControl, Transport, WindowSize};

pub use ofc::Ofc;

/// Scheme by which switches pause single queues or flows of their neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Backpressure {
    /// Backpressure Flow Control (Goyal et al., NSDI 2022).
    Bfc(Bfc),
    /// Original congestion-based fine-grained priority Flow Control (Xiao et al.).
    Ofc(Ofc),
}

/// Parameters of BFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bfc {
    /// Priorities whose queues are paused.
    pub priorities: Priorities,
    /// Queues per priority at each port and NIC.
    pub queues: u8,
    /// Rule that assigns a queue to a flow.
    pub assignment: Assignment,
    /// Flow table entries per queue of an egress port (Section 3.3.1).
    pub flow_table: u32,
    /// Fraction of packets that are counted, above zero (Appendix A.8).
    pub sampling: Probability,
    /// True if hosts label packets of incasts, which switches keep in one queue (Appendix A.7).
    pub incast_labels: bool,
    /// HRTT in the pause threshold. `None`: HRTT of the switch's longest link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Picos>,
    /// Time for which a flow without packets in a switch keeps its queue. `None`: two round trips of the longest link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Picos>,
    /// Time between bitmaps of the paused queues. `None`: 10 us, or longer so that bitmaps take at most a hundredth of
    /// the slowest port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitmap_period: Option<Picos>,
    /// True if packets that go down and then up again pause nothing, so that pauses never wait in a cycle (Appendix B).
    pub prevent_deadlocks: bool,
}

/// Rule that assigns one of a priority's queues to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// An empty queue if one exists, kept while the flow has packets in the switch.
    #[default]
    Dynamic,
    /// The queue selected by the flow's hash.
    Stochastic,
}

/// Scheme by which switches pause single queues or flows of their neighbours.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum BackpressureKeys {
    /// Backpressure Flow Control (BFC; Goyal et al., NSDI 2022). Each flow gets a queue. If that queue grows too long,
    /// the switch pauses the queue at its neighbour from which the flow comes. PFC protects lossless priorities beneath
    /// BFC; packets of lossy priorities are dropped when the buffer is full.
    Bfc {
        /// Priorities whose queues are paused; not `control_priority` nor the priority of ACKs or CNPs. Default `[3]`.
        #[serde(default = "default_priorities")]
        priorities: Priorities,
        /// Egress queues per priority at each port and NIC; each flow gets one. At most 128 over all priorities.
        /// Default 32.
        #[serde(default = "default_queues")]
        #[schemars(range(min = 1, max = 128))]
        queues: u32,
        /// Rule that assigns a queue to a flow. "dynamic": an empty queue if one exists, kept while the flow has
        /// packets in the switch. "stochastic": the queue selected by the flow's hash. No effect with `queues = 1`.
        /// Default "dynamic".
        #[serde(default)]
        assignment: Assignment,
        /// Flow table entries per queue of a port, from 1 up. Flows that share an entry share a queue. Default 100.
        #[serde(default = "default_flow_table")]
        #[schemars(range(min = 1))]
        flow_table: u32,
        /// Fraction of packets that a switch counts in its flow table and pause counters, above 0, up to 1. Packets
        /// that are not counted cannot pause, and below 1 packets of one flow may overtake each other. Default 1.
        #[serde(default = "all_packets")]
        sampling: Probability,
        /// True if hosts label packets of incasts with several senders (kinds "incast", "periodic-incast" and
        /// "poisson-incast" of `[[flows]]`). The label is a DSCP 1 above the priority's. At each port all labelled
        /// packets share the last of the `queues`, which no other flow gets. Default false.
        #[serde(default)]
        incast_labels: bool,
        /// Drain time above which a queue pauses the queues that feed it, at an equal share of the port's rate for each
        /// active queue. Below the time of one packet, each packet pauses. Default: the longest round trip over a link
        /// of the switch, for a packet and the pause that answers it.
        threshold: Option<Picos>,
        /// Time for which a flow without packets in a switch keeps its queue there. Default: two round trips as in
        /// `threshold`.
        sticky: Option<Picos>,
        /// Time between bitmaps of paused queues. Every port sends them to its neighbour, so that lost pauses and
        /// resumes do no lasting harm. Bitmaps may take at most a tenth of any port. Default "10us", or longer so that
        /// they take at most a hundredth.
        bitmap_period: Option<Picos>,
        /// True if pauses must never wait for each other in a cycle, whatever the routes. Packets that arrive from a
        /// higher switch and leave to a higher switch then pause nothing (Appendix B), and may be dropped if their
        /// priority is lossy. The switch further from hosts is higher; if equal, the switch nearer to the first of the
        /// highest switches; then the first. `xoff inspect` shows the affected turns. PFC beneath BFC does not change.
        /// Default false: the shortest paths of a Clos network without failures never go down and up again.
        #[serde(default)]
        prevent_deadlocks: bool,
    },
    /// Original congestion-based fine-grained priority Flow Control (OFC; Xiao et al.). A switch sends its neighbour
    /// the names of congested flows, and the neighbour keeps their packets in a backup queue while other packets pass.
    /// If congestion comes from beyond an egress port, the switch names only flows that this port's neighbour has
    /// named. From `xoff` on PFC pauses the class. Needs `threshold` of kind "static".
    Ofc {
        /// Priorities whose flows are paused: lossless, not `control_priority`. Each has three queues at a port.
        /// Default `[3]`.
        #[serde(default = "default_priorities")]
        priorities: Priorities,
        /// Fraction of `threshold.xoff` at which flows are paused, if both their ingress queue and their egress queue
        /// hold this much. Above `xon` / `xoff`, below 1. Default "9/10".
        alpha: Option<Ratio>,
        /// Size at which flows are paused, instead of `alpha`. Above `threshold.xon`, below `threshold.xoff`.
        congested: Option<Bytes>,
        /// Flow table entries of an egress port, 1 to 4096. If all are in use, the switch pauses the class. Default
        /// 256.
        #[serde(default = "ofc::default_flow_table")]
        #[schemars(range(min = 1, max = 4096))]
        flow_table: u32,
        /// Time after which a switch names its paused flows again, "10us" or more. Neighbours forget flows that were
        /// not named for three such times, so that lost frames do no lasting harm. Default: never, as in the paper.
        repeat: Option<Picos>,
    },
}

const fn default_priorities() -> Priorities {
    Priorities(1 << 3)
}

const fn all_packets() -> Probability {
    Probability { millionths: 1_000_000 }
}

const fn default_queues() -> u32 {
    32
}

const fn default_flow_table() -> u32 {
    100
}

/// Default period of bitmaps if ports are fast enough.
const BITMAP_PERIOD: Picos = Picos(10_000_000);

impl BackpressureKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<Backpressure, ScenarioError> {
        if let Self::Ofc { priorities, alpha, congested, flow_table, repeat } = self {
            let ofc = ofc::Ofc { priorities, alpha, congested: None, flow_table, repeat };
            return Ok(Backpressure::Ofc(ofc.resolve(congested, document)?));
        }
        let Self::Bfc {
            priorities,
            queues,
            assignment,
            flow_table,
            sampling,
            incast_labels,
            threshold,
            sticky,
            bitmap_period,
            prevent_deadlocks,
        } = self
        else {
            unreachable!("it is no other kind")
        };
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.backpressure.{key}"), title, help))
        };
        if priorities.count() == 0 {
            return wrong("priorities", "no priority", "write one or more of 0 to 7, such as [3]");
        }
        let most = MAX_FLOW_QUEUES / priorities.count();
        if queues == 0 || queues > most {
            let title = match priorities.count() {
                1 => format!("{queues} queues for a priority"),
                count => format!("{queues} queues for each of {count} priorities"),
            };
            let help = format!(
                "write 1 to {most}: a port has {MAX_FLOW_QUEUES} queues beside those of priorities with one queue"
            );
            return wrong("queues", &title, &help);
        }
        let entries = flow_table.checked_mul(queues * priorities.count());
        if entries
            .and_then(|entries| bfc::Options::new(bfc::Assignment::Dynamic, 1, entries))
            .is_none()
        {
            let title = format!("a flow table of {flow_table} entries for each queue");
            let most = bfc::Options::MOST_ENTRIES / (queues * priorities.count());
            let help = format!("write 1 to {most}; the paper has 100");
            return wrong("flow_table", &title, &help);
        }
        if sampling.millionths == 0 {
            let help =
                "write a part above 0, such as 0.5: a switch that counts no packet pauses nobody";
            return wrong("sampling", "no packet is counted", help);
        }
        if incast_labels && queues == 1 {
            let help = "the last queue is for labelled incasts: write queues = 2 or more";
            return wrong("incast_labels", "labelled incasts, and one queue for all", help);
        }
        if threshold == Some(Picos::ZERO) {
            let help = "write a time such as \"2us\": a queue that may hold nothing pauses for each packet";
            return wrong("threshold", "a threshold of no time", help);
        }
        Ok(Backpressure::Bfc(Bfc {
            priorities,
            queues: queues.try_into().expect("at most 128"),
            assignment,
            flow_table,
            sampling,
            incast_labels,
            threshold,
            sticky,
            bitmap_period,
            prevent_deadlocks,
        }))
    }
}

impl Backpressure {
    /// Returns the priorities whose queues or flows are paused.
    pub const fn priorities(&self) -> Priorities {
        let (Self::Bfc(Bfc { priorities, .. }) | Self::Ofc(Ofc { priorities, .. })) = self;
        *priorities
    }

    /// Returns the queues of each paused priority, in the form of [`Switch::flow_queues`].
    pub(super) fn flow_queues(&self) -> impl Iterator<Item = FlowQueues> {
        let (priorities, queues) = match *self {
            Self::Bfc(Bfc { priorities, queues, .. }) => (priorities, queues),
            Self::Ofc(Ofc { priorities, .. }) => (priorities, QUEUES),
        };
        priorities.iter().map(move |priority| FlowQueues { priority, queues })
    }
}

impl Switch {
    /// Returns true if the switch pauses single queues of its neighbours (BFC).
    pub const fn pauses_queues(&self) -> bool {
        matches!(self.backpressure, Some(Backpressure::Bfc(_)))
    }

    /// Returns the OFC parameters if the switch pauses flows.
    pub const fn ofc(&self) -> Option<&Ofc> {
        match &self.backpressure {
            Some(Backpressure::Ofc(ofc)) => Some(ofc),
            _ => None,
        }
    }

    /// Returns each priority with several egress queues at a port, or that backpressure pauses, once.
    pub fn spread(&self) -> impl Iterator<Item = FlowQueues> {
        let paused = self.backpressure.iter().flat_map(Backpressure::flow_queues);
        paused.chain(self.flow_queues.iter().copied())
    }
}

impl Scenario {
    /// Checks backpressure against other keys.
    pub(super) fn check_backpressure(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let (switch, host) = (&self.switch, &self.host);
        let wrong = |key: &str, title: &str, help: &str| Err(document.error(key, title, help));
        let beneath_sih = matches!(switch.headroom, Headroom::Sih { .. });
        if let Some(ofc) = switch.ofc() {
            ofc.check(switch, document)?;
            if !beneath_sih {
                let help = "beneath OFC ingress queues have static headroom: write headroom = { kind = \"sih\" }";
                return wrong("switch.headroom", "OFC with another scheme of headroom", help);
            }
        }
        let Some(Backpressure::Bfc(bfc)) = switch.backpressure else {
            if self.results.held_flows {
                let help =
                    "write switch.backpressure = { kind = \"bfc\", .. }, or leave the key out";
                return wrong("results.held_flows", "no queue is paused by itself", help);
            }
            return Ok(());
        };
        let paused = |priority: u8| bfc.priorities.contains(priority);
        if !beneath_sih {
            let help = "beneath BFC lossless priorities have static headroom: write headroom = { kind = \"sih\" }";
            return wrong("switch.headroom", "BFC with another scheme of headroom", help);
        }
        let bitmap = self.bitmap_time();
        if bfc.bitmap_period.is_some_and(|period| period < Picos(10 * bitmap.0)) {
            let title = "bitmaps take more than a tenth of a port";
            let help = format!(
                "a bitmap takes {} at the slowest port: write \"{}\" or more, or leave the key out",
                quantity::display(bitmap),
                quantity::display(Picos(10 * bitmap.0))
            );
            return wrong("switch.backpressure.bitmap_period", title, &help);
        }
        if switch.control_priority.is_some_and(paused) {
            let help = "the control queue is never paused: leave the priority out, or write control_priority = \"none\"";
            return wrong(
                "switch.backpressure.priorities",
                "the control priority is not paused",
                help,
            );
        }
        let acks = match host.ack_priority {
            AckPriority::Data => true,
            AckPriority::Fixed(priority) => paused(priority),
        };
        if acks || paused(host.cnp_priority) {
            let help = "ACKs and CNPs wait in no queue of a flow: give them a priority that BFC does not pause, \
                        by host.ack_priority and host.cnp_priority";
            return wrong(
                "switch.backpressure.priorities",
                "ACKs or CNPs of a paused priority",
                help,
            );
        }
        if !host.queue_pauses && self.transports().iter().any(is_unlimited) {
            let help = "nothing would keep a flow from filling the first switch (Section 5 of the paper): cap it by the \
                        transport's window, such as window = \"bdp\", or let NICs obey pauses of queues";
            return wrong(
                "host.queue_pauses",
                "NICs that obey no pause of a queue, and flows without a window",
                help,
            );
        }
        Ok(())
    }

    /// Returns the scheme of a switch.
    pub fn scheme(&self, switch: SwitchId) -> SchemeSettings {
        if let Some(spfc) = self.spfc() {
            return self.switch.headroom.scheme_with_states(self.spfc_settings(spfc));
        }
        if let Some(rule) = &self.switch.pause_rule {
            return rule.scheme(self.static_xoff(switch), Bytes(self.frame_time().overhead));
        }
        if let Some(ofc) = self.switch.ofc() {
            return ofc.settings(self.static_xoff(switch));
        }
        let Some(Backpressure::Bfc(bfc)) = self.switch.backpressure else {
            return self.switch.headroom.scheme();
        };
        let assignment = match bfc.assignment {
            Assignment::Dynamic => bfc::Assignment::Dynamic,
            Assignment::Stochastic => bfc::Assignment::Stochastic,
        };
        let entries = bfc.flow_table * u32::from(bfc.queues) * bfc.priorities.count();
        let options = bfc::Options::new(assignment, bfc.priorities.0, entries);
        let options = options.expect("it was checked");
        let round_trip = self.hop_round_trip(switch);
        let sampled = u64::from(bfc.sampling.millionths) * bfc::sampling::ALL / 1_000_000;
        SchemeSettings::Bfc(bfc::Settings {
            options: bfc::Options {
                samples: sampled < bfc::sampling::ALL,
                incast_queue: bfc.incast_labels,
                elides: bfc.prevent_deadlocks,
                ..options
            },
            sampled: u32::try_from(sampled).unwrap_or(u32::MAX),
            threshold: bfc.threshold.unwrap_or(round_trip).to_nanos_ceil(),
            sticky: bfc.sticky.unwrap_or(round_trip + round_trip).to_nanos_ceil(),
        })
    }

    /// Returns the order of the switches that decides which turns trigger no backpressure; `None` if all turns do.
    pub fn deadlock_prevention(&self) -> Option<UpDown> {
        let Backpressure::Bfc(bfc) = self.switch.backpressure? else { return None };
        bfc.prevent_deadlocks.then(|| UpDown::of(&self.fabric))
    }

    /// Longest HRTT of BFC over the switch's links: the longest frame there, and a pause back.
    fn hop_round_trip(&self, switch: SwitchId) -> Picos {
        let LinkFrames { time, longest, hop_control, .. } = self.link_frames();
        let of_link = |&wire: &WireId| {
            let (back, there) = (self.fabric.wire(wire), self.fabric.wire(wire.reverse()));
            let frames = time.serialise(there.rate, longest.0)
                + time.serialise(back.rate, hop_control.into());
            there.delay + back.delay + frames
        };
        self.fabric.switch(switch).ports.iter().map(of_link).max().unwrap_or(Picos::ZERO)
    }

    /// Time between bitmaps of paused queues; `None` if switches send no bitmaps.
    pub fn bitmap_period(&self) -> Option<Picos> {
        let Backpressure::Bfc(bfc) = self.switch.backpressure? else { return None };
        Some(
            bfc.bitmap_period
                .unwrap_or_else(|| BITMAP_PERIOD.max(Picos(100 * self.bitmap_time().0))),
        )
    }

    /// Time between announcements of a switch (bitmaps of BFC, flows of OFC); `None` if it sends none.
    pub fn announcement_period(&self) -> Option<Picos> {
        self.switch.ofc().map_or_else(|| self.bitmap_period(), |ofc| ofc.repeat)
    }

    /// Returns true if hosts label incasts, which then have a separate queue (Appendix A.7).
    pub fn labels_incasts(&self) -> bool {
        let Some(Backpressure::Bfc(bfc)) = self.switch.backpressure else { return false };
        bfc.incast_labels
    }

    /// Returns true if packets of the flow carry the incast label.
    pub fn labels_as_incast(&self, flow: &Flow) -> bool {
        self.labels_incasts() && is_incast(&self.workloads[flow.workload as usize].workload)
    }

    /// Transmission time of a bitmap on the slowest link.
    fn bitmap_time(&self) -> Picos {
        let LinkFrames { time, hop_control, .. } = self.link_frames();
        let slowest = self.fabric.wires().iter().map(|wire| wire.rate).min();
        slowest.map_or(Picos::ZERO, |rate| time.serialise(rate, hop_control.into()))
    }
}

/// Returns true if an entry of `[[flows]]` consists of incasts with more than one sender.
fn is_incast(workload: &Workload) -> bool {
    match workload {
        Workload::Incast { senders, .. } => senders.len() > 1,
        Workload::PeriodicIncast(incasts) | Workload::PoissonIncast(incasts) => {
            incasts.degree.most > 1
        }
        Workload::One { .. }
        | Workload::List { .. }
        | Workload::LongLived { .. }
        | Workload::Poisson(_)
        | Workload::Lognormal { .. }
        | Workload::Permutation(_)
        | Workload::AllToAll(_)
        | Workload::Split(_) => false,
    }
}

/// Returns true if a flow can send without ACKs until the retransmission timeout.
fn is_unlimited(transport: &Transport) -> bool {
    let paced = matches!(
        transport.congestion_control(),
        CongestionControl::None | CongestionControl::Dcqcn(_) | CongestionControl::Timely(_)
    );
    let roce = matches!(transport, Transport::RoceRc(_));
    roce && paced && transport.window().size == WindowSize::Unlimited
}
