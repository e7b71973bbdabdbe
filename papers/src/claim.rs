//! Claims of a paper on a figure, and the criteria that judge them.

use results::Number;
use serde::Deserialize;

use super::Choice;
use super::estimate::Value;

/// A sentence of the paper with a criterion.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Section of the paper.
    pub place: String,
    /// Text of the claim.
    pub text: String,
    /// Value in the paper.
    pub paper: Expected,
    /// Criterion under which the claim holds. Chosen from the paper's text, never by the result.
    pub holds: Criterion,
    /// Index of the quantity in the figure.
    pub quantity: usize,
    /// Comparison of the quantity.
    pub view: View,
    /// Choices that a cell must have, by axis; several choices of one axis are alternatives.
    pub cells: Vec<Choice>,
    /// Axes that the paper leaves open. Each combination of their choices is a reading of the paper, and each reading
    /// gets a verdict.
    pub readings: Vec<String>,
    /// Axis and choice of the cells to compare with, instead of the figure's baseline.
    pub against: Option<Choice>,
}

/// Value of a quantity in the paper: a fraction of 1 for a percentage, otherwise in the displayed unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Lowest and highest value over the cells.
    Range(Number, Number),
    /// Highest value over the cells.
    UpTo(Number),
    /// Approximate value.
    About(Number),
    /// Lower bound.
    Over(Number),
    /// Words instead of a number.
    #[serde(skip)]
    Words(String),
}

/// Criterion of a claim. Numbers are in the form of [`Expected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Each cell is within the bound.
    Each(Bound),
    /// The highest cell is within the bound.
    Largest(Bound),
    /// The lowest cell is within the first bound, and the highest within the second.
    Ends(Bound, Bound),
    /// The mean of the cells is within the bound: "on average, compared to A, B and C".
    Mean(Bound),
}

/// Bound of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// At least this.
    AtLeast(Number),
    /// At most this.
    AtMost(Number),
    /// More than this.
    Above(Number),
    /// Either end or a value between them.
    Between(Number, Number),
}

/// Comparison of a quantity with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Reduction below the baseline, as a fraction of the baseline.
    Reduction,
    /// Reduction of the sum over the seeds below the baseline's sum, as a fraction of the baseline's.
    TotalReduction,
    /// Increase above the baseline, as a fraction of the baseline.
    Increase,
    /// Reduction of the baseline below the cell, as a fraction of the cell: the baseline is compared with the cells.
    BaselineReduction,
    /// Increase of the baseline above the cell, as a fraction of the cell.
    BaselineIncrease,
    /// No comparison.
    #[serde(rename = "value")]
    Itself,
}

/// Verdict on a claim in a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim holds.
    Holds,
    /// The claim does not hold.
    Turns,
    /// The runs are inconclusive: a cell has no number, or a number that no run reached; or the interval of a share
    /// contains a bound; or shares differ no more than by chance.
    Open,
    /// A cell has no run.
    NotRun,
}

impl View {
    /// Returns true if two cells are compared.
    pub const fn compares(self) -> bool {
        !matches!(self, Self::Itself)
    }

    /// Returns true if the baseline is compared with the cells.
    pub const fn is_of_baseline(self) -> bool {
        matches!(self, Self::BaselineReduction | Self::BaselineIncrease)
    }
}

impl Expected {
    /// Converts the numbers.
    #[must_use]
    pub fn map(self, change: impl Fn(Number) -> Number) -> Self {
        match self {
            Self::Range(low, high) => Self::Range(change(low), change(high)),
            Self::UpTo(number) => Self::UpTo(change(number)),
            Self::About(number) => Self::About(change(number)),
            Self::Over(number) => Self::Over(change(number)),
            Self::Words(words) => Self::Words(words),
        }
    }
}

