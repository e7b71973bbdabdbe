//! What a paper says of a figure, and by what it is judged.

use sweep::Decimal;

use super::estimate::Value;

/// A sentence of the paper, with a criterion by which it holds.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Section.
    pub place: &'static str,
    /// What is claimed.
    pub text: &'static str,
    /// What the paper has.
    pub paper: Expected,
    /// When it holds. Chosen from the paper's text, never by the result.
    pub holds: Criterion,
    /// The quantity, by its place in the figure.
    pub quantity: usize,
    /// How it is looked at.
    pub view: View,
    /// Choices that a cell must have, by axis; several of one axis are alternatives.
    pub cells: &'static [(&'static str, &'static str)],
    /// Axes that the paper leaves open. Each combination of their choices is a reading of the paper, and the claim is
    /// judged in each.
    pub readings: &'static [&'static str],
    /// What it is compared with instead of the figure's baseline.
    pub against: Option<(&'static str, &'static str)>,
}

/// What the paper says in words; it can be read in one way.
pub const fn words(
    place: &'static str,
    text: &'static str,
    (paper, holds): (&'static str, Criterion),
    (quantity, view): (usize, View),
    cells: &'static [(&'static str, &'static str)],
) -> Claim {
    let paper = Expected::Words(paper);
    Claim { place, text, paper, holds, quantity, view, cells, readings: &[], against: None }
}

/// The same claim where the paper leaves these axes open.
pub const fn read_by(claim: Claim, readings: &'static [&'static str]) -> Claim {
    Claim { readings, ..claim }
}

/// What a paper says of a quantity, as a part of 1 if it is a percentage and else in the unit in
/// which it is shown.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// From the least to the largest over the cells.
    Range(Decimal, Decimal),
    /// The largest over the cells.
    UpTo(Decimal),
    /// About this.
    About(Decimal),
    /// At least this.
    Over(Decimal),
    /// Not in numbers.
    Words(&'static str),
}

/// When a claim holds. Numbers are as in [`Expected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Each cell is within the bound.
    Each(Bound),
    /// The largest of the cells is.
    Largest(Bound),
    /// The least of the cells is within the first bound, and the largest within the second.
    Ends(Bound, Bound),
    /// The mean of the cells is: "on average, compared to A, B and C".
    Mean(Bound),
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// This or more.
    AtLeast(Decimal),
    /// This or less.
    AtMost(Decimal),
    /// More than this.
    Above(Decimal),
    /// Either end or a value between them.
    Between(Decimal, Decimal),
}

/// How a quantity is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// By how much it is below the baseline's, as a part of that.
    Reduction,
    /// By how much its sum over the seeds is below the baseline's, as a part of that.
    TotalReduction,
    /// By how much it is above the baseline's, as a part of that.
    Increase,
    /// By how much the baseline's is below it, as a part of it: cells are what the baseline is compared with.
    BaselineReduction,
    /// By how much the baseline's is above it, as a part of it.
    BaselineIncrease,
    /// As it is.
    Itself,
}

/// Whether a claim holds in a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    Turns,
    /// The runs do not tell: a cell has no number, or one that no run reached; or shares whose interval lies on both sides of a
    /// bound, or that differ no more than chance makes them.
    Open,
    /// A cell has no run.
    NotRun,
}

impl View {
    /// Whether two cells are compared.
    pub const fn compares(self) -> bool {
        !matches!(self, Self::Itself)
    }

    /// Whether cells are what the baseline is compared with.
    pub const fn is_of_baseline(self) -> bool {
        matches!(self, Self::BaselineReduction | Self::BaselineIncrease)
    }
}

impl Criterion {
    /// A number of the paper is met within a fifth: a figure can be read no better from its text, and a claim that
    /// hangs on less is no finding. "About" is met on both sides, the others as far as the paper goes or further.
    /// Words have no number: their claims name a bound of their own.
    pub const fn within_a_fifth(paper: Expected) -> Self {
        match paper {
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

    /// Whether it only says that there is a difference, and of which sign.
    pub const fn is_a_sign(self) -> bool {
        matches!(self, Self::Each(Bound::Above(Decimal(0))))
    }

    /// Whether values meet it. One that no run reached may be the least or the largest, whatever its bound is.
    pub fn verdict(self, values: &[Value]) -> Verdict {
        if values.is_empty() {
            return Verdict::Open;
        }
        match self {
            // A reading with this criterion has one value, the mean.
            Self::Each(bound) | Self::Mean(bound) => bound.each(values),
            Self::Largest(bound) => bound.largest(values),
            Self::Ends(low, high) => low.least(values).and(high.largest(values)),
        }
    }
}

impl Bound {
    /// Whether each of some values is within it.
    fn each(self, values: &[Value]) -> Verdict {
        values.iter().fold(Verdict::Holds, |all, value| all.and(self.verdict(*value)))
    }

    /// Whether one of some values is.
    fn any(self, values: &[Value]) -> Verdict {
        values.iter().fold(Verdict::Turns, |any, value| any.or(self.verdict(*value)))
    }

    /// Whether all of some intervals are; of one that has an end on the other side it cannot be told.
    pub fn all_of(self, intervals: &[(Value, Value)]) -> Verdict {
        intervals.iter().fold(Verdict::Holds, |all, interval| all.and(self.of_interval(*interval)))
    }

    fn of_interval(self, (low, high): (Value, Value)) -> Verdict {
        let one_sided = |low: Verdict, high: Verdict| if low == high { low } else { Verdict::Open };
        match self {
            Self::Between(least, most) => {
                let (least, most) = (Self::AtLeast(least), Self::AtMost(most));
                least.of_interval((low, high)).and(most.of_interval((low, high)))
            }
            _ => one_sided(self.verdict(low), self.verdict(high)),
        }
    }

    /// Whether the least of some values is.
    fn least(self, values: &[Value]) -> Verdict {
        match self {
            Self::AtLeast(_) | Self::Above(_) => self.each(values),
            Self::AtMost(_) => self.any(values),
            Self::Between(least, most) => {
                Self::AtLeast(least).least(values).and(Self::AtMost(most).least(values))
            }
        }
    }

    /// Whether the largest of some values is.
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
                Value::At(number) => Verdict::of(number >= least),
                Value::Over(number) if number >= least => Verdict::Holds,
                Value::Under(number) if number <= least => Verdict::Turns,
                Value::Over(_) | Value::Under(_) => Verdict::Open,
            },
            Self::AtMost(most) => match value {
                Value::At(number) => Verdict::of(number <= most),
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
    const fn of(holds: bool) -> Self {
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

const fn fifths(value: Decimal, count: i128) -> Decimal {
    Decimal(value.0 * count / 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn whole(number: i32) -> Decimal {
        Decimal::whole(number)
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

    /// Two values are known, and of one only that it is over 8.
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
        // The least may be what no run reached from above.
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
            let criterion = Criterion::within_a_fifth(paper);
            assert_eq!(criterion.verdict(&ours), expected, "{paper:?} {ours:?}");
        }
    }
}
