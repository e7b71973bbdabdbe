//! Events that reach a congestion control and limits that it sets, with go-back-N and an algorithm that records its
//! events.

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Syndrome};
use units::BitsPerSecond;

use super::*;
use crate::congestion_control::{Acknowledged, HopTelemetry, Loss};
use crate::first_rtt::FirstRttMarks;
use crate::flow::tests::flow;
use crate::host::tests::config;
use crate::regulator::WindowLimit;
use crate::reliability::{Reliability, Sender};

/// An event that an algorithm received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    Transmitted(u64, Transmitted),
    /// Instant, new bytes, round trip, echo, hops of telemetry.
    Acknowledged(u64, u64, Option<u64>, bool, usize),
    Notified(u64),
    Lost(u64, Loss),
}

/// Records its events.
#[derive(Debug)]
struct Recorder {
    recorded: Vec<Recorded>,
    rate: BitsPerSecond,
    window: Option<Bytes>,
    measures: bool,
    moves: bool,
}

impl CongestionControl for Recorder {
    fn transmitted(&mut self, now: Picos, packet: &Transmitted) {
        self.recorded.push(Recorded::Transmitted(now.0, *packet));
    }

    fn acknowledged(&mut self, now: Picos, acknowledged: &Acknowledged<'_>) {
        let Acknowledged { bytes, round_trip, congestion_echo, telemetry, .. } = acknowledged;
        let round_trip = round_trip.map(|span| span.0);
        let recorded =
            Recorded::Acknowledged(now.0, bytes.0, round_trip, *congestion_echo, telemetry.len());
        self.recorded.push(recorded);
    }

    fn notified(&mut self, now: Picos) {
        self.recorded.push(Recorded::Notified(now.0));
    }

    fn lost(&mut self, now: Picos, loss: Loss) {
        self.recorded.push(Recorded::Lost(now.0, loss));
    }

    fn rate(&mut self, _: Picos) -> BitsPerSecond {
        self.rate
    }

    fn window(&self, _: Picos) -> Option<Bytes> {
        self.window
    }

    fn measures_round_trips(&self) -> bool {
        self.measures
    }

    fn moves_next_start(&self) -> bool {
        self.moves
    }
}

/// A requester of `bytes` in packets of 1000, whose algorithm limits nothing and measures round trips.
fn requester(bytes: u64) -> Requester<Sender, Recorder> {
    let config = config(1);
    let rate = BitsPerSecond(u64::MAX);
    let recorder =
        Recorder { recorded: Vec::new(), rate, window: None, measures: true, moves: false };
    let regulator = Regulator::new(recorder, None, false, config.link_rate, config.frame_time);
    let first_rtt = FirstRttMarks { limit: Bytes(2000), acknowledgements: false }.of_sender();
    Requester::new(flow(bytes, 0), Reliability::GoBackN.sender(&config), regulator, 0, first_rtt)
}

impl Requester<Sender, Recorder> {
    fn recorded(&mut self) -> Vec<Recorded> {
        std::mem::take(&mut self.regulator.algorithm_mut().recorded)
    }

    /// Sends all packets that may start and returns their PSNs.
    fn send(&mut self, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| {
            let now = Picos(now);
            self.can_send(now).then(|| self.transmit(now, &config(1)).0.psn.value())
        })
        .collect()
    }

    fn answer(&mut self, now: u64, syndrome: Syndrome, psn: u32, echo: bool) -> Outcome {
        let aeth = AethFields { syndrome, message_sequence_number: 0 };
        let echo = Echo::new(echo, None, &[]);
        let answer = Answer { psn: Psn::new(psn), aeth };
        self.receive_answer(Picos(now), &answer, &echo)
    }
}

#[test]
fn packets_of_the_first_round_trip_are_marked_what_is_sent_again_too() {
    let mut requester = requester(4000);
    let dscps = |requester: &mut Requester<Sender, Recorder>, count| -> Vec<u8> {
        (0..count).map(|_| requester.transmit(Picos(7), &config(1)).0.dscp & 7).collect()
    };
    assert_eq!(dscps(&mut requester, 1), [2]);
    requester.expire(Picos(50));
    assert_eq!(dscps(&mut requester, 4), [2, 0, 0, 0], "2000 B of payload are sent");
}

