//! The real clock: emulated time that follows the wall clock.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use results::{DeadlineCount, Lateness, is_good};
use serde::{Deserialize, Serialize};
use units::Picos;

use super::lateness::{Meter, SPELL, Sum};

pub use results::GOOD_LATENESS;

/// Max lateness, wall clock, for which the emulated clock catches up. Beyond it, the clock is set back and the lost
/// time is counted.
const MAX_LATE: Duration = Duration::from_millis(20);

/// Relation of emulated time to the wall clock, until the clock is set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Instant of the wall clock at which emulated time was `begin`, if the clock had never been set back.
    origin: Instant,
    begin: Picos,
    dilation: u32,
}

/// See the module.
#[derive(Debug)]
pub struct RealClock {
    pace: Pace,
    /// Total time by which the emulated clock was set back, wall clock.
    lost: Duration,
    lost_in_last: Duration,
    lost_in_current: Duration,
    spell_began: Instant,
    /// Lateness with which sleeps ended.
    sleeps: Meter,
    /// Wall time in which there was nothing to do.
    rested: Duration,
}

/// Punctuality of a live fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fidelity {
    /// True if programs see the fabric as it is: see [`is_good`], which judges the last one or two seconds.
    pub is_good: bool,
    /// Seconds of the wall clock per emulated second.
    pub dilation: u32,
    /// Length of windows, ns of emulated time. An event is processed once its window has begun, so up to this much
    /// early.
    pub window_ns: u64,
    /// Lateness of deadlines in the last one or two seconds.
    pub recent: Lateness,
    /// Lateness of deadlines since the fabric came up.
    pub all: Lateness,
    /// Lateness of the engine's sleeps in the last one or two seconds, without sleeps that were interrupted in
    /// time. In an idle fabric most sleeps end with nothing due: the engine wakes five times a second.
    pub recent_sleeps: Lateness,
    /// Lateness of sleeps since the fabric came up.
    pub sleeps: Lateness,
    /// Time by which the emulated clock was set back in the last one or two seconds because the machine could not
    /// keep up, ns of the wall clock.
    pub recently_lost_ns: u64,
    /// Time by which the emulated clock was set back since the fabric came up, ns of the wall clock.
    pub lost_ns: u64,
}

impl Pace {
    /// Emulated time at an instant of the wall clock.
    fn emulated(self, wall: Instant) -> Picos {
        let passed = wall.saturating_duration_since(self.origin).as_nanos() * 1000;
        let passed = u64::try_from(passed / u128::from(self.dilation)).unwrap_or(u64::MAX);
        Picos(self.begin.0.saturating_add(passed))
    }

    /// Lateness at `now` of an event that was due at `due`, ns of emulated time.
    pub fn lateness_ns(self, now: Instant, due: Picos) -> u64 {
        self.emulated(now).0.saturating_sub(due.0) / 1000
    }
}

impl RealClock {
    /// Starts a clock whose emulated time is `begin` now. An emulated second takes `dilation` seconds.
    pub fn start(dilation: NonZeroU32, begin: Picos) -> Self {
        let now = wall();
        Self {
            pace: Pace { origin: now, begin, dilation: dilation.get() },
            lost: Duration::ZERO,
            lost_in_last: Duration::ZERO,
            lost_in_current: Duration::ZERO,
            spell_began: now,
            sleeps: Meter::new(),
            rested: Duration::ZERO,
        }
    }

    /// Relation of emulated time to the wall clock, until the clock is set back.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Emulated time.
    pub fn now(&self) -> Picos {
        self.pace.emulated(wall())
    }

    /// Wall time until an emulated instant; zero if the instant has passed.
    pub fn until(&self, instant: Picos) -> Duration {
        let Pace { origin, begin, dilation } = self.pace;
        let emulated = u128::from(instant.0.saturating_sub(begin.0));
        let wall_ns = emulated * u128::from(dilation) / 1000;
        let wall_ns = u64::try_from(wall_ns).unwrap_or(u64::MAX);
        let passed = wall().saturating_duration_since(origin);
        Duration::from_nanos(wall_ns).saturating_sub(passed)
    }

    /// Starts to process events that were due at `due`. If they are too late, sets the clock back.
    pub fn serve(&mut self, now: Instant, due: Picos) {
        let late = self.pace.emulated(now).0.saturating_sub(due.0) / 1000;
        let late = Duration::from_nanos(late.saturating_mul(self.pace.dilation.into()));
        if late > MAX_LATE {
            self.pace.origin += late;
            self.lost += late;
            self.begin_spells(now);
            self.lost_in_current += late;
        }
    }

    /// Records a sleep of `asked` from `began` until `now`. `in_full` is true if the timer ended the sleep.
    pub fn slept(&mut self, now: Instant, began: Instant, asked: Duration, in_full: bool) {
        let slept = now.saturating_duration_since(began);
        self.rested += slept;
        let late = slept.saturating_sub(asked);
        if in_full || !late.is_zero() {
            self.sleeps.record(now, nanos(late) / u64::from(self.pace.dilation));
        }
    }

    /// Number of sleeps since the start, and number of late ones.
    pub fn sleeps(&self) -> DeadlineCount {
        self.sleeps.count()
    }

    /// Wall time in which there was nothing to do.
    pub fn rested(&self) -> Duration {
        self.rested
    }

    /// Total time by which the clock was set back, wall clock.
    pub fn lost(&self) -> Duration {
        self.lost
    }

    /// Ends spells that are over.
    fn begin_spells(&mut self, now: Instant) {
        let spell = now.saturating_duration_since(self.spell_began);
        if spell >= SPELL {
            let current = std::mem::take(&mut self.lost_in_current);
            self.lost_in_last = if spell >= 2 * SPELL { Duration::ZERO } else { current };
            self.spell_began = now;
        }
    }

