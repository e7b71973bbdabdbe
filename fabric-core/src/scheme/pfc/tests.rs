use std::collections::VecDeque;

use super::*;
use crate::admission::tests::arriving;
use crate::admission::{charge, release};
use crate::cell::Cell64;
use crate::hop_control::{HopControl, PauseLevel};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use crate::priority::Priority;
use crate::scheme::Stays;
use crate::tables::owned::OwnedTables;
use proptest::prelude::*;
use units::Nanos;

fn arrive(at: &Ingress<'_, OwnedTables>, pool: Pool) -> Option<Order> {
    let mut sent = None;
    let pauses = pause(at, Pfc::threshold(at), pool, &mut |order| sent = Some(*order));
    assert_eq!(pauses, sent.is_some());
    sent
}

fn depart(at: &Ingress<'_, OwnedTables>) -> Option<Order> {
    Pfc::resume(at)
}

/// X_off is 10,000 bytes.
fn tables() -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 100_000,
        static_xoff_bytes: 10_000,
        xon_offset_bytes: 2000,
        pause_quanta: 500,
        lossless_classes: 1 << 3,
        lossless_queues: 1,
        ..SwitchConfig::default()
    };
    OwnedTables::new(config, 5000)
}

fn at(tables: &OwnedTables) -> Ingress<'_, OwnedTables> {
    let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
    Ingress::new(tables, policy, 1, Priority::new(3)).unwrap()
}

/// The classes that an order pauses and resumes.
fn spoken(order: Option<Order>) -> Option<(u8, u8)> {
    order.map(|order| match order.control {
        HopControl::Classes(pauses) => (pauses.paused(), pauses.resumed()),
        other => panic!("{other:?}"),
    })
}

#[test]
fn the_two_states_of_figure_3() {
    let tables = tables();
    let at = at(&tables);
    at.queue.shared_bytes.store(10_000);
    assert_eq!(arrive(&at, Pool::Shared), None);
    at.queue.shared_bytes.store(10_001);
    assert_eq!(spoken(arrive(&at, Pool::Shared)), Some((8, 0)));
    assert_eq!(arrive(&at, Pool::Headroom), None);

    at.queue.shared_bytes.store(8000);
    at.queue.headroom_bytes.store(1);
    assert_eq!(depart(&at), None);
    at.queue.headroom_bytes.store(0);
    at.queue.shared_bytes.store(8001);
    assert_eq!(depart(&at), None);
    at.queue.shared_bytes.store(8000);
    assert_eq!(spoken(depart(&at)), Some((0, 8)));
    assert_eq!(depart(&at), None);
}

#[test]
fn the_first_packet_in_headroom_pauses() {
    let tables = tables();
    let at = at(&tables);
    at.queue.shared_bytes.store(9500);
    assert!(arrive(&at, Pool::Headroom).is_some());
}

/// Occupancy of the queue after the packet, and its limit. X_off is 10,000 bytes, and the packet
/// has 1000 bytes.
#[test]
fn a_pause_says_what_went_beyond_which_limit() {
    for (shared, headroom, of_others, expected) in [
        (10_001, 0, 0, [10_001, 10_000]),
        (9500, 1000, 0, [10_500, 10_000]),
        (9500, 1000, 90_000, [10_500, 10_000]),
        // 100 bytes are left of the shared pool.
        (9500, 1000, 90_400, [10_500, 9600]),
        (0, 1000, 99_900, [1000, 100]),
    ] {
        let tables = tables();
        let at = at(&tables);
        at.queue.shared_bytes.store(shared);
        at.queue.headroom_bytes.store(headroom);
        tables.switch.shared_bytes.store(shared + of_others);
        let pool = if headroom == 0 { Pool::Shared } else { Pool::Headroom };
        let order = arrive(&at, pool).unwrap();
        assert_eq!([order.occupancy_bytes, order.threshold_bytes], expected);
    }
}

#[test]
fn an_empty_queue_resumes_even_where_x_on_is_zero() {
    let mut tables = tables();
    tables.config.static_xoff_bytes = 1000;
    let at = at(&tables);
    at.queue.off.store(1);
    assert!(depart(&at).is_some());
}

#[test]
fn a_pause_is_renewed_until_it_is_over() {
    let tables = tables();
    let at = at(&tables);
    let renew = |pause| Pfc::renewal(&at, PauseLevel::Queue, pause, Nanos(0));
    assert_eq!(renew(0), None, "a queue that is ON");
    at.queue.shared_bytes.store(10_001);
    let order = arrive(&at, Pool::Shared).unwrap();
    assert_eq!(order.pause, 1);
    assert_eq!(spoken(renew(1)), Some((8, 0)));
    assert_eq!(renew(0), None, "an earlier pause");
    assert_eq!(Pfc::renewal(&at, PauseLevel::Port, 1, Nanos(0)), None, "PFC pauses no ports");
}

