//! Kind "bfc" of `switch.scheme`: pauses of single queues.

use fabric_core::headroom::LinkFrames;
pub use fabric_core::scheme::bfc::Assignment;
use fabric_core::scheme::bfc::state::FlowEntry;
use fabric_core::scheme::{SchemeSettings, bfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{SwitchId, UpDown, WireId};
use units::{Bytes, Nanos, Picos};
use workload::Flow;

use super::Scheme;
use super::kind::{Check, Kind, Part, PausedParts};
use crate::Scenario;
use crate::document::Document;
use crate::flow_keys::Workload;
use crate::flow_queues::MAX_FLOW_QUEUES;
use crate::priority::{AckPriority, Priorities};
use crate::quantity;
use crate::ratio::Probability;
use crate::switch::Switch;
use crate::transport::{CongestionControl, Transport, WindowSize};

/// Backpressure Flow Control (BFC; Goyal et al., NSDI 2022). Each flow gets a queue. If that queue grows too long,
/// the switch pauses the queue at its neighbour from which the flow comes. PFC protects lossless priorities beneath
/// BFC; packets of lossy priorities are dropped when the buffer is full. Needs headroom of kind "sih".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Bfc {
    /// Priorities whose queues are paused; not `control_priority` nor the priority of ACKs or CNPs. Default `[3]`.
    #[serde(default = "default_priorities")]
    pub priorities: Priorities,
    /// Egress queues per priority at each port and NIC; each flow gets one. At most 128 over all priorities.
    /// Default 32.
    #[serde(default = "default_queues")]
    #[schemars(range(min = 1, max = 128))]
    pub queues: u32,
    /// Rule that assigns a queue to a flow. "dynamic": an empty queue if one exists, kept while the flow has
    /// packets in the switch. "stochastic": the queue selected by the flow's hash. No effect with `queues = 1`.
    /// Default "dynamic".
    #[serde(default)]
    pub assignment: Assignment,
    /// Flow table entries per queue of a port, from 1 up. Flows that share an entry share a queue. Default 100.
    #[serde(default = "default_flow_table")]
    #[schemars(range(min = 1))]
    pub flow_table: u32,
    /// Fraction of packets that a switch counts in its flow table and pause counters, above 0, up to 1. Packets
    /// that are not counted cannot pause, and below 1 packets of one flow may overtake each other. Default 1.
    #[serde(default = "all_packets")]
    pub sampling: Probability,
    /// True if hosts label packets of incasts with several senders (kinds "incast", "periodic-incast" and
    /// "poisson-incast" of `[[flows]]`). The label is a DSCP 1 above the priority's. At each port all labelled
    /// packets share the last of the `queues`, which no other flow gets. Default false.
    #[serde(default)]
    pub incast_labels: bool,
    /// Drain time above which a queue pauses the queues that feed it, at an equal share of the port's rate for each
    /// active queue. Below the time of one packet, each packet pauses. Default: the longest round trip over a link
    /// of the switch, for a packet and the pause that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Picos>,
    /// Time for which a flow without packets in a switch keeps its queue there. Default: two round trips as in
    /// `threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Picos>,
    /// Time between bitmaps of paused queues. Every port sends them to its neighbour, so that lost pauses and
    /// resumes do no lasting harm. Bitmaps may take at most a tenth of any port. Default "10us", or longer so that
    /// they take at most a hundredth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitmap_period: Option<Picos>,
    /// True if pauses must never wait for each other in a cycle, whatever the routes. Packets that arrive from a
    /// higher switch and leave to a higher switch then pause nothing (Appendix B), and may be dropped if their
    /// priority is lossy. The switch further from hosts is higher; if equal, the switch nearer to the first of the
    /// highest switches; then the first. `xoff inspect` shows the affected turns. PFC beneath BFC does not change.
    /// Default false: the shortest paths of a Clos network without failures never go down and up again.
    #[serde(default)]
    pub prevent_deadlocks: bool,
}

/// Parameters of a switch's queue pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePauses {
    /// Entries of a port's flow table.
    pub flow_entries: u32,
    /// Size of a port's flow table.
    pub flow_table: Bytes,
    /// Drain time above which a queue pauses.
    pub threshold: Nanos,
    /// Time for which a flow without packets keeps its queue.
    pub sticky: Nanos,
}

