//! The HTML document.

use std::fmt::Write as _;

use results::{FctSummary, LabelSummary, Slowdown, SlowdownSummary, Summary, count};
use scenario::Scenario;
use serde::Serialize;

use super::chart::{Chart, Width};
use super::run::Run;
use super::sweep::Sweep;
use super::time::micros;
use super::timeline::Timeline;
use super::{Report, differences, drops, selection, sweep_charts};
use crate::compare::{Comparison, Medium};
use crate::graph::{Graph, Hosts, svg};

const STYLE: &str = include_str!("style.css");
/// Max number of rows of a table outside of a part that opens.
const ROWS: usize = 20;
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

/// Makes the report of runs and sweeps, with a comparison of runs if there is one.
pub fn report(runs: &[Run], sweeps: &[Sweep], comparison: Option<&Comparison>) -> Report {
    let mut page = Page::default();
    if let Some(comparison) = comparison {
        page.section("Comparison");
        page.verdict(comparison);
    }
    if !runs.is_empty() {
        page.section("At a glance");
        page.glance(runs);
        for chart in selection::comparison_charts(runs) {
            page.chart(chart);
        }
    }
    if let Some(comparison) = comparison {
        page.section("Differences");
        page.differences(comparison);
    }
    for (number, run) in runs.iter().enumerate() {
        page.run(run, &format!("run{number}"));
    }
    for (number, sweep) in sweeps.iter().enumerate() {
        page.section(&format!("Sweep {}", sweep.name));
        page.sweep(sweep, &format!("sweep{number}"));
    }
    let files = comparison.iter().flat_map(|it| [&it.sides.a, &it.sides.b]);
    let files = files.filter(|side| side.build.is_none()).map(|side| &*side.path);
    let names = runs.iter().map(|run| &*run.name).chain(sweeps.iter().map(|sweep| &*sweep.name));
    let names: Vec<&str> = names.chain(files).collect();
    // The name of a sweep's run has commas.
    let has_commas = names.iter().any(|name| name.contains(','));
    page.finish(&names.join(if has_commas { "; " } else { ", " }))
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
        self.table_of("", header, rows);
    }

    /// Appends a table of at most [`ROWS`] rows. The other rows follow in a `<details>` element.
    fn long_table(&mut self, class: &str, header: &[&str], rows: &[Vec<String>]) {
        let (shown, more) = rows.split_at(rows.len().min(ROWS));
        self.table_of(class, header, shown);
        if !more.is_empty() {
            let _ = writeln!(self.body, "<details><summary>{} more</summary>", more.len());
            self.table_of(class, header, more);
            self.body += "</details>\n";
        }
    }

    /// Appends a table of a class: `words` has words in all columns, `glance` a column for each run.
    fn table_of(&mut self, class: &str, header: &[&str], rows: &[Vec<String>]) {
        let cells = |cells: &[&str], tag: &str| {
            let cell = |(column, cell): (usize, &&str)| {
                // Long names in the first column may break behind their parts.
                let text = escaped(cell);
                let breaks = |text: String| text.replace('_', "_<wbr>").replace('.', ".<wbr>");
                let text = if column == 0 { breaks(text) } else { text };
                format!("<{tag}>{text}</{tag}>")
            };
            cells.iter().enumerate().map(cell).collect::<String>()
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.body, "<div class=\"scroll\"><table{class}>\n<thead><tr>");
        self.body += &cells(header, "th");
        self.body += "</tr></thead>\n<tbody>\n";
        for row in rows {
            let row: Vec<&str> = row.iter().map(String::as_str).collect();
            let _ = writeln!(self.body, "<tr>{}</tr>", cells(&row, "td"));
        }
        self.body += "</tbody></table></div>\n";
    }

    /// Appends a picture of transparent background, whose texts the page colours. `svg` draws it at a width.
    fn picture(&mut self, id: &str, title: &str, about: &str, svg: impl Fn(Width) -> String) {
        let both = Width::ALL.map(svg).join("\n");
        self.figure((id, "bare"), title, about, &both);
    }

    fn figure(&mut self, (id, class): (&str, &str), title: &str, about: &str, content: &str) {
        let _ = writeln!(
            self.body,
            "<figure class=\"{class}\" id=\"{id}\"><figcaption><b>{}</b> {about}</figcaption>\n{content}</figure>",
            escaped(title)
        );
    }

    fn chart(&mut self, chart: Chart) {
        self.picture(&chart.id, &chart.title, &chart.about, |width| chart.svg(width));
        self.figures.push((chart.id.clone(), chart.standalone_svg()));
        self.data.charts.push(chart);
    }

    fn verdict(&mut self, comparison: &Comparison) {
        self.text(&format!("<b>{}</b>", escaped(&comparison.verdict)));
        for line in comparison.preface() {
            self.text(&escaped(&line));
        }
    }

    fn differences(&mut self, comparison: &Comparison) {
        for section in comparison.sections(Medium::Page) {
            let _ = writeln!(self.body, "<h3>{}</h3>", escaped(&section.title));
            if !section.header.is_empty() {
                let header: Vec<&str> = section.header.iter().map(String::as_str).collect();
                let class = if section.is_words { "words" } else { "" };
                self.long_table(class, &header, &section.rows);
            }
            for line in &section.lines {
                self.text(&escaped(line));
            }
        }
    }

    fn sweep(&mut self, sweep: &Sweep, id: &str) {
        if !sweep.constant.is_empty() {
            self.text(&format!("In all cells: {}.", escaped(&sweep.constant.join(", "))));
        }
        let cells = count((sweep.cells.len() + sweep.cells_left_out) as u64);
        let seeds = match sweep.seeds {
            0 => "No cell has a complete run.".to_owned(),
            1 => "Each cell has one seed, so there are no intervals. Three seeds or more show the spread.".to_owned(),
            2 => "Each cell has two seeds. Their 95 % intervals (Student's t, one degree of freedom) reach nine standard deviations \
                  to both sides of the mean, and are cut off at the edge of a plot. Three seeds or more have useful intervals."
                .to_owned(),
            seeds => format!("Each cell has {seeds} seeds, or fewer where runs are incomplete. Bars are 95 % intervals of the mean (Student's t)."),
        };
        self.text(&format!("{cells} cells. {seeds}"));
        if sweep.cells_left_out > 0 {
            let more = sweep.cells_left_out;
            self.text(&format!("{more} more cells are in <code>summary.csv</code>."));
        }
        if !sweep.troubles.is_empty() {
            let shown = sweep.troubles.iter().take(10).map(String::as_str).collect::<Vec<_>>();
            let more = match sweep.troubles.len().saturating_sub(10) {
                0 => String::new(),
                more => format!("; {more} more cells"),
            };
            self.text(&format!("Runs with trouble: {}{more}.", escaped(&shown.join("; "))));
        }
        let (charts, notes) = sweep_charts::sweep_charts(sweep, id);
        for chart in charts {
            self.chart(chart);
        }
        for note in notes {
            self.text(&note);
        }
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
            most.map_or_else(none, |(name, bytes)| match *bytes {
                0 => "0".to_owned(),
                bytes => format!("{} ({name})", count(bytes)),
            })
        };
        let any = |of: &dyn Fn(&Summary) -> Option<u64>, name: &str| {
            let has = runs.iter().any(|run| of(&run.summary).is_some());
            has.then(|| line(name, &|it| of(it).map_or_else(none, count)))
        };
        let slowdown = |name: &str, of: fn(&SlowdownSummary) -> Slowdown| {
            line(name, &|it| it.slowdown.as_ref().map_or_else(none, |it| of(it).to_string()))
        };
        let fct = |name: &str, of: fn(&FctSummary) -> u64| {
            line(name, &|it| it.fct_ns.as_ref().map_or_else(none, |it| micros(of(it))))
        };
        let build = |run: &Run| run.build.to_string();
        let date = |run: &Run| run.date.clone().unwrap_or_else(none);
        let mut rows = vec![
            ["verdict".to_owned()].into_iter().chain(runs.iter().map(verdict)).collect(),
            [String::from("build")].into_iter().chain(runs.iter().map(build)).collect(),
            [String::from("date")].into_iter().chain(runs.iter().map(date)).collect(),
            line("seed", &|it| it.seed.to_string()),
            line("emulated, us", &|it| micros(it.emulated_ns)),
            line("flows completed", &|it| {
                format!("{} of {}", count(it.flows_completed), count(it.flows_total))
            }),
            slowdown("median slowdown", |of| of.p50),
            slowdown("p99 slowdown", |of| of.p99),
            slowdown("mean slowdown", |of| of.mean),
            fct("median completion time, us", |of| of.p50),
            fct("p99 completion time, us", |of| of.p99),
            line("PAUSE frames", &|it| count(it.pause_frames)),
            line("paused, summed over ports and priorities, us", &|it| micros(it.paused_ns)),
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
        self.table_of("glance", &header, &rows);
        let mut keys = differences::rows(runs.iter().map(|run| &*run.folder));
        // The table has a row for the seed, and the title has the name.
        keys.retain(|row| !["seed", "name"].contains(&&*row[0]));
        let short = differences::shortened(&keys, runs.len());
        if !keys.is_empty() {
            self.text("Keys in which the runs differ (<code>scenario.resolved.toml</code>):");
            self.table_of("words", &header, &short);
        }
        if short != keys {
            let _ = writeln!(self.body, "<details><summary>all {} keys</summary>", keys.len());
            self.table_of("words", &header, &keys);
            self.body += "</details>\n";
        }
    }

    fn run(&mut self, run: &Run, id: &str) {
        self.section(&format!("Run {}", run.name));
        let folder = escaped(&run.folder.display().to_string());
        self.text(&match &run.command {
            Some(command) => format!("<code>{folder}</code>, by <code>{}</code>", escaped(command)),
            None => format!("<code>{folder}</code>"),
        });
        if let [bin] = &run.sizes[..] {
            let [mean, p50, p95, p99] = bin.slowdown;
            self.text(&format!(
                "All flows have sizes of one range, {}: slowdown {p50} (median), {p95} (p95), {p99} (p99), {mean} (mean).",
                bin.range
            ));
        }
        self.labels(run);
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
                "Neighbours that pause each other, the longest paused first ({}). Drag across the picture to zoom in, double-click to \
                 see all.{more}",
                timeline.tables()
            );
            self.picture(&timeline.id, "Pauses", &about, |width| timeline.svg(width));
            self.figures.push((timeline.id.clone(), timeline.svg(Width::Wide)));
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

    /// Appends a table of the flows of each label, if there are several.
    fn labels(&mut self, run: &Run) {
        let labels = &run.summary.labels;
        if labels.len() < 2 {
            return;
        }
        let row = |(label, it): (&String, &LabelSummary)| {
            let none = || "-".to_owned();
            let fct = it.fct_ns.map(|fct| [fct.mean, fct.p50, fct.p99].map(micros));
            let slowdown = it.slowdown.map(|of| [of.mean, of.p50, of.p99].map(|it| it.to_string()));
            let both = [fct, slowdown].map(|it| it.unwrap_or_else(|| [none(), none(), none()]));
            let flows = format!("{} of {}", count(it.completed), count(it.flows));
            [label.clone(), flows].into_iter().chain(both.into_iter().flatten()).collect()
        };
        let rows: Vec<Vec<String>> = labels.iter().map(row).collect();
        self.text("<b>Flows by label</b> (<code>summary.json</code>).");
        let header =
            ["label", "completed", "FCT mean, us", "p50", "p99", "slowdown mean", "p50", "p99"];
        self.long_table("", &header, &rows);
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
             (<code>pause_time.csv</code>). A wide fabric scrolls sideways."
        };
        let (id, svg) = (format!("{id}-fabric"), svg(&graph));
        let content = format!("<div class=\"scroll\">{svg}</div>");
        self.figure((&id, "fabric"), "Fabric", about, &content);
        self.figures.push((id, svg));
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
    use crate::report::sweep::{Metric, Value};
    use crate::report::sweep_axis::SweepAxis;

    #[test]
    fn what_people_have_named_is_text() {
        assert_eq!(escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        let name = "</script><b>".to_owned();
        let value = Value { cell: 0, mean: 1.0, interval: None };
        let metric = Metric { key: "pause_frames".into(), values: vec![value] };
        let (axes, _) = SweepAxis::of(&["key".into()], &[vec![name.clone()], vec!["b".into()]]);
        let sweep = Sweep {
            name: name.clone(),
            axes,
            constant: Vec::new(),
            cells: vec![vec![name.clone()]],
            troubles: Vec::new(),
            metrics: vec![metric],
            seeds: 2,
            cells_left_out: 7,
        };
        let html = report(&[], &[sweep], None).html;
        assert!(!html.contains(&name) && html.contains("&lt;/script&gt;&lt;b&gt;"), "{html}");
        assert!(html.contains("\\u003c/script>"), "{html}");
        assert_eq!(html.matches("</script>").count(), 2, "those of the page");
        assert!(html.contains("7 more cells are in") && html.contains("two seeds"));
    }
}
