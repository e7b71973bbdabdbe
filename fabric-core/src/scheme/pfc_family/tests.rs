//! Each rule by a table with OFC's thresholds, and the rules' counts compared with a model.

use proptest::prelude::*;

use super::*;
use crate::admission::tests::{CLASS, PORT, arriving};
use crate::hop_control::HopControl;
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::scheme::Configure as _;
use crate::scheme::held::Held;
use crate::tables::owned::{MAX_SLOTS, OwnedTables};
use units::Bytes;

/// A second lossless class.
const OTHER: u8 = 4;
/// `X_off`, `X_low` and `X_on` of OFC, Section IV-A1.
const XOFF: u64 = 75_000;
const LOW: u64 = 68_000;
const XON: u64 = 45_000;

const CAPFC: Settings = Settings::CongestionAware { low: Bytes(LOW), egress: Bytes(50_000) };
const PREDICTIVE: Settings =
    Settings::Predictive { horizon: Nanos(2000), interval: Nanos(1000), weight_shift: 0 };
const GPFC: Settings = Settings::PriorityAware { low: Bytes(LOW), classes: 1 << CLASS };

const fn mean(of: MeanOf) -> Settings {
    Settings::MeanOfEgress { low: Bytes(LOW), of }
}

fn policy(settings: &Settings) -> Policy {
    let plain = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
    plain.with_scheme(SchemeKind::PfcFamily, settings.options().to_bits())
}

/// Two ports and two lossless classes.
fn tables(settings: &Settings) -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: XOFF,
        xon_offset_bytes: XOFF - XON,
        pause_quanta: 500,
        lossless_classes: 1 << CLASS | 1 << OTHER,
        lossless_queues: 2,
        tests_renewed_pauses: 1,
        ..SwitchConfig::default()
    };
    let mut tables = OwnedTables::new(config, 5000);
    tables.config.slots = MAX_SLOTS as u32;
    tables.switch.slots_limit.store(MAX_SLOTS as u64);
    let room = PfcFamily::room(policy(settings), 2);
    for line in (0..room.lines).filter_map(|line| tables.scheme_line(line)) {
        line.0.iter().for_each(|word| word.store(0));
    }
    settings.write(&tables, []);
    tables
}

fn at<'a>(tables: &'a OwnedTables, settings: &Settings, class: u8) -> Ingress<'a, OwnedTables> {
    Ingress::new(tables, policy(settings), PORT, Priority::new(class)).expect("it has its rows")
}

/// Returns the threshold by which the queue at [`PORT`] pauses with a packet that it and egress port 0 already count.
fn paused_by(tables: &OwnedTables, settings: &Settings, class: u8, now: u64) -> Option<u64> {
    let packet = arriving(tables, SchemeKind::PfcFamily, settings.options().to_bits(), 1000);
    let packet = Arriving {
        ingress: at(tables, settings, class),
        egress: tables.egress(0, class),
        queue: QueueId::data(class),
        now: Nanos(now),
        ..packet
    };
    let mut sent = None;
    PfcFamily::after_arrival(&packet, Pool::Shared, &mut |order: &Order| {
        let HopControl::Classes(pauses) = order.control else { panic!("{order:?}") };
        assert_eq!((pauses.paused(), order.resumes), (1 << class, false));
        sent = Some(order.threshold_bytes);
    });
    assert_eq!(packet.ingress.queue.off.load(), u32::from(sent.is_some()));
    sent
}

/// PAUSE iff `(q_in >= X_low and q_out >= X_egress) or q_in > X_off`.
#[test]
fn capfc_looks_at_ingress_and_egress() {
    for (held, egress, expected) in [
        (LOW, 50_000, Some(LOW)),
        (LOW - 1, 50_000, None),
        (LOW, 49_999, None),
        (XOFF, 49_999, None),
        (XOFF + 1, 0, Some(XOFF)),
        (XOFF + 1, 50_000, Some(XOFF)),
        (0, 1_000_000, None),
    ] {
        let tables = tables(&CAPFC);
        tables.queue(PORT, CLASS).shared_bytes.store(held);
        tables.egress(0, CLASS).bytes.store(egress);
        let found = paused_by(&tables, &CAPFC, CLASS, 0);
        assert_eq!(found, expected, "{held} B came in, {egress} B wait at the egress port");
    }
}

