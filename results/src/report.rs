//! The report that `xoff run` prints.

mod blame;
mod chart;
mod files;
mod flow_pauses;
mod losses;
mod port_states;
mod quantity;
mod queue_pauses;
mod style;
mod text_table;
mod watchdog;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use units::{Bytes, Nanos};

pub use self::chart::COLUMNS as CHART_COLUMNS;
pub use self::quantity::{count, counted, span};
pub use self::style::Style;
use self::text_table::{Align, TextTable, wrap};
use super::buffer_series::BufferChart;
use super::flow_statistics::{FctSummary, SlowdownSummary};
use super::folder::ResultFiles;
use super::link_delay::LinkDelayRange;
use super::pause_intervals::PauseTotal;
use super::paused_peer::PausedPeer;
use super::queue::QueueKind;
use super::slowdown::Slowdown;
use super::summary::{RunEnd, Summary};
use super::tables::{FctBySizeRow, OccupancyRow};

/// Max rows of a table. A last line counts the omitted rows.
pub const TABLE_ROWS: usize = 20;

/// A finished run as plain data.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The fabric and its mode, in a line: `leaf-spine 2 x 2, 8 hosts; kernel datapath, virtual clock`.
    pub fabric: String,
    /// The numbers.
    pub summary: Summary,
    /// The flows to show, worst first; at most [`TABLE_ROWS`] are shown.
    pub worst_flows: Vec<ReportedFlow>,
    /// Groups of flows by size. The report shows the groups of all labels.
    pub fct_by_size: Vec<FctBySizeRow>,
    /// Pauses by switch and neighbour.
    pub paused: Vec<PausedPeer>,
    /// The confirmed deadlock with the first onset.
    pub first_deadlock: Option<ReportedDeadlock>,
    /// The most congested switch, if any switch held a byte.
    pub buffer: Option<ReportedBuffer>,
    /// Levels of switches' pools over time, if followed. The report shows the most congested switch.
    pub occupancy: Vec<OccupancyRow>,
    /// The measured delays of links, if they were measured.
    pub link_delays: Option<LinkDelayRange>,
    /// The lossless priorities. The tshark line shows their PAUSE; without any the run is not called lossless.
    pub lossless: Vec<u8>,
    /// Files of the run, if it wrote any.
    pub files: Option<ResultFiles>,
}

/// A flow of the report's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedFlow {
    /// Number of the flow.
    pub flow: u32,
    /// The label of the scenario's entry that made it.
    pub label: String,
    /// The sending host.
    pub src: String,
    /// The receiving host.
    pub dst: String,
    /// Priority of the flow.
    pub priority: u8,
    /// Payload bytes of the flow.
    pub bytes: Bytes,
    /// Start of the flow.
    pub start: Nanos,
    /// Completion time, if the flow completed.
    pub fct: Option<Nanos>,
    /// Ideal completion time.
    pub ideal: Nanos,
}

/// A cycle of paused queues that could not resume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedDeadlock {
    /// Instant at which the cycle closed.
    pub onset: Nanos,
    /// Instant at which it became certain that no queue could resume.
    pub confirmed: Nanos,
    /// Instant at which the cycle dissolved, because a PAUSE expired; `None` if it did not.
    pub end: Option<Nanos>,
    /// The priorities of its queues.
    pub priorities: BTreeSet<u8>,
    /// The wires that its egress queues send on, in the order of waiting.
    pub queues: Vec<String>,
}

/// A switch's buffer over time.
#[derive(Clone, Debug)]
pub struct ReportedBuffer {
    /// The switch.
    pub switch: String,
    /// Capacity of the buffer.
    pub capacity: Bytes,
    /// Bytes in the buffer over time.
    pub chart: BufferChart,
}

impl RunReport {
    /// The whole report, ended by a line feed. No line is wider than 100 columns, except for long
    /// paths.
    pub fn render(&self, style: Style) -> String {
        let mut text = String::new();
        self.write(&mut text, style).expect("a String takes every write");
        text
    }

    fn write(&self, out: &mut String, style: Style) -> fmt::Result {
        self.headline(out, style)?;
        out.push('\n');
        self.flows(out, style)?;
        out.push('\n');
        self.pauses(out, style)?;
        self.deadlocks(out, style)?;
        if let Some(totals) = &self.summary.watchdog {
            watchdog::storms(out, totals, style)?;
        }
        out.push('\n');
        self.buffer(out, style)?;
        self.link_delays(out)?;
        out.push('\n');
        self.losses(out, style)?;
        out.push('\n');
        self.cost(out, style)?;
        if let Some(files) = &self.files {
            out.push('\n');
            let truncated = &self.summary.truncated;
            files::render(out, files, truncated, style)?;
            if let Some(capture) = files.capture().filter(|_| self.summary.pause_frames > 0) {
                files::how_to_see_pauses(out, &capture, &self.lossless, style)?;
            }
        }
        Ok(())
    }

