//! Arrival: the pipeline that handles a frame when its last bit has been received.

use units::Nanos;

use crate::admission::charge;
use crate::drop_reason::DropReason;
use crate::frame::{Frame, Ipv4Fields, Parsed};
use crate::hop_control::{HopControl, Order};
use crate::lossy::{self, BufferManagement};
use crate::map_abi::{
    DESCRIPTOR_CONGESTED, DESCRIPTOR_ECN_CAPABLE, DESCRIPTOR_FIRST_RTT, DESCRIPTOR_IN_USE,
    DESCRIPTOR_PRIORITY_AT, Pool, Port, SwitchConfig, SwitchState, class_row,
};
use crate::marking::congested;
use crate::pause_state;
use crate::policy::{MarkingScheme, Policy};
use crate::queue::QueueId;
use crate::routing::route;
use crate::scheme::{Arriving, Ingress, Scheme, Selected};
use crate::slots;
use crate::tables::Tables;
use crate::watchdog;

/// Result of the arrival pipeline for one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is buffered.
    Queued(Queued),
    /// A hop control frame was received and applied.
    ControlReceived(HopControl),
    /// A link delay frame was received; the control plane handles it.
    LinkDelayReceived,
    /// The frame was dropped.
    Dropped(DropReason),
}

impl Outcome {
    /// Placeholder before the pipeline has run. Reading it fails the run.
    pub const UNKNOWN: Self = Self::Dropped(DropReason::BrokenTable);
}

/// A buffered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Slot of its descriptor.
    pub slot: u32,
    /// Port by which it leaves.
    pub egress_port: u32,
    /// Egress queue that it joins.
    pub queue: QueueId,
    /// True if it was marked at enqueue.
    pub marked: bool,
}

/// Runs the arrival pipeline on a frame that was received at `port`. Counts the frame if it drops
/// it, and passes the hop control frames due at `port` to `send`.
#[inline(always)]
pub fn arrival<F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    policy: Policy,
    port: u32,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) -> Outcome {
    // In eBPF each decision has one jump, so that a program contains the pipeline only once. The
    // verifier removes the schemes that the policy does not select.
    if cfg!(target_arch = "bpf") {
        return arrival_under::<Selected, F, T>(frame, tables, policy, port, now, send);
    }
    let mut outcome = Outcome::UNKNOWN;
    Selected::arrive_to(frame, tables, &policy, (port, now), send, &mut outcome);
    outcome
}

/// Runs [`arrival`] under the scheme `S`, whatever the policy selects.
#[inline(always)]
pub(crate) fn arrival_under<S: Scheme, F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    policy: Policy,
    port: u32,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) -> Outcome {
    match receive::<S, F, T>(frame, tables, policy, port, now, send) {
        Ok(outcome) => outcome,
        Err(reason) => Outcome::Dropped(crate::tables::count_drop(tables, reason)),
    }
}

#[inline(always)]
fn receive<S: Scheme, F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    policy: Policy,
    port_number: u32,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) -> Result<Outcome, DropReason> {
    let config = tables.config().ok_or(DropReason::BrokenTable)?;
    let switch = tables.switch().ok_or(DropReason::BrokenTable)?;
    if port_number >= config.ports {
        return Err(DropReason::UnknownPort);
    }
    let port = tables.port(port_number).ok_or(DropReason::UnknownPort)?;
    switch.received_frames.add::<T>(1);
    port.received_frames.add::<T>(1);
    match frame.parse()? {
        Parsed::Pfc(pfc) => {
            pause_state::receive(tables, policy, config, switch, port_number, port, &pfc, now);
            Ok(Outcome::ControlReceived(HopControl::pfc(pfc.class_enable, pfc.quanta)))
        }
        Parsed::HopControl(control) => {
            S::receive(tables, policy, port_number, &control, now)?;
            Ok(Outcome::ControlReceived(control))
        }
        Parsed::LinkDelay => Ok(Outcome::LinkDelayReceived),
        Parsed::Ipv4(fields) => {
            let at = Place { policy, config, switch, port_number, port };
            let queued = forward::<S, F, T>(frame, tables, &at, &fields, now, send)?;
            Ok(Outcome::Queued(queued))
        }
    }
}

/// The policy, tables and port that a packet arrives with.
struct Place<'a> {
    policy: Policy,
    config: &'a SwitchConfig,
    switch: &'a SwitchState,
    port_number: u32,
    port: &'a Port,
}

