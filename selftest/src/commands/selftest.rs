//! `xoff selftest`: tests of the kernel features that fabrics use.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use scenario::whole_number::{at_least, between};
use scenario::{DatapathKind, Refusal, Scenario, quantity};
use terminal::Complaint;
use units::Picos;

use super::Exit;
use crate::bench::Settings;
use crate::catalogue::{CATALOGUE, Test};
use crate::evidence;
use crate::report::Format;
use crate::runner::{self, End, Item, Plan, Work};
use crate::verdict::Tally;

/// Arguments of `xoff selftest`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scenarios with `[[expect]]` to run instead of the catalogue.
    #[arg(value_name = "FILE", conflicts_with_all = ["only", "skip", "list"])]
    files: Vec<PathBuf>,
    /// Prints the names of the tests that would run, and the purpose of each.
    #[arg(long)]
    list: bool,
    /// Runs only tests whose names match: `*` matches any text, `?` any character. May be given several times.
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// Leaves out tests whose names match. May be given several times.
    #[arg(long, value_name = "GLOB")]
    skip: Vec<String>,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t = Format::Ktap)]
    format: Format,
    /// Time after which a test fails.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = time)]
    time_limit: Duration,
    /// Seed of the frames' bytes and of the scenarios' random draws. Default: 1; for a FILE, its own seed.
    #[arg(long, value_name = "N", value_parser = at_least(0u64))]
    seed: Option<u64>,
    /// Runs each test N times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = between(1u32, 1_000_000))]
    repeat: u32,
    /// Runs N copies of each test in parallel, in separate fabrics.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = between(1u32, 256))]
    stress: u32,
    /// Also collects material for a bug report in this folder: the kernel's log and configuration, programs and maps,
    /// captures, scenarios, verifier logs, and the command that repeats the test.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Stops each test between its set-up and its traffic: prints its namespaces on standard error, and waits for a
    /// line on standard input. The time limit does not apply then.
    #[arg(long, conflicts_with = "time_limit")]
    pause: bool,
}

/// Seed of the catalogue's frames and scenarios.
const DEFAULT_SEED: u64 = 1;
/// Time limit of a test; the option's default.
const TIME_LIMIT: Duration = Duration::from_secs(45);

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let chosen = match chosen(arguments) {
        Ok(chosen) => chosen,
        Err(message) => return super::refuse(message),
    };
    if arguments.list {
        let width = chosen.iter().map(|test| test.name.len()).max().unwrap_or_default();
        let lines: Vec<_> =
            chosen.iter().map(|test| format!("{:width$}  {}", test.name, test.about)).collect();
        return super::print(&lines.join("\n"), Exit::Success);
    }
    let seed: Vec<String> = arguments.seed.map(|seed| format!("seed={seed}")).into_iter().collect();
    let scenarios = arguments.files.iter().map(|file| super::load(file, &seed));
    let scenarios: Vec<Scenario> = match scenarios.collect() {
        Ok(scenarios) => scenarios,
        Err(exit) => return exit,
    };
    let items: Vec<Item<'_>> = if scenarios.is_empty() {
        chosen.into_iter().map(|test| catalogue_item(test, arguments)).collect()
    } else {
        arguments.files.iter().zip(&scenarios).map(|it| file_item(it, arguments)).collect()
    };
    let is_in_kernel = |it: &Scenario| it.datapath.kind == DatapathKind::Kernel;
    let needs_kernel = scenarios.is_empty() || scenarios.iter().any(is_in_kernel);
    let missing = if needs_kernel { missing() } else { None };
    if let Some(folder) = &arguments.report
        && let Err(message) = evidence::begin_report(folder)
    {
        return super::refuse(message);
    }
    evidence::begin_log();
    let interrupted = match super::prepare(needs_kernel && missing.is_none()) {
        Ok(interrupted) => interrupted,
        Err(message) => return super::refuse(message),
    };
    let settings = Settings {
        seed: arguments.seed.unwrap_or(DEFAULT_SEED),
        time_limit: if arguments.pause { Duration::MAX } else { arguments.time_limit },
        pause: arguments.pause,
        report: arguments.report.as_deref(),
    };
    let (repeat, copies) = (arguments.repeat, arguments.stress);
    let command = again(arguments);
    let plan = Plan { settings, repeat, copies, format: arguments.format, command };
    match runner::run(&items, &plan, missing.as_deref(), io::stdout().lock(), interrupted) {
        Ok(End::Done(tally)) => exit(tally),
        Ok(End::Interrupted) => Exit::Interrupted,
        // The reader has closed the pipe (`xoff selftest | head`), and not all tests have run.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Interrupted,
        Err(error) => super::refuse(format!(
            "cannot write to standard output: {error}; send it somewhere else"
        )),
    }
}

fn exit(tally: Tally) -> Exit {
    match tally {
        Tally { fail: 1.., .. } => Exit::Unsound,
        Tally { pass: 0, .. } => Exit::Skipped,
        _ => Exit::Success,
    }
}

