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
