//! Cubic's parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Inner;
use crate::quantity::{self, Size};
use crate::ratio::{Probability, Ratio};
use crate::report::ScenarioError;

/// Cubic's parameters (RFC 9438).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cubic {
    /// C: how fast the window grows, in segments for each second cubed.
    pub c: Ratio,
    /// beta: what a loss leaves of the window.
    pub beta: Probability,
    /// Whether a flow that loses before it is back at its old window leaves room for others.
    pub fast_convergence: bool,
    /// Whether the window grows at least as Reno's does.
    pub reno_friendly: bool,
    /// Whether it uses ECN, and takes a mark for a loss.
    pub ecn: bool,
    /// The window that a flow starts with; `None` is ten payloads.
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
    /// C: how fast the window grows, in segments for each second cubed, a ratio. Default "2/5".
    c: Option<Ratio>,
    /// beta: what a loss leaves of the window, above 0, up to 1. Default 0.7.
    beta: Option<Probability>,
    /// Whether a flow that loses before it is back at its old window leaves room for others (RFC 9438, 4.7). Default
    /// true.
    fast_convergence: Option<bool>,
    /// Whether the window grows at least as Reno's does (RFC 9438, 4.3). Default true.
    reno_friendly: Option<bool>,
    /// Whether its segments are ECN-capable, and a mark counts as a loss (RFC 3168). Default false.
    #[serde(default)]
    ecn: bool,
    /// The window that a flow starts with, above zero. Default: ten times `host.payload` (RFC 6928).
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
