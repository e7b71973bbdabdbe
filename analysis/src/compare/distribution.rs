//! Distributions: of differences, which have signs, and of values.

use results::Number;
use serde::Serialize;

use super::change::{Fine, Ratio};
use super::pair::Pair;

/// Extremes, percentiles by nearest rank, and the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Smallest value.
    pub min: Number,
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
    /// Names of the numbers, from left to right.
    pub const NAMES: [&'static str; 6] = ["min", "p50", "p90", "p99", "max", "mean"];

    /// Returns the distribution of values; `None` without values.
    pub fn new(mut values: Vec<Fine>) -> Option<Self> {
        let mean = Fine::mean(&values)?.number();
        values.sort_unstable();
        let [min, max] = [values.first()?, values.last()?].map(|value| value.number());
        let rank = |percent: usize| values[(values.len() * percent).div_ceil(100) - 1].number();
        Some(Self { min, p50: rank(50), p90: rank(90), p99: rank(99), max, mean })
    }

    /// Returns the numbers from left to right.
    pub const fn numbers(&self) -> [Number; 6] {
        [self.min, self.p50, self.p90, self.p99, self.max, self.mean]
    }
}

/// Differences of a number of many flows, each B's number less A's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// The differences.
    pub b_minus_a: Distribution,
    /// The differences as parts of A's numbers; `None` if these are all zero.
    pub of_a: Option<Distribution>,
}

impl Differences {
    /// Returns the differences of pairs; `None` without pairs.
    pub fn new(pairs: &[Pair<Ratio>]) -> Option<Self> {
        let b_minus_a = pairs.iter().copied().map(Ratio::b_minus_a).collect();
        let b_minus_a = Distribution::new(b_minus_a)?;
        let of_a = Distribution::new(pairs.iter().copied().filter_map(Ratio::of_a).collect());
        Some(Self { b_minus_a, of_a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(distribution: Distribution) -> String {
        distribution.numbers().map(|number| number.to_string()).join(" ")
    }

    #[test]
    fn percentiles_are_values() {
        let of = |values: std::ops::RangeInclusive<u64>| {
            let values = values.rev().map(|value| Fine::whole(value.into()));
            shown(Distribution::new(values.collect()).unwrap())
        };
        assert_eq!(of(1..=200), "1 100 180 198 200 100.5");
        assert_eq!(of(7..=7), "7 7 7 7 7 7");
        assert_eq!(Distribution::new(Vec::new()), None);
    }

    #[test]
    fn differences_have_signs() {
        let pairs = [(10, 8), (10, 10), (0, 7)];
        let pairs = pairs.map(|(a, b)| Pair { a: Ratio::whole(a), b: Ratio::whole(b) });
        let differences = Differences::new(&pairs).unwrap();
        assert_eq!(shown(differences.b_minus_a), "-2 0 7 7 7 1.666667");
        assert_eq!(differences.of_a.map(shown).as_deref(), Some("-0.2 -0.2 0 0 0 -0.1"));
    }
}
