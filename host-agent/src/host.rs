//! The host, which connects queue pairs, NIC and timers.

mod event;

use std::collections::{BTreeSet, VecDeque};

use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
use fabric_core::queue::{QueueSet, one_per_priority};
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::link_delay::{self, Kind};
use fabric_core::wire::roce::{Ecn, Opcode, RocePacket, Syndrome};
use fabric_core::wire::telemetry::{self, Stamp};
use units::{BitsPerSecond, Picos};

use crate::congestion_control::{self, Control, Feedback};
use crate::counters::HostCounters;
use crate::flow::{Flow, FlowRequest};
use crate::nic::Nic;
use crate::pause::{PauseOutcome, PauseTimers};
use crate::queue_pair_table::QueuePairTable;
use crate::reliability::{Answer, Outcome, Receiver, Reception, Reliability, Sender};
use crate::requester::{Echo, Requester, WindowLimit};
use crate::responder::{Responder, ResponderRequest};

pub use event::{HostEvent, SenderCounts};

/// The configuration of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// IPv4 address, host order.
    pub address: u32,
    /// The NIC's station address.
    pub station: [u8; 6],
    /// Rate of the host's link.
    pub link_rate: BitsPerSecond,
    /// Bytes that a frame takes on the wire beyond its length: preamble, FCS and inter-frame gap.
    pub wire_overhead: u64,
    /// Most payload bytes in a packet.
    pub payload: u16,
    /// Priority of ACKs and NAKs.
    pub ack_priority: Priority,
    /// Priority of CNPs.
    pub cnp_priority: Priority,
    /// In-order packets for which one ACK is sent, unless one asks for it earlier.
    pub ack_interval: u32,
    /// Stamps of switches for which each data packet has room, 0 to 8; 0 for no telemetry. Each takes 8 bytes of the
    /// packet and of its ACK, and the first 8 bytes more.
    pub telemetry_hops: u8,
    /// How long a packet stays unacknowledged, with no progress, before it is sent again.
    pub retransmission_timeout: Picos,
    /// How long after its reception a PAUSE takes effect (802.1Qbb, 36.2.3).
    pub pause_response: Picos,
    /// How queue pairs repair losses.
    pub reliability: Reliability,
    /// How senders set their rate.
    pub congestion_control: congestion_control::Algorithm,
    /// Bytes that a flow may have unacknowledged, whatever its congestion control says.
    pub window: Option<WindowLimit>,
}

/// One RoCEv2 host, without I/O.
///
/// Its driver calls, after every `start_flow`, `handle_*` and transmission,
/// [`poll_link_delay`](Self::poll_link_delay) and then [`poll_transmit`](Self::poll_transmit) at
/// [`next_transmission`](Self::next_transmission) from the instant on at which the port is free, and
/// [`handle_deadline`](Self::handle_deadline) at [`next_timer`](Self::next_timer).
#[derive(Debug)]
pub struct Host {
    config: HostConfig,
    nic: Nic,
    /// The two ends of congestion control in a queue pair that has seen no congestion.
    fresh: Box<(Control, Feedback)>,
    requesters: QueuePairTable<Requester<Sender, Control>>,
    responders: QueuePairTable<Responder<Receiver, Feedback>>,
    /// Retransmission timers, one entry at most per requester. Progress does not move an entry to a later instant;
    /// when it is due, it is put back at the requester's current deadline.
    timers: BTreeSet<(Picos, u32)>,
    /// The first of them, cached: it is read far more often than it changes.
    first_timer: Option<Picos>,
    events: VecDeque<HostEvent>,
    counters: HostCounters,
}

impl Host {
    /// A host with no queue pair.
    ///
    /// # Panics
    /// On a configuration that no host can have: no payload, no rate, or telemetry of more than 8 hops.
    pub fn new(config: HostConfig) -> Self {
        assert!(config.payload > 0, "a packet carries payload");
        assert!(config.link_rate.0 > 0, "a link has a rate");
        assert!(config.telemetry_hops <= telemetry::MOST_HOPS, "a packet has room for 8 stamps");
        let fresh = Box::new(config.congestion_control.ends(config.link_rate));
        Self {
            config,
            fresh,
            nic: Nic::new(PauseTimers::new(
                config.link_rate,
                config.pause_response,
                one_per_priority(None),
            )),
            requesters: QueuePairTable::new(),
            responders: QueuePairTable::new(),
            timers: BTreeSet::new(),
            first_timer: None,
            events: VecDeque::new(),
            counters: HostCounters::default(),
        }
    }

