//! Keys of `switch.lossy`.

use schemars::JsonSchema;
use serde::Deserialize;
use units::Bytes;

use super::alphas::{AlphaOfPriorityKeys, Alphas, check_alpha, default_alpha};
use super::codel::CoDelKeys;
use super::congested::CongestedKeys;
use super::flow_table::FlowTable;
use super::intelligent::{FairDropping, FairShares, Prioritisation};
use super::period::PeriodKeys;
use super::pool::PoolKeys;
use super::{BufferManagement, Counting, Lossy};
use crate::document::Document;
use crate::priority::Priorities;
use crate::ratio::Ratio;
use crate::report::ScenarioError;
use crate::schema::without_default_tables;

/// Sharing of the buffer by packets of lossy priorities: the rule that drops packets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum LossyKeys {
    /// Dynamic threshold: an egress queue may hold alpha x free buffer.
    Dt {
        /// alpha: limit of a queue as a ratio of the free buffer, above zero, at most 65536. Default "1".
        #[serde(default = "default_alpha")]
        alpha: Ratio,
        /// Priorities with another alpha, such as [{ priority = 1, alpha = "1/8" }]. Default: none.
        #[serde(default)]
        alphas: Vec<AlphaOfPriorityKeys>,
        /// Part of the buffer that lossy packets may use. "shared": the shared pool, together with lossless packets. A
        /// size: a separate pool, which every switch takes from its buffer without headroom and private pools. Default
        /// "shared".
        #[serde(default)]
        pool: PoolKeys,
        /// AQM that also drops packets, at departure: Controlled Delay (RFC 8289). Default: none.
        codel: Option<CoDelKeys>,
    },
    /// Complete sharing: an egress queue may hold all free buffer.
    Cs {
        /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
        #[serde(default)]
        pool: PoolKeys,
        /// AQM at departure, as for "dt". Default: none.
        codel: Option<CoDelKeys>,
    },
    /// Active Buffer Management (Addanki et al., SIGCOMM 2022): an egress queue may hold alpha / (congested queues of its
    /// priority) x (its drain rate / rate of the port) x free buffer.
    Abm(AbmKeys),
    /// BSHARE (Agarwal et al.): an egress queue may hold all free buffer. A packet that has waited for alpha x free
    /// buffer / (congested queues of its priority x rate of the port) is dropped when its turn comes.
    Bshare(BshareKeys),
    /// Flow-Aware Buffer (Apostolaki et al., 2019): "dt" with another alpha for packets of short flows.
    Fab(FabKeys),
    /// Cisco's Intelligent Buffer: "dt" with approximate fair dropping and, optionally, dynamic packet prioritisation.
    Ib(IbKeys),
}

/// Parameters of ABM.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct AbmKeys {
    /// alpha of all lossy priorities; a ratio above zero, at most 65536. The paper evaluates with "1/2". Default "1".
    alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    alphas: Vec<AlphaOfPriorityKeys>,
    /// alpha of packets of their flow's first round trip, which senders mark (`first_rtt_marks` of a transport); at
    /// most 65536. The simulator of the paper's authors uses 1024. Default: alpha of other packets.
    first_rtt_alpha: Option<Ratio>,
    /// Condition under which a queue counts as congested. Default { of_threshold = "9/10" }.
    congested: Option<CongestedKeys>,
    /// Period in which congested queues are counted and drain rates measured: "round-trip" or a time. "round-trip" is
    /// the longest round trip of the fabric without queues, for a longest frame each way. At least "1us". Default
    /// "round-trip".
    period: PeriodKeys,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    pool: PoolKeys,
    /// AQM at departure, as for "dt". Default: none.
    codel: Option<CoDelKeys>,
}

/// Parameters of BSHARE.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct BshareKeys {
    /// alpha of all lossy priorities; a ratio above zero, at most 65536. Default "1".
    alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    alphas: Vec<AlphaOfPriorityKeys>,
    /// alpha of packets of their flow's first round trip, which senders mark (`first_rtt_marks` of a transport); at
    /// most 65536. Default: alpha of other packets.
    first_rtt_alpha: Option<Ratio>,
    /// Bytes that must wait behind a packet in its queue before it may be dropped for its wait (`MinBytes`). Less than
    /// the buffer of lossy packets. The paper gives no value. Default "0B".
    min_bytes: Bytes,
    /// Condition under which a queue counts as congested. The paper says "when its length nears its threshold", and
    /// then "at least 90% of the overall buffer space". The latter can hold for one queue at a time only, so that `c_p`
    /// would always be 1. Default { of_threshold = "9/10" }.
    congested: Option<CongestedKeys>,
    /// Period in which congested queues are counted: "round-trip" or a time. "round-trip" is the longest round trip of
    /// the fabric without queues, for a longest frame each way. At least "1us". Default "round-trip".
    period: PeriodKeys,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    pool: PoolKeys,
    /// AQM at departure, as for "dt". Default: none.
    codel: Option<CoDelKeys>,
}

/// Parameters of FAB. Defaults are from the simulator of ABM's authors.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline, transform = without_default_tables)]
pub struct FabKeys {
    /// alpha of packets of flows that are not short; a ratio above zero, at most 65536. Default "1".
    alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    alphas: Vec<AlphaOfPriorityKeys>,
    /// alpha of packets of short flows, for all priorities; at most 65536. Default 1024.
    short_alpha: Ratio,
    /// Bytes up to which a flow is short, since its last silence; above zero. Counted on the wire without FCS,
    /// including dropped packets. Default "21kB".
    short_bytes: Bytes,
    /// Table in which bytes of flows are counted.
    flow_table: FlowTable,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    pool: PoolKeys,
    /// AQM at departure, as for "dt". Default: none.
    codel: Option<CoDelKeys>,
}

