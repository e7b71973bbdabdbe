//! Numbers follow from the simulator's rules by hand: frames of 1048 B, alpha 1/8, an offset of 2496 B.

use units::{BitsPerSecond, Bytes, Nanos};

use super::*;
use crate::admission;
use crate::admission::tests::{arriving, idle};
use crate::map_abi::SwitchConfig;
use crate::policy::SchemeKind;
use crate::scheme::Configure;
use crate::tables::owned::OwnedTables;

const FRAME: u64 = 1048;
const CLASS: u8 = 3;

/// A switch with an ingress pool and an egress pool of these sizes, and 3000 B of headroom for each queue.
fn switch(ingress: u64, egress: u64, egress_alpha: u64) -> OwnedTables {
    let config = SwitchConfig {
        lossless_classes: 1 << CLASS,
        xon_offset_bytes: 2496,
        ..SwitchConfig::default()
    };
    let tables = idle(config, 0);
    for port in &tables.ports {
        port.headroom_bytes.store(3000);
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(8);
    }
    let pools = pools(&tables).unwrap();
    for (cell, number) in [
        (&pools.ingress_bytes, ingress),
        (&pools.egress_bytes, egress),
        (&pools.headroom_bytes, 1_000_000),
        (&pools.egress_alpha, egress_alpha),
        (&pools.xon_bytes, 1248),
        (&pools.egress_used, 0),
    ] {
        cell.store(number);
    }
    tables
}

/// A switch whose egress pool never is in the way.
fn wide(ingress: u64) -> OwnedTables {
    switch(ingress, 1 << 30, 65_535)
}

/// Takes a packet in. Returns its pool, and true if it pauses.
fn arrive(tables: &OwnedTables, length: u64) -> Result<(Pool, bool), DropReason> {
    let packet = arriving(tables, SchemeKind::SonicPools, 0, length);
    let pool = SonicPools::admit(&packet)?;
    let bytes = admission::charge(&packet.ingress, pool, length);
    SonicPools::charge(&packet, pool, bytes);
    packet.egress.bytes.add::<OwnedTables>(length);
    let mut orders = Vec::new();
    SonicPools::after_arrival(&packet, pool, &mut |order| orders.push(*order));
    assert!(orders.iter().all(|order| !order.resumes));
    Ok((pool, !orders.is_empty()))
}

/// Sends a packet. Returns true if it resumes.
fn leave(tables: &OwnedTables, length: u64) -> bool {
    let Arriving { ingress, egress_port, queue, egress, now, .. } =
        arriving(tables, SchemeKind::SonicPools, 0, length);
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
    SonicPools::release(&packet, given_back);
    egress.bytes.sub::<OwnedTables>(length);
    let mut orders = Vec::new();
    SonicPools::after_departure(&packet, &mut |order| orders.push(*order));
    assert!(orders.iter().all(|order| order.resumes));
    !orders.is_empty()
}

/// Two frames are 2096 B, and the threshold is (20,000 - 2096) / 8 = 2238 B. With a third it is (20,000 - 3144) / 8 = 2107 B.
/// Its headroom of 3000 B takes one more.
#[test]
fn the_packet_above_the_threshold_pauses_once_and_headroom_takes_all_behind_it() {
    let tables = wide(20_000);
    let arrivals: Vec<_> = (0..5).map(|_| arrive(&tables, FRAME)).collect();
    let expected = [
        Ok((Pool::Shared, false)),
        Ok((Pool::Shared, false)),
        Ok((Pool::Headroom, true)),
        Ok((Pool::Headroom, false)),
        Err(DropReason::HeadroomExhausted),
    ];
    assert_eq!(arrivals, expected);
    // Behind the second departure headroom is empty, but 2096 + 2496 is above 2238 B. One frame is less than 1248 B.
    assert_eq!([(); 4].map(|()| leave(&tables, FRAME)), [false, false, true, false]);
}

