//! Static routes of a scenario, as written in it.

use std::collections::BTreeMap;

use scenario::{Flow, RouteEntry, Scenario, Source};
use topology::{HostId, NodeKind, WireId, in_32_bits};

/// Static routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticRoutes {
    /// Entries of `[[routes]]`, in the order of the file.
    pub entries: Vec<StaticRoute>,
    /// Paths of flows for which a list has a path or a source port, by sender and receiver.
    pub paths: Vec<FlowPath>,
}

/// Path of flows in flow lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// Switches in the format of flow lists; the second of parallel links is marked by the port that leads to it.
    pub switches: String,
    /// Number of flows.
    pub flows: u64,
}

/// An entry of `[[routes]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticRoute {
    /// Switches with the route.
    pub at: String,
    /// Frames that match.
    pub frames: String,
    /// Next hops.
    pub via: String,
}

impl StaticRoutes {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut flows: BTreeMap<(HostId, HostId, Vec<WireId>), u64> = BTreeMap::new();
        for (number, source) in scenario.sources().iter().enumerate() {
            let Source::Listed(listed) = source else { continue };
            let led = |flow: &&Flow| flow.path.is_some() || flow.source_port.is_some();
            for flow in listed.iter().filter(led) {
                let flow = Flow { workload: in_32_bits(number), ..flow.clone() };
                let (path, _) = scenario.path_of(&flow);
                *flows.entry((flow.source, flow.destination, path)).or_default() += 1;
            }
        }
        let path = |((from, to, wires), flows): ((_, _, Vec<_>), _)| {
            FlowPath::new(scenario, from, to, &wires, flows)
        };
        Self {
            entries: scenario.routes.iter().map(StaticRoute::new).collect(),
            paths: flows.into_iter().map(path).collect(),
        }
    }
}

impl FlowPath {
    fn new(scenario: &Scenario, from: HostId, to: HostId, wires: &[WireId], flows: u64) -> Self {
        let fabric = scenario.fabric();
        let switch = |wire: &WireId| {
            let wire = fabric.wire(*wire);
            let peer = fabric.node(wire.to);
            matches!(peer.kind, NodeKind::Switch(_)).then(|| wire.port_name().to_owned())
        };
        let switches: Vec<String> = wires.iter().filter_map(switch).collect();
        let name = |host| fabric.host(host).name.clone();
        Self { from: name(from), to: name(to), switches: switches.join(">"), flows }
    }
}

impl StaticRoute {
    fn new(entry: &RouteEntry) -> Self {
        let mut frames = entry
            .flows
            .as_ref()
            .map_or_else(|| "frames".to_owned(), |label| format!("flows `{label}`"));
        for (word, hosts) in [("from", &entry.from), ("to", &entry.to)] {
            if let Some(hosts) = hosts {
                frames = format!("{frames} {word} {hosts}");
            }
        }
        Self { at: entry.at.to_string(), frames, via: entry.via.join(", ") }
    }
}