    /// Starts to send a flow, whose packets may go from `now` on.
    ///
    /// # Panics
    /// If the queue pair is sending already.
    pub fn start_flow(&mut self, now: Picos, request: &FlowRequest) {
        self.counters.flows_started += 1;
        let HostConfig { address, payload, reliability, window, .. } = self.config;
        let flow = Flow::new(request, address, payload, reliability.placement());
        let reliability = reliability.sender(&self.config);
        let requester = Requester::new(flow, reliability, self.fresh.0.clone(), window);
        let slot = self.requesters.insert(request.qp, requester);
        self.schedule(now, slot);
    }

    /// Prepares to receive a flow.
    ///
    /// # Panics
    /// If the queue pair is receiving already.
    pub fn open_responder(&mut self, request: &ResponderRequest) {
        let reliability = self.config.reliability.receiver(request, &self.config);
        let responder = Responder::new(request, reliability, self.fresh.1.clone());
        self.responders.insert(request.qp, responder);
    }

    /// Forgets the receiving end of queue pair `qp`: once its sender has completed, nothing needs
    /// it. Returns the bytes that it delivered, or `None` if there is no such queue pair.
    pub fn close_responder(&mut self, qp: u32) -> Option<u64> {
        let slot = self.responders.unlink(qp)?;
        let delivered = self.responders.occupant(slot).delivered_bytes();
        self.responders.release(slot);
        Some(delivered)
    }

    /// Takes a packet without stamps whose last bit arrived at `now`.
    pub fn handle_packet(&mut self, now: Picos, packet: &RocePacket) {
        self.handle_stamped(now, packet, &[]);
    }

    /// Takes a packet with its stamps, first hop first, whose last bit arrived at `now`.
    pub fn handle_stamped(&mut self, now: Picos, packet: &RocePacket, stamps: &[Stamp]) {
        if packet.destination != self.config.address {
            self.counters.misdelivered += 1;
            return;
        }
        match packet.opcode {
            Opcode::WriteFirst | Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteOnly => {
                self.handle_data(now, packet, stamps);
            }
            Opcode::Acknowledge => self.handle_acknowledgement(now, packet, stamps),
            Opcode::Cnp => self.handle_notification(now, packet),
        }
    }

    /// Takes a hop control frame whose last bit arrived at `now`. A NIC obeys PFC and pauses of its queues; it
    /// counts other hop control frames and ignores them.
    pub fn handle_hop_control(&mut self, now: Picos, control: &HopControl) {
        let (pause, counters) = (&mut self.nic.pause, &mut self.counters);
        let (named, paused) = match *control {
            HopControl::Classes(pauses) => {
                match pause.receive(now, &pauses) {
                    PauseOutcome::Paused => counters.pauses_received += 1,
                    PauseOutcome::Resumed => counters.resumes_received += 1,
                    PauseOutcome::Nothing => counters.pauses_without_class += 1,
                }
                return;
            }
            HopControl::Queue { queue, paused } => {
                let queue = QueueSet::of(queue);
                (queue, if paused { queue } else { QueueSet::EMPTY })
            }
            HopControl::Queues { paused } => {
                let [low, high] = paused.map(u128::from);
                (QueueSet::of_data(u128::MAX), QueueSet::of_data(low | high << 64))
            }
            HopControl::Flows { .. } | HopControl::Rate { .. } => {
                counters.unexpected_hop_control += 1;
                return;
            }
        };
        match pause.receive_queues(now, named, paused) {
            PauseOutcome::Paused => counters.queue_pauses_received += 1,
            PauseOutcome::Resumed => counters.queue_resumes_received += 1,
            PauseOutcome::Nothing => counters.unexpected_hop_control += 1,
        }
    }

    /// Takes a link delay frame whose last bit arrived at `now`: a request is answered, when the port is
    /// free. A host asks nothing itself, so it ignores responses.
    pub fn handle_link_delay(&mut self, now: Picos, frame: &LinkDelayFrame) {
        if frame.kind != Kind::Request {
            return;
        }
        self.counters.link_delay_requests += 1;
        let response_time = self.config.pause_response.to_nanos_ceil();
        let answer = frame.answer(self.config.station, now.to_nanos(), response_time);
        self.nic.queue_link_delay_response(answer);
    }

