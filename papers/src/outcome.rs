//! Outcome of a figure's complete runs.

use std::collections::BTreeMap;

use results::Number;
use sweep::{Plan, RunResult, RunState, SweepFolder};

use super::{
    Bound, Choice, Claim, Criterion, Discordant, Estimate, Figure, Observation, Onset, Quantity,
    Statistic, Value, Verdict, View, survival,
};

/// The cells of a figure, with the numbers of their complete runs.
#[derive(Debug)]
pub struct Outcome {
    /// The figure.
    pub figure: &'static Figure,
    /// Names of the axes.
    pub axes: Vec<String>,
    /// Cells in the order of the sweep.
    pub cells: Vec<Cell>,
    /// Number of seeds of each cell.
    pub seeds: usize,
    /// Number of complete runs, and of all runs.
    pub runs: (usize, usize),
    /// Number of complete runs that were cut off at their duration.
    pub incomplete: usize,
}

/// A cell of the sweep's matrix.
#[derive(Debug)]
pub struct Cell {
    /// Choices of the cell, one for each axis.
    pub choices: Vec<String>,
    /// Number of complete runs.
    pub runs: usize,
    /// Number of runs that were cut off at their duration; they count only until then.
    pub incomplete: usize,
    /// Observations of each quantity, by seed.
    observations: Vec<BTreeMap<u64, Observation>>,
}

/// A claim in one reading of the paper.
#[derive(Debug)]
pub struct Reading {
    /// Choices of the axes that the paper leaves open.
    pub choices: Vec<String>,
    /// Estimates of the cells, ascending.
    pub found: Vec<Estimate>,
    /// Number of seeds left out, because flows are missing in their runs.
    pub left_out: usize,
    /// Number of seeds without a ratio, because the baseline is 0.
    pub without_ratio: usize,
    /// Number of cells above 0 whose baseline is 0 in all seeds: they have no ratio, but an increase.
    pub from_nothing: usize,
    /// Verdict on the claim.
    pub verdict: Verdict,
}

/// A number outside all criteria that no claim uses.
const BEYOND: Number = Number::whole(i32::MAX);

/// Reasons for missing ratios between a cell and its baseline.
#[derive(Clone, Copy, Debug, Default)]
struct Unlike {
    /// Number of seeds in which the baseline is 0, if it is not 0 in all seeds.
    without_ratio: usize,
    /// True if the baseline is 0 in all seeds and the cell is above 0.
    is_from_nothing: bool,
}

