//! The tables of one switch in user space, mapped or owned.

use std::io;
#[cfg(feature = "kernel")]
use std::os::fd::BorrowedFd;

use fabric_core::cell::{Cell64, Sharing};
use fabric_core::drop_reason::DropReason;
use fabric_core::lossy;
use fabric_core::map_abi::{
    Descriptor, EgressClass, EgressQueue, IngressQueue, MAX_DROP_REASONS, NextHop, PRIORITIES,
    PolicyRoute, Port, Route, SchemeBlock, SchemeLine, Storm, SwitchConfig, SwitchState, names,
    port_shift,
};
use fabric_core::scheme::Room;
use fabric_core::tables::Tables;
use zerocopy::FromBytes;

use crate::prefix_table::PrefixTable;
use linux::region::{Arena, Region};

/// Number of priorities, in the type of row numbers.
const CLASSES: u32 = 8;
const _: () = assert!(CLASSES as usize == PRIORITIES);

/// Sizes of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Number of ports in use.
    pub ports: u32,
    /// Number of hosts with routes.
    pub hosts: u32,
    /// Number of descriptors, at least 1.
    pub slots: u32,
    /// Egress queues of a port, the control queue included: see [`fabric_core::queue::places`].
    pub queues: u32,
    /// Number of members of all ECMP groups, at least 1.
    pub next_hops: u32,
    /// Rows of policy routes, at least 1: see [`PolicyTable::rows`](crate::policy_table::PolicyTable::rows).
    pub policies: u32,
    /// Size of the scheme's state.
    pub scheme: Room,
    /// Lines of the buffer management's flow table: see [`fabric_core::lossy::Settings::flow_lines`].
    pub lossy_flow_lines: u32,
}

impl Capacity {
    /// Returns the sizes for a switch with one queue for each priority, at most one port towards
    /// each host, and a scheme without state.
    pub const fn new(ports: u32, hosts: u32, slots: u32) -> Self {
        let scheme = Room { lines: 1, blocks: 1 };
        let queues = 1 + CLASSES;
        Self { ports, hosts, slots, queues, next_hops: 1, policies: 1, scheme, lossy_flow_lines: 0 }
    }

    /// Returns the number of rows in tables with one for each (port, priority).
    pub const fn class_rows(&self) -> u32 {
        CLASSES * self.ports
    }

    /// Returns the number of rows in tables with one for each (port, queue).
    pub const fn queue_rows(&self) -> u32 {
        self.queues << port_shift(self.ports)
    }

    /// Returns the number of lines of the buffer management.
    pub const fn lossy_lines(&self) -> u32 {
        lossy::lines(self.queue_rows(), self.lossy_flow_lines)
    }
}

/// Tables of one switch. As [`Tables`] they are shared with eBPF, whose arrivals may change them at
/// any time; as [`unshared`](Self::unshared) tables they are not.
#[derive(Debug)]
pub struct SwitchTables {
    /// True if eBPF works on the tables.
    is_mapped: bool,
    /// Prefixes by which a standalone switch finds routes.
    prefixes: Option<PrefixTable>,
    pub(crate) rows: Rows,
}

/// Tables of a switch as [`Tables`] of a single thread: counting in them needs no locked
/// instruction. See [`SwitchTables::unshared`].
#[derive(Debug)]
pub struct Rows {
    pub(crate) config: Region<SwitchConfig>,
    pub(crate) switch: Region<SwitchState>,
    pub(crate) ports: Region<Port>,
    pub(crate) ingress_queues: Region<IngressQueue>,
    pub(crate) egress_queues: Region<EgressQueue>,
    pub(crate) egress_classes: Region<EgressClass>,
    pub(crate) storms: Region<Storm>,
    pub(crate) routes: Region<Route>,
    pub(crate) next_hops: Region<NextHop>,
    pub(crate) policy_routes: Region<PolicyRoute>,
    pub(crate) descriptors: Region<Descriptor>,
    pub(crate) free_slots: Region<Cell64>,
    pub(crate) drops: Region<Cell64>,
    pub(crate) lossy_lines: Region<SchemeLine>,
    pub(crate) scheme_lines: Region<SchemeLine>,
    pub(crate) scheme_blocks: Region<SchemeBlock>,
}

/// Source of the tables' memory.
trait Source {
    /// Returns the memory of the map `name` with `rows` rows.
    fn region<T: FromBytes>(&mut self, name: &'static str, rows: usize) -> io::Result<Region<T>>;

    /// Returns the memory of a map with a row for each slot: large, and mostly unused.
    fn slots<T: FromBytes>(&mut self, name: &'static str, rows: usize) -> io::Result<Region<T>> {
        self.region(name, rows)
    }
}

impl Source for Arena {
    fn region<T: FromBytes>(&mut self, _name: &'static str, rows: usize) -> io::Result<Region<T>> {
        self.region(rows)
    }

    fn slots<T: FromBytes>(&mut self, _name: &'static str, rows: usize) -> io::Result<Region<T>> {
        Region::owned(rows)
    }
}

/// Maps of a loaded program: a function that finds a map by its name.
#[cfg(feature = "kernel")]
struct Maps<F>(F);

#[cfg(feature = "kernel")]
impl<'a, F: Fn(&'static str) -> io::Result<BorrowedFd<'a>>> Source for Maps<F> {
    fn region<T: FromBytes>(&mut self, name: &'static str, rows: usize) -> io::Result<Region<T>> {
        Region::from_array((self.0)(name)?, rows)
    }
}

