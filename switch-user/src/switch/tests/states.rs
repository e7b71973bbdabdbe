//! States of ports and queues under SPFC: the reports to the observer, and their times.

use fabric_core::scheme::spfc::{Options, Settings, StateOf, Threshold};

use super::*;

const PERIOD: u64 = 1_000_000;
/// 11 such packets fit into the shared pool of 100 kB, one more into headroom.
const LARGE: u32 = 9000;

/// Two packets of [`LENGTH`] in a microsecond make a port or queue a victim.
fn bench(per: StateOf) -> Bench {
    Bench::with(&SchemeSettings::Spfc(Settings {
        options: Options { per },
        period: Nanos(PERIOD / 1000),
        threshold: Threshold::Bytes(Bytes(2 * (u64::from(LENGTH) + 24))),
        overhead: Bytes(24),
    }))
}

impl Bench {
    /// Returns the new events about states, and about the pauses that belong to states.
    fn observed_states(&mut self) -> Vec<Event> {
        let mut observed = self.observed();
        observed.retain(|it| matches!(it, Event::StateChanged { .. } | Event::Pause { .. }));
        observed
    }

    /// Passes `packets` packets from [`IN`] to [`OUT`].
    fn pass(&mut self, now: Picos, class: Priority, packets: u32) {
        for _ in 0..packets {
            self.packet(now, [IN, OUT], class, LENGTH);
            assert!(matches!(self.sends(now, OUT), Some(Sent::Packet(_))));
        }
    }
}

const fn changed(priority: Option<Priority>, cause: StateCause) -> Event {
    Event::StateChanged { port: IN, priority, cause }
}

/// Decision number `pause` about [`CLASS`] at a port that was in `state`.
fn decided_in(state: PortState, event: PauseEvent, pause: u32) -> Event {
    let Event::Pause { port, classes, order, .. } = decided(IN, CLASS.bit(), event, pause) else {
        unreachable!("it is a pause")
    };
    Event::Pause { port, classes, event, state: Some(state), order }
}

#[test]
fn a_victim_is_reported_with_the_packet_that_makes_it_one_and_when_a_slow_period_ends() {
    let mut bench = bench(StateOf::Port);
    bench.pass(Picos(500_000), CLASS, 1);
    assert_eq!((bench.observed_states(), bench.deadlines()), (vec![], vec![]));
    bench.pass(Picos(900_000), CLASS, 1);
    assert_eq!(bench.observed_states(), [changed(None, StateCause::Fast)]);
    assert_eq!(bench.deadlines(), [Picos(PERIOD)]);
    bench.pass(Picos(950_000), CLASS, 1);
    assert_eq!(bench.deadlines(), [Picos(PERIOD)], "one timer");
    assert_eq!(bench.due(Picos(PERIOD)), Some(Due { port: IN, pauses_changed: false }));
    assert_eq!(bench.observed_states(), [], "the last period was fast");
    assert_eq!(bench.deadlines(), [Picos(2 * PERIOD)]);
    bench.due(Picos(2 * PERIOD));
    assert_eq!(bench.observed_states(), [changed(None, StateCause::Slow)]);
    assert_eq!(bench.deadlines(), [], "nothing to look at until it is a victim again");
}

/// An arrival at the end of the period precedes the timer, and finds the port normal.
#[test]
fn an_arrival_at_the_end_of_a_period_reports_it() {
    let mut bench = bench(StateOf::Port);
    bench.pass(Picos(0), CLASS, 2);
    bench.due(Picos(PERIOD));
    bench.observed();
    bench.packet(Picos(2 * PERIOD), [IN, OUT], CLASS, LENGTH);
    assert_eq!(bench.observed_states(), [changed(None, StateCause::Slow)]);
    bench.due(Picos(2 * PERIOD));
    assert_eq!((bench.observed_states(), bench.deadlines()), (vec![], vec![]));
}

#[test]
fn a_pause_reports_the_old_state_of_the_port_and_a_resume_the_new() {
    let mut bench = bench(StateOf::Port);
    bench.burst(Picos(0));
    let paused = decided_in(PortState::Normal, PauseEvent::Pause, 1);
    assert_eq!(bench.observed_states(), [paused], "it stays normal");
    while bench.sends(Picos(0), OUT).is_some() {}
    // One packet has left when it resumes, and the second makes it a victim.
    let resumed = decided_in(PortState::Normal, PauseEvent::Resume, 1);
    assert_eq!(bench.observed_states(), [resumed, changed(None, StateCause::Fast)]);

    for _ in 0..12 {
        bench.packet(Picos(10), [IN, OUT], CLASS, LARGE);
    }
    let paused = decided_in(PortState::Victim, PauseEvent::Pause, 2);
    assert_eq!(bench.observed_states(), [paused, changed(None, StateCause::Pause)]);
    while bench.sends(Picos(20), OUT).is_some() {}
    let resumed = decided_in(PortState::Victim, PauseEvent::Resume, 2);
    assert_eq!(bench.observed_states(), [resumed, changed(None, StateCause::Resume)]);
}

/// Other packets have made room: the queue resumes when its PAUSE is due for renewal, in a period with enough
/// departures.
#[test]
fn a_renewal_that_resumes_reports_a_victim() {
    let mut bench = bench(StateOf::Port);
    let mut config = bench.switch.tables.rows.config[0];
    config.tests_renewed_pauses = 1;
    bench.switch.tables.rows.config.write(0, config);
    bench.burst(Picos(0));
    bench.pass(REFRESH, OTHER, 2);
    bench.observed();
    let queue = bench.switch.tables().ingress(IN.into(), CLASS);
    queue.shared_bytes.store(0);
    queue.headroom_bytes.store(0);
    bench.due(REFRESH);
    let observed = bench.observed_states();
    assert_eq!(observed.last(), Some(&changed(None, StateCause::Resume)), "{observed:?}");
    assert_eq!(bench.deadlines(), [Picos(4 * PERIOD)]);
}

#[test]
fn queues_with_states_of_their_own_are_reported_by_priority() {
    let mut bench = bench(StateOf::Queue);
    assert_eq!(bench.switch.states(), Some(PauseLevel::Queue));
    bench.pass(Picos(0), CLASS, 1);
    bench.pass(Picos(0), OTHER, 1);
    assert_eq!(bench.observed_states(), [], "the port is fast, and neither queue is");
    bench.pass(Picos(0), OTHER, 1);
    assert_eq!(bench.observed_states(), [changed(Some(OTHER), StateCause::Fast)]);
    let victims = [CLASS, OTHER].map(|class| bench.switch.state(IN, class).unwrap().victim);
    assert_eq!(victims, [false, true]);
    bench.due(Picos(PERIOD));
    bench.due(Picos(2 * PERIOD));
    assert_eq!(bench.observed_states(), [changed(Some(OTHER), StateCause::Slow)]);
}

#[test]
fn schemes_without_states_report_none() {
    let mut bench = Bench::new();
    bench.burst(Picos(0));
    assert_eq!(bench.observed_states(), [decided(IN, CLASS.bit(), PauseEvent::Pause, 1)]);
    assert_eq!((bench.switch.states(), bench.switch.state(IN, CLASS)), (None, None));
}