impl Outcome {
    /// Reads the numbers of all complete runs. `results` has an entry for each run of the plan.
    pub fn new(
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
            for (observations, quantity) in cell.observations.iter_mut().zip(&figure.quantities) {
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

    /// Returns the number of seeds that [`Self::itself`] leaves out, because flows are missing in their runs.
    pub fn left_out(&self, cell: &Cell, quantity: usize) -> usize {
        cell.left_out(quantity).count()
    }

    /// Returns the number of seeds that [`Self::relative`] leaves out, because flows are missing in one of the two
    /// runs.
    pub fn left_out_relative(&self, cell: &Cell, quantity: usize) -> usize {
        self.left_out_relative_to(&self.figure.baseline, cell, quantity)
    }

    fn left_out_relative_to(&self, baseline: &Choice, cell: &Cell, quantity: usize) -> usize {
        let Some(baseline) = self.counterpart(baseline, cell) else { return 0 };
        let more = baseline.left_out(quantity);
        let only = more.filter(|seed| cell.left_out(quantity).all(|other| other != *seed));
        cell.left_out(quantity).count() + only.count()
    }

    /// Estimates a quantity of a cell.
    pub fn itself(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        match self.figure.quantities[quantity].source.statistic() {
            Statistic::Mean => Estimate::mean(&cell.values(quantity)),

            Statistic::Share => Estimate::share(&cell.values(quantity)),
            Statistic::Median => survival::median(&cell.onsets(quantity)),
        }
    }

    /// Estimates the ratio of a cell's quantity to the baseline's. For a mean: the mean of the ratios, seed by seed,
    /// because both have equal traffic; seeds in which the baseline is 0 do not count. For shares and medians: the
    /// ratio of both, because runs in which nothing happened have no ratio.
    pub fn relative(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        self.relative_to(&self.figure.baseline, cell, quantity)
    }

    fn relative_to(&self, baseline: &Choice, cell: &Cell, quantity: usize) -> Option<Estimate> {
        self.ratio(cell, self.counterpart(baseline, cell)?, quantity)
    }

    /// Estimates the ratio of a quantity in two cells.
    fn ratio(&self, cell: &Cell, base: &Cell, quantity: usize) -> Option<Estimate> {
        match self.figure.quantities[quantity].source.statistic() {
            Statistic::Mean => {
                let bases: BTreeMap<u64, Number> = base.numbers(quantity).collect();
                let ratio = |(seed, value): (u64, Number)| {
                    let base = bases.get(&seed).filter(|base| base.0 != 0)?;
                    Some(Number::ratio(value.0, base.0))
                };
                Estimate::mean(&cell.numbers(quantity).filter_map(ratio).collect::<Vec<_>>())
            }
            Statistic::Share | Statistic::Median => {
                let (itself, base) = (self.itself(cell, quantity)?, self.itself(base, quantity)?);
                Some(itself.compared(itself.value.ratio(base.value)?))
            }
        }
    }

    /// Estimates the ratio of a quantity's sum over a cell's seeds to the baseline's sum over these seeds.
    pub fn estimate_totals(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        self.estimate_totals_to(&self.figure.baseline, cell, quantity)
    }

    fn estimate_totals_to(
        &self,
        baseline: &Choice,
        cell: &Cell,
        quantity: usize,
    ) -> Option<Estimate> {
        let bases: BTreeMap<u64, Number> =
            self.counterpart(baseline, cell)?.numbers(quantity).collect();
        let pair = |(seed, value)| Some((value, *bases.get(&seed)?));
        Estimate::ratio_of_totals(&cell.numbers(quantity).filter_map(pair).collect::<Vec<_>>())
    }

    /// Counts the seeds in which a truth value is true in only one of the cell and the baseline.
    pub fn discordant(&self, cell: &Cell, quantity: usize) -> Option<Discordant> {
        self.discordant_to(&self.figure.baseline, cell, quantity)
    }

    fn discordant_to(&self, baseline: &Choice, cell: &Cell, quantity: usize) -> Option<Discordant> {
        let baseline = self.counterpart(baseline, cell)?;
        let bases: BTreeMap<u64, Number> = baseline.numbers(quantity).collect();
        let pair = |(seed, value): (u64, Number)| Some((value.0 != 0, bases.get(&seed)?.0 != 0));
        let pairs: Vec<(bool, bool)> = cell.numbers(quantity).filter_map(pair).collect();
        let count = |wanted| pairs.iter().filter(|pair| **pair == wanted).count();
        let discordant =
            Discordant { only_here: count((true, false)), only_there: count((false, true)) };
        (!pairs.is_empty() && cell.choices != baseline.choices).then_some(discordant)
    }

    /// Returns the cell with another choice of an axis.
    fn counterpart(&self, (axis, choice): &Choice, cell: &Cell) -> Option<&Cell> {
        let place = self.place(axis)?;
        let mut wanted = cell.choices.clone();
        choice.clone_into(&mut wanted[place]);
        self.cells.iter().find(|other| other.choices == wanted)
    }

    fn place(&self, axis: &str) -> Option<usize> {
        self.axes.iter().position(|name| name == axis)
    }

    /// Judges a claim in each of its readings, in the order of the sweep; a claim without open axes has one reading.
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
            let chosen = |(other, choice): &Choice| {
                other == axis && place.is_some_and(|place| cell.choices[place] == *choice)
            };
            claim.cells.iter().any(chosen)
        })
    }

    fn reading(&self, claim: &Claim, choices: Vec<String>, cells: &[&Cell]) -> Reading {
        let quantity = claim.quantity;
        let baseline = claim.against.as_ref().unwrap_or(&self.figure.baseline);
        let compares = claim.view.compares();
        let view = |cell: &&Cell| match claim.view {
            View::Itself => self.itself(cell, quantity),
            View::Reduction | View::Increase => self.relative_to(baseline, cell, quantity),
            View::TotalReduction => self.estimate_totals_to(baseline, cell, quantity),
            View::BaselineReduction | View::BaselineIncrease => {
                self.ratio(self.counterpart(baseline, cell)?, cell, quantity)
            }
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
        let unlike = |cell: &&Cell| {
            let Some(base) = self.counterpart(baseline, cell) else { return Unlike::default() };
            let (part, whole) =
                if claim.view.is_of_baseline() { (base, *cell) } else { (*cell, base) };
            self.unlike_seeds(part, whole, quantity)
        };
        let unlike: Vec<Unlike> =
            if compares { cells.iter().map(unlike).collect() } else { vec![] };
        let from_nothing = unlike.iter().filter(|it| it.is_from_nothing).count();
        // A mean needs a number from each cell.
        let is_mean = matches!(claim.holds, Criterion::Mean(_));
        if is_mean {
            let whole = found.len() == cells.len();
            found = Estimate::mean_of(&found).filter(|_| whole).into_iter().collect();
        }
        let (beyond, wanted) = if is_mean { (0, 1) } else { (from_nothing, cells.len()) };
        let verdict = if cells.iter().any(|cell| cell.runs == 0) {
            Verdict::NotRun
        } else {
            let even = |cell: &&Cell| self.is_even_split(claim, baseline, cell);
            match self.seen(claim, &found, beyond, wanted) {
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

    /// Judges the estimates of `cells` cells. `from_nothing` of them are above 0 with a baseline of 0.
    fn seen(
        &self,
        claim: &Claim,
        found: &[Estimate],
        from_nothing: usize,
        cells: usize,
    ) -> Verdict {
        let is_share = self.statistic(claim) == Statistic::Share && !claim.view.compares();
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
            View::Increase | View::BaselineIncrease => Value::Over(BEYOND),
            _ => Value::Under(Number(-BEYOND.0)),
        };
        values.extend((0..from_nothing).map(|_| beyond));
        match claim.holds.verdict(&values) {
            known if values.len() == cells => known,
            // One violation is enough.
            Verdict::Turns if matches!(claim.holds, Criterion::Each(_)) => Verdict::Turns,
            _ => Verdict::Open,
        }
    }

    /// Returns true if shares are compared whose discordant pairs would be as uneven by chance in more than one of
    /// twenty comparisons.
    fn is_even_split(&self, claim: &Claim, baseline: &Choice, cell: &Cell) -> bool {
        let compares = claim.view.compares() && self.statistic(claim) == Statistic::Share;
        let split = || self.discordant_to(baseline, cell, claim.quantity);
        compares && split().is_none_or(|split| split.p() > Number::per_mille(50))
    }

    /// Counts seeds with numbers in both cells but without a ratio.
    fn unlike_seeds(&self, part: &Cell, whole: &Cell, quantity: usize) -> Unlike {
        let bases: BTreeMap<u64, Number> = whole.numbers(quantity).collect();
        let pairs =
            part.numbers(quantity).filter_map(|(seed, part)| Some((part, bases.get(&seed)?)));
        let (with, without): (Vec<_>, Vec<_>) = pairs.partition(|(_, base)| base.0 != 0);
        let is_from_nothing = with.is_empty() && without.iter().any(|(part, _)| part.0 > 0);
        let has_ratios = self.figure.quantities[quantity].source.statistic() == Statistic::Mean;
        let without_ratio = if has_ratios && !with.is_empty() { without.len() } else { 0 };
        Unlike { without_ratio, is_from_nothing }
    }

    fn statistic(&self, claim: &Claim) -> Statistic {
        self.quantity(claim).source.statistic()
    }

    /// Converts a value to the unit of the claim's numbers: a fraction of 1, or the displayed unit.
    fn as_claimed(&self, claim: &Claim, value: Value) -> Value {
        if claim.view.compares() {
            return value;
        }
        value.map(|number| self.quantity(claim).unit.claimed(number))
    }

    /// Returns the quantity of a claim.
    pub fn quantity(&self, claim: &Claim) -> &'static Quantity {
        &self.figure.quantities[claim.quantity]
    }
}

impl Cell {
    fn numbers(&self, quantity: usize) -> impl Iterator<Item = (u64, Number)> {
        let number = |(seed, observation): (&u64, &Observation)| match observation {
            Observation::Number(number) => Some((*seed, *number)),
            Observation::Incomplete | Observation::Onset(_) => None,
        };
        self.observations[quantity].iter().filter_map(number)
    }

    fn values(&self, quantity: usize) -> Vec<Number> {
        self.numbers(quantity).map(|(_, number)| number).collect()
    }

    fn onsets(&self, quantity: usize) -> Vec<Onset> {
        let onset = |observation: &Observation| match observation {
            Observation::Onset(onset) => Some(*onset),
            Observation::Number(_) | Observation::Incomplete => None,
        };
        self.observations[quantity].values().filter_map(onset).collect()
    }

    /// Returns the seeds without a number because flows are missing in their runs.
    fn left_out(&self, quantity: usize) -> impl Iterator<Item = u64> {
        let all = self.observations[quantity].iter();
        all.filter(|(_, it)| **it == Observation::Incomplete).map(|(seed, _)| *seed)
    }
}

#[cfg(test)]
mod tests;
