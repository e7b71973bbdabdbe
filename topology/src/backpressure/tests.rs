//! The graph on fabrics whose answer is known, and up*/down* on any.

use std::collections::BTreeSet;

use proptest::prelude::*;
use units::{BitsPerSecond, Picos};

use super::*;
use crate::{HostId, Plan, PlannedLink, RouteMatch, StaticRoutes, UpDown, in_32_bits};

const LINK: (BitsPerSecond, Picos) = (BitsPerSecond(100), Picos(0));

fn build(plan: &Plan) -> Fabric {
    Fabric::build(plan).unwrap()
}

/// `s0` to `s{switches - 1}` with these links between them, each with the host of its number if it is among `hosts`.
fn fabric_of_links(switches: u32, hosts: &BTreeSet<u32>, links: &[(u32, u32)]) -> Fabric {
    let link = |a: String, b: String| PlannedLink { a, b, rate: LINK.0, delay: LINK.1 };
    let switch = |number: u32| format!("s{number}");
    let of_hosts = hosts.iter().map(|&number| link(format!("h{number}"), switch(number)));
    let between = links.iter().map(|&(a, b)| link(switch(a), switch(b)));
    let links = of_hosts.chain(between).collect();
    let hosts = hosts.iter().map(|number| format!("h{number}")).collect();
    build(&Plan { hosts, switches: (0..switches).map(switch).collect(), links })
}

fn ring(switches: u32) -> Fabric {
    let links: Vec<_> = (0..switches).map(|at| (at, (at + 1) % switches)).collect();
    fabric_of_links(switches, &(0..switches).collect(), &links)
}

fn by_routes(fabric: &Fabric) -> BackpressureGraph {
    BackpressureGraph::from_routes(fabric, &Racks::by_routes(fabric))
}

fn names(fabric: &Fabric, wires: &[WireId]) -> Vec<String> {
    wires.iter().map(|&wire| fabric.wire(wire).name.clone()).collect()
}

/// The graph of all turns that the order leaves.
fn prevented(fabric: &Fabric) -> BackpressureGraph {
    let order = UpDown::new(fabric);
    BackpressureGraph::from_all_turns(fabric).without(fabric, |turn| order.elides(fabric, turn))
}

/// All turns that the order elides, of all switches.
fn elided(fabric: &Fabric) -> Vec<Turn> {
    let order = UpDown::new(fabric);
    let switches = (0..fabric.switch_count()).map(SwitchId);
    switches.flat_map(|switch| order.elided(fabric, switch)).collect()
}

/// True if repeatedly removing nodes without incoming edges removes all nodes.
fn is_acyclic(graph: &BackpressureGraph) -> bool {
    let mut incoming = vec![0; graph.turns.len()];
    for next in graph.turns.iter().flatten() {
        incoming[*next as usize] += 1;
    }
    let mut free: Vec<usize> = (0..incoming.len()).filter(|node| incoming[*node] == 0).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for next in &graph.turns[node] {
            incoming[*next as usize] -= 1;
            if incoming[*next as usize] == 0 {
                free.push(*next as usize);
            }
        }
    }
    taken == graph.turns.len()
}

#[test]
fn a_leaf_spine_has_the_edges_of_its_paths() {
    // Three leaves with two hosts each, two spines.
    let fabric = build(&Plan::leaf_spine(3, 2, 2, LINK, LINK).unwrap());
    let routes = by_routes(&fabric);
    // Ports: 3 x 4 of leaves, 2 x 3 of spines. Up a leaf's packets go on to two other leaves; down to two hosts.
    assert_eq!((routes.node_count(), routes.edge_count()), (18, 6 * 2 + 6 * 2));
    assert_eq!(routes.cycles(), []);
    let all = BackpressureGraph::from_all_turns(&fabric);
    assert_eq!((all.node_count(), all.edge_count()), (18, 6 * 3 + 6 * 4));
    let cycles = all.cycles();
    assert_eq!(cycles.len(), 1, "any wire between switches may lead back to any other");
    assert_eq!(cycles[0].members.len(), 12);
    assert_eq!(names(&fabric, &cycles[0].example), ["leaf0->spine0", "spine0->leaf0"]);
    for (wire, onward) in (0..).map(WireId).zip(&routes.turns) {
        assert!(onward.iter().all(|next| all.turns[wire.0 as usize].contains(next)));
        let next = fabric.wire(wire).to;
        assert!(onward.iter().all(|&on| fabric.wire(WireId(on)).from == next), "a single hop");
    }
}

