//! Estimates of a quantity over seeds.

use results::Number;
use sweep::interval;

use super::View;

/// Min number of seeds for an interval; cells with fewer seeds have a range.
pub const MIN_SEEDS_FOR_AN_INTERVAL: usize = 10;

/// The square of 1.96, the 0.975 quantile of the normal distribution, times [`SCALE`].
const Z_SQUARE: i128 = 38_416;
const SCALE: i128 = 10_000;

/// A number, or a bound of a number that no run reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The number.
    At(Number),
    /// An unknown number above this bound.
    Over(Number),
    /// An unknown number below this bound.
    Under(Number),
}

/// Statistic of a quantity over seeds, and of its ratio to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean over seeds. Ratio: the mean of the ratios, seed by seed.
    Mean,
    /// Share of the runs in which a truth value is true. Ratio: the ratio of the shares.
    Share,
    /// Kaplan-Meier median of times to an event. Ratio: the ratio of the medians.
    Median,
}

/// Estimate of a cell's quantity over its seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Number of seeds.
    pub count: usize,
    /// Number of seeds in which the event happened; for a mean, all seeds.
    pub happened: usize,
    /// Mean, share or median.
    pub value: Value,
    /// Lowest and highest value over the seeds; `None` for shares, and for ratios of shares and medians.
    pub range: Option<(Value, Value)>,
    /// 95 % interval; `None` with too few seeds.
    pub interval: Option<(Value, Value)>,
}

impl Value {
    /// Returns the number, or the bound of an unknown number.
    pub const fn number(self) -> Number {
        match self {
            Self::At(number) | Self::Over(number) | Self::Under(number) => number,
        }
    }

    /// Returns the number, if it is known.
    pub const fn known(self) -> Option<Number> {
        match self {
            Self::At(number) => Some(number),
            Self::Over(_) | Self::Under(_) => None,
        }
    }

    /// Returns `self / base`; `None` if the ratio is unbounded, or the base is 0.
    pub fn ratio(self, base: Self) -> Option<Self> {
        let (part, whole) = (self.number(), base.number());
        let ratio = (whole.0 != 0).then(|| Number::ratio(part.0, whole.0))?;
        match (self, base) {
            (Self::At(_), Self::At(_)) => Some(Self::At(ratio)),
            (Self::Over(_), Self::At(_) | Self::Under(_)) | (Self::At(_), Self::Under(_)) => {
                Some(Self::Over(ratio))
            }
            (Self::Under(_), Self::At(_) | Self::Over(_)) | (Self::At(_), Self::Over(_)) => {
                Some(Self::Under(ratio))
            }
            (Self::Over(_), Self::Over(_)) | (Self::Under(_), Self::Under(_)) => None,
        }
    }

    /// Applies a monotonic function to the number.
    #[must_use]
    pub fn map(self, change: impl Fn(Number) -> Number) -> Self {
        match self {
            Self::At(number) => Self::At(change(number)),
            Self::Over(number) => Self::Over(change(number)),
            Self::Under(number) => Self::Under(change(number)),
        }
    }

    fn one_minus(self) -> Self {
        let change = |number: Number| Number(Number::ONE.0 - number.0);
        match self {
            Self::At(number) => Self::At(change(number)),
            Self::Over(number) => Self::Under(change(number)),
            Self::Under(number) => Self::Over(change(number)),
        }
    }
}

impl Estimate {
    /// Returns the mean with Student's t interval; `None` without values.
    pub fn mean(values: &[Number]) -> Option<Self> {
        let count = values.len();
        let (least, largest) = values.iter().min().zip(values.iter().max())?;
        let sum = Number(values.iter().map(|value| value.0).sum());
        Some(Self {
            count,
            happened: count,
            value: Value::At(Number::mean(sum, count)),
            range: Some((Value::At(*least), Value::At(*largest))),
            interval: interval(values).map(|(low, high)| (Value::At(low), Value::At(high))),
        })
    }

