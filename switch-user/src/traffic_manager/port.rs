//! One port's choice of the queue to serve.

use std::ops::Range;

use super::fifo::{Fifo, Links};
use super::{MAX_QUEUES, MIN_QUEUES, PortQueues, Scheduler};

/// The scheduler's state at one port. Its queues lie together among those of the switch.
pub(super) struct Port {
    first_queue: usize,
    queues: usize,
    /// The queues that hold packets, a bit each.
    non_empty: u32,
    /// Whether a MAC control frame waits, or one that measures the link.
    pub(super) mac_control: bool,
    /// The bit of the control queue, or zero.
    control: u32,
    scheduler: Scheduler,
    /// The queue whose turn it is under DWRR.
    current: usize,
}

impl Port {
    pub(super) fn new(configuration: &PortQueues, first_queue: usize) -> Self {
        let PortQueues { queues, control, scheduler } = *configuration;
        assert!(
            (MIN_QUEUES..=MAX_QUEUES).contains(&queues),
            "a port has {MIN_QUEUES} to {MAX_QUEUES} queues, not {queues}"
        );
        assert!(
            control.is_none_or(|queue| usize::from(queue) < queues),
            "the control queue is one of the port's {queues} queues"
        );
        assert!(scheduler != Scheduler::Dwrr { quantum: 0 }, "a quantum is not zero");
        let control = control.map_or(0, |queue| 1 << queue);
        // The last queue's turn is over when the port starts, so the first round begins at queue 0.
        Self {
            first_queue,
            queues,
            non_empty: 0,
            mac_control: false,
            control,
            scheduler,
            current: queues - 1,
        }
    }

    #[inline]
    pub(super) fn queue_range(&self) -> Range<usize> {
        self.first_queue..self.first_queue + self.queues
    }

    #[inline]
    pub(super) fn non_empty(&self) -> u32 {
        self.non_empty
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.non_empty == 0 && !self.mac_control
    }

    #[inline]
    pub(super) fn mark_non_empty(&mut self, queue: usize) {
        self.non_empty |= 1 << queue;
    }

    /// The queue to serve next: one that holds a packet and is not paused.
    #[inline]
    pub(super) fn choose(
        &mut self,
        queues: &mut [Fifo],
        links: &Links,
        paused: u32,
    ) -> Option<usize> {
        let eligible = self.non_empty & !paused;
        if eligible & self.control != 0 {
            return Some(self.control.trailing_zeros() as usize);
        }
        if eligible == 0 {
            return None;
        }
        match self.scheduler {
            Scheduler::Strict => Some(eligible.ilog2() as usize),
            Scheduler::Dwrr { quantum } => Some(self.choose_dwrr(queues, links, eligible, quantum)),
        }
    }

    /// Continues the current queue's turn while its deficit pays for its first packet, then goes
    /// round.
    ///
    /// Ends, because each step adds a quantum to an eligible queue that lacks one; with a quantum
    /// of at least a packet it takes one step.
    fn choose_dwrr(
        &mut self,
        queues: &mut [Fifo],
        links: &Links,
        eligible: u32,
        quantum: u32,
    ) -> usize {
        let pays = |queue: &Fifo| queue.deficit >= queue.head_length(links);
        if eligible & (1 << self.current) != 0 && pays(&queues[self.current]) {
            return self.current;
        }
        loop {
            self.current = next_in_circle(eligible, self.current);
            let queue = &mut queues[self.current];
            if !pays(queue) {
                queue.deficit = queue.deficit.saturating_add(quantum);
            }
            if pays(queue) {
                return self.current;
            }
        }
    }

    /// Accounts for a packet of `length` bytes that has left `queue`.
    #[inline]
    pub(super) fn charge(&mut self, fifo: &mut Fifo, queue: usize, length: u32) {
        if fifo.is_empty() {
            self.non_empty &= !(1 << queue);
            fifo.deficit = 0;
        } else if matches!(self.scheduler, Scheduler::Dwrr { .. })
            && self.control & (1 << queue) == 0
        {
            fifo.deficit -= length;
        }
    }
}

/// The first queue of `eligible`, which is not empty, after `current` in circular order.
fn next_in_circle(eligible: u32, current: usize) -> usize {
    let behind = eligible & (!1 << current);
    let first = if behind == 0 { eligible } else { behind };
    first.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circle_passes_the_end_and_returns_to_its_start() {
        assert_eq!(next_in_circle(0b1001, 0), 3);
        assert_eq!(next_in_circle(0b1001, 3), 0);
        assert_eq!(next_in_circle(1 << 31, 31), 31);
        assert_eq!(next_in_circle(1 << 31 | 1, 31), 0);
        assert_eq!(next_in_circle(1 << 5, 5), 5);
    }

    #[test]
    #[should_panic(expected = "8 to 32 queues, not 33")]
    fn a_port_has_no_more_queues_than_a_mask_has_bits() {
        let scheduler = Scheduler::default();
        Port::new(&PortQueues { queues: 33, control: None, scheduler }, 0);
    }

    #[test]
    #[should_panic(expected = "one of the port's 8 queues")]
    fn the_control_queue_exists() {
        let scheduler = Scheduler::Strict;
        Port::new(&PortQueues { queues: 8, control: Some(8), scheduler }, 0);
    }
}
