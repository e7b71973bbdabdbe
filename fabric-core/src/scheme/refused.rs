//! Pauses due to packets without room, under every scheme.

use units::{BitsPerSecond, Bytes, Nanos};

use super::{Configure, Ingress, Scheme, SchemeSettings, Selected};
use crate::arrival::{Outcome, arrival};
use crate::departure::departure;
use crate::drop_reason::{DropClass, DropReason};
use crate::frame::ByteFrame;
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use crate::priority::Priority;
use crate::queue::QueueRange;
use crate::tables::Tables;
use crate::tables::owned::{MAX_SLOTS, OwnedTables, PORTS, packet};
use crate::wire::roce::Ecn;

const CLASS: u8 = 3;
const NOW: Nanos = Nanos(7);
const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);

/// A switch without headroom and with the X_off `xoff`. `None` if the tables have no room for the scheme, or if its refused
/// packets pause nobody.
fn switch(settings: &SchemeSettings, xoff: u64, tested: u8) -> Option<(OwnedTables, Policy)> {
    if matches!(settings, SchemeSettings::PfcReached(_) | SchemeSettings::ServicePools(_)) {
        return None;
    }
    let config = SwitchConfig {
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: xoff,
        xon_offset_bytes: 1000,
        pause_quanta: 500,
        lossless_classes: 1 << CLASS,
        lossless_queues: 1,
        tests_renewed_pauses: tested,
        ..SwitchConfig::default()
    };
    let mut tables = OwnedTables::new(config, 0);
    tables.config.queues[usize::from(CLASS)] = QueueRange::flow_queues(8, 3);
    tables.config.slots = MAX_SLOTS as u32;
    tables.switch.slots_limit.store(MAX_SLOTS as u64);
    let lines = (0..).map_while(|line| tables.scheme_line(line));
    lines.flat_map(|line| &line.0).for_each(|word| word.store(0));
    let policy = settings.select(Policy::new(ThresholdScheme::Static, MarkingScheme::Off));
    let room = Selected::room(policy, PORTS as u32);
    tables.scheme_line(room.lines - 1).and(tables.scheme_block(room.blocks - 1))?;
    settings.write(&tables, [(RATE, Bytes(0)); PORTS]);
    Some((tables, policy))
}

/// Receives a packet at port 0 for port 1. Returns its slot or the reason for its drop, and the orders.
fn arrive(tables: &OwnedTables, policy: Policy) -> (Result<u32, DropReason>, Vec<Order>) {
    let mut bytes = packet(0, 1, CLASS, Ecn::NotCapable);
    let frame = &mut ByteFrame(bytes.as_mut_slice());
    let mut messages = Vec::new();
    let send = &mut |order: &Order| messages.push(*order);
    match arrival(frame, tables, policy, 0, NOW, send) {
        Outcome::Queued(queued) => (Ok(queued.slot), messages),
        Outcome::Dropped(reason) => (Err(reason), messages),
        other => panic!("{other:?}"),
    }
}

/// The classes that orders pause and resume.
fn classes(orders: &[Order]) -> Vec<(u8, u8)> {
    let pauses = orders.iter().filter_map(|order| match order.control {
        HopControl::Classes(pauses) => Some((pauses.paused(), pauses.resumed())),
        _ => None,
    });
    pauses.collect()
}

#[test]
fn a_packet_that_finds_no_headroom_pauses_until_the_queue_has_drained() {
    let mut tested = Vec::new();
    for settings in SchemeSettings::every() {
        let Some((tables, policy)) = switch(&settings, 6000, 0) else { continue };
        let (mut slots, mut messages) = (Vec::new(), Vec::new());
        let reason = loop {
            let (outcome, orders) = arrive(&tables, policy);
            messages.extend(orders);
            match outcome {
                Ok(slot) => slots.push(slot),
                Err(reason) => break reason,
            }
        };
        assert_eq!(reason.class(), DropClass::Policy, "{settings:?}");
        assert_eq!(classes(&messages), [(1 << CLASS, 0)], "{settings:?}");
        let (outcome, orders) = arrive(&tables, policy);
        assert_eq!((outcome, classes(&orders)), (Err(reason), vec![]), "{settings:?}, once");

        messages.clear();
        for slot in slots {
            departure(&tables, policy, slot, NOW, &mut |order| messages.push(*order));
        }
        assert_eq!(classes(&messages), [(0, 1 << CLASS)], "{settings:?}");
        tested.push(policy.scheme());
    }
    // A refused packet of the simulators pauses nobody.
    let of_simulators = [SchemeKind::PfcReached, SchemeKind::ServicePools, SchemeKind::SonicPools];
    for kind in SchemeKind::ALL.iter().filter(|kind| !of_simulators.contains(kind)) {
        assert!(tested.contains(kind), "{kind:?}");
    }
}

/// All packets are in the private buffer, and X_off is smaller than one; or X_off is large, and the pool has no room.
#[test]
fn a_queue_that_has_refused_a_packet_resumes_when_all_of_it_is_at_or_below_xon() {
    let length = packet(0, 1, CLASS, Ecn::NotCapable).len() as u64;
    for (private, pool, xoff) in
        [(3 * length + 1, 1_000_000, 1000), (3 * length + 1, 0, 100_000), (0, 3 * length, 100_000)]
    {
        for settings in SchemeSettings::every() {
            let Some((mut tables, policy)) = switch(&settings, xoff, 0) else { continue };
            if private == 0 && policy.scheme() == SchemeKind::Dsh {
                // Its X_pon is X_poff here.
                continue;
            }
            tables.config.private_bytes = private;
            tables.config.shared_pool_bytes = pool;
            tables.config.xon_offset_bytes = 3 * length;
            let mut slots = Vec::new();
            while let (Ok(slot), messages) = arrive(&tables, policy) {
                assert_eq!(classes(&messages), vec![], "{settings:?}");
                slots.push(slot);
            }
            assert_eq!(slots.len(), 3, "{settings:?}");
            let resumed: Vec<usize> = slots
                .into_iter()
                .map(|slot| {
                    let mut messages = Vec::new();
                    departure(&tables, policy, slot, NOW, &mut |order| messages.push(*order));
                    classes(&messages).len()
                })
                .collect();
            assert_eq!(resumed, [0, 0, 1], "{settings:?}, X_off {xoff}");
        }
    }
}

/// X_off is smaller than a packet.
#[test]
fn an_empty_queue_pauses_only_if_a_renewal_can_end_it() {
    for (tests, expected) in [(0, vec![]), (1, vec![(1 << CLASS, 0)])] {
        let (tables, policy) =
            switch(&SchemeSettings::default(), 1000, tests).expect("it has no state");
        let (outcome, messages) = arrive(&tables, policy);
        assert_eq!(outcome, Err(DropReason::HeadroomExhausted));
        assert_eq!(classes(&messages), expected);
        let at = Ingress::new(&tables, policy, 0, Priority::new(CLASS)).unwrap();
        let renewed = Selected::renewal(&at, PauseLevel::Queue, at.queue.pauses.load(), NOW);
        let resumes: Vec<bool> = renewed.iter().map(|order| order.resumes).collect();
        assert_eq!(resumes, vec![true; expected.len()]);
    }
}