#[test]
fn routes_round_a_ring_close_a_cycle_and_hosts_are_on_none() {
    let mut fabric = ring(4);
    let mut routes = StaticRoutes::default();
    for at in 0..4 {
        let to = RouteMatch { class: None, source: None, destination: Some(HostId((at + 2) % 4)) };
        let next = if at == 0 { 1 } else { 2 };
        assert!(routes.add(SwitchId(at), to, vec![next]));
    }
    fabric.set_static_routes(routes).unwrap();
    let graph = by_routes(&fabric);
    // Clockwise on to the next switch and its host; the other way to the neighbour's host only.
    assert_eq!((graph.node_count(), graph.edge_count()), (12, 4 * 2 + 4));
    let [cycle] = &graph.cycles()[..] else { panic!("one cycle") };
    assert_eq!(names(&fabric, &cycle.example), ["s0->s1", "s1->s2", "s2->s3", "s3->s0"]);
    assert_eq!(cycle.members.len(), 4);
    // s2 is the lowest: it is furthest from s0. s1 and s3 do not send back to s0 what comes from there.
    let turns = elided(&fabric);
    let turns: Vec<_> =
        turns.iter().map(|turn| (turn.switch.0, turn.ingress, turn.egress)).collect();
    assert_eq!(turns, [(1, 1, 1), (2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2)]);
    let order = UpDown::new(&fabric);
    let left = graph.without(&fabric, |turn| order.elides(&fabric, turn));
    assert_eq!((left.edge_count(), left.cycles()), (11, vec![]));
}

/// In a Clos exactly the turns of packets that come from a higher layer and go back to a higher layer.
#[test]
fn in_a_clos_exactly_the_turns_down_and_up_are_elided() {
    let layer = |name: &str| match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "h" => 0,
        "leaf" | "edge" | "s" => 1,
        "spine" | "agg" => 2,
        "core" => 3,
        other => panic!("{other}"),
    };
    let mut failed = Plan::leaf_spine(4, 2, 3, LINK, LINK).unwrap();
    let lost = [["spine0", "leaf3"], ["leaf0", "spine1"]].map(|link| link.map(String::from));
    failed.fail_links(&lost).unwrap();
    let plans = [
        Plan::leaf_spine(2, 1, 1, LINK, LINK).unwrap(),
        Plan::leaf_spine(5, 3, 4, LINK, LINK).unwrap(),
        failed,
        Plan::fat_tree(2, 1, LINK, LINK, LINK).unwrap(),
        Plan::fat_tree(4, 2, LINK, LINK, LINK).unwrap(),
        Plan::fat_tree(6, 5, LINK, LINK, LINK).unwrap(),
        Plan::star(9, LINK.0, LINK.1).unwrap(),
    ];
    for plan in plans {
        let fabric = build(&plan);
        let mut expected = Vec::new();
        for switch in (0..fabric.switch_count()).map(SwitchId) {
            let node = fabric.switch(switch);
            let higher = |port: &u16| {
                let peer = fabric.peer(fabric.switch_node(switch), *port).node;
                layer(&fabric.node(peer).name) > layer(&node.name)
            };
            for ingress in (0..node.port_count()).filter(higher) {
                let turn = |egress| Turn { switch, ingress, egress };
                expected.extend((0..node.port_count()).filter(higher).map(turn));
            }
        }
        assert_eq!(elided(&fabric), expected, "{:?}", plan.switches);
        assert!(is_acyclic(&prevented(&fabric)), "{:?}", plan.switches);
    }
}

