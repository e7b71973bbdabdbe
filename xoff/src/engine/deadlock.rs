//! Deadlock: circles of paused queues that wait for each other, found while the run goes on.
//!
//! A circle can close only by a pause that begins, or by a packet that was on its way then; and it can
//! dissolve only by a pause that ends. So the watch looks when a pause of a class has taken effect (response
//! time, longest frame and propagation after its PAUSE was received), and when one ends. In between, a
//! circle that is open but not known to be permanent is looked at again every [`LOOK_PERIOD`].
//! In a fabric whose routes have no cycle of buffer dependency there is nothing to watch.

use fabric_core::map_abi::PRIORITIES;
use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::{Bytes, Nanos, Picos};

use super::event_queue::Event;
use super::wait_graph::{PausedWire, WaitGraph, Waiting};
use super::{Engine, RunError};
use crate::datapath::Datapath;
use crate::results::DeadlockRow;
use crate::topology::{Fabric, NodeId, NodeKind, Racks, SwitchId, Wire, WireId, cycles};

/// Emulated time between two looks at circles that may still dissolve.
const LOOK_PERIOD: Picos = Picos(10_000_000);

/// A circle of waiting that has not dissolved.
#[derive(Debug)]
struct OpenCircle {
    number: u32,
    class: u8,
    /// Its wires, in the order of waiting.
    wires: Vec<u32>,
    onset: Nanos,
    /// When it was known that it cannot dissolve.
    confirmed: Option<Nanos>,
}

/// What the engine remembers of pauses and circles.
#[derive(Debug, Default)]
pub struct DeadlockWatch {
    /// By wire: whether it lies on a cycle of buffer dependency. Empty if none does.
    on_cycle: Vec<bool>,
    /// By wire: the classes that are paused on it.
    paused: Vec<u8>,
    /// Wires between switches, ascending.
    between_switches: Vec<u32>,
    open: Vec<OpenCircle>,
    /// Circles so far.
    circles: u32,
    /// Whether a look is scheduled.
    looking: bool,
}

impl DeadlockWatch {
    /// Before the first pause.
    pub fn new(fabric: &Fabric) -> Self {
        let cycles = cycles(fabric, &Racks::of(fabric));
        if cycles.is_empty() {
            return Self::default();
        }
        let mut on_cycle = vec![false; fabric.wires().len()];
        for member in cycles.iter().flat_map(|cycle| &cycle.members) {
            on_cycle[member.0 as usize] = true;
        }
        let is_switch = |node| matches!(fabric.node(node).kind, NodeKind::Switch(_));
        let between_switches = (0..)
            .zip(fabric.wires())
            .filter(|(_, wire)| is_switch(wire.from) && is_switch(wire.to))
            .map(|(number, _)| number)
            .collect();
        let paused = vec![0; on_cycle.len()];
        Self { on_cycle, paused, between_switches, ..Self::default() }
    }

    /// Whether queues are known to wait for each other for ever.
    pub fn is_deadlocked(&self) -> bool {
        self.open.iter().any(|circle| circle.confirmed.is_some())
    }

    fn follows(&self, wire: u32) -> bool {
        self.on_cycle.get(wire as usize).copied().unwrap_or_default()
    }

    fn in_open_circle(&self, wire: u32, class: u8) -> bool {
        self.open.iter().any(|circle| circle.class == class && circle.wires.contains(&wire))
    }
}

