//! The NIC's transmit side: PFC and link delay frames first, then control packets, then queue pairs in turn.
//!
//! A queue pair with something to send is in one of two places of its queue: `ready` (it may go
//! when its turn comes) or `paced` (its rate forbids it until an instant). Packets of queue pairs
//! are made when their turn comes, so memory and time do not grow with the bytes that wait.

mod acknowledgements;
mod paced;

use std::collections::VecDeque;

use fabric_core::hop_control::ClassPauses;
use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::{QueueId, QueueSet};
use fabric_core::wire::roce::RocePacket;
use fabric_core::wire::telemetry::Stamp;
use fabric_core::wire::{LinkDelayFrame, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use crate::pause::PauseTimers;
use acknowledgements::Acknowledgements;
use paced::{Paced, Places};

/// Order in which a NIC serves its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "NicScheduler")]
pub enum Scheduler {
    /// One packet of each flow in turn.
    #[default]
    RoundRobin,
    /// Flows of the highest priority first, in turn within a priority.
    Strict,
    /// The flow with the fewest bytes left to send first.
    // Among equals, the queue pair that has waited longest (BFC, Appendix A.2).
    #[serde(rename = "srf")]
    ShortestRemaining,
}

/// Under [`Scheduler::Strict`] the high bits of a turn are its priority.
const PRIORITY_AT: u32 = 56;
/// Under [`Scheduler::ShortestRemaining`] the low bits of a turn order queue pairs with equal bytes left.
const TURN_BITS: u32 = 24;

/// A queue pair's place in the round: lower turns go first, whatever their queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    number: u64,
    slot: u32,
}

/// The queue pairs of one transmit queue.
#[derive(Debug, Default)]
struct TransmitQueue {
    ready: VecDeque<Turn>,
    paced: Paced,
    /// Queue pairs that have this queue, with something to send or without.
    queue_pairs: u32,
}

/// Transmit queues of one port.
#[derive(Debug)]
pub struct Nic {
    /// Pause timers of the port.
    pause: PauseTimers,
    /// The next PFC frame; no frame waits if it names no class.
    class_pauses: ClassPauses,
    link_delay_responses: VecDeque<LinkDelayFrame>,
    notifications: VecDeque<Packet>,
    acknowledgements: Acknowledgements,
    /// By [`QueueId::place`].
    queues: Box<[TransmitQueue]>,
    /// Queues in which `paced` is not empty.
    paced: QueueSet,
    paced_places: Places,
    /// Queues in which `ready` is not empty.
    ready: QueueSet,
    next_turn: u64,
    scheduler: Scheduler,
    /// True if a frame or queue pair was added, or pauses may have changed, since
    /// [`plan_transmission`](Self::plan_transmission).
    has_news: bool,
}

impl Nic {
    /// An idle port, at which pauses of `stopping` stop all acknowledgements; `None`: each stops with its own priority.
    pub fn new(pause: PauseTimers, stopping: Option<Priority>, scheduler: Scheduler) -> Self {
        Self {
            queues: (0..pause.places()).map(|_| TransmitQueue::default()).collect(),
            acknowledgements: Acknowledgements::new(
                pause.places(),
                stopping.map(|priority| pause.queue(priority)),
            ),
            pause,
            class_pauses: ClassPauses::default(),
            link_delay_responses: VecDeque::new(),
            notifications: VecDeque::new(),
            paced: QueueSet::EMPTY,
            paced_places: Places::default(),
            ready: QueueSet::EMPTY,
            next_turn: 0,
            scheduler,
            has_news: false,
        }
    }

    /// Assigns a new queue pair to the queue of its priority with the fewest queue pairs, the first among equals. If a
    /// queue is reserved for incasts, `of_incast` is true for a queue pair of an incast.
    pub fn assign(&mut self, priority: Priority, of_incast: Option<bool>) -> QueueId {
        let queue_pairs = |queue: &QueueId| self.queues[queue.place()].queue_pairs;
        let own = self.pause.queues(priority);
        let own = of_incast.map_or(own, |is_labelled| own.for_incasts(is_labelled));
        let queue = own.iter().min_by_key(queue_pairs);
        let queue = queue.expect("a priority has a queue");
        self.queues[queue.place()].queue_pairs += 1;
        queue
    }

    /// Removes a finished queue pair from its queue.
    pub fn release(&mut self, queue: QueueId) {
        self.queues[queue.place()].queue_pairs -= 1;
    }

    /// The pause timers of the port.
    pub fn pauses(&self) -> &PauseTimers {
        &self.pause
    }

