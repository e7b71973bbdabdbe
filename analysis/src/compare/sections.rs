//! Comparison as text and tables, for terminals and reports.

use std::fmt::{self, Display, Formatter};

use results::{Number, count, counted};

use super::distribution::Distribution;
use super::flows::{FirstFlow, FlowsComparison, NamedFlow, Unmatched, What};
use super::pair::Pair;
use super::pauses::{Counts, NamedEvent, PausesComparison};
use super::tables::{FirstRow, TableComparison};
use super::{Comparison, Difference};
use crate::report::differences;

/// Max number of rows of a table.
const ROWS: usize = 20;
/// Max number of fields of a row.
const FIELDS: usize = 3;

/// A part of a comparison for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Title of the part.
    pub title: String,
    /// Header and rows of a table, whose first column is words; empty without a table.
    pub table: Vec<Vec<String>>,
    /// Sentences after the table.
    pub lines: Vec<String>,
}

impl Comparison {
    /// Returns the verdict in a sentence.
    pub fn verdict(&self) -> String {
        match &self.first {
            _ if self.equal => "equal: everything that A and B both have".to_owned(),
            Some(first) => format!("different: from {} on ({})", time(first.at_ns), first.place),
            None if !self.has_flows.is_equal() => {
                let side = if self.has_flows.a { "A" } else { "B" };
                format!("different: only {side} has flows")
            }
            None => "different".to_owned(),
        }
    }

    /// Returns the parts that have something to say.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        if !self.scenario.is_empty() {
            let rows = self.scenario.iter().map(|it| {
                let value = |value: &Option<String>| {
                    value.clone().unwrap_or_else(|| differences::NONE.to_owned())
                };
                vec![it.key.clone(), value(&it.a), value(&it.b)]
            });
            let rows = differences::shortened(&rows.collect::<Vec<_>>(), 2);
            sections.push(Section::new("Keys of the scenarios", &["key", "A", "B"], rows));
        }
        if let Some(flows) = &self.flows {
            sections.push(flows.section());
            for (side, only) in [("A", &flows.only.a), ("B", &flows.only.b)] {
                sections.extend(only.section(side));
            }
        }
        sections.extend(self.pauses.iter().map(PausesComparison::section));
        if !self.tables.is_empty() {
            sections.push(tables(&self.tables));
        }
        if !self.summary.is_empty() {
            let rows = self.summary.iter().map(metric).collect();
            sections.push(Section::new("Metrics of summary.json", &["metric", "A", "B"], rows));
        }
        if !self.not_compared.is_empty() {
            let mut lines = self.not_compared.clone();
            leave_out(&mut lines, |more| format!("and {more} more"));
            sections.push(Section { title: "Not compared".to_owned(), table: Vec::new(), lines });
        }
        sections
    }
}

impl Section {
    fn new(title: &str, header: &[&str], mut rows: Vec<Vec<String>>) -> Self {
        let empty = vec![String::new(); header.len() - 1];
        leave_out(&mut rows, |more| {
            let mut row = empty.clone();
            row.insert(0, format!("{more} more in --json"));
            row
        });
        let header = header.iter().map(ToString::to_string).collect();
        let table = [header].into_iter().chain(rows).collect();
        Self { title: title.to_owned(), table, lines: Vec::new() }
    }

    fn with(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.lines.extend(lines);
        self
    }
}

/// Leaves out all but [`ROWS`] items, and adds an item with the number of the others.
fn leave_out<T>(items: &mut Vec<T>, more: impl Fn(usize) -> T) {
    let left_out = items.len().saturating_sub(ROWS);
    items.truncate(ROWS);
    if left_out > 0 {
        items.push(more(left_out));
    }
}

