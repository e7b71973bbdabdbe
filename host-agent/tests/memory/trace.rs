//! Events of a traced flow. Tracing changes nothing else.

use host_agent::congestion_control::{Algorithm, dcqcn};
use host_agent::{HostEvent, Protocol, SenderState, Transport};
use units::{BitsPerSecond, Bytes, Picos};

use crate::testbed::{
    IdealWire, LINE_RATE, LosingWire, MarkingWire, PROPAGATION, ROCE, TCP, Testbed, slow_dctcp,
};

const FLOW: u32 = 7;
const BYTES: u64 = 2_000_000;
fn dcqcn() -> Algorithm {
    Algorithm::Dcqcn(dcqcn::Parameters::paper(LINE_RATE))
}

/// A run of one flow of which the first `marks` packets arrive marked.
fn run(transport: Transport, marks: u64, start: fn(&mut Testbed)) -> Testbed {
    let wire = MarkingWire { inner: IdealWire, remaining: marks };
    let mut testbed = Testbed::new(|_, of_host| *of_host = transport, wire);
    start(&mut testbed);
    testbed.run();
    testbed.assert_delivered(&[(0, FLOW, BYTES)]);
    testbed
}

fn traced(transport: Transport, marks: u64) -> Testbed {
    run(transport, marks, |testbed| testbed.start_traced(0, FLOW, 3, BYTES))
}

/// Traced states with their instants.
fn trace(testbed: &Testbed) -> Vec<(Picos, SenderState)> {
    let change = |event: &HostEvent| match *event {
        HostEvent::SenderChanged { flow: FLOW, at, ref state } => Some((at, **state)),
        _ => None,
    };
    testbed.events.iter().filter_map(change).collect()
}

#[test]
fn a_cut_and_its_recovery_are_recorded_at_their_instants() {
    let rows = trace(&traced(Transport { congestion_control: dcqcn(), ..ROCE }, 1));
    let first = SenderState {
        rate: LINE_RATE,
        window: None,
        congestion_millionths: Some(1_000_000),
        round_trip: None,
        outstanding: Bytes(0),
    };
    assert_eq!(rows[0], (Picos::ZERO, first));
    // Alpha is 1 at the first CNP, so the rate halves; then the rate closes half of the rest of the gap every 55 us.
    let (cut_at, cut) = rows[1];
    assert_eq!(cut.rate, BitsPerSecond(50_000_000_000));
    assert!(cut.outstanding > Bytes(20_000) && cut.round_trip.is_none(), "{cut:?}");
    let mut left = 50_000_000_000_u64;
    for (stage, &(at, state)) in (1..).zip(&rows[2..]) {
        left /= 2;
        assert_eq!(state.rate, BitsPerSecond(100_000_000_000 - left), "stage {stage}");
        let late = at.since(cut_at + Picos(stage * 55_000_000));
        assert!(late < Picos(200_000), "an ACK or a packet comes at once: {late:?}");
        assert!(state.round_trip.is_some(), "measured for the trace alone");
    }
    assert!(rows.len() > 3, "{}", rows.len());
}

#[test]
fn windows_and_alpha_are_recorded_over_both_transports() {
    for protocol in [ROCE.protocol, Protocol::Tcp(TCP)] {
        let transport = Transport { protocol, congestion_control: slow_dctcp(), ..ROCE };
        let rows = trace(&traced(transport, 50));
        let window = |row: usize| rows[row].1.window.expect("DCTCP has a window").0;
        assert_eq!((window(0), rows[0].1.outstanding), (10_000, Bytes(0)));
        assert_eq!(rows[0].1.congestion_millionths, Some(1_000_000));
        for (before, after) in rows.iter().zip(&rows[1..]) {
            let governs =
                |state: &SenderState| (state.rate, state.window, state.congestion_millionths);
            assert!(before.0 <= after.0);
            assert_ne!(governs(&before.1), governs(&after.1), "rows are changes");
        }
        assert!((1..rows.len()).any(|row| window(row) < window(row - 1)), "marks cut");
        assert!(rows.iter().all(|(_, state)| state.rate == LINE_RATE), "nothing is paced");
    }
}

#[test]
fn a_trace_changes_no_result_and_without_one_nothing_is_recorded() {
    for protocol in [ROCE.protocol, Protocol::Tcp(TCP)] {
        for congestion_control in [Algorithm::LineRate, dcqcn(), slow_dctcp()] {
            let transport = Transport { protocol, congestion_control, ..ROCE };
            let with = traced(transport, 100);
            let without = run(transport, 100, |testbed| testbed.start(0, FLOW, 3, BYTES));
            assert_eq!(with.sent, without.sent);
            assert!(!trace(&with).is_empty());
            assert_eq!(trace(&without), []);
        }
    }
}

/// The time stamps identify the transmission that an ACK answers, to a microsecond.
#[test]
fn a_retransmission_has_a_round_trip_over_tcp() {
    let transport =
        Transport { protocol: Protocol::Tcp(TCP), congestion_control: slow_dctcp(), ..ROCE };
    let wire =
        LosingWire { inner: IdealWire, matches: |packet| packet.payload_length() > 0, nth: 0 };
    let mut testbed = Testbed::new(|_, of_host| *of_host = transport, wire);
    testbed.start_traced(0, FLOW, 3, 1000);
    testbed.run();
    testbed.assert_delivered(&[(0, FLOW, 1000)]);
    assert_eq!(testbed.hosts[0].counters().timeouts, 1);
    let round_trip = trace(&testbed).last().and_then(|(_, state)| state.round_trip);
    let expected = PROPAGATION + PROPAGATION;
    assert!(round_trip.is_some_and(|it| it.0.abs_diff(expected.0) <= 1_000_000), "{round_trip:?}");
}
