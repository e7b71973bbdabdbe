//! Selection, repetition, parallel copies and time limit of tests.

use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scenario::Scenario;

use super::bench::{Bench, Settings};
use super::catalogue::Test;
use super::fabric;
use super::report::{Format, Report};
use super::verdict::{Finding, Step, Tally, Verdict};

/// Time between two checks of a test's time and of interrupts.
const WATCH_INTERVAL: Duration = Duration::from_millis(5);

/// Work of a test.
pub enum Work<'a> {
    /// A test of the catalogue.
    Test(&'static Test),
    /// A user's scenario.
    Scenario(&'a Scenario),
}

/// A test to run.
pub struct Item<'a> {
    /// Name of the test.
    pub name: String,
    /// Arguments that select the test, with its seed.
    pub chosen_by: String,
    /// Work of the test.
    pub work: Work<'a>,
}

/// Plan of a call's tests.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Settings shared by all tests.
    pub settings: Settings<'a>,
    /// Number of repetitions of each test.
    pub repeat: u32,
    /// Number of parallel copies of each test.
    pub copies: u32,
    /// Format of the report.
    pub format: Format,
    /// Command that repeats all tests.
    pub command: String,
}

/// End of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All tests have run.
    Done(Tally),
    /// The tests were interrupted.
    Interrupted,
}

/// Runs tests and reports on them. If `missing` is given, all tests are skipped with this sentence as the reason.
pub fn run(
    items: &[Item<'_>],
    plan: &Plan<'_>,
    missing: Option<&str>,
    output: impl Write,
    interrupted: &AtomicBool,
) -> io::Result<End> {
    let rounds = plan.repeat as usize * plan.copies as usize;
    let mut report = Report::begin(plan.format, output, items.len() * rounds)?;
    let (seed, release) = (plan.settings.seed, kernel_release());
    for item in items {
        for round in 0..plan.repeat {
            let names = (0..plan.copies).map(|copy| name(item, plan, round, copy));
            let findings: Vec<Finding> = match missing {
                Some(reason) => names.map(|name| skipped(name, reason)).collect(),
                None => side_by_side(item, plan, names.collect(), interrupted),
            };
            if interrupted.load(Ordering::Relaxed) {
                report.interrupt()?;
                plan.keep(&report.json(seed, &release));
                report.end(seed, &release)?;
                return Ok(End::Interrupted);
            }
            findings.into_iter().try_for_each(|finding| report.add(finding))?;
        }
    }
    plan.keep(&report.json(seed, &release));
    report.end(seed, &release).map(End::Done)
}

impl Plan<'_> {
    /// Completes the report folder, if there is one.
    fn keep(&self, json: &str) {
        if let Some(folder) = self.settings.report {
            super::evidence::end_report(folder, &self.command, json);
        }
    }
}

fn name(item: &Item<'_>, plan: &Plan<'_>, round: u32, copy: u32) -> String {
    let of = |what, number, all| {
        if all > 1 { format!(" ({what} {} of {all})", number + 1) } else { String::new() }
    };
    item.name.clone() + &of("round", round, plan.repeat) + &of("copy", copy, plan.copies)
}

fn skipped(name: String, reason: &str) -> Finding {
    let step = Step {
        name: "the machine can run it".to_owned(),
        verdict: Verdict::skip(reason),
        took: Duration::ZERO,
    };
    Finding { name, steps: vec![step], took: Duration::ZERO, again: None }
}

fn side_by_side(
    item: &Item<'_>,
    plan: &Plan<'_>,
    names: Vec<String>,
    interrupted: &AtomicBool,
) -> Vec<Finding> {
    let begin = |name| run_one(item, plan, name, interrupted);
    if names.len() == 1 {
        return names.into_iter().map(begin).collect();
    }
    thread::scope(|scope| {
        let copies: Vec<_> =
            names.into_iter().map(|name| scope.spawn(move || begin(name))).collect();
        let joined = copies.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|it| it.expect("a test's panic is caught")).collect()
    })
}

/// Runs a test while another thread watches its time.
#[expect(clippy::disallowed_methods, reason = "tests are bounded by the real clock")]
fn run_one(item: &Item<'_>, plan: &Plan<'_>, name: String, interrupted: &AtomicBool) -> Finding {
    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let folder = plan.settings.report.map(|folder| own_folder(folder, &name));
    let began = Instant::now();
    let steps = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let late = began.elapsed() >= plan.settings.time_limit;
                if late || interrupted.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(WATCH_INTERVAL);
            }
        });
        let mut bench = Bench::new(&plan.settings, &stop, folder.as_deref());
        let ended = catch_unwind(AssertUnwindSafe(|| match &item.work {
            Work::Test(test) => (test.run)(&mut bench),
            Work::Scenario(scenario) => fabric::run_user_scenario(&mut bench, &item.name, scenario),
        }));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            bench.add("the test itself works", Verdict::fail("no panic", what, "xoff"));
        }
        bench.into_steps()
    });
    let mut finding = Finding { name, steps, took: began.elapsed(), again: None };
    if matches!(finding.verdict(), Verdict::Fail(_)) {
        let again = format!("xoff selftest {}", item.chosen_by);
        finding.again = Some(again);
    }
    finding
}

/// Creates a test's folder in the report.
fn own_folder(report: &Path, name: &str) -> PathBuf {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let name: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let folder = report.join(name);
    // A later write reports the error.
    let _ = fs::create_dir_all(&folder);
    folder
}

/// Returns the kernel's release, such as `6.18.44`.
pub fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// Returns the first two numbers of a release.
pub fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    numbers.next().flatten().zip(numbers.next().flatten())
}
