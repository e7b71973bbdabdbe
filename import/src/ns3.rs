//! Conversion of files of the HPCC simulator (ns-3) and its descendants into scenarios.
//!
//! All simulators share one format; [`Simulator`] lists their differences and the sources. Behaviour of the simulator
//! that xoff does not have is one of [`Remarks::differences`]. If a setting asks for such behaviour, the command
//! refuses to go on unless the user accepts the difference. A deviation that changes no result is a note.

mod arguments;
mod buffers;
mod config;
mod control;
mod dialect;
mod flows;
mod instant;
mod keys;
mod link_down;
mod notes;
mod paths;
mod scenario;
mod simulator;
mod topology;
mod translation;
mod transport;

pub use arguments::Arguments;
pub use scenario::IMPORTED_FROM;
pub use simulator::Simulator;

use std::path::{Component, Path, PathBuf};

use ::scenario::{ScenarioError, glob};
use topology::Topology;

use super::{Remarks, Source};
use config::Config;
use flows::Flows;
use translation::Translation;

/// An imported scenario, not yet written anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Name of the config file.
    pub config: String,
    /// Flow lists: names and contents.
    pub flow_lists: Vec<(String, String)>,
    /// The scenario.
    pub toml: String,
    /// Deviations from the simulator.
    pub remarks: Remarks,
}

/// Choices of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True to accept configs with keys that the simulator does not have.
    pub lenient: bool,
    /// True for xoff's own rules where a dialect would follow the simulator's.
    pub own_rules: bool,
}

/// Number of parent folders in which the files that a config names are searched for. A config that `ConWeave`'s
/// `run.py` has made is three below the folder from which the simulator is run.
const FOLDERS_ABOVE: usize = 4;

/// Imports a config file, or the only one in a folder, with the files that it names. `stem` begins the names of flow
/// lists.
pub fn import(
    simulator: Simulator,
    arguments: Arguments,
    path: &Path,
    stem: &str,
    options: Options,
) -> Result<Imported, ScenarioError> {
    let config_path = config_file(path)?;
    let source = Source::read(&config_path, "config file")?;
    let mut config = Config::parse(simulator, arguments, source, options)?;
    let named = |key| {
        let word = config.word(key)?;
        let found = find(&config_path, word.text);
        let path = found.map_err(|tried| {
            let title = format!("there is no file `{}`", word.text);
            let help = format!("the simulator reads it from where it runs; looked for {tried}");
            config.source().error(word.span(), &title, &help)
        })?;
        Source::read(&path, key)
    };
    let traits = simulator.traits();
    let topology = Topology::parse(&named("TOPOLOGY_FILE")?, traits)?;
    let flows = Flows::parse(&named("FLOW_FILE")?, &topology, traits)?;
    config.settle_dialect(&topology)?;
    join(&config, &topology, &flows, stem)
}

/// Imports the texts of the three files, like [`import`]; file names in the config are ignored.
pub fn import_texts(
    simulator: Simulator,
    arguments: Arguments,
    config: Source,
    topology: &Source,
    flows: &Source,
    stem: &str,
    options: Options,
) -> Result<Imported, ScenarioError> {
    let traits = simulator.traits();
    let mut config = Config::parse(simulator, arguments, config, options)?;
    let topology = Topology::parse(topology, traits)?;
    let flows = Flows::parse(flows, &topology, traits)?;
    config.settle_dialect(&topology)?;
    join(&config, &topology, &flows, stem)
}

fn join(
    config: &Config,
    topology: &Topology,
    flows: &Flows,
    stem: &str,
) -> Result<Imported, ScenarioError> {
    let translation = Translation::new(config, topology, flows)?;
    Ok(scenario::write(config, topology, flows, translation, stem))
}

/// Returns the config file that `path` is or contains.
pub fn config_file(path: &Path) -> Result<PathBuf, ScenarioError> {
    let wrong = |title: &str, help: &str| {
        let name = path.display().to_string();
        let place = ::scenario::report::Place { name: &name, text: "", span: None };
        Err(ScenarioError::at(&place, title, Some(help)))
    };
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return wrong(&format!("cannot read the folder: {error}"), "name another"),
    };
    let is_config = |name: &str| glob::matches("config*.txt", name);
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut configs: Vec<String> = names.filter(|name| is_config(name)).collect();
    configs.sort();
    match configs.as_slice() {
        [only] => Ok(path.join(only)),
        [] => wrong("no file here is called config*.txt", "give the path of a config file"),
        several => {
            let title = format!("{} config files", several.len());
            wrong(&title, &format!("give the path of one of them: {}", several.join(", ")))
        }
    }
}

/// Finds a file that a config file names. The name is relative to the simulator's working folder, mostly a folder above
/// the config file's. An error lists the folders that were searched.
fn find(config: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = config.parent().unwrap_or(Path::new("")).to_owned();
    let folders = std::iter::successors(Some(folder.clone()), |folder| Some(above(folder)));
    let file_name = Path::new(name).file_name().unwrap_or_default();
    let mut candidates: Vec<PathBuf> =
        folders.take(1 + FOLDERS_ABOVE).map(|folder| folder.join(name)).collect();
    let beside = folder.join(file_name);
    if !candidates.contains(&beside) {
        candidates.push(beside);
    }
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let tried: Vec<String> = candidates.iter().map(|it| it.display().to_string()).collect();
        tried.join(", ")
    })
}

fn above(folder: &Path) -> PathBuf {
    let parent = match folder.components().next_back() {
        Some(Component::Normal(_)) => folder.parent().map(Path::to_owned),
        _ => None,
    };
    parent.unwrap_or_else(|| folder.join(".."))
}

#[cfg(test)]
mod tests;
