//! `switch.threshold`: when a lossless ingress queue sends PAUSE and RESUME.

mod spfc;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::by_rate;
use super::document::Document;
use super::quantity::{self, Rate, Size};
use super::ratio::Ratio;
use super::report::ScenarioError;

use spfc::SpfcKeys;
pub use spfc::{Spfc, StateOf};

/// When a lossless ingress queue sends PAUSE and RESUME; bytes are those it holds in the shared
/// pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Threshold {
    /// Dynamic threshold, DSH Eq. 2: `X_off` = alpha x free shared buffer.
    Dt(Dt),
    /// DT, and the whole shared buffer for victims.
    Spfc(Spfc),
    /// Fixed thresholds.
    Static {
        /// PAUSE above this.
        #[serde(serialize_with = "quantity::serialize")]
        xoff: Bytes,
        /// RESUME at or below this; at most `xoff`.
        #[serde(serialize_with = "quantity::serialize")]
        xon: Bytes,
    },
    /// Fixed thresholds: `X_off` = shared buffer / lossless ingress queues.
    EqualShares {
        /// `X_on` = `X_off` - this.
        #[serde(serialize_with = "quantity::serialize")]
        xon_offset: Bytes,
    },
}

/// The parameters of DT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dt {
    /// alpha in DSH.
    pub alpha: Ratio,
    /// `X_on` = `X_off` - this, delta in DSH.
    #[serde(serialize_with = "quantity::serialize")]
    pub xon_offset: Bytes,
    /// Rates whose ports have another alpha, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<AlphaOfRate>,
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
    /// DT, which is also what SPFC has for ports that are not victims; none if thresholds are fixed.
    pub const fn dt(&self) -> Option<&Dt> {
        match self {
            Self::Dt(dt) | Self::Spfc(Spfc { dt, .. }) => Some(dt),
            Self::Static { .. } | Self::EqualShares { .. } => None,
        }
    }

    /// alpha of a port whose link has this rate; none if thresholds are fixed.
    pub fn alpha(&self, rate: BitsPerSecond) -> Option<Ratio> {
        let Dt { alpha, by_rate, .. } = self.dt()?;
        let own = by_rate.iter().find(|of_rate| of_rate.rate == rate);
        Some(own.map_or(*alpha, |of_rate| of_rate.alpha))
    }

    /// How far below `X_off` lies `X_on`.
    pub const fn xon_offset(&self) -> Bytes {
        match self {
            Self::Dt(dt) | Self::Spfc(Spfc { dt, .. }) => dt.xon_offset,
            Self::Static { xoff, xon } => Bytes(xoff.0 - xon.0),
            Self::EqualShares { xon_offset } => *xon_offset,
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
    /// Fixed thresholds, each port having as much of the shared buffer as any other (ST in SPFC: B / N): PAUSE above
    /// shared buffer / (ports x lossless priorities). Ports are those for which buffer is set aside. With several
    /// lossless priorities a port's share is divided among its ingress queues, which pause one by one. Where headroom is
    /// measured, the shared buffer is that before the first measurement.
    EqualShares {
        /// RESUME that far below the threshold. Default "0B".
        #[serde(default)]
        xon_offset: Size,
    },
    /// Selective-PFC: DT for normal ports, and the whole shared buffer for victims, which are the ports that much
    /// departs from. A port that pauses its neighbour is normal until it resumes.
    Spfc(SpfcKeys),
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
                resolve_dt(alpha, xon_offset, by_rate, rates, document).map(Threshold::Dt)
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
            Self::EqualShares { xon_offset } => {
                Ok(Threshold::EqualShares { xon_offset: xon_offset.0 })
            }
            Self::Spfc(keys) => keys.resolve(rates, document).map(Threshold::Spfc),
        }
    }
}

fn resolve_dt(
    alpha: Ratio,
    xon_offset: Size,
    by_rate: Vec<AlphaOfRateKeys>,
    rates: &BTreeSet<BitsPerSecond>,
    document: &Document<'_>,
) -> Result<Dt, ScenarioError> {
    let by_rate: Vec<AlphaOfRate> = by_rate.into_iter().map(AlphaOfRateKeys::resolve).collect();
    let own = by_rate.iter().map(|of_rate| of_rate.rate);
    by_rate::check("switch.threshold.by_rate", own, rates, document)?;
    Ok(Dt { alpha, xon_offset: xon_offset.0, by_rate })
}

impl AlphaOfRateKeys {
    const fn resolve(self) -> AlphaOfRate {
        AlphaOfRate { rate: self.rate.0, alpha: self.alpha }
    }
}
