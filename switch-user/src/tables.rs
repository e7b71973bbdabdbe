//! The tables of one switch in user space, mapped or owned.

use std::io;
use std::os::fd::BorrowedFd;

use fabric_core::cell::Cell64;
use fabric_core::drop_reason::DropReason;
use fabric_core::map_abi::{
    Clock, Descriptor, EgressQueue, HeadroomSteps, IngressQueue, Lane, Logarithms,
    MAX_DROP_REASONS, MAX_PORTS, MAX_QUEUES, PRIORITIES, Port, Route, SwitchConfig, SwitchState,
    names,
};
use fabric_core::tables::Tables;

use crate::region::Region;

/// How large the tables are that depend on the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Ports in use.
    pub ports: u32,
    /// Hosts that have routes.
    pub hosts: u32,
    /// Descriptors, at least 1.
    pub slots: u32,
}

/// One switch's tables.
#[derive(Debug)]
pub struct SwitchTables {
    pub(crate) clock: Region<Clock>,
    pub(crate) config: Region<SwitchConfig>,
    pub(crate) switch: Region<SwitchState>,
    pub(crate) ports: Region<Port>,
    pub(crate) ingress_queues: Region<IngressQueue>,
    pub(crate) egress_queues: Region<EgressQueue>,
    pub(crate) lanes: Region<Lane>,
    pub(crate) routes: Region<Route>,
    pub(crate) descriptors: Region<Descriptor>,
    pub(crate) free_slots: Region<Cell64>,
    pub(crate) drops: Region<Cell64>,
    pub(crate) logarithms: Region<Logarithms>,
    pub(crate) headroom_steps: Region<HeadroomSteps>,
}

impl SwitchTables {
    /// Memory of our own: the switch runs natively.
    pub fn owned(capacity: Capacity) -> io::Result<Self> {
        let port_priorities = MAX_PORTS * PRIORITIES;
        Ok(Self {
            clock: Region::owned(1)?,
            config: Region::owned(1)?,
            switch: Region::owned(1)?,
            ports: Region::owned(capacity.ports as usize)?,
            ingress_queues: Region::owned(port_priorities)?,
            egress_queues: Region::owned(MAX_PORTS * MAX_QUEUES)?,
            lanes: Region::owned(port_priorities)?,
            routes: Region::owned(capacity.hosts as usize)?,
            descriptors: Region::owned(capacity.slots as usize)?,
            free_slots: Region::owned(capacity.slots as usize)?,
            drops: Region::owned(MAX_DROP_REASONS)?,
            logarithms: Region::owned(1)?,
            headroom_steps: Region::owned(capacity.ports as usize)?,
        })
    }

    /// The memory of a loaded program's maps; `map` finds one by its name.
    pub fn mapped<'a>(
        capacity: Capacity,
        map: impl Fn(&'static str) -> io::Result<BorrowedFd<'a>>,
    ) -> io::Result<Self> {
        let port_priorities = MAX_PORTS * PRIORITIES;
        Ok(Self {
            clock: Region::of_array(map(names::CLOCK)?, 1)?,
            config: Region::of_array(map(names::CONFIG)?, 1)?,
            switch: Region::of_array(map(names::SWITCH)?, 1)?,
            ports: Region::of_array(map(names::PORTS)?, MAX_PORTS)?,
            ingress_queues: Region::of_array(map(names::INGRESS_QUEUES)?, port_priorities)?,
            egress_queues: Region::of_array(map(names::EGRESS_QUEUES)?, MAX_PORTS * MAX_QUEUES)?,
            lanes: Region::of_array(map(names::LANES)?, port_priorities)?,
            routes: Region::of_array(map(names::ROUTES)?, capacity.hosts as usize)?,
            descriptors: Region::of_array(map(names::DESCRIPTORS)?, capacity.slots as usize)?,
            free_slots: Region::of_array(map(names::FREE_SLOTS)?, capacity.slots as usize)?,
            drops: Region::of_array(map(names::DROPS)?, MAX_DROP_REASONS)?,
            logarithms: Region::of_array(map(names::LOGARITHMS)?, 1)?,
            headroom_steps: Region::of_array(map(names::HEADROOM_STEPS)?, MAX_PORTS)?,
        })
    }
}

impl Tables for SwitchTables {
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
    fn ingress_queue(&self, index: u32) -> Option<&IngressQueue> {
        self.ingress_queues.get(index as usize)
    }

    #[inline]
    fn egress_queue(&self, index: u32) -> Option<&EgressQueue> {
        self.egress_queues.get(index as usize)
    }

    #[inline]
    fn lane(&self, index: u32) -> Option<&Lane> {
        self.lanes.get(index as usize)
    }

    #[inline]
    fn route(&self, host: u32) -> Option<&Route> {
        self.routes.get(host as usize)
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
    fn logarithms(&self) -> Option<&Logarithms> {
        self.logarithms.get(0)
    }

    #[inline]
    fn headroom_steps(&self, port: u32) -> Option<&HeadroomSteps> {
        self.headroom_steps.get(port as usize)
    }
}