impl Criterion {
    /// Returns the criterion for a number of the paper, which is met within a fifth: a figure's text is not more exact,
    /// and a claim that depends on a smaller difference is not a finding. "About" is bounded on both sides, "over" by
    /// the number itself, other numbers only on the unfavourable side. Words have no number: their claims name a bound.
    pub fn within_a_fifth(paper: &Expected) -> Self {
        match *paper {
            Expected::Range(least, largest) => {
                Self::Ends(Bound::AtLeast(fifths(least, 4)), Bound::AtLeast(fifths(largest, 4)))
            }
            Expected::UpTo(largest) => Self::Largest(Bound::AtLeast(fifths(largest, 4))),
            Expected::About(value) => {
                Self::Each(Bound::Between(fifths(value, 4), fifths(value, 6)))
            }
            Expected::Over(least) => Self::Each(Bound::AtLeast(least)),
            Expected::Words(_) => panic!("words have no number to compare with"),
        }
    }

    /// Converts the numbers.
    #[must_use]
    pub fn map(self, change: impl Fn(Number) -> Number) -> Self {
        match self {
            Self::Each(bound) => Self::Each(bound.map(change)),
            Self::Largest(bound) => Self::Largest(bound.map(change)),
            Self::Mean(bound) => Self::Mean(bound.map(change)),
            Self::Ends(low, high) => Self::Ends(low.map(&change), high.map(change)),
        }
    }

    /// Returns true if the criterion demands only a difference of a certain sign.
    pub const fn is_a_sign(self) -> bool {
        matches!(self, Self::Each(Bound::Above(Number(0))))
    }

    /// Judges values. A value that no run reached may be the lowest or the highest, whatever its bound is.
    pub fn verdict(self, values: &[Value]) -> Verdict {
        if values.is_empty() {
            return Verdict::Open;
        }
        match self {
            // A reading with the criterion `Mean` has one value, the mean.
            Self::Each(bound) | Self::Mean(bound) => bound.each(values),
            Self::Largest(bound) => bound.largest(values),
            Self::Ends(low, high) => low.least(values).and(high.largest(values)),
        }
    }
}

impl Bound {
    fn map(self, change: impl Fn(Number) -> Number) -> Self {
        match self {
            Self::AtLeast(number) => Self::AtLeast(change(number)),
            Self::AtMost(number) => Self::AtMost(change(number)),
            Self::Above(number) => Self::Above(change(number)),
            Self::Between(low, high) => Self::Between(change(low), change(high)),
        }
    }

    /// Judges whether each value is within the bound.
    fn each(self, values: &[Value]) -> Verdict {
        values.iter().fold(Verdict::Holds, |all, value| all.and(self.verdict(*value)))
    }

    /// Judges whether any value is within the bound.
    fn any(self, values: &[Value]) -> Verdict {
        values.iter().fold(Verdict::Turns, |any, value| any.or(self.verdict(*value)))
    }

    /// Judges whether all intervals are within the bound. An interval with an end on the other side is inconclusive.
    pub fn all_of(self, intervals: &[(Value, Value)]) -> Verdict {
        intervals
            .iter()
            .fold(Verdict::Holds, |all, interval| all.and(self.judge_interval(*interval)))
    }

    fn judge_interval(self, (low, high): (Value, Value)) -> Verdict {
        let one_sided = |low: Verdict, high: Verdict| if low == high { low } else { Verdict::Open };
        match self {
            Self::Between(least, most) => {
                let (least, most) = (Self::AtLeast(least), Self::AtMost(most));
                least.judge_interval((low, high)).and(most.judge_interval((low, high)))
            }
            _ => one_sided(self.verdict(low), self.verdict(high)),
        }
    }

    /// Judges whether the lowest value is within the bound.
    fn least(self, values: &[Value]) -> Verdict {
        match self {
            Self::AtLeast(_) | Self::Above(_) => self.each(values),
            Self::AtMost(_) => self.any(values),
            Self::Between(least, most) => {
                Self::AtLeast(least).least(values).and(Self::AtMost(most).least(values))
            }
        }
    }

    /// Judges whether the highest value is within the bound.
    fn largest(self, values: &[Value]) -> Verdict {
        match self {
            Self::AtLeast(_) | Self::Above(_) => self.any(values),
            Self::AtMost(_) => self.each(values),
            Self::Between(least, most) => {
                Self::AtLeast(least).largest(values).and(Self::AtMost(most).largest(values))
            }
        }
    }

