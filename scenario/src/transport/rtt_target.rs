//! Parameters of the end-to-end control to combine with BFC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Inner;
use crate::quantity::{self, Size};
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Parameters of Algorithm 1 of BFC (Goyal et al., NSDI 2022, Appendix A.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RttTarget {
    /// Target round-trip time, in base RTTs.
    pub target: Ratio,
    /// First window; `None`: line rate x base RTT.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub initial_window: Option<Bytes>,
    /// Maximum window; `None`: line rate x the target.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub maximum_window: Option<Bytes>,
}

/// The simple end-to-end control that BFC can be combined with (Goyal et al., NSDI 2022, Appendix A.1, Algorithm 1).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RttTargetKeys {
    /// Target round-trip time, as a multiple of `base_rtt`, at least 1. Default 5/2.
    target: Option<Ratio>,
    /// First window, above zero. Default: line rate x `base_rtt`.
    initial_window: Option<Size>,
    /// Maximum window, above zero; the paper gives no value. Default: line rate x the target round-trip time.
    maximum_window: Option<Size>,
}

impl RttTargetKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>) -> Result<RttTarget, ScenarioError> {
        let target = self.target.unwrap_or(Ratio::new(5, 2));
        if target.numerator < target.denominator {
            let help = "no round trip is shorter than the base RTT: write a ratio of at least 1, such as \"5/2\"";
            return Err(place.wrong("target", "a target below the base RTT", help));
        }
        Ok(RttTarget {
            target,
            initial_window: place.size("initial_window", self.initial_window)?,
            maximum_window: place.size("maximum_window", self.maximum_window)?,
        })
    }
}