/// Parameters of IB. Defaults are from the simulator of ABM's authors.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline, transform = without_default_tables)]
pub struct IbKeys {
    /// alpha of all lossy priorities, as for "dt". Default "1".
    alpha: Ratio,
    /// Priorities with another alpha, as for "dt". Default: none.
    alphas: Vec<AlphaOfPriorityKeys>,
    /// Approximate fair dropping (AFD).
    fair_dropping: FairDropping,
    /// Dynamic packet prioritisation (DPP): the first packets of flows join the queue of another priority. Default: none.
    prioritisation: Option<Prioritisation>,
    /// Table in which flows are counted, for `shares = "elephants"` and prioritised packets.
    flow_table: FlowTable,
    /// Part of the buffer that lossy packets may use, as for "dt". Default "shared".
    pool: PoolKeys,
    /// AQM at departure, as for "dt". Default: none.
    codel: Option<CoDelKeys>,
}

impl Default for FabKeys {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            short_alpha: Ratio::new(1024, 1),
            short_bytes: Bytes(21_000),
            flow_table: FlowTable::default(),
            pool: PoolKeys::default(),
            codel: None,
        }
    }
}

impl Default for IbKeys {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            fair_dropping: FairDropping::default(),
            prioritisation: None,
            flow_table: FlowTable::default(),
            pool: PoolKeys::default(),
            codel: None,
        }
    }
}

impl Default for AbmKeys {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            first_rtt_alpha: None,
            congested: None,
            period: PeriodKeys::default(),
            pool: PoolKeys::default(),
            codel: None,
        }
    }
}

impl Default for BshareKeys {
    fn default() -> Self {
        Self {
            alpha: default_alpha(),
            alphas: Vec::new(),
            first_rtt_alpha: None,
            min_bytes: Bytes::default(),
            congested: None,
            period: PeriodKeys::default(),
            pool: PoolKeys::default(),
            codel: None,
        }
    }
}

impl Default for LossyKeys {
    fn default() -> Self {
        Self::Dt {
            alpha: default_alpha(),
            alphas: Vec::new(),
            pool: PoolKeys::default(),
            codel: None,
        }
    }
}

impl LossyKeys {
    pub(crate) fn resolve(
        self,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<Lossy, ScenarioError> {
        let alphas_of = |alpha, alphas| Alphas::resolve(alpha, alphas, lossless, document);
        let counting = |first_rtt_alpha: Option<Ratio>,
                        congested: Option<CongestedKeys>,
                        period: PeriodKeys| {
            if let Some(alpha) = first_rtt_alpha {
                check_alpha("switch.lossy.first_rtt_alpha", alpha, document)?;
            }
            let congested = congested.map(|keys| keys.resolve(document)).transpose()?;
            let (congested, period) = (congested.unwrap_or_default(), period.resolve(document)?);
            Ok(Counting { first_rtt_alpha, congested, period })
        };
        let (management, pool, codel) = match self {
            Self::Dt { alpha, alphas, pool, codel } => {
                (BufferManagement::Dt(alphas_of(alpha, alphas)?), pool, codel)
            }
            Self::Cs { pool, codel } => (BufferManagement::Cs, pool, codel),
            Self::Fab(keys) => {
                let FabKeys { alpha, alphas, short_alpha, flow_table, pool, codel, .. } = keys;
                let alphas = alphas_of(alpha, alphas)?;
                check_alpha("switch.lossy.short_alpha", short_alpha, document)?;
                let short_bytes = keys.short_bytes;
                if short_bytes == Bytes(0) {
                    let help =
                        "no flow would be short: write a size such as \"21kB\", or kind = \"dt\"";
                    let at = "switch.lossy.short_bytes";
                    return Err(document.error(at, "a short flow of no bytes", help));
                }
                flow_table.check(document)?;
                let of = BufferManagement::Fab { alphas, short_alpha, short_bytes, flow_table };
                (of, pool, codel)
            }
            Self::Ib(keys) => {
                let IbKeys {
                    alpha,
                    alphas,
                    fair_dropping,
                    prioritisation,
                    flow_table,
                    pool,
                    codel,
                } = keys;
                let alphas = alphas_of(alpha, alphas)?;
                fair_dropping.check(document)?;
                if let Some(prioritisation) = prioritisation {
                    prioritisation.check(lossless, document)?;
                }
                if fair_dropping.shares == FairShares::Off && prioritisation.is_none() {
                    let help = "add `prioritisation`, or write kind = \"dt\"";
                    let title = "IB without fair dropping and prioritisation";
                    let at = "switch.lossy.fair_dropping.shares";
                    return Err(document.error(at, title, help));
                }
                flow_table.check(document)?;
                let of = BufferManagement::Ib { alphas, fair_dropping, prioritisation, flow_table };
                (of, pool, codel)
            }
            Self::Abm(keys) => {
                let AbmKeys { alpha, alphas, first_rtt_alpha, congested, period, pool, codel } =
                    keys;
                let alphas = alphas_of(alpha, alphas)?;
                let counting = counting(first_rtt_alpha, congested, period)?;
                (BufferManagement::Abm { alphas, counting }, pool, codel)
            }
            Self::Bshare(keys) => {
                let BshareKeys { alpha, alphas, first_rtt_alpha, min_bytes, .. } = keys;
                let alphas = alphas_of(alpha, alphas)?;
                let counting = counting(first_rtt_alpha, keys.congested, keys.period)?;
                (BufferManagement::Bshare { alphas, counting, min_bytes }, keys.pool, keys.codel)
            }
        };
        let codel = codel.map(|keys| keys.resolve(document)).transpose()?;
        Ok(Lossy { management, codel, pool: pool.0 })
    }
}