    /// The pause timers of the port, mutable. Sets [`has_news`](Self::has_news).
    pub fn pauses_mut(&mut self) -> &mut PauseTimers {
        self.has_news = true;
        &mut self.pause
    }

    /// Queues a PFC frame ahead of all other frames. Classes of a PFC frame still queued are merged into it, unless the
    /// new frame names them.
    pub fn queue_class_pauses(&mut self, pauses: ClassPauses) {
        for class in priority::in_mask(pauses.named) {
            self.class_pauses.named |= class.bit();
            self.class_pauses.quanta[class.index()] = pauses.quanta[class.index()];
        }
        self.has_news = true;
    }

    /// Removes and returns the waiting PFC frame.
    #[inline]
    pub fn pop_class_pauses(&mut self) -> Option<ClassPauses> {
        (self.class_pauses.named != 0).then(|| std::mem::take(&mut self.class_pauses))
    }

    /// Queues a response to the neighbour's link delay request. It goes before all packets, as MAC control frames do,
    /// and pauses do not stop it.
    pub fn queue_link_delay_response(&mut self, frame: LinkDelayFrame) {
        self.link_delay_responses.push_back(frame);
        self.has_news = true;
    }

    /// Records the start of a packet with `bytes` bytes on the wire.
    #[inline]
    pub fn started(&mut self, now: Picos, packet: &Packet, bytes: u64) {
        self.pause.started(now, priority_of(packet), bytes);
    }

    /// Removes and returns the oldest waiting response.
    #[inline]
    pub fn pop_link_delay_response(&mut self) -> Option<LinkDelayFrame> {
        self.link_delay_responses.pop_front()
    }

    /// Queues a CNP. CNPs go before ACKs, because they end congestion.
    pub fn queue_notification(&mut self, packet: RocePacket) {
        self.notifications.push_back(packet.into());
        self.has_news = true;
    }

    /// Queues an ACK or NAK, and the stamps that it echoes if it has telemetry.
    pub fn queue_acknowledgement(&mut self, packet: Packet, stamps: &[Stamp]) {
        let queue = queue_of(&self.pause, &packet);
        self.acknowledgements.push(queue, packet, stamps);
        self.has_news = true;
    }

    /// The stamps of a packet that [`pop_control`](Self::pop_control) has returned last.
    #[inline]
    pub fn stamps_of(&self, packet: &Packet) -> &[Stamp] {
        match packet.telemetry() {
            Some(telemetry) if telemetry.echo => {
                let echoed = self.acknowledgements.echoed();
                echoed.get(..telemetry.hops.into()).unwrap_or(echoed)
            }
            _ => &[],
        }
    }

    /// Puts a queue pair at the end of the round, or where its `remaining` bytes put it.
    #[inline]
    pub fn schedule(&mut self, queue: QueueId, slot: u32, remaining: impl FnOnce() -> u64) {
        let number = self.take_turn(queue, remaining);
        self.make_ready(queue, Turn { number, slot });
    }

    /// Keeps a queue pair out of the round until `at`.
    pub fn schedule_at(
        &mut self,
        queue: QueueId,
        slot: u32,
        at: Picos,
        remaining: impl FnOnce() -> u64,
    ) {
        let number = self.take_turn(queue, remaining);
        self.queues[queue.place()].paced.push(at, number, slot, &mut self.paced_places);
        self.paced.insert(queue);
    }

    /// Changes the instant until which [`schedule_at`](Self::schedule_at) keeps a queue pair out of the round; without
    /// effect on a queue pair that is in the round.
    pub fn reschedule_at(&mut self, queue: QueueId, slot: u32, at: Picos) {
        self.has_news = true;
        self.queues[queue.place()].paced.change(slot, at, &mut self.paced_places);
    }

    /// The control packet that may start at `now`.
    #[inline]
    pub fn pop_control(&mut self, now: Picos) -> Option<Packet> {
        if let Some(packet) = self.notifications.front()
            && !self.pause.is_paused(queue_of(&self.pause, packet), now)
        {
            return self.notifications.pop_front();
        }
        self.acknowledgements.pop(&self.pause, now)
    }

    /// Removes the queue pair whose turn it is at `now` from the round, and returns its slot.
    #[inline]
    pub fn pop_queue_pair(&mut self, now: Picos) -> Option<u32> {
        if !self.paced.is_empty() {
            self.admit_paced(now);
        }
        let queue = self.pause.first_open(self.ready, now, |queue| {
            self.queues[queue.place()].ready.front().expect("its bit says not empty").number
        })?;
        let ready = &mut self.queues[queue.place()].ready;
        let turn = ready.pop_front();
        if ready.is_empty() {
            self.ready.remove(queue);
        }
        turn.map(|turn| turn.slot)
    }

