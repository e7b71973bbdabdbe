//! Growth rate of an ingress queue, from which P-PFC predicts its length.
//!
//! The paper and its formula are not public. Here a slope is the change of the queue's length between two measurements,
//! divided by the time between them. A queue is measured at the first packet that arrives or leaves after `interval`.
//! Slopes are averaged with power-of-two weights, and stored as the queue's growth until the horizon.

use super::state::{self, QueueLine, SettingsLine};
use crate::scheme::Ingress;
use crate::tables::Tables;
use units::Nanos;

/// Measures the queue if `interval` has passed. Returns its predicted growth until the horizon, bytes.
#[inline(always)]
pub fn sample<T: Tables>(at: &Ingress<'_, T>, settings: &SettingsLine, now: Nanos) -> Option<i64> {
    let line = state::queue(at)?;
    Some(measure(line, settings, at.queue.shared_bytes.load(), now))
}

#[inline(always)]
fn measure(line: &QueueLine, settings: &SettingsLine, length: u64, now: Nanos) -> i64 {
    let average = line.growth_bytes.load().cast_signed();
    let passed = now.0.saturating_sub(line.measured_ns.load());
    if passed < settings.interval_ns.load() {
        return average;
    }
    let before = line.measured_bytes.load();
    let change = length.abs_diff(before).wrapping_mul(settings.horizon_ns.load());
    // No scenario has an interval of zero. Without elapsed time, the slope is unknown.
    let Some(change) = change.checked_div(passed) else { return average };
    let growth = if length < before { 0u64.wrapping_sub(change) } else { change }.cast_signed();
    let average =
        average.wrapping_add(growth.wrapping_sub(average) >> (settings.weight_shift.load() & 63));
    line.measured_ns.store(now.0);
    line.measured_bytes.store(length);
    line.growth_bytes.store(average.cast_unsigned());
    average
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(weight_shift: u32) -> SettingsLine {
        let line = SettingsLine::default();
        line.horizon_ns.store(2000);
        line.interval_ns.store(1000);
        line.weight_shift.store(weight_shift);
        line
    }

    /// (now, length, predicted growth in 2 us, bytes).
    fn assert_growth(weight_shift: u32, steps: &[(u64, u64, i64)]) {
        let (settings, line) = (settings(weight_shift), QueueLine::default());
        for &(now, length, expected) in steps {
            let growth = measure(&line, &settings, length, Nanos(now));
            assert_eq!(growth, expected, "{length} B at {now} ns");
        }
    }

    #[test]
    fn a_slope_is_the_change_since_the_last_measurement() {
        assert_growth(
            0,
            &[
                // It was empty when the run began.
                (1000, 5000, 10_000),
                // Earlier than the interval.
                (1999, 9000, 10_000),
                (2000, 9000, 8000),
                // 3 us without a packet.
                (5000, 3000, -4000),
                (6000, 3000, 0),
            ],
        );
    }

    #[test]
    fn slopes_are_averaged() {
        assert_growth(
            2,
            &[(1000, 4000, 2000), (2000, 8000, 3500), (3000, 8000, 2625), (4000, 0, -2032)],
        );
    }

    #[test]
    fn times_of_zero_and_lengths_of_any_size_divide_nothing_by_zero() {
        let (settings, line) = (settings(0), QueueLine::default());
        settings.interval_ns.store(0);
        assert_eq!(measure(&line, &settings, 5, Nanos(0)), 0);
        settings.horizon_ns.store(u64::MAX);
        line.measured_bytes.store(u64::MAX);
        measure(&line, &settings, 0, Nanos(1));
    }
}
