//! What a person sees while a sweep goes on: a bar on a terminal, lines elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use emulation::engine::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use units::Nanos;

use super::run_progress::Course;

/// Time between two lines about a job of which only the number of runs has changed.
const LINE_PERIOD: Duration = Duration::from_secs(10);
/// How old the tables may be while runs end; they are written as a whole each time.
const TABLE_AGE: Duration = Duration::from_secs(2);
/// How many times as long as writing them took they may be old at least.
const TABLE_SHARE: u32 = 50;

/// Progress on standard error.
pub struct SweepProgress {
    bar: Option<ProgressBar>,
    runs: usize,
    ended: usize,
    /// What was last said of a job.
    last_message: String,
    /// When more runs are worth a line.
    line_due: Instant,
    /// When the tables are to be written again.
    table_due: Instant,
    /// Runs under way by their number: since when they are heard of, and how they get on.
    courses: BTreeMap<usize, (Instant, Course)>,
}

impl SweepProgress {
    /// Of a sweep of `runs`, of which `earlier` need not run again.
    pub fn new(runs: usize, earlier: usize) -> Self {
        Self::of_template(runs, earlier, "{bar:12} {pos} of {len} runs, {eta} left  {wide_msg}")
    }

    /// Of a job on a cluster, of which it is not known when it goes on.
    pub fn of_job(runs: usize, earlier: usize) -> Self {
        Self::of_template(runs, earlier, "{bar:12} {pos} of {len} runs, {wide_msg}")
    }

    /// The message is cut to the width of the terminal: a second line would stay.
    fn of_template(runs: usize, earlier: usize, template: &str) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template).expect("it is well-formed");
            let bar = ProgressBar::new(runs as u64).with_style(style);
            bar.set_position(earlier as u64);
            // The time left follows from the runs of this call alone.
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self { bar, ended: earlier, ..Self::of_lines(runs) }
    }

    /// Of so many runs, in lines alone.
    pub fn of_lines(runs: usize) -> Self {
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

    /// A run that emulates at most `duration` has come so far; where there is no terminal, each has a line every ten
    /// seconds, which `named` names.
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

    /// A run has its results.
    pub fn ended(&mut self, run: usize, what: &str) {
        self.courses.remove(&run);
        self.ended += 1;
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(what.to_owned());
            }
            None => super::say(format_args!("{} of {} runs: {what}", self.ended, self.runs)),
        }
    }

    /// A run has failed.
    pub fn failed(&mut self, run: usize, message: &str) {
        self.courses.remove(&run);
        self.aside(message);
    }

    /// So many runs have results, and what there is to say of the others.
    pub fn so_far(&mut self, ended: usize, message: &str) {
        let now = now();
        let is_due = ended != self.ended && now >= self.line_due;
        if let Some(bar) = &self.bar {
            bar.set_position(ended as u64);
            bar.set_message(message.to_owned());
        } else if is_due || message != self.last_message {
            super::say(format_args!("{ended} of {} runs, {message}", self.runs));
            self.line_due = now + LINE_PERIOD;
            message.clone_into(&mut self.last_message);
        }
        self.ended = ended;
    }

    /// Says something that is not about a run.
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
        // What hinders it will hinder the last one, which says so.
        let _ = write();
        let after = now();
        self.table_due = after + TABLE_AGE.max((after - before) * TABLE_SHARE);
    }

    /// The bar goes.
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
