//! Static routes on small fabrics.

use units::{BitsPerSecond, Picos};

use super::*;
use crate::{Fabric, Plan, PlannedLink, Racks, Reach, RouteFaultKind, SHARE_UNIT, Spread, cycles};

const LINK: (BitsPerSecond, Picos) = (BitsPerSecond(1_000_000_000), Picos(0));

/// Two hosts on each of three leaves, two spines. A leaf's ports: its hosts, then the spines.
fn leaf_spine() -> Fabric {
    Fabric::build(&Plan::leaf_spine(3, 2, 2, LINK, LINK).unwrap()).unwrap()
}

/// `s0` to `s3` in a cycle, each with a host at port 0; the next switch is at the port in [`NEXT`].
fn ring() -> Fabric {
    let link = |a: String, b: String| PlannedLink { a, b, rate: LINK.0, delay: LINK.1 };
    let (host, switch) = (|n| format!("h{n}"), |n| format!("s{}", n % 4));
    let hosts = (0..4).map(|n| link(host(n), switch(n)));
    let links = hosts.chain((0..4).map(|n| link(switch(n), switch(n + 1)))).collect();
    let (hosts, switches) = ((0..4).map(host).collect(), (0..4).map(switch).collect());
    Fabric::build(&Plan { hosts, switches, links }).unwrap()
}

/// Port to the next switch, by switch of the ring.
const NEXT: [u16; 4] = [1, 2, 2, 2];

fn to(host: u32) -> RouteMatch {
    RouteMatch { class: None, source: None, destination: Some(HostId(host)) }
}

fn pair(source: u32, destination: u32) -> RouteMatch {
    RouteMatch { source: Some(HostId(source)), ..to(destination) }
}

fn of_class(class: u32, frames: RouteMatch) -> RouteMatch {
    RouteMatch { class: Some(FlowClass(class)), ..frames }
}

const ANY: RouteMatch = RouteMatch { class: None, source: None, destination: None };

fn routes<const N: usize>(rows: [(u32, RouteMatch, &[u16]); N]) -> StaticRoutes {
    let mut routes = StaticRoutes::default();
    for (switch, frames, ports) in rows {
        assert!(routes.add(SwitchId(switch), frames, ports.to_vec()));
    }
    routes
}

#[test]
fn the_most_specific_route_applies() {
    let mut fabric = leaf_spine();
    let mut given = routes([
        (0, to(4), &[2]),
        (0, pair(0, 4), &[3]),
        (0, of_class(1, ANY), &[2]),
        (0, of_class(2, to(4)), &[2]),
        (0, of_class(2, ANY), &[3]),
        (0, of_class(2, pair(0, 4)), &[2, 3]),
    ]);
    assert!(!given.add(SwitchId(0), pair(0, 4), vec![2]), "the switch has one");
    fabric.set_static_routes(given).unwrap();
    let ports = |source, destination, class: Option<u32>| {
        let traffic = Traffic::between(HostId(source), HostId(destination));
        fabric.ports(SwitchId(0), traffic.with_class(class.map(FlowClass))).to_vec()
    };
    assert_eq!(ports(1, 4, None), [2], "of the destination");
    assert_eq!(ports(0, 4, None), [3], "of the pair");
    assert_eq!(ports(0, 4, Some(0)), [3], "of the pair, for there is none of the flow");
    assert_eq!(ports(0, 4, Some(1)), [2], "of the flow");
    assert_eq!(ports(0, 4, Some(2)), [2, 3], "of the flow and the pair");
    assert_eq!(ports(1, 4, Some(2)), [2], "of the flow and the destination");
    assert_eq!(ports(1, 5, Some(2)), [3], "of the flow");
    assert_eq!(ports(1, 5, None), [2, 3], "shortest paths");
    let shared = Traffic { class: None, source: None, destination: HostId(4) };
    assert_eq!(fabric.ports(SwitchId(0), shared), [2], "of those that no pair is for");
}

fn fault(fabric: &mut Fabric, given: StaticRoutes) -> (Traffic, RouteFaultKind) {
    let fault = fabric.set_static_routes(given).unwrap_err();
    (fault.traffic, fault.kind)
}

#[test]
fn a_loop_is_found_behind_any_member_of_a_group() {
    // The spine sends frames for leaf 2 to leaf 0 as well, which sends them back.
    let (traffic, kind) = fault(&mut leaf_spine(), routes([(3, to(4), &[0, 2])]));
    assert_eq!(traffic.destination, HostId(4));
    assert_eq!(kind, RouteFaultKind::Loop(vec![SwitchId(0), SwitchId(3)]));
    // A route at leaf 0 opens the loop.
    let open = routes([(3, to(4), &[0, 2]), (0, to(4), &[3])]);
    assert_eq!(leaf_spine().set_static_routes(open), Ok(()));
}

