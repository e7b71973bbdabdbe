//! The HTML document.

use std::fmt::Write as _;

use results::Summary;
use serde::Serialize;

use super::chart::Chart;
use super::number::grouped;
use super::run::Run;
use super::sweep::Sweep;
use super::timeline::Timeline;
use super::{Report, charts};
use crate::graph::{Graph, Hosts, svg};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// By which a report is known as one.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"xoff\">";

/// What is drawn, in numbers, for programs.
#[derive(Default, Serialize)]
struct Data {
    charts: Vec<Chart>,
    timelines: Vec<Timeline>,
}

#[derive(Default)]
struct Page {
    body: String,
    data: Data,
    figures: Vec<(String, String)>,
}

/// The report of runs and sweeps.
pub fn report(runs: &[Run], sweeps: &[Sweep]) -> Report {
    let mut page = Page::default();
    if !runs.is_empty() {
        page.section("At a glance");
        page.glance(runs);
        for chart in charts::of_runs(runs) {
            page.chart(chart);
        }
    }
    for (number, run) in runs.iter().enumerate() {
        page.run(run, &format!("run{number}"));
    }
    for (number, sweep) in sweeps.iter().enumerate() {
        page.section(&format!("Sweep {}", sweep.name));
        if sweep.metrics.is_empty() {
            page.text("None of its metrics has a chart; its tables have them all.");
        }
        if sweep.omitted > 0 {
            page.text(&format!("{} more cells are in <code>summary.csv</code>.", sweep.omitted));
        }
        for chart in charts::of_sweep(sweep, &format!("sweep{number}")) {
            page.chart(chart);
        }
    }
    let names: Vec<&str> =
        runs.iter().map(|run| &*run.name).chain(sweeps.iter().map(|sweep| &*sweep.name)).collect();
    page.finish(&names.join(", "))
}

