//! Plans that build and plans that are refused.

use super::*;
use crate::PlannedLink;

const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
const DELAY: Picos = Picos(1_000_000);

fn leaf_spine() -> Fabric {
    let link = (RATE, DELAY);
    Fabric::build(&Plan::leaf_spine(2, 2, 4, link, link).unwrap()).unwrap()
}

#[test]
fn a_leaf_has_its_hosts_first_and_then_the_spines() {
    let fabric = leaf_spine();
    let peers: Vec<_> = (0..6)
        .map(|port| fabric.peer(fabric.switch_node(SwitchId(1)), port))
        .map(|peer| fabric.node(peer.node).name.as_str())
        .collect();
    assert_eq!(peers, ["h4", "h5", "h6", "h7", "spine0", "spine1"]);
    assert_eq!(fabric.wires()[0].name, "h0->leaf0");
    assert_eq!(fabric.wire(WireId(0).reverse()).name, "leaf0->h0");
}

#[test]
fn a_path_follows_the_chooser() {
    let fabric = leaf_spine();
    let last = |_, group: &[u16]| group[group.len() - 1];
    let path = fabric.path(Traffic::between(HostId(0), HostId(7)), last).unwrap();
    let names: Vec<_> = path.iter().map(|&id| fabric.wire(id).name.as_str()).collect();
    assert_eq!(names, ["h0->leaf0", "leaf0->spine1", "spine1->leaf1", "leaf1->h7"]);
}

#[test]
fn a_fabric_in_two_parts_has_no_path_between_them() {
    let link = |a: &str, b: &str| crate::PlannedLink {
        a: a.into(),
        b: b.into(),
        rate: RATE,
        delay: DELAY,
    };
    let plan = Plan {
        hosts: vec!["x".into(), "y".into()],
        switches: vec!["s0".into(), "s1".into()],
        links: vec![link("x", "s0"), link("y", "s1")],
    };
    assert!(!Fabric::build(&plan).unwrap().reaches(HostId(0), HostId(1)));
}

/// x and y on two switches, which the links of the rates given join.
fn joined(left: &str, right: &str, gigabits: &[u64]) -> Plan {
    let link = |a: &str, b: &str, rate| crate::PlannedLink {
        a: a.into(),
        b: b.into(),
        rate: BitsPerSecond(rate * 1_000_000_000),
        delay: DELAY,
    };
    let mut links = vec![link("x", left, 100), link("y", right, 100)];
    for (number, &rate) in gigabits.iter().enumerate() {
        let (a, b) = if number % 2 == 0 { (left, right) } else { (right, left) };
        links.push(link(a, b, rate));
    }
    let hosts = vec!["x".into(), "y".into()];
    Plan { hosts, switches: vec![left.into(), right.into()], links }
}

#[test]
fn parallel_links_have_names_of_their_own_and_share_the_traffic() {
    let fabric = Fabric::build(&joined("s0", "s1", &[10, 20, 30])).unwrap();
    let names: Vec<_> = fabric.wires()[4..].iter().map(|wire| wire.name.as_str()).collect();
    let expected = ["s0->s1", "s1->s0", "s1->s0#2", "s0->s1#2", "s0->s1#3", "s1->s0#3"];
    assert_eq!(names, expected);
    assert_eq!(fabric.wires()[7].port_name(), "s1#2");
    assert_eq!(fabric.shortest_routes(SwitchId(0)).ports_to(HostId(1)), [1, 2, 3]);
    assert_eq!(fabric.shortest_routes(SwitchId(1)).ports_to(HostId(0)), [1, 2, 3]);
    for port in 1..4 {
        let peer = fabric.peer(fabric.switch_node(SwitchId(0)), port);
        assert_eq!(peer, Peer { node: fabric.switch_node(SwitchId(1)), port });
        let take = |_, group: &[u16]| if group.contains(&port) { port } else { group[0] };
        let path = fabric.path(Traffic::between(HostId(0), HostId(1)), take).unwrap();
        let rate = BitsPerSecond(u64::from(port) * 10_000_000_000);
        assert_eq!(fabric.wire(path[1]).rate, rate);
    }
}

#[test]
fn the_last_of_parallel_links_fails_first() {
    let mut plan = joined("s0", "s1", &[10, 20, 30]);
    let pair = || ["s1".to_owned(), "s0".to_owned()];
    let rates = |plan: &Plan| {
        let links = plan.links[2..].iter().map(|link| link.rate.0 / 1_000_000_000);
        links.collect::<Vec<_>>()
    };
    plan.fail_links(&[pair()]).unwrap();
    assert_eq!(rates(&plan), [10, 20]);
    plan.fail_links(&[pair(), pair()]).unwrap();
    assert!(rates(&plan).is_empty());
    assert!(plan.fail_links(&[pair()]).is_err());
}

#[test]
fn parallel_links_need_room_in_the_names_of_interfaces() {
    let (long, longest) = ("thirteen-char", "fifteen-charact");
    let fabric = Fabric::build(&joined(long, "s1", &[10, 10])).unwrap();
    assert_eq!(fabric.wires().last().unwrap().port_name(), "s1#2");
    Fabric::build(&joined(longest, "s1", &[10])).unwrap();
    let error = Fabric::build(&joined(longest, "s1", &[10, 10])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an interface of link 2 between `s1` and `fifteen-charact` would be called \
         `fifteen-charact#2`; the limit is 15 characters"
    );
    let error = Fabric::build(&joined(long, "s1", &[10; 10])).unwrap_err();
    assert!(error.to_string().contains("`thirteen-char#10`"), "{error}");
}

#[test]
fn a_host_has_one_link_also_where_both_lead_to_one_switch() {
    let mut plan = Plan::star(2, RATE, DELAY).unwrap();
    plan.links.push(plan.links[1].clone());
    let error = Fabric::build(&plan).unwrap_err();
    assert_eq!(error.to_string(), "host `h1` has 2 links; a host has exactly one port");
}

#[test]
fn names_that_cannot_be_interfaces_are_refused() {
    for name in ["", "a-name-that-is-long", "a b", "h0->", "0h", "h-", "hö", "a/b", "*", "s1#2"] {
        assert!(name_fault(name).is_some(), "{name}");
    }
    for name in ["lo", "all", "default"] {
        assert!(name_fault(name).is_some(), "{name}");
    }
    for name in ["h0", "leaf12", "tor-a.1", "x_", "lo0", "All"] {
        assert!(name_fault(name).is_none(), "{name}");
    }
}

#[test]
fn a_switch_has_256_ports_at_most() {
    let star = |hosts| Fabric::build(&Plan::star(hosts, RATE, DELAY).unwrap());
    let largest = star(256).unwrap();
    assert_eq!(largest.shortest_routes(SwitchId(0)).ports_to(HostId(255)), [255]);
    let error = star(257).unwrap_err();
    assert_eq!(error.to_string(), "switch `s0` has 257 ports; the limit is 256");
}

/// More than ports are numbered by: 65,536 parallel links.
#[test]
fn links_are_counted_beyond_the_numbers_of_ports() {
    let mut plan = Plan::star(2, RATE, DELAY).unwrap();
    plan.switches.push("s1".into());
    let parallel = PlannedLink { a: "s0".into(), b: "s1".into(), rate: RATE, delay: DELAY };
    plan.links.extend(vec![parallel; 1 << 16]);
    let error = Fabric::build(&plan).unwrap_err();
    assert_eq!(error.to_string(), "switch `s0` has 65538 ports; the limit is 256");
}