/// PAUSE iff `(q_in >= X_low and q_out >= the mean) or q_in > X_off`. The packet's egress queue is at port 0.
#[test]
fn p_pfc_compares_an_egress_queue_with_the_mean() {
    for (held, [own, other], of_all, of_non_empty) in [
        (LOW, [70_000, 70_000], Some(LOW), Some(LOW)),
        (LOW - 1, [70_000, 0], None, None),
        (LOW, [69_999, 70_001], None, None),
        (LOW, [70_000, 0], Some(LOW), Some(LOW)),
        (XOFF + 1, [1, 99], Some(XOFF), Some(XOFF)),
    ] {
        for (of, expected) in [(MeanOf::All, of_all), (MeanOf::NonEmpty, of_non_empty)] {
            let settings = mean(of);
            let tables = tables(&settings);
            tables.queue(PORT, CLASS).shared_bytes.store(held);
            tables.egress(0, CLASS).bytes.store(own);
            let class = state::class(&at(&tables, &settings, CLASS)).expect("it has its line");
            class.bytes.store(own + other);
            class.queues.store(1 + u64::from(other != 0));
            let found = paused_by(&tables, &settings, CLASS, 0);
            assert_eq!(found, expected, "{held} B came in, {own} and {other} B wait, {of:?}");
        }
    }
}

/// Three queues at the two ports hold packets, the packet's own 40 kB. The mean of all is over four queues.
#[test]
fn the_two_means_differ_where_queues_are_empty() {
    for (of, total, expected) in [
        (MeanOf::All, 160_000, Some(LOW)),
        (MeanOf::All, 160_001, None),
        (MeanOf::NonEmpty, 120_000, Some(LOW)),
        (MeanOf::NonEmpty, 120_001, None),
    ] {
        let settings = mean(of);
        let mut tables = tables(&settings);
        tables.config.queues[usize::from(CLASS)].count = 2;
        tables.queue(PORT, CLASS).shared_bytes.store(LOW);
        tables.egress(0, CLASS).bytes.store(40_000);
        let class = state::class(&at(&tables, &settings, CLASS)).expect("it has its line");
        class.bytes.store(total);
        class.queues.store(3);
        assert_eq!(paused_by(&tables, &settings, CLASS, 0), expected, "{of:?}, {total} B");
    }
}

/// PAUSE iff the length at the horizon, twice the interval, is at least X_off, or the current length is above it.
#[test]
fn p_pfc_predicts_by_the_slope() {
    for (before, held, expected) in [
        (10_000, 31_666, None),
        (10_000, 31_667, Some(XOFF - 43_334)),
        (0, 25_000, Some(25_000)),
        (0, 24_999, None),
        (XOFF - 1, XOFF - 1, None),
        (XOFF, XOFF, None),
        (XOFF + 9, XOFF + 1, Some(XOFF)),
        (XOFF + 9, XOFF, None),
    ] {
        let tables = tables(&PREDICTIVE);
        let queue = tables.queue(PORT, CLASS);
        let line = state::queue(&at(&tables, &PREDICTIVE, CLASS)).expect("it has its line");
        line.measured_ns.store(5000);
        line.measured_bytes.store(before);
        queue.shared_bytes.store(held);
        let found = paused_by(&tables, &PREDICTIVE, CLASS, 6000);
        assert_eq!(found, expected, "{before} B, then {held} B");
    }
}

