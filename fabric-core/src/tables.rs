//! The state of one switch, wherever it lies: BPF maps, mapped memory or owned memory.

#[cfg(test)]
pub mod owned;

use crate::cell::{Cell64, Sharing};
use crate::drop_reason::DropReason;
use crate::map_abi::{
    Descriptor, EgressClass, EgressQueue, FIRST_HOST_ADDRESS, IngressQueue, NextHop, PolicyRoute,
    Port, Route, SchemeBlock, SchemeLine, Storm, SwitchConfig, SwitchState,
};

/// Access to a switch's tables. In eBPF each accessor is a map look-up that can fail; natively it is an
/// index into the same `#[repr(C)]` structs.
pub trait Tables: Sharing {
    /// The configuration.
    fn config(&self) -> Option<&SwitchConfig>;
    /// Totals and the free list's positions.
    fn switch(&self) -> Option<&SwitchState>;
    /// Port `port`.
    fn port(&self, port: u32) -> Option<&Port>;
    /// A row of the ingress queues; see [`class_row`](crate::map_abi::class_row).
    fn ingress_queue(&self, row: u32) -> Option<&IngressQueue>;
    /// A row of the egress queues; see [`SwitchConfig::queue_row`].
    fn egress_queue(&self, row: u32) -> Option<&EgressQueue>;
    /// A row of the egress ports' classes; see [`class_row`](crate::map_abi::class_row).
    fn egress_class(&self, row: u32) -> Option<&EgressClass>;
    /// A row of what the watchdog does; see [`class_row`](crate::map_abi::class_row).
    fn storm(&self, row: u32) -> Option<&Storm>;
    /// The host that has an address, as [`route`](Self::route) takes it: any number beyond the last host, if none has. In
    /// a fabric, addresses are consecutive; a switch that stands alone looks a prefix up.
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
    /// Entry `index` of the stack of free slots: the slot's number XOR `index`, so that a zeroed table holds
    /// every slot once, and no memory is touched for slots that are never used.
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

/// Counts a drop and passes its reason on.
#[inline(always)]
pub fn count_drop<T: Tables>(tables: &T, reason: DropReason) -> DropReason {
    if let Some(counter) = tables.drops(reason) {
        counter.add::<T>(1);
    }
    reason
}
