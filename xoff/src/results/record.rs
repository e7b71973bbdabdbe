//! One run as it is recorded: rows in; folder, summary and report out.

use std::collections::BTreeMap;

use fabric_core::units::{Bytes, Nanos};

use super::buffer_series::{BufferLevel, BufferSeries};
use super::drop::DropRow;
use super::error::ResultsError;
use super::flow::FlowRow;
use super::flow_statistics::FlowStatistics;
use super::folder::ResultsFolder;
use super::manifest::Manifest;
use super::pause::{PauseEvent, PauseRow};
use super::pause_intervals::PauseIntervals;
use super::queue::{QueueKind, QueueRow};
use super::report::{CHART_COLUMNS, ReportedBuffer, ReportedFlow, RunReport, TABLE_ROWS};
use super::slowdown::Slowdown;
use super::summary::Summary;

/// What the engine tells of a run. Memory grows by 16 bytes a flow, and with the number of ports
/// and counters, not with rows or frames.
pub struct Record {
    folder: Option<ResultsFolder>,
    flows: FlowStatistics,
    worst_flows: Vec<ReportedFlow>,
    pauses: PauseIntervals,
    pause_frames: u64,
    refresh_frames: u64,
    resume_frames: u64,
    buffers: BTreeMap<String, (BufferLevel, BufferSeries)>,
}

/// What a record cannot know by itself.
#[derive(Clone, Debug)]
pub struct RunDescription<'a> {
    /// The resolved scenario.
    pub scenario_toml: &'a str,
    /// What the run was made with.
    pub manifest: &'a Manifest,
    /// See [`RunReport::fabric`].
    pub fabric: String,
    /// What each switch's buffer can hold.
    pub buffer: Bytes,
    /// The lossless priorities.
    pub lossless: Vec<u8>,
}

impl Record {
    /// A record that leaves `folder` behind, or nothing.
    pub fn new(folder: Option<ResultsFolder>) -> Self {
        Self {
            folder,
            flows: FlowStatistics::default(),
            worst_flows: Vec::new(),
            pauses: PauseIntervals::default(),
            pause_frames: 0,
            refresh_frames: 0,
            resume_frames: 0,
            buffers: BTreeMap::new(),
        }
    }

    /// Adds a flow: once each, when it completes or when the run ends without it.
    pub fn flow(&mut self, row: &FlowRow) -> Result<(), ResultsError> {
        self.flows.record(row);
        let place = self.worst_flows.partition_point(|other| rank(other) <= row_rank(row));
        if place < TABLE_ROWS {
            self.worst_flows.truncate(TABLE_ROWS - 1);
            self.worst_flows.insert(place, reported(row));
        }
        self.folder.as_mut().map_or(Ok(()), |folder| folder.flow(row))
    }

    /// Adds a decision to pause, refresh or resume.
    pub fn pause(&mut self, row: &PauseRow) -> Result<(), ResultsError> {
        match row.event {
            PauseEvent::Xoff => self.pause_frames += 1,
            PauseEvent::XoffRefresh => {
                self.pause_frames += 1;
                self.refresh_frames += 1;
            }
            PauseEvent::Xon => self.resume_frames += 1,
        }
        self.pauses.record(row);
        self.folder.as_mut().map_or(Ok(()), |folder| folder.pause(row))
    }

    /// Adds a sample. `Buffer` and `Headroom` feed the report's chart.
    pub fn queue(&mut self, row: &QueueRow) -> Result<(), ResultsError> {
        if matches!(row.kind, QueueKind::Buffer | QueueKind::Headroom) {
            if !self.buffers.contains_key(row.node) {
                self.buffers.insert(row.node.to_owned(), Default::default());
            }
            let (level, series) =
                self.buffers.get_mut(row.node).expect("the line above put it there");
            match row.kind {
                QueueKind::Headroom => level.headroom = row.bytes,
                _ => level.total = row.bytes,
            }
            series.record(row.time, *level);
        }
        self.folder.as_mut().map_or(Ok(()), |folder| folder.queue(row))
    }

