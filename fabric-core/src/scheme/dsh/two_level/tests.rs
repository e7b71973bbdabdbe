use super::super::pools::keeps_insurance;
use super::super::settings::Settings;
use super::super::state::{PortLine, QueueLine};
use super::*;
use crate::policy::{MarkingScheme, Policy, SchemeKind};
use crate::priority::Priority;
use crate::scheme::Configure as _;
use crate::scheme::Stays;
use crate::tables::owned::OwnedTables;
use units::{BitsPerSecond, Bytes};

const PORT: u32 = 1;
const PHI: u64 = 6400;
const POLICY: Policy =
    Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off).with_scheme(SchemeKind::Dsh, 0);

/// Priorities 2 and 5 are lossless, and T is a tenth of the free bytes of a pool of 200,000 bytes.
fn tables() -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 200_000,
        xon_offset_bytes: 1000,
        pause_quanta: 500,
        lossless_classes: 1 << 2 | 1 << 5,
        lossless_queues: 2,
        ..SwitchConfig::default()
    };
    let tables = OwnedTables::new(config, PHI);
    for port in &tables.ports {
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(10);
    }
    let settings = Settings {
        options: Options::default(),
        port_xon_offset: Bytes(2000),
        single_queue_window: Nanos(10_000_000),
        gradient_weight_shift: 2,
        deviation_weight_shift: 2,
        deviation_gain_shift: 2,
        ..Settings::default()
    };
    settings.write(&tables, [(BitsPerSecond(100_000_000_000), Bytes(PHI)); 2]);
    tables
}

fn ingress(tables: &OwnedTables, priority: u8) -> Ingress<'_, OwnedTables> {
    Ingress::new(tables, POLICY, PORT, Priority::new(priority)).unwrap()
}

fn port<'a>(at: &Ingress<'a, OwnedTables>) -> &'a PortLine {
    state::port(at).unwrap()
}

fn line<'a>(at: &Ingress<'a, OwnedTables>) -> &'a QueueLine {
    state::queue(at).unwrap()
}

fn renew(tables: &OwnedTables, level: PauseLevel, priority: u8, pause: u32) -> Option<Order> {
    Dsh::renewal(&ingress(tables, priority), level, pause, Nanos(0))
}

/// The ingress queue of `priority` without shared headroom.
fn unshared(tables: &OwnedTables, priority: u8) -> Ingress<'_, OwnedTables> {
    let options = Options { shared_headroom: false, ..Options::default() };
    let policy = POLICY.with_scheme(SchemeKind::Dsh, options.to_bits());
    Ingress::new(tables, policy, PORT, Priority::new(priority)).unwrap()
}

/// Adds bytes in the shared pool to a queue.
fn hold(at: &Ingress<'_, OwnedTables>, bytes: u64) {
    for cell in [&at.queue.shared_bytes, &port(at).shared_bytes, &at.switch.shared_bytes] {
        cell.add::<OwnedTables>(bytes);
    }
}

fn give_back(at: &Ingress<'_, OwnedTables>, bytes: u64) {
    hold(at, bytes.wrapping_neg());
}

fn insure(at: &Ingress<'_, OwnedTables>, bytes: u64) {
    let of_port = &port(at).insurance_bytes;
    for cell in [&at.queue.headroom_bytes, of_port, &at.switch.headroom_bytes] {
        cell.add::<OwnedTables>(bytes);
    }
}

fn arrive(at: &Ingress<'_, OwnedTables>, pool: Pool, now: Nanos) -> Option<Order> {
    let mut sent = None;
    after_arrival(at, pool, now, &mut |order| sent = Some(*order));
    sent
}

/// Level of an order, and the classes that it pauses and resumes.
fn spoken(order: Option<Order>) -> Option<(PauseLevel, u8, u8)> {
    order.map(|order| match order.control {
        HopControl::Classes(pauses) => (order.level, pauses.paused(), pauses.resumed()),
        other => panic!("{other:?}"),
    })
}

