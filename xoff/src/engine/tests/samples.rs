//! What a sample says of each counter.

use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::Picos;

use super::{flow, star};
use crate::datapath::Datapath;
use crate::engine::Engine;
use crate::results::{Manifest, ResultsFolder, ResultsOptions, RunDescription, Summary};
use crate::run::{in_memory, record};

/// Every counter has a value of its own.
#[test]
fn each_kind_is_what_it_says() {
    let scenario = star("", &flow("h1", "h0", 1));
    let temp = tempfile::tempdir().expect("a folder");
    let folder = ResultsFolder::create(temp.path(), &ResultsOptions::default());
    let record = record(&scenario, Some(folder.expect("it is empty")));
    let datapath = in_memory(&scenario).expect("memory for a switch");
    let mut engine = Engine::new(&scenario, datapath, record, &[]);
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

    for time in [7000, 8000] {
        engine.now = Picos(time);
        engine.handle(crate::engine::event::Event::Sample).expect("the folder can be written");
    }
    let description = RunDescription {
        scenario_toml: "",
        manifest: &Manifest::of_this_process(),
        fabric: String::new(),
        lossless: vec![3],
    };
    let Engine { record, .. } = engine;
    record.finish(Picos(9000), description, Summary::default()).expect("the folder can be written");
    let queues = std::fs::read_to_string(temp.path().join("queues.csv")).expect("it was written");
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
