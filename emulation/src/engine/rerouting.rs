//! Routes around links that are down: the control plane writes new routes between windows.

use scenario::{Fault, Scenario};
use topology::SwitchId;
#[cfg(feature = "kernel")]
use topology::WireId;
use units::Picos;

use super::Engine;
use super::agenda::Task;
use super::outages::Outages;
use crate::datapath::Wires;
use crate::switch_settings::RouteTables;

/// Outages of links that switches know of.
#[derive(Debug, Default)]
pub struct Rerouting {
    /// Routes avoid the wires that are down.
    pub outages: Outages,
    /// Number of changes of routes.
    pub changes: u64,
}

impl Rerouting {
    /// The outages of the scenario's faults.
    pub fn new(scenario: &Scenario) -> Self {
        // In the order of insertion the driver changes routes.
        let is_own = scenario.link_failure().is_none();
        let after = |fault: &Fault| {
            let (_, reroute) = fault.outage()?;
            (reroute.reroute && is_own).then_some(reroute.reroute_after)
        };
        Self { outages: Outages::new(scenario, after), changes: 0 }
    }

    /// True if routes avoid a wire.
    #[cfg(feature = "kernel")]
    pub fn avoids(&self, wire: WireId) -> bool {
        self.outages.is_down(wire) || self.outages.is_down(wire.reverse())
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Handles the scheduled change of routes.
    pub(super) fn reroute_as_planned(&mut self) {
        if self.rerouting.outages.is_planned(self.now) {
            self.reroute();
        }
    }

    /// Schedules the first change that switches learn of.
    pub(super) fn plan_reroutes(&mut self) {
        let at = self.rerouting.outages.plan_first();
        self.schedule_reroute(at);
    }

    fn schedule_reroute(&mut self, at: Option<Picos>) {
        if let Some(at) = at {
            self.agenda.schedule(at, Task::Reroute);
        }
    }

    /// Gives switches the routes for the links that they know to be down, and schedules the next change.
    pub(super) fn reroute(&mut self) {
        let Rerouting { outages, changes } = &mut self.rerouting;
        if !outages.follow(self.now).is_empty() {
            *changes += 1;
            let routes = self.scenario.fabric().routes_without(|wire| outages.is_down(wire));
            for node in self.parts.iter_mut().flat_map(|part| &mut part.switches) {
                let SwitchId(number) = node.id;
                let routes = RouteTables::on(self.scenario, node.id, &routes[number as usize]);
                routes.install(node.switch.tables_mut());
            }
        }
        let at = self.rerouting.outages.plan_next(self.now);
        self.schedule_reroute(at);
    }
}
