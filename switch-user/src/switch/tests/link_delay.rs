//! Ports measure their links, and size headroom by the results.

use fabric_core::tables::Tables;

use fabric_core::wire::LinkDelayFrame;

use super::*;
use crate::link_delay::ALLOWED_LOST_RESPONSES;

const START: Picos = Picos(1_000_000);
/// Time at which 60 bytes and 24 around them have been sent at 100 Gbit/s, after [`START`], in whole nanoseconds.
const SENT: Nanos = Nanos(1006);
const THERE: [u8; 6] = [2, 9, 0, 0, 0, 9];

impl<S: Scheme> Bench<S> {
    /// Receives a link delay frame at [`IN`].
    fn receive_delay(&mut self, now: Picos, message: LinkDelayFrame) -> Reaction {
        let outcome = Outcome::LinkDelayReceived;
        let (frame, length) = (0, CONTROL_FRAME_LENGTH);
        let link_delay = Some(message);
        let arrival = Arrival {
            frame,
            at: now,
            length,
            outcome: &outcome,
            orders: &[],
            link_delay: link_delay.as_ref(),
            priority: None,
        };
        self.switch.on_arrival(now, IN, &arrival, &mut self.log)
    }

    fn measure(&mut self) {
        self.switch.measure_link(START, IN, &mut self.log);
    }

    /// Sends the request of [`IN`] and returns it.
    fn request(&mut self) -> LinkDelayFrame {
        match self.sends(START, IN) {
            Some(Sent::Control(ControlTransmission::LinkDelay(request))) => request,
            other => panic!("{other:?} is no request"),
        }
    }

    fn headroom(&self) -> [u64; 2] {
        [IN, OUT].map(|port| {
            let port = self.switch.tables().port(port.into()).expect("it is in use");
            port.headroom_bytes.load()
        })
    }
}

/// Returns the response to `request`, and its arrival time, over a link of 500 ns from a neighbour
/// that takes 50 ns and has a PAUSE response time of 100 ns.
fn response(request: &LinkDelayFrame) -> (LinkDelayFrame, Picos) {
    let received = Nanos(request.request_sent.0 + 500);
    let mut response = request.answer(THERE, received, Nanos(100));
    response.stamp(Nanos(received.0 + 50));
    (response, Picos::from_nanos(Nanos(received.0 + 550)))
}

#[test]
fn a_request_is_answered_behind_control_frames_and_stamped_when_it_has_left() {
    let mut bench = Bench::new();
    bench.packet(START, [1, IN], CLASS, LENGTH);
    let mut request = LinkDelayFrame::request(THERE, 7);
    request.stamp(Nanos(5));
    let earlier = Picos(990_000);
    let reaction = bench.receive_delay(earlier, request);
    assert_eq!(reaction, Reaction { wake: [Some(IN), None], ..Reaction::default() });
    bench.burst(START);
    assert_eq!(bench.sends(START, IN), Some(pause(IN, CLASS.bit())));
    let mut answer = request.answer(address(IN), earlier.to_nanos(), RESPONSE);
    answer.stamp(SENT);
    assert_eq!(bench.sends(START, IN), Some(Sent::Control(ControlTransmission::LinkDelay(answer))));
    assert_eq!(bench.sends(START, IN), Some(last(1)), "after both");
}

#[test]
fn headroom_follows_what_was_measured() {
    let mut bench = Bench::new();
    bench.measure();
    let request = bench.request();
    assert_eq!(request.request_sent, SENT);
    let (response, received) = response(&request);
    bench.receive_delay(received, response);
    let measured = Measurement { round_trip: Nanos(1000), response: Nanos(100) };
    let bytes = measured.headroom(RATE, &FRAMES);
    assert!(bytes != HEADROOM);
    let expected = Event::HeadroomChanged { port: IN, headroom: bytes, measured: Some(measured) };
    assert_eq!(bench.observed(), [expected]);
    assert_eq!(bench.headroom(), [bytes.0, HEADROOM.0]);
    bench.receive_delay(received, response);
    assert_eq!(bench.observed(), [], "the same response once more");
}

#[test]
fn lost_responses_bring_the_configured_headroom_back() {
    let mut bench = Bench::new();
    bench.measure();
    let (response, received) = response(&bench.request());
    bench.receive_delay(received, response);
    bench.observed();
    let measured = bench.headroom();
    for _ in 0..=ALLOWED_LOST_RESPONSES {
        bench.measure();
        bench.request();
        assert_eq!((bench.observed(), bench.headroom()), (vec![], measured));
    }
    bench.measure();
    let expected = Event::HeadroomChanged { port: IN, headroom: HEADROOM, measured: None };
    assert_eq!(bench.observed(), [expected]);
    assert_eq!(bench.headroom(), [HEADROOM.0; 2]);
}

#[test]
fn a_switch_that_measures_no_links_answers_alone() {
    let mut bench = Bench::new();
    bench.switch.config.measures_links = false;
    bench.measure();
    assert_eq!(bench.sends(START, IN), None);
    let request = LinkDelayFrame::request(THERE, 7);
    let (response, received) = response(&request);
    bench.receive_delay(received, response);
    assert_eq!((bench.observed(), bench.headroom()), (vec![], [HEADROOM.0; 2]));
    bench.receive_delay(received, request);
    let answer = bench.sends(received, IN);
    assert!(matches!(answer, Some(Sent::Control(ControlTransmission::LinkDelay(_)))));
}
