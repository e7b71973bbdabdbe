//! Deadlocks: cycles of paused queues that wait for each other, found during the run.
//!
//! This module is about pauses of classes and ports. [`paused_queues`] handles pauses of single queues,
//! [`mixed_cycles`] cycles of queues and classes, [`paused_flows`] pauses of flows.
//!
//! A cycle can close only when a pause of a class or port begins, or by a packet that was on its way then. It can
//! dissolve only when a pause ends. So the watch looks for cycles when a pause has taken effect (response time,
//! longest frame and propagation after its PAUSE was received), and when a pause ends. In between, an open cycle
//! that is not known to be permanent is checked every [`LOOK_PERIOD`]. A fabric whose routes have no cycle of
//! buffer dependency is not watched, unless faults change the routes.
//!
//! The watch reads many switches at once, so it runs between windows. It receives changes of pauses late, by the
//! max length of a window, when every switch has reached that instant, however the run is divided. The tables that
//! it reads are newer by then. So it ignores pauses younger than that: of older ones it has received all changes.

mod mixed_cycles;
mod paused_flows;
mod paused_queues;

use fabric_core::hop_control::PauseLevel;
use fabric_core::priority::{self, Priority};
use results::{DeadlockMember, DeadlockRow, WaitCause};
use scenario::ResumeTest;
use topology::{Fabric, NodeKind, Racks, WireId, cycles};
use units::{Nanos, Picos};

use super::agenda::Task;
use super::wait_graph::{Lane, WaitGraph};
use super::{Engine, RunError};
use crate::datapath::Wires;
use mixed_cycles::MixedCycles;
use paused_flows::FlowCycles;
use paused_queues::QueueCycles;

/// Emulated time between two checks of cycles that may still dissolve.
const LOOK_PERIOD: Picos = Picos(10_000_000);

/// A cycle of waiting that has not dissolved.
#[derive(Debug)]
struct OpenCycle {
    number: u32,
    /// Lanes in the order of waiting.
    lanes: Vec<Lane>,
    /// Level at which each lane waits for the next, from the last check before the confirmation.
    levels: Vec<PauseLevel>,
    onset: Nanos,
    /// Instant from which it is known that the cycle cannot dissolve.
    confirmed: Option<Nanos>,
    /// True if the cycle cannot dissolve even if queues are tested when their pauses are renewed.
    survives_refresh: bool,
}

/// Pauses and cycles known to the engine.
#[derive(Debug, Default)]
pub struct DeadlockWatch {
    /// True for wires on a cycle of buffer dependency, by wire. Empty if there are no cycles.
    on_cycle: Vec<bool>,
    /// Paused classes of each wire, one bit each.
    paused: Vec<u8>,
    /// Start of the pause of each wire's sender by a port that is OFF, by wire.
    port_paused: Vec<Option<Nanos>>,
    /// Wires between switches, ascending.
    between_switches: Vec<u32>,
    open: Vec<OpenCycle>,
    /// Number of cycles up to now.
    cycles: u32,
    /// True if a check is scheduled.
    looking: bool,
    /// Cycles of queues that are paused one by one.
    queues: QueueCycles,
    /// Cycles of such queues and of classes.
    mixed: MixedCycles,
    /// Cycles of paused flows.
    flows: FlowCycles,
}

impl DeadlockWatch {
    /// The watch before the first pause. If routes change during the run, packets may take any turn, because
    /// packets on old routes continue on new ones.
    pub fn new(fabric: &Fabric, routes_change: bool) -> Self {
        let is_switch = |node| matches!(fabric.node(node).kind, NodeKind::Switch(_));
        let between_switches: Vec<u32> = (0..)
            .zip(fabric.wires())
            .filter(|(_, wire)| is_switch(wire.from) && is_switch(wire.to))
            .map(|(number, _)| number)
            .collect();
        let members: Vec<u32> = if routes_change {
            between_switches.clone()
        } else {
            let cycles = cycles(fabric, &Racks::by_routes(fabric));
            cycles.iter().flat_map(|cycle| &cycle.members).map(|wire| wire.0).collect()
        };
        if members.is_empty() {
            return Self::default();
        }
        let mut on_cycle = vec![false; fabric.wires().len()];
        for member in members {
            on_cycle[member as usize] = true;
        }
        let paused = vec![0; on_cycle.len()];
        let port_paused = vec![None; on_cycle.len()];
        Self { on_cycle, paused, port_paused, between_switches, ..Self::default() }
    }

    /// True if a cycle is known to be permanent.
    pub fn is_deadlocked(&self) -> bool {
        !self.queues.confirmed.is_empty()
            || !self.mixed.confirmed.is_empty()
            || !self.flows.confirmed.is_empty()
            || self.open.iter().any(|cycle| cycle.confirmed.is_some())
    }

