//! DT, Dynamic Threshold (Choudhury and Hahne, IEEE/ACM Transactions on Networking, 1998): the max
//! length of a queue is its priority's alpha times the free buffer.

use super::{BufferManagement, Egress, state};
use crate::tables::Tables;

/// The scheme.
#[derive(Debug)]
pub struct DynamicThreshold;

impl BufferManagement for DynamicThreshold {
    #[inline(always)]
    fn threshold<T: Tables>(at: &Egress<'_, T>, _first_rtt: bool) -> Option<u64> {
        // Without its line no packet is admitted; loading makes that impossible.
        Some(
            state::priority(at.tables, at.priority).map_or(0, |line| line.scaled(at.free(), false)),
        )
    }
}
