//! `distributions.csv`.

use hdrhistogram::Histogram;

use super::column::Column;
use super::distribution::{add, buckets, empty_histogram};
use super::row::{Fields, Row};
use super::share::Share;

/// Measures of headroom and of paused ingress queues, over all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A local maximum of a switch's headroom in use, in 1/10000 of all that it reserves (DSH, Fig. 6).
    SwitchHeadroom,
    /// A local maximum of the headroom that a port's ingress queues use, in 1/10000 of the port's reservation.
    PortHeadroom,
    /// A local maximum of an ingress queue's headroom, in 1/10000 of its reservation (under DSH, of its port's).
    QueueHeadroom,
    /// Lossless ingress queues of a switch in state OFF, while its headroom is in use (DSH, Fig. 7).
    QueuesOff,
    /// Lossless ingress queues of a port in state OFF, while the port's headroom is in use.
    PortQueuesOff,
    /// Mbit/s that come to an ingress queue from its PAUSE on, until that must have taken effect (DSH,
    /// Fig. 8 and 9).
    ArrivalRate,
    /// Mbit/s that leave it in that time (DSH, Fig. 10).
    DepartureRate,
    /// Nanoseconds from a decision to pause to the decision to resume.
    PauseDuration,
    /// Ports of a switch in state OFF (DSH, Section IV-E), while its headroom is in use.
    PortsOff,
    /// `ArrivalRate` of all lossless classes of a port that pauses them all.
    PortArrivalRate,
    /// `DepartureRate` of all lossless classes of a port that pauses them all.
    PortDepartureRate,
    /// `PauseDuration` of a port.
    PortPauseDuration,
}

impl Measure {
    /// Every measure, in the order of the file.
    pub const ALL: [Self; 12] = [
        Self::SwitchHeadroom,
        Self::PortHeadroom,
        Self::QueueHeadroom,
        Self::QueuesOff,
        Self::PortQueuesOff,
        Self::ArrivalRate,
        Self::DepartureRate,
        Self::PauseDuration,
        Self::PortsOff,
        Self::PortArrivalRate,
        Self::PortDepartureRate,
        Self::PortPauseDuration,
    ];

    /// Name in `distributions.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SwitchHeadroom => "switch-headroom",
            Self::PortHeadroom => "port-headroom",
            Self::QueueHeadroom => "queue-headroom",
            Self::QueuesOff => "queues-off",
            Self::PortQueuesOff => "port-queues-off",
            Self::ArrivalRate => "arrival-rate",
            Self::DepartureRate => "departure-rate",
            Self::PauseDuration => "pause-duration",
            Self::PortsOff => "ports-off",
            Self::PortArrivalRate => "port-arrival-rate",
            Self::PortDepartureRate => "port-departure-rate",
            Self::PortPauseDuration => "port-pause-duration",
        }
    }
}

/// A histogram for each measure, in memory whose size is independent of the run.
#[derive(Clone, Debug)]
pub struct Measurements {
    histograms: [Histogram<u64>; Measure::ALL.len()],
}

impl Default for Measurements {
    fn default() -> Self {
        Self { histograms: std::array::from_fn(|_| empty_histogram()) }
    }
}

impl Measurements {
    /// Adds a value that counts `weight` times.
    pub fn record(&mut self, measure: Measure, value: u64, weight: u64) {
        add(&mut self.histograms[measure as usize], value, weight);
    }

    /// Adds all that `other` has recorded.
    pub fn add(&mut self, other: &Self) {
        for (histogram, more) in self.histograms.iter_mut().zip(&other.histograms) {
            histogram.add(more).expect("all histograms have the same range");
        }
    }

    /// The rows of the file.
    pub fn rows(&self) -> Vec<DistributionRow> {
        let rows =
            Measure::ALL.into_iter().zip(&self.histograms).flat_map(|(measure, histogram)| {
                let total = histogram.len();
                let mut up_to = 0;
                buckets(histogram).map(move |(value, weight)| {
                    up_to += weight;
                    DistributionRow { measure, value, weight, up_to, total }
                })
            });
        rows.collect()
    }
}

