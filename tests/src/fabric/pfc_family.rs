//! The PFC family in a whole fabric: queues that pause, and the causes.

use std::collections::BTreeMap;
use std::path::Path;

use fabric_core::hop_control::{HopControl, LINE_RATE};

use super::capture::{CapturedFrame, Content, wire_named};
use super::results::Row;
use super::{CAPTURE_ALL, Run, Runner, shipped};

/// Bytes around a frame on the wire, with its FCS.
const OVERHEAD: u64 = 24;

/// The scenario that ships, with OFC's thresholds.
pub fn scenario() -> String {
    shipped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/ofc/family.toml"))
}

const XOFF: u64 = 75_000;
const LOW: u64 = 68_000;

/// PFC alone: the rule's thresholds are above all that the buffer ever holds.
const PFC: &str = "\"capfc\", xlow = \"75kB\", xegress = \"2MB\"";

fn run_of(run: Runner, rule: &str) -> Run {
    let run = run(&scenario(), &[&format!("switch.scheme={{ kind = {rule} }}")]);
    run.assert_lossless();
    run
}

fn pauses(run: &Run, look: impl Fn(&Row) -> bool) -> usize {
    run.pauses().with("event", "xoff").filter(|row| look(row)).count()
}

/// Number of PAUSEs with exactly this threshold.
fn by_threshold(run: &Run, bytes: u64) -> usize {
    pauses(run, |row| row.number("threshold_bytes") == bytes)
}

/// PFC pauses at X_off only, the rules with a lower threshold there too if that is due to them; RESUMEs are at X_on.
pub fn rules_pause_at_their_own_threshold(run: Runner) {
    let pfc = run_of(run, PFC);
    assert!(by_threshold(&pfc, XOFF) > 0);
    assert_eq!(by_threshold(&pfc, XOFF), pauses(&pfc, |_| true));
    for rule in [
        "\"capfc\", xlow = \"68kB\", xegress = \"68kB\"",
        "\"p-pfc-ofc\", xlow = \"68kB\"",
        "\"p-pfc-ofc\", xlow = \"68kB\", mean_of = \"non-empty\"",
    ] {
        let run = run_of(run, rule);
        let (low, high) = (by_threshold(&run, LOW), by_threshold(&run, XOFF));
        assert!(low > 0, "{rule}");
        assert_eq!(low + high, pauses(&run, |_| true), "{rule}");
        let early = pauses(&run, |row| {
            row.number("threshold_bytes") == LOW && row.number("occupancy_bytes") < LOW
        });
        assert_eq!(early, 0, "{rule}");
        let resumed = run.pauses();
        let mut resumed = resumed.with("event", "xon");
        assert!(resumed.all(|row| row.number("threshold_bytes") == 45_000), "{rule}");
    }
}

/// With an egress threshold that is hardly ever reached, or a mean over queues most of which are empty, the rules differ.
pub fn the_egress_queue_decides(run: Runner) {
    let rules = [
        "\"capfc\", xlow = \"68kB\", xegress = \"68kB\"",
        "\"capfc\", xlow = \"68kB\", xegress = \"260kB\"",
    ];
    let [often, seldom] = rules.map(|rule| by_threshold(&run_of(run, rule), LOW));
    assert!(seldom < often, "{seldom}, {often}");
}

/// A prediction pauses a queue that is far from X_off, so the switch never holds as much.
pub fn predictions_come_early(run: Runner) {
    let pfc = run_of(run, PFC);
    let predicted = run_of(run, "\"p-pfc-predict\", horizon = \"3us\"");
    assert!(pauses(&predicted, |row| row.number("threshold_bytes") < LOW) > 0);
    let most = |run: &Run| *run.summary.buffer_max_bytes.values().max().expect("a switch");
    assert!(most(&predicted) < most(&pfc), "{} {}", most(&predicted), most(&pfc));
}

/// A slope that was measured long ago holds no queue back that is empty: every flow completes.
pub fn old_slopes_hold_nobody_back(run: Runner) {
    let link = |a: &str, b: &str, gigabits: u32| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{gigabits}Gbps\", delay = \"20ns\" }},\n")
    };
    let text = format!(
        "name = \"old-slopes\"\nduration = \"2ms\"\n[topology]\nkind = \"custom\"\nswitches = [\"s\"]\n\
         hosts = [\"h0\", \"h1\", \"h2\", \"r\"]\nlinks = [{}]\n[switch]\nbuffer = \"2MB\"\n\
         private_per_queue = \"0B\"\nlossless = [3]\n\
         threshold = {{ kind = \"static\", xoff = \"75kB\", xon = \"45kB\" }}\n\
         scheme = {{ kind = \"p-pfc-predict\", horizon = \"100us\", interval = \"10us\" }}\n[host]\n\
         payload = \"1442B\"\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}\n\
         [[flows]]\nkind = \"incast\"\nsenders = [\"h0\", \"h1\", \"h2\"]\nreceiver = \"r\"\nbytes = \"1MB\"\n",
        [link("h0", "s", 40), link("h1", "s", 40), link("h2", "s", 40), link("s", "r", 100)]
            .concat()
    );
    for resume_test in ["departure", "refresh"] {
        for weight in ["1", "1/64"] {
            let rule = format!("switch.scheme.weight=\"{weight}\"");
            let run = run(&text, &[&format!("switch.resume_test=\"{resume_test}\""), &rule]);
            run.assert_lossless();
            assert!(pauses(&run, |row| row.number("threshold_bytes") < XOFF) > 0);
            assert_eq!(run.summary.flows_completed, 3, "{resume_test} {weight}");
        }
    }
}

