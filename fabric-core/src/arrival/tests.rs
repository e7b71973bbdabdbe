use super::*;
use crate::cell::{Cell64, Sharing};
use crate::departure::{Fate, departure};
use crate::frame::ByteFrame;
use crate::map_abi::{
    Descriptor, EgressClass, EgressQueue, FIRST_HOST_ADDRESS, IngressQueue, NextHop, PolicyRoute,
    Route, SchemeBlock, SchemeLine, Storm,
};
use crate::policy::ThresholdScheme;
use crate::tables::owned::{OwnedTables, marking_switch, packet};
use crate::wire::roce::{Ecn, RocePacket};

const NOW: Nanos = Nanos(7);
/// A lossless class of which packets may be marked.
const CLASS: u32 = 3;
/// ECT(0) and CE.
const CAPABLE: u8 = 2;
const CONGESTED: u8 = 3;
/// Ingress and egress port of the packets.
const IN: u32 = 0;
const OUT: u32 = 1;

/// A step of the pipeline that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Config,
    Switch,
    IngressQueue,
    EgressQueue,
    EgressPort,
    Forward,
    Mark,
    FreeSlot,
    Descriptor,
    Nothing,
}

/// A packet of 1000 bytes from port 0 to port 1.
struct Packet {
    mac: u64,
    ecn: u8,
    failing: Step,
}

impl Frame for Packet {
    fn length(&self) -> u32 {
        1000
    }

    fn parse(&self) -> Result<Parsed, DropReason> {
        Ok(Parsed::Ipv4(Ipv4Fields {
            mac: self.mac,
            destination: FIRST_HOST_ADDRESS + OUT,
            type_of_service: (CLASS as u8) << 5 | self.ecn,
            ttl: 64,
            ..Ipv4Fields::default()
        }))
    }

    fn forward(&mut self, _: u64, _: u64, _: &Ipv4Fields) -> Result<(), DropReason> {
        self.fails_at(Step::Forward)
    }

    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        self.fails_at(Step::Mark)
    }
}

impl Packet {
    fn fails_at(&self, step: Step) -> Result<(), DropReason> {
        if self.failing == step { Err(DropReason::Truncated) } else { Ok(()) }
    }
}

/// Tables of which one lacks the row that a step reads.
struct Lacking<'a>(&'a OwnedTables, Step);

impl Lacking<'_> {
    fn unless<T>(&self, step: Step, row: Option<T>) -> Option<T> {
        row.filter(|_| self.1 != step)
    }
}

impl Sharing for Lacking<'_> {
    const SHARED: bool = true;
}

impl Tables for Lacking<'_> {
    fn config(&self) -> Option<&SwitchConfig> {
        self.unless(Step::Config, self.0.config())
    }

    fn switch(&self) -> Option<&SwitchState> {
        self.unless(Step::Switch, self.0.switch())
    }

    fn port(&self, port: u32) -> Option<&Port> {
        let row = self.0.port(port);
        if port == OUT { self.unless(Step::EgressPort, row) } else { row }
    }

    fn ingress_queue(&self, index: u32) -> Option<&IngressQueue> {
        self.unless(Step::IngressQueue, self.0.ingress_queue(index))
    }

    fn egress_queue(&self, index: u32) -> Option<&EgressQueue> {
        self.unless(Step::EgressQueue, self.0.egress_queue(index))
    }

    fn egress_class(&self, row: u32) -> Option<&EgressClass> {
        self.0.egress_class(row)
    }

    fn storm(&self, row: u32) -> Option<&Storm> {
        self.0.storm(row)
    }

    fn route(&self, host: u32) -> Option<&Route> {
        self.0.route(host)
    }

    fn policy_route(&self, index: u32) -> Option<&PolicyRoute> {
        self.0.policy_route(index)
    }

    fn descriptor(&self, slot: u32) -> Option<&Descriptor> {
        self.unless(Step::Descriptor, self.0.descriptor(slot))
    }

    fn free_slot(&self, index: u32) -> Option<&Cell64> {
        self.unless(Step::FreeSlot, self.0.free_slot(index))
    }

    fn drops(&self, reason: DropReason) -> Option<&Cell64> {
        self.0.drops(reason)
    }

    fn next_hop(&self, index: u32) -> Option<&NextHop> {
        self.0.next_hop(index)
    }

    fn lossy_line(&self, index: u32) -> Option<&SchemeLine> {
        self.0.lossy_line(index)
    }

    fn scheme_line(&self, index: u32) -> Option<&SchemeLine> {
        self.0.scheme_line(index)
    }

    fn scheme_block(&self, index: u32) -> Option<&SchemeBlock> {
        self.0.scheme_block(index)
    }
}

/// A switch with two packets in the egress queue, which is so full that every packet is marked.
fn tables() -> OwnedTables {
    let tables = OwnedTables::new(
        SwitchConfig {
            shared_pool_bytes: 1_000_000,
            static_xoff_bytes: 500_000,
            lossless_classes: 1 << CLASS,
            ecn_classes: 1 << CLASS,
            ..SwitchConfig::default()
        },
        5000,
    );
    for _ in 0..2 {
        arrive(&tables, MarkingScheme::Off, CAPABLE, Step::Nothing);
    }
    tables
}

