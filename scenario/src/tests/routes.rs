//! `[[routes]]`, and the paths and source ports of flow lists.

use fabric_core::map_abi::FlowKey;
use insta::assert_snapshot;
use topology::SwitchId;
use workload::Flow;

use super::super::{Scenario, ScenarioError};
use super::parse;

/// Three leaves with two hosts each, two spines; of those, `spine1` has lost `leaf2`.
const FABRIC: &str = r#"[topology]
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

/// What data of the first flow crosses.
fn path(scenario: &Scenario) -> String {
    path_of(scenario, &scenario.flows()[0])
}

fn path_of(scenario: &Scenario, flow: &Flow) -> String {
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

/// A scenario whose flows are `rows` of a list, with the optional columns.
fn listed(rows: &str, more: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().unwrap();
    let rows = format!("start_ns,src,dst,bytes,priority,path,source_port\n{rows}");
    std::fs::write(folder.path().join("flows.csv"), rows).unwrap();
    let (fabric, _) = FABRIC.split_once("[[flows]]").unwrap();
    let text = format!("{fabric}[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\n{more}");
    Scenario::parse(&text, &folder.path().join("x.toml"), &[])
        .map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

#[test]
fn a_path_is_taken() {
    let rows = "0,h0,h2,1,3,leaf0>spine0>leaf1,\n0,h0,h2,1,3,leaf0>spine1>leaf1,\n0,h2,h3,1,3,leaf1,\n\
                0,h0,h4,1,3,leaf0>spine1>leaf1>spine0>leaf2,\n";
    let scenario = listed(rows, "").unwrap();
    let paths: Vec<String> = scenario.flows().iter().map(|flow| path_of(&scenario, flow)).collect();
    let expected = [
        "leaf0>spine0>leaf1>h2",
        "leaf0>spine1>leaf1>h2",
        "leaf1>h3",
        "leaf0>spine1>leaf1>spine0>leaf2>h4",
    ];
    assert_eq!(paths, expected);
    let telemetry = "transport = { kind = \"roce-rc\", congestion_control = \"hpcc\" }\n";
    let scenario = listed(rows, telemetry).unwrap();
    let transport = scenario.workloads[0].transport.unwrap();
    assert_eq!(transport.telemetry_hops(), 5, "the longest path is one of the list");
}

/// 400 flows each way between two hosts that have a path, and 200 that have none: that some draw the same source port
/// is nearly sure.
#[test]
fn flows_of_different_paths_never_share_a_source_port() {
    let path = |number: usize| ["leaf0>spine0>leaf1", "leaf0>spine1>leaf1", ""][number % 3];
    let there = (0..600).map(|number| format!("0,h0,h2,1,3,{},\n", path(number)));
    let back = (0..600).map(|number| {
        let path = path(number).split('>').rev().collect::<Vec<_>>().join(">");
        format!("0,h2,h0,1,3,{path},\n")
    });
    let rows = there.chain(back).collect::<Vec<_>>().concat();
    let scenario = listed(&rows, "").unwrap();
    let mut owners = std::collections::BTreeMap::new();
    for (number, flow) in scenario.flows().iter().enumerate() {
        let port = scenario.source_port(flow);
        assert!(port >= 49_152);
        // By data and by ACKs, which take routes of no flow.
        let ways = [(flow.source, number % 3), (flow.destination, 2)];
        for (from, path) in ways {
            let owner = *owners.entry((from, port)).or_insert(path);
            assert_eq!(owner, path, "flow {number} and another from {from:?} with port {port}");
        }
        if !path(number).is_empty() {
            let way = path_of(&scenario, flow);
            let spine = format!(">spine{}>", number % 3);
            assert!(way.contains(&spine), "{way}");
        }
    }
}

#[test]
fn a_source_port_is_kept_and_leads_where_the_hash_says() {
    let rows = (1..=64).map(|port| format!("0,h0,h2,1,3,,{port}\n")).collect::<Vec<_>>();
    let scenario = listed(&rows.concat(), "").unwrap();
    let ports: Vec<u16> = scenario.flows().iter().map(|flow| scenario.source_port(flow)).collect();
    assert_eq!(ports, (1..=64).collect::<Vec<u16>>());
    let spines = |spine: &str| {
        scenario.flows().iter().filter(|flow| path_of(&scenario, flow).contains(spine)).count()
    };
    assert!(spines("spine0") > 16 && spines("spine1") > 16);
    // Paths that agree change nothing; a route for the label moves all.
    let rows = scenario.flows().iter().map(|flow| {
        let (path, port) = (path_of(&scenario, flow), scenario.source_port(flow));
        format!("0,h0,h2,1,3,{},{port}\n", path.strip_suffix(">h2").unwrap())
    });
    let rows = rows.collect::<Vec<_>>().concat();
    let same = listed(&rows, "").unwrap();
    assert_eq!(same.policy_routes(SwitchId(0)), []);
    let routes = "[[routes]]\nat = \"leaf0\"\nflows = \"flows\"\nvia = [\"spine1\"]\n";
    let error = listed(&rows, routes).unwrap_err();
    assert!(error.contains("takes the path leaf0>spine1>leaf1"), "{error}");
}

#[test]
fn paths_that_cannot_be() {
    let refused = |row: &str| listed(row, "").unwrap_err();
    assert_snapshot!(refused("0,h0,h2,1,3,leaf1>spine0>leaf1,\n"), @r"
    error: the path begins at `leaf1`
     --> flows.csv:2:13
      |
    2 | 0,h0,h2,1,3,leaf1>spine0>leaf1,
      |             ^^^^^
      |
      = help: `h0` is on `leaf0`
    ");
    assert_snapshot!(refused("0,h0,h2,1,3,leaf0>spine0,\n"), @r"
    error: the path ends at `spine0`
     --> flows.csv:2:19
      |
    2 | 0,h0,h2,1,3,leaf0>spine0,
      |                   ^^^^^^
      |
      = help: `h2` is on `leaf1`
    ");
    assert_snapshot!(refused("0,h0,h2,1,3,leaf0>leaf1,\n"), @r"
    error: no link leads from `leaf0` to `leaf1`
     --> flows.csv:2:19
      |
    2 | 0,h0,h2,1,3,leaf0>leaf1,
      |                   ^^^^^
      |
      = help: the neighbours of `leaf0` are `h0`, `h1`, `spine0` and `spine1`
    ");
    assert_snapshot!(refused("0,h0,h4,1,3,leaf0>spine1>leaf2,\n"), @r"
    error: the link from `spine1` to `leaf2` has failed
     --> flows.csv:2:26
      |
    2 | 0,h0,h4,1,3,leaf0>spine1>leaf2,
      |                          ^^^^^
      |
      = help: `topology.failed_links` takes it out; the neighbours of `spine1` are `leaf0` and `leaf1`
    ");
    assert_snapshot!(refused("0,h0,h2,1,3,leaf0>spine0>leaf0>spine1>leaf1,\n"), @r"
    error: the path comes to `leaf0` twice
     --> flows.csv:2:26
      |
    2 | 0,h0,h2,1,3,leaf0>spine0>leaf0>spine1>leaf1,
      |                          ^^^^^
      |
      = help: name each switch once
    ");
    assert_snapshot!(refused("0,h0,h2,1,3,leaf0>h1>leaf1,\n"), @r"
    error: `h1` is a host
     --> flows.csv:2:19
      |
    2 | 0,h0,h2,1,3,leaf0>h1>leaf1,
      |                   ^^
      |
      = help: a path names switches only
    ");
    assert_snapshot!(refused("0,h0,h2,1,3,leaf0>spine0>x,\n"), @r"
    error: no node is called `x`
     --> flows.csv:2:26
      |
    2 | 0,h0,h2,1,3,leaf0>spine0>x,
      |                          ^
      |
      = help: the neighbours of `spine0` are `leaf0`, `leaf1` and `leaf2`
    ");
}

#[test]
fn source_ports_that_cannot_be() {
    assert_snapshot!(listed("0,h0,h2,1,3,,0\n", "").unwrap_err(), @r"
    error: `source_port` is `0`
     --> flows.csv:2:14
      |
    2 | 0,h0,h2,1,3,,0
      |              ^
      |
      = help: write a whole number from 1 to 65535, or nothing
    ");
    let tcp = "transport = { kind = \"tcp\" }\n";
    assert_snapshot!(listed("0,h0,h2,1,3,,7\n", tcp).unwrap_err(), @r"
    error: a source port of a flow over TCP
     --> flows.csv:2:14
      |
    2 | 0,h0,h2,1,3,,7
      |              ^
      |
      = help: leave the field empty: the ports of a TCP connection are its number
    ");
    let rows: Vec<String> =
        ["spine0", "spine1"].map(|spine| format!("0,h0,h2,1,3,leaf0>{spine}>leaf1,1\n")).into();
    let errors: Vec<String> = rows.iter().filter_map(|row| listed(row, "").err()).collect();
    assert_eq!(errors.len(), 1, "one of the two is the path of port 1");
    assert_snapshot!(errors[0], @r"
    error: source port 1 takes the path leaf0>spine0>leaf1
     --> flows.csv:2:13
      |
    2 | 0,h0,h2,1,3,leaf0>spine1>leaf1,1
      |             ^^^^^^^^^^^^^^^^^^
      |
      = help: write that path or leave it out; or leave the port out, and switches get routes for the path
    ");
}

#[test]
fn headers_with_unknown_columns() {
    let header = |header: &str| {
        let folder = tempfile::tempdir().unwrap();
        let row = "0,h0,h2,1,3".to_owned() + &",".repeat(header.matches(',').count() - 4);
        std::fs::write(folder.path().join("flows.csv"), format!("{header}\n{row}\n")).unwrap();
        let (fabric, _) = FABRIC.split_once("[[flows]]").unwrap();
        let text = format!("{fabric}[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\n");
        Scenario::parse(&text, &folder.path().join("x.toml"), &[]).is_ok()
    };
    let plain = "start_ns,src,dst,bytes,priority";
    assert!(header(plain));
    for more in [",path", ",source_port", ",source_port,path", ",path,source_port"] {
        assert!(header(&format!("{plain}{more}")), "{more}");
    }
    for more in [",", "path", ",path,path", ",label", ",path,"] {
        assert!(!header(&format!("{plain}{more}")), "{more}");
    }
}

#[test]
fn flows_of_one_given_port_on_different_routes() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "start_ns,src,dst,bytes,priority,source_port\n0,h0,h2,1,3,7\n";
    for name in ["a.csv", "b.csv"] {
        std::fs::write(folder.path().join(name), rows).unwrap();
    }
    let (fabric, _) = FABRIC.split_once("[[flows]]").unwrap();
    let text = format!(
        "{fabric}[[flows]]\nkind = \"list\"\nfile = \"a.csv\"\n[[flows]]\nkind = \"list\"\nfile = \"b.csv\"\n\
         [[routes]]\nat = \"leaf0\"\nflows = \"a\"\nvia = [\"spine1\"]\n"
    );
    let error = Scenario::parse(&text, &folder.path().join("x.toml"), &[]).unwrap_err().to_string();
    let error = error.replace(&format!("{}/", folder.path().display()), "");
    assert_snapshot!(error, @r"
    error: flows from `h0` to `h2` with source port 7 take different routes
      --> x.toml:12:1
       |
    12 | [[flows]]
       | ^^^^^^^^^
       |
       = help: switches tell them apart by that port alone: give them different ones, or routes for the pair
    ");
}

/// A switch hands frames to its own hosts: what names many switches and hosts is for the others.
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
