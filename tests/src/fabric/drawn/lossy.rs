//! The buffer management of lossy priorities in a drawn scenario.

use super::{Backpressure, DrawnFlow};

/// Periods are long, because a retransmission timeout is a second here.
const KEYS: [Option<&str>; 9] = [
    None,
    Some("kind = \"dt\", alpha = \"1/2\", codel = { target = \"10us\", interval = \"50us\" }"),
    Some("kind = \"cs\""),
    Some("kind = \"abm\", alpha = \"1/2\", period = \"200us\""),
    Some("kind = \"bshare\", alpha = \"1/2\", min_bytes = \"3kB\", period = \"200us\""),
    Some("kind = \"bshare\", congested = { bytes = \"9kB\" }, period = \"200us\""),
    Some("kind = \"fab\", alpha = \"1/4\", flow_table = { flows = 8 }"),
    Some(
        "kind = \"ib\", prioritisation = { priority = 2, packets = 5 }, \
         fair_dropping = { min_bytes = \"3kB\", desired = \"3kB\", first_share = \"3kB\" }",
    ),
    Some("kind = \"cs\", pool = \"8kB\""),
];

/// Returns true if the inner priorities are lossy: under BFC without PFC, and in a third of the other scenarios with
/// inner priorities. No random number is drawn for it, so that other scenarios stay the same.
pub(super) fn is_lossy(first: &DrawnFlow, priorities: &[u8], bfc: Option<&Backpressure>) -> bool {
    match bfc {
        Some(bfc) => bfc.is_lossy,
        None => priorities.len() > 2 && (first.distance / 8).is_multiple_of(3),
    }
}

/// The keys, by the first flow. A fixed threshold needs more of the shared pool than a pool of lossy packets' own leaves.
pub(super) fn keys(first: &DrawnFlow, threshold: &str) -> Option<&'static str> {
    let kinds = if threshold.contains("static") { KEYS.len() - 1 } else { KEYS.len() };
    KEYS[first.source as usize / 16 % kinds]
}
