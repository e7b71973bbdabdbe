//! Periodic thresholds, and DCQCN's shares of a bottleneck.

use std::collections::BTreeMap;

use fabric_core::wire::RocePacket;
use fabric_core::wire::roce::Ecn;

use super::capture::{CapturedFrame, wire_named};
use super::one_switch::{flow, star};
use super::{CAPTURE_ALL, Run, Runner};

/// Thresholds that the control plane computes every 10 us: nothing is lost, and the results differ from a threshold
/// evaluated at every packet.
pub fn periodic_thresholds(run: Runner) {
    let senders = ["h1", "h2", "h3"].map(|host| flow(host, "h0", 200, 3)).concat();
    let dynamic = "switch.threshold={ kind = \"dt\", alpha = \"1/2\" }";
    let settings = [dynamic, "switch.buffer=150kB"];
    let per_packet = run(&star(4, &senders), &settings);
    let period = "switch.thresholds={ period = \"10us\" }";
    let periodic = run(&star(4, &senders), &[&settings[..], &[period]].concat());
    for run in [&per_packet, &periodic] {
        run.assert_lossless();
        assert_ne!(run.summary.pause_frames, 0);
    }
    let decisions = |run: &Run| run.pauses().numbers("time_ns");
    assert_ne!(decisions(&per_packet), decisions(&periodic));
    // A threshold is constant between two computations.
    let mut by_period: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for row in periodic.pauses().with("event", "xoff") {
        let thresholds = by_period.entry(row.number("time_ns") / 10_000).or_default();
        thresholds.push(row.number("threshold_bytes"));
    }
    assert!(by_period.values().any(|thresholds| thresholds.len() > 1));
    for thresholds in by_period.values() {
        assert!(thresholds.iter().all(|bytes| bytes == &thresholds[0]), "{thresholds:?}");
    }
}

/// Two flows of one bottleneck, the second one later. The profile's step of increase is fixed; times and rates are
/// scaled so that some hundred steps fit into the run.
fn two_flows(link: &str, kilobytes: u64, profile: &str, more: &str, ecn: &str) -> String {
    format!(
        r#"
name = "fair-share"
duration = "200ms"
[topology]
kind = "star"
hosts = 3
host_link = {{ rate = "{link}", delay = "1us" }}
[switch]
buffer = "2MB"
threshold = {{ kind = "dt", alpha = "1/2" }}
ecn = {{ {ecn}, mark_at = "dequeue" }}
[host.transport]
kind = "roce-rc"
congestion_control = "dcqcn"
[host.transport.dcqcn]
profile = "{profile}"
{more}
[results]
queue_period = "100us"
[[captures]]
wires = ["s0->h0"]
[[flows]]
kind = "one"
label = "first"
src = "h1"
dst = "h0"
bytes = "{kilobytes}kB"
[[flows]]
kind = "one"
label = "second"
src = "h2"
dst = "h0"
bytes = "{kilobytes}kB"
start = "200us"
"#
    )
}

/// The HPCC simulator's parameters on 10 Gbit/s.
pub fn hpcc_profile_is_fair(run: Runner) {
    let more = "minimum_rate = \"100Mbps\"\nrate_increase_timer = \"50us\"\n\
                additive_increase = \"40Mbps\"";
    let ecn = "kmin = \"20kB\", kmax = \"80kB\", pmax = 0.2";
    assert_fair(run, &two_flows("10Gbps", 8000, "hpcc", more, ecn), 10_000);
}

/// The DCQCN paper's parameters on 10 Gbit/s, with the paper's way of marking.
pub fn paper_profile_is_fair(run: Runner) {
    let ecn = "kmin = \"5kB\", kmax = \"200kB\", pmax = 0.01";
    assert_fair(run, &two_flows("10Gbps", 16_000, "paper", "", ecn), 10_000);
}