    /// Adds a frame that went no further. Totals come from counters, by [`Summary::drops`].
    pub fn drop_event(&mut self, row: &DropRow) -> Result<(), ResultsError> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.drop_event(row))
    }

    /// Adds a captured frame. `wire` counts in the order of the folder's wires.
    pub fn capture(&mut self, wire: u32, time: Nanos, frame: &[u8]) -> Result<(), ResultsError> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.capture(wire, time, frame))
    }

    /// Ends the run. `counted` carries what the engine counted; its fields on flows and pauses and
    /// its `lossless` are filled in here.
    pub fn finish(
        self,
        description: RunDescription,
        counted: Summary,
    ) -> Result<RunReport, ResultsError> {
        let end = Nanos(counted.emulated_ns);
        let paused = self.pauses.finish(end);
        let (flows_total, flows_completed) = (self.flows.total(), self.flows.completed());
        let (fct_ns, slowdown) = self.flows.finish().unzip();
        let summary = Summary {
            flows_total,
            flows_completed,
            fct_ns,
            slowdown,
            pause_frames: self.pause_frames,
            pause_refresh_frames: self.refresh_frames,
            resume_frames: self.resume_frames,
            pause_time_ns: paused.iter().map(|pair| pair.total.paused.0).sum(),
            lossless: counted.drops.lost() == 0,
            ..counted
        };
        let files = self
            .folder
            .map(|folder| folder.finish(description.scenario_toml, description.manifest, &summary))
            .transpose()?;
        Ok(RunReport {
            fabric: description.fabric,
            summary,
            worst_flows: self.worst_flows,
            paused,
            buffer: most_congested(self.buffers, end, description.buffer),
            lossless: description.lossless,
            files,
        })
    }
}

/// The first by name of the switches that held most.
fn most_congested(
    buffers: BTreeMap<String, (BufferLevel, BufferSeries)>,
    end: Nanos,
    capacity: Bytes,
) -> Option<ReportedBuffer> {
    let (switch, (_, series)) =
        buffers.into_iter().rev().max_by_key(|(_, (_, series))| series.peak().total)?;
    let chart = series.chart(end, CHART_COLUMNS)?;
    Some(ReportedBuffer { switch, capacity, chart })
}

/// The order of the report's table: flows not done, then by slowdown, then by number.
type Rank = (u64, u32);

fn rank(flow: &ReportedFlow) -> Rank {
    let Slowdown(slowdown) =
        flow.fct.map_or(Slowdown(u64::MAX), |fct| Slowdown::of(fct, flow.ideal));
    (u64::MAX - slowdown, flow.flow)
}

fn row_rank(row: &FlowRow) -> Rank {
    let Slowdown(slowdown) = row.slowdown().unwrap_or(Slowdown(u64::MAX));
    (u64::MAX - slowdown, row.flow)
}