    fn headline(&self, out: &mut String, style: Style) -> fmt::Result {
        let run = &self.summary;
        let line = format!("{}: {}, seed {}", run.scenario, self.fabric, run.seed);
        writeln!(out, "{}", style.heading(wrap(line.split(' '), 2, "").trim_end()))?;
        let completed = format!(
            "{} of {} completed in {}{}",
            quantity::count(run.flows_completed),
            quantity::counted(run.flows_total, "flow"),
            quantity::span(Nanos(run.emulated_ns)),
            match run.ended {
                RunEnd::Drained | RunEnd::Duration => "",
                RunEnd::Deadlock => ", until the deadlock",
                RunEnd::Window => ", until the window's flows were done",
                RunEnd::Interrupted => ", until the interrupt",
                RunEnd::Failed => ", until the run failed",
            },
        );
        let lost = format!("{} lost", quantity::counted(run.drops.lost(), "frame"));
        let verdict = |right: bool, good: &str, bad: &str| {
            if right { style.good(good) } else { style.bad(bad) }
        };
        writeln!(
            out,
            "{}; {}; {}",
            verdict(run.unfinished.is_none(), &completed, &completed),
            verdict(run.drops.lost() == 0, self.without_loss(), &lost),
            verdict(run.books.is_empty(), "books balanced", "books do not balance"),
        )
    }

