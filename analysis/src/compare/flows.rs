//! Flows of both sides: which belong together, and how they differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use results::Number;
use serde::Serialize;

use super::First;
use super::distribution::Distribution;
use super::pair::Pair;

/// Max number of flows of one side that are listed.
const LISTED: usize = 10;

/// A flow of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number in `flows.csv`, or line of `fct.txt`.
    pub number: u64,
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

    fn slowdown(&self) -> Option<Number> {
        let fct = self.fct_ns.filter(|_| self.ideal_ns > 0)?;
        Some(Number::ratio(fct.into(), self.ideal_ns.into()))
    }
}

/// Names of nodes, with a number for each.
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

/// Comparison of flows. Differences are absolute. Differences of starts are of all flows that both sides have, the others of
/// flows that completed on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowsComparison {
    /// Number of flows.
    pub flows: Pair<u64>,
    /// Number of flows that both sides have.
    pub matched: u64,
    /// Number of them with equal starts.
    pub equal_starts: u64,
    /// Number of them with equal completion times, or without one on both sides.
    pub equal_fcts: u64,
    /// Number of them with equal ideal completion times.
    pub equal_ideals: u64,
    /// Number of them with equal ports; `None` of two runs, and if a side has no ports.
    pub equal_ports: Option<u64>,
    /// Number of flows that completed on both sides, and took longer in B.
    pub slower_in_b: u64,
    /// Number of flows that completed on both sides, and took longer in A.
    pub faster_in_b: u64,
    /// Differences of starts.
    pub start_ns: Option<Distribution>,
    /// Differences of completion times.
    pub fct_ns: Option<Distribution>,
    /// Differences of completion times, as parts of the time in A.
    pub fct_relative: Option<Distribution>,
    /// Differences of slowdowns.
    pub slowdown: Option<Distribution>,
    /// Differences of slowdowns, as parts of the slowdown in A.
    pub slowdown_relative: Option<Distribution>,
    /// Flows of one side.
    pub only: Pair<Unmatched>,
    /// Number of flows of a run that did not complete and are not in the file on the other side, which has lines of
    /// completed flows only. These are no difference, and not in `only`.
    pub unfinished: Pair<u64>,
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
    /// Its start.
    Start,
    /// Its end.
    Completion,
}

/// Flows that belong together, by their places on both sides.
struct Matching {
    pairs: Vec<Pair<usize>>,
    only: Pair<Vec<usize>>,
}

impl Matching {
    /// Matches flows of equal sender, receiver and size: of equal start and number, then of equal start, then of equal
    /// number, then, if a side has no numbers, in the order of their starts. The number is the source port. Flows that
    /// completed come first where starts and order decide: a file has no others.
    fn new(flows: &Pair<Vec<Flow>>) -> Self {
        let mut groups: BTreeMap<(u32, u32, u64), Pair<Vec<usize>>> = BTreeMap::new();
        let key = |flow: &Flow| (flow.from, flow.to, flow.bytes);
        for (place, flow) in flows.a.iter().enumerate() {
            groups.entry(key(flow)).or_default().a.push(place);
        }
        for (place, flow) in flows.b.iter().enumerate() {
            groups.entry(key(flow)).or_default().b.push(place);
        }
        let mut matching = Self { pairs: Vec::new(), only: Pair::default() };
        let port = |flow: &Flow| flow.ports.map(|[source, _]| source);
        for mut rest in groups.into_values() {
            matching.pair_up(&mut rest, flows, |flow| Some((flow.start_ns, port(flow))));
            matching.pair_up(&mut rest, flows, |flow| flow.fct_ns.map(|_| flow.start_ns));
            matching.pair_up(&mut rest, flows, |flow| Some(flow.start_ns));
            matching.pair_up(&mut rest, flows, port);
            let numbered = |side: &[usize], flows: &[Flow]| {
                side.iter().all(|&place| flows[place].ports.is_some())
            };
            if !numbered(&rest.a, &flows.a) || !numbered(&rest.b, &flows.b) {
                rest.a.sort_by_key(|&place| flows.a[place].fct_ns.is_none());
                rest.b.sort_by_key(|&place| flows.b[place].fct_ns.is_none());
                let both = rest.a.len().min(rest.b.len());
                let pairs = rest.a.drain(..both).zip(rest.b.drain(..both));
                matching.pairs.extend(pairs.map(|(a, b)| Pair { a, b }));
            }
            matching.only.a.append(&mut rest.a);
            matching.only.b.append(&mut rest.b);
        }
        matching.pairs.sort_unstable();
        matching.only.a.sort_unstable();
        matching.only.b.sort_unstable();
        matching
    }

