//! New rates that move the start of a packet that waits for its pace.

use units::Bytes;

use super::*;
use crate::congestion_control::{Multiple, powertcp};

/// A base round-trip time of 10 us, in which the link carries 125 kB.
fn theta() -> Algorithm {
    Algorithm::ThetaPowerTcp(powertcp::Parameters {
        base_rtt: Picos(10_000_000),
        gain: Multiple::ONE,
        utilisation: Multiple::ONE,
        additive_increase: Bytes(0),
        line_rate: RATE,
        minimum_rate: BitsPerSecond(1_000_000),
    })
}

/// Latest rate of the sender.
fn rate(sender: &mut Host) -> BitsPerSecond {
    let mut rates = events(sender).into_iter().rev().filter_map(|event| match event {
        HostEvent::SenderChanged { state, .. } => Some(state.rate),
        _ => None,
    });
    rates.next().expect("the flow is traced")
}

fn ack(sender: &mut Host, at: Picos, psn: u32) {
    sender.handle_packet(at, &acknowledgement(Syndrome::Ack, psn));
}

const fn us(count: u64) -> Picos {
    Picos(count * 1_000_000)
}

/// Start of the packet behind a packet that started at `start`.
fn due(start: Picos, rate: BitsPerSecond) -> Picos {
    start + rate.serialise(1058 + OVERHEAD)
}

/// A sender whose packets had ACKs after these round trips, one after another.
fn sender_after(round_trips: &[Picos]) -> (Host, Picos) {
    let mut sender = host(SENDER, theta());
    sender.start_traced_flow(Picos::ZERO, &flow(100_000));
    let mut now = Picos::ZERO;
    for &round_trip in round_trips {
        let psn = sender.poll_roce(now).expect("nothing holds it").psn.value();
        now += round_trip;
        ack(&mut sender, now, psn);
    }
    (sender, now)
}

/// Long round trips leave a window below a packet. Short ones make the sender faster again, and the next
/// packet need not wait as long as at the old rate.
#[test]
fn a_higher_rate_moves_the_next_start_forward() {
    let (mut sender, start) = sender_after(&[us(100), us(100), us(100), us(100), us(10)]);
    let slow = rate(&mut sender);
    let start = sender.next_transmission(start).expect("a packet waits for its pace");
    let first = sender.poll_roce(start).expect("its gap is over").psn.value();
    let answered = start + us(9);
    ack(&mut sender, answered, first);
    let fast = rate(&mut sender);
    assert!(slow.0 < RATE.0 / 50 && fast > slow, "{slow:?}, {fast:?}");
    let moved = due(start, fast).max(answered);
    assert!(answered < due(start, slow) && moved < due(start, slow), "the old gap was not over");
    assert!(sender.has_news());
    assert_eq!(sender.next_transmission(answered), Some(moved));
    assert_eq!(sender.poll_roce(moved).map(|packet| packet.psn.value()), Some(first + 1));
    assert_eq!(sender.ready_since(), Some(moved));
}

/// A window of many packets, and an ACK that makes the sender slower while the next packet waits for its pace.
#[test]
fn a_lower_rate_moves_a_start_that_is_set_back() {
    let (mut sender, start) = sender_after(&[us(10), us(20)]);
    let fast = rate(&mut sender);
    let first = sender.poll_roce(start).expect("nothing holds it").psn.value();
    assert_eq!(sender.next_transmission(start), Some(due(start, fast)));
    let answered = start + Picos(100_000);
    ack(&mut sender, answered, first);
    let slow = rate(&mut sender);
    assert!(answered < due(start, fast) && slow < fast, "{fast:?}, {slow:?}");
    assert!(sender.has_news());
    assert_eq!(sender.next_transmission(answered), Some(due(start, slow)));
    assert_eq!(sender.poll_roce(due(start, fast)), None);
    assert!(sender.poll_roce(due(start, slow)).is_some());
    assert_eq!(sender.ready_since(), Some(due(start, slow)));
}
