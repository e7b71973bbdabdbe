//! The host: its NIC, and what it does with arriving packets and timers.

mod list;
mod packets;
mod pauses;
#[cfg(test)]
mod tests;
mod timeouts;
mod timers;

use std::collections::{BTreeMap, VecDeque};

use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority::Priority;
use fabric_core::wire::roce::{Ecn, Opcode, RocePacket, Syndrome};
use fabric_core::wire::telemetry::{Stamp, Stamps};
use units::{BitsPerSecond, Nanos, Picos};

use packets::{answer_to, data_packet, number_of, of_stamp, to_stamp};

use super::congestion::hpcc::{Base, Hop, MAX_HOPS};
use super::congestion::{Congestion, Feedback};
use super::queue_pair::{Flow, QueuePair};
use super::receiver::{Answer, Receiver, chunk_start};
use super::settings::{Control, Settings};
use super::time::Arithmetic;
use super::{Purpose, Schedule, Timer};
use crate::counters::HostCounters;
use crate::frame_length::FrameLengths;
use crate::host::{HostEvent, SenderCounts};
use crate::queue_pair_table::QueuePairTable;

/// The place of a host, and what its frames have in common.
#[derive(Clone, Copy, Debug)]
pub struct HostLink {
    /// Address of the host.
    pub address: u32,
    /// Rate of its link.
    pub rate: BitsPerSecond,
    /// Payload of a full packet.
    pub payload: u16,
    /// Accounted lengths of frames.
    pub lengths: FrameLengths,
    /// Class whose pauses stop ACKs.
    pub ack_queue: Priority,
    /// Time after which a pause ends by itself; `None` if it lasts until RESUME.
    pub pause: Option<Nanos>,
    /// Arithmetic of the gaps between paced packets.
    pub arithmetic: Arithmetic,
}

/// Result of a call, on which the driver acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// True if the NIC looks for a packet, if its port is free.
    pub looks: bool,
    /// Payload bytes that came in order.
    pub delivered: u64,
    /// A flow that this host has sent completely. Its receiver forgets it at this instant.
    pub completed: Option<Flow>,
}

/// A queued answer with its telemetry.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: RocePacket,
    stamps: Stamps,
}

/// See the module.
#[derive(Debug)]
pub struct Host {
    settings: Settings,
    link: HostLink,
    answers: VecDeque<Waiting>,
    queue_pairs: QueuePairTable<QueuePair>,
    /// Slots of queue pairs in the order of their creation, without those that have been cleared away.
    list: Vec<u32>,
    /// Place in the list of the queue pair that sent last, at that time.
    last: usize,
    /// Number of queue pairs so far, or since the list was emptied.
    created: usize,
    /// True if the list may have queue pairs that are complete.
    has_finished: bool,
    receivers: BTreeMap<u32, Receiver>,
    /// Paused classes, one bit each.
    paused: u8,
    /// Number of the timer that ends the pause of each class; 0 without one.
    pause_ends: [u32; PRIORITIES],
    /// Instant and number of the pending wake-up.
    wake: Option<(Nanos, u32)>,
    /// Number of the last timer.
    timers: u32,
    /// Stamps of the packet that was sent last.
    stamps: Stamps,
    /// Result of [`ready_since`](Self::ready_since).
    ready_since: Option<Nanos>,
    counters: HostCounters,
    events: VecDeque<HostEvent>,
}

impl Host {
    /// An idle host.
    pub fn new(settings: Settings, link: HostLink) -> Self {
        Self {
            settings,
            link,
            answers: VecDeque::new(),
            queue_pairs: QueuePairTable::new(),
            list: Vec::new(),
            last: 0,
            created: 0,
            has_finished: false,
            receivers: BTreeMap::new(),
            paused: 0,
            pause_ends: [0; PRIORITIES],
            wake: None,
            timers: 0,
            stamps: Stamps::default(),
            ready_since: None,
            counters: HostCounters::default(),
            events: VecDeque::new(),
        }
    }

    /// Counters since the start.
    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    /// The next event, oldest first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// Counters of the sender of `qp` so far; `None` once it has completed.
    pub fn sender_counts(&mut self, qp: u32) -> Option<SenderCounts> {
        let slot = self.queue_pairs.slot_of(qp)?;
        Some(counts(self.queue_pairs.occupant(slot)))
    }

