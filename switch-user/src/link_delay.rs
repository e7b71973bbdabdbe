//! One port's exchanges with its neighbour, by which the control plane sizes headroom: sans-I/O, like the requester of
//! the peer delay mechanism of IEEE 802.1AS. docs/link-delay.md specifies the protocol.

use fabric_core::headroom::LinkFrames;
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::link_delay::Kind;
use units::{BitsPerSecond, Bytes, Nanos};

/// Max number of successive exchanges without a response before a measurement is discarded: the
/// default of `allowedLostResponses` in IEEE 802.1AS-2020.
pub const ALLOWED_LOST_RESPONSES: u32 = 9;

/// Max error of a round trip. Each of an exchange's four stamps is rounded down to 1 ns, so that a
/// measured round trip may be too short by less than this.
pub const ROUNDING: Nanos = Nanos(2);

/// Result of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Time from this port to its neighbour and back, without the neighbour's own time: (t4 - t1) - (t3 - t2).
    pub round_trip: Nanos,
    /// Max delay until a PAUSE takes effect at the neighbour, as declared by it.
    pub response: Nanos,
}

impl Measurement {
    /// Returns the mean of both directions, rounded up.
    pub const fn link_delay(&self) -> Nanos {
        Nanos(self.round_trip.0.div_ceil(2))
    }

    /// Returns the headroom that loses no frame of a neighbour that sends at `rate`.
    pub const fn headroom(&self, rate: BitsPerSecond, frames: &LinkFrames) -> Bytes {
        frames.measured_headroom(rate, Nanos(self.round_trip.0 + ROUNDING.0), self.response)
    }
}

/// The requester of one port. Only one exchange is in progress at a time.
#[derive(Clone, Debug, Default)]
pub struct LinkDelayMeter {
    /// Number of the latest request.
    sequence: u32,
    /// True if the response to the latest request is missing.
    waiting: bool,
    /// Number of exchanges without a response since the latest measurement.
    lost: u32,
}

impl LinkDelayMeter {
    /// Returns the next request, with the source address `source`. An exchange in progress counts as lost.
    pub fn request(&mut self, source: [u8; 6]) -> LinkDelayFrame {
        self.lost += u32::from(self.waiting);
        self.sequence = self.sequence.wrapping_add(1);
        self.waiting = true;
        LinkDelayFrame::request(source, self.sequence)
    }

    /// True if so many successive exchanges were lost that the last measurement may be of another link.
    pub const fn is_out_of_date(&self) -> bool {
        self.lost > ALLOWED_LOST_RESPONSES
    }

    /// Handles a response that was received at `received`. Returns `None` if the response does not
    /// belong to the latest request, or if its stamps contradict each other.
    pub fn receive(&mut self, response: &LinkDelayFrame, received: Nanos) -> Option<Measurement> {
        if response.kind != Kind::Response || !self.waiting || response.sequence != self.sequence {
            return None;
        }
        let away = received.0.checked_sub(response.request_sent.0)?;
        let residence = response.response_sent.0.checked_sub(response.request_received.0)?;
        let round_trip = Nanos(away.checked_sub(residence)?);
        self.waiting = false;
        self.lost = 0;
        Some(Measurement { round_trip, response: Nanos(response.response_time_ns.into()) })
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, FrameTime};

    use super::*;

    const HERE: [u8; 6] = [2, 2, 0, 0, 0, 1];
    const THERE: [u8; 6] = [2, 1, 0, 0, 0, 9];

    /// The response to `request` over a link of 1000 ns; the neighbour's clock is 5000 ns ahead, and it
    /// takes 250 ns to answer.
    fn response(mut request: LinkDelayFrame, sent: u64) -> LinkDelayFrame {
        request.stamp(Nanos(sent));
        let mut response = request.answer(THERE, Nanos(sent + 6000), Nanos(100));
        response.stamp(Nanos(sent + 6250));
        response
    }

    #[test]
    fn the_neighbours_clock_and_its_own_time_do_not_count() {
        let mut meter = LinkDelayMeter::default();
        let response = response(meter.request(HERE), 700);
        let measured = meter.receive(&response, Nanos(700 + 2250)).unwrap();
        assert_eq!(measured, Measurement { round_trip: Nanos(2000), response: Nanos(100) });
        assert_eq!(measured.link_delay(), Nanos(1000));
        // 2102 ns at 12.5 bytes per ns, three frames and the PAUSE.
        let frames = LinkFrames {
            time: FrameTime { overhead: 24, whole_nanos: false },
            longest: Bytes(1074),
            hop_control: 60,
            lossless_classes: 8,
        };
        let headroom = measured.headroom(BitsPerSecond(100_000_000_000), &frames);
        assert_eq!(headroom, Bytes(26_275 + 3 * 1098 + 84));
        assert_eq!(meter.receive(&response, Nanos(9999)), None, "a second response");
    }

    #[test]
    fn what_is_no_response_to_the_latest_request_is_ignored() {
        let mut meter = LinkDelayMeter::default();
        let unasked = response(LinkDelayFrame::request(HERE, 0), 0);
        assert_eq!(meter.receive(&unasked, Nanos(2250)), None);
        let late = response(meter.request(HERE), 0);
        let request = meter.request(HERE);
        assert_eq!(meter.receive(&late, Nanos(2250)), None);
        assert_eq!(meter.receive(&request, Nanos(2250)), None, "a request");
        let mut forged = response(request, 0);
        forged.stamp(Nanos(1 << 60));
        assert_eq!(meter.receive(&forged, Nanos(2250)), None, "it stayed longer than it was away");
        forged.stamp(Nanos(0));
        assert_eq!(meter.receive(&forged, Nanos(2250)), None, "it was sent before it was received");
        assert!(meter.receive(&response(request, 0), Nanos(2250)).is_some());
    }

    #[test]
    fn ten_lost_exchanges_in_a_row_are_too_many() {
        let mut meter = LinkDelayMeter::default();
        for _ in 0..=ALLOWED_LOST_RESPONSES {
            meter.request(HERE);
            assert!(!meter.is_out_of_date());
        }
        let request = meter.request(HERE);
        assert!(meter.is_out_of_date());
        meter.receive(&response(request, 0), Nanos(2250)).unwrap();
        assert!(!meter.is_out_of_date());
    }
}
