//! A frame from arrival to departure on the tables of a small switch.

use units::Nanos;

use crate::arrival::{Outcome, Queued, arrival};
use crate::cell::Cell64;
use crate::departure::{Departure, Fate, departure};
use crate::drop_reason::DropReason;
use crate::frame::ByteFrame;
use crate::hop_control::{ClassPauses, HopControl};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, Policy, ThresholdScheme};
use crate::priority::Priority;
use crate::tables::Tables;
use crate::tables::owned::{OwnedTables, SLOTS, packet};
use crate::wire::roce::{Ecn, RocePacket};
use crate::wire::{LinkDelayFrame, PfcFrame, link_delay, pfc};

const LOSSLESS: u8 = 3;
const LOSSY: u8 = 4;
const LENGTH: u64 = 1058;
const NOW: Nanos = Nanos(7);

/// X_off is 100,000 bytes; lossy packets find no room.
fn tables() -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: 100_000,
        pause_quanta: 500,
        lossless_classes: 1 << LOSSLESS,
        lossless_queues: 1,
        ecn_classes: 1 << LOSSLESS,
        ..SwitchConfig::default()
    };
    OwnedTables::new(config, 5000)
}

fn policy(marking: MarkingScheme) -> Policy {
    Policy::new(ThresholdScheme::Static, marking)
}

const UNMARKED: Policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);

fn arrive(tables: &OwnedTables, policy: Policy, port: u32, mut frame: Vec<u8>) -> Outcome {
    arrival(&mut ByteFrame(frame.as_mut_slice()), tables, policy, port, NOW, &mut |_| {})
}

/// A packet from host 0 to host 1, and the number of hop control frames due.
fn queued(tables: &OwnedTables, priority: u8, policy: Policy) -> (Queued, usize) {
    let (mut frame, mut due) = (packet(0, 1, priority, Ecn::Capable0), 0);
    let frame = &mut ByteFrame(frame.as_mut_slice());
    match arrival(frame, tables, policy, 0, NOW, &mut |_| due += 1) {
        Outcome::Queued(queued) => (queued, due),
        other => panic!("{other:?}"),
    }
}

/// Departure of the packet in `slot`, and the number of hop control frames due.
fn left(tables: &OwnedTables, policy: Policy, slot: u32) -> Option<(Departure, usize)> {
    let mut due = 0;
    let left = departure(tables, policy, slot, NOW, &mut |_| due += 1);
    left.map(|left| (left, due))
}

#[test]
fn departure_undoes_what_arrival_counted() {
    let tables = tables();
    let (Queued { slot, egress_port, queue, marked }, due) = queued(&tables, LOSSLESS, UNMARKED);
    assert_eq!((egress_port, queue.number(), marked, due), (1, 3, false, 0));
    let row = tables.descriptor(slot).unwrap();
    let ports = (row.ingress_port.load(), row.egress_port.load());
    assert_eq!((row.arrival_ns.load(), row.length.load(), ports), (7, LENGTH as u32, (0, 1)));
    let held = || {
        let OwnedTables { switch, .. } = &tables;
        let in_switch = [&switch.shared_bytes, &tables.queue(0, 3).shared_bytes];
        let in_queue = tables.egress(1, 3).bytes.load();
        (in_switch.map(Cell64::load), in_queue, switch.slots_taken.load())
    };
    assert_eq!(held(), ([LENGTH; 2], LENGTH, 1));
    let left = left(&tables, UNMARKED, slot);
    let (priority, fate) = (Priority::new(LOSSLESS), Fate::Sent { mark: false });
    assert_eq!(left, Some((Departure { ingress_port: 0, priority, fate }, 0)));
    assert_eq!(held(), ([0; 2], 0, 0));
    let switch = &tables.switch;
    assert_eq!((switch.admitted_bytes.load(), switch.departed_bytes.load()), (LENGTH, LENGTH));
}

#[test]
fn every_slot_is_used_and_none_twice_at_a_time() {
    let tables = tables();
    let take = |count: usize| -> Vec<u32> {
        (0..count).map(|_| queued(&tables, LOSSLESS, UNMARKED).0.slot).collect()
    };
    let sorted = |mut slots: Vec<u32>| {
        slots.sort_unstable();
        slots
    };
    let first = take(SLOTS);
    assert_eq!(sorted(first.clone()), [0, 1, 2, 3]);
    let full = arrive(&tables, UNMARKED, 0, packet(0, 1, LOSSLESS, Ecn::Capable0));
    assert_eq!(full, Outcome::Dropped(DropReason::NoDescriptor));
    for leave in [[1, 3], [0, 2], [2, 1]] {
        let left = leave.map(|place| first[place]);
        for slot in left {
            self::left(&tables, UNMARKED, slot).unwrap();
        }
        assert_eq!(sorted(take(2)), sorted(left.to_vec()));
    }
}

