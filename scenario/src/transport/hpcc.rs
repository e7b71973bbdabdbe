//! Parameters of HPCC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::Inner;
use crate::quantity::{self, Rate, Size};
use crate::ratio::Probability;
use crate::report::ScenarioError;

/// Parameters of HPCC (Li et al., SIGCOMM 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hpcc {
    /// eta: target utilisation.
    pub utilisation: Probability,
    /// maxStage: round trips of additive increase before the window follows the utilisation again.
    pub max_stage: u32,
    /// True if every ACK changes the window; otherwise only the first ACK of each round trip does.
    pub fast_reaction: bool,
    /// W_AI: growth of the window. `None`: a hundredth of (1 - eta) x the bandwidth-delay product.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub additive_increase: Option<Bytes>,
    /// Minimum rate.
    #[serde(serialize_with = "quantity::serialize")]
    pub minimum_rate: BitsPerSecond,
}

/// HPCC (Li et al., SIGCOMM 2019).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HpccKeys {
    /// eta: target utilisation, above 0, up to 1. Default 0.95.
    utilisation: Option<Probability>,
    /// maxStage: round trips of additive increase before the window follows the utilisation again. Default 5.
    max_stage: Option<u32>,
    /// True if every ACK changes the window, in proportion to the window of the last round trip. If false, only the
    /// first ACK of each round trip changes it. Default true.
    fast_reaction: Option<bool>,
    /// W_AI: growth of the window, may be "0B". Default: (1 - `utilisation`) / 100 of line rate x `base_rtt`, which is
    /// 81 B at 100 Gbit/s and 13 us; the paper has 80 B.
    additive_increase: Option<Size>,
    /// Minimum rate. Default "1Mbps"; the authors' simulator has 1 Gbit/s at 100 Gbit/s.
    minimum_rate: Option<Rate>,
}

impl HpccKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>) -> Result<Hpcc, ScenarioError> {
        Ok(Hpcc {
            utilisation: place.part("utilisation", self.utilisation, 950_000)?,
            max_stage: self.max_stage.unwrap_or(5),
            fast_reaction: self.fast_reaction.unwrap_or(true),
            additive_increase: self.additive_increase.map(|size| size.0),
            minimum_rate: self.minimum_rate.map_or(BitsPerSecond(1_000_000), |rate| rate.0),
        })
    }
}
