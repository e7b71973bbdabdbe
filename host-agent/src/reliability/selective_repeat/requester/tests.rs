//! The requester's packets, answers and deadlines at instants set by hand.

use Outcome::{BeyondSent, Completed, Stale, Useful};
use fabric_core::wire::roce::AethFields;

use super::*;
use crate::flow::Placement;
use crate::flow::tests::placed;

const PARAMETERS: Parameters = Parameters { rto_low: Picos(100), rto_low_packets: 3 };
const RTO_HIGH: Picos = Picos(1000);
const INITIAL_PSN: u32 = 0x00ff_fffe;

/// A requester and its flow.
struct Sender {
    requester: SelectiveRepeatRequester,
    flow: Flow,
}

impl Sender {
    /// Requester of a flow in packets of 1000 bytes; the last has 500.
    fn new(packets: u64, ack_interval: u32) -> Self {
        let requester = SelectiveRepeatRequester::new(RTO_HIGH, PARAMETERS, ack_interval);
        let flow = placed(packets * 1000 - 500, INITIAL_PSN, Placement::EveryPacket);
        Self { requester, flow }
    }

    fn transmit(&mut self, now: u64) -> Transmission {
        let next = self.requester.next(&self.flow);
        let transmission = self.requester.transmit(Picos(now), &self.flow);
        assert_eq!(next, Some(transmission.number), "it was announced");
        transmission
    }

    /// The next `most` packets at most, which start at `now`.
    fn send(&mut self, now: u64, most: usize) -> Vec<u64> {
        let more = |sender: &Self| sender.requester.next(&sender.flow).is_some();
        std::iter::from_fn(|| more(self).then(|| self.transmit(now).number)).take(most).collect()
    }

    fn receive(&mut self, now: u64, psn: u64, aeth: AethFields) -> Answered {
        let answer = Answer { psn: self.flow.psn(psn), aeth };
        self.requester.receive(Picos(now), &answer, &self.flow)
    }

    /// Receives an ACK of all packets before `first_open`.
    fn ack(&mut self, now: u64, first_open: u64) -> Answered {
        let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 0 };
        let psn = Psn::new(self.flow.psn(first_open).value().wrapping_sub(1));
        self.requester.receive(Picos(now), &Answer { psn, aeth }, &self.flow)
    }

    /// Receives a NAK: all packets before `expected` and packet `arrived` have arrived.
    fn nak(&mut self, now: u64, expected: u64, arrived: u64) -> Answered {
        let aeth = AethFields::selective_nak(self.flow.psn(arrived));
        self.receive(now, expected, aeth)
    }

    fn deadline(&self) -> Option<u64> {
        self.requester.retransmission_deadline().map(|at| at.0)
    }

    fn outstanding(&self) -> u64 {
        self.requester.outstanding(&self.flow).0
    }
}

const NOTHING: [u64; 0] = [];

fn answered(outcome: Outcome, bytes: u64, first_open: u64, loss: bool) -> Answered {
    Answered { outcome, bytes: Bytes(bytes), first_open, loss }
}

#[test]
fn one_lost_packet_is_sent_again_once_and_new_ones_follow() {
    let mut sender = Sender::new(10, 1);
    assert_eq!(sender.send(0, 5), [0, 1, 2, 3, 4]);
    assert_eq!(sender.ack(10, 1), answered(Useful, 1000, 1, false));
    assert_eq!(sender.nak(20, 1, 2), answered(Useful, 1000, 1, true));
    let again = sender.transmit(21);
    assert_eq!(again, Transmission { number: 1, again: true, ack_request: true });
    assert_eq!(sender.send(22, 1), [5]);
    for arrived in [3, 4, 5] {
        assert_eq!(sender.nak(30, 1, arrived), answered(Useful, 1000, 1, false), "{arrived}");
    }
    assert_eq!(sender.nak(31, 1, 4), answered(Stale, 0, 1, false));
    assert_eq!(sender.send(32, 1), [6]);
    // The ACK of the packet that was sent again covers all that had arrived behind it.
    assert_eq!(sender.ack(40, 6), answered(Useful, 1000, 6, false));
    assert_eq!(sender.send(41, 9), [7, 8, 9]);
    assert_eq!(sender.ack(50, 10), answered(Completed, 3500, 10, false));
    assert_eq!(sender.send(51, 1), NOTHING);
    assert_eq!(sender.deadline(), None);
}

