//! The tables of one switch in user space, mapped or owned.

use std::io;
#[cfg(feature = "kernel")]
use std::os::fd::BorrowedFd;

use fabric_core::cell::{Cell64, Sharing};
use fabric_core::drop_reason::DropReason;
#[cfg(feature = "kernel")]
use fabric_core::map_abi::names;
use fabric_core::map_abi::{
    Descriptor, EgressClass, EgressQueue, IngressQueue, MAX_DROP_REASONS, NextHop, PRIORITIES,
    Port, Route, SchemeBlock, SchemeLine, SwitchConfig, SwitchState, port_shift,
};
use fabric_core::scheme::Room;
use fabric_core::tables::Tables;

use crate::region::Region;

/// Priorities, as tables count rows.
const CLASSES: u32 = 8;
const _: () = assert!(CLASSES as usize == PRIORITIES);

/// How large the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Ports in use.
    pub ports: u32,
    /// Hosts that have routes.
    pub hosts: u32,
    /// Descriptors, at least 1.
    pub slots: u32,
    /// Egress queues of a port, the control queue included: see [`fabric_core::queue::places`].
    pub queues: u32,
    /// Members of all ECMP groups, at least 1.
    pub next_hops: u32,
    /// The size of the scheme's state.
    pub scheme: Room,
}

impl Capacity {
    /// For a switch with a queue for each priority, at most one port towards each host, and a scheme without
    /// state of its own.
    pub const fn new(ports: u32, hosts: u32, slots: u32) -> Self {
        let scheme = Room { lines: 1, blocks: 1 };
        Self { ports, hosts, slots, queues: 1 + CLASSES, next_hops: 1, scheme }
    }

    /// Rows of tables with one for each (port, priority).
    pub const fn class_rows(&self) -> u32 {
        CLASSES * self.ports
    }

    /// Rows of tables with one for each (port, queue).
    pub const fn queue_rows(&self) -> u32 {
        self.queues << port_shift(self.ports)
    }
}

/// One switch's tables. As [`Tables`] they are shared with eBPF, whose arrivals may change them at any time;
/// [`unshared`](Self::unshared) they are not.
#[derive(Debug)]
pub struct SwitchTables {
    /// Whether eBPF works on them.
    is_mapped: bool,
    pub(crate) rows: Rows,
}

/// The tables of a switch as [`Tables`] that one thread has for itself: counting in them takes no locked instruction.
/// See [`SwitchTables::unshared`].
#[derive(Debug)]
pub struct Rows {
    pub(crate) config: Region<SwitchConfig>,
    pub(crate) switch: Region<SwitchState>,
    pub(crate) ports: Region<Port>,
    pub(crate) ingress_queues: Region<IngressQueue>,
    pub(crate) egress_queues: Region<EgressQueue>,
    pub(crate) egress_classes: Region<EgressClass>,
    pub(crate) routes: Region<Route>,
    pub(crate) next_hops: Region<NextHop>,
    pub(crate) descriptors: Region<Descriptor>,
    pub(crate) free_slots: Region<Cell64>,
    pub(crate) drops: Region<Cell64>,
    pub(crate) scheme_lines: Region<SchemeLine>,
    pub(crate) scheme_blocks: Region<SchemeBlock>,
}

impl SwitchTables {
    /// Memory of our own: the switch runs natively.
    pub fn owned(capacity: Capacity) -> io::Result<Self> {
        let size = |rows: u32| rows as usize;
        let rows = Rows {
            config: Region::owned(1)?,
            switch: Region::owned(1)?,
            ports: Region::owned(size(capacity.ports))?,
            ingress_queues: Region::owned(size(capacity.class_rows()))?,
            egress_queues: Region::owned(size(capacity.queue_rows()))?,
            egress_classes: Region::owned(size(capacity.class_rows()))?,
            routes: Region::owned(size(capacity.hosts))?,
            next_hops: Region::owned(size(capacity.next_hops))?,
            descriptors: Region::owned(size(capacity.slots))?,
            free_slots: Region::owned(size(capacity.slots))?,
            drops: Region::owned(MAX_DROP_REASONS)?,
            scheme_lines: Region::owned(size(capacity.scheme.lines))?,
            scheme_blocks: Region::owned(size(capacity.scheme.blocks))?,
        };
        Ok(Self { is_mapped: false, rows })
    }