/// Priority 4's bytes from h1's port make priority 3 pause earlier, and before priority 4, which pauses at the port's
/// X_off.
pub fn low_priorities_pause_first(run: Runner) {
    let run = run_of(run, "\"g-pfc\", xlow = \"68kB\", low = [3]");
    let pauses = run.pauses();
    let of = |peer: &str| -> Vec<(u64, u64, u64)> {
        let rows = pauses.with("event", "xoff").filter(|row| row.text("peer") == peer);
        let numbers = ["priority", "occupancy_bytes", "threshold_bytes"];
        rows.map(|row| numbers.map(|name| row.number(name)).into()).collect()
    };
    // Both priorities come from h1: the bytes of each count for the other.
    let (first, second) = (of("h1")[0], of("h1")[1]);
    assert_eq!((first.0, second.0), (3, 4));
    assert!(first.1 < LOW && second.1 < XOFF, "{first:?} {second:?}");
    assert!(of("h1").iter().all(|&(class, _, bytes)| bytes <= if class == 3 { LOW } else { XOFF }));
    // One of them alone: X_low for the low one, X_off for the high one.
    assert!(of("h2").iter().all(|&(class, _, threshold)| (class, threshold) == (3, LOW)));
    assert!(of("h4").iter().all(|&(class, _, threshold)| (class, threshold) == (4, XOFF)));
}

/// X_off far above the end of GFC's stages, 75 kB.
const FAR: &str = "switch.threshold={ kind = \"static\", xoff = \"150kB\", xon = \"100kB\" }";
const GFC: &str = "switch.scheme={ kind = \"gfc\", b1 = \"60kB\", bm = \"75kB\" }";

/// GFC sends no pauses where PFC does, and its queues stay below `B_m`, at which PFC pauses.
pub fn rates_instead_of_pauses(run: Runner) {
    let pfc = run_of(run, PFC);
    assert!(pauses(&pfc, |_| true) > 0);
    let gfc = run(&scenario(), &[GFC, FAR]);
    gfc.assert_lossless();
    assert_eq!(pauses(&gfc, |_| true), 0);
    let mut stages = BTreeMap::new();
    for row in gfc.table("rates.csv").rows() {
        let threshold = row.number("threshold_bytes");
        let rate = row.text("rate_bps").to_owned();
        assert_eq!(stages.entry(threshold).or_insert_with(|| rate.clone()), &rate);
        assert!(row.number("occupancy_bytes") >= threshold);
    }
    // Each stage has half the rate of the one before, and begins halfway between that and 75 kB.
    let mut found = stages.into_iter();
    assert_eq!(found.next(), Some((0, String::new())), "the rate of the link");
    let (mut begin, mut rate) = (60_000, 20_000_000_000_u64);
    for (threshold, sent) in found {
        assert_eq!((threshold, sent), (begin, rate.to_string()));
        (begin, rate) = (begin + (75_000 - begin) / 2, rate / 2);
    }
    assert!(rate <= 10_000_000_000, "at least one stage");
    let most = *gfc.summary.buffer_max_bytes.values().max().expect("a switch");
    // The ports of h0 to h4, h1's with two priorities, and a frame that may jump over the end.
    assert!(most <= 6 * (75_000 + 1500), "{most}");
    // PFC alone, with equal X_off: it pauses, and holds more.
    let alone = "switch.scheme={ kind = \"capfc\", xlow = \"150kB\", xegress = \"2MB\" }";
    let far = run(&scenario(), &[alone, FAR]);
    assert!(pauses(&far, |_| true) > 0);
    assert!(*far.summary.buffer_max_bytes.values().max().expect("a switch") > most);
    let linear = run_of(run, "\"gfc-ofc\", b1 = \"60kB\"");
    assert!(pauses(&linear, |_| true) < pauses(&pfc, |_| true));
}