/// Eq. 10 by hand. Another port holds 80,000, this queue s: T = (120,000 - s) / 10. The packet of
/// s bytes comes s/12.5 ns after an empty queue, so g = 1 (line rate) in one step of weight 1/4:
/// g_avg = v_avg = 1/4, g-hat = 1/4 + 4/4 > 1, phi-hat = Phi.
#[test]
fn a_queue_pauses_tau_below_its_threshold() {
    for (bytes, pauses) in [(5090, false), (5092, true)] {
        let tables = tables();
        tables.switch.shared_bytes.store(80_000);
        let at = ingress(&tables, 2);
        hold(&at, bytes);
        // X_qoff = (120,000 - 5090) / 10 - 6400 = 5091.
        let order = arrive(&at, Pool::Shared, Nanos(bytes * 2 / 25));
        assert_eq!(line(&at).tau_bytes.load(), PHI as u32);
        assert_eq!(order.is_some(), pauses, "{bytes}");
        if let Some(order) = order {
            assert_eq!(spoken(Some(order)), Some((PauseLevel::Queue, 1 << 2, 0)));
            assert_eq!((order.occupancy_bytes, order.threshold_bytes), (5092, 5090));
            assert_eq!(order.shared_free_bytes, 114_908);
        }
    }
}

/// The queue above without shared headroom: T = (120,000 - s) / 10 equals s at 10,909, and g = 1 has no effect on tau.
#[test]
fn without_shared_headroom_a_queue_pauses_at_its_threshold() {
    for (bytes, pauses) in [(10_909, false), (10_910, true)] {
        let tables = tables();
        tables.switch.shared_bytes.store(80_000);
        let at = unshared(&tables, 2);
        hold(&at, bytes);
        let order = arrive(&at, Pool::Shared, Nanos(bytes * 2 / 25));
        assert_eq!(line(&at).tau_bytes.load(), 0);
        assert_eq!(spoken(order), pauses.then_some((PauseLevel::Queue, 1 << 2, 0)));
    }
}

/// X_qon = X_qoff - delta_q.
#[test]
fn a_queue_resumes_delta_below_that() {
    let tables = tables();
    let at = ingress(&tables, 2);
    at.queue.off.store(1);
    line(&at).tau_bytes.store(4000);
    // X_qon = (200,000 - s) / 10 - 4000 - 1000 = 15,000 - s/10, which s meets at 13,636.
    hold(&at, 13_637);
    assert_eq!(after_departure(&at), None);
    give_back(&at, 1);
    assert_eq!(spoken(after_departure(&at)), Some((PauseLevel::Queue, 0, 1 << 2)));
    assert_eq!(after_departure(&at), None);
}

/// Algorithm 4: after 10 ms with one queue only, X_qoff is T.
#[test]
fn a_single_queue_has_no_margin() {
    let tables = tables();
    let at = ingress(&tables, 2);
    hold(&at, 1000);
    arrive(&at, Pool::Shared, Nanos(80));
    assert_eq!(line(&at).tau_bytes.load(), PHI as u32);
    arrive(&at, Pool::Shared, Nanos(10_000_081));
    assert_eq!(line(&at).tau_bytes.load(), 0);
    arrive(&ingress(&tables, 5), Pool::Shared, Nanos(10_000_082));
    hold(&at, 1000);
    arrive(&at, Pool::Shared, Nanos(10_000_162));
    assert_ne!(line(&at).tau_bytes.load(), 0);
}

/// Eq. 11: X_poff = 2 (200,000 - s) / 10, which s meets at 33,332. Long gaps keep tau at 0.
#[test]
fn a_port_pauses_all_lossless_classes() {
    let tables = tables();
    let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
    hold(&two, 16_000);
    assert_eq!(arrive(&two, Pool::Shared, Nanos(1 << 40)), None);
    hold(&five, 17_332);
    let order = arrive(&five, Pool::Shared, Nanos(1 << 41));
    assert_eq!(spoken(order), Some((PauseLevel::Queue, 1 << 5, 0)), "5 is above T, 2 is not");
    hold(&two, 1);
    let order = arrive(&two, Pool::Shared, Nanos(1 << 42));
    assert_eq!(spoken(order), Some((PauseLevel::Port, 1 << 2 | 1 << 5, 0)));
    let order = order.unwrap();
    assert_eq!((order.occupancy_bytes, order.threshold_bytes), (33_333, 33_332));
    hold(&two, 1000);
    assert_eq!(arrive(&two, Pool::Shared, Nanos(1 << 43)), None, "is OFF");
    assert_eq!(two.queue.off.load(), 1, "its queue, too, but the port's pause covers it");
    assert_eq!((two.queue.pauses.load(), five.queue.pauses.load()), (0, 1));
}

