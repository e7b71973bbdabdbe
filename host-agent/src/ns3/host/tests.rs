//! The NIC's rules, one by one.

mod conweave;
mod datacenter;

use fabric_core::hop_control::ClassPauses;
use units::Bytes;

use super::pauses::UNTIL_RESUME;
use super::*;

const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
/// Time on the wire of 1048 B.
const FULL: u64 = 83;
const PEER: u32 = 0x0a00_0002;

/// Timers in the order of their insertion.
#[derive(Debug, Default)]
struct Recorded(Vec<(u64, Timer)>, Places);

/// Places that were reserved, and ones that a timer took later, with its instant.
#[derive(Debug, Default)]
struct Places {
    reserved: u64,
    taken: Vec<(u64, u64)>,
}

impl Schedule for Recorded {
    fn schedule(&mut self, at: Nanos, timer: Timer) {
        self.0.push((at.0, timer));
    }

    fn reserve(&mut self) -> u64 {
        self.1.reserved += 1;
        self.1.reserved
    }

    fn schedule_as(&mut self, place: u64, at: Nanos, timer: Timer) {
        self.1.taken.push((place, at.0));
        self.schedule(at, timer);
    }
}

fn host(settings: Settings) -> Host {
    host_with(settings, None)
}

/// A host whose pauses end after a time.
fn host_with(settings: Settings, pause: Option<Nanos>) -> Host {
    let lengths = FrameLengths {
        data_headers: Some(48),
        ack: Some(60),
        hop_control: Some(43),
        shortest: Some(1),
    };
    let link = HostLink {
        address: 0x0a00_0001,
        rate: RATE,
        payload: 1000,
        lengths,
        ack_queue: Priority::new(3),
        pause,
        arithmetic: Arithmetic::default(),
    };
    Host::new(settings, link)
}

fn flow(qp: u32, bytes: u64, window: u32) -> Flow {
    Flow {
        flow: qp,
        qp,
        destination: PEER,
        source_port: 10_000,
        destination_port: 100,
        priority: Priority::new(3),
        bytes,
        window,
        base_rtt: Nanos(8000),
    }
}

/// The queue pair and first byte of the packet that starts at `now`.
fn polled(host: &mut Host, now: u64, timers: &mut Recorded) -> Option<(u32, u64)> {
    let packet = host.poll(Nanos(now), timers)?;
    Some((packet.destination_qp, packet.reth.map_or(0, |reth| reth.virtual_address)))
}

/// An ACK or NACK of queue pair `qp` from its receiver.
fn answer(qp: u32, number: u32, syndrome: Syndrome) -> RocePacket {
    let data = data_packet(&flow(qp, 1000, 0), 0x0a00_0001, 0, 1000, Control::None);
    answer_to(&data, number, syndrome, false)
}

fn acknowledge(host: &mut Host, now: u64, qp: u32, number: u32) -> Reaction {
    let packet = answer(qp, number, Syndrome::Ack);
    let now = Picos::from_nanos(Nanos(now));
    host.handle_packet(now, &packet, &[], &mut Recorded::default())
}

fn pause(host: &mut Host, class: u8, quanta: u16) -> Reaction {
    let mut pauses = ClassPauses { named: 1 << class, ..ClassPauses::default() };
    pauses.quanta[usize::from(class)] = quanta;
    host.handle_pauses(Picos(5), &pauses, &mut Recorded::default())
}

#[test]
fn queue_pairs_take_turns_by_their_places_in_the_list() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    for qp in [1, 2, 3] {
        host.start(Nanos(0), flow(qp, 9000, 0));
    }
    // The turn begins behind place 0.
    let turns: Vec<_> =
        (0..4).map(|turn| polled(&mut host, turn * FULL, timers).unwrap()).collect();
    assert_eq!(turns, [(2, 0), (3, 0), (1, 0), (2, 1000)]);
}

