//! What a sample says of each counter.

use std::fs;
use std::path::Path;

use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::Picos;

use super::{flow, star};
use crate::datapath::Datapath;
use crate::datapath::memory::MemoryDatapath;
use crate::engine::Engine;
use crate::engine::event::Event;
use crate::results::{Manifest, ResultsFolder, ResultsOptions, RunDescription, Summary};
use crate::run::{in_memory, record};
use crate::scenario::Scenario;

fn writing_to<'a>(folder: &Path, scenario: &'a Scenario) -> Engine<'a, MemoryDatapath> {
    let folder = ResultsFolder::create(folder, &ResultsOptions::default());
    let record = record(scenario, Some(folder.expect("it is empty")));
    let datapath = in_memory(scenario).expect("memory for a switch");
    Engine::new(scenario, datapath, record, &[])
}

fn sample(engine: &mut Engine<'_, MemoryDatapath>, picos: u64) {
    engine.now = Picos(picos);
    engine.handle(Event::Sample).expect("the folder can be written");
}

/// `queues.csv` once the run has ended.
fn finished(engine: Engine<'_, MemoryDatapath>, folder: &Path) -> String {
    let description = RunDescription {
        scenario_toml: "",
        manifest: &Manifest::of_this_process(),
        fabric: String::new(),
        lossless: vec![3],
    };
    let Engine { record, .. } = engine;
    record.finish(Picos(9000), description, Summary::default()).expect("the folder can be written");
    fs::read_to_string(folder.join("queues.csv")).expect("it was written")
}

/// Every counter has a value of its own.
#[test]
fn each_kind_is_what_it_says() {
    let scenario = star("", &flow("h1", "h0", 1));
    let temp = tempfile::tempdir().expect("a folder");
    let mut engine = writing_to(temp.path(), &scenario);
    engine.classes = 1 << 3;

    let tables = engine.datapath.tables(0);
    let state = tables.state();
    state.private_bytes.store(6_000_000);
    state.shared_bytes.store(70_000_000);
    state.headroom_bytes.store(800_000_000);
    tables.port(1).expect("three ports").insurance_bytes.store(9);
    let queue = tables.ingress_queue(ingress_index(1, 3)).expect("three ports");
    queue.private_bytes.store(10);
    queue.shared_bytes.store(200);
    queue.headroom_bytes.store(3000);
    queue.tau_bytes.store(40_000);
    let row = fabric_core::tables::egress_index(1, 3);
    tables.egress_queue(row).expect("three ports").bytes.store(500_000);

    sample(&mut engine, 7000);
    sample(&mut engine, 8000);
    let queues = finished(engine, temp.path());
    let (_, rows) = queues.split_once('\n').expect("a line of names");
    assert_eq!(
        rows,
        "7,s0,headroom,,,800000000
7,s0,shared,,,70000000
7,s0,private,,,6000000
7,s0,buffer,,,876000000
7,s0,insurance,1,,9
7,s0,ingress,1,3,3210
7,s0,ingress-headroom,1,3,3000
7,s0,ingress-shared-headroom,1,3,40000
7,s0,egress,1,3,500000
"
    );
}

/// Counters of all ports and classes that are known by their places: none is taken for another's.
#[test]
fn a_counter_that_has_not_changed_has_no_row() {
    let scenario = star("", &flow("h1", "h0", 1));
    let temp = tempfile::tempdir().expect("a folder");
    let mut engine = writing_to(temp.path(), &scenario);
    engine.classes = 0b1111_1111;
    let tables = engine.datapath.tables(0);
    let mut value = 0;
    let mut next = || {
        value += 1;
        value
    };
    let ports = tables.settings().ports;
    tables.state().private_bytes.store(next());
    tables.state().shared_bytes.store(next());
    tables.state().headroom_bytes.store(next() + 1000);
    for port in 0..ports {
        tables.port(port).expect("a port").insurance_bytes.store(next());
        for class in 0..8 {
            let queue = tables.ingress_queue(ingress_index(port, class)).expect("a queue");
            queue.shared_bytes.store(next());
            queue.headroom_bytes.store(next());
            queue.tau_bytes.store(next() as u32);
            let row = fabric_core::tables::egress_index(port, class);
            tables.egress_queue(row).expect("a queue").bytes.store(next());
        }
    }
    let all = 4 + ports as usize * (1 + 8 * 4);
    sample(&mut engine, 7000);
    sample(&mut engine, 8000);
    let tables = engine.datapath.tables(0);
    tables.port(ports - 1).expect("a port").insurance_bytes.store(0);
    sample(&mut engine, 9000);
    let queues = finished(engine, temp.path());
    let rows = |time: &str| queues.lines().filter(|line| line.starts_with(time)).count();
    assert_eq!([rows("7,"), rows("8,"), rows("9,")], [all, 0, 1]);
}
