//! What `xoff run` shows a person.

mod chart;
mod quantity;
mod style;
mod text_table;

use std::path::Path;

use fabric_core::units::{Bytes, Nanos};

pub use self::chart::COLUMNS as CHART_COLUMNS;
pub use self::style::Style;
use self::text_table::{Align, TextTable, wrap};
use super::buffer_series::BufferChart;
use super::folder::ResultFiles;
use super::pause_intervals::{PauseTotal, PausedPeer};
use super::slowdown::Slowdown;
use super::summary::Summary;

/// Rows of a table at most; what is left out is counted in a last line.
pub const TABLE_ROWS: usize = 20;

/// A finished run as plain data.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The fabric and how it ran, in a line: `leaf-spine 2 x 2, 8 hosts; kernel datapath, virtual clock`.
    pub fabric: String,
    /// The numbers.
    pub summary: Summary,
    /// The flows to show, worst first; at most [`TABLE_ROWS`] are shown.
    pub worst_flows: Vec<ReportedFlow>,
    /// Who paused whom.
    pub paused: Vec<PausedPeer>,
    /// The most congested switch, if any switch held a byte.
    pub buffer: Option<ReportedBuffer>,
    /// The priorities whose PAUSE the tshark line shows.
    pub lossless: Vec<u8>,
    /// What the run left, if it left anything.
    pub files: Option<ResultFiles>,
}

/// A flow of the report's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedFlow {
    /// Its number.
    pub flow: u32,
    /// The label of the scenario's entry that made it.
    pub label: String,
    /// The sending host.
    pub src: String,
    /// The receiving host.
    pub dst: String,
    /// Its priority.
    pub priority: u8,
    /// Its payload bytes.
    pub bytes: Bytes,
    /// When it started.
    pub start: Nanos,
    /// Its completion time, if it completed.
    pub fct: Option<Nanos>,
    /// Its ideal completion time.
    pub ideal: Nanos,
}

/// A switch's buffer over time.
#[derive(Clone, Debug)]
pub struct ReportedBuffer {
    /// The switch.
    pub switch: String,
    /// What it could hold.
    pub capacity: Bytes,
    /// What it held.
    pub chart: BufferChart,
}

impl RunReport {
    /// The whole report, ended by a line feed. No line is wider than 100 columns, but for long paths.
    pub fn render(&self, style: Style) -> String {
        let sections = [
            self.headline(style),
            self.flows(style),
            self.pauses(style),
            self.buffer(style),
            self.losses(style),
            self.cost(style),
        ];
        let mut text = sections.join("\n");
        if let Some(files) = &self.files {
            text.push('\n');
            text += &self.files(files, style);
        }
        text
    }

    fn headline(&self, style: Style) -> String {
        let Summary {
            scenario,
            seed,
            flows_total,
            flows_completed,
            ..
        } = &self.summary;
        let line = format!("{scenario}: {}, seed {seed}", self.fabric);
        let completed = format!(
            "{} of {} completed in {}",
            quantity::count(*flows_completed),
            quantity::counted(*flows_total, "flow"),
            quantity::span(Nanos(self.summary.emulated_ns)),
        );
        let verdict = |right: bool, good: &str, bad: String| {
            if right {
                style.good(good)
            } else {
                style.bad(&bad)
            }
        };
        let lost = self.summary.drops.lost();
        format!(
            "{}{}; {}; {}\n",
            style.heading(wrap(line.split(' '), 2, "").trim_end()) + "\n",
            verdict(
                flows_completed == flows_total,
                &completed,
                completed.clone()
            ),
            verdict(
                lost == 0,
                "lossless",
                format!("{} lost", quantity::counted(lost, "frame"))
            ),
            verdict(
                self.summary.books.is_empty(),
                "books balanced",
                "books do not balance".into()
            ),
        )
    }

