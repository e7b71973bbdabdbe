//! Numbers follow from the simulator's rules by hand: frames of 1048 B, alpha 1/16, `X_on` 16 B of the pool below `X_off`.

use units::BitsPerSecond;
use units::Bytes;

use super::*;
use crate::admission;
use crate::admission::tests::{arriving, idle};
use crate::map_abi::SwitchConfig;
use crate::policy::SchemeKind;
use crate::scheme::Configure;
use crate::tables::owned::OwnedTables;
use units::Nanos;

const FRAME: u64 = 1048;
const CLASSES: u8 = 0b1110;
/// The class of most packets.
const CLASS: u8 = 3;
/// No PAUSE and no RESUME.
const NOTHING: [Vec<u8>; 2] = [Vec::new(), Vec::new()];

/// A switch with pools of these sizes at ingress and egress, and 3000 B of headroom at each port.
fn switch(ingress: u64, egress: u64) -> OwnedTables {
    let config =
        SwitchConfig { lossless_classes: CLASSES, xon_offset_bytes: 1, ..SwitchConfig::default() };
    let tables = idle(config, 0);
    for port in &tables.ports {
        port.headroom_bytes.store(3000);
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(16);
    }
    let pools = pools(&tables).unwrap();
    let all = [
        &pools.ingress_used,
        &pools.second_ingress_used,
        &pools.egress_used,
        &pools.ingress_bytes,
        &pools.egress_bytes,
        &pools.frame_bytes,
    ];
    all.iter().zip([0, 0, 0, ingress, egress, FRAME]).for_each(|(cell, bytes)| cell.store(bytes));
    tables
}

fn packet(tables: &OwnedTables, class: u8, length: u64) -> Arriving<'_, OwnedTables> {
    let packet = arriving(tables, SchemeKind::ServicePools, 0, length);
    let ingress = packet.ingress.sibling(Priority::new(class)).unwrap();
    Arriving { ingress, egress: tables.egress(0, class), ..packet }
}

/// Takes a packet in. Returns the classes that it pauses and resumes.
fn arrive(tables: &OwnedTables, class: u8, length: u64) -> Result<[Vec<u8>; 2], DropReason> {
    let packet = packet(tables, class, length);
    let pool = ServicePools::admit(&packet)?;
    let bytes = admission::charge(&packet.ingress, pool, length);
    ServicePools::charge(&packet, pool, bytes);
    packet.egress.bytes.add::<OwnedTables>(length);
    let mut orders = Vec::new();
    ServicePools::after_arrival(&packet, pool, &mut |order| orders.push(*order));
    Ok(classes(&orders))
}

/// Sends a packet. Returns as [`arrive`].
fn leave(tables: &OwnedTables, class: u8, length: u64) -> [Vec<u8>; 2] {
    let Arriving { ingress, egress_port, queue, egress, now, .. } = packet(tables, class, length);
    let packet = Leaving {
        ingress,
        egress_port,
        queue,
        egress,
        length,
        arrived: Nanos(0),
        now,
        note: 0,
        first_rtt: false,
    };
    let given_back = admission::release(&ingress, length);
    ServicePools::release(&packet, given_back);
    egress.bytes.sub::<OwnedTables>(length);
    let mut orders = Vec::new();
    ServicePools::after_departure(&packet, &mut |order| orders.push(*order));
    classes(&orders)
}

fn classes(orders: &[Order]) -> [Vec<u8>; 2] {
    let of = |resumes| {
        let those = orders.iter().filter(|order| order.resumes == resumes);
        let named = those.map(|order| match order.control {
            crate::hop_control::HopControl::Classes(pauses) => pauses.named.trailing_zeros() as u8,
            other => panic!("{other:?}"),
        });
        named.collect()
    };
    [of(false), of(true)]
}

/// 3 frames: 1048 B beyond two, 1053.5 B allowed. 4 frames: 2096 B, 988 B allowed.
#[test]
fn each_packet_above_the_threshold_pauses_and_the_first_departure_below_it_resumes() {
    let tables = switch(20_000, 90_000);
    let [none, paused] = [[vec![], vec![]], [vec![CLASS], vec![]]];
    let arrivals: Vec<_> = (0..6).map(|_| arrive(&tables, CLASS, FRAME).unwrap()).collect();
    assert_eq!(arrivals[..3], [none.clone(), none.clone(), none.clone()]);
    assert_eq!(arrivals[3..], [paused.clone(), paused.clone(), paused]);
    assert_eq!(tables.queue(1, CLASS).pauses.load(), 3, "each PAUSE has a number");
    let departures: Vec<_> = (0..4).map(|_| leave(&tables, CLASS, FRAME)).collect();
    assert_eq!(departures[..2], [none.clone(), none.clone()]);
    // At three frames 16 x (1048 + 1) = 16,784 is below 20,000 - 3144 = 16,856.
    assert_eq!(departures[2], [vec![], vec![CLASS]]);
    assert_eq!(departures[3], none, "it is not paused any more");
}

/// At three frames, a pool of 19,928 B has 16,784 B left: neither above nor below by 16 B.
#[test]
fn between_the_thresholds_nothing_happens() {
    let tables = switch(19_928, 90_000);
    for frames in 1..=4 {
        let [paused, _] = arrive(&tables, CLASS, FRAME).unwrap();
        assert_eq!(paused.is_empty(), frames < 4);
    }
    assert_eq!(leave(&tables, CLASS, FRAME), NOTHING);
    assert_eq!(leave(&tables, CLASS, FRAME), [vec![], vec![CLASS]]);
}

