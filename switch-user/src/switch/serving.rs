//! Departures: the next packet leaves its queue, releases its buffer, and is sent, dropped or moved.

use fabric_core::cell::Sharing;
use fabric_core::departure::{Departure, Fate};
use fabric_core::hop_control::Order;
use fabric_core::policy::StormAction;
use fabric_core::priority;
use fabric_core::queue::QueueSet;
use fabric_core::scheme::Scheme;
use units::{Nanos, Picos};

use super::timers::Timer;
use super::{
    Departed, Discarded, DroppedPacket, Event, Observer, Switch, Transmission, port_number,
};
use crate::traffic_manager::{Selection, Waiting};

/// Result of a port's turn.
enum Served<F> {
    /// The packet is sent.
    Sent(Transmission<F>),
    /// No packet may be sent, or a control frame precedes the next packet.
    Nothing,
    /// The packet was dropped.
    Dropped,
    /// The packet was moved to another queue.
    Requeued,
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Returns the packet that a port which is free at `now` sends next, if any. Call `poll_control` first. `D` is the
    /// sharing mode of the tables. With FIFOs below the egress queues, call [`poll_staged`](Self::poll_staged) and
    /// [`poll_device_queue`](Self::poll_device_queue) instead.
    #[inline(always)]
    pub fn poll_transmit<D: Sharing, O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        observer: &mut O,
    ) -> Option<Transmission<F>> {
        let served = self.serve::<D, _>(now, port, observer);
        // Keeps the result in registers: if `serve_on` returned for this function, both would write
        // their fields to memory, and the caller would read them as a whole too early.
        let sent = match served {
            Served::Sent(transmission) => transmission,
            Served::Nothing => return None,
            other => self.serve_on::<D, _>(now, port, other, observer)?,
        };
        Some(sent)
    }

    /// Serves further packets after one that was not sent, until one is sent. A separate function,
    /// so that the usual first packet is served without a loop.
    #[cold]
    #[inline(never)]
    fn serve_on<D: Sharing, O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        mut served: Served<F>,
        observer: &mut O,
    ) -> Option<Transmission<F>> {
        let mut requeued = 0;
        loop {
            match served {
                Served::Sent(transmission) => return Some(transmission),
                Served::Nothing => return None,
                Served::Dropped => {}
                Served::Requeued => {
                    requeued += 1;
                    assert!(
                        requeued <= self.requeue_limit(),
                        "port {port}: the scheme moves packets from queue to queue without end"
                    );
                }
            }
            served = self.serve::<D, _>(now, port, observer);
        }
    }

    /// Serves the next packet.
    #[inline(always)]
    fn serve<D: Sharing, O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        observer: &mut O,
    ) -> Served<F> {
        let number = usize::from(port);
        let nanos = now.to_nanos();
        let paused = self.paused(port.into(), nanos);
        let Some(selection) = self.queues.select(number, paused) else {
            self.wait_for_reopening(nanos, port);
            return Served::Nothing;
        };
        let Selection { slot, frame, length, queue } = selection;
        let (policy, orders) = (&self.config.policy, &mut self.orders);
        let mut send = |order: &Order| orders.push(*order);
        let left = if D::SHARED {
            S::depart(&self.tables, policy, slot, nanos, &mut send)
        } else {
            S::depart(self.tables.unshared(), policy, slot, nanos, &mut send)
        };
        let Departure { priority, fate, ingress_port } =
            left.expect("the traffic manager names slots that hold a packet");
        let marked = match fate {
            Fate::Sent { mark } => Ok(mark),
            Fate::Dropped(reason) => Err(reason),
            Fate::Requeued(other) => {
                // Refunds the queue, because DWRR shares sent bytes and no packet was sent.
                self.queues.refund(number, queue, length);
                let packet = Waiting::new(slot, frame, length, self.rank(slot));
                self.queues.enqueue(number, other, packet);
                return Served::Requeued;
            }
        };
        let ingress = port_number(ingress_port);
        self.has_left(now, Departed { port, queue, ingress, priority, length }, observer);
        let mark = match marked {
            Ok(mark) => mark,
            Err(reason) => {
                self.queues.refund(number, queue, length);
                let priority = Some(priority);
                let event = Event::Dropped { port: ingress, reason, priority, length };
                observer.event(now, &self.tables, event);
                let dropped = Some(DroppedPacket { ingress, egress: port, reason });
                self.discarded.push_back(Discarded { frame, dropped });
                // The dropped packet may have caused a RESUME at this port; the RESUME goes first.
                let resumes = !self.ports.is_idle(port);
                return if resumes { Served::Nothing } else { Served::Dropped };
            }
        };
        if self.config.policy.storm_action() == StormAction::Forward {
            self.count_forwarded(now, port, priority, length);
        }
        let more = !self.is_idle(port);
        Served::Sent(Transmission { frame, length, queue, mark, more })
    }

    /// Max number of moves of packets in one poll: each packet once to every queue of its port.
    fn requeue_limit(&self) -> usize {
        self.queues.total_packets() * (1 + self.config.queues.data_queues)
    }

    /// Returns the queues of a port that must not start a transmission at `now`, because of PFC or
    /// of the scheme's own pauses. `None` if all may, which is the usual case.
    #[inline(always)]
    fn paused(&self, port: u32, now: Nanos) -> Option<QueueSet> {
        let mut paused = S::paused(&self.tables, self.config.policy, port, now);
        let settings = self.tables.settings();
        for priority in priority::in_mask(settings.lossless_classes) {
            if self.tables.is_paused(port, priority, now) {
                let queues = settings.queues_of(priority).queues();
                paused = Some(paused.map_or(queues, |others| others.or(queues)));
            }
        }
        paused
    }

    /// Sets a timer for the time at which a queue held back by the scheme may send, unless one is set.
    #[inline]
    fn wait_for_reopening(&mut self, now: Nanos, port: u16) {
        if self.queues.non_empty(usize::from(port)).is_empty() {
            return;
        }
        let at = S::reopens(&self.tables, self.config.policy, port.into(), now);
        let Some(at) = at.map(Picos::from_nanos) else { return };
        let waits_until = &mut self.reopenings[usize::from(port)];
        if *waits_until != at {
            *waits_until = at;
            self.timers.set(at, Timer::Reopening { port });
        }
    }
}
