//! The engine on small fabrics in memory: its counters, and the messages of its checks after a failure.

mod books;
mod faults;
mod faulty_wires;
mod renewals;
mod rows;
mod samples;
mod wires;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use results::{Manifest, RunDescription, RunEnd};
use scenario::Scenario;
use topology::NodeKind;
use units::Picos;

use super::transmitter::Transmitter;
use super::{Engine, Finished, Progress, RunError, ThreadUse, Watch};
use crate::datapath::Wires;
use crate::datapath::memory::MemoryWires;
use crate::partition::Place;
use crate::run::{claim, in_memory, record};

/// Hosts on `s0` at 8 Gbit/s, where a byte takes a nanosecond, with little buffer; `head` is what comes
/// before all tables.
fn star(head: &str, rest: &str) -> Scenario {
    scenario(&format!(
        "name = \"star\"\n{head}\n[topology]\nkind = \"star\"\nhosts = 3
host_link = {{ rate = \"8Gbps\", delay = \"1us\" }}
[switch]\nbuffer = \"1MB\"\nlossless = [3]
threshold = {{ kind = \"static\", xoff = \"20kB\", xon = \"15kB\" }}
[host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}
{rest}"
    ))
}

/// A flow that starts at once.
fn flow(src: &str, dst: &str, bytes: u64) -> String {
    format!("[[flows]]\nkind = \"one\"\nsrc = \"{src}\"\ndst = \"{dst}\"\nbytes = \"{bytes}B\"\n")
}

pub(super) fn scenario(text: &str) -> Scenario {
    let scenario = Scenario::parse(text, Path::new("engine.toml"), &[]);
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// The sending end of a wire, by the wire's name.
fn out<'a>(engine: &'a mut Engine<'_, MemoryWires>, name: &str) -> &'a mut Transmitter {
    let fabric = engine.scenario.fabric();
    let wire = fabric.wires().iter().find(|wire| wire.name == name).expect("a wire");
    let Place { part, index } = engine.partition.place(wire.from);
    let part = &mut engine.parts[part as usize];
    match fabric.node(wire.from).kind {
        NodeKind::Host(_) => part.hosts[index as usize].out_mut(),
        NodeKind::Switch(_) => {
            part.switches[index as usize - part.hosts.len()].out_mut(wire.from_port)
        }
    }
}

/// The engine before the first event.
pub(super) fn engine(scenario: &Scenario) -> Engine<'_, MemoryWires> {
    let fabric = in_memory(scenario).expect("memory for a few switches");
    Engine::new(scenario, fabric, record(scenario, None), &[], ThreadUse::ONE)
}

pub(super) fn run<W: Wires>(engine: Engine<'_, W>) -> Result<Finished<W>, RunError> {
    let interrupted = AtomicBool::new(false);
    engine.run(&mut Watch { interrupted: &interrupted, progress: &mut |_| {} })
}

/// Incasts between four leaves, with PFC, routes that allow a deadlock, and links of different delays.
const LEAVES: &str = include_str!("../../../scenarios/deadlock.toml");

/// Results of a run do not depend on the length of windows.
#[test]
fn windows_of_any_length_and_nodes_in_either_order_are_the_same_run() {
    let text = LEAVES.replace("stop = \"deadlock\"", "").replace("20ms", "60us");
    let scenario = scenario(&text);
    let left = |part: u64, begins_backwards: bool| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = claim(&scenario, folder.path(), &[]).expect("it is empty");
        let fabric = in_memory(&scenario).expect("memory for a few switches");
        let record = record(&scenario, Some(results));
        let mut engine = Engine::new(&scenario, fabric, record, &[], ThreadUse::ONE);
        engine.longest_window = Picos(engine.lookahead.0 / part);
        engine.parts[0].is_backwards = !begins_backwards;
        let Finished { record, end, counted, .. } = run(engine).expect("the run ends");
        let description = RunDescription {
            scenario_toml: "",
            manifest: &Manifest::for_this_process(),
            fabric: String::new(),
            lossless: vec![3],
        };
        let report = record.finish(end, description, counted).expect("it can be written");
        let tables = ["flows.csv", "pauses.csv", "queues.csv", "deadlocks.csv", "pause_time.csv"];
        let read = |name| fs::read_to_string(folder.path().join(name)).expect("it is written");
        (report.summary.to_json(), tables.map(read))
    };
    let whole = left(1, false);
    assert!(whole.1[1].lines().count() > 50, "there are pauses");
    assert!(whole.1[3].lines().count() > 1, "and cycles");
    assert_eq!(left(1, true), whole, "the nodes of a window in the other order");
    for part in [2, 7, 50] {
        assert_eq!(left(part, false), whole, "windows a {part}th as long");
    }
}

/// The hops of a flow of 2 MB are more than twice, and less than a hundred times, the hops between two checks; a
/// flow of 1 kB has few.
#[test]
fn a_run_reports_its_progress_periodically() {
    let calls = |bytes, interrupted: bool| {
        let scenario = star("", &flow("h1", "h0", bytes));
        let mut calls: Vec<Progress> = Vec::new();
        let interrupted = AtomicBool::new(interrupted);
        let mut progress = |at| calls.push(at);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut progress };
        let ended = engine(&scenario).run(&mut watch).map(|finished| finished.counted);
        (ended, calls)
    };
    let (ended, progress) = calls(2_000_000, false);
    let counted = ended.expect("the run ends");
    assert!((3..100).contains(&progress.len()), "{}", progress.len());
    assert!(progress.is_sorted_by_key(|at| at.now));
    let last = progress.last().expect("one at the end");
    assert_eq!((last.flows_completed, last.packet_hops), (1, counted.packet_hops));
    let (ended, progress) = calls(2_000_000, true);
    let counted = ended.expect("the run ends early");
    assert_eq!(counted.ended, RunEnd::Interrupted);
    assert!((1..4_000).contains(&counted.packet_hops), "{}", counted.packet_hops);
    let progress: Vec<(u64, u64)> = progress.iter().map(|at| (at.now.0, at.packet_hops)).collect();
    assert_eq!(progress, [(counted.emulated_ns, counted.packet_hops)], "only at the end");
    let (ended, progress) = calls(1_000, true);
    let ended = ended.map(|counted| counted.ended);
    assert!(matches!(ended, Ok(RunEnd::Drained)), "it was over before anybody looked");
    assert_eq!(progress.len(), 1);
}