#[test]
fn a_loop_of_a_pair_or_of_flows_is_found_if_they_are_there() {
    let around = |frames| routes([(0, frames, &[1]), (1, frames, &[1])]);
    let (traffic, kind) = fault(&mut ring(), around(pair(0, 2)));
    assert_eq!(traffic, Traffic::between(HostId(0), HostId(2)));
    assert_eq!(kind, RouteFaultKind::Loop(vec![SwitchId(0), SwitchId(1)]));
    let mut given = around(of_class(5, ANY));
    assert_eq!(ring().set_static_routes(given.clone()), Ok(()), "there is no such flow");
    given.add_flows(FlowClass(5), HostId(0), HostId(3));
    let (traffic, _) = fault(&mut ring(), given);
    assert_eq!(traffic.class, Some(FlowClass(5)));
    // From host 3 the pair's frames never come to a switch that has a route for them.
    let elsewhere = routes([(1, pair(0, 3), &[1])]);
    assert_eq!(ring().set_static_routes(elsewhere), Ok(()));
}

#[test]
fn routes_that_no_frame_takes_break_nothing() {
    // Hosts x and y on one switch, z in another part of the fabric.
    let link =
        |a: &str, b: &str| PlannedLink { a: a.into(), b: b.into(), rate: LINK.0, delay: LINK.1 };
    let plan = Plan {
        hosts: ["x", "y", "z"].map(String::from).to_vec(),
        switches: ["a", "b", "c"].map(String::from).to_vec(),
        links: vec![link("x", "a"), link("y", "a"), link("z", "b"), link("b", "c")],
    };
    let mut fabric = Fabric::build(&plan).unwrap();
    assert_eq!(fabric.set_static_routes(routes([(2, to(2), &[0])])), Ok(()), "nobody is there");
    let own = routes([(0, to(1), &[1]), (1, to(2), &[1])]);
    assert_eq!(fabric.set_static_routes(own), Ok(()), "switches hand frames to their own hosts");
    let mut given = routes([(0, of_class(0, ANY), &[1])]);
    given.add_flows(FlowClass(0), HostId(0), HostId(1));
    assert_eq!(fabric.set_static_routes(given), Ok(()));
}

#[test]
fn hosts_of_a_rack_are_divided_where_routes_distinguish_them() {
    let mut fabric = leaf_spine();
    let groups = |fabric: &Fabric| {
        let groups = Racks::by_routes(fabric);
        (0..groups.len()).map(|it| groups.hosts(it).to_vec()).collect::<Vec<_>>()
    };
    let racks = groups(&fabric);
    assert_eq!(racks.len(), 3);
    fabric.set_static_routes(routes([(0, to(4), &[2]), (0, to(5), &[2])])).unwrap();
    assert_eq!(groups(&fabric), racks, "both have the same route");
    fabric.set_static_routes(routes([(0, to(4), &[2]), (0, to(5), &[3])])).unwrap();
    let divided = [vec![0, 1], vec![2, 3], vec![4], vec![5]];
    assert_eq!(
        groups(&fabric),
        divided.map(|hosts| hosts.into_iter().map(HostId).collect::<Vec<_>>())
    );
    fabric.set_static_routes(routes([(0, pair(0, 4), &[2]), (0, pair(1, 4), &[2])])).unwrap();
    assert_eq!(groups(&fabric).len(), 4, "the senders are alike");
}

#[test]
fn traffic_spreads_by_static_routes() {
    let mut fabric = leaf_spine();
    // Host 0's frames for host 4 take spine 1, others for it spine 0, and flows of class 7 spine 1.
    let given = routes([(0, to(4), &[2]), (0, pair(0, 4), &[3]), (0, of_class(7, ANY), &[3])]);
    fabric.set_static_routes(given).unwrap();
    let groups = Racks::by_routes(&fabric);
    let mut demand = vec![0; groups.len() * groups.len()];
    let place = |from, to| groups.rack_of(HostId(from)) * groups.len() + groups.rack_of(HostId(to));
    demand[place(0, 4)] += 12;
    demand[place(1, 4)] += 2;
    demand[place(1, 5)] += 6;
    let up = |class: Option<u32>| {
        let spread = Spread::new(&fabric, &groups, class.map(FlowClass), &demand);
        [2, 3].map(|port| spread.on(fabric.switch(SwitchId(0)).ports[port]) / SHARE_UNIT)
    };
    assert_eq!(up(None), [2 + 3, 12 + 3]);
    assert_eq!(up(Some(7)), [0, 20]);
}

