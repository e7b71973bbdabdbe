//! The go-back-N requester of one queue pair (InfiniBand Architecture 1.4, 9.7.5 and 9.9.2).

use fabric_core::wire::roce::Syndrome;
use units::{Bytes, Picos};

use crate::flow::Flow;
use crate::reliability::{
    Answer, Answered, OUTSTANDING_PACKETS, Outcome, ReliableSender, Transmission,
};

/// Requester of one flow.
#[derive(Debug)]
pub struct GoBackNRequester {
    /// Time without progress after which the flow goes back to the oldest unacknowledged packet.
    timeout: Picos,
    /// Number of the first packet that is not acknowledged.
    oldest_unacked: u64,
    /// Number of the packet to send next.
    next: u64,
    /// One past the highest number ever sent.
    sent: u64,
    /// Instant at which the retransmission timer expires, if anything is outstanding.
    retransmission_deadline: Picos,
}

impl GoBackNRequester {
    /// The requester of a flow that has sent nothing.
    pub fn new(timeout: Picos) -> Self {
        Self { timeout, oldest_unacked: 0, next: 0, sent: 0, retransmission_deadline: Picos::ZERO }
    }

    fn unchanged(&self, outcome: Outcome) -> Answered {
        Answered { outcome, bytes: Bytes(0), first_open: self.oldest_unacked, loss: false }
    }
}

impl ReliableSender for GoBackNRequester {
    #[inline]
    fn next(&self, flow: &Flow) -> Option<u64> {
        let open =
            self.next < flow.packets() && self.next - self.oldest_unacked < OUTSTANDING_PACKETS;
        open.then_some(self.next)
    }

    #[inline]
    fn transmit(&mut self, now: Picos, _: &Flow) -> Transmission {
        let number = self.next;
        if number == self.oldest_unacked {
            self.retransmission_deadline = now + self.timeout;
        }
        let again = number < self.sent;
        self.next += 1;
        self.sent = self.sent.max(self.next);
        // The window is full: without an ACK nothing would ever move it.
        let ack_request = self.next - self.oldest_unacked == OUTSTANDING_PACKETS;
        Transmission { number, again, ack_request }
    }

    /// Bytes from the oldest unacknowledged packet to the next one. Packets beyond, sent before it went back, do
    /// not count: the responder drops them.
    #[inline]
    fn outstanding(&self, flow: &Flow) -> Bytes {
        Bytes(flow.bytes_before(self.next).0 - flow.bytes_before(self.oldest_unacked).0)
    }

    #[inline]
    fn receive(&mut self, now: Picos, answer: &Answer, flow: &Flow) -> Answered {
        let Answer { psn, aeth } = answer;
        // An ACK covers its own PSN; a NAK covers only the PSNs before the one that it requests.
        let first_open = match aeth.syndrome {
            Syndrome::Ack => psn.next(),
            Syndrome::NakSequenceError | Syndrome::SelectiveNak => *psn,
        };
        let oldest = flow.psn(self.oldest_unacked);
        if first_open.is_before(oldest) {
            return self.unchanged(Outcome::Stale);
        }
        let first_open = self.oldest_unacked + u64::from(first_open.distance_from(oldest));
        if first_open > self.sent {
            return self.unchanged(Outcome::BeyondSent);
        }
        let progress = first_open > self.oldest_unacked;
        let rewind = aeth.syndrome == Syndrome::NakSequenceError && self.next > first_open;
        if !progress && !rewind {
            return self.unchanged(Outcome::Stale);
        }
        let before = flow.bytes_before(self.oldest_unacked);
        self.oldest_unacked = first_open;
        self.next = if rewind { first_open } else { self.next.max(first_open) };
        if progress {
            self.retransmission_deadline = now + self.timeout;
        }
        let complete = self.is_complete(flow);
        Answered {
            outcome: if complete { Outcome::Completed } else { Outcome::Useful },
            bytes: Bytes(flow.bytes_before(first_open).0 - before.0),
            first_open,
            loss: rewind,
        }
    }

    #[inline]
    fn retransmission_deadline(&self) -> Option<Picos> {
        (self.next > self.oldest_unacked).then_some(self.retransmission_deadline)
    }

