//! Confidence intervals of means over seeds.

use results::Number;

/// 0.975 quantiles of Student's t distribution in thousandths, for 1 to 30 degrees of freedom:
/// M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, table 26.10.
const QUANTILES: [u128; 30] = [
    12_706, 4303, 3182, 2776, 2571, 2447, 2365, 2306, 2262, 2228, 2201, 2179, 2160, 2145, 2131,
    2120, 2110, 2101, 2093, 2086, 2080, 2074, 2069, 2064, 2060, 2056, 2052, 2048, 2045, 2042,
];

/// Further rows of that table: degrees of freedom and quantile.
const LATER_QUANTILES: [(usize, u128); 3] = [(40, 2021), (60, 2000), (120, 1980)];

/// Upper bound of squared quantiles, as a power of 2.
const QUANTILE_SQUARE_BITS: u32 = 28;

/// Returns the 95 % confidence interval of the mean by Student's t: `t * s / sqrt(n)` on either side, rounded to a
/// millionth. The values are assumed to be independent and normal. `None` for fewer than two values.
pub fn interval(values: &[Number]) -> Option<(Number, Number)> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let sum: i128 = values.iter().map(|value| value.0).sum();
    let n = count as u128;
    // `n * (value - mean)`, so that nothing is rounded.
    let deviation = |value: &Number| (value.0 * count as i128 - sum).unsigned_abs();
    // Squares of large deviations do not fit, so these deviations lose their last bits, which changes nothing visible.
    let largest = values.iter().map(deviation).max().unwrap_or_default();
    let bits = |number: u128| u128::BITS - number.leading_zeros();
    let needed = 2 * bits(largest) + bits(n) + QUANTILE_SQUARE_BITS + 2;
    let shift = needed.saturating_sub(u128::BITS).div_ceil(2);
    let squares: u128 = values.iter().map(|value| (deviation(value) >> shift).pow(2)).sum();
    let t = quantile(count - 1);
    // t² * s² / n, where s² = squares / (n² * (n - 1)), and 4 times that to round the root.
    let scale = 1_000_000 * n.pow(3) * (n - 1);
    let half = (4 * squares * t * t / scale).isqrt().div_ceil(2) << shift;
    let half = i128::try_from(half).ok()?;
    let mean = Number::mean(Number(sum), count);
    Some((Number(mean.0 - half), Number(mean.0 + half)))
}

/// Returns the quantile in thousandths. Between rows of the table, the row with fewer degrees of freedom is used, whose
/// quantile is larger.
fn quantile(degrees_of_freedom: usize) -> u128 {
    let later = LATER_QUANTILES.iter().rev().find(|(least, _)| degrees_of_freedom >= *least);
    later.map_or_else(|| QUANTILES[degrees_of_freedom.min(QUANTILES.len()) - 1], |(_, t)| *t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimals(values: &[i128]) -> Vec<Number> {
        values.iter().map(|value| Number(*value)).collect()
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_an_empty_one() {
        assert_eq!(interval(&decimals(&[5])), None);
        assert_eq!(interval(&decimals(&[5, 5, 5])), Some((Number(5), Number(5))));
    }

    /// Computed by hand: mean and standard deviation of each, times t over the root of the count.
    #[test]
    fn it_is_t_standard_errors_on_either_side_of_the_mean() {
        for (values, mean, half) in [
            // s = 14.14, t = 12.706.
            (vec![10, 30], 20, 127),
            // s = 1000, t = 4.303: 4303 / sqrt(3).
            (vec![1000, 2000, 3000], 2000, 2484),
            (vec![-3000, -2000, -1000], -2000, 2484),
            // s² = 250,000,000 / 9, t = 2.262: 2.262 * 5270.46 / sqrt(10).
            (vec![0, 0, 0, 0, 0, 10_000, 10_000, 10_000, 10_000, 10_000], 5000, 3770),
        ] {
            let expected = Some((Number(mean - half), Number(mean + half)));
            assert_eq!(interval(&decimals(&values)), expected, "{values:?}");
        }
    }

    /// For many values the interval is nearly the normal one, with a quantile of 1.98 instead of 1.96: for 0, 1, ..,
    /// 999 in thousandths of a unit the standard error of the mean is 288.819 / sqrt(1000) = 9.1333.
    #[test]
    fn of_many_values_it_is_nearly_the_normal_one() {
        let values: Vec<i128> = (0..1000).map(|value| value * 1000).collect();
        let half = 18_084;
        let expected = (Number(499_500 - half), Number(499_500 + half));
        assert_eq!(interval(&decimals(&values)), Some(expected));
    }

    #[test]
    fn values_whose_squares_do_not_fit_have_one_too() {
        let large = Number::ONE.0 * i128::from(u64::MAX);
        let small = interval(&decimals(&[0, 1_000_000_000])).unwrap();
        let (low, high) = interval(&decimals(&[0, large])).unwrap();
        let scaled = |end: Number| end.0 * (large / 1_000_000_000);
        for (found, expected) in [(low, scaled(small.0)), (high, scaled(small.1))] {
            assert!((found.0 - expected).abs() < large / 100_000_000, "{found} {expected}");
        }
    }

    #[test]
    fn quantiles_between_rows_are_those_of_fewer_degrees_of_freedom() {
        let rows = [(1, 12_706), (2, 4303), (30, 2042), (39, 2042), (40, 2021), (59, 2021)];
        for (degrees, t) in rows.into_iter().chain([(60, 2000), (119, 2000), (5000, 1980)]) {
            assert_eq!(quantile(degrees), t, "{degrees}");
        }
        assert!(QUANTILES.is_sorted_by(|a, b| a > b));
        assert!(QUANTILES[0].pow(2) < 1 << QUANTILE_SQUARE_BITS);
    }
}
