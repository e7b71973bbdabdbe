//! Tests that are scenarios with `[[expect]]`, on whole fabrics: embedded ones, and a user's own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use analysis::expectation::{self, LentFolder};
use emulation::datapath::kernel::{FIRST_HOST_INTERFACE, Programs};
use emulation::engine::{Progress, Watch};
use emulation::run::{self, Error, Threads};
use emulation::switch_settings::FIRST_INTERFACE;
use netns::{Deployment, XdpAttachment};
use results::{RunEnd, Summary, TableError, TableReader};
use scenario::{DatapathKind, HookKind, Scenario};
use terminal::with_causes;
use topology::{HostId, NodeKind, SwitchId};

use super::bench::{Bench, Ended};
use super::rig::netns_verdict;
use super::surroundings::Surroundings;
use super::verdict::Verdict;

/// Text of an embedded scenario.
macro_rules! embedded {
    ($name:literal) => {
        include_str!(concat!("scenarios/", $name, ".toml"))
    };
}

const INCAST: &str = embedded!("incast");
/// Tables that must be equal in memory.
const SAME: [&str; 6] =
    ["flows.csv", "pauses.csv", "pause_time.csv", "links.csv", COUNTERS, "drops.csv"];
/// Place of a failed run.
const KERNEL: &str = "the kernel datapath";
const MEMORY: &str = "the memory datapath";
/// Table of counters with operators' names.
const COUNTERS: &str = "counters.csv";

/// An incast with native XDP.
pub fn native(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "fabric.native", INCAST, &["datapath.hook=xdp"])
}

/// An incast with generic XDP.
pub fn generic(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "fabric.generic", INCAST, &["datapath.hook=xdp-generic"])
}

/// An incast with TC.
pub fn tc(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "fabric.tc", INCAST, &["datapath.hook=tc"])
}

/// An incast over tap devices.
pub fn tap(bench: &mut Bench<'_>) -> Result<(), Ended> {
    bench.step("there are tap devices", || {
        let options = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
        let absent = |error| format!("/dev/net/tun: {error} (CONFIG_TUN, `modprobe tun`)");
        options.map(drop).map_err(|error| Verdict::skip(absent(error)))
    })?;
    embedded(bench, "fabric.tap", INCAST, &["datapath.links=tap"])
}

/// Traffic from two ports leaves through a shaped port.
pub fn shaped_egress(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "qos.shaped-egress", embedded!("shaped-egress"), &[])
}

/// PAUSE frames are counted for each priority.
pub fn pause_counters(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "qos.pause-counters", embedded!("pause-counters"), &[])
}

/// Only the lossy priority loses frames.
pub fn lossless_and_lossy(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "qos.lossless-and-lossy", embedded!("lossless-and-lossy"), &[])
}

/// Each lossless priority has headroom, and never exceeds it.
pub fn headroom(bench: &mut Bench<'_>) -> Result<(), Ended> {
    embedded(bench, "qos.headroom", embedded!("headroom"), &[])
}

fn embedded(bench: &mut Bench<'_>, test: &str, toml: &str, sets: &[&str]) -> Result<(), Ended> {
    let mut sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    sets.push(format!("seed={}", bench.seed()));
    sets.push("datapath.kind=kernel".to_owned());
    let toml = match bench.folder() {
        None => toml.to_owned(),
        Some(folder) => {
            let toml = format!("{toml}\n[[captures]]\nwires = [\"*\"]\nfilter = \"all\"\n");
            super::evidence::write(folder, "scenario.toml", &toml);
            toml
        }
    };
    let read = |sets: &[String]| {
        let scenario = Scenario::parse(&toml, Path::new("selftest.toml"), sets)
            .and_then(|scenario| expectation::check(&scenario).map(|()| scenario));
        scenario.unwrap_or_else(|error| panic!("the embedded scenario is right: {error}"))
    };
    let scenario = read(&sets);
    let lent = bench.step("there is room for results", || {
        Ok([super::evidence::lend()?, super::evidence::lend()?])
    })?;
    let [kernel, memory] = lent.each_ref().map(LentFolder::path);
    let _kept = super::evidence::KeptAtTheEnd::new(bench, kernel);
    run_scenario(bench, test, &scenario, kernel)?;
    bench.look("PAUSE counters agree at both ends of each link", || pauses_agree(kernel));
    sets.push("datapath.kind=memory".to_owned());
    let (scenario, stop) = (read(&sets), bench.stop());
    bench.look("tables are those of the memory datapath, byte for byte", || {
        let mut watch = Watch { interrupted: stop, progress: &mut |_| {} };
        sound(run::run(&scenario, Some(memory), Threads::ONE, &mut watch), MEMORY)?;
        same(kernel, memory)
    });
    Ok(())
}

