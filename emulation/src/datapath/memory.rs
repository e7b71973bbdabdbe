//! The memory datapath: frames are plain values and a switch's arrival function is a call.

mod frames;
mod views;
mod way_out;

use fabric_core::arrival::Outcome;
use fabric_core::audit::audit;
use fabric_core::cell::Sharing;
use fabric_core::hop_control::Order;
use fabric_core::policy::Policy;
use fabric_core::queue::QueueId;
use fabric_core::scheme::{Scheme, Selected};
use fabric_core::tables::Tables;
use fabric_core::wire::RocePacket;
use switch_user::tables::SwitchTables;
use units::Nanos;

use super::{Crossing, DatapathError, Departing, FrameId, HostArrival, Orders, Wires};
use crate::partition::Partition;
pub use frames::{MemoryFrame, MemoryFrames};
use views::{ControlView, LinkDelayView, PacketView};
use way_out::WayOut;

/// Wires that are function calls: a frame that is sent has arrived at once, and `poll` runs the switch on it.
#[derive(Debug)]
pub struct MemoryWires {
    policy: Policy,
}

impl MemoryWires {
    /// Wires between switches that run `policy`.
    pub const fn new(policy: Policy) -> Self {
        Self { policy }
    }
}

impl Sharing for MemoryWires {
    const SHARED: bool = false;
}

impl Wires for MemoryWires {
    type Frames = MemoryFrames;

    fn divide(self, frames: MemoryFrames, partition: &Partition) -> Vec<(Self, MemoryFrames)> {
        let part = || (Self { ..self }, frames.for_same_wires());
        (0..partition.parts()).map(|_| part()).collect()
    }

    fn join(mut parts: Vec<Self>) -> Self {
        parts.pop().expect("a division has at least one part")
    }

    /// The auditor of the kernel datapath sits at TC egress; here it is a call.
    #[inline(always)]
    fn depart(&mut self, frames: &mut MemoryFrames, departing: &Departing<'_>, frame: FrameId) {
        let Departing { tables, port, length, now, .. } = *departing;
        let (tables, port) = (tables.unshared(), u32::from(port));
        let counted = frames.count_as_they_are().then_some(length);
        let mut named = QueueId::CONTROL;
        match frames.frame_mut(frame) {
            MemoryFrame::Roce(packet) => {
                audit(&PacketView::leaving(packet, counted, &mut named), tables, port, now);
            }
            other => audit_any(other, tables, port, now),
        }
    }

    #[inline(always)]
    fn send(
        &mut self,
        _: &mut MemoryFrames,
        _: &Crossing,
        _: FrameId,
    ) -> Result<(), DatapathError> {
        Ok(())
    }

    #[inline(always)]
    fn poll_switch(
        &mut self,
        frames: &mut MemoryFrames,
        crossing: &Crossing,
        tables: &SwitchTables,
        frame: FrameId,
        outcome: &mut Outcome,
        orders: &mut Orders,
    ) -> Result<bool, DatapathError> {
        let tables = tables.unshared();
        let send = &mut |order: &Order| orders.push((*order, None));
        let (policy, port) = (&self.policy, u32::from(crossing.ends.to_port));
        let at = (port, crossing.now.to_nanos());
        let (length, mut named) = (crossing.length, frames.named(frame));
        match frames.frame_mut(frame) {
            MemoryFrame::Roce(packet) => {
                let mac = mac_address(tables, port);
                let mut packet = PacketView { packet, length, mac, named: &mut named };
                Selected::arrive_to(&mut packet, tables, policy, at, send, outcome);
            }
            other => {
                arrival_of_any(other, (length, &mut named), at, tables, policy, send, outcome);
            }
        }
        frames.set_named(frame, named);
        Ok(true)
    }

    fn poll_routed(
        &mut self,
        frames: &mut MemoryFrames,
        crossing: &Crossing,
        (tables, route): (&SwitchTables, &impl Fn(&RocePacket) -> Option<u16>),
        frame: FrameId,
        outcome: &mut Outcome,
        orders: &mut Orders,
    ) -> Result<bool, DatapathError> {
        let MemoryFrame::Roce(packet) = frames.frame_mut(frame) else {
            return self.poll_switch(frames, crossing, tables, frame, outcome, orders);
        };
        let (tables, port) = (tables.unshared(), u32::from(crossing.ends.to_port));
        let routed = WayOut::new(tables, route(packet));
        let send = &mut |order: &Order| orders.push((*order, None));
        let (length, mac, mut named) =
            (crossing.length, mac_address(tables, port), QueueId::CONTROL);
        let mut packet = PacketView { packet, length, mac, named: &mut named };
        let at = (port, crossing.now.to_nanos());
        Selected::arrive_to(&mut packet, &routed, &self.policy, at, send, outcome);
        Ok(true)
    }

    #[inline]
    fn poll_host(
        &mut self,
        frames: &mut MemoryFrames,
        _: &Crossing,
        frame: FrameId,
    ) -> Result<Option<HostArrival>, DatapathError> {
        Ok(Some(frames.received(frame)))
    }

    fn wait(&self, _: &Crossing, _: u32) -> Result<(), DatapathError> {
        unreachable!("what is sent has arrived")
    }

    fn substrate_losses(&mut self) -> u64 {
        0
    }
}

/// The audit of any frame: a call, so that RoCEv2 packets, of which there are most, have all registers where they are
/// audited inline.
#[inline(never)]
fn audit_any(frame: &mut MemoryFrame, tables: &impl Tables, port: u32, now: Nanos) {
    let mut named = QueueId::CONTROL;
    let named = &mut named;
    match frame {
        MemoryFrame::Roce(packet) => {
            audit(&PacketView::leaving(packet, None, named), tables, port, now)
        }
        MemoryFrame::Tcp(packet) => {
            audit(&PacketView::leaving(packet, None, named), tables, port, now)
        }
        MemoryFrame::HopControl(control) => audit(&ControlView(control), tables, port, now),
        MemoryFrame::LinkDelay(_) => audit(&LinkDelayView, tables, port, now),
    };
}

/// Arrival of any frame: a call, for the reason given at [`audit_any`].
#[inline(never)]
fn arrival_of_any(
    frame: &mut MemoryFrame,
    (length, named): (u32, &mut QueueId),
    at: (u32, Nanos),
    tables: &impl Tables,
    policy: &Policy,
    send: &mut impl FnMut(&Order),
    outcome: &mut Outcome,
) {
    let mac = mac_address(tables, at.0);
    match frame {
        MemoryFrame::Roce(packet) => {
            let mut packet = PacketView { packet, length, mac, named };
            Selected::arrive_to(&mut packet, tables, policy, at, send, outcome);
        }
        MemoryFrame::Tcp(packet) => {
            let mut packet = PacketView { packet, length, mac, named };
            Selected::arrive_to(&mut packet, tables, policy, at, send, outcome);
        }
        MemoryFrame::HopControl(control) => {
            Selected::arrive_to(&mut ControlView(control), tables, policy, at, send, outcome);
        }
        MemoryFrame::LinkDelay(_) => {
            Selected::arrive_to(&mut LinkDelayView, tables, policy, at, send, outcome);
        }
    }
}

/// The MAC address of a port: every frame is sent to the address at the end of its wire.
#[inline(always)]
fn mac_address(tables: &impl Tables, port: u32) -> u64 {
    tables.port(port).map_or(0, |port| port.address.load())
}
