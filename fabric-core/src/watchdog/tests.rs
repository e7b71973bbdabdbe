use units::Nanos;

use super::*;
use crate::arrival::{Outcome, arrival};
use crate::departure::{Departure, Fate};
use crate::frame::ByteFrame;
use crate::hop_control::{ClassPauses, HopControl, Order};
use crate::policy::{MarkingScheme, ThresholdScheme};
use crate::scheme::{Configure, Scheme, SchemeSettings, Selected};
use crate::tables::owned::{OwnedTables, lossless_switch, packet};
use crate::wire::roce::Ecn;
use crate::wire::{PfcFrame, pfc};

const LENGTH: u64 = 1058;
const CLASS: Priority = Priority::new(3);

fn policy(action: StormAction) -> Policy {
    Policy::new(ThresholdScheme::Static, MarkingScheme::Off).with_storm_action(action)
}

/// A packet from `port` to the host behind `host`.
fn arrive(tables: &OwnedTables, action: StormAction, [port, host]: [u32; 2], class: u8) -> Outcome {
    let mut bytes = packet(port, host, class, Ecn::NotCapable);
    let frame = &mut ByteFrame(bytes.as_mut_slice());
    arrival(frame, tables, policy(action), port, Nanos(7), &mut |_| {})
}

/// Receives a PFC frame at port 1 at `now`, which pauses or resumes class 3.
fn pause(tables: &OwnedTables, action: StormAction, now: u64, quanta: u16) {
    let pauses = ClassPauses::xoff(CLASS.bit(), quanta);
    let mut bytes = [0; pfc::LEN];
    PfcFrame { source: [2, 2, 0, 0, 0, 1], class_enable: pauses.named, quanta: pauses.quanta }
        .emit(&mut bytes);
    let frame = &mut ByteFrame(bytes.as_mut_slice());
    let outcome = arrival(frame, tables, policy(action), 1, Nanos(now), &mut |_| {});
    assert_eq!(outcome, Outcome::ControlReceived(HopControl::Classes(pauses)));
}

#[test]
fn packets_for_and_from_a_stormed_queue_are_dropped_by_name_and_counted() {
    let egress = Outcome::Dropped(DropReason::WatchdogEgress);
    let ingress = Outcome::Dropped(DropReason::WatchdogIngress);
    let tables = lossless_switch();
    begin(&tables, policy(StormAction::Drop), 1, CLASS, Nanos(5)).unwrap();
    // Ingress port, host and class of a packet, and its outcome.
    for (ports, class, expected) in [
        ([0, 1], 3, Some(egress)),
        ([1, 0], 3, Some(ingress)),
        ([1, 1], 3, Some(ingress)),
        ([0, 0], 3, None),
        ([0, 1], 4, None),
        ([1, 0], 4, None),
    ] {
        let outcome = arrive(&tables, StormAction::Drop, ports, class);
        match expected {
            Some(expected) => assert_eq!(outcome, expected, "{ports:?} {class}"),
            None => assert!(matches!(outcome, Outcome::Queued(_)), "{ports:?} {class}"),
        }
    }
    let storm = tables.storm(class_row(1, CLASS)).unwrap();
    let counted = [&storm.egress_packets, &storm.egress_bytes].map(Cell64::load);
    assert_eq!(counted, [1, LENGTH]);
    let counted = [&storm.ingress_packets, &storm.ingress_bytes].map(Cell64::load);
    assert_eq!(counted, [2, 2 * LENGTH]);
    assert_eq!(tables.drops(DropReason::WatchdogEgress).unwrap().load(), 1);
    assert_eq!(tables.drops(DropReason::WatchdogIngress).unwrap().load(), 2);
    end(&tables, 1, CLASS).unwrap();
    tables.switch.slots_limit.store(8);
    let outcome = arrive(&tables, StormAction::Drop, [0, 1], 3);
    assert!(matches!(outcome, Outcome::Queued(_)), "{outcome:?}");
}

