//! Flow control of queues and of ports (Section IV-E).
//!
//! A class is paused at the neighbour while its queue or its port is OFF. A port that goes OFF pauses all
//! lossless classes in one frame; while it is OFF queues change their states without a frame. A port
//! that goes ON resumes the classes whose queues are ON, and the same frame renews the pauses of the
//! others, which are their queues' own from then on.

use super::activity;
use super::estimation;
use super::pools::{has_share, settle};
use crate::flow_control::{FlowControl, Ingress, Order};
use crate::map_abi::{PRIORITIES, Pool};
use crate::policy::ThresholdScheme;
use crate::tables::{Tables, ingress_index};
use crate::units::Nanos;

/// Queues under X_qoff = T - tau (Eq. 10), ports under X_poff = N_q T (Eq. 11).
#[derive(Debug)]
pub struct TwoLevel;

impl FlowControl for TwoLevel {
    #[inline(always)]
    fn after_arrival<T: Tables>(at: &Ingress<'_, T>, pool: Pool, now: Nanos) -> Option<Order> {
        let Ingress { config, port, queue, .. } = *at;
        let single = activity::observe(config, port, at.priority, now);
        estimation::measure(at, now);
        if !matches!(at.policy.threshold(), ThresholdScheme::Stored) {
            queue.tau_bytes.store(tau(at, single));
        }
        let threshold = at.threshold();
        let queue_xoff = at.queue_xoff(threshold);
        let had_share = has_share(at.policy, queue);
        let queue_turns_off = queue.off.load() == 0 && queue.shared_bytes.load() > queue_xoff;
        if queue_turns_off {
            queue.off.store(1);
        }
        if port.off.load() != 0 {
            return None;
        }
        let port_xoff = at.port_xoff(threshold);
        let shared = port.shared_bytes.load();
        if shared > port_xoff || matches!(pool, Pool::Headroom) {
            port.off.store(1);
            port.pauses.add(1);
            let room = if had_share { at.shared_free() } else { 0 };
            return Some(at.pause_port(port_xoff.min(shared + room)));
        }
        if !queue_turns_off {
            return None;
        }
        queue.pauses.add(1);
        Some(at.pause_queue(queue_xoff))
    }

    #[inline]
    fn after_departure<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        let Ingress { config, port, queue, .. } = *at;
        settle(at);
        let xon = at.queue_xoff(at.threshold()).saturating_sub(config.xon_offset_bytes);
        let queue_turns_on = queue.off.load() != 0 && queue.shared_bytes.load() <= xon;
        if queue_turns_on {
            queue.off.store(0);
        }
        if port.off.load() != 0 {
            return resume_settled(at);
        }
        queue_turns_on.then(|| at.resume_queue(xon))
    }
}

impl TwoLevel {
    /// Turns a port that is OFF to ON, if its insurance headroom is empty and its shared occupancy at
    /// or below X_pon.
    pub fn resume_port<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        settle(at);
        resume_settled(at)
    }
}

fn resume_settled<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    let Ingress { tables, config, port, .. } = *at;
    let xon = at.port_xoff(at.threshold()).saturating_sub(config.port_xon_offset_bytes);
    if port.insurance_bytes.load() != 0 || port.shared_bytes.load() > xon {
        return None;
    }
    port.off.store(0);
    let mut resumed = config.lossless_classes;
    for priority in 0..PRIORITIES as u32 {
        let queue = tables.ingress_queue(ingress_index(at.port_number, priority))?;
        if queue.off.load() != 0 {
            resumed &= !(1 << priority);
            queue.pauses.add(1);
        }
    }
    Some(at.resume_port(resumed, xon))
}

