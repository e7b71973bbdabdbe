//! Numbers of both sides, and the way from A to B.

use results::Number;
use serde::{Serialize, Serializer};

use super::pair::Pair;

/// A number of each side, and its difference: above zero if it is larger in B. `None`: a side lacks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Number of A.
    pub a: Option<Number>,
    /// Number of B.
    pub b: Option<Number>,
    /// B's number less A's.
    pub b_minus_a: Option<Number>,
    /// The difference as a part of A's number, rounded half up to a millionth; `None` if A's is zero.
    pub of_a: Option<Number>,
}

impl Change {
    /// Compares the numbers of both sides.
    pub fn new(numbers: Pair<Option<Number>>) -> Self {
        let Pair { a, b } = numbers;
        let both = a.zip(b).map(|(a, b)| Pair { a, b });
        Self { a, b, b_minus_a: both.map(b_minus_a), of_a: both.and_then(of_a) }
    }

    /// Returns the size of the difference as a part of the larger number, from 0 to 2; without one of the numbers 0.
    pub fn extent(&self) -> Number {
        let Self { a: Some(a), b: Some(b), b_minus_a: Some(difference), .. } = self else {
            return Number::default();
        };
        let larger = a.0.abs().max(b.0.abs());
        if larger == 0 { Number::default() } else { Number::ratio(difference.0.abs(), larger) }
    }
}

/// A quotient of two whole numbers. `whole` is above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Dividend.
    pub part: u64,
    /// Divisor.
    pub whole: u64,
}

impl Ratio {
    /// Converts a whole number.
    pub const fn whole(number: u64) -> Self {
        Self { part: number, whole: 1 }
    }

    /// Returns the quotient, rounded half up to a millionth.
    pub fn number(self) -> Number {
        Number::ratio(self.part.into(), self.whole.into())
    }

    /// Returns B's quotient less A's.
    pub fn b_minus_a(pair: Pair<Self>) -> Fine {
        let [a, b] = [pair.a, pair.b].map(Self::parts);
        let exact = || Fine::quotient(difference(a, b)?, a[1].checked_mul(b[1])?);
        exact().unwrap_or_else(|| Fine::from(b_minus_a(pair.map(Self::number))))
    }

    /// Returns the difference as a part of A's quotient; `None` if the latter is zero.
    pub fn of_a(pair: Pair<Self>) -> Option<Fine> {
        let [a, b] = [pair.a, pair.b].map(Self::parts);
        let exact = || Fine::quotient(difference(a, b)?, a[0].checked_mul(b[1])?);
        let rounded = || of_a(pair.map(Self::number)).map(Fine::from);
        if pair.a.part == 0 { None } else { exact().or_else(rounded) }
    }

    fn parts(self) -> [i128; 2] {
        [self.part, self.whole].map(i128::from)
    }
}

/// Returns the dividend of `b - a` over the product of both divisors; `None` if it has more than 128 bits.
fn difference(a: [i128; 2], b: [i128; 2]) -> Option<i128> {
    b[0].checked_mul(a[1])?.checked_sub(a[0].checked_mul(b[1])?)
}

/// A number in units of 10^-12, rounded down. A later rounding to a millionth, half up, is as exact as one of the number
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fine(i128);

impl Fine {
    /// Units of a millionth.
    const UNITS: i128 = 1_000_000;

    /// Converts a whole number of 64 bits with a sign, or the difference of two.
    pub const fn whole(number: i128) -> Self {
        Self(number * Number::ONE.0 * Self::UNITS)
    }

    /// Returns `part / whole`; `None` if a step has more than 128 bits. `whole` is above zero.
    fn quotient(part: i128, whole: i128) -> Option<Self> {
        let (mut value, mut rest) = (part.div_euclid(whole), part.rem_euclid(whole));
        // Three digits at a time, so that divisors may have 117 bits.
        for _ in 0..4 {
            rest = rest.checked_mul(1000)?;
            value = value.checked_mul(1000)?.checked_add(rest / whole)?;
            rest %= whole;
        }
        Some(Self(value))
    }

