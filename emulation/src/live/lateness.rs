//! How late deadlines are met, node by node.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use results::{DeadlineCount, GOOD_LATENESS, Lateness};
use units::Picos;

use super::clock::{Pace, nanos, wall};

/// Recent is what lies in the last one to two of these, of the wall clock.
pub(super) const SPELL: Duration = Duration::from_secs(1);
/// Lateness beyond this, in nanoseconds, counts as this: the clock is set back long before.
const MOST_NS: u64 = 60_000_000_000;
/// With one significant digit a histogram takes 4 kB, and values are at most 1/16 too high.
const DIGITS: u8 = 1;

/// The lateness of what is done, since the start and recently.
#[derive(Debug)]
pub struct Meter {
    all: Histogram<u64>,
    all_late: u64,
    /// Of the spell that runs, and of the one before.
    current: Histogram<u64>,
    current_late: u64,
    last: Histogram<u64>,
    last_late: u64,
    spell_began: Instant,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(MOST_NS, DIGITS).expect("the bounds are apart")
}

impl Meter {
    /// Nothing was due yet.
    pub fn new() -> Self {
        Self {
            all: histogram(),
            all_late: 0,
            current: histogram(),
            current_late: 0,
            last: histogram(),
            last_late: 0,
            spell_began: wall(),
        }
    }

    /// Something is done now that was due `late_ns` nanoseconds of emulated time ago.
    pub fn record(&mut self, now: Instant, late_ns: u64) {
        if now.saturating_duration_since(self.spell_began) >= SPELL {
            self.begin_spell(now);
        }
        self.all.saturating_record(late_ns);
        self.current.saturating_record(late_ns);
        let is_late = u64::from(late_ns > nanos(GOOD_LATENESS));
        self.all_late += is_late;
        self.current_late += is_late;
    }

    /// Ends the spell that runs, and the one before it if that is long past.
    #[cold]
    fn begin_spell(&mut self, now: Instant) {
        let is_long_past = now.saturating_duration_since(self.spell_began) >= 2 * SPELL;
        std::mem::swap(&mut self.last, &mut self.current);
        self.last_late = std::mem::take(&mut self.current_late);
        self.current.reset();
        if is_long_past {
            self.last.reset();
            self.last_late = 0;
        }
        self.spell_began = now;
    }

    /// Since the start.
    pub fn count(&self) -> DeadlineCount {
        DeadlineCount { deadlines: self.all.len(), late: self.all_late }
    }
}

const ALIKE: &str = "all have the same bounds";

/// Meters of several nodes together.
#[derive(Debug)]
pub struct Sum {
    all: (Histogram<u64>, u64),
    recent: (Histogram<u64>, u64),
}

impl Sum {
    /// Of no meters.
    pub fn new() -> Self {
        Self { all: (histogram(), 0), recent: (histogram(), 0) }
    }

    /// Of one meter, whose spells go on until `now`.
    pub fn of(meter: &mut Meter, now: Instant) -> Self {
        let mut sum = Self::new();
        sum.add(meter, now);
        sum
    }

    /// Adds a meter.
    pub fn add(&mut self, meter: &mut Meter, now: Instant) {
        if now.saturating_duration_since(meter.spell_began) >= SPELL {
            meter.begin_spell(now);
        }
        self.all.0.add(&meter.all).expect(ALIKE);
        self.all.1 += meter.all_late;
        self.recent.0.add(&meter.last).expect(ALIKE);
        self.recent.0.add(&meter.current).expect(ALIKE);
        self.recent.1 += meter.last_late + meter.current_late;
    }

    /// Since the start.
    pub fn all(&self) -> Lateness {
        lateness(&self.all)
    }

    /// In the last one or two seconds.
    pub fn recent(&self) -> Lateness {
        lateness(&self.recent)
    }
}

fn lateness((histogram, late): &(Histogram<u64>, u64)) -> Lateness {
    Lateness {
        deadlines: histogram.len(),
        late: *late,
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        most_ns: histogram.max(),
    }
}

/// The meters of the nodes of a part, and the clock that they read.
#[derive(Debug)]
pub struct Punctuality {
    pace: Pace,
    /// By node of the part.
    meters: Box<[Meter]>,
}

impl Punctuality {
    /// Of so many nodes.
    pub fn new(pace: Pace, nodes: usize) -> Self {
        Self { pace, meters: (0..nodes).map(|_| Meter::new()).collect() }
    }

    /// The clock was set back.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// A node has done all that it has to do in a window, the first of which was due at `due`.
    pub fn met(&mut self, node: usize, due: Picos) {
        let now = wall();
        self.meters[node].record(now, self.pace.lateness_ns(now, due));
    }

    /// The meter of a node.
    pub fn meter_mut(&mut self, node: usize) -> &mut Meter {
        &mut self.meters[node]
    }

    /// What all nodes have counted.
    pub fn count(&self) -> DeadlineCount {
        self.meters.iter().map(Meter::count).fold(DeadlineCount::default(), DeadlineCount::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_tells_what_is_recent_from_what_is_long_past() {
        let mut meter = Meter::new();
        let begin = meter.spell_began;
        let at = |millis| begin + Duration::from_millis(millis);
        meter.record(at(10), 1_000);
        meter.record(at(20), 300_000);
        meter.record(at(1100), 2_000);
        let sum = Sum::of(&mut meter, at(1200));
        assert_eq!((sum.all().deadlines, sum.all().late), (3, 1));
        assert_eq!(sum.all(), sum.recent());
        assert!((300_000..320_000).contains(&sum.all().most_ns), "{sum:?}");
        // Then nothing is due for long.
        let sum = Sum::of(&mut meter, at(2200));
        assert_eq!((sum.recent().deadlines, sum.recent().late), (1, 0));
        let sum = Sum::of(&mut meter, at(5000));
        assert_eq!((sum.recent().deadlines, sum.recent().most_ns), (0, 0));
        assert_eq!((sum.all().deadlines, sum.all().late), (3, 1));
    }

    #[test]
    fn percentiles_outlast_what_32_bits_count() {
        let mut meter = Meter::new();
        let now = meter.spell_began;
        meter.all.saturating_record_n(1_000, u32::MAX.into());
        for _ in 0..10 {
            meter.record(now, 1_000);
        }
        let all = Sum::of(&mut meter, now).all();
        assert_eq!(all.deadlines, u64::from(u32::MAX) + 10);
        assert!(all.p50_ns >= 1_000 && all.p99_ns >= 1_000, "{all:?}");
    }

    #[test]
    fn what_lies_between_two_counts_is_their_difference() {
        let mut meter = Meter::new();
        let now = meter.spell_began;
        meter.record(now, 0);
        let before = meter.count();
        meter.record(now, 999_000_000);
        assert_eq!(meter.count().since(before), DeadlineCount { deadlines: 1, late: 1 });
        assert_eq!(before.and(before), DeadlineCount { deadlines: 2, late: 0 });
    }
}