#[test]
fn lost_packets_go_oldest_first_before_new_ones() {
    let mut sender = Sender::new(20, 1);
    sender.send(0, 10);
    // 0, 2, 3 and 7 are lost.
    assert!(sender.nak(10, 0, 1).loss);
    assert_eq!(sender.send(11, 1), [0]);
    let reports: Vec<bool> = [4, 5, 6, 8, 9].map(|arrived| sender.nak(12, 0, arrived).loss).into();
    assert_eq!(reports, [false; 5], "all were sent before the first report");
    assert_eq!(sender.send(13, 5), [2, 3, 7, 10, 11]);
    assert_eq!(sender.ack(20, 2), answered(Useful, 1000, 2, false));
    assert_eq!(sender.ack(20, 3), answered(Useful, 1000, 3, false));
    assert_eq!(sender.ack(20, 7), answered(Useful, 1000, 7, false));
    assert_eq!(sender.ack(20, 10), answered(Useful, 1000, 10, false));
    assert_eq!(sender.send(21, 1), [12], "nothing is left to send again");
    // 10 was sent after the report, so its loss is a new one.
    assert_eq!(sender.nak(22, 10, 11), answered(Useful, 1000, 10, true));
    assert_eq!(sender.send(23, 2), [10, 13]);
}

#[test]
fn a_packet_lost_during_recovery_is_sent_again_in_the_same_recovery_once() {
    let mut sender = Sender::new(20, 1);
    sender.send(0, 4);
    sender.nak(10, 0, 1);
    assert_eq!(sender.send(11, 4), [0, 4, 5, 6]);
    // 4 is lost, too.
    for arrived in [2, 3, 5] {
        sender.nak(12, 0, arrived);
    }
    assert_eq!(sender.send(13, 2), [4, 7]);
    // Packet 0 has arrived. Packet 6 is still reported as one that came before 4.
    assert_eq!(sender.ack(20, 4), answered(Useful, 1000, 4, false));
    assert_eq!(sender.nak(21, 4, 6), answered(Useful, 1000, 4, false));
    assert_eq!(sender.send(22, 2), [8, 9], "4 is on its way");
    assert_eq!(sender.ack(30, 8), answered(Useful, 2000, 8, false));
}

#[test]
fn a_lost_tail_takes_one_timeout() {
    let mut sender = Sender::new(6, 1);
    sender.send(0, 6);
    sender.ack(10, 1);
    // 1, 4 and 5 are lost.
    sender.nak(11, 1, 2);
    sender.nak(12, 1, 3);
    assert_eq!(sender.send(13, 9), [1]);
    assert_eq!(sender.ack(20, 4), answered(Useful, 1000, 4, false));
    assert_eq!(sender.send(21, 9), NOTHING, "4 may be on its way");
    assert_eq!(sender.deadline(), Some(120));
    sender.requester.expire(Picos(120));
    assert_eq!(sender.send(121, 9), [4]);
    assert_eq!(sender.ack(130, 5), answered(Useful, 1000, 5, false), "the timeout was the report");
    assert_eq!(sender.send(131, 9), [5]);
    assert_eq!(sender.ack(140, 6), answered(Completed, 500, 6, false));
}

/// The timer was too short: the ACK is for the first transmission.
#[test]
fn a_late_ack_before_the_retransmission_shows_no_loss() {
    let mut sender = Sender::new(6, 1);
    sender.send(0, 4);
    sender.requester.expire(Picos(1000));
    assert_eq!(sender.ack(1001, 2), answered(Useful, 2000, 2, false));
    assert_eq!(sender.send(1002, 1), [4]);
}

#[test]
fn an_ack_says_nothing_of_what_was_sent_after_a_timeout() {
    let mut sender = Sender::new(10, 1);
    sender.send(0, 2);
    sender.requester.expire(Picos(100));
    assert_eq!(sender.send(101, 3), [0, 2, 3]);
    assert_eq!(sender.ack(110, 2), answered(Useful, 2000, 2, false));
    assert_eq!(sender.send(111, 2), [4, 5], "2 is on its way");
}

#[test]
fn the_timer_is_short_while_few_packets_are_in_flight() {
    let mut sender = Sender::new(20, 1);
    let deadlines = [5, 6, 7, 8].map(|now| {
        sender.transmit(now);
        sender.deadline()
    });
    // The timer starts with packet 0. With three packets in flight the high timeout applies.
    assert_eq!(deadlines, [Some(105), Some(105), Some(1005), Some(1005)]);
    sender.ack(50, 1);
    assert_eq!(sender.deadline(), Some(1050), "three in flight");
    sender.ack(60, 2);
    assert_eq!(sender.deadline(), Some(160), "two in flight");
    sender.ack(70, 4);
    assert_eq!(sender.deadline(), None);
}

