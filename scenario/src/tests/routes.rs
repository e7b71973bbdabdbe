//! `[[routes]]`.

use fabric_core::map_abi::FlowKey;
use insta::assert_snapshot;
use topology::SwitchId;
use workload::Flow;

use super::super::{Scenario, ScenarioError};
use super::parse;

/// Three leaves with two hosts each, and two spines; the link from `spine1` to `leaf2` has failed.
pub const FABRIC: &str = r#"[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 2
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "1us" }
failed_links = [["spine1", "leaf2"]]
[[flows]]
kind = "one"
src = "h0"
dst = "h2"
bytes = "1kB"
"#;

fn with_routes(routes: &str) -> Result<Scenario, ScenarioError> {
    parse(&format!("{FABRIC}{routes}"))
}

fn refused(routes: &str) -> String {
    with_routes(routes).expect_err("routes that are wrong").to_string()
}

/// Names of the wires that data of the first flow crosses.
fn path(scenario: &Scenario) -> String {
    path_of(scenario, &scenario.flows()[0])
}

pub fn path_of(scenario: &Scenario, flow: &Flow) -> String {
    let names = scenario.path_of(flow).0;
    let names = names.iter().map(|&wire| scenario.fabric().wire(wire).port_name());
    names.collect::<Vec<_>>().join(">")
}

#[test]
fn routes_of_destinations_pairs_and_flows() {
    let spines = ["spine0", "spine1"];
    for (via, spine) in [("spine0", spines[0]), ("spine1", spines[1])] {
        let expected = format!("leaf0>{spine}>leaf1>h2");
        for frames in
            ["to = \"h2\"", "to = \"leaf1\"", "to = [\"h2\", \"h3\"]", "to = \"h2\"\nfrom = \"h*\""]
        {
            let routes = format!("[[routes]]\nat = \"leaf0\"\n{frames}\nvia = [\"{via}\"]\n");
            let scenario = with_routes(&routes).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(path(&scenario), expected, "{frames}");
        }
        let routes = format!(
            "[[routes]]\nat = \"leaf0\"\nflows = \"one\"\nvia = [\"{via}\"]\n\
             [[routes]]\nat = \"leaf*\"\nfrom = \"h0\"\nto = \"h2\"\nvia = [\"spine0\", \"spine1\"]\n"
        );
        // At leaf1 the pair's route would lead back.
        let routes = routes.replace("leaf*", "leaf0");
        assert_eq!(path(&with_routes(&routes).unwrap()), expected, "the flow goes first");
    }
    let scenario = with_routes("[[routes]]\nat = \"leaf0\"\nto = \"leaf1\"\nvia = [\"spine1\"]\n");
    let scenario = scenario.unwrap();
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario, again, "the resolved scenario has the routes");
    assert_eq!(scenario.policy_routes(SwitchId(0)), [], "a destination needs no policy route");
}

#[test]
fn policy_routes_are_those_of_pairs_and_of_flows_that_there_are() {
    let routes = "[[routes]]\nat = \"leaf0\"\nflows = \"one\"\nvia = [\"spine1\"]\n\
                  [[routes]]\nat = \"leaf0\"\nfrom = \"h1\"\nto = \"h3\"\nvia = [\"spine0\"]\n";
    let scenario = with_routes(routes).unwrap();
    let source_port = scenario.source_port(&scenario.flows()[0]);
    let first = fabric_core::map_abi::FIRST_HOST_ADDRESS;
    let of_flow = FlowKey {
        source: first,
        destination: first + 2,
        ports: u32::from(source_port) << 16 | u32::from(fabric_core::wire::roce::UDP_PORT),
        protocol: 17,
    };
    let of_pair = FlowKey { source: first + 1, destination: first + 3, ports: 0, protocol: 0 };
    assert_eq!(scenario.policy_routes(SwitchId(0)), [(of_pair, &[2][..]), (of_flow, &[3])],);
    assert_eq!(scenario.policy_routes(SwitchId(1)), []);
}

#[test]
fn names_that_there_are_not() {
    assert_snapshot!(refused("[[routes]]\nat = \"leaf9\"\nto = \"h2\"\nvia = [\"spine0\"]\n"), @r#"
    error: no switch is called `leaf9`
      --> bad.toml:15:6
       |
    15 | at = "leaf9"
       |      ^^^^^^^
       |
       = help: the switches are `leaf0`, `leaf1`, `leaf2`, `spine0` and `spine1`
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = [\"h2\", \"x*\"]\nvia = [\"spine0\"]\n"), @r#"
    error: no host matches `x*`
      --> bad.toml:16:13
       |
    16 | to = ["h2", "x*"]
       |             ^^^^
       |
       = help: the hosts are `h0`, `h1`, `h2`, `h3`, `h4` and `h5`
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = \"h2\"\nvia = [\"spine5\"]\n"), @r#"
    error: no node is called `spine5`
      --> bad.toml:17:8
       |
    17 | via = ["spine5"]
       |        ^^^^^^^^
       |
       = help: the neighbours of `leaf0` are `h0`, `h1`, `spine0` and `spine1`
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nflows = \"two\"\nvia = [\"spine0\"]\n"), @r#"
    error: no flows are called `two`
      --> bad.toml:16:9
       |
    16 | flows = "two"
       |         ^^^^^
       |
       = help: the labels are `one`
    "#);
}