    fn verdict(self, value: Value) -> Verdict {
        match self {
            Self::AtLeast(least) => match value {
                Value::At(number) => Verdict::from_bool(number >= least),
                Value::Over(number) if number >= least => Verdict::Holds,
                Value::Under(number) if number <= least => Verdict::Turns,
                Value::Over(_) | Value::Under(_) => Verdict::Open,
            },
            Self::AtMost(most) => match value {
                Value::At(number) => Verdict::from_bool(number <= most),
                Value::Under(number) if number <= most => Verdict::Holds,
                Value::Over(number) if number >= most => Verdict::Turns,
                Value::Over(_) | Value::Under(_) => Verdict::Open,
            },
            Self::Above(limit) => Self::AtMost(limit).verdict(value).not(),
            Self::Between(least, most) => {
                Self::AtLeast(least).verdict(value).and(Self::AtMost(most).verdict(value))
            }
        }
    }
}

impl Verdict {
    const fn from_bool(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Turns }
    }

    const fn not(self) -> Self {
        match self {
            Self::Holds => Self::Turns,
            Self::Turns => Self::Holds,
            other => other,
        }
    }

    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Turns, _) | (_, Self::Turns) => Self::Turns,
            (Self::Holds, Self::Holds) => Self::Holds,
            _ => Self::Open,
        }
    }

    const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