/// Two switches in a row, each of which is congested and marks: the run counts the packets that arrive marked,
/// including packets that both switches have marked.
pub fn marked_packets_count_once(run: Runner) {
    let link =
        |a, b, rate| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"1us\" }}");
    let links = [
        link("h1", "s0", "10Gbps"),
        link("h2", "s0", "10Gbps"),
        link("s0", "s1", "8Gbps"),
        link("s1", "h0", "4Gbps"),
    ];
    let links = links.join(", ");
    let flows = flow("h1", "h0", 300, 3) + &flow("h2", "h0", 300, 3);
    let text = format!(
        "name = \"two-marks\"\n[topology]\nkind = \"custom\"\nswitches = [\"s0\", \"s1\"]\n\
         hosts = [\"h0\", \"h1\", \"h2\"]\nlinks = [{links}]\n[host.transport]\nkind = \"roce-rc\"\n\
         congestion_control = \"none\"\n{flows}"
    );
    for mark_at in ["enqueue", "dequeue"] {
        let ecn = format!(
            "switch.ecn={{ kmin = \"5kB\", kmax = \"100kB\", pmax = 0.5, mark_at = \"{mark_at}\" }}"
        );
        let run = run(&text, &[&ecn, CAPTURE_ALL]);
        run.assert_lossless();
        let frames = run.frames();
        let marked = |wire| {
            let wire = wire_named(run.scenario.fabric(), wire);
            let packets = frames.iter().filter(|frame| frame.wire == wire);
            let marked = |packet: &RocePacket| packet.ecn == Ecn::CongestionExperienced;
            packets.filter_map(CapturedFrame::data).filter(marked).count() as u64
        };
        let (of_first, of_both) = (marked("s0->s1"), marked("s1->h0"));
        assert!(0 < of_first && of_first < of_both, "{mark_at}: {of_first}, {of_both}");
        assert_eq!(run.summary.ecn_marked, of_both, "{mark_at}");
    }
}

/// Flows that start together and whose fair windows are less than a packet: the bandwidth-delay product is 27 kB.
pub fn windows_below_a_packet_are_fair(run: Runner) {
    let senders: Vec<String> = (1..=38).map(|host| format!("\"h{host}\"")).collect();
    let text = format!(
        "name = \"below-a-packet\"\nduration = \"20ms\"\n[topology]\nkind = \"star\"\nhosts = 39\n\
         host_link = {{ rate = \"50Gbps\", delay = \"1us\" }}\n[switch]\nbuffer = \"32MB\"\nlossless = [3]\n\
         [host.transport]\nkind = \"roce-rc\"\ncongestion_control = \"hpcc\"\nhpcc = {{ max_stage = 0, \
         additive_increase = \"27B\", minimum_rate = \"100Mbps\" }}\n[[flows]]\nkind = \"incast\"\n\
         senders = [{}]\nreceiver = \"h0\"\nbytes = \"500kB\"\npriority = 3\n",
        senders.join(", ")
    );
    let run = run(&text, &[]);
    run.assert_lossless();
    let mut times = run.flows().numbers("fct_ns");
    times.sort_unstable();
    let (first, last) = (times[0], times[37]);
    assert!(last * 10 < first * 14, "from {first} to {last} ns");
}

/// While both flows are active, in the second half of that time, each has half of the line, within a
/// fifth, and nothing is lost.
fn assert_fair(run: Runner, text: &str, megabits: u64) {
    let run = run(text, &[]);
    run.assert_lossless();
    assert_ne!(run.summary.cnps, 0);
    assert_ne!(run.summary.ecn_marked, 0);
    let flows = run.flows();
    let end = |label| {
        let row = flows.only("label", label);
        row.number("start_ns") + row.number("fct_ns")
    };
    let both_active = 200_000..end("first").min(end("second"));
    let from = u64::midpoint(both_active.start, both_active.end);
    let span_ns = both_active.end - from;
    let bottleneck = wire_named(run.scenario.fabric(), "s0->h0");
    let mut wire_bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for frame in run.frames().iter().filter(|frame| frame.wire == bottleneck) {
        if let Some(data) = frame.data()
            && (from..both_active.end).contains(&frame.arrival_ns)
        {
            *wire_bytes.entry(data.source).or_default() += frame.length + 24;
        }
    }
    let shares: Vec<u64> = wire_bytes.values().map(|bytes| bytes * 8000 / span_ns).collect();
    assert_eq!(shares.len(), 2, "both flows are active");
    let half = megabits / 2;
    for share in &shares {
        assert!(share.abs_diff(half) * 5 <= half, "Mbit/s over {span_ns} ns: {shares:?}");
    }
}