fn policy(marking: MarkingScheme) -> Policy {
    Policy::new(ThresholdScheme::Static, marking)
}

fn arrive(tables: &OwnedTables, marking: MarkingScheme, ecn: u8, failing: Step) -> Outcome {
    let mac = tables.ports[IN as usize].address.load();
    let mut packet = Packet { mac, ecn, failing };
    arrival(&mut packet, &Lacking(tables, failing), policy(marking), IN, NOW, &mut |_| {})
}

#[test]
fn a_packet_that_a_step_refuses_changes_nothing_but_the_drop() {
    let broken = DropReason::BrokenTable;
    for (step, reason, is_received) in [
        (Step::Config, broken, 0),
        (Step::Switch, broken, 0),
        (Step::IngressQueue, broken, 1),
        (Step::EgressQueue, broken, 1),
        (Step::EgressPort, broken, 1),
        (Step::Forward, DropReason::Truncated, 1),
        (Step::Mark, DropReason::Truncated, 1),
        (Step::FreeSlot, broken, 1),
        (Step::Descriptor, broken, 1),
    ] {
        let (tables, untouched) = (tables(), tables());
        let outcome = arrive(&tables, MarkingScheme::AtEnqueue, CAPABLE, step);
        assert_eq!(outcome, Outcome::Dropped(reason), "{step:?}");
        untouched.drops(reason).unwrap().add::<OwnedTables>(1);
        untouched.switch.received_frames.add::<OwnedTables>(is_received);
        untouched.ports[IN as usize].received_frames.add::<OwnedTables>(is_received);
        assert!(format!("{tables:?}") == format!("{untouched:?}"), "{step:?} left {tables:?}");
    }
}

#[test]
fn a_packet_that_nothing_refuses_takes_a_slot_and_is_marked() {
    let tables = tables();
    let outcome = arrive(&tables, MarkingScheme::AtEnqueue, CAPABLE, Step::Nothing);
    let Outcome::Queued(queued) = outcome else { panic!("{outcome:?}") };
    assert_eq!((queued.slot, queued.egress_port, queued.marked), (2, OUT, true));
    assert_eq!((tables.switch.slots_taken.load(), tables.switch.ecn_marked.load()), (3, 1));
}

/// Two CPUs find one free slot, the last.
#[test]
fn slots_that_are_shared_are_taken_once() {
    let tables = tables();
    let shared = Lacking(&tables, Step::Nothing);
    let take = || slots::take(&shared, &tables.config, &tables.switch).map(|(slot, _)| slot);
    let taken = [(); 4].map(|()| take());
    let none = Err(DropReason::NoDescriptor);
    assert_eq!(taken, [Ok(2), Ok(3), none, none], "two packets are there already");
    assert_eq!(tables.switch.slots_taken.load(), 4);
}

/// K_min is 1000 bytes, K_max 2000, and no packet is marked at random in between.
#[test]
fn a_packet_is_marked_for_what_is_ahead_of_it() {
    let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::AtEnqueue);
    for (ahead, expected) in [(0, false), (1000, false), (2000, false), (2001, true)] {
        let tables = marking_switch();
        tables.egress(1, 3).bytes.store(ahead);
        let mut bytes = packet(0, 1, 3, Ecn::Capable0);
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let outcome = arrival(frame, &tables, policy, 0, Nanos(7), &mut |_| {});
        let Outcome::Queued(queued) = outcome else { panic!("{outcome:?}") };
        let ecn = RocePacket::parse(&bytes).unwrap().ecn;
        assert_eq!(queued.marked, expected, "{ahead} bytes ahead");
        assert_eq!(ecn == Ecn::CongestionExperienced, expected, "{ahead} bytes ahead");
        assert_eq!(tables.switch.ecn_marked.load(), u64::from(expected));
        assert_eq!(tables.egress(1, 3).bytes.load(), ahead + 1058);
    }
}

/// Marking the packet again changes nothing, and another switch has counted it.
#[test]
fn a_packet_that_arrives_marked_is_not_counted_again() {
    for (ecn, counted) in [(CAPABLE, 1), (CONGESTED, 0)] {
        let tables = tables();
        let outcome = arrive(&tables, MarkingScheme::AtEnqueue, ecn, Step::Nothing);
        assert!(matches!(outcome, Outcome::Queued(Queued { marked: true, .. })), "{outcome:?}");
        assert_eq!(tables.switch.ecn_marked.load(), counted, "at enqueue");

        let tables = self::tables();
        let at_dequeue = MarkingScheme::AtDequeue;
        let outcome = arrive(&tables, at_dequeue, ecn, Step::Nothing);
        let Outcome::Queued(Queued { slot, marked: false, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        let left = departure(&tables, policy(at_dequeue), slot, NOW, &mut |_| {})
            .expect("the slot holds a packet");
        assert_eq!(left.fate, Fate::Sent { mark: true });
        assert_eq!(tables.switch.ecn_marked.load(), counted, "at dequeue");
    }
}
