//! FAB, Flow-Aware Buffer (Apostolaki, Vanbever and Ghobadi, ACM Workshop on Buffer Sizing, 2019):
//! DT with a larger alpha for packets of flows that have sent few bytes.
//!
//! As in the simulator of ABM's authors, a flow is short until it has sent
//! [`short_bytes`](super::Kind::FlowAware::short_bytes) since it was last silent, including the
//! current packet. Packets count at arrival, even if dropped, and marks of hosts are ignored. The
//! simulator has an unbounded table for each port; here each switch has one table of a [fixed
//! size](super::flow_table). (A flow leaves a switch by one port.)

use super::{BufferManagement, Egress, flow_table, state};
use crate::drop_reason::DropReason;
use crate::scheme::Arriving;
use crate::tables::Tables;

/// The scheme.
#[derive(Debug)]
pub struct FlowAware;

impl BufferManagement for FlowAware {
    #[inline(always)]
    fn threshold<T: Tables>(at: &Egress<'_, T>, first: bool) -> Option<u64> {
        Some(
            state::priority(at.tables, at.priority).map_or(0, |line| line.scaled(at.free(), first)),
        )
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<(), DropReason> {
        let at = Egress::from_arriving(packet);
        let Arriving { fields, length, now, .. } = *packet;
        let flow = flow_table::count(&packet.ingress, fields, length, now)
            .ok_or(DropReason::BrokenTable)?;
        let parameters = state::flow_parameters(at.tables).ok_or(DropReason::BrokenTable)?;
        let is_short = u64::from(flow.bytes.load()) < parameters.bytes.load();
        at.admit(length, Self::threshold(&at, is_short))
    }
}