/// X_on is 8000 bytes; a queue with bytes in headroom resumes by departures only.
#[test]
fn a_renewal_ends_a_pause_that_is_over_if_it_is_tested_then() {
    for tested in [false, true] {
        let mut tables = tables();
        tables.config.tests_renewed_pauses = tested.into();
        let at = at(&tables);
        at.queue.shared_bytes.store(10_001);
        arrive(&at, Pool::Shared).unwrap();
        let renewal = || spoken(Pfc::renewal(&at, PauseLevel::Queue, 1, Nanos(0)));
        let may = || Pfc::may_resume(&at, PauseLevel::Queue, at.policy, Stays::default());
        at.queue.shared_bytes.store(8001);
        assert_eq!((renewal(), may()), (Some((8, 0)), false));
        at.queue.shared_bytes.store(8000);
        at.queue.headroom_bytes.store(1);
        assert_eq!((renewal(), may()), (Some((8, 0)), false));
        at.queue.headroom_bytes.store(0);
        assert!(may(), "whether the switch does it is the caller's to know");
        assert_eq!(renewal(), Some(if tested { (0, 8) } else { (8, 0) }));
        assert_eq!(at.queue.off.load() == 0, tested);
    }
}

/// Private buffer of a queue, which is filled to the byte.
const PRIVATE: u64 = 4096;
/// X_off minus X_on in these tests.
const XON_OFFSET: u64 = 3072;

/// A switch that fills private buffers to the byte, with the HPCC simulator's sizes: alpha is 1/8, and headroom is for
/// three packets of 1048 bytes.
fn splitting(shared_pool_bytes: u64) -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes,
        private_bytes: PRIVATE,
        xon_offset_bytes: XON_OFFSET,
        lossless_classes: 1 << 3,
        splits_packets: 1,
        ..SwitchConfig::default()
    };
    let tables = OwnedTables::new(config, 3 * 1048);
    for port in &tables.ports {
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(8);
    }
    tables
}

/// An ingress queue under DT.
fn under_dt(tables: &OwnedTables, port: u32) -> Ingress<'_, OwnedTables> {
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    Ingress::new(tables, policy, port, Priority::new(3)).unwrap()
}

/// True if the pipeline admits the packet.
fn admitted(at: Ingress<'_, OwnedTables>, length: u64) -> bool {
    let packet = arriving(at.tables, SchemeKind::Pfc, 0, length);
    let packet = Arriving { ingress: at, ..packet };
    let Ok(pool) = Pfc::admit(&packet) else { return false };
    let bytes = charge(&at, pool, length);
    Pfc::charge(&packet, pool, bytes);
    Pfc::after_arrival(&packet, pool, &mut |_| {});
    true
}

fn departed(at: Ingress<'_, OwnedTables>, length: u64) {
    release(&at, length);
    Pfc::resume(&at);
}

/// Private, shared and headroom bytes of a queue, and true if it is OFF.
fn held(at: &Ingress<'_, OwnedTables>) -> ([u64; 3], bool) {
    let queue = at.queue;
    let pools = [&queue.private_bytes, &queue.shared_bytes, &queue.headroom_bytes];
    (pools.map(Cell64::load), queue.off.load() != 0)
}

/// Packets of 1048 bytes; T is an eighth of the free bytes of a pool of 40,000 bytes.
#[test]
fn packets_are_split_between_the_private_buffer_and_the_shared_pool() {
    let tables = splitting(40_000);
    let at = under_dt(&tables, 1);
    let arrivals = [
        ([1048, 0, 0], false),
        ([2096, 0, 0], false),
        ([3144, 0, 0], false),
        ([4096, 96, 0], false),
        ([4096, 1144, 0], false),
        ([4096, 2192, 0], false),
        ([4096, 3240, 0], false),
        // T has fallen to 4464.
        ([4096, 4288, 0], false),
        ([4096, 4288, 1048], true),
        ([4096, 4288, 2096], true),
        ([4096, 4288, 3144], true),
    ];
    for expected in arrivals {
        assert!(admitted(at, 1048));
        assert_eq!(held(&at), expected);
    }
    assert!(!admitted(at, 1048), "headroom is full to the byte");
    let departures = [
        ([4096, 4288, 2096], true),
        ([4096, 4288, 1048], true),
        ([4096, 4288, 0], true),
        ([4096, 3240, 0], true),
        ([4096, 2192, 0], true),
        // X_on is 4857 - 3072.
        ([4096, 1144, 0], false),
        ([4096, 96, 0], false),
        ([3144, 0, 0], false),
        ([2096, 0, 0], false),
        ([1048, 0, 0], false),
        ([0, 0, 0], false),
    ];
    for expected in departures {
        departed(at, 1048);
        assert_eq!(held(&at), expected);
    }
}

