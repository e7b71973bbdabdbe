//! Links that go down or come up, where pauses end only with a frame and expire never. When such a link changes,
//! the pauses made through it end at both of its ends. Pauses of classes need none of this, because they expire.

use scenario::{Outage, Scenario};
use topology::{NodeId, WireId};
use units::Picos;

use super::Engine;
use super::agenda::Task;
use crate::datapath::Wires;
use crate::partition::Place;

/// An outage of a wire, with its state at the last check.
#[derive(Clone, Copy, Debug)]
struct Followed {
    wire: WireId,
    outage: Outage,
    is_down: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Relinking {
    /// Outages of the scenario's faults, then others.
    outages: Vec<Followed>,
    /// Number of outages of the scenario.
    #[cfg_attr(not(feature = "kernel"), expect(dead_code, reason = "live fabrics have others"))]
    of_scenario: usize,
    /// Instant of the next change.
    planned: Option<Picos>,
}

impl Relinking {
    /// Outages of the scenario's faults; empty if links keep no pauses.
    pub fn of(scenario: &Scenario) -> Self {
        let faults = scenario.faults.iter().filter(|_| follows(scenario));
        let mut outages = Vec::new();
        for fault in faults {
            let Some((outage, _)) = fault.outage() else { continue };
            let wires = (0..).map(WireId).zip(scenario.fabric().wires());
            let covered = wires.filter(|(_, wire)| fault.covers(&wire.name));
            outages.extend(covered.map(|(wire, _)| Followed { wire, outage, is_down: false }));
        }
        Self { of_scenario: outages.len(), outages, planned: None }
    }

    /// The wires whose state has changed since the last check.
    fn follow(&mut self, now: Picos) -> Vec<WireId> {
        let mut changed = Vec::new();
        for followed in &mut self.outages {
            let is_down = followed.outage.is_down(now);
            if std::mem::replace(&mut followed.is_down, is_down) != is_down {
                changed.push(followed.wire);
            }
        }
        changed
    }

    /// Instant of the next change after `now`, or `now` itself if `at_once`.
    fn next_change(&self, now: Picos, at_once: bool) -> Option<Picos> {
        let is_due = |it: &Followed| at_once && it.outage.is_down(now) != it.is_down;
        let next = |it: &Followed| if is_due(it) { Some(now) } else { it.outage.next_change(now) };
        self.outages.iter().filter_map(next).min()
    }

    /// Replaces the outage that was set on a wire. Returns true if this changes the wire's state.
    #[cfg(feature = "kernel")]
    fn set(&mut self, wire: WireId, outage: Option<Outage>, now: Picos) -> bool {
        let mut set = self.outages.split_off(self.of_scenario);
        let was_down = set.iter().any(|it| it.wire == wire && it.is_down);
        set.retain(|it| it.wire != wire);
        self.outages.extend(set);
        let is_down = outage.is_some_and(|outage| outage.is_down(now));
        self.outages.extend(outage.map(|outage| Followed { wire, outage, is_down }));
        was_down != is_down
    }
}

/// True if links keep pauses that only a frame ends.
fn follows(scenario: &Scenario) -> bool {
    scenario.switch.ofc().is_some()
}

impl<W: Wires> Engine<'_, W> {
    /// Schedules the first change of a link.
    pub(super) fn plan_relinks(&mut self) {
        self.plan_relink(true);
    }

    fn plan_relink(&mut self, at_once: bool) {
        self.relinking.planned = self.relinking.next_change(self.now, at_once);
        if let Some(at) = self.relinking.planned {
            self.agenda.schedule(at, Task::Relink);
        }
    }

    /// Handles changes of links that are due, unless another change has replaced the schedule.
    pub(super) fn relink_as_planned(&mut self) {
        if self.relinking.planned != Some(self.now) {
            return;
        }
        for wire in self.relinking.follow(self.now) {
            self.relink(wire);
        }
        self.plan_relink(false);
    }

    /// Takes a wire of a live fabric down, or brings it up, for a user.
    #[cfg(feature = "kernel")]
    pub(super) fn set_outage(&mut self, wire: WireId, outage: Option<Outage>) {
        if !follows(self.scenario) {
            return;
        }
        if self.relinking.set(wire, outage, self.now) {
            self.relink(wire);
        }
        self.plan_relink(false);
    }

    /// Informs the nodes at both ends of a wire before their other events.
    fn relink(&mut self, wire: WireId) {
        let fabric = self.scenario.fabric();
        let wire = fabric.wire(wire);
        let ends: [(NodeId, u16); 2] = [(wire.from, wire.from_port), (wire.to, wire.to_port)];
        for (node, port) in ends {
            let Place { part, index } = self.partition.place(node);
            let part = &mut self.parts[part as usize];
            part.relinked.push((index, port));
            part.core.upcoming.wake(index, self.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use scenario::{Flap, Span};

    use super::*;

    #[test]
    fn a_wire_that_flaps_changes_each_time() {
        let span = Span { from: Picos(10), until: Picos(33) };
        let flap = Some(Flap { period: Picos(10), down_for: Picos(4) });
        let followed = Followed { wire: WireId(7), outage: Outage { span, flap }, is_down: false };
        let mut relinking = Relinking { outages: vec![followed], ..Relinking::default() };
        let mut changes = Vec::new();
        let mut next = relinking.next_change(Picos::ZERO, true);
        while let Some(at) = next {
            changes.push((at.0, relinking.follow(at)));
            next = relinking.next_change(at, false);
        }
        let expected = [10, 14, 20, 24, 30, 33].map(|at| (at, vec![WireId(7)]));
        assert_eq!(changes, expected);
    }
}
