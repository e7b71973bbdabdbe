//! Cycles of waiting that open and end, on tables set as pauses and packets would set them.

use fabric_core::map_abi::{DESCRIPTOR_PRIORITY_AT, IngressQueue, PauseState, Port, class_row};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::scheme::dsh::state::{self as dsh, PortLine};
use fabric_core::tables::Tables;
use scenario::Scenario;
use switch_user::tables::SwitchTables;
use switch_user::traffic_manager::Waiting;
use topology::{NodeKind, SwitchId};
use units::Picos;

use crate::datapath::FrameId;
use crate::datapath::memory::MemoryWires;
use crate::engine::Engine;
use crate::engine::agenda::{Agenda, Task};
use crate::engine::deadlock::LOOK_PERIOD;
use crate::engine::part::Opening;
use crate::engine::tests::{engine, scenario};
use crate::engine::wait_graph::Lane;

const SCENARIO: &str = include_str!("../../../../scenarios/deadlock.toml");
/// A cycle of wires through the fabric.
const ROUND: [&str; 4] = ["spine0->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->spine0"];
/// Time longer than any test, ns.
const LONG: u64 = 1_000_000_000;

/// Queues resume by departures only.
fn fabric() -> Scenario {
    fabric_that_tests_at("departure")
}

fn fabric_that_tests_at(resume_test: &str) -> Scenario {
    let tests = format!("[switch]\nresume_test = \"{resume_test}\"");
    scenario(
        &SCENARIO
            .replace("[switch]", &tests)
            .replace("lossless = [3]", "lossless = [3, 5]")
            .replace("kind = \"sih\"", "kind = \"dsh\""),
    )
}

/// A fabric at an instant.
struct Instant<'a> {
    engine: Engine<'a, MemoryWires>,
    /// Number of packets, each of 1000 bytes and with its own slot.
    packets: u32,
    /// Tasks on the agenda that `receive` has found and not performed.
    others: Vec<(Picos, Task)>,
}

