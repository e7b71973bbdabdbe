//! Kinds of `switch.lossy`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::alphas::{self, AlphaOfPriority, check_alpha, default_alpha};
use super::codel::CoDel;
use super::congested::Congested;
use super::flow_table::FlowTable;
use super::intelligent::{FairDropping, FairShares, Prioritisation};
use super::period::LossyPeriod;
use super::pool::LossyPool;
use crate::document::Document;
use crate::kind::by_kind;
use crate::priority::Priorities;
use crate::ratio::Ratio;
use crate::report::ScenarioError;
use crate::schema::{in_words, without_default_tables};

/// Sharing of the buffer by packets of lossy priorities: the rule that drops packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "LossyKeys")]
pub enum Lossy {
    /// Dynamic threshold: an egress queue may hold alpha x free buffer.
    Dt(Dt),
    /// Complete sharing: an egress queue may hold all free buffer.
    Cs(Cs),
    /// Active Buffer Management (Addanki et al., SIGCOMM 2022): an egress queue may hold alpha / (congested queues of its
    /// priority) x (its drain rate / rate of the port) x free buffer.
    Abm(Abm),
    /// BSHARE (Agarwal et al.): an egress queue may hold all free buffer. A packet that has waited for alpha x free
    /// buffer / (congested queues of its priority x rate of the port) is dropped when its turn comes.
    Bshare(Bshare),
    /// Flow-Aware Buffer (Apostolaki et al., 2019): "dt" with another alpha for packets of short flows.
    Fab(Fab),
    /// Cisco's Intelligent Buffer: "dt" with approximate fair dropping and, optionally, dynamic packet prioritisation.
    Ib(Ib),
}

by_kind!(Lossy);

/// Parameters of the dynamic threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Dt {
    /// alpha: limit of a queue as a ratio of the free buffer, above zero, at most 65536. Default "1".
    #[serde(default = "default_alpha")]
    pub alpha: Ratio,
    /// Priorities with another alpha, such as [{ priority = 1, alpha = "1/8" }]. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alphas: Vec<AlphaOfPriority>,
    /// Part of the buffer that lossy packets may use. "shared": the shared pool, together with lossless packets. A
    /// size: a separate pool, which every switch takes from its buffer without headroom and private pools. Default
    /// "shared".
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub pool: LossyPool,
    /// AQM that also drops packets, at departure: Controlled Delay (RFC 8289). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
}

/// Parameters of complete sharing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Cs {
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    pub pool: LossyPool,
    /// AQM at departure, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
}

/// Parameters of ABM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Abm {
    /// alpha of all lossy priorities; a ratio above zero, at most 65536. The paper evaluates with "1/2". Default "1".
    pub alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alphas: Vec<AlphaOfPriority>,
    /// alpha of packets of their flow's first round trip, which senders mark (`first_rtt_marks` of a transport); at
    /// most 65536. The simulator of the paper's authors uses 1024. Default: alpha of other packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rtt_alpha: Option<Ratio>,
    /// Condition under which a queue counts as congested. Default { of_threshold = "9/10" }.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congested: Option<Congested>,
    /// Period in which congested queues are counted and drain rates measured: "round-trip" or a time. "round-trip" is
    /// the longest round trip of the fabric without queues, for a longest frame each way. At least "1us". Default
    /// "round-trip".
    #[schemars(skip_serializing_if = "in_words")]
    pub period: LossyPeriod,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    #[schemars(skip_serializing_if = "in_words")]
    pub pool: LossyPool,
    /// AQM at departure, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
}

/// Parameters of BSHARE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Bshare {
    /// alpha of all lossy priorities; a ratio above zero, at most 65536. Default "1".
    pub alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alphas: Vec<AlphaOfPriority>,
    /// alpha of packets of their flow's first round trip, which senders mark (`first_rtt_marks` of a transport); at
    /// most 65536. Default: alpha of other packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rtt_alpha: Option<Ratio>,
    /// Condition under which a queue counts as congested. The paper says "when its length nears its threshold", and
    /// then "at least 90% of the overall buffer space". The latter can hold for one queue at a time only, so that `c_p`
    /// would always be 1. Default { of_threshold = "9/10" }.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congested: Option<Congested>,
    /// Period in which congested queues are counted: "round-trip" or a time. "round-trip" is the longest round trip of
    /// the fabric without queues, for a longest frame each way. At least "1us". Default "round-trip".
    #[schemars(skip_serializing_if = "in_words")]
    pub period: LossyPeriod,
    /// Bytes that must wait behind a packet in its queue before it may be dropped for its wait (`MinBytes`). Less than
    /// the buffer of lossy packets. The paper gives no value. Default "0B".
    pub min_bytes: Bytes,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    #[schemars(skip_serializing_if = "in_words")]
    pub pool: LossyPool,
    /// AQM at departure, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
}

