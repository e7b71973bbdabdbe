//! Hosts without a fabric: their packets and instants, counters and events.

mod moved_starts;
mod strangers;

use fabric_core::hop_control::{ClassPauses, FlowList, HopControl};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Ecn, Opcode, RocePacket};
use units::{FrameTime, Nanos};

use super::*;
use crate::congestion_control::Algorithm;
use crate::congestion_control::dcqcn::Parameters;
use crate::first_rtt::FirstRttMarks;
use crate::nic::Scheduler;
use crate::reliability::{Answer, Reliability};
use units::BitsPerSecond;

const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
const OVERHEAD: u64 = 24;
const TIMEOUT: Picos = Picos(10_000_000);
const SENDER: u32 = 1;
const RECEIVER: u32 = 2;
const QP: u32 = 7;
/// Wire times of a packet of 1000 bytes with RETH and of one without.
const FIRST: u64 = (1074 + OVERHEAD) * 80;
const MIDDLE: u64 = (1058 + OVERHEAD) * 80;

pub fn config(address: u32) -> HostConfig {
    HostConfig {
        address,
        mac: [2, 0, 0, 0, 0, address.to_be_bytes()[3]],
        link_rate: RATE,
        frame_time: FrameTime { overhead: OVERHEAD, whole_nanos: false },
        frame_lengths: crate::frame_length::FrameLengths::default(),
        payload: 1000,
        ack_priority: Some(Priority::new(3)),
        ack_queue: None,
        cnp_priority: Priority::new(6),
        ack_interval: 2,
        retransmission_timeout: TIMEOUT,
        pause_response: Picos(1500),
        queues: fabric_core::queue::one_per_priority(None),
        names_queues: false,
        keeps_incast_queue: false,
        obeys_flow_pauses: false,
        pauses_until_resume: false,
        obeys_rates: true,
        scheduler: Scheduler::RoundRobin,
        sends_remaining: false,
    }
}

fn host(address: u32, congestion_control: Algorithm) -> Host {
    let protocol = Protocol::Roce { reliability: Reliability::GoBackN };
    let transport = Transport {
        protocol,
        congestion_control,
        telemetry_hops: 0,
        window: None,
        window_overrun: false,
        first_rtt: FirstRttMarks::NONE,
    };
    Host::new(config(address), &[transport])
}

fn flow(bytes: u64) -> FlowRequest {
    FlowRequest {
        flow: 40,
        transport: 0,
        destination: RECEIVER,
        qp: QP,
        initial_psn: Psn::new(10),
        source_port: 50_000,
        priority: Priority::new(3),
        bytes,
        is_incast: false,
    }
}

fn responder(bytes: u64) -> ResponderRequest {
    let initial_psn = Psn::new(10);
    ResponderRequest { qp: QP, transport: 0, peer: SENDER, initial_psn, source_port: 50_001, bytes }
}

/// Two hosts with a flow of `bytes` between them.
fn pair(congestion_control: Algorithm, bytes: u64) -> (Host, Host) {
    let (mut sender, mut receiver) =
        (host(SENDER, congestion_control), host(RECEIVER, congestion_control));
    receiver.open_responder(&responder(bytes));
    sender.start_flow(Picos::ZERO, &flow(bytes));
    (sender, receiver)
}

impl Host {
    fn poll_roce(&mut self, now: Picos) -> Option<RocePacket> {
        self.poll_transmit(now).and_then(Packet::roce)
    }
}

/// Packets that `host` sends from `now` on, as long as nothing arrives, with their starts.
fn sent(host: &mut Host, mut now: Picos) -> Vec<(u64, RocePacket)> {
    let mut packets = Vec::new();
    while let Some(at) = host.next_transmission(now) {
        let packet = host.poll_roce(at).expect("it was announced for this instant");
        packets.push((at.0, packet));
        now = at + RATE.serialise(packet.frame_length() as u64 + OVERHEAD);
    }
    packets
}