impl<'a> Instant<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let mut engine = engine(scenario);
        engine.agenda = Agenda::default();
        Self { engine, packets: 0, others: Vec::new() }
    }

    /// Takes the next task from the agenda.
    fn next(&mut self) -> Option<(Picos, Task)> {
        let at = self.engine.agenda.next();
        self.engine.agenda.pop(at).map(|task| (at, task))
    }

    /// Performs a task at an instant.
    fn perform(&mut self, at: Picos, task: Task) {
        self.engine.now = at;
        self.engine.perform(task, &mut Opening::default()).expect("no file to write");
    }

    /// Reports the current pauses of a wire's sender to the watch.
    fn report(&mut self, wire: u32) {
        let classes = self.engine.scenario.switch.lossless.iter();
        let paused = classes
            .filter(|&class| self.engine.is_stopped(Lane { wire, class }))
            .fold(0, |paused, class| paused | 1 << class);
        let at = self.engine.now;
        self.perform(at, Task::PausesChanged { wire, paused, at });
    }

    fn lane(&self, wire: &str, class: u8) -> Lane {
        let wires = self.engine.scenario.fabric().wires();
        let wire = wires.iter().position(|other| other.name == wire).expect("a wire") as u32;
        Lane { wire, class }
    }

    /// Makes a packet of `class` that came by one wire wait to leave by another one.
    fn wait(&mut self, class: u8, came: &str, leaves: &str) {
        let (came, leaves) = (self.lane(came, class), self.lane(leaves, class));
        self.hold(came, 1000);
        let switch = self.engine.sender(leaves.wire);
        let (ingress, egress) = (
            self.engine.fabric_wire(came.wire).to_port,
            self.engine.fabric_wire(leaves.wire).from_port,
        );
        let slot = self.packets;
        self.packets += 1;
        let node = self.engine.switch_mut(SwitchId(switch));
        let packet = node.tables().descriptor(slot).expect("a slot");
        packet.ingress_port.store(ingress.into());
        packet.flags.store(u32::from(class) << DESCRIPTOR_PRIORITY_AT);
        packet.length.store(1000);
        let packet = Waiting::new(slot, FrameId::default(), 1000, 0);
        node.queues_mut().enqueue(egress.into(), QueueId::data(class), packet);
    }

    /// Adds `bytes` to the ingress queue at the end of a lane.
    fn hold(&self, lane: Lane, bytes: u64) {
        self.at_its_end(lane, |queue, _| {
            queue.shared_bytes.add::<SwitchTables>(bytes);
        });
    }

    fn at_its_end(&self, lane: Lane, change: impl FnOnce(&IngressQueue, &PortLine)) {
        let (tables, port) = self.end_of(lane);
        let queue = tables.ingress(port, Priority::new(lane.class));
        change(queue, dsh::port_of(tables, port).expect("a port"));
    }

    fn port_at_its_end(&self, lane: Lane) -> &Port {
        let (tables, port) = self.end_of(lane);
        tables.port(port).expect("a port")
    }

    /// The tables of the switch that a lane leads to, and its port.
    fn end_of(&self, lane: Lane) -> (&SwitchTables, u32) {
        let wire = self.engine.fabric_wire(lane.wire);
        let NodeKind::Switch(SwitchId(switch)) = self.engine.scenario.fabric().node(wire.to).kind
        else {
            panic!("{} leads to a host", wire.name)
        };
        (self.engine.switch(SwitchId(switch)).tables(), wire.to_port.into())
    }

    fn turn_queue(&self, wire: &str, class: u8, off: bool) {
        let off = u32::from(off);
        self.at_its_end(self.lane(wire, class), |queue, _| queue.off.store(off));
    }

    fn turn_port(&self, wire: &str, off: bool) {
        let off = u32::from(off);
        self.at_its_end(self.lane(wire, 0), |_, port| port.off.store(off));
    }

    fn pause_state(&self, lane: Lane) -> (&PauseState, u64) {
        let port = u32::from(self.engine.fabric_wire(lane.wire).from_port);
        let tables = self.engine.sending_switch(lane.wire).tables();
        let row = class_row(port, Priority::new(lane.class));
        let row = tables.egress_class(row).expect("a class");
        (&row.pause, tables.port(port).expect("a port").response_ns.load())
    }

    /// Makes the sender of a wire receive a PFC frame for `classes`, where 0 ns resumes them, and performs all
    /// tasks that settle pauses.
    fn receive(&mut self, wire: &str, classes: &[u8], duration_ns: u64) {
        let now = self.engine.now.to_nanos();
        for &class in classes {
            let (state, response) = self.pause_state(self.lane(wire, class));
            state.receive(now, duration_ns, response);
        }
        let number = self.lane(wire, 0).wire;
        self.report(number);
        let mut last = self.engine.now;
        while let Some((at, task)) = self.next() {
            if let Task::PauseSettled { .. } = task {
                last = at;
                self.perform(at, task);
            } else {
                self.others.push((at, task));
            }
        }
        self.engine.now = last + Picos(1_000_000);
    }

    /// The open cycles, with lanes as (wire, class).
    fn open(&self) -> Vec<Vec<(&str, u8)>> {
        let name = |lane: &Lane| (self.engine.fabric_wire(lane.wire).name.as_str(), lane.class);
        let cycles = self.engine.deadlocks.open.iter();
        cycles.map(|cycle| cycle.lanes.iter().map(name).collect()).collect()
    }
}

/// Makes queues of class 3 wait in a cycle, and at leaf1 and spine1 for packets of class 5 and 3 of their ports:
/// the cycle over `ROUND` has classes 3, 5, 3 and 3. A packet at leaf1 waits for nobody.
fn mixed(instant: &mut Instant<'_>) {
    let [first, second, third, fourth] = ROUND;
    for (class, came, leaves) in
        [(5, first, second), (3, second, third), (3, third, fourth), (3, fourth, first)]
    {
        instant.wait(class, came, leaves);
    }
    instant.hold(instant.lane(first, 3), 1000);
    for (wire, class) in [(second, 5), (third, 3), (fourth, 3)] {
        instant.turn_queue(wire, class, true);
        instant.receive(wire, &[class], LONG);
    }
    instant.turn_port(second, true);
    instant.receive(second, &[3, 5], LONG);
}

const MIXED: [(&str, u8); 4] = [(ROUND[0], 3), (ROUND[1], 5), (ROUND[2], 3), (ROUND[3], 3)];

/// spine0 has been paused in class 3 when leaf1's port pauses it, too: from then on it also waits for packets
/// of class 5.
#[test]
fn a_port_closes_a_cycle_through_a_class_that_was_paused_before() {
    let scenario = fabric();
    let mut instant = Instant::new(&scenario);
    mixed(&mut instant);
    instant.turn_queue(ROUND[0], 3, true);
    instant.receive(ROUND[0], &[3], LONG);
    assert!(instant.open().is_empty(), "class 3 waits for its own packets");
    instant.turn_port(ROUND[0], true);
    instant.receive(ROUND[0], &[3, 5], LONG);
    assert_eq!(instant.open(), [MIXED]);
}

