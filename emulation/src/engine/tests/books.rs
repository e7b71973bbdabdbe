//! Every message of the final checks, produced once.

use std::time::Duration;

use results::{DropTotals, RunEnd};
use scenario::Scenario;

use super::faulty_wires::{Defect, FaultyWires};
use super::{engine, flow, out, run, scenario, star};
use crate::engine::{Engine, Finished, RunError, ThreadUse};
use crate::run::record;

/// h1 and h2 send 100 kB each to h0, which is twice what its link carries.
fn two_to_one(duration: &str) -> Scenario {
    let flows = flow("h1", "h0", 100_000) + &flow("h2", "h0", 100_000);
    star(&format!("duration = \"{duration}\""), &flows)
}

/// Runs `scenario` on a datapath with a defect.
fn with(scenario: &Scenario, defect: Defect) -> Result<Finished<FaultyWires>, RunError> {
    let fabric = FaultyWires::deploy(scenario, defect);
    run(Engine::new(scenario, fabric, record(scenario, None), &[], ThreadUse::ONE))
}

/// Messages of the final checks.
fn books(scenario: &Scenario, defect: Defect) -> Vec<String> {
    with(scenario, defect).expect("the run ends").counted.books
}

#[test]
fn a_run_in_order_has_empty_books_and_counts_every_hop() {
    let finished = with(&two_to_one("20ms"), Defect::None).expect("the run ends");
    assert_eq!((finished.counted.books, finished.counted.ended), (vec![], RunEnd::Drained));
    assert_eq!(finished.counted.drops, DropTotals::default());
    let FaultyWires { arrivals, pfc, .. } = finished.wires;
    assert!(pfc > 0, "control frames cross wires, too");
    assert_eq!(finished.counted.packet_hops, arrivals);
}

#[test]
fn a_frame_that_the_switch_did_not_see() {
    let books = books(&two_to_one("20ms"), Defect::SkipsFrame);
    let [line] = books.as_slice() else { panic!("{books:?}") };
    let (arrived, seen) = line
        .strip_prefix("wire h1->s0: ")
        .and_then(|line| line.split_once(" frames arrived and the switch saw "))
        .expect("the wire on which it came");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    assert_eq!(number(arrived), number(seen) + 1);
}

