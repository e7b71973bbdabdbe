//! Paths and source ports of flow lists.

use insta::assert_snapshot;
use topology::SwitchId;

use super::super::Scenario;
use super::routes::{FABRIC, path_of};

/// Returns a scenario with `rows` of a list that has the optional columns.
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

/// 400 flows each way between two hosts with a path, and 200 without: some almost certainly draw equal source ports.
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
        // By data and by ACKs, which take no flow's routes.
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
    // A path that agrees with the port changes nothing; a route for the label moves all flows.
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
    for more in [",path", ",source_port", ",source_port,path", ",path,source_port", ",label,path"] {
        assert!(header(&format!("{plain}{more}")), "{more}");
    }
    for more in [",", "path", ",path,path", ",colour", ",label,label", ",path,"] {
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
       = help: switches distinguish them by that port alone: give them different ones, or routes for the pair
    ");
}
