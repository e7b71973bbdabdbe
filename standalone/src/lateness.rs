//! Lateness of a process at its due times, which a chip would not have.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;
use units::Picos;

/// Max lost time that a port makes up for by sending frames without a gap, 250 us. The neighbour's headroom has to
/// hold the resulting burst.
pub const CATCH_UP: Picos = Picos(250_000_000);

/// Statistics of lateness.
#[derive(Debug)]
pub struct Lateness {
    /// Lateness, ns, up to a minute; longer values count as a minute.
    histogram: Histogram<u64>,
    /// Max lateness, ns, without this limit.
    most_ns: u64,
}

/// Summary of lateness, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Late {
    /// Number of recorded events.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Max.
    pub most_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 2);
        Self { histogram: histogram.expect("the bounds are apart"), most_ns: 0 }
    }
}

impl Lateness {
    /// Records an event that was due at `due` and was done at `now`.
    pub fn record(&mut self, due: Picos, now: Picos) {
        let late = now.0.saturating_sub(due.0) / 1000;
        self.histogram.saturating_record(late);
        self.most_ns = self.most_ns.max(late);
    }

    /// Summary of all recorded events.
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

/// Pacing of a port, which sends one frame after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// End of the last frame.
    free_at: Picos,
    /// True if the port had more to send when it was last served. If so, a departure after `free_at` is late.
    backlogged: bool,
    /// Lost time that the port did not make up for.
    lost: Picos,
}

impl Pace {
    /// Instant at which the port is free.
    pub const fn free_at(&self) -> Picos {
        self.free_at
    }

    /// Time that the port has lost because its process was late.
    pub const fn lost(&self) -> Picos {
        self.lost
    }

    /// Records that the port has nothing that it may send.
    pub fn rest(&mut self) {
        self.backlogged = false;
    }

    /// Sends a frame now, which occupies the port for `span`. Returns the instant from which it could have been
    /// sent.
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
