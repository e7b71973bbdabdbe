//! Parameters of DCTCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Inner;
use crate::quantity::{self, Size};
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Parameters of DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dctcp {
    /// g: weight of the newest round trip in alpha; at most 1.
    pub g: Ratio,
    /// First window of a flow.
    pub start: Start,
    /// Growth of the window in a round trip without marks; `None`: one payload.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub additive_increase: Option<Bytes>,
    /// Minimum window after a cut; `None`: one payload.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub minimum_window: Option<Bytes>,
    /// First window of a flow with slow start; `None`: ten payloads.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub initial_window: Option<Bytes>,
    /// True if packets are paced at window / base RTT.
    pub pacing: bool,
}

/// Start of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// A window of the bandwidth-delay product, which is also the maximum.
    #[default]
    LineRate,
    /// A window of a few payloads, doubled in each round trip until the first mark or loss.
    SlowStart,
}

/// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DctcpKeys {
    /// g: weight of the newest round trip in alpha, a ratio up to 1. Default 1/16.
    g: Option<Ratio>,
    /// Start of a flow. "line-rate": the first window is line rate x `base_rtt`, which is also the maximum.
    /// "slow-start": the first window is `initial_window`, doubled in each round trip until the first mark or loss.
    /// Default "line-rate" for RoCEv2, "slow-start" for TCP.
    start: Option<Start>,
    /// First window of a flow with `start = "slow-start"`, above zero. Default: ten times `host.payload` (RFC 6928).
    initial_window: Option<Size>,
    /// Growth of the window in a round trip without marks, above zero. Default: one `host.payload`.
    additive_increase: Option<Size>,
    /// Minimum window after a cut, above zero. Default: one `host.payload`.
    minimum_window: Option<Size>,
    /// True if packets are paced at window / `base_rtt`. Default: true with start "line-rate".
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
