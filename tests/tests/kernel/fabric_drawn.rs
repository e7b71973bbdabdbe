//! Scenarios drawn at random whose packets have telemetry, on the real kernel and as in memory. Needs root.
//!
//! `XOFF_CASES` replaces the number of cases.

use proptest::strategy::Strategy;
use tests::fabric::drawn::{PLAIN, needs_telemetry, scenarios};
use tests::fabric::on_both;
use tests::generated;

/// A case takes a second, most of it to make three fabrics.
const CASES: u32 = 12;
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/kernel_drawn.txt");

#[test]
fn runs_with_telemetry_are_as_in_memory() {
    let stamped = scenarios().prop_filter("no telemetry", |drawn| {
        drawn.telemetry_hops.is_some()
            || needs_telemetry(drawn.congestion_control)
            || drawn.beside.is_some_and(needs_telemetry)
    });
    generated::check(REGRESSIONS, generated::count(CASES), &stamped, |drawn| {
        drawn.run(on_both, PLAIN, &[]);
        Ok(())
    });
}
