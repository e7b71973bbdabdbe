//! Values of each counter in a sample.

use std::fs;
use std::path::Path;

use fabric_core::priority::{self, Priority};
use fabric_core::queue::QueueId;
use fabric_core::scheme::Ingress;
use fabric_core::scheme::dsh::state as dsh;
use fabric_core::tables::Tables;
use results::{Manifest, RunDescription, Summary};
use scenario::Scenario;
use switch_user::switch::Switch;
use switch_user::tables::SwitchTables;
use topology::SwitchId;
use units::Picos;

use super::{flow, scenario, star};
use crate::datapath::FrameId;
use crate::datapath::memory::MemoryWires;
use crate::engine::part::{Opening, Window};
use crate::engine::{Engine, ThreadUse};
use crate::run::{claim, in_memory, record};

fn writing_to<'a>(folder: &Path, scenario: &'a Scenario) -> Engine<'a, MemoryWires> {
    let folder = claim(scenario, folder, &[]).expect("it is empty");
    let record = record(scenario, Some(folder));
    let fabric = in_memory(scenario).expect("memory for a switch");
    Engine::new(scenario, fabric, record, &[], ThreadUse::ONE)
}

/// A switch whose ports have their own counters.
fn dsh_star() -> Scenario {
    let text = star("", &flow("h1", "h0", 1)).to_toml();
    scenario(&text.replace("kind = \"pfc\"", "kind = \"dsh\""))
}

fn ingress(switch: &Switch<FrameId>, port: u32, class: Priority) -> Ingress<'_, SwitchTables> {
    Ingress::new(switch.tables(), switch.policy(), port, class).expect("the port has its rows")
}

fn sample(engine: &mut Engine<'_, MemoryWires>, picos: u64) {
    let opening = Opening { samples: Some(engine.classes), ..Opening::default() };
    let window = Window { start: Picos(picos), end: Picos(picos), opening };
    engine.parts[0].run(window).expect("memory does not fail");
    engine.record_notes().expect("the folder can be written");
}

/// `queues.csv` once the run has ended.
fn finished(engine: Engine<'_, MemoryWires>, folder: &Path) -> String {
    let description = RunDescription {
        scenario_toml: "",
        manifest: &Manifest::for_this_process(),
        fabric: String::new(),
        lossless: vec![3],
    };
    engine
        .recorder
        .record
        .finish(Picos(9000), description, Summary::default())
        .expect("the folder can be written");
    fs::read_to_string(folder.join("queues.csv")).expect("it was written")
}

/// Every counter has a different value.
#[test]
fn each_kind_is_what_it_says() {
    let scenario = dsh_star();
    let temp = tempfile::tempdir().expect("a folder");
    let mut engine = writing_to(temp.path(), &scenario);
    engine.classes = 1 << 3;

    let switch = engine.switch(SwitchId(0));
    let tables = switch.tables();
    let state = tables.state();
    state.private_bytes.store(6_000_000);
    state.shared_bytes.store(70_000_000);
    state.headroom_bytes.store(800_000_000);
    dsh::port_of(tables, 1).expect("three ports").insurance_bytes.store(9);
    let at = ingress(switch, 1, Priority::new(3));
    let queue = at.queue;
    queue.private_bytes.store(10);
    queue.shared_bytes.store(200);
    queue.headroom_bytes.store(3000);
    dsh::queue(&at).expect("three ports").tau_bytes.store(40_000);
    let row = tables.settings().queue_row(1, QueueId::data(3));
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

/// Counters of all ports and classes, addressed by position: none is confused with another one.
#[test]
fn a_counter_that_has_not_changed_has_no_row() {
    let scenario = dsh_star();
    let temp = tempfile::tempdir().expect("a folder");
    let mut engine = writing_to(temp.path(), &scenario);
    engine.classes = 0b1111_1111;
    let switch = engine.switch(SwitchId(0));
    let tables = switch.tables();
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
        dsh::port_of(tables, port).expect("a port").insurance_bytes.store(next());
        for class in priority::all() {
            let at = ingress(switch, port, class);
            at.queue.shared_bytes.store(next());
            at.queue.headroom_bytes.store(next());
            dsh::queue(&at).expect("a queue").tau_bytes.store(next() as u32);
            let queue = tables.settings().queues_of(class).select(|| 0);
            let row = tables.settings().queue_row(port, queue);
            tables.egress_queue(row).expect("a queue").bytes.store(next());
        }
    }
    let all = 4 + ports as usize * (1 + 8 * 4);
    sample(&mut engine, 7000);
    sample(&mut engine, 8000);
    let tables = engine.switch(SwitchId(0)).tables();
    dsh::port_of(tables, ports - 1).expect("a port").insurance_bytes.store(0);
    sample(&mut engine, 9000);
    let queues = finished(engine, temp.path());
    let rows = |time: &str| queues.lines().filter(|line| line.starts_with(time)).count();
    assert_eq!([rows("7,"), rows("8,"), rows("9,")], [all, 0, 1]);
}
