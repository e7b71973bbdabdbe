//! The checked runs of a sweep.

use std::collections::BTreeMap;

use emulation::run::table_format;
use emulation::summary_keys::metric_names;
use results::TableFormat;
use scenario::{DatapathKind, Scenario, ScenarioError, glob, report};

use super::run_id::RunId;
use super::sweep_file::{Pattern, Sweep};

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index among the runs, from 0: seeds vary fastest, then the last axis.
    pub index: usize,
    /// Index of the choice on each axis.
    pub choices: Vec<usize>,
    /// Seed of the scenario.
    pub seed: u64,
    /// Name of the run's results.
    pub id: RunId,
    /// Place where switches run.
    pub datapath: DatapathKind,
    /// Format of the run's tables.
    pub format: TableFormat,
}

/// All runs of a sweep.
#[derive(Debug)]
pub struct Plan {
    /// Sweep of the runs.
    pub sweep: Sweep,
    /// Runs in the order of their indices.
    pub runs: Vec<Run>,
    /// True if the results of a run depend on its seed.
    pub depends_on_seed: bool,
}

impl Sweep {
    /// Returns the number of runs.
    pub fn run_count(&self) -> usize {
        let cells = self.axes.iter().map(|axis| axis.choices.len());
        cells.fold(self.seeds.len(), usize::saturating_mul)
    }

    /// Returns the run of an index below [`Self::run_count`], with its scenario.
    pub fn run(&self, index: usize) -> Result<(Run, Scenario), ScenarioError> {
        let (cell, seed) = (index / self.seeds.len(), self.seeds[index % self.seeds.len()]);
        let choices = self.choices(cell);
        let scenario = self.scenario(&choices, seed)?;
        let run = self.run_of(index, choices, &scenario)?;
        Ok((run, scenario))
    }

    /// Returns the names of the metrics that a run of a scenario can have.
    pub fn metric_names(scenario: &Scenario) -> Vec<String> {
        metric_names(scenario)
    }

    /// Describes the choices of a run: `switch.buffer=2MB seed=1`.
    pub fn describe(&self, choices: &[usize], seed: u64) -> String {
        let axes = self.axes.iter().zip(choices);
        let cell =
            axes.map(|(axis, choice)| format!("{}={}", axis.name, axis.choices[*choice].label));
        cell.chain([format!("seed={seed}")]).collect::<Vec<_>>().join(" ")
    }

    fn choices(&self, cell: usize) -> Vec<usize> {
        let mut left = cell;
        let mut choices: Vec<usize> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            choices.push(left % axis.choices.len());
            left /= axis.choices.len();
        }
        choices.reverse();
        choices
    }

    fn run_of(
        &self,
        index: usize,
        choices: Vec<usize>,
        scenario: &Scenario,
    ) -> Result<Run, ScenarioError> {
        let id = RunId::for_scenario(scenario).map_err(|error| self.unreadable(&error))?;
        let (seed, datapath) = (scenario.seed, scenario.datapath.kind);
        let format = table_format(scenario);
        Ok(Run { index, choices, seed, id, datapath, format })
    }
}

impl Plan {
    /// Checks every run.
    pub fn new(sweep: Sweep) -> Result<Self, ScenarioError> {
        let mut runs: Vec<Run> = Vec::with_capacity(sweep.run_count());
        let mut by_id: BTreeMap<RunId, usize> = BTreeMap::new();
        let mut unmatched: Vec<usize> = (0..sweep.patterns().len()).collect();
        let mut depends_on_seed = false;
        for cell in 0..sweep.run_count() / sweep.seeds.len() {
            let choices = sweep.choices(cell);
            // The validity of a seed does not depend on the cell, so one scenario is checked for all its seeds.
            let mut scenario = sweep.scenario(&choices, sweep.seeds[0])?;
            depends_on_seed |= scenario.depends_on_seed();
            let names = metric_names(&scenario);
            unmatched.retain(|&number| {
                let pattern = &sweep.patterns()[number].text;
                !names.iter().any(|name| glob::matches(pattern, name))
            });
            for &seed in &sweep.seeds {
                scenario.seed = seed;
                let run = sweep.run_of(runs.len(), choices.clone(), &scenario)?;
                if let Some(&earlier) = by_id.get(&run.id) {
                    return Err(sweep.twice(&runs[earlier], &run));
                }
                by_id.insert(run.id.clone(), run.index);
                runs.push(run);
            }
        }
        if let Some(&number) = unmatched.first() {
            return Err(sweep.unknown_metric(&sweep.patterns()[number], &runs[0]));
        }
        Ok(Self { sweep, runs, depends_on_seed })
    }

    /// Returns the format of the tables, which all runs share.
    pub fn format(&self) -> TableFormat {
        self.runs.first().map_or_else(TableFormat::default, |run| run.format)
    }

    /// Returns true if the tables have this metric.
    pub(super) fn selects(&self, metric: &str) -> bool {
        let patterns = self.sweep.metrics.as_deref();
        patterns.is_none_or(|patterns| patterns.iter().any(|it| glob::matches(&it.text, metric)))
    }
}

impl Sweep {
    fn twice(&self, earlier: &Run, run: &Run) -> ScenarioError {
        let differs = earlier.choices.iter().zip(&run.choices).position(|(a, b)| a != b);
        let axis = differs.expect("runs of one cell differ in their seeds");
        let title = format!(
            "two runs are the same: {} and {}",
            self.describe(&earlier.choices, earlier.seed),
            self.describe(&run.choices, run.seed)
        );
        let origin = &self.axes[axis].choices[run.choices[axis]].origin;
        self.error(origin, &title, "leave this one out: it changes nothing")
    }

    fn unknown_metric(&self, pattern: &Pattern, run: &Run) -> ScenarioError {
        let names = match self.scenario(&run.choices, run.seed) {
            Ok(scenario) => metric_names(&scenario),
            Err(error) => return error,
        };
        let near = report::nearest(&pattern.text, names.iter().map(String::as_str));
        let near = near.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        let help = format!(
            "{near}a metric is the path of a number in summary.json, such as `fct_ns.p99`, and `*` \
             stands for any text"
        );
        self.error(&pattern.origin, &format!("no metric is called `{}`", pattern.text), &help)
    }

    fn patterns(&self) -> &[Pattern] {
        self.metrics.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::plan;

    #[test]
    fn runs_are_counted_numbered_and_described() {
        let Plan { sweep, runs, .. } = plan();
        assert_eq!((sweep.run_count(), runs.len()), (6, 6));
        let described: Vec<String> =
            runs.iter().map(|run| sweep.describe(&run.choices, run.seed)).collect();
        assert_eq!(described[0], "switch.buffer=1MB seed=1");
        assert_eq!(described[2], "switch.buffer=1MB seed=3");
        assert_eq!(described[5], "switch.buffer=2MB seed=3");
        assert!(runs.iter().map(|run| run.index).eq(0..6));
    }

    #[test]
    fn metrics_can_be_asked_for_by_scenario() {
        let (_, scenario) = plan().sweep.run(0).unwrap();
        let names = Sweep::metric_names(&scenario);
        assert_eq!(names, metric_names(&scenario));
        assert!(names.iter().any(|name| name == "fct_ns.p99"), "{names:?}");
    }
}
