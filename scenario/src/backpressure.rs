//! `switch.backpressure`: schemes by which a switch pauses single queues, or flows, of its neighbours.

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
use super::quantity::{self, Quantity, Size, Time};
use super::ratio::{Probability, Ratio};
use super::report::ScenarioError;
use super::switch::Switch;
use super::transport::{CongestionControl, Transport, WindowSize};

pub use ofc::Ofc;

/// How switches pause single queues, or flows, of their neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Backpressure {
    /// Backpressure Flow Control (Goyal et al., NSDI 2022).
    Bfc(Bfc),
    /// Original congestion-based fine-grained priority Flow Control (Xiao et al.).
    Ofc(Ofc),
}

/// The parameters of BFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bfc {
    /// Priorities whose queues are paused.
    pub priorities: Priorities,
    /// Queues of each of them at a port, and at a NIC.
    pub queues: u8,
    /// Which of them a flow gets.
    pub assignment: Assignment,
    /// Entries of an egress port's flow table for each of its queues (Section 3.3.1).
    pub flow_table: u32,
    /// Part of the packets that are counted, above zero (Appendix A.8).
    pub sampling: Probability,
    /// Whether hosts label packets of incasts, which switches keep in one queue (Appendix A.7).
    pub incast_labels: bool,
    /// HRTT in the pause threshold; `None`: that of the switch's longest link.
    #[serde(
        serialize_with = "quantity::serialize_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub threshold: Option<Picos>,
    /// How long a flow without packets in a switch keeps its queue; `None`: two round trips of the longest link.
    #[serde(
        serialize_with = "quantity::serialize_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub sticky: Option<Picos>,
    /// Time from one bitmap of the paused queues to the next; `None`: 10 us, or as long as bitmaps take a hundredth of the
    /// slowest port.
    #[serde(
        serialize_with = "quantity::serialize_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub bitmap_period: Option<Picos>,
    /// Whether packets that come down and go up again pause nothing, so that no pauses wait in a circle (Appendix B).
    pub prevent_deadlocks: bool,
}

/// Which queue of its priority a flow gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// An empty one, if there is one, as long as it has packets in the switch.
    #[default]
    Dynamic,
    /// That of its hash.
    Stochastic,
}

/// How switches pause single queues, or flows, of their neighbours.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum BackpressureKeys {
    /// Backpressure Flow Control (BFC; Goyal et al., NSDI 2022): flows get queues of their own, and a switch pauses the
    /// queue at its neighbour from which a flow comes whose own queue is too long. Lossless priorities are
    /// protected by PFC beneath it; packets of lossy ones are dropped where buffer runs out.
    Bfc {
        /// Priorities whose queues are paused; not `control_priority` nor the priority of ACKs or CNPs. Default [3].
        #[serde(default = "default_priorities")]
        priorities: Priorities,
        /// Egress queues of each of these priorities at a port, and at a NIC, where each flow gets one; at most 128 for
        /// all. Default 32.
        #[serde(default = "default_queues")]
        #[schemars(range(min = 1, max = 128))]
        queues: u32,
        /// Which queue a flow gets. "dynamic": an empty one as long as there is one, and the flow keeps it while it has
        /// packets in the switch. "stochastic": that of its hash. With `queues = 1` there is no choice. Default "dynamic".
        #[serde(default)]
        assignment: Assignment,
        /// Entries of the flow table for each queue of a port, from 1 up; flows that share an entry share a queue.
        /// Default 100.
        #[serde(default = "default_flow_table")]
        #[schemars(range(min = 1))]
        flow_table: u32,
        /// Part of the packets that a switch counts in its flow table and pause counters, above 0, up to 1; a packet that
        /// is not counted cannot pause, and packets of one flow may overtake each other. Default 1.
        #[serde(default = "all_packets")]
        sampling: Probability,
        /// Whether hosts label the packets of incasts of several senders (kinds "incast", "periodic-incast" and "poisson-incast" of
        /// `[[flows]]`) by a DSCP that is 1 above their priority's, and all of these at a port share the last of its
        /// `queues`, which no other flow gets. Default false.
        #[serde(default)]
        incast_labels: bool,
        /// A queue pauses those that feed it when it holds more than what it drains in this time, at an equal share of
        /// its port's rate for each active queue. Below the time of a packet, each packet pauses. Default: the longest
        /// round trip over a link of the switch, of a packet and the pause that answers it.
        threshold: Option<Time>,
        /// How long a flow that has no packets left in a switch keeps its queue there. Default: two such round trips.
        sticky: Option<Time>,
        /// Time from one bitmap of paused queues to the next, which every port sends to its neighbour so that lost pauses
        /// and resumes do no lasting harm; bitmaps take a tenth of any port at most. Default "10us", or longer so that they
        /// take a hundredth.
        bitmap_period: Option<Time>,
        /// Whether pauses can never wait for each other in a circle, whatever routes say: packets that come to a switch
        /// from a higher one and go on to a higher one pause nothing there (Appendix B), and where their priority is
        /// lossy they may be dropped. Of two switches the one further from hosts is higher; of two that are equally far, the
        /// one nearer to the first of the highest switches; and then the first. `xoff inspect` shows which turns these
        /// are. PFC beneath is not changed. Default false: the shortest paths of a Clos network without failures never go
        /// down and up again.
        #[serde(default)]
        prevent_deadlocks: bool,
    },
    /// Original congestion-based fine-grained priority Flow Control (OFC; Xiao et al.): a switch where flows meet congestion
    /// tells its neighbour which these are, and the neighbour keeps their packets in a backup queue while others pass. Where
    /// congestion has come from behind a port, only the flows are named that this port's neighbour has named. From `xoff`
    /// on PFC pauses the class. Needs `threshold` of kind "static".
    Ofc {
        /// Priorities whose flows are paused, lossless ones, not `control_priority`; each has three queues at a port. Default
        /// [3].
        #[serde(default = "default_priorities")]
        priorities: Priorities,
        /// Flows are paused when their ingress queue and their egress queue hold this part of `threshold.xoff`: above
        /// `xon` / `xoff`, below 1. Default "9/10".
        alpha: Option<Ratio>,
        /// The same as a size, instead of `alpha`: above `threshold.xon`, below `threshold.xoff`.
        congested: Option<Size>,
        /// Flows that a switch can tell apart at an egress port, 1 to 4096; where that is not enough it pauses the class. Default
        /// 256.
        #[serde(default = "ofc::default_flow_table")]
        #[schemars(range(min = 1, max = 4096))]
        flow_table: u32,
        /// Time after which a switch names the flows again that it has paused, "10us" or more; its neighbours forget flows
        /// that were not named for three such times. So lost frames do no lasting harm. Default: never, as in the paper.
        repeat: Option<Time>,
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

/// A bitmap's period where ports are fast enough.
const BITMAP_PERIOD: Picos = Picos(10_000_000);

impl BackpressureKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<Backpressure, ScenarioError> {
        if let Self::Ofc { priorities, alpha, congested, flow_table, repeat } = self {
            let repeat = repeat.map(|Quantity(time)| time);
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
        if threshold == Some(Quantity(Picos::ZERO)) {
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
            threshold: threshold.map(|Quantity(time)| time),
            sticky: sticky.map(|Quantity(time)| time),
            bitmap_period: bitmap_period.map(|Quantity(time)| time),
            prevent_deadlocks,
        }))
    }
}

