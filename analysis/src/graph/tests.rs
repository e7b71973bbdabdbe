use std::path::Path;

use insta::assert_snapshot;
use scenario::Scenario;

use super::*;

fn graph(topology: &str, hosts: Hosts) -> Graph {
    Graph::new(&scenario(topology), hosts)
}

fn scenario(topology: &str) -> Scenario {
    let flow = "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";
    let text = format!("name = \"g\"\n[topology]\n{topology}\n{flow}");
    let scenario = Scenario::parse(&text, Path::new("graph.toml"), &[]);
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

const LEAF_SPINE: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"400Gbps\", delay = \"2us\" }";

/// Four switches in a row, so that the ends are joined by a curve above the others.
const RING: &str = "kind = \"custom\"\nswitches = [\"a\", \"b\", \"c\"]\nhosts = [\"h0\", \"h1\", \"h2\"]\nlinks = [
{ a = \"h0\", b = \"a\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"h1\", b = \"b\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"h2\", b = \"c\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"a\", b = \"b\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"a\", b = \"b\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"b\", b = \"c\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"c\", b = \"a\", rate = \"100Gbps\", delay = \"1us\" }]";

#[test]
fn dot_has_rows_and_kinds_of_links() {
    assert_snapshot!(dot(&graph(LEAF_SPINE, Hosts::IfFew)), @r#"
    graph "g: 4 hosts, 3 switches" {
      rankdir = BT
      label = "g: 4 hosts, 3 switches"
      {
        rank = same
        n0_0 [label = "h0", shape = ellipse]
        n0_1 [label = "h1", shape = ellipse]
        n0_2 [label = "h2", shape = ellipse]
        n0_3 [label = "h3", shape = ellipse]
      }
      {
        rank = same
        n1_0 [label = "leaf0", shape = box]
        n1_1 [label = "leaf1", shape = box]
      }
      {
        rank = same
        n2_0 [label = "spine0", shape = box]
      }
      n0_0 -- n1_0 [label = "100 Gbit/s, 1 us"]
      n0_1 -- n1_0 [label = "100 Gbit/s, 1 us"]
      n0_2 -- n1_1 [label = "100 Gbit/s, 1 us"]
      n0_3 -- n1_1 [label = "100 Gbit/s, 1 us"]
      n1_0 -- n2_0 [label = "400 Gbit/s, 2 us"]
      n1_1 -- n2_0 [label = "400 Gbit/s, 2 us"]
    }
    "#);
}

#[test]
fn mermaid_has_racks_and_parallel_links() {
    assert_snapshot!(mermaid(&graph(LEAF_SPINE, Hosts::Racks)), @r#"
    ---
    title: "g: 4 hosts, 3 switches"
    ---
    flowchart BT
      n0_0(["h0 .. h1"])
      n0_1(["h2 .. h3"])
      n1_0["leaf0"]
      n1_1["leaf1"]
      n2_0["spine0"]
      n0_0 ---|"2 x 100 Gbit/s, 1 us"| n1_0
      n0_1 ---|"2 x 100 Gbit/s, 1 us"| n1_1
      n1_0 ---|"400 Gbit/s, 2 us"| n2_0
      n1_1 ---|"400 Gbit/s, 2 us"| n2_0
    "#);
    assert_snapshot!(mermaid(&graph(RING, Hosts::IfFew)), @r#"
    ---
    title: "g: 3 hosts, 3 switches; links of 100 Gbit/s, 1 us"
    ---
    flowchart BT
      n0_0(["h0"])
      n0_1(["h1"])
      n0_2(["h2"])
      n1_0["a"]
      n1_1["b"]
      n1_2["c"]
      n0_0 --- n1_0
      n0_1 --- n1_1
      n0_2 --- n1_2
      n1_0 ---|"2 x"| n1_1
      n1_0 --- n1_2
      n1_1 --- n1_2
    "#);
}

#[test]
fn hosts_of_a_large_fabric_are_racks_unless_all_are_asked_for() {
    let large = LEAF_SPINE.replace("hosts_per_leaf = 2", "hosts_per_leaf = 33");
    let hosts = |which| graph(&large, which).rows[0].len();
    assert_eq!([Hosts::IfFew, Hosts::Racks, Hosts::All].map(hosts), [2, 2, 66]);
    let racks = graph(&large, Hosts::Racks);
    assert_eq!(racks.rows[0][1].label, "h33 .. h65");
    let counts: Vec<u32> = racks.links.iter().map(|link| link.count).collect();
    assert_eq!(counts, [33, 33, 1, 1]);
}

#[test]
fn cycles_of_buffer_dependency_are_marked() {
    let text = include_str!("../../../scenarios/deadlock-ring.toml");
    let scenario = Scenario::parse(text, Path::new("ring.toml"), &[]).expect("it ships");
    let graph = Graph::new(&scenario, Hosts::IfFew);
    let on_cycle = graph.links.iter().filter(|link| link.on_cycle).count();
    assert_eq!((on_cycle, graph.links.len()), (4, 8));
    assert_eq!(dot(&graph).matches("color = red").count(), 4);
    assert!(mermaid(&graph).contains("linkStyle 4,5,6,7 stroke:red"), "{}", mermaid(&graph));
    assert!(svg(&graph).contains("on a cycle of buffer dependency"));
}

#[test]
fn without_pfc_nothing_is_on_a_cycle() {
    let text = include_str!("../../../scenarios/deadlock-ring.toml");
    let sets = ["switch.lossless=[]".to_owned()];
    let scenario = Scenario::parse(text, Path::new("ring.toml"), &sets).expect("it ships");
    assert!(Graph::new(&scenario, Hosts::IfFew).links.iter().all(|link| !link.on_cycle));
    let found = crate::inspect::Inspection::new(&scenario);
    let mut ports = found.buffers.iter().flat_map(|group| &group.ports);
    assert!(found.cycles.is_empty() && ports.all(|port| port.headroom.0 == 0));
}

#[test]
fn svg_has_each_node_and_link_once() {
    let graph = graph(LEAF_SPINE, Hosts::IfFew);
    let text = svg(&graph);
    assert_eq!(text.matches("<path").count(), graph.links.len());
    for (_, node) in graph.nodes() {
        assert_eq!(text.matches(&format!(">\n{}\n<", node.label)).count(), 1, "{text}");
    }
    assert!(text.contains("400 Gbit/s, 2 us"), "{text}");
}

/// Each of two kinds of links between two switches has a separate load and curve.
#[test]
fn a_link_is_coloured_by_its_own_busier_wire() {
    let scenario = scenario(&RING.replacen(
        "{ a = \"a\", b = \"b\", rate = \"100Gbps\"",
        "{ a = \"a\", b = \"b\", rate = \"40Gbps\"",
        1,
    ));
    let mut graph = Graph::new(&scenario, Hosts::IfFew);
    graph.colour(&scenario, |wire| match wire {
        "a->b" => Load { utilisation: 0.25, paused: 0.0 },
        "b->a" => Load { utilisation: 1.0, paused: 0.125 },
        _ => Load::default(),
    });
    let of = |load: Load| graph.links.iter().filter(|link| link.load == Some(load)).count();
    let busy = Load { utilisation: 1.0, paused: 0.125 };
    assert_eq!((of(busy), of(Load::default())), (1, graph.links.len() - 1));
    let picture = svg(&graph);
    assert_eq!(picture.matches("100.0 % used, 12.5 % paused").count(), 1, "{picture}");
    assert_eq!(picture.matches("stroke-dasharray").count(), 1, "{picture}");
    let paths = || picture.lines().filter(|line| line.contains(" d=\"M"));
    let mut curves: Vec<&str> = paths().filter_map(|line| line.split(" d=").nth(1)).collect();
    curves.dedup();
    assert_eq!(curves.len(), paths().count(), "{picture}");
}