/// Runs a user's scenario on its datapath.
pub fn run_user_scenario(
    bench: &mut Bench<'_>,
    name: &str,
    scenario: &Scenario,
) -> Result<(), Ended> {
    let folder = bench.step("there is room for results", super::evidence::lend)?;
    let _kept = super::evidence::KeptAtTheEnd::new(bench, folder.path());
    if let Some(report) = bench.folder() {
        super::evidence::write(report, "scenario.toml", scenario.to_toml());
    }
    run_scenario(bench, name, scenario, folder.path())
}

/// Runs a scenario. The run and the scenario's expectations are the steps.
fn run_scenario(
    bench: &mut Bench<'_>,
    test: &str,
    scenario: &Scenario,
    folder: &Path,
) -> Result<(), Ended> {
    let summary = match scenario.datapath.kind {
        DatapathKind::Memory => {
            let stop = bench.stop();
            bench.step("the run is sound", || {
                let mut watch = Watch { interrupted: stop, progress: &mut |_| {} };
                sound(run::run(scenario, Some(folder), Threads::ONE, &mut watch), MEMORY)
            })?
        }
        DatapathKind::Kernel => in_kernel(bench, test, scenario, folder)?,
    };
    for verdict in expectation::judge(scenario, &summary, Some(folder)) {
        let holds = if verdict.passed {
            Verdict::Pass
        } else {
            Verdict::fail(verdict.expected, verdict.got, verdict.look)
        };
        bench.add(&verdict.name, holds);
    }
    Ok(())
}

fn in_kernel(
    bench: &mut Bench<'_>,
    test: &str,
    scenario: &Scenario,
    folder: &Path,
) -> Result<Summary, Ended> {
    bench.step("the kernel has AF_XDP and clsact", || {
        super::features::need_af_xdp()?;
        super::features::need_clsact()
    })?;
    let fabric = bench.step("the fabric is deployed", || {
        run::deploy(scenario, Programs::Beside).map_err(|error| {
            let why = with_causes(&error);
            match error {
                emulation::datapath::kernel::DeployError::Netns(error) => netns_verdict(&error),
                _ if why.contains("(os error 38)") => Verdict::skip(format!("no BPF: {why}")),
                _ => Verdict::fail("a fabric", why, "deployment"),
            }
        })
    })?;
    let deployment = fabric.wires.shared_deployment();
    let ports = ports(scenario);
    bench.step("the kernel says that the programs are there", || {
        are_attached(scenario, &deployment, &ports)
    })?;
    let places: Vec<(usize, u32)> = ports.iter().map(|port| (port.namespace, port.index)).collect();
    let namespaces = deployment.namespaces();
    let surroundings = bench
        .step("the kernel reports its interfaces", || Surroundings::look(namespaces, &places))?;
    let names: Vec<_> = namespaces.iter().map(|it| it.name().to_owned()).collect();
    bench.pause(test, &names);
    bench.folder().into_iter().for_each(super::evidence::keep_objects);
    // Called periodically, and once more when the last frame has crossed and everything still exists.
    let seen = RefCell::new((Ok(()), Vec::new()));
    let stop = bench.stop();
    let summary = bench.step("the run is sound", || {
        let mut look = |_: Progress| {
            let attached = are_attached(scenario, &deployment, &ports);
            *seen.borrow_mut() = (attached, surroundings.changes(namespaces));
        };
        let mut watch = Watch { interrupted: stop, progress: &mut look };
        let outcome = run::run_on(scenario, fabric, Some(folder), Threads::ONE, &mut watch);
        sound(outcome, KERNEL)
            .map_err(|verdict| super::surroundings::explained(verdict, &seen.borrow().1))
    });
    let (attached, changes) = seen.into_inner();
    bench.look("the kernel says that the programs are still there", || attached);
    let verdict = super::surroundings::as_before(&changes, &names);
    bench.add("interfaces are as they were set up", verdict);
    summary
}

/// Returns the summary of a run, or a failure if the run is not sound.
fn sound(outcome: Result<run::Outcome, Error>, datapath: &str) -> Result<Summary, Verdict> {
    let outcome = outcome.map_err(|error| Verdict::fail("a run", with_causes(&error), datapath))?;
    let summary = outcome.report.summary;
    if let Some(failure) = &outcome.failure {
        let got = with_causes(failure);
        return Err(Verdict::fail("frames that all arrive", got, datapath));
    }
    if summary.ended == RunEnd::Interrupted {
        let got = format!("an interrupt after {} ns of emulated time", summary.emulated_ns);
        return Err(Verdict::fail("a run that ends in time (--time-limit)", got, datapath));
    }
    let substrate = summary.drops.substrate;
    if substrate > 0 || !summary.books.is_empty() {
        let got = format!("{substrate} frames lost, books: {}", summary.books.join("; "));
        return Err(Verdict::fail("no frame lost, and books that balance", got, "summary.json"));
    }
    if let Some(unfinished) = &summary.unfinished {
        let expected = "all flows complete";
        return Err(Verdict::fail(expected, unfinished.clone(), "summary.json"));
    }
    if !summary.is_sound() {
        let expected = "no lossless packet is dropped by a switch";
        return Err(Verdict::fail(expected, summary.limits_reached.join("; "), "summary.json"));
    }
    Ok(summary)
}