#[test]
fn what_a_switch_does_not_forward_is_dropped_by_name_and_counted_once() {
    let to = |host, ttl| {
        let mut frame = packet(0, host, LOSSLESS, Ecn::Capable0);
        let packet = RocePacket { ttl, ..RocePacket::parse(&frame).unwrap() };
        let addresses = crate::wire::LinkAddresses {
            source: [2, 2, 0, 0, 0, 0],
            destination: frame[..6].try_into().unwrap(),
        };
        packet.emit(&addresses, &mut frame).unwrap();
        frame
    };
    for (about, port, frame, reason) in [
        ("a port that the switch does not have", 2, to(1, 64), DropReason::UnknownPort),
        ("another port's address", 1, to(1, 64), DropReason::NotForThisRouter),
        ("TTL 1", 0, to(1, 1), DropReason::TtlExpired),
        ("TTL 0", 0, to(1, 0), DropReason::TtlExpired),
        ("an unknown host", 0, to(2, 64), DropReason::NoRoute),
        (
            "a lossy class without room",
            0,
            packet(0, 1, LOSSY, Ecn::Capable0),
            DropReason::LossyThreshold,
        ),
        ("garbage", 0, vec![0; 60], DropReason::UnknownEtherType),
    ] {
        let mut tables = tables();
        tables.config.lossy_pool_bytes = 1;
        assert_eq!(arrive(&tables, UNMARKED, port, frame), Outcome::Dropped(reason), "{about}");
        let drops = DropReason::ALL.iter().map(|reason| tables.drops(*reason).unwrap().load());
        assert_eq!(drops.sum::<u64>(), 1, "{about}");
        assert_eq!(tables.drops(reason).unwrap().load(), 1, "{about}");
        let received = u64::from(port < 2);
        assert_eq!(tables.switch.received_frames.load(), received, "{about}");
        assert_eq!(tables.switch.slots_taken.load(), 0, "{about}");
        assert_eq!(tables.switch.shared_bytes.load(), 0, "{about}");
    }
    let tables = tables();
    assert!(matches!(arrive(&tables, UNMARKED, 0, to(1, 2)), Outcome::Queued(_)), "TTL 2");
    assert_eq!(tables.ports[0].received_frames.load(), 1);
}

#[test]
fn control_frames_are_counted_and_take_no_buffer() {
    let tables = tables();
    let mut bytes = [0; pfc::LEN];
    PfcFrame::xoff([2, 2, 0, 0, 0, 1], 1 << LOSSLESS, 100).emit(&mut bytes);
    let outcome = arrive(&tables, UNMARKED, 1, bytes.to_vec());
    let pauses = ClassPauses::xoff(1 << LOSSLESS, 100);
    assert_eq!(outcome, Outcome::ControlReceived(HopControl::Classes(pauses)));
    assert!(tables.egress_class_of(1, 3).pause.forbids(NOW));
    let mut bytes = [0; link_delay::LEN];
    LinkDelayFrame::request([2, 2, 0, 0, 0, 1], 1).emit(&mut bytes);
    assert_eq!(arrive(&tables, UNMARKED, 1, bytes.to_vec()), Outcome::LinkDelayReceived);
    assert_eq!(tables.ports[1].received_frames.load(), 2);
    assert_eq!(tables.switch.buffer_max_bytes.load(), 0);
}

/// Both queues are OFF and almost empty.
#[test]
fn only_a_lossless_queue_resumes() {
    for (priority, resumes) in [(LOSSLESS, true), (LOSSY, false)] {
        let tables = tables();
        let slot = queued(&tables, priority, UNMARKED).0.slot;
        tables.queue(0, priority).off.store(1);
        let (_, due) = left(&tables, UNMARKED, slot).unwrap();
        assert_eq!(due, usize::from(resumes), "priority {priority}");
    }
}

#[test]
fn only_a_lossless_queue_pauses() {
    for (priority, pauses) in [(LOSSLESS, true), (LOSSY, false)] {
        let tables = tables();
        tables.queue(0, priority).shared_bytes.store(100_000);
        let (_, due) = queued(&tables, priority, UNMARKED);
        assert_eq!(due, usize::from(pauses), "priority {priority}");
    }
}

/// All queues above 0 bytes are marked.
#[test]
fn only_what_is_capable_is_marked_and_only_where_the_policy_says() {
    use MarkingScheme::{AtDequeue, AtEnqueue, Off};
    for (marking, ecn, classes, at_enqueue, at_dequeue) in [
        (Off, Ecn::Capable0, 1 << LOSSLESS, false, false),
        (AtEnqueue, Ecn::Capable0, 1 << LOSSLESS, true, false),
        (AtDequeue, Ecn::Capable1, 1 << LOSSLESS, false, true),
        (AtEnqueue, Ecn::NotCapable, 1 << LOSSLESS, false, false),
        (AtDequeue, Ecn::NotCapable, 1 << LOSSLESS, false, false),
        (AtEnqueue, Ecn::Capable0, 1 << LOSSY, false, false),
        (AtDequeue, Ecn::Capable0, 1 << LOSSY, false, false),
    ] {
        let mut tables = tables();
        tables.config.ecn_classes = classes;
        tables.egress(1, 3).bytes.store(5000);
        let outcome = arrive(&tables, policy(marking), 0, packet(0, 1, LOSSLESS, ecn));
        let Outcome::Queued(queued) = outcome else { panic!("{outcome:?}") };
        let (left, _) = left(&tables, policy(marking), queued.slot).unwrap();
        let sent = Fate::Sent { mark: at_dequeue };
        assert_eq!((queued.marked, left.fate), (at_enqueue, sent), "{marking:?}, {ecn:?}");
    }
}