#[test]
fn finished_queue_pairs_are_cleared_from_the_first_that_is_met_on() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    for (qp, bytes) in [(1, 1000), (2, 9000), (3, 1000), (4, 9000), (5, 9000)] {
        host.start(Nanos(0), flow(qp, bytes, 0));
    }
    for turn in 0..5 {
        polled(&mut host, turn * FULL, timers);
    }
    // The last turn was that of place 0. Its packet and that of place 2 are acknowledged.
    for qp in [1, 3] {
        let completed = acknowledge(&mut host, 5 * FULL, qp, 1000).completed;
        assert_eq!(completed.map(|flow| flow.qp), Some(qp));
    }
    // Place 1 sends before place 2 or 0 is met, so that nothing is cleared.
    assert_eq!(polled(&mut host, 5 * FULL, timers), Some((2, 1000)));
    assert_eq!(host.list.len(), 5);
    // Place 2 is met and cleared, but not place 0 before it. Place 3 becomes place 2.
    assert_eq!(polled(&mut host, 6 * FULL, timers), Some((4, 1000)));
    assert_eq!((host.list.len(), host.last), (4, 2));
    assert_eq!(polled(&mut host, 7 * FULL, timers), Some((5, 1000)));
    // Place 0 is met and cleared: queue pair 2 is place 0 then.
    assert_eq!(polled(&mut host, 8 * FULL, timers), Some((2, 2000)));
    assert_eq!((host.list.len(), host.last), (3, 0));
}

#[test]
fn a_wake_up_is_for_the_earliest_start_even_of_one_that_the_window_stops() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 1000));
    host.start(Nanos(0), flow(2, 9000, 0));
    assert_eq!(polled(&mut host, 0, timers), Some((2, 0)));
    assert_eq!(polled(&mut host, 10, timers), Some((1, 0)));
    assert_eq!(polled(&mut host, 20, timers), None);
    // Queue pair 2 may send at 83, queue pair 1 at 93, if its window allowed it.
    assert_eq!(timers.0.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [FULL]);
    // A second look adds no wake-up.
    assert_eq!(polled(&mut host, 30, timers), None);
    assert_eq!(timers.0.len(), 1);
    let (at, wake) = timers.0[0];
    assert!(host.handle_timer(Nanos(at), wake, timers).looks);
    assert!(!host.handle_timer(Nanos(at), wake, timers).looks, "it has run");
    assert_eq!(polled(&mut host, at, timers), Some((2, 1000)));
    // Queue pair 1 was due at 93, so that queue pair 2 has no wake-up for 166: it waits for another event.
    assert_eq!(polled(&mut host, at + 80, timers), None);
    assert_eq!(timers.0.len(), 1);
}

#[test]
fn a_packet_may_overshoot_its_window_and_the_window_may_follow_the_rate() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 1500));
    assert_eq!(polled(&mut host, 0, timers), Some((1, 0)));
    assert_eq!(polled(&mut host, FULL, timers), Some((1, 1000)));
    assert_eq!(polled(&mut host, 2 * FULL, timers), None, "2000 B are more than 1500 B");
    acknowledge(&mut host, 2 * FULL, 1, 1000);
    assert_eq!(polled(&mut host, 2 * FULL, timers), Some((1, 2000)));
    let pair = host.queue_pairs.occupant(host.list[0]);
    let [whole, scales] =
        [false, true].map(|window_scales| Settings { window_scales, ..Settings::default() });
    pair.rate = RATE.0 / 2;
    pair.acknowledged = pair.next - 749;
    assert!(!pair.is_blocked(RATE, &scales), "the window is 750 B");
    pair.acknowledged = pair.next - 750;
    assert!(pair.is_blocked(RATE, &scales) && !pair.is_blocked(RATE, &whole));
    pair.rate = 1;
    pair.acknowledged = pair.next;
    assert!(!pair.is_blocked(RATE, &scales), "it is at least one byte");
}

