//! Hop control frames that a switch sends to its neighbours and receives from them.

use fabric_core::scheme::dsh;
use fabric_core::scheme::dsh::state;

use super::*;

const START: Picos = Picos(1_000_000);

#[test]
fn a_pause_wakes_its_port_and_goes_ahead_of_packets() {
    let mut bench = Bench::new();
    bench.packet(START, [1, IN], OTHER, LENGTH);
    let reactions = bench.burst(START);
    let wakes = [None, None, Some(IN)].map(|first| [first, Some(OUT)]);
    assert_eq!(reactions.map(|reaction| reaction.wake), wakes);
    assert!(reactions.iter().all(|reaction| reaction.keeps_frame && !reaction.pauses_changed));
    let of_pause =
        [Event::PfcQueued(PauseEvent::Pause), decided(IN, CLASS.bit(), PauseEvent::Pause, 1)];
    assert_eq!(bench.observed()[4..], of_pause, "after four admitted packets");
    assert_eq!(bench.sends(START, IN), Some(pause(IN, CLASS.bit())));
    assert_eq!(bench.sends(START, IN), Some(last_of(OTHER_QUEUE, 1)));
}

#[test]
fn a_resume_after_a_departure_names_the_port_that_it_leaves_by() {
    let mut bench = Bench::new();
    bench.burst(START);
    assert_eq!(bench.sends(START, IN), Some(pause(IN, CLASS.bit())));
    bench.observed();
    assert_eq!(bench.woken(), [0; 0], "the arrival named it");
    assert_eq!(bench.sends(START, OUT), Some(packet(1)));
    assert_eq!(bench.woken(), [IN]);
    let resumed =
        [Event::PfcQueued(PauseEvent::Resume), decided(IN, CLASS.bit(), PauseEvent::Resume, 1)];
    assert_eq!(bench.observed()[1..], resumed, "after the departure");
    assert_eq!(bench.sends(START, IN), Some(resume(IN, CLASS.bit())));
}

/// Sharing the tables with another side changes neither the frames nor the counts of a switch.
#[test]
fn departures_from_shared_tables_are_the_same() {
    fn run<D: Sharing>() -> (Vec<Option<Sent>>, Vec<Event>, String) {
        let mut bench = Bench::new();
        bench.burst(START);
        let ports = [IN, OUT, IN, OUT, OUT, OUT];
        let sent = ports.map(|port| bench.sends_as::<D>(START, port)).to_vec();
        (sent, bench.observed(), format!("{:?}", bench.switch.tables().state()))
    }
    let alone = run::<Rows>();
    assert_eq!(alone, run::<SwitchTables>());
    assert_eq!(alone.0.iter().flatten().count(), 5, "a PAUSE, a RESUME and three packets");
}

#[test]
fn a_pause_is_renewed_until_its_queue_resumes() {
    let mut bench = Bench::new();
    bench.burst(START);
    assert_eq!(bench.sends(START, IN), Some(pause(IN, CLASS.bit())));
    bench.observed();
    let renewed = [
        Event::PausesTested { port: IN },
        Event::PfcQueued(PauseEvent::Refresh),
        decided(IN, CLASS.bit(), PauseEvent::Refresh, 1),
    ];
    let nothing_else = Some(Due { port: IN, pauses_changed: false });
    let mut at = START;
    for _ in 0..3 {
        at += REFRESH;
        assert_eq!(bench.switch.next_deadline(), Some(at));
        assert_eq!(bench.due(Picos(at.0 - 1)), None);
        assert_eq!(bench.due(at), nothing_else);
        assert_eq!(bench.observed(), renewed);
        assert_eq!(bench.sends(at, IN), Some(pause(IN, CLASS.bit())));
    }
    bench.sends(at, OUT);
    assert_eq!(bench.sends(at, IN), Some(resume(IN, CLASS.bit())));
    bench.observed();
    at += REFRESH;
    assert_eq!(bench.due(at), nothing_else);
    assert_eq!((bench.observed(), bench.sends(at, IN)), (vec![], None), "it is over");
    assert_eq!(bench.switch.next_deadline(), None);
}

