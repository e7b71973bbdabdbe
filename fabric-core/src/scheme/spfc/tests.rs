//! The state machine by tables, by comparison with a model, and by the fluid model of the paper's appendix.

mod fluid;
mod properties;

use units::{BitsPerSecond, Bytes, Nanos};

use super::settings::{Options, Settings, StateOf, Threshold};
use super::state::StateLine;
use super::*;
use crate::hop_control::HopControl;
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
use crate::scheme::Configure as _;
use crate::scheme::held::Held;
use crate::scheme::pfc::Pfc;
use crate::tables::owned::{MAX_SLOTS, OwnedTables};

const CLASS: u8 = 3;
/// Another lossless class.
const OTHER: u8 = 4;
/// A lossy class.
const LOSSY: u8 = 5;
const LENGTH: u64 = 1058;
const ON_THE_WIRE: u64 = LENGTH + 24;
/// Shared pool with room for three packets.
const POOL: u64 = 4000;
const PERIOD: u64 = 1000;

fn policy(per: StateOf) -> Policy {
    let plain = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    plain.with_scheme(SchemeKind::Spfc, Options { per }.to_bits())
}

/// Port 0 has 100 Gbit/s, at which at most 12,500 bytes depart in a period; two packets, a sixth of this, make it a
/// victim. Port 1 has 400 Gbit/s, so that it needs eight. DT admits one packet: alpha is 1/2.
fn tables(per: StateOf) -> OwnedTables {
    configured(two_classes(POOL), &a_sixth(per))
}

fn two_classes(pool: u64) -> SwitchConfig {
    SwitchConfig {
        shared_pool_bytes: pool,
        pause_quanta: 500,
        lossless_classes: 1 << CLASS | 1 << OTHER,
        lossless_queues: 2,
        ..SwitchConfig::default()
    }
}

fn a_sixth(per: StateOf) -> Settings {
    Settings {
        options: Options { per },
        period: Nanos(PERIOD),
        threshold: Threshold::Part { numerator: 6, denominator: 1 },
        overhead: Bytes(24),
    }
}

fn configured(config: SwitchConfig, settings: &Settings) -> OwnedTables {
    let mut tables = OwnedTables::new(config, 3 * LENGTH + 1);
    tables.config.slots = MAX_SLOTS as u32;
    tables.switch.slots_limit.store(MAX_SLOTS as u64);
    for (port, gigabits) in tables.ports.iter().zip([100, 400]) {
        port.rate_bps.store(gigabits * 1_000_000_000);
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(2);
    }
    let room = Spfc::room(policy(settings.options.per), 2);
    for line in (0..room.lines).filter_map(|line| tables.scheme_line(line)) {
        line.0.iter().for_each(|word| word.store(0));
    }
    let rates = [0, 1].map(|port: usize| BitsPerSecond(tables.ports[port].rate_bps.load()));
    settings.write(&tables, rates.map(|rate| (rate, Bytes(0))));
    tables
}

struct Bench {
    tables: OwnedTables,
    per: StateOf,
    held: Held,
}

/// Hop control of a step to the neighbour at the port.
type Sent = Option<Say>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Say {
    Pause,
    Resume,
}

impl Bench {
    fn new(per: StateOf) -> Self {
        Self { tables: tables(per), per, held: Held::default() }
    }

    fn policy(&self) -> Policy {
        policy(self.per)
    }

    fn line(&self, port: u32, class: u8) -> &StateLine {
        let options = Options { per: self.per };
        let line = options.circuits().line(&self.tables, port, Priority::new(class));
        line.expect("it has its line")
    }

    /// Receives a packet at `port`, bound for the other. Returns the hop control due, or the reason for a drop.
    fn arrive(&mut self, port: u32, class: u8, now: u64) -> Result<Sent, DropReason> {
        let policy = self.policy();
        let sent = self.held.arrive::<Spfc>(&self.tables, policy, (port, class), now);
        Ok(sent?.map(|order| said(order, class)))
    }

