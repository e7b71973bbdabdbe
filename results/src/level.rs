//! A value that is followed over time.

use units::Nanos;

use super::window::Window;

/// A value from its last change on, and its integral over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    since: Nanos,
    value: u64,
    sum: u128,
    most: u64,
}

impl Level {
    /// Sets the level to `value` from `time` on. Changes come in time order.
    pub(super) fn change(&mut self, window: Window, time: Nanos, value: u64) {
        self.most = self.most(window, time);
        self.sum += self.since(window, time);
        (self.since, self.value) = (time, value);
    }

    /// Integral of the level over the part of the window before `end`, times in nanoseconds.
    pub(super) fn integral(&self, window: Window, end: Nanos) -> u128 {
        self.sum + self.since(window, end)
    }

    /// Max level in the part of the window before `end`.
    pub(super) fn most(&self, window: Window, end: Nanos) -> u64 {
        let held = window.overlap(self.since, end) > Nanos(0);
        if held { self.most.max(self.value) } else { self.most }
    }

    /// The integral since the last change.
    fn since(&self, window: Window, until: Nanos) -> u128 {
        u128::from(self.value) * u128::from(window.overlap(self.since, until).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_window_counts() {
        let window = Window { from: Nanos(10), to: Nanos(20) };
        let mut level = Level::default();
        for (time, value) in [(5, 3), (12, 7), (15, 1), (30, 9)] {
            level.change(window, Nanos(time), value);
        }
        assert_eq!(level.integral(window, Nanos(40)), 2 * 3 + 3 * 7 + 5);
        assert_eq!(level.most(window, Nanos(40)), 7);
        let earlier = Window { from: Nanos(6), to: Nanos(10) };
        let mut level = Level::default();
        level.change(earlier, Nanos(5), 3);
        assert_eq!(level.most(earlier, Nanos(9)), 3);
    }
}
