//! Shortest paths with equal-cost groups, as BGP with ECMP installs them.
//!
//! A data centre fabric runs eBGP with an AS per switch (RFC 7938) and multipath: a switch uses all
//! neighbours that are nearest to the destination, counted in switches over the links that are up.
//! In a healthy tree these are the up-down paths. If links have failed, paths can go down and up again: in a
//! leaf-spine fabric whose `leaf0` has lost `spine1` and whose `leaf3` has lost `spine0`, frames between these
//! leaves take `leaf0, spine0, leaf1 or leaf2, spine1, leaf3`. Such bounces make buffers wait for each other in a
//! cycle (DSH, Fig. 16; Tagger, `CoNEXT` 2017). A fabric that gives all spines one AS number, or otherwise forbids
//! valleys, drops this traffic instead, like a fabric without a path.

use super::{HostId, Node, NodeId, NodeKind, Wire, WireId};

/// One switch's shortest paths: for each host, all ports on a shortest path, in ascending order.
///
/// Hosts behind the same ports share a group, as in a switch's ECMP group table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    groups: Vec<Vec<u16>>,
    /// Index into `groups` by host.
    group_of: Vec<u16>,
}

impl Routes {
    /// The ports on shortest paths to `host`, ascending; empty if there is no path.
    pub fn ports_to(&self, host: HostId) -> &[u16] {
        &self.groups[self.group_to(host)]
    }

    /// The number of `host`'s group in [`Self::groups`].
    pub fn group_to(&self, host: HostId) -> usize {
        self.group_of[host.0 as usize] as usize
    }

    /// The distinct groups, in the order of the first host that uses them.
    pub fn groups(&self) -> &[Vec<u16>] {
        &self.groups
    }

    fn add(&mut self, group: Vec<u16>) {
        let place = self.groups.iter().position(|known| *known == group).unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() - 1
        });
        self.group_of.push(place.try_into().expect("there are at most as many groups as hosts"));
    }

    /// Puts the next host into the group of the host before it.
    fn repeat(&mut self) {
        self.group_of.extend(self.group_of.last().copied());
    }
}

/// The graph in which routes are found.
#[derive(Clone, Copy)]
pub(super) struct Network<'a, F> {
    pub nodes: &'a [Node],
    pub wires: &'a [Wire],
    pub hosts: u32,
    /// True if a wire can be used. The two wires of a link are up or down together.
    pub is_up: F,
}

/// Routes of every switch, by breadth-first search from each host; hosts do not forward.
pub(super) fn routes_of<F: Fn(WireId) -> bool + Copy>(network: Network<'_, F>) -> Vec<Routes> {
    let Network { nodes, wires, hosts, is_up } = network;
    let switches = nodes.len() - hosts as usize;
    let empty = Routes { groups: Vec::new(), group_of: Vec::with_capacity(hosts as usize) };
    let mut routes = vec![empty; switches];
    // Hosts of one switch follow each other in most fabrics and share its distances.
    let mut distances = (NodeId(u32::MAX), Vec::new());
    for host in 0..hosts {
        let link = nodes[host as usize].ports[0];
        let edge = wires[link.0 as usize].to;
        let is_same = distances.0 == edge;
        if !is_up(link) {
            for routes in &mut routes {
                routes.add(Vec::new());
            }
            // The next host's routes differ in any case.
            distances.0 = NodeId(u32::MAX);
            continue;
        }
        if !is_same {
            distances = (edge, distances_to(edge, network));
        }
        for (here, routes) in (hosts..).map(NodeId).zip(&mut routes) {
            if is_same && here != edge {
                routes.repeat();
                continue;
            }
            routes.add(ports_towards(NodeId(host), here, &distances.1, network));
        }
    }
    routes
}

/// The distance of a node from which there is no path.
const UNREACHED: u32 = u32::MAX;

