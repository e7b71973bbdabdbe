//! The traffic manager of one switch: egress queues, and the scheduler that empties them onto
//! ports.
//!
//! Sans-I/O and without time: packets go in by [`TrafficManager::enqueue`], and
//! [`TrafficManager::select`] names what a port sends next whenever the caller finds the port free.
//! A packet is the number of its descriptor's slot, and is in one queue at a time; its frame, of any type `F`, is kept for the
//! caller, and what else is known of it stays in the descriptor. The caller knows which queues are paused and says so at
//! each selection, so that a pause of a class and one of a queue are the same to this module.
//!
//! The order at a port: the control queue, then the scheduler's choice among the data queues
//! ([`Scheduler`]).
//!
//! # What the schemes build on it
//! - Which queue a packet joins is decided before `enqueue`; which flow holds which queue is not known
//!   here.
//! - A departure verdict that drops a selected packet simply does not send it, and selects again. One
//!   that moves it to another queue enqueues the slot again: a selected slot is free for use. Both times
//!   the queue it left was charged for the packet, as if it had been sent, and can be given that back.
//! - Queue lengths are exact at every instant, so thresholds and backlogs can be read from
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

/// How a port chooses among its queues that hold packets and are not paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The queues of the highest priority first; among the queues of one priority as under [`Dwrr`](Self::Dwrr) (BFC,
    /// Appendix A.3).
    Strict {
        /// Bytes that a queue may send per round among those of its priority.
        quantum: u32,
    },
    /// Deficit weighted round robin, all weights equal, in the order of the queue numbers.
    ///
    /// Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", with a rule for
    /// pauses: a queue keeps its deficit while it is paused, gets no quantum for the rounds it
    /// missed, and gets none on its return if what it kept pays for its first packet. So a deficit
    /// stays below one quantum and one packet, however a queue is paused.
    Dwrr {
        /// Bytes a queue may send per round. At least the longest frame, or else a selection takes
        /// several rounds; not zero.
        quantum: u32,
    },
    /// One packet of each queue in turn, whatever its length, in the order of the queue numbers. A queue that is paused
    /// or empty when its turn comes loses it (ns-3 simulator of ABM, Addanki et al., SIGCOMM 2022).
    RoundRobin,
    /// The queue first whose first packet has the lowest rank: shortest remaining flow first, if ranks are what flows have
    /// left to send (BFC, Appendix A.2). Of queues with equal ranks the one with the lowest number.
    ShortestRemaining,
}

impl Scheduler {
    /// The default quantum in bytes: one frame of Ethernet's usual MTU.
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
    /// How they are served.
    pub scheduler: Scheduler,
    /// Those of each priority: what is strict in [`Scheduler::Strict`].
    pub ranges: QueueRanges,
}

impl Default for PortQueues {
    /// A queue for each priority, served by DWRR.
    fn default() -> Self {
        Self {
            data_queues: PRIORITIES,
            scheduler: Scheduler::default(),
            ranges: one_per_priority(None),
        }
    }
}

/// The packet that a port sends next. It has left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection<F> {
    /// Slot of its descriptor.
    pub slot: u32,
    /// Its frame.
    pub frame: F,
    /// Queue that held it.
    pub queue: QueueId,
    /// Length in bytes that it was enqueued with.
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
    /// A traffic manager for packets in slots `0..slots`, with all queues empty.
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

    /// Appends a packet to a queue. Its slot is in no queue.
    ///
    /// # Panics
    /// If port or queue is out of range. With debug assertions also if the slot is, or is in a queue; without, this is
    /// noticed when such a queue empties.
    #[inline(always)]
    pub fn enqueue(&mut self, port: usize, queue: QueueId, packet: Waiting<F>) {
        let number = port;
        let port = &mut self.ports[number];
        let index = port.index(number, queue);
        self.queues[index].push(&mut self.links, packet);
        port.mark_non_empty(queue);
        self.packets += 1;
    }

    /// Takes the packet that a free port sends next. Never `None` while a queue that is not in `paused` has a
    /// packet.
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

    /// Gives a queue back what [`select`](Self::select) has charged it for a packet that was dropped or moved then: DWRR shares out
    /// what is sent. Where a queue has no packets left, it has no deficit either.
    pub fn refund(&mut self, port: usize, queue: QueueId, length: u32) {
        let index = self.index(port, queue);
        self.ports[port].refund(&mut self.queues[index], queue, length);
    }

    /// Takes the first packet of a queue, paused or not and whosever turn it is: to be dropped. Nobody is charged for it.
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

    /// The packet that a port sends next, unless pauses or later packets change that. Has the processor load what follows
    /// it in its queue.
    #[inline]
    pub fn prefetch_next(&self, port: usize) -> Option<&Waiting<F>> {
        let port = &self.ports[port];
        let queue = port.likely_next()?;
        let fifo = &self.queues[port.queue_range().start + queue.place()];
        let first = fifo.first();
        self.links.prefetch(first.slot);
        Some(first)
    }

    /// Bytes in a queue.
    pub fn queue_bytes(&self, port: usize, queue: QueueId) -> u64 {
        self.queues[self.index(port, queue)].bytes()
    }

    /// Packets in a queue.
    pub fn queue_packets(&self, port: usize, queue: QueueId) -> u32 {
        self.queues[self.index(port, queue)].packets()
    }

    /// The packets in a queue, the first to leave first.
    pub fn waiting(&self, port: usize, queue: QueueId) -> impl Iterator<Item = &Waiting<F>> {
        self.queues[self.index(port, queue)].iter(&self.links)
    }

    /// Their slots.
    pub fn slots(&self, port: usize, queue: QueueId) -> impl Iterator<Item = u32> {
        self.waiting(port, queue).map(|packet| packet.slot)
    }

    /// The queues of a port that hold packets.
    #[inline]
    pub fn non_empty(&self, port: usize) -> QueueSet {
        self.ports[port].non_empty()
    }

    /// Packets in all queues of all ports.
    pub fn total_packets(&self) -> usize {
        self.packets
    }

    fn index(&self, port: usize, queue: QueueId) -> usize {
        self.ports[port].index(port, queue)
    }
}
