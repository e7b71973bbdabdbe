//! What the complete runs of a figure say.

use std::collections::BTreeMap;

use super::{
    Bound, Claim, Criterion, Discordant, Estimate, Figure, Observation, Onset, Quantity, Statistic,
    Value, Verdict, View, survival,
};
use crate::sweep::{Decimal, Plan, RunResult, RunState, SweepFolder};

/// The cells of a figure, with the numbers of their complete runs.
#[derive(Debug)]
pub struct Outcome {
    /// The figure.
    pub figure: &'static Figure,
    /// The names of the axes.
    pub axes: Vec<String>,
    /// In the order of the sweep.
    pub cells: Vec<Cell>,
    /// Seeds of each cell.
    pub seeds: usize,
    /// Runs that are complete, and all runs.
    pub runs: (usize, usize),
    /// Those of them that their duration cut.
    pub incomplete: usize,
}

/// A cell of the sweep's matrix.
#[derive(Debug)]
pub struct Cell {
    /// A choice for each axis.
    pub choices: Vec<String>,
    /// Runs that are complete.
    pub runs: usize,
    /// Runs that their duration cut: what they count, they count up to there.
    pub incomplete: usize,
    /// For each quantity, what the runs say, by seed.
    observations: Vec<BTreeMap<u64, Observation>>,
}

/// A claim in one reading of the paper.
#[derive(Debug)]
pub struct Reading {
    /// Its choices of the axes that the paper leaves open.
    pub choices: Vec<String>,
    /// What the runs say, cell by cell, from the least to the largest.
    pub found: Vec<Estimate>,
    /// How many seeds are left out of that, because flows are missing in their runs.
    pub left_out: usize,
    /// How many seeds have no ratio, because the baseline has 0 in them.
    pub without_ratio: usize,
    /// How many cells have more than 0 where the baseline has 0 in all seeds: no ratio, and yet more.
    pub from_nothing: usize,
    /// Whether the claim holds.
    pub verdict: Verdict,
}

/// Beyond every criterion, and as a number of no claim.
const BEYOND: Decimal = Decimal::whole(i32::MAX);

/// What a cell and its baseline have that makes no ratio.
#[derive(Clone, Copy, Debug, Default)]
struct Unlike {
    /// Seeds in which the baseline has 0, beside others.
    without_ratio: usize,
    /// The baseline has 0 in all seeds, and the cell has more.
    is_from_nothing: bool,
}

impl Outcome {
    /// Reads the numbers of every complete run. `results` has a place for each run of the plan.
    pub fn of(
        figure: &'static Figure,
        plan: &Plan,
        results: &[Option<RunResult>],
        folder: &SweepFolder,
    ) -> Self {
        let axes = &plan.sweep.axes;
        let mut cells: BTreeMap<&[usize], Cell> = BTreeMap::new();
        for (run, result) in plan.runs.iter().zip(results) {
            let chosen = axes.iter().zip(&run.choices);
            let cell = cells.entry(&run.choices).or_insert_with(|| Cell {
                choices: chosen.map(|(axis, &choice)| axis.choices[choice].label.clone()).collect(),
                runs: 0,
                incomplete: 0,
                observations: vec![BTreeMap::new(); figure.quantities.len()],
            });
            let Some(result) = result else { continue };
            cell.runs += 1;
            cell.incomplete += usize::from(result.state == RunState::Incomplete);
            let place = folder.run_folder(&run.id);
            for (observations, quantity) in cell.observations.iter_mut().zip(figure.quantities) {
                let read = quantity.source.read(result, &place);
                observations.extend(read.map(|observation| (run.seed, observation)));
            }
        }
        let cells: Vec<Cell> = cells.into_values().collect();
        Self {
            figure,
            axes: axes.iter().map(|axis| axis.name.clone()).collect(),
            seeds: plan.sweep.seeds.len(),
            runs: (cells.iter().map(|cell| cell.runs).sum(), plan.runs.len()),
            incomplete: cells.iter().map(|cell| cell.incomplete).sum(),
            cells,
        }
    }

