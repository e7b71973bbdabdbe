//! `[[faults]]`: frames that wires lose on purpose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Fabric;

use super::document::Document;
use super::glob;
use super::ratio::Probability;
use super::report::ScenarioError;

/// Something that goes wrong on wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// Frames vanish on the wire.
    Loss {
        /// Wires by name; `*` and `?` as in captures.
        wire: String,
        /// Frames that count.
        r#match: FrameClass,
        /// Which of them vanish.
        #[serde(flatten)]
        selection: Selection,
    },
}

/// Which frames of a class vanish, counted on each wire alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Each with this probability, drawn from the scenario's seed.
    Rate(Probability),
    /// These, counted from 1; ascending.
    Nth(Vec<u64>),
}

/// A class of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameClass {
    /// Every frame.
    #[default]
    All,
    /// Data packets, and the SYNs before them.
    Data,
    /// Positive acknowledgements, and the answers to SYNs.
    Ack,
    /// Negative acknowledgements.
    Nak,
    /// Congestion notification packets.
    Cnp,
    /// PFC frames, of either kind.
    Pfc,
    /// PFC frames that pause.
    Pause,
    /// PFC frames that only resume.
    Resume,
    /// Hop control frames other than PFC: pauses of queues, and bitmaps of them.
    HopControl,
    /// Frames that measure links.
    LinkDelay,
}

/// Something that goes wrong on wires, for tests of what then happens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum FaultKeys {
    /// Frames vanish on the wire. Either `rate` or `nth` says which ones.
    Loss {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// Frames that count: "all", "data" (over TCP the first one is the SYN), "ack", "nak", "cnp", "pfc", "pause", "resume",
        /// "hop-control" (pauses of queues, and bitmaps of them) or "link-delay". Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of them vanishes, 0 to 1; drawn from the scenario's seed.
        rate: Option<Probability>,
        /// Which of them vanish, counted from 1 on each wire.
        nth: Option<Vec<u64>>,
    },
}

fn every_wire() -> String {
    "*".into()
}

impl Fault {
    /// Whether the fault is on the wire of this name.
    pub fn covers(&self, wire: &str) -> bool {
        let Self::Loss { wire: pattern, .. } = self;
        glob::matches(pattern, wire)
    }
}

impl FaultKeys {
    pub(super) fn resolve(
        self,
        path: &str,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<Fault, ScenarioError> {
        let Self::Loss { wire, r#match, rate, nth } = self;
        glob::check(&wire, &format!("{path}.wire"), fabric, document)?;
        let selection = match (rate, nth) {
            (Some(rate), None) => Selection::Rate(rate),
            (None, Some(mut nth)) if !nth.is_empty() && !nth.contains(&0) => {
                nth.sort_unstable();
                nth.dedup();
                Selection::Nth(nth)
            }
            (None, Some(_)) => {
                let help = "frames are counted from 1: nth = [1] is the first one";
                let path = format!("{path}.nth");
                return Err(document.error(&path, "a list that names no frame", help));
            }
            (Some(_), Some(_)) => {
                let help = "keep one of the two, and write a second [[faults]] for the other";
                return Err(document.error(path, "a loss with both `rate` and `nth`", help));
            }
            (None, None) => {
                let help = "add rate = 0.001, or nth = [1]";
                return Err(document.error(path, "a loss without `rate` or `nth`", help));
            }
        };
        Ok(Fault::Loss { wire, r#match, selection })
    }
}
