//! `switch.lossy.kind = "ib"`: Cisco's Intelligent Buffer.

use fabric_core::lossy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::fraction;
use crate::document::Document;
use crate::priority::{Priorities, Priority};
use crate::quantity;
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Maximum of `windows`.
const MAX_WINDOWS: u32 = 1000;
/// Maximum of `fall` and `rise`: products with queues below 4 GiB stay far below 2^64.
const MAX_GAIN: u32 = 1000;

/// Elephant threshold in Cisco's switches.
const ELEPHANT: Bytes = Bytes(1_048_555);

/// Owners of fair shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FairShares {
    /// All flows of an egress queue together.
    #[default]
    Queues,
    /// Each elephant flow; packets of other flows are not dropped.
    Elephants,
    /// No fair shares: no packet is dropped for exceeding one.
    Off,
}

/// Approximate fair dropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FairDroppingKeys")]
pub struct FairDropping {
    /// Owners of fair shares. "queues": all flows of an egress queue together, as in the simulator of ABM's authors.
    /// "elephants": each flow that has sent `elephant_bytes`, as in Cisco's switches; packets of other flows are not
    /// dropped. "off": no fair shares, and no packet is dropped for exceeding one. Default "queues".
    pub shares: FairShares,
    /// Bytes from which on a flow is an elephant, for `shares = "elephants"`. Default "1048555B".
    pub elephant_bytes: Bytes,
    /// Time over which arrivals are counted, "1ns" or more. Default "50us".
    pub window: Picos,
    /// Factor of the arrivals in one window before comparison with the fair share, 1 to 1000. Default 15.
    pub windows: u32,
    /// Fair share at the run's start, below "4GiB". Default "4MB".
    pub first_share: Bytes,
    /// Target queue length, below "4GiB". Default "100kB", for ports of 10 Gbit/s.
    pub desired: Bytes,
    /// Bytes by which the share falls for each byte of the queue above `desired` now, at most "1000". Default "18/10".
    pub fall: Ratio,
    /// Bytes by which the share rises for each byte of the queue above `desired` one window ago, at most "1000".
    /// Default "17/10".
    pub rise: Ratio,
    /// Queue length up to which the queue drops no packet for its share; below "4GiB". Default "150KiB", as in Cisco's
    /// switches for ports of 10 Gbit/s.
    pub min_bytes: Bytes,
}

/// Dynamic packet prioritisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PrioritisationKeys")]
pub struct Prioritisation {
    /// Number of packets of a flow that are prioritised, counted from the first one after a silence; above zero.
    /// Default 72.
    #[serde(default = "default_packets")]
    pub packets: u32,
    /// Lossy priority whose queue the packets join and whose alpha they get.
    pub priority: Priority,
}

const fn default_packets() -> u32 {
    72
}

impl Default for FairDropping {
    fn default() -> Self {
        let of = lossy::FairDropping::DEFAULT;
        let ratio = |it: lossy::Ratio| Ratio::new(it.numerator, it.denominator);
        Self {
            shares: FairShares::default(),
            elephant_bytes: ELEPHANT,
            window: Picos::from_nanos(of.window),
            windows: of.windows,
            first_share: of.first_share,
            desired: of.desired,
            fall: ratio(of.fall),
            rise: ratio(of.rise),
            min_bytes: of.least_bytes,
        }
    }
}

impl FairDropping {
    /// Checks the ranges of the values.
    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.lossy.fair_dropping.{key}"), title, help))
        };
        if self.window.to_nanos().0 == 0 {
            let help = "write a time such as \"50us\"";
            return wrong("window", "a window of less than a nanosecond", help);
        }
        if self.windows == 0 {
            let help = "nothing would be above its share: write 1 or more, or shares = \"off\"";
            return wrong("windows", "no window is compared with the fair share", help);
        }
        if self.windows > MAX_WINDOWS {
            let help = format!("write 1 to {MAX_WINDOWS}");
            return wrong("windows", "more windows than can be compared", &help);
        }
        for (key, bytes, what) in [
            ("desired", self.desired, "queue"),
            ("min_bytes", self.min_bytes, "queue"),
            ("first_share", self.first_share, "share"),
        ] {
            if bytes.0 > u64::from(u32::MAX) {
                let title = format!("a {what} of {}", quantity::display(bytes));
                return wrong(key, &title, "write a size below \"4GiB\", such as \"100kB\"");
            }
        }
        for (key, gain) in [("fall", self.fall), ("rise", self.rise)] {
            if u64::from(gain.numerator) > u64::from(MAX_GAIN) * u64::from(gain.denominator) {
                let help = format!("write a ratio up to \"{MAX_GAIN}\"");
                return wrong(key, "a share that changes faster than any queue", &help);
            }
        }
        Ok(())
    }
}

impl Prioritisation {
    /// Checks that packets are prioritised, in a lossy priority.
    pub(super) fn check(
        self,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let Self { packets, priority: Priority(priority) } = self;
        let at = "switch.lossy.prioritisation";
        if lossless.contains(priority) {
            let title = format!("priority {priority} is lossless");
            let help = "lossy packets join queues of lossy priorities only: name another one";
            return Err(document.error(&format!("{at}.priority"), &title, help));
        }
        if packets == 0 {
            let help = "write 1 or more, or leave `prioritisation` out";
            return Err(document.error(&format!("{at}.packets"), "no packet is prioritised", help));
        }
        Ok(())
    }
}

impl FairDropping {
    /// Returns the settings; `None` if there are no fair shares.
    pub(super) fn settings(&self) -> Option<lossy::FairDropping> {
        let shares = match self.shares {
            FairShares::Queues => lossy::FairShares::Queues,
            FairShares::Elephants => lossy::FairShares::Elephants(self.elephant_bytes),
            FairShares::Off => return None,
        };
        Some(lossy::FairDropping {
            shares,
            window: self.window.to_nanos(),
            windows: self.windows,
            first_share: self.first_share,
            desired: self.desired,
            fall: fraction(self.fall),
            rise: fraction(self.rise),
            least_bytes: self.min_bytes,
        })
    }
}

impl Prioritisation {
    pub(super) fn settings(self) -> lossy::Prioritisation {
        let priority = fabric_core::priority::Priority::new(self.priority.0);
        lossy::Prioritisation { packets: self.packets, priority }
    }
}
