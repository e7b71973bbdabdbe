//! Algorithms 1 to 3 step by step.

use super::held::{CLASS, CONGESTED, Flow, Held, LENGTH, XOFF, XON, names};
use super::*;
use crate::hop_control::{ClassPauses, PauseLevel};

const fn flow(from: u32, to: u32, number: u16) -> Flow {
    Flow { from, to, number }
}

/// A flow from port 0 to port 1.
const fn across(number: u16) -> Flow {
    flow(0, 1, number)
}

fn arrive(held: &mut Held, flows: &[Flow]) -> Vec<Order> {
    flows.iter().flat_map(|&flow| held.arrive(flow).expect("there is room")).collect()
}

/// Sends `packets` packets from a port.
fn depart(held: &mut Held, port: u32, packets: usize) -> (Vec<u16>, Vec<Order>) {
    let (mut flows, mut orders) = (Vec::new(), Vec::new());
    for _ in 0..packets {
        let Some((flow, sent)) = held.depart(port) else { break };
        flows.push(flow.number);
        orders.extend(sent);
    }
    (flows, orders)
}

fn sorted(mut names: Vec<u32>) -> Vec<u32> {
    names.sort_unstable();
    names
}

fn names_of(flows: &[Flow]) -> Vec<u32> {
    sorted(flows.iter().map(|flow| flow.name()).collect())
}

#[test]
fn the_original_congestion_names_the_flows_of_the_port() {
    let mut held = Held::new(8);
    // A flow of another egress port is not congested, and a flow from another ingress port is not this neighbour's.
    arrive(&mut held, &[flow(0, 0, 9), flow(1, 1, 8)]);
    assert!(arrive(&mut held, &[across(1), across(2), across(1), across(2)]).is_empty());
    // q_in reaches X_off^c with this packet; q_out had reached it before.
    let sent = arrive(&mut held, &[across(1)]);
    assert_eq!(sorted(names(&sent, true)), names_of(&[across(1), across(2)]));
    let [order] = sent[..] else { panic!("one frame") };
    assert_eq!((order.level, order.resumes), (PauseLevel::Queue, false));
    assert_eq!((order.occupancy_bytes, order.threshold_bytes), (CONGESTED, CONGESTED));
    assert!(arrive(&mut held, &[across(2)]).is_empty(), "both were reported to it");
    let sent = arrive(&mut held, &[across(3)]);
    assert!(held.q_in(0) < XOFF);
    assert_eq!(names(&sent, true), [across(3).name()], "a new flow is named by itself");
}

#[test]
fn a_list_longer_than_a_frame_is_sent_with_the_next_packets() {
    let mut held = Held::new(8);
    let flows: Vec<Flow> = (0..6).map(across).collect();
    let first = names(&arrive(&mut held, &flows), true);
    assert_eq!(first.len(), 4);
    assert_eq!(first[0], flows[5].name(), "the packet's own flow comes first");
    let rest: Vec<Flow> =
        flows.iter().copied().filter(|flow| !first.contains(&flow.name())).collect();
    let second = names(&arrive(&mut held, &rest[..1]), true);
    assert_eq!(sorted(second), names_of(&rest));
}

#[test]
fn an_egress_queue_below_the_threshold_is_not_congested() {
    let mut held = Held::new(8);
    let both = [across(1), flow(0, 0, 1)];
    let sent = arrive(&mut held, &[both, both, both, both].concat());
    assert!(held.q_in(0) >= CONGESTED && held.q_out(0) < CONGESTED && held.q_out(1) < CONGESTED);
    assert!(sent.is_empty());
}

#[test]
fn packets_in_backup_queues_count_for_the_egress_queue() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1), across(2)]);
    arrive(&mut held, &[across(1); 5]);
    assert_eq!(held.depart(1), None, "its flow is paused");
    assert_eq!(held.lengths(1), [0, 5, 0]);
    let sent = arrive(&mut held, &[across(2)]);
    assert_eq!(sorted(names(&sent, true)), names_of(&[across(1), across(2)]));
}

/// The paper's victim: a flow that its downstream neighbour has not paused passes a port with congestion behind it.
#[test]
fn a_local_congestion_names_only_flows_that_were_paused() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1), across(5)]);
    let sent = arrive(&mut held, &[across(1), across(2), across(1), across(2), across(1)]);
    assert!(sent.is_empty());
    assert!(arrive(&mut held, &[across(2)]).is_empty(), "it is no cause");
    assert_eq!(names(&arrive(&mut held, &[across(1)]), true), [across(1).name()]);
    assert_eq!(names(&arrive(&mut held, &[across(5)]), true), [across(5).name()]);
}

