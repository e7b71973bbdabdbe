//! Flows by class of size, in `summary.json`.

use serde::{Deserialize, Serialize};
use units::Bytes;

use super::flow_statistics::FctSummary;
use super::slowdown::Slowdown;

/// Classes of flow sizes: up to the first bound, from each bound to the next, and above the last. Without bounds there
/// are no classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeClasses(Vec<Bytes>);

/// The flows of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClassSummary {
    /// Flows, completed or not. Long-lived flows count only if completed.
    pub flows: u64,
    /// Completed flows.
    pub completed: u64,
    /// Completion times; `None` if no flow completed.
    pub fct_ns: Option<FctSummary>,
    /// Slowdowns; `None` if no flow completed.
    pub slowdown: Option<SizeClassSlowdown>,
}

/// Slowdowns of the completed flows. Percentiles are computed by [`Distribution`](crate::Distribution).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClassSlowdown {
    /// Mean, rounded half up.
    pub mean: Slowdown,
    /// Median by nearest rank.
    pub p50: Slowdown,
    /// 95th percentile by nearest rank.
    pub p95: Slowdown,
    /// 99th percentile by nearest rank.
    pub p99: Slowdown,
}

impl SizeClasses {
    /// Classes with these upper bounds: inclusive, ascending and above zero.
    pub const fn new(bounds: Vec<Bytes>) -> Self {
        Self(bounds)
    }

    /// Number of classes.
    pub const fn count(&self) -> usize {
        if self.0.is_empty() { 0 } else { self.0.len() + 1 }
    }

    /// Index of the class of a size; `None` if there are no classes.
    pub fn class(&self, bytes: Bytes) -> Option<usize> {
        (!self.0.is_empty()).then(|| self.0.partition_point(|&bound| bound < bytes))
    }

    /// Names of the classes, from the smallest sizes to the largest: `up-to-3kB`, `3kB-to-1MB`, `above-1MB`.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let text = |bound: Option<&Bytes>| bound.map(|&bound| size_text(bound));
        (0..self.count()).map(move |class| {
            let below = class.checked_sub(1).and_then(|class| self.0.get(class));
            match (text(below), text(self.0.get(class))) {
                (None, up_to) => format!("up-to-{}", up_to.unwrap_or_default()),
                (Some(above), Some(up_to)) => format!("{above}-to-{up_to}"),
                (Some(above), None) => format!("above-{above}"),
            }
        })
    }
}

/// A size in the largest decimal unit of which it is a multiple, so that its text has no dot: dots part the names of
/// metrics.
fn size_text(Bytes(bytes): Bytes) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    let unit = units.into_iter().find(|(scale, _)| bytes.is_multiple_of(*scale));
    let (scale, name) = unit.unwrap_or((1, "B"));
    format!("{}{name}", bytes / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_class_below_it() {
        let classes = SizeClasses::new(vec![Bytes(1500), Bytes(3000), Bytes(2_000_000)]);
        let names: Vec<String> = classes.names().collect();
        assert_eq!(names, ["up-to-1500B", "1500B-to-3kB", "3kB-to-2MB", "above-2MB"]);
        assert_eq!(classes.count(), names.len());
        for (bytes, class) in
            [(1, 0), (1500, 0), (1501, 1), (3000, 1), (3001, 2), (2_000_000, 2), (2_000_001, 3)]
        {
            assert_eq!(classes.class(Bytes(bytes)), Some(class), "{bytes}");
        }
    }

    #[test]
    fn without_a_bound_there_is_no_class() {
        let none = SizeClasses::default();
        assert_eq!((none.count(), none.names().count(), none.class(Bytes(7))), (0, 0, None));
    }
}