    /// How many seeds [`Self::itself`] leaves out, because flows are missing in their runs.
    pub fn left_out(&self, cell: &Cell, quantity: usize) -> usize {
        cell.left_out(quantity).count()
    }

    /// How many seeds [`Self::relative`] leaves out: flows are missing in one of the two runs.
    pub fn left_out_relative(&self, cell: &Cell, quantity: usize) -> usize {
        self.left_out_relative_to(self.figure.baseline, cell, quantity)
    }

    fn left_out_relative_to(&self, baseline: (&str, &str), cell: &Cell, quantity: usize) -> usize {
        let Some(baseline) = self.counterpart(baseline, cell) else { return 0 };
        let more = baseline.left_out(quantity);
        let only = more.filter(|seed| cell.left_out(quantity).all(|other| other != *seed));
        cell.left_out(quantity).count() + only.count()
    }

    /// A quantity of a cell.
    pub fn itself(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        match self.figure.quantities[quantity].source.statistic() {
            Statistic::Mean => Estimate::mean(&cell.values(quantity)),

            Statistic::Share => Estimate::share(&cell.values(quantity)),
            Statistic::Median => survival::median(&cell.onsets(quantity)),
        }
    }

    /// A quantity of a cell compared with that of the baseline's cell. Of a mean, the mean of the ratios, seed by seed:
    /// both have the same traffic; seeds in which the baseline is 0 do not count. Of shares and medians, the ratio
    /// of both: runs in which nothing happened have no ratio.
    pub fn relative(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        self.relative_to(self.figure.baseline, cell, quantity)
    }

    fn relative_to(
        &self,
        baseline: (&str, &str),
        cell: &Cell,
        quantity: usize,
    ) -> Option<Estimate> {
        let baseline = self.counterpart(baseline, cell)?;
        match self.figure.quantities[quantity].source.statistic() {
            Statistic::Mean => {
                let bases: BTreeMap<u64, Decimal> = baseline.numbers(quantity).collect();
                let ratio = |(seed, value): (u64, Decimal)| {
                    let base = bases.get(&seed).filter(|base| base.0 != 0)?;
                    Some(Decimal::ratio(value.0, base.0))
                };
                Estimate::mean(&cell.numbers(quantity).filter_map(ratio).collect::<Vec<_>>())
            }
            Statistic::Share | Statistic::Median => {
                let (itself, base) =
                    (self.itself(cell, quantity)?, self.itself(baseline, quantity)?);
                Some(itself.compared(itself.value.ratio(base.value)?))
            }
        }
    }

    /// The sum of a quantity over the seeds of a cell, divided by that over the same seeds of the baseline's.
    pub fn of_totals(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        self.of_totals_to(self.figure.baseline, cell, quantity)
    }

    fn of_totals_to(
        &self,
        baseline: (&str, &str),
        cell: &Cell,
        quantity: usize,
    ) -> Option<Estimate> {
        let bases: BTreeMap<u64, Decimal> =
            self.counterpart(baseline, cell)?.numbers(quantity).collect();
        let pair = |(seed, value)| Some((value, *bases.get(&seed)?));
        Estimate::ratio_of_totals(&cell.numbers(quantity).filter_map(pair).collect::<Vec<_>>())
    }

    /// Seeds in which something is true in only one of a cell and the baseline's.
    pub fn discordant(&self, cell: &Cell, quantity: usize) -> Option<Discordant> {
        self.discordant_to(self.figure.baseline, cell, quantity)
    }

    fn discordant_to(
        &self,
        baseline: (&str, &str),
        cell: &Cell,
        quantity: usize,
    ) -> Option<Discordant> {
        let baseline = self.counterpart(baseline, cell)?;
        let bases: BTreeMap<u64, Decimal> = baseline.numbers(quantity).collect();
        let pair = |(seed, value): (u64, Decimal)| Some((value.0 != 0, bases.get(&seed)?.0 != 0));
        let pairs: Vec<(bool, bool)> = cell.numbers(quantity).filter_map(pair).collect();
        let count = |wanted| pairs.iter().filter(|pair| **pair == wanted).count();
        let discordant =
            Discordant { only_here: count((true, false)), only_there: count((false, true)) };
        (!pairs.is_empty() && cell.choices != baseline.choices).then_some(discordant)
    }

