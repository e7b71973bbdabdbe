//! The HTML document.

use std::fmt::Write as _;

use results::{Summary, count};
use scenario::Scenario;
use serde::Serialize;

use super::chart::Chart;
use super::run::Run;
use super::sweep::Sweep;
use super::timeline::Timeline;
use super::{Report, drops, selection};
use crate::graph::{Graph, Hosts, svg};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Tag that identifies a report.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"xoff\">";

/// Numbers behind the charts, for programs.
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

/// Makes the report of runs and sweeps.
pub fn report(runs: &[Run], sweeps: &[Sweep]) -> Report {
    let mut page = Page::default();
    if !runs.is_empty() {
        page.section("At a glance");
        page.glance(runs);
        for chart in selection::comparison_charts(runs) {
            page.chart(chart);
        }
    }
    for (number, run) in runs.iter().enumerate() {
        page.run(run, &format!("run{number}"));
    }
    for (number, sweep) in sweeps.iter().enumerate() {
        page.section(&format!("Sweep {}", sweep.name));
        for (left_out, what) in
            [(sweep.metrics_left_out, "metrics"), (sweep.cells_left_out, "cells")]
        {
            if left_out > 0 {
                page.text(&format!("{left_out} more {what} are in <code>summary.csv</code>."));
            }
        }
        for chart in selection::sweep_charts(sweep, &format!("sweep{number}")) {
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

    /// Appends a paragraph of HTML.
    fn text(&mut self, html: &str) {
        let _ = writeln!(self.body, "<p>{html}</p>");
    }

    /// Appends a table, whose first column is left-aligned.
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

    /// Appends a picture. `class` is "bare" if its background is transparent; then the page colours its texts.
    fn figure(&mut self, (id, class): (&str, &str), title: &str, about: &str, svg: String) {
        let _ = writeln!(
            self.body,
            "<figure class=\"{class}\" id=\"{id}\"><figcaption><b>{}</b> {about}</figcaption>\n<div class=\"scroll\">{svg}</div></figure>",
            escaped(title)
        );
        self.figures.push((id.to_owned(), svg));
    }

    fn chart(&mut self, chart: Chart) {
        self.figure((&chart.id, "bare"), &chart.title, &chart.about, chart.svg());
        self.data.charts.push(chart);
    }

    /// Appends a table of the runs' numbers, side by side.
    fn glance(&mut self, runs: &[Run]) {
        let header: Vec<&str> = [""].into_iter().chain(runs.iter().map(|run| &*run.name)).collect();
        let line = |name: &str, of: &dyn Fn(&Summary) -> String| {
            let cells = runs.iter().map(|run| of(&run.summary));
            [name.to_owned()].into_iter().chain(cells).collect::<Vec<String>>()
        };
        let none = || "-".to_owned();
        let most = |of: &std::collections::BTreeMap<String, u64>| {
            let most = of.iter().max_by_key(|(_, bytes)| **bytes);
            most.map_or_else(none, |(name, bytes)| format!("{} ({name})", count(*bytes)))
        };
        let any = |of: &dyn Fn(&Summary) -> Option<u64>, name: &str| {
            let has = runs.iter().any(|run| of(&run.summary).is_some());
            has.then(|| line(name, &|it| of(it).map_or_else(none, count)))
        };
        let mut rows = vec![
            ["verdict".to_owned()].into_iter().chain(runs.iter().map(verdict)).collect(),
            line("seed", &|it| it.seed.to_string()),
            line("emulated, us", &|it| format!("{:.3}", it.emulated_ns as f64 / 1e3)),
            line("flows completed", &|it| {
                format!("{} of {}", count(it.flows_completed), count(it.flows_total))
            }),
            line("mean slowdown", &|it| {
                it.slowdown.as_ref().map_or_else(none, |of| of.mean.to_string())
            }),
            line("p99 slowdown", &|it| {
                it.slowdown.as_ref().map_or_else(none, |of| of.p99.to_string())
            }),
            line("PAUSE frames", &|it| count(it.pause_frames)),
            line("paused, summed over ports and priorities, us", &|it| {
                format!("{:.3}", it.paused_ns as f64 / 1e3)
            }),
            line("most in a buffer, bytes", &|it| most(&it.buffer_max_bytes)),
            line("most in headroom, bytes", &|it| most(&it.headroom_max_bytes)),
            line("dropped", &|it| count(it.drops.lost())),
            line("ECN marks", &|it| count(it.ecn_marked)),
            line("CNPs", &|it| count(it.cnps)),
            line("packets sent again", &|it| count(it.retransmitted_packets)),
            line("deadlocks", &|it| it.deadlock.deadlocks.to_string()),
        ];
        let only_some = [
            any(&|it| it.queue_pauses.map(|of| of.pauses), "pauses of single queues"),
            any(&|it| it.watchdog.map(|of| of.storms), "PFC storms"),
            any(
                &|it| it.faults.map(|of| of.lost + of.corrupted),
                "frames that faults took or damaged",
            ),
        ];
        rows.extend(only_some.into_iter().flatten());
        self.table(&header, &rows);
    }

    fn run(&mut self, run: &Run, id: &str) {
        self.section(&format!("Run {}", run.name));
        self.text(&format!("<code>{}</code>", escaped(&run.folder.display().to_string())));
        if let Some(why) = &run.summary.unfinished {
            self.text(&format!("Unfinished: {}.", escaped(why)));
        }
        self.fabric(run, id);
        if let Some(timeline) = Timeline::new(run, &format!("{id}-pauses")) {
            let more = match timeline.left_out {
                0 => String::new(),
                more => format!(" {more} more are there."),
            };
            let about = format!(
                "Who was told to stop by whom, those told to for longest first ({}). Drag across it to look closer, double-click to \
                 see all.{more}",
                timeline.tables()
            );
            self.figure((&timeline.id, "bare"), "Pauses", &about, timeline.svg());
            self.data.timelines.push(timeline);
        } else {
            self.text("No switch sent a PAUSE.");
        }
        for chart in selection::run_charts(run, id) {
            self.chart(chart);
        }
        if !run.drops.causes.is_empty() {
            self.text("<b>Drops by cause</b>, most first (<code>drops.csv</code>).");
            let header = ["cause", "class", "at", "frames", "bytes", "first, us", "last, us"];
            self.table(&header, &run.drops.rows());
            if run.drops.causes.len() > drops::SHOWN {
                let more = count((run.drops.causes.len() - drops::SHOWN) as u64);
                self.text(&format!("{more} more causes and places are there."));
            }
        }
        if !run.slowest.is_empty() {
            self.text("<b>Slowest flows</b> (<code>flows.csv</code>).");
            let header = ["flow", "label", "from", "to", "bytes", "FCT, us", "slowdown"];
            let rows: Vec<Vec<String>> = run.slowest.iter().map(|row| row.to_vec()).collect();
            self.table(&header, &rows);
        }
    }

    /// Appends a drawing of the fabric, with its links coloured by load.
    fn fabric(&mut self, run: &Run, id: &str) {
        let scenario = match &run.scenario {
            Ok(scenario) => scenario,
            Err(error) => {
                let error = error.lines().next().unwrap_or_default();
                return self
                    .text(&format!("The fabric cannot be drawn: <code>{}</code>", escaped(error)));
            }
        };
        let mut graph = Graph::new(scenario, Hosts::IfFew);
        let about = if run.loads.is_empty() {
            "The results have no <code>links.csv</code> to colour its links by."
        } else {
            graph.colour(scenario, |wire| run.loads.get(wire).copied().unwrap_or_default());
            "Links by the utilisation of their busier direction (<code>links.csv</code>); dashed where a sender had to stop \
             (<code>pause_time.csv</code>)."
        };
        self.figure((&format!("{id}-fabric"), "grounded"), "Fabric", about, svg(&graph));
    }

    fn finish(self, names: &str) -> Report {
        // Escaped, so that no text of a chart can end the script.
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

/// Returns the verdict on a run in a word or two.
fn verdict(run: &Run) -> String {
    let Run { summary, scenario, .. } = run;
    let has_lossless = |it: &Scenario| it.switch.lossless.count() > 0;
    let lossless = match (summary.lossless, scenario.as_ref().is_ok_and(has_lossless)) {
        (false, _) => "packets lost",
        (true, true) => "lossless",
        (true, false) => "no packet lost",
    };
    let mut words = vec![lossless.to_owned()];
    if !summary.books.is_empty() {
        words.push("books do not balance".into());
    }
    if summary.deadlock.deadlocks > 0 {
        words.push("deadlock".into());
    }
    if summary.unfinished.is_some() {
        words.push("unfinished".into());
    }
    words.join(", ")
}

/// Escapes text for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_have_named_is_text() {
        assert_eq!(escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        let name = "</script><b>".to_owned();
        let metric = crate::report::sweep::Metric {
            key: "pause_frames".into(),
            label: "PAUSE frames".into(),
            cells: vec![crate::report::sweep::Cell {
                name: name.clone(),
                mean: 1.0,
                interval: None,
            }],
        };
        let metrics = vec![metric];
        let sweep = Sweep { name: name.clone(), metrics, cells_left_out: 0, metrics_left_out: 2 };
        let html = report(&[], &[sweep]).html;
        assert!(!html.contains(&name) && html.contains("&lt;/script&gt;&lt;b&gt;"), "{html}");
        assert!(html.contains("\\u003c/script>"), "{html}");
        assert_eq!(html.matches("</script>").count(), 2, "those of the page");
        assert!(html.contains("2 more metrics are in"));
    }
}
