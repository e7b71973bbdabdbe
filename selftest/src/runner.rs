//! Which tests run, how often, beside which others, and for how long.

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

/// Time between two looks of the watcher at a test's time and at interrupts.
const WATCH_INTERVAL: Duration = Duration::from_millis(5);

/// What a test does.
pub enum Work<'a> {
    /// A test of the catalogue.
    Test(&'static Test),
    /// A user's scenario.
    Scenario(&'a Scenario),
}

/// A test that is to run.
pub struct Item<'a> {
    /// Its name.
    pub name: String,
    /// The arguments that choose it, with its seed.
    pub chosen_by: String,
    /// What it does.
    pub work: Work<'a>,
}

/// How tests run.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What all share.
    pub settings: Settings<'a>,
    /// How often each runs.
    pub repeat: u32,
    /// How many copies of each run side by side.
    pub copies: u32,
    /// The form of the report.
    pub format: Format,
    /// The command that runs all of it again.
    pub command: String,
}

/// How it all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All have run.
    Done(Tally),
    /// An interrupt came.
    Interrupted,
}

/// Runs tests and reports on them. With `missing`, a sentence, all are skipped for it.
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
    /// Ends the report folder, if there is one.
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

/// Runs a test while another thread looks at its time.
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
            Work::Scenario(scenario) => fabric::of_user(&mut bench, &item.name, scenario),
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

/// Makes a test's folder in the report.
fn own_folder(report: &Path, name: &str) -> PathBuf {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let name: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let folder = report.join(name);
    // What cannot be written later says so then.
    let _ = fs::create_dir_all(&folder);
    folder
}

/// The kernel's release, such as `6.18.44`.
pub fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// Its first two numbers.
pub fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    numbers.next().flatten().zip(numbers.next().flatten())
}