    /// True if the pauses of any wire are followed.
    pub fn follows_any(&self) -> bool {
        !self.on_cycle.is_empty()
    }

    /// True if the pauses of a wire are followed.
    pub fn follows(&self, wire: u32) -> bool {
        self.on_cycle.get(wire as usize).copied().unwrap_or_default()
    }

    fn in_open_cycle(&self, lane: Lane) -> bool {
        self.open.iter().any(|cycle| cycle.lanes.contains(&lane))
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Records that the paused classes of the sender of `wire` became `paused` at `at`.
    pub(super) fn pauses_changed(
        &mut self,
        wire: u32,
        paused: u8,
        at: Picos,
    ) -> Result<(), RunError> {
        let before = std::mem::replace(&mut self.deadlocks.paused[wire as usize], paused);
        // Once the port is paused, classes paused before also wait for the port's other classes.
        let port_off = paused != 0 && self.port_is_off(wire);
        let port_was_off = self.deadlocks.port_paused[wire as usize].is_some();
        if port_off != port_was_off {
            let since = port_off.then_some(at.to_nanos());
            self.deadlocks.port_paused[wire as usize] = since;
        }
        let begun = if port_off && !port_was_off { paused } else { paused & !before };
        for class in priority::in_mask(begun).map(Priority::number) {
            let settled = (at + self.settling_time(wire)).max(self.now);
            self.agenda.schedule(settled, Task::PauseSettled { wire, class });
        }
        let ended = before & !paused;
        if ended != 0 || (port_was_off && !port_off) {
            self.end_cycles(wire, at)?;
        }
        Ok(())
    }

    /// Schedules the first checks for pauses other than those of classes.
    pub(super) fn plan_looks(&mut self) {
        if !self.deadlocks.follows_any() {
            return;
        }
        if self.scenario.switch.pauses_queues() {
            self.agenda.schedule(Picos::ZERO, Task::PausedQueuesLook);
        }
        if self.scenario.switch.pauses_flows() {
            self.agenda.schedule(Picos::ZERO, Task::PausedFlowsLook);
        }
    }

    /// Handles a pause that has taken effect: no more frames of its class can arrive over `wire`.
    pub(super) fn pause_settled(&mut self, wire: u32, class: u8) {
        let port = self.fabric_wire(wire).from_port.into();
        let switch = self.sending_switch(wire);
        let queues = switch.tables().settings().queues_of(Priority::new(class)).queues();
        let waits = !switch.queues().non_empty(port).and(queues).is_empty();
        if waits && self.deadlocks.paused[wire as usize] >> class & 1 != 0 {
            self.open_cycles(&[Lane { wire, class }]);
        }
    }

    /// Checks if open cycles have become permanent.
    pub(super) fn look_for_deadlock(&mut self) {
        self.deadlocks.looking = false;
        if self.deadlocks.open.iter().any(|cycle| !cycle.survives_refresh) {
            let graph = self.watched_graph();
            self.confirm(&graph);
        }
    }

    /// At the end of the run, reports the last changes of pauses to the watch.
    pub(super) fn hear_of_last_pauses(&mut self) -> Result<(), RunError> {
        while let Some(task) = self.agenda.pop(self.now + self.lookahead) {
            if let Task::PausesChanged { wire, paused, at } = task
                && at <= self.now
            {
                self.pauses_changed(wire, paused, at)?;
            }
        }
        Ok(())
    }

    /// At the end of the run, writes a row for each open cycle. Returns a sentence on the first deadlock, if any.
    pub(super) fn finish_deadlocks(&mut self) -> Result<Option<String>, RunError> {
        self.look_for_deadlock();
        let open = std::mem::take(&mut self.deadlocks.open);
        for cycle in &open {
            self.cycle_row(cycle, None)?;
        }
        let confirmed = || open.iter().filter(|cycle| cycle.confirmed.is_some());
        let of_queues = self.finish_paused_queues()?;
        let of_both = self.finish_mixed_cycles()?;
        let known: Vec<Lane> = confirmed().flat_map(|cycle| &cycle.lanes).copied().collect();
        let of_flows = self.finish_paused_flows(&known)?;
        let of_classes = confirmed().map(|cycle| (cycle.onset, self.names_of(&cycle.lanes)));
        let first = of_classes
            .chain(of_queues)
            .chain(of_both)
            .chain(of_flows)
            .min_by_key(|(onset, _)| *onset);
        Ok(first.map(|(onset, names)| format!("deadlocked since {} ns ({names})", onset.0)))
    }

    fn names_of(&self, lanes: &[Lane]) -> String {
        let name = |lane: &Lane| self.fabric_wire(lane.wire).name.as_str();
        lanes.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// Ends the cycles over `wire` that dissolved at `at`: because a pause ended, or because a port resumed and the
    /// queue that is still paused does not wait for packets of the port's other classes.
    fn end_cycles(&mut self, wire: u32, at: Picos) -> Result<(), RunError> {
        let crosses = |cycle: &OpenCycle| cycle.lanes.iter().any(|lane| lane.wire == wire);
        if !self.deadlocks.open.iter().any(crosses) {
            return Ok(());
        }
        let graph = self.watched_graph();
        let paused = &self.deadlocks.paused;
        let lasts = |lane: &Lane| paused[lane.wire as usize] >> lane.class & 1 != 0;
        // Even if a port resumes, the members of a confirmed cycle stay paused by queues that never resume.
        let holds = |cycle: &OpenCycle| {
            cycle.lanes.iter().all(lasts)
                && (cycle.confirmed.is_some() || graph.is_cycle(&cycle.lanes))
        };
        let has_dissolved = |cycle: &mut OpenCycle| crosses(cycle) && !holds(cycle);
        let ended: Vec<OpenCycle> = self.deadlocks.open.extract_if(.., has_dissolved).collect();
        for cycle in ended {
            let end = at.to_nanos().max(cycle.onset);
            self.cycle_row(&cycle, Some(end))?;
            // This cycle may have hidden another one through the same queues.
            self.open_cycles(&cycle.lanes);
        }
        Ok(())
    }

    /// Finds a cycle through each of these lanes that is not in an open cycle yet.
    fn open_cycles(&mut self, lanes: &[Lane]) {
        if lanes.iter().all(|&lane| self.deadlocks.in_open_cycle(lane)) {
            return;
        }
        let graph = self.watched_graph();
        let before = self.deadlocks.cycles;
        for &lane in lanes {
            if self.deadlocks.in_open_cycle(lane) {
                continue;
            }
            let Some(places) = graph.cycle_through(lane) else { continue };
            self.deadlocks.open.push(OpenCycle {
                number: self.deadlocks.cycles,
                lanes: places.iter().map(|&place| graph.lane(place)).collect(),
                levels: graph.levels(&places),
                onset: graph.onset(&places),
                confirmed: None,
                survives_refresh: false,
            });
            self.deadlocks.cycles += 1;
        }
        if self.deadlocks.cycles != before {
            self.confirm(&graph);
        }
    }

    /// Confirms the open cycles that cannot dissolve. Schedules another check if some can still dissolve, or could
    /// if queues were tested when their pauses are renewed.
    fn confirm(&mut self, graph: &WaitGraph) {
        let tested = graph.stuck(|lane, level, stays| self.may_resume(lane, level, stays));
        // Under G-PFC departures from a port's other queues resume a queue, too.
        let only_departures = self.scenario.switch.resume_test == ResumeTest::Departure
            && !self.scenario.switch.thresholds_are_of_ports();
        let stuck = if only_departures {
            graph.stuck(|lane, level, stays| {
                level == PauseLevel::Port && self.may_resume(lane, level, stays)
            })
        } else {
            tested.clone()
        };
        let mut undecided = false;
        for cycle in &mut self.deadlocks.open {
            let places: Option<Vec<u32>> =
                cycle.lanes.iter().map(|&lane| graph.place(lane)).collect();
            if let Some(places) = places {
                let all = |stuck: &[bool]| places.iter().all(|&place| stuck[place as usize]);
                if cycle.confirmed.is_none() {
                    cycle.levels = graph.levels(&places);
                    cycle.confirmed = all(&stuck).then_some(self.now.to_nanos());
                }
                cycle.survives_refresh |= all(&tested);
            }
            undecided |= !cycle.survives_refresh;
        }
        if undecided && !std::mem::replace(&mut self.deadlocks.looking, true) {
            self.agenda.schedule(self.now + LOOK_PERIOD, Task::DeadlockLook);
        }
    }

    fn watched_graph(&self) -> WaitGraph {
        let port_paused = |wire: u32| self.deadlocks.port_paused[wire as usize];
        self.wait_graph(&self.deadlocks.between_switches, port_paused)
    }

    fn cycle_row(&mut self, cycle: &OpenCycle, end: Option<Nanos>) -> Result<(), RunError> {
        let members: Vec<DeadlockMember<'_>> = cycle
            .lanes
            .iter()
            .zip(&cycle.levels)
            .map(|(lane, &level)| DeadlockMember {
                wire: &self.scenario.fabric().wire(WireId(lane.wire)).name,
                priority: lane.class,
                cause: WaitCause::Class(level),
            })
            .collect();
        self.recorder.add(&DeadlockRow {
            cycle: cycle.number,
            onset: cycle.onset,
            confirmed: cycle.confirmed,
            survives_refresh: cycle.survives_refresh,
            end,
            members: &members,
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
