//! One port's choice of the queue to serve.

use std::ops::Range;

use fabric_core::map_abi::PRIORITIES;
use fabric_core::queue::{MAX_DATA_QUEUES, QueueId, QueueRanges, QueueSet};

use super::fifo::Fifo;
use super::{PortQueues, Scheduler};

/// State of the scheduler at one port. The port's queues are adjacent among the switch's queues,
/// control queue first. Aligned: a port is a cache line.
#[repr(align(64))]
pub(super) struct Port {
    first_queue: usize,
    queues: usize,
    non_empty: QueueSet,
    scheduler: Scheduler,
    /// Data queue whose turn it is under DWRR; under round robin the queue that was served last.
    current: QueueId,
    /// Queues of each priority under the strict scheduler, highest priority first.
    classes: Option<Box<[Class; PRIORITIES]>>,
}

/// The queues of one priority under the strict scheduler.
#[derive(Clone, Copy)]
struct Class {
    queues: QueueSet,
    /// Queue whose turn it is.
    current: QueueId,
}

/// Returns a class for each priority, highest first. Queues without a priority belong to the lowest.
fn classes(ranges: &QueueRanges, last: QueueId) -> Box<[Class; PRIORITIES]> {
    let mut classes = ranges.map(|range| Class { queues: range.queues(), current: last });
    let owned = classes.iter().fold(QueueSet::EMPTY, |all, class| all.or(class.queues));
    classes[0].queues = classes[0].queues.or(QueueSet::ALL_DATA.without(owned));
    classes.reverse();
    Box::new(classes)
}

impl Port {
    pub(super) fn new(configuration: &PortQueues, first_queue: usize) -> Self {
        let PortQueues { data_queues, scheduler, ranges } = *configuration;
        assert!(
            (1..=MAX_DATA_QUEUES).contains(&data_queues),
            "a port has 1 to {MAX_DATA_QUEUES} data queues, not {data_queues}"
        );
        let quantum = match scheduler {
            Scheduler::Strict { quantum } | Scheduler::Dwrr { quantum } => Some(quantum),
            Scheduler::RoundRobin | Scheduler::ShortestRemaining => None,
        };
        assert!(quantum != Some(0), "a quantum is not zero");
        // The last queue's turn is over when the port starts, so the first round begins at queue 0.
        let current = QueueId::from_place(data_queues);
        Self {
            first_queue,
            queues: 1 + data_queues,
            non_empty: QueueSet::EMPTY,
            scheduler,
            current,
            classes: matches!(scheduler, Scheduler::Strict { .. })
                .then(|| classes(&ranges, current)),
        }
    }

    #[inline]
    pub(super) fn queue_range(&self) -> Range<usize> {
        self.first_queue..self.first_queue + self.queues
    }

    /// Returns the index of one of the port's queues among the switch's queues. `number` is the port's number.
    ///
    /// # Panics
    /// If the port does not have the queue.
    #[inline]
    pub(super) fn index(&self, number: usize, queue: QueueId) -> usize {
        let Self { first_queue, queues, .. } = *self;
        let data_queues = queues - 1;
        assert!(queue.place() < queues, "port {number} has {data_queues} data queues, no {queue}");
        first_queue + queue.place()
    }

    #[inline]
    pub(super) fn non_empty(&self) -> QueueSet {
        self.non_empty
    }

    #[inline]
    pub(super) fn mark_non_empty(&mut self, queue: QueueId) {
        self.non_empty.insert(queue);
    }

    pub(super) fn mark_empty(&mut self, queue: QueueId) {
        self.non_empty.remove(queue);
    }

