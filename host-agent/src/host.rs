//! The host, which connects queue pairs, NIC and timers.

mod config;
mod deadlines;
mod event;
mod flow_pauses;
mod neighbour;
mod roce;
mod tcp;
mod timers;

use std::collections::VecDeque;

use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::routing::key_name;
use fabric_core::wire::Packet;
use fabric_core::wire::roce::Syndrome;
use fabric_core::wire::telemetry::{Carrier, Stamp};
use units::Picos;

use crate::counters::HostCounters;
use crate::flow::FlowRequest;
use crate::nic::Nic;
use crate::pause::PauseTimers;
use crate::queue_pair_table::QueuePairTable;
use crate::reliability::Outcome;
use crate::responder::ResponderRequest;
use crate::storm::Storms;
use crate::transport::{FreshTransport, Protocol, ReceivingEnd, SendingEnd, Transport};

pub use config::HostConfig;
pub use event::{HostEvent, SenderCounts};
use flow_pauses::FlowPauses;
use timers::{TimerOf, Timers};

/// One host, without I/O.
///
/// Its driver calls, after every `start_flow`, `handle_*` and transmission,
/// [`poll_class_pauses`](Self::poll_class_pauses), [`poll_link_delay`](Self::poll_link_delay) and then [`poll_transmit`](Self::poll_transmit) at
/// [`next_transmission`](Self::next_transmission) from the instant on at which the port is free, and
/// [`handle_deadline`](Self::handle_deadline) at [`next_timer`](Self::next_timer). After an arrival the driver may
/// skip polling until the [planned](Self::plan_transmission) instant, unless [`has_news`](Self::has_news).
#[derive(Debug)]
pub struct Host {
    config: HostConfig,
    nic: Nic,
    /// By the numbers that requests name.
    transports: Box<[FreshTransport]>,
    senders: QueuePairTable<Sending>,
    receivers: QueuePairTable<Receiving>,
    /// Progress does not move an entry to a later instant; when it is due, it is put back at the end's current deadline.
    timers: Timers,
    events: VecDeque<HostEvent>,
    counters: HostCounters,
    storms: Storms,
    flow_pauses: FlowPauses,
    /// True if some flow has been traced.
    traces: bool,
    /// Result of [`named_queue`](Self::named_queue).
    named_queue: QueueId,
    /// Result of [`ready_since`](Self::ready_since).
    ready_since: Option<Picos>,
}

/// A sending end, with the host's state for it.
#[derive(Debug)]
struct Sending {
    end: SendingEnd,
    /// The NIC's queue for it.
    queue: QueueId,
    /// The name of its flow in the neighbour's pauses; 0 where these are not obeyed.
    name: u32,
    /// True while it waits for its flow to be resumed.
    waits: bool,
    /// True if it is scheduled at the NIC.
    scheduled: bool,
    /// Instant from which its own rate, window and data allow its next packet.
    since: Picos,
    /// Instant of its entry among the timers, if it has one.
    timer_entry: Option<Picos>,
}

/// A receiving end, with the host's state for it.
#[derive(Debug)]
struct Receiving {
    end: ReceivingEnd,
    /// Instant of its entry among the timers, if it has one.
    timer_entry: Option<Picos>,
}

impl Host {
    /// A host with no queue pair and no connection. Flows name one of `transports` by its place.
    ///
    /// # Panics
    /// On a configuration that no host can have: no payload, no rate, no transport, or telemetry of more hops than a
    /// packet has room for.
    pub fn new(config: HostConfig, transports: &[Transport]) -> Self {
        assert!(config.payload > 0, "a packet carries payload");
        assert!(config.link_rate.0 > 0, "a link has a rate");
        assert!(!transports.is_empty(), "something carries flows");
        let has_room = |transport: &Transport| {
            let carrier = match transport.protocol {
                Protocol::Roce { .. } => Carrier::Udp,
                Protocol::Tcp(_) => Carrier::Tcp,
            };
            transport.telemetry_hops <= carrier.most_hops()
        };
        assert!(transports.iter().all(has_room), "a packet has room for its stamps");
        let fresh = |transport: &Transport| FreshTransport::new(*transport, config.link_rate);
        Self {
            config,
            transports: transports.iter().map(fresh).collect(),
            nic: Nic::new(
                PauseTimers::new(config.link_rate, config.pause_response, config.queues)
                    .lasting(config.pause_time()),
                config.ack_queue,
                config.scheduler,
            ),
            senders: QueuePairTable::new(),
            receivers: QueuePairTable::new(),
            timers: Timers::default(),
            events: VecDeque::new(),
            storms: Storms::new(config.link_rate),
            flow_pauses: FlowPauses::default(),
            traces: false,
            named_queue: QueueId::CONTROL,
            ready_since: None,
            counters: HostCounters::default(),
        }
    }

