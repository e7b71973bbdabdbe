//! Levels of switches' pools, over the run.

use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::distribution::mean;
use super::queue::QueueKind;
use super::tables::OccupancyRow;
use super::window::Window;

impl OccupancyRow {
    const PER_THOUSAND: [u64; 4] = [500, 900, 990, 999];
}

/// Bytes that switches held, each switch at each instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OccupancySummary {
    /// Mean over time and switches, rounded half up.
    pub mean: u64,
    /// Level that was not exceeded half of the time.
    pub p50: u64,
    /// Level that was not exceeded 95 % of the time.
    pub p95: u64,
    /// Level that was not exceeded 99 % of the time.
    pub p99: u64,
    /// Level that was not exceeded 99.9 % of the time; 0 in results of versions without it.
    #[serde(default)]
    pub p999: u64,
    /// Highest level.
    pub max: u64,
}

/// Bytes in the pools of a switch at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLevels {
    /// In private pools.
    pub private: u64,
    /// In the shared pool.
    pub shared: u64,
    /// In headroom.
    pub headroom: u64,
    /// In a pool of lossy packets' own.
    pub lossy: u64,
}

/// Times that each level of one switch's pools held. Memory depends on the buffer's size only.
#[derive(Clone, Debug)]
pub struct Occupancy {
    buffer: LevelTimes,
    shared: LevelTimes,
    headroom: LevelTimes,
    /// Level of `buffer` in a part of the run.
    windowed: Option<WindowedLevel>,
}

impl Occupancy {
    /// All pools are empty at the run's start. No pool ever holds more than `capacity`. The levels in `window` are also
    /// followed separately.
    pub fn new(capacity: Bytes, window: Option<Window>) -> Self {
        let empty = LevelTimes::new(capacity);
        let windowed = window.map(|window| WindowedLevel::new(capacity, window));
        Self { buffer: empty.clone(), shared: empty.clone(), headroom: empty, windowed }
    }

    /// The levels from `now` on, no earlier than at the call before.
    #[inline]
    pub fn observe(&mut self, now: Picos, levels: PoolLevels) {
        let PoolLevels { private, shared, headroom, lossy } = levels;
        let held = private + shared + headroom + lossy;
        self.buffer.observe(now, held);
        if let Some(windowed) = &mut self.windowed {
            windowed.observe(now, held);
        }
        self.shared.observe(now, shared);
        self.headroom.observe(now, headroom);
    }

    /// The rows of switch `node` of a run that ends at `end`, no earlier than the last change.
    pub fn finish(self, node: &str, end: Picos) -> [OccupancyRow; 3] {
        [
            (QueueKind::Buffer, self.buffer),
            (QueueKind::Shared, self.shared),
            (QueueKind::Headroom, self.headroom),
        ]
        .map(|(kind, times)| times.finish(node, kind, end))
    }
}

/// Times that each level of a counter held.
///
/// Its buckets are log-linear, as in `hdrhistogram`. Recording runs at every arrival and departure: it takes 4 % of a
/// run's instructions here, and 12 % with that crate (callgrind, `scenarios/incast.toml` in memory).
#[derive(Clone, Debug)]
struct LevelTimes {
    level: u64,
    since: Picos,
    passed: HeldLevels,
}

/// Levels, and the time that each held.
#[derive(Clone, Debug, Default)]
struct HeldLevels {
    /// Picoseconds by [`bucket_of`] the level.
    held: Vec<u64>,
    /// Sum of level x picoseconds.
    area: u128,
    max: u64,
}

/// The levels of one counter in a part of the run.
#[derive(Clone, Debug)]
struct WindowedLevel {
    from: Picos,
    to: Picos,
    times: LevelTimes,
}

/// The buffers of all switches of a run together.
#[derive(Clone, Debug, Default)]
pub(super) struct OccupancyTotals {
    of_run: Option<HeldLevels>,
    in_window: Option<HeldLevels>,
}

/// A bucket spans less than 1/2^7 of the levels in it; below 2^8 it is one level.
const BUCKET_BITS: u32 = 7;

/// Buckets number 2^7 in each power of two.
#[inline]
fn bucket_of(level: u64) -> usize {
    let shift = u64::BITS - 1 - BUCKET_BITS - (level | 1 << BUCKET_BITS).leading_zeros();
    let within = usize::try_from(level >> shift).expect("less than 2^8");
    ((shift as usize) << BUCKET_BITS) + within
}