    /// Name of a run without losses. Without a lossless priority the run is not called lossless, because it was luck.
    fn without_loss(&self) -> &'static str {
        if self.lossless.is_empty() { "no frame lost" } else { "lossless" }
    }

    fn flows(&self, out: &mut String, style: Style) -> fmt::Result {
        let mut table = TextTable::new([
            ("flow", Align::Right, 7),
            ("label", Align::Left, 10),
            ("from", Align::Left, 8),
            ("to", Align::Left, 8),
            ("prio", Align::Right, 4),
            ("bytes", Align::Right, 10),
            ("start us", Align::Right, 9),
            ("FCT us", Align::Right, 9),
            ("ideal us", Align::Right, 9),
            ("slowdown", Align::Right, 8),
        ]);
        for flow in self.worst_flows.iter().take(TABLE_ROWS) {
            let slowdown = flow.fct.map(|fct| quantity::ratio(Slowdown::new(fct, flow.ideal)));
            table.row([
                flow.flow.to_string(),
                flow.label.clone(),
                flow.src.clone(),
                flow.dst.clone(),
                flow.priority.to_string(),
                quantity::bytes(flow.bytes),
                quantity::micros(flow.start),
                flow.fct.map_or_else(|| "not done".into(), quantity::micros),
                quantity::micros(flow.ideal),
                slowdown.unwrap_or_else(|| "-".into()),
            ]);
        }
        writeln!(out, "{}", style.heading("Flows, worst slowdown first"))?;
        out.push_str(&table.render(style));
        let run = &self.summary;
        let shown = self.worst_flows.len().min(TABLE_ROWS) as u64;
        if let more @ 1.. = run.flows_total.saturating_sub(shown) {
            // The flows that are not done come first, and may be more than the table has.
            let unfinished = run.flows_total - run.flows_completed > shown;
            let rest = if unfinished { "more" } else { "with less slowdown" };
            writeln!(out, "and {} {rest}", quantity::counted(more, "flow"))?;
        }
        if let Some(fct) = run.fct_ns {
            let [mean, p50, p99, max] =
                [fct.mean, fct.p50, fct.p99, fct.max].map(|nanos| quantity::span(Nanos(nanos)));
            writeln!(out, "FCT mean {mean}, p50 {p50}, p99 {p99}, max {max}")?;
        }
        if let Some(SlowdownSummary { mean, p50, p99 }) = run.slowdown {
            writeln!(out, "slowdown mean {mean}, p50 {p50}, p99 {p99}")?;
        }
        self.sizes(out, style)?;
        self.window(out, style)
    }

    /// Section on the window.
    fn window(&self, out: &mut String, style: Style) -> fmt::Result {
        let Some(window) = &self.summary.window else { return Ok(()) };
        let span = |nanos| quantity::span(Nanos(nanos));
        let heading = format!("From {} to {}", span(window.from_ns), span(window.to_ns));
        writeln!(out, "\n{}", style.heading(&heading))?;
        let flows = &window.flows;
        writeln!(
            out,
            "{} of {} that started completed",
            quantity::count(flows.completed),
            quantity::counted(flows.flows, "flow"),
        )?;
        if let Some(FctSummary { mean, p50, p99, max, .. }) = flows.fct_ns {
            let [mean, p50, p99, max] = [mean, p50, p99, max].map(span);
            writeln!(out, "FCT mean {mean}, p50 {p50}, p99 {p99}, max {max}")?;
        }
        if let Some(SlowdownSummary { mean, p50, p99 }) = flows.slowdown {
            writeln!(out, "slowdown mean {mean}, p50 {p50}, p99 {p99}")?;
        }
        let (ordered, imposed) = (span(window.pause_ordered_ns), span(window.paused_ns));
        writeln!(out, "pauses ordered for {ordered}, in effect for {imposed}, all links together")
    }

    /// Slowdown by size, where sizes differ.
    fn sizes(&self, out: &mut String, style: Style) -> fmt::Result {
        let rows = || self.fct_by_size.iter().filter(|row| row.label.is_none());
        if rows().count() < 2 {
            return Ok(());
        }
        let mut table = TextTable::new([
            ("size", Align::Left, 24),
            ("flows", Align::Right, 10),
            ("completed", Align::Right, 10),
            ("mean", Align::Right, 8),
            ("p50", Align::Right, 8),
            ("p95", Align::Right, 8),
            ("p99", Align::Right, 8),
            ("max", Align::Right, 8),
        ]);
        for row in rows() {
            let size = row.up_to.map_or_else(
                || format!("above {}", quantity::bytes(row.above)),
                |bound| format!("up to {}", quantity::bytes(bound)),
            );
            let [mean, p50, p95, p99, max] = row.times.map_or_else(
                || std::array::from_fn(|_| "-".to_owned()),
                |times| {
                    let [p50, p95, p99] = times.slowdown_percentiles;
                    [times.slowdown_mean, p50, p95, p99, times.slowdown_max].map(quantity::ratio)
                },
            );
            let (flows, completed) = (quantity::count(row.flows), quantity::count(row.completed));
            table.row([size, flows, completed, mean, p50, p95, p99, max]);
        }
        writeln!(out, "\n{}", style.heading("Slowdown by size"))?;
        out.push_str(&table.render(style));
        Ok(())
    }

    fn pauses(&self, out: &mut String, style: Style) -> fmt::Result {
        if let Some(totals) = &self.summary.port_states {
            port_states::port_states(out, totals, style)?;
            out.push('\n');
        }
        if let Some(slowest) = self.summary.slowest_ports.filter(|ports| *ports > 0) {
            let queues = quantity::counted(slowest, "ingress queue");
            let heading = style.heading("Rates");
            writeln!(out, "{heading}\nat the last stage at the end: {queues}\n")?;
        }
        if let Some(totals) = &self.summary.flow_pauses {
            flow_pauses::flow_pauses(out, totals, style)?;
            out.push('\n');
        }
        if let Some(totals) = &self.summary.queue_pauses {
            let flows = self.summary.flow_queues.as_ref();
            queue_pauses::queue_pauses(out, totals, flows, style)?;
            if self.paused.is_empty() {
                return Ok(());
            }
            out.push('\n');
        }
        if self.paused.is_empty() {
            return writeln!(out, "{}\nno switch paused anyone", style.heading("PAUSE"));
        }
        let mut paused: Vec<&PausedPeer> = self.paused.iter().collect();
        paused.sort_by_key(|pair| (Reverse(pair.imposed.paused), &pair.node, &pair.peer));
        let mut table = TextTable::new([
            ("switch", Align::Left, 16),
            ("paused", Align::Left, 16),
            ("prio", Align::Right, 4),
            ("PAUSE", Align::Right, 10),
            ("refresh", Align::Right, 9),
            ("RESUME", Align::Right, 10),
            ("paused us", Align::Right, 9),
            ("longest us", Align::Right, 9),
        ]);
        for pair in paused.iter().take(TABLE_ROWS) {
            let totals = (pair.ordered, pair.imposed);
            table.row(pause_row(&pair.node, &pair.peer, pair.priority.to_string(), totals));
        }
        if let Some(rest) = paused.get(TABLE_ROWS..).filter(|rest| !rest.is_empty()) {
            let mut totals = (PauseTotal::default(), PauseTotal::default());
            for pair in rest {
                totals.0.merge(pair.ordered);
                totals.1.merge(pair.imposed);
            }
            table.row(pause_row("and", &format!("{} more", rest.len()), String::new(), totals));
        }
        writeln!(out, "{}", style.heading("PAUSE, longest paused first"))?;
        out.push_str(&table.render(style));
        Ok(())
    }

    /// Section on cycles of paused queues; nothing if there were no cycles.
    fn deadlocks(&self, out: &mut String, style: Style) -> fmt::Result {
        let totals = &self.summary.deadlock;
        if totals.deadlocks + totals.dissolved + totals.undecided == 0 {
            return Ok(());
        }
        writeln!(out, "\n{}", style.heading("Deadlock"))?;
        if let Some(first) = &self.first_deadlock {
            let until = first.end.map_or_else(
                || format!("certain at {}", quantity::span(first.confirmed)),
                |end| {
                    let end = quantity::span(end);
                    match self.summary.watchdog {
                        None => format!("until a PAUSE ran out at {end}"),
                        Some(_) => format!("until {end}, when a PAUSE ran out or a watchdog acted"),
                    }
                },
            );
            let numbers: Vec<String> = first.priorities.iter().map(u8::to_string).collect();
            let line = format!(
                "{} {}, from {}, {until}: these egress queues wait for each other",
                if numbers.len() == 1 { "priority" } else { "priorities" },
                numbers.join(", "),
                quantity::span(first.onset),
            );
            writeln!(out, "{}", style.bad(wrap(line.split(' '), 2, "").trim_end()))?;
            out.push_str(&wrap(first.queues.iter().map(String::as_str), 2, ""));
            if let more @ 1.. = totals.deadlocks - 1 {
                writeln!(out, "and {} since then", quantity::counted(more, "deadlock"))?;
            }
        }
        for (number, fate) in
            [(totals.dissolved, "dissolved"), (totals.undecided, "were undecided at the end")]
        {
            if number > 0 {
                writeln!(out, "cycles of waiting that {fate}: {}", quantity::count(number))?;
            }
        }
        Ok(())
    }

    fn buffer(&self, out: &mut String, style: Style) -> fmt::Result {
        let Some(ReportedBuffer { switch, capacity, chart }) = &self.buffer else {
            let title = style.heading("Buffers");
            return writeln!(out, "{title}\nno switch held a byte when it was sampled");
        };
        let most = |of: &BTreeMap<String, u64>| {
            quantity::bytes(Bytes(of.get(switch).copied().unwrap_or(0)))
        };
        let title = format!(
            "Buffer of {switch}: at most {} of {}, headroom at most {}",
            most(&self.summary.buffer_max_bytes),
            quantity::bytes(*capacity),
            most(&self.summary.headroom_max_bytes),
        );
        writeln!(out, "{}", style.heading(&title))?;
        chart::render(out, chart, style)?;
        let over_time = |row: &&OccupancyRow| row.node == *switch && row.kind == QueueKind::Buffer;
        self.occupancy.iter().find(over_time).map_or(Ok(()), |row| {
            let [p50, _, p99, p999] = row.percentiles.map(quantity::bytes);
            let mean = quantity::bytes(row.mean);
            writeln!(out, "over time: mean {mean}, p50 {p50}, p99 {p99}, p99.9 {p999}")
        })
    }

    /// The measured delays of links, and the headroom that results.
    fn link_delays(&self, out: &mut String) -> fmt::Result {
        let Some(LinkDelayRange { exchanges, link_delay, headroom }) = self.link_delays else {
            return Ok(());
        };
        writeln!(
            out,
            "links: {} to {} ({}); headroom of a queue {} to {}",
            quantity::span(link_delay.0),
            quantity::span(link_delay.1),
            quantity::counted(exchanges, "exchange"),
            quantity::bytes(headroom.0),
            quantity::bytes(headroom.1),
        )
    }

    fn cost(&self, out: &mut String, style: Style) -> fmt::Result {
        let Summary { packet_hops, emulated_ns, wall_seconds, cpu_seconds, threads, .. } =
            &self.summary;
        writeln!(out, "{}", style.heading("Cost"))?;
        let hops = quantity::counted(*packet_hops, "packet-hop");
        writeln!(out, "{hops} in {} of emulated time", quantity::span(Nanos(*emulated_ns)))?;
        write!(out, "{wall_seconds:.3} s wall, {cpu_seconds:.3} s CPU")?;
        if *threads > 1 {
            write!(out, " on {threads} threads")?;
        }
        if *cpu_seconds > 0.0 {
            #[expect(
                clippy::cast_sign_loss,
                clippy::cast_possible_truncation,
                reason = "hops and seconds are positive, and a rate of 2^64 is out of reach"
            )]
            let rate = (*packet_hops as f64 / cpu_seconds).round() as u64;
            write!(out, ": {} packet-hops a CPU second", quantity::count(rate))?;
        }
        out.push('\n');
        Ok(())
    }
}

/// Cells of a row: decisions of the switch, and times that the peer was paused for them.
fn pause_row(
    node: &str,
    peer: &str,
    priority: String,
    (ordered, imposed): (PauseTotal, PauseTotal),
) -> [String; 8] {
    [
        node.to_owned(),
        peer.to_owned(),
        priority,
        quantity::count(ordered.pauses),
        quantity::count(ordered.refreshes),
        quantity::count(ordered.resumes),
        quantity::micros(imposed.paused),
        quantity::micros(imposed.longest),
    ]
}

#[cfg(test)]
mod tests;
