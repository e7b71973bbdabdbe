//! Lateness of deadlines, for each node.
//!
//! Each node has a meter, which moves to the thread that runs the node's part. A deadline costs one read of the wall
//! clock and two additions. Flows remember the counts at their start. Verdicts use counts; percentiles are for people.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use results::{DeadlineCount, GOOD_LATENESS, Lateness};
use units::Picos;

use super::clock::{Pace, nanos, wall};

/// Period of the wall clock. Recent values cover the current period and the one before.
pub(super) const SPELL: Duration = Duration::from_secs(1);
/// Max recorded lateness, ns; longer values count as this one. The clock is set back long before.
const MAX_NS: u64 = 60_000_000_000;
/// With one significant digit a histogram takes 4 kB, and values are at most 1/16 too high.
const DIGITS: u8 = 1;

/// Counts of lateness, since the start and recently.
#[derive(Debug)]
pub struct Meter {
    all: Histogram<u64>,
    all_late: u64,
    /// Histogram of the current spell; `last` has the spell before.
    current: Histogram<u64>,
    current_late: u64,
    last: Histogram<u64>,
    last_late: u64,
    spell_began: Instant,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(MAX_NS, DIGITS).expect("the bounds are apart")
}

impl Meter {
    /// A meter without records.
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

    /// Records an event that is processed `late_ns` nanoseconds of emulated time after it was due.
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

    /// Begins a spell. The current spell becomes the last one, or is dropped if it is long over.
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

    /// Counts since the start.
    pub fn count(&self) -> DeadlineCount {
        DeadlineCount { deadlines: self.all.len(), late: self.all_late }
    }
}

const ALIKE: &str = "all have the same bounds";

/// Sum of the meters of several nodes.
#[derive(Debug)]
pub struct Sum {
    all: (Histogram<u64>, u64),
    recent: (Histogram<u64>, u64),
}

impl Sum {
    /// An empty sum.
    pub fn new() -> Self {
        Self { all: (histogram(), 0), recent: (histogram(), 0) }
    }

    /// The sum of one meter, whose spells last until `now`.
    pub fn from_meter(meter: &mut Meter, now: Instant) -> Self {
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

    /// Lateness since the start.
    pub fn all(&self) -> Lateness {
        lateness(&self.all)
    }

    /// Lateness in the last one or two seconds.
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

/// Meters of the nodes of a part, with the clock that they use.
#[derive(Debug)]
pub struct Punctuality {
    pace: Pace,
    /// Meters by node of the part.
    meters: Box<[Meter]>,
}

impl Punctuality {
    /// Meters for `nodes` nodes.
    pub fn new(pace: Pace, nodes: usize) -> Self {
        Self { pace, meters: (0..nodes).map(|_| Meter::new()).collect() }
    }

    /// Sets the new pace after the clock was set back.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Records that a node has processed its events of a window, the first of which was due at `due`.
    pub fn met(&mut self, node: usize, due: Picos) {
        let now = wall();
        self.meters[node].record(now, self.pace.lateness_ns(now, due));
    }

    /// The meter of a node.
    pub fn meter_mut(&mut self, node: usize) -> &mut Meter {
        &mut self.meters[node]
    }

    /// Counts of all nodes since the start.
    pub fn count(&self) -> DeadlineCount {
        self.meters.iter().map(Meter::count).fold(DeadlineCount::default(), DeadlineCount::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_distinguishes_recent_from_old_lateness() {
        let mut meter = Meter::new();
        let begin = meter.spell_began;
        let at = |millis| begin + Duration::from_millis(millis);
        meter.record(at(10), 1_000);
        meter.record(at(20), 300_000);
        meter.record(at(1100), 2_000);
        let sum = Sum::from_meter(&mut meter, at(1200));
        assert_eq!((sum.all().deadlines, sum.all().late), (3, 1));
        assert_eq!(sum.all(), sum.recent());
        assert!((300_000..320_000).contains(&sum.all().most_ns), "{sum:?}");
        // Nothing is due for a long time after that.
        let sum = Sum::from_meter(&mut meter, at(2200));
        assert_eq!((sum.recent().deadlines, sum.recent().late), (1, 0));
        let sum = Sum::from_meter(&mut meter, at(5000));
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
        let all = Sum::from_meter(&mut meter, now).all();
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
