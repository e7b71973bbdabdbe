//! Round trips by the NIC's clock.

use std::collections::VecDeque;

use units::Picos;

/// Added to the last start of a packet that was sent again.
const AGAIN: u64 = 1 << 63;

/// Starts of the outstanding packets of a queue pair.
///
/// The queue grows to the max number of outstanding packets and allocates nothing after that.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// Number of the first packet that is not acknowledged.
    first_open: u64,
    /// The last starts of that packet and all sent after it.
    starts: VecDeque<Picos>,
}

impl RoundTrips {
    /// Records that packet `number`, a retransmission or the next new packet, starts at `now`.
    pub fn start(&mut self, number: u64, now: Picos) {
        let place = number.checked_sub(self.first_open).and_then(|place| place.try_into().ok());
        let place: usize = place.expect("what is acknowledged is not sent again");
        match self.starts.get_mut(place) {
            Some(start) => *start = Picos(now.0 | AGAIN),
            None => self.starts.push_back(now),
        }
    }

    /// Handles an acknowledgement, at `now`, of all packets before `first_open`. Returns the round trip of the last of
    /// them, or `None` if nothing is new.
    ///
    /// If one of them was sent again, it is unknown which transmission caused the ACK (Karn's rule; RFC 6298, section
    /// 3), unless `answers` identifies a packet by its start: the round trip is then that packet's.
    pub fn acknowledge(
        &mut self,
        first_open: u64,
        now: Picos,
        answers: impl Fn(Picos) -> bool,
    ) -> Option<Picos> {
        let (mut newest, mut answered) = (None, None);
        let mut ambiguous = false;
        while self.first_open < first_open {
            self.first_open += 1;
            let start = self.starts.pop_front()?;
            ambiguous |= start.0 & AGAIN != 0;
            let start = Picos(start.0 & !AGAIN);
            newest = Some(start);
            if answers(start) {
                answered = newest;
            }
        }
        let start = if ambiguous { answered } else { newest };
        start.map(|start| now.since(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_runs_from_the_newest_packet_acknowledged() {
        let mut round_trips = RoundTrips::default();
        for number in 0..4 {
            round_trips.start(number, Picos(100 * number));
        }
        let mut acknowledge =
            |first_open, now| round_trips.acknowledge(first_open, Picos(now), |_| false);
        assert_eq!(acknowledge(1, 1000), Some(Picos(1000)));
        assert_eq!(acknowledge(1, 1001), None, "nothing new");
        assert_eq!(acknowledge(3, 1100), Some(Picos(900)));
        round_trips.start(4, Picos(1200));
        assert_eq!(round_trips.acknowledge(5, Picos(1500), |_| false), Some(Picos(300)));
        assert!(round_trips.starts.is_empty());
    }

    #[test]
    fn an_ack_of_a_packet_that_was_sent_again_says_nothing() {
        let mut round_trips = RoundTrips::default();
        for (number, now) in [(0, 0), (1, 100), (2, 200), (3, 300), (1, 400)] {
            round_trips.start(number, Picos(now));
        }
        let mut acknowledge =
            |first_open, now| round_trips.acknowledge(first_open, Picos(now), |_| false);
        assert_eq!(acknowledge(1, 1000), Some(Picos(1000)));
        assert_eq!(acknowledge(3, 1100), None, "it covers packet 1");
        assert_eq!(acknowledge(4, 1200), Some(Picos(900)));
    }

    #[test]
    fn an_ack_that_answers_a_transmission_says_its_round_trip() {
        for (answered, expected) in [(400, Some(Picos(700))), (200, Some(Picos(900))), (100, None)]
        {
            let mut round_trips = RoundTrips::default();
            for (number, now) in [(0, 0), (1, 100), (2, 200), (1, 400)] {
                round_trips.start(number, Picos(now));
            }
            let answers = |start| start == Picos(answered);
            assert_eq!(round_trips.acknowledge(3, Picos(1100), answers), expected, "{answered}");
        }
    }
}
