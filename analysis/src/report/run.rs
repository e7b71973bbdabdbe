//! Data of one run for a report, from its folder of results.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use results::query::rows_if_there;
use results::{Summary, count};
use scenario::Scenario;
use scenario::report::printable;
use serde::Serialize;

use super::ReportError;
use super::chart::Unit;
use super::drops::Drops;
use super::origin::{self, Build};
use super::time::micros;
use crate::graph::Load;

/// A value over time: points of the time in nanoseconds, and the value from then on.
pub type Curve = Vec<(f64, f64)>;

/// Slowdowns of flows in a range of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeBin {
    /// Range of sizes.
    pub range: SizeRange,
    /// Mean, median, 95th and 99th percentile of the slowdown.
    pub slowdown: [f64; 4],
    /// Mean and 99th percentile of the completion time, in nanoseconds.
    pub fct_ns: [f64; 2],
    /// Place on an axis: the upper bound, or the largest completed flow in the open-ended range.
    pub place: f64,
}

/// A range of flow sizes in bytes; ranges are ordered by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SizeRange {
    /// Exclusive lower bound.
    pub above: u64,
    /// Inclusive upper bound; `u64::MAX` for the open-ended range.
    pub up_to: u64,
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.up_to {
            u64::MAX => write!(f, "above {}", Unit::Bytes.write(self.above as f64)),
            up_to => write!(f, "up to {}", Unit::Bytes.write(up_to as f64)),
        }
    }
}

/// Paused part of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Paused {
    /// A priority (PFC).
    Priority(u8),
    /// A queue of the neighbour.
    Queue(u8),
}

/// Pauses of one neighbour by another.
#[derive(Clone, Debug, PartialEq)]
pub struct Pauses {
    /// Name of the paused node.
    pub paused: String,
    /// Node that sent the pauses.
    pub by: String,
    /// Port of that node.
    pub port: String,
    /// Paused priority or queue.
    pub what: Paused,
    /// From the decision to pause to the decision to resume, in nanoseconds, in order.
    pub spans: Vec<(f64, f64)>,
}

/// A run.
pub struct Run {
    /// Name in the report.
    pub name: String,
    /// Folder of the run.
    pub folder: PathBuf,
    /// Build of xoff that made the run.
    pub build: Build,
    /// Command that made the run, if known.
    pub command: Option<String>,
    /// Date of the run, if known.
    pub date: Option<String>,
    /// Summary of the run.
    pub summary: Summary,
    /// Scenario of the run, or the reason why it cannot be read.
    pub scenario: Result<Scenario, String>,
    /// Slowdown by size of all flows.
    pub sizes: Vec<SizeBin>,
    /// Slowdown of each completed flow, ascending.
    pub slowdowns: Vec<f64>,
    /// At most ten flows with the highest slowdowns: number, label, sender, receiver, bytes, microseconds, slowdown.
    pub slowest: Vec<[String; 7]>,
    /// Bytes in switches, by name.
    pub buffers: BTreeMap<String, Curve>,
    /// Bytes in headroom, by switch.
    pub headroom: BTreeMap<String, Curve>,
    /// Bytes at egress ports, by switch, port and priority.
    pub egress: BTreeMap<String, Curve>,
    /// Throughput of flows in bit/s, by flow, if recorded.
    pub throughput: BTreeMap<String, Curve>,
    /// Pauses of priorities and of single queues, the longest total first.
    pub pauses: Vec<Pauses>,
    /// Dropped frames.
    pub drops: Drops,
    /// Loads by wire.
    pub loads: BTreeMap<String, Load>,
}

