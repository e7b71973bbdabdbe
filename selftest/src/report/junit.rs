//! `JUnit` XML.

use quick_junit::{
    NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

use crate::verdict::{Finding, Step, Verdict};

/// Formats a suite for each test, with a case for each of its steps.
pub fn render(
    findings: &[Finding],
    seed: u64,
    kernel: &str,
    is_interrupted: bool,
) -> Result<String, SerializeError> {
    let mut report = Report::new("xoff selftest");
    for finding in findings {
        let mut suite = TestSuite::new(&finding.name);
        suite.set_time(finding.took);
        suite.add_property(Property::new("seed", seed.to_string()));
        suite.add_property(Property::new("interrupted", is_interrupted.to_string()));
        suite.add_property(Property::new("kernel", kernel));
        if let Some(again) = &finding.again {
            suite.add_property(Property::new("again", again));
        }
        suite.add_test_cases(finding.steps.iter().map(|step| case(&finding.name, step)));
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn case(test: &str, step: &Step) -> TestCase {
    let status = match &step.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Skip { reason } => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason);
            status
        }
        Verdict::Fail(failure) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(failure.to_string());
            status
        }
    };
    let mut case = TestCase::new(&step.name, status);
    case.set_classname(format!("xoff.{test}"));
    case.set_time(step.took);
    case
}
