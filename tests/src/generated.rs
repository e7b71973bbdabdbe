//! Generated cases: their number, their seeds, and the files of failing ones.

use proptest::strategy::Strategy;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseResult, TestRng, TestRunner,
};

/// Number of cases: `XOFF_CASES`, or `default`.
///
/// # Panics
/// If the variable is not a number.
pub fn count(default: u32) -> u32 {
    std::env::var("XOFF_CASES").map_or(default, |cases| cases.parse().expect("a number"))
}

/// Checks `count` cases, the same in every run, so that a failure is due to a change. A failing case is shrunk and its
/// seed kept in `regressions`, a file that later runs try first.
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

/// xorshift64* (Vigna 2016).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        // The state that xorshift never leaves is zero.
        Self(seed | 1 << 63)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A byte.
    pub const fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}