#[test]
fn pauses_stop_a_class_until_resume_and_acks_by_a_class_of_their_own() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 0));
    host.start(Nanos(0), Flow { priority: Priority::new(4), ..flow(2, 9000, 0) });
    let data = data_packet(&flow(7, 1000, 0), PEER, 0, 1000, Control::None);
    let reaction = host.handle_packet(Picos(0), &data, &[], timers);
    assert_eq!((reaction.looks, reaction.delivered), (true, 1000));
    assert!(!pause(&mut host, 3, 65_535).looks);
    // The ACK and queue pair 1 wait, queue pair 2 does not.
    assert_eq!(polled(&mut host, 0, timers), Some((2, 0)));
    assert_eq!(polled(&mut host, 2, timers), None);
    assert!(pause(&mut host, 3, 0).looks);
    let ack = host.poll(Nanos(3), timers).expect("an ACK");
    assert_eq!((ack.opcode, ack.psn.value()), (Opcode::Acknowledge, 1000));
    assert_eq!((ack.source_port, ack.remaining.to_wire()), (100, 10_000), "its own ports");
    assert_eq!(polled(&mut host, 4, timers), Some((1, 0)));
    let until = |event: HostEvent| match event {
        HostEvent::PauseReceived { until, at, .. } => until.0.saturating_sub(at.to_nanos().0),
        other => panic!("{other:?}"),
    };
    let events: Vec<u64> = std::iter::from_fn(|| host.poll_event()).map(until).collect();
    assert_eq!(events, [UNTIL_RESUME.0, 0]);
}

#[test]
fn a_nack_goes_back_and_an_unknown_queue_pair_does_nothing() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 3500, 0));
    for turn in 0..4 {
        polled(&mut host, turn * FULL, timers);
    }
    let nack = answer(1, 1000, Syndrome::NakSequenceError);
    let reaction = host.handle_packet(Picos(0), &nack, &[], timers);
    assert!(reaction.looks && reaction.completed.is_none());
    assert_eq!(polled(&mut host, 4 * FULL, timers), Some((1, 1000)));
    assert_eq!(host.sender_counts(1).unwrap().retransmitted_packets, 1);
    assert!(acknowledge(&mut host, 5 * FULL, 1, 3500).completed.is_some());
    assert_eq!(acknowledge(&mut host, 5 * FULL, 1, 3500), Reaction::default(), "no look");
    assert_eq!(host.counters().unknown_queue_pair, 1);
}

#[test]
fn numbers_of_bytes_beyond_a_psn_survive_the_way_back() {
    let ack = answer(1, 0x0312_3456, Syndrome::Ack);
    assert_eq!(ack.psn.value(), 0x12_3456);
    let mut host = host(Settings::default());
    host.start(Nanos(0), flow(1, 0x0400_0000, 0));
    host.handle_packet(Picos(0), &ack, &[], &mut Recorded::default());
    let slot = host.list[0];
    assert_eq!(host.queue_pairs.occupant(slot).acknowledged, 0x0312_3456);
}

/// DCQCN: the first mark starts the clock of alpha and that of cuts, in this order and a nanosecond apart.
#[test]
fn clocks_of_dcqcn_insert_their_next_ticks_first() {
    let settings = Settings { control: Control::Dcqcn, ..Settings::default() };
    let (mut host, timers) = (host(settings), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 0));
    let marked = RocePacket { congestion_echo: true, ..answer(1, 1000, Syndrome::Ack) };
    host.handle_packet(Picos(0), &marked, &[], timers);
    let purposes = |timers: &Recorded| -> Vec<(u64, Purpose)> {
        timers.0.iter().map(|(at, timer)| (*at, timer.purpose)).collect()
    };
    assert_eq!(purposes(timers), [(55_000, Purpose::Alpha), (4001, Purpose::Decrease)]);
    host.handle_packet(Picos(1000), &marked, &[], timers);
    let (at, decrease) = timers.0[1];
    timers.0.clear();
    host.handle_timer(Nanos(at), decrease, timers);
    assert_eq!(purposes(timers), [(8001, Purpose::Decrease), (1_504_001, Purpose::Increase)]);
    let slot = host.list[0];
    assert_eq!(host.queue_pairs.occupant(slot).rate, RATE.0 / 2);
    // The second cut cancels the first clock of increases.
    let increase = timers.0[1].1;
    host.handle_packet(Picos(1000), &marked, &[], timers);
    host.handle_timer(Nanos(8001), timers.0[0].1, timers);
    let rate = host.queue_pairs.occupant(slot).rate;
    host.handle_timer(Nanos(1_504_001), increase, timers);
    assert_eq!(host.queue_pairs.occupant(slot).rate, rate, "it is cancelled");
}

