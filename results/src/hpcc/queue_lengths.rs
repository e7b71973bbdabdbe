//! Histograms of queue lengths, sampled without an event for each sample: a queue that changes
//! counts once for all samples since its last change.

use std::io::{self, Write};

use units::{Nanos, Picos};

use super::HpccNode;

/// When queues are looked at. Times are emulated, without an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSampling {
    /// The first sample.
    pub start: Nanos,
    /// The first sample at or after this is the last; `None` goes on to the run's end.
    pub stop: Option<Nanos>,
    /// From one sample to the next, above zero.
    pub interval: Nanos,
    /// Histograms are written where the time is a multiple of this; a multiple of `interval`.
    pub dump_interval: Nanos,
    /// No sample is at or after this: the scenario's duration.
    pub before: Nanos,
}

impl QueueSampling {
    /// How many samples there are, unless the run's end decides.
    fn count(self) -> Option<u64> {
        let until_stop = self.stop?.0.saturating_sub(self.start.0).div_ceil(self.interval.0) + 1;
        let within = self.before.0.saturating_sub(self.start.0).div_ceil(self.interval.0);
        Some(until_stop.min(within))
    }

    /// How many samples come before `now`.
    fn before(self, now: Picos) -> u64 {
        let since = now.0.saturating_sub(self.start.0 * 1000);
        let past = since.div_ceil(self.interval.0 * 1000);
        self.count().map_or(past, |count| past.min(count))
    }

    fn instant(self, sample: u64) -> Nanos {
        Nanos(self.start.0 + sample * self.interval.0)
    }
}

/// One switch port.
#[derive(Clone, Debug)]
struct PortLengths {
    node: u32,
    interface: u32,
    /// Bytes that wait now.
    waiting: u64,
    /// Samples that are counted.
    samples: u64,
    /// Samples by kilobytes.
    counts: Vec<u64>,
}

impl PortLengths {
    /// Counts the samples up to and without number `samples`.
    fn count_to(&mut self, samples: u64) {
        let more = samples.saturating_sub(self.samples);
        if more == 0 {
            return;
        }
        let kilobytes = (self.waiting / 1000) as usize;
        if self.counts.len() <= kilobytes {
            self.counts.resize(kilobytes + 1, 0);
        }
        self.counts[kilobytes] += more;
        self.samples = samples;
    }
}

/// All switch ports.
#[derive(Clone, Debug)]
pub struct QueueLengths {
    sampling: QueueSampling,
    time_offset: Nanos,
    /// In the order of ids and interfaces.
    ports: Vec<PortLengths>,
    /// Where a port of a switch is in `ports`.
    places: Vec<Vec<usize>>,
    /// The sample of the next dump; none is `u64::MAX`.
    next_dump: u64,
    last_dump: Option<u64>,
}

impl QueueLengths {
    /// Empty queues; `switches` are in the order of their numbers.
    pub fn new(switches: &[&HpccNode], sampling: QueueSampling, time_offset: Nanos) -> Self {
        let port = |node, interface| PortLengths {
            node,
            interface,
            waiting: 0,
            samples: 0,
            counts: Vec::new(),
        };
        let of_switch =
            |switch: &&HpccNode| switch.interfaces.iter().map(|of| (switch.id, *of)).collect();
        let keys: Vec<Vec<(u32, u32)>> = switches.iter().map(of_switch).collect();
        let mut sorted: Vec<(u32, u32)> = keys.iter().flatten().copied().collect();
        sorted.sort_unstable();
        let place = |key| sorted.binary_search(key).expect("every key is among the sorted ones");
        let places = keys.iter().map(|keys| keys.iter().map(place).collect()).collect();
        // Multiples of the dump interval lie among the samples at equal distances, or nowhere.
        let QueueSampling { interval, dump_interval, .. } = sampling;
        let behind = (sampling.start.0 + time_offset.0) % dump_interval.0;
        let until_dump = (dump_interval.0 - behind) % dump_interval.0;
        let reached = until_dump.is_multiple_of(interval.0);
        Self {
            sampling,
            time_offset,
            ports: sorted.iter().map(|&(node, interface)| port(node, interface)).collect(),
            places,
            next_dump: if reached { until_dump / interval.0 } else { u64::MAX },
            last_dump: None,
        }
    }

    /// Whether [`Self::write_due`] has something to write.
    #[inline]
    pub fn is_dump_due(&self, now: Picos) -> bool {
        self.next_dump < self.sampling.before(now)
    }

    /// Writes what was to be written before `now`.
    pub fn write_due(&mut self, now: Picos, out: &mut impl Write) -> io::Result<()> {
        self.write_dumps(self.sampling.before(now), out)
    }