const fn fifths(value: Number, count: i128) -> Number {
    Number(value.0 * count / 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn whole(number: i32) -> Number {
        Number::whole(number)
    }

    fn at(numbers: &[i32]) -> Vec<Value> {
        numbers.iter().map(|number| Value::At(whole(*number))).collect()
    }

    #[test]
    fn a_criterion_is_met_by_each_cell_or_by_the_ends() {
        let ten = Bound::AtLeast(whole(10));
        for (criterion, values, expected) in [
            (Criterion::Each(ten), at(&[10, 12]), Verdict::Holds),
            (Criterion::Each(ten), at(&[9, 12]), Verdict::Turns),
            (Criterion::Each(Bound::AtMost(whole(10))), at(&[9, 12]), Verdict::Turns),
            (Criterion::Each(Bound::Between(whole(9), whole(12))), at(&[9, 12]), Verdict::Holds),
            (Criterion::Each(Bound::Between(whole(10), whole(12))), at(&[9]), Verdict::Turns),
            (Criterion::Each(Bound::Above(whole(9))), at(&[9, 12]), Verdict::Turns),
            (Criterion::Largest(Bound::Above(whole(9))), at(&[9, 12]), Verdict::Holds),
            (Criterion::Largest(ten), at(&[1, 9]), Verdict::Turns),
            (Criterion::Ends(Bound::AtLeast(whole(5)), ten), at(&[5, 7, 10]), Verdict::Holds),
            (Criterion::Ends(Bound::AtLeast(whole(6)), ten), at(&[5, 7, 10]), Verdict::Turns),
            (Criterion::Ends(Bound::AtLeast(whole(5)), ten), at(&[5, 9]), Verdict::Turns),
            (Criterion::Each(ten), at(&[]), Verdict::Open),
        ] {
            assert_eq!(criterion.verdict(&values), expected, "{criterion:?} {values:?}");
        }
    }

    #[test]
    fn an_interval_is_judged_by_both_of_its_ends() {
        let interval = |low, high| [(Value::At(whole(low)), Value::At(whole(high)))];
        let between = Bound::Between(whole(10), whole(20));
        for (bound, low, high, expected) in [
            (between, 10, 20, Verdict::Holds),
            (between, 9, 20, Verdict::Open),
            (between, 10, 21, Verdict::Open),
            (between, 1, 30, Verdict::Open),
            (between, 1, 9, Verdict::Turns),
            (between, 21, 30, Verdict::Turns),
            (Bound::AtLeast(whole(10)), 10, 11, Verdict::Holds),
            (Bound::AtLeast(whole(10)), 9, 11, Verdict::Open),
            (Bound::AtLeast(whole(10)), 8, 9, Verdict::Turns),
            (Bound::Above(whole(10)), 10, 11, Verdict::Open),
        ] {
            assert_eq!(bound.all_of(&interval(low, high)), expected, "{bound:?} {low} {high}");
        }
        let two = [interval(10, 12)[0], interval(5, 12)[0]];
        assert_eq!(between.all_of(&two), Verdict::Open);
    }

    #[test]
    fn what_no_run_reached_is_judged_as_far_as_it_is_known() {
        let (least, most) = (Bound::AtLeast(whole(10)), Bound::AtMost(whole(10)));
        let above = Bound::Above(whole(10));
        for (value, of_least, of_most, of_above) in [
            (Value::Over(whole(10)), Verdict::Holds, Verdict::Turns, Verdict::Holds),
            (Value::Over(whole(9)), Verdict::Open, Verdict::Open, Verdict::Open),
            (Value::Under(whole(10)), Verdict::Turns, Verdict::Holds, Verdict::Turns),
            (Value::Under(whole(11)), Verdict::Open, Verdict::Open, Verdict::Open),
        ] {
            assert_eq!(least.verdict(value), of_least, "{value:?}");
            assert_eq!(most.verdict(value), of_most, "{value:?}");
            assert_eq!(above.verdict(value), of_above, "{value:?}");
        }
    }

    /// Two values are known; the third is only known to be above 8.
    #[test]
    fn a_value_that_no_run_reached_counts_wherever_its_bound_stands() {
        let values = [Value::At(whole(5)), Value::Over(whole(8)), Value::At(whole(20))];
        let (at_least, at_most) = (|it| Bound::AtLeast(whole(it)), |it| Bound::AtMost(whole(it)));
        let between = |least, most| Bound::Between(whole(least), whole(most));
        for (criterion, expected) in [
            (Criterion::Each(at_least(5)), Verdict::Holds),
            (Criterion::Each(at_least(6)), Verdict::Turns),
            (Criterion::Each(at_most(20)), Verdict::Open),
            (Criterion::Each(at_most(8)), Verdict::Turns),
            (Criterion::Each(between(5, 20)), Verdict::Open),
            (Criterion::Largest(at_least(20)), Verdict::Holds),
            (Criterion::Largest(at_least(21)), Verdict::Open),
            (Criterion::Largest(at_most(20)), Verdict::Open),
            (Criterion::Largest(at_most(19)), Verdict::Turns),
            (Criterion::Largest(Bound::Above(whole(20))), Verdict::Open),
            (Criterion::Largest(between(20, 30)), Verdict::Open),
            (Criterion::Largest(between(9, 19)), Verdict::Turns),
            (Criterion::Ends(at_least(5), at_least(20)), Verdict::Holds),
            (Criterion::Ends(at_most(5), at_least(21)), Verdict::Open),
            (Criterion::Ends(between(5, 6), at_least(8)), Verdict::Holds),
            (Criterion::Ends(between(6, 7), at_least(8)), Verdict::Turns),
            (Criterion::Ends(at_most(4), at_least(8)), Verdict::Turns),
        ] {
            assert_eq!(criterion.verdict(&values), expected, "{criterion:?}");
        }
        // The lowest value may be the one that no run reached from above.
        let under = [Value::At(whole(5)), Value::Under(whole(8))];
        assert_eq!(Criterion::Each(at_least(5)).verdict(&under), Verdict::Open);
        assert_eq!(Criterion::Ends(at_most(4), at_least(5)).verdict(&under), Verdict::Open);
    }

    #[test]
    fn a_number_of_a_paper_is_met_within_a_fifth() {
        for (paper, ours, expected) in [
            (Expected::About(whole(10)), at(&[8, 12]), Verdict::Holds),
            (Expected::About(whole(10)), at(&[13]), Verdict::Turns),
            (Expected::UpTo(whole(10)), at(&[-3, 8]), Verdict::Holds),
            (Expected::UpTo(whole(10)), at(&[-3, 30]), Verdict::Holds),
            (Expected::UpTo(whole(10)), at(&[7]), Verdict::Turns),
            (Expected::Range(whole(5), whole(10)), at(&[4, 8]), Verdict::Holds),
            (Expected::Range(whole(5), whole(10)), at(&[3, 10]), Verdict::Turns),
            (Expected::Over(whole(10)), at(&[10]), Verdict::Holds),
            (Expected::Over(whole(10)), at(&[9]), Verdict::Turns),
        ] {
            let criterion = Criterion::within_a_fifth(&paper);
            assert_eq!(criterion.verdict(&ours), expected, "{paper:?} {ours:?}");
        }
    }
}