    /// Sends the oldest packet of (`port`, `class`). Returns the hop control due.
    fn depart(&mut self, port: u32, class: u8, now: u64) -> Sent {
        let policy = self.policy();
        let sent = self.held.depart::<Spfc>(&self.tables, policy, (port, class), now);
        sent.map(|order| said(order, class))
    }

    /// Receives and sends `packets` packets of (`port`, `class`).
    fn pass(&mut self, port: u32, class: u8, packets: usize, now: u64) {
        for _ in 0..packets {
            assert_eq!(self.arrive(port, class, now), Ok(None), "at {now} ns");
            assert_eq!(self.depart(port, class, now), None, "at {now} ns");
        }
    }

    /// Returns X_off of (`port`, `class`) for a packet that arrives at `now`.
    fn limit(&self, port: u32, class: u8, now: u64) -> u64 {
        let at = Ingress::new(&self.tables, self.policy(), port, Priority::new(class));
        let is_victim = self.line(port, class).is_victim(Nanos(now));
        victims::threshold_by(&at.expect("it has its rows"), is_victim)
    }

    fn is_victim(&self, port: u32, now: u64) -> bool {
        self.line(port, CLASS).is_victim(Nanos(now))
    }
}

fn said(order: Order, class: u8) -> Say {
    let HopControl::Classes(pauses) = order.control else { panic!("{order:?}") };
    assert_eq!(pauses.named, 1 << class, "the queue's own class");
    if order.resumes { Say::Resume } else { Say::Pause }
}

/// The truth table of Fig. 10, line by line.
#[test]
fn the_state_holder_follows_the_rate_counter_unless_a_pause_resets_it() {
    for (counted, paused, before, after) in [
        (false, false, false, false),
        (false, false, true, true),
        (true, false, false, true),
        (true, false, true, true),
        (false, true, true, false),
        (true, true, false, false),
        (true, true, true, false),
    ] {
        let bench = Bench::new(StateOf::Port);
        let line = bench.line(0, CLASS);
        line.tick(Nanos(0));
        line.victim.store(u32::from(before));
        if paused {
            line.reset(1 << CLASS);
        }
        line.count::<OwnedTables>(if counted { 2 * LENGTH } else { LENGTH });
        let row = (counted, paused, before);
        assert_eq!(line.is_victim(Nanos(1)), after, "{row:?}");
        // The period ends: without a reset, SH takes the value of IRC.
        let next = line.is_victim(Nanos(PERIOD));
        assert_eq!(next, counted && !paused, "{row:?}, in the next period");
    }
}

/// A step at port 0, with packets of [`CLASS`].
#[derive(Clone, Copy, Debug)]
enum Step {
    /// This number of packets arrive and leave at once.
    Pass(usize),
    /// A packet arrives and stays.
    Hold(Sent),
    /// The oldest packet leaves.
    Release(Sent),
    /// Nothing.
    Wait,
}

const PAUSE: Sent = Some(Say::Pause);
const RESUME: Sent = Some(Say::Resume);

/// Fig. 7 step by step: time, step, and whether the port is a victim afterwards.
type Story = (&'static str, &'static [(u64, Step, bool)]);

