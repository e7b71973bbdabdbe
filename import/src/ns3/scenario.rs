//! Text of the imported scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use results::DESTINATION_PORT;
use scenario::quantity::display;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::Imported;
use super::buffers::Headroom;
use super::config::Config;
use super::control::{Control, Hpcc};
use super::flows::{FlowLine, Flows};
use super::paths::Base;
use super::simulator::Simulator;
use super::topology::Topology;
use super::translation::{Ecn, SAMPLE_INTERVAL, Translation};
use super::transport::{STAMPS, Transport};
use crate::Subject;

/// Beginning of an imported scenario.
pub const IMPORTED_FROM: &str = "# Imported from ";
/// Max number of flow lists, one for each destination port.
const MAX_LISTS: usize = 64;

/// A flow list.
struct List<'a> {
    label: String,
    file: String,
    destination_port: u16,
    /// Base of the flows' windows, if it differs from the common base.
    base: Option<Base>,
    flows: Vec<&'a FlowLine>,
}

impl List<'_> {
    /// Destination ports other than the list's, whose flows have labels of their own.
    fn labels(&self) -> BTreeSet<u16> {
        let ports = self.flows.iter().map(|flow| flow.destination_port);
        ports.filter(|port| *port != self.destination_port).take(MAX_LISTS - 1).collect()
    }

    /// The destination port of each label, as entries of a table.
    fn ports(&self) -> Vec<String> {
        let own = format!("{} = {}", self.label, self.destination_port);
        let others = self.labels().into_iter().map(|port| format!("{} = {port}", label(port)));
        [own].into_iter().chain(others).collect()
    }
}

/// The label of flows to a destination port.
fn label(destination_port: u16) -> String {
    format!("dport-{destination_port}")
}

/// One list of all flows, so that flows of one instant stay in the order of the file.
fn one_list<'a>(flows: Vec<&'a FlowLine>, stem: &str) -> List<'a> {
    let port = flows.first().map_or(DESTINATION_PORT, |flow| flow.destination_port);
    let single = flows.iter().all(|flow| flow.destination_port == port);
    List {
        label: if single { "flows".into() } else { label(port) },
        file: format!("{stem}.csv"),
        destination_port: port,
        base: None,
        flows,
    }
}

/// Writes the scenario and the flow lists.
pub fn write(
    config: &Config,
    topology: &Topology,
    flows: &Flows,
    mut translation: Translation,
    stem: &str,
) -> Imported {
    let lists = lists(flows, &mut translation, stem);
    translation.remarks.sort_by_line(config.source().name());
    let mut toml = String::new();
    fill(&mut toml, config, topology, &translation, &lists).expect("a String takes every write");
    let flow_lists =
        lists.iter().map(|list| (list.file.clone(), csv(list, topology, &translation)));
    Imported {
        config: config.source().name().to_owned(),
        flow_lists: flow_lists.collect(),
        toml,
        remarks: translation.remarks,
    }
}

/// Groups flows by their destination ports, which are labels in a scenario, and by the bases of their windows.
fn lists<'a>(flows: &'a Flows, translation: &mut Translation, stem: &str) -> Vec<List<'a>> {
    let stop = translation.time_offset.0 + translation.duration.0;
    let of_run = || flows.list.iter().filter(|flow| flow.start.0 < stop);
    let Translation { paths, transport, remarks, simulated, .. } = translation;
    if simulated.is_some() {
        let ports: BTreeSet<u16> = of_run().map(|flow| flow.destination_port).collect();
        if ports.len() > MAX_LISTS {
            let subject = Subject::for_file(flows.name(), None, "destination ports");
            let here = format!("{MAX_LISTS} of them: the others go as the first");
            remarks.inherent(subject, "each is hashed, and in fct.txt", &here);
        }
        return vec![one_list(of_run().collect(), stem)];
    }
    let by_path = transport.by_path && transport.needs_base();
    let base = |flow: &FlowLine| paths.base(flow.source, flow.destination).filter(|_| by_path);
    let mut lists = by_key(of_run(), |flow| (flow.destination_port, base(flow)));
    if lists.len() > MAX_LISTS {
        let subject = Subject::for_file(flows.name(), None, "destination ports");
        let what = format!("more than {MAX_LISTS}: fct.txt has {DESTINATION_PORT} for all");
        remarks.note(&subject, &what);
        lists = by_key(of_run(), |flow| (DESTINATION_PORT, base(flow)));
    }
    if lists.len() > MAX_LISTS {
        let subject = Subject::for_file(flows.name(), None, "paths");
        let here = format!("the largest for all: there are lists for up to {MAX_LISTS}");
        remarks.asked(&subject, "each has a window of its own (GLOBAL_T 0)", &here);
        lists = by_key(of_run(), |_| (DESTINATION_PORT, None));
    }
    let single = lists.len() == 1;
    let list = |((destination_port, base), flows): ((u16, Option<Base>), _)| {
        let path =
            base.map_or_else(String::new, |base| format!("-{}ns-{}B", base.rtt.0, base.bdp.0));
        List {
            label: if single {
                "flows".into()
            } else {
                format!("{}{path}", label(destination_port))
            },
            file: if single {
                format!("{stem}.csv")
            } else {
                format!("{stem}-{destination_port}{path}.csv")
            },
            destination_port,
            base,
            flows,
        }
    };
    lists.into_iter().map(list).collect()
}