    /// The link delay frame that starts onto the free port at `now`, ahead of any packet, if there is one:
    /// stamped with the instant at which its last bit leaves.
    #[inline]
    pub fn poll_link_delay(&mut self, now: Picos) -> Option<LinkDelayFrame> {
        let mut frame = self.nic.pop_link_delay_response()?;
        let wire_length = link_delay::LEN as u64 + self.config.wire_overhead;
        frame.stamp((now + self.config.link_rate.serialise(wire_length)).to_nanos());
        Some(frame)
    }

    /// Runs the retransmission timers that are due at `now`.
    pub fn handle_deadline(&mut self, now: Picos) {
        while let Some(&(at, slot)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            self.find_first_timer();
            let requester = self.requesters.occupant(slot);
            requester.timer_entry = None;
            match requester.retransmission_deadline() {
                None => {}
                Some(deadline) if deadline > now => self.set_timer(slot, deadline),
                Some(_) => {
                    self.counters.timeouts += 1;
                    requester.expire(now);
                    self.schedule(now, slot);
                }
            }
        }
    }

    /// The packet that starts onto the free port at `now`, if one may; after `poll_link_delay`.
    pub fn poll_transmit(&mut self, now: Picos) -> Option<RocePacket> {
        if let Some(packet) = self.nic.pop_control(now) {
            self.count_control(&packet);
            return Some(packet);
        }
        while let Some(slot) = self.nic.pop_queue_pair(now) {
            let requester = self.requesters.occupant(slot);
            requester.scheduled = false;
            if requester.can_send(now) {
                return Some(self.transmit_data(now, slot));
            }
            // An ACK came between its scheduling and its turn.
            if requester.is_complete() {
                self.requesters.release(slot);
            }
        }
        None
    }

    /// The stamps of a packet that [`poll_transmit`](Self::poll_transmit) has just returned; none unless it echoes some.
    #[inline]
    pub fn stamps_of(&self, packet: &RocePacket) -> &[Stamp] {
        self.nic.stamps_of(packet)
    }

    /// The earliest instant from `from` on at which [`poll_link_delay`](Self::poll_link_delay) or
    /// [`poll_transmit`](Self::poll_transmit) has something, unless something arrives before.
    #[inline]
    pub fn next_transmission(&self, from: Picos) -> Option<Picos> {
        self.nic.next_transmission(from)
    }

    /// Whether nothing is left to be sent or to be acknowledged.
    pub fn is_idle(&self) -> bool {
        self.next_timer().is_none() && self.nic.is_empty()
    }

