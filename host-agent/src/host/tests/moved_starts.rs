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
    let rates = events(sender).into_iter().filter_map(|event| match event {
        HostEvent::SenderChanged { state, .. } => Some(state.rate),
        _ => None,
    });
    rates.last().expect("the flow is traced")
}

fn ack(sender: &mut Host, at: Picos, psn: u32) {
    sender.handle_packet(at, &acknowledgement(Syndrome::Ack, psn));
}

/// Round trips of ten times the base make the sender slow; one of the base makes it faster again while a packet waits.
#[test]
fn a_packet_that_waits_starts_earlier_at_a_higher_rate_and_later_at_a_lower_one() {
    let mut sender = host(SENDER, theta());
    sender.start_traced_flow(Picos::ZERO, &flow(100_000));
    let us = |count: u64| Picos(count * 1_000_000);
    assert!(sender.poll_roce(Picos::ZERO).is_some());
    ack(&mut sender, us(100), 10);
    for (at, acked) in [(us(100), us(200)), (us(200), us(300))] {
        let psn = sender.poll_roce(at).expect("nothing holds it").psn.value();
        ack(&mut sender, acked, psn);
    }
    let slow = rate(&mut sender);
    assert!(slow.0 < RATE.0 / 50, "{slow:?}");
    let start = us(300);
    let due = |rate: BitsPerSecond| start + rate.serialise(1058 + OVERHEAD);
    let first = sender.poll_roce(start).expect("its gap is long over").psn.value();
    assert_eq!(sender.next_transmission(start), Some(due(slow)));
    assert_eq!(sender.poll_roce(start), None);
    // The round trip takes 8 us, less than the base.
    ack(&mut sender, us(308), first);
    let fast = rate(&mut sender);
    assert!(fast > slow, "{fast:?}");
    let moved = due(fast).max(us(308));
    assert!(sender.has_news());
    assert_eq!(sender.next_transmission(us(308)), Some(moved));
    // Another host's PAUSE has it miss its turn, and in the meantime it becomes slower.
    let priority = Priority::new(3);
    sender.handle_hop_control(
        us(308),
        &HopControl::Classes(ClassPauses::xoff(priority.bit(), 30_000)),
    );
    let resumed = moved + us(20);
    sender.handle_hop_control(resumed, &HopControl::Classes(ClassPauses::xon(priority.bit())));
    let last = sender.poll_roce(resumed).expect("it has its turn");
    assert_eq!(sender.ready_since(), Some(moved));
    assert_eq!(last.psn.value(), first + 1);
}
