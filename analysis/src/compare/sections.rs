//! Comparison as text and tables, for terminals and reports.

mod flows;

use std::cmp::Reverse;
use std::fmt::{self, Display, Formatter};

use results::{count, counted};

use super::flows::FlowsComparison;
use super::identity::Identity;
use super::metrics::MetricChange;
use super::numbers::{self, CHANGE, instant};
use super::options::Part;
use super::pair::Pair;
use super::pauses::{Counts, NamedEvent, PausesComparison};
use super::tables::{FieldDifference, FirstRow, TableComparison};
use super::{Comparison, Difference};
use crate::report::differences;

/// Max number of rows of a table on a terminal. A page has the others in a part that opens.
pub const ROWS: usize = 20;
/// Max number of fields of a row on a terminal.
const FIELDS: usize = 3;

/// Place where a comparison is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A terminal, with at most `ROWS` rows of a table.
    Terminal,
    /// A page, with all rows.
    Page,
}

/// A part of a comparison for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Title of the part.
    pub title: String,
    /// Header of a table, whose first column is words; empty without a table.
    pub header: Vec<String>,
    /// Rows of the table.
    pub rows: Vec<Vec<String>>,
    /// True if the other columns are words, too.
    pub is_words: bool,
    /// True if a terminal has all rows.
    pub is_whole: bool,
    /// Sentences after the table.
    pub lines: Vec<String>,
}

/// Returns the verdict in a sentence.
pub fn verdict(comparison: &Comparison) -> String {
    let Comparison { equal, first, has_flows, tolerance, parts, .. } = comparison;
    if *equal {
        let up_to = if tolerance.is_zero() { String::new() } else { format!(" up to {tolerance}") };
        let all = parts.len() == Part::ALL.len();
        let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
        let what = if all { "everything" } else { &*names.join(", ") };
        let unfinished = comparison.flows.as_ref().and_then(FlowsComparison::unfinished);
        let unfinished = unfinished.map(|text| format!("; {text}")).unwrap_or_default();
        return format!("equal{up_to}: {what} that A and B both have{unfinished}");
    }
    let flows = comparison.flows.as_ref().filter(|flows| !flows.are_same());
    let flows = flows.map(|flows| {
        let Pair { a, b } = flows.only.as_ref().map(|only| count(only.flows));
        format!("the flows are not the same ({a} only in A, {b} only in B)")
    });
    let alone = (!has_flows.is_equal()).then(|| {
        let side = if has_flows.a { "A" } else { "B" };
        format!("only {side} has flows")
    });
    let from = first.as_ref().map(|first| {
        // The part on flows has the first flow.
        let place = if flows.is_some() { String::new() } else { format!(" ({})", first.place) };
        format!("from {} on{place}", time(first.at_ns))
    });
    let parts = || {
        let tables = comparison.tables.iter().filter(|table| table.first.is_some()).count();
        let of_flows = |of: fn(&FlowsComparison) -> u64| comparison.flows.as_ref().map_or(0, of);
        let flows = [
            (of_flows(FlowsComparison::different_ideals), "ideal FCT of"),
            (of_flows(FlowsComparison::different_ports), "ports of"),
        ];
        let flows = flows.into_iter().filter(|(count, _)| *count > 0);
        let flows = flows.map(|(count, what)| format!("{what} {}", counted(count, "flow")));
        let counts = [(tables, "table"), (comparison.summary.len(), "metric")];
        let differ = counts.into_iter().filter(|(count, _)| *count > 0);
        flows.chain(differ.map(|(count, noun)| counted(count as u64, noun))).collect()
    };
    let why: Vec<String> = flows.into_iter().chain(alone).chain(from).collect();
    let why = if why.is_empty() { parts() } else { why };
    let colon = if why.is_empty() { "" } else { ": " };
    format!("different{colon}{}", why.join(", "))
}

impl Comparison {
    /// Returns sentences to read before the parts: both sides, and the direction of differences.
    pub fn preface(&self) -> Vec<String> {
        let side = |name: &str, side: &Identity| format!("{name}: {}, {}", side.path, side.about());
        let mut lines = vec![side("A", &self.sides.a), side("B", &self.sides.b)];
        let Pair { a, b } = self.sides.as_ref().map(|side| side.build.as_ref());
        if let (Some(a), Some(b)) = (a, b)
            && a != b
            && a.version.is_some()
            && b.version.is_some()
        {
            lines.push("The builds of xoff differ.".to_owned());
        }
        if !self.tolerance.is_zero() {
            lines.push(format!("Differences up to {} count as none.", self.tolerance));
        }
        if !self.equal {
            let text = "Differences are B - A: +, if a number is larger, a time later or a duration longer in B.";
            lines.push(text.to_owned());
        }
        lines
    }

