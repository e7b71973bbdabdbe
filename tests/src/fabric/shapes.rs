//! Fabrics and settings out of the ordinary.

use results::RunEnd;

use super::one_switch::{flow, loss, star};
use super::pause_obedience::assert_obeyed;
use super::{CAPTURE_ALL, Run, Runner};

/// A fabric written down link by link: a ring of three switches, two links of which differ.
const CUSTOM: &str = r#"
name = "custom"
seed = 7
[topology]
kind = "custom"
switches = ["edge", "core", "tor.7"]
hosts = ["client", "server", "store_1", "store_2"]
links = [
    { a = "client", b = "edge", rate = "100Gbps", delay = "1us" },
    { a = "server", b = "core", rate = "40Gbps", delay = "500ns" },
    { a = "store_1", b = "tor.7", rate = "25Gbps", delay = "250ns" },
    { a = "tor.7", b = "store_2", rate = "25Gbps", delay = "250ns" },
    { a = "edge", b = "core", rate = "100Gbps", delay = "3us" },
    { a = "core", b = "tor.7", rate = "100Gbps", delay = "2us" },
    { a = "tor.7", b = "edge", rate = "50Gbps", delay = "4us" },
]
[switch]
buffer = "600kB"
lossless = [3, 4]
threshold = { kind = "dt", alpha = "1/4", xon_offset = "2kB" }
ecn = { kmin = "10kB", kmax = "40kB", pmax = 0.5, mark_at = "enqueue" }
[host]
payload = "1400B"
transport = { kind = "roce-rc", congestion_control = "dcqcn", dcqcn = { profile = "conweave" } }
[[captures]]
wires = ["core->*", "*->server"]
filter = "all"
"#;

/// Runs `CUSTOM` with a flow list.
pub fn custom_topology_and_flow_list(run: Runner) {
    let folder = tempfile::tempdir().expect("a folder for the list");
    let list = folder.path().join("flows.csv");
    // Rows need no order; flows are numbered by their start.
    let rows = "start_ns,src,dst,bytes,priority\n\
                2000,store_1,server,300000,3\n\
                0,client,server,500000,3\n\
                2000,store_2,server,1,4\n\
                9999,server,client,123456,0\n\
                1500,client,store_2,70000,4\n";
    std::fs::write(&list, rows).expect("the list is written");
    let flows = format!("flows=[{{ kind = \"list\", file = \"{}\" }}]", list.display());
    let run = run(CUSTOM, &[&flows]);
    run.assert_sound();
    assert_eq!(run.summary.flows_completed, 5);
    let flows = run.flows();
    assert_eq!(flows.numbers("start_ns"), [0, 1500, 2000, 2000, 9999]);
    assert_eq!(flows.numbers("bytes"), [500_000, 70_000, 300_000, 1, 123_456]);
    assert!(flows.rows().iter().all(|row| row.text("label") == "flows"));
    let fabric = run.scenario.fabric();
    for frame in run.frames() {
        let name = &fabric.wire(frame.wire).name;
        assert!(name.starts_with("core->") || name.ends_with("->server"), "{name} is captured");
    }
    assert_eq!(run.summary.buffer_max_bytes.len(), 3);
}

/// 255 senders on one switch of 256 ports.
pub fn star_of_256_ports(run: Runner) {
    let senders = (1..256).map(|host| flow(&format!("h{host}"), "h0", 10, 3)).collect::<String>();
    let threshold = "switch.threshold={ kind = \"static\", xoff = \"5kB\", xon = \"3kB\" }";
    let run = run(&star(256, &senders), &["switch.buffer=6MB", threshold]);
    run.assert_lossless();
    assert_eq!(run.summary.flows_completed, 255);
    assert!(assert_obeyed(&run).len() >= 255, "every sender is paused");
}

/// Sixteen senders of two leaves, each with all that it may send at once.
const INCAST_16: &str = r#"
name = "incast-16"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts_per_leaf = 9
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "1500kB"
threshold = { kind = "dt", alpha = "1/8" }
ecn = { kmin = "50kB", kmax = "200kB", pmax = 0.2 }
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8",
           "h9", "h10", "h11", "h12", "h13", "h14", "h15", "h16"]
receiver = "h0"
bytes = "100kB"
"#;

