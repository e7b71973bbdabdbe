//! The traffic manager of one switch: egress queues, and the scheduler that sends their packets.
//!
//! Sans-I/O and without time: packets enter by [`TrafficManager::enqueue`], and [`TrafficManager::select`] returns a
//! port's next packet whenever the caller finds the port free. A packet is represented by the number of its
//! descriptor's slot, and is in one queue at a time; its frame, of any type `F`, is stored for the caller, and all
//! other data stays in the descriptor. The caller passes the paused queues to each selection, so that this module does
//! not distinguish pauses of classes and of queues.
//!
//! The order at a port is: the control queue, then the scheduler's choice among the data queues
//! ([`Scheduler`]).
//!
//! # Use by the schemes
//! - The queue of a packet is decided before `enqueue`; this module does not know flows.
//! - If the verdict at departure drops a selected packet, it is not sent, and the caller selects again. If the verdict
//!   moves it to another queue, the caller enqueues the slot again: a selected slot is free for use. In both cases the
//!   queue that it left was charged for the packet, as if sent, and the charge can be refunded.
//! - Queue lengths are exact at all times, so thresholds and backlogs can use
//!   [`TrafficManager::queue_bytes`] and [`TrafficManager::non_empty`].

mod fifo;
mod port;

#[cfg(test)]
mod properties;

use fabric_core::map_abi::PRIORITIES;
use fabric_core::queue::{QueueId, QueueRanges, QueueSet, one_per_priority};

pub use fifo::Waiting;
use fifo::{Fifo, Links};
use port::Port;

/// Choice of a port among its queues with packets that are not paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The queues of the highest priority first; among the queues of one priority like
    /// [`Dwrr`](Self::Dwrr) (BFC, Appendix A.3).
    Strict {
        /// Bytes that a queue may send per round among the queues of its priority.
        quantum: u32,
    },
    /// Deficit weighted round robin, all weights equal, in the order of the queue numbers.
    ///
    /// Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", with a rule for
    /// pauses: a queue keeps its deficit while it is paused, gets no quantum for missed rounds, and
    /// gets none on its return if its deficit pays for its first packet. So a deficit stays below
    /// one quantum plus one packet, however a queue is paused.
    Dwrr {
        /// Bytes that a queue may send per round. Not zero. At least the longest frame, otherwise a
        /// selection takes several rounds.
        quantum: u32,
    },
    /// One packet of each queue in turn, whatever its length, in the order of the queue numbers. A queue that is paused
    /// or empty at its turn loses the turn (ns-3 simulator of ABM, Addanki et al., SIGCOMM 2022).
    RoundRobin,
    /// The queue whose first packet has the lowest rank: shortest remaining flow first, if the rank is the number of
    /// bytes that the flow has left to send (BFC, Appendix A.2). Of queues with equal ranks, the lowest number.
    ShortestRemaining,
}

impl Scheduler {
    /// Default quantum in bytes: one frame of Ethernet's usual MTU.
    pub const DEFAULT_QUANTUM: u32 = 1600;
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::Dwrr { quantum: Self::DEFAULT_QUANTUM }
    }
}

/// The data queues of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortQueues {
    /// Number of data queues, 1 to [`MAX_DATA_QUEUES`](fabric_core::queue::MAX_DATA_QUEUES).
    pub data_queues: usize,
    /// Scheduler of the queues.
    pub scheduler: Scheduler,
    /// Queues of each priority, for [`Scheduler::Strict`].
    pub ranges: QueueRanges,
}

impl Default for PortQueues {
    /// One queue for each priority, under DWRR.
    fn default() -> Self {
        Self {
            data_queues: PRIORITIES,
            scheduler: Scheduler::default(),
            ranges: one_per_priority(None),
        }
    }
}

/// The packet that a port sends next, already removed from its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection<F> {
    /// Slot of its descriptor.
    pub slot: u32,
    /// Frame of the packet.
    pub frame: F,
    /// Queue of the packet.
    pub queue: QueueId,
    /// Length given at `enqueue`, bytes.
    pub length: u32,
}

impl<F> Selection<F> {
    #[inline]
    fn new(packet: Waiting<F>, queue: QueueId) -> Self {
        let length = packet.length();
        let Waiting { slot, frame, .. } = packet;
        Self { slot, frame, queue, length }
    }
}

/// The egress queues of all ports of one switch.
pub struct TrafficManager<F> {
    links: Links<F>,
    ports: Vec<Port>,
    queues: Vec<Fifo<F>>,
    packets: usize,
}

