use fabric_core::hop_control::ClassPauses;
use fabric_core::queue::{QueueRange, QueueRanges, one_per_priority};
use fabric_core::wire::RemainingSize;
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{Ecn, Opcode};
use fabric_core::wire::telemetry::{Fields, Measured, RateCode};
use units::{BitsPerSecond, Bytes, Nanos};

use super::*;

fn nic() -> Nic {
    with(one_per_priority(None))
}

fn with(queues: QueueRanges) -> Nic {
    ordered(queues, Scheduler::RoundRobin)
}

fn ordered(queues: QueueRanges, scheduler: Scheduler) -> Nic {
    let pauses = PauseTimers::new(BitsPerSecond(100_000_000_000), Picos::ZERO, queues);
    Nic::new(pauses, None, scheduler)
}

fn data_queue(priority: u8) -> QueueId {
    QueueId::data(priority)
}

fn control(opcode: Opcode, priority: u8) -> RocePacket {
    RocePacket {
        source: 1,
        destination: 2,
        source_port: 3,
        dscp: priority * 8,
        ecn: Ecn::NotCapable,
        ttl: 64,
        opcode,
        ack_request: false,
        congestion_echo: false,
        destination_qp: 4,
        psn: Psn::new(0),
        reth: None,
        aeth: None,
        payload_length: 0,
        telemetry: None,
        remaining: RemainingSize::UNKNOWN,
    }
}

fn opcode(packet: Option<Packet>) -> Option<Opcode> {
    packet.and_then(Packet::roce).map(|packet| packet.opcode)
}

fn pause(nic: &mut Nic, now: Picos, priority: u8) {
    nic.pauses_mut().receive(now, &ClassPauses::xoff(1 << priority, 1000));
}

fn resume(nic: &mut Nic, now: Picos, priority: u8) {
    nic.pauses_mut().receive(now, &ClassPauses::xon(1 << priority));
}

#[test]
fn the_round_crosses_priorities() {
    let mut nic = nic();
    for (priority, slot) in [(3, 10), (5, 11), (3, 12)] {
        nic.schedule(data_queue(priority), slot, || 0);
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        let slot = nic.pop_queue_pair(Picos(1)).expect("three are ready");
        order.push(slot);
        nic.schedule(data_queue(if slot == 11 { 5 } else { 3 }), slot, || 0);
    }
    assert_eq!(order, [10, 11, 12, 10, 11, 12]);
}

#[test]
fn a_paused_priority_is_skipped_and_its_end_is_the_deadline() {
    let mut nic = nic();
    nic.schedule(data_queue(3), 10, || 0);
    nic.schedule(data_queue(5), 11, || 0);
    pause(&mut nic, Picos(0), 3);
    assert_eq!(nic.pop_queue_pair(Picos(1)), Some(11));
    assert_eq!(nic.pop_queue_pair(Picos(1)), None);
    assert_eq!(nic.next_transmission(Picos(1)), Some(Picos(5_120_000)));
    assert_eq!(nic.pop_queue_pair(Picos(5_120_000)), Some(10));
    assert_eq!(nic.next_transmission(Picos(5_120_000)), None);
}

#[test]
fn paced_queue_pairs_wait_for_their_instant_in_order() {
    let mut nic = nic();
    nic.schedule_at(data_queue(3), 10, Picos(200), || 0);
    nic.schedule_at(data_queue(3), 11, Picos(100), || 0);
    nic.schedule_at(data_queue(3), 12, Picos(100), || 0);
    assert_eq!(nic.pop_queue_pair(Picos(99)), None);
    assert_eq!(nic.next_transmission(Picos(99)), Some(Picos(100)));
    assert_eq!(nic.next_transmission(Picos(150)), Some(Picos(150)), "the port falls free later");
    assert_eq!(nic.pop_queue_pair(Picos(100)), Some(11));
    assert_eq!(nic.pop_queue_pair(Picos(100)), Some(12));
    assert_eq!(nic.pop_queue_pair(Picos(100)), None);
    assert_eq!(nic.next_transmission(Picos(100)), Some(Picos(200)));
    assert_eq!(nic.pop_queue_pair(Picos(200)), Some(10));
    assert_eq!(nic.next_transmission(Picos(200)), None, "nobody waits");
}

