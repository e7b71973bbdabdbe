//! Payload of flows by intervals.

use units::{BitsPerSecond, Picos};

use super::error::ResultsError;
use super::tables::ThroughputRow;

/// Counts the bytes of one interval after the other. Memory grows with the flows under way.
#[derive(Clone, Debug)]
pub struct ThroughputMeter {
    interval: Picos,
    labels: Vec<String>,
    /// Flows under way that are counted, ascending.
    counted: Vec<u32>,
    /// The interval's number.
    current: u64,
    /// Flows with bytes in it, ascending.
    bytes: Vec<(u32, u64)>,
}

impl ThroughputMeter {
    /// Counts the flows of these labels over this interval, above zero.
    pub const fn new(interval: Picos, labels: Vec<String>) -> Self {
        Self { interval, labels, counted: Vec::new(), current: 0, bytes: Vec::new() }
    }

    /// A flow begins. Flows begin in the order of their numbers.
    pub fn start(&mut self, flow: u32, label: &str) {
        if self.labels.iter().any(|counted| counted == label) {
            self.counted.push(flow);
        }
    }

    /// A flow is over.
    pub fn end(&mut self, flow: u32) {
        if let Ok(place) = self.counted.binary_search(&flow) {
            self.counted.remove(place);
        }
    }

    /// Payload arrived at `now`, no earlier than any before. If it is the first of a new interval,
    /// the rows of the one before go to `write`.
    pub fn deliver(
        &mut self,
        now: Picos,
        flow: u32,
        bytes: u64,
        write: impl FnMut(&ThroughputRow) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        if self.counted.binary_search(&flow).is_err() {
            return Ok(());
        }
        let interval = now.0 / self.interval.0;
        if interval != self.current {
            self.close(write)?;
            self.current = interval;
        }
        match self.bytes.binary_search_by_key(&flow, |&(flow, _)| flow) {
            Ok(place) => self.bytes[place].1 += bytes,
            Err(place) => self.bytes.insert(place, (flow, bytes)),
        }
        Ok(())
    }

    /// Ends the present interval.
    pub fn close(
        &mut self,
        mut write: impl FnMut(&ThroughputRow) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        let start = Picos(self.current * self.interval.0).to_nanos();
        for (flow, bytes) in self.bytes.drain(..) {
            write(&ThroughputRow { start, flow, bytes, rate: rate(bytes, self.interval) })?;
        }
        Ok(())
    }
}

fn rate(bytes: u64, span: Picos) -> BitsPerSecond {
    let span = u128::from(span.0);
    let bits = u128::from(bytes) * 8_000_000_000_000;
    BitsPerSecond(((bits * 2 + span) / (span * 2)).try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn intervals_follow_each_other_and_skip_what_is_silent() {
        let mut meter = ThroughputMeter::new(Picos(10_000), vec!["a".into()]);
        let mut rows: Vec<String> = Vec::new();
        let mut write = |row: &ThroughputRow| {
            rows.push(line(row));
            Ok(())
        };
        for (flow, label) in [(0, "a"), (1, "b"), (2, "a")] {
            meter.start(flow, label);
        }
        for (now, flow, bytes) in
            [(0, 2, 100), (1, 1, 7), (2, 0, 50), (9_999, 2, 25), (10_000, 0, 1), (49_999, 0, 1000)]
        {
            meter.deliver(Picos(now), flow, bytes, &mut write).unwrap();
        }
        meter.end(0);
        meter.deliver(Picos(49_999), 0, 1, &mut write).unwrap();
        meter.close(&mut write).unwrap();
        meter.close(&mut write).unwrap();
        let expected = [
            "0,0,50,40000000000\n",
            "0,2,125,100000000000\n",
            "10,0,1,800000000\n",
            "40,0,1000,800000000000\n",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn rates_round_half_up() {
        assert_eq!(rate(1, Picos(3_000_000)), BitsPerSecond(2_666_667));
        assert_eq!(rate(u64::MAX / 8, Picos(1_000_000_000_000)), BitsPerSecond(u64::MAX - 7));
    }
}
