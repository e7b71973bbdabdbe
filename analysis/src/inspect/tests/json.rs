//! `xoff inspect --json`.

use scenario::Scenario;

use super::super::json;
use super::figure_16;

/// Returns a part of the output of `xoff inspect --json`.
pub(super) fn json_of(scenario: &Scenario, key: &str) -> String {
    let all: serde_json::Value = serde_json::from_str(&json(scenario, None)).expect("JSON");
    format!("{:#}", all[key])
}

#[test]
fn json_has_what_the_text_has() {
    let text = include_str!("../../../../scenarios/bfc.toml");
    let bfc = Scenario::parse(text, "bfc.toml".as_ref(), &[]).unwrap();
    let all: serde_json::Value = serde_json::from_str(&json(&bfc, None)).expect("JSON");
    let mut keys: Vec<&str> =
        all.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected = "backpressure_graph buffer_dependency buffers collisions expected_load \
                    flow_paths flow_pauses headroom hosts links lossless_priorities lossy paths queue_pauses shape static_routes \
                    switches";
    assert_eq!(keys.join(" "), expected);
    insta::assert_snapshot!(json_of(&bfc, "paths"), @r#"
    [
      {
        "groups": [
          {
            "bdp_bytes": 52368,
            "fewest_paths": 1,
            "links": 2,
            "longest_base_rtt_ps": 4189440,
            "most_paths": 1,
            "pairs": 24,
            "shortest_base_rtt_ps": 4189440
          },
          {
            "bdp_bytes": 104736,
            "fewest_paths": 2,
            "links": 4,
            "longest_base_rtt_ps": 8378880,
            "most_paths": 2,
            "pairs": 32,
            "shortest_base_rtt_ps": 8378880
          }
        ],
        "transports": [
          "roce-rc with none"
        ]
      }
    ]
    "#);
    let of_leaves = &all["buffers"][0]["switches"];
    assert_eq!(
        (&all["hosts"], of_leaves.to_string().as_str()),
        (&8.into(), r#"["leaf0","leaf1"]"#)
    );
    insta::assert_snapshot!(json_of(&bfc, "queue_pauses"), @r#"
    {
      "bitmap_period_ps": 10000000,
      "flow_entries": 3200,
      "priorities": [
        3
      ],
      "queues": 32,
      "switches": [
        {
          "sticky_ps": 4190000,
          "switches": [
            "leaf0",
            "leaf1",
            "spine0",
            "spine1"
          ],
          "thresholds_of_one_active_queue": [
            {
              "bytes": 26188,
              "rate_bps": 100000000000
            }
          ]
        }
      ]
    }
    "#);
    insta::assert_snapshot!(json_of(&bfc, "backpressure_graph"), @r#"
    {
      "cycles": [],
      "edges_by_routes": 20,
      "egress_ports": 16,
      "prevention": null
    }
    "#);
}

#[test]
fn cycles_are_named_by_their_wires() {
    let fig = figure_16("[[\"spine0\", \"leaf3\"], [\"leaf0\", \"spine1\"]]");
    insta::assert_snapshot!(json_of(&fig, "buffer_dependency"), @r#"
    {
      "cycles": [
        {
          "example": [
            "leaf1->spine0",
            "spine0->leaf2",
            "leaf2->spine1",
            "spine1->leaf1"
          ],
          "members": [
            "leaf1->spine0",
            "spine1->leaf1",
            "spine0->leaf2",
            "leaf2->spine1"
          ]
        },
        {
          "example": [
            "spine0->leaf1",
            "leaf1->spine1",
            "spine1->leaf2",
            "leaf2->spine0"
          ],
          "members": [
            "spine0->leaf1",
            "leaf1->spine1",
            "leaf2->spine0",
            "spine1->leaf2"
          ]
        }
      ]
    }
    "#);
}

#[test]
fn the_terms_of_headroom_are_in_json() {
    let text = include_str!("../../../../scenarios/adaptive-headroom.toml");
    let scenario = Scenario::parse(text, "adaptive-headroom.toml".as_ref(), &[]).unwrap();
    let asic = "spectrum,gearbox=100B".parse().unwrap();
    let all: serde_json::Value = serde_json::from_str(&json(&scenario, Some(&asic))).expect("JSON");
    insta::assert_snapshot!(format!("{:#}", all["headroom"][1]), @r#"
    {
      "asic": {
        "cable_bytes": 36622,
        "cell_occupancy_percent": 197,
        "gearbox_bytes": 200,
        "lossless_mtu_bytes": 1074,
        "mac_phy_bytes": 820,
        "mtu_bytes": 1074,
        "name": "spectrum",
        "overhead_bytes": 0,
        "response_bytes": 25216,
        "size_bytes": 146432,
        "xoff_bytes": 128000,
        "xon_bytes": 18432
      },
      "delay_ps": 1500000,
      "propagation_bytes": 37500,
      "rate_bps": 100000000000,
      "response_bytes": 3840,
      "total_bytes": 44718,
      "whole_frames_bytes": 3378
    }
    "#);
}