    /// True if nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.answers.is_empty()
    }

    /// Creates the queue pair of a flow. The NIC looks for a packet afterwards.
    pub fn start(&mut self, now: Nanos, flow: Flow) {
        self.counters.flows_started += 1;
        let place = self.created;
        self.created += 1;
        let pair = QueuePair { place, ..QueuePair::new(flow, now, self.link.rate, &self.settings) };
        self.has_finished |= pair.is_finished();
        let slot = self.queue_pairs.insert(flow.qp, pair);
        self.list.push(slot);
    }

    /// Empties the NIC's list. Queue pairs that are complete do not come back.
    pub fn empty_list(&mut self) {
        for slot in std::mem::take(&mut self.list) {
            if self.queue_pairs.occupant(slot).is_finished() {
                self.queue_pairs.release(slot);
            }
        }
        self.created = 0;
    }

    /// Adds a queue pair to the NIC's list again. The NIC looks for a packet afterwards.
    pub fn reassign(&mut self, qp: u32) {
        let slot = self.queue_pairs.slot_of(qp).expect("it is not complete");
        self.queue_pairs.occupant(slot).place = self.created;
        self.created += 1;
        self.list.push(slot);
    }

    /// Deletes the receiving end of a queue pair. Returns the bytes that it had taken.
    pub fn forget(&mut self, qp: u32) -> Option<u64> {
        self.receivers.remove(&qp).map(|receiver| receiver.delivered)
    }

    /// Handles an arriving packet with its telemetry.
    pub fn handle_packet(
        &mut self,
        now: Picos,
        packet: &RocePacket,
        stamps: &[Stamp],
        schedule: &mut impl Schedule,
    ) -> Reaction {
        match packet.opcode {
            Opcode::Acknowledge => self.handle_answer(now, packet, stamps, schedule),
            _ => self.handle_data(now.to_nanos(), packet, stamps),
        }
    }

    fn handle_data(&mut self, now: Nanos, packet: &RocePacket, stamps: &[Stamp]) -> Reaction {
        let marked = packet.ecn == Ecn::CongestionExperienced;
        self.counters.count_data(marked);
        let receiver = self.receivers.entry(packet.destination_qp).or_default();
        let before = receiver.delivered;
        let first = packet.reth.map_or(0, |reth| reth.virtual_address as u32);
        let answer = receiver.receive(now, (first, packet.payload_length), &self.settings);
        let delivered = receiver.delivered.saturating_sub(before);
        let expected = receiver.expected;
        self.counters.delivered_bytes += delivered;
        let syndrome = match answer {
            Answer::Nothing => return Reaction { delivered, ..Reaction::default() },
            Answer::Ack => Syndrome::Ack,
            Answer::Nack => Syndrome::NakSequenceError,
        };
        let notifies = marked || self.settings.nack_notifies && answer == Answer::Nack;
        let mut packet = answer_to(packet, expected, syndrome, notifies);
        if self.settings.acks_in_class_0 {
            packet.dscp = 0;
        }
        let mut all = Stamps::default();
        all[..stamps.len()].copy_from_slice(stamps);
        self.answers.push_back(Waiting { packet, stamps: all });
        Reaction { looks: true, delivered, ..Reaction::default() }
    }

    /// Handles an ACK or NACK. One of an unknown queue pair does nothing at all.
    fn handle_answer(
        &mut self,
        now: Picos,
        packet: &RocePacket,
        stamps: &[Stamp],
        schedule: &mut impl Schedule,
    ) -> Reaction {
        let (Some(slot), Some(aeth)) =
            (self.queue_pairs.slot_of(packet.destination_qp), packet.aeth)
        else {
            self.counters.unknown_queue_pair += 1;
            return Reaction::default();
        };
        let is_nack = aeth.syndrome != Syndrome::Ack;
        if is_nack {
            self.counters.naks_received += 1;
        } else {
            self.counters.acknowledgements_received += 1;
        }
        let number = number_of(packet.psn, aeth);
        let pair = self.queue_pairs.occupant(slot);
        pair.notifications += u64::from(packet.congestion_echo);
        let up_to = if self.settings.repeats_chunk {
            chunk_start(number, self.settings.chunk.get().0)
        } else {
            number
        };
        pair.acknowledged = pair.acknowledged.max(u64::from(up_to));
        if self.settings.skips_acknowledged {
            pair.next = pair.next.max(pair.acknowledged);
        }
        let completed = pair.is_finished().then_some(pair.flow);
        if let Some(Flow { flow, qp, .. }) = completed {
            let counts = counts(pair);
            self.events.push_back(HostEvent::FlowCompleted { flow, at: now, counts });
            self.counters.flows_completed += 1;
            self.queue_pairs.unlink(qp);
            self.has_finished = true;
        }
        let pair = self.queue_pairs.occupant(slot);
        if completed.is_none() && pair.next > pair.acknowledged {
            self.restart_timeout(now.to_nanos(), slot, schedule);
        }
        let pair = self.queue_pairs.occupant(slot);
        if is_nack {
            pair.next = pair.acknowledged;
        }
        let feedback = Feedback { number, sent: pair.next as u32, marked: packet.congestion_echo };
        self.control(now.to_nanos(), slot, feedback, stamps, schedule);
        self.note_opening(now.to_nanos(), slot);
        Reaction { looks: true, delivered: 0, completed }
    }

    /// Congestion control after an ACK or NACK.
    fn control(
        &mut self,
        now: Nanos,
        slot: u32,
        feedback: Feedback,
        stamps: &[Stamp],
        schedule: &mut impl Schedule,
    ) {
        let (settings, line) = (self.settings, self.link.rate.0);
        let payload = u32::from(self.link.payload);
        let pair = self.queue_pairs.occupant(slot);
        let rates = (pair.rate, line);
        match &mut pair.congestion {
            Congestion::None => {}
            Congestion::Dcqcn(state) => {
                if feedback.marked && state.notified(pair.rate) && !pair.is_finished() {
                    let qp = pair.flow.qp;
                    self.clock(now, Purpose::Alpha, qp, 0, schedule);
                    self.clock(now, Purpose::Decrease, qp, timers::FIRST_DECREASE, schedule);
                }
            }
            Congestion::Timely(state) => {
                let sent_at = stamps.first().map_or(0, |stamp| of_stamp(*stamp));
                let rtt = now.0.saturating_sub(sent_at);
                if let Some(rate) = state.acknowledged(feedback, rtt, rates, &settings) {
                    pair.rate = rate;
                }
            }
            Congestion::Dctcp(state) => {
                if let Some(rate) = state.acknowledged(feedback, payload, rates, &settings) {
                    pair.rate = rate;
                }
            }
            Congestion::Hpcc(state) => {
                let base = Base { rtt: pair.flow.base_rtt.0, window: pair.flow.window, line };
                let (hops, count) = hops_of(stamps);
                let rate = state.acknowledged(feedback, &hops[..count], base, &settings);
                self.change_rate(now, slot, rate, schedule);
            }
            Congestion::PowerTcp(state) => {
                let base = (&mut pair.flow.base_rtt, line);
                let (hops, count) = hops_of(stamps);
                let hops = &hops[..count];
                let rate = state.acknowledged(now, feedback, hops, base, &settings);
                self.change_rate(now, slot, rate, schedule);
            }
        }
    }

    /// Sets a queue pair's new rate, if there is one, which holds from now on.
    fn change_rate(
        &mut self,
        now: Nanos,
        slot: u32,
        rate: Option<u64>,
        schedule: &mut impl Schedule,
    ) {
        let Some(rate) = rate else { return };
        let pair = self.queue_pairs.occupant(slot);
        pair.change_rate(rate, self.link.arithmetic);
        let available = pair.available;
        self.move_wake(now, available, schedule);
    }

    fn note_opening(&mut self, now: Nanos, slot: u32) {
        let pair = self.queue_pairs.occupant(slot);
        pair.note_opening(now, self.link.rate, &self.settings);
    }

    /// Starts the clock of increases anew, and cancels the one before it.
    fn start_increases(&mut self, now: Nanos, slot: u32, schedule: &mut impl Schedule) {
        let qp = self.queue_pairs.occupant(slot).flow.qp;
        let number = self.clock(now, Purpose::Increase, qp, 0, schedule);
        if let Congestion::Dcqcn(state) = &mut self.queue_pairs.occupant(slot).congestion {
            state.increase_timer = number;
        }
    }

    /// Moves the pending wake-up to an earlier instant, at which a queue pair may send.
    fn move_wake(&mut self, now: Nanos, available: Nanos, schedule: &mut impl Schedule) {
        if self.wake.is_some_and(|(at, _)| available < at) {
            self.wake_at(available.max(now), schedule);
        }
    }

    fn wake_at(&mut self, at: Nanos, schedule: &mut impl Schedule) {
        self.timers = self.timers.wrapping_add(1);
        self.wake = Some((at, self.timers));
        let timer = Timer { purpose: Purpose::Wake, qp: 0, number: self.timers };
        schedule.schedule(at, timer);
    }

    /// The packet that starts onto the free port, if one may. If none may, a wake-up is scheduled for the earliest start
    /// that pacing sets, also of queue pairs that a pause or the window stops.
    pub fn poll(&mut self, now: Nanos, schedule: &mut impl Schedule) -> Option<RocePacket> {
        if self.paused & self.link.ack_queue.bit() == 0
            && let Some(Waiting { packet, stamps }) = self.answers.pop_front()
        {
            let is_ack = packet.aeth.is_some_and(|aeth| aeth.syndrome == Syndrome::Ack);
            self.counters.acknowledgements_sent += u64::from(is_ack);
            self.counters.naks_sent += u64::from(!is_ack);
            self.stamps = stamps;
            self.ready_since = None;
            return Some(packet);
        }
        if let Some(place) = self.choose(now) {
            let slot = self.list[place];
            let packet = self.transmit(now, slot);
            self.restart_timeout(now, slot, schedule);
            Some(packet)
        } else {
            self.plan_wake(now, schedule);
            None
        }
    }

    /// Instant since which the rate and the window let the data packet go that [`poll`](Self::poll) has just returned.
    pub fn ready_since(&self) -> Option<Picos> {
        self.ready_since.map(Picos::from_nanos)
    }

    /// Stamps of the packet that [`poll`](Self::poll) has just returned, as many as its telemetry has hops.
    pub fn stamps_of(&self, packet: &RocePacket) -> &[Stamp] {
        let hops = packet.telemetry.map_or(0, |telemetry| telemetry.hops);
        &self.stamps[..usize::from(hops)]
    }

    fn transmit(&mut self, now: Nanos, slot: u32) -> RocePacket {
        let HostLink { address, rate: line, payload, lengths, arithmetic, .. } = self.link;
        let pair = self.queue_pairs.occupant(slot);
        let first = pair.next;
        let bytes = pair.left().min(payload.into());
        let packet = data_packet(&pair.flow, address, first, bytes as u16, self.settings.control);
        let length = lengths.packet(bytes, packet.frame_length() as u64);
        let rate = if self.settings.paced { BitsPerSecond(pair.rate) } else { line };
        self.counters.retransmitted_packets += u64::from(first < pair.frontier);
        self.ready_since = pair.open_since.max(Some(pair.available));
        pair.sent(now, bytes, length, arithmetic.transmission(length, rate));
        pair.note_opening(now, line, &self.settings);
        if self.settings.control == Control::Timely {
            self.stamps[0] = to_stamp(now.0);
        }
        self.counters.data_packets_sent += 1;
        self.counters.payload_bytes_sent += bytes;
        packet
    }
}

/// Telemetry of a packet's hops, and their number, as far as packets have room for them.
fn hops_of(stamps: &[Stamp]) -> ([Hop; MAX_HOPS], usize) {
    let mut hops = [Hop(0); MAX_HOPS];
    for (hop, stamp) in hops.iter_mut().zip(stamps) {
        *hop = Hop(of_stamp(*stamp));
    }
    (hops, stamps.len().min(MAX_HOPS))
}

fn counts(pair: &QueuePair) -> SenderCounts {
    SenderCounts { retransmitted_packets: pair.repeated, notifications: pair.notifications }
}