/// Two trees with roots behind one port: their lists are united.
#[test]
fn two_congestion_trees_share_a_port() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1)]);
    held.receive(1, true, &[across(2), across(3)]);
    assert_eq!(held.class(1).paused_flows.load(), 3);
    let sent =
        arrive(&mut held, &[across(1), across(2), across(4), across(4), across(3), across(1)]);
    assert_eq!(sorted(names(&sent, true)), names_of(&[across(1), across(2), across(3)]));
    assert_eq!(depart(&mut held, 1, 9).0, [4, 4]);
    // The first tree dissolves.
    held.receive(1, false, &[across(1)]);
    assert_eq!(depart(&mut held, 1, 9).0, [1, 1]);
    assert_eq!((held.lengths(1), held.class(1).paused_flows.load()), ([0, 0, 2], 2));
    held.receive(1, false, &[across(3), across(2)]);
    let (flows, sent) = depart(&mut held, 1, 9);
    assert_eq!(flows, [2, 3]);
    assert!(sent.is_empty(), "they were resumed when the second of four left");
    held.assert_empty();
}

#[test]
fn from_x_off_on_the_class_is_paused() {
    let mut held = Held::new(8);
    let sent = arrive(&mut held, &[across(1); 8]);
    assert_eq!(names(&sent, true), [across(1).name()]);
    let sent = arrive(&mut held, &[across(2)]);
    let [order] = sent[..] else { panic!("no list beside it") };
    assert_eq!(order.control, HopControl::Classes(ClassPauses::xoff(CLASS.bit(), 500)));
    // RESUME of both at X_on.
    assert_eq!(held.q_in(0), XOFF);
    let (_, sent) = depart(&mut held, 1, 4);
    assert!(sent.is_empty() && held.q_in(0) > XON);
    let (_, sent) = depart(&mut held, 1, 1);
    assert_eq!(held.q_in(0), XON);
    let [class, flows] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(class.control, HopControl::Classes(ClassPauses::xon(CLASS.bit())));
    assert_eq!(names(&[flows], false), [across(1).name()]);
    depart(&mut held, 1, 9);
    held.assert_empty();
}

#[test]
fn a_resume_has_as_many_frames_as_its_list_needs() {
    let mut held = Held::new(8);
    let flows: Vec<Flow> = (0..7).map(across).collect();
    let sent = arrive(&mut held, &[&flows[..], &flows[..1]].concat());
    assert_eq!(sorted(names(&sent, true)), names_of(&flows));
    let (_, sent) = depart(&mut held, 1, 4);
    assert_eq!(sent.len(), 2);
    assert_eq!(sorted(names(&sent, false)), names_of(&flows));
    depart(&mut held, 1, 9);
    held.assert_empty();
}

/// The four states of Section II-B, one after another.
#[test]
fn the_four_states() {
    let mut held = Held::new(8);
    arrive(&mut held, &[across(1), across(2), across(1), across(3)]);
    // Partial flows paused: the others pass.
    held.receive(1, true, &[across(1)]);
    assert_eq!(depart(&mut held, 1, 1).0, [2]);
    assert_eq!(held.lengths(1), [2, 1, 0]);
    // All flows paused.
    held.receive(1, true, &[across(2), across(3)]);
    assert_eq!((held.depart(1), held.lengths(1)), (None, [0, 3, 0]));
    // Part of the paused flows resumed: arrivals in the meantime wait, even those of flows that are not paused.
    held.receive(1, false, &[across(3)]);
    arrive(&mut held, &[across(3), across(4)]);
    assert_eq!(depart(&mut held, 1, 1).0, [3]);
    assert_eq!(held.lengths(1), [2, 0, 2], "flow 1 is in the other backup queue");
    assert_eq!(depart(&mut held, 1, 9).0, [3, 4]);
    // All paused flows resumed.
    held.receive(1, false, &[across(1), across(2)]);
    assert_eq!(depart(&mut held, 1, 9).0, [1, 1]);
    held.assert_empty();
}

