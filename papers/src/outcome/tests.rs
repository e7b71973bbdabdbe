use std::sync::LazyLock;

use sweep::made_up::{run, run_with};

use super::*;
use crate::made_up::{self, CLAIM, ONSET, PAUSED, large, onset, outcome, small};
use crate::{Source, Unit};

#[test]
fn a_ratio_says_how_many_seeds_either_side_leaves_out() {
    let (whole, cut) = (run(2, Some(30), 0), run(1, Some(10), 0));
    let results = [&cut, &whole, &whole, &whole, &whole, &cut].map(|run| Some(run.clone()));
    let outcome = outcome(&results);
    let [baseline, cell] = &outcome.cells[..] else { panic!("two cells") };
    assert_eq!((outcome.left_out(baseline, 0), outcome.left_out(cell, 0)), (1, 1));
    assert_eq!(
        (outcome.left_out_relative(baseline, 0), outcome.left_out_relative(cell, 0)),
        (1, 2)
    );
    assert_eq!(outcome.relative(cell, 0).map(|ratio| ratio.count), Some(1));
    assert_eq!(outcome.left_out_relative(cell, PAUSED), 0, "pauses are counted in every run");
    let left_out = |view| outcome.judged(&Claim { view, ..CLAIM.clone() })[0].left_out;
    assert_eq!((left_out(View::Reduction), left_out(View::Itself)), (2, 1));
}

#[test]
fn onsets_have_medians_and_their_ratio_and_no_mean() {
    let times = [Some(10), Some(20), Some(70), Some(40), None, None].map(|time| Some(onset(time)));
    let outcome = outcome(&times);
    let [baseline, cell] = &outcome.cells[..] else { panic!("two cells") };
    let ms = |number| Number::whole(number * 1_000_000);
    let median = |cell| outcome.itself(cell, ONSET).unwrap();
    assert_eq!(median(baseline).value, Value::At(ms(20)));
    assert_eq!((median(cell).value, median(cell).happened), (Value::Over(ms(100)), 1));
    // The only pair in which both happened would give 4.
    assert_eq!(outcome.relative(cell, ONSET).unwrap().value, Value::Over(Number::whole(5)));
    assert_eq!(outcome.relative(baseline, ONSET).unwrap().value, Value::At(Number::ONE));
}

#[test]
fn medians_that_neither_cell_reached_have_no_ratio() {
    let outcome =
        outcome(&[None, Some(20), None, Some(40), None, None].map(|time| Some(onset(time))));
    let cell = &outcome.cells[1];
    assert!(outcome.itself(cell, ONSET).is_some());
    assert_eq!(outcome.relative(cell, ONSET), None);
}

#[test]
fn a_claim_is_judged_in_each_reading_and_only_where_its_cells_ran() {
    let (short, long) = (run(2, Some(30), 0), run(2, Some(50), 0));
    let verdicts = |outcome: &Outcome, claim: &Claim| -> Vec<(String, Verdict)> {
        let readings = outcome.judged(claim).into_iter();
        readings.map(|reading| (reading.choices.join(" "), reading.verdict)).collect()
    };
    let open = vec!["switch.buffer".to_owned()];
    let both = Claim { cells: Vec::new(), readings: open, ..CLAIM.clone() };
    let [a, b, c] = [0; 3].map(|_| Some(short.clone()));
    let outcome = outcome(&[a, b, c, Some(long), None, None]);
    assert_eq!(
        verdicts(&outcome, &both),
        [("1MB".to_owned(), Verdict::Holds), ("2MB".to_owned(), Verdict::Turns)]
    );
    assert_eq!(verdicts(&outcome, &CLAIM), [(String::new(), Verdict::Turns)]);
    let all = Claim { cells: vec![small(), large()], ..CLAIM.clone() };
    assert_eq!(verdicts(&outcome, &all), [(String::new(), Verdict::Turns)]);
    let missing = Claim { quantity: ONSET, ..both.clone() };
    assert_eq!(verdicts(&outcome, &missing)[0].1, Verdict::Open);
    let [a, b, c] = [0; 3].map(|_| Some(short.clone()));
    let half = made_up::outcome(&[a, b, c, None, None, None]);
    assert_eq!(
        verdicts(&half, &both),
        [("1MB".to_owned(), Verdict::Holds), ("2MB".to_owned(), Verdict::NotRun)]
    );
    assert_eq!(verdicts(&half, &all), [(String::new(), Verdict::NotRun)]);
}

