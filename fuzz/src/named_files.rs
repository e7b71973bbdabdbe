//! The files that a scenario names: flow lists, size distributions and weights between hosts are refused with
//! a sentence, or make a scenario that is right, and a flow list's flows are its rows.

use std::io;
use std::path::Path;

use scenario::Scenario;

use crate::scenario::refusal_is_a_sentence;

use crate::seeds::Seeds;

const MAX_TEXT_LENGTH: usize = 16 << 10;
const HEADER: &str = "start_ns,src,dst,bytes,priority,path,source_port";
/// Two switches without a link between them: some pairs of hosts have no path.
const FABRIC: &str = r#"duration = "1ms"
[datapath]
kind = "memory"
[topology]
kind = "custom"
hosts = ["h0", "h1", "h2", "h3"]
switches = ["s0", "s1"]
links = [
  { a = "h0", b = "s0", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "s0", rate = "100Gbps", delay = "1us" },
  { a = "h2", b = "s0", rate = "25Gbps", delay = "1us" },
  { a = "h3", b = "s1", rate = "100Gbps", delay = "1us" },
]
"#;
const STAR: &str = r#"duration = "1ms"
[datapath]
kind = "memory"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
"#;
const FLOWS: &str = "start_ns,src,dst,bytes,priority\n0,h0,h1,1000,3\n500,h1,h0,64000,4\n";
const STEERED_FLOWS: &str = "start_ns,src,dst,bytes,priority,source_port,path\n\
                             0,h0,h1,1000,3,,s0\n500,h1,h0,64000,4,50000,\n500,h1,h2,1,4,1,s0\n";
const SIZES: &str = "1000 0.2\n20000 0.9\n1000000 1\n";
const WEIGHTS: &str = "0,1,2\n1,0,0\n0.5,0.5,0\n";
/// For a fabric of eight hosts.
const MORE_WEIGHTS: &str = include_str!("../seeds/weights.csv");

/// The files beside a scenario that names some.
pub fn text_of(path: &Path) -> Option<&'static str> {
    match path.to_str()? {
        "/fuzz/flows.csv" => Some(FLOWS),
        "/fuzz/my.cdf" => Some(SIZES),
        "/fuzz/weights.csv" => Some(MORE_WEIGHTS),
        _ => None,
    }
}

/// A file of each kind, and the distributions that ship.
pub fn seeds() -> Seeds {
    let shipped = [
        include_str!("../../workload/distributions/websearch.cdf"),
        include_str!("../../workload/distributions/hadoop.cdf"),
        include_str!("../../workload/distributions/solar.cdf"),
    ];
    let windows = FLOWS.replace('\n', "\r\n");
    let texts = [FLOWS, STEERED_FLOWS, &windows, SIZES, "1000 20\n1000000 100\n", WEIGHTS];
    Seeds::from_texts(texts.into_iter().chain(shipped).map(str::to_owned))
}

/// Checks a text as a file of each kind.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if text.len() > MAX_TEXT_LENGTH {
        return;
    }
    let list = format!("{FABRIC}[[flows]]\nkind = \"list\"\nlabel = \"x\"\nfile = \"x.csv\"\n");
    if let Some(scenario) = load(&list, text) {
        a_list_is_its_rows(&list, &scenario, text);
    }
    let drawn = "[[flows]]\nkind = \"poisson\"\nload = 0.5\n";
    load(&format!("{STAR}{drawn}sizes = {{ file = \"x.cdf\" }}\n"), text);
    let pairs = "pairs = { kind = \"matrix\", file = \"x.csv\" }\n";
    load(&format!("{STAR}{drawn}sizes = \"10kB\"\n{pairs}"), text);
}

/// A scenario that names a file with this text, if both are right.
fn load(scenario: &str, text: &str) -> Option<Scenario> {
    let path = Path::new("/fuzz/scenario.toml");
    let read = |asked: &Path| -> io::Result<String> {
        Ok(if asked == path { scenario } else { text }.to_owned())
    };
    match Scenario::read(path, &[], &read) {
        Ok(scenario) => {
            for flow in scenario.flow_stream().take(50) {
                assert!(flow.bytes.0 > 0 && flow.start < scenario.duration, "{flow:?}");
                assert_ne!(flow.source, flow.destination);
            }
            Some(scenario)
        }
        Err(error) => {
            refusal_is_a_sentence(&error);
            None
        }
    }
}

/// The flows, written as a list and read again, are equal.
fn a_list_is_its_rows(list: &str, scenario: &Scenario, text: &str) {
    let rows = text.lines().count() - 1;
    assert_eq!(scenario.flows().len(), rows, "a flow for each row");
    let name = |host| &scenario.fabric().host(host).name;
    let row = |flow: &scenario::Flow| {
        let (source, destination) = (name(flow.source), name(flow.destination));
        let start = flow.start.0 / 1000;
        let port = flow.source_port.map(|port| port.to_string()).unwrap_or_default();
        let wires = flow.path.iter().flat_map(|path| &path[..path.len() - 1]);
        let switches: Vec<&str> =
            wires.map(|&wire| scenario.fabric().wire(wire).port_name()).collect();
        let (bytes, priority, path) = (flow.bytes.0, flow.priority, switches.join(">"));
        format!("{start},{source},{destination},{bytes},{priority},{path},{port}\n")
    };
    let written: String = scenario.flows().iter().map(row).collect();
    let again = load(list, &format!("{HEADER}\n{written}")).expect("what was read can be written");
    assert_eq!(again.flows(), scenario.flows());
}
