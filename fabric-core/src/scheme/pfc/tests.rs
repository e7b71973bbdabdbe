use super::*;
use crate::hop_control::{HopControl, PauseLevel};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, Policy, ThresholdScheme};
use crate::priority::Priority;
use crate::tables::owned::OwnedTables;
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
    Ingress::of(tables, policy, 1, Priority::new(3)).unwrap()
}

/// The classes that are paused and those that are resumed.
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

/// What the queue held after the packet, and what it would have to stay within; X_off is 10,000 bytes, and
/// the packet has 1000.
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
        let may = || Pfc::may_resume(&at, PauseLevel::Queue, at.policy, 0);
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
