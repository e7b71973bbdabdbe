//! Flows of both sides: flows that are the same, and how these differ; of other flows the distributions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::First;
use super::change::{self, Fine, Ratio};
use super::distribution::{Differences, Distribution};
use super::matching::Matching;
use super::pair::Pair;
use super::sizes::SizeClass;
use super::tolerance::Tolerance;

/// Max number of flows of one side that are listed.
const LISTED: usize = 10;

/// A flow of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number in `flows.csv`, or line of `fct.txt`.
    pub number: u64,
    /// Label, by its number in [`Names`]; `None` in a file.
    pub label: Option<u32>,
    /// Ports of the source, which number the flows of a pair of hosts, and of the destination. `None` if a file numbers
    /// flows otherwise.
    pub ports: Option<[u16; 2]>,
    /// Sender, by its number in [`Names`].
    pub from: u32,
    /// Receiver, by its number in [`Names`].
    pub to: u32,
    /// Payload.
    pub bytes: u64,
    /// Instant of the start.
    pub start_ns: i64,
    /// Completion time; `None` if the flow did not complete.
    pub fct_ns: Option<u64>,
    /// Completion time without other traffic.
    pub ideal_ns: u64,
}

impl Flow {
    fn end_ns(&self) -> Option<i64> {
        let end = self.start_ns.checked_add_unsigned(self.fct_ns?);
        Some(end.expect("readers refuse flows that end later"))
    }

    /// Returns the completion time over the ideal completion time.
    pub fn slowdown(&self) -> Option<Ratio> {
        let part = self.fct_ns.filter(|_| self.ideal_ns > 0)?;
        Some(Ratio { part, whole: self.ideal_ns })
    }
}

/// Names of nodes and labels, with a number for each.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// Returns the number of a name.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer nodes than numbers");
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    fn name(&self, number: u32) -> String {
        self.names[number as usize].clone()
    }
}

/// Comparison of flows. Numbers count as equal up to the tolerance; differences of completion times and slowdowns are of
/// flows that completed on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowsComparison {
    /// Number of flows.
    #[serde(serialize_with = "change::counts")]
    pub flows: Pair<u64>,
    /// Number of flows that both sides have: of equal sender, receiver, size and start.
    pub matched: u64,
    /// Number of them that completed on both sides.
    pub completed: u64,
    /// Number of them that completed on one side only. These are differences.
    pub completed_on_one_side: u64,
    /// Number of them that completed on both sides, with equal completion times.
    pub equal_fcts: u64,
    /// Number of them with equal ideal completion times.
    pub equal_ideals: u64,
    /// Number of them without different ports; `None` of two runs, and if no flow has ports on both sides.
    pub equal_ports: Option<u64>,
    /// Number of flows that completed on both sides, and took longer in B.
    pub slower_in_b: u64,
    /// Number of flows that completed on both sides, and took longer in A.
    pub faster_in_b: u64,
    /// Differences of starts, if starts differ.
    pub start_ns: Option<Distribution>,
    /// Differences of completion times.
    pub fct_ns: Option<Differences>,
    /// Differences of slowdowns.
    pub slowdown: Option<Differences>,
    /// Flows of one side.
    pub only: Pair<Unmatched>,
    /// Number of flows that did not complete.
    #[serde(serialize_with = "change::counts")]
    pub unfinished: Pair<u64>,
    /// Number of these that are not in the file on the other side, which has lines of completed flows only. They are no
    /// difference, and not in `only`.
    #[serde(serialize_with = "change::counts")]
    pub without_line: Pair<u64>,
    /// Differences of starts of flows that only one side has, if these flows have equal senders, receivers and sizes; flows
    /// of one pair of hosts and size are taken in the order of their starts.
    pub displaced_ns: Option<Distribution>,
    /// Distributions of all flows, then by size, if a flow is on one side only.
    pub sizes: Vec<SizeClass>,
    /// The flow that differs first.
    pub first: Option<FirstFlow>,
}

/// Flows that only one side has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Number of flows.
    pub flows: u64,
    /// The first ten flows, in the order of their starts.
    pub first: Vec<NamedFlow>,
}

/// A flow by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedFlow {
    /// Number in `flows.csv`, or line of `fct.txt`.
    pub flow: u64,
    /// Label; `None` in a simulator's file.
    pub label: Option<String>,
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Payload.
    pub bytes: u64,
    /// Start.
    pub start_ns: i64,
    /// Completion time; `None` if the flow did not complete.
    pub fct_ns: Option<u64>,
}

