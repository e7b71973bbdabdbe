//! The files of the HPCC simulator and its kin: refused with a sentence, or a scenario that loads and is right.
//!
//! An input is the config, the topology, the flows, the name of the scenario to be written, and the simulator with its
//! arguments, apart by lines of `====`. Without the last part the simulator is HPCC's.

use std::io;
use std::path::Path;

use scenario::Scenario;

use crate::scenario::{holds, refusal_is_a_sentence};
use import::Source;
use import::ns3::{Arguments, Options, Simulator, import_texts};

use crate::seeds::Seeds;

const MAX_TEXT_LENGTH: usize = 16 << 10;
const APART: &str = "\n====\n";

/// Errors that only the whole scenario shows.
const LEFT_TO_THE_LOADER: [&str; 3] =
    ["error: no path leads from", "error: a buffer of no bytes", "error: switch `s"];

const CONFIG: &str = include_str!("../seeds/hpcc/config.txt");
const TOPOLOGY: &str = include_str!("../seeds/hpcc/topology.txt");
const FLOWS: &str = include_str!("../seeds/hpcc/flow.txt");

const CONWEAVE: [&str; 3] = [
    include_str!("../seeds/conweave/config.txt"),
    include_str!("../seeds/conweave/topology.txt"),
    include_str!("../seeds/conweave/flow.txt"),
];
const DATACENTER: [&str; 3] = [
    include_str!("../seeds/ns3-datacenter/config.txt"),
    include_str!("../seeds/ns3-datacenter/topology.txt"),
    include_str!("../seeds/ns3-datacenter/flow.txt"),
];

/// A small folder of each simulator, and changes of it.
pub fn seeds() -> Seeds {
    let input = |parts: [&str; 4]| parts.join(APART);
    let of = |[config, topology, flows]: [&str; 3], simulator: &str| {
        [config, topology, flows, "x", simulator].join(APART)
    };
    let irn = CONWEAVE[0].replace("ENABLE_PFC 1\nENABLE_IRN 0", "ENABLE_PFC 0\nENABLE_IRN 1");
    let two_rates = TOPOLOGY.replace("0 3 100Gb/s", "0 3 400Gb/s");
    let lossy = TOPOLOGY.replacen("1us 0\n", "1us 0.01\n", 1);
    let config = |from: &str, to: &str| CONFIG.replace(from, to);
    let lenient = config("CC_MODE 1", "CC_MODE 3").replace("HAS_WIN 0\n", "");
    Seeds::from_texts([
        input([CONFIG, TOPOLOGY, FLOWS, "small"]),
        input([&config("KMAX", "KMAX"), &two_rates, FLOWS, "small"]),
        input([&config("LINK_DOWN 0 0 0", "LINK_DOWN 5 0 3"), &lossy, FLOWS, "a b"]),
        input([&lenient, TOPOLOGY, FLOWS, "x"]),
        input([&config("ACK_HIGH_PRIO 0", "ACK_HIGH_PRIO 1"), TOPOLOGY, FLOWS, "y"]),
        of(CONWEAVE, "conweave"),
        of([&irn, CONWEAVE[1], CONWEAVE[2]], "conweave"),
        of([CONFIG, TOPOLOGY, FLOWS], "hpcc-without-dialect"),
        of(CONWEAVE, "conweave-without-dialect"),
        of(DATACENTER, "ns3-datacenter"),
        of(DATACENTER, "ns3-datacenter delayWien=true"),
        of(DATACENTER, "ns3-datacenter algorithm=8 windowCheck=true"),
        input([CONFIG, "3 1 2\n2\n0 2 1Gbps 0s 0\n1 2 1Gbps 0s 0\n", "1\n0 1 3 1 1 0\n", "é"]),
    ])
}

/// Checks the parts of an input.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if text.len() > MAX_TEXT_LENGTH {
        return;
    }
    let mut parts = text.split(APART);
    let mut part = || parts.next().unwrap_or_default();
    let (config, topology, flows, stem) = (part(), part(), part(), part());
    let Some((simulator, arguments, own_rules)) = simulator(part()) else { return };
    let options = Options { lenient: true, own_rules };
    // A stem is the end of a path.
    if stem.is_empty() || stem.contains(['/', '\0']) {
        return;
    }
    let topology = Source::new("topology.txt", topology);
    let flows = Source::new("flow.txt", flows);
    // The scenario has the name of the config.
    let config = Source::new(&format!("{stem}.txt"), config);
    let imported =
        match import_texts(simulator, arguments, config, &topology, &flows, stem, options) {
            Ok(imported) => imported,
            Err(error) => return refusal_is_a_sentence(&error),
        };
    let path = Path::new("/fuzz/scenario.toml");
    let read = |asked: &Path| -> io::Result<String> {
        if asked == path {
            return Ok(imported.toml.clone());
        }
        let is_asked = |(name, _): &&(String, String)| Path::new("/fuzz").join(name) == asked;
        let list = imported.flow_lists.iter().find(is_asked);
        list.map(|(_, text)| text.clone()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    match Scenario::read(path, &[], &read) {
        Ok(scenario) => {
            let load = |text: &str| {
                let read =
                    |asked: &Path| if asked == path { Ok(text.to_owned()) } else { read(asked) };
                Scenario::read(path, &[], &read)
            };
            holds(&scenario, &load);
        }
        Err(error) => {
            let report = error.to_string();
            let left = LEFT_TO_THE_LOADER.iter().any(|title| report.contains(title));
            assert!(left, "{report}\n{}", imported.toml);
        }
    }
}

/// A simulator and its arguments by their names, if they are right, and true for xoff's own rules.
fn simulator(text: &str) -> Option<(Simulator, Arguments, bool)> {
    let mut words = text.split_whitespace().map(str::to_owned);
    let name = words.next();
    let simulator = match name.as_deref() {
        None | Some("hpcc" | "hpcc-without-dialect") => Simulator::Hpcc,
        Some("conweave" | "conweave-without-dialect") => Simulator::ConWeave,
        Some("ns3-datacenter") => Simulator::Ns3Datacenter,
        Some(_) => return None,
    };
    let arguments = Arguments::parse(simulator, &words.collect::<Vec<_>>()).ok()?;
    let own_rules = name.is_some_and(|name| name.ends_with("-without-dialect"));
    Some((simulator, arguments, own_rules))
}