const STORIES: [Story; 9] = {
    use Step::{Hold, Pass, Release, Wait};
    [
        (
            "a port is normal at first, and as long as it is slow",
            &[
                (0, Wait, false),
                (0, Pass(1), false),
                (999, Wait, false),
                (1000, Pass(1), false),
                (2500, Pass(1), false),
            ],
        ),
        (
            "R_depart above C / `K_spfc`: a victim from the packet on that reaches the number",
            &[
                (0, Pass(1), false),
                (999, Pass(1), true),
                (1000, Wait, true),
                (1999, Wait, true),
                (2000, Wait, false),
            ],
        ),
        (
            "periods begin at multiples of TC, whatever comes",
            &[
                (999, Pass(1), false),
                (1000, Pass(1), false),
                (1999, Pass(1), true),
                (2999, Pass(1), true),
                (3000, Wait, false),
            ],
        ),
        (
            "R_depart below C / `K_spfc` for a period: normal at its end, though packets come",
            &[
                (100, Pass(2), true),
                (1100, Pass(1), true),
                (1999, Wait, true),
                (2000, Pass(1), false),
            ],
        ),
        (
            "the period after a long silence is a new one",
            &[
                (0, Pass(2), true),
                (50_500, Pass(1), false),
                (50_999, Pass(1), true),
                (51_999, Wait, true),
                (52_000, Wait, false),
            ],
        ),
        (
            "PAUSE: a victim that fills the buffer is normal until it resumes",
            &[
                (0, Pass(2), true),
                (10, Hold(None), true),
                (10, Hold(None), true),
                (10, Hold(None), true),
                (10, Hold(PAUSE), false),
                (20, Release(None), false),
                (20, Release(None), false),
                (20, Release(RESUME), true),
            ],
        ),
        (
            "PAUSE in the very period that would make the port a victim",
            &[
                (0, Pass(1), false),
                (10, Hold(None), false),
                (10, Hold(PAUSE), false),
                (10, Hold(None), false),
                // The second departure: as fast as a victim, but paused.
                (20, Release(None), false),
                (999, Wait, false),
                (1000, Wait, false),
                // Resumes in a period without other departures: slow.
                (1500, Release(RESUME), false),
                (1600, Release(None), true),
            ],
        ),
        (
            "RESUME of a port that departs fast: a victim at once",
            &[
                (0, Hold(None), false),
                (0, Hold(PAUSE), false),
                (0, Hold(None), false),
                (900, Release(None), false),
                (900, Release(RESUME), true),
                (1999, Wait, true),
                (2000, Wait, false),
            ],
        ),
        (
            "a port is paused over the end of a period: its count does not come back",
            &[
                (0, Hold(None), false),
                (0, Hold(PAUSE), false),
                (0, Hold(None), false),
                (0, Hold(None), false),
                (900, Release(None), false),
                (900, Release(None), false),
                (1000, Release(RESUME), false),
                (1000, Wait, false),
            ],
        ),
    ]
};

#[test]
fn the_states_of_fig_7_follow_rate_pause_and_resume() {
    for (story, steps) in STORIES {
        let mut bench = Bench::new(StateOf::Port);
        for &(now, step, victim) in steps {
            match step {
                Step::Pass(packets) => bench.pass(0, CLASS, packets, now),
                Step::Hold(sent) => {
                    assert_eq!(bench.arrive(0, CLASS, now), Ok(sent), "{story}, at {now} ns");
                }
                Step::Release(sent) => {
                    assert_eq!(bench.depart(0, CLASS, now), sent, "{story}, at {now} ns");
                }
                Step::Wait => {}
            }
            assert_eq!(bench.is_victim(0, now), victim, "{story}: {step:?} at {now} ns");
            assert!(!bench.is_victim(1, now), "{story}: nothing comes in at the other port");
        }
    }
}

/// A port of 400 Gbit/s needs four times the bytes of a port of 100 Gbit/s to be a victim.
#[test]
fn ports_of_different_rates_have_counting_numbers_of_their_own() {
    for (port, slow, fast) in [(0, 1, 2), (1, 7, 8)] {
        let mut bench = Bench::new(StateOf::Port);
        let number = bench.line(port, CLASS).victim_bytes.load();
        assert!((slow as u64 * ON_THE_WIRE..fast as u64 * ON_THE_WIRE).contains(&(number - 1)));
        bench.pass(port, CLASS, slow, 0);
        assert_eq!([0, 1].map(|port| bench.is_victim(port, 0)), [false; 2]);
        bench.pass(port, CLASS, fast - slow, 0);
        assert_eq!([0, 1].map(|of| bench.is_victim(of, 0)), [0, 1].map(|of| of == port));
    }
}

