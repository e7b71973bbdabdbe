//! Completion times of flows on idle paths equal the closed form, to the nanosecond.

use super::lone_flow::LonePath;
use super::{Runner, recurrence};

/// Rates that one meets.
pub const RATES: [&str; 5] = ["10Gbps", "25Gbps", "40Gbps", "100Gbps", "400Gbps"];
/// Propagation delays.
pub const DELAYS: [&str; 4] = ["0ns", "137ns", "1us", "10us"];
/// Payloads of a packet.
pub const PAYLOADS: [u64; 3] = [256, 1000, 3072];

/// Four flows of h0 to the last host, one after the other, each alone: a byte, a packet, a byte more than
/// a packet, and a megabyte.
fn flows(receiver: &str, payload: u64) -> String {
    let sizes = [1, payload, payload + 1, 1_000_000];
    let flow = |(number, bytes): (usize, &u64)| {
        format!(
            "[[flows]]\nkind = \"one\"\nlabel = \"{bytes}\"\nsrc = \"h0\"\ndst = \"{receiver}\"\n\
             bytes = \"{bytes}B\"\nstart = \"{number}ms\"\n"
        )
    };
    sizes.iter().enumerate().map(flow).collect()
}

fn scenario(topology: &str, receiver: &str, payload: u64) -> String {
    format!(
        "name = \"exactness\"\n[topology]\n{topology}\n[host]\npayload = \"{payload}B\"\n\
         [switch]\nthreshold = {{ kind = \"dt\", alpha = \"1\" }}\n\
         [results]\nqueue_period = \"1ms\"\n{}",
        flows(receiver, payload)
    )
}

/// Two hosts on one switch.
pub fn star(rate: &str, delay: &str, payload: u64) -> String {
    let link = format!("{{ rate = \"{rate}\", delay = \"{delay}\" }}");
    scenario(&format!("kind = \"star\"\nhosts = 2\nhost_link = {link}"), "h1", payload)
}

/// Four hops through two leaves and a spine, host links and fabric links of their own rate and delay.
pub fn leaf_spine(host: (&str, &str), fabric: (&str, &str), payload: u64) -> String {
    let link = |(rate, delay)| format!("{{ rate = \"{rate}\", delay = \"{delay}\" }}");
    let shape = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2";
    let links = format!("host_link = {}\nfabric_link = {}", link(host), link(fabric));
    scenario(&format!("{shape}\n{links}"), "h3", payload)
}

/// A chain whose links all differ: fast to slow or slow to fast.
pub fn chain(payload: u64, slow_first: bool) -> String {
    let (near, far) = if slow_first { ("25Gbps", "400Gbps") } else { ("400Gbps", "25Gbps") };
    let link = |a, b, rate, delay| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"{delay}\" }}")
    };
    let links = [
        link("h0", "s0", near, "300ns"),
        link("s0", "s1", "100Gbps", "7us"),
        link("s1", "s2", "40Gbps", "1ns"),
        link("h1", "s2", far, "2us"),
    ];
    let nodes = "switches = [\"s0\", \"s1\", \"s2\"]\nhosts = [\"h0\", \"h1\"]";
    scenario(&format!("kind = \"custom\"\n{nodes}\nlinks = [{}]", links.join(", ")), "h1", payload)
}

/// Asserts that each flow's time equals the recurrence and the product's closed form.
pub fn assert_exact(run: Runner, text: &str) {
    let run = run(text, &[]);
    run.assert_lossless();
    assert_eq!(run.summary.pause_frames, 0, "an idle path pauses nobody:\n{text}");
    for (row, flow) in run.flows().rows().iter().zip(run.scenario.flows()) {
        let expected = recurrence::completion_ns(&run.scenario, flow);
        assert_eq!(row.number("fct_ns"), expected, "{} of:\n{text}", row.text("label"));
        assert_eq!(row.number("ideal_ns"), expected, "{} of:\n{text}", row.text("label"));
        assert_eq!(row.text("slowdown"), "1.0000");
    }
}

/// A flow of a gibibyte, which whole packets do not fill: its sender makes two messages of it.
pub fn two_messages(run: Runner) {
    let text = star("10Gbps", "1us", 3072);
    let (head, _) = text.split_once("[[flows]]").expect("it has flows");
    let flow = "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1GiB\"\n";
    assert_exact(run, &format!("{head}{flow}"));
}

/// A generated path as well.
pub fn on_path(run: Runner, path: &LonePath) {
    assert_exact(run, &path.text());
}
