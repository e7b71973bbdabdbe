//! What a switch does in a PFC storm at [`OUT`].

use fabric_core::scheme::{bfc, dsh};

use super::*;

/// Looks are at its multiples.
const LOOK: Picos = Picos(300_000);
/// When the neighbour begins to pause, between two looks; all packets have come in.
const START: Picos = Picos(150_000);
/// When a storm is detected: the second look is the first that finds the packets, and two looks are the detection time.
const DETECTED: Picos = Picos(3 * LOOK.0);

fn watchdog(action: StormAction) -> WatchdogConfig {
    let (detection, restoration) = (Picos(2 * LOOK.0), Picos(2 * LOOK.0));
    WatchdogConfig { action, detection, restoration, poll_interval: LOOK }
}

fn watched(action: StormAction) -> Bench {
    Bench::watched(&SchemeSettings::Pfc, Some(watchdog(action)))
}

/// Packets that have paused [`IN`] are held by a pause of [`OUT`], up to the instant of detection.
fn stormed(action: StormAction) -> Bench {
    let mut bench = watched(action);
    begin(&mut bench);
    bench
}

fn begin<S: Scheme>(bench: &mut Bench<S>) {
    bench.burst(Picos(0));
    bench.paused(START, OUT, CLASS.bit(), u16::MAX);
    assert!(bench.sends(START, OUT).is_none());
    while bench.sends(START, IN).is_some() {}
    bench.told();
    for look in [LOOK, LOOK + LOOK] {
        assert_eq!(bench.due(look), None, "a look that finds nothing new");
    }
    assert_eq!(bench.told(), []);
}

const fn some(packets: u64) -> Traffic {
    Traffic { packets, bytes: packets * LENGTH as u64 }
}

/// The storm, which holds three packets.
fn storm() -> Storm {
    Storm {
        port: OUT,
        priority: CLASS,
        detected: DETECTED,
        restored: None,
        waiting: some(3),
        egress_dropped: Traffic::default(),
        ingress_dropped: Traffic::default(),
        forwarded: Traffic::default(),
    }
}

#[test]
fn what_waits_is_dropped_and_whom_it_had_paused_is_resumed() {
    let mut bench = stormed(StormAction::Drop);
    assert_eq!(bench.due(DETECTED), Some(Due { port: OUT, pauses_changed: true }));
    let reason = DropReason::WatchdogEgress;
    let dropped = Told::Dropped { port: IN, reason, priority: Some(CLASS), length: LENGTH };
    let left = departed([IN, OUT], LENGTH);
    let resumed =
        Told::Classes { port: IN, classes: CLASS.bit(), event: ControlEvent::Resume, pause: 1 };
    let queued = Told::Queued(ControlEvent::Resume);
    let now = Storm { egress_dropped: some(3), ..storm() };
    let told = [left, queued, resumed, dropped, left, dropped, left, dropped, Told::Detected(now)];
    assert_eq!(bench.told(), told, "it turns ON when two packets are left");
    assert_eq!(bench.discarded(), [3, 2, 1]);
    assert_eq!(bench.woken(), [IN]);
    assert_eq!(bench.sends(DETECTED, IN), Some(resume(IN, CLASS.bit())));
    assert_eq!(bench.switch.storms().collect::<Vec<_>>(), [now]);
    assert!(bench.is_empty());
}

#[test]
fn packets_of_a_storm_are_dropped_until_it_is_over_and_counted() {
    let mut bench = stormed(StormAction::Drop);
    bench.due(DETECTED);
    let later = Picos(DETECTED.0 + 1000);
    for (ports, class, reason) in [
        ([IN, OUT], CLASS, Some(DropReason::WatchdogEgress)),
        ([OUT, IN], CLASS, Some(DropReason::WatchdogIngress)),
        ([OUT, IN], CLASS, Some(DropReason::WatchdogIngress)),
        ([IN, OUT], OTHER, None),
        ([IN, 1], CLASS, None),
    ] {
        bench.told();
        let kept = bench.packet(later, ports, class, LENGTH).keeps_frame;
        assert_eq!(kept, reason.is_none(), "{ports:?}");
        let reasons = bench.told().into_iter().find_map(|told| match told {
            Told::Dropped { reason, .. } => Some(reason),
            _ => None,
        });
        assert_eq!(reasons, reason, "{ports:?}");
    }
    bench.paused(later, OUT, CLASS.bit(), 0);
    bench.told();
    let over = Picos(6 * LOOK.0);
    for look in [4, 5] {
        assert_eq!(bench.due(Picos(look * LOOK.0)), None, "look {look}");
    }
    assert_eq!(bench.due(over), Some(Due { port: OUT, pauses_changed: true }));
    let whole = Storm {
        restored: Some(over),
        egress_dropped: some(4),
        ingress_dropped: some(2),
        ..storm()
    };
    assert_eq!(bench.told(), [Told::Restored(whole)]);
    assert!(bench.packet(over, [IN, OUT], CLASS, LENGTH).keeps_frame);
    assert_eq!(bench.switch.storms().count(), 0);
    let history = StormHistory {
        detected: 1,
        restored: 1,
        egress_dropped: some(4),
        ingress_dropped: some(2),
        forwarded: Traffic::default(),
    };
    let histories: Vec<_> = bench.switch.storm_histories().collect();
    assert_eq!(histories, [(OUT, CLASS, history, false)]);
    let looks = bench.deadlines().into_iter().filter(|at| *at <= Picos(8 * LOOK.0)).count();
    assert_eq!(looks, 0, "there is no reason to look again");
}

