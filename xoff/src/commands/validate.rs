//! `xoff validate`: checks a scenario.

use std::path::{Path, PathBuf};

use results::counted;
use scenario::Scenario;
use serde_json::{Value, json};

use super::Exit;

/// Arguments of `xoff validate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario.
    file: PathBuf,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Prints the scenario with its defaults written out, except those that follow from a link's rate or the base RTT.
    #[arg(long)]
    resolved: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let scenario = match super::load(&arguments.file, &arguments.sets) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    if arguments.resolved {
        let text = scenario.to_toml();
        if !super::json_errors::answers_in_json() {
            return super::print_document(&text, Exit::Success);
        }
        let value: Value = toml::from_str(&text).expect("the text is TOML");
        return super::print(&format!("{value:#}"), Exit::Success);
    }
    super::answer(
        &describe(&arguments.file, &scenario),
        &describe_json(&arguments.file, &scenario),
        Exit::Success,
    )
}

/// Describes a scenario in one line.
pub(super) fn describe(file: &Path, scenario: &Scenario) -> String {
    let [switches, hosts, flows] = counts(scenario).map(|(count, noun)| counted(count, noun));
    format!("{}: {switches}, {hosts}, {flows}", file.display())
}

/// Describes a scenario as JSON.
pub(super) fn describe_json(file: &Path, scenario: &Scenario) -> Value {
    let [switches, hosts, flows] = counts(scenario).map(|(count, _)| count);
    json!({ "scenario": file.display().to_string(), "switches": switches, "hosts": hosts, "flows": flows })
}

fn counts(scenario: &Scenario) -> [(u64, &'static str); 3] {
    let fabric = scenario.fabric();
    [
        (fabric.switch_count().into(), "switch"),
        (fabric.host_count().into(), "host"),
        (scenario.flows().len() as u64, "flow"),
    ]
}
