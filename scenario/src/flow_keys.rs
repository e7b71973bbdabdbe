//! Kinds of `[[flows]]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use units::{Bytes, Picos};

use super::incasts::ManyIncasts;
use super::kind::by_kind;
use super::load::{LoadOf, Sigma};
use super::pairs::PairChoice;
use super::priority::Priority;
use super::ratio::Probability;
use super::sizes::{LengthText, Sizes};
use super::split_flows::Group;
use super::transport::TransportKeys;

/// Traffic between hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "WorkloadKeys")]
pub enum Workload {
    /// One flow.
    One {
        /// Name of the flow in the results. Default "one".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The sending host.
        src: String,
        /// The receiving host, different from `src`.
        dst: String,
        /// Bytes to transfer, above zero.
        bytes: Bytes,
        /// Start time, before `duration`. Default "0s".
        #[serde(default)]
        start: Picos,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
        /// Transport of the flow, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// One flow from each sender to one receiver, all at once.
    Incast {
        /// Name of the flows in the results. Default "incast".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The receiving host, not one of the senders.
        senders: Vec<String>,
        /// The receiving host, none of the senders.
        receiver: String,
        /// Bytes of each flow, above zero.
        bytes: Bytes,
        /// Start time of all flows, before `duration`. Default "0s".
        #[serde(default)]
        start: Picos,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// The flows of a CSV file. Its header is `start_ns,src,dst,bytes,priority`; the columns `path`, `source_port` and
    /// `label` may follow. `bytes` may be `unlimited`: the flow lasts until the run ends. `path` names switches in
    /// order, as in `leaf0>spine1>leaf3`, and switches get routes for the flow; if empty, the flow takes the usual
    /// routes. `source_port` is the UDP port of a RoCEv2 flow, 1 to 65535, which ECMP hashes; if empty, xoff chooses
    /// it. A row with both needs a port that leads over the path. `label` names the flow in the results, with at most
    /// 64 different labels; if empty, the flow has the list's label. `[[routes]]` match the list's label only.
    List {
        /// Name of the flows in the results. Default: the file's name without its extension.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Path of the file, relative to the folder of the scenario file.
        file: String,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// One flow from each sender to one receiver, which lasts until the run ends.
    LongLived {
        /// Name of the flows in the results. Default "long-lived".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The sending hosts, each named once.
        senders: Vec<String>,
        /// The receiving host, not one of the senders.
        receiver: String,
        /// Start time of all flows, before `duration`. Default "0s".
        #[serde(default)]
        start: Picos,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// Flows at a load. Each sender starts its flows as a Poisson process.
    Poisson {
        /// Name of the flows in the results. Default "poisson".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Payload as a fraction of the links' rate, above 0, up to 1.
        load: Probability,
        /// Links that `load` is a fraction of: "host-links" (of the senders, as "sender-links") or "core-links"
        /// (between the two highest tiers of switches). Default "host-links".
        #[serde(default)]
        of: LoadOf,
        /// Flow sizes: a distribution such as "websearch", a size such as "64kB", or a file.
        sizes: Sizes,
        /// Pairs of senders and receivers. Default "uniform".
        #[serde(default)]
        pairs: PairChoice,
        /// Flows that a sender starts at once; each draws a receiver, a size and a priority. Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        batch: Option<u32>,
        /// Start of the time span in which flows start. Default "0s".
        #[serde(default)]
        start: Picos,
        /// End of the time span in which flows start. Default: `duration`.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Picos>,
        /// Priority, 0 to 7. Default 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Priorities from which each flow draws one, instead of `priority`.
        #[serde(skip_serializing_if = "Option::is_none")]
        priorities: Option<Vec<Priority>>,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// Flows at a load. Each sender starts its flows with lognormal gaps in between.
    Lognormal {
        /// Standard deviation of the gaps' logarithm, 0.001 to 10; 2 is bursty.
        sigma: Sigma,
        /// Name of the flows in the results. Default "lognormal".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Payload as a fraction of the links' rate, above 0, up to 1.
        load: Probability,
        /// Links that `load` is a fraction of: "host-links" (of the senders, as "sender-links") or "core-links"
        /// (between the two highest tiers of switches). Default "host-links".
        #[serde(default)]
        of: LoadOf,
        /// Flow sizes: a distribution such as "websearch", a size such as "64kB", or a file.
        sizes: Sizes,
        /// Pairs of senders and receivers. Default "uniform".
        #[serde(default)]
        pairs: PairChoice,
        /// Flows that a sender starts at once; each draws a receiver, a size and a priority. Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        batch: Option<u32>,
        /// Start of the time span in which flows start. Default "0s".
        #[serde(default)]
        start: Picos,
        /// End of the time span in which flows start. Default: `duration`.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Picos>,
        /// Priority, 0 to 7. Default 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Priorities from which each flow draws one, instead of `priority`.
        #[serde(skip_serializing_if = "Option::is_none")]
        priorities: Option<Vec<Priority>>,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// Incasts at equal intervals. In each, `degree` hosts of other racks send to one host at once.
    PeriodicIncast(ManyIncasts),
    /// Incasts as a Poisson process. In each, `degree` hosts of other racks send to one host at once.
    PoissonIncast(ManyIncasts),
    /// Each host sends one flow to another host and receives one, all at once.
    Permutation {
        /// Name of the flows in the results. Default "permutation".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Bytes of each flow, above zero, or "unlimited": until the run ends.
        bytes: LengthText,
        /// Start time of all flows, before `duration`. Default "0s".
        #[serde(default)]
        start: Picos,
        /// Priority, 0 to 7. Default 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Priorities from which each flow draws one, instead of `priority`.
        #[serde(skip_serializing_if = "Option::is_none")]
        priorities: Option<Vec<Priority>>,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// Each host sends one flow to every other host, all at once.
    AllToAll {
        /// Name of the flows in the results. Default "all-to-all".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Bytes of each flow, above zero, or "unlimited": until the run ends.
        bytes: LengthText,
        /// Start time of all flows, before `duration`. Default "0s".
        #[serde(default)]
        start: Picos,
        /// Priority, 0 to 7. Default 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Priorities from which each flow draws one, instead of `priority`.
        #[serde(skip_serializing_if = "Option::is_none")]
        priorities: Option<Vec<Priority>>,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
    /// Flows that start at once and are divided among groups at random. All divisions are equally probable, including
    /// ones with empty groups.
    Split {
        /// Name of the flows in the results. Default "split".
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Number of flows of all groups together, above zero.
        flows: u32,
        /// One or more groups, such as `{ from = ["leaf0"], to = ["leaf3"] }`. Each flow of a group draws a sender and
        /// a receiver.
        groups: Vec<Group>,
        /// Bytes of each flow, above zero.
        bytes: Bytes,
        /// Start time of all flows, before `duration`. Default "0s".
        #[serde(default)]
        start: Picos,
        /// Priority, 0 to 7. Default 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        priority: Option<Priority>,
        /// Priorities from which each flow draws one, instead of `priority`.
        #[serde(skip_serializing_if = "Option::is_none")]
        priorities: Option<Vec<Priority>>,
        /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
        #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
        transport: Option<TransportKeys>,
    },
}

by_kind!(Workload);

/// Writes a key that the scenario has elsewhere, and that is always `None` here.
#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
pub(super) fn unwritten<T, S: Serializer>(_: &Option<T>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_none()
}

impl Workload {
    /// Returns the label of the workload's flows.
    pub fn label(&self) -> &str {
        match self {
            Self::PeriodicIncast(incasts) | Self::PoissonIncast(incasts) => incasts.label(),
            Self::One { label, .. }
            | Self::Incast { label, .. }
            | Self::List { label, .. }
            | Self::LongLived { label, .. }
            | Self::Poisson { label, .. }
            | Self::Lognormal { label, .. }
            | Self::Permutation { label, .. }
            | Self::AllToAll { label, .. }
            | Self::Split { label, .. } => label.as_deref().expect("a scenario has all defaults"),
        }
    }

    /// Takes the transport out of the keys.
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
