//! The real clock: time since a node started, from `CLOCK_MONOTONIC`, which eBPF reads, too.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use units::{Nanos, Picos};

/// Max uptime of a node: time is counted in picoseconds, of which 64 bits hold 213 days.
pub const MAX_LIFE: Picos = Picos(200 * 86_400 * 1_000_000_000_000);

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Nanos,
}

impl Clock {
    /// Starts a clock at 0.
    pub fn start() -> Self {
        Self { began: monotonic() }
    }

    /// Reading of `CLOCK_MONOTONIC` when the clock started.
    pub const fn began(&self) -> Nanos {
        self.began
    }

    /// Time since the clock started.
    pub fn now(&self) -> Picos {
        Picos::from_nanos(Nanos(monotonic().0.saturating_sub(self.began.0)))
    }
}

/// A countdown of real time.
#[derive(Clone, Copy, Debug)]
pub struct Countdown {
    clock: Clock,
    end: Picos,
}

impl Countdown {
    /// Starts a countdown.
    pub fn start(span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).expect("nobody waits for centuries");
        Self { clock: Clock::start(), end: Picos::from_nanos(Nanos(nanos)) }
    }

    /// Remaining time; zero once the countdown is over.
    pub fn left(&self) -> Duration {
        until(self.clock.now(), self.end)
    }
}

/// Time from `now` until an instant, rounded up to nanoseconds; zero if the instant has passed.
pub fn until(now: Picos, instant: Picos) -> Duration {
    Duration::from_nanos(instant.0.saturating_sub(now.0).div_ceil(1000))
}

fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every kernel has a monotonic clock");
    Nanos(now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_begins_at_zero_and_goes_on() {
        let clock = Clock::start();
        let first = clock.now();
        assert!(first < Picos(60_000_000_000_000), "a minute at most");
        assert!(clock.now() >= first && clock.began().0 > 0);
    }

    #[test]
    fn a_span_goes_by() {
        assert_eq!(Countdown::start(Duration::ZERO).left(), Duration::ZERO);
        let hour = Countdown::start(Duration::from_hours(1));
        let first = hour.left();
        assert!(first <= Duration::from_hours(1) && hour.left() <= first && !first.is_zero());
    }

    #[test]
    fn waiting_ends_when_the_instant_has_come() {
        let [now, later] = [Picos(5_000_000), Picos(6_000_001)];
        assert_eq!(until(now, later), Duration::from_nanos(1001), "not a picosecond early");
        assert_eq!(until(later, now), Duration::ZERO);
    }
}
