//! State of the sender's segments: acknowledged, SACKed, lost, sent again (RFC 6675).

use crate::packet_set::PacketSet;

/// Segments of one flow, by number.
///
/// A segment is lost if enough segments behind it are SACKed, or if it was unacknowledged when the timer expired. Lost
/// segments go first, oldest first, and each of them once until the timer expires.
#[derive(Debug, Default)]
pub struct Scoreboard {
    /// The first that is not acknowledged (`HighACK` + 1).
    oldest_unacked: u64,
    /// One past the newest sent (`HighData` + 1).
    sent: u64,
    /// SACKed segments behind the oldest unacknowledged one.
    sacked: PacketSet,
    /// Segments before this one that are not SACKed are lost.
    lost_before: u64,
    /// First segment that may have to be sent again (`HighRxt` + 1). It is not SACKed itself.
    resend: u64,
}

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    pub number: u64,
    /// True for a retransmission.
    pub again: bool,
}

impl Scoreboard {
    /// The first segment that is not acknowledged.
    #[inline]
    pub fn oldest_unacked(&self) -> u64 {
        self.oldest_unacked
    }

    /// One past the newest sent.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns true if segments behind a missing one have arrived.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Returns true if a segment is lost and not yet sent again.
    #[inline]
    pub fn must_resend(&self) -> bool {
        self.resend < self.lost_before
    }

    /// The segment to send next of a flow of `segments`, if there is one (`NextSeg`, rules 1 and 2).
    #[inline]
    pub fn next(&self, segments: u64) -> Option<Next> {
        if self.must_resend() {
            return Some(Next { number: self.resend, again: true });
        }
        (self.sent < segments).then_some(Next { number: self.sent, again: false })
    }

    /// Records the start of a segment: the [`next`](Self::next) one, or the newest once more.
    #[inline]
    pub fn transmit(&mut self, next: Next) {
        if !next.again {
            self.sent += 1;
        } else if next.number == self.resend {
            self.resend = self.sacked.first_missing(next.number + 1);
        }
    }

    /// Segments in flight (`pipe`).
    #[inline]
    pub fn in_flight(&self) -> u64 {
        let unresolved = self.lost_before.max(self.oldest_unacked);
        if self.sacked.is_empty() && unresolved == self.oldest_unacked {
            return self.sent - self.oldest_unacked;
        }
        let behind = (self.sent - unresolved) - self.sacked.count_from(unresolved);
        let resent = self.resend.clamp(self.oldest_unacked, unresolved);
        let sacked = self.sacked.len() - self.sacked.count_from(resent);
        behind + (resent - self.oldest_unacked) - sacked
    }

    /// Records the acknowledgement of all segments before `oldest_unacked`, which were sent; calls `fresh` with each
    /// range of newly acknowledged segments that was not SACKed.
    pub fn acknowledge(&mut self, oldest_unacked: u64, mut fresh: impl FnMut(u64, u64)) {
        if self.sacked.is_empty() {
            fresh(self.oldest_unacked, oldest_unacked);
        } else {
            let mut from = self.oldest_unacked;
            while from < oldest_unacked {
                if self.sacked.contains(from) {
                    from = self.sacked.first_missing(from);
                    continue;
                }
                let start = from;
                while from < oldest_unacked && !self.sacked.contains(from) {
                    from += 1;
                }
                fresh(start, from);
            }
        }
        self.oldest_unacked = oldest_unacked;
        self.sacked.remove_before(oldest_unacked);
        self.resend = self.sacked.first_missing(self.resend.max(oldest_unacked));
    }

    /// Records the arrival of a sent segment behind a missing one; true if it is new.
    pub fn sack(&mut self, number: u64) -> bool {
        let new = number > self.oldest_unacked && self.sacked.insert(number);
        if new && number == self.resend {
            self.resend = self.sacked.first_missing(number);
        }
        new
    }

    /// The first segment from `number` on that is not SACKed.
    pub fn first_missing(&self, number: u64) -> u64 {
        self.sacked.first_missing(number)
    }

    /// Marks segments as lost that have at least `threshold` SACKed segments behind them (`IsLost`); `threshold` is at
    /// least 1.
    pub fn find_lost(&mut self, threshold: u32) {
        if let Some(behind) = self.sacked.last_but(u64::from(threshold) - 1) {
            self.lost_before = self.lost_before.max(behind);
        }
    }