    /// The memory of a loaded program's maps; `map` finds one by its name.
    #[cfg(feature = "kernel")]
    pub fn mapped<'a>(
        capacity: Capacity,
        map: impl Fn(&'static str) -> io::Result<BorrowedFd<'a>>,
    ) -> io::Result<Self> {
        let size = |rows: u32| rows as usize;
        let rows = Rows {
            config: Region::of_array(map(names::CONFIG)?, 1)?,
            switch: Region::of_array(map(names::SWITCH)?, 1)?,
            ports: Region::of_array(map(names::PORTS)?, size(capacity.ports))?,
            ingress_queues: Region::of_array(
                map(names::INGRESS_QUEUES)?,
                size(capacity.class_rows()),
            )?,
            egress_queues: Region::of_array(
                map(names::EGRESS_QUEUES)?,
                size(capacity.queue_rows()),
            )?,
            egress_classes: Region::of_array(
                map(names::EGRESS_CLASSES)?,
                size(capacity.class_rows()),
            )?,
            routes: Region::of_array(map(names::ROUTES)?, size(capacity.hosts))?,
            next_hops: Region::of_array(map(names::NEXT_HOPS)?, size(capacity.next_hops))?,
            descriptors: Region::of_array(map(names::DESCRIPTORS)?, size(capacity.slots))?,
            free_slots: Region::of_array(map(names::FREE_SLOTS)?, size(capacity.slots))?,
            drops: Region::of_array(map(names::DROPS)?, MAX_DROP_REASONS)?,
            scheme_lines: Region::of_array(map(names::SCHEME_LINES)?, size(capacity.scheme.lines))?,
            scheme_blocks: Region::of_array(
                map(names::SCHEME_BLOCKS)?,
                size(capacity.scheme.blocks),
            )?,
        };
        Ok(Self { is_mapped: true, rows })
    }

    /// Whether eBPF works on them, too.
    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// The same tables for a thread that works on them alone.
    ///
    /// # Panics
    /// In debug builds, if they are mapped.
    #[inline]
    pub fn unshared(&self) -> &Rows {
        debug_assert!(!self.is_mapped, "eBPF works on these tables, too");
        &self.rows
    }
}

impl Sharing for Rows {
    const SHARED: bool = false;
}

impl Tables for Rows {
    #[inline]
    fn config(&self) -> Option<&SwitchConfig> {
        self.config.get(0)
    }

    #[inline]
    fn switch(&self) -> Option<&SwitchState> {
        self.switch.get(0)
    }

    #[inline]
    fn port(&self, port: u32) -> Option<&Port> {
        self.ports.get(port as usize)
    }

    #[inline]
    fn ingress_queue(&self, row: u32) -> Option<&IngressQueue> {
        self.ingress_queues.get(row as usize)
    }

    #[inline]
    fn egress_queue(&self, row: u32) -> Option<&EgressQueue> {
        self.egress_queues.get(row as usize)
    }

    #[inline]
    fn egress_class(&self, row: u32) -> Option<&EgressClass> {
        self.egress_classes.get(row as usize)
    }

    #[inline]
    fn route(&self, host: u32) -> Option<&Route> {
        self.routes.get(host as usize)
    }

    #[inline]
    fn next_hop(&self, index: u32) -> Option<&NextHop> {
        self.next_hops.get(index as usize)
    }

    #[inline]
    fn descriptor(&self, slot: u32) -> Option<&Descriptor> {
        self.descriptors.get(slot as usize)
    }

    #[inline]
    fn free_slot(&self, index: u32) -> Option<&Cell64> {
        self.free_slots.get(index as usize)
    }

    #[inline]
    fn drops(&self, reason: DropReason) -> Option<&Cell64> {
        self.drops.get(reason as usize)
    }

    #[inline]
    fn scheme_line(&self, index: u32) -> Option<&SchemeLine> {
        self.scheme_lines.get(index as usize)
    }

    #[inline]
    fn scheme_block(&self, index: u32) -> Option<&SchemeBlock> {
        self.scheme_blocks.get(index as usize)
    }
}

impl Sharing for SwitchTables {
    const SHARED: bool = true;
}

impl Tables for SwitchTables {
    #[inline]
    fn config(&self) -> Option<&SwitchConfig> {
        self.rows.config()
    }

    #[inline]
    fn switch(&self) -> Option<&SwitchState> {
        self.rows.switch()
    }

    #[inline]
    fn port(&self, port: u32) -> Option<&Port> {
        self.rows.port(port)
    }

    #[inline]
    fn ingress_queue(&self, row: u32) -> Option<&IngressQueue> {
        self.rows.ingress_queue(row)
    }

    #[inline]
    fn egress_queue(&self, row: u32) -> Option<&EgressQueue> {
        self.rows.egress_queue(row)
    }

    #[inline]
    fn egress_class(&self, row: u32) -> Option<&EgressClass> {
        self.rows.egress_class(row)
    }

    #[inline]
    fn route(&self, host: u32) -> Option<&Route> {
        self.rows.route(host)
    }

    #[inline]
    fn next_hop(&self, index: u32) -> Option<&NextHop> {
        self.rows.next_hop(index)
    }

    #[inline]
    fn descriptor(&self, slot: u32) -> Option<&Descriptor> {
        self.rows.descriptor(slot)
    }

    #[inline]
    fn free_slot(&self, index: u32) -> Option<&Cell64> {
        self.rows.free_slot(index)
    }

    #[inline]
    fn drops(&self, reason: DropReason) -> Option<&Cell64> {
        self.rows.drops(reason)
    }

    #[inline]
    fn scheme_line(&self, index: u32) -> Option<&SchemeLine> {
        self.rows.scheme_line(index)
    }

    #[inline]
    fn scheme_block(&self, index: u32) -> Option<&SchemeBlock> {
        self.rows.scheme_block(index)
    }
}

#[cfg(all(test, feature = "kernel"))]
mod tests;