/// A departure resumes by the length at the horizon, a renewal by the current length.
#[test]
fn p_pfc_resumes_by_the_slope_too() {
    for (before, held, expected) in [
        (XOFF, 65_001, None),
        (XOFF, 65_000, Some(XON)),
        (40_000, 40_000, Some(XON)),
        (40_000, 43_000, None),
    ] {
        let tables = tables(&PREDICTIVE);
        let at = at(&tables, &PREDICTIVE, CLASS);
        let line = state::queue(&at).expect("it has its line");
        line.measured_ns.store(5000);
        line.measured_bytes.store(before);
        at.queue.off.store(1);
        at.queue.pauses.store(1);
        at.queue.shared_bytes.store(held);
        let computed = at.policy;
        let may = || PfcFamily::may_resume(&at, PauseLevel::Queue, computed, Stays::default());
        let found = resume_by_slope(&at, Nanos(6000)).map(|order| order.threshold_bytes);
        assert_eq!(found, expected, "{before} B, then {held} B");
        at.queue.off.store(1);
        let renewal = PfcFamily::renewal(&at, PauseLevel::Queue, 1, Nanos(7000));
        assert_eq!(renewal.expect("it is OFF").resumes, held <= XON, "{held} B");
        at.queue.off.store(1);
        assert_eq!(may(), held <= XON, "{held} B");
        at.queue.headroom_bytes.store(1);
        assert_eq!(resume_by_slope(&at, Nanos(9000)), None, "it holds headroom");
        assert!(!may());
    }
}

/// The low class pauses when its port holds `X_low`, the high class when the port holds more than `X_off`.
#[test]
fn g_pfc_pauses_low_priorities_first() {
    for (low, high, of_low, of_high) in [
        (40_000, 27_999, None, None),
        (40_000, 28_000, Some(40_000), None),
        (0, LOW, Some(0), None),
        (0, XOFF, Some(0), None),
        (1000, XOFF, Some(0), Some(XOFF - 1000)),
        (XOFF + 1, 1, Some(XOFF - 1), Some(0)),
    ] {
        let tables = tables(&GPFC);
        for (class, held) in [(CLASS, low), (OTHER, high)] {
            tables.queue(PORT, class).shared_bytes.store(held);
        }
        let port = state::port(&at(&tables, &GPFC, CLASS)).expect("it has its line");
        port.shared_bytes.store(low + high);
        let found = [CLASS, OTHER].map(|class| paused_by(&tables, &GPFC, class, 0));
        assert_eq!(found, [of_low, of_high], "{low} B low, {high} B high");
    }
}

/// With `X_on` below `X_low`, only `X_on` counts. Otherwise a queue that would pause again stays OFF.
#[test]
fn a_queue_resumes_where_its_rule_would_not_pause_it() {
    for settings in [CAPFC, mean(MeanOf::All), GPFC] {
        for (xon, held, expected) in [
            (XON, XON + 1, None),
            (XON, XON, Some(XON)),
            (70_000, LOW, None),
            (70_000, LOW - 1, Some(LOW - 1)),
        ] {
            let mut tables = tables(&settings);
            tables.config.xon_offset_bytes = XOFF - xon;
            let at = at(&tables, &settings, CLASS);
            at.queue.off.store(1);
            at.queue.shared_bytes.store(held);
            let may = PfcFamily::may_resume(&at, PauseLevel::Queue, at.policy, Stays::default());
            assert_eq!(may, expected.is_some(), "{settings:?}, X_on {xon}, {held} B");
            let found = PfcFamily::resume(&at).map(|order| order.threshold_bytes);
            assert_eq!(found, expected, "{settings:?}, X_on {xon}, {held} B");
        }
    }
}

/// While another queue of the port holds `X_low`, a low priority does not resume, even if empty; the high priority
/// does.
#[test]
fn a_low_priority_waits_for_the_others_of_its_port() {
    let mut tables = tables(&GPFC);
    tables.config.xon_offset_bytes = 0;
    for (of_others, expected) in [(LOW, [false, true]), (LOW - 1, [true, true])] {
        let port = state::port(&at(&tables, &GPFC, CLASS)).expect("it has its line");
        port.shared_bytes.store(of_others);
        let resumes = [CLASS, OTHER].map(|class| {
            let at = at(&tables, &GPFC, class);
            at.queue.off.store(1);
            PfcFamily::resume(&at).is_some()
        });
        assert_eq!(resumes, expected, "others hold {of_others} B");
        let may = |beside| {
            let at = at(&tables, &GPFC, CLASS);
            let stays = Stays { in_pool: beside, beside };
            PfcFamily::may_resume(&at, PauseLevel::Queue, policy(&GPFC), stays)
        };
        assert!(may(0), "what the others hold may leave");
        assert_eq!([may(LOW - 1), may(LOW)], [true, false], "or some of it");
    }
}

