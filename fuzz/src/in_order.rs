//! Small fabrics whose events run in the order of their insertion, with the rules of a simulator, and a link that goes down
//! if the simulator has that: each run ends, every frame is accounted for, the same run comes out again, and flows complete unless frames are lost or not acknowledged.
//!
//! An input is a head of [`HEAD`] bytes, which choose fabric, switches and hosts, and [`FLOW`] bytes for each flow.

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use emulation::engine::{Engine, ThreadUse, Watch};
use emulation::run;
use results::RunEnd;
use scenario::{Dialect, Scenario};

use crate::seeds::Seeds;

const HEAD: usize = 10;
const FLOW: usize = 7;
/// More flows take longer, and show nothing else.
const MAX_FLOWS: usize = 24;
const HOSTS: u8 = 4;
const CONTROLS: [&str; 7] =
    ["none", "dcqcn", "hpcc", "timely", "dctcp", "powertcp", "theta-powertcp"];
const RATES: [&str; 4] = ["10Gbps", "25Gbps", "100Gbps", "400Gbps"];

/// A run of each congestion control under each dialect.
pub fn seeds() -> Seeds {
    let flows = [[0, 1, 2, 0, 0, 200, 40], [0, 1, 1, 2, 3, 200, 40], [9, 0, 3, 2, 0, 7, 1]];
    let run = |control: u8| {
        let mut input = vec![control, 0b0101_0110, 2, 2, 40, 30, 90, 5, 0b0000_0100, 3];
        input.extend(flows.concat());
        input
    };
    let runs = CONTROLS.len() * Dialect::ALL.len();
    Seeds::from_bytes((0..runs as u8).map(run).collect())
}

/// Checks a run.
pub fn check(input: &[u8]) {
    let Some((head, flows)) = input.split_first_chunk::<HEAD>() else { return };
    let (flows, _) = flows.as_chunks::<FLOW>();
    if flows.is_empty() || flows.len() > MAX_FLOWS {
        return;
    }
    let text = text_of(*head, flows);
    let scenario = match Scenario::parse(&text, Path::new("fuzz.toml"), &[]) {
        Ok(scenario) => scenario,
        // Headroom of long links leaves nothing of a small buffer.
        Err(error) if error.to_string().contains("sets aside") => return,
        Err(error) => panic!("{error}\n{text}"),
    };
    let outcome = outcome_of(&scenario, &text);
    assert_eq!(outcome, outcome_of(&scenario, &text), "another run\n{text}");
    let (ended, lost, ..) = outcome;
    // A receiver acknowledges nothing of a flow, or of a window, that is shorter than `ack_from`.
    let acknowledges = text.contains("ack_from = \"1B\"");
    let completes = lost == 0 && acknowledges;
    assert!(!completes || ended == RunEnd::Drained, "{ended:?}, and nothing is lost\n{text}");
}

/// End of a run, frames lost, instant of the end and frames received.
fn outcome_of(scenario: &Scenario, text: &str) -> (RunEnd, u64, u64, u64) {
    let fabric = run::in_memory(scenario).expect("memory for a few switches");
    let engine = Engine::new(scenario, fabric, run::record(scenario, None), &[], ThreadUse::ONE);
    let mut watch = Watch { interrupted: &AtomicBool::new(false), progress: &mut |_| {} };
    let done = engine.run(&mut watch).expect("nothing is written");
    assert_eq!(done.counted.books, [""; 0], "{text}");
    let counted = done.counted;
    (counted.ended, counted.drops.lost(), done.end.0, counted.packet_hops)
}