    /// Returns the parts that have something to say.
    pub fn sections(&self, medium: Medium) -> Vec<Section> {
        let mut sections = Vec::new();
        if !self.scenario.is_empty() {
            sections.push(self.keys(medium));
        }
        sections.extend(self.flows.iter().flat_map(|flows| flows.sections(&self.sides)));
        sections.extend(self.pauses.iter().map(PausesComparison::section));
        if !self.tables.is_empty() {
            let are_same = self.flows.as_ref().is_none_or(FlowsComparison::are_same);
            sections.push(tables(&self.tables, are_same, medium));
        }
        if !self.summary.is_empty() {
            let rows = self.summary.iter().map(metric).collect();
            let header = [&["metric"][..], &CHANGE].concat();
            let title = "Metrics of summary.json, largest change first";
            sections.push(Section::new(title, &header, rows));
        }
        if !self.not_compared.is_empty() {
            let lines = self.not_compared.clone();
            let title = "Not compared".to_owned();
            sections.push(Section { title, lines, ..Section::default() });
        }
        if medium == Medium::Terminal {
            sections.iter_mut().for_each(Section::shorten);
        }
        sections
    }

    fn keys(&self, medium: Medium) -> Section {
        let value =
            |value: &Option<String>| value.clone().unwrap_or_else(|| differences::NONE.to_owned());
        let rows = self.scenario.iter().map(|it| vec![it.key.clone(), value(&it.a), value(&it.b)]);
        let rows: Vec<Vec<String>> = rows.collect();
        let rows = match medium {
            Medium::Terminal => differences::shortened(&rows, 2),
            Medium::Page => rows,
        };
        let section = Section::new("Keys of the scenarios", &["key", "A", "B"], rows);
        Section { is_words: true, ..section }
    }
}

impl Section {
    fn new(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let header = header.iter().map(ToString::to_string).collect();
        Self { title: title.to_owned(), header, rows, ..Self::default() }
    }