/// leaf1's port turns ON, and its frame renews the pauses of both queues.
#[test]
fn a_cycle_ends_when_its_port_turns_on_though_its_classes_stay_paused() {
    let scenario = fabric();
    let mut instant = Instant::new(&scenario);
    mixed(&mut instant);
    instant.turn_queue(ROUND[0], 3, true);
    instant.turn_queue(ROUND[0], 5, true);
    instant.turn_port(ROUND[0], true);
    instant.receive(ROUND[0], &[3, 5], LONG);
    assert_eq!(instant.open(), [MIXED]);
    instant.turn_port(ROUND[0], false);
    instant.receive(ROUND[0], &[3, 5], LONG);
    assert!(instant.open().is_empty());
}

/// Each wire of the cycle also waits for its reverse, and these cycles of two are found first. When one of them
/// ends, the cycle of four is left.
#[test]
fn a_cycle_that_others_hid_is_found_when_one_of_them_ends() {
    const BACK: [&str; 4] = ["leaf1->spine0", "spine1->leaf1", "leaf2->spine1", "spine0->leaf2"];
    let scenario = fabric();
    let mut instant = Instant::new(&scenario);
    for at in 0..4 {
        let next = ROUND[(at + 1) % 4];
        instant.wait(3, ROUND[at], next);
        instant.wait(3, ROUND[at], BACK[at]);
        instant.wait(3, BACK[at], ROUND[at]);
    }
    // The reverses first: at its check, a wire of the cycle is in no other one.
    for wire in BACK.iter().chain(&ROUND) {
        instant.turn_queue(wire, 3, true);
        instant.receive(wire, &[3], LONG);
    }
    let round = ROUND.map(|wire| (wire, 3));
    assert_eq!(instant.open().len(), 4);
    assert!(instant.open().iter().all(|cycle| cycle.len() == 2));
    instant.turn_queue(BACK[0], 3, false);
    instant.receive(BACK[0], &[3], 0);
    let open = instant.open();
    assert_eq!((open.len(), open.last().map(Vec::as_slice)), (4, Some(&round[..])));
}

/// Classes of a PFC frame whose pauses settle, with the instants at which they do.
fn settle(instant: &mut Instant<'_>, wire: &str, classes: &[u8]) -> Vec<(u8, u64)> {
    let now = instant.engine.now;
    for &class in classes {
        let (state, response) = instant.pause_state(instant.lane(wire, class));
        state.receive(now.to_nanos(), LONG, response);
    }
    let number = instant.lane(wire, 0).wire;
    instant.report(number);
    let tasks = std::iter::from_fn(|| instant.next());
    let settled = tasks.filter_map(|(time, task)| match task {
        Task::PauseSettled { wire, class } if wire == number => {
            Some((class, (time - now).to_nanos().0))
        }
        _ => None,
    });
    settled.collect()
}

/// After the response time, the longest frame, which takes 87.84 ns, and 1 us on the wire: once for each
/// pause, however often it is renewed, and again when a port adds to what its classes wait for.
#[test]
fn a_pause_settles_once_nothing_more_can_arrive() {
    let scenario = fabric();
    let mut instant = Instant::new(&scenario);
    instant.engine.now = Picos(5_000_000);
    let wire = ROUND[0];
    let (_, response) = instant.pause_state(instant.lane(wire, 3));
    let after = response + 1087;
    instant.turn_queue(wire, 3, true);
    assert_eq!(settle(&mut instant, wire, &[3]), [(3, after)]);
    assert_eq!(settle(&mut instant, wire, &[3]), [], "it is renewed");
    instant.turn_queue(wire, 5, true);
    assert_eq!(settle(&mut instant, wire, &[3, 5]), [(5, after)]);
    instant.turn_port(wire, true);
    assert_eq!(settle(&mut instant, wire, &[3, 5]), [(3, after), (5, after)]);
    assert_eq!(settle(&mut instant, wire, &[3, 5]), []);
    instant.turn_port(wire, false);
    assert_eq!(settle(&mut instant, wire, &[3, 5]), []);
    // Its port is not on a cycle.
    let host = scenario.fabric().wires().iter().position(|wire| wire.name == "leaf1->h4");
    assert!(!instant.engine.deadlocks.follows(host.expect("a host") as u32));
    assert!(instant.engine.deadlocks.follows(instant.lane(wire, 3).wire));
}