#[test]
fn a_plan_holds_until_something_more_waits_or_pauses_change() {
    let mut nic = nic();
    let changes: [fn(&mut Nic); 6] = [
        |nic| nic.schedule(data_queue(3), 10, || 0),
        |nic| nic.schedule_at(data_queue(3), 11, Picos(900), || 0),
        |nic| nic.queue_notification(control(Opcode::Cnp, 6)),
        |nic| nic.queue_acknowledgement(control(Opcode::Acknowledge, 3).into(), &[]),
        |nic| pause(nic, Picos(0), 3),
        |nic| resume(nic, Picos(0), 3),
    ];
    for change in changes {
        nic.plan_transmission(Picos(0));
        assert!(!nic.has_news());
        change(&mut nic);
        assert!(nic.has_news());
    }
}

#[test]
fn a_plan_holds_while_pauses_bind_and_end() {
    let queues = one_per_priority(None);
    let pauses = PauseTimers::new(BitsPerSecond(100_000_000_000), Picos(50), queues);
    let mut nic = Nic::new(pauses, None, Scheduler::RoundRobin);
    for (priority, slot) in [(2, 10), (3, 11)] {
        nic.schedule_at(data_queue(priority), slot, Picos(100), || 0);
    }
    nic.pauses_mut().receive(Picos(0), &ClassPauses::xoff(1 << 2, 1));
    let three = QueueSet::from_queue(data_queue(3));
    nic.pauses_mut().receive_queues(Picos(0), three, three);
    let end = Picos(5120);
    for from in [0, 49, 50, 100, end.0] {
        assert_eq!(nic.plan_transmission(Picos(from)), Some(end), "{from}");
        assert!(!nic.has_news());
    }
}

#[test]
fn the_earliest_of_all_that_wait_is_the_next() {
    let mut nic = nic();
    nic.schedule_at(data_queue(2), 10, Picos(300), || 0);
    nic.schedule_at(data_queue(7), 11, Picos(200), || 0);
    assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(200)));
    nic.schedule(data_queue(4), 12, || 0);
    assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(50)));
    pause(&mut nic, Picos(0), 4);
    assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(200)));
    pause(&mut nic, Picos(0), 7);
    assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(300)));
    nic.queue_acknowledgement(control(Opcode::Acknowledge, 1).into(), &[]);
    assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(50)));
    assert_eq!(nic.pop_queue_pair(Picos(300)), Some(10), "the others are paused");
    assert_eq!(nic.pop_queue_pair(Picos(300)), None);
    let end = Picos(5_120_000);
    assert_eq!([0; 2].map(|_| nic.pop_queue_pair(end)), [Some(12), Some(11)]);
}

#[test]
fn every_priority_has_a_round_of_its_own() {
    let mut nic = nic();
    for priority in 0..8 {
        nic.schedule(data_queue(priority), 10 + u32::from(priority), || 0);
        nic.schedule_at(data_queue(priority), 20 + u32::from(priority), Picos(100), || 0);
    }
    for (now, slots) in [(Picos(99), 10), (Picos(100), 20)] {
        for priority in [7_u8, 0, 3, 5, 1, 6, 2, 4] {
            resume(&mut nic, now, priority);
            nic.pause.receive(now, &ClassPauses::xoff(!(1 << priority), 1000));
            assert_eq!(nic.pop_queue_pair(now), Some(slots + u32::from(priority)));
            assert_eq!(nic.pop_queue_pair(now), None, "the others are paused");
        }
    }
}

#[test]
fn a_gap_that_ends_within_a_pause_ends_with_the_pause() {
    let mut nic = nic();
    nic.schedule_at(data_queue(3), 10, Picos(200), || 0);
    pause(&mut nic, Picos(0), 3);
    assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(5_120_000)));
}