    /// Starts to send a flow, whose packets may start from `now` on.
    ///
    /// # Panics
    /// If its queue pair or connection is sending already, or `request.transport` is out of range.
    pub fn start_flow(&mut self, now: Picos, request: &FlowRequest) {
        let end = self.sending_end(request);
        self.start(now, request.qp, end);
    }

    /// Starts a flow as [`start_flow`](Self::start_flow) does, and reports each change of its sender's rate, window or
    /// congestion ([`HostEvent::SenderChanged`]).
    ///
    /// # Panics
    /// As `start_flow`.
    pub fn start_traced_flow(&mut self, now: Picos, request: &FlowRequest) {
        let mut end = self.sending_end(request);
        end.trace();
        self.traces = true;
        self.start(now, request.qp, end);
    }

    fn sending_end(&self, request: &FlowRequest) -> SendingEnd {
        let transport = &self.transports[usize::from(request.transport)];
        transport.sending_end(request, &self.config)
    }

    fn start(&mut self, now: Picos, qp: u32, end: SendingEnd) {
        self.counters.flows_started += 1;
        let request = end.request();
        let of_incast = self.config.keeps_incast_queue.then_some(request.is_incast);
        let queue = self.nic.assign(request.priority, of_incast);
        let name = if self.config.obeys_flow_pauses {
            key_name(&end.flow_key(self.config.address))
        } else {
            0
        };
        let sending = Sending {
            end,
            queue,
            name,
            waits: false,
            scheduled: false,
            since: now,
            timer_entry: None,
        };
        let slot = self.senders.insert(qp, sending);
        self.record_change(now, slot);
        self.schedule(now, slot);
    }

    /// Prepares to receive a flow.
    ///
    /// # Panics
    /// If its queue pair or connection is receiving already, or `request.transport` is out of range.
    pub fn open_responder(&mut self, request: &ResponderRequest) {
        let transport = &self.transports[usize::from(request.transport)];
        let end = transport.receiving_end(request, &self.config);
        self.receivers.insert(request.qp, Receiving { end, timer_entry: None });
    }

    /// Returns the bytes that queue pair or connection `qp` has delivered so far, or `None` for an unknown number.
    pub fn delivered_bytes(&mut self, qp: u32) -> Option<u64> {
        let slot = self.receivers.slot_of(qp)?;
        Some(self.receivers.occupant(slot).end.delivered_bytes())
    }

    /// Removes the receiving end of queue pair or connection `qp`, which is not needed once its sender has completed.
    /// Returns the payload bytes that the receiving end delivered in order, or `None` if `qp` has none open.
    pub fn close_responder(&mut self, qp: u32) -> Option<u64> {
        let slot = self.receivers.unlink(qp)?;
        let receiving = self.receivers.occupant(slot);
        let delivered = receiving.end.delivered_bytes();
        self.timers.remove(TimerOf::Receiver(slot), &mut receiving.timer_entry);
        self.receivers.release(slot);
        Some(delivered)
    }

    /// The packet that starts onto the free port at `now`, if one may; after `poll_link_delay`.
    pub fn poll_transmit(&mut self, now: Picos) -> Option<Packet> {
        self.named_queue = QueueId::CONTROL;
        self.ready_since = None;
        if let Some(packet) = self.nic.pop_control(now) {
            self.count_control(&packet);
            self.note_start(now, &packet);
            return Some(packet);
        }
        while let Some(slot) = self.nic.pop_queue_pair(now) {
            let sending = self.senders.occupant(slot);
            sending.scheduled = false;
            if sending.end.can_send(now) {
                if sending.end.next_start() > now {
                    // Its rate fell while it waited for its turn, so its pacing gap is not over.
                    self.schedule(now, slot);
                    continue;
                }
                if self.flow_pauses.stops(sending) {
                    sending.waits = true;
                    self.flow_pauses.wait(slot);
                    continue;
                }
                if self.config.names_queues {
                    self.named_queue = sending.queue;
                }
                self.ready_since = Some(sending.since);
                let packet = self.transmit_data(now, slot);
                self.note_start(now, &packet);
                return Some(packet);
            }
            // An ACK came between its scheduling and its turn.
            if sending.end.is_complete() {
                self.senders.release(slot);
            }
        }
        None
    }