/// With an alpha of 1/4 instead, Eq. 11 is 2 (200,000 - s) / 4, which s meets at 66,666.
#[test]
fn a_port_pauses_by_its_own_alpha() {
    let tables = tables();
    tables.ports[PORT as usize].alpha_denominator.store(4);
    let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
    hold(&two, 33_333);
    hold(&five, 33_333);
    assert_eq!(arrive(&two, Pool::Shared, Nanos(1 << 40)), None);
    hold(&two, 1);
    let order = arrive(&two, Pool::Shared, Nanos(1 << 41)).unwrap();
    assert_eq!((order.level, order.threshold_bytes), (PauseLevel::Port, 66_666));
    let other = Ingress::new(&tables, POLICY, 0, Priority::new(2)).unwrap();
    assert_eq!(Dsh::threshold(&other), 13_333);
}

#[test]
fn a_packet_in_insurance_pauses_the_port() {
    let tables = tables();
    let at = ingress(&tables, 2);
    insure(&at, 1000);
    let order = arrive(&at, Pool::Headroom, Nanos(1 << 40));
    assert_eq!(spoken(order), Some((PauseLevel::Port, 1 << 2 | 1 << 5, 0)));
}

/// X_poff = 2 (200,000 - s) / 10, where s are the bytes of the port, which holds `held`, and of
/// other ports; 1000 bytes are in insurance.
#[test]
fn a_ports_pause_says_what_went_beyond_which_limit() {
    for (held, of_others, expected) in [
        (33_000, 0, [34_000, 33_400]),
        // X_poff is 100 and 10 bytes, less than the free bytes of the pool.
        (0, 199_500, [1000, 100]),
        (50, 199_900, [1050, 10]),
    ] {
        let tables = tables();
        let at = ingress(&tables, 2);
        hold(&at, held);
        insure(&at, 1000);
        tables.switch.shared_bytes.add::<OwnedTables>(of_others);
        let order = arrive(&at, Pool::Headroom, Nanos(1 << 40)).unwrap();
        assert_eq!([order.occupancy_bytes, order.threshold_bytes], expected);
    }
    let tables = tables();
    tables.ports[PORT as usize].alpha_denominator.store(1);
    let at = ingress(&tables, 2);
    hold(&at, 500);
    insure(&at, 1000);
    tables.switch.shared_bytes.add::<OwnedTables>(199_400);
    let order = arrive(&at, Pool::Headroom, Nanos(1 << 40)).unwrap();
    let both = [order.occupancy_bytes, order.threshold_bytes];
    assert_eq!(both, [1500, 200], "X_poff; the shared pool has 100 bytes besides the port's 500");
}

/// Without shared headroom a queue that is OFF has no share, whatever is free in the pool.
#[test]
fn without_shared_headroom_the_limit_of_an_off_queue_is_what_its_port_holds() {
    let tables = tables();
    let at = unshared(&tables, 2);
    at.queue.off.store(1);
    hold(&at, 12_000);
    insure(&at, 1000);
    let order = arrive(&at, Pool::Headroom, Nanos(1 << 40)).unwrap();
    assert_eq!([order.occupancy_bytes, order.threshold_bytes], [13_000, 12_000]);
}

/// The port turns ON when insurance is empty and s <= X_pon = 2 (200,000 - s) / 10 - 2000, that is
/// 31,666. The RESUME names the class whose queue is ON.
#[test]
fn a_port_resumes_the_classes_whose_queues_are_on() {
    let tables = tables();
    let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
    port(&two).off.store(1);
    five.queue.off.store(1);
    hold(&two, 7000);
    hold(&five, 24_667);
    assert_eq!(after_departure(&two), None);
    give_back(&five, 1);
    let order = after_departure(&two);
    assert_eq!(spoken(order), Some((PauseLevel::Port, 1 << 5, 1 << 2)));
    assert_eq!(order.unwrap().threshold_bytes, 31_666);
    assert_eq!(five.queue.pauses.load(), 1, "its own pause begins");
    assert!(renew(&tables, PauseLevel::Queue, 5, 1).is_some());
}