#[test]
fn control_goes_first_cnp_before_ack_unless_paused() {
    let mut nic = nic();
    nic.queue_acknowledgement(control(Opcode::Acknowledge, 3).into(), &[]);
    nic.queue_notification(control(Opcode::Cnp, 6));
    pause(&mut nic, Picos(0), 3);
    assert_eq!(opcode(nic.pop_control(Picos(0))), Some(Opcode::Cnp));
    assert_eq!(nic.pop_control(Picos(0)), None);
    assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(5_120_000)));
    resume(&mut nic, Picos(1), 3);
    assert_eq!(opcode(nic.pop_control(Picos(1))), Some(Opcode::Acknowledge));
}

/// An ACK with the stamp of one hop, made at `at`.
fn echo(priority: u8, at: u64) -> (Packet, Stamp) {
    let telemetry = Fields { room: 1, hops: 1, echo: true, exceeded: false };
    let ack = RocePacket { telemetry: Some(telemetry), ..control(Opcode::Acknowledge, priority) };
    let measured = Measured {
        rate: RateCode::nearest(BitsPerSecond(100_000_000_000)),
        at: Nanos(at),
        transmitted: Bytes(0),
        queue: Bytes(0),
    };
    (ack.into(), Stamp::new(&measured))
}

/// The priority of the ACK that starts at `now`, with the stamps that it echoes.
fn acknowledged(nic: &mut Nic, now: Picos) -> Option<(u8, Vec<Stamp>)> {
    let packet = nic.pop_control(now)?;
    Some((packet.dscp() >> 3, nic.stamps_of(&packet).to_vec()))
}

#[test]
fn a_paused_acknowledgement_holds_up_none_of_another_priority() {
    let mut nic = nic();
    for (priority, sequence) in [(3, 0), (5, 1), (4, 2), (3, 3), (4, 4), (5, 5)] {
        let (packet, stamp) = echo(priority, sequence);
        nic.queue_acknowledgement(packet, &[stamp]);
    }
    pause(&mut nic, Picos(0), 3);
    let expected = |priority, sequence| Some((priority, vec![echo(priority, sequence).1]));
    assert_eq!(nic.next_transmission(Picos(1)), Some(Picos(1)));
    assert_eq!(acknowledged(&mut nic, Picos(1)), expected(5, 1));
    assert_eq!(acknowledged(&mut nic, Picos(1)), expected(4, 2));
    pause(&mut nic, Picos(1), 4);
    assert_eq!(acknowledged(&mut nic, Picos(1)), expected(5, 5));
    assert_eq!(acknowledged(&mut nic, Picos(1)), None, "3 and 4 are paused");
    assert_eq!(nic.next_transmission(Picos(1)), Some(Picos(5_120_000)));
    assert!(!nic.is_empty());
    for priority in [3, 4] {
        resume(&mut nic, Picos(2), priority);
    }
    assert_eq!(acknowledged(&mut nic, Picos(2)), expected(3, 0));
    assert_eq!(acknowledged(&mut nic, Picos(2)), expected(3, 3));
    assert_eq!(acknowledged(&mut nic, Picos(2)), expected(4, 4));
    assert_eq!(nic.next_transmission(Picos(2)), None);
    assert!(nic.is_empty());
}

#[test]
fn acknowledgements_stop_with_the_queue_that_they_are_given() {
    let pause_timers =
        PauseTimers::new(BitsPerSecond(100_000_000_000), Picos::ZERO, one_per_priority(None));
    let mut nic = Nic::new(pause_timers, Some(Priority::new(0)), Scheduler::RoundRobin);
    nic.queue_acknowledgement(control(Opcode::Acknowledge, 3).into(), &[]);
    pause(&mut nic, Picos(0), 0);
    assert_eq!(nic.pop_control(Picos(0)), None);
    assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(5_120_000)));
    resume(&mut nic, Picos(1), 0);
    pause(&mut nic, Picos(1), 3);
    nic.schedule(data_queue(3), 10, || 0);
    assert_eq!(nic.next_transmission(Picos(1)), Some(Picos(1)));
    assert_eq!(opcode(nic.pop_control(Picos(1))), Some(Opcode::Acknowledge));
    assert_eq!(nic.pop_queue_pair(Picos(1)), None, "data of their priority is paused");
}