impl<F: Copy + Default> TrafficManager<F> {
    /// Creates a traffic manager for packets in slots `0..slots`, with empty queues.
    ///
    /// # Panics
    /// If a port's number of queues or quantum is out of its range.
    pub fn new(slots: usize, ports: impl Iterator<Item = PortQueues>) -> Self {
        let mut first_queue = 0;
        let ports: Vec<Port> = ports
            .map(|configuration| {
                let port = Port::new(&configuration, first_queue);
                first_queue = port.queue_range().end;
                port
            })
            .collect();
        let queues = vec![Fifo::default(); first_queue];
        Self { links: Links::new(slots), ports, queues, packets: 0 }
    }

    /// Appends a packet to a queue. The packet's slot must be in no queue.
    ///
    /// # Panics
    /// If port or queue is out of range. With debug assertions also if the slot is out of range or
    /// in a queue; without, this panics when such a queue empties.
    #[inline(always)]
    pub fn enqueue(&mut self, port: usize, queue: QueueId, packet: Waiting<F>) {
        let number = port;
        let port = &mut self.ports[number];
        let index = port.index(number, queue);
        self.queues[index].push(&mut self.links, packet);
        port.mark_non_empty(queue);
        self.packets += 1;
    }

    /// Removes and returns the packet that a free port sends next. Never `None` while a queue
    /// outside `paused` has a packet.
    #[inline(always)]
    pub fn select(&mut self, port: usize, paused: Option<QueueSet>) -> Option<Selection<F>> {
        let port = &mut self.ports[port];
        let queues = &mut self.queues[port.queue_range()];
        let waiting = port.non_empty();
        let eligible = paused.map_or(waiting, |paused| waiting.without(paused));
        let queue = port.choose(queues, eligible)?;
        let fifo = &mut queues[queue.place()];
        let packet = fifo.pop(&mut self.links);
        port.charge(fifo, queue, packet.length());
        self.packets -= 1;
        Some(Selection::new(packet, queue))
    }

    /// Refunds the charge of [`select`](Self::select) to a queue for a packet that was dropped or
    /// moved, because DWRR shares sent bytes. An empty queue has no deficit.
    pub fn refund(&mut self, port: usize, queue: QueueId, length: u32) {
        let index = self.index(port, queue);
        self.ports[port].refund(&mut self.queues[index], queue, length);
    }

    /// Removes the first packet of a queue to drop it, whether paused or not, and whichever queue's turn it is. Charges
    /// no queue.
    pub fn take_first(&mut self, port: usize, queue: QueueId) -> Option<Selection<F>> {
        let index = self.index(port, queue);
        let fifo = &mut self.queues[index];
        if fifo.is_empty() {
            return None;
        }
        let packet = fifo.pop(&mut self.links);
        if fifo.is_empty() {
            fifo.deficit = 0;
            self.ports[port].mark_empty(queue);
        }
        self.packets -= 1;
        Some(Selection::new(packet, queue))
    }

    /// Returns the packet that a port sends next, unless pauses or later packets change that.
    /// Prefetches the packet behind it in its queue.
    #[inline]
    pub fn prefetch_next(&self, port: usize) -> Option<&Waiting<F>> {
        let port = &self.ports[port];
        let queue = port.likely_next()?;
        let fifo = &self.queues[port.queue_range().start + queue.place()];
        let first = fifo.first();
        self.links.prefetch(first.slot);
        Some(first)
    }

    /// Returns the number of bytes in a queue.
    pub fn queue_bytes(&self, port: usize, queue: QueueId) -> u64 {
        self.queues[self.index(port, queue)].bytes()
    }

    /// Returns the number of packets in a queue.
    pub fn queue_packets(&self, port: usize, queue: QueueId) -> u32 {
        self.queues[self.index(port, queue)].packets()
    }

    /// Iterates over the packets in a queue, first to leave first.
    pub fn waiting(&self, port: usize, queue: QueueId) -> impl Iterator<Item = &Waiting<F>> {
        self.queues[self.index(port, queue)].iter(&self.links)
    }

    /// Iterates over the slots of the packets in a queue, first to leave first.
    pub fn slots(&self, port: usize, queue: QueueId) -> impl Iterator<Item = u32> {
        self.waiting(port, queue).map(|packet| packet.slot)
    }

    /// Returns the queues of a port that hold packets.
    #[inline]
    pub fn non_empty(&self, port: usize) -> QueueSet {
        self.ports[port].non_empty()
    }

    /// Returns the number of packets in all queues of all ports.
    pub fn total_packets(&self) -> usize {
        self.packets
    }

    fn index(&self, port: usize, queue: QueueId) -> usize {
        self.ports[port].index(port, queue)
    }
}