#[test]
fn a_transmission_is_reported_with_its_bytes_and_whether_it_is_the_first() {
    let mut requester = requester(1500);
    assert_eq!(requester.send(7), [0, 1]);
    requester.expire(Picos(50));
    assert_eq!(requester.send(60), [0, 1]);
    assert_eq!(requester.counts().retransmitted_packets, 2);
    // 74 bytes of headers and ICRC with RETH and 58 without, and 24 between frames.
    let packet = |now, wire, payload, again| {
        Recorded::Transmitted(
            now,
            Transmitted { wire: Bytes(wire), payload: Bytes(payload), again },
        )
    };
    let expected = [
        packet(7, 1098, 1000, false),
        packet(7, 582, 500, false),
        Recorded::Lost(50, Loss::Timeout),
        packet(60, 1098, 1000, true),
        packet(60, 582, 500, true),
    ];
    assert_eq!(requester.recorded(), expected);
}

#[test]
fn an_ack_is_reported_with_its_bytes_its_round_trip_and_its_echo() {
    let mut requester = requester(3500);
    for start in [0, 100, 200, 300] {
        requester.transmit(Picos(start), &config(1));
    }
    requester.recorded();
    assert_eq!(requester.answer(1000, Syndrome::Ack, 1, false), Outcome::Useful);
    assert_eq!(requester.answer(1001, Syndrome::Ack, 1, true), Outcome::Stale);
    assert_eq!(requester.answer(1002, Syndrome::Ack, 9, true), Outcome::BeyondSent);
    assert!(!requester.is_complete());
    assert_eq!(requester.answer(1200, Syndrome::Ack, 3, true), Outcome::Completed);
    assert!(requester.is_complete());
    let expected = [
        Recorded::Acknowledged(1000, 2000, Some(900), false, 0),
        Recorded::Acknowledged(1001, 0, None, true, 0),
        Recorded::Acknowledged(1200, 1500, Some(900), true, 0),
    ];
    assert_eq!(requester.recorded(), expected);
}

#[test]
fn a_nak_is_reported_as_an_acknowledgement_and_a_loss() {
    let mut requester = requester(3500);
    requester.send(0);
    requester.recorded();
    requester.answer(1000, Syndrome::NakSequenceError, 1, true);
    requester.send(1500);
    requester
        .regulator
        .algorithm_mut()
        .recorded
        .retain(|event| !matches!(event, Recorded::Transmitted(..)));
    requester.answer(2000, Syndrome::Ack, 1, false);
    let expected = [
        Recorded::Acknowledged(1000, 1000, None, true, 0),
        Recorded::Lost(1000, Loss::Reported),
        Recorded::Acknowledged(2000, 1000, None, false, 0),
    ];
    assert_eq!(requester.recorded(), expected);
}

#[test]
fn round_trips_are_kept_for_those_who_ask_only() {
    let mut requester = requester(3500);
    requester.regulator.algorithm_mut().measures = false;
    requester.send(0);
    requester.recorded();
    requester.answer(1000, Syndrome::Ack, 3, false);
    assert_eq!(requester.recorded(), [Recorded::Acknowledged(1000, 3500, None, false, 0)]);
}

#[test]
fn a_notification_is_reported_and_counted() {
    let mut requester = requester(1000);
    requester.receive_notification(Picos(5));
    assert_eq!(
        (requester.recorded(), requester.counts().notifications),
        (vec![Recorded::Notified(5)], 1)
    );
}

#[test]
fn a_window_holds_packets_back_and_an_ack_lets_them_go() {
    let mut requester = requester(10_000);
    requester.regulator.algorithm_mut().window = Some(Bytes(2999));
    assert_eq!(requester.send(0), [0, 1], "a third packet would be a byte too much");
    requester.answer(10, Syndrome::Ack, 0, false);
    assert_eq!(requester.send(10), [2]);
    requester.regulator.algorithm_mut().window = Some(Bytes(3000));
    assert_eq!(requester.send(20), [3]);
    requester.regulator.algorithm_mut().window = Some(Bytes(1));
    requester.answer(30, Syndrome::Ack, 2, false);
    assert_eq!(requester.send(30), [] as [u32; 0], "packet 3 is outstanding");
    requester.answer(40, Syndrome::Ack, 3, false);
    assert_eq!(requester.send(40), [4], "one packet may always be");
    // Packets that the requester goes back over are no longer in flight.
    requester.expire(Picos(50));
    assert_eq!(requester.send(50), [4]);
    requester.regulator.algorithm_mut().window = None;
    assert_eq!(requester.send(60), [5, 6, 7, 8, 9]);
}