    /// The queues of a switch's port hold `change` bytes more from `now` on.
    #[inline]
    pub fn change(&mut self, now: Picos, switch: u32, port: u16, change: i64) {
        let samples = self.sampling.before(now);
        let port = &mut self.ports[self.places[switch as usize][usize::from(port)]];
        port.count_to(samples);
        let waiting = port.waiting.checked_add_signed(change);
        port.waiting = waiting.expect("no more leaves a queue than came into it");
    }

    /// Counts and writes what is left when the run ends at `end`: from there on nothing changes.
    pub fn finish(&mut self, end: Picos, out: &mut impl Write) -> io::Result<()> {
        let run = self.sampling.before(Picos(end.0 + 1));
        let samples = self.sampling.count().unwrap_or(run);
        self.write_dumps(samples, out)?;
        match samples.checked_sub(1) {
            Some(last) if self.last_dump != Some(last) => self.write(last, out),
            _ => Ok(()),
        }
    }

    fn write_dumps(&mut self, samples: u64, out: &mut impl Write) -> io::Result<()> {
        while self.next_dump < samples {
            self.write(self.next_dump, out)?;
            self.next_dump += self.sampling.dump_interval.0 / self.sampling.interval.0;
        }
        Ok(())
    }

    fn write(&mut self, sample: u64, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time: {}", self.sampling.instant(sample).0 + self.time_offset.0)?;
        for port in &mut self.ports {
            port.count_to(sample + 1);
            write!(out, "{} {}", port.node, port.interface)?;
            port.counts.iter().try_for_each(|count| write!(out, " {count}"))?;
            writeln!(out)?;
        }
        self.last_dump = Some(sample);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(start: u64, stop: Option<u64>, dump_interval: u64) -> QueueSampling {
        QueueSampling {
            start: Nanos(start),
            stop: stop.map(Nanos),
            interval: Nanos(100),
            dump_interval: Nanos(dump_interval),
            before: Nanos(1_000_000),
        }
    }

    /// Two switches, the second with the lower id; changes are (ps, switch, port, bytes).
    fn text(sampling: QueueSampling, offset: u64, changes: &[(u64, u32, u16, i64)]) -> String {
        let node = |id, interfaces: &[u32]| HpccNode {
            id,
            is_switch: true,
            interfaces: interfaces.to_vec(),
        };
        let (high, low) = (node(9, &[1]), node(4, &[1, 3]));
        let mut lengths = QueueLengths::new(&[&high, &low], sampling, Nanos(offset));
        let mut out = Vec::new();
        for &(now, switch, port, change) in changes {
            lengths.write_due(Picos(now), &mut out).unwrap();
            lengths.change(Picos(now), switch, port, change);
        }
        lengths.finish(Picos(1_000_000), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_port_counts_each_sample_once_where_it_was() {
        // Samples at 0, 100, .. 400 ns. What comes at 100 ns is there at 100 ns.
        let changes = [
            (100_000, 1, 1, 2500),
            (100_001, 1, 1, -2500),
            (150_000, 1, 1, 999),
            (200_000, 1, 1, 1),
        ];
        assert_eq!(
            text(sampling(0, Some(400), 1000), 0, &changes),
            "time: 0\n4 1 1\n4 3 1\n9 1 1\ntime: 400\n4 1 5\n4 3 1 3 1\n9 1 5\n"
        );
        let stays = [(100_000, 0, 0, 2500), (200_001, 0, 0, -2500)];
        assert_eq!(
            text(sampling(100, Some(300), 100_000), 0, &stays),
            "time: 300\n4 1 3\n4 3 3\n9 1 1 0 2\n"
        );
    }

    #[test]
    fn dumps_come_at_multiples_with_the_offset() {
        let dumps = |sampling, offset| {
            let text = text(sampling, offset, &[(450_000, 0, 0, 1000)]);
            let times = text.lines().filter_map(|line| line.strip_prefix("time: "));
            times.map(|time| time.parse().unwrap()).collect::<Vec<u64>>()
        };
        assert_eq!(dumps(sampling(0, Some(500), 200), 0), [0, 200, 400, 500]);
        assert_eq!(
            dumps(sampling(0, Some(500), 200), 2_000_000_100),
            [2_000_000_200, 2_000_000_400, 2_000_000_600]
        );
        // No sample is at a multiple: the last one alone is written.
        assert_eq!(dumps(sampling(50, Some(500), 200), 0), [550]);
        // To the run's end, and no further than the duration.
        assert_eq!(dumps(sampling(0, None, 1000), 0), [0, 1000]);
        assert_eq!(dumps(sampling(0, Some(2_000_000), 1_000_000), 0), [0, 999_900]);
        assert_eq!(dumps(sampling(600, Some(500), 1000), 0), [600]);
        assert!(dumps(sampling(2_000_000, Some(3_000_000), 1000), 0).is_empty());
    }
}