    /// Returns the mean; `None` without numbers. A sum of more than 128 bits counts as the largest of them.
    pub fn mean(all: &[Self]) -> Option<Self> {
        let sum = all.iter().fold(0_i128, |sum, it| sum.saturating_add(it.0));
        sum.checked_div_euclid(all.len() as i128).map(Self)
    }

    /// Rounds half up to a millionth.
    pub const fn number(self) -> Number {
        Number(self.0.saturating_add(Self::UNITS / 2).div_euclid(Self::UNITS))
    }
}

impl From<Number> for Fine {
    fn from(number: Number) -> Self {
        Self(number.0.saturating_mul(Self::UNITS))
    }
}

/// Returns B's number less A's.
pub fn b_minus_a(numbers: Pair<Number>) -> Number {
    Number(numbers.b.0 - numbers.a.0)
}

/// Returns the difference as a part of A's number; `None` if the latter is zero.
pub fn of_a(numbers: Pair<Number>) -> Option<Number> {
    let whole = numbers.a.0.abs();
    (whole > 0).then(|| Number::ratio(b_minus_a(numbers).0, whole))
}

/// Writes counts of both sides with their difference.
pub fn counts<S: Serializer>(counts: &Pair<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Counts {
        a: u64,
        b: u64,
        b_minus_a: Number,
    }
    let Pair { a, b } = *counts;
    let b_minus_a = b_minus_a(counts.map(Number::from));
    Counts { a, b, b_minus_a }.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_quotients_are_rounded_once() {
        let pair = |a: (u64, u64), b: (u64, u64)| {
            let ratio = |(part, whole)| Ratio { part, whole };
            Pair { a: ratio(a), b: ratio(b) }
        };
        // The rounded quotients of the first case have the difference 0.333334.
        for (a, b, exact) in [
            ((1, 3), (2, 3), 333_333),
            ((1, 3), (4, 7), 238_095),
            ((1, 3), (5, 7), 380_952),
            ((1, 3), (1, 6), -166_667),
            ((2, 3), (1, 3), -333_333),
        ] {
            assert_eq!(Ratio::b_minus_a(pair(a, b)).number(), Number(exact), "{a:?} {b:?}");
        }
        let part = Ratio::of_a(pair((3, 7), (1, 3))).map(Fine::number);
        assert_eq!(part, Some(Number(-222_222)));
        assert_eq!(Ratio::of_a(pair((0, 7), (1, 3))), None);
        // Times of centuries are rounded twice.
        let most = u64::MAX;
        let long = pair((most, most - 1), (most, 1));
        assert_eq!(Ratio::b_minus_a(long).number(), Number::from(most - 1));
        assert!(Ratio::of_a(pair((1, most), (most, 1))).is_none_or(|it| it.number().0 > 0));
        assert_eq!(Fine::mean(&[]), None);
        let mean = Fine::mean(&[Fine::whole(1), Fine::whole(0), Fine::whole(0)]).map(Fine::number);
        assert_eq!(mean, Some(Number(333_333)));
    }

    #[test]
    fn a_difference_is_above_zero_if_b_is_larger() {
        let change = |a: u64, b: u64| {
            let change = Change::new(Pair { a: Some(a.into()), b: Some(b.into()) });
            let text = |number: Option<Number>| number.map(|number| number.to_string());
            [text(change.b_minus_a), text(change.of_a), Some(change.extent().to_string())]
                .map(Option::unwrap_or_default)
        };
        assert_eq!(change(8, 10), ["2", "0.25", "0.2"]);
        assert_eq!(change(8, 2), ["-6", "-0.75", "0.75"]);
        assert_eq!(change(0, 3), ["3", "", "1"]);
        assert_eq!(change(0, 0), ["0", "", "0"]);
        let lacking = Change::new(Pair { a: None, b: Some(Number::whole(7)) });
        assert_eq!((lacking.b_minus_a, lacking.extent()), (None, Number(0)));
    }
}
