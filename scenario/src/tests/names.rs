//! Files that name missing nodes, or nodes that cannot be linked.

use insta::assert_snapshot;

use super::{SMALL, report, report_on};

#[test]
fn flow_to_itself() {
    assert_snapshot!(report(&SMALL.replace("\"h1\"", "\"h0\"")), @r#"
    error: a flow from `h0` to itself
      --> bad.toml:10:7
       |
    10 | dst = "h0"
       |       ^^^^
       |
       = help: name two different hosts
    "#);
}

#[test]
fn flow_to_nobody() {
    assert_snapshot!(report(&SMALL.replace("\"h1\"", "\"h11\"")), @r#"
    error: no host is called `h11`
      --> bad.toml:10:7
       |
    10 | dst = "h11"
       |       ^^^^^
       |
       = help: did you mean `h1`? the hosts are `h0`, `h1` and `h2`
    "#);
}

#[test]
fn flow_of_nothing() {
    assert_snapshot!(report(&SMALL.replace("1MB", "0B")), @r#"
    error: a flow of no bytes
      --> bad.toml:11:9
       |
    11 | bytes = "0B"
       |         ^^^^
       |
       = help: write a size such as "1MB"
    "#);
}

#[test]
fn incast_names_a_sender_twice() {
    let text = "[[flows]]\nkind = \"incast\"\nsenders = [\"h1\", \"h1\"]
receiver = \"h0\"\nbytes = \"1B\"";
    assert_snapshot!(report_on(text), @r#"
    error: `h1` is among the senders twice
      --> bad.toml:14:18
       |
    14 | senders = ["h1", "h1"]
       |                  ^^^^
       |
       = help: name each sender once; a second flow is a second [[flows]]
    "#);
}

#[test]
fn names_of_nodes() {
    let custom = |switches: &str, hosts: &str, links: &str| {
        report(&format!(
            "[topology]\nkind = \"custom\"\nswitches = {switches}\nhosts = {hosts}
links = [{links}\n]\n"
        ))
    };
    let link = |a: &str, b: &str| {
        format!("\n  {{ a = \"{a}\", b = \"{b}\", rate = \"1Gbps\", delay = \"1us\" }},")
    };
    assert_snapshot!(custom("[\"top-of-rack-switch\"]", "[\"h0\"]", ""), @r#"
    error: `top-of-rack-switch` cannot name a node: it is longer than 15 characters, the limit of an interface name
     --> bad.toml:3:13
      |
    3 | switches = ["top-of-rack-switch"]
      |             ^^^^^^^^^^^^^^^^^^^^
      |
      = help: write 1 to 15 letters, digits, `-`, `_` or `.`, a letter first
    "#);
    assert_snapshot!(custom("[\"s0\"]", "[\"h0\", \"lo\"]", ""), @r#"
    error: `lo` cannot name a node: Linux keeps `lo`, `all` and `default` for itself
     --> bad.toml:4:16
      |
    4 | hosts = ["h0", "lo"]
      |                ^^^^
      |
      = help: write 1 to 15 letters, digits, `-`, `_` or `.`, a letter first
    "#);
    assert_snapshot!(custom("[\"s0\"]", "[\"h0\", \"h0\"]", ""), @r#"
    error: two nodes are called `h0`
     --> bad.toml:4:16
      |
    4 | hosts = ["h0", "h0"]
      |                ^^^^
      |
      = help: hosts and switches share one set of names
    "#);
    assert_snapshot!(custom("[\"s0\"]", "[\"h0\"]", &link("h0", "s1")), @r#"
    error: no node is called `s1`
     --> bad.toml:6:19
      |
    6 |   { a = "h0", b = "s1", rate = "1Gbps", delay = "1us" },
      |                   ^^^^
      |
      = help: did you mean `s0`? the nodes are `h0` and `s0`
    "#);
    assert_snapshot!(custom("[\"s0\"]", "[\"h0\", \"h1\"]", &link("h0", "s0")), @r#"
    error: host `h1` has 0 links; a host has exactly one port
     --> bad.toml:4:16
      |
    4 | hosts = ["h0", "h1"]
      |                ^^^^
      |
      = help: give it one link, to a switch
    "#);
}

#[test]
fn fabric_in_two_parts() {
    let text = r#"
[topology]
kind = "custom"
switches = ["s0", "s1"]
hosts = ["h0", "h1"]
links = [
  { a = "h0", b = "s0", rate = "1Gbps", delay = "1us" },
  { a = "h1", b = "s1", rate = "1Gbps", delay = "1us" },
]
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "1MB"
"#;
    assert_snapshot!(report(text), @r#"
    error: no path leads from `h0` to `h1`
      --> bad.toml:13:7
       |
    13 | dst = "h1"
       |       ^^^^
       |
       = help: join their switches by links
    "#);
}

#[test]
fn too_many_ports() {
    assert_snapshot!(report(&SMALL.replace("hosts = 3", "hosts = 257")), @r"
    error: switch `s0` has 257 ports; the limit is 256
     --> bad.toml:4:9
      |
    4 | hosts = 257
      |         ^^^
      |
      = help: give it 256 at most, or use more switches
    ");
    assert_snapshot!(report(&SMALL.replace("hosts = 3", "hosts = 4000000000")), @r"
    error: 4000000000 hosts; the limit is 4096
     --> bad.toml:4:9
      |
    4 | hosts = 4000000000
      |         ^^^^^^^^^^
      |
      = help: write a fabric of 4096 hosts at most
    ");
}

#[test]
fn wires_that_do_not_exist() {
    assert_snapshot!(report_on("[[captures]]\nwires = [\"h0->s1\"]\n"), @r#"
    error: no wire or link matches `h0->s1`
      --> bad.toml:13:10
       |
    13 | wires = ["h0->s1"]
       |          ^^^^^^^^
       |
       = help: did you mean `h0->s0`? `*` stands for any text; a link is named like h0-s0; the wires are `h0->s0`, `s0->h0`, `h1->s0`, `s0->h1`, `h2->s0` and `s0->h2`
    "#);
}