impl<D: Datapath> Engine<'_, D> {
    /// A PFC frame was received, or a pause ran out, at the port that sends on `wire`.
    pub(super) fn pauses_changed(&mut self, wire: u32) -> Result<(), RunError> {
        if !self.deadlocks.follows(wire) {
            return Ok(());
        }
        let mut paused = 0;
        for class in self.scenario.switch.lossless.iter() {
            paused |= u8::from(self.is_stopped(wire, class)) << class;
        }
        let before = std::mem::replace(&mut self.deadlocks.paused[wire as usize], paused);
        for class in (0..PRIORITIES as u8).filter(|class| (before ^ paused) >> class & 1 != 0) {
            if paused >> class & 1 != 0 {
                let settled = self.now + self.settling_time(wire);
                self.events.schedule(settled, Event::PauseSettled { wire, class });
            } else {
                self.end_circles(wire, class)?;
            }
        }
        Ok(())
    }

    /// A pause has lasted until nothing more of its class can arrive over `wire`.
    pub(super) fn pause_settled(&mut self, wire: u32, class: u8) {
        let port = usize::from(self.fabric_wire(wire).from_port);
        let waits =
            self.switches[self.sender(wire) as usize].manager.non_empty(port) >> class & 1 != 0;
        if waits && self.deadlocks.paused[wire as usize] >> class & 1 != 0 {
            self.open_circle_through(wire, class);
        }
    }

    /// Asks of all open circles whether they are permanent by now.
    pub(super) fn look_for_deadlock(&mut self) {
        self.deadlocks.looking = false;
        let mut undecided = false;
        for class in self.scenario.switch.lossless.iter() {
            let is_open = |circle: &OpenCircle| circle.class == class && circle.confirmed.is_none();
            if self.deadlocks.open.iter().any(is_open) {
                let graph = self.wait_graph(class);
                undecided |= self.confirm(class, &graph);
            }
        }
        if undecided {
            self.look_again();
        }
    }

    /// The run ends: writes down the circles that are left, and tells people of a deadlock among them.
    pub(super) fn finish_deadlocks(&mut self) -> Result<Option<String>, RunError> {
        self.look_for_deadlock();
        let open = std::mem::take(&mut self.deadlocks.open);
        for circle in &open {
            self.circle_row(circle, None)?;
        }
        let deadlocks = open.iter().filter(|circle| circle.confirmed.is_some());
        Ok(deadlocks.min_by_key(|circle| circle.onset).map(|circle| {
            format!("deadlocked since {} ns ({})", circle.onset.0, self.names(&circle.wires))
        }))
    }

    fn end_circles(&mut self, wire: u32, class: u8) -> Result<(), RunError> {
        let hit = |circle: &mut OpenCircle| circle.class == class && circle.wires.contains(&wire);
        let ended: Vec<OpenCircle> = self.deadlocks.open.extract_if(.., hit).collect();
        for circle in ended {
            self.circle_row(&circle, Some(self.now.to_nanos()))?;
            // Another circle through the same queues may have been hidden by this one.
            for &other in circle.wires.iter().filter(|&&other| other != wire) {
                self.open_circle_through(other, class);
            }
        }
        Ok(())
    }

    fn open_circle_through(&mut self, wire: u32, class: u8) {
        if self.deadlocks.in_open_circle(wire, class) {
            return;
        }
        let graph = self.wait_graph(class);
        let Some(places) = graph.cycle_through(wire) else { return };
        self.deadlocks.open.push(OpenCircle {
            number: self.deadlocks.circles,
            class,
            onset: graph.onset(&places),
            wires: places.iter().map(|&place| graph.0[place as usize].wire).collect(),
            confirmed: None,
        });
        self.deadlocks.circles += 1;
        if self.confirm(class, &graph) {
            self.look_again();
        }
    }

    /// Confirms the circles of a class that cannot dissolve. True if some still can.
    fn confirm(&mut self, class: u8, graph: &WaitGraph) -> bool {
        let now = self.now.to_nanos();
        let stuck = graph.stuck();
        let is_stuck = |wire: &u32| graph.place(*wire).is_some_and(|place| stuck[place]);
        let mut undecided = false;
        for circle in self.deadlocks.open.iter_mut().filter(|circle| circle.class == class) {
            if circle.confirmed.is_none() {
                circle.confirmed = circle.wires.iter().all(is_stuck).then_some(now);
                undecided |= circle.confirmed.is_none();
            }
        }
        undecided
    }

    fn look_again(&mut self) {
        if !std::mem::replace(&mut self.deadlocks.looking, true) {
            self.events.schedule(self.now + LOOK_PERIOD, Event::DeadlockLook);
        }
    }

    /// The paused wires of a class between switches, and what waits behind them.
    fn wait_graph(&self, class: u8) -> WaitGraph {
        let mut graph = WaitGraph(
            self.deadlocks
                .between_switches
                .iter()
                .filter(|&&wire| self.is_stopped(wire, class) && self.keeps_stopped(wire, class))
                .map(|&wire| self.paused_wire(wire, class))
                .collect(),
        );
        for behind in 0..graph.0.len() {
            let wire = graph.0[behind].wire;
            let (switch, port) = (self.sender(wire), self.fabric_wire(wire).from_port);
            let tables = self.datapath.tables(switch);
            let ports = &self.scenario.fabric().switch(SwitchId(switch)).ports;
            let manager = &self.switches[switch as usize].manager;
            for slot in manager.slots(usize::from(port), usize::from(class)) {
                let packet = tables.descriptor(slot).expect("a queued slot has a descriptor");
                let came_by = ports[packet.ingress_port.load() as usize].reverse().0;
                let Some(place) = graph.place(came_by) else { continue };
                let waiting = &mut graph.0[place].waiting;
                let length = u64::from(packet.length.load());
                match waiting.last_mut() {
                    Some(last) if last.behind == behind as u32 => last.bytes.0 += length,
                    _ => waiting.push(Waiting {
                        behind: behind as u32,
                        bytes: Bytes(length),
                        since: Nanos(packet.arrival_ns.load()),
                    }),
                }
            }
        }
        graph
    }

    fn paused_wire(&self, wire: u32, class: u8) -> PausedWire {
        let ends = self.fabric_wire(wire);
        let row = ingress_index(u32::from(ends.from_port), u32::from(class));
        let pause = self.datapath.tables(self.sender(wire)).pause(row);
        let since = Nanos(pause.map_or(0, |pause| pause.since_ns.load()));
        let row = ingress_index(u32::from(ends.to_port), u32::from(class));
        let queue = self.datapath.tables(self.receiver(wire)).ingress_queue(row);
        PausedWire {
            wire,
            since,
            by_queue: queue.is_some_and(|queue| queue.off.load() != 0),
            settled: self.now >= Picos::from_nanos(since) + self.settling_time(wire),
            held: Bytes(queue.map_or(0, |queue| {
                queue.private_bytes.load() + queue.shared_bytes.load() + queue.headroom_bytes.load()
            })),
            waiting: Vec::new(),
        }
    }

    /// Whether the sender of a wire has been paused, and the pause has not run out.
    fn is_stopped(&self, wire: u32, class: u8) -> bool {
        let port = u32::from(self.fabric_wire(wire).from_port);
        let tables = self.datapath.tables(self.sender(wire));
        tables.pause_expiry(port, u32::from(class)) > self.now.to_nanos()
    }

    /// Whether the ingress queue at the end of a wire, or under DSH its port, has not decided to resume.
    fn keeps_stopped(&self, wire: u32, class: u8) -> bool {
        let (tables, port) =
            (self.datapath.tables(self.receiver(wire)), self.fabric_wire(wire).to_port);
        let queue = tables.ingress_queue(ingress_index(u32::from(port), u32::from(class)));
        queue.is_some_and(|queue| queue.off.load() != 0)
            || tables.port(u32::from(port)).is_some_and(|port| port.off.load() != 0)
    }

    /// From the reception of a PAUSE until the last frame has arrived that may have left in spite of it.
    fn settling_time(&self, number: u32) -> Picos {
        let wire = self.fabric_wire(number);
        let port = self.datapath.tables(self.sender(number)).port(u32::from(wire.from_port));
        let response = Nanos(port.map_or(0, |port| port.response_ns.load()));
        let longest = self.scenario.longest_frame().0 + self.scenario.switch.wire_overhead.0;
        Picos::from_nanos(response) + wire.rate.serialise(longest) + wire.delay
    }

    fn fabric_wire(&self, wire: u32) -> &Wire {
        self.scenario.fabric().wire(WireId(wire))
    }

    fn sender(&self, wire: u32) -> u32 {
        self.switch_number(self.fabric_wire(wire).from)
    }

    fn receiver(&self, wire: u32) -> u32 {
        self.switch_number(self.fabric_wire(wire).to)
    }

    fn switch_number(&self, node: NodeId) -> u32 {
        match self.scenario.fabric().node(node).kind {
            NodeKind::Switch(SwitchId(switch)) => switch,
            NodeKind::Host(_) => unreachable!("a watched wire is between switches"),
        }
    }

    fn names(&self, wires: &[u32]) -> String {
        let names: Vec<&str> =
            wires.iter().map(|&wire| self.fabric_wire(wire).name.as_str()).collect();
        names.join(" ")
    }

    fn circle_row(&mut self, circle: &OpenCircle, end: Option<Nanos>) -> Result<(), RunError> {
        let queues = self.names(&circle.wires);
        self.record.deadlock(&DeadlockRow {
            circle: circle.number,
            priority: circle.class,
            onset: circle.onset,
            confirmed: circle.confirmed,
            end,
            queues: &queues,
        })?;
        Ok(())
    }
}
