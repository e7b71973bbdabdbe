//! `switch.watchdog`: detection of PFC storms, and the switch's reaction.
//!
//! # Adding an action
//!
//! 1. A variant of `StormAction` in `fabric-core/src/policy.rs`, its effect in `fabric-core/src/watchdog.rs`, and in
//!    `switch-user/src/switch/storms.rs` at the beginning of a storm; its name in `WatchdogAction` here.
//! 2. The lists of actions in `xoff doctor` and `tests/src/switch/case.rs`; a test in `tests/tests/test_run/storms.rs`;
//!    docs/watchdog.md.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use super::document::Document;
use super::quantity;
use super::report::ScenarioError;

/// Minimum polling interval, because each poll takes time in a run and on a real switch: at most a million polls per
/// second.
const MIN_POLL: Picos = Picos(1_000_000);

/// Reaction to a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Drops waiting packets and later ones.
    #[default]
    Drop,
    /// Sends in spite of the pause.
    Forward,
    /// Only reports the storm.
    Alert,
}

impl WatchdogAction {
    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Forward => "forward",
            Self::Alert => "alert",
        }
    }
}

/// PFC watchdog of every switch, see docs/watchdog.md. It polls each lossless priority of each port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "WatchdogKeys")]
pub struct Watchdog {
    /// Reaction to a storm. "drop": drops packets of the priority that wait at the port, later packets that are to
    /// leave there, and packets that arrive there. "forward": sends in spite of the pause. "alert": only reports the
    /// storm. Default "drop".
    pub action: WatchdogAction,
    /// Time for which a pause, renewed or not, must hold packets to count as a storm. Default "2ms".
    pub detection_time: Picos,
    /// Time without a pause after which the storm is over. Default "2ms".
    pub restoration_time: Picos,
    /// Time between polls, "1us" or more, and at most each of the other two times. Default "200us".
    pub poll_interval: Picos,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self {
            action: WatchdogAction::default(),
            detection_time: Picos(2_000_000_000),
            restoration_time: Picos(2_000_000_000),
            poll_interval: Picos(200_000_000),
        }
    }
}

impl Watchdog {
    /// Checks the times against each other.
    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let Self { detection_time, restoration_time, poll_interval: interval, .. } = *self;
        if interval < MIN_POLL {
            let title = if interval == Picos::ZERO {
                "`poll_interval` is zero".to_owned()
            } else {
                format!("a poll interval of {} is too short", quantity::display(interval))
            };
            let help = "write the time between two looks, 1us or more, such as \"200us\"";
            return Err(document.error("switch.watchdog.poll_interval", &title, help));
        }
        for (key, time) in
            [("detection_time", detection_time), ("restoration_time", restoration_time)]
        {
            if time < interval {
                let title = format!(
                    "a {key} of {} is shorter than the poll interval, {}",
                    quantity::display(time),
                    quantity::display(interval)
                );
                let help = "the watchdog sees nothing in between: write a longer time, or a shorter `poll_interval`";
                return Err(document.error(&format!("switch.watchdog.{key}"), &title, help));
            }
        }
        Ok(())
    }
}
