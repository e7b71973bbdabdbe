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

/// Condition under which a lossy egress queue counts as congested: one of these keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CongestedKeys")]
pub struct Congested {
    /// Fraction of its threshold from which on a queue is congested, at most 1 (ABM's paper). Under BSHARE the
    /// threshold in bytes is theta x rate of the port (Eq. 10).
    #[serde(skip_serializing_if = "Option::is_none")]
    of_threshold: Option<Ratio>,
    /// Fraction of the whole lossy buffer from which on a queue is congested, at most 1. Above 1/2, at most one queue
    /// of a switch is congested at a time, as with the 90% of BSHARE's Section III-A.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_buffer: Option<Ratio>,
    /// Bytes at which a queue counts as one congested queue; shorter queues count in proportion. Above zero and below
    /// "4GiB". The simulator of ABM's authors does this, with "28kB".
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Bytes>,
}

impl Congested {
    /// Default: a queue is congested from 90 % of its threshold on.
    pub(super) const USUAL: Self =
        Self { of_threshold: Some(Ratio::new(9, 10)), of_buffer: None, bytes: None };

    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let at = |key: &str| format!("switch.lossy.congested{key}");
        let wrong = |key: &str, title: &str, help: &str| document.error(&at(key), title, help);
        let part = |key: &str, part: Ratio, whole: &str| {
            if part.numerator <= part.denominator {
                return Ok(());
            }
            let title = format!("a queue is congested from {part} of {whole} on");
            let help = "no queue holds more than the whole: write a ratio up to 1";
            Err(wrong(key, &title, help))
        };
        match (self.of_threshold, self.of_buffer, self.bytes) {
            (Some(of), None, None) => part(".of_threshold", of, "its threshold"),
            (None, Some(of), None) => part(".of_buffer", of, "the buffer"),
            (None, None, Some(Bytes(0))) => {
                let help = "each queue would count as one: write a size such as \"28kB\"";
                Err(wrong(".bytes", "a congested queue holds no bytes", help))
            }
            (None, None, Some(bytes)) if bytes.0 > u64::from(u32::MAX) => {
                let title = format!("a congested queue holds {}", quantity::display(bytes));
                let help = "write a size below \"4GiB\", such as \"28kB\"";
                Err(wrong(".bytes", &title, help))
            }
            (None, None, Some(_)) => Ok(()),
            _ => {
                let help = "write one of `of_threshold`, `of_buffer` and `bytes`";
                Err(wrong("", "not one rule for congested queues", help))
            }
        }
    }

    pub(super) fn settings(self) -> Congestion {
        match (self.of_threshold, self.of_buffer, self.bytes) {
            (_, _, Some(bytes)) => {
                Congestion::Bytes(u32::try_from(bytes.0).expect("less than 4 GiB"))
            }
            (_, Some(part), _) => Congestion::OfBuffer(fraction(part)),
            (part, ..) => {
                Congestion::OfThreshold(fraction(part.expect("a condition has one of the keys")))
            }
        }
    }
}