/// Queue pairs take turns across the queues of a priority; a pause of the class stops all of its queues.
#[test]
fn queues_of_one_priority_take_turns_and_pause_together() {
    let mut queues = one_per_priority(None);
    queues[3] = QueueRange::flow_queues(8, 120);
    let mut nic = with(queues);
    for (slot, queue) in (0..).zip([127, 9, 64, 11, 5].map(QueueId::data)) {
        nic.schedule(queue, slot, || 0);
        nic.schedule_at(queue, 10 + slot, Picos(100), || 0);
    }
    let before: Vec<u32> = std::iter::from_fn(|| nic.pop_queue_pair(Picos(1))).collect();
    assert_eq!(before, [0, 1, 2, 3, 4]);
    assert_eq!(nic.next_transmission(Picos(1)), Some(Picos(100)));
    pause(&mut nic, Picos(1), 3);
    assert_eq!(nic.pop_queue_pair(Picos(100)), Some(14), "priority 5 goes on");
    assert_eq!(nic.pop_queue_pair(Picos(100)), None);
    let end = Picos(1 + 5_120_000);
    assert_eq!(nic.next_transmission(Picos(100)), Some(end));
    let after: Vec<u32> = std::iter::from_fn(|| nic.pop_queue_pair(end)).collect();
    assert_eq!(after, [11, 13, 12, 10], "gaps that end together: in the order of the queues");
}

#[test]
fn queue_pairs_get_queues_of_their_own_as_long_as_there_are_some() {
    let mut queues = one_per_priority(None);
    queues[3] = QueueRange::flow_queues(8, 3);
    let mut nic = with(queues);
    let mut assign = |count| {
        (0..count).map(|_| nic.assign(Priority::new(3), None).number()).collect::<Vec<u8>>()
    };
    assert_eq!(assign(5), [8, 9, 10, 8, 9]);
    nic.release(QueueId::data(9));
    nic.release(QueueId::data(9));
    let again = [(); 2].map(|()| nic.assign(Priority::new(3), None).number());
    assert_eq!(again, [9, 9], "8 has two, 10 one, and 9 none at first");
    assert_eq!(nic.assign(Priority::new(4), None), data_queue(4));
}

#[test]
fn the_shortest_remaining_goes_first_whatever_its_queue() {
    let mut nic = ordered(one_per_priority(None), Scheduler::ShortestRemaining);
    for (slot, (priority, remaining)) in (0..).zip([(3, 900), (5, 800), (3, 700), (3, 800)]) {
        nic.schedule(data_queue(priority), slot, || remaining);
    }
    nic.schedule_at(data_queue(5), 4, Picos(100), || 750);
    nic.schedule_at(data_queue(5), 5, Picos(100), || u64::MAX);
    pause(&mut nic, Picos(0), 5);
    assert_eq!(nic.pop_queue_pair(Picos(0)), Some(2));
    assert_eq!(nic.pop_queue_pair(Picos(0)), Some(3), "5 is paused");
    resume(&mut nic, Picos(100), 5);
    let order: Vec<u32> = std::iter::from_fn(|| nic.pop_queue_pair(Picos(100))).collect();
    assert_eq!(order, [4, 1, 0, 5]);
}