    /// The earliest instant from `from` on at which a packet may start, if nothing else arrives: `from` itself,
    /// the end of a pause or of a pacing gap.
    #[inline(always)]
    pub fn next_transmission(&self, from: Picos) -> Option<Picos> {
        if self.class_pauses.named != 0 || !self.link_delay_responses.is_empty() {
            return Some(from);
        }
        // Nothing can be earlier than `from`, so a queue that may send then ends the search.
        let mut next = Picos::MAX;
        if let Some(packet) = self.notifications.front() {
            next = self.pause.open_from(queue_of(&self.pause, packet), from);
        }
        next = self.acknowledgements.open_from(&self.pause, from, next);
        self.ready.for_each_data(|queue| next = next.min(self.pause.open_from(queue, from)));
        if next == from {
            return Some(from);
        }
        self.paced.for_each_data(|queue| {
            let at = self.queues[queue.place()].paced.first().expect("its bit says not empty");
            next = next.min(self.pause.open_from(queue, from.max(at)));
        });
        (next < Picos::MAX).then_some(next)
    }

    /// Returns [`next_transmission`](Self::next_transmission) and clears [`has_news`](Self::has_news), after which the
    /// caller must plan again.
    #[inline(always)]
    pub fn plan_transmission(&mut self, from: Picos) -> Option<Picos> {
        self.has_news = false;
        self.next_transmission(from)
    }

    /// Returns true if [`plan_transmission`](Self::plan_transmission) may return another instant than before: more
    /// frames or queue pairs wait, or pauses may have changed. The plan already accounts for the end of the present
    /// pauses.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// Returns true if nothing waits, paused or not.
    pub fn is_empty(&self) -> bool {
        self.class_pauses.named == 0
            && self.link_delay_responses.is_empty()
            && self.notifications.is_empty()
            && self.acknowledgements.is_empty()
            && self.ready.or(self.paced).is_empty()
    }

    /// Moves queue pairs whose gap has passed into the round.
    fn admit_paced(&mut self, now: Picos) {
        let paced = self.paced;
        paced.for_each_data(|queue| {
            while let Some((number, slot)) =
                self.queues[queue.place()].paced.pop_due(now, &mut self.paced_places)
            {
                let number = match self.scheduler {
                    Scheduler::RoundRobin | Scheduler::Strict => self.take_turn(queue, || 0),
                    Scheduler::ShortestRemaining => number,
                };
                self.make_ready(queue, Turn { number, slot });
            }
            if self.queues[queue.place()].paced.first().is_none() {
                self.paced.remove(queue);
            }
        });
    }

    /// Puts a queue pair into the round.
    #[inline]
    fn make_ready(&mut self, queue: QueueId, turn: Turn) {
        let ready = &mut self.queues[queue.place()].ready;
        match self.scheduler {
            Scheduler::RoundRobin | Scheduler::Strict => ready.push_back(turn),
            Scheduler::ShortestRemaining => {
                let place = ready.partition_point(|before| before.number < turn.number);
                ready.insert(place, turn);
            }
        }
        self.ready.insert(queue);
    }

    /// The number of a turn that is taken now.
    #[inline]
    fn take_turn(&mut self, queue: QueueId, remaining: impl FnOnce() -> u64) -> u64 {
        self.has_news = true;
        self.next_turn += 1;
        match self.scheduler {
            Scheduler::RoundRobin => self.next_turn,
            Scheduler::Strict => {
                let priority = self.pause.priority_of(queue).index() as u64;
                (PRIORITIES as u64 - 1 - priority) << PRIORITY_AT | self.next_turn
            }
            Scheduler::ShortestRemaining => {
                let first = u64::MAX >> TURN_BITS;
                let last = (1 << TURN_BITS) - 1;
                remaining().min(first) << TURN_BITS | self.next_turn & last
            }
        }
    }
}

/// The queue of a control packet's priority.
fn queue_of(pause: &PauseTimers, packet: &Packet) -> QueueId {
    pause.queue(priority_of(packet))
}

/// The priority that a packet names.
fn priority_of(packet: &Packet) -> Priority {
    Priority::from_bits((packet.dscp() >> 3).into())
}

#[cfg(test)]
mod tests;