/// s1 pauses s0, whose frames claim to have left 1 us later than they did.
#[test]
fn frames_that_left_a_paused_priority() {
    let link =
        |a, b, rate| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"1us\" }}");
    let links = [("h1", "s0", "8Gbps"), ("h2", "s0", "8Gbps"), ("s0", "s1", "16Gbps")];
    let links = links.map(|(a, b, rate)| link(a, b, rate)).join(", ");
    let scenario = scenario(&format!(
        "name = \"line\"\nduration = \"20ms\"\n[topology]\nkind = \"custom\"
switches = [\"s0\", \"s1\"]\nhosts = [\"h0\", \"h1\", \"h2\"]
links = [{links}, {}]\n[switch]\nbuffer = \"1MB\"\nlossless = [3]
threshold = {{ kind = \"static\", xoff = \"20kB\", xon = \"15kB\" }}
[host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}\n{}{}",
        link("s1", "h0", "8Gbps"),
        flow("h1", "h0", 100_000),
        flow("h2", "h0", 100_000)
    ));
    assert_eq!(books(&scenario, Defect::None), [""; 0]);
    let finished = with(&scenario, Defect::LeavesLate).expect("the run ends");
    let violations = finished.switches[0].tables().violations();
    assert!(violations > 0);
    assert_eq!(
        finished.counted.books,
        [format!("s0: the egress auditor saw {violations} frames leave a paused priority")]
    );
}

#[test]
fn bytes_that_never_leave() {
    let scenario = star("duration = \"20ms\"", &flow("h1", "h0", 1000));
    let books = books(&scenario, Defect::LeaksByte);
    // The packet and its ACK.
    assert_eq!(books, ["s0: the shared pool's total is 2 instead of 0"]);
}

#[test]
fn a_flow_whose_receiver_lacks_bytes() {
    let scenario = star("duration = \"20ms\"", &flow("h1", "h0", 1000));
    let books = books(&scenario, Defect::CutsByte);
    assert_eq!(books, ["flow 0 completed, but its receiver has 999 of 1000 bytes"]);
}

#[test]
fn frames_that_the_substrate_lost() {
    let finished = with(&two_to_one("20ms"), Defect::LosesFrames).expect("the run ends");
    let drops = finished.counted.drops;
    assert_eq!((drops.substrate, drops.lost(), drops.by_reason["substrate-loss"]), (3, 3, 3));
}

#[test]
fn a_substrate_that_breaks_a_promise_ends_the_run() {
    let finished = with(&two_to_one("20ms"), Defect::Fails).expect("no file to write");
    let failure = finished.failure.expect("the first frame is lost").to_string();
    assert!(failure.starts_with("wire h1->s0: a frame was sent at "), "{failure}");
    let counted = finished.counted;
    assert_eq!((counted.ended, counted.emulated_ns), (RunEnd::Failed, finished.end.to_nanos().0));
    assert_eq!(
        counted.unfinished,
        Some(format!("the run failed at {} ns: {failure}", counted.emulated_ns))
    );
    assert_eq!(counted.books, ["not checked, because the run failed"]);
}

/// Each flow fails at the switch of its source; one of the two is in the part of another thread.
#[test]
fn a_failure_on_another_thread_ends_the_run() {
    for (source, destination) in [("h0", "h1"), ("h1", "h0")] {
        let scenario = scenario(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1
host_link = {{ rate = \"8Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"8Gbps\", delay = \"1us\" }}
[switch]\nlossless = [3]\n{}",
            flow(source, destination, 1000)
        ));
        let fabric = FaultyWires::deploy(&scenario, Defect::Fails);
        let threads = ThreadUse { most: 3, least_frames: 0 };
        let engine = Engine::new(&scenario, fabric, record(&scenario, None), &[], threads);
        let finished = run(engine).expect("no file to write");
        assert_eq!(finished.counted.ended, RunEnd::Failed, "{source}");
        assert!(finished.failure.is_some(), "{source}");
    }
}

#[test]
fn a_wire_whose_frames_do_not_add_up() {
    let scenario = star("", &flow("h1", "h0", 1000));
    let first = &scenario.fabric().wires()[0].name;
    let mut engine = engine(&scenario);
    let wire = out(&mut engine, first);
    wire.sent += 5;
    wire.lost += 3;
    let books =
        engine.finish(RunEnd::Drained, Duration::ZERO).expect("no file to write").counted.books;
    let line = "5 frames sent, 0 received, 3 lost by faults, 0 on their way";
    assert_eq!(books, [format!("wire {first}: {line}")]);
}

#[test]
fn a_fabric_that_has_not_drained() {
    let late = "2 flows had not completed when the duration of 5000 ns was over";
    let unfinished = |scenario: &Scenario| {
        let counted = run(engine(scenario)).expect("the run ends").counted;
        assert_eq!(counted.books, [""; 0]);
        counted.unfinished
    };
    assert_eq!(unfinished(&two_to_one("5us")).as_deref(), Some(late));
    assert_eq!(unfinished(&two_to_one("20ms")), None);
    let deadlock = include_str!("../../../../scenarios/deadlock.toml");
    let deadlock =
        deadlock.replace("duration = \"20ms\"\nstop = \"deadlock\"", "duration = \"40us\"");
    let stands_still = "the fabric had not drained when the duration of 40000 ns was over, deadlocked since \
         31724 ns (leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1)";
    let missing = stands_still.replace("the fabric had not drained", "16 flows had not completed");
    assert_eq!(unfinished(&scenario(&deadlock)), Some(missing));
    // Flows without an end are not missing, but where all stands still they do not last either.
    let endless = deadlock
        .replace("kind = \"incast\"", "kind = \"long-lived\"")
        .replace("bytes = \"400kB\"\n", "");
    assert_eq!(unfinished(&scenario(&endless)).as_deref(), Some(stands_still));
}
