//! One port's choice of the queue to serve.

use std::ops::Range;

use fabric_core::queue::{MAX_DATA_QUEUES, QueueId, QueueSet};

use super::fifo::{Fifo, Links};
use super::{PortQueues, Scheduler};

/// The scheduler's state at one port. Its queues lie together among those of the switch, the control queue
/// first. Aligned: a port is a cache line.
#[repr(align(64))]
pub(super) struct Port {
    first_queue: usize,
    queues: usize,
    non_empty: QueueSet,
    scheduler: Scheduler,
    /// The data queue whose turn it is under DWRR.
    current: QueueId,
}

impl Port {
    pub(super) fn new(configuration: &PortQueues, first_queue: usize) -> Self {
        let PortQueues { data_queues, scheduler } = *configuration;
        assert!(
            (1..=MAX_DATA_QUEUES).contains(&data_queues),
            "a port has 1 to {MAX_DATA_QUEUES} data queues, not {data_queues}"
        );
        assert!(scheduler != Scheduler::Dwrr { quantum: 0 }, "a quantum is not zero");
        // The last queue's turn is over when the port starts, so the first round begins at queue 0.
        let current = QueueId::of_place(data_queues);
        Self {
            first_queue,
            queues: 1 + data_queues,
            non_empty: QueueSet::EMPTY,
            scheduler,
            current,
        }
    }

    #[inline]
    pub(super) fn queue_range(&self) -> Range<usize> {
        self.first_queue..self.first_queue + self.queues
    }

    #[inline]
    pub(super) fn non_empty(&self) -> QueueSet {
        self.non_empty
    }

    #[inline]
    pub(super) fn mark_non_empty(&mut self, queue: QueueId) {
        self.non_empty.insert(queue);
    }

    /// The queue to serve next, of those that hold a packet and are not paused.
    #[inline(always)]
    pub(super) fn choose(
        &mut self,
        queues: &mut [Fifo],
        links: &Links,
        eligible: QueueSet,
    ) -> Option<QueueId> {
        if eligible.has_control() {
            return Some(QueueId::CONTROL);
        }
        match self.scheduler {
            Scheduler::Strict => eligible.highest_data(),
            Scheduler::Dwrr { quantum } => self.choose_dwrr(queues, links, eligible, quantum),
        }
    }

    /// Continues the current queue's turn while its deficit pays for its first packet, then goes
    /// round.
    ///
    /// Ends, because each step adds a quantum to an eligible queue that lacks one; with a quantum
    /// of at least a packet it takes one step.
    #[inline(always)]
    fn choose_dwrr(
        &mut self,
        queues: &mut [Fifo],
        links: &Links,
        eligible: QueueSet,
        quantum: u32,
    ) -> Option<QueueId> {
        let pays = |queue: &Fifo| queue.deficit >= queue.head_length(links);
        if eligible.contains(self.current) && pays(&queues[self.current.place()]) {
            return Some(self.current);
        }
        loop {
            self.current = eligible.next_data(self.current)?;
            let queue = &mut queues[self.current.place()];
            if !pays(queue) {
                queue.deficit = queue.deficit.saturating_add(quantum);
            }
            if pays(queue) {
                return Some(self.current);
            }
        }
    }

    /// The queue that is served next, if the one whose turn it is goes on.
    #[inline]
    pub(super) fn likely_next(&self) -> Option<QueueId> {
        if self.non_empty.has_control() {
            return Some(QueueId::CONTROL);
        }
        if self.non_empty.contains(self.current) {
            return Some(self.current);
        }
        self.non_empty.highest_data()
    }

    /// Accounts for a packet of `length` bytes that has left `queue`.
    #[inline]
    pub(super) fn charge(&mut self, fifo: &mut Fifo, queue: QueueId, length: u32) {
        if fifo.is_empty() {
            self.non_empty.remove(queue);
            fifo.deficit = 0;
        } else if matches!(self.scheduler, Scheduler::Dwrr { .. }) && queue != QueueId::CONTROL {
            fifo.deficit -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "1 to 128 data queues, not 129")]
    fn a_port_has_no_more_data_queues_than_a_mask_has_bits() {
        Port::new(&PortQueues { data_queues: 129, scheduler: Scheduler::default() }, 0);
    }
}
