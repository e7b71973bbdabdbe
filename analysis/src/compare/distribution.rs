//! Distribution of differences.

use results::Number;
use serde::Serialize;

/// Percentiles by nearest rank, and the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Median.
    pub p50: Number,
    /// 90th percentile.
    pub p90: Number,
    /// 99th percentile.
    pub p99: Number,
    /// Largest value.
    pub max: Number,
    /// Mean, rounded half up to a millionth.
    pub mean: Number,
}

impl Distribution {
    /// Returns the distribution of values; `None` without values.
    pub fn new(mut values: Vec<Number>) -> Option<Self> {
        values.sort_unstable();
        let max = *values.last()?;
        let rank = |percent: usize| values[(values.len() * percent).div_ceil(100) - 1];
        let sum = Number(values.iter().map(|value| value.0).sum());
        let mean = Number::mean(sum, values.len());
        Some(Self { p50: rank(50), p90: rank(90), p99: rank(99), max, mean })
    }

    /// Returns the numbers from left to right.
    pub const fn numbers(&self) -> [Number; 5] {
        [self.p50, self.p90, self.p99, self.max, self.mean]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values() {
        let of = |values: std::ops::RangeInclusive<u64>| {
            let all = Distribution::new(values.rev().map(Number::from).collect()).unwrap();
            all.numbers().map(|number| number.to_string()).join(" ")
        };
        assert_eq!(of(1..=200), "100 180 198 200 100.5");
        assert_eq!(of(7..=7), "7 7 7 7 7");
        assert_eq!(Distribution::new(Vec::new()), None);
    }
}