/// Sixteen senders to one receiver, with DCQCN and without.
pub fn incast_of_16(run: Runner) {
    for control in ["dcqcn", "none"] {
        let control =
            format!("host.transport={{ kind = \"roce-rc\", congestion_control = \"{control}\" }}");
        let run = run(INCAST_16, &[&control, CAPTURE_ALL]);
        run.assert_lossless();
        assert_eq!(run.summary.flows_completed, 16);
        assert_ne!(run.summary.pause_frames, 0);
        // 1.6 MB and headers through one port of 100 Gbit/s.
        let least = 1600 * 1082 * 80 / 1000;
        assert!(run.flows().numbers("fct_ns").into_iter().max() >= Some(least));
    }
}

/// A run that its duration ends lasts until then, however long ago the last event was.
pub fn ended_by_its_duration(run: Runner) {
    let flow = flow("h1", "h0", 1, 3) + "start = \"7us\"\n";
    let run = run(&star(2, &flow), &["duration=8us", "results.queue_period=1s"]);
    assert_eq!((run.summary.ended, run.summary.emulated_ns), (RunEnd::Duration, 8000));
}

/// A run that ends before its flows do is not valid, and reports why.
pub fn unfinished(run: Runner) {
    let text = star(3, &(flow("h1", "h0", 200, 3) + &flow("h2", "h0", 20, 3)));
    let run = run(&text, &["duration=60us"]);
    assert!(!run.is_sound());
    assert_eq!((run.summary.flows_completed, run.summary.flows_total), (1, 2));
    let why = "1 flow had not completed when the duration of 60000 ns was over";
    assert_eq!(run.summary.unfinished.as_deref(), Some(why));
    assert_eq!(run.summary.books, [""; 0]);
    assert_eq!(run.summary.emulated_ns, 60_000);
    let flows = run.flows();
    let unfinished = flows.only("label", "h1");
    assert_eq!((unfinished.text("fct_ns"), unfinished.text("slowdown")), ("", ""));
    assert!(!flows.only("label", "h2").text("fct_ns").is_empty());
}

/// The smallest and the longest packets, a wire without gaps between frames, and a response without delay.
pub fn extreme_settings(run: Runner) {
    let flows = flow("h1", "h0", 20, 3) + &flow("h2", "h0", 20, 3);
    for settings in [
        ["host.payload=1B", "switch.wire_overhead=24B"],
        ["host.payload=3072B", "switch.wire_overhead=24B"],
        ["host.payload=999B", "switch.pause_response=0ns"],
        ["host.ack_interval=1", "host.ack_priority=3"],
        ["switch.private_per_queue=0B", "host.pause_response=0ns"],
    ] {
        let run = run(&star(3, &flows), &settings);
        run.assert_lossless();
    }
    let run = run(&star(3, &flows), &["switch.wire_overhead=0B", "captures=[]"]);
    run.assert_lossless();
}

/// Runs in which much happens at once, for comparisons of one run with another: ECN's dice, losses, three
/// kinds of classes, periodic thresholds and ECMP.
pub fn turmoil(run: Runner, seed: u64) -> Run {
    let text = r#"
name = "turmoil"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 3
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "137ns" }
fabric_link = { rate = "40Gbps", delay = "1us" }
[switch]
buffer = "700kB"
lossless = [3, 4]
threshold = { kind = "dt", alpha = "1/8" }
thresholds = { period = "7us" }
ecn = { kmin = "5kB", kmax = "60kB", pmax = 0.3 }
pause_quanta = 3000
[host]
payload = "777B"
retransmission_timeout = "500us"
[results]
occupancy = true
throughput = { interval = "3us" }
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h4", "h5"]
receiver = "h0"
bytes = "150kB"
[[flows]]
kind = "incast"
senders = ["h0", "h2", "h4"]
receiver = "h5"
bytes = "100kB"
priority = 4
start = "3us"
[[flows]]
kind = "incast"
senders = ["h0", "h1", "h3"]
receiver = "h4"
bytes = "100kB"
priority = 0
start = "5us"
"#;
    let seed = format!("seed={seed}");
    let run = run(text, &[&seed, CAPTURE_ALL, &loss("*", "all", "rate = 0.002")]);
    run.assert_sound();
    let summary = &run.summary;
    assert!(summary.pause_frames > 0 && summary.cnps > 0, "{summary:#?}");
    assert!(summary.drops.injected > 0, "{summary:#?}");
    run
}
