//! The selective repeat requester of one queue pair (IRN, 3.1).

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::Syndrome;
use units::{Bytes, Picos};

use super::Parameters;
use crate::flow::Flow;
use crate::packet_set::PacketSet;
use crate::reliability::{
    Answer, Answered, OUTSTANDING_PACKETS, Outcome, ReliableSender, Transmission,
};

/// Requester of one flow.
///
/// A packet is lost if a packet behind it has arrived, as a selective NAK reports, or if it is the oldest
/// unacknowledged packet when the timer expires. Lost packets go first, oldest first, and each of them once until the
/// timer expires. So the end of a recovery changes nothing, and needs no state.
#[derive(Debug)]
pub struct SelectiveRepeatRequester {
    /// Retransmission timeout while many packets are in flight (`RTO_high`).
    rto_high: Picos,
    parameters: Parameters,
    /// True if the responder answers every packet, requested or not.
    answers_each: bool,
    /// Number of the first packet that is not acknowledged.
    oldest_unacked: u64,
    /// One past the highest number ever sent.
    sent: u64,
    /// Packets after the oldest unacknowledged one that have arrived.
    arrived: PacketSet,
    /// Every packet before this one has arrived or is lost.
    lost_before: u64,
    /// First packet that may have to be sent again. It has not arrived itself.
    resend: u64,
    /// Packets before this one were sent when the timer expired last.
    overdue_before: u64,
    /// First packet whose loss is reported to congestion control. It had not been sent at the last report.
    report_from: u64,
    /// Packets before this one have an answer coming to them, unless it is lost.
    asked_before: u64,
    /// Start of the retransmission timer, if anything is in flight.
    timer_start: Picos,
}

impl SelectiveRepeatRequester {
    /// The requester of a flow that has sent nothing. The responder acknowledges every `ack_interval`-th packet.
    pub fn new(rto_high: Picos, parameters: Parameters, ack_interval: u32) -> Self {
        Self {
            rto_high,
            parameters,
            answers_each: ack_interval == 1,
            oldest_unacked: 0,
            sent: 0,
            arrived: PacketSet::default(),
            lost_before: 0,
            resend: 0,
            overdue_before: 0,
            report_from: 0,
            asked_before: 0,
            timer_start: Picos::ZERO,
        }
    }

    /// Returns true if packet `resend` is lost.
    #[inline]
    fn must_resend(&self) -> bool {
        self.resend < self.lost_before
    }

    /// Payload bytes acknowledged one way or the other.
    #[inline]
    fn acknowledged_bytes(&self, flow: &Flow) -> u64 {
        let in_order = flow.bytes_before(self.oldest_unacked).0;
        if self.arrived.is_empty() {
            return in_order;
        }
        // All packets but the flow's last one are full.
        let last = flow.packets() - 1;
        let missing = flow.payload_of(0).0 - flow.payload_of(last).0;
        let missing = if self.arrived.contains(last) { missing } else { 0 };
        in_order + self.arrived.len() * flow.payload_of(0).0 - missing
    }

    /// Records that all packets before `first_open`, at least one of them new, have arrived.
    #[inline]
    fn advance(&mut self, now: Picos, first_open: u64) {
        let sent_again = self.oldest_unacked < self.resend;
        // Arrived packets are followed by a packet not yet acknowledged, unless the responder contradicts itself.
        self.oldest_unacked = self.arrived.first_missing(first_open);
        self.arrived.remove_before(self.oldest_unacked);
        self.timer_start = now;
        // After the timer expired, its retransmissions have arrived: all packets sent before have arrived or are lost.
        // IRN waits for the timer again, for each packet of a lost tail; TCP does not (RFC 6582, 3.2, step 3).
        let repaired = sent_again && self.resend <= self.oldest_unacked;
        if repaired && self.oldest_unacked < self.overdue_before {
            self.lost_before = self.lost_before.max(self.oldest_unacked + 1);
        }
    }

    /// Moves `resend` on to a packet that has not arrived.
    #[inline]
    fn find_next_to_resend(&mut self) {
        self.resend = self.arrived.first_missing(self.resend.max(self.oldest_unacked));
    }

    fn unchanged(&self, outcome: Outcome) -> Answered {
        Answered { outcome, bytes: Bytes(0), first_open: self.oldest_unacked, loss: false }
    }
}

impl ReliableSender for SelectiveRepeatRequester {
    #[inline]
    fn next(&self, flow: &Flow) -> Option<u64> {
        if self.must_resend() {
            return Some(self.resend);
        }
        let open =
            self.sent < flow.packets() && self.sent - self.oldest_unacked < OUTSTANDING_PACKETS;
        open.then_some(self.sent)
    }