    fn flows(&self, style: Style) -> String {
        let mut table = TextTable::new([
            ("flow", Align::Right, 6),
            ("label", Align::Left, 12),
            ("from -> to", Align::Left, 20),
            ("prio", Align::Right, 4),
            ("bytes", Align::Right, 10),
            ("start us", Align::Right, 10),
            ("FCT us", Align::Right, 10),
            ("ideal us", Align::Right, 9),
            ("slowdown", Align::Right, 8),
        ]);
        for flow in self.worst_flows.iter().take(TABLE_ROWS) {
            let slowdown = flow
                .fct
                .map(|fct| Slowdown::of(fct, flow.ideal).to_string());
            table.row([
                flow.flow.to_string(),
                flow.label.clone(),
                format!("{} -> {}", flow.src, flow.dst),
                flow.priority.to_string(),
                quantity::bytes(flow.bytes),
                quantity::micros(flow.start),
                flow.fct.map_or_else(|| "not done".into(), quantity::micros),
                quantity::micros(flow.ideal),
                slowdown.unwrap_or_else(|| "-".into()),
            ]);
        }
        let mut text = style.heading("Flows, worst slowdown first") + "\n" + &table.render(style);
        let shown = self.worst_flows.len().min(TABLE_ROWS) as u64;
        if let more @ 1.. = self.summary.flows_total.saturating_sub(shown) {
            text += &format!(
                "and {} with less slowdown\n",
                quantity::counted(more, "flow")
            );
        }
        if let (Some(fct), Some(slowdown)) = (self.summary.fct_ns, self.summary.slowdown) {
            text += &format!(
                "FCT mean {}, median {}, 99 % {}, longest {}; slowdown mean {}, median {}, 99 % {}\n",
                quantity::span(Nanos(fct.mean)),
                quantity::span(Nanos(fct.p50)),
                quantity::span(Nanos(fct.p99)),
                quantity::span(Nanos(fct.max)),
                slowdown.mean,
                slowdown.p50,
                slowdown.p99,
            );
        }
        text
    }

    fn pauses(&self, style: Style) -> String {
        if self.paused.is_empty() {
            return style.heading("PAUSE") + "\nno switch paused anyone\n";
        }
        let mut paused: Vec<&PausedPeer> = self.paused.iter().collect();
        paused.sort_by_key(|pair| (u64::MAX - pair.total.paused.0, &pair.node, &pair.peer));
        let mut table = TextTable::new([
            ("switch", Align::Left, 16),
            ("paused", Align::Left, 16),
            ("prio", Align::Right, 4),
            ("PAUSE", Align::Right, 9),
            ("refresh", Align::Right, 9),
            ("RESUME", Align::Right, 9),
            ("paused us", Align::Right, 12),
            ("longest us", Align::Right, 11),
        ]);
        let cells = |node: &str, peer: &str, priority: String, total: PauseTotal| {
            [
                node.to_owned(),
                peer.to_owned(),
                priority,
                quantity::count(total.pauses),
                quantity::count(total.refreshes),
                quantity::count(total.resumes),
                quantity::micros(total.paused),
                quantity::micros(total.longest),
            ]
        };
        for pair in paused.iter().take(TABLE_ROWS) {
            table.row(cells(
                &pair.node,
                &pair.peer,
                pair.priority.to_string(),
                pair.total,
            ));
        }
        let mut rest = PauseTotal::default();
        for pair in paused.iter().skip(TABLE_ROWS) {
            rest.merge(pair.total);
        }
        if paused.len() > TABLE_ROWS {
            let more = format!("{} more", paused.len() - TABLE_ROWS);
            table.row(cells("and", &more, String::new(), rest));
        }
        style.heading("PAUSE, longest first") + "\n" + &table.render(style)
    }

    fn buffer(&self, style: Style) -> String {
        let Some(ReportedBuffer {
            switch,
            capacity,
            chart,
        }) = &self.buffer
        else {
            return style.heading("Buffers") + "\nno switch held a byte when it was sampled\n";
        };
        let most = |of: &std::collections::BTreeMap<String, u64>| {
            quantity::bytes(Bytes(of.get(switch).copied().unwrap_or(0)))
        };
        let title = format!(
            "Buffer of {switch}: at most {} of {}, headroom at most {}",
            most(&self.summary.buffer_max_bytes),
            quantity::bytes(*capacity),
            most(&self.summary.headroom_max_bytes),
        );
        style.heading(&title) + "\n" + &chart::render(chart, style)
    }

