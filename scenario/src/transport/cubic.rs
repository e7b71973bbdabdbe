//! Parameters of Cubic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Inner;
use crate::quantity::{self, Size};
use crate::ratio::{Probability, Ratio};
use crate::report::ScenarioError;

/// Parameters of Cubic (RFC 9438).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cubic {
    /// C: growth of the window, in segments per second cubed.
    pub c: Ratio,
    /// beta: factor of the window after a loss.
    pub beta: Probability,
    /// True if a flow with a loss below its previous maximum window leaves room for others.
    pub fast_convergence: bool,
    /// True if the window grows at least as fast as Reno's.
    pub reno_friendly: bool,
    /// True if segments are ECN-capable and a mark counts as a loss.
    pub ecn: bool,
    /// First window of a flow; `None`: ten payloads.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub initial_window: Option<Bytes>,
}

/// Cubic (RFC 9438).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CubicKeys {
    /// C: growth of the window, in segments per second cubed, a ratio. Default "2/5".
    c: Option<Ratio>,
    /// beta: factor of the window after a loss, above 0, up to 1. Default 0.7.
    beta: Option<Probability>,
    /// True if a flow with a loss below its previous maximum window leaves room for others (RFC 9438, 4.7). Default
    /// true.
    fast_convergence: Option<bool>,
    /// True if the window grows at least as fast as Reno's (RFC 9438, 4.3). Default true.
    reno_friendly: Option<bool>,
    /// True if segments are ECN-capable and a mark counts as a loss (RFC 3168). Default false.
    #[serde(default)]
    ecn: bool,
    /// First window of a flow, above zero. Default: ten times `host.payload` (RFC 6928).
    initial_window: Option<Size>,
}

impl CubicKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>) -> Result<Cubic, ScenarioError> {
        Ok(Cubic {
            c: self.c.unwrap_or(Ratio::new(2, 5)),
            beta: place.part("beta", self.beta, 700_000)?,
            fast_convergence: self.fast_convergence.unwrap_or(true),
            reno_friendly: self.reno_friendly.unwrap_or(true),
            ecn: self.ecn,
            initial_window: place.size("initial_window", self.initial_window)?,
        })
    }
}