    /// Reports the start of a packet to the NIC, for the gap behind it, if rates cause gaps.
    #[inline]
    fn note_start(&mut self, now: Picos, packet: &Packet) {
        if !self.config.obeys_rates {
            return;
        }
        let own = packet.frame_length() as u64;
        let length = self.config.frame_lengths.packet(packet.payload_length().into(), own);
        let bytes = length + self.config.frame_time.overhead;
        self.nic.started(now, packet, bytes);
    }

    /// The queue that the source address names of the packet which [`poll_transmit`](Self::poll_transmit) has just
    /// returned: [`QueueId::in_address`].
    #[inline]
    pub const fn named_queue(&self) -> QueueId {
        self.named_queue
    }

    /// Instant from which the data packet that [`poll_transmit`](Self::poll_transmit) has just returned could go by its
    /// sender: only the port, pauses and other packets held it from then on. `None` for an ACK, NAK or CNP.
    #[inline]
    pub const fn ready_since(&self) -> Option<Picos> {
        self.ready_since
    }

    /// Stamps of a packet that [`poll_transmit`](Self::poll_transmit) has just returned. Empty unless the packet echoes
    /// stamps.
    #[inline]
    pub fn stamps_of(&self, packet: &Packet) -> &[Stamp] {
        self.nic.stamps_of(packet)
    }

    /// The earliest instant from `from` on at which [`poll_class_pauses`](Self::poll_class_pauses),
    /// [`poll_link_delay`](Self::poll_link_delay) or [`poll_transmit`](Self::poll_transmit) has something, unless something arrives before.
    #[inline]
    pub fn next_transmission(&self, from: Picos) -> Option<Picos> {
        self.nic.next_transmission(from)
    }

    /// Returns [`next_transmission`](Self::next_transmission) and clears [`has_news`](Self::has_news). The result holds
    /// until then, or until its instant.
    #[inline(always)]
    pub fn plan_transmission(&mut self, from: Picos) -> Option<Picos> {
        self.nic.plan_transmission(from)
    }