impl Run {
    /// Reads a folder of results.
    pub fn read(folder: &Path, name: String) -> Result<Self, ReportError> {
        let summary = super::summary(folder)?;
        let scenario = Scenario::load(&folder.join(results::SCENARIO_FILE), &[])
            .map_err(|error| printable(error.title()).into_owned());
        let Flows { slowdowns, slowest, largest, labels } = flows(folder)?;
        let interval = match &scenario {
            Ok(scenario) => scenario.results.throughput.as_ref().map(|it| it.interval),
            Err(_) => None,
        };
        let interval = interval.map_or(f64::INFINITY, |interval| interval.0 as f64 / 1e3);
        let mut run = Self {
            name,
            folder: folder.to_owned(),
            build: origin::build(folder),
            command: origin::command(folder),
            date: origin::date(folder),
            summary,
            scenario,
            sizes: sizes(folder, largest)?,
            slowdowns,
            slowest,
            buffers: BTreeMap::new(),
            headroom: BTreeMap::new(),
            egress: BTreeMap::new(),
            throughput: throughput(folder, interval, &labels)?,
            pauses: Vec::new(),
            drops: Drops::default(),
            loads: loads(folder)?,
        };
        run.drops = Drops::read(folder, run.end_ns())?;
        run.pauses = pauses(folder, run.end_ns())?;
        run.read_pause_shares()?;
        run.read_queues()?;
        Ok(run)
    }

    /// Returns the run's end in nanoseconds.
    pub const fn end_ns(&self) -> f64 {
        self.summary.emulated_ns as f64
    }

