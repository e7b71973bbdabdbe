//! One side of a comparison: the folder of a run, or a simulator's `fct.txt` and `pfc.txt`.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use emulation::hpcc_options::hpcc_nodes;
use fabric_core::hop_control::PauseEvent;
use results::query::rows;
use results::{
    DESTINATION_PORT, FCT_FILE, FIRST_SOURCE_PORT, FlowRow, HpccNode, PFC_FILE, PauseRow, Row,
    SCENARIO_FILE, Summary, read_fct, read_pfc, table_path,
};
use scenario::{Hpcc, HpccFabric};
use topology::{Fabric, NodeId};
use units::Nanos;
use workload::PortCounts;

use super::flows::{Flow, Names};
use super::pauses::{Event, Place, Places};
use super::{CompareError, sweeps};
use crate::report;

/// One side of a comparison.
pub enum Side {
    /// A run.
    Run(Box<Run>),
    /// Files of a simulator.
    Files(Files),
}

/// Files of a simulator.
pub struct Files {
    /// The `fct.txt`; `None` if the side has pauses only.
    flows: Option<PathBuf>,
    /// The `pfc.txt`, which may be missing.
    pauses: PathBuf,
}

/// A run.
pub struct Run {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Summary of the run.
    pub summary: Summary,
}

impl Side {
    /// Opens the folder of a run, an `fct.txt`, a `pfc.txt`, or a simulator's folder with one.
    pub fn open(path: &Path) -> Result<Self, CompareError> {
        let found = std::fs::metadata(path)
            .map_err(|source| CompareError::Absent { path: path.to_owned(), source })?;
        if !found.is_dir() {
            return Ok(Self::Files(Files::new(path)));
        }
        if sweeps::is_sweep(path) {
            return Err(CompareError::OnlyRuns(path.to_owned()));
        }
        let is_run = path.join(Summary::FILE).exists();
        if let Some(files) = if is_run { None } else { Files::find(path)? } {
            return Ok(Self::Files(files));
        }
        let summary = report::summary(path)?;
        Ok(Self::Run(Box::new(Run { folder: path.to_owned(), summary })))
    }

    /// Returns the run, if this side is one.
    pub const fn run(&self) -> Option<&Run> {
        match self {
            Self::Run(run) => Some(run),
            Self::Files(_) => None,
        }
    }

