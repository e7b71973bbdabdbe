//! The fabric that a deployment replaces, and its return if the deployment fails.

use std::fs;
use std::path::PathBuf;

use emulation::live::Dilation;

use super::launch::{Failure, Launch, in_background};
use crate::changes::{self, Change};
use crate::folder::{Description, LiveFolder};

/// A live fabric to replace.
pub(super) struct Running {
    pub launch: Launch,
    pub description: Description,
    pub changes: Vec<Change>,
}

/// Outcome of deploying the old fabric again.
pub(super) enum Again {
    /// The fabric is up. A sentence for the user.
    Up(String),
    /// The user interrupted this deployment, too. A sentence for the user.
    Interrupted(String),
    /// The fabric could not be deployed. A sentence for the user.
    Failed(String),
}

/// Returns the message that neither fabric is left. `how` is [`ARE`] or [`WILL_BE`].
pub(super) fn both_gone(name: &str, how: &str) -> String {
    format!("{name}, as it was, and the one that was to replace it {how}")
}

pub(super) const ARE: &str = "are both gone";
/// A supervisor is still taking down its fabric.
pub(super) const WILL_BE: &str = "will both be gone in a moment (see `xoff list`)";

/// Deploys a fabric again that was taken down for another one. The fabric leaves no results, because they would replace
/// the results of its first life. One interrupt may have led to this; another one ends it.
pub(super) fn deploy_again(launch: Launch) -> Again {
    let results = launch.results.clone();
    let launch = Launch { results: None, ..launch };
    let name = &launch.name;
    match in_background(&launch, 1) {
        Ok(_) => {
            let results = results.map(|folder| {
                format!("; it has left its results in {}, and leaves no others", folder.display())
            });
            let results = results.unwrap_or_default();
            Again::Up(format!(
                "{name} is up again as it was, without what programs had in it{results}"
            ))
        }
        Err(Failure::Interrupted) => Again::Interrupted(both_gone(name, ARE)),
        Err(Failure::Left) => Again::Interrupted(both_gone(name, WILL_BE)),
        Err(Failure::Failed(why)) => Again::Failed(format!(
            "nor could {name} be deployed again as it was: {}",
            why.message()
        )),
    }
}

/// Returns the live fabric of the name, and the differences of the new one.
pub(super) fn running(
    folder: &LiveFolder,
    description: Description,
    new: &Launch,
) -> Result<Running, String> {
    let file = folder.file("scenario.toml");
    let toml = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let Description {
        dilation, calibration, threads, busy_poll, real_time, plays, results, ..
    } = description.clone();
    let launch = Launch {
        name: folder.name().to_owned(),
        toml,
        dilation: calibration.map_or_else(|| dilation.to_string(), |_| Dilation::Auto.to_string()),
        threads,
        busy_poll,
        real_time,
        plays,
        results: results.map(PathBuf::from),
    };
    let mut changes = changes::between(&launch.toml, &new.toml)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    for ((key, old), (_, new)) in launch.options().into_iter().zip(new.options()) {
        if old != new {
            changes.push(Change { key: key.to_owned(), old, new });
        }
    }
    Ok(Running { launch, description, changes })
}