    /// Reads the share of the run in which the sender of each wire was paused.
    fn read_pause_shares(&mut self) -> Result<(), ReportError> {
        let Ok(scenario) = &self.scenario else { return Ok(()) };
        let fabric = scenario.fabric();
        let nodes: BTreeMap<&str, _> =
            fabric.nodes().iter().map(|node| (&*node.name, &node.ports)).collect();
        let loads = &mut self.loads;
        rows_if_there(&self.folder, "pause_time.csv", ["node", "port", "share"], |row| {
            let (port, share) = (row.number(1)? as usize, row.number(2)?);
            let wire = nodes.get(row.text(0)).and_then(|ports| ports.get(port));
            if let Some(load) = wire.and_then(|wire| loads.get_mut(&fabric.wire(*wire).name)) {
                load.paused = load.paused.max(share);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn read_queues(&mut self) -> Result<(), ReportError> {
        let columns = ["time_ns", "node", "kind", "port", "priority", "bytes"];
        let end = self.end_ns();
        let (buffers, headroom, egress) = (&mut self.buffers, &mut self.headroom, &mut self.egress);
        rows_if_there(&self.folder, "queues.csv", columns, |row| {
            let (curves, name) = match row.text(2) {
                "buffer" => (&mut *buffers, row.text(1).to_owned()),
                "headroom" => (&mut *headroom, row.text(1).to_owned()),
                "egress" => {
                    let name = format!("{} port {} prio {}", row.text(1), row.text(3), row.text(4));
                    (&mut *egress, name)
                }
                _ => return Ok(()),
            };
            curves.entry(name).or_default().push((row.number(0)?, row.number(5)?));
            Ok(())
        })?;
        for curve in [buffers, headroom, egress].into_iter().flat_map(BTreeMap::values_mut) {
            let last = curve.last().map_or(0.0, |&(_, bytes)| bytes);
            curve.insert(0, (0.0, 0.0));
            curve.push((end, last));
        }
        Ok(())
    }
}

/// Reads the size ranges. `largest` is the size of the largest completed flow.
fn sizes(folder: &Path, largest: f64) -> Result<Vec<SizeBin>, ReportError> {
    let columns = [
        "label",
        "above_bytes",
        "up_to_bytes",
        "completed",
        "slowdown_mean",
        "slowdown_p50",
        "slowdown_p95",
        "slowdown_p99",
        "fct_mean_ns",
        "fct_p99_ns",
    ];
    let mut bins = Vec::new();
    rows_if_there(folder, "fct_by_size.csv", columns, |row| {
        if !row.text(0).is_empty() || row.number(3)? == 0.0 {
            return Ok(());
        }
        let up_to = row.optional(2)?.map_or(u64::MAX, |bytes| bytes as u64);
        let range = SizeRange { above: row.number(1)? as u64, up_to };
        let mut slowdown = [0.0; 4];
        for (value, column) in slowdown.iter_mut().zip(4..) {
            *value = row.number(column)?;
        }
        let place = if up_to == u64::MAX { largest.max(range.above as f64) } else { up_to as f64 };
        let fct_ns = [row.number(8)?, row.number(9)?];
        bins.push(SizeBin { range, slowdown, fct_ns, place });
        Ok(())
    })?;
    Ok(bins)
}

/// Content of `flows.csv`.
struct Flows {
    slowdowns: Vec<f64>,
    slowest: Vec<[String; 7]>,
    /// Bytes of the largest completed flow.
    largest: f64,
    /// Labels by the numbers of flows, of flows with a throughput.
    labels: BTreeMap<String, String>,
}

fn flows(folder: &Path) -> Result<Flows, ReportError> {
    const SHOWN: usize = 10;
    let columns = ["flow", "label", "src", "dst", "bytes", "fct_ns", "slowdown"];
    let (mut slowdowns, mut largest) = (Vec::new(), 0.0_f64);
    let mut slowest: Vec<(f64, [String; 7])> = Vec::new();
    let mut labels = measured(folder)?;
    rows_if_there(folder, "flows.csv", columns, |row| {
        if let Some(label) = labels.get_mut(row.text(0)) {
            row.text(1).clone_into(label);
        }
        let (Some(slowdown), Some(_)) = (row.optional(6)?, row.optional(5)?) else {
            return Ok(());
        };
        slowdowns.push(slowdown);
        largest = largest.max(row.number(4)?);
        if slowest.len() < SHOWN || slowest.last().is_some_and(|(least, _)| slowdown > *least) {
            let [flow, label, src, dst] = [0, 1, 2, 3].map(|column| row.text(column).to_owned());
            let bytes = count(row.number(4)? as u64);
            let fct = micros(row.exact(5)?);
            let shown = [flow, label, src, dst, bytes, fct, row.text(6).into()];
            let place = slowest.partition_point(|(other, _)| *other >= slowdown);
            slowest.insert(place, (slowdown, shown));
            slowest.truncate(SHOWN);
        }
        Ok(())
    })?;
    slowdowns.sort_by(f64::total_cmp);
    let slowest = slowest.into_iter().map(|(_, row)| row).collect();
    Ok(Flows { slowdowns, slowest, largest, labels })
}

/// Returns the numbers of flows with a throughput, whose labels are not known yet.
fn measured(folder: &Path) -> Result<BTreeMap<String, String>, ReportError> {
    let mut flows = BTreeMap::new();
    rows_if_there(folder, "throughput.csv", ["flow"], |row| {
        if !flows.contains_key(row.text(0)) {
            flows.insert(row.text(0).to_owned(), String::new());
        }
        Ok(())
    })?;
    Ok(flows)
}

/// Reads the throughput of flows, by number and label.
fn throughput(
    folder: &Path,
    interval: f64,
    labels: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Curve>, ReportError> {
    let columns = ["start_ns", "flow", "bits_per_second"];
    let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
    rows_if_there(folder, "throughput.csv", columns, |row| {
        let label = labels.get(row.text(1)).filter(|label| !label.is_empty());
        let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
        let name = format!("flow {}{label}", row.text(1));
        curves.entry(name).or_default().push((row.number(0)?, row.number(2)?));
        Ok(())
    })?;
    for curve in curves.values_mut() {
        *curve = with_gaps(curve, interval);
    }
    Ok(curves)
}

/// Fills gaps of a curve with zeros: an interval without a point had no traffic.
fn with_gaps(curve: &[(f64, f64)], interval: f64) -> Curve {
    let mut whole = Curve::new();
    for (place, &(start, value)) in curve.iter().enumerate() {
        whole.push((start, value));
        let end = start + interval;
        if curve.get(place + 1).is_none_or(|&(next, _)| next > end) {
            whole.push((end, 0.0));
        }
    }
    whole
}

/// Names of the paused and the pausing node, the port, and the paused part.
type Key = (String, String, String, Paused);

/// Reads the pauses of priorities and of queues.
fn pauses(folder: &Path, end: f64) -> Result<Vec<Pauses>, ReportError> {
    let mut pauses = pauses_in(folder, "pauses.csv", "priority", Paused::Priority, end)?;
    pauses.append(&mut pauses_in(folder, "queue_pauses.csv", "queue", Paused::Queue, end)?);
    pauses.sort_by(|a, b| b.total_ns().total_cmp(&a.total_ns()));
    Ok(pauses)
}

/// Pauses of a table whose column `column` names the paused object. As `ordered_ns` in `pause_time.csv` has them: where a port's
/// decision (DSH) and a queue's pause the same neighbour in turn, that is one pause.
fn pauses_in(
    folder: &Path,
    table: &str,
    column: &'static str,
    what: fn(u8) -> Paused,
    end: f64,
) -> Result<Vec<Pauses>, ReportError> {
    let columns = ["time_ns", "node", "port", "peer", column, "event"];
    let mut running: BTreeMap<Key, f64> = BTreeMap::new();
    let mut spans: BTreeMap<Key, Vec<(f64, f64)>> = BTreeMap::new();
    rows_if_there(folder, table, columns, |row| {
        let [by, port, paused] = [1, 2, 3].map(|column| row.text(column).to_owned());
        let key = (paused, by, port, what(row.exact(4)?));
        let time = row.number(0)?;
        match row.text(5) {
            "xon" => {
                if let Some(start) = running.remove(&key) {
                    spans.entry(key).or_default().push((start, time));
                }
            }
            // A pause goes on where one level takes over from the other.
            _ if !running.contains_key(&key) => {
                let ended = spans.get_mut(&key).and_then(|all| all.pop_if(|span| span.1 >= time));
                running.insert(key, ended.map_or(time, |(start, _)| start));
            }
            _ => {}
        }
        Ok(())
    })?;
    for (key, start) in running {
        spans.entry(key).or_default().push((start, end));
    }
    let all = spans.into_iter();
    let pauses = |((paused, by, port, what), spans)| Pauses { paused, by, port, what, spans };
    Ok(all.map(pauses).collect())
}

impl Pauses {
    /// Returns the total paused time in nanoseconds.
    pub fn total_ns(&self) -> f64 {
        self.spans.iter().map(|(start, end)| end - start).sum()
    }
}

fn loads(folder: &Path) -> Result<BTreeMap<String, Load>, ReportError> {
    let mut loads: BTreeMap<String, Load> = BTreeMap::new();
    rows_if_there(folder, "links.csv", ["wire", "utilisation"], |row| {
        let load = Load { utilisation: row.number(1)?, paused: 0.0 };
        loads.insert(row.text(0).to_owned(), load);
        Ok(())
    })?;
    Ok(loads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_zero() {
        let curve = [(0.0, 7.0), (10.0, 8.0), (500.0, 9.0)];
        let whole = [(0.0, 7.0), (10.0, 8.0), (20.0, 0.0), (500.0, 9.0), (510.0, 0.0)];
        assert_eq!(with_gaps(&curve, 10.0), whole);
    }

    #[test]
    fn pauses_end_with_resume_or_the_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("pauses.csv"),
            "time_ns,node,port,peer,priority,event,level\n\
             10,leaf0,4,spine0,3,xoff,queue\n\
             15,leaf0,4,spine0,3,xoff,port\n\
             20,leaf0,4,spine0,3,xoff-refresh,queue\n\
             30,leaf0,4,spine0,3,xon,queue\n\
             40,leaf0,5,h1,3,xoff,queue\n",
        )
        .unwrap();
        std::fs::write(
            folder.path().join("queue_pauses.csv"),
            "time_ns,node,port,peer,queue,event,length_bytes,threshold_bytes\n\
             50,leaf0,4,spine0,31,xoff,9,8\n\
             55,leaf0,4,spine0,31,xon,1,8\n",
        )
        .unwrap();
        let pauses = pauses(folder.path(), 100.0).unwrap();
        let rows =
            pauses.iter().map(|row| (&*row.paused, &*row.by, &*row.port, row.what, &*row.spans));
        let rows: Vec<_> = rows.collect();
        assert_eq!(
            rows,
            [
                ("h1", "leaf0", "5", Paused::Priority(3), &[(40.0, 100.0)][..]),
                ("spine0", "leaf0", "4", Paused::Priority(3), &[(10.0, 30.0)][..]),
                ("spine0", "leaf0", "4", Paused::Queue(31), &[(50.0, 55.0)][..]),
            ]
        );
    }
}
