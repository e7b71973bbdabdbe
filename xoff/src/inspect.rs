//! What a scenario's fabric is, before anything runs: nodes and links, paths, base round-trip times,
//! buffers, expected load, and what can go wrong by design.
//!
//! [`Inspection::of`] computes; [`report`] is the text of `xoff inspect`.

mod buffers;
mod collisions;
mod links;
mod text;
mod tier_load;

#[cfg(test)]
mod tests;

pub use buffers::{PortGroup, SwitchBuffers};
pub use collisions::{Collisions, Overload};
pub use emulation::path_groups::{PathGroup, path_groups};
pub use links::LinkGroup;
pub use text::Report;
pub use tier_load::TierLoad;

use topology::{Cycle, Racks, cycles};

use scenario::Scenario;

/// All that can be said about a scenario without running it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The fabric's shape, in a line.
    pub shape: String,
    /// How many hosts there are.
    pub hosts: u32,
    /// How many switches there are.
    pub switches: u32,
    /// Links, alike ones together.
    pub links: Vec<LinkGroup>,
    /// Paths between hosts, by their length.
    pub paths: Vec<PathGroup>,
    /// Buffers, alike switches together.
    pub buffers: Vec<SwitchBuffers>,
    /// Expected payload of the workloads that have a rate, by tier and direction; empty if there is
    /// none.
    pub load: Vec<TierLoad>,
    /// The flows of each permutation and long-lived workload on the fabric's wires.
    pub collisions: Vec<Collisions>,
    /// Ingress queues that can wait for each other in a circle.
    pub cycles: Vec<Cycle>,
}

/// The report on a scenario, lines of text.
pub fn report(scenario: &Scenario) -> String {
    Inspection::of(scenario).report(scenario.fabric()).to_string()
}

impl Inspection {
    /// Inspects a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let fabric = scenario.fabric();
        let racks = Racks::of(fabric);
        Self {
            shape: scenario.shape.to_string(),
            hosts: fabric.host_count(),
            switches: fabric.switch_count(),
            links: links::link_groups(fabric),
            paths: path_groups(scenario, &scenario.host.transport, &racks),
            buffers: buffers::switch_buffers(scenario),
            load: tier_load::tier_loads(scenario, &racks),
            collisions: collisions::collisions(scenario),
            cycles: cycles(fabric, &racks),
        }
    }
}
