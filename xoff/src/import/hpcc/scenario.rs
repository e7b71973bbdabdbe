//! The scenario's text.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::DESTINATION_PORT;
use scenario::quantity::display;
use units::{BitsPerSecond, Nanos, Picos};

use super::Imported;
use super::config::Config;
use super::flows::{FlowLine, Flows};
use super::topology::Topology;
use super::translation::{Ecn, SAMPLE_INTERVAL, Translation};

/// Flow lists at most, one for each destination port.
const MAX_LISTS: usize = 64;

/// A flow list.
struct List<'a> {
    label: String,
    file: String,
    destination_port: u16,
    flows: Vec<&'a FlowLine>,
}

/// Puts everything together.
pub fn write(
    config: &Config,
    topology: &Topology,
    flows: &Flows,
    mut translation: Translation,
    stem: &str,
) -> Imported {
    let lists = lists(flows, &mut translation, stem);
    let mut toml = String::new();
    fill(&mut toml, config, topology, &translation, &lists).expect("a String takes every write");
    let flow_lists =
        lists.iter().map(|list| (list.file.clone(), csv(list, topology, &translation)));
    Imported {
        flow_lists: flow_lists.collect(),
        toml,
        notes: translation.notes,
        differences: translation.differences,
    }
}

/// Flows by their destination ports, which are labels in a scenario.
fn lists<'a>(flows: &'a Flows, translation: &mut Translation, stem: &str) -> Vec<List<'a>> {
    let stop = translation.time_offset.0 + translation.duration.0;
    let mut by_port: BTreeMap<u16, Vec<&FlowLine>> = BTreeMap::new();
    for flow in flows.list.iter().filter(|flow| flow.start.0 < stop) {
        by_port.entry(flow.destination_port).or_default().push(flow);
    }
    if by_port.len() > MAX_LISTS {
        let how = format!(
            "{} destination ports; xoff keeps up to {MAX_LISTS} apart: fct.txt will have \
             {DESTINATION_PORT} for all",
            by_port.len()
        );
        translation.differences.push(format!("{}: {how}", flows.name()));
        let all = flows.list.iter().filter(|flow| flow.start.0 < stop).collect();
        by_port = [(DESTINATION_PORT, all)].into();
    }
    let single = by_port.len() == 1;
    let list = |(destination_port, flows)| List {
        label: if single { "flows".into() } else { format!("dport-{destination_port}") },
        file: if single { format!("{stem}.csv") } else { format!("{stem}-{destination_port}.csv") },
        destination_port,
        flows,
    };
    by_port.into_iter().map(list).collect()
}

fn csv(list: &List<'_>, topology: &Topology, translation: &Translation) -> String {
    let mut text = String::from("start_ns,src,dst,bytes,priority\n");
    for flow in &list.flows {
        let (source, destination) =
            (topology.node_name(flow.source), topology.node_name(flow.destination));
        let start = flow.start.0 - translation.time_offset.0;
        writeln!(text, "{start},{source},{destination},{},{}", flow.bytes, flow.group)
            .expect("a String takes every write");
    }
    text
}

