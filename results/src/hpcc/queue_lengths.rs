//! Histograms of queue lengths, sampled without an event for each sample: a queue that changes counts once for all
//! samples since its last change.
//!
//! Each switch counts its own ports ([`QueueLengths`]). When a dump is due, [`Dumps`] writes the counts of all.

use std::io::{self, Write};

use units::{Nanos, Picos};

use super::HpccNode;

/// Instants at which queues are sampled. Times are emulated, without an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSampling {
    /// The first sample.
    pub start: Nanos,
    /// The first sample at or after this instant is the last; `None`: samples until the run's end.
    pub stop: Option<Nanos>,
    /// From one sample to the next, above zero.
    pub interval: Nanos,
    /// Histograms are written where the time is a multiple of this; a multiple of `interval`.
    pub dump_interval: Nanos,
    /// End of sampling, exclusive: the scenario's duration.
    pub before: Nanos,
}

impl QueueSampling {
    /// Number of samples; `None` if it depends on the run's end.
    fn count(self) -> Option<u64> {
        let until_stop = self.stop?.0.saturating_sub(self.start.0).div_ceil(self.interval.0) + 1;
        let within = self.before.0.saturating_sub(self.start.0).div_ceil(self.interval.0);
        Some(until_stop.min(within))
    }

    /// Number of samples before `now`.
    fn before(self, now: Picos) -> u64 {
        let since = now.0.saturating_sub(self.start.0 * 1000);
        let past = since.div_ceil(self.interval.0 * 1000);
        self.count().map_or(past, |count| past.min(count))
    }

    fn instant(self, sample: u64) -> Nanos {
        Nanos(self.start.0 + sample * self.interval.0)
    }

    /// Instant of a sample; `Picos::MAX` of a sample that is not taken.
    fn due(self, sample: u64) -> Picos {
        let is_taken = self.count().is_none_or(|count| sample < count);
        if is_taken { Picos::from_nanos(self.instant(sample)) } else { Picos::MAX }
    }
}

/// One port.
#[derive(Clone, Debug)]
struct PortLengths {
    /// Bytes that wait now.
    waiting: u64,
    /// Instant of the first sample that is not counted yet.
    next: Picos,
    /// Samples that are counted.
    samples: u64,
    /// Samples by kilobytes.
    counts: Vec<u64>,
}

/// The ports of one switch.
#[derive(Clone, Debug)]
pub struct QueueLengths {
    sampling: QueueSampling,
    ports: Box<[PortLengths]>,
}

impl QueueLengths {
    /// Empty queues.
    pub fn new(ports: usize, sampling: QueueSampling) -> Self {
        let next = sampling.due(0);
        let port = PortLengths { waiting: 0, next, samples: 0, counts: Vec::new() };
        Self { sampling, ports: vec![port; ports].into() }
    }

    /// The queues of `port` hold `change` bytes more from `now` on. Calls come in time order.
    #[inline]
    pub fn change(&mut self, now: Picos, port: u16, change: i64) {
        let Self { sampling, ports } = self;
        let port = &mut ports[usize::from(port)];
        if port.next < now {
            port.count_to(sampling.before(now), *sampling);
        }
        let waiting = port.waiting.checked_add_signed(change);
        port.waiting = waiting.expect("no more leaves a queue than came into it");
    }
}

impl PortLengths {
    /// Counts the samples up to and without number `samples`.
    #[inline(never)]
    fn count_to(&mut self, samples: u64, sampling: QueueSampling) {
        let more = samples.saturating_sub(self.samples);
        if more > 0 {
            let kilobytes = (self.waiting / 1000) as usize;
            if self.counts.len() <= kilobytes {
                self.counts.resize(kilobytes + 1, 0);
            }
            self.counts[kilobytes] += more;
            self.samples = samples;
        }
        self.next = sampling.due(self.samples);
    }
}

/// Instants and ports of the histograms.
#[derive(Clone, Debug)]
pub struct Dumps {
    sampling: QueueSampling,
    time_offset: Nanos,
    /// Ids, interfaces, and the numbers of switches and ports, in the order of ids and interfaces.
    ports: Vec<(u32, u32, usize, usize)>,
    /// Sample of the next dump; `u64::MAX` for no dump.
    next: u64,
    last: Option<u64>,
}

