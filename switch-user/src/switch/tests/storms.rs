//! Actions of a switch in a PFC storm at [`OUT`].

use fabric_core::queue::QueueRange;
use fabric_core::scheme::{bfc, dsh, pfc, spfc};

use super::*;

/// Poll interval of the watchdog.
const LOOK: Picos = Picos(300_000);
/// Start of the neighbour's pauses, between two polls; all packets have arrived.
const START: Picos = Picos(150_000);
/// Time of detection: the second poll is the first that finds the packets, and two poll intervals are the detection
/// time.
const DETECTED: Picos = Picos(3 * LOOK.0);

fn watchdog(action: StormAction) -> WatchdogConfig {
    let (detection, restoration) = (Picos(2 * LOOK.0), Picos(2 * LOOK.0));
    WatchdogConfig { action, detection, restoration, poll_interval: LOOK }
}

fn watched(action: StormAction) -> Bench {
    Bench::watched(&SchemeSettings::default(), Some(watchdog(action)))
}

/// Packets that have paused [`IN`] are held by a pause of [`OUT`], up to the time of detection.
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
    bench.observed();
    for look in [LOOK, LOOK + LOOK] {
        assert_eq!(bench.due(look), None, "a look that finds nothing new");
    }
    assert_eq!(bench.observed(), []);
}

const fn some(packets: u64) -> Traffic {
    Traffic { packets, bytes: packets * LENGTH as u64 }
}

/// The storm, with three waiting packets.
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

fn detected(storm: Storm) -> Event {
    Event::StormDetected(storm.into())
}

#[test]
fn what_waits_is_dropped_and_whom_it_had_paused_is_resumed() {
    let mut bench = stormed(StormAction::Drop);
    assert_eq!(bench.due(DETECTED), Some(Due { port: OUT, pauses_changed: true }));
    let reason = DropReason::WatchdogEgress;
    let dropped = || Event::Dropped { port: IN, reason, priority: Some(CLASS), length: LENGTH };
    let left = || departed([IN, OUT], LENGTH);
    let resumed = decided(IN, CLASS.bit(), PauseEvent::Resume, 1);
    let queued = Event::PfcQueued(PauseEvent::Resume);
    let now = Storm { egress_dropped: some(3), ..storm() };
    let expected =
        [left(), queued, resumed, dropped(), left(), dropped(), left(), dropped(), detected(now)];
    assert_eq!(bench.observed(), expected, "it turns ON when two packets are left");
    assert_eq!(bench.discarded(), [1, 2, 3]);
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
        bench.observed();
        let kept = bench.packet(later, ports, class, LENGTH).keeps_frame;
        assert_eq!(kept, reason.is_none(), "{ports:?}");
        let reasons = bench.observed().into_iter().find_map(|event| match event {
            Event::Dropped { reason, .. } => Some(reason),
            _ => None,
        });
        assert_eq!(reasons, reason, "{ports:?}");
    }
    bench.paused(later, OUT, CLASS.bit(), 0);
    bench.observed();
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
    assert_eq!(bench.observed(), [Event::StormRestored(whole.into())]);
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
    bench.observed();
    for look in 7..=9 {
        bench.due(Picos(look * LOOK.0));
    }
    let second =
        Storm { detected: Picos(9 * LOOK.0), waiting: some(1), egress_dropped: some(1), ..storm() };
    assert_eq!(bench.observed().last(), Some(&detected(second)));
    let (.., history, present) = bench.switch.storm_histories().next().unwrap();
    assert_eq!((history.detected, history.restored, present), (2, 1, true));
    assert_eq!(history.egress_dropped, some(4));
}