#[test]
fn a_queue_that_turns_on_while_its_port_is_off_says_nothing_until_the_port_does() {
    let tables = tables();
    let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
    port(&two).off.store(1);
    two.queue.off.store(1);
    hold(&five, 40_000);
    hold(&two, 100);
    assert_eq!(after_departure(&two), None);
    assert_eq!(two.queue.off.load(), 0);
    five.queue.off.store(1);
    give_back(&five, 39_900);
    assert_eq!(spoken(after_departure(&five)), Some((PauseLevel::Port, 0, 1 << 2 | 1 << 5)));
}

/// A queue that waits behind a PAUSE holds all insurance; departures from the port's other queue
/// free the port.
#[test]
fn what_makes_room_in_the_share_empties_insurance() {
    let tables = tables();
    let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
    port(&two).off.store(1);
    hold(&two, 30_000);
    hold(&five, 4000);
    insure(&five, 3000);
    // X_poff = 2 (200,000 - 34,000) / 10 = 33,200.
    assert_eq!(after_departure(&two), None);
    assert_eq!(five.queue.headroom_bytes.load(), 3000, "34,000 are above it");
    give_back(&two, 2000);
    // 33,600 - 32,000 = 1600 bytes find room.
    assert_eq!(after_departure(&two), None);
    let held = |cell: &crate::cell::Cell64| cell.load();
    assert_eq!((held(&five.queue.headroom_bytes), held(&five.queue.shared_bytes)), (1400, 5600));
    assert_eq!((held(&port(&two).insurance_bytes), held(&port(&two).shared_bytes)), (1400, 33_600));
    assert_eq!(
        (held(&tables.switch.headroom_bytes), held(&tables.switch.shared_bytes)),
        (1400, 33_600)
    );
}

/// X_qon = (200,000 - s) / 10 - 1000, which s meets at 17,272.
#[test]
fn without_shared_headroom_insurance_waits_for_its_queue() {
    let tables = tables();
    let (two, five) = (unshared(&tables, 2), unshared(&tables, 5));
    port(&two).off.store(1);
    two.queue.off.store(1);
    hold(&two, 17_273);
    insure(&two, 3000);
    assert_eq!(after_departure(&five), None);
    assert_eq!(port(&two).insurance_bytes.load(), 3000, "there is room, but 2 is OFF");
    assert!(keeps_insurance(&five), "no room would change that");
    assert!(!keeps_insurance(&ingress(&tables, 5)), "shared headroom would");
    give_back(&two, 1);
    assert_eq!(after_departure(&two), None);
    assert_eq!(two.queue.off.load(), 0);
    assert!(!keeps_insurance(&five));
    let order = after_departure(&five);
    assert_eq!(spoken(order), Some((PauseLevel::Port, 0, 1 << 2 | 1 << 5)));
    assert_eq!(port(&two).insurance_bytes.load(), 0);
}

/// All of a port's packets are blocked, so that none departs. When other ports have drained, the
/// refresh of its pause turns it ON.
#[test]
fn a_refresh_resumes_a_port_without_departures() {
    let tables = tables();
    let at = ingress(&tables, 2);
    hold(&at, 20_000);
    insure(&at, 3000);
    arrive(&at, Pool::Headroom, Nanos(1 << 40));
    tables.switch.shared_bytes.add::<OwnedTables>(120_000);
    let refreshed = renew(&tables, PauseLevel::Port, 2, 1);
    assert_eq!(spoken(refreshed), Some((PauseLevel::Port, 1 << 2 | 1 << 5, 0)));
    assert_eq!(renew(&tables, PauseLevel::Port, 2, 0), None, "an earlier pause");
    tables.switch.shared_bytes.sub::<OwnedTables>(120_000);
    assert_eq!(
        spoken(renew(&tables, PauseLevel::Port, 2, 1)),
        Some((PauseLevel::Port, 1 << 2, 1 << 5)),
        "2 is above its own threshold"
    );
    assert_eq!(port(&at).insurance_bytes.load(), 0);
    assert_eq!(renew(&tables, PauseLevel::Port, 2, 1), None, "it is ON");
}