/// tau as it is now (Algorithm 4): phi-hat, or 0 where the port has a single active queue or no shared
/// headroom.
///
/// Line 4 of Algorithm 4 sets tau only where the queue changes; Eq. 10 speaks of phi-hat as it is, which
/// changes with every packet, and so does this.
#[inline(always)]
pub fn tau<T: Tables>(at: &Ingress<'_, T>, single_queue: bool) -> u32 {
    if single_queue || !at.policy.shares_headroom() { 0 } else { estimation::headroom(at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsh::pools::keeps_insurance;
    use crate::flow_control::{Level, renewal};
    use crate::map_abi::SwitchConfig;
    use crate::policy::{HeadroomScheme, MarkingScheme, Policy};
    use crate::tables::owned::OwnedTables;

    const PORT: u32 = 1;
    const PHI: u64 = 6400;
    const POLICY: Policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off)
        .with_headroom(HeadroomScheme::Dsh);

    /// Priorities 2 and 5 are lossless, and T is a tenth of what is free of 200,000 bytes.
    fn tables() -> OwnedTables {
        let config = SwitchConfig {
            shared_pool_bytes: 200_000,
            xon_offset_bytes: 1000,
            port_xon_offset_bytes: 2000,
            single_queue_window_ns: 10_000_000,
            gradient_weight_shift: 2,
            deviation_weight_shift: 2,
            deviation_gain_shift: 2,
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
        tables
    }

    fn ingress(tables: &OwnedTables, priority: u32) -> Ingress<'_, OwnedTables> {
        Ingress::of(tables, POLICY, PORT, priority).unwrap()
    }

    /// The same queue without shared headroom.
    fn unshared(tables: &OwnedTables, priority: u32) -> Ingress<'_, OwnedTables> {
        Ingress::of(tables, POLICY.without_shared_headroom(), PORT, priority).unwrap()
    }

    /// Adds to what a queue holds, all of it in the shared pool.
    fn hold(at: &Ingress<'_, OwnedTables>, bytes: u64) {
        for cell in [&at.queue.shared_bytes, &at.port.shared_bytes, &at.switch.shared_bytes] {
            cell.add(bytes);
        }
    }

    fn give_back(at: &Ingress<'_, OwnedTables>, bytes: u64) {
        hold(at, bytes.wrapping_neg());
    }

    fn insure(at: &Ingress<'_, OwnedTables>, bytes: u64) {
        let port = &at.port.insurance_bytes;
        for cell in [&at.queue.headroom_bytes, port, &at.switch.headroom_bytes] {
            cell.add(bytes);
        }
    }

    /// Level, classes and quanta.
    fn spoken(order: Option<Order>) -> Option<(Level, u8, u16)> {
        order.map(|order| (order.level, order.class_enable, order.quanta))
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
            let order = TwoLevel::after_arrival(&at, Pool::Shared, Nanos(bytes * 2 / 25));
            assert_eq!(at.queue.tau_bytes.load(), PHI as u32);
            assert_eq!(order.is_some(), pauses, "{bytes}");
            if let Some(order) = order {
                assert_eq!(spoken(Some(order)), Some((Level::Queue, 1 << 2, 500)));
                assert_eq!((order.occupancy_bytes, order.threshold_bytes), (5092, 5090));
                assert_eq!(order.shared_free_bytes, 114_908);
            }
        }
    }

    /// The queue above, at T = (120,000 - s) / 10, which s meets at 10,909: g = 1 makes no tau.
    #[test]
    fn without_shared_headroom_a_queue_pauses_at_its_threshold() {
        for (bytes, pauses) in [(10_909, false), (10_910, true)] {
            let tables = tables();
            tables.switch.shared_bytes.store(80_000);
            let at = unshared(&tables, 2);
            hold(&at, bytes);
            let order = TwoLevel::after_arrival(&at, Pool::Shared, Nanos(bytes * 2 / 25));
            assert_eq!(at.queue.tau_bytes.load(), 0);
            assert_eq!(spoken(order), pauses.then_some((Level::Queue, 1 << 2, 500)));
        }
    }

    /// X_qon = X_qoff - delta_q.
    #[test]
    fn a_queue_resumes_delta_below_that() {
        let tables = tables();
        let at = ingress(&tables, 2);
        at.queue.off.store(1);
        at.queue.tau_bytes.store(4000);
        // X_qon = (200,000 - s) / 10 - 4000 - 1000 = 15,000 - s/10, which s meets at 13,636.
        hold(&at, 13_637);
        assert_eq!(TwoLevel::after_departure(&at), None);
        give_back(&at, 1);
        assert_eq!(spoken(TwoLevel::after_departure(&at)), Some((Level::Queue, 1 << 2, 0)));
        assert_eq!(TwoLevel::after_departure(&at), None);
    }

    /// Algorithm 4: after 10 ms with one queue only, X_qoff is T.
    #[test]
    fn a_single_queue_has_no_margin() {
        let tables = tables();
        let at = ingress(&tables, 2);
        hold(&at, 1000);
        TwoLevel::after_arrival(&at, Pool::Shared, Nanos(80));
        assert_eq!(at.queue.tau_bytes.load(), PHI as u32);
        TwoLevel::after_arrival(&at, Pool::Shared, Nanos(10_000_081));
        assert_eq!(at.queue.tau_bytes.load(), 0);
        TwoLevel::after_arrival(&ingress(&tables, 5), Pool::Shared, Nanos(10_000_082));
        hold(&at, 1000);
        TwoLevel::after_arrival(&at, Pool::Shared, Nanos(10_000_162));
        assert_ne!(at.queue.tau_bytes.load(), 0);
    }

    /// Eq. 11: X_poff = 2 (200,000 - s) / 10, which s meets at 33,332. Long gaps keep tau at 0.
    #[test]
    fn a_port_pauses_all_lossless_classes() {
        let tables = tables();
        let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
        hold(&two, 16_000);
        assert_eq!(TwoLevel::after_arrival(&two, Pool::Shared, Nanos(1 << 40)), None);
        hold(&five, 17_332);
        let order = TwoLevel::after_arrival(&five, Pool::Shared, Nanos(1 << 41));
        assert_eq!(spoken(order), Some((Level::Queue, 1 << 5, 500)), "5 is above T, 2 is not");
        hold(&two, 1);
        let order = TwoLevel::after_arrival(&two, Pool::Shared, Nanos(1 << 42));
        assert_eq!(spoken(order), Some((Level::Port, 1 << 2 | 1 << 5, 500)));
        let order = order.unwrap();
        assert_eq!((order.occupancy_bytes, order.threshold_bytes), (33_333, 33_332));
        hold(&two, 1000);
        assert_eq!(TwoLevel::after_arrival(&two, Pool::Shared, Nanos(1 << 43)), None, "is OFF");
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
        assert_eq!(TwoLevel::after_arrival(&two, Pool::Shared, Nanos(1 << 40)), None);
        hold(&two, 1);
        let order = TwoLevel::after_arrival(&two, Pool::Shared, Nanos(1 << 41)).unwrap();
        assert_eq!((order.level, order.threshold_bytes), (Level::Port, 66_666));
        let other = Ingress::of(&tables, POLICY, 0, 2).unwrap();
        assert_eq!(other.threshold(), 13_333);
    }

    #[test]
    fn a_packet_in_insurance_pauses_the_port() {
        let tables = tables();
        let at = ingress(&tables, 2);
        insure(&at, 1000);
        let order = TwoLevel::after_arrival(&at, Pool::Headroom, Nanos(1 << 40));
        assert_eq!(spoken(order), Some((Level::Port, 1 << 2 | 1 << 5, 500)));
    }

    /// X_poff = 2 (200,000 - s) / 10, s being what the port, which holds `held`, and others hold; 1000 bytes
    /// are in insurance.
    #[test]
    fn a_ports_pause_says_what_went_beyond_which_limit() {
        for (held, of_others, expected) in [
            (33_000, 0, [34_000, 33_400]),
            // X_poff is 100 bytes, less than are left, and so is what is left.
            (0, 199_500, [1000, 100]),
            (50, 199_900, [1050, 10]),
        ] {
            let tables = tables();
            let at = ingress(&tables, 2);
            hold(&at, held);
            insure(&at, 1000);
            tables.switch.shared_bytes.add(of_others);
            let order = TwoLevel::after_arrival(&at, Pool::Headroom, Nanos(1 << 40)).unwrap();
            assert_eq!([order.occupancy_bytes, order.threshold_bytes], expected);
        }
        let tables = tables();
        tables.ports[PORT as usize].alpha_denominator.store(1);
        let at = ingress(&tables, 2);
        hold(&at, 500);
        insure(&at, 1000);
        tables.switch.shared_bytes.add(199_400);
        let order = TwoLevel::after_arrival(&at, Pool::Headroom, Nanos(1 << 40)).unwrap();
        let both = [order.occupancy_bytes, order.threshold_bytes];
        assert_eq!(
            both,
            [1500, 200],
            "X_poff; the shared pool has 100 bytes besides the port's 500"
        );
    }

    /// Without shared headroom a queue that is OFF has no share, however much of the pool is free.
    #[test]
    fn without_shared_headroom_the_limit_of_an_off_queue_is_what_its_port_holds() {
        let tables = tables();
        let at = unshared(&tables, 2);
        at.queue.off.store(1);
        hold(&at, 12_000);
        insure(&at, 1000);
        let order = TwoLevel::after_arrival(&at, Pool::Headroom, Nanos(1 << 40)).unwrap();
        assert_eq!([order.occupancy_bytes, order.threshold_bytes], [13_000, 12_000]);
    }

    /// The port goes ON when insurance is empty and s <= X_pon = 2 (200,000 - s) / 10 - 2000, that is
    /// 31,666; the RESUME speaks of the class whose queue is ON.
    #[test]
    fn a_port_resumes_the_classes_whose_queues_are_on() {
        let tables = tables();
        let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
        two.port.off.store(1);
        five.queue.off.store(1);
        hold(&two, 7000);
        hold(&five, 24_667);
        assert_eq!(TwoLevel::after_departure(&two), None);
        give_back(&five, 1);
        let order = TwoLevel::after_departure(&two);
        assert_eq!(spoken(order), Some((Level::Port, 1 << 2, 0)));
        assert_eq!(order.unwrap().threshold_bytes, 31_666);
        assert_eq!(five.queue.pauses.load(), 1, "its own pause begins");
        assert!(renewal(&tables, POLICY, PORT, Some(5), 1).is_some());
    }

    #[test]
    fn a_queue_that_turns_on_while_its_port_is_off_says_nothing_until_the_port_does() {
        let tables = tables();
        let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
        two.port.off.store(1);
        two.queue.off.store(1);
        hold(&five, 40_000);
        hold(&two, 100);
        assert_eq!(TwoLevel::after_departure(&two), None);
        assert_eq!(two.queue.off.load(), 0);
        five.queue.off.store(1);
        give_back(&five, 39_900);
        assert_eq!(
            spoken(TwoLevel::after_departure(&five)),
            Some((Level::Port, 1 << 2 | 1 << 5, 0))
        );
    }

    /// A queue that waits behind someone's PAUSE has all insurance; its neighbour's departures free the
    /// port.
    #[test]
    fn what_makes_room_in_the_share_empties_insurance() {
        let tables = tables();
        let (two, five) = (ingress(&tables, 2), ingress(&tables, 5));
        two.port.off.store(1);
        hold(&two, 30_000);
        hold(&five, 4000);
        insure(&five, 3000);
        // X_poff = 2 (200,000 - 34,000) / 10 = 33,200.
        assert_eq!(TwoLevel::after_departure(&two), None);
        assert_eq!(five.queue.headroom_bytes.load(), 3000, "34,000 are above it");
        give_back(&two, 2000);
        // 33,600 - 32,000 = 1600 find room.
        assert_eq!(TwoLevel::after_departure(&two), None);
        let held = |cell: &crate::cell::Cell64| cell.load();
        assert_eq!(
            (held(&five.queue.headroom_bytes), held(&five.queue.shared_bytes)),
            (1400, 5600)
        );
        assert_eq!((held(&two.port.insurance_bytes), held(&two.port.shared_bytes)), (1400, 33_600));
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
        two.port.off.store(1);
        two.queue.off.store(1);
        hold(&two, 17_273);
        insure(&two, 3000);
        assert_eq!(TwoLevel::after_departure(&five), None);
        assert_eq!(two.port.insurance_bytes.load(), 3000, "there is room, but 2 is OFF");
        assert!(keeps_insurance(&five), "no room would change that");
        assert!(!keeps_insurance(&ingress(&tables, 5)), "shared headroom would");
        give_back(&two, 1);
        assert_eq!(TwoLevel::after_departure(&two), None);
        assert_eq!(two.queue.off.load(), 0);
        assert!(!keeps_insurance(&five));
        let order = TwoLevel::after_departure(&five);
        assert_eq!(spoken(order), Some((Level::Port, 1 << 2 | 1 << 5, 0)));
        assert_eq!(two.port.insurance_bytes.load(), 0);
    }

    /// All of a port's packets are blocked, so that none departs; when other ports have drained, the
    /// refresh of its pause finds that it may go ON.
    #[test]
    fn a_refresh_resumes_a_port_without_departures() {
        let tables = tables();
        let at = ingress(&tables, 2);
        hold(&at, 20_000);
        insure(&at, 3000);
        TwoLevel::after_arrival(&at, Pool::Headroom, Nanos(1 << 40));
        tables.switch.shared_bytes.add(120_000);
        let refreshed = renewal(&tables, POLICY, PORT, None, 1);
        assert_eq!(spoken(refreshed), Some((Level::Port, 1 << 2 | 1 << 5, 500)));
        assert_eq!(renewal(&tables, POLICY, PORT, None, 0), None, "an earlier pause");
        tables.switch.shared_bytes.sub(120_000);
        assert_eq!(
            spoken(renewal(&tables, POLICY, PORT, None, 1)),
            Some((Level::Port, 1 << 5, 0)),
            "2 is above its own threshold"
        );
        assert_eq!(at.port.insurance_bytes.load(), 0);
        assert_eq!(renewal(&tables, POLICY, PORT, None, 1), None, "it is ON");
    }
}