    /// The cell with another choice of an axis.
    fn counterpart(&self, (axis, choice): (&str, &str), cell: &Cell) -> Option<&Cell> {
        let place = self.place(axis)?;
        let mut wanted = cell.choices.clone();
        choice.clone_into(&mut wanted[place]);
        self.cells.iter().find(|other| other.choices == wanted)
    }

    fn place(&self, axis: &str) -> Option<usize> {
        self.axes.iter().position(|name| name == axis)
    }

    /// A claim in each of its readings, in the order of the sweep; one reading if the paper leaves nothing open.
    pub fn judged(&self, claim: &Claim) -> Vec<Reading> {
        let mut readings: Vec<(Vec<String>, Vec<&Cell>)> = Vec::new();
        for cell in self.cells.iter().filter(|cell| self.is_about(claim, cell)) {
            let places = claim.readings.iter().filter_map(|axis| self.place(axis));
            let choices: Vec<String> = places.map(|place| cell.choices[place].clone()).collect();
            match readings.iter_mut().find(|(other, _)| *other == choices) {
                Some((_, cells)) => cells.push(cell),
                None => readings.push((choices, vec![cell])),
            }
        }
        let judge = |(choices, cells): (_, Vec<&Cell>)| self.reading(claim, choices, &cells);
        readings.into_iter().map(judge).collect()
    }

    fn is_about(&self, claim: &Claim, cell: &Cell) -> bool {
        claim.cells.iter().all(|(axis, _)| {
            let place = self.place(axis);
            let chosen = |(other, choice): &(&str, &str)| {
                other == axis && place.is_some_and(|place| cell.choices[place] == *choice)
            };
            claim.cells.iter().any(chosen)
        })
    }

    fn reading(&self, claim: &Claim, choices: Vec<String>, cells: &[&Cell]) -> Reading {
        let quantity = claim.quantity;
        let baseline = claim.against.unwrap_or(self.figure.baseline);
        let compares = claim.view != View::Itself;
        let view = |cell: &&Cell| match claim.view {
            View::Itself => self.itself(cell, quantity),
            View::Reduction | View::Increase => self.relative_to(baseline, cell, quantity),
            View::TotalReduction => self.of_totals_to(baseline, cell, quantity),
        };
        let views = cells.iter().filter_map(view);
        let mut found: Vec<Estimate> = views.map(|estimate| estimate.viewed(claim.view)).collect();
        found.sort_by_key(|estimate| estimate.value.number());
        let left_out = |cell: &&Cell| {
            if compares {
                self.left_out_relative_to(baseline, cell, quantity)
            } else {
                self.left_out(cell, quantity)
            }
        };
        let unlike = |cell: &&Cell| self.unlike_seeds(baseline, cell, quantity);
        let unlike: Vec<Unlike> =
            if compares { cells.iter().map(unlike).collect() } else { vec![] };
        let from_nothing = unlike.iter().filter(|it| it.is_from_nothing).count();
        let verdict = if cells.iter().any(|cell| cell.runs == 0) {
            Verdict::NotRun
        } else {
            let even = |cell: &&Cell| self.is_even_split(claim, baseline, cell);
            match self.seen(claim, &found, from_nothing, cells.len()) {
                Verdict::Holds if cells.iter().any(even) => Verdict::Open,
                Verdict::Turns if claim.holds.is_a_sign() && cells.iter().any(even) => {
                    Verdict::Open
                }
                seen => seen,
            }
        };
        Reading {
            choices,
            left_out: cells.iter().map(left_out).sum(),
            without_ratio: unlike.iter().map(|it| it.without_ratio).sum(),
            from_nothing,
            found,
            verdict,
        }
    }

