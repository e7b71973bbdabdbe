//! Pauses over time, from the hop control frames that arrived.

use std::collections::BTreeMap;

use fabric_core::hop_control::HopControl;
use fabric_core::map_abi::PRIORITIES;
use results::{LoggedKind, WireLogRecord};
use units::Picos;

use super::log::Log;

/// One pause of a class or a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Start of the pause at the sender.
    pub from: Picos,
    /// End of the pause at the sender.
    pub to: Picos,
    /// Instant at which the neighbour sent the frame that began the pause.
    pub sent_at: Picos,
}

/// A pause that has not ended yet. It ends at `until` unless another frame arrives.
#[derive(Clone, Copy)]
struct Open {
    pause: Pause,
    until: Picos,
}

/// All pauses, each in order of time and without overlaps.
#[derive(Debug)]
pub struct Pauses {
    /// Pauses of classes, by wire whose sender is paused, and class.
    classes: Vec<[Vec<Pause>; PRIORITIES]>,
    /// Pauses of queues, by wire and queue of its sender.
    queues: BTreeMap<(u32, u8), Vec<Pause>>,
    /// Priority of packets, by wire and queue that is paused individually.
    priorities: BTreeMap<(u32, u8), u8>,
}

/// A class or queue while its pauses are read.
#[derive(Default)]
struct Lane {
    done: Vec<Pause>,
    open: Option<Open>,
}

impl Lane {
    /// Pauses the class or queue at an instant, until another.
    fn stop(&mut self, at: Picos, until: Picos, sent_at: Picos) {
        self.expire(at);
        match &mut self.open {
            Some(open) => open.until = until,
            None => self.open = Some(Open { pause: Pause { from: at, to: until, sent_at }, until }),
        }
    }

    /// Resumes the class or queue.
    fn go(&mut self, at: Picos) {
        self.expire(at);
        if let Some(Open { pause, .. }) = self.open.take() {
            self.done.push(Pause { to: at, ..pause });
        }
    }

    fn expire(&mut self, at: Picos) {
        if let Some(Open { pause, until }) = self.open
            && until < at
        {
            self.done.push(Pause { to: until, ..pause });
            self.open = None;
        }
    }

    fn finish(mut self, end: Picos) -> Vec<Pause> {
        if let Some(Open { pause, until }) = self.open {
            self.done.push(Pause { to: until.min(end).max(pause.from), ..pause });
        }
        self.done
    }
}

impl Pauses {
    /// Reads the pauses of a log.
    pub fn new(log: &Log) -> Self {
        let mut queues = BTreeMap::new();
        let mut priorities = BTreeMap::new();
        let mut classes = Vec::new();
        for (wire, _) in (0_u32..).zip(&log.wires) {
            let mut lanes: [Lane; PRIORITIES] = Default::default();
            let mut by_queue: BTreeMap<u8, Lane> = BTreeMap::new();
            // Hop control frames arrive by the opposite direction of the link.
            for &number in log.wire_records(wire ^ 1) {
                hear(log.record(number), &mut lanes, &mut by_queue);
            }
            classes.push(lanes.map(|lane| lane.finish(log.end)));
            if !by_queue.is_empty() {
                let sent = log.wire_records(wire).iter().map(|&number| log.record(number));
                let data = sent.filter(|record| record.kind == LoggedKind::Data);
                priorities.extend(data.map(|record| ((wire, record.queue), record.priority)));
            }
            for (queue, lane) in by_queue {
                queues.insert((wire, queue), lane.finish(log.end));
            }
        }
        Self { classes, queues, priorities }
    }

    /// Returns the pauses of a class of a wire's sender.
    pub fn class_pauses(&self, wire: u32, priority: u8) -> &[Pause] {
        self.classes[wire as usize].get(usize::from(priority)).map_or(&[], Vec::as_slice)
    }

    /// Returns the pauses of a queue of a wire's sender.
    pub fn queue_pauses(&self, wire: u32, queue: u8) -> &[Pause] {
        self.queues.get(&(wire, queue)).map_or(&[], Vec::as_slice)
    }

