//! Round trips by the NIC's clock.

use std::collections::VecDeque;

use units::Picos;

/// Stored instead of a start for packets that were sent again.
const SENT_AGAIN: Picos = Picos::MAX;

/// When each outstanding packet of a queue pair started.
///
/// It grows to the most packets that were ever outstanding and allocates nothing after that.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// Number of the first packet that is not acknowledged.
    first_open: u64,
    /// Starts of that packet and all sent after it.
    starts: VecDeque<Picos>,
}

impl RoundTrips {
    /// Takes note that packet `number` starts at `now`: one that was sent before, or the next new one.
    pub fn start(&mut self, number: u64, now: Picos) {
        let place = number.checked_sub(self.first_open).and_then(|place| place.try_into().ok());
        let place: usize = place.expect("what is acknowledged is not sent again");
        match self.starts.get_mut(place) {
            Some(start) => *start = SENT_AGAIN,
            None => self.starts.push_back(now),
        }
    }

    /// Takes an acknowledgement, at `now`, of all packets before `first_open`: the round trip of the last of
    /// them. `None` if nothing is new, or if one of them was sent again: nobody knows which of the two
    /// transmissions caused the ACK (Karn's rule; RFC 6298, section 3).
    pub fn acknowledge(&mut self, first_open: u64, now: Picos) -> Option<Picos> {
        let mut round_trip = None;
        let mut ambiguous = false;
        while self.first_open < first_open {
            self.first_open += 1;
            let start = self.starts.pop_front()?;
            ambiguous |= start == SENT_AGAIN;
            round_trip = Some(now.since(start));
        }
        round_trip.filter(|_| !ambiguous)
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
        assert_eq!(round_trips.acknowledge(1, Picos(1000)), Some(Picos(1000)));
        assert_eq!(round_trips.acknowledge(1, Picos(1001)), None, "nothing new");
        assert_eq!(round_trips.acknowledge(3, Picos(1100)), Some(Picos(900)));
        round_trips.start(4, Picos(1200));
        assert_eq!(round_trips.acknowledge(5, Picos(1500)), Some(Picos(300)));
        assert!(round_trips.starts.is_empty());
    }

    #[test]
    fn an_ack_of_a_packet_that_was_sent_again_says_nothing() {
        let mut round_trips = RoundTrips::default();
        for (number, now) in [(0, 0), (1, 100), (2, 200), (3, 300), (1, 400)] {
            round_trips.start(number, Picos(now));
        }
        assert_eq!(round_trips.acknowledge(1, Picos(1000)), Some(Picos(1000)));
        assert_eq!(round_trips.acknowledge(3, Picos(1100)), None, "it covers packet 1");
        assert_eq!(round_trips.acknowledge(4, Picos(1200)), Some(Picos(900)));
    }
}