#[test]
fn a_port_may_hold_what_its_queues_may_hold_together() {
    for queues in 1..=8 {
        let config = SwitchConfig { lossless_queues: queues, ..SwitchConfig::default() };
        assert_eq!(port_xoff(&config, 10_000), 10_000 * u64::from(queues));
        assert!(port_xoff(&config, u64::MAX) >= 1 << 59, "more than any buffer");
    }
}

#[test]
fn a_queues_pause_is_renewed_unless_its_ports_covers_it() {
    let tables = tables();
    let at = ingress(&tables, 2);
    hold(&at, 30_000);
    assert!(arrive(&at, Pool::Shared, Nanos(1 << 40)).is_some());
    assert_eq!(
        spoken(renew(&tables, PauseLevel::Queue, 2, 1)),
        Some((PauseLevel::Queue, 1 << 2, 0))
    );
    assert_eq!(renew(&tables, PauseLevel::Queue, 2, 0), None, "an earlier pause");
    port(&at).off.store(1);
    assert_eq!(renew(&tables, PauseLevel::Queue, 2, 1), None, "the port's pause covers it");
}

/// X_qon = (200,000 - s) / 10 - 1000 is 9,000 while others hold 80,000, and 17,000 when they have drained.
#[test]
fn a_refresh_resumes_a_queue_whose_threshold_has_risen_if_it_is_tested_then() {
    for tested in [false, true] {
        let mut tables = tables();
        tables.config.tests_renewed_pauses = tested.into();
        let at = ingress(&tables, 2);
        hold(&at, 20_000);
        tables.switch.shared_bytes.add::<OwnedTables>(80_000);
        assert!(arrive(&at, Pool::Shared, Nanos(1 << 40)).is_some());
        let renewal = || spoken(renew(&tables, PauseLevel::Queue, 2, 1));
        let paused = Some((PauseLevel::Queue, 1 << 2, 0));
        assert_eq!(renewal(), paused, "20,000 are above it");
        tables.switch.shared_bytes.sub::<OwnedTables>(80_000);
        give_back(&at, 2727);
        assert_eq!(renewal(), paused, "17,273 are above 17,272");
        give_back(&at, 1);
        let resumed = Some((PauseLevel::Queue, 0, 1 << 2));
        assert_eq!(renewal(), if tested { resumed } else { paused });
        assert_eq!(at.queue.off.load() == 0, tested);
    }
}

/// The port of [`a_refresh_resumes_a_port_without_departures`], with queue 2 below its own threshold.
#[test]
fn the_resume_of_a_port_tests_the_queues_whose_pauses_it_would_renew() {
    for tested in [false, true] {
        let mut tables = tables();
        tables.config.tests_renewed_pauses = tested.into();
        let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
        port(&two).off.store(1);
        hold(&two, 10_000);
        hold(&five, 19_000);
        for queue in [&two, &five] {
            queue.queue.off.store(1);
        }
        let order = renew(&tables, PauseLevel::Port, 2, 0);
        // X_qon = (200,000 - 29,000) / 10 - 1000 = 16,100.
        let (paused, resumed) = if tested { (1 << 5, 1 << 2) } else { (1 << 2 | 1 << 5, 0) };
        assert_eq!(spoken(order), Some((PauseLevel::Port, paused, resumed)));
        assert_eq!((two.queue.off.load() == 0, five.queue.off.load()), (tested, 1));
    }
}

/// The remaining bytes of the other queues decide: X_qon = (200,000 - stays) / 10 - 1000.
#[test]
fn a_queue_may_resume_if_what_stays_leaves_it_enough() {
    let tables = tables();
    let at = ingress(&tables, 2);
    at.queue.off.store(1);
    hold(&at, 12_000);
    tables.switch.shared_bytes.add::<OwnedTables>(150_000);
    let stays = |in_pool| Stays { in_pool, beside: 0 };
    let may = |in_pool| Dsh::may_resume(&at, PauseLevel::Queue, POLICY, stays(in_pool));
    assert!(may(70_000));
    assert!(!may(70_001));
    line(&at).tau_bytes.store(100);
    assert!(may(69_000));
    assert!(!may(69_001));
}