/// The flow that differs first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstFlow {
    /// Instant of the difference: the earlier of both starts or both ends.
    pub at_ns: i64,
    /// Differing part of the flow.
    pub what: What,
    /// Completion time in B less the time in A, if the flow completed on both sides.
    pub b_minus_a_ns: Option<i128>,
    /// The flow in A.
    pub a: Option<NamedFlow>,
    /// The flow in B.
    pub b: Option<NamedFlow>,
}

/// Part of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The whole flow, which only one side has.
    Existence,
    /// Its end.
    Completion,
}

impl FlowsComparison {
    /// Compares flows, which are in the order of their starts. `is_file`: sides that are files, which have ports and only
    /// completed flows.
    pub fn new(
        flows: &Pair<Vec<Flow>>,
        names: &Names,
        is_file: Pair<bool>,
        tolerance: Tolerance,
    ) -> Self {
        let mut matching = Matching::new(flows, tolerance);
        let without_line = Pair {
            a: if is_file.b { leave_out_unfinished(&mut matching.only.a, &flows.a) } else { 0 },
            b: if is_file.a { leave_out_unfinished(&mut matching.only.b, &flows.b) } else { 0 },
        };
        let pairs = matching.pairs.iter().map(|it| Pair { a: &flows.a[it.a], b: &flows.b[it.b] });
        let pairs: Vec<Pair<&Flow>> = pairs.collect();
        let is_equal = |times: Pair<u64>| tolerance.accepts_durations(times);
        let longer = |of: fn(&Pair<u64>) -> bool| {
            let longer = |times: Pair<u64>| of(&times) && !is_equal(times);
            count(&pairs, |pair| completed(pair).is_some_and(longer))
        };
        let fcts = pairs.iter().filter_map(completed).map(|times| times.map(Ratio::whole));
        let slowdowns =
            |pair: &Pair<&Flow>| Some(Pair { a: pair.a.slowdown()?, b: pair.b.slowdown()? });
        let slowdowns: Vec<Pair<Ratio>> = pairs.iter().filter_map(slowdowns).collect();
        let starts = pairs.iter().map(|pair| pair.map(|flow| flow.start_ns));
        let starts = starts.collect::<Vec<_>>();
        let unmatched = |side: &[Flow], only: &[usize]| Unmatched {
            flows: only.len() as u64,
            first: only.iter().take(LISTED).map(|&it| NamedFlow::new(&side[it], names)).collect(),
        };
        let only = Pair {
            a: unmatched(&flows.a, &matching.only.a),
            b: unmatched(&flows.b, &matching.only.b),
        };
        let are_same = only.a.flows + only.b.flows == 0;
        let ports = |pair: &Pair<&Flow>| Some(Pair { a: pair.a.ports?, b: pair.b.ports? });
        let has_ports = (is_file.a || is_file.b) && pairs.iter().any(|pair| ports(pair).is_some());
        let have_equal_ports = |pair: &Pair<&Flow>| ports(pair).is_none_or(|it| it.is_equal());
        let unfinished = |side: &Vec<Flow>| side.iter().filter(|it| it.fct_ns.is_none()).count();
        let is_on_one_side =
            |pair: &Pair<&Flow>| pair.a.fct_ns.is_some() != pair.b.fct_ns.is_some();
        Self {
            flows: flows.as_ref().map(|side| side.len() as u64),
            matched: pairs.len() as u64,
            completed: count(&pairs, |pair| completed(pair).is_some()),
            completed_on_one_side: count(&pairs, is_on_one_side),
            equal_fcts: count(&pairs, |pair| completed(pair).is_some_and(is_equal)),
            equal_ideals: count(&pairs, |pair| is_equal(pair.map(|flow| flow.ideal_ns))),
            equal_ports: has_ports.then(|| count(&pairs, have_equal_ports)),
            slower_in_b: longer(|times| times.b > times.a),
            faster_in_b: longer(|times| times.b < times.a),
            start_ns: of_starts(&starts).filter(|it| (it.min, it.max) != Default::default()),
            fct_ns: Differences::new(&fcts.collect::<Vec<_>>()),
            slowdown: Differences::new(&slowdowns),
            first: FirstFlow::find(&pairs, &only, names, tolerance),
            displaced_ns: matching.displaced(flows).and_then(|starts| of_starts(&starts)),
            sizes: if are_same { Vec::new() } else { SizeClass::all(flows) },
            only,
            unfinished: flows.as_ref().map(|side| unfinished(side) as u64),
            without_line,
        }
    }