#[test]
fn an_earlier_pause_is_not_renewed_in_a_later_one() {
    let mut bench = Bench::new();
    bench.burst(START);
    bench.sends(START, OUT);
    let later = START + Picos(1000);
    bench.packet(later, [IN, OUT], CLASS, LENGTH);
    assert_eq!(bench.sends(later, IN), Some(pause(IN, CLASS.bit())), "its second");
    bench.observed();
    bench.due(START + REFRESH).expect("the first pause's renewal");
    assert_eq!((bench.observed(), bench.sends(START + REFRESH, IN)), (vec![], None));
    bench.due(later + REFRESH).expect("the second's");
    assert_eq!(bench.observed()[2], decided(IN, CLASS.bit(), PauseEvent::Refresh, 2));
}

#[test]
fn a_frame_that_was_built_is_sent_or_discarded() {
    let mut bench = Bench::new();
    bench.builds = true;
    bench.burst(START);
    assert_eq!(bench.discarded(), [0; 0]);
    bench.sends(START, OUT);
    assert_eq!(bench.discarded(), [built(3)], "its class has been resumed since");
    assert_eq!(bench.sends(START, IN), Some(resume(IN, CLASS.bit())));
    assert_eq!(bench.sends(START, IN), None);
    bench.packet(START, [IN, OUT], CLASS, LENGTH);
    assert_eq!(bench.sends(START, IN), Some(Sent::Control(ControlTransmission::Built(built(4)))));
    assert_eq!(bench.discarded(), [0; 0]);
}

#[test]
fn a_paused_class_waits_for_the_expiry_and_others_do_not() {
    let mut bench = Bench::new();
    for class in [CLASS, OTHER] {
        bench.packet(START, [IN, OUT], class, LENGTH);
    }
    bench.observed();
    let reaction = bench.paused(START, OUT, OTHER.bit(), QUANTA);
    let expected = Reaction { keeps_frame: false, pauses_changed: true, wake: [Some(OUT), None] };
    assert_eq!(reaction, expected);
    let (until, quanta) = ((START + PAUSE).to_nanos(), Some(QUANTA));
    let received = Event::PauseReceived { port: OUT, priority: OTHER, until, quanta };
    assert_eq!(bench.observed(), [received]);
    assert_eq!(bench.switch.next_deadline(), Some(START + PAUSE));
    assert_eq!(bench.sends(START, OUT), Some(packet(1)), "of the lower class");
    assert_eq!(bench.sends(START, OUT), None);
    assert!(!bench.switch.is_idle(OUT));
    assert_eq!(bench.due(START + PAUSE), Some(Due { port: OUT, pauses_changed: true }));
    assert_eq!(bench.sends(START + PAUSE, OUT), Some(last_of(OTHER_QUEUE, 2)));
}

#[test]
fn a_received_resume_sets_no_deadline() {
    let mut bench = Bench::new();
    bench.packet(START, [IN, OUT], CLASS, LENGTH);
    bench.paused(START, OUT, CLASS.bit(), QUANTA);
    assert_eq!(bench.sends(START, OUT), None);
    let before = bench.deadlines();
    let later = START + Picos(1000);
    assert!(bench.paused(later, OUT, CLASS.bit() | LOSSY.bit(), 0).pauses_changed);
    assert_eq!(bench.deadlines(), before);
    assert_eq!(bench.sends(later, OUT), Some(last(1)));
}

/// DSH without shared headroom, so that X_qoff is X_off.
fn dsh_bench() -> Bench {
    let options = dsh::Options { shared_headroom: false, ..dsh::Options::default() };
    Bench::with(&SchemeSettings::Dsh(dsh::Settings { options, ..dsh::Settings::default() }))
}