impl Rows {
    fn new(source: &mut impl Source, capacity: Capacity) -> io::Result<Self> {
        let [ports, hosts, slots, class_rows, queue_rows] = [
            capacity.ports,
            capacity.hosts,
            capacity.slots,
            capacity.class_rows(),
            capacity.queue_rows(),
        ]
        .map(|rows| rows as usize);
        Ok(Self {
            config: source.region(names::CONFIG, 1)?,
            switch: source.region(names::SWITCH, 1)?,
            ports: source.region(names::PORTS, ports)?,
            ingress_queues: source.region(names::INGRESS_QUEUES, class_rows)?,
            egress_queues: source.region(names::EGRESS_QUEUES, queue_rows)?,
            egress_classes: source.region(names::EGRESS_CLASSES, class_rows)?,
            storms: source.region(names::STORMS, class_rows)?,
            routes: source.region(names::ROUTES, hosts)?,
            next_hops: source.region(names::NEXT_HOPS, capacity.next_hops as usize)?,
            policy_routes: source.region(names::POLICY_ROUTES, capacity.policies as usize)?,
            descriptors: source.slots(names::DESCRIPTORS, slots)?,
            free_slots: source.slots(names::FREE_SLOTS, slots)?,
            drops: source.region(names::DROPS, MAX_DROP_REASONS)?,
            lossy_lines: source.region(names::LOSSY_LINES, capacity.lossy_lines() as usize)?,
            scheme_lines: source.region(names::SCHEME_LINES, capacity.scheme.lines as usize)?,
            scheme_blocks: source.region(names::SCHEME_BLOCKS, capacity.scheme.blocks as usize)?,
        })
    }
}

impl SwitchTables {
    /// Allocates owned memory, for a switch that runs natively.
    pub fn owned(capacity: Capacity) -> io::Result<Self> {
        Self::owned_in(&mut Arena::default(), capacity)
    }

    /// Allocates the tables in an arena, which the switches of a fabric share.
    pub fn owned_in(arena: &mut Arena, capacity: Capacity) -> io::Result<Self> {
        Ok(Self { is_mapped: false, prefixes: None, rows: Rows::new(arena, capacity)? })
    }

    /// Maps the memory of a loaded program's maps; `map` finds a map by its name.
    #[cfg(feature = "kernel")]
    pub fn mapped<'a>(
        capacity: Capacity,
        map: impl Fn(&'static str) -> io::Result<BorrowedFd<'a>>,
    ) -> io::Result<Self> {
        Ok(Self { is_mapped: true, prefixes: None, rows: Rows::new(&mut Maps(map), capacity)? })
    }

    /// Returns the tables with routes to these prefixes instead of consecutive addresses.
    #[must_use]
    pub fn with_prefixes(self, prefixes: PrefixTable) -> Self {
        Self { prefixes: Some(prefixes), ..self }
    }

    /// True if eBPF works on the tables, too.
    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// Empties all tables to their initial state. No other thread may work on them meanwhile.
    pub fn clear(&mut self) {
        let Rows {
            config,
            switch,
            ports,
            ingress_queues,
            egress_queues,
            egress_classes,
            storms,
            routes,
            next_hops,
            policy_routes,
            descriptors,
            free_slots,
            drops,
            lossy_lines,
            scheme_lines,
            scheme_blocks,
        } = &mut self.rows;
        config.clear();
        switch.clear();
        ports.clear();
        ingress_queues.clear();
        egress_queues.clear();
        egress_classes.clear();
        storms.clear();
        routes.clear();
        next_hops.clear();
        policy_routes.clear();
        descriptors.clear();
        free_slots.clear();
        drops.clear();
        lossy_lines.clear();
        scheme_lines.clear();
        scheme_blocks.clear();
    }

    /// Returns the tables for a thread that works on them alone.
    ///
    /// # Panics
    /// In debug builds, if the tables are mapped.
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
    fn storm(&self, row: u32) -> Option<&Storm> {
        self.storms.get(row as usize)
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
    fn policy_route(&self, index: u32) -> Option<&PolicyRoute> {
        self.policy_routes.get(index as usize)
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
    fn lossy_line(&self, index: u32) -> Option<&SchemeLine> {
        self.lossy_lines.get(index as usize)
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
    fn storm(&self, row: u32) -> Option<&Storm> {
        self.rows.storm(row)
    }

    #[inline]
    fn host_of(&self, destination: u32) -> u32 {
        match &self.prefixes {
            None => self.rows.host_of(destination),
            Some(prefixes) => prefixes.row_of(destination).unwrap_or(u32::MAX),
        }
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
    fn policy_route(&self, index: u32) -> Option<&PolicyRoute> {
        self.rows.policy_route(index)
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
    fn lossy_line(&self, index: u32) -> Option<&SchemeLine> {
        self.rows.lossy_line(index)
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

#[cfg(test)]
mod tests;