/// HPCC: a new rate moves the next start, and the wake-up with it.
#[test]
fn a_new_rate_of_hpcc_moves_the_next_start_and_the_wake_up() {
    let settings = Settings { control: Control::Hpcc, ..Settings::default() };
    let (mut host, timers) = (host(settings), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 9000, 0));
    polled(&mut host, 0, timers);
    let slot = host.list[0];
    // 1048 B take 838 ns at 10 Gbit/s, and 83 ns at 100.
    host.queue_pairs.occupant(slot).change_rate(10_000_000_000, Arithmetic::default());
    assert_eq!(host.queue_pairs.occupant(slot).available, Nanos(838));
    assert_eq!(polled(&mut host, 100, timers), None);
    assert_eq!(timers.0[0].0, 838);
    host.queue_pairs.occupant(slot).change_rate(20_000_000_000, Arithmetic::default());
    assert_eq!(host.queue_pairs.occupant(slot).available, Nanos(419));
    host.move_wake(Nanos(100), Nanos(419), timers);
    assert_eq!(timers.0[1].0, 419);
    assert!(!host.handle_timer(Nanos(838), timers.0[0].1, timers).looks, "it is cancelled");
    host.move_wake(Nanos(500), Nanos(419), timers);
    assert_eq!(timers.0.len(), 2, "not earlier");
    host.move_wake(Nanos(410), Nanos(400), timers);
    assert_eq!(timers.0[2].0, 410, "not in the past");
    assert!(host.handle_timer(Nanos(410), timers.0[2].1, timers).looks);
}

#[test]
fn a_packet_carries_its_start_under_timely_and_room_for_five_hops_under_hpcc() {
    let room = |control| {
        let mut host = host(Settings { control, ..Settings::default() });
        host.start(Nanos(0), flow(1, 300, 0));
        let packet = host.poll(Nanos(1 << 40), &mut Recorded::default()).expect("a packet");
        (packet.telemetry.map(|it| (it.room, it.hops)), host.stamps_of(&packet).to_vec())
    };
    assert_eq!(room(Control::Dctcp), (None, vec![]));
    assert_eq!(room(Control::Hpcc), (Some((5, 0)), vec![]));
    let (telemetry, stamps) = room(Control::Timely);
    assert_eq!((telemetry, of_stamp(stamps[0])), (Some((1, 1)), 1 << 40));
}

#[test]
fn short_packets_are_as_short_as_their_bytes() {
    let mut host = host(Settings::default());
    host.start(Nanos(0), flow(1, 1, 0));
    host.poll(Nanos(0), &mut Recorded::default());
    let slot = host.list[0];
    assert_eq!(host.queue_pairs.occupant(slot).last_length, 49);
    assert_eq!(Bytes(host.queue_pairs.occupant(slot).left()), Bytes(0));
}

/// After the failure of a link the list begins anew, without the queue pair that is complete. The place of the last sender
/// stays: it was 1.
#[test]
fn queue_pairs_that_are_taken_up_anew_have_new_places() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    for (qp, bytes) in [(1, 9000), (2, 9000), (3, 1000)] {
        host.start(Nanos(0), flow(qp, bytes, 0));
    }
    let turns: Vec<_> = (0..4).map(|turn| polled(&mut host, turn * FULL, timers)).collect();
    assert_eq!(turns, [(2, 0), (3, 0), (1, 0), (2, 1000)].map(Some));
    assert!(acknowledge(&mut host, 4 * FULL, 3, 1000).completed.is_some());
    host.empty_list();
    assert_eq!(polled(&mut host, 4 * FULL, timers), None, "no queue pair is in the list");
    host.reassign(2);
    assert_eq!(polled(&mut host, 4 * FULL, timers), Some((2, 2000)), "it is alone");
    host.reassign(1);
    assert_eq!((host.list.len(), host.last), (2, 0));
    assert_eq!(polled(&mut host, 5 * FULL, timers), Some((1, 1000)));
}
