//! Dumbbells, fat trees and failed links.

use std::path::Path;

use insta::assert_snapshot;

use super::super::Scenario;

const FLOWS: &str = "[[flows]]\nkind = \"permutation\"\nbytes = \"1kB\"\n";
const SPEED: &str = "{ rate = \"100Gbps\", delay = \"1us\" }";

fn parse(topology: &str) -> Result<Scenario, super::ScenarioError> {
    let text = format!("[topology]\n{}\n{FLOWS}", topology.replace("SPEED", SPEED));
    Scenario::parse(&text, Path::new("shape.toml"), &[])
}

fn report(topology: &str) -> String {
    parse(topology).expect_err("a topology that is wrong").to_string()
}

#[test]
fn every_shape_comes_back_from_its_own_text() {
    let shapes = [
        (
            "kind = \"dumbbell\"\nleft = 2\nright = 3\nhost_link = SPEED\nbottleneck = SPEED",
            "dumbbell 2 + 3",
        ),
        (
            "kind = \"fat-tree\"\nk = 4\noversubscription = \"3/2\"\nhost_link = SPEED
core_link = { rate = \"400Gbps\", delay = \"2us\" }\nfailed_links = [[\"core0\", \"agg2\"]]",
            "fat-tree k = 4, 3/2 to 1, 1 failed link",
        ),
        (
            "kind = \"pods\"\npods = 3\nspines = 2\nleaves_per_pod = 2\ntors_per_pod = 4\nhosts_per_tor = 1
host_link = SPEED\nleaf_link = { rate = \"400Gbps\", delay = \"2us\" }\nfailed_links = [[\"leaf5\", \"tor8\"]]",
            "3 pods of 4 ToRs and 2 leaves under 2 spines, 1 failed link",
        ),
        (
            "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 1\nhost_link = SPEED
fabric_link = SPEED\nfailed_links = [[\"spine0\", \"leaf3\"], [\"leaf0\", \"spine1\"]]",
            "leaf-spine 4 x 2, 2 failed links",
        ),
    ];
    for (topology, described) in shapes {
        let scenario = parse(topology).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.shape.to_string(), described);
        let written = scenario.to_toml();
        let again = Scenario::parse(&written, Path::new("again.toml"), &[]);
        let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!((again.fabric(), &again.shape), (scenario.fabric(), &scenario.shape));
    }
}

#[test]
fn fat_trees_that_cannot_be() {
    assert_snapshot!(report("kind = \"fat-tree\"\nk = 5\nhost_link = SPEED"), @r"
    error: a fat tree of 5 pods
     --> shape.toml:3:5
      |
    3 | k = 5
      |     ^
      |
      = help: write an even number from 2 up: half of a switch's ports lead down, half up
    ");
    assert_snapshot!(report("kind = \"fat-tree\"\nk = 32\nhost_link = SPEED"), @r"
    error: 8192 hosts; the limit is 4096
     --> shape.toml:3:5
      |
    3 | k = 32
      |     ^^
      |
      = help: write a fabric of 4096 hosts at most
    ");
    let blocking = "kind = \"fat-tree\"\nk = 2\nhost_link = SPEED\noversubscription = ";
    assert_snapshot!(report(&format!("{blocking}\"3/2\"")), @r#"
    error: 3/2 x 1 is not a whole number of hosts
     --> shape.toml:5:20
      |
    5 | oversubscription = "3/2"
      |                    ^^^^^
      |
      = help: each edge switch has that many hosts for its k/2 uplinks: write a ratio such as "1" or "3"
    "#);
    assert_snapshot!(report(&format!("{blocking}256")), @r"
    error: switch `edge0` has 257 ports; the limit is 256
     --> shape.toml:5:20
      |
    5 | oversubscription = 256
      |                    ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
}

#[test]
fn pods_that_cannot_be() {
    let with = |counts: &[(&str, u32)]| {
        let default = [("pods", 2), ("spines", 4), ("leaves_per_pod", 2), ("tors_per_pod", 4)];
        let line = |(key, count): &(&str, u32)| {
            let other = counts.iter().find(|(other, _)| other == key);
            format!("{key} = {}", other.map_or(*count, |(_, count)| *count))
        };
        let lines: Vec<String> = default.iter().chain(&[("hosts_per_tor", 16)]).map(line).collect();
        report(&format!("kind = \"pods\"\n{}\nhost_link = SPEED", lines.join("\n")))
    };
    assert_snapshot!(with(&[("leaves_per_pod", 0)]), @r"
    error: a fabric with 0 leaves per pod
     --> shape.toml:5:18
      |
    5 | leaves_per_pod = 0
      |                  ^
      |
      = help: write a number from 1 up
    ");
    assert_snapshot!(with(&[("hosts_per_tor", 1000)]), @r"
    error: 8000 hosts; the limit is 4096
     --> shape.toml:7:17
      |
    7 | hosts_per_tor = 1000
      |                 ^^^^
      |
      = help: write a fabric of 4096 hosts at most
    ");
    assert_snapshot!(with(&[("leaves_per_pod", 600)]), @r"
    error: 1212 switches; the limit is 1024
     --> shape.toml:5:18
      |
    5 | leaves_per_pod = 600
      |                  ^^^
      |
      = help: write a fabric of 1024 switches at most
    ");
    assert_snapshot!(with(&[("hosts_per_tor", 255)]), @r"
    error: switch `tor0` has 257 ports; the limit is 256
     --> shape.toml:7:17
      |
    7 | hosts_per_tor = 255
      |                 ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
    assert_snapshot!(with(&[("spines", 253)]), @r"
    error: switch `leaf0` has 257 ports; the limit is 256
     --> shape.toml:4:10
      |
    4 | spines = 253
      |          ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
    assert_snapshot!(with(&[("tors_per_pod", 253), ("hosts_per_tor", 1)]), @r"
    error: switch `leaf0` has 257 ports; the limit is 256
     --> shape.toml:6:16
      |
    6 | tors_per_pod = 253
      |                ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
    assert_snapshot!(with(&[("pods", 129), ("hosts_per_tor", 1)]), @r"
    error: switch `spine0` has 258 ports; the limit is 256
     --> shape.toml:3:8
      |
    3 | pods = 129
      |        ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
}

#[test]
fn dumbbells_that_cannot_be() {
    let dumbbell =
        "kind = \"dumbbell\"\nleft = 256\nright = 1\nhost_link = SPEED\nbottleneck = SPEED";
    assert_snapshot!(report(dumbbell), @r"
    error: switch `s0` has 257 ports; the limit is 256
     --> shape.toml:3:8
      |
    3 | left = 256
      |        ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
    assert_snapshot!(report(&dumbbell.replace("256", "0")), @r"
    error: a fabric with 0 left
     --> shape.toml:3:8
      |
    3 | left = 0
      |        ^
      |
      = help: write a number from 1 up
    ");
}

#[test]
fn parallel_links_that_cannot_be() {
    let with = |switch: &str, failed: &str| {
        let link = |a: &str, b: &str| {
            format!("{{ a = \"{a}\", b = \"{b}\", rate = \"1Gbps\", delay = \"1us\" }}")
        };
        let hosts = [link("h0", switch), link("h1", "s1")];
        let switches = [link("s1", switch), link(switch, "s1"), link("s2", "s1")];
        report(&format!(
            "kind = \"custom\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"{switch}\", \"s1\", \"s2\"]\nlinks = [\n{}\n]
failed_links = [{failed}]",
            [&hosts[..], &switches].concat().join(",\n")
        ))
    };
    assert_snapshot!(with("fourteen-chars", ""), @r#"
    error: an interface of link 2 between `fourteen-chars` and `s1` would be called `fourteen-chars#2`; the limit is 15 characters
     --> shape.toml:9:1
      |
    9 | { a = "fourteen-chars", b = "s1", rate = "1Gbps", delay = "1us" },
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: give the node a shorter name: `#` and the link's number follow it
    "#);
    let pair = "[\"s0\", \"s1\"]";
    assert_snapshot!(with("s0", &[pair; 3].join(", ")), @r#"
    error: no link joins `s0` and `s1`
      --> shape.toml:12:45
       |
    12 | failed_links = [["s0", "s1"], ["s0", "s1"], ["s0", "s1"]]
       |                                             ^^^^^^^^^^^^
       |
       = help: what is left of `s0`'s links leads to none
    "#);
    assert_snapshot!(with("s0", "[\"s0\", \"s2\"]"), @r#"
    error: no link joins `s0` and `s2`
      --> shape.toml:12:17
       |
    12 | failed_links = [["s0", "s2"]]
       |                 ^^^^^^^^^^^^
       |
       = help: what is left of `s0`'s links leads to `s1`
    "#);
}

#[test]
fn links_that_cannot_fail() {
    let with = |failed: &str| {
        report(&format!(
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nhost_link = SPEED
fabric_link = SPEED\nfailed_links = {failed}"
        ))
    };
    assert_snapshot!(with("[[\"spine0\", \"laef1\"]]"), @r#"
    error: no node is called `laef1`
     --> shape.toml:8:28
      |
    8 | failed_links = [["spine0", "laef1"]]
      |                            ^^^^^^^
      |
      = help: did you mean `leaf1`? the switches are `leaf0`, `leaf1`, `spine0` and `spine1`
    "#);
    assert_snapshot!(with("[[\"leaf0\", \"spine0\", \"2\"]]"), @r#"
    error: `topology.failed_links.0`: invalid length 3, expected an array of length 2
     --> shape.toml:8:17
      |
    8 | failed_links = [["leaf0", "spine0", "2"]]
      |                 ^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
    assert_snapshot!(with("[[\"leaf0\", \"h0\"]]"), @r#"
    error: `h0` is a host, and its only link cannot fail
     --> shape.toml:8:27
      |
    8 | failed_links = [["leaf0", "h0"]]
      |                           ^^^^
      |
      = help: name a link between two switches
    "#);
    assert_snapshot!(with("[[\"leaf0\", \"leaf1\"]]"), @r#"
    error: no link joins `leaf0` and `leaf1`
     --> shape.toml:8:17
      |
    8 | failed_links = [["leaf0", "leaf1"]]
      |                 ^^^^^^^^^^^^^^^^^^
      |
      = help: what is left of `leaf0`'s links leads to `spine0` and `spine1`
    "#);
    assert_snapshot!(with("[[\"spine0\", \"leaf0\"], [\"spine0\", \"leaf1\"]]"), @r#"
    error: no link of switch `spine0` is left
     --> shape.toml:8:38
      |
    8 | failed_links = [["spine0", "leaf0"], ["spine0", "leaf1"]]
      |                                      ^^^^^^^^^^^^^^^^^^^
      |
      = help: leave it a link; a fabric without it has another shape
    "#);
    assert_snapshot!(with("[[\"spine0\", \"leaf0\"], [\"spine1\", \"leaf1\"]]"), @r"
    error: no path leads from `h0` to `h1`
     --> shape.toml:9:1
      |
    9 | [[flows]]
      | ^^^^^^^^^
      |
      = help: join their switches by links
    ");
}
