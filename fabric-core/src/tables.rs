//! The state of one switch, wherever it lies: BPF maps, mapped memory or owned memory.

#[cfg(test)]
pub mod owned;

use crate::cell::Cell64;
use crate::drop_reason::DropReason;
use crate::map_abi::{
    Descriptor, EgressQueue, HeadroomSteps, IngressQueue, Lane, Logarithms, MAX_PORTS, Port, Route,
    SwitchConfig, SwitchState,
};

/// Access to a switch's tables. In eBPF each accessor is a map look-up that can fail; natively it is an
/// index into the same `#[repr(C)]` structs.
pub trait Tables {
    /// The configuration.
    fn config(&self) -> Option<&SwitchConfig>;
    /// Totals and the free list's positions.
    fn switch(&self) -> Option<&SwitchState>;
    /// Port `port`.
    fn port(&self, port: u32) -> Option<&Port>;
    /// Row `index` of the ingress queues; see [`ingress_index`].
    fn ingress_queue(&self, index: u32) -> Option<&IngressQueue>;
    /// Row `index` of the egress queues; see [`egress_index`].
    fn egress_queue(&self, index: u32) -> Option<&EgressQueue>;
    /// Row `index` of the ways out; see [`ingress_index`].
    fn lane(&self, index: u32) -> Option<&Lane>;
    /// The route to host `host`.
    fn route(&self, host: u32) -> Option<&Route>;
    /// The descriptor in slot `slot`.
    fn descriptor(&self, slot: u32) -> Option<&Descriptor>;
    /// Entry `index` of the stack of free slots: the slot's number XOR `index`, so that a zeroed table holds
    /// every slot once, and no memory is touched for slots that are never used.
    fn free_slot(&self, index: u32) -> Option<&Cell64>;
    /// The counter of drops for `reason`.
    fn drops(&self, reason: DropReason) -> Option<&Cell64>;
    /// The tables of logarithms.
    fn logarithms(&self) -> Option<&Logarithms>;
    /// How port `port` turns a gradient into headroom.
    fn headroom_steps(&self, port: u32) -> Option<&HeadroomSteps>;
}

/// Row of (port, priority) in tables that have one per priority. `port` is below [`MAX_PORTS`].
///
/// A priority's rows lie together: most fabrics use two or three priorities and all ports.
#[inline(always)]
pub const fn ingress_index(port: u32, priority: u32) -> u32 {
    (priority & 7) * MAX_PORTS as u32 + port
}

/// Row of (port, queue) in tables that have one per queue; likewise.
#[inline(always)]
pub const fn egress_index(port: u32, queue: u32) -> u32 {
    (queue & 31) * MAX_PORTS as u32 + port
}

/// Counts a drop and passes its reason on.
#[inline(always)]
pub fn count_drop<T: Tables>(tables: &T, reason: DropReason) -> DropReason {
    if let Some(counter) = tables.drops(reason) {
        counter.add(1);
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_of_a_port_has_a_row_of_its_own() {
        assert_eq!([ingress_index(5, 0), ingress_index(0, 1), ingress_index(63, 7)], [5, 64, 511]);
        assert_eq!([egress_index(5, 0), egress_index(0, 1), egress_index(63, 31)], [5, 64, 2047]);
        assert_eq!((ingress_index(5, 8), egress_index(5, 32)), (5, 5), "always within the table");
    }
}
