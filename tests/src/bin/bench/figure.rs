//! Figures: the measurement of each round, their median, and the aim.

use std::fmt;
use std::ops::Div;
use std::time::{Duration, Instant};

use emulation::cpu_time;

/// One quantity, measured in several rounds.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<f64>);

impl Series {
    /// Adds a round.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The values, in the order of the rounds.
    pub fn rounds(&self) -> impl Iterator<Item = f64> {
        self.0.iter().copied()
    }

    /// The value in the middle; of an even number, the lower one.
    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        sorted[(sorted.len() - 1) / 2]
    }

    fn sorted(&self) -> Vec<f64> {
        assert!(!self.0.is_empty(), "a figure has at least one round");
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted = self.sorted();
        let median = readable(self.median());
        let spread = [sorted[0], sorted[sorted.len() - 1]].map(readable);
        write!(f, "{median:>10}  ({} to {})", spread[0], spread[1])
    }
}

/// Four digits or more, thousands apart.
fn readable(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.3}");
    }
    if value < 1000.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}

/// Bound that a figure should reach.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

impl Aim {
    /// Text of the aim beside a figure, which reports whether its median reaches it.
    pub fn text(self, figure: &Series) -> String {
        let median = figure.median();
        let (sign, bound, reached) = match self {
            Self::AtLeast(bound) => (">=", bound, median >= bound),
            Self::AtMost(bound) => ("<=", bound, median <= bound),
        };
        format!("aim {sign} {}: {}", readable(bound), if reached { "reached" } else { "MISSED" })
    }
}

/// Events per second, of the processor's time and of the wall's.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    cpu: f64,
    wall: f64,
}

impl Div for Rate {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Self { cpu: self.cpu / other.cpu, wall: self.wall / other.wall }
    }
}

/// [`Rate`]s of several rounds.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Per second of processor time.
    pub cpu: Series,
    /// Per second.
    pub wall: Series,
}

impl Rates {
    /// Adds a round.
    pub fn push(&mut self, rate: Rate) {
        self.cpu.push(rate.cpu);
        self.wall.push(rate.wall);
    }
}

/// Measures from its creation on.
pub struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts.
    #[expect(clippy::disallowed_methods, reason = "what is measured here is the machine")]
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_time::process_time() }
    }

    /// Time on the wall so far.
    pub fn elapsed(&self) -> Duration {
        self.wall.elapsed()
    }

    /// The rate, if `events` have happened since the start.
    pub fn rate(&self, events: u64) -> Rate {
        let cpu = cpu_time::process_time().saturating_sub(self.cpu);
        let per_second = |time: Duration| events as f64 / time.as_secs_f64();
        Rate { cpu: per_second(cpu), wall: per_second(self.elapsed()) }
    }
}
