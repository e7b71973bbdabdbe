//! Kind "pfc-reached" of `switch.scheme`.

use fabric_core::scheme::{SchemeSettings, pfc_reached};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;

use super::kind::Kind;
use crate::Scenario;

/// PFC as in the HPCC simulator: an ingress queue pauses when it reaches `X_off`, not above it. A packet that does not
/// fit headroom is dropped if it does not lie below `X_off` as a whole, and then pauses nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PfcReached {}

impl Kind for PfcReached {
    const NAME: &'static str = "PFC";

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        SchemeSettings::PfcReached(pfc_reached::Settings)
    }
}
