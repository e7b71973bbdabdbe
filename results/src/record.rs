//! One run as it is recorded: rows in; folder, summary and report out.

mod counted;
mod options;
mod recorded;
mod worst_flows;

use std::collections::BTreeMap;

use fabric_core::hop_control::PauseEvent;
use units::{Bytes, Nanos, Picos};

use super::active_flows::ActiveFlowsMeter;
use super::buffer_series::{BufferLevel, BufferSeries};
use super::counter::Counters;
use super::deadlock::DeadlockTotals;
use super::error::ResultsError;
use super::flow_pause::FlowPart;
use super::flow_statistics::{FlowStatistics, LabelSummary};
use super::flow_table::{FlowTablesMeter, FlowTablesRow};
use super::folder::ResultsFolder;
use super::hpcc::{FlowStart, HpccFiles, QueueLengths};
use super::link_delay::LinkDelayRange;
use super::occupancy::{Occupancy, OccupancySummary, OccupancyTotals};
use super::pause_intervals::{Ordered, PausedByLevel};
use super::pause_time::{PauseReceived, PauseTimes};
use super::paused_peer::PausedPeer;
use super::port_queues::PortQueuesMeter;
use super::port_state::PortStates;
use super::queue_pause::QueuePauses;
use super::report::{CHART_COLUMNS, ReportedBuffer, ReportedDeadlock, RunReport};
use super::row::Row;
use super::summary::Summary;
use super::tables::{FlowTraceRow, OccupancyRow, PauseTimeRow, PortStateRow, WatchdogRow};
use super::throughput::ThroughputMeter;
use super::watchdog::WatchdogTotals;
use super::window::{Window, WindowSummary};
use super::wire_log::WireLogRecord;
use worst_flows::WorstFlows;

pub use options::{RecordOptions, RunDescription};
pub use recorded::Recorded;

/// Facts of a run, as the engine reports them. Memory grows with the number of labels, ports, counters and flows in
/// progress (and, for the HPCC simulator's files, of pairs of hosts), not with finished flows, rows or frames.
pub struct Record {
    folder: Option<ResultsFolder>,
    flows: FlowStatistics,
    /// The window that is also reported separately, and the flows that start in it.
    window: Option<(Window, FlowStatistics)>,
    /// If switches pause flows: flows that were never paused, and flows that were.
    by_congestion: [FlowStatistics; 2],
    flow_tables: Option<FlowTablesMeter>,
    port_queues: Option<PortQueuesMeter>,
    worst_flows: WorstFlows,
    throughput: Option<ThroughputMeter>,
    pause_times: PauseTimes,
    counters: Counters,
    queue_pauses: Option<QueuePauses>,
    active_flows: Option<ActiveFlowsMeter>,
    port_states: Option<PortStates>,
    pause_frames: u64,
    refresh_frames: u64,
    resume_frames: u64,
    deadlocks: DeadlockTotals,
    first_deadlock: Option<ReportedDeadlock>,
    watchdog: Option<WatchdogTotals>,
    buffers: BTreeMap<String, (BufferLevel, BufferSeries)>,
    /// Capacity of each switch's buffer.
    capacities: BTreeMap<String, Bytes>,
    link_delays: Option<LinkDelayRange>,
    occupancies: Vec<OccupancyRow>,
    buffer_bytes: OccupancyTotals,
    switch_buffer_bytes: BTreeMap<String, OccupancySummary>,
}

impl Record {
    /// A record that leaves `folder` behind, or nothing.
    pub fn new(folder: Option<ResultsFolder>, options: RecordOptions) -> Self {
        let RecordOptions {
            flow_size_bins,
            size_classes,
            capacities,
            window,
            flow_queues,
            flow_tables,
            port_queues,
            port_states,
            watchdog,
            throughput,
        } = options;
        let in_window = FlowStatistics::new(Vec::new(), size_classes.clone());
        let part = || FlowStatistics::new(Vec::new(), size_classes.clone());
        Self {
            throughput: throughput.filter(|_| folder.is_some()),
            folder,
            by_congestion: [part(), part()],
            flow_tables: flow_tables.then(|| FlowTablesMeter::new(window)),
            port_queues: port_queues.then(|| PortQueuesMeter::new(window)),
            flows: FlowStatistics::new(flow_size_bins, size_classes),
            window: window.map(|window| (window, in_window)),
            worst_flows: WorstFlows::default(),
            pause_times: PauseTimes::new(window),
            counters: Counters::default(),
            queue_pauses: flow_queues.map(|_| QueuePauses::default()),
            active_flows: flow_queues.map(|period| ActiveFlowsMeter::new(period, window)),
            port_states: port_states.then(PortStates::default),
            pause_frames: 0,
            refresh_frames: 0,
            resume_frames: 0,
            deadlocks: DeadlockTotals::default(),
            first_deadlock: None,
            watchdog: watchdog.then(WatchdogTotals::default),
            buffers: BTreeMap::new(),
            capacities,
            link_delays: None,
            occupancies: Vec::new(),
            buffer_bytes: OccupancyTotals::default(),
            switch_buffer_bytes: BTreeMap::new(),
        }
    }

