//! `switch.lossy.codel`: an AQM at departure.

use fabric_core::lossy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use crate::document::Document;
use crate::quantity;
use crate::report::ScenarioError;

/// Maximum interval, 1000 s; switches count it in nanoseconds, below 2^40.
const MAX_INTERVAL: Picos = Picos(1_000_000_000_000_000);

/// Controlled Delay (RFC 8289) of every lossy egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CoDelKeys")]
pub struct CoDel {
    /// Target sojourn time, at most the interval. Default: a twentieth of the interval, as in the RFC for the Internet.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Picos>,
    /// Time for which the target may be exceeded before a packet is dropped, "1ns" to "1000s". Default "100ms", as in
    /// the RFC.
    interval: Picos,
}

impl Default for CoDel {
    fn default() -> Self {
        Self { target: None, interval: Picos(100_000_000_000) }
    }
}

impl CoDel {
    /// Adds the default of the target, and checks the times.
    pub(super) fn complete(&mut self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let interval = self.interval;
        if interval.to_nanos().0 == 0 || interval > MAX_INTERVAL {
            let title = format!("an interval of {}", quantity::display(interval));
            let help = "write a time from \"1ns\" to \"1000s\", such as \"100ms\"";
            return Err(document.error("switch.lossy.codel.interval", &title, help));
        }
        let target = *self.target.get_or_insert(Picos(interval.0 / 20));
        if target > interval {
            let title = format!(
                "a target of {}, above the interval of {}",
                quantity::display(target),
                quantity::display(interval)
            );
            let help = "CoDel drops what is above the target for an interval, which is a round trip: write a part of it, such as \
                        a twentieth (RFC 8289, 4.3 and 4.4)";
            return Err(document.error("switch.lossy.codel.target", &title, help));
        }
        Ok(())
    }

    pub(super) fn settings(self) -> lossy::CoDel {
        let target = self.target.expect("a scenario has all defaults");
        lossy::CoDel { target: target.to_nanos(), interval: self.interval.to_nanos() }
    }
}
