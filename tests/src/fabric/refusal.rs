//! A lossless packet that finds no room, and a PAUSE that is too short.

use super::{Run, Runner};

const STAR: &str = r#"
name = "refusal"
duration = "20ms"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "200ns" }
[switch]
buffer = "1MB"
threshold = { kind = "static", xoff = "50kB", xon = "30kB" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "incast"
senders = ["h1", "h2"]
receiver = "h0"
bytes = "2MB"
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "2MB"
"#;

/// The neighbours that switches have paused.
fn paused(run: &Run) -> Vec<String> {
    let table = run.pauses();
    let mut peers: Vec<String> =
        table.with("event", "xoff").map(|row| row.text("peer").to_owned()).collect();
    peers.sort();
    peers.dedup();
    peers
}

/// A queue whose headroom is below a frame pauses when it crosses X_off, and loses at most the packets in flight: a
/// PAUSE takes effect after 400 ns, a frame of each end and 3840 B, which are twelve frames.
pub fn a_queue_without_headroom_pauses(run: Runner) {
    let reason = "headroom-exhausted";
    for bytes in ["0B", "500B", "1058B"] {
        for threshold in
            ["kind = \"static\", xoff = \"50kB\", xon = \"30kB\"", "kind = \"dt\", alpha = \"1/8\""]
        {
            let headroom = format!("switch.headroom={{ kind = \"sih\", bytes = \"{bytes}\" }}");
            let run = run(STAR, &[&headroom, &format!("switch.threshold={{ {threshold} }}")]);
            run.assert_limit_reached(reason);
            assert_eq!(paused(&run), ["h1", "h2"], "{bytes}, {threshold}");
            let pauses = run.pauses().with("event", "xoff").count() as u64;
            let lost = run.drops().with("reason", reason).count() as u64;
            assert!(lost <= 12 * pauses, "{bytes}, {threshold}: {lost} lost in {pauses} pauses");
            assert!(run.summary.paused_ns > 0, "{bytes}, {threshold}");
        }
    }
}

/// With the quanta that `xoff validate` requires nothing is lost, with one quantum nearly everything.
pub fn a_pause_is_renewed_in_time(run: Runner) {
    run(STAR, &["switch.pause_quanta=37"]).assert_lossless();
    let run = run(STAR, &["switch.pause_quanta=1"]);
    assert!(run.summary.drops.policy > 1000, "{:?}", run.summary.drops);
}
