//! What a deployment replaces, and how that comes back if nothing comes of the deployment.

use std::fs;
use std::path::PathBuf;

use emulation::live::Dilation;

use super::launch::{Failure, Launch, in_background};
use crate::changes::{self, Change};
use crate::folder::{Description, LiveFolder};

/// What there is to replace.
pub(super) struct Running {
    pub launch: Launch,
    pub description: Description,
    pub changes: Vec<Change>,
}

/// What has become of a fabric that was deployed again.
pub(super) enum Again {
    /// It is up: a sentence.
    Up(String),
    /// It is not, because the user interrupted that, too: a sentence.
    Interrupted(String),
    /// It could not be deployed: a sentence.
    Failed(String),
}

/// Says that neither fabric is left. `how` is [`ARE`] or [`WILL_BE`].
pub(super) fn both_gone(name: &str, how: &str) -> String {
    format!("{name}, as it was, and the one that was to replace it {how}")
}

pub(super) const ARE: &str = "are both gone";
/// A supervisor takes down what it has.
pub(super) const WILL_BE: &str = "will both be gone in a moment (see `xoff list`)";

/// Deploys a fabric again that was taken down for another one. It leaves no results, which would replace those that it has left.
/// One interrupt may have led to this; another one ends it.
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

/// The fabric that has the name, and how the new one differs from it.
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