fn events(host: &mut Host) -> Vec<HostEvent> {
    std::iter::from_fn(|| host.poll_event()).collect()
}

fn acknowledgement(syndrome: Syndrome, psn: u32) -> RocePacket {
    let aeth = AethFields { syndrome, message_sequence_number: 0 };
    let mut receiver = host(RECEIVER, Algorithm::LineRate);
    receiver.open_responder(&responder(1));
    let answer = Answer { psn: Psn::new(psn), aeth };
    let ReceivingEnd::Roce(responder) = &mut receiver.receivers.occupant(0).end else {
        unreachable!("nothing else receives")
    };
    let config = config(RECEIVER);
    responder.acknowledgement(&config, &answer, &responder.notification(&config))
}

#[test]
fn a_flow_goes_back_to_back_and_ends_with_its_last_acknowledgement() {
    let (mut sender, mut receiver) = pair(Algorithm::LineRate, 2500);
    assert!(!sender.is_idle());
    let packets = sent(&mut sender, Picos::ZERO);
    let starts: Vec<u64> = packets.iter().map(|(at, _)| *at).collect();
    assert_eq!(starts, [0, FIRST, FIRST + MIDDLE]);
    assert_eq!(sender.next_timer(), Some(TIMEOUT));
    assert!(!sender.is_idle(), "nothing is acknowledged");

    for (_, packet) in &packets {
        receiver.handle_packet(Picos(1000), packet);
    }
    let delivered = HostEvent::FlowDelivered { qp: QP, bytes: 2500, at: Picos(1000) };
    assert_eq!(events(&mut receiver), [delivered]);
    // One ACK for every second packet, and the ACK that the last packet requests.
    let replies = sent(&mut receiver, Picos(2000));
    let acknowledged: Vec<u32> = replies.iter().map(|(_, packet)| packet.psn.value()).collect();
    assert_eq!(acknowledged, [11, 12]);
    assert!(receiver.is_idle());
    let opcodes: Vec<Opcode> = replies.iter().map(|(_, packet)| packet.opcode).collect();
    assert_eq!(opcodes, [Opcode::Acknowledge; 2]);

    for (_, packet) in &replies {
        sender.handle_packet(Picos(3000), packet);
    }
    let completed = HostEvent::FlowCompleted {
        flow: 40,
        at: Picos(3000),
        counts: SenderCounts { retransmitted_packets: 0, notifications: 0 },
    };
    assert_eq!(events(&mut sender), [completed]);
    assert!(sender.is_idle());
    assert_eq!(sender.next_timer(), None);
    assert_eq!(receiver.close_responder(QP), Some(2500));
    assert_eq!(receiver.close_responder(QP), None);
    let expected = HostCounters {
        flows_started: 1,
        flows_completed: 1,
        data_packets_sent: 3,
        payload_bytes_sent: 2500,
        acknowledgements_received: 2,
        ..HostCounters::default()
    };
    assert_eq!(*sender.counters(), expected);
    let expected = HostCounters {
        data_packets_received: 3,
        delivered_bytes: 2500,
        acknowledgements_sent: 2,
        ..HostCounters::default()
    };
    assert_eq!(*receiver.counters(), expected);
}

#[test]
fn a_flow_of_several_messages_is_delivered_with_the_last_of_them() {
    let (mut sender, mut receiver) = pair(Algorithm::LineRate, 1000);
    receiver.close_responder(QP);
    receiver.open_responder(&responder(2000));
    let message = sent(&mut sender, Picos::ZERO)[0].1;
    receiver.handle_packet(Picos(1), &message);
    assert_eq!(events(&mut receiver), [], "a message of 1000 bytes is complete");
    receiver.handle_packet(Picos(2), &RocePacket { psn: Psn::new(11), ..message });
    let delivered = HostEvent::FlowDelivered { qp: QP, bytes: 2000, at: Picos(2) };
    assert_eq!(events(&mut receiver), [delivered]);
    receiver.handle_packet(Picos(3), &message);
    assert_eq!(events(&mut receiver), [], "a duplicate delivers nothing");
}

