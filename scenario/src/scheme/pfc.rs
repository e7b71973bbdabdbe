//! Kind "pfc" of `switch.scheme`.

use fabric_core::scheme::{SchemeSettings, pfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;

use super::kind::Kind;
use crate::Scenario;

/// PFC: an ingress queue pauses above `X_off` of `threshold`, and packets that arrive after its PAUSE use its
/// headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Pfc {}

impl Kind for Pfc {
    const NAME: &'static str = "PFC";

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        SchemeSettings::Pfc(pfc::Settings)
    }
}