    #[inline]
    fn transmit(&mut self, now: Picos, flow: &Flow) -> Transmission {
        let again = self.must_resend();
        let number = if again { self.resend } else { self.sent };
        if number == self.oldest_unacked {
            self.timer_start = now;
        }
        if again {
            self.resend = number + 1;
            self.find_next_to_resend();
        } else {
            self.sent += 1;
        }
        // The timer runs for a packet that is sent again, and without an ACK nothing would ever move a full window.
        let ack_request = again || self.sent - self.oldest_unacked == OUTSTANDING_PACKETS;
        if ack_request || self.answers_each || number + 1 == flow.packets() {
            self.asked_before = self.asked_before.max(number + 1);
        }
        Transmission { number, again, ack_request }
    }

    /// Bytes from the oldest unacknowledged packet to the newest sent, whether or not some of them have arrived: BDP-FC
    /// counts so (IRN, 3.2), and the bit maps of both ends are therefore no longer than the window. A packet that is
    /// sent again lies within that span.
    #[inline]
    fn outstanding(&self, flow: &Flow) -> Bytes {
        if self.must_resend() {
            return Bytes(0);
        }
        Bytes(flow.bytes_before(self.sent).0 - flow.bytes_before(self.oldest_unacked).0)
    }

    #[inline]
    fn receive(&mut self, now: Picos, answer: &Answer, flow: &Flow) -> Answered {
        let Answer { psn, aeth } = answer;
        let oldest = flow.psn(self.oldest_unacked);
        let number = |psn: Psn| {
            let ahead = !psn.is_before(oldest);
            ahead.then(|| self.oldest_unacked + u64::from(psn.distance_from(oldest)))
        };
        // An ACK covers its own PSN; a NAK covers only the PSNs before the one that it expects.
        let first_open = number(match aeth.syndrome {
            Syndrome::Ack => psn.next(),
            Syndrome::NakSequenceError | Syndrome::SelectiveNak => *psn,
        });
        let arrived = aeth.arrived().and_then(number);
        let first_open = first_open.unwrap_or(self.oldest_unacked);
        if first_open > self.sent || arrived.is_some_and(|arrived| arrived >= self.sent) {
            return self.unchanged(Outcome::BeyondSent);
        }
        let (before, lost_before) = (self.acknowledged_bytes(flow), self.lost_before);
        if first_open > self.oldest_unacked {
            self.advance(now, first_open);
        }
        if let Some(arrived) = arrived.filter(|&arrived| arrived > self.oldest_unacked) {
            self.arrived.insert(arrived);
            self.lost_before = self.lost_before.max(arrived);
        }
        self.find_next_to_resend();
        let bytes = self.acknowledged_bytes(flow) - before;
        let first_lost =
            self.arrived.first_missing(self.oldest_unacked.max(lost_before).max(self.report_from));
        let loss = first_lost < self.lost_before;
        if loss {
            self.report_from = self.sent;
        }
        let outcome = match (self.is_complete(flow), bytes > 0 || loss) {
            (true, _) => Outcome::Completed,
            (false, true) => Outcome::Useful,
            (false, false) => Outcome::Stale,
        };
        Answered { outcome, bytes: Bytes(bytes), first_open: self.oldest_unacked, loss }
    }

    /// Stopped while the oldest packet waits to be sent again.
    #[inline]
    fn retransmission_deadline(&self) -> Option<Picos> {
        let in_flight = self.sent - self.oldest_unacked;
        if in_flight == 0 || (self.must_resend() && self.resend == self.oldest_unacked) {
            return None;
        }
        let few = in_flight < u64::from(self.parameters.rto_low_packets);
        let answered = self.oldest_unacked < self.asked_before;
        let timeout = if few && answered { self.parameters.rto_low } else { self.rto_high };
        Some(self.timer_start + timeout)
    }

    /// Sends the oldest unacknowledged packet again, and then all lost packets, including those already sent again.
    fn expire(&mut self, _: Picos) {
        self.resend = self.oldest_unacked;
        self.lost_before = self.lost_before.max(self.oldest_unacked + 1);
        self.overdue_before = self.sent;
        self.report_from = self.sent;
    }

    #[inline]
    fn is_complete(&self, flow: &Flow) -> bool {
        self.oldest_unacked == flow.packets()
    }
}

#[cfg(test)]
mod tests;