#[test]
fn a_mean_is_over_the_cells_that_the_baseline_is_compared_with() {
    let results = [15, 20, 10, 20, 40, 0].map(|number| Some(run_with(&[("paused_ns", number)])));
    let outcome = outcome(&results);
    let view = View::BaselineReduction;
    let least = |part| Criterion::Mean(Bound::AtLeast(Number::per_mille(part)));
    let claim = Claim { quantity: PAUSED, view, holds: least(125), ..CLAIM.clone() };
    // 1 - 15 / 20 and 1 - 20 / 40; seed 3 of the cell is 0. The baseline compared with itself gives 0.
    let reading = &outcome.judged(&claim)[0];
    assert_eq!(reading.found[0].value, Value::At(Number::per_mille(375)));
    let both = vec![small(), large()];
    let claim = Claim { cells: both, holds: least(187), ..claim };
    let reading = &outcome.judged(&claim)[0];
    let [mean] = &reading.found[..] else { panic!("one mean: {:?}", reading.found) };
    assert_eq!((mean.value, mean.count), (Value::At(Number(187_500)), 2));
    assert_eq!(reading.verdict, Verdict::Holds);
    let more = Claim { holds: least(188), ..claim.clone() };
    assert_eq!(outcome.judged(&more)[0].verdict, Verdict::Turns);
    let above = Claim { view: View::BaselineIncrease, cells: vec![large()], ..claim };
    let above = outcome.judged(&above)[0].found[0].value;
    assert_eq!(above, Value::At(Number::per_mille(-375)));
}

/// Seed 1 is true only in the cell, seeds 2 and 3 only in the baseline.
#[test]
fn seeds_are_paired_in_totals_and_where_only_one_of_two_has_something() {
    let results = [0, 60, 40, 20, 0, 0].map(|number| Some(run_with(&[("paused_ns", number)])));
    let outcome = outcome(&results);
    let [baseline, cell] = &outcome.cells[..] else { panic!("two cells") };
    let pairs = Discordant { only_here: 1, only_there: 2 };
    assert_eq!(outcome.discordant(cell, PAUSED), Some(pairs));
    assert_eq!(outcome.discordant(baseline, PAUSED), None);
    let fifth = Value::At(Number::per_mille(200));
    assert_eq!(outcome.estimate_totals(cell, PAUSED).unwrap().value, fifth);
    // Both seeds with a nonzero baseline have a ratio of 0.
    assert_eq!(outcome.relative(cell, PAUSED).unwrap().value.number().0, 0);
    let claim = Claim { quantity: PAUSED, view: View::TotalReduction, ..CLAIM.clone() };
    let found = outcome.judged(&claim)[0].found[0].value;
    assert_eq!(found, Value::At(Number::per_mille(800)));
    let against = Claim { against: Some(large()), cells: vec![small()], ..claim };
    assert_eq!(outcome.judged(&against)[0].found[0].value, Value::At(Number::whole(-4)));
}

/// The baseline never pauses, and the cell does in the seeds of each row.
#[test]
fn what_the_baseline_has_not_turns_a_reduction_and_holds_an_increase() {
    let above = |number| Criterion::Each(Bound::Above(Number::whole(number)));
    for (base, cell, reduction, increase, without_ratio) in [
        ([0, 0, 0], [5, 0, 0], Verdict::Turns, Verdict::Holds, 0),
        ([0, 0, 0], [0, 0, 0], Verdict::Open, Verdict::Open, 0),
        ([0, 4, 0], [5, 2, 0], Verdict::Holds, Verdict::Turns, 2),
    ] {
        let runs = base.iter().chain(&cell).map(|it| Some(run_with(&[("paused_ns", *it)])));
        let outcome = outcome(&runs.collect::<Vec<_>>().try_into().unwrap());
        for (view, expected) in [(View::Reduction, reduction), (View::Increase, increase)] {
            let claim = Claim { quantity: PAUSED, view, holds: above(0), ..CLAIM.clone() };
            let reading = &outcome.judged(&claim)[0];
            assert_eq!(reading.verdict, expected, "{base:?} {cell:?} {view:?}");
            assert_eq!(reading.without_ratio, without_ratio, "{base:?} {cell:?}");
            assert_eq!(reading.from_nothing, usize::from(reading.found.is_empty() && cell[0] > 0));
        }
    }
}

/// Three pairs of runs are inconclusive: each may fall either way by chance.
#[test]
fn shares_of_few_runs_are_unknown() {
    static SHARES: LazyLock<Figure> = LazyLock::new(|| {
        let mut figure = made_up::FIGURE.clone();
        figure.quantities[PAUSED].unit = Unit::Percent;
        figure.quantities[PAUSED].source = Source::Share("paused_ns".to_owned());
        figure
    });
    let runs = [1, 1, 1, 0, 0, 0].map(|it| Some(run_with(&[("paused_ns", it)])));
    let outcome = Outcome { figure: &SHARES, ..outcome(&runs) };
    let holds = Criterion::Each(Bound::Above(Number::whole(0)));
    let fewer = Claim { quantity: PAUSED, view: View::Reduction, holds, ..CLAIM.clone() };
    let reading = &outcome.judged(&fewer)[0];
    assert_eq!(reading.found[0].value, Value::At(Number::ONE), "none where there were three");
    assert_eq!(reading.verdict, Verdict::Open);
    // For none of three the interval is from 0 to 56.2 %.
    for (least, most, expected) in [
        (0, 570, Verdict::Holds),
        (0, 500, Verdict::Open),
        (200, 300, Verdict::Open),
        (570, 700, Verdict::Turns),
    ] {
        let between = Bound::Between(Number::per_mille(least), Number::per_mille(most));
        let claim = Claim { view: View::Itself, holds: Criterion::Each(between), ..fewer.clone() };
        assert_eq!(outcome.judged(&claim)[0].verdict, expected, "{least} to {most}");
    }
}