    /// Drops the folder, and frees the disk space that it has taken.
    pub fn abandon_folder(&mut self) {
        (self.folder, self.throughput) = (None, None);
    }

    /// Adds a row to its table and to what is computed of the run.
    #[inline]
    pub fn add<R: Recorded>(&mut self, row: &R) -> Result<(), ResultsError> {
        row.before_write(self)?;
        self.write(row)
    }

    fn write<R: Row>(&mut self, row: &R) -> Result<(), ResultsError> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.write(row))
    }

    /// A flow begins. Flows begin in the order of their numbers.
    pub fn flow_started(&mut self, start: &FlowStart) {
        if let Some(meter) = &mut self.throughput {
            meter.start(start.flow, start.label);
        }
        if let Some(files) = self.hpcc() {
            files.flow_started(start);
        }
    }

    /// The data of a flow leaves these ports of switches.
    pub fn flow_path<'a>(&mut self, label: &str, path: impl IntoIterator<Item = (&'a str, u16)>) {
        if let Some(meter) = &mut self.port_queues {
            meter.flow(label, path);
        }
    }

    /// Adds a sample of OFC's tables.
    pub fn flow_tables(&mut self, row: &FlowTablesRow<'_>) {
        if let Some(meter) = &mut self.flow_tables {
            meter.record(row);
        }
    }

    /// Payload of a flow arrived at its receiver in order. Deliveries come in time order.
    #[inline]
    pub fn delivered(&mut self, now: Picos, flow: u32, bytes: u64) -> Result<(), ResultsError> {
        match (&mut self.throughput, &mut self.folder) {
            (Some(meter), Some(folder)) => meter.deliver(now, flow, bytes, |row| folder.write(row)),
            _ => Ok(()),
        }
    }

    /// Adds a change of a flow's sender.
    pub fn flow_trace(&mut self, row: &FlowTraceRow) -> Result<(), ResultsError> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.flow_trace(row))
    }

    /// Counts PFC frames. One frame may carry the decisions for several classes.
    pub fn pause_frames(&mut self, event: PauseEvent, frames: u64) {
        match event {
            PauseEvent::Pause => self.pause_frames += frames,
            PauseEvent::Refresh => {
                self.pause_frames += frames;
                self.refresh_frames += frames;
            }
            PauseEvent::Resume => self.resume_frames += frames,
        }
    }

    /// Adds a class of a PFC frame that reached the sender that it is about.
    pub fn pause_received(&mut self, received: &PauseReceived) -> Result<(), ResultsError> {
        self.pause_times.receive(received);
        self.counters.receive(received);
        self.hpcc().map_or(Ok(()), |files| files.pause_received(received))
    }

    /// Instant of the next dump of queue histograms before the run's end, if HPCC-format files are written.
    pub fn next_queue_dump(&mut self) -> Option<Picos> {
        self.hpcc()?.next_dump()
    }

    /// Writes the histograms of queues that are due at `now`, or all that are left if the run ends then. `lengths` has
    /// the queue lengths of all switches by their numbers.
    pub fn queue_dump(
        &mut self,
        (now, ends): (Picos, bool),
        lengths: &mut [&mut QueueLengths],
    ) -> Result<(), ResultsError> {
        self.hpcc().map_or(Ok(()), |files| files.dump((now, ends), lengths))
    }

    const fn hpcc(&mut self) -> Option<&mut HpccFiles> {
        match &mut self.folder {
            Some(folder) => folder.hpcc(),
            None => None,
        }
    }

    /// Adds the levels of a switch's pools in a run that ended at `end`.
    pub fn occupancy(&mut self, node: &str, mut occupancy: Occupancy, end: Picos) {
        let of_switch = self.buffer_bytes.add(&mut occupancy, end);
        self.switch_buffer_bytes.insert(node.to_owned(), of_switch);
        self.occupancies.extend(occupancy.finish(node, end));
    }

    /// Adds a change of the state of a port. The run has lasted at least until `known`; later changes are of the run only if
    /// its end is not earlier.
    pub fn port_state(&mut self, row: &PortStateRow, known: Nanos) -> Result<(), ResultsError> {
        let folder = &mut self.folder;
        let write = |row: &PortStateRow| folder.as_mut().map_or(Ok(()), |folder| folder.write(row));
        self.port_states.get_or_insert_default().take(row, known, write)
    }

    /// Adds a PFC storm, once it is over or the run has ended, which has come to `now`.
    pub fn storm(&mut self, row: &WatchdogRow, now: Nanos) -> Result<(), ResultsError> {
        self.watchdog.get_or_insert_default().record(row, now);
        self.write(row)
    }

    /// Adds frames that were put on wires, or flows.
    pub fn wire_log<'a>(
        &mut self,
        records: impl Iterator<Item = &'a WireLogRecord>,
    ) -> Result<(), ResultsError> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.wire_log(records))
    }

    /// Adds a captured frame, with a comment if there is one. `wire` counts in the order of the folder's wires.
    pub fn capture(
        &mut self,
        wire: u32,
        time: Nanos,
        frame: &[u8],
        comment: Option<&str>,
    ) -> Result<(), ResultsError> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.capture(wire, time, frame, comment))
    }

    /// Ends the run at `now`, and fills in flows, pauses, deadlocks, `lossless` and `truncated` of `counted`.
    pub fn finish(
        mut self,
        now: Picos,
        description: RunDescription,
        mut counted: Summary,
    ) -> Result<RunReport, ResultsError> {
        let end = now.to_nanos();
        if let Some(states) = &mut self.port_states {
            let folder = &mut self.folder;
            let write =
                |row: &PortStateRow| folder.as_mut().map_or(Ok(()), |folder| folder.write(row));
            states.settle(end, write)?;
        }
        let pause_times = self.pause_times.finish(end);
        let sum =
            |time: fn(&PauseTimeRow) -> Nanos| pause_times.iter().map(|row| time(row).0).sum();
        let ordered = |part: fn(&Ordered) -> PausedByLevel| {
            let parts = pause_times.iter().map(|row| part(&row.ordered));
            parts.fold(PausedByLevel::default(), PausedByLevel::and)
        };
        let LabelSummary {
            flows: flows_total,
            completed: flows_completed,
            fct_ns,
            slowdown,
            sizes,
        } = self.flows.together();
        let window = self.window.map(|(window, flows)| {
            let in_window = ordered(|ordered| ordered.in_window);
            WindowSummary {
                from_ns: window.from.0,
                to_ns: window.to.min(end).0,
                flows: flows.together(),
                labels: flows.by_label(),
                paused_ns: sum(|row| row.imposed_in_window),
                pause_ordered_ns: in_window.sum_ns(),
                pause_ordered_by_level: in_window,
                buffer_bytes: self.buffer_bytes.in_window(),
            }
        });
        let fct_by_size = self.flows.by_size();
        if self.watchdog.is_some() {
            counted.drops.watchdog.get_or_insert_default();
        }
        if let Some(totals) = &mut counted.flow_pauses {
            let [uncongested, congested] = self.by_congestion.each_ref().map(FlowPart::new);
            (totals.congested, totals.uncongested) = (congested, uncongested);
        }
        let summary = Summary {
            flows_total,
            flows_completed,
            fct_ns,
            slowdown,
            sizes,
            labels: self.flows.by_label(),
            pause_frames: self.pause_frames,
            pause_refresh_frames: self.refresh_frames,
            resume_frames: self.resume_frames,
            paused_ns: sum(|row| row.imposed.paused),
            pause_ordered_ns: sum(|row| row.ordered.total.paused),
            pause_ordered_by_level: ordered(|ordered| ordered.by_level),
            queue_pauses: self.queue_pauses.map(|pauses| pauses.finish(end)),
            active_flows: self.active_flows.and_then(|meter| meter.finish(end)),
            port_states: self.port_states.map(|states| states.finish(end)),
            buffer_bytes: self.buffer_bytes.run_summary(),
            switch_buffer_bytes: self.switch_buffer_bytes,
            flow_tables: self.flow_tables.map(|meter| meter.finish(end)),
            port_queues: self.port_queues.map(|meter| meter.finish(end)),
            window,
            deadlock: self.deadlocks,
            watchdog: self.watchdog,
            lossless: counted.drops.lost() == 0,
            truncated: self.folder.as_ref().map(ResultsFolder::truncated).unwrap_or_default(),
            ..counted
        };
        if let Some(folder) = &mut self.folder {
            if let Some(meter) = &mut self.throughput {
                meter.close(|row| folder.write(row))?;
            }
            folder.close_hpcc()?;
            write_all(folder, &fct_by_size)?;
            write_all(folder, &pause_times)?;
            write_all(folder, &self.counters.finish(&pause_times))?;
            write_all(folder, &self.occupancies)?;
        }
        let files = self
            .folder
            .map(|folder| folder.finish(description.scenario_toml, description.manifest, &summary))
            .transpose()?;
        Ok(RunReport {
            fabric: description.fabric,
            summary,
            worst_flows: self.worst_flows.0,
            fct_by_size,
            paused: PausedPeer::all_of(&pause_times),
            first_deadlock: self.first_deadlock,
            buffer: most_congested(self.buffers, end, &self.capacities),
            occupancy: self.occupancies,
            link_delays: self.link_delays,
            lossless: description.lossless,
            files,
        })
    }
}

fn write_all<R: Row>(folder: &mut ResultsFolder, rows: &[R]) -> Result<(), ResultsError> {
    rows.iter().try_for_each(|row| folder.write(row))
}

/// The first by name of the switches that held most.
fn most_congested(
    buffers: BTreeMap<String, (BufferLevel, BufferSeries)>,
    end: Nanos,
    capacities: &BTreeMap<String, Bytes>,
) -> Option<ReportedBuffer> {
    let (switch, (_, series)) =
        buffers.into_iter().rev().max_by_key(|(_, (_, series))| series.peak().total)?;
    let chart = series.chart(end, CHART_COLUMNS)?;
    let capacity = capacities.get(&switch).copied().unwrap_or_default();
    Some(ReportedBuffer { switch, capacity, chart })
}

#[cfg(test)]
mod tests;
