//! What a report shows of one run, from its folder of results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use results::Summary;
use scenario::Scenario;

use super::ReportError;
use super::table::rows;
use crate::graph::Load;

/// A value over time: nanoseconds, and what holds from then on.
pub type Curve = Vec<(f64, f64)>;

/// The slowdowns of flows of a range of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeBin {
    /// The sizes, such as "up to 10 kB".
    pub name: String,
    /// Flows that completed.
    pub completed: f64,
    /// Mean, median, 95th and 99th percentile.
    pub slowdown: [f64; 4],
}

/// When one neighbour had told another to stop a priority.
#[derive(Clone, Debug, PartialEq)]
pub struct Pauses {
    /// Who was to stop.
    pub paused: String,
    /// Who said so, and the port.
    pub by: String,
    /// The priority.
    pub priority: u8,
    /// From the decision to pause to the decision to resume, in nanoseconds, in order.
    pub spans: Vec<(f64, f64)>,
}

/// A run.
pub struct Run {
    /// What it is called in the report.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its summary.
    pub summary: Summary,
    /// Its scenario, or why it cannot be read.
    pub scenario: Result<Scenario, String>,
    /// Slowdown by size of all flows.
    pub sizes: Vec<SizeBin>,
    /// The slowdown of each flow that completed, ascending.
    pub slowdowns: Vec<f64>,
    /// Flows from the greatest slowdown on, at most ten: number, label, sender, receiver, bytes, microseconds, slowdown.
    pub slowest: Vec<[String; 7]>,
    /// Bytes in switches, by name.
    pub buffers: BTreeMap<String, Curve>,
    /// Of these in headroom.
    pub headroom: BTreeMap<String, Curve>,
    /// Bytes at egress ports, by switch, port and priority.
    pub egress: BTreeMap<String, Curve>,
    /// Throughput of flows in bits per second, if it was asked for, by flow.
    pub throughput: BTreeMap<String, Curve>,
    /// Pauses of priorities, those in force longest first.
    pub pauses: Vec<Pauses>,
    /// By wire.
    pub loads: BTreeMap<String, Load>,
}

impl Run {
    /// Reads a folder of results.
    pub fn read(folder: &Path, name: String) -> Result<Self, ReportError> {
        let path = folder.join(Summary::FILE);
        let json = std::fs::read(&path)
            .map_err(|source| ReportError::NoResults { folder: folder.to_owned(), source })?;
        let summary: Summary = serde_json::from_slice(&json)
            .map_err(|source| ReportError::Summary { path, source })?;
        let scenario = Scenario::load(&folder.join(results::SCENARIO_FILE), &[])
            .map_err(|error| error.to_string());
        let (slowdowns, slowest) = flows(folder)?;
        let mut run = Self {
            name,
            folder: folder.to_owned(),
            summary,
            scenario,
            sizes: sizes(folder)?,
            slowdowns,
            slowest,
            buffers: BTreeMap::new(),
            headroom: BTreeMap::new(),
            egress: BTreeMap::new(),
            throughput: throughput(folder)?,
            pauses: Vec::new(),
            loads: loads(folder)?,
        };
        run.pauses = pauses(folder, run.end_ns())?;
        run.read_pause_shares()?;
        run.read_queues()?;
        Ok(run)
    }

    /// The run's end in nanoseconds.
    pub const fn end_ns(&self) -> f64 {
        self.summary.emulated_ns as f64
    }

    /// For how long the sender of each wire had to stop.
    fn read_pause_shares(&mut self) -> Result<(), ReportError> {
        let Ok(scenario) = &self.scenario else { return Ok(()) };
        let fabric = scenario.fabric();
        let nodes: BTreeMap<&str, _> =
            fabric.nodes().iter().map(|node| (&*node.name, &node.ports)).collect();
        let loads = &mut self.loads;
        rows(&self.folder, "pause_time.csv", ["node", "port", "share"], |row| {
            let (port, share) = (row.number(1)? as usize, row.number(2)?);
            let wire = nodes.get(row.text(0)).and_then(|ports| ports.get(port));
            if let Some(load) = wire.and_then(|wire| loads.get_mut(&fabric.wire(*wire).name)) {
                load.paused = load.paused.max(share);
            }
            Ok(())
        })
    }

