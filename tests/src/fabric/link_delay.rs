//! Headroom by measured links: results of exchanges, and proof that the headroom is enough.

use super::results::Row;
use super::{Run, Runner};

/// Three links of different rate and delay in a chain, neighbours that obey PAUSE differently fast.
pub const CHAIN: &str = r#"name = "chain"
duration = "10ms"
[topology]
kind = "custom"
switches = ["s0", "s1"]
hosts = ["h0", "h1"]
links = [
    { a = "h0", b = "s0", rate = "100Gbps", delay = "1us" },
    { a = "s0", b = "s1", rate = "40Gbps", delay = "2500ns" },
    { a = "h1", b = "s1", rate = "10Gbps", delay = "137ns" },
]
[switch]
headroom = { kind = "adaptive", bytes = "60kB", period = "30us" }
[host]
pause_response = "100ns"
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "200kB"
start = "20us"
"#;

/// Delay of a link of [`CHAIN`], by the names of the measuring node and its peer.
fn delay_ns(row: &Row) -> u64 {
    match (row.text("node"), row.text("peer")) {
        ("s0", "h0") => 1000,
        ("s1", "h1") => 137,
        _ => 2500,
    }
}

/// The first exchange on each link, computed by hand. Frames are 84 bytes of the wire; stamps are rounded
/// down.
pub fn by_hand(run: Runner) {
    let run = run(CHAIN, &[]);
    run.assert_lossless();
    let measured = run.link_delays();
    let first = |node: &str, peer: &str| {
        let row = measured.with("node", node).find(|row| row.text("peer") == peer);
        let row = row.unwrap_or_else(|| panic!("{node} has not measured {peer}"));
        ["time_ns", "link_delay_ns", "response_ns", "headroom_bytes"].map(|name| row.number(name))
    };
    // Three frames of 1098 bytes of the wire and a PAUSE of 84 come to 3378.
    // 6.72 ns a frame: t1 = 6, t2 = 1006, t3 = 1013, t4 = 2013; 2000 + 2 + 100 ns at 12.5 bytes a ns.
    assert_eq!(first("s0", "h0"), [2013, 1000, 100, 26_275 + 3378]);
    // 16.8 ns: t1 = 16, t2 = 2516, t3 = 2533, t4 = 5033; 5000 + 2 + 768 ns at 5 bytes.
    assert_eq!(first("s0", "s1"), [5033, 2500, 768, 28_850 + 3378]);
    assert_eq!(first("s1", "s0"), [5033, 2500, 768, 28_850 + 3378]);
    // 67.2 ns: t1 = 67, t2 = 204, t3 = 271, t4 = 408; 274 + 2 + 100 ns at 1.25 bytes.
    assert_eq!(first("s1", "h1"), [408, 137, 100, 470 + 3378]);
}

/// Queueing at a busy port does not affect the link's delay: every exchange measures the same, to a nanosecond, and
/// headroom is never below the link's requirement.
pub fn under_load(run: Runner) {
    let run = run(CHAIN, &["flows.0.bytes=2MB", "flows.0.start=0ns"]);
    run.assert_lossless();
    assert!(run.summary.pause_frames > 0, "h1's link is the slowest");
    let measured = run.link_delays();
    assert!(measured.rows().len() > 100, "{}", measured.rows().len());
    for row in measured.rows() {
        let (delay, found) = (delay_ns(row), row.number("link_delay_ns"));
        assert!(found.abs_diff(delay) <= 1, "{row:?}");
        let rate = match delay {
            1000 => 100,
            137 => 10,
            _ => 40,
        };
        let least = rate * (2 * delay + row.number("response_ns")) / 8 + 3378;
        let headroom = row.number("headroom_bytes");
        assert!(headroom >= least && headroom <= least + rate / 2 + 1, "{row:?}: {least}");
    }
}

/// The rows of s0's port to h0.
fn h0_delays(run: &Run) -> Vec<(Option<u64>, u64)> {
    let measured = run.link_delays();
    let delay = |row: &Row| row.text("link_delay_ns").parse().ok();
    measured.with("peer", "h0").map(|row| (delay(row), row.number("headroom_bytes"))).collect()
}

fn losing(nth: &str) -> String {
    format!(
        "faults=[{{ kind = \"loss\", wire = \"h0->s0\", match = \"link-delay\", nth = [{nth}] }}]"
    )
}

/// A lost response, or a lost request, costs a measurement and nothing else.
pub fn lost_frames(run: Runner) {
    let whole = h0_delays(&run(CHAIN, &[]));
    for (fault, lost) in [(losing("1"), 1), (losing("2, 4"), 2)] {
        for fault in [fault.clone(), fault.replace("h0->s0", "s0->h0")] {
            let run = run(CHAIN, &[&fault]);
            run.assert_sound();
            assert_eq!(run.summary.drops.by_reason["injected-loss"], lost);
            assert_eq!(h0_delays(&run).len() as u64 + lost, whole.len() as u64, "{fault}");
            assert_eq!(h0_delays(&run)[0].1, 26_275 + 3378);
        }
    }
}

/// After ten missing responses in a row the port has its configured headroom again, until it can measure.
pub fn link_that_does_not_answer(run: Runner) {
    let fault = losing("3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14");
    let run = run(CHAIN, &[&fault, "flows.0.bytes=1MB"]);
    run.assert_sound();
    let rows = h0_delays(&run);
    let known = (Some(1000), 26_275 + 3378);
    // The request after the tenth lost one, the two after it, and the following one.
    let expected = [known, known, (None, 60_000), (None, 60_000), (None, 60_000), known];
    assert_eq!(rows[..6], expected, "{rows:?}");
}