    /// Takes flows with equal keys out of `rest`. Of several flows with one key the first ones belong together.
    fn pair_up<K: Ord>(
        &mut self,
        rest: &mut Pair<Vec<usize>>,
        flows: &Pair<Vec<Flow>>,
        key: impl Fn(&Flow) -> Option<K>,
    ) {
        let mut free: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for &place in &rest.b {
            if let Some(key) = key(&flows.b[place]) {
                free.entry(key).or_default().push_back(place);
            }
        }
        let mut taken = BTreeSet::new();
        rest.a.retain(|&a| {
            let found = key(&flows.a[a]).and_then(|key| free.get_mut(&key)?.pop_front());
            if let Some(b) = found {
                self.pairs.push(Pair { a, b });
                taken.insert(b);
            }
            found.is_none()
        });
        rest.b.retain(|place| !taken.contains(place));
    }
}

impl FlowsComparison {
    /// Compares flows, which are in the order of their starts. `is_file`: sides that are files, which have ports and only
    /// completed flows.
    pub fn new(flows: &Pair<Vec<Flow>>, names: &Names, is_file: Pair<bool>) -> Self {
        let mut matching = Matching::new(flows);
        let unfinished = Pair {
            a: if is_file.b { leave_out_unfinished(&mut matching.only.a, &flows.a) } else { 0 },
            b: if is_file.a { leave_out_unfinished(&mut matching.only.b, &flows.b) } else { 0 },
        };
        let has_ports = is_file.a || is_file.b;
        let pairs = matching.pairs.iter().map(|it| Pair { a: &flows.a[it.a], b: &flows.b[it.b] });
        let pairs: Vec<Pair<&Flow>> = pairs.collect();
        let equal = |of: fn(&Flow) -> i128| count(&pairs, |pair| of(pair.a) == of(pair.b));
        let have_ports = |side: &[Flow]| side.iter().all(|flow| flow.ports.is_some());
        let longer = |of: fn(&Pair<u64>) -> bool| {
            count(&pairs, |pair| completed(pair).is_some_and(|times| of(&times)))
        };
        let fcts: Vec<Pair<Number>> =
            pairs.iter().filter_map(completed).map(|times| times.map(Number::from)).collect();
        let slowdowns =
            |pair: &Pair<&Flow>| Some(Pair { a: pair.a.slowdown()?, b: pair.b.slowdown()? });
        let slowdowns: Vec<Pair<Number>> = pairs.iter().filter_map(slowdowns).collect();
        let starts =
            pairs.iter().map(|pair| Number::from(pair.a.start_ns.abs_diff(pair.b.start_ns)));
        let unmatched = |side: &[Flow], only: &[usize]| Unmatched {
            flows: only.len() as u64,
            first: only.iter().take(LISTED).map(|&it| NamedFlow::new(&side[it], names)).collect(),
        };
        let only = Pair {
            a: unmatched(&flows.a, &matching.only.a),
            b: unmatched(&flows.b, &matching.only.b),
        };
        Self {
            flows: flows.as_ref().map(|side| side.len() as u64),
            matched: pairs.len() as u64,
            equal_starts: equal(|flow| flow.start_ns.into()),
            equal_fcts: equal(|flow| flow.fct_ns.map_or(-1, i128::from)),
            equal_ideals: equal(|flow| flow.ideal_ns.into()),
            equal_ports: (has_ports && have_ports(&flows.a) && have_ports(&flows.b))
                .then(|| count(&pairs, |pair| pair.a.ports == pair.b.ports)),
            slower_in_b: longer(|times| times.b > times.a),
            faster_in_b: longer(|times| times.b < times.a),
            start_ns: Distribution::new(starts.collect()),
            fct_ns: Distribution::new(fcts.iter().map(absolute).collect()),
            fct_relative: Distribution::new(fcts.iter().filter_map(relative).collect()),
            slowdown: Distribution::new(slowdowns.iter().map(absolute).collect()),
            slowdown_relative: Distribution::new(slowdowns.iter().filter_map(relative).collect()),
            first: FirstFlow::find(&pairs, &only, names),
            only,
            unfinished,
        }
    }