#[test]
fn a_loss_is_reported_once_and_repaired() {
    let (mut sender, mut receiver) = pair(Algorithm::LineRate, 2500);
    let packets = sent(&mut sender, Picos::ZERO);
    let [first, _, last] = packets.as_slice() else { panic!("three packets") };
    receiver.handle_packet(Picos(1), &first.1);
    receiver.handle_packet(Picos(2), &last.1);
    receiver.handle_packet(Picos(3), &last.1);
    let replies = sent(&mut receiver, Picos(4));
    let [(_, negative)] = replies.as_slice() else { panic!("one NAK") };
    let aeth = negative.aeth.expect("an AETH");
    assert_eq!((aeth.syndrome, negative.psn), (Syndrome::NakSequenceError, Psn::new(11)));

    sender.handle_packet(Picos(5_000_000), negative);
    let again = sent(&mut sender, Picos(5_000_000));
    assert_eq!(again.iter().map(|(_, packet)| *packet).collect::<Vec<_>>(), [packets[1].1, last.1]);
    for (_, packet) in &again {
        receiver.handle_packet(Picos(6_000_000), packet);
    }
    receiver.handle_packet(Picos(6_000_001), &first.1);
    for (_, packet) in sent(&mut receiver, Picos(6_000_002)) {
        sender.handle_packet(Picos(7_000_000), &packet);
    }
    let completed = HostEvent::FlowCompleted {
        flow: 40,
        at: Picos(7_000_000),
        counts: SenderCounts { retransmitted_packets: 2, notifications: 0 },
    };
    assert_eq!(events(&mut sender), [completed]);
    let counters = sender.counters();
    assert_eq!((counters.naks_received, counters.retransmitted_packets), (1, 2));
    let counters = receiver.counters();
    assert_eq!((counters.naks_sent, counters.out_of_order_packets), (1, 2));
    assert_eq!((counters.duplicate_packets, counters.delivered_bytes), (1, 2500));
}

#[test]
fn the_timer_follows_progress_and_goes_back_to_what_is_missing() {
    let (mut sender, _) = pair(Algorithm::LineRate, 2500);
    sent(&mut sender, Picos::ZERO);
    sender.handle_packet(Picos(4_000_000), &acknowledgement(Syndrome::Ack, 10));
    // Progress moves the deadline, not the entry.
    assert_eq!(sender.next_timer(), Some(TIMEOUT));
    sender.handle_deadline(Picos(TIMEOUT.0 - 1));
    assert_eq!(sender.next_timer(), Some(TIMEOUT));
    sender.handle_deadline(TIMEOUT);
    assert_eq!(sender.next_timer(), Some(Picos(14_000_000)));
    assert_eq!((sender.counters().timeouts, sender.next_transmission(TIMEOUT)), (0, None));

    sender.handle_deadline(Picos(14_000_000));
    assert_eq!(sender.counters().timeouts, 1);
    assert_eq!(sender.next_timer(), None);
    let again = sent(&mut sender, Picos(14_000_000));
    assert_eq!(again.iter().map(|(_, packet)| packet.psn.value()).collect::<Vec<_>>(), [11, 12]);
    assert_eq!(sender.next_timer(), Some(Picos(24_000_000)));
    assert_eq!(sender.counters().retransmitted_packets, 2);
}

#[test]
fn a_flow_that_completes_while_it_waits_for_its_turn_sends_nothing_more() {
    let (mut sender, _) = pair(Algorithm::LineRate, 500);
    sent(&mut sender, Picos::ZERO);
    sender.handle_deadline(TIMEOUT);
    assert!(sender.next_transmission(TIMEOUT).is_some(), "it goes back");
    sender.handle_packet(TIMEOUT, &acknowledgement(Syndrome::Ack, 10));
    assert_eq!(sender.poll_roce(TIMEOUT), None);
    assert!(sender.is_idle());
    assert_eq!(sender.counters().flows_completed, 1);
    // Slot and number are free again.
    sender.start_flow(TIMEOUT, &flow(500));
    assert_eq!(sent(&mut sender, TIMEOUT).len(), 1);
}

