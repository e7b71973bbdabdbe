//! The real clock: emulated time that follows the wall clock, and how late what was due was served.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use units::Picos;

/// Beyond this much of the wall clock the emulated clock gives up catching up: it is set back, and the time is counted.
const MOST_LATE: Duration = Duration::from_millis(20);
/// Lateness is good if 99 of 100 windows are served within this much emulated time.
pub const GOOD_LATENESS: Duration = Duration::from_micros(250);
/// The verdict is about the last one to two of these, of the wall clock.
const SPELL: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub struct RealClock {
    /// The instant of the wall clock at which emulated time was zero, if it had never been set back.
    origin: Instant,
    dilation: u32,
    /// How much the emulated clock was set back, of the wall clock.
    slipped: Duration,
    /// Since the start; and of the last whole spell, and the one that runs. In nanoseconds of emulated time.
    all: Histogram<u64>,
    last: Histogram<u64>,
    current: Histogram<u64>,
    slipped_in_last: Duration,
    slipped_in_current: Duration,
    spell_began: Instant,
}

/// What a clock says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Whether programs see the fabric as it is: no time was lost, and deadlines were served soon enough.
    pub is_good: bool,
    /// Seconds of the wall clock in an emulated second.
    pub dilation: u32,
    /// Lateness of windows in the last one or two seconds, in nanoseconds of emulated time.
    pub recent: Lateness,
    /// The same since the fabric is up.
    pub all: Lateness,
    /// How much the emulated clock was set back in the last one or two seconds because the machine could not keep up, in
    /// nanoseconds of the wall clock.
    pub recently_slipped_ns: u64,
    /// The same since the fabric is up.
    pub slipped_ns: u64,
}

/// How late windows were served, in nanoseconds of emulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// How many there were.
    pub windows: u64,
    /// Half are at most so late.
    pub p50_ns: u64,
    /// 99 of 100 are.
    pub p99_ns: u64,
    /// All are.
    pub most_ns: u64,
}

impl Lateness {
    fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            windows: histogram.len(),
            p50_ns: histogram.value_at_quantile(0.5),
            p99_ns: histogram.value_at_quantile(0.99),
            most_ns: histogram.max(),
        }
    }
}

/// Of what is at most a minute late: the clock is set back before.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("the bounds are apart")
}

impl RealClock {
    /// Emulated time begins now.
    pub fn start(dilation: NonZeroU32) -> Self {
        let now = wall();
        Self {
            origin: now,
            dilation: dilation.get(),
            slipped: Duration::ZERO,
            all: histogram(),
            last: histogram(),
            current: histogram(),
            slipped_in_last: Duration::ZERO,
            slipped_in_current: Duration::ZERO,
            spell_began: now,
        }
    }

    /// The emulated time.
    pub fn now(&self) -> Picos {
        self.emulated(wall())
    }

    fn emulated(&self, wall: Instant) -> Picos {
        let passed = wall.saturating_duration_since(self.origin).as_nanos() * 1000;
        Picos(u64::try_from(passed / u128::from(self.dilation)).unwrap_or(u64::MAX))
    }

    /// How long it is until an emulated instant, by the wall clock.
    pub fn until(&self, instant: Picos) -> Duration {
        let wall_ns = u128::from(instant.0) * u128::from(self.dilation) / 1000;
        let wall_ns = u64::try_from(wall_ns).unwrap_or(u64::MAX);
        let passed = wall().saturating_duration_since(self.origin);
        Duration::from_nanos(wall_ns).saturating_sub(passed)
    }

    /// Remembers that what was due at an instant is served now. If it is far too late, the clock is set back.
    pub fn serve(&mut self, due: Picos) {
        let now = wall();
        let late_ns = self.emulated(now).0.saturating_sub(due.0) / 1000;
        self.current.saturating_record(late_ns);
        self.all.saturating_record(late_ns);
        let late = Duration::from_nanos(late_ns.saturating_mul(self.dilation.into()));
        if late > MOST_LATE {
            self.origin += late;
            self.slipped += late;
            self.slipped_in_current += late;
        }
        if now.saturating_duration_since(self.spell_began) >= SPELL {
            self.begin_spell(now);
        }
    }

    fn begin_spell(&mut self, now: Instant) {
        std::mem::swap(&mut self.last, &mut self.current);
        self.current.reset();
        self.slipped_in_last = std::mem::take(&mut self.slipped_in_current);
        self.spell_began = now;
    }

    /// What it says of itself.
    pub fn fidelity(&mut self) -> Fidelity {
        let now = wall();
        // Nothing was due for long.
        let idle = now.saturating_duration_since(self.spell_began);
        if idle >= SPELL {
            self.begin_spell(now);
        }
        if idle >= 2 * SPELL {
            self.begin_spell(now);
        }
        let mut recent = self.last.clone();
        recent.add(&self.current).expect("both have the same bounds");
        let recent = Lateness::of(&recent);
        let recently_slipped = self.slipped_in_last + self.slipped_in_current;
        let good = GOOD_LATENESS.as_nanos();
        Fidelity {
            is_good: recently_slipped.is_zero() && u128::from(recent.p99_ns) <= good,
            dilation: self.dilation,
            recent,
            all: Lateness::of(&self.all),
            recently_slipped_ns: nanos(recently_slipped),
            slipped_ns: nanos(self.slipped),
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "it is the real clock")]
fn wall() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulated_time_is_the_wall_clocks_divided() {
        let clock = RealClock::start(NonZeroU32::new(10).expect("ten"));
        let later = clock.origin + Duration::from_micros(25);
        assert_eq!(clock.emulated(later), Picos(2_500_000));
        assert!(clock.until(Picos(1_000_000_000_000)) <= Duration::from_secs(10));
        assert!(clock.until(Picos(1_000_000_000_000)) > Duration::from_secs(9));
        assert_eq!(clock.until(Picos(0)), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_far_too_late_is_set_back_and_says_so() {
        let mut clock = RealClock::start(NonZeroU32::MIN);
        clock.origin -= Duration::from_secs(3);
        let due = clock.now();
        clock.serve(due);
        let fidelity = clock.fidelity();
        assert!(fidelity.is_good, "{fidelity:?}");
        assert_eq!((fidelity.all.windows, fidelity.slipped_ns), (1, 0));
        clock.serve(Picos(due.0 - 1_000_000_000_000));
        let fidelity = clock.fidelity();
        assert!(!fidelity.is_good, "{fidelity:?}");
        assert!(fidelity.slipped_ns >= 1_000_000_000, "{fidelity:?}");
        assert!(clock.now() < due);
    }
}
