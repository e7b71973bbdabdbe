//! Median of times to an event that did not happen in every run.

use results::Number;

use super::estimate::{Estimate, Value};

/// Observation of an event in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Onset {
    /// Time of the event.
    At(Number),
    /// End of a run without the event.
    After(Number),
}

impl Onset {
    const fn time(self) -> Number {
        match self {
            Self::At(time) | Self::After(time) => time,
        }
    }

    const fn happened(self) -> bool {
        matches!(self, Self::At(_))
    }
}

/// Returns the Kaplan-Meier median with a 95 % interval by order statistics; `None` without runs. A median or an end of
/// the interval that no run reached is above the time of the longest run.
pub fn median(onsets: &[Onset]) -> Option<Estimate> {
    // Events come before censored runs of equal time, which were still at risk then.
    let mut onsets = onsets.to_vec();
    onsets.sort_by_key(|onset| (onset.time(), !onset.happened()));
    let end = onsets.last()?.time();
    let reached = |time: Option<Number>| time.map_or(Value::Over(end), Value::At);
    let happened: Vec<Number> =
        onsets.iter().filter(|onset| onset.happened()).map(|onset| onset.time()).collect();
    let count = onsets.len();
    let latest = (happened.len() == count).then_some(end);
    // A censored run counts as early as possible at the lower end, and as late as possible at the upper end.
    let ends = |rank: usize| {
        let low = onsets[rank - 1];
        let low = (low.happened() || low.time() < end).then_some(low.time());
        (reached(low), reached(happened.get(count - rank).copied()))
    };
    Some(Estimate {
        count,
        happened: happened.len(),
        value: reached(kaplan_meier_median(&onsets)),
        range: Some((reached(happened.first().copied()), reached(latest))),
        interval: rank(count).map(ends),
    })
}

/// Returns the first time at which at most half of the runs are without the event (E. L. Kaplan and P. Meier,
/// Nonparametric Estimation from Incomplete Observations, 1958). `onsets` are in order.
fn kaplan_meier_median(onsets: &[Onset]) -> Option<Number> {
    let mut survival = Part { part: 1, whole: 1 };
    for (place, onset) in onsets.iter().enumerate().filter(|(_, onset)| onset.happened()) {
        let at_risk = (onsets.len() - place) as u128;
        survival = survival.times(Part { part: at_risk - 1, whole: at_risk });
        if 2 * survival.part <= survival.whole {
            return Some(onset.time());
        }
    }
    None
}

/// A fraction, with both numbers below 2^96.
#[derive(Clone, Copy, Debug)]
struct Part {
    part: u128,
    whole: u128,
}

impl Part {
    /// Returns the product, exact unless the numbers are larger than any that about ten censored runs produce.
    fn times(self, other: Self) -> Self {
        let (part, whole) = (self.part * other.part, self.whole * other.whole);
        let divisor = greatest_common_divisor(part, whole);
        let (part, whole) = (part / divisor, whole / divisor);
        let shift = (u128::BITS - whole.leading_zeros()).saturating_sub(96);
        Self { part: part >> shift, whole: whole >> shift }
    }
}