    fn with(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Leaves out rows and sentences for lack of room, and counts them.
    fn shorten(&mut self) {
        let columns = self.header.len();
        if !self.is_whole {
            leave_out(&mut self.rows, |more| {
                let mut row = vec![String::new(); columns];
                row[0] = format!("{more} more in --json");
                row
            });
        }
        leave_out(&mut self.lines, |more| format!("and {more} more in --json"));
    }
}

/// Leaves out all but [`ROWS`] items, and adds an item with the number of the others.
fn leave_out<T>(items: &mut Vec<T>, more: impl Fn(usize) -> T) {
    let left_out = items.len().saturating_sub(ROWS);
    if left_out > 0 {
        items.truncate(ROWS);
        items.push(more(left_out));
    }
}

impl PausesComparison {
    fn section(&self) -> Section {
        // Files of simulators have no refreshes.
        let refreshes = self.all.refreshes != Pair::default();
        let of = |counts: &Counts| {
            let refreshes = refreshes.then_some(counts.refreshes);
            [counts.pauses, counts.resumes].into_iter().chain(refreshes)
        };
        let row = |name: String, counts: &Counts| {
            let cells = of(counts).flat_map(|it| {
                let difference = numbers::difference(b_minus_a(it));
                [count(it.a), count(it.b), difference]
            });
            [name].into_iter().chain(cells).collect::<Vec<String>>()
        };
        let extent = |counts: &Counts| of(counts).map(|it| it.a.abs_diff(it.b)).sum::<u64>();
        let mut differ: Vec<_> =
            self.ports.iter().filter(|port| extent(&port.counts) > 0).collect();
        differ.sort_by_key(|port| Reverse(extent(&port.counts)));
        let all = row("all".to_owned(), &self.all);
        let rows = differ.iter().map(|port| row(port.place.to_string(), &port.counts));
        let kinds = ["PAUSE", "RESUME", "refresh"].into_iter().take(of(&self.all).count());
        let header = kinds.flat_map(|kind| [format!("{kind} A"), "B".into(), "B - A".into()]);
        let header = ["port".to_owned()].into_iter().chain(header).collect();
        let equal = differ.is_empty().then(|| "Counts of all ports are equal.".to_owned());
        let first = self.first.as_ref().map(|first| {
            let event = |event: &Option<NamedEvent>| match event {
                None => "nothing more".to_owned(),
                Some(event) => format!("{event} at {}", time(event.time_ns)),
            };
            let difference = first.b_minus_a_ns.map(|ns| format!(" ({})", signed_time(ns)));
            let (a, b) = (event(&first.a), event(&first.b));
            format!("First difference: in A {a}; in B {b}{}.", difference.unwrap_or_default())
        });
        let order = if differ.len() > 1 { ", largest change first" } else { "" };
        let title = format!("Pauses ({}){order}", self.file);
        let rows = [all].into_iter().chain(rows).collect();
        let lines = equal.into_iter().chain(first).collect();
        Section { title, header, rows, lines, ..Section::default() }
    }
}

/// Returns the section of tables: a line for each that differs, the earliest difference first, and one for the others.
/// `are_same`: the flows of both sides are the same; otherwise rows of flows have nothing in common.
fn tables(tables: &[TableComparison], are_same: bool, medium: Medium) -> Section {
    let mut differ: Vec<_> =
        tables.iter().filter_map(|table| Some((table, table.first.as_ref()?))).collect();
    differ.sort_by_key(|(_, first)| first.at_ns.unwrap_or(i64::MAX));
    let line = |(table, first): &(&TableComparison, &FirstRow)| {
        let rows = match table.rows {
            Pair { a, b } if a == b => counted(a, "row"),
            Pair { a, b } => {
                let difference = numbers::difference(b_minus_a(table.rows));
                format!("{} and {} ({difference})", count(a), counted(b, "row"))
            }
        };
        let fields = if medium == Medium::Page { usize::MAX } else { FIELDS };
        if table.is_by_flow && !are_same {
            return format!("{}, {rows}: of flows that are not the same", table.table);
        }
        format!("{}, {rows}: {}", table.table, first.describe(fields))
    };
    let mut lines: Vec<String> = differ.iter().map(line).collect();
    let equal = tables.iter().filter(|table| table.first.is_none() && table.columns > 0);
    let equal: Vec<&str> = equal.map(|table| table.table).collect();
    lines.extend((!equal.is_empty()).then(|| format!("equal: {}", equal.join(", "))));
    for table in tables {
        for (side, columns) in [("A", &table.only.a), ("B", &table.only.b)] {
            if !columns.is_empty() {
                let columns = columns.join(", ");
                lines.push(format!("columns of {} only in {side}: {columns}", table.table));
            }
        }
    }
    let title = match differ.len() {
        0 => "Tables",
        1 => "Tables, and the first row that differs",
        _ => "Tables, and their first rows that differ, the earliest first",
    };
    Section { title: title.to_owned(), lines, ..Section::default() }
}

impl FirstRow {
    /// Describes the row by `max_fields` of its fields at most.
    pub(super) fn describe(&self, max_fields: usize) -> String {
        let mut text = match (&self.place.a, &self.place.b) {
            (Some(a), Some(b)) if a == b => a.clone(),
            (Some(a), Some(b)) => format!("{a} and {b}"),
            (Some(place), None) => format!("{place}, only in A"),
            (None, Some(place)) => format!("{place}, only in B"),
            (None, None) => String::new(),
        };
        if let Some((flow, label)) = &self.flow {
            text = format!("{text} (flow {flow}, label {label})");
        } else if !self.about.is_empty() {
            let about = self.about.iter().map(|(name, value)| format!("{name} {value}"));
            text = format!("{text} ({})", about.collect::<Vec<_>>().join(", "));
        }
        if let Some(at) = self.at_ns {
            text = format!("{text} at {}", time(at));
        }
        let fields: Vec<String> = self.fields.iter().take(max_fields).map(field).collect();
        if !fields.is_empty() {
            text = format!("{text}: {}", fields.join(", "));
        }
        match self.fields.len().saturating_sub(max_fields) {
            0 => text,
            more => format!("{text}, and {more} more"),
        }
    }
}

fn field(field: &FieldDifference) -> String {
    let difference = field.b_minus_a.map(|it| format!(" ({})", numbers::difference(it)));
    let difference = difference.unwrap_or_default();
    match &field.fields {
        Difference { key, a: Some(a), b: Some(b) } => format!("{key} {a} | {b}{difference}"),
        Difference { key, a, b } => {
            let value = a.as_ref().or(b.as_ref());
            format!("{key} {}", value.map_or("", String::as_str))
        }
    }
}

fn metric(metric: &MetricChange) -> Vec<String> {
    [metric.key.clone()].into_iter().chain(numbers::cells(&metric.change)).collect()
}

fn b_minus_a(counts: Pair<u64>) -> results::Number {
    super::change::b_minus_a(counts.map(results::Number::from))
}

/// Writes an instant with its unit.
fn time(ns: i64) -> String {
    format!("{} ns", instant(ns))
}

/// Writes a difference of times with its sign and unit.
fn signed_time(ns: i128) -> String {
    format!("{} ns", numbers::difference(results::Number(ns * results::Number::ONE.0)))
}

impl Display for Section {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let table = || self.rows.iter().chain([&self.header]);
        let width = |column: usize| {
            table().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let header = Some(&self.header).filter(|header| !header.is_empty());
        for row in header.into_iter().chain(&self.rows) {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, &width))| match column {
                0 => format!("  {cell:<width$}"),
                _ if self.is_words => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<String>().trim_end())?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict)?;
        self.preface().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        let sections = self.sections(Medium::Terminal);
        sections.iter().try_for_each(|section| write!(f, "\n{section}"))
    }
}