/// Section IV-B, actions, and Eq. 4.
#[test]
fn a_victim_may_hold_the_whole_pool_and_others_what_dt_leaves() {
    let mut bench = Bench::new(StateOf::Port);
    bench.pass(0, CLASS, 1, 0);
    assert_eq!([0, 1].map(|port| bench.limit(port, CLASS, 0)), [POOL / 2; 2], "both are normal");
    bench.pass(0, CLASS, 1, 0);
    assert_eq!([0, 1].map(|port| bench.limit(port, CLASS, 0)), [POOL, POOL / 2]);
    for _ in 0..3 {
        assert_eq!(bench.arrive(0, CLASS, 10), Ok(None), "a normal port pauses with the second");
    }
    let left = (POOL - 3 * LENGTH) / 2;
    assert_eq!([0, 1].map(|port| bench.limit(port, CLASS, 10)), [POOL, left]);
    assert_eq!(bench.arrive(1, CLASS, 10), Ok(PAUSE), "the other port pauses with its first");
}

#[test]
fn a_normal_port_pauses_by_dt() {
    let mut bench = Bench::new(StateOf::Port);
    assert_eq!([(); 2].map(|()| bench.arrive(0, CLASS, 0).unwrap()), [None, PAUSE]);
}

/// A port has one state for all classes, or a state for each.
#[test]
fn a_pause_of_one_class_makes_the_port_normal_or_the_queue() {
    for (per, other_is_victim) in [(StateOf::Port, false), (StateOf::Queue, true)] {
        let mut bench = Bench::new(per);
        bench.pass(0, CLASS, 2, 0);
        bench.pass(0, OTHER, 2, 0);
        assert_eq!([CLASS, OTHER].map(|class| bench.limit(0, class, 0)), [POOL; 2]);
        let sent = [(); 4].map(|()| bench.arrive(0, CLASS, 10).unwrap());
        assert_eq!(sent, [None, None, None, PAUSE]);
        let victims = [CLASS, OTHER].map(|class| bench.line(0, class).is_victim(Nanos(10)));
        assert_eq!(victims, [false, other_is_victim], "{per:?}");
    }
}

#[test]
fn a_port_is_reset_until_the_last_of_its_classes_resumes() {
    let mut bench = Bench::new(StateOf::Port);
    for class in [CLASS, OTHER] {
        // T is 1471 after the first packet of a class, and 942 after both.
        bench.arrive(0, class, 0).unwrap();
        while bench.tables.queue(0, class).off.load() == 0 {
            bench.arrive(0, class, 0).unwrap();
        }
    }
    let mut sent = Vec::new();
    while let Some((_, class)) = bench.held.first() {
        sent.extend(bench.depart(0, class, 10));
        let paused = [CLASS, OTHER].iter().any(|&it| bench.tables.queue(0, it).off.load() != 0);
        let counted = bench.line(0, CLASS).departed_bytes.load() >= 2 * ON_THE_WIRE;
        assert_eq!(bench.is_victim(0, 10), counted && !paused);
    }
    assert_eq!(sent, [Say::Resume; 2]);
    assert!(bench.is_victim(0, 10));
}

#[test]
fn lossy_packets_count_as_departures_of_the_port() {
    for (per, victim) in [(StateOf::Port, true), (StateOf::Queue, false)] {
        let mut bench = Bench::new(per);
        bench.pass(0, LOSSY, 2, 0);
        assert_eq!(bench.is_victim(0, 0), victim, "{per:?}");
        assert_eq!(bench.line(0, LOSSY).is_victim(Nanos(0)), victim, "a lossy queue has no state");
    }
}

