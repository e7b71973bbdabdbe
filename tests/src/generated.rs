//! Generated cases: how many, which, and where failing ones are kept.

use proptest::strategy::Strategy;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseResult, TestRng, TestRunner,
};

/// How many cases: `XOFF_CASES`, or as many as the test runs by default.
///
/// # Panics
/// If the variable is not a number.
pub fn count(default: u32) -> u32 {
    std::env::var("XOFF_CASES").map_or(default, |cases| cases.parse().expect("a number"))
}

/// Checks so many cases, the same in every run: a change that breaks one is to blame for it. A case that
/// fails is shrunk and its seed kept in `regressions`, a file that later runs try first.
///
/// # Panics
/// If a case fails.
#[track_caller]
pub fn check<S: Strategy>(
    regressions: &'static str,
    count: u32,
    cases: &S,
    test: impl Fn(S::Value) -> TestCaseResult,
) {
    let config = Config {
        cases: count,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    if let Err(error) = TestRunner::new_with_rng(config, random).run(cases, test) {
        panic!("{error}");
    }
}