    /// Returns the queue to serve next, among queues with a packet that are not paused.
    #[inline(always)]
    pub(super) fn choose<F>(
        &mut self,
        queues: &mut [Fifo<F>],
        eligible: QueueSet,
    ) -> Option<QueueId> {
        if eligible.has_control() {
            return Some(QueueId::CONTROL);
        }
        match self.scheduler {
            Scheduler::Strict { quantum } => {
                let classes = self.classes.as_deref_mut()?;
                let open = classes.iter_mut().find(|class| !class.queues.and(eligible).is_empty());
                let Class { queues: own, current } = open?;
                choose_dwrr(current, queues, own.and(eligible), quantum)
            }
            Scheduler::Dwrr { quantum } => {
                choose_dwrr(&mut self.current, queues, eligible, quantum)
            }
            Scheduler::RoundRobin => {
                self.current = eligible.next_data(self.current)?;
                Some(self.current)
            }
            Scheduler::ShortestRemaining => shortest(queues, eligible),
        }
    }

    /// Returns the queue that is served next if the current turn continues.
    #[inline]
    pub(super) fn likely_next(&self) -> Option<QueueId> {
        if self.non_empty.has_control() {
            return Some(QueueId::CONTROL);
        }
        if self.scheduler == Scheduler::RoundRobin {
            return self.non_empty.next_data(self.current);
        }
        if self.non_empty.contains(self.current) {
            return Some(self.current);
        }
        self.non_empty.highest_data()
    }

    /// Accounts for a packet of `length` bytes that has left `queue`.
    #[inline]
    pub(super) fn charge<F>(&mut self, fifo: &mut Fifo<F>, queue: QueueId, length: u32) {
        if fifo.is_empty() {
            self.non_empty.remove(queue);
            fifo.deficit = 0;
        } else if self.has_deficit(queue) {
            fifo.deficit -= length;
        }
    }

    /// Reverts [`charge`](Self::charge) for a packet that was not sent.
    pub(super) fn refund<F>(&self, fifo: &mut Fifo<F>, queue: QueueId, length: u32) {
        if !fifo.is_empty() && self.has_deficit(queue) {
            fifo.deficit = fifo.deficit.saturating_add(length);
        }
    }

    #[inline]
    fn has_deficit(&self, queue: QueueId) -> bool {
        matches!(self.scheduler, Scheduler::Strict { .. } | Scheduler::Dwrr { .. })
            && queue != QueueId::CONTROL
    }
}

/// Continues the current queue's turn while its deficit pays for its first packet, then visits the
/// queues in turn.
///
/// Terminates, because each step adds a quantum to an eligible queue without enough deficit. With a
/// quantum of at least a packet it takes one step.
#[inline(always)]
fn choose_dwrr<F>(
    current: &mut QueueId,
    queues: &mut [Fifo<F>],
    eligible: QueueSet,
    quantum: u32,
) -> Option<QueueId> {
    // If only one queue may send, and this is its last packet, DWRR chooses the queue, and its deficit becomes 0.
    if let Some(queue) = eligible.only_data()
        && queues[queue.place()].packets() == 1
    {
        *current = queue;
        return Some(queue);
    }
    let pays = |queue: &Fifo<F>| queue.deficit >= queue.first().length();
    if eligible.contains(*current) && pays(&queues[current.place()]) {
        return Some(*current);
    }
    loop {
        *current = eligible.next_data(*current)?;
        let queue = &mut queues[current.place()];
        if !pays(queue) {
            queue.deficit = queue.deficit.saturating_add(quantum);
        }
        if pays(queue) {
            return Some(*current);
        }
    }
}

/// Returns the queue whose first packet has the lowest rank; of equal ranks the first queue.
#[inline]
fn shortest<F>(queues: &[Fifo<F>], eligible: QueueSet) -> Option<QueueId> {
    let mut first: Option<(u16, QueueId)> = None;
    eligible.for_each_data(|queue| {
        let rank = queues[queue.place()].first().rank();
        if first.is_none_or(|(lowest, _)| rank < lowest) {
            first = Some((rank, queue));
        }
    });
    first.map(|(_, queue)| queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "1 to 136 data queues, not 137")]
    fn a_port_has_no_more_data_queues_than_a_set_has_places() {
        Port::new(&PortQueues { data_queues: 137, ..PortQueues::default() }, 0);
    }
}
