//! `switch.lossy`: sharing of a switch's buffer by packets of lossy priorities.
//!
//! # Adding a kind
//!
//! `fabric-core/src/lossy.rs` has the recipe of a buffer management. Its key is a kind of `LossyKeys` in
//! `lossy/keys.rs` and of `BufferManagement` here. Not checked by the compiler: `KEYS` in
//! `tests/src/fabric/drawn/lossy.rs`, docs/lossy.md. Periodic counts (congested queues, drain rates) come from the
//! control plane: `Task::BufferManagement` in a fabric, `standalone/src/switch/counting.rs` in a standalone switch.

mod alphas;
mod checks;
mod codel;
mod congested;
mod flow_table;
mod intelligent;
mod keys;
mod period;
mod pool;

use fabric_core::lossy;
use serde::Serialize;
use units::{Bytes, Picos};

use super::Scenario;
use super::ratio::Ratio;

pub use alphas::{AlphaOfPriority, Alphas};
pub use codel::CoDel;
pub use congested::Congested;
pub use flow_table::FlowTable;
pub use intelligent::{FairDropping, FairShares, Prioritisation};
pub(super) use keys::LossyKeys;
pub use period::LossyPeriod;
pub use pool::LossyPool;

/// Sharing of the buffer by lossy packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lossy {
    /// Rule that drops packets.
    #[serde(flatten)]
    pub management: BufferManagement,
    /// Additional AQM, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
    /// Part of the buffer that lossy packets may use.
    pub pool: LossyPool,
}

/// Buffer management with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BufferManagement {
    /// Dynamic threshold.
    Dt(Alphas),
    /// Complete sharing.
    Cs,
    /// Active Buffer Management.
    Abm {
        /// alpha of packets after the first round trip.
        #[serde(flatten)]
        alphas: Alphas,
        /// Counting of congested queues.
        #[serde(flatten)]
        counting: Counting,
    },
    /// BSHARE.
    Bshare {
        /// alpha of packets after the first round trip.
        #[serde(flatten)]
        alphas: Alphas,
        /// Counting of congested queues.
        #[serde(flatten)]
        counting: Counting,
        /// `MinBytes`; less than the lossy buffer.
        min_bytes: Bytes,
    },
    /// Flow-Aware Buffer.
    Fab {
        /// alpha of packets of flows that have sent `short_bytes` or more.
        #[serde(flatten)]
        alphas: Alphas,
        /// alpha of packets of other flows.
        short_alpha: Ratio,
        /// Bytes from which on a flow is not short.
        short_bytes: Bytes,
        /// Table in which bytes of flows are counted.
        flow_table: FlowTable,
    },
    /// Intelligent Buffer.
    Ib {
        /// alpha of all packets.
        #[serde(flatten)]
        alphas: Alphas,
        /// Approximate fair dropping (AFD).
        fair_dropping: FairDropping,
        /// Dynamic packet prioritisation (DPP), if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        prioritisation: Option<Prioritisation>,
        /// Table in which flows are counted, if needed.
        flow_table: FlowTable,
    },
}

/// Parameters common to ABM and BSHARE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counting {
    /// alpha of packets of their flow's first round trip; `None`: alpha of other packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rtt_alpha: Option<Ratio>,
    /// Condition under which a queue counts as congested.
    pub congested: Congested,
    /// Period of the count.
    pub period: LossyPeriod,
}

impl Default for BufferManagement {
    fn default() -> Self {
        Self::Dt(Alphas::default())
    }
}

impl BufferManagement {
    /// Returns the kind's name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dt(_) => "dt",
            Self::Cs => "cs",
            Self::Abm { .. } => "abm",
            Self::Bshare { .. } => "bshare",
            Self::Fab { .. } => "fab",
            Self::Ib { .. } => "ib",
        }
    }

    /// Returns the parameters of the periodic count, if there is one.
    pub const fn counting(&self) -> Option<&Counting> {
        match self {
            Self::Abm { counting, .. } | Self::Bshare { counting, .. } => Some(counting),
            Self::Dt(_) | Self::Cs | Self::Fab { .. } | Self::Ib { .. } => None,
        }
    }

    const fn alphas(&self) -> Option<&Alphas> {
        match self {
            Self::Dt(alphas)
            | Self::Abm { alphas, .. }
            | Self::Bshare { alphas, .. }
            | Self::Fab { alphas, .. }
            | Self::Ib { alphas, .. } => Some(alphas),
            Self::Cs => None,
        }
    }

    /// Returns alpha of packets at the start of their flow, if it differs.
    const fn first_alpha(&self) -> Option<Ratio> {
        match self {
            Self::Abm { counting, .. } | Self::Bshare { counting, .. } => counting.first_rtt_alpha,
            Self::Fab { short_alpha, .. } => Some(*short_alpha),
            Self::Dt(_) | Self::Cs | Self::Ib { .. } => None,
        }
    }

    const fn min_bytes(&self) -> Option<Bytes> {
        match self {
            Self::Bshare { min_bytes, .. } => Some(*min_bytes),
            _ => None,
        }
    }
}

impl Scenario {
    /// Returns the settings of every switch's buffer management.
    pub fn lossy_settings(&self) -> lossy::Settings {
        let management = &self.switch.lossy.management;
        let alphas = management.alphas().cloned().unwrap_or_default().by_priority();
        let first = management.first_alpha();
        let kind = match management {
            BufferManagement::Dt(_) => lossy::Kind::DynamicThreshold,
            BufferManagement::Cs => lossy::Kind::CompleteSharing,
            BufferManagement::Abm { counting, .. } => {
                lossy::Kind::Active(counting.congested.settings())
            }
            BufferManagement::Bshare { counting, min_bytes, .. } => lossy::Kind::Bshare {
                congestion: counting.congested.settings(),
                least_bytes: *min_bytes,
            },
            BufferManagement::Fab { short_bytes, flow_table, .. } => {
                lossy::Kind::FlowAware { short_bytes: *short_bytes, flows: flow_table.settings() }
            }
            BufferManagement::Ib { fair_dropping, prioritisation, flow_table, .. } => {
                lossy::Kind::Intelligent {
                    fair_dropping: fair_dropping.settings(),
                    prioritisation: prioritisation.map(Prioritisation::settings),
                    flows: flow_table.settings(),
                }
            }
        };
        lossy::Settings {
            kind,
            alphas: alphas.map(fraction),
            first_alphas: alphas.map(|alpha| fraction(first.unwrap_or(alpha))),
            period: self.lossy_period().map(Picos::to_nanos_ceil),
            codel: self.switch.lossy.codel.map(CoDel::settings),
        }
    }

    /// Returns the period in which congested queues are counted, if they are.
    pub fn lossy_period(&self) -> Option<Picos> {
        let counting = self.switch.lossy.management.counting()?;
        Some(counting.period.at(self.longest_round_trip))
    }

    /// Returns true if a default depends on the longest round trip.
    pub(super) fn counts_each_round_trip(&self) -> bool {
        let counting = self.switch.lossy.management.counting();
        counting.is_some_and(|counting| counting.period == LossyPeriod::RoundTrip)
    }
}

const fn fraction(ratio: Ratio) -> lossy::Ratio {
    lossy::Ratio { numerator: ratio.numerator, denominator: ratio.denominator }
}