/// Flow 2 has packets in both backup queues and in the normal one when it is resumed.
#[test]
fn a_resume_during_a_rotation_waits_for_its_end() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1), across(2)]);
    arrive(&mut held, &[across(2), across(1), across(2)]);
    assert_eq!(held.depart(1), None);
    held.receive(1, false, &[across(1)]);
    assert_eq!(depart(&mut held, 1, 1).0, [1]);
    assert_eq!(held.lengths(1), [0, 1, 1]);
    arrive(&mut held, &[across(2), across(5)]);
    held.receive(1, false, &[across(2)]);
    assert_eq!(held.lengths(1), [2, 1, 1], "the older packet of flow 2 is in the other one");
    assert_eq!(held.class(1).paused_flows.load(), 0);
    // In order, which `depart` asserts; and the normal queue waits for both rotations.
    assert_eq!(depart(&mut held, 1, 9).0, [2, 2, 2, 5]);
    held.assert_empty();
}

#[test]
fn a_flow_that_is_paused_again_before_its_resume_takes_effect_stays_paused() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1), across(2)]);
    arrive(&mut held, &[across(2), across(1), across(2)]);
    held.depart(1);
    held.receive(1, false, &[across(1)]);
    held.receive(1, false, &[across(2)]);
    held.receive(1, true, &[across(2)]);
    assert_eq!(depart(&mut held, 1, 9).0, [1]);
    assert_eq!((held.lengths(1), held.class(1).paused_flows.load()), ([0, 2, 0], 1));
    held.receive(1, false, &[across(2)]);
    assert_eq!(depart(&mut held, 1, 9).0, [2, 2]);
    held.assert_empty();
}

#[test]
fn a_resume_rotates_nothing_if_no_packet_is_held() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1)]);
    arrive(&mut held, &[across(2)]);
    held.receive(1, false, &[across(1)]);
    assert!(!held.class(1).is_draining());
    assert_eq!(depart(&mut held, 1, 9).0, [2]);
    assert_eq!(held.moves, 0);
    held.assert_empty();
}

/// Flow 1 ends at a switch that has reported it to its neighbour: its entry stays until the RESUME. The neighbour has
/// no packets of the flow left, so the RESUME begins no rotation, and frees the entry.
#[test]
fn a_flow_that_ends_while_paused() {
    let (mut held, mut neighbour) = (Held::new(8), Held::new(8));
    let sent = arrive(&mut held, &[&[across(1)][..], &[across(2); 5]].concat());
    assert_eq!(sorted(names(&sent, true)), names_of(&[across(1), across(2)]));
    let (flows, sent) = depart(&mut held, 1, 1);
    assert_eq!((flows, sent), (vec![1], vec![]), "the other packets are above X_on");
    arrive(&mut neighbour, &[across(1), across(3)]);
    neighbour.receive(1, true, &[across(1), across(2)]);
    assert_eq!(depart(&mut neighbour, 1, 9).0, [3]);
    assert_eq!(neighbour.lengths(1), [0, 1, 0]);
    let (_, sent) = depart(&mut held, 1, 9);
    assert_eq!(sorted(names(&sent, false)), names_of(&[across(1), across(2)]));
    held.assert_empty();
    neighbour.receive(1, false, &[across(1)]);
    assert_eq!(depart(&mut neighbour, 1, 9).0, [1]);
    assert_eq!(neighbour.class(1).paused_flows.load(), 1, "flow 2, which had no packets there");
    neighbour.receive(1, false, &[across(2)]);
    assert!(!neighbour.class(1).is_draining());
    neighbour.assert_empty();
}

