//! The report of `xoff inspect`.

use std::fmt;

use results::counted;
use topology::{Fabric, WireId};
use units::{BitsPerSecond, Bytes, Picos};

use super::{
    Asic, Collisions, Cycle, ElidedTurns, FlowPath, HeldBack, Inspection, PathGroup,
    PausingSwitches, Prevention, QueuePauses, StaticRoute, StaticRoutes, SwitchBuffers,
    TransportPaths,
};

/// Max number of overloaded wires, of their flows, and of members of cycles that are listed.
const LISTED: usize = 16;

/// The report on a fabric.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Results of the analysis.
    pub inspection: &'a Inspection,
    /// Fabric, for the names of wires.
    pub fabric: &'a Fabric,
    /// Chip whose headroom is compared with the scenario's.
    pub asic: Option<&'a Asic>,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inspection { shape, hosts, switches, .. } = self.inspection;
        let links: u32 = self.inspection.links.iter().map(|group| group.count).sum();
        writeln!(f, "fabric: {shape}")?;
        let counts = [(*hosts, "host"), (*switches, "switch"), (links, "link")];
        let counts = counts.map(|(number, noun)| counted(number.into(), noun));
        writeln!(f, "  {}", counts.join(", "))?;
        self.links(f)?;
        self.routes(f)?;
        self.paths(f)?;
        writeln!(f, "buffers")?;
        let has_headroom = !self.inspection.lossless.is_empty();
        self.inspection.buffers.iter().try_for_each(|group| buffers(f, group, has_headroom))?;
        if has_headroom {
            writeln!(f, "headroom of a lossless queue, by what its link needs")?;
        }
        for link in &self.inspection.headroom {
            writeln!(f, "{link}")?;
            self.asic.iter().try_for_each(|asic| writeln!(f, "{}", asic.headroom(link)))?;
        }
        if let Some(lossy) = &self.inspection.lossy {
            writeln!(f, "{lossy}")?;
        }
        if let Some(pauses) = &self.inspection.queue_pauses {
            queue_pauses(f, pauses)?;
        }
        if let Some(pauses) = &self.inspection.flow_pauses {
            pauses.fmt(f)?;
        }
        self.load(f)?;
        self.inspection.collisions.iter().try_for_each(|found| self.collisions(f, found))?;
        self.cycles(f)?;
        self.inspection.held_back.iter().try_for_each(|graph| self.held_back(f, graph))
    }
}