/// Groups flows by key, in the order of keys; flows of one key keep the order of the file.
fn by_key<'a, K: Ord>(
    flows: impl Iterator<Item = &'a FlowLine>,
    key: impl Fn(&FlowLine) -> K,
) -> BTreeMap<K, Vec<&'a FlowLine>> {
    let mut lists: BTreeMap<K, Vec<&FlowLine>> = BTreeMap::new();
    for flow in flows {
        lists.entry(key(flow)).or_default().push(flow);
    }
    lists
}

fn csv(list: &List<'_>, topology: &Topology, translation: &Translation) -> String {
    let labels = list.labels();
    let mut text = String::from("start_ns,src,dst,bytes,priority");
    text.push_str(if labels.is_empty() { "\n" } else { ",label\n" });
    for flow in &list.flows {
        let (source, destination) =
            (topology.node_name(flow.source), topology.node_name(flow.destination));
        let start = flow.start.0 - translation.time_offset.0;
        let bytes = if is_endless(flow, topology, translation) {
            "unlimited".to_owned()
        } else {
            flow.bytes.to_string()
        };
        write!(text, "{start},{source},{destination},{bytes},{}", flow.group)
            .expect("a String takes every write");
        if labels.contains(&flow.destination_port) {
            write!(text, ",{}", label(flow.destination_port)).expect("a String takes every write");
        } else if !labels.is_empty() {
            text.push(',');
        }
        text.push('\n');
    }
    text
}

/// Returns true if a flow could not end before the simulator stops, even alone on its sender's link.
pub(super) fn is_endless(flow: &FlowLine, topology: &Topology, translation: &Translation) -> bool {
    let stop = translation.time_offset.0 + translation.duration.0;
    let span = Picos::from_nanos(Nanos(stop.saturating_sub(flow.start.0)));
    topology.host_rate(flow.source).is_some_and(|rate| rate.bytes_in(span).0 < flow.bytes)
}

