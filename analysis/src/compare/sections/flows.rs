//! Sections on flows.

use std::fmt::{self, Display, Formatter};

use results::{Number, count, counted};

use super::{Section, signed_time, time};
use crate::compare::change::Change;
use crate::compare::distribution::{Differences, Distribution};
use crate::compare::flows::{FirstFlow, FlowsComparison, NamedFlow, Unmatched, What};
use crate::compare::identity::Identity;
use crate::compare::numbers::{self, CHANGE, difference, grouped, instant, percent};
use crate::compare::pair::Pair;
use crate::compare::sizes::{SizeClass, Statistics};

impl FlowsComparison {
    /// Returns the sections: of flows that are not the same the distributions, of flows that are the differences.
    pub(super) fn sections(&self, sides: &Pair<Identity>) -> Vec<Section> {
        let [a, b, matched] = [self.flows.a, self.flows.b, self.matched].map(count);
        let title = format!("Flows: {a} in A, {b} in B, {matched} in both");
        let first = self.first.as_ref().map(|first| format!("First difference: {first}."));
        let end = self.unfinished_lines().chain(first);
        if self.are_same() {
            let pairs = if self.matched > 0 { self.pairs() } else { Section::default() };
            return vec![Section { title, ..pairs }.with(end)];
        }
        let lines = self.strangers(sides).into_iter().chain(end).collect();
        let mut sections = vec![Section { title, lines, ..Section::default() }];
        if self.matched > 0 {
            let title = format!("Flows that are in both: {matched}");
            sections.push(Section { title, ..self.pairs() });
        }
        sections.push(by_size("Completion times of all flows by size, ns", &self.sizes, true));
        sections.push(by_size("Slowdowns of all flows by size", &self.sizes, false));
        for (side, only) in [("A", &self.only.a), ("B", &self.only.b)] {
            sections.extend(only.section(side));
        }
        sections
    }

    /// Returns sentences about flows that are on one side only.
    fn strangers(&self, sides: &Pair<Identity>) -> Vec<String> {
        let only = self.only.as_ref().map(|only| count(only.flows));
        let mut lines = vec![format!(
            "The flows are not the same: {} only in A, {} only in B. A flow is the same if its sender, receiver, size and start \
             are. So distributions of all flows are compared.",
            only.a, only.b
        )];
        if let Pair { a: Some(a), b: Some(b) } = sides.as_ref().map(|side| side.seed)
            && a != b
        {
            lines.push(format!("The seeds are {a} and {b}; a seed draws flows at random."));
        } else if let Some(Distribution { min, max, .. }) = self.displaced_ns {
            let tolerance = min.0.abs().max(max.0.abs()) / Number::ONE.0;
            let (min, max) = (difference(min), difference(max));
            lines.push(format!(
                "Only their starts differ, B - A by {min} to {max} ns: with --tolerance {tolerance}ns they are the same."
            ));
        }
        lines
    }

    fn unfinished_lines(&self) -> impl Iterator<Item = String> + use<> {
        let unfinished = self.unfinished().map(|text| format!("{text}."));
        let Pair { a, b } = self.without_line;
        let lines = [("A", "B", a), ("B", "A", b)].into_iter().filter(|it| it.2 > 0);
        let lines = lines.map(|(side, file, flows)| {
            format!("Not completed in {side}, no line in {file}: {}.", counted(flows, "flow"))
        });
        unfinished.into_iter().chain(lines)
    }

    /// Returns the numbers of flows that did not complete; `None` if all did.
    pub(super) fn unfinished(&self) -> Option<String> {
        let Pair { a, b } = self.unfinished;
        (a + b > 0).then(|| format!("{} unfinished in A, {} in B", counted(a, "flow"), count(b)))
    }