    /// Returns true if each flow is on both sides.
    pub const fn are_same(&self) -> bool {
        self.only.a.flows + self.only.b.flows == 0
    }

    /// Returns true if all flows are equal.
    pub fn is_equal(&self) -> bool {
        self.are_same()
            && self.completed_on_one_side == 0
            && self.equal_fcts == self.completed
            && self.different_ideals() == 0
            && self.different_ports() == 0
    }

    /// Returns the number of flows of both sides with different ideal completion times.
    pub const fn different_ideals(&self) -> u64 {
        self.matched - self.equal_ideals
    }

    /// Returns the number of flows of both sides with different ports.
    pub fn different_ports(&self) -> u64 {
        self.equal_ports.map_or(0, |equal| self.matched - equal)
    }

    /// Returns the first difference.
    pub fn first(&self) -> Option<First> {
        let first = self.first.as_ref()?;
        Some(First { at_ns: first.at_ns, place: first.to_string() })
    }
}

impl FirstFlow {
    /// Finds the earliest difference. `only` is in the order of starts.
    fn find(
        pairs: &[Pair<&Flow>],
        only: &Pair<Unmatched>,
        names: &Names,
        tolerance: Tolerance,
    ) -> Option<Self> {
        let differ = pairs.iter().filter(|pair| !are_equal_fcts(pair, tolerance));
        let ends = differ.filter_map(|pair| {
            let ends = pair.map(Flow::end_ns);
            Some((ends.a.into_iter().chain(ends.b).min()?, pair))
        });
        let first = ends.min_by_key(|&(at, pair)| (at, pair.a.number));
        let of_pair = first.map(|(at_ns, pair)| {
            let Pair { a, b } = pair.map(|flow| Some(NamedFlow::new(flow, names)));
            let b_minus_a_ns = completed(pair).map(|fct| i128::from(fct.b) - i128::from(fct.a));
            Self { at_ns, what: What::Completion, b_minus_a_ns, a, b }
        });
        let alone = only.as_ref().map(|side| side.first.first().cloned());
        let [a, b] = [(alone.a, None), (None, alone.b)].map(|(a, b)| {
            let at_ns = a.as_ref().or(b.as_ref())?.start_ns;
            Some(Self { at_ns, what: What::Existence, b_minus_a_ns: None, a, b })
        });
        let all = [of_pair, a, b].into_iter().flatten();
        all.min_by_key(|first| (first.at_ns, Reverse(first.what)))
    }
}

impl NamedFlow {
    fn new(flow: &Flow, names: &Names) -> Self {
        let Flow { number, label, from, to, bytes, start_ns, fct_ns, .. } = *flow;
        let [from, to] = [from, to].map(|node| names.name(node));
        let label = label.map(|label| names.name(label));
        Self { flow: number, label, from, to, bytes, start_ns, fct_ns }
    }
}

/// Returns true if the completion times of a flow count as equal, or if it did not complete on either side.
fn are_equal_fcts(pair: &Pair<&Flow>, tolerance: Tolerance) -> bool {
    let times = pair.map(|flow| flow.fct_ns);
    times.is_equal() || completed(pair).is_some_and(|times| tolerance.accepts_durations(times))
}

/// Returns the differences of starts; `None` without starts.
fn of_starts(starts: &[Pair<i64>]) -> Option<Distribution> {
    let difference = |starts: &Pair<i64>| Fine::whole(i128::from(starts.b) - i128::from(starts.a));
    Distribution::new(starts.iter().map(difference).collect())
}

/// Leaves out flows that did not complete, and returns their number.
fn leave_out_unfinished(only: &mut Vec<usize>, flows: &[Flow]) -> u64 {
    let all = only.len();
    only.retain(|&place| flows[place].fct_ns.is_some());
    (all - only.len()) as u64
}

fn count(pairs: &[Pair<&Flow>], holds: impl Fn(&Pair<&Flow>) -> bool) -> u64 {
    pairs.iter().filter(|pair| holds(pair)).count() as u64
}

/// Returns the completion times of a flow that completed on both sides.
fn completed(pair: &Pair<&Flow>) -> Option<Pair<u64>> {
    Some(Pair { a: pair.a.fct_ns?, b: pair.b.fct_ns? })
}