impl Report<'_> {
    fn links(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "links")?;
        for group in &self.inspection.links {
            let (rate, delay) = (rate(group.rate), time(group.delay));
            writeln!(f, "  {:<16} {:>6} x {rate}, {delay}", group.tiers, group.count)?;
        }
        Ok(())
    }

    fn routes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaticRoutes { entries, paths } = &self.inspection.routes;
        if !entries.is_empty() {
            static_routes(f, entries)?;
        }
        if paths.is_empty() { Ok(()) } else { flow_paths(f, paths) }
    }

    fn paths(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for TransportPaths { transports, groups } in &self.inspection.paths {
            let has_flows = self.fabric.static_routes().flows().next().is_some();
            let base_rtt = if has_flows {
                "base RTT: a full packet and its ACK, idle; without flows that have routes of their own"
            } else {
                "base RTT: a full packet and its ACK, idle"
            };
            match self.inspection.paths.len() {
                1 => writeln!(f, "paths between hosts ({base_rtt})")?,
                _ => writeln!(f, "paths between hosts, {} ({base_rtt})", transports.join(", "))?,
            }
            groups.iter().try_for_each(|group| path_group(f, group))?;
        }
        Ok(())
    }

    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inspection.load.is_empty() {
            return Ok(());
        }
        writeln!(f, "expected load (payload, by workloads at a rate)")?;
        for tier in &self.inspection.load {
            writeln!(
                f,
                "  {:<20} {:>6} wires: {:>7} in the mean, {:>7} at most ({})",
                tier.direction,
                tier.wires,
                percent(tier.mean_millionths),
                percent(tier.largest_millionths),
                tier.largest
            )?;
        }
        Ok(())
    }

    fn collisions(&self, f: &mut fmt::Formatter<'_>, found: &Collisions) -> fmt::Result {
        let Collisions { label, flows, wires_by_flows, overloaded } = found;
        writeln!(f, "flows of `{label}` on wires between switches ({flows} flows)")?;
        for (flows, wires) in wires_by_flows.iter().enumerate().filter(|(_, wires)| **wires > 0) {
            writeln!(f, "  {flows} flows: {wires} wires")?;
        }
        if overloaded.is_empty() {
            return writeln!(f, "  no wire has more than it carries");
        }
        writeln!(f, "  {} wires have more than they carry:", overloaded.len())?;
        for overload in overloaded.iter().take(LISTED) {
            let name = &self.fabric.wire(overload.wire).name;
            let flows: Vec<String> =
                overload.flows.iter().take(LISTED).map(ToString::to_string).collect();
            let more = if overload.flows.len() > LISTED { ", .." } else { "" };
            let count = overload.flows.len();
            writeln!(f, "    {name}: {count} flows: {}{more}", flows.join(", "))?;
        }
        if overloaded.len() > LISTED {
            writeln!(f, "    ..")?;
        }
        Ok(())
    }

    fn cycles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "buffer dependency")?;
        if self.inspection.lossless.is_empty() {
            return writeln!(f, "  no priority is lossless: no switch sends a PAUSE by PFC");
        }
        if self.inspection.cycles.is_empty() {
            return writeln!(f, "  no cycle: PFC cannot deadlock on these routes");
        }
        self.inspection.cycles.iter().try_for_each(|cycle| self.cycle(f, cycle))
    }

    fn cycle(&self, f: &mut fmt::Formatter<'_>, cycle: &Cycle) -> fmt::Result {
        let count = cycle.members.len();
        writeln!(f, "  {count} ingress ports depend on each other: PFC can deadlock")?;
        let names = cycle.members.iter().take(LISTED).map(|wire| self.port(*wire));
        let names: Vec<String> = names.collect();
        let more = if count > LISTED { ", .." } else { "" };
        writeln!(f, "    ports: {}{more}", names.join(", "))?;
        let name = |wire: &WireId| &self.fabric.node(self.fabric.wire(*wire).from).name;
        let around: Vec<&str> = cycle.example.iter().map(|wire| name(wire).as_str()).collect();
        writeln!(f, "    a cycle: {} -> {}", around.join(" -> "), around[0])
    }

    fn held_back(&self, f: &mut fmt::Formatter<'_>, graph: &HeldBack) -> fmt::Result {
        let HeldBack { scheme, ports, edges, cycles, prevention } = graph;
        let counts = [(u64::from(*ports), "egress port"), (*edges, "edge")];
        let [ports, edges] = counts.map(|(number, noun)| counted(number, noun));
        writeln!(f, "backpressure graph\n  {ports} of switches, {edges} by the routes")?;
        let verdict = match prevention {
            Some(_) => "this is prevented".to_owned(),
            None => format!("{scheme} can deadlock"),
        };
        if cycles.is_empty() {
            writeln!(f, "  no cycle: {scheme} cannot deadlock on these routes")?;
        }
        for cycle in cycles.iter().take(LISTED) {
            let count = cycle.members.len();
            writeln!(f, "  {count} egress ports can hold each other back in a cycle: {verdict}")?;
            let name = |wire: &WireId| self.fabric.wire(*wire).name.as_str();
            let around: Vec<&str> = cycle.example.iter().take(LISTED).map(name).collect();
            let more = if cycle.example.len() > LISTED { " .." } else { "" };
            writeln!(f, "    a cycle: {}{more}", around.join(" "))?;
        }
        if cycles.len() > LISTED {
            writeln!(f, "  .. {} in all", counted(cycles.len() as u64, "such group"))?;
        }
        prevention.iter().try_for_each(|prevention| self::prevention(f, prevention))
    }

    /// Returns the name of the ingress port that a wire enters.
    fn port(&self, wire: WireId) -> String {
        let wire = self.fabric.wire(wire);
        let name = |node| &self.fabric.node(node).name;
        format!("{} port {} (from {})", name(wire.to), wire.to_port, name(wire.from))
    }
}

