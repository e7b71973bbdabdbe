//! How sure a mean over seeds is.

use workload::random::RandomStream;

use super::decimal::Decimal;

/// Resamples of an interval.
pub const RESAMPLES: usize = 10_000;

/// Names the stream that resamples are drawn from: the same for every interval.
const STREAM: (u64, u64) = (1, 0x0b00_7574);

/// The 95 % confidence interval of the mean by the percentile bootstrap (Efron and Tibshirani, An
/// Introduction to the Bootstrap, section 13.3): the 2.5th and the 97.5th percentile, by nearest
/// rank, of the means of [`RESAMPLES`] samples drawn with replacement. `None` for fewer than two
/// values, of which nothing can be said.
pub fn interval(values: &[Decimal]) -> Option<(Decimal, Decimal)> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    if values.iter().all(|value| *value == values[0]) {
        return Some((values[0], values[0]));
    }
    let mut stream = RandomStream::new(STREAM.0, STREAM.1, count as u64);
    let mut draw = || stream.pick(values).0;
    let mut sums: Vec<i128> =
        (0..RESAMPLES).map(|_| (0..count).map(|_| draw()).sum::<i128>()).collect();
    sums.sort_unstable();
    let at = |per_mille: usize| sums[(RESAMPLES * per_mille).div_ceil(1000) - 1];
    let mean = |sum| Decimal::mean(Decimal(sum), count);
    Some((mean(at(25)), mean(at(975))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimals(values: &[i128]) -> Vec<Decimal> {
        values.iter().map(|value| Decimal(*value)).collect()
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_an_empty_one() {
        assert_eq!(interval(&decimals(&[5])), None);
        assert_eq!(interval(&decimals(&[5, 5, 5])), Some((Decimal(5), Decimal(5))));
    }

    /// Of two values the mean of a resample is the lower one, the middle or the upper one, with
    /// probabilities of 1/4, 1/2 and 1/4: the interval is all of it.
    #[test]
    fn of_two_values_it_is_both() {
        assert_eq!(interval(&decimals(&[10, 30])), Some((Decimal(10), Decimal(30))));
    }

    /// For many values the bootstrap approaches the normal interval, mean -+ 1.96 deviations of the mean:
    /// for 0, 1, .., 999 in thousandths of a unit the deviation is 288.675 / sqrt(1000) = 9.129.
    #[test]
    fn of_many_values_it_is_the_normal_one() {
        let values: Vec<i128> = (0..1000).map(|value| value * 1000).collect();
        let (low, high) = interval(&decimals(&values)).unwrap();
        for (found, expected) in [(low, 499_500 - 17_893), (high, 499_500 + 17_893)] {
            assert!((found.0 - expected).abs() < 600, "{found:?} is not about {expected}");
        }
    }

    /// By the definition of a nearest rank: the smallest mean that at least 2.5 % (97.5 %) of the means do
    /// not exceed. The values are so far apart that two resamples hardly ever have the same sum.
    #[test]
    fn its_ends_are_nearest_ranks() {
        let values: Vec<i128> = (1..60).map(|value| value * value * value * 59).collect();
        let interval = interval(&decimals(&values)).unwrap();
        let count = values.len();
        let mut stream = RandomStream::new(STREAM.0, STREAM.1, count as u64);
        let mut draw = || *stream.pick(&values);
        let means: Vec<Decimal> = (0..RESAMPLES)
            .map(|_| Decimal::mean(Decimal((0..count).map(|_| draw()).sum()), count))
            .collect();
        for (end, rank) in [(interval.0, 250), (interval.1, 9750)] {
            let up_to = means.iter().filter(|mean| **mean <= end).count();
            let below = means.iter().filter(|mean| **mean < end).count();
            assert_eq!((below, up_to), (rank - 1, rank));
        }
    }
}
