//! Wires that are down, as something follows them some time later: at once or when switches know of it.

use scenario::{Fault, Outage, Scenario};
use topology::WireId;
use units::Picos;

/// An outage of a wire, and how long until it is known.
#[derive(Clone, Copy, Debug)]
struct KnownOutage {
    wire: WireId,
    outage: Outage,
    after: Picos,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Outages {
    /// Outages; the scenario's come first.
    known: Vec<KnownOutage>,
    /// Number of outages of the scenario.
    #[cfg_attr(not(feature = "kernel"), expect(dead_code, reason = "live fabrics have others"))]
    of_scenario: usize,
    /// True for wires with an outage that was known at the last check, by wire.
    down: Vec<bool>,
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
            // Nothing that happened is known.
            None => Some(self.outage.span.from),
        };
        known.map(|at| at + self.after)
    }
}

impl Outages {
    /// Returns the outages of a scenario's faults. `after` is the delay until an outage is known, `None` if nobody follows it.
    pub fn new(scenario: &Scenario, after: impl Fn(&Fault) -> Option<Picos>) -> Self {
        let mut outages = Vec::new();
        for fault in &scenario.faults {
            let Some(((outage, _), after)) = fault.outage().zip(after(fault)) else { continue };
            let wires = (0..).map(WireId).zip(scenario.fabric().wires());
            let covered = wires.filter(|(_, wire)| fault.covers(&wire.name));
            outages.extend(covered.map(|(wire, _)| KnownOutage { wire, outage, after }));
        }
        let down = vec![false; scenario.fabric().wires().len()];
        Self { of_scenario: outages.len(), known: outages, down, planned: None }
    }

    /// Returns the wires whose state has changed since the last check. A wire is up when all of its outages are over.
    pub fn follow(&mut self, now: Picos) -> Vec<WireId> {
        let mut down = vec![false; self.down.len()];
        for known in self.known.iter().filter(|known| known.is_down(now)) {
            down[known.wire.0 as usize] = true;
        }
        let wires = (0..).map(WireId).zip(down.iter().zip(&self.down));
        let changed = wires.filter(|(_, (is, was))| is != was).map(|(wire, _)| wire).collect();
        self.down = down;
        changed
    }

    /// Returns true if a wire was down at the last check.
    pub fn is_down(&self, wire: WireId) -> bool {
        self.down[wire.0 as usize]
    }

    /// Schedules the first check.
    pub fn plan_first(&mut self) -> Option<Picos> {
        self.planned = self.known.iter().map(|known| known.outage.span.from + known.after).min();
        self.planned
    }

    /// Plans the next look after `now`.
    pub fn plan_next(&mut self, now: Picos) -> Option<Picos> {
        self.planned = self.known.iter().filter_map(|known| known.next_change(now)).min();
        self.planned
    }

    /// Returns true if a check is scheduled for `now`, and not replaced by a later schedule.
    pub fn is_planned(&self, now: Picos) -> bool {
        self.planned == Some(now)
    }

    /// Follows an outage of a wire instead of the one that was set before.
    #[cfg(feature = "kernel")]
    pub fn set(&mut self, wire: WireId, outage: Option<Outage>) {
        let set = self.known.split_off(self.of_scenario);
        self.known.extend(set.into_iter().filter(|known| known.wire != wire));
        let known = outage.map(|outage| KnownOutage { wire, outage, after: Picos::ZERO });
        self.known.extend(known);
    }
}

#[cfg(test)]
mod tests {
    use scenario::{Flap, Span};

    use super::*;

    fn outage(from: u64, until: u64) -> Outage {
        Outage { span: Span { from: Picos(from), until: Picos(until) }, flap: None }
    }

    fn flapping() -> Outage {
        let flap = Some(Flap { period: Picos(10), down_for: Some(Picos(4)) });
        Outage { flap, ..outage(10, 33) }
    }

    /// Changes of three wires of which the second has these outages, each with the delay until it is known.
    fn changes(outages: &[(Outage, u64)]) -> Vec<(u64, Vec<WireId>)> {
        let known = |&(outage, after)| KnownOutage { wire: WireId(1), outage, after: Picos(after) };
        let known = outages.iter().map(known).collect();
        let mut outages = Outages { known, down: vec![false; 3], ..Outages::default() };
        let mut changes = Vec::new();
        let mut next = outages.plan_first();
        while let Some(at) = next {
            assert!(outages.is_planned(at));
            changes.push((at.0, outages.follow(at)));
            next = outages.plan_next(at);
        }
        changes.retain(|(_, wires)| !wires.is_empty());
        changes
    }

    #[test]
    fn every_change_of_a_wire_that_flaps_is_known_some_time_later() {
        let at = |times: [u64; 6]| times.map(|at| (at, vec![WireId(1)])).to_vec();
        assert_eq!(changes(&[(flapping(), 0)]), at([10, 14, 20, 24, 30, 33]));
        assert_eq!(changes(&[(flapping(), 5)]), at([15, 19, 25, 29, 35, 38]));
        assert_eq!(changes(&[(outage(0, 7), 0)]), at([0, 7, 0, 0, 0, 0])[..2]);
    }

    #[test]
    fn a_wire_is_down_until_all_of_its_outages_are_over() {
        let at = |times: [u64; 2]| times.map(|at| (at, vec![WireId(1)]));
        assert_eq!(changes(&[(outage(10, 30), 0), (outage(20, 50), 0)]), at([10, 50]));
        assert_eq!(changes(&[(outage(10, 30), 0), (outage(30, 50), 0)]), at([10, 50]));
        assert_eq!(changes(&[(outage(5, 60), 0), (flapping(), 0)]), at([5, 60]));
    }
}