    /// What estimates say to a claim about `cells` cells, of which some have more than the baseline's nothing.
    fn seen(
        &self,
        claim: &Claim,
        found: &[Estimate],
        from_nothing: usize,
        cells: usize,
    ) -> Verdict {
        let is_share = self.statistic(claim) == Statistic::Share && claim.view == View::Itself;
        if is_share && let Criterion::Each(bound @ Bound::Between(..)) = claim.holds {
            let ends = |value: Value| self.as_claimed(claim, value);
            let intervals: Option<Vec<(Value, Value)>> = found
                .iter()
                .map(|estimate| estimate.interval.map(|(low, high)| (ends(low), ends(high))))
                .collect();
            return match intervals {
                Some(intervals) if intervals.len() == cells => bound.all_of(&intervals),
                _ => Verdict::Open,
            };
        }
        let mut values: Vec<Value> =
            found.iter().map(|estimate| self.as_claimed(claim, estimate.value)).collect();
        let beyond = match claim.view {
            View::Increase => Value::Over(BEYOND),
            _ => Value::Under(Decimal(-BEYOND.0)),
        };
        values.extend((0..from_nothing).map(|_| beyond));
        match claim.holds.verdict(&values) {
            known if values.len() == cells => known,
            // One that does not hold is enough.
            Verdict::Turns if matches!(claim.holds, Criterion::Each(_)) => Verdict::Turns,
            _ => Verdict::Open,
        }
    }

    /// Whether shares are compared of which chance alone would make as uneven pairs in one of twenty comparisons.
    fn is_even_split(&self, claim: &Claim, baseline: (&str, &str), cell: &Cell) -> bool {
        let compares = claim.view != View::Itself && self.statistic(claim) == Statistic::Share;
        let split = || self.discordant_to(baseline, cell, claim.quantity);
        compares && split().is_none_or(|split| split.p() > Decimal::per_mille(50))
    }

    /// Seeds that have numbers on both sides, and no ratio.
    fn unlike_seeds(&self, baseline: (&str, &str), cell: &Cell, quantity: usize) -> Unlike {
        let Some(baseline) = self.counterpart(baseline, cell) else { return Unlike::default() };
        let bases: BTreeMap<u64, Decimal> = baseline.numbers(quantity).collect();
        let pairs =
            cell.numbers(quantity).filter_map(|(seed, part)| Some((part, bases.get(&seed)?)));
        let (with, without): (Vec<_>, Vec<_>) = pairs.partition(|(_, base)| base.0 != 0);
        let is_from_nothing = with.is_empty() && without.iter().any(|(part, _)| part.0 > 0);
        let has_ratios = self.figure.quantities[quantity].source.statistic() == Statistic::Mean;
        let without_ratio = if has_ratios && !with.is_empty() { without.len() } else { 0 };
        Unlike { without_ratio, is_from_nothing }
    }

    fn statistic(&self, claim: &Claim) -> Statistic {
        self.quantity(claim).source.statistic()
    }

    /// A value in the unit in which claims have their numbers: a part of 1, or as it is shown.
    fn as_claimed(&self, claim: &Claim, value: Value) -> Value {
        match claim.view {
            View::Itself => value.map(|number| self.quantity(claim).unit.claimed(number)),
            View::Reduction | View::Increase | View::TotalReduction => value,
        }
    }

    /// The quantity of a claim.
    pub fn quantity(&self, claim: &Claim) -> &'static Quantity {
        &self.figure.quantities[claim.quantity]
    }
}

impl Cell {
    fn numbers(&self, quantity: usize) -> impl Iterator<Item = (u64, Decimal)> {
        let number = |(seed, observation): (&u64, &Observation)| match observation {
            Observation::Number(number) => Some((*seed, *number)),
            Observation::Incomplete | Observation::Onset(_) => None,
        };
        self.observations[quantity].iter().filter_map(number)
    }

    fn values(&self, quantity: usize) -> Vec<Decimal> {
        self.numbers(quantity).map(|(_, number)| number).collect()
    }

    fn onsets(&self, quantity: usize) -> Vec<Onset> {
        let onset = |observation: &Observation| match observation {
            Observation::Onset(onset) => Some(*onset),
            Observation::Number(_) | Observation::Incomplete => None,
        };
        self.observations[quantity].values().filter_map(onset).collect()
    }