    /// Returns the pause of a class of a wire's sender that the neighbour had sent by an instant and that was not over.
    pub fn class_at(&self, wire: u32, priority: u8, at: Picos) -> Option<Pause> {
        last(self.class_pauses(wire, priority), at)
    }

    /// Returns the pause of a queue of a wire's sender that the neighbour had sent by an instant and that was not over.
    pub fn queue_at(&self, wire: u32, queue: u8, at: Picos) -> Option<Pause> {
        last(self.queue_pauses(wire, queue), at)
    }

    /// Returns the parts of `[from, to)` in which a packet's class or queue was paused, in order and without overlaps.
    pub fn within(
        &self,
        wire: u32,
        (priority, queue): (u8, u8),
        from: Picos,
        to: Picos,
    ) -> Vec<(Picos, Picos)> {
        let both = [self.class_pauses(wire, priority), self.queue_pauses(wire, queue)];
        let mut spans: Vec<(Picos, Picos)> = Vec::new();
        for pauses in both {
            let first = pauses.partition_point(|pause| pause.to <= from);
            let within = pauses[first..].iter().take_while(|pause| pause.from < to);
            spans.extend(within.map(|pause| (pause.from.max(from), pause.to.min(to))));
        }
        spans.sort_unstable();
        let mut merged: Vec<(Picos, Picos)> = Vec::new();
        for (from, to) in spans {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        merged
    }

    /// Returns all pauses of classes, and of queues that sent data: the wire, the priority, the queue if only a queue
    /// was paused, and the pause.
    pub fn all(&self) -> impl Iterator<Item = (u32, u8, Option<u8>, Pause)> {
        let classes = (0..).zip(&self.classes).flat_map(|(wire, classes)| {
            (0..).zip(classes).flat_map(move |(class, pauses)| {
                pauses.iter().map(move |&pause| (wire, class, None, pause))
            })
        });
        let queues = self.queues.iter().filter_map(|(key, pauses)| {
            let priority = *self.priorities.get(key)?;
            Some(pauses.iter().map(move |&pause| (key.0, priority, Some(key.1), pause)))
        });
        classes.chain(queues.flatten())
    }
}

/// Returns the last of some pauses that the neighbour had sent by an instant, if it was not over.
fn last(pauses: &[Pause], at: Picos) -> Option<Pause> {
    let next = pauses.partition_point(|pause| pause.sent_at <= at);
    pauses[..next].last().copied().filter(|pause| at < pause.to)
}

fn hear(record: &WireLogRecord, classes: &mut [Lane; PRIORITIES], queues: &mut BTreeMap<u8, Lane>) {
    let WireLogRecord { arrives, started, ready, .. } = *record;
    if record.kind != LoggedKind::HopControl || arrives == Picos::MAX {
        return;
    }
    let [low, high] = record.words;
    match HopControl::from_words([record.flow.into(), low, high]) {
        Some(HopControl::Classes(pauses)) => {
            for (class, lane) in classes.iter_mut().enumerate() {
                if pauses.named >> class & 1 == 0 {
                    continue;
                }
                if pauses.quanta[class] > 0 {
                    lane.stop(arrives, ready, started);
                } else {
                    lane.go(arrives);
                }
            }
        }
        Some(HopControl::Queue { queue, paused }) => {
            say(queues.entry(queue.number()).or_default(), paused, arrives, started);
        }
        Some(HopControl::Queues { paused }) => {
            for queue in 0..128_u8 {
                let paused = paused[usize::from(queue / 64)] >> (queue % 64) & 1 != 0;
                if paused || queues.contains_key(&queue) {
                    say(queues.entry(queue).or_default(), paused, arrives, started);
                }
            }
        }
        // These frames pause no queue or class: a packet that waits because of them finds its port idle.
        Some(HopControl::Flows { .. } | HopControl::Rate { .. }) | None => {}
    }
}

fn say(lane: &mut Lane, paused: bool, at: Picos, sent_at: Picos) {
    if paused {
        lane.stop(at, Picos::MAX, sent_at);
    } else {
        lane.go(at);
    }
}
