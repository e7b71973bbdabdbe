//! Explanations of slow flows: scenarios with a known cause, and the check that the parts of every flow add up.

use analysis::explain::journey::What;
use analysis::explain::{Explainer, Explanation, Part};
use units::Picos;

use super::{Run, Runner, shipped};
use std::path::Path;

const LOGGED: &str = "results.explain=true";

/// Flows that waited, in a run whose explanations add up.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Flows with a part beyond their own packets.
    pub held: usize,
    /// Flows of which something was paused.
    pub paused: usize,
}

fn explainer(run: &Run) -> Explainer {
    Explainer::read(run.folder()).unwrap_or_else(|error| panic!("{error}"))
}

/// The flow with a label: its explanation.
fn explain_label(run: &Run, label: &str) -> Explanation {
    let flows = run.flows();
    let flow = flows.with("label", label).next().expect("it is in the scenario").number("flow");
    explainer(run).flow(u32::try_from(flow).unwrap()).unwrap()
}

fn scenario(name: &str) -> String {
    shipped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name))
}

/// Asserts for each flow that its spans follow each other from its start to its end, and so add up to its completion
/// time, and that its own time and the explained parts add up to this time.
pub fn assert_adds_up(run: &Run) -> Held {
    let explainer = explainer(run);
    let mut found = Held { held: 0, paused: 0 };
    for row in run.flows().rows() {
        let flow = u32::try_from(row.number("flow")).unwrap();
        let spans = explainer.spans(flow).expect("every flow is in the log");
        let explanation = explainer.flow(flow).unwrap();
        let (mut cursor, mut sum) = (Picos(explanation.start_ps), 0);
        for span in &spans {
            assert_eq!(span.from, cursor, "flow {flow}: {span:?}");
            assert!(span.to > span.from, "flow {flow}: {span:?}");
            (cursor, sum) = (span.to, sum + span.to.since(span.from).0);
        }
        assert_eq!(explanation.time_ps, sum);
        let parts: u64 = explanation.parts.iter().map(|part| part.ps).sum();
        assert_eq!(explanation.own_ps + parts, sum, "{explanation:?}");
        assert_eq!(explanation.completed, !row.text("fct_ns").is_empty());
        if explanation.completed {
            let fct = Picos(sum).to_nanos_ceil().0;
            assert_eq!(fct, row.number("fct_ns"), "{explanation:?}");
            assert!(spans.iter().all(|span| span.what != What::Unknown), "{explanation:?}");
        }
        found.held += usize::from(!explanation.parts.is_empty());
        found.paused += usize::from(explanation.parts.iter().any(|part| part.cause == "paused"));
    }
    // Independent of the tables.
    let overview = explainer.overview();
    assert!(overview.flows.len() <= analysis::explain::FLOWS_SHOWN);
    found
}