fn fill(
    toml: &mut String,
    config: &Config,
    topology: &Topology,
    translation: &Translation,
    lists: &[List<'_>],
) -> std::fmt::Result {
    let name = in_comment(config.source().name());
    writeln!(toml, "# Imported from {name} of the HPCC simulator.")?;
    for difference in &translation.differences {
        writeln!(toml, "# Not as there: {}", in_comment(difference))?;
    }
    writeln!(toml, "duration = \"{}\"\n", time(translation.duration))?;
    fill_topology(toml, topology, translation)?;
    fill_switch(toml, translation)?;
    fill_host(toml, translation)?;
    for list in lists {
        writeln!(toml, "[[flows]]\nkind = \"list\"")?;
        writeln!(toml, "label = {:?}\nfile = {}\n", list.label, text(&list.file))?;
    }
    for (wire, millionths) in &translation.losses {
        let rate = f64::from(*millionths) / 1e6;
        writeln!(toml, "[[faults]]\nkind = \"loss\"\nwire = \"{wire}\"\nrate = {rate:?}\n")?;
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
        // The simulator has no way between the two then, however many links join them.
        let pairs = vec![pair; topology.links_between(a, b)].join(", ");
        writeln!(toml, "failed_links = [{pairs}]")?;
    }
    writeln!(toml)
}

fn fill_switch(toml: &mut String, of: &Translation) -> std::fmt::Result {
    let lossless: Vec<String> = of.lossless.iter().map(u8::to_string).collect();
    writeln!(toml, "[switch]\nbuffer = \"{}MiB\"", of.buffer_mebibytes)?;
    writeln!(toml, "private_per_queue = \"4KiB\"\nlossless = [{}]", lossless.join(", "))?;
    let alpha = |shift: u32| format!("alpha = \"1/{}\"", 1 << shift);
    let of_rate = |(rate, shift): &(_, u32)| entry(*rate, &alpha(*shift));
    writeln!(
        toml,
        "threshold = {{ kind = \"dt\", {}, xon_offset = \"3KiB\"{} }}",
        alpha(of.alpha_shift),
        by_rate(of.alpha_shift_by_rate.iter().map(of_rate)),
    )?;
    writeln!(toml, "headroom = {{ kind = \"sih\", bandwidth_delays = 3 }}")?;
    if let Some(ecn) = of.ecn {
        let of_rate = |(rate, ecn): &(_, Ecn)| entry(*rate, &marking(ecn));
        let others = by_rate(of.ecn_by_rate.iter().map(of_rate));
        writeln!(toml, "ecn = {{ {}, mark_at = \"dequeue\"{others} }}", marking(&ecn))?;
    }
    if of.acks_first {
        writeln!(toml, "control_priority = {}", of.ack_priority)?;
    } else {
        writeln!(toml, "control_priority = \"none\"")?;
    }
    // The simulator's ports stop at the next frame, and its frames follow each other without a gap.
    writeln!(toml, "pause_response = \"0s\"\nwire_overhead = \"0B\"\n")
}

fn marking(ecn: &Ecn) -> String {
    let (kmin, kmax) = (display(ecn.kmin), display(ecn.kmax));
    let pmax = f64::from(ecn.pmax_millionths) / 1e6;
    format!("kmin = \"{kmin}\", kmax = \"{kmax}\", pmax = {pmax:?}")
}

/// An entry of `by_rate`.
fn entry(rate: BitsPerSecond, keys: &str) -> String {
    format!("{{ rate = \"{}\", {keys} }}", display(rate))
}

/// The key with its entries, to follow other keys of a table; nothing if there are none.
fn by_rate(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() { String::new() } else { format!(", by_rate = [{}]", entries.join(", ")) }
}

fn fill_host(toml: &mut String, of: &Translation) -> std::fmt::Result {
    writeln!(toml, "[host]\npayload = \"{}B\"\nack_interval = 1", of.payload)?;
    writeln!(toml, "cnp_priority = {0}\nack_priority = {0}", of.ack_priority)?;
    writeln!(toml, "pause_response = \"0s\"\n\n[host.transport]\nkind = \"roce-rc\"")?;
    let Some(dcqcn) = &of.dcqcn else {
        return writeln!(toml, "congestion_control = \"none\"\n");
    };
    writeln!(toml, "congestion_control = \"dcqcn\"\n\n[host.transport.dcqcn]\nprofile = \"hpcc\"")?;
    for (key, time) in [
        ("alpha_update_interval", dcqcn.alpha_update_interval),
        ("rate_decrease_interval", dcqcn.rate_decrease_interval),
        ("rate_increase_timer", dcqcn.rate_increase_timer),
    ] {
        writeln!(toml, "{key} = \"{}\"", display(time))?;
    }
    writeln!(toml, "g = \"{}/{}\"", dcqcn.g.0, dcqcn.g.1)?;
    writeln!(toml, "fast_recovery_stages = {}", dcqcn.fast_recovery_stages)?;
    for (key, rate) in [
        ("additive_increase", dcqcn.additive_increase),
        ("hyper_increase", dcqcn.hyper_increase),
        ("minimum_rate", dcqcn.minimum_rate),
    ] {
        writeln!(toml, "{key} = \"{}\"", display(rate))?;
    }
    writeln!(toml)
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
    let ports = lists.iter().map(|list| format!("{} = {}", list.label, list.destination_port));
    writeln!(toml, "destination_ports = {{ {} }}", ports.collect::<Vec<_>>().join(", "))
}

/// A text of TOML; names of files may have any character.
fn text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Names of files may have line ends, with which a comment would end, and other characters that no TOML has.
fn in_comment(text: &str) -> String {
    text.replace(char::is_control, "?")
}

fn time(time: Nanos) -> String {
    display(Picos::from_nanos(time))
}
