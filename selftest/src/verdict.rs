//! Results of a test.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// Verdict on a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// The sentence holds.
    Pass,
    /// The sentence does not hold.
    Fail(Failure),
    /// The sentence cannot be checked here.
    Skip {
        /// Missing feature or privilege.
        reason: String,
    },
}

/// Reason why a sentence does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Expected value.
    pub expected: String,
    /// Found value.
    pub got: String,
    /// Place: an interface, a program or a file, with its changes since the set-up.
    #[serde(rename = "where")]
    pub place: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got {}", self.expected, self.got)?;
        if self.place.is_empty() { Ok(()) } else { write!(f, "; at {}", self.place) }
    }
}

impl Verdict {
    /// Makes a failure.
    pub fn fail(
        expected: impl Into<String>,
        got: impl Into<String>,
        place: impl Into<String>,
    ) -> Self {
        Self::Fail(Failure { expected: expected.into(), got: got.into(), place: place.into() })
    }

    /// Makes a skip.
    pub fn skip(reason: impl Into<String>) -> Self {
        Self::Skip { reason: reason.into() }
    }
}

/// A step of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Short sentence of the step.
    pub name: String,
    /// Verdict on the sentence.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Time that the step took.
    #[serde(rename = "ms", serialize_with = "in_milliseconds")]
    pub took: Duration,
}

/// Result of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the test, with its round or copy.
    pub name: String,
    /// Steps of the test.
    pub steps: Vec<Step>,
    /// Time that the test took.
    #[serde(rename = "ms", serialize_with = "in_milliseconds")]
    pub took: Duration,
    /// Command that repeats the test, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

impl Finding {
    /// Returns the verdict over all steps.
    pub fn verdict(&self) -> Verdict {
        let verdicts = || self.steps.iter().map(|step| &step.verdict);
        let failed = verdicts().find(|it| matches!(it, Verdict::Fail(_)));
        let skipped = verdicts().find(|it| matches!(it, Verdict::Skip { .. }));
        match failed.or(skipped) {
            Some(verdict) => verdict.clone(),
            None if self.steps.is_empty() => {
                Verdict::fail("a test that looks at something", "no step", "xoff selftest")
            }
            None => Verdict::Pass,
        }
    }
}

/// Numbers of tests by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of passed tests.
    pub pass: usize,
    /// Number of failed tests.
    pub fail: usize,
    /// Number of skipped tests.
    pub skip: usize,
}

impl Tally {
    /// Counts a test.
    pub fn count(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Pass => &mut self.pass,
            Verdict::Fail(_) => &mut self.fail,
            Verdict::Skip { .. } => &mut self.skip,
        } += 1;
    }
}

fn in_milliseconds<S: serde::Serializer>(
    took: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(milliseconds(*took))
}

/// Returns whole milliseconds, as in reports.
pub fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(verdicts: &[Verdict]) -> Finding {
        let step = |verdict: &Verdict| Step {
            name: "it holds".to_owned(),
            verdict: verdict.clone(),
            took: Duration::ZERO,
        };
        let steps = verdicts.iter().map(step).collect();
        Finding { name: "a".to_owned(), steps, took: Duration::ZERO, again: None }
    }

    #[test]
    fn a_failure_counts_more_than_a_skip_and_nothing_is_no_pass() {
        let fail = Verdict::fail("one", "two", "here");
        let skip = Verdict::skip("no kernel");
        assert_eq!(finding(&[Verdict::Pass]).verdict(), Verdict::Pass);
        assert_eq!(finding(&[Verdict::Pass, skip.clone()]).verdict(), skip);
        assert_eq!(finding(&[skip, fail.clone(), Verdict::Pass]).verdict(), fail);
        assert!(matches!(finding(&[]).verdict(), Verdict::Fail(_)));
    }

    #[test]
    fn a_step_in_json_has_its_verdict_beside_its_name() {
        let step = &finding(&[Verdict::fail("one", "two", "here")]).steps[0];
        let json = serde_json::to_value(step).expect("it has string keys");
        let expected = serde_json::json!({
            "name": "it holds", "verdict": "fail", "expected": "one", "got": "two", "where": "here", "ms": 0,
        });
        assert_eq!(json, expected);
    }
}