impl Page {
    fn section(&mut self, title: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escaped(title));
    }

    /// A paragraph, in HTML.
    fn text(&mut self, html: &str) {
        let _ = writeln!(self.body, "<p>{html}</p>");
    }

    /// A table. All but the first column are numbers.
    fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let cells = |cells: &[&str], tag: &str| {
            cells
                .iter()
                .fold(String::new(), |row, cell| row + &format!("<{tag}>{}</{tag}>", escaped(cell)))
        };
        self.body += "<div class=\"scroll\"><table>\n<thead><tr>";
        self.body += &cells(header, "th");
        self.body += "</tr></thead>\n<tbody>\n";
        for row in rows {
            let row: Vec<&str> = row.iter().map(String::as_str).collect();
            let _ = writeln!(self.body, "<tr>{}</tr>", cells(&row, "td"));
        }
        self.body += "</tbody></table></div>\n";
    }

    /// A picture without a ground takes its colours from the page.
    fn figure(&mut self, id: &str, title: &str, about: &str, svg: String) {
        let class = if svg.contains("fill=\"white\"") { "grounded" } else { "bare" };
        let _ = writeln!(
            self.body,
            "<figure class=\"{class}\" id=\"{id}\"><figcaption><b>{}</b> {about}</figcaption>\n<div class=\"scroll\">{svg}</div></figure>",
            escaped(title)
        );
        self.figures.push((id.to_owned(), svg));
    }

    fn chart(&mut self, chart: Chart) {
        self.figure(&chart.id, &chart.title, &chart.about, chart.svg());
        self.data.charts.push(chart);
    }

    /// What runs came to, beside each other.
    fn glance(&mut self, runs: &[Run]) {
        let header: Vec<&str> = [""].into_iter().chain(runs.iter().map(|run| &*run.name)).collect();
        let line = |name: &str, of: &dyn Fn(&Summary) -> String| {
            let cells = runs.iter().map(|run| of(&run.summary));
            [name.to_owned()].into_iter().chain(cells).collect::<Vec<String>>()
        };
        let none = || "-".to_owned();
        let most = |of: &std::collections::BTreeMap<String, u64>| {
            let most = of.iter().max_by_key(|(_, bytes)| **bytes);
            most.map_or_else(none, |(name, bytes)| format!("{} ({name})", grouped(*bytes)))
        };
        let rows = [
            line("verdict", &verdict),
            line("seed", &|it| it.seed.to_string()),
            line("emulated, us", &|it| format!("{:.3}", it.emulated_ns as f64 / 1e3)),
            line("flows completed", &|it| {
                format!("{} of {}", grouped(it.flows_completed), grouped(it.flows_total))
            }),
            line("mean slowdown", &|it| {
                it.slowdown.as_ref().map_or_else(none, |of| of.mean.to_string())
            }),
            line("p99 slowdown", &|it| {
                it.slowdown.as_ref().map_or_else(none, |of| of.p99.to_string())
            }),
            line("PAUSE frames", &|it| grouped(it.pause_frames)),
            line("paused, us", &|it| format!("{:.3}", it.paused_ns as f64 / 1e3)),
            line("most in a buffer, bytes", &|it| most(&it.buffer_max_bytes)),
            line("most in headroom, bytes", &|it| most(&it.headroom_max_bytes)),
            line("dropped", &|it| grouped(it.drops.lost())),
            line("ECN marks", &|it| grouped(it.ecn_marked)),
            line("CNPs", &|it| grouped(it.cnps)),
            line("packets sent again", &|it| grouped(it.retransmitted_packets)),
            line("deadlocks", &|it| it.deadlock.deadlocks.to_string()),
        ];
        self.table(&header, &rows);
    }

    fn run(&mut self, run: &Run, id: &str) {
        self.section(&format!("Run {}", run.name));
        self.text(&format!("<code>{}</code>", escaped(&run.folder.display().to_string())));
        self.fabric(run, id);
        if let Some(timeline) = Timeline::of(run, &format!("{id}-pauses")) {
            let more = match timeline.omitted {
                0 => String::new(),
                more => format!(" {more} more are in the table."),
            };
            let about = format!(
                "Who was told to stop by whom, those told for longest first (<code>pauses.csv</code>). Drag across it to look closer, \
                 double-click to see all.{more}"
            );
            self.figure(&timeline.id, "Pauses", &about, timeline.svg());
            self.data.timelines.push(timeline);
        } else {
            self.text("No switch paused anyone.");
        }
        for chart in charts::of_run(run, id) {
            self.chart(chart);
        }
        if !run.slowest.is_empty() {
            self.text("<b>Slowest flows</b> (<code>flows.csv</code>).");
            let header = ["flow", "label", "from", "to", "bytes", "FCT, us", "slowdown"];
            let rows: Vec<Vec<String>> = run.slowest.iter().map(|row| row.to_vec()).collect();
            self.table(&header, &rows);
        }
    }

    /// The fabric, its links by what they carried.
    fn fabric(&mut self, run: &Run, id: &str) {
        let scenario = match &run.scenario {
            Ok(scenario) => scenario,
            Err(error) => {
                let error = error.lines().next().unwrap_or_default();
                return self
                    .text(&format!("The fabric cannot be drawn: <code>{}</code>", escaped(error)));
            }
        };
        let mut graph = Graph::of(scenario, Hosts::IfFew);
        let about = if run.loads.is_empty() {
            "The results have no <code>links.csv</code> to colour its links by."
        } else {
            graph.colour(scenario, |wire| run.loads.get(wire).copied().unwrap_or_default());
            "Links by the utilisation of their busier direction (<code>links.csv</code>); dashed where a sender had to stop \
             (<code>pause_time.csv</code>)."
        };
        self.figure(&format!("{id}-fabric"), "Fabric", about, svg(&graph));
    }

    fn finish(self, names: &str) -> Report {
        // No text of a chart can end the script.
        let data = serde_json::to_string(&self.data).expect("numbers and names are JSON");
        let data = data.replace('<', "\\u003c");
        let title = escaped(names);
        let version = env!("CARGO_PKG_VERSION");
        let html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{GENERATOR}\n\
             <title>xoff: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n<p class=\"made\">xoff {version}</p>\n{}</main>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            self.body
        );
        Report { html, figures: self.figures }
    }
}

/// What may be said of a run in a word or two.
fn verdict(summary: &Summary) -> String {
    let lossless = if summary.lossless { "lossless" } else { "packets lost" };
    let mut words = vec![lossless.to_owned()];
    if !summary.books.is_empty() {
        words.push("books do not balance".into());
    }
    if summary.deadlock.deadlocks > 0 {
        words.push("deadlock".into());
    }
    if let Some(why) = &summary.unfinished {
        words.push(format!("unfinished: {why}"));
    }
    words.join(", ")
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