#[test]
fn next_hops_that_cannot_be() {
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = \"h2\"\nvia = [\"leaf1\"]\n"), @r#"
    error: no link leads from `leaf0` to `leaf1`
      --> bad.toml:17:8
       |
    17 | via = ["leaf1"]
       |        ^^^^^^^
       |
       = help: the neighbours of `leaf0` are `h0`, `h1`, `spine0` and `spine1`
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf2\"\nto = \"h2\"\nvia = [\"spine1\"]\n"), @r#"
    error: the link from `leaf2` to `spine1` has failed
      --> bad.toml:17:8
       |
    17 | via = ["spine1"]
       |        ^^^^^^^^
       |
       = help: `topology.failed_links` takes it out; the neighbours of `leaf2` are `h4`, `h5` and `spine0`
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = \"h2\"\nvia = [\"h1\"]\n"), @r#"
    error: the next hop of frames to `h2` is the host `h1`
      --> bad.toml:17:8
       |
    17 | via = ["h1"]
       |        ^^^^
       |
       = help: hosts do not forward: name a switch
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = \"h2\"\nvia = [\"spine0\", \"spine0\"]\n"), @r#"
    error: `spine0` is named twice
      --> bad.toml:17:18
       |
    17 | via = ["spine0", "spine0"]
       |                  ^^^^^^^^
       |
       = help: name each next hop once: members of a group have equal shares
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = \"h2\"\nvia = []\n"), @r#"
    error: no next hop
      --> bad.toml:17:7
       |
    17 | via = []
       |       ^^
       |
       = help: name neighbours of the switch: via = ["spine0"]
    "#);
}

#[test]
fn routes_for_nothing() {
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nvia = [\"spine0\"]\n"), @r#"
    error: a route without `to` or `flows`
      --> bad.toml:14:1
       |
    14 | [[routes]]
       | ^^^^^^^^^^
       |
       = help: add to = "h0" or flows = "label"
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nfrom = \"h0\"\nflows = \"one\"\nvia = [\"spine0\"]\n"), @r#"
    error: `from` without `to`
      --> bad.toml:16:8
       |
    16 | from = "h0"
       |        ^^^^
       |
       = help: add the hosts that frames go to: to = "*" for all of them
    "#);
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nfrom = \"h0\"\nto = \"h0\"\nvia = [\"spine0\"]\n"), @r#"
    error: a route from `h0` to itself
      --> bad.toml:17:6
       |
    17 | to = "h0"
       |      ^^^^
       |
       = help: name two different hosts
    "#);
}

#[test]
fn a_second_route_for_the_same_frames() {
    let routes = "[[routes]]\nat = \"leaf0\"\nfrom = \"*\"\nto = \"h2\"\nvia = [\"spine0\"]\n\
                  [[routes]]\nat = [\"leaf0\"]\nfrom = \"h1\"\nto = \"leaf1\"\nvia = [\"spine1\"]\n";
    assert_snapshot!(refused(routes), @r"
    error: `leaf0` has two routes for frames from `h1` to `h2`
      --> bad.toml:19:1
       |
    19 | [[routes]]
       | ^^^^^^^^^^
       |
       = help: the other one is the first of [[routes]]: leave one out, or name all next hops in one
    ");
}

#[test]
fn loops() {
    assert_snapshot!(refused("[[routes]]\nat = \"spine0\"\nto = \"h2\"\nvia = [\"leaf1\", \"leaf0\"]\n"), @r#"
    error: frames to `h2` go round: leaf0 -> spine0 -> leaf0
      --> bad.toml:17:7
       |
    17 | via = ["leaf1", "leaf0"]
       |       ^^^^^^^^^^^^^^^^^^
       |
       = help: give the next switches routes, too, or send the frames to a switch from which the shortest path does not lead back
    "#);
    let pair = "[[routes]]\nat = \"spine?\"\nfrom = \"h0\"\nto = \"h2\"\nvia = [\"leaf0\"]\n";
    assert_snapshot!(refused(pair), @r#"
    error: frames from `h0` to `h2` go round: leaf0 -> spine0 -> leaf0
      --> bad.toml:18:7
       |
    18 | via = ["leaf0"]
       |       ^^^^^^^^^
       |
       = help: give the next switches routes, too, or send the frames to a switch from which the shortest path does not lead back
    "#);
}

/// A switch delivers to its hosts directly, so that an entry with many switches and hosts applies
/// to the other pairs.
#[test]
fn routes_are_for_frames_that_go_on() {
    for frames in [
        "to = \"*\"",
        "to = \"h2\"",
        "flows = \"one\"",
        "flows = \"one\"\nto = \"h2\"",
        "to = \"h*\"\nfrom = \"*\"",
    ] {
        let routes =
            format!("[[routes]]\nat = [\"leaf0\", \"leaf1\"]\n{frames}\nvia = [\"spine0\"]\n");
        let scenario = with_routes(&routes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(path(&scenario), "leaf0>spine0>leaf1>h2", "{frames}");
    }
    assert_snapshot!(refused("[[routes]]\nat = \"leaf0\"\nto = \"h1\"\nvia = [\"spine0\"]\n"), @r#"
    error: `h1` is on `leaf0`, which hands frames to it over their link
      --> bad.toml:15:6
       |
    15 | at = "leaf0"
       |      ^^^^^^^
       |
       = help: name switches that are on the way there
    "#);
}