#[inline(always)]
fn forward<S: Scheme, F: Frame, T: Tables>(
    frame: &mut F,
    tables: &T,
    at: &Place<'_>,
    fields: &Ipv4Fields,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) -> Result<Queued, DropReason> {
    let Place { policy, config, switch, port_number, port } = *at;
    if fields.mac != port.address.load() {
        return Err(DropReason::NotForThisRouter);
    }
    if fields.ttl <= 1 {
        return Err(DropReason::TtlExpired);
    }
    let egress_port = route(tables, config, fields)?;
    let priority = fields.priority();
    let lossless = config.is_lossless(priority);
    let ports = [port_number, egress_port];
    if lossless
        && let Some(reason) =
            watchdog::drops(tables, policy, ports, priority, frame.length().into())
    {
        return Err(reason);
    }
    let queue =
        tables.ingress_queue(class_row(port_number, priority)).ok_or(DropReason::BrokenTable)?;
    let ingress = Ingress { tables, policy, config, switch, port_number, port, queue, priority };
    let mut queue = S::queue(&ingress, egress_port, now, fields);
    if !lossless {
        queue = lossy::Selected::queue(&ingress, egress_port, now, fields, queue);
    }
    let egress =
        tables.egress_queue(config.queue_row(egress_port, queue)).ok_or(DropReason::BrokenTable)?;
    let out = tables.port(egress_port).ok_or(DropReason::BrokenTable)?;
    let length = frame.length();
    let bytes = u64::from(length);
    let packet = Arriving { ingress, egress_port, queue, egress, fields, length: bytes, now };

    if slots::exhausted(switch) {
        return Err(DropReason::NoDescriptor);
    }
    let pool = if lossless {
        match S::admit(&packet) {
            Ok(pool) => pool,
            Err(reason) => {
                refuse::<S, T>(&packet, send);
                return Err(reason);
            }
        }
    } else {
        lossy::Selected::admit(&packet)?;
        Pool::Shared
    };

    // Every step that can fail runs before the counters change.
    let source = out.address.load() | S::named_queue(policy, queue);
    frame.forward(source, out.peer_address.load(), fields)?;
    let queue_bytes = egress.bytes.load();
    let ecn_capable = fields.ecn_capable() && priority.is_in(config.ecn_classes);
    let marked = matches!(policy.marking(), MarkingScheme::AtEnqueue)
        && ecn_capable
        && congested(out, switch, queue_bytes);
    if marked {
        frame.mark_congestion(fields)?;
    }
    let (slot, descriptor) = slots::take(tables, config, switch)?;

    let arrived_marked = fields.congestion_experienced();
    if marked && !arrived_marked {
        switch.ecn_marked.add::<T>(1);
    }
    let in_pool = charge(&packet.ingress, pool, bytes);
    if lossless {
        S::charge(&packet, pool, in_pool);
    }
    egress.bytes.add::<T>(bytes);
    switch.admitted_bytes.add::<T>(bytes);

    descriptor.arrival_ns.store(now.0);
    descriptor.length.store(length);
    descriptor.ingress_port.store(port_number);
    descriptor.egress_port.store(egress_port);
    descriptor.queue.store(queue.number().into());
    let capable = if ecn_capable { DESCRIPTOR_ECN_CAPABLE } else { 0 };
    let congested = if arrived_marked { DESCRIPTOR_CONGESTED } else { 0 };
    let class = u32::from(priority.number()) << DESCRIPTOR_PRIORITY_AT;
    let remaining = u32::from(fields.remaining.to_wire());
    let first = if fields.is_first_rtt() { DESCRIPTOR_FIRST_RTT } else { 0 };
    descriptor.flags.store(DESCRIPTOR_IN_USE | capable | congested | first | class | remaining);

    // T(t) is evaluated again here, because the packet itself has changed it.
    if lossless {
        S::after_arrival(&packet, pool, send);
    }
    S::enqueued(&packet, descriptor, send);
    Ok(Queued { slot, egress_port, queue, marked })
}

/// Sends the pauses due to a lossless packet without room. A call because it is rare; in eBPF, calls need a stack.
#[cfg_attr(target_arch = "bpf", inline(always))]
#[cfg_attr(not(target_arch = "bpf"), cold, inline(never))]
fn refuse<S: Scheme, T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) {
    S::refused(packet, send);
}

#[cfg(test)]
mod tests;
