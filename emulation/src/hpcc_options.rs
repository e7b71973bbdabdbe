//! Options for files in the format of the HPCC simulator, with its numbers of nodes and interfaces.

use std::collections::BTreeMap;

use results::{HpccNode, HpccOptions, QueueSampling};
use topology::{Fabric, NodeKind};
use units::{BitsPerSecond, Nanos, Picos};

use scenario::{Hpcc, HpccLines, Scenario, Shape};
use workload::Flow;

/// The settings of the HPCC simulator's files, if the scenario asks for them.
pub fn hpcc_options(scenario: &Scenario) -> Option<HpccOptions> {
    let hpcc = scenario.results.hpcc.as_ref()?;
    let fabric = scenario.fabric();
    let switches = &fabric.nodes()[fabric.host_count() as usize..];
    Some(HpccOptions {
        nodes: hpcc_nodes(&scenario.shape, fabric, hpcc),
        switches: switches.iter().map(|node| node.name.clone()).collect(),
        destination_ports: hpcc.destination_ports.clone(),
        time_offset: hpcc.time_offset.to_nanos(),
        sampling: queue_sampling(scenario)?,
        hosts_by_id: hpcc.lines == HpccLines::Conweave,
        every_pause: hpcc.lines == HpccLines::Conweave,
    })
}

/// Schedule on which switches' queues are sampled for these files, if the scenario asks for them.
pub fn queue_sampling(scenario: &Scenario) -> Option<QueueSampling> {
    let hpcc = scenario.results.hpcc.as_ref()?;
    Some(QueueSampling {
        start: hpcc.qlen_start.to_nanos(),
        stop: hpcc.qlen_stop.map(Picos::to_nanos),
        interval: hpcc.qlen_interval.to_nanos(),
        dump_interval: hpcc.qlen_dump_interval.to_nanos(),
        before: scenario.duration.to_nanos_ceil(),
    })
}

/// The simulator's `standalone_fct` of a flow (`qp_finish` in `third.cc`), if the scenario asks for it: twice the delay
/// of its path, a full payload on each link of one way, and all its bytes at the slowest rate. Headers of packets
/// count without telemetry.
pub fn standalone(scenario: &Scenario, flow: &Flow) -> Option<Nanos> {
    const BIT_NANOS_PER_BYTE: u128 = 8_000_000_000;
    let headers = scenario.results.hpcc.as_ref()?.standalone_headers?;
    let (path, _) = scenario.path_of(flow);
    let hops = scenario.fabric().hops(&path);
    let payload = scenario.host.payload;
    let time = |bytes: u64, rate: BitsPerSecond| {
        let time = u128::from(bytes) * BIT_NANOS_PER_BYTE / u128::from(rate.0);
        u64::try_from(time).unwrap_or(u64::MAX)
    };
    let slowest = hops.iter().map(|hop| hop.rate).min()?;
    let bytes = flow.bytes.0 + headers.0 * flow.bytes.0.div_ceil(payload.0);
    let delay: u64 = hops.iter().map(|hop| hop.delay.to_nanos().0).sum();
    let full: u64 = hops.iter().map(|hop| time(payload.0, hop.rate)).sum();
    Some(Nanos((2 * delay + full).saturating_add(time(bytes, slowest))))
}

/// Returns the simulator's numbers of all nodes of a fabric with this shape, by name.
pub fn hpcc_nodes(shape: &Shape, fabric: &Fabric, hpcc: &Hpcc) -> BTreeMap<String, HpccNode> {
    let plan = shape.plan().expect("a shape with a fabric has a plan");
    // Links that are down keep their interfaces.
    let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in &plan.links {
        neighbours.entry(&link.a).or_default().push(&link.b);
        neighbours.entry(&link.b).or_default().push(&link.a);
    }
    let ids: BTreeMap<&str, u32> = match &hpcc.nodes {
        Some(names) => names.iter().map(String::as_str).zip(0..).collect(),
        None => fabric.nodes().iter().map(|node| node.name.as_str()).zip(0..).collect(),
    };
    let numbered = fabric.nodes().iter().map(|node| {
        let mut linked: Vec<_> = (1..).zip(&neighbours[node.name.as_str()]).collect();
        // If two nodes have several links, the last ones are down.
        let mut interface = |wire| {
            let peer = &fabric.node(fabric.wire(wire).to).name;
            let place = linked.iter().position(|(_, name)| *name == peer);
            linked.remove(place.expect("a wire is a link of the plan")).0
        };
        (
            node.name.clone(),
            HpccNode {
                id: ids[node.name.as_str()],
                is_switch: matches!(node.kind, NodeKind::Switch(_)),
                interfaces: node.ports.iter().map(|&wire| interface(wire)).collect(),
            },
        )
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const SCENARIO: &str = "
flows = [{ kind = \"one\", src = \"h0\", dst = \"h3\", bytes = \"1kB\" }]
[topology]
kind = \"leaf-spine\"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"100Gbps\", delay = \"1us\" }
";

    #[test]
    fn parallel_links_have_an_interface_each() {
        let scenario = "
flows = [{ kind = \"one\", src = \"h0\", dst = \"h1\", bytes = \"1kB\" }]
[topology]
kind = \"custom\"
hosts = [\"h0\", \"h1\"]
switches = [\"s0\", \"s1\", \"s2\"]
links = [
    { a = \"s0\", b = \"s1\", rate = \"1Gbps\", delay = \"1us\" },
    { a = \"s0\", b = \"s2\", rate = \"1Gbps\", delay = \"1us\" },
    { a = \"s1\", b = \"s0\", rate = \"1Gbps\", delay = \"1us\" },
    { a = \"s0\", b = \"s1\", rate = \"1Gbps\", delay = \"1us\" },
    { a = \"s0\", b = \"h0\", rate = \"1Gbps\", delay = \"1us\" },
    { a = \"s1\", b = \"h1\", rate = \"1Gbps\", delay = \"1us\" },
]
failed_links = [[\"s1\", \"s0\"]]
[results.hpcc]
";
        let scenario = Scenario::parse(scenario, Path::new("x.toml"), &[]).unwrap();
        let options = hpcc_options(&scenario).unwrap();
        assert_eq!(options.nodes["s0"].interfaces, [1, 2, 3, 5]);
        assert_eq!(options.nodes["s1"].interfaces, [1, 2, 4]);
    }

    #[test]
    fn interfaces_stay_when_a_link_is_down() {
        let names = "\"spine1\", \"leaf0\", \"h0\", \"h1\", \"h2\", \"h3\", \"leaf1\", \"spine0\"";
        let sets = [
            "topology.failed_links=[[\"leaf0\", \"spine0\"]]".to_owned(),
            format!("results.hpcc.nodes=[{names}]"),
        ];
        let scenario = Scenario::parse(SCENARIO, Path::new("x.toml"), &sets).unwrap();
        let options = hpcc_options(&scenario).unwrap();
        let node = |name| {
            let HpccNode { id, is_switch, interfaces } = &options.nodes[name];
            (*id, *is_switch, interfaces.clone())
        };
        assert_eq!(node("leaf0"), (1, true, vec![1, 2, 4]));
        assert_eq!(node("spine0"), (7, true, vec![2]));
        assert_eq!(node("h3"), (5, false, vec![1]));
        assert_eq!(options.switches, ["leaf0", "leaf1", "spine0", "spine1"]);
        let again = Scenario::parse(&scenario.to_toml(), Path::new("x.toml"), &[]).unwrap();
        assert_eq!(again, scenario);
    }
}
