//! What the complete runs of a figure come to.

use std::collections::BTreeMap;

use super::{Claim, Expected, Figure, Quantity, View};
use crate::sweep::{Decimal, Plan, RunResult, SweepFolder, interval};

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
    /// Complete runs that were not what they claim to be: flows that did not complete.
    pub doubtful: usize,
}

/// A cell of the sweep's matrix.
#[derive(Debug)]
pub struct Cell {
    /// A choice for each axis.
    pub choices: Vec<String>,
    /// For each quantity, its values by seed.
    values: Vec<BTreeMap<u64, Decimal>>,
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
                values: vec![BTreeMap::new(); figure.quantities.len()],
            });
            let place = folder.run_folder(&run.id);
            for (values, quantity) in cell.values.iter_mut().zip(figure.quantities) {
                if let Some(value) = quantity.source.read(result, &place) {
                    values.insert(run.seed, value);
                }
            }
        }
        let complete = results.iter().flatten();
        Self {
            figure,
            axes: axes.iter().map(|axis| axis.name.clone()).collect(),
            cells: cells.into_values().collect(),
            runs: (complete.clone().count(), plan.runs.len()),
            doubtful: complete.filter(|result| result.doubt.is_some()).count(),
        }
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

    fn ratios(&self, cell: &Cell, quantity: usize) -> Option<Vec<Decimal>> {
        let (axis, choice) = self.figure.baseline;
        let place = self.axes.iter().position(|name| name == axis)?;
        let mut wanted = cell.choices.clone();
        choice.clone_into(&mut wanted[place]);
        let baseline = self.cells.iter().find(|other| other.choices == wanted)?;
        let ratio = |(seed, value): (&u64, &Decimal)| {
            let base = baseline.values[quantity].get(seed).filter(|base| base.0 != 0)?;
            Some(Decimal::ratio(value.0, base.0))
        };
        Some(cell.values[quantity].iter().filter_map(ratio).collect())
    }

    /// What a claim is about, cell by cell.
    fn viewed(&self, claim: &Claim) -> Vec<Estimate> {
        let matches = |cell: &&Cell| {
            claim.cells.iter().all(|(axis, choice)| {
                let place = self.axes.iter().position(|name| name == axis);
                place.is_some_and(|place| cell.choices[place] == *choice)
            })
        };
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
        self.cells.iter().filter(matches).filter_map(view).collect()
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
