//! Progress of a sweep for a person: a bar on a terminal, lines elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use emulation::engine::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use scenario::report::printable;
use units::Nanos;

use super::run_progress::Course;

/// Min time between two lines about a job if only its number of runs has changed.
const LINE_PERIOD: Duration = Duration::from_secs(10);
/// Min age of the tables before they are written again; each write is a full rewrite.
const TABLE_AGE: Duration = Duration::from_secs(2);
/// Min age of the tables, as a multiple of the time that writing them took.
const TABLE_SHARE: u32 = 50;

/// Progress on standard error.
pub struct SweepProgress {
    bar: Option<ProgressBar>,
    runs: usize,
    ended: usize,
    /// Last message about a job.
    last_message: String,
    /// Time of the next line about more completed runs.
    line_due: Instant,
    /// Time of the next write of the tables.
    table_due: Instant,
    /// Runs under way by their number: time of the first report, and pace.
    courses: BTreeMap<usize, (Instant, Course)>,
}

impl SweepProgress {
    /// Starts the progress of a sweep of `runs`, of which `earlier` are complete.
    pub fn new(runs: usize, earlier: usize) -> Self {
        Self::for_template(runs, earlier, "{bar:12} {pos} of {len} runs, {eta} left  {wide_msg}")
    }

    /// Starts the progress of a job on a cluster, whose remaining time is unknown.
    pub fn for_job(runs: usize, earlier: usize) -> Self {
        Self::for_template(runs, earlier, "{bar:12} {pos} of {len} runs, {wide_msg}")
    }

    /// The message is cut to the width of the terminal, because a second line would not be erased.
    fn for_template(runs: usize, earlier: usize, template: &str) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template).expect("it is well-formed");
            let bar = ProgressBar::new(runs as u64).with_style(style);
            bar.set_position(earlier as u64);
            // The remaining time counts only runs of this call.
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self { bar, ended: earlier, ..Self::for_lines(runs) }
    }

    /// Starts the progress of `runs` runs, without a bar.
    pub fn for_lines(runs: usize) -> Self {
        Self {
            bar: None,
            runs,
            ended: 0,
            last_message: String::new(),
            line_due: now(),
            table_due: now() + TABLE_AGE,
            courses: BTreeMap::new(),
        }
    }

    /// Shows the progress of a run that emulates at most `duration`. Without a terminal, each run prints a line every
    /// ten seconds, formatted by `named`.
    pub fn under_way(
        &mut self,
        run: usize,
        duration: Nanos,
        progress: Progress,
        named: impl FnOnce(&str) -> String,
    ) {
        if self.bar.is_some() {
            return;
        }
        let now = now();
        let (begun, course) =
            self.courses.entry(run).or_insert_with(|| (now, Course::new(duration)));
        if let Some(line) = course.line(now - *begun, progress) {
            super::say(named(&line));
        }
    }

    /// Reports a run that has its results.
    pub fn ended(&mut self, run: usize, what: &str) {
        self.courses.remove(&run);
        self.ended += 1;
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(printable(what).into_owned());
            }
            None => super::say(format_args!("{} of {} runs: {what}", self.ended, self.runs)),
        }
    }

    /// Reports a run that has failed.
    pub fn failed(&mut self, run: usize, message: &str) {
        self.courses.remove(&run);
        self.aside(message);
    }

    /// Shows the number of runs that have results, and a message about the others.
    pub fn so_far(&mut self, ended: usize, message: &str) {
        let now = now();
        let is_due = ended != self.ended && now >= self.line_due;
        if let Some(bar) = &self.bar {
            bar.set_position(ended as u64);
            bar.set_message(printable(message).into_owned());
        } else if is_due || message != self.last_message {
            super::say(format_args!("{ended} of {} runs, {message}", self.runs));
            self.line_due = now + LINE_PERIOD;
            message.clone_into(&mut self.last_message);
        }
        self.ended = ended;
    }

    /// Prints a message that is not about a run.
    pub fn aside(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| super::say(message)),
            None => super::say(message),
        }
    }

    /// Writes the tables again if they are old.
    pub fn write_if_due<E>(&mut self, write: impl FnOnce() -> Result<(), E>) {
        let before = now();
        if before < self.table_due {
            return;
        }
        // A write error will also occur at the last write, which reports it.
        let _ = write();
        let after = now();
        self.table_due = after + TABLE_AGE.max((after - before) * TABLE_SHARE);
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "when a table is shown, never what is in it")]
fn now() -> Instant {
    Instant::now()
}
