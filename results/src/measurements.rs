//! Measures of headroom and of paused queues.

use hdrhistogram::Histogram;

use super::distribution::{add, buckets, empty_histogram};
use super::tables::DistributionRow;

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
