//! The go-back-N requester of one queue pair (InfiniBand Architecture 1.4, 9.7.5 and 9.9.2).
//!
//! A flow's packets are numbered from 0 in 64 bits; PSN, opcode, RETH and length are functions of
//! that number. A retransmission is therefore the same packet as the first transmission by
//! construction.

use fabric_core::units::{BitsPerSecond, Bytes, Picos};
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Ecn, Opcode, RethFields, RocePacket, Syndrome};

use crate::dcqcn::{Parameters, ReactionPoint};
use crate::host::HostConfig;
use crate::segmentation::Segmentation;

/// Packets that may be unacknowledged: fewer than half the PSN space, so that order stays defined.
const OUTSTANDING_PACKETS: u64 = (1 << 23) - 1;
/// Time to live of everything that a host sends.
pub(crate) const TIME_TO_LIVE: u8 = 64;

/// A flow to be sent on a queue pair of its own, whose set-up happened out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRequest {
    /// The number that events name.
    pub flow: u32,
    /// Address of the responder.
    pub destination: u32,
    /// Queue pair number, the same at both ends, 24 bits.
    pub qp: u32,
    /// PSN of the first packet.
    pub initial_psn: Psn,
    /// UDP source port: the flow's entropy.
    pub source_port: u16,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Payload bytes; zero sends one empty message.
    pub bytes: u64,
}

/// What an ACK or NAK did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    /// It acknowledged or rewound something.
    Useful,
    /// It acknowledged the last packet.
    Completed,
    /// Nothing new.
    Stale,
    /// It names a packet that was never sent.
    BeyondSent,
}

/// Requester of one flow.
#[derive(Debug)]
pub(crate) struct Requester {
    request: FlowRequest,
    source: u32,
    segmentation: Segmentation,
    /// Number of the first packet that is not acknowledged.
    oldest_unacked: u64,
    /// Number of the packet to send next.
    next: u64,
    /// One past the highest number ever sent.
    sent: u64,
    /// When the retransmission timer expires, if anything is outstanding.
    retransmission_deadline: Picos,
    /// When the pace allows the next packet.
    pub next_start: Picos,
    reaction_point: ReactionPoint,
    /// Whether the NIC knows this queue pair as one with something to send.
    pub scheduled: bool,
    /// Instant of the entry in the host's timer queue, if there is one.
    pub timer_entry: Option<Picos>,
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// CNPs received.
    pub notifications: u64,
}

impl Requester {
    pub fn new(request: &FlowRequest, config: &HostConfig) -> Self {
        Self {
            request: *request,
            source: config.address,
            segmentation: Segmentation::new(request.bytes, u64::from(config.payload)),
            oldest_unacked: 0,
            next: 0,
            sent: 0,
            retransmission_deadline: Picos::ZERO,
            next_start: Picos::ZERO,
            reaction_point: ReactionPoint::new(config.link_rate),
            scheduled: false,
            timer_entry: None,
            retransmitted_packets: 0,
            notifications: 0,
        }
    }

    pub fn request(&self) -> &FlowRequest {
        &self.request
    }

    /// Whether there is a packet to send and room in the PSN space for it.
    #[inline]
    pub fn can_send(&self) -> bool {
        self.next < self.segmentation.packets()
            && self.next - self.oldest_unacked < OUTSTANDING_PACKETS
    }

