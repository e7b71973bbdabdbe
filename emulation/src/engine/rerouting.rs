//! Routes around links that are down: the control plane writes new routes between windows.

use scenario::{Fault, Outage, Scenario};
use topology::{SwitchId, WireId};
use units::Picos;

use super::Engine;
use super::agenda::Task;
use crate::datapath::Wires;
use crate::switch_settings::RouteTables;

/// An outage of a wire, with the delay until switches know of it.
#[derive(Clone, Copy, Debug)]
struct KnownOutage {
    wire: WireId,
    outage: Outage,
    after: Picos,
}

/// Outages of links that switches know of.
#[derive(Debug, Default)]
pub struct Rerouting {
    /// Outages of the scenario's faults come first.
    outages: Vec<KnownOutage>,
    /// Number of outages of the scenario.
    #[cfg_attr(not(feature = "kernel"), expect(dead_code, reason = "live fabrics have others"))]
    of_scenario: usize,
    /// True for wires that routes avoid, by wire. Empty before the first change.
    down: Vec<bool>,
    /// Number of changes of routes.
    pub changes: u64,
    /// Instant of the next possible change.
    planned: Option<Picos>,
}

impl KnownOutage {
    fn is_down(&self, now: Picos) -> bool {
        now >= self.after && self.outage.is_down(now.since(self.after))
    }

    fn next_change(&self, now: Picos) -> Option<Picos> {
        let known = match now.0.checked_sub(self.after.0) {
            Some(known) => self.outage.next_change(Picos(known)),
            // Switches do not know of the outage yet.
            None => Some(self.outage.span.from),
        };
        known.map(|at| at + self.after)
    }
}

impl Rerouting {
    /// The outages of the scenario's faults.
    pub fn of(scenario: &Scenario) -> Self {
        let mut outages = Vec::new();
        for fault in &scenario.faults {
            let Some((outage, reroute)) = fault.outage().filter(|(_, it)| it.reroute) else {
                continue;
            };
            let wires = (0..).map(WireId).zip(scenario.fabric().wires());
            let covered = wires.filter(|(_, wire)| Fault::covers(fault, &wire.name));
            let after = reroute.reroute_after;
            outages.extend(covered.map(|(wire, _)| KnownOutage { wire, outage, after }));
        }
        Self { of_scenario: outages.len(), outages, ..Self::default() }
    }

    /// Instant at which switches first learn of an outage.
    fn first_change(&self) -> Option<Picos> {
        self.outages.iter().map(|known| known.outage.span.from + known.after).min()
    }

    /// Instant after `now` at which switches next learn of a change.
    fn next_change(&self, now: Picos) -> Option<Picos> {
        self.outages.iter().filter_map(|known| known.next_change(now)).min()
    }

    /// Updates the wires that switches know to be down at `now`. Returns true if they have changed.
    fn follow(&mut self, now: Picos, wires: usize) -> bool {
        let mut down = vec![false; wires];
        for known in self.outages.iter().filter(|known| known.is_down(now)) {
            down[known.wire.0 as usize] = true;
        }
        self.down.resize(wires, false);
        let is_new = self.down != down;
        self.down = down;
        self.changes += u64::from(is_new);
        is_new
    }

    /// Replaces the outage that was set on a wire.
    #[cfg(feature = "kernel")]
    pub fn set(&mut self, wire: WireId, outage: Option<Outage>) {
        let set = self.outages.split_off(self.of_scenario);
        self.outages.extend(set.into_iter().filter(|known| known.wire != wire));
        let known = outage.map(|outage| KnownOutage { wire, outage, after: Picos::ZERO });
        self.outages.extend(known);
    }

    /// True if routes avoid a wire.
    #[cfg(feature = "kernel")]
    pub fn avoids(&self, wire: WireId) -> bool {
        let is_down = |wire: WireId| self.down.get(wire.0 as usize).copied().unwrap_or_default();
        is_down(wire) || is_down(wire.reverse())
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Handles the scheduled change of routes.
    pub(super) fn reroute_as_planned(&mut self) {
        // Unless another change has replaced the schedule.
        if self.rerouting.planned == Some(self.now) {
            self.reroute();
        }
    }

    /// Schedules the first change that switches learn of.
    pub(super) fn plan_reroutes(&mut self) {
        self.plan_reroute(self.rerouting.first_change());
    }

    fn plan_reroute(&mut self, at: Option<Picos>) {
        self.rerouting.planned = at;
        if let Some(at) = at {
            self.agenda.schedule(at, Task::Reroute);
        }
    }

    /// Gives switches the routes for the links that they know to be down, and schedules the next change.
    pub(super) fn reroute(&mut self) {
        let fabric = self.scenario.fabric();
        if self.rerouting.follow(self.now, fabric.wires().len()) {
            let down = &self.rerouting.down;
            let routes = fabric.routes_without(|wire| down[wire.0 as usize]);
            for node in self.parts.iter_mut().flat_map(|part| &mut part.switches) {
                let SwitchId(number) = node.id;
                let routes = RouteTables::on(self.scenario, node.id, &routes[number as usize]);
                routes.install(node.switch.tables_mut());
            }
        }
        self.plan_reroute(self.rerouting.next_change(self.now));
    }
}

#[cfg(test)]
mod tests {
    use scenario::{Flap, Span};

    use super::*;

    const FLAPPING: Outage = Outage {
        span: Span { from: Picos(10), until: Picos(33) },
        flap: Some(Flap { period: Picos(10), down_for: Picos(4) }),
    };

    #[test]
    fn switches_hear_of_every_change_some_time_later() {
        let known = KnownOutage { wire: WireId(1), outage: FLAPPING, after: Picos(5) };
        let mut rerouting = Rerouting { outages: vec![known], ..Rerouting::default() };
        let first = rerouting.first_change();
        assert_eq!(first, Some(Picos(15)));
        assert_eq!([0, 4, 14].map(|at| rerouting.next_change(Picos(at))), [first; 3]);
        let later = std::iter::successors(first, |&at| rerouting.next_change(at));
        let later: Vec<u64> = later.map(|at| at.0).collect();
        assert_eq!(later, [15, 19, 25, 29, 35, 38]);
        let mut follow = |at: u64| (rerouting.follow(Picos(at), 3), rerouting.down[1]);
        assert_eq!(follow(14), (false, false));
        assert_eq!(follow(15), (true, true));
        assert_eq!(follow(18), (false, true));
        assert_eq!(follow(19), (true, false));
        assert_eq!(rerouting.changes, 2);
    }
}
