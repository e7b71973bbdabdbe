//! Arrival: everything that happens to a frame when its last bit has come in.

use crate::admission::{Arriving, admit, charge};
use crate::drop_reason::DropReason;
use crate::flow_control::{Ingress, Order, after_arrival};
use crate::frame::{Frame, Ipv4Fields, Parsed};
use crate::map_abi::{
    DESCRIPTOR_CONGESTED, DESCRIPTOR_ECN_CAPABLE, DESCRIPTOR_IN_USE, Port, SwitchConfig,
    SwitchState,
};
use crate::marking::congested;
use crate::pause_state;
use crate::policy::{MarkingScheme, Policy};
use crate::routing::route;
use crate::slots;
use crate::tables::{Tables, egress_index, ingress_index};
use crate::threshold;
use crate::units::Nanos;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is buffered.
    Queued(Queued),
    /// It was a PFC frame; the pause state has changed for these classes.
    PauseReceived {
        /// The frame's class-enable vector.
        class_enable: u8,
    },
    /// It was a link delay frame, for the control plane.
    LinkDelayReceived,
    /// It is gone.
    Dropped(DropReason),
}

/// A buffered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its descriptor.
    pub slot: u32,
    /// Where it leaves.
    pub egress_port: u32,
    /// The egress queue that it joins.
    pub queue: u32,
    /// Whether it was marked on the way in.
    pub marked: bool,
    /// A PAUSE that is due at the ingress port.
    pub pause: Option<Order>,
}

/// Runs the arrival pipeline on a frame that came in at `port`; counts what it drops.
#[inline(always)]
pub fn arrival<F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    policy: Policy,
    port: u32,
    now: Nanos,
) -> Outcome {
    match receive(frame, tables, policy, port, now) {
        Ok(outcome) => outcome,
        Err(reason) => Outcome::Dropped(crate::tables::count_drop(tables, reason)),
    }
}

#[inline(always)]
fn receive<F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    policy: Policy,
    port_number: u32,
    now: Nanos,
) -> Result<Outcome, DropReason> {
    let config = tables.config().ok_or(DropReason::BrokenTable)?;
    let switch = tables.switch().ok_or(DropReason::BrokenTable)?;
    if port_number >= config.ports {
        return Err(DropReason::UnknownPort);
    }
    let port = tables.port(port_number).ok_or(DropReason::UnknownPort)?;
    switch.received_frames.add(1);
    port.received_frames.add(1);
    match frame.parse()? {
        Parsed::Pfc(pfc) => {
            pause_state::receive(tables, config, switch, port_number, port, &pfc, now);
            Ok(Outcome::PauseReceived { class_enable: pfc.class_enable })
        }
        Parsed::LinkDelay => Ok(Outcome::LinkDelayReceived),
        Parsed::Ipv4(fields) => {
            let at = Place { config, switch, port_number, port };
            let queued = forward(frame, tables, policy, &at, &fields, now)?;
            Ok(Outcome::Queued(queued))
        }
    }
}

/// Where a packet came in.
struct Place<'a> {
    config: &'a SwitchConfig,
    switch: &'a SwitchState,
    port_number: u32,
    port: &'a Port,
}

#[inline(always)]
fn forward<F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    policy: Policy,
    at: &Place<'_>,
    fields: &Ipv4Fields,
    now: Nanos,
) -> Result<Queued, DropReason> {
    let Place { config, switch, port_number, port } = *at;
    if fields.station != port.address.load() {
        return Err(DropReason::NotForThisRouter);
    }
    if fields.ttl <= 1 {
        return Err(DropReason::TtlExpired);
    }
    let egress_port = route(tables, config, fields)?;
    let priority = fields.priority();
    // Queue assignment: a queue per priority. Schemes that assign queues by flow take over here.
    let queue = priority;
    let lossless = config.lossless_classes >> priority & 1 != 0;
    let ingress = tables
        .ingress_queue(ingress_index(port_number, priority))
        .ok_or(DropReason::BrokenTable)?;
    let egress =
        tables.egress_queue(egress_index(egress_port, queue)).ok_or(DropReason::BrokenTable)?;
    let out = tables.port(egress_port).ok_or(DropReason::BrokenTable)?;
    let length = frame.length();
    let arriving = Arriving {
        policy,
        config,
        switch,
        port,
        ingress,
        egress,
        threshold: threshold::evaluate(policy, config, switch, port, ingress),
        length: u64::from(length),
    };

    if slots::exhausted(switch) {
        return Err(DropReason::NoDescriptor);
    }
    let pool = admit(lossless, &arriving)?;

    // What may fail comes before what counts.
    frame.forward(out.address.load(), out.peer_address.load(), fields)?;
    let queue_bytes = egress.bytes.load();
    let ecn_capable = fields.ecn_capable() && config.ecn_classes >> priority & 1 != 0;
    let marked = matches!(policy.marking(), MarkingScheme::AtEnqueue)
        && ecn_capable
        && congested(out, switch, queue_bytes);
    if marked {
        frame.mark_congestion(fields)?;
    }
    let (slot, descriptor) = slots::take(tables, config, switch)?;

    let arrived_marked = fields.congestion_experienced();
    if marked && !arrived_marked {
        switch.ecn_marked.add(1);
    }
    charge(lossless, &arriving, pool);
    egress.bytes.add(u64::from(length));
    switch.admitted_bytes.add(u64::from(length));

    descriptor.arrival_ns.store(now.0);
    descriptor.length.store(length);
    descriptor.ingress_port.store(port_number);
    descriptor.egress_port.store(egress_port);
    descriptor.queue.store(queue);
    descriptor.priority.store(priority);
    let capable = if ecn_capable { DESCRIPTOR_ECN_CAPABLE } else { 0 };
    let congested = if arrived_marked { DESCRIPTOR_CONGESTED } else { 0 };
    descriptor.flags.store(DESCRIPTOR_IN_USE | capable | congested);

    // Evaluates T(t) anew: the packet itself has changed it.
    let at =
        Ingress { tables, policy, config, switch, port_number, port, queue: ingress, priority };
    let pause = after_arrival(&at, lossless, pool, now);
    Ok(Queued { slot, egress_port, queue, marked, pause })
}

#[cfg(test)]
mod tests;
