//! `switch.headroom`: buffer for packets that arrive after a PAUSE.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::document::Document;
use super::kind::by_kind;
use super::report::ScenarioError;

/// Size of the headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "HeadroomKeys")]
pub enum Headroom {
    /// Static: each lossless ingress queue has separate headroom (static and independent), unless `scheme` shares it.
    Sih {
        /// Headroom of each queue. Default: 2 x (rate x delay + longest frame) + 3840 B (DSH Eq. 1), and two terms that
        /// it misses: one more frame, and the PAUSE itself (84 B).
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// Headroom of each queue as a multiple of rate x propagation delay of its port's link, 1 to 1000; instead of
        /// `bytes`. The HPCC simulator uses 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        bandwidth_delays: Option<u32>,
    },
    /// As "sih", but ports measure the delay of their links. They exchange time-stamped frames with their neighbours
    /// (after IEEE P802.1Qdt), and neighbours declare their response time to a PAUSE. Headroom that a queue does not
    /// need is shared.
    Adaptive {
        /// Headroom of each queue until its port's link is measured, and again after ten lost measurements in a row.
        /// Default: as for "sih".
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// Time between measurements, from the run's start on. Default "100us".
        #[serde(default = "default_period")]
        period: Picos,
    },
}

by_kind!(Headroom);

impl Default for Headroom {
    fn default() -> Self {
        Self::Sih { bytes: None, bandwidth_delays: None }
    }
}

const fn default_period() -> Picos {
    Picos(100_000_000)
}

impl Headroom {
    /// Returns the time between measurements of a link, if links are measured.
    pub const fn measurement_period(&self) -> Option<Picos> {
        match self {
            Self::Sih { .. } => None,
            Self::Adaptive { period, .. } => Some(*period),
        }
    }

    /// Returns phi if the file gives it as a size.
    pub(crate) const fn given_bytes(&self) -> Option<Bytes> {
        let (Self::Sih { bytes, .. } | Self::Adaptive { bytes, .. }) = self;
        *bytes
    }

    /// Returns phi as a multiple of the link's rate times delay, if the file gives it so.
    pub(crate) const fn given_bandwidth_delays(&self) -> Option<u32> {
        match self {
            Self::Sih { bandwidth_delays, .. } => *bandwidth_delays,
            Self::Adaptive { .. } => None,
        }
    }
}

impl Headroom {
    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.headroom.{key}"), title, help))
        };
        match self {
            Self::Sih { bytes: Some(_), bandwidth_delays: Some(_) } => {
                wrong("bandwidth_delays", "two sizes of headroom", "write this or `bytes`")
            }
            Self::Sih { bandwidth_delays: Some(0 | 1001..), .. } => wrong(
                "bandwidth_delays",
                "headroom of none or of too many bandwidth-delay products",
                "write 1 to 1000",
            ),
            Self::Adaptive { period: Picos::ZERO, .. } => {
                wrong("period", "a period of no time", "write a time such as \"100us\"")
            }
            Self::Sih { .. } | Self::Adaptive { .. } => Ok(()),
        }
    }
}