#[test]
fn a_pause_that_has_ended_by_itself_is_not_resumed() {
    let tables = switch(20_000, 90_000);
    (0..4).for_each(|_| drop(arrive(&tables, CLASS, FRAME)));
    tables.queue(1, CLASS).off.store(0);
    assert_eq!(leave(&tables, CLASS, FRAME), NOTHING);
}

/// Class 2 holds three frames. Class 3 then takes the pool that both share, so that a packet of class 3 pauses class 2, too.
#[test]
fn a_packet_tests_all_classes_of_its_port() {
    let tables = switch(20_000, 90_000);
    (0..3).for_each(|_| assert_eq!(arrive(&tables, 2, FRAME), Ok([vec![], vec![]])));
    // One frame of class 3: 20,000 - 4192 = 15,808, and 16 x 1048 = 16,768.
    assert_eq!(arrive(&tables, CLASS, FRAME), Ok([vec![2], vec![]]));
    // A packet of class 1 comes into the second ingress pool, which is empty, so that no class is paused.
    assert_eq!(arrive(&tables, 1, FRAME), Ok([vec![], vec![]]));
    assert_eq!(leave(&tables, 1, FRAME), NOTHING);
    // The frame of class 3 leaves, and the pool has 16,856 B left. The RESUME of class 2 waits for the next arrival.
    assert_eq!(leave(&tables, CLASS, FRAME), NOTHING);
    assert_eq!(arrive(&tables, 1, 60), Ok([vec![], vec![2]]));
}

/// The pool of 4000 B takes three frames, and headroom of 3000 B two more.
#[test]
fn packets_beyond_the_pool_need_headroom_and_return_it_first() {
    let tables = switch(4000, 90_000);
    let queue = tables.queue(1, CLASS);
    let held = || [queue.shared_bytes.load(), queue.headroom_bytes.load()];
    (0..3).for_each(|_| assert!(arrive(&tables, CLASS, FRAME).is_ok()));
    assert_eq!(held(), [3144, 0]);
    assert!(arrive(&tables, CLASS, FRAME).is_ok());
    assert_eq!(held(), [3144, FRAME]);
    assert!(arrive(&tables, CLASS, FRAME).is_ok());
    assert_eq!(arrive(&tables, CLASS, FRAME), Err(DropReason::HeadroomExhausted));
    // A queue's first frame needs no headroom.
    tables.ports[1].headroom_bytes.store(0);
    assert!(arrive(&tables, 2, FRAME).is_ok());
    assert_eq!(arrive(&tables, 2, 1), Err(DropReason::HeadroomExhausted));
    leave(&tables, CLASS, FRAME);
    assert_eq!(held(), [3144, FRAME]);
    // It is in use, so that nothing resumes.
    tables.queue(1, CLASS).off.store(1);
    leave(&tables, CLASS, 48);
    assert_eq!(held(), [3144, 1000]);
}

/// 1049 B of a queue are in no pool. A queue of 5 frames has 4191 B in the pool, and so has a sixth frame room for
/// 9430 - 4191 - 4191 = 1048 B.
#[test]
fn an_egress_queue_may_hold_what_its_pool_has_left() {
    for (pool, fits) in [(9430, true), (9429, false)] {
        let tables = switch(90_000, pool);
        (0..5).for_each(|_| assert!(arrive(&tables, CLASS, FRAME).is_ok()));
        assert_eq!(pools(&tables).unwrap().egress_used.load(), 4191);
        let outcome = arrive(&tables, CLASS, FRAME);
        assert_eq!(outcome.is_ok(), fits);
        if !fits {
            assert_eq!(outcome, Err(DropReason::EgressPoolExhausted));
        }
    }
}

#[test]
fn an_empty_switch_has_empty_pools() {
    let tables = switch(6000, 90_000);
    let lengths = [60, 1048, 548, 1048, 1048, 49, 1048];
    for length in lengths {
        arrive(&tables, CLASS, length).expect("there is room");
    }
    let held: u64 = tables.egress(0, CLASS).bytes.load();
    assert_eq!(held, lengths.iter().sum::<u64>());
    for length in lengths {
        leave(&tables, CLASS, length);
    }
    let pools = pools(&tables).unwrap();
    let used = [&pools.ingress_used, &pools.second_ingress_used, &pools.egress_used];
    assert_eq!(used.map(Cell64::load), [0; 3]);
    assert_eq!(tables.queue(1, CLASS).held_bytes(), 0);
}

/// 12 ports of 100 Gbit/s and 1 us in 9 MiB: headroom of 2 x 12,500 B and two frames, but 12,500 B for the last.
#[test]
fn frames_of_eight_queues_and_headroom_are_set_aside() {
    let settings = Settings { buffer: Bytes(9 << 20), ..Settings::default() };
    let products = [Bytes(25_000); 12];
    assert_eq!(settings.headroom(Bytes(25_000)), Bytes(27_096));
    let [ingress, egress] = settings.set_aside(products);
    assert_eq!(egress, Bytes(12 * 8 * 1048));
    assert_eq!(ingress, Bytes(11 * 27_096 + 14_596 + 12 * 8 * 1048));
    let tables = switch(0, 0);
    settings.write(&tables, products.map(|of_port| (BitsPerSecond(0), of_port)));
    let pools = pools(&tables).unwrap();
    assert_eq!(pools.ingress_bytes.load(), 9_437_184 - 413_260);
    assert_eq!(pools.egress_bytes.load(), 9_437_184 - 100_608);
}