/// One step of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistributionRow {
    /// The measure.
    pub measure: Measure,
    /// The value, in the measure's unit; the lowest of its bucket.
    pub value: u64,
    /// Number of occurrences, or nanoseconds.
    pub weight: u64,
    /// The weight of this row and all before it.
    pub up_to: u64,
    /// The weight of all values.
    pub total: u64,
}

impl Row for DistributionRow {
    const FILE: &'static str = "distributions.csv";
    const ABOUT: &'static str = "Only with `results.distributions = true`. How headroom is used and \
                                 what happens to paused ingress queues, over all switches: one row \
                                 per value that occurred, ascending by measure and value. Values \
                                 below 2048 are exact, the others too low by less than 1/1024 \
                                 (0.1 %).";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::text(
            "measure",
            "`switch-headroom`: each local maximum of the headroom in use in a switch, in \
                    1/10000 of all headroom that it reserves, with adaptive headroom before the \
                    first measurement (a maximum is passed when the use falls, or the run ends). \
                    `port-headroom`: the same for all ingress queues of a port, in 1/10000 of what \
                    they reserve together. `queue-headroom`: the same for one ingress queue, in \
                    1/10000 of its own reserve, or under DSH of its port's insurance headroom. `queues-off`: lossless \
                    ingress queues of a switch in state OFF, weighted by the time for which its \
                    headroom is in use; `port-queues-off`: the same for a port. `arrival-rate`: Mbit/s of \
                    frames that come to a queue, from a decision to pause until the PAUSE must have \
                    taken effect: two longest frames, the PAUSE itself, the response time and both \
                    ways' propagation. That is the time for which its headroom is meant, and it \
                    counts whole, also if the queue resumes before. `departure-rate`: Mbit/s of \
                    frames that leave the queue in that time. Both count frames with their headers \
                    when their last bit has come in or their transmission begins, and not the \
                    one that triggers the PAUSE. `pause-duration`: nanoseconds from a decision to \
                    pause to the decision to resume, or to the run's end. All these are of queues \
                    that are OFF themselves, also under DSH: each is one that asks for headroom of \
                    its own, which is what is compared with the scheme that reserves it by queue. \
                    A port that is OFF stops all its lossless priorities for the sake of its one \
                    insurance headroom, however many of its queues ask for it. It is measured as one, \
                    under DSH only: `ports-off`, `port-arrival-rate`, `port-departure-rate` and \
                    `port-pause-duration` are the same of ports, the rates those of all lossless \
                    priorities together.",
        ),
        Column::integer("value", "Value, in the unit of its measure."),
        Column::integer(
            "weight",
            "How often it occurred; nanoseconds summed over switches or ports for `queues-off`, \
                    `port-queues-off` and `ports-off`.",
        ),
        Column::decimal(
            "cumulative",
            "Share of the measure's weight in this row and those before it.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.measure.name()).add(self.value).add(self.weight);
        row.add(Share { part: self.up_to.into(), whole: self.total.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn a_distribution_is_cumulative_within_its_measure() {
        let mut measurements = Measurements::default();
        measurements.record(Measure::PauseDuration, 0, 1);
        measurements.record(Measure::QueuesOff, 2, 300);
        measurements.record(Measure::QueuesOff, 1, 100);
        measurements.record(Measure::QueuesOff, 2, 200);
        measurements.record(Measure::PauseDuration, 1_000_000, 2);
        let lines: Vec<String> = measurements.rows().iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "queues-off,1,100,0.166666\n",
                "queues-off,2,500,1.000000\n",
                "pause-duration,0,1,0.333333\n",
                "pause-duration,999936,2,1.000000\n",
            ]
        );
    }
}
