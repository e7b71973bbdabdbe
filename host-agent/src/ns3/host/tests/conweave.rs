//! Rules of `ConWeave`'s simulator that differ from HPCC's, by hand from `rdma-hw.cc` and `qbb-net-device.cc`.

use super::*;

fn nack(host: &mut Host, now: u64, number: u32) -> Vec<(u64, Timer)> {
    let mut timers = Recorded::default();
    let packet = answer(1, number, Syndrome::NakSequenceError);
    host.handle_packet(Picos::from_nanos(Nanos(now)), &packet, &[], &mut timers);
    timers.0
}

#[test]
fn queue_pairs_keep_their_places_when_others_are_complete() {
    let (mut host, timers) = (host(Settings::conweave()), &mut Recorded::default());
    for (qp, bytes) in [(1, 1000), (2, 9000), (3, 1000), (4, 9000), (5, 9000)] {
        host.start(Nanos(0), flow(qp, bytes, 0));
    }
    let turns: Vec<_> = (0..5).map(|turn| polled(&mut host, turn * FULL, timers)).collect();
    let first = [2, 3, 4, 5, 1].map(|qp| Some((qp, 0)));
    assert_eq!(turns, first);
    for qp in [1, 3] {
        assert!(acknowledge(&mut host, 5 * FULL, qp, 1000).completed.is_some());
    }
    // The list of HPCC's simulator would go on with 2, 4, 5 and 2, too, but its places would have moved.
    host.start(Nanos(0), flow(6, 9000, 0));
    let turns: Vec<_> = (5..10).map(|turn| polled(&mut host, turn * FULL, timers)).collect();
    let next = [(2, 1000), (4, 1000), (5, 1000), (6, 0), (2, 2000)].map(Some);
    assert_eq!(turns, next);
    assert_eq!((host.list.len(), host.last, host.created), (4, 1, 6));
}

/// As in the test of HPCC's wake-up: queue pair 1 waits for its window, and its pacing is over.
#[test]
fn a_wake_up_is_for_the_earliest_start_that_is_not_over() {
    let (mut host, timers) = (host(Settings::conweave()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 1000));
    host.start(Nanos(0), flow(2, 9000, 0));
    assert_eq!(polled(&mut host, 0, timers), Some((2, 0)));
    assert_eq!(polled(&mut host, 10, timers), Some((1, 0)));
    assert_eq!(polled(&mut host, 100, timers), Some((2, 1000)));
    timers.0.clear();
    assert_eq!(polled(&mut host, 110, timers), None);
    let wakes: Vec<_> = timers.0.iter().map(|(at, timer)| (*at, timer.purpose)).collect();
    assert_eq!(wakes, [(100 + FULL, Purpose::Wake)]);
}

#[test]
fn a_sender_skips_what_has_been_acknowledged_after_it_went_back() {
    let (mut host, timers) = (host(Settings::conweave()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 0));
    for turn in 0..4 {
        polled(&mut host, turn * FULL, timers);
    }
    nack(&mut host, 400, 1000);
    acknowledge(&mut host, 400, 1, 3000);
    assert_eq!(polled(&mut host, 400, timers), Some((1, 3000)));
}

#[test]
fn a_nack_notifies_congestion_and_acks_without_marks_do_not() {
    let mut host = host(Settings::conweave());
    let timers = &mut Recorded::default();
    for first in [1000, 0] {
        let data = data_packet(&flow(7, 3000, 0), PEER, first, 1000, Control::None);
        host.handle_packet(Picos(0), &data, &[], timers);
    }
    let answers: Vec<_> = std::iter::from_fn(|| host.poll(Nanos(0), timers))
        .map(|packet| {
            let syndrome = packet.aeth.map(|aeth| aeth.syndrome);
            (syndrome, packet.congestion_echo, packet.dscp)
        })
        .collect();
    // Both have class 0, whatever their data's.
    let expected = [(Some(Syndrome::NakSequenceError), true, 0), (Some(Syndrome::Ack), false, 0)];
    assert_eq!(answers, expected);
}

/// 4 ms: from the last packet sent, or the last ACK that leaves packets under way. The event of the first start moves on.
#[test]
fn a_timeout_goes_back_to_the_oldest_byte() {
    const MILLIS: u64 = 1_000_000;
    let (mut host, timers) = (host(Settings::conweave()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 3000, 0));
    for turn in 0..3 {
        polled(&mut host, turn * FULL, timers);
    }
    assert_eq!(timers.1.taken, [(1, 4 * MILLIS)], "one event for three starts");
    let pending = timers.0.remove(0);
    let packet = answer(1, 1000, Syndrome::Ack);
    host.handle_packet(Picos::from_nanos(Nanos(9000)), &packet, &[], timers);
    assert!(!host.handle_timer(Nanos(pending.0), pending.1, timers).looks, "it has moved");
    assert_eq!(timers.1.taken[1], (4, 9000 + 4 * MILLIS), "to the place of its last start");
    assert!(host.handle_timer(Nanos(9000 + 4 * MILLIS), pending.1, timers).looks);
    assert_eq!((host.counters().timeouts, timers.1.taken.len()), (1, 2));
    assert_eq!(polled(&mut host, 5 * MILLIS, timers), Some((1, 1000)));
    assert_eq!(timers.1.taken[2].1, 9 * MILLIS);
    // The flow's end cancels the timer.
    acknowledge(&mut host, 6 * MILLIS, 1, 3000);
    assert_eq!(host.handle_timer(Nanos(9 * MILLIS), pending.1, timers), Reaction::default());
}

/// All bytes are acknowledged that were sent: the timer of the last packet runs on.
#[test]
fn an_ack_of_all_packets_under_way_does_not_start_the_timer() {
    let (mut host, timers) = (host(Settings::conweave()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 3000, 1000));
    polled(&mut host, 0, timers);
    let packet = answer(1, 1000, Syndrome::Ack);
    host.handle_packet(Picos::from_nanos(Nanos(9000)), &packet, &[], timers);
    assert_eq!(timers.1.reserved, 1);
}

#[test]
fn a_pause_ends_after_its_time_unless_another_frame_comes() {
    let mut host = host_with(Settings::conweave(), Some(Nanos(5000)));
    let timers = &mut Recorded::default();
    host.start(Nanos(0), flow(1, 9000, 0));
    let mut pauses = ClassPauses { named: 1 << 3, ..ClassPauses::default() };
    pauses.quanta[3] = 1;
    for at in [100, 600] {
        host.handle_pauses(Picos::from_nanos(Nanos(at)), &pauses, timers);
    }
    let [(first, one), (second, two)] = timers.0[..] else { panic!("{timers:?}") };
    assert_eq!((first, second), (5100, 5600));
    assert!(!host.handle_timer(Nanos(5100), one, timers).looks, "it was renewed");
    assert_eq!(polled(&mut host, 5100, timers), None);
    assert!(host.handle_timer(Nanos(5600), two, timers).looks);
    assert_eq!(polled(&mut host, 5600, timers), Some((1, 0)));
    assert!(!host.handle_timer(Nanos(5600), two, timers).looks, "it is over");
    let ends: Vec<_> = std::iter::from_fn(|| host.poll_event()).collect();
    let end = |at| HostEvent::PauseReceived {
        priority: Priority::new(3),
        at: Picos::from_nanos(Nanos(at)),
        until: Nanos(at + 5000),
        quanta: 1,
    };
    assert_eq!(ends, [end(100), end(600)]);
}
