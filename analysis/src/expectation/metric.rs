//! Values of `summary.json` by their paths.

use std::collections::BTreeMap;

use emulation::summary_keys::{fullest, metric_names};
use results::query::{Scalar, ScalarKind};
use results::{Sample, Summary};
use scenario::report::nearest;
use scenario::{Scenario, ScenarioError, Written};
use serde_json::Value;

use super::verdict::Finding;

/// File with the values.
const FILE: &str = "summary.json";
/// The only text value with expectations: the reason why the run ended.
const ENDED: &str = "ended";

/// Values that the summary of a scenario's run can have.
pub(super) struct Metrics(BTreeMap<String, ScalarKind>);

impl Metrics {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let paths = metric_names(scenario).into_iter();
        let mut kinds: BTreeMap<_, _> =
            paths.map(|path| (path.clone(), ScalarKind::from_path(&path))).collect();
        for path in truths(&fullest(scenario)).into_keys() {
            kinds.insert(path, ScalarKind::Truth);
        }
        kinds.insert(ENDED.into(), ScalarKind::Text);
        Self(kinds)
    }

    /// Returns the kind of a value, or an error if the summary has no such value.
    pub(super) fn kind(&self, path: &str, written: &Written) -> Result<ScalarKind, ScenarioError> {
        if let Some(kind) = self.0.get(path) {
            return Ok(*kind);
        }
        let title = format!("summary.json has no value `{path}`");
        Err(written.error("summary", &title, &self.near(path)))
    }

    /// Suggests similar values: below the same key, or with the same words.
    fn near(&self, path: &str) -> String {
        const SHOWN: usize = 8;
        let near = nearest(path, self.0.keys().map(String::as_str));
        let mut above = Some(path);
        let mut siblings: Vec<&str> = Vec::new();
        while let Some(key) = above.filter(|_| siblings.is_empty()) {
            let start = format!("{key}.");
            siblings =
                self.0.keys().map(String::as_str).filter(|it| it.starts_with(&start)).collect();
            above = key.rsplit_once('.').map(|(above, _)| above);
        }
        if siblings.is_empty() {
            let last = path.rsplit('.').next().unwrap_or_default();
            siblings = self.0.keys().map(String::as_str).filter(|it| it.contains(last)).collect();
        }
        if siblings.is_empty() {
            siblings = self.0.keys().map(String::as_str).filter(|it| !it.contains('.')).collect();
        }
        let more = siblings.len().saturating_sub(SHOWN);
        siblings.truncate(SHOWN);
        let listed = siblings.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        format!(
            "{near}near it are {listed}{rest}; docs/reference has all keys, and some are there only if `results` asks for them"
        )
    }
}

/// Values of a run's summary.
pub(super) struct Found {
    numbers: results::Metrics,
    truths: BTreeMap<String, bool>,
    ended: String,
}

impl Found {
    pub(super) fn new(summary: &Summary) -> Self {
        let json = serde_json::to_value(summary).expect("a summary has string keys only");
        let ended = json[ENDED].as_str().unwrap_or_default().to_owned();
        Self { numbers: results::Metrics::new(summary), truths: truths(summary), ended }
    }

    pub(super) fn value(&self, path: &str) -> Finding {
        if path == ENDED {
            return Finding::new(Scalar::Text(self.ended.clone()), FILE.into());
        }
        if let Some(truth) = self.truths.get(path) {
            return Finding::new(Scalar::Truth(*truth), FILE.into());
        }
        match self.numbers.sample(path) {
            Sample::Of(number) => Finding::new(Scalar::Number(number), FILE.into()),
            Sample::Incomplete => {
                let done = |key| self.numbers.value(key).map_or(String::new(), |it| it.to_string());
                let (completed, total) = (done("flows_completed"), done("flows_total"));
                let why = format!(
                    "no number: not all of these flows completed ({completed} of all {total})"
                );
                Finding::nothing(why, "flows.csv, rows without fct_ns".into())
            }
            Sample::Absent => {
                Finding::nothing("no number: there was nothing to measure".into(), FILE.into())
            }
        }
    }
}

/// Returns truth values by their paths.
fn truths(summary: &Summary) -> BTreeMap<String, bool> {
    fn walk(path: &str, value: &Value, found: &mut BTreeMap<String, bool>) {
        match value {
            Value::Bool(truth) => {
                found.insert(path.to_owned(), *truth);
            }
            Value::Object(inner) => inner.iter().for_each(|(key, value)| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(&path, value, found);
            }),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    walk("", &serde_json::to_value(summary).expect("a summary has string keys only"), &mut found);
    found
}