impl Dumps {
    /// Creates dumps of which none is written; `switches` are in the order of their numbers.
    pub fn new(switches: &[&HpccNode], sampling: QueueSampling, time_offset: Nanos) -> Self {
        let of_switch = |(number, switch): (usize, &&HpccNode)| {
            let of_port = |(port, interface): (usize, &u32)| (switch.id, *interface, number, port);
            switch.interfaces.iter().enumerate().map(of_port).collect::<Vec<_>>()
        };
        let mut ports: Vec<_> = switches.iter().enumerate().flat_map(of_switch).collect();
        ports.sort_unstable();
        // Multiples of the dump interval lie among the samples at equal distances, or nowhere.
        let QueueSampling { interval, dump_interval, .. } = sampling;
        let behind = (sampling.start.0 + time_offset.0) % dump_interval.0;
        let until_dump = (dump_interval.0 - behind) % dump_interval.0;
        let reached = until_dump.is_multiple_of(interval.0);
        let next = if reached { until_dump / interval.0 } else { u64::MAX };
        Self { sampling, time_offset, ports, next, last: None }
    }

    /// Instant from which on the next dump can be written: just after its sample. `None` if no dump comes before the run's
    /// end.
    pub fn next_due(&self) -> Option<Picos> {
        let is_taken = self.sampling.count().is_none_or(|count| self.next < count);
        (self.next != u64::MAX && is_taken).then(|| Picos(self.sampling.due(self.next).0 + 1))
    }

    /// Writes the dumps due before `now`; `lengths` are in the order of switches' numbers.
    pub fn write_due(
        &mut self,
        now: Picos,
        lengths: &mut [&mut QueueLengths],
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.write_to(self.sampling.before(now), lengths, out)
    }

    /// Writes the dumps that are left when the run ends at `end`, after which nothing changes.
    pub fn finish(
        &mut self,
        end: Picos,
        lengths: &mut [&mut QueueLengths],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let run = self.sampling.before(Picos(end.0 + 1));
        let samples = self.sampling.count().unwrap_or(run);
        self.write_to(samples, lengths, out)?;
        match samples.checked_sub(1) {
            Some(last) if self.last != Some(last) => self.write(last, lengths, out),
            _ => Ok(()),
        }
    }

    fn write_to(
        &mut self,
        samples: u64,
        lengths: &mut [&mut QueueLengths],
        out: &mut impl Write,
    ) -> io::Result<()> {
        while self.next < samples {
            self.write(self.next, lengths, out)?;
            self.next += self.sampling.dump_interval.0 / self.sampling.interval.0;
        }
        Ok(())
    }

    fn write(
        &mut self,
        sample: u64,
        lengths: &mut [&mut QueueLengths],
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(out, "time: {}", self.sampling.instant(sample).0 + self.time_offset.0)?;
        for &(node, interface, switch, port) in &self.ports {
            let port = &mut lengths[switch].ports[port];
            port.count_to(sample + 1, self.sampling);
            write!(out, "{node} {interface}")?;
            port.counts.iter().try_for_each(|count| write!(out, " {count}"))?;
            writeln!(out)?;
        }
        self.last = Some(sample);
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
        let mut dumps = Dumps::new(&[&high, &low], sampling, Nanos(offset));
        let mut lengths = [QueueLengths::new(1, sampling), QueueLengths::new(2, sampling)];
        let mut out = Vec::new();
        for &(now, switch, port, change) in changes {
            while let Some(due) = dumps.next_due().filter(|due| *due <= Picos(now)) {
                dumps.write_due(due, &mut lengths.each_mut(), &mut out).unwrap();
            }
            lengths[switch as usize].change(Picos(now), port, change);
        }
        dumps.finish(Picos(1_000_000), &mut lengths.each_mut(), &mut out).unwrap();
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
        // No sample is at a multiple: only the last one is written.
        assert_eq!(dumps(sampling(50, Some(500), 200), 0), [550]);
        // To the run's end, and no further than the duration.
        assert_eq!(dumps(sampling(0, None, 1000), 0), [0, 1000]);
        assert_eq!(dumps(sampling(0, Some(2_000_000), 1_000_000), 0), [0, 999_900]);
        assert_eq!(dumps(sampling(600, Some(500), 1000), 0), [600]);
        assert!(dumps(sampling(2_000_000, Some(3_000_000), 1000), 0).is_empty());
    }
}
