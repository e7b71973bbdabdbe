//! DCTCP's parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Inner;
use crate::quantity::{self, Size};
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// DCTCP's parameters (Alizadeh et al., SIGCOMM 2010; RFC 8257).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dctcp {
    /// g: the weight of the newest round trip in alpha; at most 1.
    pub g: Ratio,
    /// With which window a flow starts.
    pub start: Start,
    /// What the window grows by in a round trip without marks; `None` is one payload.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub additive_increase: Option<Bytes>,
    /// No cut goes below it; `None` is one payload.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub minimum_window: Option<Bytes>,
    /// The window that a flow starts with if it starts slowly; `None` is ten payloads.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub initial_window: Option<Bytes>,
    /// Whether packets are paced at window / base RTT.
    pub pacing: bool,
}

/// How a flow starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// With a window of the bandwidth-delay product, which is also the largest.
    #[default]
    LineRate,
    /// With a few payloads, doubled in each round trip until the first mark or loss.
    SlowStart,
}

/// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DctcpKeys {
    /// g: the weight of the newest round trip in alpha, a ratio up to 1. Default 1/16.
    g: Option<Ratio>,
    /// "line-rate": the window is line rate x `base_rtt` at first, and never larger. "slow-start": `initial_window`,
    /// doubled in each round trip until the first mark or loss. Default "line-rate" for RoCEv2, "slow-start" for TCP.
    start: Option<Start>,
    /// The window that a flow starts with if `start` is "slow-start", above zero. Default: ten times `host.payload` (RFC
    /// 6928).
    initial_window: Option<Size>,
    /// What the window grows by in a round trip without marks, above zero. Default: one `host.payload`.
    additive_increase: Option<Size>,
    /// No cut goes below it, above zero. Default: one `host.payload`.
    minimum_window: Option<Size>,
    /// Whether packets are paced at window / `base_rtt`. Default: with start "line-rate".
    pacing: Option<bool>,
}

impl DctcpKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>, usual: Start) -> Result<Dctcp, ScenarioError> {
        let start = self.start.unwrap_or(usual);
        Ok(Dctcp {
            g: place.weight("g", self.g, Ratio::new(1, 16))?,
            start,
            initial_window: place.size("initial_window", self.initial_window)?,
            additive_increase: self.additive_increase.map(|size| size.0),
            minimum_window: place.size("minimum_window", self.minimum_window)?,
            pacing: self.pacing.unwrap_or(start == Start::LineRate),
        })
    }
}
