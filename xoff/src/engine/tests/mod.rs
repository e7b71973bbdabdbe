//! The engine on small fabrics in memory: what it counts, and what its checks say when something is wrong.

mod books;
mod faults;
mod faulty_datapath;
mod rows;
mod samples;
mod wires;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::{Engine, Finished, RunError, Watch};
use crate::datapath::Datapath;
use crate::datapath::memory::MemoryDatapath;
use crate::run::{in_memory, record};
use crate::scenario::Scenario;

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

/// Before the first event.
pub(super) fn engine(scenario: &Scenario) -> Engine<'_, MemoryDatapath> {
    let datapath = in_memory(scenario).expect("memory for a few switches");
    Engine::new(scenario, datapath, record(scenario, None), &[])
}

fn run<D: Datapath>(engine: Engine<'_, D>) -> Result<Finished<D>, RunError> {
    let interrupted = AtomicBool::new(false);
    engine.run(&mut Watch { interrupted: &interrupted, progress: &mut |_| {} })
}