    /// Returns the differences of flows that are in both.
    fn pairs(&self) -> Section {
        let equal = |equal: u64, all: u64| {
            let share = (all > 0).then(|| Number::ratio(equal.into(), all.into()));
            let share = share.map(|it| format!("{} %", grouped(Number(it.0 * 100))));
            vec![count(equal), share.unwrap_or_else(|| numbers::NONE.to_owned())]
        };
        let of = |distribution: Option<&Distribution>, write: fn(Number) -> String| {
            let texts = distribution.map(|it| it.numbers().map(write).to_vec());
            texts.unwrap_or_else(|| vec![numbers::NONE.to_owned(); Distribution::NAMES.len()])
        };
        let absolute = |differences: &Option<Differences>| {
            of(differences.as_ref().map(|it| &it.b_minus_a), difference)
        };
        let relative = |differences: &Option<Differences>| {
            of(differences.as_ref().and_then(|it| it.of_a.as_ref()), percent)
        };
        let none = |columns| vec![String::new(); columns];
        let row = |name: &str, parts: [Vec<String>; 2]| {
            [vec![name.to_owned()]].into_iter().chain(parts).flatten().collect::<Vec<_>>()
        };
        let mut rows = vec![
            row("FCT, ns", [equal(self.equal_fcts, self.completed), absolute(&self.fct_ns)]),
            row("FCT, % of A", [none(2), relative(&self.fct_ns)]),
            row("slowdown", [none(2), absolute(&self.slowdown)]),
            row("slowdown, % of A", [none(2), relative(&self.slowdown)]),
            row("ideal FCT", [equal(self.equal_ideals, self.matched), none(6)]),
        ];
        if let Some(starts) = &self.start_ns {
            rows.insert(0, row("start, ns", [none(2), of(Some(starts), difference)]));
        }
        if let Some(ports) = self.equal_ports {
            rows.push(row("ports", [equal(ports, self.matched), none(6)]));
        }
        let header = [&["B - A", "equal", "share"][..], &Distribution::NAMES].concat();
        let slower = (self.slower_in_b + self.faster_in_b > 0).then(|| {
            let [slower, faster] = [self.slower_in_b, self.faster_in_b].map(count);
            format!("Flows that take longer in B: {slower}; in A: {faster}.")
        });
        let is_part = self.completed > 0 && self.completed < self.matched;
        let some = is_part.then(|| {
            let completed = count(self.completed);
            format!("Completion times and slowdowns are of the {completed} that completed on both sides.")
        });
        Section::new("", &header, rows).with(some).with(slower)
    }
}

/// Returns a table of completion times or of slowdowns.
fn by_size(title: &str, classes: &[SizeClass], is_fct: bool) -> Section {
    let row = |name: String, statistic: &str, change: &Change| {
        [name, statistic.to_owned()].into_iter().chain(numbers::cells(change)).collect::<Vec<_>>()
    };
    let mut rows = Vec::new();
    for class in classes {
        let statistics: &Statistics = if is_fct { &class.fct_ns } else { &class.slowdown };
        let completed = Change::new(class.completed.map(|flows| Some(flows.into())));
        let completed = is_fct.then_some(("completed", completed));
        // Without flows on a side there are no differences.
        let is_on_both = class.completed.a > 0 && class.completed.b > 0;
        let named = statistics.named().into_iter().filter(|_| is_on_both);
        let all = completed.into_iter().chain(named);
        for (number, (statistic, change)) in all.enumerate() {
            let name = if number == 0 { class.name() } else { String::new() };
            rows.push(row(name, statistic, &change));
        }
    }
    let header = [&["size", "statistic"][..], &CHANGE].concat();
    Section { is_whole: true, ..Section::new(title, &header, rows) }
}

impl Unmatched {
    fn section(&self, side: &str) -> Option<Section> {
        if self.flows == 0 {
            return None;
        }
        let rows = self.first.iter().map(|it| {
            let fct = it.fct_ns.map_or_else(|| numbers::NONE.to_owned(), count);
            let label = it.label.clone().unwrap_or_else(|| numbers::NONE.to_owned());
            let numbers = [count(it.bytes), instant(it.start_ns), fct];
            let names = [it.flow.to_string(), label, it.from.clone(), it.to.clone()];
            names.into_iter().chain(numbers).collect()
        });
        let title = match self.flows - self.first.len() as u64 {
            0 => format!("Flows only in {side}"),
            _ => format!("Flows only in {side}: the first of {}", count(self.flows)),
        };
        let header = ["flow", "label", "from", "to", "bytes", "start, ns", "FCT, ns"];
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
            (Some(flow), What::Existence) => format!("start {}", time(flow.start_ns)),
        };
        let NamedFlow { flow, from, to, bytes, .. } = named;
        let mut sides = [&self.a, &self.b].into_iter().flatten();
        let label = sides.find_map(|named| named.label.as_ref());
        let label = label.map(|label| format!("label {label}"));
        let other = self.b.as_ref().filter(|other| other.flow != *flow);
        let other = other.map(|other| format!("in B {}", other.flow));
        let notes: Vec<String> = label.into_iter().chain(other).collect();
        write!(f, "flow {flow}")?;
        if !notes.is_empty() {
            write!(f, " ({})", notes.join(", "))?;
        }
        let (bytes, a, b) = (count(*bytes), value(&self.a), value(&self.b));
        write!(f, " from {from} to {to} of {bytes} B: {a} in A, {b} in B")?;
        self.b_minus_a_ns.map_or(Ok(()), |ns| write!(f, " ({})", signed_time(ns)))
    }
}