/// Returns the selected tests of the catalogue.
fn chosen(arguments: &Arguments) -> Result<Vec<&'static Test>, Complaint> {
    for (option, globs) in [("--only", &arguments.only), ("--skip", &arguments.skip)] {
        for glob in globs {
            if !CATALOGUE.iter().any(|test| scenario::glob::matches(glob, test.name)) {
                let title = format!("no test matches `{option} {glob}`");
                let help = "`xoff selftest --list` names them";
                return Err(Complaint::new(title).with_help(help));
            }
        }
    }
    let matches = |globs: &[String], test: &Test| {
        globs.iter().any(|glob| scenario::glob::matches(glob, test.name))
    };
    let asked = |test: &&Test| {
        (arguments.only.is_empty() || matches(&arguments.only, test))
            && !matches(&arguments.skip, test)
    };
    let chosen: Vec<_> = CATALOGUE.iter().filter(asked).collect();
    if chosen.is_empty() {
        return Err(Complaint::new("`--skip` leaves no test").with_help("leave one of them out"));
    }
    Ok(chosen)
}

fn catalogue_item(test: &'static Test, arguments: &Arguments) -> Item<'static> {
    let chosen_by = with_options(format!("--only {}", test.name), arguments);
    Item { name: test.name.to_owned(), chosen_by, work: Work::Test(test) }
}

/// Returns the words that select a test, followed by the options that change its run.
fn with_options(chosen_by: String, arguments: &Arguments) -> String {
    let mut words = vec![chosen_by];
    words.extend(options(arguments));
    words.join(" ")
}

fn file_item<'a>((file, scenario): (&PathBuf, &'a Scenario), arguments: &Arguments) -> Item<'a> {
    if scenario.expectations.is_empty() {
        super::warn(format!(
            "{} has no [[expect]]: only whether its run is sound is looked at",
            file.display()
        ));
    }
    let chosen_by = with_options(quoted(&file.display().to_string()), arguments);
    Item { name: scenario.name.clone(), chosen_by, work: Work::Scenario(scenario) }
}

/// Returns the problem that prevents every kernel test on this machine, if there is one.
fn missing() -> Option<String> {
    emulation::require_kernel_datapath().err().or_else(|| {
        let error = linux::bpf::probe().err()?;
        Some(format!("the kernel has no BPF (CONFIG_BPF_SYSCALL): {error}"))
    })
}

/// Returns the command line in shell syntax.
fn again(arguments: &Arguments) -> String {
    let mut words = vec!["xoff".to_owned(), "selftest".to_owned()];
    for (option, globs) in [("--only", &arguments.only), ("--skip", &arguments.skip)] {
        words.extend(globs.iter().flat_map(|glob| [option.to_owned(), quoted(glob)]));
    }
    words.extend(arguments.files.iter().map(|file| quoted(&file.display().to_string())));
    words.extend(options(arguments));
    words.join(" ")
}

/// Returns the options that change a test's run and differ from the defaults.
fn options(arguments: &Arguments) -> Vec<String> {
    let mut words: Vec<String> = seed_option(arguments).into_iter().collect();
    if arguments.time_limit != TIME_LIMIT {
        words.push(format!("--time-limit {}us", arguments.time_limit.as_micros()));
    }
    for (option, number) in [("--repeat", arguments.repeat), ("--stress", arguments.stress)] {
        if number > 1 {
            words.push(format!("{option} {number}"));
        }
    }
    words
}

/// Returns the seed option. A scenario's file has a seed itself, so its default is left out.
fn seed_option(arguments: &Arguments) -> Option<String> {
    let catalogue_item = arguments.files.is_empty().then_some(DEFAULT_SEED);
    arguments.seed.or(catalogue_item).map(|seed| format!("--seed {seed}"))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Parses a time such as `45s`.
fn time(text: &str) -> Result<Duration, Refusal> {
    let time = quantity::parse::<Picos>(text)?;
    if time.0 < 1_000_000_000 {
        let title = "a test takes a millisecond at least";
        return Err(Refusal::new(title, "write a time such as 45s"));
    }
    Ok(Duration::from_nanos(time.0 / 1000))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    enum CommandLine {
        Selftest(Arguments),
    }

    #[test]
    fn the_command_that_does_a_test_again_keeps_the_options() {
        let words = "xoff selftest --only ring.load --time-limit 1ms --repeat 2 --stress 3";
        let read = CommandLine::try_parse_from(words.split(' ')).expect("they are options");
        let CommandLine::Selftest(arguments) = read;
        let expected = "--only ring.load --seed 1 --time-limit 1000us --repeat 2 --stress 3";
        assert_eq!(with_options("--only ring.load".to_owned(), &arguments), expected);
        assert_eq!(again(&arguments), format!("xoff selftest {expected}"));
    }
}