    /// Goes back to the oldest packet that is not acknowledged.
    fn expire(&mut self, _: Picos) {
        self.next = self.oldest_unacked;
    }

    #[inline]
    fn is_complete(&self, flow: &Flow) -> bool {
        self.oldest_unacked == flow.packets()
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::wire::psn::Psn;
    use fabric_core::wire::roce::AethFields;

    use super::*;
    use crate::flow::tests::flow;

    const TIMEOUT: Picos = Picos(1000);

    /// A requester and its flow.
    struct Sender {
        requester: GoBackNRequester,
        flow: Flow,
    }

    impl Sender {
        fn new(bytes: u64, initial_psn: u32) -> Self {
            let requester = GoBackNRequester::new(TIMEOUT);
            Self { requester, flow: flow(bytes, initial_psn) }
        }

        fn can_send(&self) -> bool {
            self.requester.next(&self.flow).is_some()
        }

        fn transmit(&mut self, now: u64) -> Transmission {
            assert_eq!(self.requester.next(&self.flow), Some(self.requester.next));
            self.requester.transmit(Picos(now), &self.flow)
        }

        /// PSNs of the next `count` packets, which start at 0.
        fn send(&mut self, count: usize) -> Vec<u32> {
            let numbers: Vec<u64> = (0..count).map(|_| self.transmit(0).number).collect();
            numbers.into_iter().map(|number| self.flow.psn(number).value()).collect()
        }

        /// An answer that comes at 500.
        fn answer(&mut self, syndrome: Syndrome, psn: u32) -> Answered {
            let aeth = AethFields { syndrome, message_sequence_number: 0 };
            let answer = Answer { psn: Psn::new(psn), aeth };
            self.requester.receive(Picos(500), &answer, &self.flow)
        }

        fn acknowledge(&mut self, psn: u32) -> Outcome {
            self.answer(Syndrome::Ack, psn).outcome
        }

        fn refuse(&mut self, psn: u32) -> Outcome {
            self.answer(Syndrome::NakSequenceError, psn).outcome
        }

        fn deadline(&self) -> Option<Picos> {
            self.requester.retransmission_deadline()
        }
    }

    #[test]
    fn a_nak_rewinds_to_the_same_packets_and_acknowledges_those_before() {
        let mut sender = Sender::new(3500, 0x00ff_fffe);
        let first = sender.send(4);
        assert_eq!(first, [0x00ff_fffe, 0x00ff_ffff, 0, 1]);
        assert!(!sender.can_send());
        let outcome = sender.refuse(0x00ff_ffff);
        assert_eq!(outcome, Outcome::Useful);
        assert_eq!(sender.deadline(), None, "nothing is outstanding");
        assert_eq!(sender.send(3), first[1..]);
        assert_eq!(sender.acknowledge(1), Outcome::Completed);
        assert!(sender.requester.is_complete(&sender.flow) && !sender.can_send());
    }

    #[test]
    fn a_nak_that_asks_for_what_comes_next_anyway_is_stale() {
        let mut sender = Sender::new(10_000, 0);
        assert_eq!(sender.refuse(0), Outcome::Stale, "nothing is sent");
        sender.send(4);
        assert_eq!(sender.refuse(2), Outcome::Useful);
        assert_eq!(sender.refuse(2), Outcome::Stale, "it went back");
        assert_eq!(sender.send(1), [2]);
        assert_eq!(sender.refuse(2), Outcome::Useful, "lost again");
        sender.send(2);
        // It covers all packets sent, so nothing is sent again.
        assert_eq!(sender.refuse(4), Outcome::Useful);
        assert_eq!(sender.deadline(), None);
        assert_eq!(sender.send(1), [4]);
    }

    #[test]
    fn a_stale_ack_leaves_the_timer_of_what_was_sent_again() {
        let mut sender = Sender::new(10_000, 0);
        sender.send(4);
        assert_eq!(sender.refuse(1), Outcome::Useful);
        sender.transmit(700);
        assert_eq!(sender.deadline(), Some(Picos(1700)));
        assert_eq!(sender.acknowledge(0), Outcome::Stale);
        assert_eq!(sender.deadline(), Some(Picos(1700)));
        assert_eq!(sender.acknowledge(1), Outcome::Useful);
        assert_eq!(sender.deadline(), None);
    }

    #[test]
    fn one_ack_covers_many_and_restarts_the_timer() {
        let mut sender = Sender::new(10_000, 0);
        sender.send(6);
        assert_eq!(sender.deadline(), Some(Picos(1000)));
        assert_eq!(sender.acknowledge(3), Outcome::Useful);
        assert_eq!(sender.deadline(), Some(Picos(1500)));
        assert_eq!(sender.acknowledge(3), Outcome::Stale);
        assert_eq!(sender.acknowledge(0), Outcome::Stale);
        let stale_nak = sender.refuse(2);
        assert_eq!(stale_nak, Outcome::Stale);
        assert_eq!(sender.acknowledge(6), Outcome::BeyondSent);
        let nak_beyond = sender.refuse(7);
        assert_eq!(nak_beyond, Outcome::BeyondSent);
        assert_eq!(sender.send(1), [6]);
    }

    #[test]
    fn the_timer_runs_from_the_oldest_packet_whatever_follows_it() {
        let mut sender = Sender::new(10_000, 0);
        for start in [10, 400, 900] {
            sender.transmit(start);
            assert_eq!(sender.deadline(), Some(Picos(1010)));
        }
        sender.requester.expire(Picos(0));
        sender.transmit(1010);
        assert_eq!(sender.deadline(), Some(Picos(2010)));
    }

    #[test]
    fn an_ack_after_a_needless_rewind_skips_forward() {
        let mut sender = Sender::new(10_000, 0);
        sender.send(6);
        sender.requester.expire(Picos(0));
        assert_eq!(sender.send(1), [0]);
        assert_eq!(sender.acknowledge(4), Outcome::Useful);
        assert!(sender.transmit(0).again, "packet 5 was sent before");
        assert!(!sender.transmit(0).again, "packet 6 was not");
    }

    #[test]
    fn outstanding_packets_stay_below_half_the_number_space() {
        let mut sender = Sender::new(1 << 40, 0);
        let mut asks = false;
        while sender.can_send() {
            asks = sender.transmit(0).ack_request;
        }
        assert_eq!(sender.requester.next, 8_388_607, "2^23 - 1");
        let next = sender.flow.psn(sender.requester.next);
        assert!(sender.flow.psn(0).is_before(next), "order is defined");
        assert!(asks, "the packet that fills the window asks for an ACK");
        assert_eq!(sender.acknowledge(2), Outcome::Useful);
        let asks = [0; 3].map(|_| sender.transmit(0).ack_request);
        assert_eq!(asks, [false, false, true], "room for three");
        assert!(!sender.can_send());
        let psn = sender.flow.psn(sender.requester.next - 1).value();
        assert_eq!(sender.acknowledge(psn), Outcome::Useful);
        assert!(sender.can_send());
    }

    #[test]
    fn an_answer_says_how_many_bytes_are_new_and_what_is_lost() {
        let mut sender = Sender::new(2500, 0);
        let answered = |outcome, bytes, first_open, loss| Answered {
            outcome,
            bytes: Bytes(bytes),
            first_open,
            loss,
        };
        sender.send(3);
        assert_eq!(sender.requester.outstanding(&sender.flow), Bytes(2500));
        let nak = sender.answer(Syndrome::NakSequenceError, 1);
        assert_eq!(nak, answered(Outcome::Useful, 1000, 1, true));
        assert_eq!(sender.requester.outstanding(&sender.flow), Bytes(0), "it went back");
        let again = sender.answer(Syndrome::NakSequenceError, 1);
        assert_eq!(again, answered(Outcome::Stale, 0, 1, false));
        sender.send(1);
        assert_eq!(sender.requester.outstanding(&sender.flow), Bytes(1000));
        let beyond = sender.answer(Syndrome::Ack, 3);
        assert_eq!(beyond, answered(Outcome::BeyondSent, 0, 1, false));
        let last = sender.answer(Syndrome::Ack, 2);
        assert_eq!(last, answered(Outcome::Completed, 1500, 3, false));
    }
}