/// Hops from every switch to `edge`, through switches only.
fn distances_to<F: Fn(WireId) -> bool>(edge: NodeId, network: Network<'_, F>) -> Vec<u32> {
    let Network { nodes, wires, is_up, .. } = network;
    let mut distances = vec![UNREACHED; nodes.len()];
    distances[edge.0 as usize] = 0;
    let mut frontier = vec![edge];
    for hops in 1.. {
        let mut next = Vec::new();
        for node in frontier {
            for port in &nodes[node.0 as usize].ports {
                let peer = wires[port.0 as usize].to;
                let is_switch = matches!(nodes[peer.0 as usize].kind, NodeKind::Switch(_));
                if is_switch && is_up(*port) && distances[peer.0 as usize] == UNREACHED {
                    distances[peer.0 as usize] = hops;
                    next.push(peer);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        frontier = next;
    }
    distances
}

fn ports_towards<F: Fn(WireId) -> bool>(
    host: NodeId,
    here: NodeId,
    distances: &[u32],
    network: Network<'_, F>,
) -> Vec<u16> {
    let Network { nodes, wires, is_up, .. } = network;
    let distance = distances[here.0 as usize];
    if distance == UNREACHED {
        return Vec::new();
    }
    let leads = |peer: NodeId| {
        if distance == 0 { peer == host } else { distances[peer.0 as usize] == distance - 1 }
    };
    (0u16..)
        .zip(&nodes[here.0 as usize].ports)
        .filter(|(_, wire)| is_up(**wire) && leads(wires[wire.0 as usize].to))
        .map(|(port, _)| port)
        .collect()
}

#[cfg(test)]
mod tests {
    use units::{BitsPerSecond, Picos};

    use super::super::{Fabric, Plan, SwitchId, Traffic};
    use super::*;

    #[test]
    fn a_leaf_sends_up_over_all_spines_and_down_over_one_port() {
        let link = (BitsPerSecond(1_000_000_000), Picos(0));
        let fabric = Fabric::build(&Plan::leaf_spine(2, 3, 2, link, link).unwrap()).unwrap();
        let leaf0 = fabric.shortest_routes(SwitchId(0));
        assert_eq!(leaf0.ports_to(HostId(1)), [1]);
        assert_eq!(leaf0.ports_to(HostId(2)), [2, 3, 4]);
        assert_eq!(leaf0.ports_to(HostId(3)), [2, 3, 4]);
        assert_eq!(leaf0.groups().len(), 3);
        let spine2 = fabric.shortest_routes(SwitchId(4));
        assert_eq!(spine2.ports_to(HostId(0)), [0]);
        assert_eq!(spine2.ports_to(HostId(3)), [1]);
    }

    #[test]
    fn a_group_has_all_255_ways_up() {
        let link = (BitsPerSecond(1_000_000_000), Picos(0));
        let fabric = Fabric::build(&Plan::leaf_spine(2, 255, 1, link, link).unwrap()).unwrap();
        assert!(fabric.shortest_routes(SwitchId(0)).ports_to(HostId(1)).iter().copied().eq(1..256));
        let last = |_, group: &[u16]| group[group.len() - 1];
        let path = fabric.path(Traffic::between(HostId(1), HostId(0)), last).unwrap();
        assert_eq!(fabric.wire(path[1]).name, "leaf1->spine254");
    }

    /// DSH, Fig. 16: two spines, four leaves, `S0-L3` and `S1-L0` failed.
    fn with_failures() -> Fabric {
        let link = (BitsPerSecond(1_000_000_000), Picos(0));
        let mut plan = Plan::leaf_spine(4, 2, 1, link, link).unwrap();
        let failed = [["spine0", "leaf3"], ["spine1", "leaf0"]];
        plan.fail_links(&failed.map(|ends| ends.map(String::from))).unwrap();
        Fabric::build(&plan).unwrap()
    }

    #[test]
    fn failed_links_make_frames_bounce() {
        let fabric = with_failures();
        let mut paths = Vec::new();
        for bounce in 0..2 {
            let choose = |_, group: &[u16]| group[bounce.min(group.len() - 1)];
            let path = fabric.path(Traffic::between(HostId(0), HostId(3)), choose).unwrap();
            paths.push(path.iter().map(|&id| fabric.wire(id).name.clone()).collect::<Vec<_>>());
        }
        assert_eq!(
            paths[0],
            [
                "h0->leaf0",
                "leaf0->spine0",
                "spine0->leaf1",
                "leaf1->spine1",
                "spine1->leaf3",
                "leaf3->h3"
            ]
        );
        assert_eq!(paths[1][2..4], ["spine0->leaf2", "leaf2->spine1"]);
        let traffic = Traffic::between(HostId(1), HostId(2));
        let direct = fabric.path(traffic, |_, group| group[group.len() - 1]).unwrap();
        assert_eq!(direct.len(), 4);
    }

    /// Ports of a switch towards a host while links are down, each named by one of its wires.
    fn ports(fabric: &Fabric, down: &[&str], switch: u32, host: u32) -> Vec<u16> {
        let is_down = |wire: WireId| {
            [wire, wire.reverse()].iter().any(|&wire| down.contains(&&*fabric.wire(wire).name))
        };
        let routes = fabric.routes_without(is_down);
        routes[switch as usize].ports_to(HostId(host)).to_vec()
    }

    #[test]
    fn links_that_are_down_are_like_those_that_have_failed() {
        let link = (BitsPerSecond(1_000_000_000), Picos(0));
        let fabric = Fabric::build(&Plan::leaf_spine(4, 2, 2, link, link).unwrap()).unwrap();
        let ports = |down: &[&str], switch, host| ports(&fabric, down, switch, host);
        assert_eq!(ports(&[], 0, 6), [2, 3]);
        assert_eq!(ports(&["leaf0->spine1"], 0, 6), [2]);
        assert_eq!(ports(&["spine1->leaf0"], 0, 6), [2], "either wire");
        assert_eq!(ports(&["spine1->leaf0"], 3, 0), [2], "the others know of it");
        let down = ["spine0->leaf3", "spine1->leaf0"];
        assert_eq!(ports(&down, 0, 7), [2]);
        assert_eq!(ports(&down, 4, 7), [1, 2], "down and up again");
        let all = ["leaf0->spine0", "leaf0->spine1"];
        assert_eq!(ports(&all, 0, 6), [0; 0]);
        assert_eq!(ports(&all, 0, 1), [1], "its own host");
        assert_eq!(ports(&all, 3, 0), [0; 0]);
    }

    #[test]
    fn a_host_whose_link_is_down_has_no_route_and_its_neighbours_keep_theirs() {
        let link = (BitsPerSecond(1_000_000_000), Picos(0));
        let fabric = Fabric::build(&Plan::leaf_spine(2, 2, 3, link, link).unwrap()).unwrap();
        let ports = |switch, host| ports(&fabric, &["h1->leaf0"], switch, host);
        for (host, own, others) in [(0, &[0][..], &[3, 4][..]), (1, &[], &[]), (2, &[2], &[3, 4])] {
            assert_eq!(ports(0, host), own, "h{host} at leaf0");
            assert_eq!(ports(1, host), others, "h{host} at leaf1");
        }
        assert_eq!(ports(1, 3), [0]);
    }

    #[test]
    fn levels_rise_from_the_hosts() {
        let link = (BitsPerSecond(1), Picos(0));
        let plan = Plan::fat_tree(4, 2, link, link, link).unwrap();
        let fabric = Fabric::build(&plan).unwrap();
        let levels = fabric.levels();
        let of = |prefix: &str| {
            let nodes = fabric.nodes().iter().zip(&levels);
            let mut levels: Vec<u32> = nodes
                .filter(|(node, _)| node.name.starts_with(prefix))
                .map(|(_, level)| *level)
                .collect();
            levels.dedup();
            levels
        };
        assert_eq!([of("h"), of("edge"), of("agg"), of("core")], [[0], [1], [2], [3]]);
    }

    #[test]
    fn a_longer_way_is_not_taken() {
        let link = |a: &str, b: &str| super::super::PlannedLink {
            a: a.into(),
            b: b.into(),
            rate: BitsPerSecond(1),
            delay: Picos(0),
        };
        let plan = Plan {
            hosts: vec!["x".into(), "y".into()],
            switches: ["a", "b", "c"].map(String::from).to_vec(),
            links: vec![
                link("x", "a"),
                link("a", "b"),
                link("b", "c"),
                link("a", "c"),
                link("c", "y"),
            ],
        };
        let fabric = Fabric::build(&plan).unwrap();
        assert_eq!(fabric.shortest_routes(SwitchId(0)).ports_to(HostId(1)), [2]);
        assert_eq!(fabric.shortest_routes(SwitchId(1)).ports_to(HostId(1)), [1]);
    }
}
