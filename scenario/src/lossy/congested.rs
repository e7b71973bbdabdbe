//! `switch.lossy.congested`: condition under which a lossy egress queue counts as congested.

use fabric_core::lossy::congestion::Congestion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::fraction;
use crate::document::Document;
use crate::quantity;
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Condition under which a lossy egress queue counts as congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Congested {
    /// Length from this fraction of the queue's threshold on; at most 1.
    OfThreshold(Ratio),
    /// Length from this fraction of the lossy buffer on; at most 1.
    OfBuffer(Ratio),
    /// Length as a fraction of these bytes is the queue's count; above zero and below 4 GiB.
    Bytes(Bytes),
}

/// Condition under which a lossy egress queue counts as congested: one of these keys.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CongestedKeys {
    /// Fraction of its threshold from which on a queue is congested, at most 1 (ABM's paper). Under BSHARE the
    /// threshold in bytes is theta x rate of the port (Eq. 10).
    of_threshold: Option<Ratio>,
    /// Fraction of the whole lossy buffer from which on a queue is congested, at most 1. Above 1/2, at most one queue
    /// of a switch is congested at a time, as with the 90% of BSHARE's Section III-A.
    of_buffer: Option<Ratio>,
    /// Bytes at which a queue counts as one congested queue; shorter queues count in proportion. Above zero and below
    /// "4GiB". The simulator of ABM's authors does this, with "28kB".
    bytes: Option<Bytes>,
}

impl Congested {
    pub(super) fn settings(self) -> Congestion {
        match self {
            Self::OfThreshold(part) => Congestion::OfThreshold(fraction(part)),
            Self::OfBuffer(part) => Congestion::OfBuffer(fraction(part)),
            Self::Bytes(bytes) => {
                Congestion::Bytes(u32::try_from(bytes.0).expect("less than 4 GiB"))
            }
        }
    }
}

impl Default for Congested {
    fn default() -> Self {
        Self::OfThreshold(Ratio::new(9, 10))
    }
}

impl CongestedKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<Congested, ScenarioError> {
        let at = |key: &str| format!("switch.lossy.congested{key}");
        let wrong = |key: &str, title: &str, help: &str| document.error(&at(key), title, help);
        let part = |key: &str, part: Ratio, whole: &str| {
            if part.numerator <= part.denominator {
                return Ok(part);
            }
            let title = format!("a queue is congested from {part} of {whole} on");
            let help = "no queue holds more than the whole: write a ratio up to 1";
            Err(wrong(key, &title, help))
        };
        match (self.of_threshold, self.of_buffer, self.bytes) {
            (Some(of), None, None) => {
                part(".of_threshold", of, "its threshold").map(Congested::OfThreshold)
            }
            (None, Some(of), None) => part(".of_buffer", of, "the buffer").map(Congested::OfBuffer),
            (None, None, Some(Bytes(0))) => {
                let help = "each queue would count as one: write a size such as \"28kB\"";
                Err(wrong(".bytes", "a congested queue holds no bytes", help))
            }
            (None, None, Some(bytes)) if bytes.0 > u64::from(u32::MAX) => {
                let title = format!("a congested queue holds {}", quantity::display(bytes));
                let help = "write a size below \"4GiB\", such as \"28kB\"";
                Err(wrong(".bytes", &title, help))
            }
            (None, None, Some(bytes)) => Ok(Congested::Bytes(bytes)),
            _ => {
                let help = "write one of `of_threshold`, `of_buffer` and `bytes`";
                Err(wrong("", "not one rule for congested queues", help))
            }
        }
    }
}