/// A switch under DSH with port [`IN`] OFF for the fourth time and a packet of [`CLASS`]. The queue
/// of [`OTHER`] is OFF, too, and has paused its class twice before.
fn port_off() -> Bench {
    let mut bench = dsh_bench();
    bench.packet(START, [IN, OUT], CLASS, LENGTH);
    let tables = bench.switch.tables();
    let port = state::port_of(tables, IN.into()).expect("the port has its line");
    port.off.store(1);
    port.pauses.store(4);
    let queue = tables.ingress(IN.into(), OTHER);
    queue.off.store(1);
    queue.pauses.store(2);
    bench.observed();
    bench
}

#[test]
fn the_resume_of_a_port_renews_the_pauses_of_queues_that_are_off() {
    let mut bench = port_off();
    bench.sends(START, OUT);
    let rows = [
        Event::PfcQueued(PauseEvent::Resume),
        decided(IN, CLASS.bit(), PauseEvent::Resume, 4),
        decided(IN, OTHER.bit(), PauseEvent::Refresh, 3),
    ];
    assert_eq!(bench.observed()[1..], rows, "after the departure");
    let one_frame = ClassPauses::xon(CLASS.bit()).and_xoff(OTHER.bit(), QUANTA);
    assert_eq!(bench.sends(START, IN), Some(classes_frame(IN, one_frame)));
    assert_eq!(bench.sends(START, IN), None);
    assert_eq!(bench.deadlines(), [START + REFRESH]);
    bench.due(START + REFRESH).expect("the pause of the other class is renewed");
    assert_eq!(bench.observed()[2..], [decided(IN, OTHER.bit(), PauseEvent::Refresh, 3)]);
    assert_eq!(bench.sends(START, IN), Some(pause(IN, OTHER.bit())));
}

#[test]
fn the_resume_of_a_port_whose_queues_are_all_off_is_a_renewal() {
    let mut bench = port_off();
    let queue = bench.switch.tables().ingress(IN.into(), CLASS);
    queue.off.store(1);
    // The queue is still above X_on after the packet has left.
    queue.shared_bytes.add::<SwitchTables>(XOFF);
    bench.switch.tables().state().shared_bytes.add::<SwitchTables>(XOFF);
    bench.sends(START, OUT);
    let both = CLASS.bit() | OTHER.bit();
    let rows = [
        Event::PfcQueued(PauseEvent::Refresh),
        decided(IN, 0, PauseEvent::Resume, 4),
        decided(IN, CLASS.bit(), PauseEvent::Refresh, 1),
        decided(IN, OTHER.bit(), PauseEvent::Refresh, 3),
    ];
    assert_eq!(bench.observed()[1..], rows, "after the departure");
    assert_eq!(bench.sends(START, IN), Some(pause(IN, both)));
    assert_eq!(bench.deadlines(), [START + REFRESH; 2]);
}

#[test]
fn the_pause_of_a_port_is_renewed_or_ends() {
    let mut bench = dsh_bench();
    // More bytes than both lossless queues may hold: X_poff is twice X_off.
    for _ in 0..3 {
        for class in [CLASS, OTHER] {
            bench.packet(START, [IN, OUT], class, LENGTH);
        }
    }
    let both = CLASS.bit() | OTHER.bit();
    let paused =
        bench.observed().into_iter().rev().find(|event| matches!(event, Event::Pause { .. }));
    assert_eq!(paused, Some(decided(IN, both, PauseEvent::Pause, 1)));
    while bench.sends(START, IN).is_some() {}
    while bench.due(START + REFRESH).is_some() {}
    let renewed = bench.observed();
    assert!(renewed.contains(&Event::PausesTested { port: IN }), "{renewed:?}");
    assert!(renewed.contains(&decided(IN, both, PauseEvent::Refresh, 1)), "{renewed:?}");
    assert_eq!(bench.sends(START, IN), Some(pause(IN, both)));
}