/// The lowest level of a bucket.
fn lowest_of(bucket: usize) -> u64 {
    let shift = (bucket >> BUCKET_BITS).saturating_sub(1);
    (bucket as u64 - ((shift as u64) << BUCKET_BITS)) << shift
}

impl LevelTimes {
    /// The counter is 0, and will never be above `capacity`.
    fn new(capacity: Bytes) -> Self {
        let held = vec![0; bucket_of(capacity.0) + 1];
        Self { level: 0, since: Picos::ZERO, passed: HeldLevels { held, area: 0, max: 0 } }
    }

    #[inline]
    fn observe(&mut self, now: Picos, level: u64) {
        if level != self.level {
            self.hold_until(now);
            self.level = level;
            self.passed.max = self.passed.max.max(level);
        }
    }

    #[inline]
    fn hold_until(&mut self, now: Picos) {
        let span = (now - self.since).0;
        self.passed.held[bucket_of(self.level)] += span;
        self.passed.area += u128::from(self.level) * u128::from(span);
        self.since = now;
    }

    fn finish(mut self, node: &str, kind: QueueKind, end: Picos) -> OccupancyRow {
        self.hold_until(end);
        let percentiles = self.passed.percentiles(OccupancyRow::PER_THOUSAND).map(Bytes);
        let (mean, max) = (Bytes(self.passed.mean()), Bytes(self.passed.max));
        OccupancyRow { node: node.to_owned(), kind, mean, percentiles, max }
    }
}

impl WindowedLevel {
    fn new(capacity: Bytes, window: Window) -> Self {
        let [from, to] = [window.from, window.to].map(Picos::from_nanos);
        Self { from, to, times: LevelTimes { since: from, ..LevelTimes::new(capacity) } }
    }

    #[inline]
    fn observe(&mut self, now: Picos, level: u64) {
        if now < self.from {
            self.times.level = level;
            self.times.passed.max = level;
        } else if now < self.to {
            self.times.observe(now, level);
        }
    }

    fn close(&mut self, end: Picos) {
        let end = end.min(self.to);
        if end > self.times.since {
            self.times.hold_until(end);
        }
    }
}

impl HeldLevels {
    fn time(&self) -> u64 {
        self.held.iter().sum()
    }

    fn mean(&self) -> u64 {
        mean(self.area, self.time()).unwrap_or(0)
    }

    /// Levels that were not exceeded in these thousandths of the time.
    fn percentiles<const N: usize>(&self, per_thousand: [u64; N]) -> [u64; N] {
        let time = self.time();
        per_thousand.map(|part| {
            let share = (u128::from(time) * u128::from(part)).div_ceil(1000);
            let mut passed = 0;
            let bucket = self.held.iter().position(|&span| {
                passed += u128::from(span);
                passed >= share
            });
            bucket.map_or(0, lowest_of)
        })
    }

    fn add(&mut self, other: &Self) {
        let buckets = self.held.len().max(other.held.len());
        self.held.resize(buckets, 0);
        self.held.iter_mut().zip(&other.held).for_each(|(sum, span)| *sum += span);
        self.area += other.area;
        self.max = self.max.max(other.max);
    }

    fn summary(&self) -> OccupancySummary {
        let [p50, p95, p99, p999] = self.percentiles([500, 950, 990, 999]);
        OccupancySummary { mean: self.mean(), p50, p95, p99, p999, max: self.max }
    }
}

impl OccupancyTotals {
    /// Adds the buffer of a switch of a run that ends at `end`. Returns the occupancy of this switch alone, in the
    /// window if there is one, otherwise over the run.
    pub(super) fn add(&mut self, switch: &mut Occupancy, end: Picos) -> OccupancySummary {
        switch.buffer.hold_until(end);
        self.of_run.get_or_insert_default().add(&switch.buffer.passed);
        let Some(windowed) = &mut switch.windowed else { return switch.buffer.passed.summary() };
        windowed.close(end);
        self.in_window.get_or_insert_default().add(&windowed.times.passed);
        windowed.times.passed.summary()
    }

    /// Over the whole run; `None` if no switch was followed.
    pub(super) fn run_summary(&self) -> Option<OccupancySummary> {
        self.of_run.as_ref().map(HeldLevels::summary)
    }

