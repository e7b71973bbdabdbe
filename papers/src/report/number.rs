//! Formatting of numbers in tables.

use std::fmt;

use results::Number;

use crate::estimate::MIN_SEEDS_FOR_AN_INTERVAL;
use crate::{Estimate, Statistic, Unit, Value};

/// Formats a mean with its interval or range, as `53.1 [52, 54.2]` or `53.1 (52 .. 54.2)`, or a median with its
/// interval and the number of events: `9.41 [8.05, 10.9], 100 of 100`.
pub fn estimate(estimate: Estimate, statistic: Statistic, unit: Unit) -> String {
    let places = Places::new(estimate, unit);
    let ends = ends(estimate, &places);
    match (statistic, estimate.value) {
        (Statistic::Mean | Statistic::Share, value) => format!("{}{ends}", places.value(value)),
        (Statistic::Median, Value::Over(end)) => {
            let (happened, count) = (estimate.happened, estimate.count);
            format!("not reached by {}{ends}, {happened} of {count}", places.number(end))
        }
        (Statistic::Median, value) => {
            let (happened, count) = (estimate.happened, estimate.count);
            format!("{}{ends}, {happened} of {count}", places.value(value))
        }
    }
}

/// Formats a comparison with the baseline, with its interval or range if it has one.
pub fn comparison(estimate: Estimate, unit: Unit) -> String {
    let places = Places::new(estimate, unit);
    format!("{}{}", places.value(estimate.value), ends(estimate, &places))
}

/// Formats the ends unless they are equal: of the interval, or of the range if the seeds are too few for an interval.
fn ends(estimate: Estimate, places: &Places) -> String {
    let text = |value| places.value(value);
    match range(estimate).or(estimate.interval) {
        Some((low, high)) if low == high => String::new(),
        Some((low, high)) if range(estimate).is_some() => {
            format!(" ({} .. {})", text(low), text(high))
        }
        Some((low, high)) => format!(" [{}, {}]", text(low), text(high)),
        None => String::new(),
    }
}

/// Returns the range, if it is shown instead of an interval.
fn range(estimate: Estimate) -> Option<(Value, Value)> {
    estimate.range.filter(|_| estimate.count < MIN_SEEDS_FOR_AN_INTERVAL)
}

/// Appends the unit, if it has a name.
pub fn with_unit(text: String, unit: Unit) -> String {
    if unit.name().is_empty() { text } else { format!("{text} {}", unit.name()) }
}

/// Formats a number of a claim, in the form of `Expected`.
pub fn claimed(value: Number, unit: Unit) -> String {
    unit.convert_claimed(value).to_string()
}

/// Formats a number with sign and one decimal place.
pub fn difference(value: Number) -> String {
    let sign = if value.0 > 0 { "+" } else { "" };
    format!("{sign}{:.1}", Rounded(value))
}

/// Decimal places of an estimate's numbers: fewer for larger numbers.
struct Places {
    unit: Unit,
    places: usize,
}

impl Places {
    fn new(estimate: Estimate, unit: Unit) -> Self {
        let ends = range(estimate).or(estimate.interval);
        let high = ends.map_or(estimate.value, |(_, high)| high);
        let size = |value: Value| unit.convert(value.number()).0.abs();
        // A share of 0 is as exact as its interval.
        let size = if size(estimate.value) == 0 { size(high) } else { size(estimate.value) };
        let places = match size / Number::ONE.0 {
            0 => 3,
            1..10 => 2,
            10..1000 => 1,
            _ => 0,
        };
        Self { unit, places }
    }

    fn number(&self, number: Number) -> String {
        format!("{:.*}", self.places, Rounded(self.unit.convert(number)))
    }

    fn value(&self, value: Value) -> String {
        match value {
            Value::At(number) => self.number(number),
            Value::Over(number) => format!("over {}", self.number(number)),
            Value::Under(number) => format!("under {}", self.number(number)),
        }
    }
}