/// Parameters of FAB. Defaults are from the simulator of ABM's authors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline, transform = without_default_tables)]
pub struct Fab {
    /// alpha of packets of flows that are not short; a ratio above zero, at most 65536. Default "1".
    pub alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alphas: Vec<AlphaOfPriority>,
    /// alpha of packets of short flows, for all priorities; at most 65536. Default 1024.
    pub short_alpha: Ratio,
    /// Bytes up to which a flow is short, since its last silence; above zero. Counted on the wire without FCS,
    /// including dropped packets. Default "21kB".
    pub short_bytes: Bytes,
    /// Table in which bytes of flows are counted.
    pub flow_table: FlowTable,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    #[schemars(skip_serializing_if = "in_words")]
    pub pool: LossyPool,
    /// AQM at departure, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
}

/// Parameters of IB. Defaults are from the simulator of ABM's authors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline, transform = without_default_tables)]
pub struct Ib {
    /// alpha of all lossy priorities, as for "dt". Default "1".
    pub alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alphas: Vec<AlphaOfPriority>,
    /// Approximate fair dropping (AFD).
    pub fair_dropping: FairDropping,
    /// Dynamic packet prioritisation (DPP): the first packets of flows join the queue of another priority. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prioritisation: Option<Prioritisation>,
    /// Table in which flows are counted, for `shares = "elephants"` and prioritised packets.
    pub flow_table: FlowTable,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    #[schemars(skip_serializing_if = "in_words")]
    pub pool: LossyPool,
    /// AQM at departure, as for "dt". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
}

impl Default for Dt {
    fn default() -> Self {
        Self { alpha: default_alpha(), alphas: Vec::new(), codel: None, pool: LossyPool::default() }
    }
}

impl Default for Fab {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            short_alpha: Ratio::new(1024, 1),
            short_bytes: Bytes(21_000),
            flow_table: FlowTable::default(),
            pool: LossyPool::default(),
            codel: None,
        }
    }
}

impl Default for Ib {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            fair_dropping: FairDropping::default(),
            prioritisation: None,
            flow_table: FlowTable::default(),
            pool: LossyPool::default(),
            codel: None,
        }
    }
}

impl Default for Abm {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            first_rtt_alpha: None,
            congested: None,
            period: LossyPeriod::default(),
            pool: LossyPool::default(),
            codel: None,
        }
    }
}

impl Default for Bshare {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            first_rtt_alpha: None,
            min_bytes: Bytes::default(),
            congested: None,
            period: LossyPeriod::default(),
            pool: LossyPool::default(),
            codel: None,
        }
    }
}

impl Default for Lossy {
    fn default() -> Self {
        Self::Dt(Dt::default())
    }
}

impl Lossy {
    /// Adds defaults, and checks the keys.
    pub(crate) fn complete(
        &mut self,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.lossy.{key}"), title, help))
        };
        if let Some((alpha, entries)) = self.alphas() {
            alphas::check(alpha, entries, lossless, document)?;
        }
        if let Self::Abm(Abm { first_rtt_alpha, congested, .. })
        | Self::Bshare(Bshare { first_rtt_alpha, congested, .. }) = self
        {
            if let Some(alpha) = *first_rtt_alpha {
                check_alpha("switch.lossy.first_rtt_alpha", alpha, document)?;
            }
            congested.get_or_insert(Congested::USUAL).check(document)?;
        }
        match self {
            Self::Fab(fab) => {
                check_alpha("switch.lossy.short_alpha", fab.short_alpha, document)?;
                if fab.short_bytes == Bytes(0) {
                    let help =
                        "no flow would be short: write a size such as \"21kB\", or kind = \"dt\"";
                    return wrong("short_bytes", "a short flow of no bytes", help);
                }
                fab.flow_table.check(document)?;
            }
            Self::Ib(ib) => {
                ib.fair_dropping.check(document)?;
                if let Some(prioritisation) = ib.prioritisation {
                    prioritisation.check(lossless, document)?;
                } else if ib.fair_dropping.shares == FairShares::Off {
                    let help = "add `prioritisation`, or write kind = \"dt\"";
                    let title = "IB without fair dropping and prioritisation";
                    return wrong("fair_dropping.shares", title, help);
                }
                ib.flow_table.check(document)?;
            }
            Self::Dt(_) | Self::Cs(_) | Self::Abm(_) | Self::Bshare(_) => {}
        }
        match self {
            Self::Dt(Dt { codel, .. })
            | Self::Cs(Cs { codel, .. })
            | Self::Abm(Abm { codel, .. })
            | Self::Bshare(Bshare { codel, .. })
            | Self::Fab(Fab { codel, .. })
            | Self::Ib(Ib { codel, .. }) => {
                codel.as_mut().map_or(Ok(()), |codel| codel.complete(document))
            }
        }
    }
}
