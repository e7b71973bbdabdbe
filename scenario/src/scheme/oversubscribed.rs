//! Kind "oversubscribed" of `switch.scheme`: PFC with one pool of headroom.

use fabric_core::headroom;
use fabric_core::scheme::{SchemeSettings, oversubscribed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::Bytes;

use super::kind::{Check, Kind};
use crate::Scenario;
use crate::document::Document;
use crate::priority::Priorities;
use crate::ratio::Ratio;

/// PFC with one pool of headroom for all lossless ingress queues, smaller than the sum of their headroom. Packets
/// may be lost. Needs headroom of kind "sih".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Oversubscribed {
    /// Divisor of the sum of all headroom, which gives the size of the pool; at least 1. Default "5/4": 80 %, as in
    /// DSH's evaluation.
    #[serde(default = "default_ratio")]
    pub ratio: Ratio,
}

const fn default_ratio() -> Ratio {
    Ratio::new(5, 4)
}

impl Kind for Oversubscribed {
    const NAME: &'static str = "PFC";
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = Some("oversubscribed headroom");

    fn complete(&mut self, _: Priorities, document: &Document<'_>) -> Check {
        let ratio = self.ratio;
        if ratio.numerator < ratio.denominator {
            let title = format!("headroom that is oversubscribed {ratio} times");
            let help = "a ratio of \"2\" sets aside half of the headroom; write 1 or more";
            return Err(document.error("switch.scheme.ratio", &title, help));
        }
        Ok(())
    }

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        SchemeSettings::Oversubscribed(oversubscribed::Settings)
    }

    fn pools_headroom(&self) -> bool {
        true
    }

    fn total_headroom(&self, phi: impl Iterator<Item = Bytes>, queues: u64) -> Bytes {
        let Ratio { numerator, denominator } = self.ratio;
        let inverse = Ratio { numerator: denominator, denominator: numerator };
        Bytes(inverse.scale(headroom::total(phi, queues).0))
    }

    fn headroom_in_words(&self, largest: &str) -> (String, &'static str) {
        let ratio = self.ratio;
        let words = format!("each with up to {largest} of headroom that is divided by {ratio}");
        (words, "DSH Eq. 1, 3")
    }
}
