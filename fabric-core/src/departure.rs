//! Departure: what the scheduler's choice of a packet does to the switch's state, at the instant
//! transmission starts. Runs in user space on the memory that arrival works on.

use crate::admission::release;
use crate::flow_control::{Ingress, Order, after_departure};
use crate::map_abi::{DESCRIPTOR_ECN_CAPABLE, SwitchConfig, SwitchState};
use crate::marking::congested;
use crate::policy::{MarkingScheme, Policy};
use crate::tables::{Tables, egress_index, ingress_index};

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Where it had come in.
    pub ingress_port: u32,
    /// Its priority.
    pub priority: u32,
    /// Mark congestion in it before it goes out.
    pub mark: bool,
    /// A RESUME that is due at the ingress port.
    pub resume: Option<Order>,
}

/// Gives back what the packet in `slot` held, and the slot. `None` if the slot is no packet's.
#[inline(always)]
pub fn departure<T: Tables>(tables: &T, policy: Policy, slot: u32) -> Option<Departure> {
    let (config, switch) = (tables.config()?, tables.switch()?);
    let descriptor = tables.descriptor(slot)?;
    let flags = descriptor.flags.load();
    if flags == 0 {
        return None;
    }
    let length = u64::from(descriptor.length.load());
    let ingress_port = descriptor.ingress_port.load();
    let priority = descriptor.priority.load();
    let ingress = tables.ingress_queue(ingress_index(ingress_port, priority))?;
    let egress_port = descriptor.egress_port.load();
    let egress = tables.egress_queue(egress_index(egress_port, descriptor.queue.load()))?;

    let (port, out) = (tables.port(ingress_port)?, tables.port(egress_port)?);
    let lossless = config.lossless_classes >> priority & 1 != 0;
    release(policy, lossless, switch, port, ingress, length);
    let queue_bytes = egress.bytes.sub(length);
    switch.departed_bytes.add(length);
    descriptor.flags.store(0);
    return_slot(tables, config, switch, slot)?;

    let mark = flags & DESCRIPTOR_ECN_CAPABLE != 0
        && matches!(policy.marking(), MarkingScheme::AtDequeue)
        && congested(out, switch, queue_bytes);
    if mark {
        switch.ecn_marked.add(1);
    }
    let port_number = ingress_port;
    let queue = ingress;
    let at = Ingress { tables, policy, config, switch, port_number, port, queue, priority };
    let resume = after_departure(&at, lossless);
    Some(Departure { ingress_port, priority, mark, resume })
}

/// Puts a slot where the next packet takes it from: it was in use a moment ago, so what belongs to it is in a
/// cache. Only while no packet arrives: see `cell`.
#[inline]
pub fn return_slot<T: Tables>(
    tables: &T,
    config: &SwitchConfig,
    switch: &SwitchState,
    slot: u32,
) -> Option<()> {
    let taken = switch.slots_taken.load().wrapping_sub(1);
    let entry = (taken & u64::from(config.slots.wrapping_sub(1))) as u32;
    tables.free_slot(entry)?.store(u64::from(slot ^ entry));
    switch.slots_taken.store(taken);
    Some(())
}