#[test]
fn limits_may_be_reached_where_packets_are_split() {
    // Private and shared bytes of the queue, shared bytes of all queues, length of the packet, and bytes of the queue
    // afterwards.
    for (private, shared, of_all, length, expected) in [
        (3048, 0, 0, 1048, [4096, 0, 0]),
        (3048, 0, 40_000, 1048, [4096, 0, 0]),
        (3048, 0, 39_992, 1049, [4096, 1, 0]),
        (3048, 0, 39_993, 1049, [3048, 0, 1049]),
        (4096, 3000, 8000, 1000, [4096, 4000, 0]),
        (4096, 3000, 8001, 1000, [4096, 3000, 1000]),
    ] {
        let tables = splitting(40_000);
        let at = under_dt(&tables, 1);
        at.queue.private_bytes.store(private);
        at.queue.shared_bytes.store(shared);
        at.switch.shared_bytes.store(of_all);
        assert!(admitted(at, length));
        assert_eq!(held(&at).0, expected, "{private} {shared} {of_all} {length}");
    }
}

/// A queue as counted by the HPCC simulator: one number for the bytes in its reserve and in the shared pool.
#[derive(Default)]
struct SimulatedQueue {
    ingress: u64,
    headroom: u64,
    paused: bool,
    packets: VecDeque<u64>,
}

impl SimulatedQueue {
    fn shared(&self) -> u64 {
        self.ingress.saturating_sub(PRIVATE)
    }

    /// True if a packet is admitted. `of_all` are the bytes used in the shared pool of `pool` bytes.
    fn arrive(&mut self, length: u64, headroom: u64, of_all: &mut u64, pool: u64) -> bool {
        let shared = (self.ingress + length).saturating_sub(PRIVATE);
        if shared <= (pool - *of_all) / 8 || shared == 0 {
            *of_all += shared - self.shared();
            self.ingress += length;
        } else if self.headroom + length <= headroom {
            self.headroom += length;
        } else {
            return false;
        }
        self.packets.push_back(length);
        // xoff pauses a queue above the threshold, the simulator at the threshold.
        self.paused |= self.headroom > 0 || self.shared() > (pool - *of_all) / 8;
        true
    }

    fn depart(&mut self, length: u64, of_all: &mut u64, pool: u64) {
        let from_headroom = self.headroom.min(length);
        let from_shared = self.shared().min(length - from_headroom);
        self.headroom -= from_headroom;
        self.ingress -= length - from_headroom;
        *of_all -= from_shared;
        let shared = self.shared();
        let low = shared == 0 || shared + XON_OFFSET <= (pool - *of_all) / 8;
        self.paused &= self.headroom != 0 || !low;
    }
}

proptest! {
    /// With any arrivals and departures at two ports, each byte is in one pool, and the pools match the simulator's.
    #[test]
    fn split_packets_are_counted_as_in_the_hpcc_simulator(
        pool in 8000..60_000u64,
        steps in proptest::collection::vec((0..2u32, 60..1600u64, 0..5u8), 1..200),
    ) {
        let tables = splitting(pool);
        let mut of_all = 0;
        let mut simulated = [SimulatedQueue::default(), SimulatedQueue::default()];
        for (port, length, kind) in steps {
            let at = under_dt(&tables, port);
            let queue = &mut simulated[port as usize];
            if kind < 3 {
                let headroom = at.port.headroom_bytes.load();
                let expected = queue.arrive(length, headroom, &mut of_all, pool);
                prop_assert_eq!(admitted(at, length), expected);
            } else if let Some(length) = queue.packets.pop_front() {
                departed(at, length);
                queue.depart(length, &mut of_all, pool);
            }
            let ([private, shared, headroom], off) = held(&at);
            prop_assert_eq!(
                (private, shared, headroom, off),
                (queue.ingress.min(PRIVATE), queue.shared(), queue.headroom, queue.paused)
            );
            prop_assert_eq!(private + shared + headroom, queue.packets.iter().sum::<u64>());
            prop_assert_eq!(tables.switch.shared_bytes.load(), of_all);
            let all = [0, 1].map(|port| held(&under_dt(&tables, port)).0);
            prop_assert_eq!(tables.switch.private_bytes.load(), all[0][0] + all[1][0]);
            prop_assert_eq!(tables.switch.headroom_bytes.load(), all[0][2] + all[1][2]);
        }
    }
}
