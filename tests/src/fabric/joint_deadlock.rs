//! Deadlocks of pauses by PFC together with pauses of queues or flows.

use results::RunEnd;

use super::{Run, Runner};

/// Four racks exchange bursts over spines that are up and down to each other's leaves: BFC pauses no queue in a cycle.
const PREVENTED: &str = r#"name = "prevented-but-deadlocked"
duration = "3ms"
flows = [
  { kind = "incast", senders = ["h0", "h1", "h2", "h3"], receiver = "h12", bytes = "300kB" },
  { kind = "incast", senders = ["h12", "h13", "h14", "h15"], receiver = "h0", bytes = "300kB" },
  { kind = "incast", senders = ["h4", "h5", "h6", "h7"], receiver = "h8", bytes = "300kB" },
  { kind = "incast", senders = ["h8", "h9", "h10", "h11"], receiver = "h4", bytes = "300kB" },
]
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_link = { rate = "40Gbps", delay = "100ns" }
fabric_link = { rate = "40Gbps", delay = "100ns" }
failed_links = [["spine0", "leaf3"], ["spine1", "leaf0"]]
[switch]
buffer = "86308B"
threshold = { kind = "dt", alpha = "1" }
scheme = { kind = "bfc", queues = 1, prevent_deadlocks = true }
[host]
payload = "1500B"
transport = { kind = "roce-rc", congestion_control = "none" }
"#;

/// A ring of four switches with links of 1 us, whose flows cross two of them clockwise.
const RING: &str = r#"name="r04"
seed = 1
duration = "20ms"
stop = "deadlock"

[topology]
kind = "custom"
switches = ["s0", "s1", "s2", "s3"]
hosts = ["h0", "h1", "h2", "h3"]
links = [
    { a = "h0", b = "s0", rate = "100Gbps", delay = "1us" },
    { a = "h1", b = "s1", rate = "100Gbps", delay = "1us" },
    { a = "h2", b = "s2", rate = "100Gbps", delay = "1us" },
    { a = "h3", b = "s3", rate = "100Gbps", delay = "1us" },
    { a = "s0", b = "s1", rate = "100Gbps", delay = "1us" },
    { a = "s1", b = "s2", rate = "100Gbps", delay = "1us" },
    { a = "s2", b = "s3", rate = "100Gbps", delay = "1us" },
    { a = "s3", b = "s0", rate = "100Gbps", delay = "1us" },
]

[[routes]]
at = "s0"
to = "h2"
via = ["s1"]

[[routes]]
at = "s1"
to = "h3"
via = ["s2"]

[[routes]]
at = "s2"
to = "h0"
via = ["s3"]

[[routes]]
at = "s3"
to = "h1"
via = ["s0"]

[switch]
private_per_queue="0B"
buffer="2MB"
lossless=[3]
threshold={kind="static",xoff="75kB",xon="45kB"}
backpressure={kind="ofc",congested="68kB"}
[host]
transport = { kind = "roce-rc", congestion_control = "none" }

[[flows]]
kind = "one"
label = "0 to 2"
src = "h0"
dst = "h2"
bytes = "4MB"

[[flows]]
kind = "one"
label = "1 to 3"
src = "h1"
dst = "h3"
bytes = "4MB"

[[flows]]
kind = "one"
label = "2 to 0"
src = "h2"
dst = "h0"
bytes = "4MB"

[[flows]]
kind = "one"
label = "3 to 1"
src = "h3"
dst = "h1"
bytes = "4MB"
"#;

/// Reasons why the members of the first deadlock wait.
fn levels(run: &Run) -> Vec<String> {
    let table = run.deadlocks();
    let levels = table.rows().first().map(|row| row.text("levels").to_owned());
    levels.unwrap_or_default().split(' ').map(str::to_owned).collect()
}

/// BFC prevents cycles of pauses of queues, but not cycles that PFC closes.
pub fn queues_and_classes(run: Runner) {
    let stands = run(PREVENTED, &[]);
    let mut levels = levels(&stands);
    levels.sort();
    assert_eq!(levels, ["flow-queue-0", "flow-queue-0", "queue", "queue"]);
    assert_eq!(stands.summary.ended, RunEnd::Duration);
    assert!(stands.summary.deadlock.deadlocks > 0);
    let said = stands.summary.unfinished.as_deref().unwrap_or_default();
    assert!(said.contains("deadlocked since"), "{said}");
    let stopped = run(PREVENTED, &["stop=deadlock"]);
    assert_eq!(stopped.summary.ended, RunEnd::Deadlock);
    assert!(stopped.summary.emulated_ns < 1_000_000, "{}", stopped.summary.emulated_ns);
}

/// On long links more of a class arrives after a switch has named its flows than lies between the thresholds: PFC
/// pauses, and deadlocks, although flows over two links do not deadlock on short links.
pub fn a_ring_with_long_links(run: Runner) {
    let run = run(RING, &[]);
    assert!(run.summary.lossless);
    assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Deadlock, 0));
    assert_eq!(levels(&run), ["queue"; 4]);
    assert!(run.summary.emulated_ns < 100_000, "{}", run.summary.emulated_ns);
}
