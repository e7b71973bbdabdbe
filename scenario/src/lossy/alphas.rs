//! alpha of lossy priorities.

use fabric_core::lossy::settings::MAX_ALPHA;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::priority::{Priorities, Priority};
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// alpha of all lossy priorities, with exceptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alphas {
    /// alpha of priorities that `alphas` does not name; at most 65536.
    pub alpha: Ratio,
    /// Priorities with another alpha, each once; all are lossy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alphas: Vec<AlphaOfPriority>,
}

/// alpha of one lossy priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AlphaOfPriority {
    /// The priority.
    pub priority: u8,
    /// alpha, at most 65536.
    pub alpha: Ratio,
}

/// alpha of one lossy priority.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlphaOfPriorityKeys {
    /// A lossy priority.
    priority: Priority,
    /// alpha of the priority: a ratio above zero, at most 65536.
    alpha: Ratio,
}

pub(super) const fn default_alpha() -> Ratio {
    Ratio::new(1, 1)
}

impl Default for Alphas {
    fn default() -> Self {
        Self { alpha: default_alpha(), alphas: Vec::new() }
    }
}

impl Alphas {
    pub(super) fn resolve(
        alpha: Ratio,
        entries: Vec<AlphaOfPriorityKeys>,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<Self, ScenarioError> {
        check_alpha("switch.lossy.alpha", alpha, document)?;
        let mut known = Priorities::default();
        let mut alphas = Vec::with_capacity(entries.len());
        for (number, entry) in entries.into_iter().enumerate() {
            let AlphaOfPriorityKeys { priority: Priority(priority), alpha } = entry;
            let path = format!("switch.lossy.alphas.{number}");
            let wrong = |title: &str, help: &str| {
                Err(document.error(&format!("{path}.priority"), title, help))
            };
            if lossless.contains(priority) {
                let title = format!("priority {priority} is lossless");
                let help =
                    "PFC protects those of `switch.lossless`; `switch.lossy` is for the others";
                return wrong(&title, help);
            }
            if known.contains(priority) {
                let title = format!("priority {priority} comes twice");
                return wrong(&title, "write one entry for each priority");
            }
            check_alpha(&format!("{path}.alpha"), alpha, document)?;
            known.0 |= 1 << priority;
            alphas.push(AlphaOfPriority { priority, alpha });
        }
        Ok(Self { alpha, alphas })
    }

    /// Returns alpha of each priority.
    pub fn by_priority(&self) -> [Ratio; 8] {
        let mut all = [self.alpha; 8];
        for own in &self.alphas {
            all[usize::from(own.priority)] = own.alpha;
        }
        all
    }
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
