//! Tolerance: differences that count as none.

use std::fmt;

use results::Number;
use results::query::ScalarKind;
use scenario::{Refusal, quantity};
use serde::Serialize;
use units::Picos;

use super::change::b_minus_a;
use super::numbers::grouped;
use super::pair::Pair;

/// Numbers of columns and metrics that are instants. A percentage of an instant would depend on the start of the run.
const INSTANTS: [&str; 10] = [
    "confirmed_ns",
    "detected_ns",
    "end_ns",
    "first_onset_ns",
    "from_ns",
    "onset_ns",
    "restored_ns",
    "start_ns",
    "time_ns",
    "to_ns",
];
/// Columns whose numbers are names or bounds.
const NAMES: [&str; 9] =
    ["above_bytes", "circle", "fault", "flow", "name", "port", "priority", "queue", "up_to_bytes"];

/// One tolerance of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// Of times, in nanoseconds.
    Time(Number),
    /// Of amounts, as a part of A's.
    Part(Number),
}

/// Differences up to these count as none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tolerance {
    /// Of instants and of durations.
    pub time_ns: Number,
    /// Of durations, sizes, rates, counts and ratios, as a part of A's number.
    pub of_a: Number,
}

/// Meaning of a number, by which a tolerance applies to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A name or a bound, which has no tolerance.
    Name,
    /// An instant.
    Instant,
    /// A duration.
    Duration,
    /// Any other number.
    Amount,
}

impl Meaning {
    /// Returns the meaning of a number by the name of its column or metric, and its kind.
    pub fn of(name: &str, kind: ScalarKind) -> Self {
        let last = name.rsplit('.').next().unwrap_or_default();
        if NAMES.contains(&last) {
            Self::Name
        } else if INSTANTS.contains(&last) {
            Self::Instant
        } else if kind == ScalarKind::Time {
            Self::Duration
        } else {
            Self::Amount
        }
    }
}

impl Tolerance {
    /// Joins the tolerances of a command line; each kind may be given once.
    pub fn new(allowances: &[Allowance]) -> Result<Self, Refusal> {
        let mut tolerance = Self::default();
        let mut given = [false; 2];
        for allowance in allowances {
            let place = match *allowance {
                Allowance::Time(time_ns) => {
                    tolerance.time_ns = time_ns;
                    0
                }
                Allowance::Part(of_a) => {
                    tolerance.of_a = of_a;
                    1
                }
            };
            if std::mem::replace(&mut given[place], true) {
                let kind = ["times", "percentages"][place];
                let title = format!("--tolerance has two {kind}");
                return Err(Refusal::new(title, "give one time and one percentage at most"));
            }
        }
        Ok(tolerance)
    }

    /// Returns true if no difference is tolerated.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the difference of two numbers counts as none.
    pub fn accepts(&self, meaning: Meaning, numbers: Pair<Number>) -> bool {
        let difference = b_minus_a(numbers).0.abs();
        let is_in_time = || difference <= self.time_ns.0;
        // Compared as products, so that nothing is rounded.
        let is_in_part = || {
            let limit = numbers.a.0.abs().checked_mul(self.of_a.0);
            difference.checked_mul(Number::ONE.0).zip(limit).is_some_and(|(it, limit)| it <= limit)
        };
        match meaning {
            _ if difference == 0 => true,
            Meaning::Name => false,
            Meaning::Instant => is_in_time(),
            Meaning::Duration => is_in_time() || is_in_part(),
            Meaning::Amount => is_in_part(),
        }
    }

    /// Returns true if two instants count as equal.
    pub fn accepts_instants(&self, instants: Pair<i64>) -> bool {
        let difference = instants.a.abs_diff(instants.b);
        Number::from(difference) <= self.time_ns
    }

    /// Returns true if two durations in nanoseconds count as equal.
    pub fn accepts_durations(&self, durations: Pair<u64>) -> bool {
        self.accepts(Meaning::Duration, durations.map(Number::from))
    }
}