/// A packet of the other class leaves, and both classes of the port resume.
#[test]
fn a_departure_resumes_every_priority_of_the_port() {
    let tables = tables(&GPFC);
    let policy = policy(&GPFC);
    let mut held = Held::default();
    for class in [CLASS, OTHER] {
        assert_eq!(held.arrive::<PfcFamily>(&tables, policy, (PORT, class), 0), Ok(None));
        tables.queue(PORT, class).off.store(1);
    }
    let leaving = Leaving {
        ingress: at(&tables, &GPFC, OTHER),
        egress_port: 0,
        queue: QueueId::data(OTHER),
        egress: tables.egress(0, OTHER),
        length: 0,
        arrived: Nanos(0),
        now: Nanos(9),
        note: 0,
        first_rtt: false,
    };
    let mut resumed = Vec::new();
    PfcFamily::after_departure(&leaving, &mut |order: &Order| {
        assert!(order.resumes);
        let HopControl::Classes(pauses) = order.control else { panic!("{order:?}") };
        resumed.push(pauses.resumed());
    });
    assert_eq!(resumed, [1 << CLASS, 1 << OTHER]);
}

/// The stored threshold is the port's, so that the bytes of its other queues are subtracted once.
#[test]
fn the_control_plane_stores_what_is_the_ports() {
    let tables = tables(&GPFC);
    let at = at(&tables, &GPFC, CLASS);
    state::port(&at).expect("it has its line").shared_bytes.store(30_000);
    PfcFamily::observe(&at, Nanos(0));
    assert_eq!(at.queue.stored_threshold_bytes.load(), XOFF);
    let stored = Policy::new(ThresholdScheme::Stored, MarkingScheme::Off);
    let options = GPFC.options().to_bits();
    let stored = Ingress { policy: stored.with_scheme(SchemeKind::PfcFamily, options), ..at };
    assert_eq!(PfcFamily::threshold(&stored), XOFF - 30_000);
}

/// (arrival or departure, port, class)
fn steps() -> impl Strategy<Value = Vec<(bool, u32, u8)>> {
    let class = prop_oneof![Just(CLASS), Just(OTHER), Just(5u8)];
    proptest::collection::vec((any::<bool>(), 0..2u32, class), 1..60)
}

proptest! {
    /// The lines count the bytes of egress queues and ports correctly under any arrivals and departures, lossy packets
    /// too.
    #[test]
    fn the_counts_are_those_of_the_queues(steps in steps()) {
        for settings in [mean(MeanOf::All), GPFC] {
            let (tables, policy) = (tables(&settings), policy(&settings));
            let mut held = Held::default();
            for (now, &(comes, port, class)) in (0..).zip(&steps) {
                if comes && held.len() < MAX_SLOTS {
                    // A lossy packet may be dropped.
                    let _ = held.arrive::<PfcFamily>(&tables, policy, (port, class), now);
                } else {
                    held.depart::<PfcFamily>(&tables, policy, (port, class), now);
                }
                for class in [CLASS, OTHER] {
                    let ports = [0, 1].map(|port| {
                        Ingress::new(&tables, policy, port, Priority::new(class)).expect("rows")
                    });
                    if settings == GPFC {
                        for at in ports {
                            let both = [CLASS, OTHER].map(|class| {
                                tables.queue(at.port_number, class).shared_bytes.load()
                            });
                            let line = state::port(&at).expect("a line");
                            prop_assert_eq!(line.shared_bytes.load(), both[0] + both[1]);
                        }
                        continue;
                    }
                    let egress = [0, 1].map(|port| tables.egress(port, class).bytes.load());
                    let line = state::class(&ports[0]).expect("a line");
                    let non_empty = egress.iter().filter(|bytes| **bytes != 0).count() as u64;
                    prop_assert_eq!(line.bytes.load(), egress[0] + egress[1]);
                    prop_assert_eq!(line.queues.load(), non_empty);
                }
            }
        }
    }
}
