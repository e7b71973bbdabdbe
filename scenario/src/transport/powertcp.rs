//! Parameters of PowerTCP and theta-PowerTCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::Inner;
use crate::quantity::{self, Rate, Size};
use crate::ratio::Probability;
use crate::report::ScenarioError;

/// Parameters of PowerTCP or theta-PowerTCP (Addanki et al., NSDI 2022).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PowerTcp {
    /// gamma: weight of a new window.
    pub gain: Probability,
    /// eta: target utilisation.
    #[serde(skip_serializing_if = "is_whole")]
    pub utilisation: Probability,
    /// beta: growth of the window; `None`: 6/1000 of the bandwidth-delay product.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub additive_increase: Option<Bytes>,
    /// Minimum rate.
    #[serde(serialize_with = "quantity::serialize")]
    pub minimum_rate: BitsPerSecond,
}

/// PowerTCP or theta-PowerTCP (Addanki et al., NSDI 2022).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PowerTcpKeys {
    /// gamma: weight of a new window, above 0, up to 1. Default 0.9.
    gain: Option<Probability>,
    /// eta: target utilisation, above 0, up to 1; power is divided by it. Default 1, as in the paper; the authors'
    /// simulator has 0.95 for "powertcp".
    utilisation: Option<Probability>,
    /// beta: growth of the window, may be "0B". Default: 6/1000 of line rate x `base_rtt`, as in the authors' simulator
    /// (150 Mbit/s at 25 Gbit/s).
    additive_increase: Option<Size>,
    /// Minimum rate. Default "1Mbps"; the authors' simulator has 100 Mbit/s at 25 Gbit/s.
    minimum_rate: Option<Rate>,
}

impl PowerTcpKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>) -> Result<PowerTcp, ScenarioError> {
        Ok(PowerTcp {
            gain: place.part("gain", self.gain, 900_000)?,
            utilisation: place.part("utilisation", self.utilisation, 1_000_000)?,
            additive_increase: self.additive_increase.map(|size| size.0),
            minimum_rate: self.minimum_rate.map_or(BitsPerSecond(1_000_000), |rate| rate.0),
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to the field")]
fn is_whole(part: &Probability) -> bool {
    part.millionths == 1_000_000
}
