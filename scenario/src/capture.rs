//! `[[captures]]`: wires that are recorded into a pcapng file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Fabric;

use super::document::Document;
use super::glob;
use super::report::ScenarioError;

/// Wires to record and frames to keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// Wires by name, such as "h0->leaf0", or links, such as "h0-leaf0", which select both of their wires. `*` stands
    /// for any text and `?` for one character, so that "leaf0->*" selects all wires from leaf0. Default: every wire.
    pub wires: Vec<String>,
    /// Frames to keep: "all", "pfc", "hop-control", "cnp", "data" (data, ACKs and NAKs) or "drops". Default "all".
    pub filter: CaptureFilter,
}

/// Frames that a capture keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaptureFilter {
    /// Every frame.
    #[default]
    All,
    /// PAUSE and RESUME.
    Pfc,
    /// Hop control frames other than PFC: pauses of queues and flows, and rates.
    HopControl,
    /// Congestion notification packets.
    Cnp,
    /// Data packets, ACKs and NAKs.
    Data,
    /// Frames lost on the wire or dropped by the node at its end on arrival, with the time at which their transmission
    /// began. The packet's comment gives the reason, such as "dropped: ttl-expired".
    Drops,
}

impl Default for Capture {
    fn default() -> Self {
        Self { wires: vec!["*".into()], filter: CaptureFilter::All }
    }
}

impl Capture {
    /// Returns true if the wire of this name is recorded.
    pub fn covers(&self, wire: &str) -> bool {
        self.wires.iter().any(|pattern| glob::matches_wire(pattern, wire))
    }

    pub(super) fn check(
        &self,
        path: &str,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let path = format!("{path}.wires");
        if self.wires.is_empty() {
            let help = "name wires, or write [\"*\"] for all of them";
            return Err(document.error(&path, "a capture of no wires", help));
        }
        let mut patterns = self.wires.iter().enumerate();
        patterns.try_for_each(|(place, pattern)| {
            glob::check(pattern, &format!("{path}.{place}"), fabric, document)
        })
    }
}
