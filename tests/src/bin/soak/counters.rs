//! Counters of a fabric that may only grow, as `xoff metrics` serves them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use emulation::live::view::View;
use live::metrics;

use crate::xoff;

/// Values by name and labels.
#[derive(Clone, Debug, Default)]
pub struct Counters(BTreeMap<String, f64>);

/// Reads a fabric's state and its counters.
pub fn look(name: &str) -> Result<(View, Counters)> {
    let output = xoff(["inspect", name, "--json"]).output().context("xoff inspect")?;
    let view: View = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("xoff inspect {name} --json: {output:?}"))?;
    let page = metrics::render(name, &view);
    let counter = |line: &str| {
        let (series, value) = line.rsplit_once(' ')?;
        let name = series.split('{').next().unwrap_or_default();
        name.ends_with("_total").then_some(())?;
        Some((series.to_owned(), value.parse().ok()?))
    };
    let counters = page.lines().filter(|line| !line.starts_with('#')).filter_map(counter);
    let counters = Counters(counters.collect());
    Ok((view, counters))
}

impl Counters {
    /// Returns a sentence for each counter that was larger before, or that is missing now.
    pub fn shrunk_since(&self, before: &Self) -> Vec<String> {
        let shrunk = before.0.iter().filter_map(|(series, before)| match self.0.get(series) {
            Some(now) if now >= before => None,
            Some(now) => Some(format!("{series} was {before} and is {now}")),
            None => Some(format!("{series} was {before} and is gone")),
        });
        shrunk.collect()
    }
}
