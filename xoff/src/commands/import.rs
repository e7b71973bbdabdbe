//! `xoff import`: conversion of another program's files into a scenario.

mod files;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use import::ns3::{self, Imported, Simulator};
use import::{Remarks, Subject};
use serde_json::{Value, json};
use terminal::Complaint;

use super::validate::{describe, describe_json};
use super::{Exit, interrupt};

/// Arguments of `xoff import`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Program that the files are for.
    #[arg(value_enum)]
    program: Program,
    /// A config file, or a folder with one config*.txt. The topology and flow files that it names are searched for
    /// there and up to four folders up.
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// The scenario to write; flow lists go beside it. Default: the config file's name with .toml, in the current
    /// folder.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Writes a scenario even if xoff does not support everything that the files ask for.
    #[arg(long)]
    lenient: bool,
    /// Leaves out the simulator's dialect: results then follow xoff's own rules, on
    /// any number of threads and on both datapaths, and are not the simulator's to the nanosecond.
    #[arg(long)]
    no_dialect: bool,
    /// Replaces the output of an earlier import. If the import fails, all files stay as they are.
    #[arg(long)]
    force: bool,
    /// Command-line argument of the simulator beside its config, such as wien=false. ns3-datacenter has algorithm (3),
    /// wien (true), delayWien (false) and windowCheck (true).
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    started_with: Vec<String>,
}

/// A program whose files can be imported.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Program {
    /// The HPCC simulator: ns-3, alibaba-edu/High-Precision-Congestion-Control.
    Hpcc,
    /// `ConWeave`'s simulator: ns-3, conweave-project/conweave-ns3.
    Conweave,
    /// ns3-datacenter, PowerTCP's evaluation: inet-tub/ns3-datacenter.
    Ns3Datacenter,
}

impl Program {
    const fn simulator(self) -> Simulator {
        match self {
            Self::Hpcc => Simulator::Hpcc,
            Self::Conweave => Simulator::ConWeave,
            Self::Ns3Datacenter => Simulator::Ns3Datacenter,
        }
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let simulator = arguments.program.simulator();
    let command_line = match ns3::Arguments::parse(simulator, &arguments.started_with) {
        Ok(command_line) => command_line,
        Err((title, help)) => return super::refuse(Complaint::new(title).with_help(help)),
    };
    let imported = ns3::config_file(&arguments.path).and_then(|config| {
        let out = arguments.out.clone();
        let out = out.unwrap_or_else(|| Path::new(&stem(&config)).with_extension("toml"));
        let options = ns3::Options { lenient: arguments.lenient, own_rules: arguments.no_dialect };
        Ok((ns3::import(simulator, command_line, &config, &stem(&out), options)?, out))
    });
    let (imported, out) = match imported {
        Ok(imported) => imported,
        Err(error) => return super::refuse(error),
    };
    if !accepted(&imported, arguments.lenient) {
        return Exit::BadInput;
    }
    match files::write(&imported, &out, arguments.force, interrupt::watch()) {
        Ok(scenario) => {
            let lists: Vec<&str> =
                imported.flow_lists.iter().map(|(name, _)| name.as_str()).collect();
            let mut json = describe_json(&out, &scenario);
            json["flow_lists"] = lists.into();
            for (key, value) in remarks_json(&imported.remarks) {
                json[key] = value;
            }
            super::answer(&describe(&out, &scenario), &json, Exit::Success)
        }
        Err(failure) => super::json_errors::error(failure.complaint, failure.exit),
    }
}

/// Advice if xoff does not support everything that the files ask for.
const LENIENT: &str = "results would not be the simulator's; --lenient writes the scenario anyway";

/// Returns the remarks of an import by the keys of its JSON.
fn remarks_json(remarks: &Remarks) -> [(&'static str, Value); 3] {
    let Remarks { notes, differences, unknown_keys } = remarks;
    [
        ("notes", json!(notes)),
        ("differences", json!(differences)),
        ("unknown_keys", json!(unknown_keys)),
    ]
}

/// Says what an import is, and whether it may be written. In JSON the result or the error has all of it.
fn accepted(imported: &Imported, lenient: bool) -> bool {
    let may = lenient || !imported.remarks.any_asked();
    if super::json_errors::answers_in_json() {
        if !may {
            super::json_errors::error(refusal(&imported.remarks), Exit::BadInput);
        }
        return may;
    }
    for note in imported.remarks.note_lines() {
        super::say(format_args!("note: {note}"));
    }
    for line in imported.remarks.table() {
        super::say(line);
    }
    if may {
        return true;
    }
    let mut asked = imported.remarks.differences.iter().filter(|it| it.asked).peekable();
    while let Some(difference) = asked.next() {
        let complaint = Complaint::new(format!("{}: xoff cannot do that", difference.subject));
        let is_last = asked.peek().is_none();
        let complaint = if is_last { complaint.with_help(LENIENT) } else { complaint };
        super::json_errors::error(complaint, Exit::BadInput);
    }
    false
}

/// The refusal of an import, for programs: with the place of the first setting that xoff cannot follow, and all remarks.
fn refusal(remarks: &Remarks) -> Complaint {
    let asked = || remarks.differences.iter().filter(|it| it.asked).map(|it| &it.subject);
    let subjects: Vec<String> = asked().map(ToString::to_string).collect();
    let title = format!("xoff cannot do that: {}", subjects.join(", "));
    let mut complaint = Complaint::new(title).with_help(LENIENT);
    for (key, value) in remarks_json(remarks) {
        complaint = complaint.with(key, value);
    }
    if let Some(Subject { file: Some(file), line, .. }) = asked().next() {
        complaint = complaint.with("file", file.as_str());
        if let Some(line) = *line {
            complaint = complaint.with("line", line);
        }
    }
    complaint
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_call_programs_as_the_command_line_does() {
        for program in Program::value_variants() {
            let value = program.to_possible_value().expect("none is hidden");
            assert_eq!(value.get_name(), program.simulator().traits().program);
        }
    }
}
