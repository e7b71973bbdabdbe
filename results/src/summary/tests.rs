use fabric_core::drop_reason::DropReason;

use super::*;
use crate::fidelity::Lateness;
use crate::slowdown::Slowdown;

fn summary() -> Summary {
    let mut drops = DropTotals::default();
    drops.add(DropReason::HeadroomExhausted, 2);
    drops.add(DropReason::RingFull, 0);
    Summary {
        scenario: "incast".into(),
        seed: 1,
        flows_total: 8,
        flows_completed: 7,
        fct_ns: Some(FctSummary { mean: 10, min: 7, p25: 8, p50: 9, p75: 11, p99: 12, max: 12 }),
        slowdown: Some(SlowdownSummary {
            mean: Slowdown(12_345),
            p50: Slowdown(10_000),
            p99: Slowdown(71_500),
        }),
        drops,
        buffer_max_bytes: [("leaf1".into(), 3), ("leaf0".into(), 2)].into(),
        wall_seconds: 1.234_567,
        ..Summary::default()
    }
}

#[test]
fn json_is_stable() {
    insta::assert_snapshot!(summary().to_json(), @r#"
{
  "scenario": "incast",
  "seed": 1,
  "flows_total": 8,
  "flows_completed": 7,
  "fct_ns": {
    "mean": 10,
    "min": 7,
    "p25": 8,
    "p50": 9,
    "p75": 11,
    "p99": 12,
    "max": 12
  },
  "slowdown": {
    "mean": 1.2345,
    "p50": 1.0,
    "p99": 7.15
  },
  "sizes": {},
  "labels": {},
  "pause_frames": 0,
  "pause_refresh_frames": 0,
  "resume_frames": 0,
  "paused_ns": 0,
  "pause_ordered_ns": 0,
  "pause_ordered_by_level": {
    "queue_ns": 0,
    "port_ns": 0
  },
  "queue_pauses": null,
  "flow_queues": null,
  "active_flows": null,
  "buffer_bytes": null,
  "window": null,
  "deadlock": {
    "deadlocks": 0,
    "surviving_refresh": 0,
    "first_onset_ns": null,
    "at_end": false,
    "dissolved": 0,
    "undecided": 0
  },
  "ecn_marked": 0,
  "cnps": 0,
  "retransmitted_packets": 0,
  "drops": {
    "by_reason": {
      "headroom-exhausted": 2
    },
    "policy": 2,
    "frame": 0,
    "ignored": 0,
    "substrate": 0,
    "injected": 0
  },
  "faults": null,
  "buffer_max_bytes": {
    "leaf0": 2,
    "leaf1": 3
  },
  "headroom_max_bytes": {},
  "packet_hops": 0,
  "emulated_ns": 0,
  "ended": "drained",
  "unfinished": null,
  "lossless": false,
  "books": [],
  "limits_reached": [],
  "truncated": [],
  "threads": 0,
  "wall_seconds": 1.235,
  "cpu_seconds": 0.0
}
"#);
}

#[test]
fn every_key_is_documented_in_order_and_the_machine_comes_last() {
    let lateness = Lateness { deadlines: 1, ..Lateness::default() };
    let fidelity = Some(FidelitySummary {
        is_good: true,
        dilation: 1,
        lateness,
        sleeps: lateness,
        lost_ns: 0,
        nodes: [("leaf0".into(), lateness)].into(),
    });
    let watchdog = Some(WatchdogTotals::default());
    let port_states = Some(PortStateTotals::default());
    let switch_buffer_bytes = [("leaf0".into(), OccupancySummary::default())].into();
    let link_bytes = [("leaf0".into(), LinkBytes::default())].into();
    let replaced_flows = Some(0);
    let slowest_ports = Some(0);
    let flow_pauses = Some(FlowPauseTotals::default());
    let flow_tables = Some(FlowTables::default());
    let port_queues = Some(PortQueues::default());
    let all = Summary {
        port_states,
        switch_buffer_bytes,
        link_bytes,
        port_queues,
        watchdog,
        replaced_flows,
        slowest_ports,
        flow_pauses,
        flow_tables,
        fidelity,
        ..summary()
    };
    let json = all.to_json();
    let positions = SUMMARY_KEYS.iter().map(|key| {
        json.find(&format!("\n  \"{}\":", key.name)).unwrap_or_else(|| panic!("{}", key.name))
    });
    assert!(positions.is_sorted());
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value.as_object().unwrap().len(), SUMMARY_KEYS.len());
    assert!(!summary().to_json().contains("fidelity"), "runs have none");
    let machine = Summary::MACHINE_KEYS.len();
    let last: Vec<&str> = SUMMARY_KEYS.iter().rev().take(machine).map(|key| key.name).collect();
    assert!(last.iter().rev().eq(Summary::MACHINE_KEYS.iter()));
}

#[test]
fn it_reads_back() {
    let read: Summary = serde_json::from_str(&summary().to_json()).unwrap();
    assert_eq!(read, Summary { wall_seconds: 1.235, ..summary() });
}

#[test]
fn a_run_is_sound_if_it_finished_and_nothing_is_wrong_or_lost_below() {
    let sound = Summary::default();
    assert!(sound.is_sound());
    let substrate = DropTotals { substrate: 1, ..DropTotals::default() };
    let injected = DropTotals { injected: 1, ..DropTotals::default() };
    let line = vec!["a line".to_owned()];
    for (summary, expected) in [
        (Summary { unfinished: Some("frames were left".into()), ..sound.clone() }, false),
        (Summary { ended: RunEnd::Deadlock, flows_total: 1, ..sound.clone() }, true),
        (Summary { ended: RunEnd::Interrupted, ..sound.clone() }, false),
        (Summary { books: line.clone(), ..sound.clone() }, false),
        (Summary { limits_reached: line, ..sound.clone() }, false),
        (Summary { drops: substrate, ..sound.clone() }, false),
        (Summary { drops: injected, ..sound.clone() }, true),
    ] {
        assert_eq!(summary.is_sound(), expected, "{summary:?}");
    }
}
