//! Analysis of a scenario's fabric before a run: nodes and links, paths, base round-trip times, buffers, expected load,
//! and design risks.
//!
//! [`Inspection::new`] computes; [`report`] formats the text of `xoff inspect`, [`json()`] the output of `--json`.

mod asic;
mod backpressure;
mod backpressure_graph;
mod buffers;
mod collisions;
mod flow_pauses;
mod headroom;
mod json;
mod links;
mod static_routes;
mod text;
mod tier_load;

#[cfg(test)]
mod tests;

pub use asic::Asic;
pub use backpressure::{PausingSwitches, QueuePauses};
pub use backpressure_graph::{ElidedTurns, HeldBack, Prevention};
pub use buffers::{LossyBuffer, PortGroup, SwitchBuffers};
pub use collisions::{Collisions, Overload};
pub use emulation::path_groups::{PathGroup, path_groups};
pub use flow_pauses::FlowPauses;
pub use headroom::LinkHeadroom;
pub use links::LinkGroup;
pub use static_routes::{FlowPath, StaticRoute, StaticRoutes};
pub use text::Report;
pub(crate) use text::{rate, time};
pub use tier_load::TierLoad;

use topology::{Cycle, Racks, cycles};

use scenario::Scenario;

/// Properties of a scenario that are known without a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Shape of the fabric, in one line.
    pub shape: String,
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Links, grouped if alike.
    pub links: Vec<LinkGroup>,
    /// Static routes; they override the shortest paths.
    pub routes: StaticRoutes,
    /// Paths between hosts, by their length, for each transport that carries flows. Transports with equal round trips
    /// are grouped.
    pub paths: Vec<TransportPaths>,
    /// Priorities that PFC protects, ascending.
    pub lossless: Vec<u8>,
    /// Buffers; switches with equal buffers are grouped.
    pub buffers: Vec<SwitchBuffers>,
    /// Components of a lossless queue's headroom, once for all links of a rate and a delay; empty without lossless
    /// queues.
    pub headroom: Vec<LinkHeadroom>,
    /// Sharing of the buffer by lossy packets, if a priority is lossy and `switch.lossy` is not the default.
    pub lossy: Option<LossyBuffer>,
    /// Pauses of single queues, if switches send them.
    pub queue_pauses: Option<QueuePauses>,
    /// Pauses of flows, if switches send them.
    pub flow_pauses: Option<FlowPauses>,
    /// Egress ports that can pause each other's queues, if switches pause queues.
    pub held_back: Option<HeldBack>,
    /// Expected payload of the workloads that have a rate, by tier and direction; empty without such workloads.
    pub load: Vec<TierLoad>,
    /// Flows of each permutation and long-lived workload on the fabric's wires.
    pub collisions: Vec<Collisions>,
    /// Ingress queues that can wait for each other in a cycle.
    pub cycles: Vec<Cycle>,
}

/// Paths between hosts, with the round trips of transports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportPaths {
    /// Names of the transports, with their congestion controls.
    pub transports: Vec<String>,
    /// Groups of paths, nearest hosts first.
    pub groups: Vec<PathGroup>,
}

/// Returns the report on a scenario as lines of text. `asic` is a chip whose headroom is compared.
pub fn report(scenario: &Scenario, asic: Option<&Asic>) -> String {
    Inspection::new(scenario).report(scenario.fabric(), asic).to_string()
}

/// Returns the report on a scenario as JSON. `asic` is a chip whose headroom is compared.
pub fn json(scenario: &Scenario, asic: Option<&Asic>) -> String {
    Inspection::new(scenario).report(scenario.fabric(), asic).to_json()
}

impl Inspection {
    /// Inspects a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let fabric = scenario.fabric();
        let groups = Racks::by_routes(fabric);
        Self {
            shape: scenario.shape.to_string(),
            hosts: fabric.host_count(),
            switches: fabric.switch_count(),
            links: links::link_groups(fabric),
            routes: StaticRoutes::new(scenario),
            paths: paths(scenario),
            lossless: scenario.switch.lossless.iter().collect(),
            buffers: buffers::switch_buffers(scenario),
            headroom: headroom::link_headroom(scenario),
            lossy: LossyBuffer::new(scenario),
            queue_pauses: QueuePauses::new(scenario),
            flow_pauses: FlowPauses::new(scenario),
            held_back: HeldBack::new(scenario, &groups),
            load: tier_load::tier_loads(scenario, &groups),
            collisions: collisions::collisions(scenario),
            cycles: buffer_dependency(scenario, &groups),
        }
    }
}

/// Returns the cycles in which ingress queues can wait for each other by PFC.
pub(crate) fn buffer_dependency(scenario: &Scenario, groups: &Racks) -> Vec<Cycle> {
    let has_pfc = scenario.switch.lossless.count() > 0;
    if has_pfc { cycles(scenario.fabric(), groups) } else { Vec::new() }
}

fn paths(scenario: &Scenario) -> Vec<TransportPaths> {
    let mut all: Vec<TransportPaths> = Vec::new();
    for transport in scenario.transports_in_use() {
        let name = format!("{} with {}", transport.name(), transport.congestion_control().name());
        let groups = path_groups(scenario, transport);
        match all.iter_mut().find(|alike| alike.groups == groups) {
            Some(alike) if alike.transports.contains(&name) => {}
            Some(alike) => alike.transports.push(name),
            None => all.push(TransportPaths { transports: vec![name], groups }),
        }
    }
    all
}
