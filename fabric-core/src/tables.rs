//! Access to the state of one switch in BPF maps, mapped memory or owned memory.

#[cfg(test)]
pub mod owned;

use crate::cell::{Cell64, Sharing};
use crate::drop_reason::DropReason;
use crate::map_abi::{
    Descriptor, EgressClass, EgressQueue, FIRST_HOST_ADDRESS, IngressQueue, NextHop, PolicyRoute,
    Port, Route, SchemeBlock, SchemeLine, Storm, SwitchConfig, SwitchState,
};

/// Access to a switch's tables. In eBPF each accessor is a map look-up that can fail; natively it
/// indexes the same `#[repr(C)]` structs.
pub trait Tables: Sharing {
    /// The configuration.
    fn config(&self) -> Option<&SwitchConfig>;
    /// Totals and the free list's positions.
    fn switch(&self) -> Option<&SwitchState>;
    /// Port `port`.
    fn port(&self, port: u32) -> Option<&Port>;
    /// Row `row` of the ingress queues; see [`class_row`](crate::map_abi::class_row).
    fn ingress_queue(&self, row: u32) -> Option<&IngressQueue>;
    /// Row `row` of the egress queues; see [`SwitchConfig::queue_row`].
    fn egress_queue(&self, row: u32) -> Option<&EgressQueue>;
    /// Row `row` of the egress ports' classes; see [`class_row`](crate::map_abi::class_row).
    fn egress_class(&self, row: u32) -> Option<&EgressClass>;
    /// Row `row` of the watchdog's state; see [`class_row`](crate::map_abi::class_row).
    fn storm(&self, row: u32) -> Option<&Storm>;
    /// The host with an address, as a key for [`route`](Self::route); a number beyond the last host if no host has the
    /// address. A fabric's addresses are consecutive; a standalone switch looks up the longest prefix.
    #[inline(always)]
    fn host_of(&self, destination: u32) -> u32 {
        destination.wrapping_sub(FIRST_HOST_ADDRESS)
    }
    /// The route to host `host`.
    fn route(&self, host: u32) -> Option<&Route>;
    /// Member `index` of all ECMP groups.
    fn next_hop(&self, index: u32) -> Option<&NextHop>;
    /// Row `index` of the routes of flows and pairs.
    fn policy_route(&self, index: u32) -> Option<&PolicyRoute>;
    /// The descriptor in slot `slot`.
    fn descriptor(&self, slot: u32) -> Option<&Descriptor>;
    /// Entry `index` of the stack of free slots: the slot's number XOR `index`. So a zeroed table
    /// contains every slot once, and the rows of slots that are never used stay untouched memory.
    fn free_slot(&self, index: u32) -> Option<&Cell64>;
    /// The counter of drops for `reason`.
    fn drops(&self, reason: DropReason) -> Option<&Cell64>;
    /// Line `index` of the scheme's state.
    fn scheme_line(&self, index: u32) -> Option<&SchemeLine>;
    /// Line `index` of the buffer management's state.
    fn lossy_line(&self, index: u32) -> Option<&SchemeLine>;
    /// Block `index` of the scheme's look-up tables.
    fn scheme_block(&self, index: u32) -> Option<&SchemeBlock>;
}

/// Counts a drop and returns its reason.
#[inline(always)]
pub fn count_drop<T: Tables>(tables: &T, reason: DropReason) -> DropReason {
    if let Some(counter) = tables.drops(reason) {
        counter.add::<T>(1);
    }
    reason
}