#[test]
fn what_waits_is_forwarded_in_spite_of_pauses() {
    let mut bench = stormed(StormAction::Forward);
    assert_eq!(bench.due(DETECTED), Some(Due { port: OUT, pauses_changed: true }));
    let (until, quanta) = (DETECTED.to_nanos(), None);
    let ignored = Event::PauseReceived { port: OUT, priority: CLASS, until, quanta };
    assert_eq!(bench.observed(), [ignored, detected(storm())]);
    assert_eq!(bench.sends(DETECTED, OUT), Some(packet(1)));
    bench.paused(DETECTED, OUT, CLASS.bit(), u16::MAX);
    assert_eq!(bench.sends(DETECTED, OUT), Some(packet(2)));
    let now = bench.switch.storms().next().unwrap();
    assert_eq!(now, Storm { forwarded: some(2), ..storm() });
    // The watchdog also uses pauses that the port ignores.
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
fn a_watchdog_that_only_reports_changes_nothing() {
    let mut bench = stormed(StormAction::None);
    bench.due(DETECTED);
    assert_eq!(bench.observed(), [detected(storm())]);
    assert!(bench.discarded().is_empty());
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

/// Under every scheme all counted bytes are released.
#[test]
fn books_close_after_a_storm_under_every_scheme() {
    let settings = dsh::Settings::default();
    let options = bfc::Options { priorities: CLASS.bit(), ..bfc::Options::EVERY[0] };
    let bfc = bfc::Settings { options, ..bfc::Settings::default() };
    for scheme in [
        SchemeSettings::default(),
        SchemeSettings::Oversubscribed(pfc::Settings),
        SchemeSettings::Dsh(settings),
        SchemeSettings::Bfc(bfc),
        SchemeSettings::Spfc(spfc::Settings::default()),
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

/// One departed packet is enough for a victim. Packets that are dropped end the PAUSE, so the port is a victim again.
#[test]
fn a_port_that_resumes_because_of_drops_is_reported_as_a_victim() {
    let settings = spfc::Settings {
        period: Nanos(1000),
        threshold: spfc::Threshold::Bytes(Bytes(1)),
        ..spfc::Settings::default()
    };
    let mut bench = Bench::<Selected>::watched(
        &SchemeSettings::Spfc(settings),
        Some(watchdog(StormAction::Drop)),
    );
    let states = |bench: &mut Bench<_>| {
        let states = bench.observed().into_iter().filter_map(|event| match event {
            Event::StateChanged { port, cause, .. } => Some((port, cause)),
            _ => None,
        });
        states.collect::<Vec<_>>()
    };
    bench.packet(Picos(0), [IN, OUT], CLASS, LENGTH);
    bench.sends(Picos(0), OUT);
    // The pool is full: 100 kB.
    for _ in 0..12 {
        bench.packet(Picos(0), [IN, OUT], CLASS, 9000);
    }
    assert_eq!(states(&mut bench), [(IN, StateCause::Fast), (IN, StateCause::Pause)]);
    bench.paused(START, OUT, CLASS.bit(), u16::MAX);
    for look in 1..=3 {
        while bench.due(Picos(look * LOOK.0)).is_some() {}
    }
    assert_eq!(states(&mut bench), [(IN, StateCause::Resume)]);
    assert!(bench.deadlines().contains(&Picos(1_000_000)), "the end of the period");
}

/// Duration of `quanta`.
const fn lasting(quanta: u16) -> Picos {
    Picos(quanta as u64 * PAUSE.0 / QUANTA as u64)
}

/// The process receives two PAUSEs late, after the first has expired. The second was sent before that, so they are one
/// pause.
#[test]
fn a_pause_that_was_renewed_in_time_goes_on_though_the_switch_hears_of_it_late() {
    for (renewed, is_storm) in [(Picos(350_000), true), (Picos(380_000), false)] {
        let mut bench = watched(StormAction::None);
        bench.burst(Picos(0));
        // Lasts until 360 ns.
        let quanta = [41; 8];
        assert_eq!(Picos(START.0 + lasting(41).0), Picos(359_920));
        bench.paused_late(START, START, OUT, CLASS.bit(), quanta);
        assert_eq!(bench.due(LOOK), None);
        let late = Picos(LOOK.0 + LOOK.0 / 2);
        bench.paused_late(late, renewed, OUT, CLASS.bit(), [u16::MAX; 8]);
        for look in [2, 3] {
            while bench.due(Picos(look * LOOK.0)).is_some() {}
        }
        assert_eq!(bench.switch.storms().count() == 1, is_storm, "{renewed:?}");
    }
}

/// The process receives a RESUME and a PAUSE at once, but the port was free in between.
#[test]
fn a_gap_between_pauses_counts_though_the_switch_hears_of_both_at_once() {
    let mut bench = watched(StormAction::None);
    begin(&mut bench);
    let (late, [end, again]) = (Picos(850_000), [Picos(700_000), Picos(701_000)]);
    bench.paused_late(late, end, OUT, CLASS.bit(), [0; 8]);
    bench.paused_late(late, again, OUT, CLASS.bit(), [u16::MAX; 8]);
    assert_eq!(bench.due(DETECTED), None, "the time starts again");
    assert_eq!(bench.due(Picos(4 * LOOK.0)), None);
    assert!(bench.due(Picos(5 * LOOK.0)).is_some());
    assert_eq!(bench.switch.storms().count(), 1);
}

/// A poll that is due while PFC frames wait to be read uses only the pauses known so far.
#[test]
fn a_look_does_not_judge_what_was_not_heard_yet() {
    let known = Picos(350_000);
    for (backlog, is_storm) in [(Some(known), true), (None, false)] {
        let mut bench = watched(StormAction::None);
        bench.burst(Picos(0));
        bench.paused(START, OUT, CLASS.bit(), 41);
        assert_eq!(bench.due(LOOK), None);
        bench.switch.set_backlog(backlog);
        let late = Picos(2 * LOOK.0);
        while bench.due(late).is_some() {}
        bench.switch.set_backlog(None);
        bench.paused_late(late, known, OUT, CLASS.bit(), [u16::MAX; 8]);
        while bench.due(DETECTED).is_some() {}
        assert_eq!(bench.switch.storms().count() == 1, is_storm, "{backlog:?}");
    }
}

/// Two priorities are paused for different times, and packets of one wait. Until the port must obey, no packet is held.
#[test]
fn a_storm_is_of_the_priority_whose_packets_wait_by_its_own_quanta() {
    let (short, long) = (41, u16::MAX);
    for (quanta_of_class, held, storms) in [
        (short, OTHER, &[OTHER][..]),
        (long, OTHER, &[]),
        (long, CLASS, &[CLASS]),
        (short, CLASS, &[]),
    ] {
        let mut bench = watched(StormAction::None);
        bench.packet(Picos(0), [IN, OUT], held, LENGTH);
        let mut quanta = [0; 8];
        quanta[CLASS.index()] = quanta_of_class;
        quanta[OTHER.index()] = short ^ long ^ quanta_of_class;
        let both = CLASS.bit() | OTHER.bit();
        bench.paused_late(START, START, OUT, both, quanta);
        for look in 1..=3 {
            while bench.due(Picos(look * LOOK.0)).is_some() {}
        }
        let found: Vec<Priority> = bench.switch.storms().map(|storm| storm.priority).collect();
        assert_eq!(found, storms, "{quanta_of_class} {held:?}");
    }
}

/// The port's response time begins at the PAUSE, and packets are held only after it.
#[test]
fn the_detection_time_begins_when_the_port_has_to_obey() {
    for (response, detected) in [(150, 3 * LOOK.0), (151, 4 * LOOK.0)] {
        let mut bench = watched(StormAction::None);
        bench.switch.tables().port(OUT.into()).expect("a port").response_ns.store(response);
        bench.burst(Picos(0));
        bench.paused(START, OUT, CLASS.bit(), u16::MAX);
        for look in 1..=4 {
            while bench.due(Picos(look * LOOK.0)).is_some() {}
        }
        let found: Vec<u64> = bench.switch.storms().map(|storm| storm.detected.0).collect();
        assert_eq!(found, [detected], "{response}");
    }
}

/// Packets that are sent after the RESUME, before or after the end of the storm, are not forbidden by a pause.
#[test]
fn what_no_pause_forbids_is_not_sent_in_spite_of_one() {
    let mut bench = stormed(StormAction::Forward);
    bench.due(DETECTED);
    assert_eq!(bench.sends(DETECTED, OUT), Some(packet(1)));
    let resumed = Picos(DETECTED.0 + 1000);
    bench.paused(resumed, OUT, CLASS.bit(), 0);
    assert_eq!(bench.sends(resumed, OUT), Some(packet(2)));
    let now = bench.switch.storms().next().expect("it is not over before the restoration time");
    assert_eq!(now.forwarded, some(1));
    let over = Picos(6 * LOOK.0);
    while bench.switch.next_deadline().is_some_and(|at| at <= over) {
        bench.due(over);
    }
    assert_eq!(bench.switch.storms().count(), 0);
    bench.paused(over, OUT, CLASS.bit(), u16::MAX);
    bench.paused(over, OUT, CLASS.bit(), 0);
    assert_eq!(bench.sends(over, OUT), Some(last(3)));
    let (.., history, _) = bench.switch.storm_histories().next().expect("one storm");
    assert_eq!(history.forwarded, some(1));
}

/// A priority may have several queues: packets in each of them are held, and dropped.
#[test]
fn what_waits_in_any_queue_of_the_priority_is_held() {
    let mut bench = watched(StormAction::Drop);
    let mut config = bench.switch.tables.rows.config[0];
    config.queues[CLASS.index()] = QueueRange::flow_queues(8, 4);
    bench.switch.tables.rows.config.write(0, config);
    for source in 1..=8 {
        let fields = Ipv4Fields {
            mac: address_to_u64(address(IN)),
            source,
            destination: FIRST_HOST_ADDRESS + u32::from(OUT),
            type_of_service: CLASS.number() << 5,
            ttl: 64,
            ..Ipv4Fields::default()
        };
        bench.arrive(Picos(0), IN, Parsed::Ipv4(fields), 300);
    }
    let queues = bench.switch.queues().non_empty(OUT.into()).and(config.queues_of(CLASS).queues());
    assert!(queues.iter().count() > 1, "{queues:?}");
    bench.paused(START, OUT, CLASS.bit(), u16::MAX);
    for look in 1..=3 {
        while bench.due(Picos(look * LOOK.0)).is_some() {}
    }
    let storm = bench.switch.storms().next().expect("it is detected");
    let all = Traffic { packets: 8, bytes: 8 * 300 };
    assert_eq!((storm.waiting, storm.egress_dropped), (all, all));
    assert!(bench.switch.is_idle(OUT));
}