    /// The earliest instant at which [`handle_deadline`](Self::handle_deadline) has something to
    /// do, whatever the port does.
    #[inline]
    pub fn next_timer(&self) -> Option<Picos> {
        self.first_timer
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// What the sender of `qp` has counted so far, if it has not completed.
    pub fn sender_counts(&mut self, qp: u32) -> Option<SenderCounts> {
        let slot = self.requesters.slot_of(qp)?;
        let Requester { retransmitted_packets, notifications, .. } =
            *self.requesters.occupant(slot);
        Some(SenderCounts { retransmitted_packets, notifications })
    }

    /// The counters since the start.
    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    fn handle_data(&mut self, now: Picos, packet: &RocePacket, stamps: &[Stamp]) {
        let config = &self.config;
        let counters = &mut self.counters;
        let responder = self
            .responders
            .slot_of(packet.destination_qp)
            .map(|slot| self.responders.occupant(slot))
            .filter(|responder| responder.request().peer == packet.source);
        let Some(responder) = responder else {
            counters.unknown_queue_pair += 1;
            return;
        };
        counters.data_packets_received += 1;
        let marked = packet.ecn == Ecn::CongestionExperienced;
        counters.marked_packets_received += u64::from(marked);
        if responder.calls_for_notification(now, marked) {
            self.nic.queue_notification(responder.notification(config));
        }
        let (reception, answer) = responder.receive(packet);
        match reception {
            Reception::InOrder { bytes, message_complete } => {
                counters.delivered_bytes += bytes;
                let ResponderRequest { qp, bytes, .. } = *responder.request();
                if message_complete && responder.delivered_bytes() == bytes {
                    self.events.push_back(HostEvent::FlowDelivered { qp, bytes, at: now });
                }
            }
            Reception::Duplicate => counters.duplicate_packets += 1,
            Reception::OutOfOrder => counters.out_of_order_packets += 1,
            Reception::Mismatch => counters.message_mismatches += 1,
        }
        if let Some(answer) = answer {
            let answer = responder.acknowledgement(config, &answer, packet.telemetry);
            self.nic.queue_acknowledgement(answer, stamps);
        }
    }

    fn handle_acknowledgement(&mut self, now: Picos, packet: &RocePacket, stamps: &[Stamp]) {
        let Some(slot) = self.sending_to(packet) else {
            return;
        };
        let Some(aeth) = packet.aeth else {
            self.counters.missing_aeth += 1;
            return;
        };
        match aeth.syndrome {
            Syndrome::Ack => self.counters.acknowledgements_received += 1,
            Syndrome::NakSequenceError | Syndrome::SelectiveNak => {
                self.counters.naks_received += 1;
            }
        }
        let requester = self.requesters.occupant(slot);
        let answer = Answer { psn: packet.psn, aeth };
        let echo = Echo::of(packet, stamps);
        let outcome = requester.receive_answer(now, &answer, &echo, self.config.link_rate);
        self.counters.rate_cuts += requester.take_cuts();
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

    fn handle_notification(&mut self, now: Picos, packet: &RocePacket) {
        let Some(slot) = self.sending_to(packet) else {
            return;
        };
        self.counters.cnps_received += 1;
        let requester = self.requesters.occupant(slot);
        requester.receive_notification(now, self.config.link_rate);
        self.counters.rate_cuts += requester.take_cuts();
        self.schedule(now, slot);
    }

    /// The slot of the requester that an ACK, NAK or CNP is for; a packet for an unknown one is counted.
    fn sending_to(&mut self, packet: &RocePacket) -> Option<u32> {
        let slot = self
            .requesters
            .slot_of(packet.destination_qp)
            .filter(|&slot| self.requesters.occupant(slot).request().destination == packet.source);
        if slot.is_none() {
            self.counters.unknown_queue_pair += 1;
        }
        slot
    }

    fn transmit_data(&mut self, now: Picos, slot: u32) -> RocePacket {
        let requester = self.requesters.occupant(slot);
        let (packet, again) = requester.transmit(now, &self.config);
        self.counters.rate_cuts += requester.take_cuts();
        self.counters.data_packets_sent += 1;
        self.counters.payload_bytes_sent += u64::from(packet.payload_length);
        self.counters.retransmitted_packets += u64::from(again);
        self.update_timer(slot);
        self.schedule(now, slot);
        packet
    }

    /// Tells the NIC of a queue pair that has something to send, unless it knows.
    fn schedule(&mut self, now: Picos, slot: u32) {
        let requester = self.requesters.occupant(slot);
        if requester.scheduled || !requester.can_send(now) {
            return;
        }
        requester.scheduled = true;
        let queue = self.nic.pause.queue(requester.request().priority);
        if requester.next_start > now {
            self.nic.schedule_at(queue, slot, requester.next_start);
        } else {
            self.nic.schedule(queue, slot);
        }
    }

    /// Gives a queue pair's timer an entry that is no later than its deadline.
    #[inline]
    fn update_timer(&mut self, slot: u32) {
        let requester = self.requesters.occupant(slot);
        let Some(deadline) = requester.retransmission_deadline() else {
            return;
        };
        match requester.timer_entry {
            Some(at) if at <= deadline => return,
            Some(at) => _ = self.timers.remove(&(at, slot)),
            None => {}
        }
        self.set_timer(slot, deadline);
    }

    fn set_timer(&mut self, slot: u32, at: Picos) {
        self.requesters.occupant(slot).timer_entry = Some(at);
        self.timers.insert((at, slot));
        self.find_first_timer();
    }

    fn find_first_timer(&mut self) {
        self.first_timer = self.timers.first().map(|&(at, _)| at);
    }

    /// Ends a flow: no timer of it stays, and its slot only as long as the NIC still names it.
    fn complete(&mut self, now: Picos, slot: u32) {
        let requester = self.requesters.occupant(slot);
        let FlowRequest { flow, qp, .. } = *requester.request();
        let scheduled = requester.scheduled;
        let event = HostEvent::FlowCompleted {
            flow,
            at: now,
            counts: SenderCounts {
                retransmitted_packets: requester.retransmitted_packets,
                notifications: requester.notifications,
            },
        };
        if let Some(at) = requester.timer_entry.take() {
            self.timers.remove(&(at, slot));
            self.find_first_timer();
        }
        self.requesters.unlink(qp);
        if !scheduled {
            self.requesters.release(slot);
        }
        self.counters.flows_completed += 1;
        self.events.push_back(event);
    }

    fn count_control(&mut self, packet: &RocePacket) {
        let counter = match packet.aeth.map(|aeth| aeth.syndrome) {
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
