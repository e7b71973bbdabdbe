//! `switch.threshold`: thresholds at which a lossless ingress queue sends PAUSE and RESUME.
//!
//! # Adding a kind
//!
//! A kind of `Threshold` here, an arm of `computed_threshold` in
//! `emulation/src/switch_settings.rs`, code in `fabric-core/src/threshold.rs` if a switch needs some, and `threshold`
//! in `tests/src/fabric/drawn.rs`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::by_rate;
use super::document::Document;
use super::kind::by_kind;
use super::quantity;
use super::ratio::Ratio;
use super::report::ScenarioError;

/// Thresholds at which a lossless ingress queue sends PAUSE and RESUME.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "ThresholdKeys")]
pub enum Threshold {
    /// Dynamic threshold (DSH Eq. 2): PAUSE above alpha x free shared buffer.
    Dt(Dt),
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

by_kind!(Threshold);

/// Parameters of DT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Dt {
    /// alpha: limit of an ingress queue as a ratio of the free shared buffer, above zero. Default "1/16"; "2" if
    /// `scheme` has victims (SPFC), whose normal ports it limits.
    pub alpha: Option<Ratio>,
    /// Difference of the PAUSE threshold and the RESUME threshold. Default "0B".
    #[serde(default)]
    pub xon_offset: Bytes,
    /// Other alpha for ports by the rate of their link. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<AlphaOfRate>,
}

/// alpha of the ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AlphaOfRateKeys")]
pub struct AlphaOfRate {
    /// Rate of a link of the fabric.
    pub rate: BitsPerSecond,
    /// alpha: limit of an ingress queue of a port of this rate as a ratio of the free shared buffer, above zero.
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
        own.map_or(*alpha, |of_rate| Some(of_rate.alpha))
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

/// Default alpha of a switch, with or without victims (SPFC, Section III, footnote 2, and IV-C).
const fn default_alpha(has_victims: bool) -> Ratio {
    if has_victims { Ratio::new(2, 1) } else { Ratio::new(1, 16) }
}

impl Default for Threshold {
    fn default() -> Self {
        Self::Dt(Dt::default())
    }
}

impl Threshold {
    /// Adds the default of alpha, and checks the keys. `rates` are the rates of links.
    pub(super) fn complete(
        &mut self,
        has_victims: bool,
        rates: &BTreeSet<BitsPerSecond>,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        match self {
            Self::Dt(dt) => {
                let own = dt.by_rate.iter().map(|of_rate| of_rate.rate);
                by_rate::check("switch.threshold.by_rate", own, rates, document)?;
                dt.alpha.get_or_insert(default_alpha(has_victims));
                Ok(())
            }
            &mut Self::Static { xoff, xon } if xon > xoff => {
                let (xoff, xon) = (quantity::display(xoff), quantity::display(xon));
                let title = format!("xon ({xon}) is above xoff ({xoff})");
                let help = "a queue resumes at or below the threshold at which it pauses";
                Err(document.error("switch.threshold.xon", &title, help))
            }
            Self::Static { .. } | Self::EqualShares { .. } => Ok(()),
        }
    }
}
