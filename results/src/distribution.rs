//! Mean and percentiles of integers, however many, in bounded memory.

use hdrhistogram::{Counter, Histogram};

/// Values one after the other. Count, mean, least and greatest are exact; percentiles are exact up to
/// [`Distribution::EXACT`] values, and beyond that too low by less than one part in 1024.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Every value, while there are few.
    first: Vec<u64>,
    /// Every value, once there are many.
    histogram: Option<Histogram<u32>>,
    count: u64,
    sum: u128,
    least: Option<u64>,
    greatest: u64,
}

impl Distribution {
    /// Values that are kept one by one.
    pub const EXACT: usize = 1024;

    /// Adds a value; 2^32 of them at most.
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.greatest = self.greatest.max(value);
        if let Some(histogram) = &mut self.histogram {
            add(histogram, value, 1);
        } else if self.first.len() < Self::EXACT {
            self.first.push(value);
        } else {
            let mut histogram = empty_histogram();
            for earlier in std::mem::take(&mut self.first) {
                add(&mut histogram, earlier, 1);
            }
            add(&mut histogram, value, 1);
            self.histogram = Some(histogram);
        }
    }

    /// Values added.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Min value; 0 without values.
    pub fn least(&self) -> u64 {
        self.least.unwrap_or(0)
    }

    /// The greatest value; 0 without values.
    pub const fn greatest(&self) -> u64 {
        self.greatest
    }

    /// The mean, rounded half up; `None` without values.
    pub fn mean(&self) -> Option<u64> {
        mean(self.sum, self.count)
    }

    /// Percentiles by nearest rank: the smallest value that at least `percent` of the values do not
    /// exceed. `None` without values.
    pub fn percentiles<const N: usize>(&self, percents: [u64; N]) -> Option<[u64; N]> {
        if self.count == 0 {
            return None;
        }
        let mut sorted = self.first.clone();
        sorted.sort_unstable();
        Some(percents.map(|percent| {
            let rank = (self.count * percent).div_ceil(100).max(1);
            self.histogram.as_ref().map_or_else(
                || sorted[usize::try_from(rank).expect("a rank among values in memory") - 1],
                |histogram| value_at_rank(histogram, rank),
            )
        }))
    }
}

/// A histogram whose buckets are narrower than 1/1024 of their values. With counts of 32 bits it takes 220 KiB when
/// full.
pub(super) fn empty_histogram<C: Counter>() -> Histogram<C> {
    Histogram::new(3).expect("0 to 5 digits are allowed")
}

/// Adds a value `count` times.
pub(super) fn add<C: Counter>(histogram: &mut Histogram<C>, value: u64, count: C) {
    histogram.record_n(value, count).expect("the histogram grows to any value");
}

/// The buckets that have values, ascending: their lower ends, and the values in them.
pub(super) fn buckets<C: Counter>(histogram: &Histogram<C>) -> impl Iterator<Item = (u64, u64)> {
    histogram.iter_recorded().map(|step| {
        let lowest = histogram.lowest_equivalent(step.value_iterated_to());
        (lowest, step.count_since_last_iteration())
    })
}

/// `sum / weight`, rounded half up.
pub(super) fn mean(sum: u128, weight: u64) -> Option<u64> {
    let weight = u128::from(weight);
    let mean = (sum * 2 + weight).checked_div(weight * 2)?;
    Some(mean.try_into().expect("a mean of values of 64 bits"))
}

/// The lower end of the bucket in which the sum of the counts, from the smallest value on, reaches `rank`.
fn value_at_rank(histogram: &Histogram<u32>, rank: u64) -> u64 {
    let mut counted = 0;
    let bucket = buckets(histogram).find(|(_, count)| {
        counted += count;
        counted >= rank
    });
    bucket.map_or(0, |(lowest, _)| lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        values.into_iter().for_each(|value| distribution.record(value));
        distribution
    }

    #[test]
    fn few_values_have_exact_nearest_ranks() {
        for (count, percent, expected) in
            [(100, 50, 50), (100, 99, 99), (10, 50, 5), (10, 99, 10), (3, 50, 2), (1, 50, 1)]
        {
            let distribution = filled((1..=count).rev());
            assert_eq!(distribution.percentiles([percent]), Some([expected]));
        }
        assert_eq!(filled([]).percentiles([50]), None);
    }

    #[test]
    fn means_round_half_up_and_do_not_overflow() {
        assert_eq!(filled([1, 2]).mean(), Some(2));
        assert_eq!(filled([1, 1, 2]).mean(), Some(1));
        assert_eq!(filled([u64::MAX; 3]).mean(), Some(u64::MAX));
        assert_eq!(filled([]).mean(), None);
    }

    /// Values over nine decades, in an order that is not theirs.
    #[test]
    fn many_values_keep_to_the_error_that_is_promised() {
        let count = 200_000u64;
        let value = |place: u64| {
            let place = place * 99_991 % count;
            (place + 1).pow(3) / 1_000_000 + place
        };
        let distribution = filled((0..count).map(value));
        let mut sorted: Vec<u64> = (0..count).map(value).collect();
        sorted.sort_unstable();
        assert!(distribution.first.is_empty(), "values are not kept");
        for percent in 1..=100 {
            let exact = sorted[usize::try_from((count * percent).div_ceil(100)).unwrap() - 1];
            let [found] = distribution.percentiles([percent]).unwrap();
            assert!(found <= exact && (exact - found) * 1024 < exact, "{percent}: {found} {exact}");
        }
        let sum: u128 = sorted.iter().map(|&value| u128::from(value)).sum();
        assert_eq!(distribution.mean(), mean(sum, count));
        assert_eq!((distribution.count(), distribution.greatest()), (count, sorted[199_999]));
    }

    #[test]
    fn the_commonest_slowdown_stays_what_it_is() {
        assert_eq!(
            filled(std::iter::repeat_n(10_000, 5000)).percentiles([50, 99]),
            Some([10_000, 10_000])
        );
    }

    /// Buckets about a million are 512 wide and begin 65 below this value.
    #[test]
    fn up_to_1024_values_are_exact() {
        let percentile = |count| {
            let values = std::iter::repeat_n(1_000_001, count);
            filled(values).percentiles([50]).map(|[median]| median)
        };
        assert_eq!(percentile(1023), Some(1_000_001));
        assert_eq!(percentile(1024), Some(1_000_001));
        assert_eq!(percentile(1025), Some(999_936));
    }
}