#[test]
fn a_mark_comes_back_as_a_notification_that_slows_the_sender() {
    let parameters = Parameters::paper(RATE);
    let (mut sender, mut receiver) = pair(Algorithm::Dcqcn(parameters), 10_000);
    let mut packet = sender.poll_roce(Picos::ZERO).expect("the first packet");
    for from in [Picos::ZERO, Picos(FIRST)] {
        assert_eq!(sender.next_transmission(from), Some(from), "line rate: no gap");
    }
    packet.ecn = Ecn::CongestionExperienced;
    receiver.handle_packet(Picos(1), &packet);
    receiver.handle_packet(Picos(2), &packet);
    let replies = sent(&mut receiver, Picos(2));
    // The notification goes first; the second mark is within its interval, its packet a duplicate.
    let opcodes: Vec<Opcode> = replies.iter().map(|(_, packet)| packet.opcode).collect();
    assert_eq!(opcodes, [Opcode::Cnp, Opcode::Acknowledge]);
    assert_eq!(replies[0].1.dscp, 6 << 3);
    assert_eq!(receiver.counters().marked_packets_received, 2);
    assert_eq!(receiver.counters().cnps_sent, 1);

    let now = Picos(FIRST);
    sender.handle_packet(now, &replies[0].1);
    sender.handle_packet(now, &replies[0].1);
    let counters = sender.counters();
    assert_eq!((counters.cnps_received, counters.rate_cuts), (2, 1));
    // Alpha is 1 at first, so the rate is halved and the gap is twice the wire time.
    let packets = [sender.poll_roce(now), sender.poll_roce(now)];
    assert_eq!(packets.map(|packet| packet.is_some()), [true, false]);
    assert_eq!(sender.next_transmission(now), Some(now + Picos(2 * MIDDLE)));
    sender.handle_packet(now, &acknowledgement(Syndrome::Ack, 11));
    assert_eq!(
        sender.next_transmission(now),
        Some(now + Picos(2 * MIDDLE)),
        "an ACK keeps the pace"
    );
}

/// A flow whose rate was cut sends its last packet, and goes back to it at the very instant at which its pacing gap
/// ends, just before another flow starts.
#[test]
fn a_flow_whose_gap_ends_now_has_its_turn_before_flows_that_come_later() {
    let parameters = Parameters::paper(RATE);
    let lost = acknowledgement(Syndrome::NakSequenceError, 11);
    let cnp = RocePacket { opcode: Opcode::Cnp, aeth: None, ..lost };
    let now = Picos(FIRST);
    let due = now + Picos(2 * MIDDLE);
    for (at, order) in [(Picos(due.0 - 1), [8, QP]), (due, [QP, 8])] {
        let (mut sender, _) = pair(Algorithm::Dcqcn(parameters), 2000);
        sender.poll_roce(Picos::ZERO).expect("the first packet");
        sender.handle_packet(now, &cnp);
        sender.poll_roce(now).expect("the last packet");
        assert_eq!(sender.next_transmission(now), None, "all is sent");
        sender.handle_packet(at, &lost);
        sender.start_flow(at, &FlowRequest { flow: 41, qp: 8, ..flow(1000) });
        let turns = [0; 2].map(|_| sender.poll_roce(due).map(|packet| packet.destination_qp));
        assert_eq!(turns, order.map(Some), "at {at}");
    }
}