/// Links of 8 Tbit/s, above the max of a rate: they are as fast as under PFC once nothing waits any more.
pub fn the_fastest_links_are_not_slowed_for_good(run: Runner) {
    let text = "name = \"fast\"\n[topology]\nkind = \"star\"\nhosts = 4\n\
                host_link = { rate = \"8Tbps\", delay = \"20ns\" }\n[switch]\nbuffer = \"20MB\"\n\
                private_per_queue = \"0B\"\nthreshold = { kind = \"static\", xoff = \"750kB\", xon = \"450kB\" }\n\
                scheme = { kind = \"gfc\", b1 = \"300kB\", bm = \"750kB\" }\n[host]\n\
                transport = { kind = \"roce-rc\", congestion_control = \"none\" }\n\
                [[flows]]\nkind = \"incast\"\nsenders = [\"h0\", \"h1\", \"h2\"]\nreceiver = \"h3\"\nbytes = \"1MB\"\n\
                [[flows]]\nkind = \"one\"\nlabel = \"later\"\nsrc = \"h0\"\ndst = \"h3\"\nbytes = \"1MB\"\nstart = \"100us\"\n";
    let run = run(text, &[]);
    run.assert_lossless();
    assert_eq!(pauses(&run, |_| true), 0);
    let later = run.flows();
    let later = later.only("label", "later");
    assert_eq!(later.number("fct_ns"), later.number("ideal_ns"));
}

/// Effect of a rate on a switch: the uplink of five times the rate of the receiver's link never gets a PAUSE, nor do
/// hosts.
pub fn switches_obey_rates(run: Runner) {
    let flow = |src: &str| {
        format!("[[flows]]\nkind = \"one\"\nsrc = \"{src}\"\ndst = \"h5\"\nbytes = \"400kB\"\n")
    };
    let text = format!(
        "name = \"rates\"\n[topology]\nkind = \"dumbbell\"\nleft = 5\nright = 1\n\
         host_link = {{ rate = \"40Gbps\", delay = \"20ns\" }}\n\
         bottleneck = {{ rate = \"200Gbps\", delay = \"20ns\" }}\n[switch]\nprivate_per_queue = \"0B\"\n\
         threshold = {{ kind = \"static\", xoff = \"150kB\", xon = \"100kB\" }}\n\
         [host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}\n{}",
        ["h0", "h1", "h2", "h3", "h4"].map(flow).concat()
    );
    let gfc = run(&text, &[GFC]);
    gfc.assert_lossless();
    assert_eq!(pauses(&gfc, |_| true), 0);
    assert!(gfc.scenario.warnings().is_empty(), "{:?}", gfc.scenario.warnings());
    let pfc =
        run(&text, &["switch.scheme={ kind = \"capfc\", xlow = \"150kB\", xegress = \"16MB\" }"]);
    let of_switch = |run: &Run| pauses(run, |row| !row.text("peer").starts_with('h'));
    assert!(of_switch(&pfc) > 0, "{}", pfc.text("pauses.csv"));
}

/// ACKs that wait in another queue than their priority's: data and ACKs of h1 in priority 6 keep the gaps of the rates that
/// the switch sends.
pub fn acks_keep_the_gaps_of_their_priority(run: Runner) {
    let text = r#"
name = "gfc-ack-queue"
duration = "2ms"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "100ns" }
[switch]
buffer = "1MB"
lossless = [6]
control_priority = "none"
threshold = { kind = "static", xoff = "40kB", xon = "10kB" }
scheme = { kind = "gfc", b1 = "20kB", bm = "40kB" }
[host]
ack_interval = 1
ack_priority = "data"
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "incast"
senders = ["h1", "h2"]
receiver = "h0"
bytes = "300kB"
priority = 6
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "300kB"
priority = 6
"#;
    for ack_queue in [5, 6] {
        let run = run(text, &[&format!("host.ack_queue={ack_queue}"), CAPTURE_ALL]);
        run.assert_lossless();
        let fabric = run.scenario.fabric();
        let (wire, back) = (wire_named(fabric, "h1->s0"), wire_named(fabric, "s0->h1"));
        let frames = run.frames();
        let sent = |frame: &&CapturedFrame| match frame.content {
            Content::HopControl(control) if frame.wire == back => match control.control {
                HopControl::Rate { kilobits_per_second, .. } => {
                    Some((frame.arrival_ns, kilobits_per_second))
                }
                _ => None,
            },
            _ => None,
        };
        let mut rates = frames.iter().filter_map(|frame| sent(&frame)).peekable();
        let mut before: Option<(u64, u64)> = None;
        let mut rate = LINE_RATE;
        let mut paced = [0, 0];
        for frame in frames.iter().filter(|frame| frame.wire == wire) {
            let Some(packet) = frame.roce() else { continue };
            let start = frame.start_ns;
            while let Some((_, sent)) = rates.next_if(|(at, _)| *at <= start) {
                rate = sent;
            }
            if let Some((earlier, bytes)) = before
                && rate != LINE_RATE
            {
                let gap = bytes * 8_000_000 / u64::from(rate);
                // The capture's instants are whole nanoseconds.
                assert!(start - earlier + 2 >= gap, "{ack_queue}: at {start} ns, {gap} ns");
                paced[usize::from(packet.payload_length == 0)] += 1;
            }
            before = Some((start, frame.length + OVERHEAD));
        }
        assert!(paced.iter().all(|&count| count > 50), "{ack_queue}: {paced:?}");
    }
}