const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the largest rank such that the value of this rank, of `count` values, is above the median with a probability
/// of at most 2.5 %: the probability that a fair coin falls on one side fewer than `rank` times (H. A. David and H. N.
/// Nagaraja, Order Statistics, section 7.1). `None` for fewer than six values.
fn rank(count: usize) -> Option<usize> {
    // Probabilities times 2^126: exact up to 126 values, and rounded down slightly beyond.
    let mut probabilities: Vec<u128> = vec![1 << 126];
    for _ in 0..count {
        let shares: Vec<u128> = probabilities.iter().map(|probability| probability / 2).collect();
        probabilities = (0..=shares.len())
            .map(|heads| {
                let more = heads.checked_sub(1).map_or(0, |fewer| shares[fewer]);
                more + shares.get(heads).copied().unwrap_or_default()
            })
            .collect();
    }
    let mut sum = 0;
    let within = probabilities.iter().take_while(|probability| {
        sum += **probability;
        sum <= (1 << 126) / 40
    });
    Some(within.count()).filter(|rank| *rank > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Onset::{After, At};

    const fn time(number: i32) -> Number {
        Number::whole(number)
    }

    fn all_happened(count: i32) -> Vec<Onset> {
        (1..=count).map(|number| At(time(number))).collect()
    }

    #[test]
    fn the_median_is_the_time_at_which_half_have_happened() {
        for (onsets, expected) in [
            (vec![At(time(7))], Value::At(time(7))),
            // Half of four is two.
            (all_happened(4), Value::At(time(2))),
            (all_happened(5), Value::At(time(3))),
            (vec![At(time(1)), At(time(2)), After(time(9)), After(time(9))], Value::At(time(2))),
            (vec![At(time(1)), After(time(9)), After(time(9))], Value::Over(time(9))),
            (vec![After(time(9))], Value::Over(time(9))),
            // An event and a run that ended at an equal time: the run was still at risk.
            (vec![After(time(3)), At(time(3))], Value::At(time(3))),
        ] {
            let estimate = median(&onsets).unwrap();
            assert_eq!(estimate.value, expected, "{onsets:?}");
            assert_eq!(estimate.count, onsets.len());
            assert_eq!(estimate.happened, onsets.iter().filter(|onset| onset.happened()).count());
        }
        assert_eq!(median(&[]), None);
    }

    /// One of five runs ends at 2 without an event: after it three are at risk, and the curve goes from 4/5 to 4/5 *
    /// 2/3 at 3 and to 4/5 * 1/3 at 4. The median of the other four alone is 3.
    #[test]
    fn a_run_that_ended_early_is_at_risk_until_then() {
        let onsets = [At(time(1)), After(time(2)), At(time(3)), At(time(4)), After(time(9))];
        assert_eq!(median(&onsets).unwrap().value, Value::At(time(4)));
    }

    #[test]
    fn the_range_is_open_where_a_run_saw_nothing() {
        let range = |onsets: &[Onset]| median(onsets).unwrap().range.unwrap();
        assert_eq!(range(&all_happened(3)), (Value::At(time(1)), Value::At(time(3))));
        let one = [At(time(1)), After(time(9))];
        assert_eq!(range(&one), (Value::At(time(1)), Value::Over(time(9))));
        assert_eq!(range(&one[1..]), (Value::Over(time(9)), Value::Over(time(9))));
    }

    /// Ranks of the 95 % interval of a median from tables of the sign test (W. J. Conover, Practical Nonparametric
    /// Statistics, table A3): of 6 values the 1st and the 6th, of 10 the 2nd and the 9th, of 100 the 40th and 61st.
    #[test]
    fn the_interval_is_between_order_statistics() {
        for (count, expected) in [
            (1, None),
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (10, Some(2)),
            (20, Some(6)),
            (100, Some(40)),
            (1000, Some(469)),
        ] {
            assert_eq!(rank(count), expected, "{count}");
        }
        let interval = median(&all_happened(100)).unwrap().interval;
        assert_eq!(interval, Some((Value::At(time(40)), Value::At(time(61)))));
    }

    #[test]
    fn an_end_that_no_run_reached_is_open() {
        let censored = |happened: i32| -> Vec<Onset> {
            let rest = (happened..100).map(|_| After(time(500)));
            all_happened(happened).into_iter().chain(rest).collect()
        };
        for (happened, low, high) in [
            (60, Value::At(time(40)), Value::Over(time(500))),
            (61, Value::At(time(40)), Value::At(time(61))),
            (39, Value::Over(time(500)), Value::Over(time(500))),
        ] {
            let estimate = median(&censored(happened)).unwrap();
            assert_eq!(estimate.interval, Some((low, high)), "{happened}");
        }
        // Ten runs that ended at 5 may have had the event at once, or never.
        let mut onsets = censored(70);
        onsets[90..].fill(After(time(5)));
        let interval = median(&onsets).unwrap().interval;
        assert_eq!(interval, Some((Value::At(time(30)), Value::At(time(61)))));
    }

    #[test]
    fn many_runs_that_end_at_many_times_fit() {
        let onsets: Vec<Onset> = (1..=3000)
            .map(|number| if number % 3 == 0 { After(time(number)) } else { At(time(number)) })
            .collect();
        // Two of three have the event, so the curve is (1 - t/3000)^(2/3), which is half at 1939.
        let Value::At(found) = median(&onsets).unwrap().value else { panic!("it is reached") };
        assert!((found.0 / Number::ONE.0 - 1939).abs() < 10, "{found}");
    }
}
