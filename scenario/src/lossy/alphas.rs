//! alpha of lossy priorities.

use fabric_core::lossy::settings::MAX_ALPHA;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::priority::{Priorities, Priority};
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// alpha of one lossy priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AlphaOfPriorityKeys")]
pub struct AlphaOfPriority {
    /// A lossy priority.
    pub priority: Priority,
    /// alpha of the priority: a ratio above zero, at most 65536.
    pub alpha: Ratio,
}

pub(super) const fn default_alpha() -> Ratio {
    Ratio::new(1, 1)
}

/// Checks alpha of all lossy priorities, and alphas of single ones.
pub(super) fn check(
    alpha: Ratio,
    entries: &[AlphaOfPriority],
    lossless: Priorities,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    check_alpha("switch.lossy.alpha", alpha, document)?;
    let mut known = Priorities::default();
    for (number, entry) in entries.iter().enumerate() {
        let AlphaOfPriority { priority: Priority(priority), alpha } = *entry;
        let path = format!("switch.lossy.alphas.{number}");
        let wrong =
            |title: &str, help: &str| Err(document.error(&format!("{path}.priority"), title, help));
        if lossless.contains(priority) {
            let title = format!("priority {priority} is lossless");
            let help = "PFC protects those of `switch.lossless`; `switch.lossy` is for the others";
            return wrong(&title, help);
        }
        if known.contains(priority) {
            let title = format!("priority {priority} comes twice");
            return wrong(&title, "write one entry for each priority");
        }
        check_alpha(&format!("{path}.alpha"), alpha, document)?;
        known.0 |= 1 << priority;
    }
    Ok(())
}

/// Checks that a switch can compute with an alpha.
pub(super) fn check_alpha(
    path: &str,
    alpha: Ratio,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    if u64::from(alpha.numerator) <= u64::from(MAX_ALPHA) * u64::from(alpha.denominator) {
        return Ok(());
    }
    let help = format!("a queue may then hold all that is free: write at most {MAX_ALPHA}");
    Err(document.error(path, &format!("an alpha of {alpha}"), &help))
}