impl FlowsComparison {
    fn section(&self) -> Section {
        let [a, b, matched] = [self.flows.a, self.flows.b, self.matched].map(count);
        let title = format!("Flows: {a} in A, {b} in B, {matched} in both");
        let first = self.first.as_ref().map(|first| format!("First difference: {first}."));
        let Pair { a, b } = self.unfinished;
        let unfinished = [("A", "B", a), ("B", "A", b)].into_iter().filter(|it| it.2 > 0);
        let unfinished = unfinished.map(|(side, file, flows)| {
            format!("Not completed in {side}, no line in {file}: {}.", counted(flows, "flow"))
        });
        let end = unfinished.chain(first);
        if self.matched == 0 {
            return Section { title, table: Vec::new(), lines: end.collect() };
        }
        let equal = |equal: u64| {
            let share = Number::ratio(equal.into(), self.matched.into());
            vec![count(equal), percent(share)]
        };
        let numbers = |distribution: &Option<Distribution>, write: fn(Number) -> String| {
            let numbers = distribution.as_ref().map(Distribution::numbers);
            numbers.map_or_else(|| vec!["-".to_owned(); 5], |them| them.map(write).to_vec())
        };
        let none = || vec![String::new(); 2];
        let row = |name: &str, parts: [Vec<String>; 2]| {
            [vec![name.to_owned()]].into_iter().chain(parts).flatten().collect()
        };
        let mut rows = vec![
            row("start, ns", [equal(self.equal_starts), numbers(&self.start_ns, grouped)]),
            row("FCT, ns", [equal(self.equal_fcts), numbers(&self.fct_ns, grouped)]),
            row("FCT, of A's", [none(), numbers(&self.fct_relative, percent)]),
            row("slowdown", [none(), numbers(&self.slowdown, grouped)]),
            row("slowdown, of A's", [none(), numbers(&self.slowdown_relative, percent)]),
            row("ideal FCT", [equal(self.equal_ideals), vec![String::new(); 5]]),
        ];
        if let Some(ports) = self.equal_ports {
            rows.push(row("ports", [equal(ports), vec![String::new(); 5]]));
        }
        let header = ["difference", "equal", "share", "p50", "p90", "p99", "max", "mean"];
        let slower = (self.slower_in_b + self.faster_in_b > 0).then(|| {
            let [slower, faster] = [self.slower_in_b, self.faster_in_b].map(count);
            format!("Flows that take longer in B: {slower}; in A: {faster}.")
        });
        Section::new(&title, &header, rows).with(slower.into_iter().chain(end))
    }
}

impl Unmatched {
    fn section(&self, side: &str) -> Option<Section> {
        if self.flows == 0 {
            return None;
        }
        let rows = self.first.iter().map(|it| {
            let fct = it.fct_ns.map_or_else(|| "-".to_owned(), count);
            let numbers = [count(it.bytes), signed(it.start_ns), fct];
            let names = [it.flow.to_string(), it.from.clone(), it.to.clone()];
            names.into_iter().chain(numbers).collect()
        });
        let title = match self.flows - self.first.len() as u64 {
            0 => format!("Flows only in {side}"),
            _ => format!("Flows only in {side}: the first of {}", count(self.flows)),
        };
        let header = ["flow", "from", "to", "bytes", "start, ns", "FCT, ns"];
        Some(Section::new(&title, &header, rows.collect()))
    }
}

impl Display for FirstFlow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(named) = self.a.as_ref().or(self.b.as_ref()) else { return Ok(()) };
        let value = |flow: &Option<NamedFlow>| match (flow, self.what) {
            (None, _) => "absent".to_owned(),
            (Some(flow), What::Completion) => flow
                .fct_ns
                .map_or_else(|| "not completed".to_owned(), |fct| format!("FCT {} ns", count(fct))),
            (Some(flow), _) => format!("start {}", time(flow.start_ns)),
        };
        let NamedFlow { flow, from, to, bytes, .. } = named;
        write!(f, "flow {flow}")?;
        if let Some(other) = self.b.as_ref().filter(|other| other.flow != *flow) {
            write!(f, " (in B {})", other.flow)?;
        }
        let (bytes, a, b) = (count(*bytes), value(&self.a), value(&self.b));
        write!(f, " from {from} to {to} of {bytes} B: {a} in A, {b} in B")
    }
}