#[test]
fn a_second_storm_has_counts_of_its_own() {
    let mut bench = stormed(StormAction::Drop);
    bench.due(DETECTED);
    bench.paused(DETECTED, OUT, CLASS.bit(), 0);
    for look in 4..=6 {
        bench.due(Picos(look * LOOK.0));
    }
    bench.packet(Picos(6 * LOOK.0), [IN, OUT], CLASS, LENGTH);
    bench.paused(Picos(6 * LOOK.0), OUT, CLASS.bit(), u16::MAX);
    bench.told();
    for look in 7..=9 {
        bench.due(Picos(look * LOOK.0));
    }
    let second =
        Storm { detected: Picos(9 * LOOK.0), waiting: some(1), egress_dropped: some(1), ..storm() };
    assert_eq!(bench.told().last(), Some(&Told::Detected(second)));
    let (.., history, present) = bench.switch.storm_histories().next().unwrap();
    assert_eq!((history.detected, history.restored, present), (2, 1, true));
    assert_eq!(history.egress_dropped, some(4));
}

#[test]
fn what_waits_is_forwarded_in_spite_of_pauses() {
    let mut bench = stormed(StormAction::Forward);
    assert_eq!(bench.due(DETECTED), Some(Due { port: OUT, pauses_changed: true }));
    let ignored = Told::PauseIgnored { port: OUT, priority: CLASS };
    assert_eq!(bench.told(), [ignored, Told::Detected(storm())]);
    assert_eq!(bench.sends(DETECTED, OUT), Some(packet(1)));
    bench.paused(DETECTED, OUT, CLASS.bit(), u16::MAX);
    assert_eq!(bench.sends(DETECTED, OUT), Some(packet(2)));
    let now = bench.switch.storms().next().unwrap();
    assert_eq!(now, Storm { forwarded: some(2), ..storm() });
    // It hears of pauses that it does not obey.
    for look in [4, 5, 6] {
        bench.due(Picos(look * LOOK.0));
    }
    assert_eq!(bench.switch.storms().count(), 1);
    bench.paused(Picos(6 * LOOK.0), OUT, CLASS.bit(), 0);
    for look in [7, 8] {
        bench.due(Picos(look * LOOK.0));
    }
    assert_eq!(bench.switch.storms().count(), 0);
    bench.paused(Picos(8 * LOOK.0), OUT, CLASS.bit(), u16::MAX);
    assert_eq!(bench.sends(Picos(8 * LOOK.0), OUT), None, "it obeys again");
}

#[test]
fn a_watchdog_that_only_tells_changes_nothing() {
    let mut bench = stormed(StormAction::None);
    bench.due(DETECTED);
    assert_eq!(bench.told(), [Told::Detected(storm())]);
    assert_eq!(bench.discarded(), []);
    assert_eq!(bench.sends(DETECTED, OUT), None);
    assert!(bench.packet(DETECTED, [IN, OUT], CLASS, LENGTH).keeps_frame);
    bench.paused(DETECTED, OUT, CLASS.bit(), 0);
    assert_eq!(bench.sends(DETECTED, OUT), Some(packet(1)));
}

#[test]
fn pauses_of_lossy_classes_are_no_storm() {
    let mut bench = watched(StormAction::Drop);
    bench.paused(START, OUT, LOSSY.bit(), u16::MAX);
    assert_eq!(bench.deadlines(), []);
}

/// Under every scheme all that was counted is given back.
#[test]
fn books_close_after_a_storm_under_every_scheme() {
    let settings = dsh::Settings::default();
    let options = bfc::Options { priorities: CLASS.bit(), ..bfc::Options::EVERY[0] };
    let bfc = bfc::Settings { options, ..bfc::Settings::default() };
    for scheme in [
        SchemeSettings::Pfc,
        SchemeSettings::Oversubscribed,
        SchemeSettings::Dsh(settings),
        SchemeSettings::Bfc(bfc),
    ] {
        let mut bench = Bench::<Selected>::watched(&scheme, Some(watchdog(StormAction::Drop)));
        begin(&mut bench);
        bench.due(DETECTED).unwrap_or_else(|| panic!("{scheme:?}"));
        assert_eq!(bench.discarded().len(), 3, "{scheme:?}");
        bench.woken();
        while bench.sends(DETECTED, IN).is_some() {}
        assert!(bench.is_empty(), "{scheme:?}");
    }
}
