//! Buffer management of lossy priorities in whole fabrics: rows of `lossy_queues.csv`, separate pools, and drops by
//! cause.

use std::collections::BTreeMap;

use topology::SwitchId;

use super::{Run, Runner};

/// Four hosts send more than a port carries, in a lossy priority, and a fifth beside them in a lossless one.
const TEXT: &str = r#"
name = "lossy"
[topology]
kind = "star"
hosts = 6
host_link = { rate = "10Gbps", delay = "1us" }
[switch]
buffer = "600kB"
lossless = [3]
[host]
retransmission_timeout = "200us"
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "incast"
label = "lossy"
senders = ["h1", "h2", "h3", "h4"]
receiver = "h0"
bytes = "300kB"
priority = 1
[[flows]]
kind = "one"
label = "lossless"
src = "h5"
dst = "h0"
bytes = "300kB"
priority = 3
[results]
thresholds = true
occupancy = true
queue_period = "5us"
"#;

/// Runs it under this buffer management.
fn under(run: Runner, lossy: &str) -> Run {
    let run = run(TEXT, &[&format!("switch.lossy={{ {lossy} }}")]);
    let lossless: Vec<_> = run.table("drops.csv").with("priority", "3").cloned().collect();
    assert!(lossless.is_empty(), "{lossy}: {lossless:?}");
    assert_eq!(run.summary.flows_completed, 5, "{lossy}");
    run
}

fn reasons(run: &Run) -> Vec<&str> {
    run.summary.drops.by_reason.keys().map(String::as_str).collect()
}

/// A counter of the switch at each instant at which it changed.
fn counter(run: &Run, kind: &str) -> BTreeMap<u64, u64> {
    let queues = run.table("queues.csv");
    queues.with("kind", kind).map(|row| (row.number("time_ns"), row.number("bytes"))).collect()
}

fn at(counter: &BTreeMap<u64, u64>, time: u64) -> u64 {
    counter.range(..=time).next_back().map_or(0, |(_, bytes)| *bytes)
}

/// Each row of `lossy_queues.csv` agrees with the formula for the free buffer at its instant.
pub fn thresholds_are_what_formulas_say(run: Runner) {
    for (lossy, drop) in [
        ("kind = \"dt\"", "lossy-threshold"),
        ("kind = \"cs\"", "lossy-buffer-full"),
        ("kind = \"abm\"", "lossy-threshold"),
        ("kind = \"bshare\"", "sojourn-time"),
        ("kind = \"fab\", short_alpha = 2", "lossy-threshold"),
        (
            "kind = \"ib\", fair_dropping = { min_bytes = \"9kB\", first_share = \"0B\" }",
            "fair-drop",
        ),
        ("kind = \"cs\", codel = { target = \"20us\", interval = \"50us\" }", "codel"),
    ] {
        let run = under(run, lossy);
        assert!(reasons(&run).contains(&drop), "{lossy}: {:?}", run.summary.drops);
        let buffer = run.scenario.buffer_pools(SwitchId(0)).of_lossy().0;
        let shared = counter(&run, "shared");
        let table = run.table("lossy_queues.csv");
        // Those of the port to the receiver; ACKs lie in others.
        let rows: Vec<_> =
            table.with("priority", "1").filter(|row| row.text("port") == "0").collect();
        assert!(rows.len() > 20, "{lossy}: {} rows", rows.len());
        let mut congested = false;
        for row in rows {
            let free = buffer - at(&shared, row.number("time_ns"));
            let whole = row.text("congested").split('.').next().map(str::parse::<u64>);
            let queues = whole.expect("it is not empty").expect("a number");
            congested |= queues >= 1;
            let divided = free / queues.max(1);
            let (threshold, wait) = (row.text("threshold_bytes"), row.text("longest_wait_ns"));
            match lossy.split('"').nth(1) {
                Some("dt" | "fab" | "ib") => {
                    assert_eq!((threshold, wait), (&*free.to_string(), ""), "{lossy}: {row:?}");
                }
                Some("abm") => {
                    assert!(row.number("threshold_bytes") <= divided, "{lossy}: {row:?}");
                    assert_eq!(wait, "");
                }
                // 10 Gbit/s: 0.8 ns a byte.
                Some("bshare") => {
                    let theta = divided * 800 / 1000;
                    assert_eq!((threshold, wait), ("", &*theta.to_string()), "{lossy}: {row:?}");
                }
                _ => assert_eq!((threshold, wait), ("", ""), "{lossy}: {row:?}"),
            }
        }
        let counts = lossy.contains("abm") || lossy.contains("bshare");
        assert_eq!(congested, counts, "{lossy}");
    }
}

