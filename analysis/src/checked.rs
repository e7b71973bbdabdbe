//! Scenarios with their expectations checked and their warnings shown.

use std::path::Path;

use scenario::{Scenario, ScenarioError};
use terminal::{Exit, refuse, warn};

use crate::expectation;

/// Reads a scenario, and says what is wrong with it or hardly meant.
pub fn load(file: &Path, sets: &[String]) -> Result<Scenario, Exit> {
    checked(Scenario::load(file, sets))
}

/// Checks what was read, and says what is wrong with it or hardly meant.
pub fn checked(read: Result<Scenario, ScenarioError>) -> Result<Scenario, Exit> {
    let scenario = read.map_err(refuse)?;
    expectation::check(&scenario).map_err(refuse)?;
    for warning in scenario.warnings() {
        warn(warning);
    }
    for warning in scenario.warnings_with_places() {
        warn(warning);
    }
    Ok(scenario)
}