#[test]
fn a_watchdog_that_forwards_or_only_reports_drops_nothing() {
    for action in [StormAction::None, StormAction::Forward] {
        let tables = lossless_switch();
        begin(&tables, policy(action), 1, CLASS, Nanos(5)).unwrap();
        let outcome = arrive(&tables, action, [0, 1], 3);
        assert!(matches!(outcome, Outcome::Queued(_)), "{action:?} {outcome:?}");
    }
}

#[test]
fn a_watchdog_that_forwards_ends_the_pause_and_ignores_others_until_the_storm_is_over() {
    let action = StormAction::Forward;
    let tables = lossless_switch();
    let of = &tables.egress_class_of(1, 3).pause;
    pause(&tables, action, 1000, 1000);
    assert!(of.forbids(Nanos(2000)));
    begin(&tables, policy(action), 1, CLASS, Nanos(2000)).unwrap();
    assert!(!of.forbids(Nanos(2000)) && of.forbade(Nanos(1999)), "the past stays as it was");
    pause(&tables, action, 3000, 1000);
    assert!(!of.forbids(Nanos(3000)));
    end(&tables, 1, CLASS).unwrap();
    pause(&tables, action, 4000, 1000);
    assert!(of.forbids(Nanos(4000)));
}

#[test]
fn pauses_are_as_they_were_under_other_actions() {
    for action in [StormAction::None, StormAction::Drop] {
        let tables = lossless_switch();
        let of = &tables.egress_class_of(1, 3).pause;
        pause(&tables, action, 1000, 1000);
        begin(&tables, policy(action), 1, CLASS, Nanos(2000)).unwrap();
        pause(&tables, action, 3000, 1000);
        assert!(of.forbids(Nanos(2000)) && of.forbids(Nanos(8000)), "{action:?}");
    }
}

/// A discarded packet releases its buffer completely, under every scheme.
#[test]
fn a_discarded_packet_gives_back_its_buffer_and_resumes_whom_it_had_paused() {
    for scheme in SchemeSettings::every() {
        let tables = lossless_switch();
        let policy = scheme.select(policy(StormAction::Drop));
        scheme.write(&tables, [(units::BitsPerSecond(1_000_000_000), units::Bytes(0)); 2]);
        let mut bytes = packet(0, 1, 3, Ecn::NotCapable);
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let outcome = arrival(frame, &tables, policy, 0, Nanos(7), &mut |_| {});
        let Outcome::Queued(queued) = outcome else { panic!("{scheme:?}: {outcome:?}") };
        // Paused by a packet whose departure leaves no reason for the pause.
        tables.queue(0, 3).off.store(1);
        let mut resumed = 0;
        let mut discard = || {
            let reason = DropReason::WatchdogEgress;
            let count = &mut |order: &Order| {
                // OFC resumes the packet's flow as well.
                let is_of_classes = matches!(order.control, HopControl::Classes(_));
                resumed += u32::from(order.resumes && is_of_classes);
            };
            Selected::discard(&tables, policy, queued.slot, Nanos(9), reason, count)
        };
        let fate = Fate::Dropped(DropReason::WatchdogEgress);
        let left = Departure { ingress_port: 0, priority: CLASS, fate };
        assert_eq!(discard(), Some(left), "{scheme:?}");
        assert_eq!(discard(), None, "it has gone");
        assert_eq!(resumed, 1, "{scheme:?}");
        assert_eq!(tables.egress(1, 3).bytes.load(), 0, "{scheme:?}");
        let pools = [&tables.switch.private_bytes, &tables.switch.shared_bytes];
        assert_eq!(pools.map(Cell64::load), [0, 0], "{scheme:?}");
        assert_eq!(tables.switch.slots_taken.load(), 0, "{scheme:?}");
        let [admitted, departed] =
            [&tables.switch.admitted_bytes, &tables.switch.departed_bytes].map(Cell64::load);
        assert_eq!((admitted, departed), (LENGTH, LENGTH), "{scheme:?}");
        assert_eq!(tables.drops(DropReason::WatchdogEgress).unwrap().load(), 1);
    }
}
