//! What the complete runs of a figure come to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Claim, Expected, Figure, Quantity, View};
use crate::sweep::{Decimal, Plan, RunResult, RunState, Sample, SweepFolder, interval};

/// The cells of a figure that have complete runs.
#[derive(Debug)]
pub struct Outcome {
    /// The figure.
    pub figure: &'static Figure,
    /// The names of the axes.
    pub axes: Vec<String>,
    /// In the order of the sweep.
    pub cells: Vec<Cell>,
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
    /// Runs that their duration cut: what they count, they count up to there.
    pub incomplete: usize,
    /// For each quantity, its values by seed.
    values: Vec<BTreeMap<u64, Decimal>>,
    /// For each quantity, the seeds of the runs that have no value because flows are missing in them.
    left_out: Vec<BTreeSet<u64>>,
}

/// A mean over seeds with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Seeds.
    pub count: usize,
    /// The mean.
    pub mean: Decimal,
    /// The interval; `None` for one seed.
    pub interval: Option<(Decimal, Decimal)>,
}

impl Estimate {
    fn of(values: &[Decimal]) -> Option<Self> {
        let count = values.len();
        let sum = Decimal(values.iter().map(|value| value.0).sum());
        (count > 0).then(|| Self {
            count,
            mean: Decimal::mean(sum, count),
            interval: interval(values),
        })
    }
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
            let Some(result) = result else { continue };
            let chosen = axes.iter().zip(&run.choices);
            let cell = cells.entry(&run.choices).or_insert_with(|| Cell {
                choices: chosen.map(|(axis, &choice)| axis.choices[choice].label.clone()).collect(),
                incomplete: 0,
                values: vec![BTreeMap::new(); figure.quantities.len()],
                left_out: vec![BTreeSet::new(); figure.quantities.len()],
            });
            cell.incomplete += usize::from(result.state == RunState::Incomplete);
            let place = folder.run_folder(&run.id);
            for (number, quantity) in figure.quantities.iter().enumerate() {
                match quantity.source.read(result, &place) {
                    Sample::Of(value) => {
                        cell.values[number].insert(run.seed, value);
                    }
                    Sample::Incomplete => {
                        cell.left_out[number].insert(run.seed);
                    }
                    Sample::Absent => {}
                }
            }
        }
        let complete = results.iter().flatten();
        Self {
            figure,
            axes: axes.iter().map(|axis| axis.name.clone()).collect(),
            cells: cells.into_values().collect(),
            runs: (complete.clone().count(), plan.runs.len()),
            incomplete: complete.filter(|result| result.state == RunState::Incomplete).count(),
        }
    }

    /// How many seeds [`Self::itself`] leaves out, because flows are missing in their runs.
    pub fn left_out(&self, cell: &Cell, quantity: usize) -> usize {
        cell.left_out[quantity].len()
    }

    /// How many seeds [`Self::relative`] leaves out: flows are missing in one of the two runs.
    pub fn left_out_relative(&self, cell: &Cell, quantity: usize) -> usize {
        let of_baseline = self.baseline(cell).map(|baseline| &baseline.left_out[quantity]);
        of_baseline.map_or(0, |other| cell.left_out[quantity].union(other).count())
    }

    /// How many seeds are left out in all cells that a claim is about.
    pub fn left_out_of(&self, claim: &Claim) -> usize {
        let of_cell = |cell: &Cell| match claim.view {
            View::Itself => self.left_out(cell, claim.quantity),
            View::Reduction | View::Increase => self.left_out_relative(cell, claim.quantity),
        };
        self.cells_of(claim).map(of_cell).sum()
    }

    /// A quantity of a cell.
    pub fn itself(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        let values: Vec<Decimal> = cell.values[quantity].values().copied().collect();
        Estimate::of(&values)
    }

    /// A quantity of a cell divided by that of the baseline's cell, seed by seed: both have the same
    /// traffic. Seeds in which the baseline is 0 do not count.
    pub fn relative(&self, cell: &Cell, quantity: usize) -> Option<Estimate> {
        Estimate::of(&self.ratios(cell, quantity)?)
    }

    /// The cell that another is divided by.
    fn baseline(&self, cell: &Cell) -> Option<&Cell> {
        let (axis, choice) = self.figure.baseline;
        let place = self.axes.iter().position(|name| name == axis)?;
        let mut wanted = cell.choices.clone();
        choice.clone_into(&mut wanted[place]);
        self.cells.iter().find(|other| other.choices == wanted)
    }

    fn ratios(&self, cell: &Cell, quantity: usize) -> Option<Vec<Decimal>> {
        let baseline = self.baseline(cell)?;
        let ratio = |(seed, value): (&u64, &Decimal)| {
            let base = baseline.values[quantity].get(seed).filter(|base| base.0 != 0)?;
            Some(Decimal::ratio(value.0, base.0))
        };
        Some(cell.values[quantity].iter().filter_map(ratio).collect())
    }

    /// What a claim is about, cell by cell.
    fn viewed(&self, claim: &Claim) -> Vec<Estimate> {
        let view = |cell: &Cell| {
            if claim.view == View::Itself {
                return self.itself(cell, claim.quantity);
            }
            let ratios = self.ratios(cell, claim.quantity)?;
            let change = |ratio: &Decimal| match claim.view {
                View::Reduction => Decimal(Decimal::ONE.0 - ratio.0),
                View::Increase | View::Itself => Decimal(ratio.0 - Decimal::ONE.0),
            };
            Estimate::of(&ratios.iter().map(change).collect::<Vec<_>>())
        };
        self.cells_of(claim).filter_map(view).collect()
    }

    fn cells_of(&self, claim: &Claim) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| {
            claim.cells.iter().all(|(axis, choice)| {
                let place = self.axes.iter().position(|name| name == axis);
                place.is_some_and(|place| cell.choices[place] == *choice)
            })
        })
    }

    /// The ends of what a claim is about: one estimate, or the least and the largest over the cells.
    pub fn found(&self, claim: &Claim) -> Vec<Estimate> {
        let mut estimates = self.viewed(claim);
        estimates.sort_by_key(|estimate| estimate.mean);
        match (claim.paper, &estimates[..]) {
            (_, []) => Vec::new(),
            (Expected::UpTo(_), [.., largest]) => vec![*largest],
            (_, [only]) => vec![*only],
            (_, [least, .., largest]) => vec![*least, *largest],
        }
    }

    /// The quantity of a claim.
    pub fn quantity(&self, claim: &Claim) -> &'static Quantity {
        &self.figure.quantities[claim.quantity]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{PAPERS, Source, Unit, report};
    use crate::sweep::Claim as FolderClaim;
    use crate::sweep::made_up::{plan, run};
    use insta::assert_snapshot;

    const LARGE: (&str, &str) = ("switch.buffer", "2MB");
    const FIGURE: Figure = Figure {
        name: "made-up",
        also: &[],
        title: "A figure",
        notes: "None.",
        has_small: false,
        baseline: ("switch.buffer", "1MB"),
        quantities: &[
            Quantity { name: "mean FCT", unit: Unit::Plain, source: Source::Metric("fct_ns.mean") },
            Quantity { name: "pauses", unit: Unit::Plain, source: Source::Metric("paused_ns") },
        ],
        claims: &[Claim {
            place: "I",
            text: "it is less",
            paper: Expected::Words("yes"),
            quantity: 0,
            view: View::Itself,
            cells: &[LARGE],
        }],
    };

    #[test]
    fn a_ratio_says_how_many_seeds_either_side_leaves_out() {
        let (plan, temp) = (plan(), tempfile::tempdir().unwrap());
        let folder = SweepFolder::claim(temp.path(), "", FolderClaim::Alone).unwrap();
        let (whole, cut) = (run(2, Some(30), 0), run(1, Some(10), 0));
        let results =
            [cut.clone(), whole.clone(), whole.clone(), whole.clone(), whole, cut].map(Some);
        let outcome = Outcome::of(&FIGURE, &plan, &results, &folder);
        let [baseline, cell] = &outcome.cells[..] else { panic!("two cells") };
        assert_eq!((outcome.left_out(baseline, 0), outcome.left_out(cell, 0)), (1, 1));
        assert_eq!(
            (outcome.left_out_relative(baseline, 0), outcome.left_out_relative(cell, 0)),
            (1, 2)
        );
        assert_eq!(outcome.relative(cell, 0).map(|ratio| ratio.count), Some(1));
        assert_eq!(outcome.left_out_relative(cell, 1), 0, "pauses are counted in every run");
        let claim = |view| Claim { view, ..Claim { ..FIGURE.claims[0] } };
        assert_eq!(outcome.left_out_of(&claim(View::Reduction)), 2);
        assert_eq!(outcome.left_out_of(&claim(View::Itself)), 1);
    }

    #[test]
    fn runs_that_were_cut_are_counted_and_their_completion_times_are_in_no_mean() {
        let (plan, temp) = (plan(), tempfile::tempdir().unwrap());
        let folder = SweepFolder::claim(temp.path(), "", FolderClaim::Alone).unwrap();
        let (whole, cut, stuck) = (run(2, Some(30), 0), run(1, Some(10), 0), run(0, None, 0));
        let results = [whole.clone(), whole.clone(), whole.clone(), whole, cut, stuck].map(Some);
        let outcome = Outcome::of(&FIGURE, &plan, &results, &folder);
        assert_snapshot!(report::csv(&outcome), @"
        switch.buffer,quantity,unit,n,left_out,mean,ci95_low,ci95_high,relative,relative_low,relative_high,relative_left_out,incomplete
        1MB,mean FCT,,3,0,30,30,30,1,1,1,0,0
        1MB,pauses,,3,0,7002,7002,7002,1,1,1,0,0
        2MB,mean FCT,,1,2,30,,,1,,,2,2
        2MB,pauses,,3,0,7001,7000,7002,0.999857,0.999714,1,0,2
        ");
        let text = report::markdown(PAPERS[0], &outcome, None);
        assert!(text.contains("6 of 6 runs are done; 2 of them cut by their duration"), "{text}");
        assert!(text.contains("| it is less | yes | 30 (2 runs left out) |"), "{text}");
        assert!(text.contains("| 2MB | 30 (2 runs left out) |"), "{text}");
    }
}
