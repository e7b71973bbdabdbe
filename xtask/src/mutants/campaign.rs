//! A campaign: the tests of one area against a sample of its mutants.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::REQUIRED_PERCENT;
use super::area::{Area, Tests};
use super::mutant::Mutant;
use super::tree::{End, Tree, now};

/// Headings of [`Tally`]'s output.
pub const HEADINGS: &str = "area             listed  equivalent   tried  caught  timeout  missed  \
                            unviable   share  s/mutant";
/// Tests that take this many times as long as without a mutant do not end, but not before [`MIN`]: the
/// machine may have become busy.
const PATIENCE: u32 = 6;
const MIN: Duration = Duration::from_mins(1);
/// Tests without a mutant end before.
const MAX_LENGTH: Duration = Duration::from_hours(1);

/// Outcomes of an area's mutants.
pub struct Tally {
    area: Area,
    /// Mutants of the area, including those known to be equivalent.
    listed: usize,
    equivalent: usize,
    tried: usize,
    /// A test failed.
    caught: usize,
    /// Mutants whose tests did not end, which nobody overlooks either.
    timeout: usize,
    /// Mutants for which all tests passed.
    missed: Vec<String>,
    /// Mutants that do not compile.
    unviable: usize,
    elapsed: Duration,
}

impl Tally {
    /// A tally of `listed` mutants of which none has been tried.
    pub fn new(area: Area, listed: usize, equivalent: usize) -> Self {
        Self {
            area,
            listed,
            equivalent,
            tried: 0,
            caught: 0,
            timeout: 0,
            missed: Vec::new(),
            unviable: 0,
            elapsed: Duration::ZERO,
        }
    }

    /// Tries `mutants` against `tests`, in that order until one catches it.
    pub fn add(&mut self, mutants: &[Mutant], tests: &[Tests], tree: &Tree) -> Result<()> {
        if mutants.is_empty() {
            return Ok(());
        }
        let passes = limits(self.area, tests, tree)?;
        let start = now();
        for mutant in mutants {
            let changed = mutant
                .apply(tree.read(&mutant.file)?)
                .with_context(|| format!("{} is not in the file", mutant.name))?;
            tree.write(Path::new(&mutant.file), changed.as_bytes())?;
            let end = try_passes(self.area, &passes, tree);
            tree.restore()?;
            let word = self.count(mutant, end?);
            eprintln!("{word:<9} {}", mutant.name);
        }
        self.elapsed += start.elapsed();
        // A fault of the machine, such as a full disk, shows as failing tests.
        limits(self.area, tests, tree).map(drop)
    }

    fn count(&mut self, mutant: &Mutant, end: End) -> &'static str {
        self.tried += 1;
        match end {
            End::Failed => {
                self.caught += 1;
                "caught"
            }
            End::TimedOut => {
                self.timeout += 1;
                "timeout"
            }
            End::NotBuilt => {
                self.unviable += 1;
                "unviable"
            }
            End::Passed => {
                self.missed.push(mutant.name.clone());
                "MISSED"
            }
        }
    }

    /// The area's name.
    pub fn name(&self) -> &'static str {
        self.area.name()
    }

    /// Returns true if the tests catch the required share.
    pub fn suffices(&self) -> bool {
        let viable = self.viable();
        viable > 0 && (self.caught + self.timeout) * 100 >= REQUIRED_PERCENT * viable
    }

    /// Prints the mutants that no test noticed.
    pub fn print_survivors(&self) {
        println!("missed in {}: {}", self.name(), self.missed.len());
        for mutant in &self.missed {
            println!("  {mutant}");
        }
    }

    fn viable(&self) -> usize {
        self.tried - self.unviable
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listed, equivalent, tried, caught, timeout, unviable, .. } = self;
        let share = (caught + timeout) as f64 * 100.0 / self.viable().max(1) as f64;
        let seconds = self.elapsed.as_secs_f64() / (*tried).max(1) as f64;
        write!(
            f,
            "{:<15}{listed:>8}{equivalent:>12}{tried:>8}{caught:>8}{timeout:>9}{:>8}{unviable:>10}\
             {share:>6.1} %{seconds:>10.1}",
            self.name(),
            self.missed.len(),
        )
    }
}

/// Runs the tests without a mutant, and returns the time limit of each pass with one.
fn limits(area: Area, tests: &[Tests], tree: &Tree) -> Result<Vec<(Tests, Duration)>> {
    let mut passes = Vec::new();
    for &tests in tests {
        eprintln!("{}: {} without a mutant", area.name(), tests.describe());
        let mut took = Duration::ZERO;
        // The first run has to compile.
        for _ in 0..2 {
            let start = now();
            if tree.test(area, tests, MAX_LENGTH)? != End::Passed {
                bail!("{} fail without a mutant: see {}", tests.describe(), tree.log().display());
            }
            took = start.elapsed();
        }
        passes.push((tests, MIN.max(took * PATIENCE)));
    }
    Ok(passes)
}

fn try_passes(area: Area, passes: &[(Tests, Duration)], tree: &Tree) -> Result<End> {
    for &(tests, limit) in passes {
        let end = tree.test(area, tests, limit)?;
        if end != End::Passed {
            return Ok(end);
        }
    }
    Ok(End::Passed)
}
