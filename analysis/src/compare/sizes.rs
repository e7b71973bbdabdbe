//! Completion times and slowdowns by size, of runs whose flows differ.

use std::collections::BTreeSet;

use results::{Number, count};
use serde::Serialize;

use super::change::{self, Change, Ratio};
use super::flows::Flow;
use super::pair::Pair;

/// Max number of sizes that are a class each.
const SIZES: usize = 6;

/// Flows of a range of sizes. Percentiles are of completed flows, by nearest rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// Smallest payload; `None` in the class of all flows.
    pub from_bytes: Option<u64>,
    /// Largest payload; `None` in the class of all flows.
    pub to_bytes: Option<u64>,
    /// Number of flows.
    #[serde(serialize_with = "change::counts")]
    pub flows: Pair<u64>,
    /// Number of completed flows.
    #[serde(serialize_with = "change::counts")]
    pub completed: Pair<u64>,
    /// Completion times.
    pub fct_ns: Statistics,
    /// Slowdowns.
    pub slowdown: Statistics,
}

/// Statistics of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Median.
    pub p50: Change,
    /// 95th percentile.
    pub p95: Change,
    /// 99th percentile.
    pub p99: Change,
    /// Mean, rounded half up to a millionth.
    pub mean: Change,
}

impl Statistics {
    fn new(values: Pair<Vec<Number>>) -> Self {
        let mut values = values;
        values.a.sort_unstable();
        values.b.sort_unstable();
        let of = |statistic: &dyn Fn(&Vec<Number>) -> Number| {
            let of_side = |side: &Vec<Number>| (!side.is_empty()).then(|| statistic(side));
            Change::new(values.as_ref().map(of_side))
        };
        let rank = |percent: usize| {
            move |side: &Vec<Number>| side[(side.len() * percent).div_ceil(100) - 1]
        };
        let mean = |side: &Vec<Number>| {
            Number::mean(Number(side.iter().map(|value| value.0).sum()), side.len())
        };
        Self { p50: of(&rank(50)), p95: of(&rank(95)), p99: of(&rank(99)), mean: of(&mean) }
    }

    /// Returns the statistics with their names.
    pub const fn named(&self) -> [(&'static str, Change); 4] {
        [("p50", self.p50), ("p95", self.p95), ("p99", self.p99), ("mean", self.mean)]
    }
}

impl SizeClass {
    /// Returns all flows, then those of each class: of each size if there are at most six, otherwise between powers of ten.
    pub fn all(flows: &Pair<Vec<Flow>>) -> Vec<Self> {
        let both = flows.a.iter().chain(&flows.b);
        let sizes: BTreeSet<u64> = both.map(|flow| flow.bytes).collect();
        let is_few = sizes.len() <= SIZES;
        let range = |bytes| if is_few { (bytes, bytes) } else { decade(bytes) };
        let ranges: BTreeSet<(u64, u64)> = sizes.into_iter().map(range).collect();
        // A single class is all flows.
        let all = (ranges.len() != 1).then(|| Self::new(flows, None));
        let classes = ranges.into_iter().map(|range| Self::new(flows, Some(range)));
        all.into_iter().chain(classes).collect()
    }

    fn new(flows: &Pair<Vec<Flow>>, range: Option<(u64, u64)>) -> Self {
        let is_in =
            |flow: &&Flow| range.is_none_or(|(from, to)| flow.bytes >= from && flow.bytes <= to);
        let sides = flows.as_ref().map(|side| side.iter().filter(is_in).collect::<Vec<&Flow>>());
        let fcts = |side: &Vec<&Flow>| -> Vec<Number> {
            side.iter().filter_map(|flow| flow.fct_ns).map(Number::from).collect()
        };
        let slowdowns = |side: &Vec<&Flow>| -> Vec<Number> {
            side.iter().filter_map(|flow| flow.slowdown()).map(Ratio::number).collect()
        };
        let completed = sides.as_ref().map(fcts);
        Self {
            from_bytes: range.map(|(from, _)| from),
            to_bytes: range.map(|(_, to)| to),
            flows: sides.as_ref().map(|side| side.len() as u64),
            completed: completed.as_ref().map(|side| side.len() as u64),
            fct_ns: Statistics::new(completed),
            slowdown: Statistics::new(sides.as_ref().map(slowdowns)),
        }
    }

    /// Returns the name of the class.
    pub fn name(&self) -> String {
        match (self.from_bytes, self.to_bytes) {
            (Some(from), Some(to)) if from == to => format!("{} B", count(to)),
            (Some(from), Some(to)) => format!("{} to {} B", count(from), count(to)),
            _ => "all".to_owned(),
        }
    }
}

/// Returns the range above a power of ten and up to the next that has a size.
fn decade(bytes: u64) -> (u64, u64) {
    let below = bytes.saturating_sub(1).checked_ilog10();
    below.map_or((0, 1), |power| {
        let power = 10_u64.pow(power);
        (power + 1, power.saturating_mul(10))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(of: &[(u64, u64)]) -> Vec<Flow> {
        let flow = |&(bytes, fct): &(u64, u64)| Flow {
            number: 0,
            label: None,
            ports: None,
            from: 0,
            to: 1,
            bytes,
            start_ns: 0,
            fct_ns: (fct > 0).then_some(fct),
            ideal_ns: 10,
        };
        of.iter().map(flow).collect()
    }

    #[test]
    fn few_sizes_are_classes_and_many_are_between_powers_of_ten() {
        let a = flows(&[(1000, 20), (1000, 40), (5000, 0)]);
        let b = flows(&[(1000, 50)]);
        let classes = SizeClass::all(&Pair { a, b });
        let names: Vec<String> = classes.iter().map(SizeClass::name).collect();
        assert_eq!(names, ["all", "1,000 B", "5,000 B"]);
        assert_eq!(classes[0].flows, Pair { a: 3, b: 1 });
        assert_eq!(classes[0].completed, Pair { a: 2, b: 1 });
        let p50 = classes[1].fct_ns.p50;
        assert_eq!((p50.b_minus_a, p50.of_a), (Some(Number::whole(30)), Some(Number(1_500_000))));
        let mean = classes[1].slowdown.mean;
        assert_eq!((mean.a, mean.b), (Some(Number::whole(3)), Some(Number::whole(5))));
        assert_eq!(classes[2].fct_ns, Statistics::default());

        let many: Vec<(u64, u64)> =
            [1, 9, 10, 11, 99, 101, 1000, u64::MAX].map(|it| (it, 1)).into();
        let classes = SizeClass::all(&Pair { a: flows(&many), b: Vec::new() });
        let names: Vec<String> = classes.iter().map(SizeClass::name).collect();
        let last = "10,000,000,000,000,000,001 to 18,446,744,073,709,551,615 B";
        assert_eq!(names, ["all", "0 to 1 B", "2 to 10 B", "11 to 100 B", "101 to 1,000 B", last]);
        let sum: u64 = classes[1..].iter().map(|class| class.flows.a).sum();
        assert_eq!(sum, many.len() as u64);
        assert!(SizeClass::all(&Pair::default())[0].flows.is_equal());
        let one = SizeClass::all(&Pair { a: flows(&[(7, 1), (7, 2)]), b: Vec::new() });
        assert_eq!((one.len(), one[0].name()), (1, "7 B".to_owned()));
    }
}
