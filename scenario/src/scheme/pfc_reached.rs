//! Kind "pfc-reached" of `switch.scheme`.

use fabric_core::scheme::{SchemeSettings, pfc_reached};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::ratio::Ratio;

use super::kind::{Check, Kind};
use crate::Scenario;
use crate::document::Document;

/// PFC as in the HPCC simulator: an ingress queue pauses when it reaches `X_off`, not above it. A packet that does not
/// fit headroom is dropped if it does not lie below `X_off` as a whole, and then pauses nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PfcReached {}

impl Kind for PfcReached {
    const NAME: &'static str = "PFC";

    fn check(&self, scenario: &Scenario, document: &Document<'_>) -> Check {
        let at_most_one = |alpha: Ratio| alpha.numerator <= alpha.denominator;
        let fits = scenario.switch.threshold.dt().is_some_and(|dt| {
            let others = dt.by_rate.iter().map(|it| it.alpha);
            dt.alpha.into_iter().chain(others).all(at_most_one)
        });
        if fits {
            return Ok(());
        }
        let title = "PFC at a threshold that the shared pool may not have room for";
        let help = "write switch.threshold = { kind = \"dt\", alpha = .. } with alpha up to 1, as the simulator has it";
        Err(document.error("switch.threshold", title, help))
    }

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        SchemeSettings::PfcReached(pfc_reached::Settings)
    }
}