    /// Occupancy over the window; `None` without a window or without a followed switch.
    pub(super) fn in_window(&self) -> Option<OccupancySummary> {
        self.in_window.as_ref().map(HeldLevels::summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn buckets_follow_each_other_and_start_where_they_say() {
        for bucket in 0..5000 {
            let lowest = lowest_of(bucket);
            assert_eq!(bucket_of(lowest), bucket);
            assert_eq!(bucket_of(lowest_of(bucket + 1) - 1), bucket);
        }
        assert_eq!((lowest_of(256), lowest_of(257)), (256, 258));
        assert_eq!(bucket_of(u64::MAX), 57 * 128 - 1 + 128);
    }

    fn levels(shared: u64, headroom: u64) -> PoolLevels {
        PoolLevels { private: 0, shared, headroom, lossy: 0 }
    }

    #[test]
    fn levels_count_for_as_long_as_they_hold() {
        let mut occupancy = Occupancy::new(Bytes(1_000_000), None);
        occupancy.observe(Picos(500_000), levels(100, 0));
        occupancy.observe(Picos(600_000), levels(200, 0));
        occupancy.observe(Picos(600_000), levels(201, 50));
        occupancy.observe(Picos(602_000), levels(0, 0));
        let lines: Vec<String> =
            occupancy.finish("s0", Picos(1_000_000)).iter().map(line).collect();
        assert_eq!(lines[0], "s0,buffer,11,0,100,100,251,251\n");
        assert_eq!(lines[1], "s0,shared,10,0,100,100,201,201\n");
        assert_eq!(lines[2], "s0,headroom,0,0,0,0,50,50\n");
    }

    #[test]
    fn a_run_of_no_time_and_a_level_up_to_the_end() {
        let still = Occupancy::new(Bytes(0), None).finish("s0", Picos::ZERO);
        assert_eq!(line(&still[0]), "s0,buffer,0,0,0,0,0,0\n");
        let mut occupancy = Occupancy::new(Bytes(1000), None);
        occupancy.observe(Picos(1_000_000), levels(7, 0));
        let rows = occupancy.finish("s0", Picos(4_000_000));
        assert_eq!((rows[0].mean, rows[0].percentiles[0]), (Bytes(5), Bytes(7)));
    }

    /// Every level of a sawtooth, each for as long as it is high.
    #[test]
    fn many_levels_keep_to_the_error_that_is_promised() {
        let mut occupancy = Occupancy::new(Bytes(16_000_000), None);
        let (mut now, steps) = (Picos::ZERO, 20_000u64);
        for step in 1..=steps {
            occupancy.observe(now, levels(step * 800, 0));
            now += Picos(step);
        }
        let [_, shared, _] = occupancy.finish("s0", now);
        let total = steps * (steps + 1) / 2;
        for (found, part) in shared.percentiles.iter().zip(OccupancyRow::PER_THOUSAND) {
            let exact = (1..=steps).find(|n| n * (n + 1) / 2 * 1000 >= total * part).unwrap() * 800;
            assert!(found.0 <= exact && (exact - found.0) * 128 < exact, "{part}: {found} {exact}");
        }
        assert_eq!(shared.max, Bytes(16_000_000));
        assert_eq!(shared.mean, Bytes((2 * steps + 1) * 800 / 3));
    }

    /// Half of three picoseconds is rounded up to two.
    #[test]
    fn a_share_of_the_time_is_rounded_up() {
        let mut occupancy = Occupancy::new(Bytes(1000), None);
        occupancy.observe(Picos(1), levels(5, 0));
        let [buffer, ..] = occupancy.finish("s0", Picos(3));
        assert_eq!(buffer.percentiles, [Bytes(5); 4]);
    }

    /// Each switch counts for as long as each other one, in the window only for the time in it, and with the level that
    /// it has when the window begins.
    #[test]
    fn all_switches_together_and_in_a_window() {
        let window = Some(Window { from: units::Nanos(100), to: units::Nanos(200) });
        let mut totals = OccupancyTotals::default();
        assert_eq!((totals.run_summary(), totals.in_window()), (None, None));
        for (before, within) in [(200, 40), (0, 80)] {
            let mut occupancy = Occupancy::new(Bytes(255), window);
            for (at, shared) in [(0, before), (150_000, within), (200_000, 250), (300_000, 0)] {
                occupancy.observe(Picos(at), levels(shared, 0));
            }
            totals.add(&mut occupancy, Picos(400_000));
        }
        let of_run =
            OccupancySummary { mean: 108, p50: 40, p95: 250, p99: 250, p999: 250, max: 250 };
        assert_eq!(totals.run_summary(), Some(of_run));
        let in_window =
            OccupancySummary { mean: 80, p50: 40, p95: 200, p99: 200, p999: 200, max: 200 };
        assert_eq!(totals.in_window(), Some(in_window));
    }
}