    /// Returns true if segments from `number` on are lost and not acknowledged.
    pub fn has_lost(&self, number: u64) -> bool {
        self.sacked.first_missing(number.max(self.oldest_unacked)) < self.lost_before
    }

    /// Marks all unacknowledged segments as lost, including those already sent again.
    pub fn lose_all(&mut self) {
        self.lost_before = self.sent;
        self.resend = self.sacked.first_missing(self.oldest_unacked);
    }

    /// The newest segment once more, if it is not acknowledged.
    pub fn newest(&self) -> Option<Next> {
        (self.sent > self.oldest_unacked).then(|| Next { number: self.sent - 1, again: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After ten segments of twenty.
    fn ten_sent() -> Scoreboard {
        let mut scoreboard = Scoreboard::default();
        for number in 0..10 {
            let next = scoreboard.next(20).unwrap();
            assert_eq!(next, Next { number, again: false });
            scoreboard.transmit(next);
        }
        scoreboard
    }

    fn acknowledge(scoreboard: &mut Scoreboard, oldest: u64) -> Vec<(u64, u64)> {
        let mut fresh = Vec::new();
        scoreboard.acknowledge(oldest, |from, to| fresh.push((from, to)));
        fresh
    }

    #[test]
    fn three_sacked_segments_make_a_loss() {
        let mut scoreboard = ten_sent();
        assert_eq!(scoreboard.in_flight(), 10);
        assert_eq!(acknowledge(&mut scoreboard, 2), [(0, 2)]);
        for (sacked, in_flight) in [(3, 7), (4, 6)] {
            assert!(scoreboard.sack(sacked) && !scoreboard.sack(sacked));
            scoreboard.find_lost(3);
            assert!(!scoreboard.must_resend());
            assert_eq!(scoreboard.in_flight(), in_flight);
        }
        assert!(scoreboard.sack(5));
        scoreboard.find_lost(3);
        assert!(scoreboard.must_resend());
        assert_eq!(scoreboard.in_flight(), 4, "6 to 9; 2 is lost");
        assert_eq!(scoreboard.next(20), Some(Next { number: 2, again: true }));
        scoreboard.transmit(Next { number: 2, again: true });
        assert_eq!(scoreboard.in_flight(), 5);
        assert_eq!(scoreboard.next(20), Some(Next { number: 10, again: false }));
        assert_eq!(acknowledge(&mut scoreboard, 6), [(2, 3)]);
        assert_eq!(scoreboard.in_flight(), 4);
        assert!(!scoreboard.has_gaps());
    }

    #[test]
    fn two_gaps_are_sent_again_in_order() {
        let mut scoreboard = ten_sent();
        for sacked in [1, 2, 4, 5, 6] {
            scoreboard.sack(sacked);
        }
        scoreboard.find_lost(3);
        // Three are SACKed behind 3, so it is lost, too.
        for number in [0, 3] {
            let next = scoreboard.next(20).unwrap();
            assert_eq!(next, Next { number, again: true });
            scoreboard.transmit(next);
        }
        assert_eq!(scoreboard.in_flight(), 5, "0 and 3 again, 7 to 9");
        assert_eq!(scoreboard.next(20), Some(Next { number: 10, again: false }));
        assert_eq!(acknowledge(&mut scoreboard, 7), [(0, 1), (3, 4)]);
    }

    #[test]
    fn a_timeout_loses_all_but_what_is_sacked() {
        let mut scoreboard = ten_sent();
        scoreboard.sack(8);
        scoreboard.lose_all();
        assert_eq!(scoreboard.in_flight(), 0);
        let mut again = Vec::new();
        while let Some(next @ Next { again: true, .. }) = scoreboard.next(20) {
            again.push(next.number);
            scoreboard.transmit(next);
        }
        assert_eq!(again, [0, 1, 2, 3, 4, 5, 6, 7, 9]);
        assert_eq!(scoreboard.in_flight(), 9);
        scoreboard.lose_all();
        assert_eq!(scoreboard.next(20), Some(Next { number: 0, again: true }), "once more");
    }

    #[test]
    fn the_threshold_may_be_one() {
        let mut scoreboard = ten_sent();
        scoreboard.sack(9);
        scoreboard.find_lost(2);
        assert!(!scoreboard.must_resend());
        scoreboard.find_lost(1);
        assert!(scoreboard.must_resend());
        assert_eq!(scoreboard.in_flight(), 0);
    }
}