/// A pause that is due for renewal ends if its queue is at or below X_on. Then the count of an old
/// period makes no victim.
#[test]
fn a_renewal_that_resumes_looks_at_the_period_of_its_time() {
    for (now, victim) in [(950, true), (1000, false)] {
        let mut bench = Bench::new(StateOf::Port);
        bench.tables.config.tests_renewed_pauses = 1;
        let sent = [(); 2].map(|()| bench.arrive(0, CLASS, 0).unwrap());
        assert_eq!(sent, [None, PAUSE]);
        bench.pass_paused(900);
        let at = Ingress::new(&bench.tables, bench.policy(), 0, Priority::new(CLASS)).unwrap();
        let pause = at.queue.pauses.load();
        let again = Spfc::renewal(&at, PauseLevel::Queue, pause, Nanos(900)).unwrap();
        assert!(!again.resumes, "the queue holds headroom");
        // As after a change by measured headroom or of X_on: the queue's level falls without a departure.
        at.queue.headroom_bytes.store(0);
        let ended = Spfc::renewal(&at, PauseLevel::Queue, pause, Nanos(now)).unwrap();
        assert!(ended.resumes);
        assert_eq!(bench.is_victim(0, now), victim, "at {now} ns");
        assert_eq!(Spfc::renewal(&at, PauseLevel::Port, pause, Nanos(now)), None);
    }
}

impl Bench {
    /// Sends two packets of another class while [`CLASS`] is paused.
    fn pass_paused(&mut self, now: u64) {
        let line = self.line(0, CLASS);
        line.tick(Nanos(now));
        for _ in 0..2 {
            line.count::<OwnedTables>(LENGTH);
        }
    }
}

/// A packet that a watchdog drops has not departed. The drop may end a PAUSE; then the count of an old period makes no
/// victim.
#[test]
fn a_drop_that_resumes_looks_at_the_period_of_its_time() {
    for (now, victim) in [(900, true), (PERIOD + 5, false)] {
        let mut bench = Bench::new(StateOf::Port);
        bench.pass(0, CLASS, 2, 0);
        while bench.arrive(0, CLASS, 10).unwrap().is_none() {}
        let counted = bench.line(0, CLASS).departed_bytes.load();
        let mut sent = Vec::new();
        while bench.held.len() > 0 {
            sent.extend(bench.held.discard::<Spfc>(&bench.tables, bench.policy(), now));
        }
        assert!(sent.len() == 1 && sent[0].resumes, "{sent:?}");
        assert_eq!(bench.is_victim(0, now), victim, "at {now} ns");
        let after = bench.line(0, CLASS).departed_bytes.load();
        assert_eq!(after, if victim { counted } else { 0 }, "no drop counts");
    }
}

#[test]
fn the_control_plane_stores_dt_also_for_a_victim() {
    let mut bench = Bench::new(StateOf::Port);
    bench.pass(0, CLASS, 2, 0);
    let at = Ingress::new(&bench.tables, bench.policy(), 0, Priority::new(CLASS)).unwrap();
    Spfc::observe(&at, Nanos(0));
    assert_eq!(at.queue.stored_threshold_bytes.load(), POOL / 2);
}

#[test]
fn those_who_look_on_see_the_state_and_what_it_was_before_a_pause() {
    let mut bench = Bench::new(StateOf::Port);
    let shown = |bench: &Bench| {
        let state = Spfc::state(&bench.tables, bench.policy(), 0, Priority::new(OTHER)).unwrap();
        (state.victim, state.paused, state.victim_before_pause, state.period_ends.0)
    };
    assert_eq!(shown(&bench), (false, false, false, 0));
    bench.pass(0, CLASS, 2, 1500);
    assert_eq!(shown(&bench), (true, false, false, 2000));
    while bench.arrive(0, CLASS, 1600).unwrap().is_none() {}
    assert_eq!(shown(&bench), (false, true, true, 2000));
    Spfc::tick(&bench.tables, bench.policy(), 0, Priority::new(OTHER), Nanos(7300));
    assert_eq!(shown(&bench), (false, true, true, 8000));
    assert_eq!(Spfc::states(policy(StateOf::Port)), Some(PauseLevel::Port));
    assert_eq!(Spfc::states(policy(StateOf::Queue)), Some(PauseLevel::Queue));
    assert_eq!(Pfc::states(policy(StateOf::Port)), None);
    assert_eq!(Spfc::room(policy(StateOf::Queue), 2), Room { lines: 16, blocks: 1 });
}
