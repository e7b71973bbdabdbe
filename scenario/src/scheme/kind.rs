//! Interface of the kinds of `switch.scheme`.

use fabric_core::drop_reason::DropReason;
use fabric_core::headroom;
use fabric_core::scheme::SchemeSettings;
use topology::SwitchId;
use units::{Bytes, Picos};

use super::Spfc;
use crate::Scenario;
use crate::document::Document;
use crate::priority::Priorities;
use crate::report::ScenarioError;

/// Result of a check of keys.
pub(crate) type Check = Result<(), ScenarioError>;

/// Part of a class that a switch pauses by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Queue,
    Flow,
}

/// Parts of classes that a switch pauses one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PausedParts {
    pub part: Part,
    pub priorities: Priorities,
    /// Queues of each of these priorities at a port.
    pub queues: u32,
}

/// Keys of a kind of `switch.scheme`: their checks, the settings that they make, and what other sections depend on. The
/// defaults are those of PFC.
pub(crate) trait Kind {
    /// Name of the scheme's family in papers.
    const NAME: &'static str;

    /// Name for an error if the kind needs static headroom: a part of it shares headroom, or has been tried with nothing
    /// else.
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = None;

    /// Tables of results that only some schemes write, each with a condition on the keys in words, or "".
    const TABLES: &'static [(&'static str, &'static str)] = &[];

    /// Path of the table that has the rule by which ports are victims.
    const VICTIMS_PATH: &'static str = "switch.scheme";

    /// Returns true if runs write a table of [`TABLES`](Self::TABLES).
    fn writes(&self, table: &str) -> bool {
        Self::TABLES.iter().any(|(name, _)| *name == table)
    }

    /// Adds defaults, and checks the keys.
    fn complete(&mut self, _lossless: Priorities, _document: &Document<'_>) -> Check {
        Ok(())
    }

    /// Checks the keys against other keys.
    fn check(&self, _scenario: &Scenario, _document: &Document<'_>) -> Check {
        Ok(())
    }

    /// Checks the keys against the buffer and the thresholds of a switch.
    fn check_at(&self, _scenario: &Scenario, _switch: SwitchId, _document: &Document<'_>) -> Check {
        Ok(())
    }

    /// Returns warnings about keys that are probably mistakes.
    fn warnings(&self, _scenario: &Scenario) -> Vec<String> {
        Vec::new()
    }

    /// Returns the settings of a switch.
    fn settings(&self, scenario: &Scenario, switch: SwitchId) -> SchemeSettings;

    /// Returns the parts of classes that the switch pauses one by one, if any.
    fn paused_parts(&self) -> Option<PausedParts> {
        None
    }

    /// Returns the time between announcements of a switch, if it sends any.
    fn announcement_period(&self, _scenario: &Scenario) -> Option<Picos> {
        None
    }

    /// Returns the parameters of SPFC if ports or queues may be victims. Normal ports then have DT thresholds with SPFC's
    /// alpha.
    fn victims(&self) -> Option<Spfc> {
        None
    }

    /// Returns true if the switch sets rates of its neighbours.
    fn sends_rates(&self) -> bool {
        false
    }

    /// Returns true if queues are paused and resumed by the bytes of all lossless queues of their port.
    fn thresholds_are_of_ports(&self) -> bool {
        false
    }

    /// Returns the headroom of a queue or port that requires `required` bytes.
    fn reserved(&self, required: Bytes) -> Bytes {
        required
    }

    /// Returns true if headroom belongs to ports instead of queues.
    fn has_port_headroom(&self) -> bool {
        false
    }

    /// Returns true if lossless ingress queues compete for one pool of headroom.
    fn pools_headroom(&self) -> bool {
        false
    }

    /// Returns all headroom of a switch. `phi` has one item per port; `queues` is the number of a port's lossless queues.
    fn total_headroom(&self, phi: impl Iterator<Item = Bytes>, queues: u64) -> Bytes {
        headroom::total(phi, queues)
    }

    /// Describes the headroom of each ingress queue or port for an error, and names the equations. `largest` is the
    /// largest phi.
    fn headroom_in_words(&self, largest: &str) -> (String, &'static str) {
        (format!("each with up to {largest} of headroom"), "DSH Eq. 1, 3")
    }

    /// Returns which limit a lossless packet exceeded that was dropped for `reason`, and the key to change, if a key of the
    /// kind sets the limit.
    fn advice(&self, _reason: DropReason) -> Option<&'static str> {
        None
    }
}