#[test]
fn without_congestion_control_a_mark_is_counted_only() {
    let (mut sender, mut receiver) = pair(Algorithm::LineRate, 2500);
    let mut packet = sender.poll_roce(Picos::ZERO).expect("the first packet");
    packet.ecn = Ecn::CongestionExperienced;
    receiver.handle_packet(Picos(1), &packet);
    assert_eq!(receiver.counters().marked_packets_received, 1);
    assert_eq!(sent(&mut receiver, Picos(2)), []);
    let ReceivingEnd::Roce(responder) = &receiver.receivers.occupant(0).end else {
        unreachable!("nothing else receives")
    };
    let notification = responder.notification(&config(RECEIVER));
    sender.handle_packet(Picos(3), &notification);
    sender.handle_packet(Picos(4), &notification);
    assert_eq!((sender.counters().cnps_received, sender.counters().rate_cuts), (2, 0));
    assert_eq!(sent(&mut sender, Picos(FIRST)).len(), 2);
    let at = Picos(5_000_000);
    sender.handle_packet(at, &acknowledgement(Syndrome::Ack, 12));
    let completed = HostEvent::FlowCompleted {
        flow: 40,
        at,
        counts: SenderCounts { retransmitted_packets: 0, notifications: 2 },
    };
    assert_eq!(events(&mut sender), [completed]);
}

/// A NIC in a storm pauses its neighbour in time, sends its own packets as ever, and obeys pauses itself.
#[test]
fn a_storm_goes_ahead_of_packets_and_changes_nothing_else() {
    let (mut sender, _) = pair(Algorithm::LineRate, 2500);
    let class = Priority::new(3).bit();
    let pause = ClassPauses::xoff(class, u16::MAX);
    sender.handle_hop_control(Picos(500), &HopControl::Classes(ClassPauses::xoff(class, 1)));
    sender.begin_storm(Picos(1000), class, Picos(1_000_000_000));
    assert!(sender.has_news());
    assert_eq!(sender.plan_transmission(Picos(1000)), Some(Picos(1000)));
    assert_eq!(sender.poll_class_pauses(), Some(pause));
    assert_eq!(sender.poll_class_pauses(), None);
    let resumed = sender.next_transmission(Picos(400_000)).expect("the pause runs out");
    assert!(sender.poll_roce(resumed).is_some());
    let mut frames = 1;
    while sender.storm_classes() != 0 {
        let due = sender.next_timer().expect("the storm goes on or ends");
        sender.handle_deadline(due);
        if let Some(pauses) = sender.poll_class_pauses() {
            let last = due == Picos(1_000_000_000);
            assert_eq!(pauses, if last { ClassPauses::xon(class) } else { pause });
            frames += 1;
        }
    }
    assert_eq!(sender.counters().pfc_frames_sent, frames);
    assert!(frames > 2, "{frames}");
}

#[test]
fn a_storm_without_end_does_not_keep_a_host_from_being_idle() {
    let mut host = host(SENDER, Algorithm::LineRate);
    host.begin_storm(Picos(0), 1 << 3, Picos::MAX);
    assert!(!host.is_idle(), "its first frame waits");
    host.poll_class_pauses();
    assert!(host.is_idle() && host.next_timer().is_some());
    host.end_storm(1 << 3);
    assert_eq!(host.poll_class_pauses(), Some(ClassPauses::xon(1 << 3)));
    assert!(host.is_idle() && host.next_timer().is_none());
}

#[test]
fn a_link_delay_request_is_answered_before_any_packet() {
    let (mut sender, _) = pair(Algorithm::LineRate, 2500);
    let request = LinkDelayFrame::request([2, 9, 9, 9, 9, 9], 5);
    let received = Picos(7_000);
    sender.handle_link_delay(received, &request);
    assert_eq!(sender.counters().link_delay_requests, 1);
    assert_eq!(sender.next_transmission(Picos(8_000)), Some(Picos(8_000)));
    let answer = sender.poll_link_delay(Picos(8_000)).expect("an answer");
    // 60 bytes and the overhead take 6720 ps; the pause response of 1500 ps is two started nanoseconds.
    let mut expected = request.answer([2, 0, 0, 0, 0, 1], Nanos(7), Nanos(2));
    expected.stamp(Nanos(14));
    assert_eq!(answer, expected);
    assert_eq!(sender.poll_link_delay(Picos(8_000)), None);

    sender.handle_link_delay(Picos(9_000), &answer);
    assert_eq!(sender.counters().link_delay_requests, 1, "a response asks for nothing");
    assert_eq!(sender.poll_link_delay(Picos(9_000)), None);
}