/// An interface of a fabric.
struct Port {
    namespace: usize,
    index: u32,
    is_switch: bool,
}

fn ports(scenario: &Scenario) -> Vec<Port> {
    let fabric = scenario.fabric();
    let of_node = |(namespace, node): (usize, &topology::Node)| -> Vec<Port> {
        match node.kind {
            NodeKind::Host(HostId(host)) => {
                vec![Port { namespace, index: FIRST_HOST_INTERFACE + host, is_switch: false }]
            }
            NodeKind::Switch(SwitchId(_)) => (FIRST_INTERFACE..)
                .take(node.ports.len())
                .map(|index| Port { namespace, index, is_switch: true })
                .collect(),
        }
    };
    fabric.nodes().iter().enumerate().flat_map(of_node).collect()
}

/// Queries the kernel for the attachment of programs to each port.
fn are_attached(
    scenario: &Scenario,
    deployment: &Deployment,
    ports: &[Port],
) -> Result<(), Verdict> {
    for port in ports {
        let namespace = deployment.namespace(port.namespace);
        let state = namespace.link_state(port.index).map_err(|error| netns_verdict(&error))?;
        let expected = match (scenario.datapath.hook, port.is_switch) {
            (HookKind::Xdp, _) | (HookKind::Tc, false) => XdpAttachment::Native,
            (HookKind::XdpGeneric, _) => XdpAttachment::Generic,
            (HookKind::Tc, true) => XdpAttachment::Nothing,
        };
        if state.xdp != expected {
            let place = format!("{}/{} (rtnetlink, IFLA_XDP)", namespace.name(), state.name);
            return Err(Verdict::fail(expected.to_string(), state.xdp.to_string(), place));
        }
    }
    Ok(())
}

/// Compares the tables of two runs.
fn same(kernel: &Path, memory: &Path) -> Result<(), Verdict> {
    for table in SAME {
        let [kernel, memory] = [kernel, memory].map(|it| fs::read_to_string(it.join(table)));
        let (Ok(kernel), Ok(memory)) = (&kernel, &memory) else {
            // A scenario may not have the table, but then both runs lack it.
            if kernel.is_err() && memory.is_err() {
                continue;
            }
            return Err(Verdict::fail("a table on both datapaths", "one of them", table));
        };
        if kernel != memory {
            let mut lines = (1..).zip(kernel.lines().zip(memory.lines()));
            let different = lines.find(|(_, (kernel, memory))| kernel != memory);
            let (line, (kernel, memory)) = different.unwrap_or((0, ("more rows", "fewer rows")));
            return Err(Verdict::fail(memory, kernel, format!("{table}, line {line}")));
        }
    }
    Ok(())
}

/// Compares the numbers of PAUSE frames that the ends of each link count as sent and as received.
fn pauses_agree(folder: &Path) -> Result<(), Verdict> {
    let unreadable =
        |error: TableError| Verdict::fail(COUNTERS, error.to_string(), "the results folder");
    let mut table = TableReader::open(folder, COUNTERS).map_err(unreadable)?;
    let columns = ["node", "peer", "priority", "counter", "value"];
    let columns = columns.map(|name| table.column(name).expect("the table has its columns"));
    // Sent and received, by sender, receiver and priority.
    let mut counted: BTreeMap<[String; 3], [u64; 2]> = BTreeMap::new();
    while table.advance().map_err(unreadable)? {
        let [node, peer, priority, name, value] =
            columns.map(|column| table.field(column).to_owned());
        let value: u64 = value.parse().unwrap_or_default();
        if name == format!("PFC_{priority}_TX_PKTS") {
            counted.entry([node, peer, priority]).or_default()[0] += value;
        } else if name == format!("PFC_{priority}_RX_PKTS") {
            counted.entry([peer, node, priority]).or_default()[1] += value;
        }
    }
    if counted.is_empty() {
        return Err(Verdict::fail("PAUSE frames", "none", COUNTERS));
    }
    for ([sender, receiver, priority], [sent, received]) in counted {
        if sent != received {
            let expected =
                format!("the {sent} PAUSE frames of priority {priority} that {sender} sent");
            let place = format!("{COUNTERS}, {receiver}");
            return Err(Verdict::fail(expected, format!("{received} received"), place));
        }
    }
    Ok(())
}
