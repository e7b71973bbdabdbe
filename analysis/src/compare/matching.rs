//! Flows of both sides that are the same flow.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::flows::Flow;
use super::pair::Pair;
use super::tolerance::Tolerance;

/// Flows of both sides, by their places.
pub struct Matching {
    /// Flows that both sides have.
    pub pairs: Vec<Pair<usize>>,
    /// Flows of one side, in the order of their starts.
    pub only: Pair<Vec<usize>>,
}

/// Sender, receiver and payload of a flow.
type Key = (u32, u32, u64);

impl Matching {
    /// Matches flows of equal sender, receiver, size and start: first those of equal number, which is the source port, then
    /// those that completed, because a file has no others. Starts may differ by the tolerance of time.
    pub fn new(flows: &Pair<Vec<Flow>>, tolerance: Tolerance) -> Self {
        let mut matching = Self { pairs: Vec::new(), only: Pair::default() };
        let Pair { a, b } = matching.pair_numbered(flows);
        let mut groups: BTreeMap<Key, Pair<Vec<usize>>> = BTreeMap::new();
        for place in a {
            groups.entry(key(&flows.a[place])).or_default().a.push(place);
        }
        for place in b {
            groups.entry(key(&flows.b[place])).or_default().b.push(place);
        }
        for mut rest in groups.into_values() {
            matching.pair_up(&mut rest, flows, |flow| flow.fct_ns.map(|_| flow.start_ns));
            matching.pair_up(&mut rest, flows, |flow| Some(flow.start_ns));
            matching.pair_neighbours(&mut rest, flows, tolerance);
            matching.only.a.append(&mut rest.a);
            matching.only.b.append(&mut rest.b);
        }
        matching.pairs.sort_unstable();
        matching.only.a.sort_unstable();
        matching.only.b.sort_unstable();
        matching
    }

    /// Pairs flows of equal keys, starts and source ports, the first ones of several, and returns the others in their order.
    fn pair_numbered(&mut self, flows: &Pair<Vec<Flow>>) -> Pair<Vec<usize>> {
        let port = |flow: &Flow| flow.ports.map(|[source, _]| source);
        let order = flows.as_ref().map(|side| {
            let keys = side.iter().map(|flow| (key(flow), flow.start_ns, port(flow)));
            let mut order: Vec<_> = keys.zip(0..).collect();
            order.sort_unstable();
            order
        });
        let mut rest: Pair<Vec<usize>> = Pair::default();
        let (mut of_a, mut of_b) = (&order.a[..], &order.b[..]);
        while let (Some((a, more_a)), Some((b, more_b))) = (of_a.split_first(), of_b.split_first())
        {
            let order = a.0.cmp(&b.0);
            let (a, b) = (a.1, b.1);
            match order {
                Ordering::Less => rest.a.push(a),
                Ordering::Greater => rest.b.push(b),
                Ordering::Equal => self.pairs.push(Pair { a, b }),
            }
            of_a = if order.is_le() { more_a } else { of_a };
            of_b = if order.is_ge() { more_b } else { of_b };
        }
        rest.a.extend(of_a.iter().map(|(_, place)| place));
        rest.b.extend(of_b.iter().map(|(_, place)| place));
        rest.a.sort_unstable();
        rest.b.sort_unstable();
        rest
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

    /// Takes flows whose starts differ by the tolerance at most out of `rest`, in the order of their starts.
    fn pair_neighbours(
        &mut self,
        rest: &mut Pair<Vec<usize>>,
        flows: &Pair<Vec<Flow>>,
        tolerance: Tolerance,
    ) {
        let mut left: Pair<Vec<usize>> = Pair::default();
        let Pair { a: mut of_a, b: mut of_b } = std::mem::take(rest).map(VecDeque::from);
        while let (Some(&a), Some(&b)) = (of_a.front(), of_b.front()) {
            let starts = Pair { a: flows.a[a].start_ns, b: flows.b[b].start_ns };
            if tolerance.accepts_instants(starts) {
                self.pairs.push(Pair { a, b });
                of_a.pop_front();
                of_b.pop_front();
            } else if starts.a < starts.b {
                left.a.extend(of_a.pop_front());
            } else {
                left.b.extend(of_b.pop_front());
            }
        }
        left.a.extend(of_a);
        left.b.extend(of_b);
        *rest = left;
    }

    /// Returns the starts of unmatched flows of both sides in pairs, by key and in the order of starts. Returns `None` if no
    /// flow is unmatched, or if unmatched flows also differ in their senders, receivers or sizes.
    pub fn displaced(&self, flows: &Pair<Vec<Flow>>) -> Option<Vec<Pair<i64>>> {
        let keys = |side: &[Flow], only: &[usize]| {
            let mut keys: Vec<(Key, i64)> =
                only.iter().map(|&place| (key(&side[place]), side[place].start_ns)).collect();
            keys.sort_unstable();
            keys
        };
        let (a, b) = (keys(&flows.a, &self.only.a), keys(&flows.b, &self.only.b));
        let alike = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.0 == b.0);
        let starts = || a.iter().zip(&b).map(|(a, b)| Pair { a: a.1, b: b.1 }).collect();
        (alike && !a.is_empty()).then(starts)
    }
}

const fn key(flow: &Flow) -> Key {
    (flow.from, flow.to, flow.bytes)
}