    /// Returns the name of the file with this side's flows.
    pub const fn file_of_flows(&self) -> &'static str {
        match self {
            Self::Run(_) => FlowRow::FILE,
            Self::Files(_) => FCT_FILE,
        }
    }

    /// Returns true if this side has a table of pauses as switches decided them.
    pub fn has_decisions(&self) -> bool {
        self.run().is_some_and(|run| table_path(&run.folder, PauseRow::FILE).exists())
    }

    /// Returns true if this side has a file of pauses as they arrived.
    pub fn has_arrivals(&self) -> bool {
        self.arrivals().exists()
    }

    /// Returns the path of pauses as they arrived.
    fn arrivals(&self) -> PathBuf {
        match self {
            Self::Run(run) => run.folder.join(PFC_FILE),
            Self::Files(files) => files.pauses.clone(),
        }
    }

    /// Reads the flows in the order of their starts. `None` if the side has no flows. `numbering` is the run's, if
    /// one of the sides is a file.
    pub fn flows(
        &self,
        numbering: Option<&Numbering>,
        names: &mut Names,
    ) -> Result<Option<Vec<Flow>>, CompareError> {
        let mut flows = match self {
            Self::Run(run) if !table_path(&run.folder, FlowRow::FILE).exists() => return Ok(None),
            Self::Run(run) => run.flows(numbering, names)?,
            Self::Files(Files { flows: None, .. }) => return Ok(None),
            Self::Files(Files { flows: Some(path), .. }) => {
                let mut numbers = BTreeMap::new();
                let mut node = |id| {
                    let name = || numbering.map_or_else(|| unnamed(id), |it| it.name(id));
                    *numbers.entry(id).or_insert_with(|| names.number(&name()))
                };
                let offset = offset(numbering);
                let flow = |line: results::FctLine| Flow {
                    number: line.line,
                    label: None,
                    ports: line.ports,
                    from: node(line.source),
                    to: node(line.destination),
                    bytes: line.bytes.0,
                    start_ns: instant(line.start, offset),
                    fct_ns: Some(line.fct.0),
                    ideal_ns: line.standalone.0,
                };
                read_fct(path)?.into_iter().map(flow).collect()
            }
        };
        flows.sort_by_key(|flow| (flow.start_ns, flow.number));
        Ok(Some(flows))
    }

    /// Reads pauses as switches decided them.
    pub fn read_decisions(&self, places: &mut Places) -> Result<Vec<Event>, CompareError> {
        const EVENTS: [PauseEvent; 3] =
            [PauseEvent::Pause, PauseEvent::Refresh, PauseEvent::Resume];
        let mut events = Vec::new();
        let Some(run) = self.run() else { return Ok(events) };
        let columns = ["time_ns", "node", "port", "peer", "priority", "event"];
        rows(&run.folder, PauseRow::FILE, columns, |row| {
            let kind = EVENTS.into_iter().find(|kind| kind.name() == row.text(5));
            let place = Place {
                node: Some(row.text(1).to_owned()),
                port: Some(row.exact(2)?),
                paused: row.text(3).to_owned(),
                interface: None,
                priority: Some(row.exact(4)?),
            };
            events.push(Event {
                time_ns: row.exact(0)?,
                place: places.number(place),
                kind: kind
                    .ok_or_else(|| row.wrong(format!("no event is called {:?}", row.text(5))))?,
            });
            Ok(())
        })?;
        Ok(events)
    }

    /// Reads pauses as they arrived.
    pub fn read_arrivals(
        &self,
        numbering: Option<&Numbering>,
        places: &mut Places,
    ) -> Result<Vec<Event>, CompareError> {
        let offset = offset(numbering);
        let event = |line: results::PfcLine| {
            let unnamed = || Place::of_file(unnamed(line.node), line.interface);
            let place = numbering.and_then(|it| it.place(line.node, line.interface));
            Event {
                time_ns: instant(line.time, offset),
                place: places.number(place.unwrap_or_else(unnamed)),
                kind: if line.pauses { PauseEvent::Pause } else { PauseEvent::Resume },
            }
        };
        Ok(read_pfc(&self.arrivals())?.into_iter().map(event).collect())
    }
}

impl Files {
    /// Names the files by one of them. `7_out_pfc.txt` belongs to `7_out_fct.txt`.
    fn new(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(PFC_FILE) {
            return Self { flows: None, pauses: path.to_owned() };
        }
        let [fct, pfc] = [FCT_FILE, PFC_FILE].map(|file| file.trim_end_matches(".txt"));
        let pauses = match name.rsplit_once(fct) {
            Some((before, after)) => path.with_file_name(format!("{before}{pfc}{after}")),
            None => path.with_file_name(PFC_FILE),
        };
        Self { flows: Some(path.to_owned()), pauses }
    }

    /// Finds the files in a folder: `fct.txt`, or a file like `7_out_fct.txt`; without either the same of `pfc.txt`.
    fn find(folder: &Path) -> Result<Option<Self>, CompareError> {
        for file in [FCT_FILE, PFC_FILE] {
            let plain = folder.join(file);
            if plain.exists() {
                return Ok(Some(Self::new(&plain)));
            }
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> =
                names.filter(|name| name.ends_with(&format!("_{file}"))).collect();
            names.sort_unstable();
            match &names[..] {
                [] => {}
                [name] => return Ok(Some(Self::new(&folder.join(name)))),
                _ => return Err(CompareError::Several(folder.to_owned(), names)),
            }
        }
        Ok(None)
    }
}

