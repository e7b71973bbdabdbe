//! `xoff run`: runs a scenario on its datapath.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use analysis::expectation::{self, LentFolder, Verdict};
use clap::ValueEnum;
use emulation::engine::{Progress, RunError, Watch};
use emulation::run::{self, Error, Threads};
use results::{RunEnd, Style, Summary, TableFormat};
use scenario::whole_number::between;
use scenario::{DatapathKind, MAX_SEED, Scenario};
use serde::Serialize;
use units::Nanos;

use super::Exit;
use super::run_progress::RunProgress;
use super::tables;

/// Arguments of `xoff run`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario.
    file: PathBuf,
    /// Folder for the results; made if it is missing, replaced if it holds an earlier run.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Place where switches run; replaces `datapath.kind`.
    #[arg(long, value_enum, value_name = "kernel|memory", hide_possible_values = true)]
    datapath: Option<Where>,
    /// Seed of all randomness of the run; replaces `seed`.
    #[arg(long, value_name = "N", value_parser = between(0, MAX_SEED), allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Format of the tables, `csv` or `parquet`, instead of `results.format`. `hpcc` adds files in the HPCC simulator's
    /// format, like the key `results.hpcc`.
    #[arg(long, value_enum, value_delimiter = ',', requires = "out")]
    format: Vec<Format>,
    /// Prints the summary as JSON instead of the report.
    #[arg(long)]
    json: bool,
    /// Number of threads that run the fabric; results do not depend on it.
    #[arg(long, value_name = "N|auto", default_value = "auto", allow_hyphen_values = true)]
    threads: Threads,
}

/// Place where switches run.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Where {
    /// eBPF programs in the kernel.
    Kernel,
    /// Functions in this process.
    Memory,
}

impl Where {
    /// Returns the scenario key that the option replaces.
    const fn key(self) -> &'static str {
        match self {
            Self::Kernel => "datapath.kind=\"kernel\"",
            Self::Memory => "datapath.kind=\"memory\"",
        }
    }
}

/// Format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables as text.
    Csv,
    /// Tables as Apache Parquet, with typed columns.
    Parquet,
    /// `fct.txt`, `pfc.txt` and `qlen.txt`, in the format of the HPCC simulator (ns-3).
    Hpcc,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let mut sets = arguments.sets.clone();
    sets.extend(arguments.datapath.map(|datapath| datapath.key().to_owned()));
    sets.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    match table_format(&arguments.format) {
        Ok(set) => sets.extend(set),
        Err(message) => return super::refuse(message),
    }
    let mut scenario = match super::load(&arguments.file, &sets) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    if arguments.format.contains(&Format::Hpcc) {
        scenario.results.hpcc.get_or_insert_default();
    }
    let fabrics = scenario.datapath.kind == DatapathKind::Kernel;
    let able = if fabrics { emulation::require_kernel_datapath() } else { Ok(()) };
    let interrupted = match able.and_then(|()| super::prepare(fabrics)) {
        Ok(interrupted) => interrupted,
        Err(message) => return super::refuse(message),
    };
    execute_scenario(&scenario, arguments, interrupted)
}

/// Returns the key that `--format` replaces, if it names a format of tables.
fn table_format(formats: &[Format]) -> Result<Option<String>, &'static str> {
    let [csv, parquet] = [Format::Csv, Format::Parquet].map(|it| formats.contains(&it));
    let format = match (csv, parquet) {
        (false, false) => return Ok(None),
        (true, true) => {
            return Err(
                "--format names csv and parquet, and all tables of a folder have one format: leave one out",
            );
        }
        (true, false) => TableFormat::Csv,
        (false, true) => TableFormat::Parquet,
    };
    Ok(Some(tables::key(format)))
}

fn execute_scenario(scenario: &Scenario, arguments: &Arguments, interrupted: &AtomicBool) -> Exit {
    let mut shown = RunProgress::new(scenario.duration.to_nanos());
    let mut progress = |progress: Progress| shown.show(progress);
    let mut watch = Watch { interrupted, progress: &mut progress };
    let out = arguments.out.as_deref();
    let lent = match out {
        None if expectation::needs_tables(scenario) => match LentFolder::new() {
            Ok(lent) => Some(lent),
            Err(error) => {
                return super::refuse(format!(
                    "expectations need the run's tables, and there is no room for them in {}: {error}; name a folder \
                     with --out, or another one in TMPDIR",
                    std::env::temp_dir().display()
                ));
            }
        },
        _ => None,
    };
    let folder = out.or(lent.as_ref().map(LentFolder::path));
    let outcome = run::run(scenario, folder, arguments.threads, &mut watch);
    shown.finish();
    match outcome {
        Ok(mut outcome) => {
            let verdicts = verdicts(scenario, &outcome.report.summary, folder);
            if lent.is_some() {
                outcome.report.files = None;
            }
            let text = if arguments.json {
                json(&outcome.report.summary, &verdicts)
            } else {
                let kept = match out {
                    Some(_) => "",
                    None => {
                        "\nnothing but this report is kept: --out DIR keeps tables and the summary"
                    }
                };
                let expectations = expectation::render(&verdicts, style());
                outcome.report.render(style()) + &expectations + kept
            };
            let exit = match exit(&outcome.report.summary, out) {
                Exit::Success if !verdicts.iter().all(|it| it.passed) => Exit::Unsound,
                exit => exit,
            };
            let exit = super::print_document(&text, exit);
            outcome.failure.map_or(exit, |failure| super::complain(&failure, Exit::Unsound))
        }
        Err(Error::Run(error @ RunError::Interrupted)) => {
            super::say(error);
            Exit::Interrupted
        }
        Err(error) => super::complain(&error, Exit::BadInput),
    }
}

/// Returns verdicts on the scenario's expectations; none for a partial run.
fn verdicts(scenario: &Scenario, summary: &Summary, folder: Option<&Path>) -> Vec<Verdict> {
    if matches!(summary.ended, RunEnd::Interrupted | RunEnd::Failed) {
        return Vec::new();
    }
    expectation::judge(scenario, summary, folder)
}

/// Formats the summary as JSON, with `expectations` as its last key if there are any.
fn json(summary: &Summary, verdicts: &[Verdict]) -> String {
    #[derive(Serialize)]
    struct WithExpectations<'a> {
        #[serde(flatten)]
        summary: &'a Summary,
        expectations: &'a [Verdict],
    }
    if verdicts.is_empty() {
        return summary.to_json();
    }
    let whole = WithExpectations { summary, expectations: verdicts };
    serde_json::to_string_pretty(&whole).expect("a summary has string keys only")
}

/// Returns the exit status of a run that left a summary, and results in `out`.
fn exit(summary: &Summary, out: Option<&Path>) -> Exit {
    if summary.ended == RunEnd::Interrupted {
        let at = results::span(Nanos(summary.emulated_ns));
        let place = out.map_or("the report".into(), |out| out.display().to_string());
        super::say(format_args!(
            "interrupted at {at} of emulated time; {place} has what was measured until then"
        ));
        return Exit::Interrupted;
    }
    if summary.is_sound() { Exit::Success } else { Exit::Unsound }
}

fn style() -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some() || !io::stdout().is_terminal();
    if plain { Style::plain() } else { Style::ansi() }
}