    /// Whether the last packet is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.oldest_unacked == self.segmentation.packets()
    }

    /// When the retransmission timer expires, if it runs.
    #[inline]
    pub fn retransmission_deadline(&self) -> Option<Picos> {
        (self.next > self.oldest_unacked).then_some(self.retransmission_deadline)
    }

    /// The next packet, which starts at `now`, and whether it was sent before.
    ///
    /// # Panics
    /// Unless it [`can_send`](Self::can_send).
    #[inline]
    pub fn transmit(&mut self, now: Picos, timeout: Picos) -> (RocePacket, bool) {
        assert!(self.can_send(), "only a queue pair with something to send has its turn");
        let mut packet = self.packet(self.next);
        if self.next == self.oldest_unacked {
            self.retransmission_deadline = now + timeout;
        }
        let again = self.next < self.sent;
        self.retransmitted_packets += u64::from(again);
        self.next += 1;
        self.sent = self.sent.max(self.next);
        // The window is full: without an ACK nothing would ever move it.
        packet.ack_request |= self.next - self.oldest_unacked == OUTSTANDING_PACKETS;
        (packet, again)
    }

    /// Counts a transmission of `wire_bytes` that started at `now`; the rate for the gap after it.
    #[inline]
    pub fn pace(&mut self, now: Picos, wire_bytes: u64, parameters: &Parameters) -> BitsPerSecond {
        self.reaction_point.transmit(now, Bytes(wire_bytes), parameters);
        self.reaction_point.rate(now, parameters)
    }

    /// Takes a CNP; true if it cut the rate.
    pub fn receive_notification(&mut self, now: Picos, parameters: &Parameters) -> bool {
        self.reaction_point.receive_notification(now, parameters)
    }

    /// Takes an ACK or NAK for `psn`.
    #[inline]
    pub fn receive_acknowledgement(
        &mut self,
        now: Picos,
        psn: Psn,
        aeth: AethFields,
        timeout: Picos,
    ) -> Acknowledgement {
        // An ACK covers its own PSN; a NAK covers those before the one that it asks for.
        let first_open = match aeth.syndrome {
            Syndrome::Ack => psn.next(),
            Syndrome::NakSequenceError => psn,
        };
        let oldest = self.psn(self.oldest_unacked);
        if first_open.is_before(oldest) {
            return Acknowledgement::Stale;
        }
        let first_open = self.oldest_unacked + u64::from(first_open.distance_from(oldest));
        if first_open > self.sent {
            return Acknowledgement::BeyondSent;
        }
        let progress = first_open > self.oldest_unacked;
        let rewind = aeth.syndrome == Syndrome::NakSequenceError && self.next > first_open;
        if !progress && !rewind {
            return Acknowledgement::Stale;
        }
        self.oldest_unacked = first_open;
        self.next = if rewind { first_open } else { self.next.max(first_open) };
        if progress {
            self.retransmission_deadline = now + timeout;
        }
        if self.is_complete() { Acknowledgement::Completed } else { Acknowledgement::Useful }
    }

    /// Goes back to the oldest packet that is not acknowledged.
    pub fn rewind(&mut self) {
        self.next = self.oldest_unacked;
    }

    fn psn(&self, number: u64) -> Psn {
        // PSNs are counted modulo 2^24 anyway.
        self.request.initial_psn.add((number % (1 << 24)) as u32)
    }

    /// Packet `number` of the flow, always the same.
    fn packet(&self, number: u64) -> RocePacket {
        let (message, position) = self.segmentation.place(number);
        let last = self.segmentation.ends_message(number, position);
        let (opcode, carries_reth) = match (position == 0, last) {
            (true, true) => (Opcode::WriteOnly, true),
            (true, false) => (Opcode::WriteFirst, true),
            (false, false) => (Opcode::WriteMiddle, false),
            (false, true) => (Opcode::WriteLast, false),
        };
        let reth = carries_reth.then(|| {
            let message = self.segmentation.message(message);
            RethFields {
                virtual_address: message.start,
                remote_key: self.request.qp,
                dma_length: message.bytes.try_into().expect("a message is at most 1 GiB"),
            }
        });
        let payload = self.segmentation.payload_of(number);
        RocePacket {
            source: self.source,
            destination: self.request.destination,
            source_port: self.request.source_port,
            dscp: self.request.priority << 3,
            ecn: Ecn::Capable0,
            ttl: TIME_TO_LIVE,
            opcode,
            ack_request: last,
            destination_qp: self.request.qp,
            psn: self.psn(number),
            reth,
            aeth: None,
            payload_length: payload.try_into().expect("a payload is at most the host's"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::CongestionControl;

    const TIMEOUT: Picos = Picos(1000);

    fn requester(bytes: u64, initial_psn: u32) -> Requester {
        let config = HostConfig {
            address: 1,
            station: [2, 1, 0, 0, 0, 1],
            link_rate: BitsPerSecond(100_000_000_000),
            wire_overhead: 24,
            payload: 1000,
            ack_priority: 3,
            cnp_priority: 6,
            ack_interval: 1,
            retransmission_timeout: TIMEOUT,
            pause_response: Picos::ZERO,
            congestion_control: CongestionControl::None,
        };
        let request = FlowRequest {
            flow: 0,
            destination: 2,
            qp: 9,
            initial_psn: Psn::new(initial_psn),
            source_port: 50_000,
            priority: 3,
            bytes,
        };
        Requester::new(&request, &config)
    }

    fn send(requester: &mut Requester, count: usize) -> Vec<(u32, Opcode)> {
        (0..count)
            .map(|_| requester.transmit(Picos(0), TIMEOUT).0)
            .map(|packet| (packet.psn.value(), packet.opcode))
            .collect()
    }

    fn acknowledge(requester: &mut Requester, syndrome: Syndrome, psn: u32) -> Acknowledgement {
        let aeth = AethFields { syndrome, message_sequence_number: 0 };
        requester.receive_acknowledgement(Picos(500), Psn::new(psn), aeth, TIMEOUT)
    }

    #[test]
    fn a_nak_rewinds_to_the_same_packets_and_acknowledges_those_before() {
        let mut requester = requester(3500, 0x00ff_fffe);
        let first = send(&mut requester, 4);
        assert_eq!(
            first,
            [
                (0x00ff_fffe, Opcode::WriteFirst),
                (0x00ff_ffff, Opcode::WriteMiddle),
                (0, Opcode::WriteMiddle),
                (1, Opcode::WriteLast)
            ]
        );
        assert!(!requester.can_send());
        let outcome = acknowledge(&mut requester, Syndrome::NakSequenceError, 0x00ff_ffff);
        assert_eq!(outcome, Acknowledgement::Useful);
        assert_eq!(requester.retransmission_deadline(), None, "nothing is outstanding");
        assert_eq!(send(&mut requester, 3), first[1..]);
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 1), Acknowledgement::Completed);
        assert!(requester.is_complete() && !requester.can_send());
    }

    #[test]
    fn a_packet_carries_what_the_request_says() {
        let mut requester = requester(2500, 0x00ff_ffff);
        let first = RocePacket {
            source: 1,
            destination: 2,
            source_port: 50_000,
            dscp: 24,
            ecn: Ecn::Capable0,
            ttl: 64,
            opcode: Opcode::WriteFirst,
            ack_request: false,
            destination_qp: 9,
            psn: Psn::new(0x00ff_ffff),
            reth: Some(RethFields { virtual_address: 0, remote_key: 9, dma_length: 2500 }),
            aeth: None,
            payload_length: 1000,
        };
        let (opcode, psn) = (Opcode::WriteMiddle, Psn::new(0));
        let middle = RocePacket { opcode, psn, reth: None, ..first };
        let (opcode, psn) = (Opcode::WriteLast, Psn::new(1));
        let last = RocePacket { opcode, psn, ack_request: true, payload_length: 500, ..middle };
        for expected in [first, middle, last] {
            assert_eq!(requester.transmit(Picos(0), TIMEOUT), (expected, false));
        }
    }

    #[test]
    fn a_nak_that_asks_for_what_comes_next_anyway_is_stale() {
        let mut requester = requester(10_000, 0);
        let nak = Syndrome::NakSequenceError;
        assert_eq!(acknowledge(&mut requester, nak, 0), Acknowledgement::Stale, "nothing is sent");
        send(&mut requester, 4);
        assert_eq!(acknowledge(&mut requester, nak, 2), Acknowledgement::Useful);
        assert_eq!(acknowledge(&mut requester, nak, 2), Acknowledgement::Stale, "it went back");
        assert_eq!(send(&mut requester, 1), [(2, Opcode::WriteMiddle)]);
        assert_eq!(acknowledge(&mut requester, nak, 2), Acknowledgement::Useful, "lost again");
        assert_eq!(requester.retransmitted_packets, 1);
        send(&mut requester, 2);
        // It covers all that was sent: there is nothing to go back to.
        assert_eq!(acknowledge(&mut requester, nak, 4), Acknowledgement::Useful);
        assert_eq!(requester.retransmission_deadline(), None);
        assert_eq!(send(&mut requester, 1), [(4, Opcode::WriteMiddle)]);
        assert_eq!(requester.retransmitted_packets, 3);
    }

    #[test]
    fn a_stale_ack_leaves_the_timer_of_what_was_sent_again() {
        let mut requester = requester(10_000, 0);
        send(&mut requester, 4);
        let nak = Syndrome::NakSequenceError;
        assert_eq!(acknowledge(&mut requester, nak, 1), Acknowledgement::Useful);
        requester.transmit(Picos(700), TIMEOUT);
        assert_eq!(requester.retransmission_deadline(), Some(Picos(1700)));
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 0), Acknowledgement::Stale);
        assert_eq!(requester.retransmission_deadline(), Some(Picos(1700)));
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 1), Acknowledgement::Useful);
        assert_eq!(requester.retransmission_deadline(), None);
    }

    #[test]
    fn one_ack_covers_many_and_restarts_the_timer() {
        let mut requester = requester(10_000, 0);
        send(&mut requester, 6);
        assert_eq!(requester.retransmission_deadline(), Some(Picos(1000)));
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 3), Acknowledgement::Useful);
        assert_eq!(requester.retransmission_deadline(), Some(Picos(1500)));
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 3), Acknowledgement::Stale);
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 0), Acknowledgement::Stale);
        let stale_nak = acknowledge(&mut requester, Syndrome::NakSequenceError, 2);
        assert_eq!(stale_nak, Acknowledgement::Stale);
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 6), Acknowledgement::BeyondSent);
        let nak_beyond = acknowledge(&mut requester, Syndrome::NakSequenceError, 7);
        assert_eq!(nak_beyond, Acknowledgement::BeyondSent);
        assert_eq!(send(&mut requester, 1), [(6, Opcode::WriteMiddle)]);
    }

    #[test]
    fn the_timer_runs_from_the_oldest_packet_whatever_follows_it() {
        let mut requester = requester(10_000, 0);
        for now in [10, 400, 900] {
            requester.transmit(Picos(now), TIMEOUT);
            assert_eq!(requester.retransmission_deadline(), Some(Picos(1010)));
        }
        requester.rewind();
        requester.transmit(Picos(1010), TIMEOUT);
        assert_eq!(requester.retransmission_deadline(), Some(Picos(2010)));
    }

    #[test]
    fn an_ack_after_a_needless_rewind_skips_forward() {
        let mut requester = requester(10_000, 0);
        send(&mut requester, 6);
        requester.rewind();
        assert_eq!(send(&mut requester, 1), [(0, Opcode::WriteFirst)]);
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 4), Acknowledgement::Useful);
        assert!(requester.transmit(Picos(0), TIMEOUT).1, "packet 5 was sent before");
        assert!(!requester.transmit(Picos(0), TIMEOUT).1, "packet 6 was not");
    }

    #[test]
    fn a_flow_beyond_a_gibibyte_is_several_messages() {
        let message = 1_073_741_000;
        let requester = requester(2 * message + 1, 5);
        let per_message = message / 1000;
        let reths = [0, per_message, 2 * per_message].map(|number| requester.packet(number));
        let starts = reths.map(|packet| packet.reth.expect("a message starts").virtual_address);
        assert_eq!(starts, [0, message, 2 * message]);
        assert_eq!(reths[1].reth.map(|reth| u64::from(reth.dma_length)), Some(message));
        assert_eq!(reths[2].reth.map(|reth| reth.dma_length), Some(1));
        assert_eq!((reths[2].opcode, reths[2].payload_length), (Opcode::WriteOnly, 1));
        let end = requester.packet(per_message - 1);
        assert_eq!((end.opcode, end.ack_request), (Opcode::WriteLast, true));
    }

    #[test]
    fn an_empty_flow_is_one_empty_packet() {
        let mut requester = requester(0, 0);
        let (packet, _) = requester.transmit(Picos(0), TIMEOUT);
        assert_eq!((packet.opcode, packet.payload_length), (Opcode::WriteOnly, 0));
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 0), Acknowledgement::Completed);
    }

    #[test]
    fn outstanding_packets_stay_below_half_the_number_space() {
        let mut requester = requester(1 << 40, 0);
        let mut asks = false;
        while requester.can_send() {
            asks = requester.transmit(Picos(0), TIMEOUT).0.ack_request;
        }
        assert_eq!(requester.next, 8_388_607, "2^23 - 1");
        assert!(requester.psn(0).is_before(requester.psn(requester.next)), "order is defined");
        assert!(asks, "the packet that fills the window asks for an ACK");
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, 2), Acknowledgement::Useful);
        let asks = [0; 3].map(|_| requester.transmit(Picos(0), TIMEOUT).0.ack_request);
        assert_eq!(asks, [false, false, true], "room for three");
        assert!(!requester.can_send());
        let psn = requester.psn(requester.next - 1).value();
        assert_eq!(acknowledge(&mut requester, Syndrome::Ack, psn), Acknowledgement::Useful);
        assert!(requester.can_send());
    }
}