    fn read_queues(&mut self) -> Result<(), ReportError> {
        let columns = ["time_ns", "node", "kind", "port", "priority", "bytes"];
        let end = self.end_ns();
        let (buffers, headroom, egress) = (&mut self.buffers, &mut self.headroom, &mut self.egress);
        rows(&self.folder, "queues.csv", columns, |row| {
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

fn sizes(folder: &Path) -> Result<Vec<SizeBin>, ReportError> {
    let columns = [
        "label",
        "above_bytes",
        "up_to_bytes",
        "completed",
        "slowdown_mean",
        "slowdown_p50",
        "slowdown_p95",
        "slowdown_p99",
    ];
    let mut bins = Vec::new();
    rows(folder, "fct_by_size.csv", columns, |row| {
        let completed = row.number(3)?;
        if !row.text(0).is_empty() || completed == 0.0 {
            return Ok(());
        }
        let name = match row.optional(2)? {
            Some(bytes) => format!("up to {}B", super::number::short(bytes)),
            None => format!("above {}B", super::number::short(row.number(1)?)),
        };
        let mut slowdown = [0.0; 4];
        for (value, column) in slowdown.iter_mut().zip(4..) {
            *value = row.number(column)?;
        }
        bins.push(SizeBin { name, completed, slowdown });
        Ok(())
    })?;
    Ok(bins)
}

type Slowest = Vec<[String; 7]>;

fn flows(folder: &Path) -> Result<(Vec<f64>, Slowest), ReportError> {
    const SHOWN: usize = 10;
    let columns = ["flow", "label", "src", "dst", "bytes", "fct_ns", "slowdown"];
    let mut slowdowns = Vec::new();
    let mut slowest: Vec<(f64, [String; 7])> = Vec::new();
    rows(folder, "flows.csv", columns, |row| {
        let (Some(slowdown), Some(fct)) = (row.optional(6)?, row.optional(5)?) else {
            return Ok(());
        };
        slowdowns.push(slowdown);
        if slowest.len() < SHOWN || slowest.last().is_some_and(|(least, _)| slowdown > *least) {
            let [flow, label, src, dst] = [0, 1, 2, 3].map(|column| row.text(column).to_owned());
            let bytes = super::number::grouped(row.number(4)? as u64);
            let shown =
                [flow, label, src, dst, bytes, format!("{:.3}", fct / 1e3), row.text(6).into()];
            let place = slowest.partition_point(|(other, _)| *other >= slowdown);
            slowest.insert(place, (slowdown, shown));
            slowest.truncate(SHOWN);
        }
        Ok(())
    })?;
    slowdowns.sort_by(f64::total_cmp);
    Ok((slowdowns, slowest.into_iter().map(|(_, row)| row).collect()))
}

fn throughput(folder: &Path) -> Result<BTreeMap<String, Curve>, ReportError> {
    let columns = ["start_ns", "flow", "bits_per_second"];
    let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
    let mut starts = BTreeSet::new();
    rows(folder, "throughput.csv", columns, |row| {
        let start = row.number(0)?;
        starts.insert(start as u64);
        curves.entry(format!("flow {}", row.text(1))).or_default().push((start, row.number(2)?));
        Ok(())
    })?;
    // An interval without bytes has no row.
    let interval = starts.iter().zip(starts.iter().skip(1)).map(|(a, b)| b - a).min();
    if let Some(interval) = interval {
        for curve in curves.values_mut() {
            *curve = with_gaps(curve, interval as f64);
        }
    }
    Ok(curves)
}

/// A curve that falls to zero where an interval has no point.
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

/// Who was paused, by whom, and the priority.
type Key = (String, String, u8);

fn pauses(folder: &Path, end: f64) -> Result<Vec<Pauses>, ReportError> {
    let columns = ["time_ns", "node", "port", "peer", "priority", "event", "level"];
    // By key and level: since when.
    let mut running: BTreeMap<(Key, String), f64> = BTreeMap::new();
    let mut spans: BTreeMap<Key, Vec<(f64, f64)>> = BTreeMap::new();
    rows(folder, "pauses.csv", columns, |row| {
        let by = format!("{} port {}", row.text(1), row.text(2));
        let key = (row.text(3).to_owned(), by, row.number(4)? as u8);
        let (time, place) = (row.number(0)?, (key, row.text(6).to_owned()));
        match row.text(5) {
            "xoff" => {
                running.entry(place).or_insert(time);
            }
            "xon" => {
                if let Some(start) = running.remove(&place) {
                    spans.entry(place.0).or_default().push((start, time));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    for ((key, _), start) in running {
        spans.entry(key).or_default().push((start, end));
    }
    let mut pauses: Vec<Pauses> = spans
        .into_iter()
        .map(|((paused, by, priority), spans)| Pauses {
            paused,
            by,
            priority,
            spans: joined(spans),
        })
        .collect();
    pauses.sort_by(|a, b| b.total_ns().total_cmp(&a.total_ns()));
    Ok(pauses)
}

/// Spans of two levels may overlap; the union does not.
fn joined(mut spans: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut union: Vec<(f64, f64)> = Vec::new();
    for (start, end) in spans {
        match union.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => union.push((start, end)),
        }
    }
    union
}

impl Pauses {
    /// How long it was told to stop in all.
    pub fn total_ns(&self) -> f64 {
        self.spans.iter().map(|(start, end)| end - start).sum()
    }
}

fn loads(folder: &Path) -> Result<BTreeMap<String, Load>, ReportError> {
    let mut loads: BTreeMap<String, Load> = BTreeMap::new();
    rows(folder, "links.csv", ["wire", "utilisation"], |row| {
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
    fn spans_of_two_levels_are_one_where_they_overlap() {
        let spans = vec![(5.0, 9.0), (1.0, 3.0), (2.0, 4.0), (9.0, 10.0)];
        assert_eq!(joined(spans), [(1.0, 4.0), (5.0, 10.0)]);
    }

    #[test]
    fn a_gap_is_zero() {
        let curve = [(0.0, 7.0), (10.0, 8.0), (30.0, 9.0)];
        let whole = [(0.0, 7.0), (10.0, 8.0), (20.0, 0.0), (30.0, 9.0), (40.0, 0.0)];
        assert_eq!(with_gaps(&curve, 10.0), whole);
    }

    #[test]
    fn pauses_end_with_resume_or_the_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("pauses.csv"),
            "time_ns,node,port,peer,priority,event,level\n\
             10,leaf0,4,spine0,3,xoff,queue\n\
             20,leaf0,4,spine0,3,xoff-refresh,queue\n\
             30,leaf0,4,spine0,3,xon,queue\n\
             40,leaf0,5,h1,3,xoff,queue\n",
        )
        .unwrap();
        let pauses = pauses(folder.path(), 100.0).unwrap();
        let told = pauses.iter().map(|row| (&*row.paused, &*row.by, row.priority, &*row.spans));
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ("h1", "leaf0 port 5", 3, &[(40.0, 100.0)][..]),
                ("spine0", "leaf0 port 4", 3, &[(10.0, 30.0)][..]),
            ]
        );
    }
}
