//! Captures of drops: every dropped frame, with the reason, at the place of the drop.

use std::fs;

use topology::WireId;

use super::Runner;
use super::capture::{read_commented, wire_named};
use super::one_switch::{flow, star};

/// A frame that went no further: when, on which wire, its length and why.
type Dropped = (u64, WireId, u64, String);

/// Captures contain all packets that a lossy queue drops, when full or at their turn, and all frames, PAUSE included,
/// that wires lose or damage. Their number, times and lengths agree with the rows of `drops.csv`.
pub fn all_are_captured_with_their_reason(run: Runner) {
    for (lossy, reason) in [
        ("kind = \"dt\"", "lossy-threshold"),
        ("kind = \"bshare\", alpha = \"1/4\"", "sojourn-time"),
    ] {
        all_are_captured_under(run, &format!("switch.lossy={{ {lossy} }}"), reason);
    }
}

fn all_are_captured_under(run: Runner, management: &str, expected: &str) {
    let lossy = flow("h1", "h0", 300, 0) + &flow("h2", "h0", 300, 0);
    let lossless = flow("h3", "h0", 300, 3) + &flow("h1", "h0", 300, 3);
    let text = star(4, &(lossy + &lossless));
    let faults = "faults=[{ kind = \"loss\", rate = 0.01 }, { kind = \"corrupt\", rate = 0.01 }]";
    let run = run(
        &text,
        &["captures=[{ filter = \"drops\" }]", "switch.buffer=300kB", faults, management],
    );
    run.assert_complete();
    let fabric = run.scenario.fabric();
    let captured = read_commented(&fs::read(run.capture_path()).unwrap(), fabric);
    let captured: Vec<Dropped> = captured
        .into_iter()
        .map(|(frame, comment)| {
            let comment = comment.expect("every frame has the reason");
            let reason = comment.strip_prefix("dropped: ").expect("it says so");
            (frame.arrival_ns, frame.wire, frame.length, reason.to_owned())
        })
        .collect();
    let wire = |node: &str, port: &str| {
        if port.is_empty() {
            // A loss names the wire.
            return wire_named(fabric, node);
        }
        if node.starts_with('h') {
            return wire_named(fabric, &format!("s0->{node}"));
        }
        let port: usize = port.parse().unwrap();
        let switch = (0..fabric.switch_count()).map(topology::SwitchId);
        let switch = switch.map(|id| fabric.switch(id)).find(|switch| switch.name == node);
        switch.expect("a switch").ports[port].reverse()
    };
    let drops = run.drops();
    let listed = drops.rows().iter().map(|row| {
        let wire = wire(row.text("node"), row.text("port"));
        (row.number("time_ns"), wire, row.number("bytes"), row.text("reason").to_owned())
    });
    let mut listed: Vec<Dropped> = listed.collect();
    listed.sort();
    let mut sorted = captured.clone();
    sorted.sort();
    assert_eq!(sorted, listed);
    for reason in ["injected-loss", "corrupted", expected] {
        let frames = captured.iter().filter(|(.., why)| why == reason).count();
        assert!(frames > 5, "{frames} frames are dropped: {reason}");
    }
}