#[test]
fn a_detour_counts_the_links_of_its_longest_path() {
    let mut fabric = ring();
    // From s0 to h1 also the longer way.
    let given = routes([(0, to(1), &[1, 2]), (3, to(1), &[1]), (2, to(1), &[1])]);
    fabric.set_static_routes(given).unwrap();
    let groups = Racks::by_routes(&fabric);
    let reaches = Reach::to_group(&fabric, &groups, groups.rack_of(HostId(1)), None);
    assert_eq!(reaches.len(), 1);
    let reach = &reaches[0];
    assert_eq!((reach.links_from(SwitchId(0)), reach.paths_from(SwitchId(0))), (5, 2));
    assert_eq!((reach.links_from(SwitchId(2)), reach.paths_from(SwitchId(2))), (3, 1));
    let path = reach.longest_path(&fabric, HostId(0), HostId(1));
    let names = path.iter().map(|&wire| fabric.wire(wire).name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["h0->s0", "s0->s3", "s3->s2", "s2->s1", "s1->h1"]);
}

#[test]
fn static_routes_close_cycles_of_buffer_dependency() {
    let members = |given: StaticRoutes| {
        let mut fabric = ring();
        fabric.set_static_routes(given).unwrap();
        let cycles = cycles(&fabric, &Racks::by_routes(&fabric));
        cycles.iter().map(|cycle| cycle.members.len()).collect::<Vec<_>>()
    };
    // All shortest paths go both ways round. Pinned to one, they close one cycle; pinned to meet, none.
    let all = |frames: fn(u32) -> RouteMatch| {
        routes([0, 1, 2, 3].map(|at| (at, frames(at), &NEXT[at as usize..][..1])))
    };
    assert_eq!(members(StaticRoutes::default()), [4, 4]);
    assert_eq!(members(all(|at| to((at + 2) % 4))), [4]);
    // A pair's route leaves what other frames do alone. Here there are none: a host is all of its rack.
    assert_eq!(members(all(|at| pair(at, (at + 2) % 4))), [4]);
    let none = routes([(0, to(2), &[1]), (2, to(0), &[1]), (1, to(3), &[2]), (3, to(1), &[1])]);
    assert_eq!(members(none), [0; 0]);
    // Flows close it on top of routes that have none.
    let mut flows =
        routes([(0, to(2), &[1]), (2, to(0), &[1]), (1, to(3), &[2]), (3, to(1), &[1])]);
    for at in 0..4 {
        let ports = vec![NEXT[at as usize]];
        assert!(flows.add(SwitchId(at), of_class(at, ANY), ports));
        flows.add_flows(FlowClass(at), HostId(at), HostId((at + 2) % 4));
    }
    assert_eq!(members(flows), [4]);
}

/// Two islands of two switches; a route of one is for hosts of the other, which no link leads to.
#[test]
fn a_route_to_what_is_not_joined_breaks_nothing_else() {
    let link = |a: &str, b: &str| PlannedLink {
        a: a.into(),
        b: b.into(),
        rate: BitsPerSecond(1),
        delay: Picos(0),
    };
    let plan = Plan {
        hosts: ["x", "y", "z"].map(String::from).to_vec(),
        switches: ["a", "b", "c", "d"].map(String::from).to_vec(),
        links: vec![link("x", "a"), link("a", "b"), link("b", "y"), link("z", "c"), link("c", "d")],
    };
    let mut fabric = Fabric::build(&plan).unwrap();
    let mut routes = StaticRoutes::default();
    let to_y = RouteMatch { class: None, source: None, destination: Some(HostId(1)) };
    assert!(routes.add(SwitchId(2), to_y, vec![1]));
    fabric.set_static_routes(routes).expect("nobody takes it");
    assert!(!fabric.reaches(HostId(2), HostId(1)));
    let groups = Racks::by_routes(&fabric);
    let y = groups.rack_of(HostId(1));
    let reaches = Reach::to_group(&fabric, &groups, y, None);
    let sources: Vec<usize> = reaches.iter().flat_map(|reach| reach.sources.clone()).collect();
    assert_eq!(sources, [groups.rack_of(HostId(0))], "x still reaches y, and z does not");
}

/// The switch of a host hands frames to it, whatever routes for all flows of a class say.
#[test]
fn a_switch_hands_frames_to_its_own_hosts() {
    let link = (BitsPerSecond(1), Picos(0));
    let mut fabric = Fabric::build(&Plan::leaf_spine(2, 2, 1, link, link).unwrap()).unwrap();
    let class = Some(FlowClass(0));
    let mut routes = StaticRoutes::default();
    let all = RouteMatch { class, source: None, destination: None };
    for leaf in [0, 1] {
        assert!(routes.add(SwitchId(leaf), all, vec![2]));
    }
    routes.add_flows(FlowClass(0), HostId(0), HostId(1));
    fabric.set_static_routes(routes).expect("no cycle");
    let traffic = Traffic::between(HostId(0), HostId(1)).with_class(class);
    assert_eq!([0, 1].map(|leaf| fabric.ports(SwitchId(leaf), traffic)), [&[2][..], &[0]]);
}
