//! Progress of a run for a person: a bar on a terminal, a line now and then elsewhere.

use std::time::{Duration, Instant};

use emulation::engine::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use results::{counted, span};
use units::Nanos;

/// Wall time between two lines.
const LINE_PERIOD: Duration = Duration::from_secs(10);

/// Progress on standard error.
pub struct RunProgress {
    bar: Option<ProgressBar>,
    started: Instant,
    course: Course,
}

/// Pace of a run, and the time of its next line. It reads no clock: wall time is an argument.
pub(super) struct Course {
    /// Emulated time at which the run ends at the latest.
    duration: Nanos,
    /// Wall and emulated time of the first call. Time before it was spent on the fabric's deployment.
    first: Option<(Duration, Nanos)>,
    /// Wall time of the next line.
    next_line: Duration,
}

impl RunProgress {
    /// Starts the progress of a run that begins now and emulates at most `duration`.
    pub fn new(duration: Nanos) -> Self {
        // Cut to the width of the terminal, because a second line would not be erased.
        let style = ProgressStyle::with_template("{bar:12} {wide_msg}").expect("it is well-formed");
        let bar = ProgressBar::new(duration.0 / 1000).with_style(style);
        // Hidden if standard error is not a terminal, or its terminal cannot move the cursor.
        let bar = Some(bar).filter(|bar| !bar.is_hidden());
        Self { bar, started: now(), course: Course::new(duration) }
    }

    /// Shows the run's progress.
    pub fn show(&mut self, progress: Progress) {
        let elapsed = now() - self.started;
        let Some(bar) = &self.bar else {
            if let Some(line) = self.course.line(elapsed, progress) {
                super::say(line);
            }
            return;
        };
        bar.set_position(progress.now.0 / 1000);
        bar.set_message(self.course.state(elapsed, progress));
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Course {
    /// Starts the pace of a run that begins now.
    pub(super) const fn new(duration: Nanos) -> Self {
        Self { duration, first: None, next_line: LINE_PERIOD }
    }

    /// Returns the line to print after `elapsed` of wall time, if one is due.
    pub(super) fn line(&mut self, elapsed: Duration, progress: Progress) -> Option<String> {
        // The pace counts from the first call.
        let state = self.state(elapsed, progress);
        (elapsed >= self.next_line).then(|| {
            self.next_line = elapsed + LINE_PERIOD;
            state
        })
    }

    /// Describes the progress, most important part first.
    fn state(&mut self, elapsed: Duration, progress: Progress) -> String {
        let left = self.time_left(elapsed, progress.now);
        let left = left.map(|left| format!(", at most {} left", wall(left)));
        format!(
            "{} of at most {} emulated{}; {} elapsed, {}",
            span(progress.now),
            span(self.duration),
            left.unwrap_or_default(),
            wall(elapsed),
            done(progress),
        )
    }

    /// Returns the wall time until the duration is over at the pace so far; the run may end earlier. `None` until there
    /// is a pace.
    fn time_left(&mut self, elapsed: Duration, now: Nanos) -> Option<Duration> {
        let (began, from) = *self.first.get_or_insert((elapsed, now));
        let spent = elapsed.saturating_sub(began).as_nanos();
        let left = u128::from(self.duration.0.saturating_sub(now.0));
        let nanos = (spent * left).checked_div(u128::from(now.0.saturating_sub(from.0)))?;
        Some(Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX)))
    }
}

/// Describes the work done.
fn done(progress: Progress) -> String {
    let Progress { flows_completed, packet_hops, .. } = progress;
    format!("{} done, {}", counted(flows_completed, "flow"), counted(packet_hops, "packet-hop"))
}

/// Formats a time: `59 s`, `12 min 5 s`, `3 h 20 min`.
fn wall(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[expect(clippy::disallowed_methods, reason = "what a person sees of a run, never what it leaves")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    fn at(now: u64) -> Progress {
        Progress { now: Nanos(now), flows_completed: 1, packet_hops: 2_000_000 }
    }

    #[test]
    fn a_line_is_printed_after_each_ten_seconds() {
        let mut course = Course::new(SECOND);
        let mut printed = Vec::new();
        // 1 ms of emulated time each 100 ms; for 15 s the run reports nothing.
        for tick in (0..300).filter(|tick| !(101..250).contains(tick)) {
            let elapsed = Duration::from_millis(tick * 100);
            printed.extend(course.line(elapsed, at(tick * 1_000_000)));
        }
        assert_eq!(
            printed,
            [
                "100 ms of at most 1 s emulated, at most 1 min 30 s left; 10 s elapsed, \
                 1 flow done, 2,000,000 packet-hops",
                "250 ms of at most 1 s emulated, at most 1 min 15 s left; 25 s elapsed, \
                 1 flow done, 2,000,000 packet-hops",
            ]
        );
    }

    #[test]
    fn a_short_run_prints_nothing() {
        let mut course = Course::new(SECOND);
        let elapsed = [0, 5, 9].map(Duration::from_secs);
        assert!(elapsed.iter().all(|&elapsed| course.line(elapsed, at(1)).is_none()));
        let almost = Duration::from_nanos(9_999_999_999);
        assert_eq!(course.line(almost, at(SECOND.0)), None, "also at its end");
    }

    #[test]
    fn time_before_the_first_progress_does_not_count_as_pace() {
        let mut course = Course::new(SECOND);
        let left = |course: &mut Course, elapsed, now| {
            course.time_left(Duration::from_secs(elapsed), Nanos(now))
        };
        assert_eq!(left(&mut course, 60, 0), None, "the fabric is up");
        assert_eq!(left(&mut course, 61, 0), None, "no emulated time has passed");
        assert_eq!(left(&mut course, 70, SECOND.0 / 4), Some(Duration::from_secs(30)));
        assert_eq!(left(&mut course, 90, SECOND.0), Some(Duration::ZERO));
        // A run of 1000 years.
        let mut course = Course::new(Nanos(u64::MAX));
        left(&mut course, 0, 0);
        assert_eq!(left(&mut course, 1000, 1), Some(Duration::from_nanos(u64::MAX)));
        let line = course.line(Duration::from_secs(1000), at(1)).expect("it is due");
        assert!(line.contains(", at most 5124095 h 34 min left; 16 min 40 s elapsed"), "{line}");
    }

    #[test]
    fn wall_time_has_two_units() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (725, "12 min 5 s"), (12_059, "3 h 20 min")]
        {
            assert_eq!(wall(Duration::from_secs(seconds)), text);
        }
    }
}