/// The responder may answer many packets together, more than a window holds.
#[test]
fn packets_under_a_window_ask_for_an_ack() {
    let mut requester = requester(3000);
    let asks = |requester: &mut Requester<Sender, Recorder>| {
        requester.transmit(Picos(0), &config(1)).0.ack_request
    };
    assert!(!asks(&mut requester));
    requester.regulator.algorithm_mut().window = Some(Bytes(3000));
    assert!(asks(&mut requester));
}

#[test]
fn a_rate_below_the_line_rate_delays_the_next_packet() {
    let mut requester = requester(3000);
    requester.regulator.algorithm_mut().rate = config(1).link_rate;
    requester.transmit(Picos(10), &config(1));
    assert_eq!(requester.next_start(), Picos::ZERO, "the port itself is the pace");
    requester.regulator.algorithm_mut().rate = BitsPerSecond(50_000_000_000);
    requester.transmit(Picos(10), &config(1));
    assert_eq!(requester.next_start(), Picos(10 + 1082 * 160));
}

/// 100 Gbit/s, and packets of 1082 B on the wire. Half the rate is twice the time.
#[test]
fn a_new_rate_moves_the_next_start_of_those_algorithms_that_say_so() {
    let line = config(1).link_rate;
    let half = BitsPerSecond(line.0 / 2);
    let after = |packets: u64| Picos(10 + packets * 1082 * 80);
    for (moves, by_ack, by_notification, by_timeout) in
        [(true, after(2), Picos(10), after(4)), (false, after(4), after(4), after(4))]
    {
        let mut requester = requester(5000);
        requester.regulator.algorithm_mut().moves = moves;
        requester.transmit(Picos(0), &config(1));
        requester.regulator.algorithm_mut().rate = BitsPerSecond(line.0 / 4);
        requester.transmit(Picos(10), &config(1));
        assert_eq!(requester.next_start(), after(4));
        requester.regulator.algorithm_mut().rate = half;
        requester.answer(20, Syndrome::Ack, 0, false);
        assert_eq!(requester.next_start(), by_ack, "{moves}");
        requester.regulator.algorithm_mut().rate = line;
        requester.receive_notification(Picos(30));
        assert_eq!(requester.next_start(), by_notification, "{moves}: the port is the pace");
        requester.regulator.algorithm_mut().rate = BitsPerSecond(line.0 / 4);
        requester.expire(Picos(40));
        assert_eq!(requester.next_start(), by_timeout, "{moves}");
    }
}

#[test]
fn a_window_limits_beside_congestion_control_and_scales_with_the_rate() {
    let mut requester = requester(20_000);
    requester.regulator.set_limit(WindowLimit { bytes: Bytes(4000), scales: false });
    assert_eq!(requester.send(0), [0, 1, 2, 3]);
    requester.regulator.algorithm_mut().window = Some(Bytes(2000));
    requester.answer(10, Syndrome::Ack, 2, false);
    assert_eq!(requester.send(10), [4], "the smaller one counts");
    requester.regulator.algorithm_mut().window = None;
    assert_eq!(requester.send(10), [5, 6]);
    requester.regulator.set_limit(WindowLimit { bytes: Bytes(4000), scales: true });
    requester.regulator.algorithm_mut().rate = BitsPerSecond(config(1).link_rate.0 / 2);
    requester.answer(20, Syndrome::Ack, 5, false);
    assert_eq!(requester.send(20), [7], "half the rate, half the window");
    requester.regulator.algorithm_mut().rate = BitsPerSecond(u64::MAX);
    requester.answer(30, Syndrome::Ack, 6, false);
    assert_eq!(requester.send(30), [8, 9, 10]);
}

#[test]
fn stamps_of_an_echo_reach_the_algorithm() {
    let stamps = [HopTelemetry::default(); 2];
    let mut requester = requester(1000);
    requester.send(0);
    let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 0 };
    let fields = TelemetryFields { room: 3, hops: 2, echo: true, exceeded: false };
    let echo = Echo::new(false, Some(fields), &stamps);
    requester.receive_answer(Picos(5), &Answer { psn: Psn::new(0), aeth }, &echo);
    assert_eq!(
        requester.recorded().last(),
        Some(&Recorded::Acknowledged(5, 1000, Some(5), false, 2))
    );
}