#[test]
fn a_failure_that_makes_a_cycle_of_routes_makes_none_of_those_that_are_left() {
    // DSH, Fig. 16.
    let mut plan = Plan::leaf_spine(4, 2, 1, LINK, LINK).unwrap();
    let lost = [["spine0", "leaf3"], ["leaf0", "spine1"]].map(|link| link.map(String::from));
    plan.fail_links(&lost).unwrap();
    let fabric = build(&plan);
    let routes = by_routes(&fabric);
    assert_eq!(routes.cycles().len(), 2);
    let order = UpDown::new(&fabric);
    let left = routes.clone().without(&fabric, |turn| order.elides(&fabric, turn));
    assert_eq!(left.cycles(), []);
    // From each spine to the other, at leaf 1 and at leaf 2.
    assert_eq!(routes.edge_count() - left.edge_count(), 4);
}

/// Long cycles and paths do not exhaust the stack.
#[test]
fn a_large_ring_is_one_cycle_and_then_none() {
    let fabric = ring(1000);
    let all = BackpressureGraph::from_all_turns(&fabric);
    assert_eq!(all.cycles().len(), 1);
    assert_eq!(prevented(&fabric).cycles(), []);
}

/// Number of switches, switches with a host, and links between switches; each switch has a link.
fn any_fabric() -> impl Strategy<Value = Fabric> {
    (2..14u32).prop_flat_map(|switches| {
        let hosts = proptest::collection::btree_set(0..switches, 0..=switches as usize);
        // For each switch another one, as the distance between their numbers.
        let spanning = proptest::collection::vec(1..switches, switches as usize);
        let more = proptest::collection::vec((0..switches, 1..switches), 0..20);
        (hosts, spanning, more).prop_map(move |(hosts, spanning, more)| {
            let to = |(at, by): (u32, u32)| (at, (at + by) % switches);
            let links: Vec<_> = (0..).zip(spanning).chain(more).map(to).collect();
            fabric_of_links(switches, &hosts, &links)
        })
    })
}

/// Switches in a tree, with a host each.
fn any_tree() -> impl Strategy<Value = Fabric> {
    proptest::collection::vec(any::<prop::sample::Index>(), 1..20).prop_map(|parents| {
        let links: Vec<_> = (1..)
            .zip(&parents)
            .map(|(at, parent)| (at, in_32_bits(parent.index(at as usize))))
            .collect();
        let switches = in_32_bits(parents.len() + 1);
        fabric_of_links(switches, &(0..switches).collect(), &links)
    })
}

proptest! {
    #[test]
    fn no_cycle_is_left_in_any_fabric(fabric in any_fabric()) {
        let all = BackpressureGraph::from_all_turns(&fabric);
        prop_assert!(!is_acyclic(&all), "frames may go to and fro on a link");
        prop_assert!(!all.cycles().is_empty());
        let left = prevented(&fabric);
        prop_assert!(is_acyclic(&left));
        prop_assert_eq!(left.cycles(), []);
        let order = UpDown::new(&fabric);
        let turns = elided(&fabric);
        prop_assert!(turns.iter().all(|turn| order.elides(&fabric, *turn)));
        let of_switches = |turn: &&Turn| {
            let from = fabric.peer(fabric.switch_node(turn.switch), turn.ingress).node;
            matches!(fabric.node(from).kind, NodeKind::Switch(_))
        };
        let elided = turns.iter().filter(of_switches).count() as u64;
        prop_assert_eq!(elided, turns.len() as u64, "what hosts send is never elided");
        prop_assert_eq!(left.edge_count() + elided, all.edge_count());
    }

    #[test]
    fn a_tree_of_switches_with_hosts_loses_no_turn_of_a_route(fabric in any_tree()) {
        let routes = by_routes(&fabric);
        let order = UpDown::new(&fabric);
        let left = routes.clone().without(&fabric, |turn| order.elides(&fabric, turn));
        prop_assert_eq!(left, routes);
    }
}