    fn losses(&self, style: Style) -> String {
        let Summary {
            drops,
            ecn_marked,
            cnps,
            retransmitted_packets,
            books,
            ..
        } = &self.summary;
        let mut text = style.heading("Drops") + "\n";
        if drops.lost() == 0 {
            text += &style.good("none: lossless");
            text.push('\n');
        }
        for (reason, frames) in &drops.by_reason {
            text += &format!("{reason:<24}{:>12}\n", quantity::count(*frames));
        }
        if drops.lost() > 0 {
            let classes = [
                (drops.policy, "by policy"),
                (drops.frame, "for what they were"),
                (drops.substrate, "by the machine below"),
                (drops.injected, "by injected faults"),
            ];
            let by_class: Vec<String> = classes
                .iter()
                .filter(|(frames, _)| *frames > 0)
                .map(|(frames, class)| format!("{} {class}", quantity::count(*frames)))
                .collect();
            let lost = quantity::counted(drops.lost(), "frame");
            text += &style.bad(&format!("{lost} lost: {}", by_class.join(", ")));
            text.push('\n');
        }
        text += &format!(
            "{} ECN-marked, {}, {} sent again\n",
            quantity::counted(*ecn_marked, "packet"),
            quantity::counted(*cnps, "CNP"),
            quantity::counted(*retransmitted_packets, "packet"),
        );
        for complaint in books {
            let line = format!("books: {complaint}");
            text += &style.bad(wrap(line.split(' '), 7, "").trim_end());
            text.push('\n');
        }
        text
    }

    fn cost(&self, style: Style) -> String {
        let Summary {
            packet_hops,
            emulated_ns,
            wall_seconds,
            cpu_seconds,
            ..
        } = &self.summary;
        let mut line = format!(
            "{} in {} of emulated time; {wall_seconds:.3} s wall, {cpu_seconds:.3} s CPU",
            quantity::counted(*packet_hops, "packet-hop"),
            quantity::span(Nanos(*emulated_ns)),
        );
        if *cpu_seconds > 0.0 {
            let rate = (*packet_hops as f64 / cpu_seconds).round();
            #[expect(clippy::cast_sign_loss, reason = "hops and seconds are positive")]
            let rate = quantity::count(rate as u64);
            line += &format!(", {rate} a CPU second");
        }
        style.heading("Cost") + "\n" + &line + "\n"
    }

    fn files(&self, files: &ResultFiles, style: Style) -> String {
        let mut text = style.heading(&format!("Results in {}", files.folder.display())) + "\n";
        let names: Vec<String> = files
            .files
            .iter()
            .map(|(name, bytes)| format!("{name} ({})", quantity::bytes(Bytes(*bytes))))
            .collect();
        text += &wrap(
            names.join(", ").split_inclusive("), ").map(str::trim_end),
            0,
            "",
        );
        if let Some(capture) = files.capture() {
            text += "\n";
            text += &style.heading("The PAUSE frames on the wires");
            text += "\n";
            text += &self.tshark(&capture);
        }
        text
    }

    fn tshark(&self, capture: &Path) -> String {
        let mut words = vec![
            "tshark".to_owned(),
            format!("-r {}", shell_quoted(&capture.display().to_string())),
            "-Y 'macc.opcode == 0x0101' -T fields".to_owned(),
            "-e frame.time_epoch".to_owned(),
            "-e frame.interface_name".to_owned(),
        ];
        for priority in &self.lossless {
            words.push(format!("-e macc.cbfc.enbv.c{priority}"));
            words.push(format!("-e macc.cbfc.pause_time.c{priority}"));
        }
        wrap(words.iter().map(String::as_str), 2, " \\")
    }
}

fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