/// 22 frames are the first to be above an eighth of what a pool of 200,000 B has left. With 20 of them, 20,960 + 2496 B are
/// above (200,000 - 20,960) / 8 = 22,380 B; with 19, 19,912 + 2496 = 22,408 are below 22,511 B.
#[test]
fn a_queue_resumes_below_its_threshold_by_the_offset() {
    let tables = wide(200_000);
    let pauses = (1..=22).find(|_| arrive(&tables, FRAME).unwrap().1);
    assert_eq!(pauses, Some(22));
    let resumes = (1..=22).find(|_| leave(&tables, FRAME));
    assert_eq!(resumes.map(|left| 22 - left), Some(19));
}

/// A queue of 1048 B is above (8072 - 1048) / 8 = 878 B, and one of 5 B is below (8072 - 5) / 8.
#[test]
fn the_first_packet_in_headroom_needs_no_room_there() {
    let tables = wide(8072);
    tables.ports[1].headroom_bytes.store(500);
    assert_eq!(arrive(&tables, 5), Ok((Pool::Shared, false)));
    assert_eq!(arrive(&tables, 1043), Ok((Pool::Headroom, true)));
    assert_eq!(arrive(&tables, 1), Err(DropReason::HeadroomExhausted));
}

#[test]
fn all_headroom_bounds_the_headroom_of_a_queue() {
    let tables = wide(0);
    pools(&tables).unwrap().headroom_bytes.store(1500);
    assert_eq!(arrive(&tables, 1000), Ok((Pool::Headroom, true)));
    assert_eq!(arrive(&tables, 500), Ok((Pool::Headroom, false)));
    assert_eq!(arrive(&tables, 1), Err(DropReason::HeadroomExhausted));
}

/// Three frames of 1048 B fill a pool of 4000 B. With alpha 1 the third would have 3144 B, of 1904 B left.
#[test]
fn an_egress_queue_may_hold_alpha_times_what_its_pool_has_left() {
    for (alpha, expected) in [(65_535, 3), (1, 2)] {
        let tables = switch(1 << 30, 4000, alpha);
        let taken = (0..).find_map(|taken| match arrive(&tables, FRAME) {
            Ok(_) => None,
            Err(reason) => Some((taken, reason)),
        });
        assert_eq!(taken, Some((expected, DropReason::EgressPoolExhausted)));
    }
}

/// Two ports of 9375 B, which three products of 25 Gbit/s and 1 us are, set 150,000 B aside.
#[test]
fn headroom_of_eight_queues_is_set_aside_and_may_wrap() {
    let ports = [(BitsPerSecond(25_000_000_000), Bytes(9375)); 2];
    let [zero, sizes] = [(4 << 20), 150_000].map(|buffer| {
        let tables = wide(0);
        let settings = Settings { buffer: Bytes(buffer), ..Settings::default() };
        settings.write(&tables, ports);
        let pools = pools(&tables).unwrap();
        [&pools.ingress_bytes, &pools.egress_bytes, &pools.headroom_bytes].map(Cell64::load)
    });
    assert_eq!(zero, [(4 << 20) - 150_000, 4 << 20, 150_000]);
    assert_eq!(sizes, [0, 150_000, 150_000]);
    let tables = wide(0);
    let small = Settings { buffer: Bytes(149_999), ..Settings::default() };
    small.write(&tables, ports);
    // Nothing pauses, and the buffer ends at the packet that it has no room for.
    let taken = (0..).find_map(|taken| match arrive(&tables, FRAME) {
        Ok((Pool::Shared, false)) => None,
        other => Some((taken, other)),
    });
    assert_eq!(taken, Some((149_999 / FRAME, Err(DropReason::EgressPoolExhausted))));
}

#[test]
fn an_empty_switch_has_empty_pools() {
    let tables = wide(6000);
    let lengths = [60, 400, 548, 200, 1048, 49, 1000];
    for length in lengths {
        arrive(&tables, length).expect("there is room");
    }
    assert_eq!(pools(&tables).unwrap().egress_used.load(), lengths.iter().sum::<u64>());
    for length in lengths {
        leave(&tables, length);
    }
    assert_eq!(pools(&tables).unwrap().egress_used.load(), 0);
    assert_eq!((tables.switch.buffered_bytes(), tables.queue(1, CLASS).off.load()), (0, 0));
}