    /// Returns true if [`plan_transmission`](Self::plan_transmission) may return another instant than before.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.nic.has_news()
    }

    /// First instant from `from` on at which a frame of `priority` may start, if nothing else arrives; `Picos::MAX` if
    /// its pause does not end by itself.
    pub fn open_from(&self, priority: Priority, from: Picos) -> Picos {
        let pauses = self.nic.pauses();
        pauses.open_from(pauses.queue(priority), from)
    }

    /// Returns true if nothing is left to send or to be acknowledged. A PFC storm may still be active.
    pub fn is_idle(&self) -> bool {
        self.timers.first().is_none() && self.nic.is_empty()
    }

    /// Earliest instant at which [`handle_deadline`](Self::handle_deadline) is due, independent of the port.
    #[inline]
    pub fn next_timer(&self) -> Option<Picos> {
        match (self.timers.first(), self.storms.next()) {
            (first, Picos::MAX) => first,
            (None, storm) => Some(storm),
            (Some(first), storm) => Some(first.min(storm)),
        }
    }

    /// Returns true if an event is queued.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next event, oldest first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// Counters of the sender of `qp` so far; `None` once it has completed.
    pub fn sender_counts(&mut self, qp: u32) -> Option<SenderCounts> {
        let slot = self.senders.slot_of(qp)?;
        Some(self.senders.occupant(slot).end.counts())
    }

    /// The counters since the start.
    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    /// Updates timer and schedule after an ACK or NAK with this outcome.
    #[inline]
    fn act_on(&mut self, now: Picos, slot: u32, outcome: Outcome) {
        self.record_change(now, slot);
        match outcome {
            Outcome::Useful => {
                self.update_timer(slot);
                self.schedule(now, slot);
            }
            Outcome::Completed => self.complete(now, slot),
            Outcome::Stale => {
                self.counters.stale_acknowledgements += 1;
                // Its congestion feedback may have opened the window.
                self.schedule(now, slot);
            }
            Outcome::BeyondSent => self.counters.acknowledgements_beyond_sent += 1,
        }
    }

    /// The slot of the end `qp` that sends to `peer`; a packet for an unknown one is counted.
    #[inline]
    fn sending_to(&mut self, qp: u32, peer: u32) -> Option<u32> {
        let slot = self
            .senders
            .slot_of(qp)
            .filter(|&slot| self.senders.occupant(slot).end.request().destination == peer);
        if slot.is_none() {
            self.counters.unknown_queue_pair += 1;
        }
        slot
    }

    fn transmit_data(&mut self, now: Picos, slot: u32) -> Packet {
        let sending = self.senders.occupant(slot);
        let (packet, again) = sending.end.transmit(now, &self.config);
        self.counters.rate_cuts += sending.end.take_cuts();
        self.counters.data_packets_sent += 1;
        self.counters.payload_bytes_sent += u64::from(packet.payload_length());
        self.counters.retransmitted_packets += u64::from(again);
        self.record_change(now, slot);
        self.update_timer(slot);
        self.schedule(now, slot);
        packet
    }

    /// Queues an event for a change of a traced flow's sender, if there is one.
    #[inline(always)]
    fn record_change(&mut self, now: Picos, slot: u32) {
        if self.traces {
            self.record_change_of(now, slot);
        }
    }

    #[cold]
    fn record_change_of(&mut self, now: Picos, slot: u32) {
        let sending = self.senders.occupant(slot);
        if let Some(state) = sending.end.poll_trace(now) {
            let flow = sending.end.request().flow;
            self.events.push_back(HostEvent::SenderChanged { flow, at: now, state: state.into() });
        }
    }

    /// Schedules a flow that has something to send, or moves the start of its next packet if a new rate moves it.
    fn schedule(&mut self, now: Picos, slot: u32) {
        let sending = self.senders.occupant(slot);
        let queue = sending.queue;
        if sending.scheduled {
            let start = sending.end.next_start().max(now);
            if sending.since > now && sending.since != start {
                sending.since = start;
                self.nic.reschedule_at(queue, slot, start);
            }
            return;
        }
        if sending.waits || !sending.end.can_send(now) {
            return;
        }
        sending.scheduled = true;
        let start = sending.end.next_start();
        sending.since = start.max(now);
        let remaining = || sending.end.remaining();
        if start > now {
            self.nic.schedule_at(queue, slot, start, remaining);
        } else {
            self.nic.schedule(queue, slot, remaining);
        }
    }

    /// Ensures that a sender's timer has an entry no later than its deadline.
    #[inline]
    fn update_timer(&mut self, slot: u32) {
        let sending = self.senders.occupant(slot);
        let Some(deadline) = sending.end.deadline() else {
            return;
        };
        let (owner, entry) = (TimerOf::Sender(slot), &mut sending.timer_entry);
        if entry.is_none_or(|at| at > deadline) {
            self.timers.remove(owner, entry);
            self.timers.set(owner, entry, deadline);
        }
    }

    /// Ends a flow: no timer of it stays, and its slot only as long as the NIC still names it.
    fn complete(&mut self, now: Picos, slot: u32) {
        let sending = self.senders.occupant(slot);
        let FlowRequest { flow, qp, .. } = *sending.end.request();
        let (scheduled, queue) = (sending.scheduled, sending.queue);
        if sending.waits {
            self.flow_pauses.forget(slot);
        }
        let counts = sending.end.counts();
        self.timers.remove(TimerOf::Sender(slot), &mut sending.timer_entry);
        self.senders.unlink(qp);
        self.nic.release(queue);
        if !scheduled {
            self.senders.release(slot);
        }
        self.counters.flows_completed += 1;
        self.events.push_back(HostEvent::FlowCompleted { flow, at: now, counts });
    }

    fn count_control(&mut self, packet: &Packet) {
        let syndrome = match packet {
            Packet::Roce(packet) => packet.aeth.map(|aeth| aeth.syndrome),
            Packet::Tcp(_) => Some(Syndrome::Ack),
        };
        let counter = match syndrome {
            None => &mut self.counters.cnps_sent,
            Some(Syndrome::Ack) => &mut self.counters.acknowledgements_sent,
            Some(Syndrome::NakSequenceError | Syndrome::SelectiveNak) => {
                &mut self.counters.naks_sent
            }
        };
        *counter += 1;
    }
}

#[cfg(test)]
pub(crate) mod tests;
