//! CS, complete sharing: a queue may use all free buffer.

use super::{BufferManagement, Egress};
use crate::tables::Tables;

/// The scheme.
#[derive(Debug)]
pub struct CompleteSharing;

impl BufferManagement for CompleteSharing {
    #[inline(always)]
    fn threshold<T: Tables>(_at: &Egress<'_, T>, _first_rtt: bool) -> Option<u64> {
        None
    }
}
