//! Reasons of lost frames.

use super::quantity;
use crate::drop::DropTotals;

/// `2 frames lost: 1 by policy, 1 by the machine below`.
pub(super) fn lost(drops: &DropTotals) -> String {
    let classes = [
        (drops.policy, "by policy"),
        (drops.frame, "for what they were"),
        (drops.substrate, "by the machine below"),
        (drops.injected, "by injected faults"),
        (drops.watchdog.unwrap_or(0), "by watchdogs"),
    ];
    let by_class: Vec<String> = classes
        .iter()
        .filter(|(frames, _)| *frames > 0)
        .map(|(frames, class)| format!("{} {class}", quantity::count(*frames)))
        .collect();
    let lost = quantity::counted(drops.lost(), "frame");
    format!("{lost} lost: {}", by_class.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_that_lost_frames_is_named() {
        let drops =
            DropTotals { policy: 1, watchdog: Some(6048), ignored: 3, ..DropTotals::default() };
        assert_eq!(lost(&drops), "6,049 frames lost: 1 by policy, 6,048 by watchdogs");
    }
}