fn fill(
    toml: &mut String,
    config: &Config,
    topology: &Topology,
    translation: &Translation,
    lists: &[List<'_>],
) -> std::fmt::Result {
    let name = in_comment(config.source().name());
    writeln!(toml, "{IMPORTED_FROM}{name} of {}.", config.simulator.traits().name)?;
    for line in translation.remarks.table() {
        writeln!(toml, "# {}", in_comment(&line))?;
    }
    if let (Some(simulated), Some(dialect)) =
        (&translation.simulated, config.simulator.traits().dialect)
    {
        writeln!(toml, "dialect = {dialect:?}")?;
        if let Some((_, seed)) = simulated.of_conweave {
            writeln!(toml, "seed = {seed}")?;
        }
    }
    writeln!(toml, "duration = \"{}\"\n", time(translation.duration))?;
    fill_topology(toml, topology, translation)?;
    fill_switch(toml, translation)?;
    for (switch, buffer) in &translation.buffers.larger {
        let name = topology.node_name(*switch);
        writeln!(toml, "[[switches]]\nat = {name:?}\nbuffer = \"{}\"\n", size(*buffer))?;
    }
    fill_host(toml, translation)?;
    fill_frames(toml, translation)?;
    for list in lists {
        writeln!(toml, "[[flows]]\nkind = \"list\"")?;
        writeln!(toml, "label = {:?}\nfile = {}\n", list.label, text(&list.file))?;
        if let Some(base) = list.base.filter(|_| translation.simulated.is_none()) {
            let largest = translation.paths.largest();
            translation.transport.write(toml, "flows.transport", base, largest)?;
        }
    }
    for (wire, trillionths) in &translation.losses {
        let rate = *trillionths as f64 / 1e12;
        writeln!(toml, "[[faults]]\nkind = \"loss\"\nwire = \"{wire}\"\nrate = {rate:?}\n")?;
    }
    if let Some((link, at)) = &translation.link_failure {
        let at = display(Picos::from_nanos(*at));
        writeln!(toml, "[[faults]]\nkind = \"down\"\nwire = \"{link}\"")?;
        writeln!(toml, "at = \"{at}\"\nreroute = true\n")?;
    }
    fill_results(toml, topology, translation, lists)
}

fn fill_topology(
    toml: &mut String,
    topology: &Topology,
    translation: &Translation,
) -> std::fmt::Result {
    let names = |switches: bool| {
        let nodes = topology.nodes().filter(|&node| topology.is_switch(node) == switches);
        nodes.map(|node| format!("{:?}", topology.node_name(node))).collect::<Vec<_>>().join(", ")
    };
    writeln!(toml, "[topology]\nkind = \"custom\"")?;
    writeln!(toml, "hosts = [{}]\nswitches = [{}]\nlinks = [", names(false), names(true))?;
    for link in &topology.links {
        let (a, b) = (topology.node_name(link.a), topology.node_name(link.b));
        let (rate, delay) = (display(link.rate), display(link.delay));
        writeln!(toml, "  {{ a = {a:?}, b = {b:?}, rate = \"{rate}\", delay = \"{delay}\" }},")?;
    }
    writeln!(toml, "]")?;
    if let Some((a, b)) = translation.failed_link {
        let pair = format!("[{:?}, {:?}]", topology.node_name(a), topology.node_name(b));
        // The simulator then has no path between the two nodes, regardless of the number of parallel links.
        let pairs = vec![pair; topology.links_between(a, b)].join(", ");
        writeln!(toml, "failed_links = [{pairs}]")?;
    }
    writeln!(toml)
}

fn fill_switch(toml: &mut String, of: &Translation) -> std::fmt::Result {
    let buffers = &of.buffers;
    let list = |priorities: &BTreeSet<u8>| {
        let list: Vec<String> = priorities.iter().map(u8::to_string).collect();
        list.join(", ")
    };
    writeln!(toml, "[switch]\nbuffer = \"{}\"", size(buffers.size))?;
    writeln!(toml, "private_per_queue = \"{}\"", size(buffers.private_per_queue))?;
    if buffers.splits_packets {
        writeln!(toml, "private_fill = \"bytes\"")?;
    }
    writeln!(toml, "lossless = [{}]", list(&buffers.lossless))?;
    let alpha = |shift: u32| format!("alpha = \"1/{}\"", 1 << shift);
    let of_rate = |(rate, shift): &(_, u32)| entry(*rate, &alpha(*shift));
    writeln!(
        toml,
        "threshold = {{ kind = \"dt\", {}, xon_offset = \"{}\"{} }}",
        alpha(buffers.alpha_shift),
        size(buffers.xon_offset),
        by_rate(buffers.alpha_shift_by_rate.iter().map(of_rate)),
    )?;
    let headroom = match buffers.headroom {
        Headroom::BandwidthDelays(times) => format!("bandwidth_delays = {times}"),
        Headroom::Bytes(bytes) => format!("bytes = \"{}\"", display(bytes)),
    };
    writeln!(toml, "headroom = {{ kind = \"sih\", {headroom} }}")?;
    if let Some(ecn) = of.ecn {
        let of_rate = |(rate, ecn): &(_, Ecn)| entry(*rate, &marking(ecn));
        let others = by_rate(of.ecn_by_rate.iter().map(of_rate));
        let mark_at = match of.transport.simulator {
            Simulator::Ns3Datacenter => "enqueue",
            Simulator::Hpcc | Simulator::ConWeave => "dequeue",
        };
        let priorities = if buffers.lossless.is_empty() {
            format!(", priorities = [{}]", list(&of.groups))
        } else {
            String::new()
        };
        let marking = marking(&ecn);
        writeln!(toml, "ecn = {{ {marking}, mark_at = \"{mark_at}\"{priorities}{others} }}")?;
    }
    match of.ack_priority {
        Some(priority) => writeln!(toml, "control_priority = {priority}")?,
        None => writeln!(toml, "control_priority = \"none\"")?,
    }
    if let Control::Hpcc(Hpcc { stamp_multiple, .. }) = of.transport.control {
        let (sent, queue) = (128 * stamp_multiple, 80 * stamp_multiple);
        writeln!(toml, "telemetry_steps = {{ sent = \"{sent}B\", queue = \"{queue}B\" }}")?;
    }
    let pause = of.simulated.as_ref().and_then(|simulated| simulated.of_conweave);
    if let Some((micros, _)) = pause {
        writeln!(toml, "pause_lasts = \"{micros}us\"")?;
    }
    // The simulator checks a paused queue when one of its packets departs.
    writeln!(toml, "resume_test = \"departure\"")?;
    // The simulator's ports stop at the next frame, and its frames have no gap between them.
    writeln!(toml, "pause_response = \"0s\"\nwire_overhead = \"0B\"\n")
}

/// Formats a size, with a unit of the simulators' constants if it is a multiple.
pub(super) fn size(bytes: Bytes) -> String {
    match bytes.0 {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        _ => display(bytes),
    }
}

fn marking(ecn: &Ecn) -> String {
    let (kmin, kmax) = (display(ecn.kmin), display(ecn.kmax));
    let pmax = f64::from(ecn.pmax_millionths) / 1e6;
    format!("kmin = \"{kmin}\", kmax = \"{kmax}\", pmax = {pmax:?}")
}

/// Formats an entry of `by_rate`.
fn entry(rate: BitsPerSecond, keys: &str) -> String {
    format!("{{ rate = \"{}\", {keys} }}", display(rate))
}

/// Formats the `by_rate` key with its entries, to follow other keys of a table; empty if there are none.
fn by_rate(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() { String::new() } else { format!(", by_rate = [{}]", entries.join(", ")) }
}

fn fill_host(toml: &mut String, of: &Translation) -> std::fmt::Result {
    writeln!(toml, "[host]\npayload = \"{}B\"\nack_interval = 1", of.payload)?;
    let ack_priority = of.ack_priority.map_or("\"data\"".to_owned(), |it| it.to_string());
    writeln!(toml, "ack_priority = {ack_priority}\nack_queue = {}", of.ack_queue)?;
    let has_hops = match of.transport.control {
        Control::Hpcc(_) | Control::PowerTcp { theta: false, .. } => true,
        // The simulator's senders count the hops, too.
        Control::PowerTcp { theta: true, .. } => of.simulated.is_some(),
        _ => false,
    };
    if has_hops {
        writeln!(toml, "telemetry_hops = {STAMPS}")?;
    }
    let pauses = "pause_response = \"0s\"\n";
    if let Some(simulated) = &of.simulated {
        writeln!(toml, "{pauses}")?;
        return simulated.write(toml);
    }
    // The simulator's senders may have no timer: a timeout as long as the run never fires.
    let timeout = of.transport.timeout().unwrap_or(of.duration);
    writeln!(toml, "retransmission_timeout = \"{}\"\n{pauses}", time(timeout))?;
    let largest = of.paths.largest();
    of.transport.write(toml, "host.transport", largest, largest)
}

/// Writes the lengths of the simulator's headers. A PFC frame has PPP 14, IPv4 20 and 9 bytes of its payload.
fn fill_frames(toml: &mut String, of: &Translation) -> std::fmt::Result {
    let (data, ack) = (of.transport.data_headers(), of.transport.ack_length());
    writeln!(toml, "[frames]\ndata_headers = \"{data}B\"\nack = \"{ack}B\"")?;
    writeln!(toml, "hop_control = \"{}B\"", 14 + 20 + 9)?;
    match of.simulated {
        Some(_) => writeln!(toml),
        None => writeln!(toml, "time = \"whole-nanoseconds\"\n"),
    }
}

fn fill_results(
    toml: &mut String,
    topology: &Topology,
    translation: &Translation,
    lists: &[List<'_>],
) -> std::fmt::Result {
    let nodes: Vec<String> =
        topology.nodes().map(|node| format!("{:?}", topology.node_name(node))).collect();
    writeln!(toml, "[results.hpcc]\ntime_offset = \"{}\"", time(translation.time_offset))?;
    writeln!(toml, "qlen_start = \"{}\"", time(translation.qlen_start))?;
    writeln!(toml, "qlen_stop = \"{}\"", time(translation.qlen_stop))?;
    writeln!(toml, "qlen_interval = \"{}\"", time(SAMPLE_INTERVAL))?;
    writeln!(toml, "nodes = [{}]", nodes.join(", "))?;
    writeln!(toml, "standalone_headers = \"{}B\"", Transport::PLAIN_HEADERS)?;
    let ports: Vec<String> = lists.iter().flat_map(List::ports).collect();
    writeln!(toml, "destination_ports = {{ {} }}", ports.join(", "))
}

/// Formats a TOML string; names of files may contain any character.
fn text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Makes a name safe for a comment: names of files may contain line ends, which would end the comment, and other
/// characters that TOML forbids.
fn in_comment(text: &str) -> String {
    text.replace(char::is_control, "?")
}

fn time(time: Nanos) -> String {
    display(Picos::from_nanos(time))
}