    /// Returns the share of values that are 1, of truth values 0 and 1, with E. B. Wilson's interval (Probable
    /// Inference, the Law of Succession, and Statistical Inference, 1927); `None` without values.
    pub fn share(values: &[Number]) -> Option<Self> {
        let count = values.len();
        let happened = values.iter().filter(|value| value.0 != 0).count();
        let (n, k) = (count as i128, happened as i128);
        let share = (count > 0).then(|| Number::ratio(k, n))?;
        // (k + z²/2 -+ z sqrt(k (n - k) / n + z²/4)) / (n + z²), above and below times 2 * 10^8 * n.
        let square = Z_SQUARE * n * (4 * SCALE * k * (n - k) + Z_SQUARE * n);
        let root = (SCALE * SCALE * square).isqrt();
        let end = |root: i128| {
            let part = SCALE * n * (2 * SCALE * k + Z_SQUARE) + root;
            Value::At(Number::ratio(part, 2 * SCALE * n * (SCALE * n + Z_SQUARE)))
        };
        let interval = Some((end(-root), end(root)));
        Some(Self { count, happened, value: Value::At(share), range: None, interval })
    }

    /// Returns the ratio of two sums, to which each seed contributes a pair `(part, whole)`, with Student's t interval
    /// of the mean of `part - ratio * whole` (W. G. Cochran, Sampling Techniques, 6.4); `None` if the wholes sum up to
    /// 0.
    pub fn ratio_of_totals(pairs: &[(Number, Number)]) -> Option<Self> {
        let count = pairs.len();
        let part: i128 = pairs.iter().map(|(part, _)| part.0).sum();
        let whole: i128 = pairs.iter().map(|(_, whole)| whole.0).sum();
        if whole <= 0 {
            return None;
        }
        let ratio = Number::ratio(part, whole);
        let residual = |(part, whole): &(Number, Number)| {
            Number(part.0 - Number::ratio(ratio.0 * whole.0, Number::ONE.0 * Number::ONE.0).0)
        };
        let residuals: Vec<Number> = pairs.iter().map(residual).collect();
        let mean = Number::mean(Number(whole), count);
        let end = |end: Number| {
            let centred = Number(ratio.0 + Number::ratio(end.0, mean.0.max(1)).0);
            Value::At(centred)
        };
        let interval = interval(&residuals).filter(|_| count >= MIN_SEEDS_FOR_AN_INTERVAL);
        let interval = interval.map(|(low, high)| (end(low), end(high)));
        Some(Self { count, happened: count, value: Value::At(ratio), range: None, interval })
    }

    /// Returns the mean of several cells' estimates, with their range; `None` without estimates, or if one is unknown.
    pub fn mean_of(cells: &[Self]) -> Option<Self> {
        let values: Vec<Number> =
            cells.iter().map(|cell| cell.value.known()).collect::<Option<_>>()?;
        let count = cells.iter().map(|cell| cell.count).min()?;
        Some(Self { count, happened: count, interval: None, ..Self::mean(&values)? })
    }

    /// Replaces the value by a comparison, which has neither interval nor range.
    #[must_use]
    pub const fn compared(self, value: Value) -> Self {
        Self { value, range: None, interval: None, ..self }
    }