impl Run {
    fn flows(
        &self,
        numbering: Option<&Numbering>,
        names: &mut Names,
    ) -> Result<Vec<Flow>, CompareError> {
        let columns = ["flow", "src", "dst", "bytes", "start_ns", "fct_ns", "ideal_ns", "label"];
        let mut flows: Vec<Flow> = Vec::new();
        rows(&self.folder, FlowRow::FILE, columns, |row| {
            let port = numbering.map_or(0, |it| {
                let ports = &it.hpcc.destination_ports;
                ports.get(row.text(7)).copied().unwrap_or(DESTINATION_PORT)
            });
            let start_ns: i64 = row.exact(4)?;
            let fct_ns: Option<u64> =
                if row.text(5).is_empty() { None } else { Some(row.exact(5)?) };
            if start_ns.checked_add_unsigned(fct_ns.unwrap_or(0)).is_none() {
                return Err(row.wrong(format!("its end is later than {} ns", i64::MAX)));
            }
            flows.push(Flow {
                number: row.exact(0)?,
                label: Some(names.number(row.text(7))),
                ports: Some([0, port]),
                from: names.number(row.text(1)),
                to: names.number(row.text(2)),
                bytes: row.exact(3)?,
                start_ns,
                fct_ns,
                ideal_ns: row.exact(6)?,
            });
            Ok(())
        })?;
        flows.sort_by_key(|flow| flow.number);
        let mut source_ports = PortCounts::default();
        for flow in &mut flows {
            let port = source_ports.take((flow.from, flow.to), FIRST_SOURCE_PORT);
            flow.ports = flow.ports.map(|[_, destination]| [port, destination]);
        }
        let path = self.folder.join(FCT_FILE);
        if let Some(numbering) = numbering.filter(|_| path.exists()) {
            let mut lines: BTreeMap<_, VecDeque<results::FctLine>> = BTreeMap::new();
            for line in read_fct(&path)? {
                let [from, to] = [line.source, line.destination].map(|id| numbering.name(id));
                let start_ns = instant(line.start, offset(Some(numbering)));
                let (from, to) = (names.number(&from), names.number(&to));
                let key = (from, to, line.bytes.0, start_ns, Some(line.fct.0));
                lines.entry(key).or_default().push_back(line);
            }
            // Only this file has the ports of a dialect (`host.ns3.ports`) and the simulator's ideal times
            // (`results.hpcc.standalone_headers`).
            for flow in &mut flows {
                let key = (flow.from, flow.to, flow.bytes, flow.start_ns, flow.fct_ns);
                let line = lines.get_mut(&key).and_then(VecDeque::pop_front);
                flow.ports = line.and_then(|line| line.ports);
                flow.ideal_ns = line.map_or(flow.ideal_ns, |line| line.standalone.0);
            }
        }
        Ok(flows)
    }
}

/// Numbers of a run's nodes in the files of a simulator.
pub struct Numbering {
    fabric: Fabric,
    hpcc: Hpcc,
    nodes: BTreeMap<String, HpccNode>,
    by_id: BTreeMap<u32, NodeId>,
}

impl Numbering {
    /// Reads the scenario of a run.
    pub fn read(folder: &Path) -> Result<Self, CompareError> {
        let HpccFabric { shape, fabric, hpcc } = HpccFabric::load(&folder.join(SCENARIO_FILE))?;
        let nodes = hpcc_nodes(&shape, &fabric, &hpcc);
        let by_id = fabric.nodes().iter().zip(0..);
        let by_id = by_id.map(|(node, number)| (nodes[&node.name].id, NodeId(number))).collect();
        Ok(Self { fabric, hpcc, nodes, by_id })
    }

    fn name(&self, id: u32) -> String {
        let node = self.by_id.get(&id).map(|&node| &self.fabric.node(node).name);
        node.map_or_else(|| unnamed(id), Clone::clone)
    }

    /// Returns the port that pauses an interface of a node.
    fn place(&self, node: u32, interface: u32) -> Option<Place> {
        let fabric = &self.fabric;
        let paused = fabric.node(*self.by_id.get(&node)?);
        let interfaces = &self.nodes[&paused.name].interfaces;
        let port = interfaces.iter().position(|&it| it == interface)?;
        let wire = fabric.wire(paused.ports[port]);
        Some(Place {
            node: Some(fabric.node(wire.to).name.clone()),
            port: Some(wire.to_port),
            paused: paused.name.clone(),
            interface: None,
            priority: None,
        })
    }
}

/// Name of a node without a scenario.
fn unnamed(id: u32) -> String {
    format!("node {id}")
}

/// Offset of a file's times.
fn offset(numbering: Option<&Numbering>) -> Nanos {
    numbering.map_or(Nanos(0), |it| it.hpcc.time_offset.to_nanos())
}

/// Instant of a file, less the offset of its times. Both have 63 bits: readers refuse later instants, and an offset is
/// less than 2^64 ps.
const fn instant(time: Nanos, offset: Nanos) -> i64 {
    time.0.cast_signed() - offset.0.cast_signed()
}
