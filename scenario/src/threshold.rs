//! `switch.threshold`: thresholds at which a lossless ingress queue sends PAUSE and RESUME.
//!
//! # Adding a kind
//!
//! A kind of `ThresholdKeys` and `Threshold` here, an arm of `computed_threshold` in
//! `emulation/src/switch_settings.rs`, code in `fabric-core/src/threshold.rs` if a switch needs some, and `threshold`
//! in `tests/src/fabric/drawn.rs`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::by_rate;
use super::document::Document;
use super::quantity;
use super::ratio::Ratio;
use super::report::ScenarioError;

/// Thresholds at which a lossless ingress queue sends PAUSE and RESUME, in bytes that it holds in the shared pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Threshold {
    /// Dynamic threshold, DSH Eq. 2: `X_off` = alpha x free shared buffer.
    Dt(Dt),
    /// Fixed thresholds.
    Static {
        /// Bytes above which the queue sends PAUSE.
        xoff: Bytes,
        /// Bytes at or below which the queue sends RESUME; at most `xoff`.
        xon: Bytes,
    },
    /// Fixed thresholds: `X_off` = shared buffer / lossless ingress queues.
    EqualShares {
        /// Difference of `X_off` and `X_on`.
        xon_offset: Bytes,
    },
}

/// Parameters of DT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dt {
    /// alpha in DSH.
    pub alpha: Ratio,
    /// Difference of `X_off` and `X_on`, delta in DSH.
    pub xon_offset: Bytes,
    /// Rates whose ports have another alpha, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<AlphaOfRate>,
}

/// alpha of the ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AlphaOfRate {
    /// Rate of the ports' links.
    pub rate: BitsPerSecond,
    /// alpha in DSH.
    pub alpha: Ratio,
}

impl Threshold {
    /// Returns the parameters of DT; `None` if thresholds are fixed.
    pub const fn dt(&self) -> Option<&Dt> {
        match self {
            Self::Dt(dt) => Some(dt),
            Self::Static { .. } | Self::EqualShares { .. } => None,
        }
    }

    /// Returns alpha of a port whose link has this rate; `None` if thresholds are fixed.
    pub fn alpha(&self, rate: BitsPerSecond) -> Option<Ratio> {
        let Dt { alpha, by_rate, .. } = self.dt()?;
        let own = by_rate.iter().find(|of_rate| of_rate.rate == rate);
        Some(own.map_or(*alpha, |of_rate| of_rate.alpha))
    }

    /// Returns the difference of `X_off` and `X_on`.
    pub const fn xon_offset(&self) -> Bytes {
        match self {
            Self::Dt(dt) => dt.xon_offset,
            Self::Static { xoff, xon } => Bytes(xoff.0 - xon.0),
            Self::EqualShares { xon_offset } => *xon_offset,
        }
    }
}

/// Thresholds at which a lossless ingress queue sends PAUSE and RESUME.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum ThresholdKeys {
    /// Dynamic threshold (DSH Eq. 2): PAUSE above alpha x free shared buffer.
    Dt {
        /// alpha: limit of an ingress queue as a ratio of the free shared buffer, above zero. Default "1/16"; "2" if
        /// `scheme` has victims (SPFC), whose normal ports it limits.
        alpha: Option<Ratio>,
        /// Difference of the PAUSE threshold and the RESUME threshold. Default "0B".
        #[serde(default)]
        xon_offset: Bytes,
        /// Other alpha for ports by the rate of their link. Default: none.
        #[serde(default)]
        by_rate: Vec<AlphaOfRateKeys>,
    },
    /// Fixed thresholds.
    Static {
        /// Bytes in the shared pool above which the queue sends PAUSE; at most the shared pool.
        xoff: Bytes,
        /// Bytes in the shared pool at or below which the queue sends RESUME; at most `xoff`.
        xon: Bytes,
    },
    /// Fixed thresholds that divide the shared buffer evenly among ports (ST in SPFC: B / N). A queue sends PAUSE above
    /// shared buffer / (ports x lossless priorities); ports without a link count if buffer is reserved for them. The
    /// ingress queues of a port pause separately. If headroom is measured, the shared buffer before the first
    /// measurement counts.
    EqualShares {
        /// Difference of the PAUSE threshold and the RESUME threshold. Default "0B".
        #[serde(default)]
        xon_offset: Bytes,
    },
}

/// alpha of the ports of one rate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AlphaOfRateKeys {
    /// Rate of a link of the fabric.
    rate: BitsPerSecond,
    /// alpha: limit of an ingress queue of a port of this rate as a ratio of the free shared buffer, above zero.
    alpha: Ratio,
}

/// Default alpha of a switch, with or without victims (SPFC, Section III, footnote 2, and IV-C).
const fn default_alpha(has_victims: bool) -> Ratio {
    if has_victims { Ratio::new(2, 1) } else { Ratio::new(1, 16) }
}

impl Default for ThresholdKeys {
    fn default() -> Self {
        Self::Dt { alpha: None, xon_offset: Bytes::default(), by_rate: Vec::new() }
    }
}

impl ThresholdKeys {
    pub(super) fn resolve(
        self,
        has_victims: bool,
        rates: &BTreeSet<BitsPerSecond>,
        document: &Document<'_>,
    ) -> Result<Threshold, ScenarioError> {
        match self {
            Self::Dt { alpha, xon_offset, by_rate } => {
                let by_rate: Vec<AlphaOfRate> =
                    by_rate.into_iter().map(AlphaOfRateKeys::resolve).collect();
                let own = by_rate.iter().map(|of_rate| of_rate.rate);
                by_rate::check("switch.threshold.by_rate", own, rates, document)?;
                let alpha = alpha.unwrap_or(default_alpha(has_victims));
                Ok(Threshold::Dt(Dt { alpha, xon_offset, by_rate }))
            }
            Self::Static { xoff, xon } if xon <= xoff => Ok(Threshold::Static { xoff, xon }),
            Self::Static { xoff, xon } => {
                let (xoff, xon) = (quantity::display(xoff), quantity::display(xon));
                let title = format!("xon ({xon}) is above xoff ({xoff})");
                let help = "a queue resumes at or below the threshold at which it pauses";
                Err(document.error("switch.threshold.xon", &title, help))
            }
            Self::EqualShares { xon_offset } => Ok(Threshold::EqualShares { xon_offset }),
        }
    }
}

impl AlphaOfRateKeys {
    const fn resolve(self) -> AlphaOfRate {
        AlphaOfRate { rate: self.rate, alpha: self.alpha }
    }
}
