//! ACKs and NAKs that wait at a NIC: one FIFO for each transmit queue, so that a pause of one priority, or the rate that
//! a neighbour has set for it, does not hold up acknowledgements of another.

use std::collections::VecDeque;

use fabric_core::queue::{QueueId, QueueSet};
use fabric_core::wire::Packet;
use fabric_core::wire::telemetry::{self, Stamp, Stamps};
use units::Picos;

use crate::pause::{PauseTimers, first_of};

/// Acknowledgements of one transmit queue.
#[derive(Debug, Default)]
struct Fifo {
    /// With their numbers in the order of arrival at the NIC.
    packets: VecDeque<(u64, Packet)>,
    /// Stamps of the packets with telemetry, in order.
    echoes: VecDeque<Stamps>,
}

/// All ACKs and NAKs that wait at the NIC.
#[derive(Debug)]
pub(super) struct Acknowledgements {
    /// By [`QueueId::place`].
    fifos: Box<[Fifo]>,
    /// Queues in which packets wait.
    waiting: QueueSet,
    next_number: u64,
    /// The queue whose pauses stop all acknowledgements; `None`: each stops with its own queue.
    stopping: Option<QueueId>,
    /// Stamps of the last packet popped. Boxed for the sake of hosts without telemetry.
    echoed: Box<Stamps>,
}

impl Acknowledgements {
    /// Nothing waits; `places` is [`PauseTimers::places`]. Pauses of `stopping` stop all; `None`: each stops with its own
    /// queue.
    pub(super) fn new(places: usize, stopping: Option<QueueId>) -> Self {
        Self {
            fifos: (0..places).map(|_| Fifo::default()).collect(),
            waiting: QueueSet::EMPTY,
            next_number: 0,
            stopping,
            echoed: Box::default(),
        }
    }

    /// Adds a packet of `queue`, and the stamps that it echoes if it has telemetry.
    pub(super) fn push(&mut self, queue: QueueId, packet: Packet, stamps: &[Stamp]) {
        let fifo = &mut self.fifos[queue.place()];
        if packet.telemetry().is_some() {
            fifo.push_echo(stamps);
        }
        fifo.packets.push_back((self.next_number, packet));
        self.next_number += 1;
        self.waiting.insert(queue);
    }

    /// Removes the oldest packet among those that may start at `now`.
    #[inline]
    pub(super) fn pop(&mut self, pause: &PauseTimers, now: Picos) -> Option<Packet> {
        let number = |queue: QueueId| {
            self.fifos[queue.place()].packets.front().expect("its bit says not empty").0
        };
        let queue = match self.stopping {
            None => pause.first_open(self.waiting, now, number),
            Some(stopping) => first_of(self.waiting, number, |queue| {
                pause.open_apart(stopping, queue, now) == now
            }),
        }?;
        let fifo = &mut self.fifos[queue.place()];
        let (_, packet) = fifo.packets.pop_front()?;
        if packet.telemetry().is_some() {
            *self.echoed = fifo.echoes.pop_front().unwrap_or_default();
        }
        if fifo.packets.is_empty() {
            self.waiting.remove(queue);
        }
        Some(packet)
    }

    /// The stamps of the packet that [`pop`](Self::pop) has returned last, if it has telemetry.
    #[inline]
    pub(super) fn echoed(&self) -> &Stamps {
        &self.echoed
    }

    /// The first instant from `from` on, and before `latest`, at which one may start; otherwise `latest`.
    #[inline(always)]
    pub(super) fn open_from(&self, pause: &PauseTimers, from: Picos, latest: Picos) -> Picos {
        let mut next = latest;
        match self.stopping {
            None => {
                self.waiting.for_each_data(|queue| next = next.min(pause.open_from(queue, from)));
            }
            Some(stopping) => self.waiting.for_each_data(|queue| {
                next = next.min(pause.open_apart(stopping, queue, from));
            }),
        }
        next
    }

    /// Returns true if no acknowledgement waits, paused or not.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl Fifo {
    #[cold]
    fn push_echo(&mut self, stamps: &[Stamp]) {
        self.echoes.push_back(telemetry::padded(stamps));
    }
}