/// Lossy packets fill a pool of their own, and leave the shared one alone.
pub fn a_pool_of_their_own(run: Runner) {
    const POOL: u64 = 50_000;
    let most = |counter: &BTreeMap<u64, u64>| counter.values().copied().max().unwrap_or_default();
    let shared = under(run, "kind = \"cs\"");
    assert!(counter(&shared, "lossy").is_empty());
    assert!(most(&counter(&shared, "shared")) > 2 * POOL);
    let apart = under(run, "kind = \"cs\", pool = \"50kB\"");
    assert_eq!(reasons(&apart), ["lossy-buffer-full"]);
    let lossy = counter(&apart, "lossy");
    assert!((POOL - 1100..=POOL).contains(&most(&lossy)), "{}", most(&lossy));
    let parts = ["shared", "private", "headroom", "lossy"].map(|kind| counter(&apart, kind));
    for (time, held) in counter(&apart, "buffer") {
        let sum: u64 = parts.iter().map(|part| at(part, time)).sum();
        assert_eq!(held, sum, "at {time} ns");
    }
    let of_switch = apart.summary.switch_buffer_bytes["s0"];
    assert_eq!(of_switch.max, apart.summary.buffer_max_bytes["s0"]);
    assert_eq!(Some(of_switch), apart.summary.buffer_bytes, "the only switch");
    assert!(of_switch.p50 <= of_switch.p95 && of_switch.p95 <= of_switch.p99);
    assert!(of_switch.p99 <= of_switch.p999 && of_switch.p999 <= of_switch.max);
}

/// A larger alpha of first round trips admits packets that would otherwise be dropped.
pub fn first_round_trips(run: Runner) {
    let marks = "host.transport={ kind = \"roce-rc\", congestion_control = \"none\", first_rtt_marks = \"1MB\" }";
    for kind in ["abm", "bshare"] {
        let lossy = format!("kind = \"{kind}\", alpha = \"1/64\"");
        let drops = |lossy: &str| {
            let run = run(TEXT, &[marks, &format!("switch.lossy={{ {lossy} }}")]);
            assert_eq!(run.summary.flows_completed, 5, "{lossy}");
            run.summary.drops.policy
        };
        let (plain, first) = (drops(&lossy), drops(&format!("{lossy}, first_rtt_alpha = 1024")));
        assert!(first * 2 < plain, "{kind}: {plain} drops, {first} with a larger alpha");
    }
}

/// BFC pauses queues in lossy priorities, and the buffer management drops packets that do not fit.
pub fn beneath_bfc(run: Runner) {
    for kind in ["dt", "bshare", "abm"] {
        let lossy = format!("switch.lossy={{ kind = \"{kind}\" }}");
        let bfc = "switch.scheme={ kind = \"bfc\", queues = 8, priorities = [1] }";
        let run = run(TEXT, &[&lossy, bfc]);
        assert_eq!(run.summary.flows_completed, 5, "{kind}");
        assert!(run.summary.queue_pauses.is_some_and(|totals| totals.pauses > 0), "{kind}");
        let queues = run.table("lossy_queues.csv");
        let used = queues.with("priority", "1").map(|row| row.text("queue").to_owned());
        assert!(
            used.collect::<std::collections::BTreeSet<_>>().len() > 1,
            "{kind}: a queue a flow"
        );
    }
}