/// The scenario of an input.
fn text_of(head: [u8; HEAD], flows: &[[u8; FLOW]]) -> String {
    let [control, flags, edge, core, buffer, kmin, span, loss, more, delay] = head;
    let dialect = Dialect::ALL[usize::from(control) / CONTROLS.len() % Dialect::ALL.len()];
    let control = CONTROLS[usize::from(control) % CONTROLS.len()];
    let is_hpcc = dialect == Dialect::HpccNs3;
    let has = |flags: u8, bit: u32| flags & 1 << bit != 0;
    let rate = |number: u8| RATES[usize::from(number) % RATES.len()];
    let link = |number: u8, delay: u64| {
        format!("{{ rate = \"{}\", delay = \"{delay}ns\" }}", rate(number))
    };
    // A pause of ConWeave's simulator lasts longer than a frame is on its way.
    let delay = 50 + if is_hpcc { 20 } else { 7 } * u64::from(delay);
    let spines = 1 + more % 3;
    let fabric = if has(more, 0) {
        format!(
            "kind = \"leaf-spine\"\nleaves = 2\nspines = {}\nhosts_per_leaf = 2\nhost_link = {}\nfabric_link = {}",
            spines,
            link(edge, delay),
            link(core, 2 * delay)
        )
    } else {
        format!("kind = \"star\"\nhosts = {HOSTS}\nhost_link = {}", link(edge, delay))
    };
    // HPCC's data and its ACKs carry telemetry.
    let [headers, ack] = if control == "hpcc" { [90, 88] } else { [48, 60] };
    let ack_queue = if has(flags, 0) && is_hpcc { "ack_queue = 3\n" } else { "" };
    let of_hpcc = if is_hpcc {
        "private_per_queue = \"4KiB\"\nprivate_fill = \"bytes\"
threshold = { kind = \"dt\", alpha = \"1/8\", xon_offset = \"3KiB\" }
headroom = { kind = \"sih\", bandwidth_delays = 3 }\ncontrol_priority = \"none\"\n"
    } else {
        ""
    };
    let choose =
        |bit: u32, yes: &'static str, no: &'static str| if has(flags, bit) { yes } else { no };
    let mut text = format!(
        "dialect = \"{}\"\nduration = \"200ms\"\n[topology]\n{fabric}
[switch]\nbuffer = \"{}KiB\"\nlossless = [3, 4]\n{of_hpcc}ecn = {{ kmin = \"{}B\", kmax = \"{}B\", pmax = 0.3 }}
pause_response = \"0s\"\nwire_overhead = \"0B\"\nresume_test = \"departure\"
[host]\n{ack_queue}pause_response = \"0s\"\nack_interval = 1
[host.ns3]\ncontrol = \"{control}\"\nwindow = {}\nwindow_scales = {}\npaced = {}\npaths = \"{}\"\nrate_per_hop = {}
fast_reaction = {}\nskips_empty_queues = {}\nclamp_target_rate = {}\nrepeats_chunk = {}\nack_from = \"{}B\"
minimum_rate = \"1Gbps\"\nstamp_multiple = {}
[frames]\ndata_headers = \"{headers}B\"\nack = \"{ack}B\"\nhop_control = \"43B\"\n",
        dialect.name(),
        512 + 16 * u64::from(buffer),
        400 * u64::from(kmin),
        400 * (u64::from(kmin) + u64::from(span)),
        has(flags, 1),
        has(flags, 2),
        has(flags, 3),
        choose(4, "own", "longest"),
        has(flags, 5),
        has(flags, 6),
        has(flags, 7),
        has(more, 1),
        has(more, 2),
        choose(3, "1", "4000"),
        1 + more % 2,
    );
    if has(more, 7) {
        let wire = if has(more, 6) { "h0-*" } else { "*" };
        write!(text, "[[faults]]\nkind = \"loss\"\nwire = \"{wire}\"\nrate = 0.00{loss:03}\n")
            .expect("memory");
    }
    if has(more, 0) && has(more, 5) && spines > 1 && is_hpcc {
        let at = 100 * u64::from(loss);
        write!(
            text,
            "[[faults]]\nkind = \"down\"\nwire = \"leaf0-spine0\"\nat = \"{at}ns\"\nreroute = true\n"
        )
        .expect("memory");
    }
    let mut sorted = flows.to_vec();
    sorted.sort_by_key(|flow| flow[0]);
    for &[at, step, source, to, class, low, high] in &sorted {
        let source = source % HOSTS;
        let to = (source + 1 + to % (HOSTS - 1)) % HOSTS;
        write!(
            text,
            "[[flows]]\nkind = \"one\"\nstart = \"{}ns\"\nsrc = \"h{source}\"\ndst = \"h{to}\"\nbytes = \"{}B\"\npriority = {}\n",
            u64::from(at) * u64::from(1 + step % 16),
            1 + u64::from(low) + 256 * u64::from(high),
            3 + class % 2,
        )
        .expect("memory");
    }
    text
}
