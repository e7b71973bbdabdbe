//! `switch.threshold`: when a lossless ingress queue sends PAUSE and RESUME.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::by_rate;
use super::document::Document;
use super::quantity::{self, Rate, Size};
use super::ratio::Ratio;
use super::report::ScenarioError;

/// When a lossless ingress queue sends PAUSE and RESUME; bytes are those it holds in the shared
/// pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Threshold {
    /// Dynamic threshold, DSH Eq. 2: `X_off` = alpha x free shared buffer.
    Dt {
        /// alpha in DSH.
        alpha: Ratio,
        /// `X_on` = `X_off` - this, delta in DSH.
        #[serde(serialize_with = "quantity::serialize")]
        xon_offset: Bytes,
        /// Rates whose ports have another alpha, each once.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        by_rate: Vec<AlphaOfRate>,
    },
    /// Fixed thresholds.
    Static {
        /// PAUSE above this.
        #[serde(serialize_with = "quantity::serialize")]
        xoff: Bytes,
        /// RESUME at or below this; at most `xoff`.
        #[serde(serialize_with = "quantity::serialize")]
        xon: Bytes,
    },
}

/// alpha of the ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AlphaOfRate {
    /// The rate of their links.
    #[serde(serialize_with = "quantity::serialize")]
    pub rate: BitsPerSecond,
    /// alpha in DSH.
    pub alpha: Ratio,
}

impl Threshold {
    /// alpha of a port whose link has this rate; none if thresholds are fixed.
    pub fn alpha(&self, rate: BitsPerSecond) -> Option<Ratio> {
        match self {
            Self::Dt { alpha, by_rate, .. } => {
                let own = by_rate.iter().find(|of_rate| of_rate.rate == rate);
                Some(own.map_or(*alpha, |of_rate| of_rate.alpha))
            }
            Self::Static { .. } => None,
        }
    }
}

/// When a lossless ingress queue sends PAUSE and RESUME.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum ThresholdKeys {
    /// Dynamic threshold (DSH Eq. 2): PAUSE above alpha x free shared buffer.
    Dt {
        /// Part of the free shared buffer that one ingress queue may hold; a ratio above zero.
        /// Default "1/16".
        #[serde(default = "default_alpha")]
        alpha: Ratio,
        /// RESUME that far below the threshold. Default "0B".
        #[serde(default)]
        xon_offset: Size,
        /// Another alpha for the ports whose links have a certain rate. Default: none.
        #[serde(default)]
        by_rate: Vec<AlphaOfRateKeys>,
    },
    /// Fixed thresholds.
    Static {
        /// PAUSE above this many bytes in the shared pool; at most the shared pool.
        xoff: Size,
        /// RESUME at or below this many; at most `xoff`.
        xon: Size,
    },
}

/// alpha of the ports of one rate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AlphaOfRateKeys {
    /// Rate of a link of the fabric.
    rate: Rate,
    /// Part of the free shared buffer that one ingress queue of a port of this rate may hold; a
    /// ratio above zero.
    alpha: Ratio,
}

const fn default_alpha() -> Ratio {
    Ratio::new(1, 16)
}

impl Default for ThresholdKeys {
    fn default() -> Self {
        Self::Dt { alpha: default_alpha(), xon_offset: Size::default(), by_rate: Vec::new() }
    }
}

impl ThresholdKeys {
    pub(super) fn resolve(
        self,
        rates: &BTreeSet<BitsPerSecond>,
        document: &Document<'_>,
    ) -> Result<Threshold, ScenarioError> {
        match self {
            Self::Dt { alpha, xon_offset, by_rate } => {
                let by_rate: Vec<AlphaOfRate> =
                    by_rate.into_iter().map(AlphaOfRateKeys::resolve).collect();
                let own = by_rate.iter().map(|of_rate| of_rate.rate);
                by_rate::check("switch.threshold.by_rate", own, rates, document)?;
                Ok(Threshold::Dt { alpha, xon_offset: xon_offset.0, by_rate })
            }
            Self::Static { xoff, xon } if xon.0 <= xoff.0 => {
                Ok(Threshold::Static { xoff: xoff.0, xon: xon.0 })
            }
            Self::Static { xoff, xon } => {
                let (xoff, xon) = (quantity::display(xoff.0), quantity::display(xon.0));
                let title = format!("xon ({xon}) is above xoff ({xoff})");
                let help = "a queue resumes at or below the threshold at which it pauses";
                Err(document.error("switch.threshold.xon", &title, help))
            }
        }
    }
}

impl AlphaOfRateKeys {
    const fn resolve(self) -> AlphaOfRate {
        AlphaOfRate { rate: self.rate.0, alpha: self.alpha }
    }
}