#[test]
fn equal_remainders_go_in_turn() {
    let mut nic = ordered(one_per_priority(None), Scheduler::ShortestRemaining);
    for (slot, priority) in (0..).zip([3, 5, 3, 5]) {
        nic.schedule(data_queue(priority), slot, || 1000);
    }
    let order: Vec<u32> = std::iter::from_fn(|| nic.pop_queue_pair(Picos(0))).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn a_higher_priority_goes_first_and_its_queues_in_turn() {
    let mut queues = one_per_priority(None);
    queues[5] = QueueRange::flow_queues(8, 2);
    let mut nic = ordered(queues, Scheduler::Strict);
    for (slot, queue) in (0..).zip([3, 9, 8, 7].map(QueueId::data)) {
        nic.schedule(queue, slot, || 0);
    }
    nic.schedule_at(QueueId::data(9), 4, Picos(10), || 0);
    let order: Vec<u32> = std::iter::from_fn(|| nic.pop_queue_pair(Picos(10))).collect();
    assert_eq!(order, [3, 1, 2, 4, 0]);
}

#[test]
fn queue_pairs_of_incasts_share_the_last_queue() {
    let mut queues = one_per_priority(None);
    queues[3] = QueueRange::flow_queues(8, 3);
    let mut nic = with(queues);
    let labels = [true, false, true, false, false];
    let given = labels.map(|label| nic.assign(Priority::new(3), Some(label)).number());
    assert_eq!(given, [10, 8, 10, 9, 8]);
}

/// The neighbour takes priority 3 at 1 Mbit/s: 8 us for a byte.
#[test]
fn an_ack_keeps_the_gap_of_its_own_priority_whichever_queue_stops_it() {
    let pauses =
        PauseTimers::new(BitsPerSecond(100_000_000_000), Picos::ZERO, one_per_priority(None));
    let mut nic = Nic::new(pauses, Some(Priority::new(5)), Scheduler::RoundRobin);
    let (of_3, of_4) = (control(Opcode::Acknowledge, 3), control(Opcode::WriteOnly, 4));
    nic.pauses_mut().receive_rate(Priority::new(3), 1000);
    nic.started(Picos(0), &of_3.into(), 100);
    let open = Picos(100 * 8_000_000);
    for packet in [of_3, of_3, of_4] {
        nic.queue_acknowledgement(packet.into(), &[]);
    }
    assert_eq!(nic.next_transmission(Picos(7)), Some(Picos(7)), "priority 4 has no gap");
    assert_eq!(opcode(nic.pop_control(Picos(7))), Some(Opcode::WriteOnly));
    assert_eq!(nic.next_transmission(Picos(7)), Some(open));
    assert_eq!(opcode(nic.pop_control(Picos(open.0 - 1))), None);
    // Pauses of the queue of all ACKs count, too; pauses of priority 3 do not.
    pause(&mut nic, Picos(7), 3);
    assert_eq!(nic.next_transmission(Picos(7)), Some(open));
    nic.pauses_mut().receive(open, &ClassPauses::xoff(1 << 5, 1));
    assert_eq!(opcode(nic.pop_control(open)), None);
    assert_eq!(nic.next_transmission(Picos(7)), Some(Picos(open.0 + 5120)));
    resume(&mut nic, open, 5);
    assert_eq!(opcode(nic.pop_control(open)), Some(Opcode::Acknowledge));
    nic.started(open, &of_3.into(), 100);
    assert_eq!(nic.next_transmission(open), Some(Picos(2 * open.0)));
}

#[test]
fn a_queue_pair_that_is_paced_can_be_moved_to_another_instant() {
    let mut nic = nic();
    for slot in 0..3 {
        nic.schedule_at(data_queue(3), slot, Picos(1000 + u64::from(slot)), || 0);
    }
    nic.plan_transmission(Picos(0));
    nic.reschedule_at(data_queue(3), 2, Picos(900));
    assert!(nic.has_news());
    nic.reschedule_at(data_queue(3), 0, Picos(1100));
    assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(900)));
    let order: Vec<u32> = std::iter::from_fn(|| nic.pop_queue_pair(Picos(1100))).collect();
    assert_eq!(order, [2, 1, 0]);
    // A queue pair in the round is no longer paced.
    nic.schedule(data_queue(3), 1, || 0);
    nic.reschedule_at(data_queue(3), 1, Picos(2000));
    assert_eq!(nic.next_transmission(Picos(1200)), Some(Picos(1200)));
}