fn reported(row: &FlowRow) -> ReportedFlow {
    ReportedFlow {
        flow: row.flow,
        label: row.label.to_owned(),
        src: row.src.to_owned(),
        dst: row.dst.to_owned(),
        priority: row.priority,
        bytes: row.bytes,
        start: row.start,
        fct: row.fct,
        ideal: row.ideal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::folder::ResultsOptions;
    use crate::results::summary::DropTotals;
    use crate::results::{CaptureWire, Style};
    use fabric_core::drop_reason::DropClass;
    use fabric_core::units::BitsPerSecond;
    use std::fs;
    use std::path::Path;

    fn sample(time: u64, node: &str, kind: QueueKind, bytes: u64) -> QueueRow<'_> {
        let (port, priority) = (None, None);
        QueueRow { time: Nanos(time), node, kind, port, priority, bytes: Bytes(bytes) }
    }

    fn pause(time: u64, event: PauseEvent) -> PauseRow<'static> {
        PauseRow {
            time: Nanos(time),
            node: "leaf0",
            port: 0,
            peer: "h1",
            priority: 3,
            event,
            occupancy: Bytes(2),
            threshold: Bytes(1),
            shared_free: Bytes(3),
        }
    }

    fn run(folder: Option<&Path>) -> RunReport {
        let rate = BitsPerSecond(100_000_000_000);
        let wires = vec![CaptureWire { name: "leaf0->h1".into(), rate }];
        let options = ResultsOptions { wires, snap_bytes: 64 };
        let folder = folder.map(|folder| ResultsFolder::create(folder, &options).unwrap());
        let mut record = Record::new(folder);
        for flow in 0..30 {
            let fct = (flow != 17).then_some(Nanos(1_000 + u64::from(flow * 7 % 30) * 100));
            let (label, src, dst, priority) = ("incast", "h1", "h0", 3);
            let (bytes, start, ideal) = (Bytes(1_000), Nanos(0), Nanos(500));
            let (retransmitted_packets, cnps) = (0, 1);
            record
                .flow(&FlowRow {
                    flow,
                    label,
                    src,
                    dst,
                    priority,
                    bytes,
                    start,
                    fct,
                    ideal,
                    retransmitted_packets,
                    cnps,
                    long_lived: false,
                })
                .unwrap();
        }
        for row in [
            pause(100, PauseEvent::Xoff),
            pause(200, PauseEvent::XoffRefresh),
            pause(350, PauseEvent::Xon),
            pause(900, PauseEvent::Xoff),
        ] {
            record.pause(&row).unwrap();
            record.capture(0, row.time, &[0; 60]).unwrap();
        }
        for node in ["spine0", "leaf0", "leaf1"] {
            let most = if node == "spine0" { 500 } else { 900 };
            record.queue(&sample(100, node, QueueKind::Buffer, most)).unwrap();
            record.queue(&sample(100, node, QueueKind::Headroom, 100)).unwrap();
            record.queue(&sample(400, node, QueueKind::Buffer, 0)).unwrap();
            record.queue(&sample(400, node, QueueKind::Headroom, 0)).unwrap();
        }
        let manifest = Manifest::of_this_process();
        let description = RunDescription {
            scenario_toml: "name = \"incast\"\n",
            manifest: &manifest,
            fabric: "star of 2 hosts; memory datapath, virtual clock".into(),
            buffer: Bytes(1_000),
            lossless: vec![3],
        };
        let mut drops = DropTotals::default();
        drops.add("global-pause", DropClass::Ignored, 1);
        let scenario = "incast".into();
        let counted = Summary { scenario, emulated_ns: 1_000, drops, ..Summary::default() };
        record.finish(description, counted).unwrap()
    }

    #[test]
    fn the_summary_is_filled_in() {
        let RunReport { summary, buffer, worst_flows, .. } = run(None);
        assert_eq!((summary.flows_total, summary.flows_completed), (30, 29));
        let pauses = (summary.pause_frames, summary.pause_refresh_frames, summary.resume_frames);
        assert_eq!(pauses, (3, 1, 1));
        assert_eq!(summary.pause_time_ns, 250 + 100);
        assert!(summary.lossless);
        assert_eq!(summary.fct_ns.unwrap().max, 3_800);
        assert_eq!(buffer.unwrap().switch, "leaf0");
        assert_eq!(worst_flows.len(), TABLE_ROWS);
        assert_eq!((worst_flows[0].flow, worst_flows[0].fct), (17, None));
        assert_eq!(worst_flows[1].fct, Some(Nanos(3_800)));
        assert!(worst_flows.is_sorted_by_key(rank));
    }

    #[test]
    fn two_runs_leave_and_show_the_same() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let reports = [run(Some(first.path())), run(Some(second.path()))];
        let texts = reports.map(|mut report| {
            let files = report.files.take().unwrap();
            assert_eq!(files.files.len(), 8);
            report.render(Style::plain())
        });
        assert_eq!(texts[0], texts[1]);
        for entry in fs::read_dir(first.path()).unwrap() {
            let name = entry.unwrap().file_name();
            let read = |folder: &Path| fs::read(folder.join(&name)).unwrap();
            assert!(read(first.path()) == read(second.path()), "{name:?} differs");
        }
    }
}
