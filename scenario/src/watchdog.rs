//! `switch.watchdog`: when pauses of a neighbour count as a PFC storm, and what a switch does then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use super::document::Document;
use super::quantity::{self, Quantity, Time};
use super::report::ScenarioError;

/// Each look is work, in a run as at a real switch: a million of them in a second are enough.
const SHORTEST_POLL: Picos = Picos(1_000_000);

/// How a switch deals with PFC storms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Watchdog {
    /// What it does in a storm.
    pub action: WatchdogAction,
    /// How long a pause holds packets until that is a storm.
    #[serde(serialize_with = "quantity::serialize")]
    pub detection_time: Picos,
    /// How long no pause is in force until a storm is over.
    #[serde(serialize_with = "quantity::serialize")]
    pub restoration_time: Picos,
    /// The time between two looks, at most each of the other two.
    #[serde(serialize_with = "quantity::serialize")]
    pub poll_interval: Picos,
}

/// What a switch does in a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Drops what waits, and what comes later.
    #[default]
    Drop,
    /// Sends in spite of the pause.
    Forward,
    /// Only tells.
    Alert,
}

impl WatchdogAction {
    /// As a file writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Forward => "forward",
            Self::Alert => "alert",
        }
    }
}

/// The PFC watchdog of every switch, see docs/watchdog.md. It looks at each lossless priority of each port.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WatchdogKeys {
    /// What a switch does in a storm. "drop": it drops the packets of the priority that wait at the port, those that are to
    /// leave there later, and those that come in there. "forward": it sends in spite of the pause. "alert": it only
    /// tells. Default "drop".
    action: WatchdogAction,
    /// How long one pause, renewed or not, has to hold packets until that is a storm. Default "2ms".
    detection_time: Time,
    /// How long no pause is in force until the storm is over. Default "2ms".
    restoration_time: Time,
    /// The time between two looks, 1us or more, and at most each of the other two. Default "200us".
    poll_interval: Time,
}

impl Default for WatchdogKeys {
    fn default() -> Self {
        Self {
            action: WatchdogAction::default(),
            detection_time: Quantity(Picos(2_000_000_000)),
            restoration_time: Quantity(Picos(2_000_000_000)),
            poll_interval: Quantity(Picos(200_000_000)),
        }
    }
}

impl WatchdogKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<Watchdog, ScenarioError> {
        let Self { action, detection_time, restoration_time, poll_interval } = self;
        let interval = poll_interval.0;
        if interval < SHORTEST_POLL {
            let title = if interval == Picos::ZERO {
                "`poll_interval` is zero".to_owned()
            } else {
                format!("a poll interval of {} is too short", quantity::display(interval))
            };
            let help = "write the time between two looks, 1us or more, such as \"200us\"";
            return Err(document.error("switch.watchdog.poll_interval", &title, help));
        }
        for (key, time) in
            [("detection_time", detection_time.0), ("restoration_time", restoration_time.0)]
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
        Ok(Watchdog {
            action,
            detection_time: detection_time.0,
            restoration_time: restoration_time.0,
            poll_interval: interval,
        })
    }
}
