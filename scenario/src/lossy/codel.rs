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

/// `CoDel` of every lossy egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoDel {
    /// Target sojourn time.
    pub target: Picos,
    /// Time for which the target may be exceeded, at least a nanosecond.
    pub interval: Picos,
}

/// Controlled Delay (RFC 8289) of every lossy egress queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoDelKeys {
    /// Target sojourn time, at most the interval. Default: a twentieth of the interval, as in the RFC for the Internet.
    target: Option<Picos>,
    /// Time for which the target may be exceeded before a packet is dropped, "1ns" to "1000s". Default "100ms", as in
    /// the RFC.
    interval: Picos,
}

impl Default for CoDelKeys {
    fn default() -> Self {
        Self { target: None, interval: Picos(100_000_000_000) }
    }
}

impl CoDelKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<CoDel, ScenarioError> {
        let interval = self.interval;
        if interval.to_nanos().0 == 0 || interval > MAX_INTERVAL {
            let title = format!("an interval of {}", quantity::display(interval));
            let help = "write a time from \"1ns\" to \"1000s\", such as \"100ms\"";
            return Err(document.error("switch.lossy.codel.interval", &title, help));
        }
        let target = self.target.unwrap_or(Picos(interval.0 / 20));
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
        Ok(CoDel { target, interval })
    }
}

impl CoDel {
    pub(super) fn settings(self) -> lossy::CoDel {
        lossy::CoDel { target: self.target.to_nanos(), interval: self.interval.to_nanos() }
    }
}
