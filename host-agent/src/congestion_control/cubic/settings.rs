//! Settings of Cubic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::{Part, SomeBytes};
use units::ratio::{Probability, Ratio};
use units::schema::DefaultsInWords;

use super::Parameters;
use crate::congestion_control::Link;

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &["ecn"] }
}

/// Cubic (RFC 9438).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CubicKeys", transform = in_words())]
pub struct Settings {
    /// C: growth of the window, in segments per second cubed, a ratio. Default "2/5".
    pub c: Ratio,
    /// beta: factor of the window after a loss, above 0, up to 1. Default 0.7.
    pub beta: Part,
    /// True if a flow with a loss below its previous maximum window leaves room for others (RFC 9438, 4.7). Default
    /// true.
    pub fast_convergence: bool,
    /// True if the window grows at least as fast as Reno's (RFC 9438, 4.3). Default true.
    pub reno_friendly: bool,
    /// True if segments are ECN-capable and a mark counts as a loss (RFC 3168). Default false.
    pub ecn: bool,
    /// First window of a flow, above zero. Default: ten times `host.payload` (RFC 6928).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<SomeBytes>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            c: Ratio::new(2, 5),
            beta: Part::within(Probability { millionths: 700_000 }),
            fast_convergence: true,
            reno_friendly: true,
            ecn: false,
            initial_window: None,
        }
    }
}

impl Settings {
    /// Returns the parameters on a link.
    pub(in super::super) fn parameters(&self, link: &Link) -> Parameters {
        Parameters {
            segment: link.payload,
            scaling: (self.c.numerator, self.c.denominator),
            decrease_millionths: self.beta.get().millionths,
            fast_convergence: self.fast_convergence,
            reno_friendly: self.reno_friendly,
            ecn: self.ecn,
            initial_window: link.initial_window(self.initial_window),
        }
    }
}
