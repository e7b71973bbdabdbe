//! Ticks of axes: round values with the units that a reader uses.

use std::ops::RangeInclusive;

use serde::Serialize;

/// Unit of an axis' values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A number, or a unit that the axis' label names.
    #[default]
    Number,
    /// Nanoseconds, written as ns, us, ms or s.
    Nanoseconds,
    /// Bytes, written as B, kB, MB or GB.
    Bytes,
    /// Bits per second, written as bit/s to Gbit/s.
    BitsPerSecond,
}

/// Names of a unit's multiples, the largest first.
type Multiples = &'static [(f64, &'static str)];

impl Unit {
    const fn multiples(self) -> Multiples {
        match self {
            Self::Number => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
            Self::Nanoseconds => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
            Self::Bytes => &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
            Self::BitsPerSecond => {
                &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")]
            }
        }
    }

    /// Returns the largest multiple that is not above `value`, and its name. Small numbers have no prefix.
    pub fn multiple(self, value: f64) -> (f64, &'static str) {
        let from = if self == Self::Number { 1e4 } else { 1.0 };
        let fits = |(scale, _): &&(f64, &str)| value.abs() >= scale * (1.0 - 1e-9);
        let all = self.multiples();
        let smallest = all[all.len() - 1];
        if value.abs() < from {
            smallest
        } else {
            all.iter().find(fits).copied().unwrap_or(smallest)
        }
    }

    /// Writes a value with the unit that suits its size, such as `20 us`.
    pub fn write(self, value: f64) -> String {
        let (scale, name) = self.multiple(value);
        let number = plain(value / scale);
        match (self, name) {
            (_, "") => number,
            (Self::Number, name) => format!("{number}{name}"),
            (_, name) => format!("{number} {name}"),
        }
    }
}

/// A tick: its value and text.
pub type Tick = (f64, String);

/// Returns at most about `most` round ticks of a linear axis, and the name of their common unit.
pub fn linear(range: RangeInclusive<f64>, most: usize, unit: Unit) -> (Vec<Tick>, &'static str) {
    let (low, high) = (*range.start(), *range.end());
    let (scale, name) = unit.multiple(low.abs().max(high.abs()));
    let step = round_step((high - low) / scale / most.max(1) as f64);
    let first = (low / scale / step - 1e-9).ceil() as i64;
    let last = (high / scale / step + 1e-9).floor() as i64;
    let tick = |number: i64| (number as f64 * step * scale, plain(number as f64 * step));
    ((first..=last).map(tick).collect(), name)
}

/// Returns the next number from 1, 2, 5, 10, .. that is not below `value`.
fn round_step(value: f64) -> f64 {
    let value = value.max(1e-12);
    let decade = 10_f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= value * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

/// Returns the ticks of a logarithmic axis: each decade, below two decades also 2 and 5, and linear steps where these are too few.
pub fn log(range: RangeInclusive<f64>, unit: Unit) -> Vec<Tick> {
    let (low, high) = (*range.start(), *range.end());
    let factors: &[f64] = if high / low < 100.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = decades.flat_map(|decade| factors.iter().map(move |it| it * 10_f64.powi(decade)));
    let inside = |value: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value);
    let ticks: Vec<Tick> = all.filter(inside).map(|value| (value, unit.write(value))).collect();
    if ticks.len() > 2 || high / low >= 10.0 {
        return ticks;
    }
    let (ticks, _) = linear(range, 5, unit);
    ticks.into_iter().map(|(value, _)| (value, unit.write(value))).collect()
}

/// Extends a linear range from or to zero, so that it ends at ticks.
pub fn linear_ends(low: f64, high: f64, most: usize, unit: Unit) -> (f64, f64) {
    let (scale, _) = unit.multiple(low.abs().max(high.abs()));
    let step = round_step((high - low) / scale / most as f64) * scale;
    ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
}

/// Extends a logarithmic range to a number from 1, 2, 5, 10, .. at both ends.
pub fn log_ends(low: f64, high: f64) -> (f64, f64) {
    let decade = 10_f64.powf(low.log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| factor * decade <= low * (1.0 + 1e-9));
    let (low, high) = (factor.unwrap_or(1.0) * decade, round_step(high));
    (low, if high > low * 1.01 { high } else { low * 2.0 })
}

/// Writes a number with at most four significant digits and no exponent, if it is not tiny.
pub fn plain(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor();
    if magnitude < -4.0 {
        return format!("{value:e}");
    }
    let decimals = (3.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|(_, text)| &**text).collect()
    }

    #[test]
    fn linear_ticks_are_round_in_their_unit() {
        let (ticks, unit) = linear(0.0..=4_212_206.0, 5, Unit::Nanoseconds);
        assert_eq!((texts(&ticks), unit), (vec!["0", "1", "2", "3", "4"], "ms"));
        let (ticks, unit) = linear(0.0..=0.3, 5, Unit::Number);
        assert_eq!((texts(&ticks), unit), (vec!["0", "0.1", "0.2", "0.3"], ""));
        assert_eq!(linear_ends(0.0, 1_927_766.0, 5, Unit::Bytes), (0.0, 2e6));
    }

    #[test]
    fn log_ticks_depend_on_the_number_of_decades() {
        assert_eq!(texts(&log(1.0..=20.0, Unit::Number)), ["1", "2", "5", "10", "20"]);
        let sizes = log(1e3..=1e6, Unit::Bytes);
        assert_eq!(texts(&sizes), ["1 kB", "10 kB", "100 kB", "1 MB"]);
        assert_eq!(texts(&log(1.0..=1.4, Unit::Number)), ["1", "1.1", "1.2", "1.3", "1.4"]);
        assert_eq!(log_ends(1.3, 14.0), (1.0, 20.0));
        assert_eq!(log_ends(3e5, 3e5), (2e5, 5e5));
    }

    #[test]
    fn values_have_a_unit() {
        let texts = [22e6, 999.0, 0.0, 1e3].map(|value| Unit::Nanoseconds.write(value));
        assert_eq!(texts, ["22 ms", "999 ns", "0 ns", "1 us"]);
        assert_eq!(Unit::Number.write(25_000.0), "25k");
        assert_eq!(Unit::Bytes.write(1_500_000.0), "1.5 MB");
    }
}
