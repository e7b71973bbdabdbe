//! How late a process did what was due: what tells it from a chip.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;
use units::Picos;

/// A port that had to wait for its process makes up for at most so much lost time, by sending frames without a gap. Headroom
/// at its neighbour has to hold what that brings.
pub const CATCH_UP: Picos = Picos(250_000_000);

/// Counts how late something was.
#[derive(Debug)]
pub struct Lateness {
    /// In nanoseconds, up to a minute; what was later counts as that.
    histogram: Histogram<u64>,
    /// However late it was.
    most_ns: u64,
}

/// How late it was, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Late {
    /// How many times.
    pub count: u64,
    /// Half of them were at most so late.
    pub p50_ns: u64,
    /// 99 of 100 were.
    pub p99_ns: u64,
    /// All were.
    pub most_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 2);
        Self { histogram: histogram.expect("the bounds are apart"), most_ns: 0 }
    }
}

impl Lateness {
    /// What was due at an instant is done at `now`.
    pub fn record(&mut self, due: Picos, now: Picos) {
        let late = now.0.saturating_sub(due.0) / 1000;
        self.histogram.saturating_record(late);
        self.most_ns = self.most_ns.max(late);
    }

    /// What was counted.
    pub fn late(&self) -> Late {
        Late {
            count: self.histogram.len(),
            p50_ns: self.histogram.value_at_quantile(0.5),
            p99_ns: self.histogram.value_at_quantile(0.99),
            most_ns: self.most_ns,
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, p50_ns, p99_ns, most_ns } = self;
        let [p50, p99, most] = [p50_ns, p99_ns, most_ns].map(|ns| ns / 1000);
        write!(
            f,
            "{count} times; half within {p50} us, 99 of 100 within {p99} us, all within {most} us"
        )
    }
}

/// A port that sends one frame after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// When it is free.
    free_at: Picos,
    /// Whether it had more to send when it was last looked at: then it was late if that was after `free_at`.
    backlogged: bool,
    /// Time that it did not make up for.
    lost: Picos,
}

impl Pace {
    /// When it is free.
    pub const fn free_at(&self) -> Picos {
        self.free_at
    }

    /// Time that it has lost to its process.
    pub const fn lost(&self) -> Picos {
        self.lost
    }

    /// It has nothing that it may send.
    pub fn rest(&mut self) {
        self.backlogged = false;
    }

    /// It sends something now that occupies it for `span`, and says since when it could have been sent.
    pub fn occupy(&mut self, now: Picos, span: Picos) -> Picos {
        let due = if self.backlogged { self.free_at } else { now };
        let earliest = Picos(now.0.saturating_sub(CATCH_UP.0));
        let start = due.max(earliest);
        self.lost += start.since(due);
        self.free_at = start + span;
        self.backlogged = true;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_counted_in_nanoseconds() {
        let mut lateness = Lateness::default();
        for late in 1..=100 {
            lateness.record(Picos(5000), Picos(5000 + late * 1_000_000));
        }
        lateness.record(Picos(9), Picos(5));
        let Late { count, p50_ns, most_ns, .. } = lateness.late();
        assert_eq!(count, 101);
        assert!((49_000..52_000).contains(&p50_ns), "{p50_ns}");
        assert_eq!(most_ns, 100_000);
        lateness.record(Picos(0), Picos(120_000_000_000_000));
        assert_eq!(lateness.late().most_ns, 120_000_000_000, "two minutes");
    }

    #[test]
    fn a_port_makes_up_for_a_late_process_within_limits() {
        let mut pace = Pace::default();
        let at = |us: u64| Picos(us * 1_000_000);
        assert_eq!(pace.occupy(at(1000), at(10)), at(1000), "it was idle: not late");
        assert_eq!(pace.free_at(), at(1010));
        assert_eq!(pace.occupy(at(1100), at(10)), at(1010), "90 us late");
        assert_eq!((pace.free_at(), pace.lost()), (at(1020), Picos(0)));
        assert_eq!(pace.occupy(at(2000), at(10)), at(1020));
        assert_eq!((pace.free_at(), pace.lost()), (at(1760), at(730)));
        pace.rest();
        assert_eq!(pace.occupy(at(3000), at(10)), at(3000), "it was paused");
    }
}