impl Inspection {
    /// Returns the report. `fabric` is the inspected scenario's; `asic` is a chip whose headroom is compared.
    pub fn report<'a>(&'a self, fabric: &'a Fabric, asic: Option<&'a Asic>) -> Report<'a> {
        Report { inspection: self, fabric, asic }
    }
}

/// Writes the buffers of a group. `has_headroom` is false without lossless priorities.
fn buffers(f: &mut fmt::Formatter<'_>, group: &SwitchBuffers, has_headroom: bool) -> fmt::Result {
    let names = names(&group.switches);
    let pools = &group.pools;
    let total = Bytes(pools.shared.0 + pools.private.0 + pools.headroom.0 + pools.lossy.0);
    write!(
        f,
        "  {names}: {} = {} shared + {} private + {} headroom",
        bytes(total),
        bytes(pools.shared),
        bytes(pools.private),
        bytes(pools.headroom)
    )?;
    match pools.lossy {
        Bytes(0) => writeln!(f)?,
        lossy => writeln!(f, " + {} for lossy packets", bytes(lossy))?,
    }
    let of = if pools.insurance { "insurance headroom" } else { "headroom for a queue" };
    for port in &group.ports {
        let (rate, delay) = (rate(port.rate), time(port.delay));
        let headroom = port.headroom.0;
        let count = port.count;
        write!(f, "    {count:>4} x {rate}, {delay}")?;
        if has_headroom {
            write!(f, ": {headroom} B {of}")?;
        }
        match port.once_measured {
            Some(measured) => writeln!(f, ", about {} B once the link is measured", measured.0)?,
            None => writeln!(f)?,
        }
    }
    if group.unlinked_ports > 0 {
        let count = group.unlinked_ports;
        let headroom = pools.headroom_by_port.iter().max().copied().unwrap_or_default().0;
        write!(f, "    {count:>4} x no link")?;
        if has_headroom {
            write!(f, ": {headroom} B {of}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// Lists the names of switches.
fn names(switches: &[String]) -> String {
    match switches {
        [first, .., last] if switches.len() > 4 => {
            format!("{first} to {last} ({} switches)", switches.len())
        }
        few => few.join(", "),
    }
}

fn queue_pauses(f: &mut fmt::Formatter<'_>, pauses: &QueuePauses) -> fmt::Result {
    let QueuePauses { priorities, queues, flow_table, bitmap_period, switches, .. } = pauses;
    let priorities: Vec<String> = priorities.iter().map(u8::to_string).collect();
    writeln!(f, "backpressure")?;
    writeln!(
        f,
        "  a port: {queues} queues for priority {}, {} of flow table, a bitmap each {}",
        priorities.join(", and for priority "),
        bytes(*flow_table),
        time(*bitmap_period),
    )?;
    for PausingSwitches { switches, thresholds, sticky } in switches {
        let of = |(of, threshold): &(BitsPerSecond, Bytes)| {
            format!("{} / active queues at {}", bytes(*threshold), rate(*of))
        };
        let thresholds: Vec<String> = thresholds.iter().map(of).collect();
        writeln!(
            f,
            "  {}: a queue pauses above {}; a flow keeps its queue for {}",
            names(switches),
            thresholds.join(", "),
            time(Picos::from_nanos(*sticky)),
        )?;
    }
    Ok(())
}

fn prevention(f: &mut fmt::Formatter<'_>, prevention: &Prevention) -> fmt::Result {
    let Prevention { elided, edges_by_routes, edges_by_all_turns, cycles } = prevention;
    writeln!(f, "  turns (ingress port, egress port) that pause nothing")?;
    for ElidedTurns { tier, switches, turns } in elided {
        writeln!(f, "    {tier:<16} {switches:>6} x {}", counted(*turns, "turn"))?;
    }
    let cycles = match cycles {
        0 => "no cycle".into(),
        cycles => counted(*cycles as u64, "cycle"),
    };
    let [routes, all] = [edges_by_routes, edges_by_all_turns].map(|edges| counted(*edges, "edge"));
    writeln!(f, "  left: {routes} by the routes; {all} by any routes, and {cycles}")
}

/// Formats a number with about four digits, for people; results have exact values elsewhere.
pub(super) fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().unwrap_or(&"");
    for larger in units {
        if value < 1000.0 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    format!("{short} {unit}")
}

fn static_routes(f: &mut fmt::Formatter<'_>, entries: &[StaticRoute]) -> fmt::Result {
    writeln!(f, "static routes")?;
    let width = |column: fn(&StaticRoute) -> &str| {
        entries.iter().map(|entry| column(entry).len()).max().unwrap_or(0)
    };
    let (at, frames) = (width(|entry| &entry.at), width(|entry| &entry.frames));
    for entry in entries.iter().take(LISTED) {
        writeln!(f, "  {:at$}  {:frames$}  via {}", entry.at, entry.frames, entry.via)?;
    }
    if entries.len() > LISTED {
        writeln!(f, "  .. {} in all", entries.len())?;
    }
    Ok(())
}

fn flow_paths(f: &mut fmt::Formatter<'_>, paths: &[FlowPath]) -> fmt::Result {
    writeln!(f, "paths of flows whose lists have a path or a source port")?;
    let hosts = |path: &FlowPath| format!("{} -> {}", path.from, path.to);
    let listed = || paths.iter().take(LISTED);
    let width = listed().map(|path| hosts(path).len()).max().unwrap_or(0);
    let of_switches = listed().map(|path| path.switches.len()).max().unwrap_or(0);
    for path in listed() {
        let (hosts, flows) = (hosts(path), counted(path.flows, "flow"));
        writeln!(f, "  {hosts:width$}  {:of_switches$}  {flows}", path.switches)?;
    }
    if paths.len() > LISTED {
        let flows = counted(paths.iter().map(|path| path.flows).sum(), "flow");
        writeln!(f, "  .. {flows} on {} in all", counted(paths.len() as u64, "path"))?;
    }
    Ok(())
}

fn path_group(f: &mut fmt::Formatter<'_>, group: &PathGroup) -> fmt::Result {
    let paths = match group.paths {
        (1, 1) => "1 path".into(),
        (least, most) if least == most => format!("{least} paths"),
        (least, most) => format!("{least} to {most} paths"),
    };
    let rtt = match group.base_rtt {
        (least, most) if least == most => time(least),
        (least, most) => format!("{} to {}", time(least), time(most)),
    };
    let (links, pairs, bdp) = (group.links, group.pairs, bytes(group.bdp));
    writeln!(f, "  {links} links: {pairs} pairs, {paths}, base RTT {rtt}, BDP {bdp}")
}

pub(crate) fn rate(rate: BitsPerSecond) -> String {
    scaled(rate.0 as f64, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

pub(crate) fn time(time: Picos) -> String {
    scaled(time.0 as f64, &["ps", "ns", "us", "ms", "s"])
}

pub(super) fn bytes(bytes: Bytes) -> String {
    scaled(bytes.0 as f64, &["B", "kB", "MB", "GB", "TB"])
}

fn percent(millionths: u64) -> String {
    format!("{:.2}%", millionths as f64 / 1e4)
}