/// Reads a tolerance: a time with its unit, or a percentage.
pub fn allowance(text: &str) -> Result<Allowance, Refusal> {
    const HELP: &str = "write a time such as `1us`, or a percentage below 100 such as `0.5%`";
    if let Some(percent) = text.strip_suffix('%') {
        let number = decimal(percent.trim_end());
        if number.is_some_and(|number| number.0 >= 100 * Number::ONE.0) {
            let title =
                "100 % of A's number or more would accept any smaller number of B, even none";
            return Err(Refusal::new(title, HELP));
        }
        let number = number.filter(|number| number.0 % 100 == 0);
        let refused = || Refusal::new("it is not a percentage with at most four decimals", HELP);
        return number.map(|number| Allowance::Part(Number(number.0 / 100))).ok_or_else(refused);
    }
    let time = quantity::parse_any::<Picos>(text);
    let time = time.map_err(|refusal| Refusal::new(refusal.title, HELP))?;
    let nanos = i128::try_from(time).ok().and_then(|picos| picos.checked_mul(Number::ONE.0 / 1000));
    nanos
        .map(|nanos| Allowance::Time(Number(nanos)))
        .ok_or_else(|| Refusal::new("it is too long", HELP))
}

/// Reads a number without a sign and with at most six decimals.
fn decimal(text: &str) -> Option<Number> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 6 || !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    let millionths: i128 = format!("{decimals:0<6}").parse().ok()?;
    let whole: i128 = whole.parse::<u32>().ok()?.into();
    Some(Number(whole * Number::ONE.0 + millionths))
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zero = Number::default();
        let time = (self.time_ns != zero).then(|| format!("{} ns", grouped(self.time_ns)));
        let part = (self.of_a != zero).then(|| format!("{} % of A's", Number(self.of_a.0 * 100)));
        let all: Vec<String> = time.into_iter().chain(part).collect();
        f.write_str(&all.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use results::TABLES;

    use super::*;

    fn tolerance(texts: &[&str]) -> Tolerance {
        let all: Vec<Allowance> = texts.iter().map(|text| allowance(text).unwrap()).collect();
        Tolerance::new(&all).unwrap()
    }

    #[test]
    fn a_time_is_for_times_and_a_percentage_for_amounts() {
        use Meaning::{Amount, Duration, Instant, Name};
        let both = tolerance(&["2ns", "1%"]);
        assert_eq!(both.to_string(), "2 ns or 1 % of A's");
        for (meaning, a, b, accepted) in [
            (Instant, 1000, 1002, true),
            (Instant, 1000, 1003, false),
            (Instant, 1003, 1000, false),
            (Duration, 1000, 1010, true),
            (Duration, 1000, 1011, false),
            (Duration, 10, 12, true),
            (Duration, 12, 10, true),
            (Amount, 1000, 990, true),
            (Amount, 1000, 989, false),
            (Amount, 0, 1, false),
            (Amount, 10, 12, false),
            (Name, 1000, 1001, false),
            (Name, 7, 7, true),
        ] {
            let numbers = Pair { a: Number::whole(a), b: Number::whole(b) };
            assert_eq!(both.accepts(meaning, numbers), accepted, "{meaning:?} {a} {b}");
        }
        assert!(!tolerance(&["999ps"]).accepts_instants(Pair { a: 5, b: 6 }));
        assert!(tolerance(&["1ns"]).accepts_instants(Pair { a: -1, b: 0 }));
        assert!(Tolerance::default().is_zero() && !both.is_zero());
    }

    #[test]
    fn what_is_no_tolerance_is_refused() {
        for (text, title) in [
            ("7", "unit"),
            ("1kB", "time"),
            ("-1%", "not a percentage"),
            ("100%", "would accept any smaller number of B"),
            ("1000.5%", "would accept any smaller number of B"),
            ("0.00001%", "not a percentage"),
            ("%", "not a percentage"),
            ("1.%", ""),
        ] {
            match allowance(text) {
                Err(refusal) => {
                    assert!(
                        refusal.title.contains(title) && !title.is_empty(),
                        "{text}: {refusal}"
                    );
                }
                Ok(read) => {
                    assert_eq!((text, read), ("1.%", Allowance::Part(Number::per_mille(10))));
                }
            }
        }
        let twice = [allowance("1us").unwrap(), allowance("2us").unwrap()];
        assert_eq!(Tolerance::new(&twice).unwrap_err().title, "--tolerance has two times");
    }

    /// A column that is renamed leaves these lists.
    #[test]
    fn names_and_instants_are_columns() {
        let columns = || TABLES.iter().flat_map(|table| table.columns).map(|column| column.name);
        let of_summary = ["first_onset_ns", "from_ns", "to_ns"];
        for name in NAMES.into_iter().chain(INSTANTS).filter(|name| !of_summary.contains(name)) {
            assert!(columns().any(|column| column == name), "{name}");
        }
        assert_eq!(Meaning::of("window.from_ns", ScalarKind::Time), Meaning::Instant);
        assert_eq!(Meaning::of("fct_ns.p99", ScalarKind::Time), Meaning::Duration);
    }
}