/// The responder acknowledges every fourth packet: while it waits for more, there is nothing to time.
#[test]
fn the_timer_is_long_while_no_answer_is_due() {
    let mut sender = Sender::new(3, 4);
    sender.send(0, 2);
    assert_eq!(sender.deadline(), Some(1000));
    sender.send(10, 1);
    assert_eq!(sender.deadline(), Some(1000), "three in flight");
    sender.ack(50, 1);
    assert_eq!(sender.deadline(), Some(150), "the last packet asks for an ACK");
}

#[test]
fn a_timeout_sends_lost_packets_a_second_time() {
    let mut sender = Sender::new(10, 1);
    sender.send(0, 6);
    for arrived in [1, 3, 5] {
        sender.nak(10, 0, arrived);
    }
    assert_eq!(sender.send(11, 5), [0, 2, 4, 6, 7]);
    sender.requester.expire(Picos(1011));
    assert_eq!(sender.send(1012, 5), [0, 2, 4, 8, 9]);
}

#[test]
fn a_window_counts_the_span_and_holds_no_retransmission_back() {
    let mut sender = Sender::new(10, 1);
    sender.send(0, 4);
    assert_eq!(sender.outstanding(), 4000);
    sender.nak(10, 1, 3);
    assert_eq!(sender.outstanding(), 0, "packet 1 may go");
    assert_eq!(sender.send(11, 2), [1, 2]);
    assert_eq!(sender.outstanding(), 3000, "packet 3 has arrived, yet the span is 1, 2 and 3");
    sender.ack(20, 4);
    assert_eq!(sender.outstanding(), 0);
}

#[test]
fn answers_out_of_order_and_nonsense_change_nothing() {
    let mut sender = Sender::new(10, 1);
    assert_eq!(sender.nak(0, 0, 0), answered(BeyondSent, 0, 0, false), "nothing is sent");
    sender.send(0, 5);
    assert_eq!(sender.ack(10, 3), answered(Useful, 3000, 3, false));
    assert_eq!(sender.ack(11, 2), answered(Stale, 0, 3, false));
    assert_eq!(sender.nak(11, 1, 2), answered(Stale, 0, 3, false));
    assert_eq!(sender.nak(11, 3, 3), answered(Stale, 0, 3, false), "missing and arrived");
    assert_eq!(sender.nak(11, 4, 2), answered(Useful, 1000, 4, false), "its first half is true");
    for (expected, arrived) in [(6, 4), (4, 5), (6, 7)] {
        let outcome = sender.nak(12, expected, arrived).outcome;
        assert_eq!(outcome, BeyondSent, "{expected} {arrived}");
    }
    assert_eq!(sender.ack(12, 6).outcome, BeyondSent);
    // A NAK of go-back-N acknowledges all packets before its PSN.
    let plain = AethFields { syndrome: Syndrome::NakSequenceError, message_sequence_number: 0 };
    assert_eq!(sender.receive(13, 5, plain), answered(Useful, 1000, 5, false));
    assert_eq!(sender.send(14, 1), [5]);
    // A late NAK still reports which packet has arrived.
    sender.send(15, 3);
    sender.ack(16, 6);
    assert_eq!(sender.nak(17, 4, 7), answered(Useful, 1000, 6, true));
    // An ACK up to a packet that has arrived acknowledges that packet, too.
    assert_eq!(sender.ack(18, 7), answered(Useful, 1000, 8, false));
}

#[test]
fn the_bytes_of_the_short_last_packet_are_counted_once() {
    let mut sender = Sender::new(3, 1);
    sender.send(0, 3);
    assert_eq!(sender.nak(10, 0, 2), answered(Useful, 500, 0, true));
    assert_eq!(sender.nak(10, 0, 1), answered(Useful, 1000, 0, false));
    sender.send(11, 1);
    assert_eq!(sender.ack(20, 3), answered(Completed, 1000, 3, false));
}

#[test]
fn outstanding_packets_stay_below_half_the_number_space() {
    let mut sender = Sender::new(1 << 30, 4);
    let mut asks = false;
    while sender.requester.next(&sender.flow).is_some() {
        asks = sender.transmit(0).ack_request;
    }
    assert_eq!(sender.requester.sent, 8_388_607, "2^23 - 1");
    assert!(asks, "the packet that fills the window asks for an ACK");
    sender.nak(10, 0, 8_388_606);
    assert_eq!(sender.send(11, 2), [0, 1], "none is held back");
}