    /// Punctuality of the fabric, with the deadlines of all nodes and the length of windows.
    pub fn fidelity(&mut self, deadlines: &Sum, window: Picos) -> Fidelity {
        let now = wall();
        self.begin_spells(now);
        let sleeps = Sum::from_meter(&mut self.sleeps, now);
        let recently_lost = self.lost_in_last + self.lost_in_current;
        let (recent, recent_sleeps) = (deadlines.recent(), sleeps.recent());
        Fidelity {
            is_good: is_good(recent.count(), recent_sleeps.count(), recently_lost),
            dilation: self.pace.dilation,
            window_ns: window.to_nanos().0,
            recent,
            all: deadlines.all(),
            recent_sleeps,
            sleeps: sleeps.all(),
            recently_lost_ns: nanos(recently_lost),
            lost_ns: nanos(self.lost),
        }
    }
}

/// Converts a span to nanoseconds.
pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Current instant of the wall clock.
#[expect(clippy::disallowed_methods, reason = "it is the real clock")]
pub fn wall() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use results::MIN_SLEEPS;

    use super::*;

    fn clock(dilation: u32, begin: Picos) -> RealClock {
        RealClock::start(NonZeroU32::new(dilation).expect("above zero"), begin)
    }

    #[test]
    fn emulated_time_is_the_wall_clocks_divided() {
        let clock = clock(10, Picos(1000));
        let later = clock.pace.origin + Duration::from_micros(25);
        assert_eq!(clock.pace.emulated(later), Picos(2_501_000));
        assert_eq!(clock.pace.lateness_ns(later, Picos(1_501_000)), 1000);
        assert_eq!(clock.pace.lateness_ns(later, Picos(3_000_000)), 0);
        assert!(clock.until(Picos(1_000_000_001_000)) <= Duration::from_secs(10));
        assert!(clock.until(Picos(1_000_000_001_000)) > Duration::from_secs(9));
        assert_eq!(clock.until(Picos(0)), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_far_too_late_is_set_back_and_says_so() {
        let mut clock = clock(10, Picos::ZERO);
        let now = clock.pace.origin + Duration::from_secs(30);
        let due = clock.pace.emulated(now);
        assert_eq!(due, Picos(3_000_000_000_000));
        // 19 ms of the wall clock, and then 30.
        clock.serve(now, Picos(due.0 - 1_900_000_000));
        let fidelity = clock.fidelity(&Sum::new(), Picos(7000));
        assert!(fidelity.is_good, "{fidelity:?}");
        assert_eq!((fidelity.window_ns, fidelity.lost_ns), (7, 0));
        clock.serve(now, Picos(due.0 - 3_000_000_000));
        let fidelity = clock.fidelity(&Sum::new(), Picos(7000));
        assert!(!fidelity.is_good, "{fidelity:?}");
        assert_eq!(fidelity.recently_lost_ns, 30_000_000);
        assert_eq!(clock.pace.lateness_ns(now, due), 0);
        assert_eq!(clock.pace.emulated(now), Picos(due.0 - 3_000_000_000));
        assert_eq!(clock.lost(), Duration::from_millis(30));
    }

    #[test]
    fn lost_time_is_recent_for_one_or_two_spells() {
        let mut clock = clock(1, Picos::ZERO);
        let lost = Duration::from_secs(1);
        let begin = clock.spell_began;
        clock.serve(begin + lost, Picos::ZERO);
        for (spells, recent) in [(1, lost), (2, lost), (3, Duration::ZERO)] {
            clock.begin_spells(begin + lost + SPELL * (spells - 1) + Duration::from_millis(999));
            assert_eq!(clock.lost_in_last + clock.lost_in_current, recent, "{spells}");
        }
        assert_eq!(clock.lost(), lost);
        // One long step also ends both spells.
        let later = begin + SPELL * 10;
        clock.serve(later, Picos::ZERO);
        clock.begin_spells(later + SPELL * 2);
        assert_eq!(clock.lost_in_last + clock.lost_in_current, Duration::ZERO);
    }

    #[test]
    fn sleeps_that_end_late_are_no_good_if_there_are_enough() {
        let mut clock = clock(10, Picos::ZERO);
        let began = clock.pace.origin;
        let (asked, later) = (Duration::from_millis(1), Duration::from_micros(3600));
        // A frame that came in has ended it.
        clock.slept(began + asked, began, later, false);
        assert_eq!(clock.sleeps(), DeadlineCount { deadlines: 0, late: 0 });
        // 2.4 and 2.6 ms of the wall clock.
        clock.slept(began + Duration::from_micros(3400), began, asked, true);
        assert_eq!(clock.sleeps(), DeadlineCount { deadlines: 1, late: 0 });
        clock.slept(began + later, began, asked, true);
        assert_eq!(clock.sleeps(), DeadlineCount { deadlines: 2, late: 1 });
        assert!(clock.fidelity(&Sum::new(), Picos(1)).is_good, "two are too few to judge");
        for _ in 2..MIN_SLEEPS {
            clock.slept(began + asked, began, asked, true);
        }
        assert!(clock.fidelity(&Sum::new(), Picos(1)).is_good);
        clock.slept(began + later, began, asked, true);
        let fidelity = clock.fidelity(&Sum::new(), Picos(1));
        assert!(!fidelity.is_good, "{fidelity:?}");
        assert_eq!(clock.rested(), Duration::from_micros(1000 + 3400 + 3600 + 98_000 + 3600));
    }
}
