//! Mutation testing: the code is changed in small ways, one at a time, and the tests should notice.
//!
//! cargo-mutants finds the changes. They are made here, in a copy of the sources that keeps its build, and only the
//! tests of the area run, cheapest first: mutants that the crate's own tests miss go to the memory rung. cargo-mutants
//! itself runs one set of tests for all, and even with `--re` tries every deleted field (27.1.0), so it cannot run a
//! sample. The rungs that load eBPF are left out: they would notice any change of `fabric-core`, right or wrong,
//! because the committed object does not have it.

mod area;
mod campaign;
mod equivalent;
mod mutant;
mod tree;

use std::fs::File;

use anyhow::{Context, Result, bail};
use clap::Args;

pub use area::Area;

use crate::{packages, workspace};
use campaign::Tally;
use equivalent::Equivalents;
use mutant::Mutant;
use tree::Tree;

const CARGO_MUTANTS_VERSION: &str = "27.1.0";
/// The share of viable mutants that an area's tests must catch, in percent.
const REQUIRED_PERCENT: usize = 92;

/// Mutants to try.
#[derive(Args)]
pub struct Options {
    /// Parts of the code to change [default: all]
    areas: Vec<Area>,
    /// Mutants to try in each area, drawn at random; 0 tries all
    #[arg(long, default_value_t = 100)]
    sample: usize,
    /// Seed of the sample: equal seeds draw equal mutants from equal sources
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only mutants whose name contains this text, such as `nic.rs` or a function
    #[arg(long, value_name = "TEXT")]
    matching: Option<String>,
    /// Leave out the memory rung: faster, but mutants that only this rung catches count as missed
    #[arg(long)]
    crate_tests_only: bool,
}

/// Tries a sample of each area and fails if the tests of one catch too few.
pub fn run(options: &Options) -> Result<()> {
    let program = packages::cargo_program("cargo-mutants", CARGO_MUTANTS_VERSION, &[])?;
    let python = if options.crate_tests_only {
        None
    } else {
        packages::tshark()?;
        Some(packages::python_with_scapy()?)
    };
    let folder = workspace::target_dir().join("mutants");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let lock = File::create(folder.join("lock")).context("making the lock file")?;
    if lock.try_lock().is_err() {
        bail!("another `cargo xtask mutants` uses {}: wait for its end", folder.display());
    }
    let tree = Tree::copy(folder, python)?;
    let mut equivalents = Equivalents::load()?;
    let mut campaigns = Vec::new();
    for &area in Area::ALL {
        let listed = tree.list(&program, area)?;
        let all = listed.len();
        let mutants = without(listed, &mut equivalents, &tree)?;
        campaigns.push((Tally::new(area, all, all - mutants.len()), area, mutants));
    }
    equivalents.refuse_unknown()?;
    if !options.areas.is_empty() {
        campaigns.retain(|(_, area, _)| options.areas.contains(area));
    }

    let mut tallies = Vec::new();
    for (mut tally, area, mutants) in campaigns {
        let text = options.matching.as_deref().unwrap_or_default();
        let sample = mutant::sample(mutants, text, options.sample, options.seed);
        let tests = if options.crate_tests_only { &area.tests()[..1] } else { area.tests() };
        tally.add(&sample, tests, &tree)?;
        tally.print_survivors();
        tallies.push(tally);
    }
    println!("\n{} (seed {})", campaign::HEADINGS, options.seed);
    for tally in &tallies {
        println!("{tally}");
    }
    let short: Vec<&str> =
        tallies.iter().filter(|tally| !tally.suffices()).map(Tally::name).collect();
    if !short.is_empty() {
        bail!(
            "none was viable, or fewer than {REQUIRED_PERCENT} % of those caught, in: {}",
            short.join(", ")
        );
    }
    Ok(())
}

/// Returns `mutants` without the known equivalent ones.
fn without(
    mutants: Vec<Mutant>,
    equivalents: &mut Equivalents,
    tree: &Tree,
) -> Result<Vec<Mutant>> {
    let mut others = Vec::new();
    for mutant in mutants {
        if !equivalents.has(&mutant, mutant.line(tree.read(&mutant.file)?)) {
            others.push(mutant);
        }
    }
    Ok(others)
}