#[test]
fn reported_flows_are_named_again() {
    let mut held = Held::new(8);
    let flows: Vec<Flow> = (0..6).map(across).collect();
    let sent = arrive(&mut held, &[&flows[..], &flows[..1]].concat());
    assert_eq!(names(&sent, true).len(), 6);
    for _ in 0..5 {
        let lists: Vec<Vec<u32>> = held.announce(0).iter().map(list).collect();
        assert_eq!(lists.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(sorted(lists.concat()), names_of(&flows));
        assert!(held.announce(1).is_empty(), "nothing was reported to its neighbour");
    }
    depart(&mut held, 1, 9);
    assert!(held.announce(0).is_empty());
    held.assert_empty();
}

/// Returns the flows that a PAUSE names.
fn list(control: &HopControl) -> Vec<u32> {
    match control {
        HopControl::Flows { priority: CLASS, paused: true, flows } => flows.hashes().to_vec(),
        other => panic!("{other:?}"),
    }
}

/// Flow 1 is named again in each period, flow 2 only in the first two.
#[test]
fn a_flow_that_is_not_named_again_goes_on_after_three_periods() {
    let mut held = Held::new(8);
    arrive(&mut held, &[across(1), across(2), across(1), across(2)]);
    held.receive(1, true, &[across(1), across(2)]);
    assert_eq!(held.depart(1), None);
    for period in 0..5 {
        held.announce(1);
        let named = [across(1), across(2)];
        held.receive(1, true, if period < 2 { &named } else { &named[..1] });
        assert_eq!(held.depart(1), None, "period {period}");
    }
    held.announce(1);
    assert_eq!(depart(&mut held, 1, 9).0, [2, 2]);
    assert_eq!(held.class(1).paused_flows.load(), 1);
    held.receive(1, false, &[across(1)]);
    assert_eq!(depart(&mut held, 1, 9).0, [1, 1]);
    held.assert_empty();
}

#[test]
fn flows_without_room_are_counted_again_in_each_period() {
    let mut held = Held::new(1);
    arrive(&mut held, &(0..4).map(across).collect::<Vec<_>>());
    held.receive(1, true, &[across(8), across(9)]);
    for _ in 0..3 {
        assert_eq!((held.depart(1), held.class(1).paused_flows.load()), (None, 2));
        held.announce(1);
        held.receive(1, true, &[across(8), across(9)]);
    }
    held.announce(1);
    assert_eq!(depart(&mut held, 1, 9).0, [0, 1, 2, 3]);
    held.assert_empty();
}

/// The watchdog drops packets of the drained queue: the rotation ends nevertheless.
#[test]
fn a_rotation_ends_with_a_drop_too() {
    let mut held = Held::new(8);
    held.receive(1, true, &[across(1)]);
    arrive(&mut held, &[across(2), across(1)]);
    assert_eq!(depart(&mut held, 1, 1).0, [2]);
    assert_eq!(held.depart(1), None);
    held.receive(1, false, &[across(1)]);
    arrive(&mut held, &[across(2)]);
    assert!(held.class(1).is_draining());
    held.discard(1, 1).expect("a packet is there");
    assert!(!held.class(1).is_draining());
    assert_eq!(depart(&mut held, 1, 9).0, [2]);
    held.assert_empty();
}

/// A table with room for eight flows.
#[test]
fn a_flow_without_an_entry_pauses_its_class() {
    let mut held = Held::new(1);
    let flows: Vec<Flow> = (0..7).map(across).collect();
    let mut sent = arrive(&mut held, &flows);
    assert_eq!(held.class(1).unnamed_packets.load(), 3, "a line has four entries");
    assert_eq!(held.class(1).class_pauses.load(), 1);
    sent.retain(|order| matches!(order.control, HopControl::Classes(_)));
    assert_eq!(sent.len(), 1);
    assert!(held.is_off(0) && held.q_in(0) < XOFF);
    assert!(arrive(&mut held, &[across(8)]).is_empty(), "it is paused already");
    let (_, sent) = depart(&mut held, 1, 9);
    assert!(sent.iter().any(|order| order.control == HopControl::Classes(ClassPauses::xon(8))));
    held.assert_empty();
}

#[test]
fn a_pause_without_room_stops_the_normal_queue_until_its_resume() {
    let mut held = Held::new(1);
    let four: Vec<Flow> = (0..4).map(across).collect();
    arrive(&mut held, &four);
    held.receive(1, true, &[across(9)]);
    assert_eq!(held.class(1).unnamed_flows.load(), 1);
    assert_eq!(held.depart(1), None);
    held.receive(1, false, &[across(9)]);
    assert_eq!(depart(&mut held, 1, 9).0, [0, 1, 2, 3]);
    held.assert_empty();
}

#[test]
fn frames_that_are_not_about_flows_of_the_priority_are_refused() {
    let held = Held::new(8);
    let policy =
        Policy::new(crate::policy::ThresholdScheme::Static, crate::policy::MarkingScheme::Off)
            .with_scheme(
                crate::policy::SchemeKind::Ofc,
                Options { priorities: 8, flow_lines: 8 }.to_bits(),
            );
    let flows = crate::hop_control::FlowList::new(&[1]).unwrap();
    let other = crate::priority::Priority::new(4);
    for control in [
        HopControl::Flows { priority: other, paused: true, flows },
        HopControl::Queue { queue: QueueId::data(3), paused: true },
        HopControl::Queues { paused: [1, 0] },
        HopControl::Rate { priority: CLASS, kilobits_per_second: 7 },
    ] {
        let received = Ofc::receive(&held.tables, policy, 1, &control, Nanos(8));
        assert_eq!(received, Err(DropReason::UnexpectedHopControl), "{control:?}");
    }
    held.assert_empty();
    assert_eq!(held.q_out(1) / LENGTH, 0);
}