pub(super) const fn default_priorities() -> Priorities {
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

impl Kind for Bfc {
    const NAME: &'static str = "BFC";
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = Some("BFC");
    const TABLES: &'static [(&'static str, &'static str)] =
        &[("egress_queues", ""), ("flow_queues", ""), ("queue_pauses", "")];

    fn complete(&mut self, _: Priorities, document: &Document<'_>) -> Check {
        let Self { priorities, queues, flow_table, sampling, incast_labels, threshold, .. } = *self;
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.scheme.{key}"), title, help))
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
        if entries.and_then(|entries| bfc::Options::new(Assignment::Dynamic, 1, entries)).is_none()
        {
            let title = format!("a flow table of {flow_table} entries for each queue");
            let most = bfc::Options::MAX_ENTRIES / (queues * priorities.count());
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
        Ok(())
    }

    fn check(&self, scenario: &Scenario, document: &Document<'_>) -> Check {
        let (switch, host) = (&scenario.switch, &scenario.host);
        let wrong = |key: &str, title: &str, help: &str| Err(document.error(key, title, help));
        let paused = |priority: u8| self.priorities.contains(priority);
        let bitmap = scenario.bitmap_time();
        if self.bitmap_period.is_some_and(|period| period < Picos(10 * bitmap.0)) {
            let title = "bitmaps take more than a tenth of a port";
            let help = format!(
                "a bitmap takes {} at the slowest port: write \"{}\" or more, or leave the key out",
                quantity::display(bitmap),
                quantity::display(Picos(10 * bitmap.0))
            );
            return wrong("switch.scheme.bitmap_period", title, &help);
        }
        if switch.control_priority.0.is_some_and(paused) {
            let help = "the control queue is never paused: leave the priority out, or write control_priority = \"none\"";
            return wrong("switch.scheme.priorities", "the control priority is not paused", help);
        }
        let acks = match host.ack_priority() {
            AckPriority::Data => true,
            AckPriority::Fixed(priority) => paused(priority),
        };
        if acks || paused(host.cnp_priority.0) {
            let help = "ACKs and CNPs wait in no queue of a flow: give them a priority that BFC does not pause, \
                        by host.ack_priority and host.cnp_priority";
            return wrong("switch.scheme.priorities", "ACKs or CNPs of a paused priority", help);
        }
        if !host.queue_pauses && scenario.transports().iter().any(is_unlimited) {
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

    fn warnings(&self, scenario: &Scenario) -> Vec<String> {
        let used = scenario.used_priorities();
        let mut warnings = Vec::new();
        let unused: Vec<String> = self
            .priorities
            .iter()
            .filter(|priority| used >> priority & 1 == 0)
            .map(|priority| priority.to_string())
            .collect();
        if !unused.is_empty() {
            warnings.push(format!(
                "no flow has priority {}, whose queues BFC pauses: name the flows' priorities in \
                 `switch.scheme.priorities`",
                unused.join(" or ")
            ));
        }
        let lossless = self.priorities.iter().any(|it| scenario.switch.lossless.contains(it));
        if self.prevent_deadlocks && lossless {
            warnings.push(
                "`prevent_deadlocks` prevents cycles of paused queues, and not of the PFC beneath them: where routes \
                 make one, write `switch.lossless` without BFC's priorities"
                    .into(),
            );
        }
        warnings
    }

    fn settings(&self, scenario: &Scenario, switch: SwitchId) -> SchemeSettings {
        SchemeSettings::Bfc(scenario.bfc_settings(self, switch))
    }

    fn paused_parts(&self) -> Option<PausedParts> {
        let Self { priorities, queues, .. } = *self;
        Some(PausedParts { part: Part::Queue, priorities, queues })
    }

    fn announcement_period(&self, scenario: &Scenario) -> Option<Picos> {
        scenario.bitmap_period()
    }
}

impl Switch {
    /// Returns the parameters of BFC if the switch pauses single queues of its neighbours.
    pub const fn bfc(&self) -> Option<&Bfc> {
        match &self.scheme {
            Scheme::Bfc(bfc) => Some(bfc),
            _ => None,
        }
    }
}

impl Scenario {
    /// Returns the BFC settings of a switch.
    fn bfc_settings(&self, bfc: &Bfc, switch: SwitchId) -> bfc::Settings {
        let entries = bfc.flow_table * bfc.queues * bfc.priorities.count();
        let options = bfc::Options::new(bfc.assignment, bfc.priorities.0, entries);
        let options = options.expect("it was checked");
        let round_trip = self.hop_round_trip(switch);
        let sampled = u64::from(bfc.sampling.millionths) * bfc::sampling::ALL / 1_000_000;
        bfc::Settings {
            options: bfc::Options {
                samples: sampled < bfc::sampling::ALL,
                incast_queue: bfc.incast_labels,
                elides: bfc.prevent_deadlocks,
                ..options
            },
            sampled: u32::try_from(sampled).unwrap_or(u32::MAX),
            threshold: bfc.threshold.unwrap_or(round_trip).to_nanos_ceil(),
            sticky: bfc.sticky.unwrap_or(round_trip + round_trip).to_nanos_ceil(),
        }
    }

    /// Returns the parameters of a switch's queue pauses, if it pauses single queues.
    pub fn queue_pauses(&self, switch: SwitchId) -> Option<QueuePauses> {
        let bfc = self.switch.bfc()?;
        let bfc::Settings { options, threshold, sticky, .. } = self.bfc_settings(bfc, switch);
        let flow_table = Bytes(u64::from(options.entries()) * size_of::<FlowEntry>() as u64);
        Some(QueuePauses { flow_entries: options.entries(), flow_table, threshold, sticky })
    }

    /// Returns the order of the switches that decides which turns trigger no backpressure; `None` if all turns do.
    pub fn deadlock_prevention(&self) -> Option<UpDown> {
        let bfc = self.switch.bfc()?;
        bfc.prevent_deadlocks.then(|| UpDown::new(&self.fabric))
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
        let bfc = self.switch.bfc()?;
        Some(
            bfc.bitmap_period
                .unwrap_or_else(|| BITMAP_PERIOD.max(Picos(100 * self.bitmap_time().0))),
        )
    }

    /// Returns true if hosts label incasts, which then have a separate queue (Appendix A.7).
    pub fn labels_incasts(&self) -> bool {
        self.switch.bfc().is_some_and(|bfc| bfc.incast_labels)
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
            incasts.degree.0.most > 1
        }
        Workload::One { .. }
        | Workload::List { .. }
        | Workload::LongLived { .. }
        | Workload::Poisson { .. }
        | Workload::Lognormal { .. }
        | Workload::Permutation { .. }
        | Workload::AllToAll { .. }
        | Workload::Split { .. } => false,
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