    /// Returns true if all flows are equal.
    pub fn is_equal(&self) -> bool {
        let equal = [self.equal_starts, self.equal_fcts, self.equal_ideals];
        let equal = equal.into_iter().chain(self.equal_ports);
        self.only.a.flows + self.only.b.flows == 0
            && equal.into_iter().all(|equal| equal == self.matched)
    }

    /// Returns the first difference.
    pub fn first(&self) -> Option<First> {
        let first = self.first.as_ref()?;
        Some(First { at_ns: first.at_ns, place: first.to_string() })
    }
}

impl FirstFlow {
    /// Finds the earliest difference of starts and ends. `only` is in the order of starts.
    fn find(pairs: &[Pair<&Flow>], only: &Pair<Unmatched>, names: &Names) -> Option<Self> {
        let first = pairs
            .iter()
            .filter_map(difference)
            .min_by_key(|&(at, what, pair)| (at, what, pair.a.number));
        let of_pair = first.map(|(at_ns, what, pair)| {
            let Pair { a, b } = pair.map(|flow| Some(NamedFlow::new(flow, names)));
            Self { at_ns, what, a, b }
        });
        let alone = only.as_ref().map(|side| side.first.first().cloned());
        let [a, b] = [(alone.a, None), (None, alone.b)].map(|(a, b)| {
            let at_ns = a.as_ref().or(b.as_ref())?.start_ns;
            Some(Self { at_ns, what: What::Existence, a, b })
        });
        let all = [of_pair, a, b].into_iter().flatten();
        all.min_by_key(|first| (first.at_ns, Reverse(first.what)))
    }
}

impl NamedFlow {
    fn new(flow: &Flow, names: &Names) -> Self {
        let Flow { number, from, to, bytes, start_ns, fct_ns, .. } = *flow;
        let [from, to] = [from, to].map(|node| names.name(node));
        Self { flow: number, from, to, bytes, start_ns, fct_ns }
    }
}

/// Returns the first difference of a flow: its instant, its part and the flow.
fn difference<'a>(pair: &Pair<&'a Flow>) -> Option<(i64, What, Pair<&'a Flow>)> {
    let starts = pair.map(|flow| flow.start_ns);
    if !starts.is_equal() {
        return Some((starts.a.min(starts.b), What::Start, *pair));
    }
    let ends = pair.map(Flow::end_ns);
    if ends.is_equal() {
        return None;
    }
    Some((ends.a.into_iter().chain(ends.b).min()?, What::Completion, *pair))
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

fn absolute(pair: &Pair<Number>) -> Number {
    Number((pair.b.0 - pair.a.0).abs())
}

/// Returns the difference as a part of the number in A; `None` if the latter is zero.
fn relative(pair: &Pair<Number>) -> Option<Number> {
    (pair.a.0 > 0).then(|| Number::ratio(absolute(pair).0, pair.a.0))
}