    /// Seeds without a number because flows are missing in their runs.
    fn left_out(&self, quantity: usize) -> impl Iterator<Item = u64> {
        let all = self.observations[quantity].iter();
        all.filter(|(_, it)| **it == Observation::Incomplete).map(|(seed, _)| *seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::made_up::{self, CLAIM, LARGE, ONSET, PAUSED, onset, outcome};
    use crate::sweep::made_up::{run, run_with};

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
        let left_out = |view| outcome.judged(&Claim { view, ..CLAIM })[0].left_out;
        assert_eq!((left_out(View::Reduction), left_out(View::Itself)), (2, 1));
    }

    #[test]
    fn onsets_have_medians_and_their_ratio_and_no_mean() {
        let times =
            [Some(10), Some(20), Some(70), Some(40), None, None].map(|time| Some(onset(time)));
        let outcome = outcome(&times);
        let [baseline, cell] = &outcome.cells[..] else { panic!("two cells") };
        let ms = |number| Decimal::whole(number * 1_000_000);
        let median = |cell| outcome.itself(cell, ONSET).unwrap();
        assert_eq!(median(baseline).value, Value::At(ms(20)));
        assert_eq!((median(cell).value, median(cell).happened), (Value::Over(ms(100)), 1));
        // The one pair in which both happened would say 4.
        assert_eq!(outcome.relative(cell, ONSET).unwrap().value, Value::Over(Decimal::whole(5)));
        assert_eq!(outcome.relative(baseline, ONSET).unwrap().value, Value::At(Decimal::ONE));
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
        let both = Claim { cells: &[], readings: &["switch.buffer"], ..CLAIM };
        let [a, b, c] = [0; 3].map(|_| Some(short.clone()));
        let outcome = outcome(&[a, b, c, Some(long), None, None]);
        assert_eq!(
            verdicts(&outcome, &both),
            [("1MB".to_owned(), Verdict::Holds), ("2MB".to_owned(), Verdict::Turns)]
        );
        assert_eq!(verdicts(&outcome, &CLAIM), [(String::new(), Verdict::Turns)]);
        let all = Claim { cells: &[("switch.buffer", "1MB"), LARGE], ..CLAIM };
        assert_eq!(verdicts(&outcome, &all), [(String::new(), Verdict::Turns)]);
        let missing = Claim { quantity: ONSET, ..both };
        assert_eq!(verdicts(&outcome, &missing)[0].1, Verdict::Open);
        let [a, b, c] = [0; 3].map(|_| Some(short.clone()));
        let half = made_up::outcome(&[a, b, c, None, None, None]);
        assert_eq!(
            verdicts(&half, &both),
            [("1MB".to_owned(), Verdict::Holds), ("2MB".to_owned(), Verdict::NotRun)]
        );
        assert_eq!(verdicts(&half, &all), [(String::new(), Verdict::NotRun)]);
    }

    /// Seed 1 has it only in the cell, seeds 2 and 3 only in the baseline.
    #[test]
    fn seeds_are_paired_in_totals_and_where_only_one_of_two_has_something() {
        let results = [0, 60, 40, 20, 0, 0].map(|number| Some(run_with(&[("paused_ns", number)])));
        let outcome = outcome(&results);
        let [baseline, cell] = &outcome.cells[..] else { panic!("two cells") };
        let pairs = Discordant { only_here: 1, only_there: 2 };
        assert_eq!(outcome.discordant(cell, PAUSED), Some(pairs));
        assert_eq!(outcome.discordant(baseline, PAUSED), None);
        let fifth = Value::At(Decimal::per_mille(200));
        assert_eq!(outcome.of_totals(cell, PAUSED).unwrap().value, fifth);
        // Both seeds in which the baseline has a number other than 0 have a ratio of 0.
        assert_eq!(outcome.relative(cell, PAUSED).unwrap().value.number().0, 0);
        let claim = Claim { quantity: PAUSED, view: View::TotalReduction, ..CLAIM };
        let found = outcome.judged(&claim)[0].found[0].value;
        assert_eq!(found, Value::At(Decimal::per_mille(800)));
        let against = Claim { against: Some(LARGE), cells: &[("switch.buffer", "1MB")], ..claim };
        assert_eq!(outcome.judged(&against)[0].found[0].value, Value::At(Decimal::whole(-4)));
    }
}
