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

/// A data frame, and its time on a wire of 100 Gbit/s.
const FRAME: u64 = 1058;
const FRAME_TIME_NS: u64 = (FRAME + 24) * 8 / 100;
/// A PAUSE takes effect after 400 ns, a frame of each end and 3840 B: frames that are on their way then.
const IN_FLIGHT: u64 = 12;
/// Full frames that the private buffer of a queue takes.
const PRIVATE: u64 = 2;

/// The times at which a switch pauses and resumes a neighbour.
fn pauses_of(run: &Run, peer: &str) -> Vec<(u64, Option<u64>)> {
    let mut pauses: Vec<(u64, Option<u64>)> = Vec::new();
    for row in run.pauses().with("peer", peer) {
        match row.text("event") {
            "xoff" => pauses.push((row.number("time_ns"), None)),
            "xon" => {
                pauses.last_mut().expect("a PAUSE comes first").1 = Some(row.number("time_ns"));
            }
            _ => {}
        }
    }
    pauses
}

/// No neighbour loses more frames between two PAUSEs than are on their way to the switch at the first.
fn assert_loses_what_is_in_flight(run: &Run, about: &str) {
    let drops = run.drops();
    for (port, peer) in ["h0", "h1", "h2", "h3"].into_iter().enumerate() {
        let port = port.to_string();
        let of_peer = drops.with("node", "s0").filter(|row| row.text("port") == port);
        let lost: Vec<u64> = of_peer.map(|row| row.number("time_ns")).collect();
        let starts: Vec<u64> = pauses_of(run, peer).into_iter().map(|(at, _)| at).collect();
        let first = starts.first().copied().unwrap_or(u64::MAX);
        assert!(lost.iter().all(|&at| at >= first), "{about}: {peer} is not paused");
        for (index, &from) in starts.iter().enumerate() {
            let until = starts.get(index + 1).copied().unwrap_or(u64::MAX);
            let count = lost.iter().filter(|&&at| at >= from && at < until).count() as u64;
            assert!(count <= IN_FLIGHT, "{about}: {peer} loses {count} after {from}");
        }
    }
}

/// A queue whose headroom is below a frame pauses when it crosses X_off, loses no more than is on its way then, and resumes when
/// it has drained to X_on.
pub fn a_queue_without_headroom_pauses(run: Runner) {
    let reason = "headroom-exhausted";
    let fixed =
        [(50_000, 30_000), (FRAME, 0), (2 * FRAME, 0), (2 * FRAME, FRAME), (4 * FRAME, FRAME)];
    for bytes in ["0B", "500B", "1058B"] {
        let fixed = fixed.into_iter().map(|(xoff, xon)| {
            let (shared, on) = ((xoff - 1) / FRAME, xon / FRAME);
            let threshold = format!("kind = \"static\", xoff = \"{xoff}B\", xon = \"{xon}B\"");
            (threshold, PRIVATE + shared - on)
        });
        for (threshold, drained) in fixed.chain([("kind = \"dt\", alpha = \"1/8\"".to_owned(), 1)])
        {
            let headroom = format!("switch.headroom={{ kind = \"sih\", bytes = \"{bytes}\" }}");
            let run = run(STAR, &[&headroom, &format!("switch.threshold={{ {threshold} }}")]);
            let about = format!("{bytes}, {threshold}");
            run.assert_limit_reached(reason);
            assert!(paused(&run).starts_with(&["h1".into(), "h2".into()]), "{about}");
            assert_loses_what_is_in_flight(&run, &about);
            let pauses = ["h1", "h2"].map(|peer| pauses_of(&run, peer)).concat();
            for (from, until) in pauses {
                let lasted = until.unwrap_or(run.summary.emulated_ns) - from;
                let shortest = (drained - 1) * FRAME_TIME_NS;
                assert!(lasted >= shortest, "{about}: {lasted} ns at {from}, not {shortest}");
            }
            assert!(run.summary.paused_ns > 0, "{about}");
        }
    }
}

/// With the quanta that `xoff validate` requires nothing is lost, with one quantum nearly everything.
pub fn a_pause_is_renewed_in_time(run: Runner) {
    run(STAR, &["switch.pause_quanta=37"]).assert_lossless();
    let run = run(STAR, &["switch.pause_quanta=1", "duration=500us"]);
    assert!(run.summary.drops.policy > 1000, "{:?}", run.summary.drops);
}
