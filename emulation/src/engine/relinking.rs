//! Links that go down or come up, where pauses end only with a frame and expire never. When such a link changes,
//! the pauses made through it end at both of its ends. Pauses of classes need none of this, because they expire.

#[cfg(feature = "kernel")]
use scenario::Outage;
use scenario::Scenario;
use topology::{NodeId, WireId};
use units::Picos;

use super::Engine;
use super::agenda::Task;
use super::outages::Outages;
use crate::datapath::Wires;
use crate::partition::Place;

/// The outages of a scenario's faults. Nothing is followed where links keep no pauses.
pub fn outages(scenario: &Scenario) -> Outages {
    Outages::new(scenario, |_| follows(scenario).then_some(Picos::ZERO))
}

/// True if links keep pauses that only a frame ends.
fn follows(scenario: &Scenario) -> bool {
    scenario.switch.pauses_flows()
}

impl<W: Wires> Engine<'_, W> {
    /// Schedules the first change of a link.
    pub(super) fn plan_relinks(&mut self) {
        let at = self.relinking.plan_first();
        self.schedule_relink(at);
    }

    fn schedule_relink(&mut self, at: Option<Picos>) {
        if let Some(at) = at {
            self.agenda.schedule(at, Task::Relink);
        }
    }

    /// Handles a scheduled check.
    pub(super) fn relink_as_planned(&mut self) {
        if self.relinking.is_planned(self.now) {
            self.relink_changed();
        }
    }

    /// Takes a wire of a live fabric down, or brings it up, for a user.
    #[cfg(feature = "kernel")]
    pub(super) fn set_outage(&mut self, wire: WireId, outage: Option<Outage>) {
        if follows(self.scenario) {
            self.relinking.set(wire, outage);
            self.relink_changed();
        }
    }

    /// Informs the nodes at links that go down or come up now, and plans the next time.
    fn relink_changed(&mut self) {
        for wire in self.relinking.follow(self.now) {
            self.relink(wire);
        }
        let at = self.relinking.plan_next(self.now);
        self.schedule_relink(at);
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