/// Hosts and switches of a star.
const STAR: &str = r#"
name = "explained"
seed = 1
duration = "20ms"
[topology]
kind = "star"
hosts = 6
host_link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "1MB"
lossless = [3]
threshold = { kind = "dt", alpha = "1/8" }
headroom = { kind = "sih" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
"#;

fn flow(label: &str, from: &str, to: &str, bytes: &str, start: &str) -> String {
    format!(
        "[[flows]]\nkind = \"one\"\nlabel = {label:?}\nsrc = {from:?}\ndst = {to:?}\nbytes = {bytes:?}\n\
         start = {start:?}\npriority = 3\n"
    )
}

/// Four senders fill the queue to one receiver, which pauses all of them: they cause it themselves, and no flow is a
/// victim.
pub fn incast(run: Runner) {
    let flows: String = (1..5)
        .map(|host| flow(&format!("f{host}"), &format!("h{host}"), "h0", "400kB", "0us"))
        .collect();
    let run = run(&format!("{STAR}{flows}"), &[LOGGED]);
    run.assert_lossless();
    for label in ["f1", "f2", "f3", "f4"] {
        let explanation = explain_label(&run, label);
        let first = &explanation.parts[0];
        assert_eq!(first.cause, "paused", "{explanation}");
        let root = first.root.as_ref().unwrap();
        assert_eq!((root.kind, root.at.as_str()), ("queue", "s0->h0"), "{explanation}");
        assert_eq!(root.flows_total, 4, "{explanation}");
        assert_eq!(explanation.victim_ps, 0, "{explanation}");
    }
    let overview = explainer(&run).overview();
    assert_eq!(overview.trees.len(), 1, "{overview}");
    assert_eq!((overview.trees[0].wires.len(), overview.trees[0].depth), (4, 1), "{overview}");
}

/// The victim of the shipped scenario waits for a queue that its way does not touch.
pub fn victim(run: Runner) {
    let run = run(&scenario("victim.toml"), &[LOGGED, "captures=[]"]);
    run.assert_lossless();
    let explanation = explain_label(&run, "victim");
    let first = &explanation.parts[0];
    assert_eq!(first.cause, "paused", "{explanation}");
    let root = first.root.as_ref().unwrap();
    assert_eq!((root.kind, root.at.as_str()), ("queue", "leaf0->h0"), "{explanation}");
    assert!(root.paused.len() >= 2, "{explanation}");
    assert!(explanation.victim_ps * 2 > explanation.time_ps - explanation.own_ps, "{explanation}");
    let overview = explainer(&run).overview();
    assert_eq!(overview.flows[0].label, "victim", "{overview}");
    assert_eq!(overview.trees[0].root.at, "leaf0->h0", "{overview}");
    // The same of one pause, by the switch's port.
    let rows = run.pauses();
    let explainer = explainer(&run);
    let of_victim = rows.with("node", "leaf1").filter(|row| row.text("peer") == "h15");
    let pauses = of_victim.map(|row| {
        let at = Picos(row.number("time_ns") * 1000);
        let by_port = explainer.pause("leaf1", row.text("port"), 3, at);
        let by_name = explainer.pause("leaf1", "h15", 3, at);
        assert_eq!(format!("{by_port:?}"), format!("{by_name:?}"));
        by_port
    });
    // The last row resumes.
    let pauses: Vec<_> = pauses.filter_map(Result::ok).collect();
    let by_incast = pauses.iter().filter(|pause| pause.root.at == "leaf0->h0");
    let victims: Vec<_> = by_incast.map(|pause| pause.victims.clone()).collect();
    assert!(victims.iter().any(|victims| victims == &[explanation.flow]), "{pauses:?}");
    assert!(victims.iter().flatten().all(|&flow| flow == explanation.flow), "{pauses:?}");
}

/// A host that pauses its switch is the root, also for a flow to another.
pub fn storm(run: Runner) {
    let run = run(&super::storm::scenario(), &["switch.watchdog.action=alert", LOGGED]);
    let explanation = explain_label(&run, "victim");
    let root = explanation.parts[0].root.as_ref().unwrap_or_else(|| panic!("{explanation}"));
    assert_eq!(
        (explanation.parts[0].cause, root.kind, root.at.as_str()),
        ("paused", "host", "h3"),
        "{explanation}"
    );
    assert!(explanation.victim_ps > 4_000_000_000, "{explanation}");
}

/// The watchdog drops the packets that wait for the host: the flow waited before that.
pub fn dropped_by_a_watchdog(run: Runner) {
    let run = run(&super::storm::scenario(), &[LOGGED]);
    let explanation = explain_label(&run, "victim");
    let root = explanation.parts[0].root.as_ref().unwrap_or_else(|| panic!("{explanation}"));
    assert_eq!(
        (explanation.parts[0].cause, root.kind, root.at.as_str()),
        ("paused", "host", "h3"),
        "{explanation}"
    );
    let explainer = explainer(&run);
    let victim = explanation.flow;
    let pause = explainer.pause("leaf0", "h1", 3, Picos(1_500_000_000)).unwrap();
    assert_eq!((pause.root.kind, pause.root.at.as_str()), ("host", "h3"), "{pause}");
    assert_eq!(pause.victims, [victim], "{pause}");
}

/// A port that a fault slows down.
pub fn slow_wire(run: Runner) {
    let fault = r#"
[[faults]]
kind = "rate"
wire = "s0->h0"
rate = "10Gbps"
at = "10us"
for = "20us"
"#;
    let run = run(&format!("{STAR}{}{fault}", flow("slow", "h1", "h0", "400kB", "0us")), &[LOGGED]);
    run.assert_complete();
    let explanation = explain_label(&run, "slow");
    let slow = explanation.parts.iter().find(|part| part.cause == "slow-wire");
    assert!(slow.is_some() || explanation.own_ps > explanation.ideal_ps, "{explanation}");
}

/// Single queues of a port, paused by BFC: each is explained by the cause of its wait.
pub fn one_queue(run: Runner) {
    let text = r#"
name = "explained"
seed = 1
duration = "20ms"
[topology]
kind = "dumbbell"
left = 4
right = 2
host_link = { rate = "100Gbps", delay = "1us" }
bottleneck = { rate = "400Gbps", delay = "1us" }
[switch]
buffer = "4MB"
lossless = [3]

scheme = { kind = "bfc" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
"#;
    let flows = flow("a0", "h0", "h4", "300kB", "0us")
        + &flow("a1", "h1", "h4", "300kB", "0us")
        + &flow("b", "h2", "h5", "300kB", "0us")
        + &flow("b1", "h3", "h5", "300kB", "0us");
    let run = run(&format!("{text}{flows}"), &[LOGGED]);
    run.assert_lossless();
    assert!(run.summary.queue_pauses.is_some_and(|pauses| pauses.pauses > 0), "{:?}", run.summary);
    for label in ["a0", "a1", "b", "b1"] {
        let explanation = explain_label(&run, label);
        let own = format!("->{}", explanation.dst);
        let roots = explanation.parts.iter().filter_map(|part| part.root.as_ref());
        for root in roots.filter(|root| root.kind == "queue") {
            assert!(root.at == "s0->s1" || root.at.ends_with(&own), "{explanation}");
        }
        assert_eq!(explanation.victim_ps, 0, "{explanation}");
    }
}

/// A flow that could not send a packet waits where it would have gone.
pub fn nothing_sent(run: Runner) {
    let late = flow("late", "h5", "h12", "10kB", "31us");
    let run = run(&(scenario("deadlock.toml") + &late), &[LOGGED, "stop=done", "duration=60us"]);
    let explanation = explain_label(&run, "late");
    assert!(!explanation.completed);
    assert!(explanation.parts.iter().all(|part| part.cause != "unknown"), "{explanation}");
}

/// Two flows share an uplink although there is another: one waits behind the other there.
pub fn collision(run: Runner) {
    let text = r#"
name = "explained"
seed = 1
duration = "20ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "8MB"
lossless = [3]
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
"#;
    let flows =
        flow("one", "h0", "h2", "500kB", "0us") + &flow("other", "h1", "h3", "500kB", "0us");
    let run = run(&format!("{text}{flows}"), &[LOGGED]);
    run.assert_lossless();
    let (one, other) = (explain_label(&run, "one"), explain_label(&run, "other"));
    for (explanation, beside) in [(&one, &other), (&other, &one)] {
        let first = &explanation.parts[0];
        assert_eq!(
            (first.cause, first.wire.as_str()),
            ("behind-others", "leaf0->spine0"),
            "{explanation}"
        );
        assert_eq!((first.flows_total, first.flows[0].flow), (1, beside.flow), "{explanation}");
    }
}

/// A sender whose congestion control is slower than its path.
pub fn slow_sender(run: Runner) {
    let window = "host.transport.window=8kB";
    let run =
        run(&format!("{STAR}{}", flow("slow", "h1", "h0", "400kB", "0us")), &[LOGGED, window]);
    run.assert_lossless();
    let explanation = explain_label(&run, "slow");
    assert_eq!(
        (explanation.parts[0].cause, explanation.parts.len()),
        ("paced", 1),
        "{explanation}"
    );
    assert!(explanation.parts[0].ps > explanation.own_ps, "{explanation}");
}

/// A fault takes a packet.
pub fn loss(run: Runner) {
    let fault = r#"
[[faults]]
kind = "loss"
wire = "h1->s0"
match = "data"
nth = [10]
"#;
    let run = run(&format!("{STAR}{}{fault}", flow("hit", "h1", "h0", "40kB", "0us")), &[LOGGED]);
    run.assert_complete();
    let explanation = explain_label(&run, "hit");
    assert_eq!(explanation.parts[0].cause, "retransmission", "{explanation}");
    let [lost] = &explanation.lost[..] else { panic!("{explanation}") };
    assert_eq!((lost.how, lost.at.as_str(), lost.packets), ("fault", "h1->s0", 1), "{explanation}");
}

/// Headroom that is too small: the switch drops lossless packets, which go again.
pub fn short_headroom(run: Runner) {
    let flows: String = (1..6)
        .map(|host| flow(&format!("f{host}"), &format!("h{host}"), "h0", "400kB", "0us"))
        .collect();
    let short = "switch.scheme={ kind = \"oversubscribed\", ratio = \"16\" }";
    let run = run(&format!("{STAR}{flows}"), &[LOGGED, short]);
    run.assert_complete();
    let overview = explainer(&run).overview();
    let all: Vec<Explanation> = (0..5).map(|flow| explainer(&run).flow(flow).unwrap()).collect();
    let dropped: Vec<&Explanation> =
        all.iter().filter(|explanation| !explanation.lost.is_empty()).collect();
    assert!(!dropped.is_empty(), "{overview}");
    for explanation in dropped {
        assert_eq!(
            (explanation.lost[0].how, explanation.lost[0].at.as_str()),
            ("dropped", "s0"),
            "{explanation}"
        );
        assert!(
            explanation.parts.iter().any(|part| part.cause == "retransmission"),
            "{explanation}"
        );
    }
}

/// A cycle of pauses: all flows that wait at its wires when the run ends wait for the deadlock.
pub fn deadlock(run: Runner) {
    let run = run(&scenario("deadlock.toml"), &[LOGGED]);
    let deadlocks = run.deadlocks();
    let cycle: Vec<&str> = deadlocks.rows()[0].text("queues").split(' ').collect();
    let explainer = explainer(&run);
    let mut waiting = 0;
    for row in run.flows().rows() {
        let explanation = explainer.flow(u32::try_from(row.number("flow")).unwrap()).unwrap();
        let spans = explainer.spans(explanation.flow).unwrap();
        let last = spans.last().expect("every flow takes time");
        if last.what == What::Paused && cycle.contains(&explainer.wire(last.wire)) {
            let of_deadlock = |part: &Part| {
                part.wire == explainer.wire(last.wire)
                    && part.root.as_ref().is_some_and(|root| root.kind == "deadlock")
            };
            assert!(explanation.parts.iter().any(of_deadlock), "{explanation}");
            assert!(!explanation.completed);
            waiting += 1;
        }
    }
    assert!(waiting > 0, "{}", explainer.overview());
    let trees = explainer.overview().trees;
    assert!(trees.iter().any(|tree| tree.root.kind == "deadlock"), "{trees:?}");
}

/// Switches that drop at arrival and at departure, with links of no delay: packets of several flows at one instant, of one
/// wire, at both of its ends.
pub const DROPS: &str = r#"
name = "drops"
duration = "2ms"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 1
hosts_per_leaf = 5
host_link = { rate = "100Gbps", delay = "0ps" }
fabric_link = { rate = "100Gbps", delay = "0ps" }
[switch]
buffer = "24kB"
lossless = []
lossy = { kind = "bshare", alpha = 4 }
[host]
retransmission_timeout = "100us"
transport = { kind = "roce-rc", congestion_control = "none" }
[results]
explain = true
[[flows]]
kind = "permutation"
bytes = "64kB"
priority = 2
"#;
