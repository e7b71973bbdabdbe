//! Metrics of two runs.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use results::query::ScalarKind;
use results::{Metrics, Summary};
use serde::Serialize;

use super::change::Change;
use super::one_sided;
use super::pair::Pair;
use super::tolerance::{Meaning, Tolerance};

/// A metric that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MetricChange {
    /// Path of the metric in `summary.json`.
    pub key: String,
    /// Numbers of both sides.
    #[serde(flatten)]
    pub change: Change,
}

/// Returns the metrics that differ, the one first whose difference is the largest part of the larger number, and a note for
/// each metric that only one run has.
pub fn compare(metrics: &Pair<Metrics>, tolerance: Tolerance) -> (Vec<MetricChange>, Vec<String>) {
    let keys: BTreeSet<&String> = metrics.a.0.keys().chain(metrics.b.0.keys()).collect();
    let (mut differ, mut not_compared) = (Vec::new(), Vec::new());
    for key in keys {
        let values = metrics.as_ref().map(|metrics| metrics.value(key));
        if let Pair { a: Some(a), b: Some(b) } = values {
            let meaning = Meaning::of(key, ScalarKind::from_path(key));
            if !tolerance.accepts(meaning, Pair { a, b }) {
                differ.push(MetricChange { key: key.clone(), change: Change::new(values) });
            }
        } else {
            let there = values.map(|value| value.is_some());
            not_compared.extend(one_sided(&format!("{key} in {}", Summary::FILE), there));
        }
    }
    // Keys are in the order of names, and this order is stable.
    differ.sort_by_key(|metric| Reverse(metric.change.extent()));
    (differ, not_compared)
}

#[cfg(test)]
mod tests {
    use results::Number;

    use super::*;

    #[test]
    fn the_largest_change_is_first() {
        let metrics = |numbers: [i32; 5]| {
            let names = ["cnps", "drops.by_reason.x", "fct_ns.p99", "paused_ns", "flows_total"];
            let numbers = numbers.map(Number::whole);
            Metrics(names.into_iter().map(str::to_owned).zip(numbers).collect())
        };
        let both = Pair { a: metrics([100, 0, 1000, 50, 7]), b: metrics([90, 3, 1500, 25, 7]) };
        let order = |tolerance: Tolerance| -> Vec<String> {
            compare(&both, tolerance).0.into_iter().map(|metric| metric.key).collect()
        };
        let all = ["drops.by_reason.x", "paused_ns", "fct_ns.p99", "cnps"];
        assert_eq!(order(Tolerance::default()), all);
        let wide = Tolerance { time_ns: Number::whole(25), of_a: Number::per_mille(100) };
        assert_eq!(order(wide), ["drops.by_reason.x", "fct_ns.p99"]);
    }
}
