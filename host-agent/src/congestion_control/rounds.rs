//! Round trips of a queue pair, counted by bytes instead of a clock.

use units::Bytes;

use super::Transmitted;

/// A round trip is over when a byte is acknowledged that was first sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    sent: u64,
    acknowledged: u64,
    /// Bytes sent when the round trip began.
    end: u64,
}

impl Rounds {
    /// Counts a packet that starts.
    #[inline]
    pub fn transmitted(&mut self, packet: &Transmitted) {
        if !packet.again {
            self.sent += packet.payload.0;
        }
    }

    /// Counts newly acknowledged bytes. Returns true if a round trip ends and the next begins.
    #[inline]
    pub fn acknowledged(&mut self, bytes: Bytes) -> bool {
        self.acknowledged += bytes.0;
        let over = self.acknowledged > self.end;
        if over {
            self.end = self.sent;
        }
        over
    }

    /// Returns true if more than the first `mark` bytes are acknowledged.
    #[inline]
    pub fn is_past(&self, mark: u64) -> bool {
        self.acknowledged > mark
    }

    /// Bytes sent and not acknowledged one way or the other.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.sent - self.acknowledged.min(self.sent)
    }

    /// Bytes sent so far, as a mark for [`is_past`](Self::is_past).
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_ends_with_the_first_ack_of_what_was_sent_in_it() {
        let mut rounds = Rounds::default();
        let packet = |again| Transmitted { wire: Bytes(1098), payload: Bytes(1000), again };
        let send = |rounds: &mut Rounds, packets| {
            (0..packets).for_each(|_| rounds.transmitted(&packet(false)));
        };
        send(&mut rounds, 3);
        assert!(rounds.acknowledged(Bytes(1000)), "the first ACK ends the first round trip");
        send(&mut rounds, 1);
        rounds.transmitted(&packet(true));
        assert!(!rounds.acknowledged(Bytes(0)));
        assert!(!rounds.acknowledged(Bytes(2000)), "these were sent before it began");
        let mark = rounds.sent();
        assert!(rounds.acknowledged(Bytes(1000)), "this was sent in it, once");
        assert!(!rounds.is_past(mark));
        send(&mut rounds, 1);
        assert!(rounds.acknowledged(Bytes(1000)));
        assert!(rounds.is_past(mark));
    }
}
