//! Egress ports that can hold each other back, and the prevention of cycles among them (BFC, Appendix B).

use scenario::Scenario;
use topology::{BackpressureGraph, Cycle, Racks, SwitchId, UpDown};

use super::links::tier_names;

/// The backpressure graph of a scenario's routes, whose nodes are egress ports of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Number of egress ports of switches.
    pub ports: u32,
    /// Number of edges: pairs of egress ports where packets go from one to the other in a hop, including elided turns.
    pub edges: u64,
    /// Ports that hold each other back in a cycle, unless this is prevented. The wires are the wires that leave the
    /// ports.
    pub cycles: Vec<Cycle>,
    /// Prevention of deadlocks, with `prevent_deadlocks`.
    pub prevention: Option<Prevention>,
}

/// Turns that trigger no backpressure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prevention {
    /// Elided turns by kind of switch, in the order of the first switch of each kind.
    pub elided: Vec<ElidedTurns>,
    /// Number of the routes' edges that remain without these turns.
    pub edges_by_routes: u64,
    /// Number of remaining edges of all turns, which any routes could take.
    pub edges_by_all_turns: u64,
    /// Number of remaining groups of ports that hold each other back in a cycle. Nonzero means that the table is wrong.
    pub cycles: usize,
}

/// Switches of a tier with equally many elided turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElidedTurns {
    /// The tier.
    pub tier: String,
    /// Number of switches.
    pub switches: u32,
    /// (Ingress, egress) ports of each switch that trigger no backpressure.
    pub turns: u64,
}

impl HeldBack {
    /// Returns the graph of a scenario, if its switches pause single queues. `groups` are [`Racks::by_routes`].
    pub(super) fn new(scenario: &Scenario, groups: &Racks) -> Option<Self> {
        if !scenario.switch.pauses_queues() {
            return None;
        }
        let fabric = scenario.fabric();
        let graph = BackpressureGraph::from_routes(fabric, groups);
        let (ports, edges, cycles) = (graph.node_count(), graph.edge_count(), graph.cycles());
        let order = scenario.deadlock_prevention();
        let prevention = order.map(|order| Prevention::new(scenario, &order, graph));
        let scheme = scenario.switch.scheme.name();
        Some(Self { scheme, ports, edges, cycles, prevention })
    }
}

impl Prevention {
    fn new(scenario: &Scenario, order: &UpDown, routes: BackpressureGraph) -> Self {
        let fabric = scenario.fabric();
        let tiers = tier_names(fabric);
        let mut elided: Vec<ElidedTurns> = Vec::new();
        for switch in (0..fabric.switch_count()).map(SwitchId) {
            let tier = &tiers[fabric.switch_node(switch).0 as usize];
            let turns = order.elided(fabric, switch).len() as u64;
            let alike = |group: &&mut ElidedTurns| (&group.tier, group.turns) == (tier, turns);
            match elided.iter_mut().find(alike) {
                Some(group) => group.switches += 1,
                None => elided.push(ElidedTurns { tier: tier.clone(), switches: 1, turns }),
            }
        }
        let without =
            |graph: BackpressureGraph| graph.without(fabric, |turn| order.elides(fabric, turn));
        let all = without(BackpressureGraph::from_all_turns(fabric));
        Self {
            elided,
            edges_by_routes: without(routes).edge_count(),
            edges_by_all_turns: all.edge_count(),
            cycles: all.cycles().len(),
        }
    }
}