    /// Converts a ratio to the baseline to another view.
    #[must_use]
    pub fn viewed(self, view: View) -> Self {
        let change = |value: Value| match view {
            View::Itself => value,
            View::Increase | View::BaselineIncrease => {
                value.map(|ratio| Number(ratio.0 - Number::ONE.0))
            }
            View::Reduction | View::TotalReduction | View::BaselineReduction => value.one_minus(),
        };
        let ends = |(low, high)| match view {
            View::Reduction | View::TotalReduction | View::BaselineReduction => {
                (change(high), change(low))
            }
            View::Itself | View::Increase | View::BaselineIncrease => (change(low), change(high)),
        };
        let (range, interval) = (self.range.map(ends), self.interval.map(ends));
        Self { value: change(self.value), range, interval, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn whole(number: i32) -> Number {
        Number::whole(number)
    }

    #[test]
    fn a_mean_has_the_range_of_its_values_and_an_interval_from_two_on() {
        let one = Estimate::mean(&[whole(3)]).unwrap();
        assert_eq!((one.value, one.interval), (Value::At(whole(3)), None));
        let two = Estimate::mean(&[whole(3), whole(1)]).unwrap();
        assert_eq!(two.range, Some((Value::At(whole(1)), Value::At(whole(3)))));
        let ends = two.interval.map(|(low, high)| (low.number().0, high.number().0));
        assert_eq!(ends, Some((-10_706_000, 14_706_000)));
        assert_eq!(Estimate::mean(&[]), None);
    }

    /// The parts sum up to half the wholes, but differ in each pair: residuals of 1, -1, ... have an interval around 0.
    #[test]
    fn a_ratio_of_totals_weighs_seeds_by_their_wholes() {
        let pairs = |numbers: &[(i32, i32)]| -> Vec<(Number, Number)> {
            numbers.iter().map(|(part, all)| (whole(*part), whole(*all))).collect()
        };
        let two = Estimate::ratio_of_totals(&pairs(&[(1, 10), (49, 90)])).unwrap();
        assert_eq!((two.value, two.interval), (Value::At(Number::per_mille(500)), None));
        let ten = Estimate::ratio_of_totals(&pairs(&[(6, 10), (4, 10)].repeat(5))).unwrap();
        let (low, high) = ten.interval.unwrap();
        assert_eq!(ten.value, Value::At(Number::per_mille(500)));
        // 2.262 * 1.0541 / sqrt(10) / 10 on either side.
        assert_eq!((low.number().0 / 1000, high.number().0 / 1000), (424, 575));
        assert_eq!(Estimate::ratio_of_totals(&pairs(&[(3, 0)])), None);
        assert_eq!(Estimate::ratio_of_totals(&[]), None);
    }

    /// Wilson's interval of 3 of 12 and of 0 and 10 of 10, from his formula by hand.
    #[test]
    fn a_share_has_an_interval_within_0_and_1() {
        let truths = |happened: usize, count: usize| -> Vec<Number> {
            (0..count).map(|run| whole(i32::from(run < happened))).collect()
        };
        for (happened, count, share, low, high) in [
            (3, 12, 250_000, 88_940, 532_310),
            (0, 10, 0, 0, 277_540),
            (10, 10, 1_000_000, 722_460, 1_000_000),
        ] {
            let estimate = Estimate::share(&truths(happened, count)).unwrap();
            let ends = Some((Value::At(Number(low)), Value::At(Number(high))));
            assert_eq!((estimate.happened, estimate.value.number().0), (happened, share));
            assert_eq!(estimate.interval, ends, "{happened} of {count}");
        }
        assert_eq!(Estimate::share(&[]), None);
    }

    #[test]
    fn a_ratio_is_known_as_far_as_both_of_its_parts_are() {
        use Value::{At, Over, Under};
        let [two, six, three] = [2, 6, 3].map(whole);
        for (part, base, ratio) in [
            (At(six), At(two), Some(At(three))),
            (Over(six), At(two), Some(Over(three))),
            (At(six), Over(two), Some(Under(three))),
            (Over(six), Over(two), None),
            (At(six), Under(two), Some(Over(three))),
            (Under(six), At(two), Some(Under(three))),
            (Under(six), Under(two), None),
            (At(six), At(whole(0)), None),
        ] {
            assert_eq!(part.ratio(base), ratio, "{part:?} / {base:?}");
        }
    }

    #[test]
    fn a_reduction_turns_the_ends_of_a_ratio_round() {
        let tenths = |number: i32| Value::At(Number::per_mille(100 * number));
        let ratio = Estimate {
            count: 2,
            happened: 2,
            value: tenths(4),
            range: Some((tenths(3), tenths(5))),
            interval: Some((tenths(1), tenths(7))),
        };
        let reduction = ratio.viewed(View::Reduction);
        assert_eq!(reduction.value, tenths(6));
        assert_eq!(reduction.range, Some((tenths(5), tenths(7))));
        assert_eq!(reduction.interval, Some((tenths(3), tenths(9))));
        assert_eq!(ratio.viewed(View::Increase).range, Some((tenths(-7), tenths(-5))));
        assert_eq!(ratio.viewed(View::Itself), ratio);
        let over = Estimate { value: Value::Over(whole(3)), ..ratio };
        assert_eq!(over.viewed(View::Reduction).value, Value::Under(whole(-2)));
        assert_eq!(over.viewed(View::Increase).value, Value::Over(whole(2)));
    }
}
