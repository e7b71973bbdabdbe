//! The memory datapath: frames are plain values and a switch's arrival function is a call.

mod frames;
mod views;

use fabric_core::arrival::{Outcome, arrival};
use fabric_core::audit::audit;
use fabric_core::cell::Sharing;
use fabric_core::hop_control::Order;
use fabric_core::policy::Policy;
use fabric_core::tables::Tables;
use switch_user::tables::SwitchTables;

use super::{Crossing, DatapathError, Departing, FrameId, HostArrival, Orders, Wires};
use crate::partition::Partition;
pub use frames::{MemoryFrame, MemoryFrames};
use views::{ControlView, LinkDelayView, PacketView};

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
        let part = || (Self { ..self }, frames.of_same_wires());
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
        match frames.frame_mut(frame) {
            MemoryFrame::Roce(packet) => {
                audit(&PacketView::of_roce(packet, length, 0), tables, port, now)
            }
            MemoryFrame::Tcp(segment) => {
                audit(&PacketView::of_tcp(segment, length, 0), tables, port, now)
            }
            MemoryFrame::HopControl(control) => audit(&ControlView(control), tables, port, now),
            MemoryFrame::LinkDelay(_) => audit(&LinkDelayView, tables, port, now),
        };
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

    // Called from one place; copying its result would cost more than the function.
    #[inline(always)]
    fn poll_switch(
        &mut self,
        frames: &mut MemoryFrames,
        crossing: &Crossing,
        tables: &SwitchTables,
        frame: FrameId,
        orders: &mut Orders,
    ) -> Result<Option<Outcome>, DatapathError> {
        let tables = tables.unshared();
        let send = &mut |order: &Order| orders.push((*order, None));
        let (policy, port, now) = (self.policy, u32::from(crossing.ends.to_port), crossing.now);
        // Every frame is sent to the station at the end of its wire.
        let station = tables.port(port).map_or(0, |port| port.address.load());
        let mut packet = match frames.frame_mut(frame) {
            MemoryFrame::Roce(packet) => PacketView::of_roce(packet, crossing.length, station),
            MemoryFrame::Tcp(segment) => PacketView::of_tcp(segment, crossing.length, station),
            MemoryFrame::HopControl(control) => {
                let mut control = ControlView(control);
                return Ok(Some(arrival(&mut control, tables, policy, port, now, send)));
            }
            MemoryFrame::LinkDelay(_) => {
                return Ok(Some(arrival(&mut LinkDelayView, tables, policy, port, now, send)));
            }
        };
        Ok(Some(arrival(&mut packet, tables, policy, port, now, send)))
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
