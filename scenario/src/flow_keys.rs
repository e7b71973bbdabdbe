//! `[[flows]]` as a file gives them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::incasts::DegreeKeys;
use super::load::{LoadOf, Sigma};
use super::pairs::PairChoice;
use super::priority::Priority;
use super::quantity::{Size, Time};
use super::queries::{QueryRate, TotalKeys};
use super::ratio::Probability;
use super::sizes::{LengthText, Sizes};
use super::split_flows::GroupKeys;
use super::transport::TransportKeys;

/// What hosts send to each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum WorkloadKeys {
    /// One flow.
    One {
        /// Name of the flow in the results. Default "one".
        label: Option<String>,
        /// The sending host.
        src: String,
        /// The receiving host, another one.
        dst: String,
        /// Bytes to transfer, above zero.
        bytes: Size,
        /// When it starts, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// A flow from each of the senders to one receiver, all at once.
    Incast {
        /// Name of the flows in the results. Default "incast".
        label: Option<String>,
        /// The sending hosts, each named once.
        senders: Vec<String>,
        /// The receiving host, none of the senders.
        receiver: String,
        /// Bytes that each sender transfers, above zero.
        bytes: Size,
        /// When all start, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// The flows of a CSV file with the header `start_ns,src,dst,bytes,priority`, which the columns `path`,
    /// `source_port` and `label` may follow. A path names the switches in order, as in `leaf0>spine1>leaf3`, and switches get
    /// routes for the flow; an empty one is that of other frames. A source port of RoCEv2, 1 to 65535, is what ECMP
    /// hashes; an empty one is chosen by xoff. With both, the port has to lead over the path. A label, of 64 at most, names
    /// the flow in the results. A row without a label has the list's, and `[[routes]]` match the list's label only. `bytes` may be `unlimited`, which
    /// lasts until the run ends.
    List {
        /// Name of the flows in the results. Default: the file's name without its extension.
        label: Option<String>,
        /// Path of the file, relative to the folder of the scenario file.
        file: String,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// A flow from each of the senders to one receiver that lasts until the run ends.
    LongLived {
        /// Name of the flows in the results. Default "long-lived".
        label: Option<String>,
        /// The sending hosts, each named once.
        senders: Vec<String>,
        /// The receiving host, none of the senders.
        receiver: String,
        /// When all start, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// Flows at a load; each sender starts its own as a Poisson process.
    Poisson {
        /// Name of the flows in the results. Default "poisson".
        label: Option<String>,
        /// Payload as a part of the links' rate, above 0, up to 1.
        load: Probability,
        /// Which links `load` is a part of: "host-links" (of the senders, as "sender-links") or
        /// "core-links" (between the two highest tiers of switches). Default "host-links".
        #[serde(default)]
        of: LoadOf,
        /// Flow sizes: a distribution such as "websearch", a size such as "64kB", or a file.
        sizes: Sizes,
        /// Who sends to whom. Default "uniform".
        #[serde(default)]
        pairs: PairChoice,
        /// Flows that a sender starts at once; each draws its own receiver, size and priority.
        /// Default 1.
        batch: Option<u32>,
        /// Flows start from here on. Default "0s".
        #[serde(default)]
        start: Time,
        /// No flow starts from here on. Default: `duration`.
        stop: Option<Time>,
        /// Priority, 0 to 7. Default 3.
        priority: Option<Priority>,
        /// Priorities from which each flow draws one; instead of `priority`.
        priorities: Option<Vec<Priority>>,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// Flows at a load; each sender starts its own with lognormal gaps in between.
    Lognormal {
        /// Name of the flows in the results. Default "lognormal".
        label: Option<String>,
        /// The deviation of the gaps' logarithm, 0.001 to 10; 2 is bursty.
        sigma: Sigma,
        /// Payload as a part of the links' rate, above 0, up to 1.
        load: Probability,
        /// Which links `load` is a part of: "host-links" (of the senders, as "sender-links") or
        /// "core-links" (between the two highest tiers of switches). Default "host-links".
        #[serde(default)]
        of: LoadOf,
        /// Flow sizes: a distribution such as "websearch", a size such as "64kB", or a file.
        sizes: Sizes,
        /// Who sends to whom. Default "uniform".
        #[serde(default)]
        pairs: PairChoice,
        /// Flows that a sender starts at once; each draws its own receiver, size and priority.
        /// Default 1.
        batch: Option<u32>,
        /// Flows start from here on. Default "0s".
        #[serde(default)]
        start: Time,
        /// No flow starts from here on. Default: `duration`.
        stop: Option<Time>,
        /// Priority, 0 to 7. Default 3.
        priority: Option<Priority>,
        /// Priorities from which each flow draws one; instead of `priority`.
        priorities: Option<Vec<Priority>>,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// Incasts at equal distances: at each, `degree` hosts of other racks send to one host at once.
    PeriodicIncast(IncastKeys),
    /// Incasts as a Poisson process: at each, `degree` hosts of other racks send to one host at
    /// once.
    PoissonIncast(IncastKeys),
    /// Each host sends one flow to another one and receives one, all at once.
    Permutation {
        /// Name of the flows in the results. Default "permutation".
        label: Option<String>,
        /// Bytes of each flow, above zero, or "unlimited": until the run ends.
        bytes: LengthText,
        /// When all start, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        priority: Option<Priority>,
        /// Priorities from which each flow draws one; instead of `priority`.
        priorities: Option<Vec<Priority>>,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// Each host sends one flow to every other host, all at once.
    AllToAll {
        /// Name of the flows in the results. Default "all-to-all".
        label: Option<String>,
        /// Bytes of each flow, above zero, or "unlimited": until the run ends.
        bytes: LengthText,
        /// When all start, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        priority: Option<Priority>,
        /// Priorities from which each flow draws one; instead of `priority`.
        priorities: Option<Vec<Priority>>,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
    /// Flows that start at once, divided at random among groups: every way to divide them is equally probable, those in which
    /// a group has none included.
    Split {
        /// Name of the flows in the results. Default "split".
        label: Option<String>,
        /// Flows of all groups together, above zero.
        flows: u32,
        /// At least one, such as `{ from = ["leaf0"], to = ["leaf3"] }`: every flow of a group draws a sender and a receiver.
        groups: Vec<GroupKeys>,
        /// Bytes of each flow, above zero.
        bytes: Size,
        /// When all start, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        priority: Option<Priority>,
        /// Priorities from which each flow draws one; instead of `priority`.
        priorities: Option<Vec<Priority>>,
        /// What carries the flows: as `host.transport`, which is the default.
        transport: Option<TransportKeys>,
    },
}

impl WorkloadKeys {
    /// Takes out what carries its flows.
    pub(super) fn take_transport(&mut self) -> Option<TransportKeys> {
        match self {
            Self::One { transport, .. }
            | Self::Incast { transport, .. }
            | Self::List { transport, .. }
            | Self::LongLived { transport, .. }
            | Self::Poisson { transport, .. }
            | Self::Lognormal { transport, .. }
            | Self::Permutation { transport, .. }
            | Self::AllToAll { transport, .. }
            | Self::Split { transport, .. } => transport.take(),
            Self::PeriodicIncast(keys) | Self::PoissonIncast(keys) => keys.transport.take(),
        }
    }
}

const fn default_priority() -> Priority {
    Priority(3)
}

/// Many incasts, one after the other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IncastKeys {
    /// Name of the flows in the results. Default: the kind.
    pub(super) label: Option<String>,
    /// Senders of an incast, drawn anew for each: a number, or { least = 1, most = 15 }, between
    /// which each incast draws its own.
    pub(super) degree: DegreeKeys,
    /// Bytes of each flow, above zero.
    pub(super) bytes: Option<Size>,
    /// Sizes from which each flow draws its own, such as "hadoop"; instead of `bytes`.
    pub(super) sizes: Option<Sizes>,
    /// Bytes of an incast, divided evenly among its flows, what is left over dropped; `degree` is a number. A size such as
    /// "1MB", or { `of_buffer` = 0.3 }: this part, above 0 and up to 1, of the buffer of the receiver's switch. Instead of
    /// `bytes` and `sizes`.
    pub(super) total: Option<TotalKeys>,
    /// Flows of an incast, dealt to its senders in turn. Default: one for each sender.
    pub(super) flows: Option<u32>,
    /// Time from one incast to the next, the mean of it if they are random; instead of `load`
    /// and `rate`.
    pub(super) period: Option<Time>,
    /// Incasts a second that each receiver gets, 0.001 to 1000000, as if each asked for them by a process of its own:
    /// queries. Instead of `period` and `load`.
    pub(super) rate: Option<QueryRate>,
    /// Payload as a part of the links' rate, above 0, up to 1; instead of `period` and `rate`.
    pub(super) load: Option<Probability>,
    /// Which links `load` is a part of: "host-links" (of the receivers), "sender-links" or
    /// "core-links" (between the two highest tiers of switches). Default "host-links".
    pub(super) of: Option<LoadOf>,
    /// The receiving host. Default: each incast draws one.
    pub(super) receiver: Option<String>,
    /// Hosts from which each incast draws its receiver, by name; a switch's name stands for its
    /// hosts. Instead of `receiver`. Default: all.
    pub(super) receivers: Option<Vec<String>>,
    /// Hosts from which each incast draws its senders, by name; a switch's name stands for its hosts.
    /// Default: all.
    pub(super) senders: Option<Vec<String>>,
    /// Whether hosts of the receiver's rack send to it as well; in a fabric of one rack they do.
    /// Default false.
    #[serde(default)]
    pub(super) own_rack: bool,
    /// Whether all senders are of the rack after the receiver's, in the order of the switches, as in ABM's simulator;
    /// those of the first send to the last. Default false.
    #[serde(default)]
    pub(super) next_rack: bool,
    /// Incasts come from here on. Default "0s".
    #[serde(default)]
    pub(super) start: Time,
    /// No incast from here on. Default: `duration`.
    pub(super) stop: Option<Time>,
    /// Priority, 0 to 7. Default 3.
    pub(super) priority: Option<Priority>,
    /// Priorities from which each flow draws one; instead of `priority`.
    pub(super) priorities: Option<Vec<Priority>>,
    /// What carries the flows: as `host.transport`, which is the default.
    pub(super) transport: Option<TransportKeys>,
}