impl Backpressure {
    /// The priorities whose queues or flows are paused.
    pub const fn priorities(&self) -> Priorities {
        let (Self::Bfc(Bfc { priorities, .. }) | Self::Ofc(Ofc { priorities, .. })) = self;
        *priorities
    }

    /// The queues of its priorities, as [`Switch::flow_queues`] has those of others.
    pub(super) fn flow_queues(&self) -> impl Iterator<Item = FlowQueues> {
        let (priorities, queues) = match *self {
            Self::Bfc(Bfc { priorities, queues, .. }) => (priorities, queues),
            Self::Ofc(Ofc { priorities, .. }) => (priorities, QUEUES),
        };
        priorities.iter().map(move |priority| FlowQueues { priority, queues })
    }
}

impl Switch {
    /// Whether it pauses single queues of its neighbours.
    pub const fn pauses_queues(&self) -> bool {
        matches!(self.backpressure, Some(Backpressure::Bfc(_)))
    }

    /// What its flows are paused by, if they are.
    pub const fn ofc(&self) -> Option<&Ofc> {
        match &self.backpressure {
            Some(Backpressure::Ofc(ofc)) => Some(ofc),
            _ => None,
        }
    }

    /// The priorities with several egress queues at a port, and those that backpressure pauses; each once.
    pub fn spread(&self) -> impl Iterator<Item = FlowQueues> {
        let paused = self.backpressure.iter().flat_map(Backpressure::flow_queues);
        paused.chain(self.flow_queues.iter().copied())
    }
}

impl Scenario {
    /// Checks what backpressure has to do with other keys.
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

    /// The scheme of a switch.
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

    /// The order of the fabric's switches by which turns trigger no backpressure, if some do not.
    pub fn deadlock_prevention(&self) -> Option<UpDown> {
        let Backpressure::Bfc(bfc) = self.switch.backpressure? else { return None };
        bfc.prevent_deadlocks.then(|| UpDown::of(&self.fabric))
    }

    /// HRTT of BFC over the link of a switch where it is longest: the longest frame there, and a pause back.
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

    /// Time from one bitmap of paused queues to the next, if switches send some.
    pub fn bitmap_period(&self) -> Option<Picos> {
        let Backpressure::Bfc(bfc) = self.switch.backpressure? else { return None };
        Some(
            bfc.bitmap_period
                .unwrap_or_else(|| BITMAP_PERIOD.max(Picos(100 * self.bitmap_time().0))),
        )
    }

    /// Time from one announcement of switches to the next, if they make some: bitmaps of BFC, flows of OFC.
    pub fn announcement_period(&self) -> Option<Picos> {
        self.switch.ofc().map_or_else(|| self.bitmap_period(), |ofc| ofc.repeat)
    }

    /// Whether hosts label incasts, which have a queue of their own then (Appendix A.7).
    pub fn labels_incasts(&self) -> bool {
        let Some(Backpressure::Bfc(bfc)) = self.switch.backpressure else { return false };
        bfc.incast_labels
    }

    /// Whether packets of a flow say that they are of an incast.
    pub fn labels_as_incast(&self, flow: &Flow) -> bool {
        self.labels_incasts() && is_incast(&self.workloads[flow.workload as usize].workload)
    }

    /// How long a bitmap takes on the slowest link.
    fn bitmap_time(&self) -> Picos {
        let LinkFrames { time, hop_control, .. } = self.link_frames();
        let slowest = self.fabric.wires().iter().map(|wire| wire.rate).min();
        slowest.map_or(Picos::ZERO, |rate| time.serialise(rate, hop_control.into()))
    }
}

/// Whether an entry of `[[flows]]` is one or many incasts, of more than one sender.
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

/// Whether nothing but ACKs that are missing for long keeps a flow from sending.
fn is_unlimited(transport: &Transport) -> bool {
    let paced = matches!(
        transport.congestion_control(),
        CongestionControl::None | CongestionControl::Dcqcn(_) | CongestionControl::Timely(_)
    );
    let roce = matches!(transport, Transport::RoceRc(_));
    roce && paced && transport.window().size == WindowSize::Unlimited
}