impl Unit {
    /// Returns the unit's name behind a number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Gigabits => "Gbit/s",
            Self::Kilobytes => "kB",
            Self::Percent => "%",
            Self::Plain => "",
        }
    }

    /// Converts a number to its displayed unit.
    pub const fn convert(self, value: Number) -> Number {
        match self {
            Self::Microseconds | Self::Gigabits | Self::Kilobytes => {
                Number::ratio(value.0, 1000 * Number::ONE.0)
            }
            Self::Milliseconds => Number::ratio(value.0, 1_000_000 * Number::ONE.0),
            Self::Percent => Number(value.0 * 100),
            Self::Plain => value,
        }
    }

    /// Converts a number to the form of claims: percentages as fractions of 1, other numbers in their displayed unit.
    pub const fn claimed(self, value: Number) -> Number {
        match self {
            Self::Percent => value,
            _ => self.convert(value),
        }
    }

    /// Converts a number of a claim to its displayed unit.
    pub const fn convert_claimed(self, value: Number) -> Number {
        match self {
            Self::Percent => self.convert(value),
            _ => value,
        }
    }
}

/// A number that is formatted with the requested precision, rounded half away from zero.
pub struct Rounded(pub Number);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = f.precision().unwrap_or(6).min(6);
        let step = (places..6).fold(1, |step, _| step * 10);
        let magnitude = (self.0.0.abs() + step / 2) / step * step;
        let text = Number(magnitude * self.0.0.signum()).to_string();
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Onset, survival};

    fn mean(numbers: impl IntoIterator<Item = i32>) -> Estimate {
        let numbers: Vec<Number> = numbers.into_iter().map(Number::whole).collect();
        Estimate::mean(&numbers).unwrap()
    }

    #[test]
    fn few_seeds_have_a_range_and_ten_an_interval() {
        let text = |seeds| estimate(mean(1..=seeds), Statistic::Mean, Unit::Plain);
        assert_eq!(text(1), "1");
        assert_eq!(text(3), "2 (1 .. 3)");
        assert_eq!(text(9), "5 (1 .. 9)");
        assert_eq!(text(10), "5.5 [3.33, 7.67]");
        assert_eq!(comparison(mean([7, 7, 7]), Unit::Plain), "7");
        assert_eq!(comparison(mean([2, 4]), Unit::Percent), "300 (200 .. 400)");
    }

    #[test]
    fn a_median_says_how_often_the_event_happened_and_that_it_was_not_reached() {
        let text = |happened: i32, runs: i32| {
            let onset = |number| {
                let time = Number::whole(number * 1_000_000);
                if number <= happened { Onset::At(time) } else { Onset::After(time) }
            };
            let onsets: Vec<Onset> = (1..=runs).map(onset).collect();
            estimate(survival::median(&onsets).unwrap(), Statistic::Median, Unit::Milliseconds)
        };
        assert_eq!(text(4, 4), "2 (1 .. 4), 4 of 4");
        assert_eq!(text(1, 4), "not reached by 4 (1 .. over 4), 1 of 4");
        assert_eq!(text(100, 100), "50 [40, 61], 100 of 100");
        assert_eq!(text(0, 100), "not reached by 100 [40, over 100], 0 of 100");
    }

    #[test]
    fn a_share_has_its_interval_whatever_the_number_of_seeds() {
        let text = |truths: &[i32]| {
            let truths: Vec<Number> = truths.iter().map(|truth| Number::whole(*truth)).collect();
            estimate(Estimate::share(&truths).unwrap(), Statistic::Share, Unit::Percent)
        };
        assert_eq!(text(&[0, 0, 0, 0]), "0 [0, 49]");
        assert_eq!(text(&[1, 0, 0, 0]), "25 [4.6, 69.9]");
    }

    #[test]
    fn numbers_have_fewer_places_the_larger_they_are() {
        let text = |micros: i128| {
            let value = Number(micros);
            comparison(Estimate::mean(&[value]).unwrap(), Unit::Plain)
        };
        assert_eq!(text(123_456), "0.123");
        assert_eq!(text(-1_999_999), "-2");
        assert_eq!(text(1_234_567), "1.23");
        assert_eq!(text(123_456_789), "123.5");
        assert_eq!(text(1_234_567_890), "1235");
    }
}