#[test]
fn a_pause_stops_its_priority_and_is_counted() {
    let (mut sender, _) = pair(Algorithm::LineRate, 2500);
    let quanta = [2; 8];
    sender.handle_hop_control(Picos::ZERO, &HopControl::pfc(1 << 3, quanta));
    // The pause takes effect 1500 ps later and ends after 2 x 512 bit times.
    assert_eq!(sender.next_transmission(Picos::ZERO), Some(Picos::ZERO));
    assert_eq!(sender.next_transmission(Picos(1500)), Some(Picos(10_240)));
    assert_eq!(sender.poll_roce(Picos(1500)), None);
    sender.handle_hop_control(Picos(2000), &HopControl::pfc(1 << 3, [0; 8]));
    assert_eq!(sender.next_transmission(Picos(2000)), Some(Picos(2000)));
    sender.handle_hop_control(Picos(2001), &HopControl::pfc(0, quanta));
    sender.handle_hop_control(Picos(2002), &HopControl::pfc(1, quanta));
    let counters = sender.counters();
    let seen = (counters.pauses_received, counters.resumes_received, counters.pauses_without_class);
    assert_eq!(seen, (2, 1, 1));
}

#[test]
fn a_pause_of_a_queue_lasts_until_the_switch_resumes_it() {
    let (mut sender, _) = pair(Algorithm::LineRate, 2500);
    let queue = |number, paused| HopControl::Queue { queue: QueueId::data(number), paused };
    sender.handle_hop_control(Picos::ZERO, &queue(3, true));
    assert_eq!(sender.next_transmission(Picos(1499)), Some(Picos(1499)), "it does not bind yet");
    assert_eq!(sender.next_transmission(Picos(1500)), None);
    assert_eq!(sender.poll_roce(Picos(1500)), None);
    assert!(!sender.is_idle(), "a packet waits");
    sender.handle_hop_control(Picos(2000), &HopControl::Queues { paused: [1 << 3, 0] });
    assert_eq!(sender.poll_roce(Picos(2000)), None);
    sender.handle_hop_control(Picos(3000), &HopControl::Queues { paused: [!(1 << 3), !0] });
    assert_eq!(sender.next_transmission(Picos(3000)), Some(Picos(3000)));
    sender.handle_hop_control(Picos(3000), &queue(3, false));
    assert!(sender.poll_roce(Picos(3000)).is_some());
    sender.handle_hop_control(Picos(3000), &queue(8, true));
    let priority = Priority::new(3);
    let rate = HopControl::Rate { priority, kilobits_per_second: 1 };
    sender.handle_hop_control(Picos(3000), &rate);
    let flows = FlowList::new(&[1]).expect("one fits");
    sender.handle_hop_control(Picos(3000), &HopControl::Flows { priority, paused: true, flows });
    let counters = sender.counters();
    assert_eq!((counters.queue_pauses_received, counters.queue_resumes_received), (3, 1));
    assert_eq!((counters.unexpected_hop_control, counters.rates_received), (2, 1));
}

/// A millionth of a second for each bit: 100,000 times as long as at 100 Gbit/s.
#[test]
fn a_rate_spaces_the_starts_of_packets() {
    let (mut sender, _) = pair(Algorithm::LineRate, 3000);
    let slow = HopControl::Rate { priority: Priority::new(3), kilobits_per_second: 1000 };
    sender.handle_hop_control(Picos::ZERO, &slow);
    let starts: Vec<u64> =
        sent(&mut sender, Picos::ZERO).into_iter().map(|(start, _)| start).collect();
    assert_eq!(starts, [0, FIRST * 100_000, (FIRST + MIDDLE) * 100_000]);
}
