//! PFC tests as for switches, on the real kernel and as in memory. Needs root.

use tests::fabric::on_both;
use tests::fabric::worst_case::{Trigger, WorstCase, assert_sufficient_and_necessary};

#[test]
fn eq_1_is_sufficient_and_necessary() {
    let trigger = Trigger::InShared;
    let case = WorstCase { gigabits: 100, delay_ns: 1000, payload: 1000, trigger };
    assert_sufficient_and_necessary(on_both, case, 4);
}
