//! What a person sees while a sweep goes on: a bar on a terminal, lines elsewhere.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How old `sweep.csv` may be while runs end; it is written as a whole each time.
const TABLE_AGE: Duration = Duration::from_secs(2);

/// Progress on standard error.
pub struct SweepProgress {
    bar: Option<ProgressBar>,
    runs: usize,
    ended: usize,
    table_written: Instant,
}

impl SweepProgress {
    /// Of a sweep of `runs`, of which `earlier` need not run again.
    pub fn new(runs: usize, earlier: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let template = "{bar:30} {pos} of {len} runs  {elapsed}, {eta} left  {msg}";
            let style = ProgressStyle::with_template(template).expect("it is well-formed");
            let bar = ProgressBar::new(runs as u64).with_style(style);
            bar.set_position(earlier as u64);
            // The time left follows from the runs of this call alone.
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self { bar, runs, ended: earlier, table_written: now() }
    }

    /// A run has its results.
    pub fn ended(&mut self, what: &str) {
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
    pub fn failed(&mut self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| super::say(message)),
            None => super::say(message),
        }
    }

    /// Whether `sweep.csv` is to be written again, which it then is.
    pub fn is_table_due(&mut self) -> bool {
        let due = now() - self.table_written >= TABLE_AGE;
        if due {
            self.table_written = now();
        }
        due
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
