//! Drops in `summary.json`.

use std::collections::BTreeMap;

use fabric_core::drop_reason::{DropClass, DropReason};
use serde::{Deserialize, Serialize};

/// Dropped frames, by reason and by origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropTotals {
    /// Frames for each reason that occurred.
    pub by_reason: BTreeMap<String, u64>,
    /// By the buffer's rules.
    pub policy: u64,
    /// Malformed, or not for this switch.
    pub frame: u64,
    /// Control frames without effect: not lost.
    pub ignored: u64,
    /// By the machine below the emulation.
    pub substrate: u64,
    /// By a fault of the scenario.
    pub injected: u64,
    /// By the watchdogs of switches; `None` without watchdogs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<u64>,
}

impl DropTotals {
    /// Adds `frames` of one reason; zero frames leave no entry.
    pub fn add(&mut self, reason: DropReason, frames: u64) {
        if frames == 0 {
            return;
        }
        *self.by_reason.entry(reason.name().to_owned()).or_default() += frames;
        *match reason.class() {
            DropClass::Policy => &mut self.policy,
            DropClass::Frame => &mut self.frame,
            DropClass::Ignored => &mut self.ignored,
            DropClass::Substrate => &mut self.substrate,
            DropClass::Injected => &mut self.injected,
            DropClass::Watchdog => self.watchdog.get_or_insert_default(),
        } += frames;
    }

    /// Frames lost: all but the ignored.
    pub fn lost(&self) -> u64 {
        let &Self { policy, frame, substrate, injected, watchdog, .. } = self;
        policy + frame + substrate + injected + watchdog.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Nanos};

    use super::*;
    use crate::csv::line;
    use crate::tables::DropRow;

    #[test]
    fn what_is_not_known_is_empty() {
        let row = DropRow {
            time: Nanos(5),
            node: "leaf0->h0",
            port: None,
            priority: None,
            reason: DropReason::SubstrateLoss,
            bytes: Bytes(64),
        };
        assert_eq!(line(&row), "5,leaf0->h0,,,substrate-loss,substrate,64\n");
    }

    #[test]
    fn ignored_frames_are_not_lost() {
        let mut drops = DropTotals::default();
        drops.add(DropReason::GlobalPause, 5);
        assert_eq!(drops.lost(), 0);
        drops.add(DropReason::InjectedLoss, 1);
        assert_eq!(drops.lost(), 1);
    }

    #[test]
    fn all_frames_that_went_no_further_but_the_ignored_are_lost() {
        let mut drops = DropTotals::default();
        for (frames, reason) in [
            (1, DropReason::HeadroomExhausted),
            (20, DropReason::NoRoute),
            (300, DropReason::GlobalPause),
            (4000, DropReason::RingFull),
            (50_000, DropReason::LinkDown),
            (600_000, DropReason::WatchdogEgress),
        ] {
            drops.add(reason, frames);
            drops.add(reason, frames);
        }
        assert_eq!(drops.by_reason.values().sum::<u64>(), 2 * 654_321);
        let DropTotals { policy, frame, ignored, substrate, injected, watchdog, .. } = drops;
        assert_eq!([policy, frame, ignored, substrate, injected], [2, 40, 600, 8000, 100_000]);
        assert_eq!((watchdog, drops.lost()), (Some(1_200_000), 1_308_042));
    }
}