/// Makes queues of class 3 wait in a cycle, but a packet at leaf1 waits for nobody.
fn undecided(instant: &mut Instant<'_>) {
    for at in 0..4 {
        instant.wait(3, ROUND[at], ROUND[(at + 1) % 4]);
    }
    instant.hold(instant.lane(ROUND[0], 3), 1000);
    for wire in ROUND {
        instant.turn_queue(wire, 3, true);
        instant.receive(wire, &[3], LONG);
    }
    assert_eq!(instant.open(), [ROUND.map(|wire| (wire, 3))]);
}

/// When the packet has left, none of the queues ever resumes: their thresholds are 0.
#[test]
fn a_cycle_is_looked_at_every_10_us_until_it_is_known_to_last() {
    let scenario = fabric();
    let mut instant = Instant::new(&scenario);
    undecided(&mut instant);
    let opened = instant.engine.now - Picos(1_000_000);
    let is_look = |(_, task): &&(Picos, Task)| *task == Task::DeadlockLook;
    let looks: Vec<Picos> = instant.others.iter().filter(is_look).map(|(time, _)| *time).collect();
    assert_eq!(looks, [opened + LOOK_PERIOD]);
    for _ in 0..2 {
        assert!(!instant.engine.deadlocks.is_deadlocked());
        let now = instant.engine.now + LOOK_PERIOD;
        instant.perform(now, Task::DeadlockLook);
        assert_eq!(instant.next(), Some((now + LOOK_PERIOD, Task::DeadlockLook)));
        assert_eq!(instant.next(), None);
    }
    instant.at_its_end(instant.lane(ROUND[0], 3), |queue, _| {
        queue.shared_bytes.sub::<SwitchTables>(1000);
    });
    for wire in ROUND {
        instant.port_at_its_end(instant.lane(wire, 3)).alpha_numerator.store(0);
    }
    instant.perform(instant.engine.now, Task::DeadlockLook);
    assert!(instant.engine.deadlocks.is_deadlocked());
    assert_eq!(instant.next(), None, "there is nothing to decide");
    let said = instant.engine.finish_deadlocks().expect("no file to write");
    let names = ROUND.join(" ");
    let said = said.expect("a deadlock");
    assert!(said.starts_with("deadlocked since "), "{said}");
    assert!(said.ends_with(&format!(" ns ({names})")), "{said}");
}

/// The queues hold 1000 bytes, less than T. Where alpha is 0 they hold more, and do not resume when their pauses are
/// renewed; if one of them does, the others follow.
#[test]
fn a_cycle_dissolves_at_a_refresh_if_one_of_its_queues_is_below_its_threshold() {
    for (above, lasts) in [(3, false), (4, true)] {
        let confirmed = ["refresh", "departure"].map(|resume_test| {
            let scenario = fabric_that_tests_at(resume_test);
            let mut instant = Instant::new(&scenario);
            undecided(&mut instant);
            instant.at_its_end(instant.lane(ROUND[0], 3), |queue, _| {
                queue.shared_bytes.sub::<SwitchTables>(1000);
            });
            for wire in &ROUND[..above] {
                instant.port_at_its_end(instant.lane(wire, 3)).alpha_numerator.store(0);
            }
            instant.perform(instant.engine.now, Task::DeadlockLook);
            let cycle = &instant.engine.deadlocks.open[0];
            assert_eq!(cycle.survives_refresh, lasts);
            cycle.confirmed.is_some()
        });
        assert_eq!(confirmed, [lasts, true]);
    }
}

/// Class 5 of a wire resumes, which changes nothing for class 3: the cycle stays the same one.
#[test]
fn a_cycle_outlasts_other_pauses_of_its_wires() {
    let scenario = fabric();
    let mut instant = Instant::new(&scenario);
    instant.turn_queue(ROUND[0], 5, true);
    instant.receive(ROUND[0], &[5], LONG);
    undecided(&mut instant);
    for wire in [ROUND[0], ROUND[1]] {
        instant.turn_queue(wire, 5, true);
        instant.receive(wire, &[5], LONG);
        instant.turn_queue(wire, 5, false);
        instant.receive(wire, &[5], 0);
        assert_eq!(instant.open(), [ROUND.map(|wire| (wire, 3))]);
    }
    assert_eq!(instant.engine.deadlocks.cycles, 1);
    instant.turn_queue(ROUND[0], 3, false);
    instant.receive(ROUND[0], &[3], 0);
    assert!(instant.open().is_empty());
}
