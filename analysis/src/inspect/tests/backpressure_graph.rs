//! Egress ports that can hold each other back, and the prevention of cycles.

use scenario::Scenario;

use super::json::json_of;
use super::{fat_tree, report};

/// Returns the part of `xoff inspect` about backpressure's graph.
fn graph_of(scenario: &Scenario) -> String {
    let text = report(scenario);
    text[text.find("backpressure graph").expect("there is one")..].trim_end().to_owned()
}

#[test]
fn the_backpressure_graph_of_a_ring_has_a_cycle_unless_it_is_prevented() {
    let text = include_str!("../../../../scenarios/deadlock-ring.toml");
    let ring = |keys: &str| {
        let bfc = format!("switch.scheme={{ kind = \"bfc\"{keys} }}");
        Scenario::parse(text, "deadlock-ring.toml".as_ref(), &[bfc]).unwrap()
    };
    insta::assert_snapshot!(graph_of(&ring("")), @"
    backpressure graph
      12 egress ports of switches, 12 edges by the routes
      4 egress ports can hold each other back in a cycle: BFC can deadlock
        a cycle: s0->s1 s1->s2 s2->s3 s3->s0
    ");
    let prevented = ring(", prevent_deadlocks = true");
    insta::assert_snapshot!(graph_of(&prevented), @"
    backpressure graph
      12 egress ports of switches, 12 edges by the routes
      4 egress ports can hold each other back in a cycle: this is prevented
        a cycle: s0->s1 s1->s2 s2->s3 s3->s0
      turns (ingress port, egress port) that pause nothing
        s                     1 x 0 turns
        s                     2 x 1 turn
        s                     1 x 4 turns
      left: 11 edges by the routes; 18 edges by any routes, and no cycle
    ");
    insta::assert_snapshot!(json_of(&prevented, "backpressure_graph"), @r#"
    {
      "cycles": [
        {
          "example": [
            "s0->s1",
            "s1->s2",
            "s2->s3",
            "s3->s0"
          ],
          "members": [
            "s0->s1",
            "s1->s2",
            "s2->s3",
            "s3->s0"
          ]
        }
      ],
      "edges_by_routes": 12,
      "egress_ports": 12,
      "prevention": {
        "cycles": 0,
        "edges_by_all_turns": 18,
        "edges_by_routes": 11,
        "elided": [
          {
            "switches": 1,
            "tier": "s",
            "turns_of_each": 0
          },
          {
            "switches": 2,
            "tier": "s",
            "turns_of_each": 1
          },
          {
            "switches": 1,
            "tier": "s",
            "turns_of_each": 4
          }
        ]
      }
    }
    "#);
    let plain = Scenario::parse(text, "deadlock-ring.toml".as_ref(), &[]).unwrap();
    assert!(!report(&plain).contains("backpressure"), "PFC has none");
}

#[test]
fn in_a_clos_turns_down_and_up_pause_nothing() {
    let bfc = "[switch]\nbackpressure = { kind = \"bfc\", prevent_deadlocks = true }\n";
    let flows = format!("kind = \"permutation\"\nbytes = \"1MB\"\n{bfc}");
    insta::assert_snapshot!(graph_of(&fat_tree(4, &flows)), @"
    backpressure graph
      80 egress ports of switches, 160 edges by the routes
      no cycle: BFC cannot deadlock on these routes
      turns (ingress port, egress port) that pause nothing
        edge                  8 x 4 turns
        agg                   8 x 4 turns
        core                  4 x 0 turns
      left: 160 edges by the routes; 192 edges by any routes, and no cycle
    ");
}