impl PausesComparison {
    fn section(&self) -> Section {
        // Files of simulators have no refreshes.
        let refreshes = self.all.refreshes != Pair::default();
        let numbers = |counts: &Counts| {
            let refreshes = refreshes.then_some(counts.refreshes);
            [counts.pauses].into_iter().chain(refreshes).chain([counts.resumes])
        };
        let row = |name: String, counts: &Counts| {
            let cells = numbers(counts).flat_map(|it| [count(it.a), count(it.b)]);
            [name].into_iter().chain(cells).collect::<Vec<String>>()
        };
        let mut rows = vec![row("all".to_owned(), &self.all)];
        let differ =
            self.ports.iter().filter(|port| !numbers(&port.counts).all(|it| it.is_equal()));
        rows.extend(differ.map(|port| row(port.place.to_string(), &port.counts)));
        let header = ["port", "PAUSE A", "B", "RESUME A", "B", "refresh A", "B"];
        let header = [&header[..3], if refreshes { &header[5..] } else { &[] }, &header[3..5]];
        let equal = (rows.len() == 1).then(|| "Counts of all ports are equal.".to_owned());
        let first = self.first.as_ref().map(|first| {
            let event = |event: &Option<NamedEvent>| match event {
                None => "nothing more".to_owned(),
                Some(event) => format!("{event} at {}", time(event.time_ns)),
            };
            format!("First difference: in A {}; in B {}.", event(&first.a), event(&first.b))
        });
        let title = format!("Pauses ({})", self.file);
        Section::new(&title, &header.concat(), rows).with(equal.into_iter().chain(first))
    }
}

/// Returns the section of tables: a line for each that differs, and one for the others.
fn tables(tables: &[TableComparison]) -> Section {
    let differs = |table: &TableComparison| {
        let first = table.first.as_ref()?;
        let rows = match table.rows {
            Pair { a, b } if a == b => counted(a, "row"),
            Pair { a, b } => format!("{} and {}", count(a), counted(b, "row")),
        };
        Some(format!("{}, {rows}: {first}", table.table))
    };
    let mut lines: Vec<String> = tables.iter().filter_map(differs).collect();
    let equal = tables.iter().filter(|table| table.first.is_none() && table.columns > 0);
    let equal = equal.map(|table| table.table);
    let equal: Vec<&str> = equal.collect();
    lines.extend((!equal.is_empty()).then(|| format!("equal: {}", equal.join(", "))));
    for table in tables {
        for (side, columns) in [("A", &table.only.a), ("B", &table.only.b)] {
            if !columns.is_empty() {
                let columns = columns.join(", ");
                lines.push(format!("columns of {} only in {side}: {columns}", table.table));
            }
        }
    }
    let title = "Tables, and their first rows that differ".to_owned();
    Section { title, table: Vec::new(), lines }
}

impl Display for FirstRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.place.a, &self.place.b) {
            (Some(a), Some(b)) if a == b => f.write_str(a)?,
            (Some(a), Some(b)) => write!(f, "{a} and {b}")?,
            (Some(place), None) => write!(f, "{place}, only in A")?,
            (None, Some(place)) => write!(f, "{place}, only in B")?,
            (None, None) => {}
        }
        if let Some(at) = self.at_ns {
            write!(f, " at {}", time(at))?;
        }
        let value = |value: &Option<String>| value.clone().unwrap_or_default();
        let fields = self.fields.iter().take(FIELDS).map(|Difference { key, a, b }| match (a, b) {
            (Some(a), Some(b)) => format!("{key} {a} | {b}"),
            _ => format!("{key} {}{}", value(a), value(b)),
        });
        let fields = fields.collect::<Vec<_>>().join(", ");
        let colon = if fields.is_empty() { "" } else { ": " };
        write!(f, "{colon}{fields}")?;
        match self.fields.len().saturating_sub(FIELDS) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

fn metric(difference: &Difference<Number>) -> Vec<String> {
    let value = |value: Option<Number>| value.map_or_else(|| "-".to_owned(), grouped);
    vec![difference.key.clone(), value(difference.a), value(difference.b)]
}

/// Writes an instant, exactly.
fn time(ns: i64) -> String {
    format!("{} ns", signed(ns))
}

fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// Writes a number with separators of thousands.
fn grouped(number: Number) -> String {
    let text = number.to_string();
    let (whole, places) = text.split_once('.').map_or((&*text, None), |(it, of)| (it, Some(of)));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    places.map_or_else(|| whole.clone(), |places| format!("{whole}.{places}"))
}

/// Writes a part of one as a percentage.
fn percent(part: Number) -> String {
    format!("{} %", Number(part.0 * 100))
}

impl Display for Section {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let columns = self.table.first().map_or(0, Vec::len);
        let width = |column: usize| {
            self.table.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.table {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, &width))| match column {
                0 => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<String>().trim_end())?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "A: {}\nB: {}\n{}", self.paths.a, self.paths.b, self.verdict())?;
        self.sections().iter().try_for_each(|section| write!(f, "\n{section}"))
    }
}
