//! The memory datapath: frames are plain values and a switch's arrival function is a call.
#![expect(clippy::cast_possible_truncation, reason = "lengths of frames, on every hop")]

use fabric_core::arrival::{Outcome, Queued, arrival};
use fabric_core::audit::audit;
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{Frame, Ipv4Fields, Parsed, PfcFields};
use fabric_core::map_abi::address_to_u64;
use fabric_core::policy::Policy;
use fabric_core::record::MAX_FRAME;
use fabric_core::tables::Tables;
use fabric_core::units::Nanos;
use fabric_core::wire::roce::{Ecn, RocePacket, UDP_PORT};
use fabric_core::wire::{LinkAddresses, LinkDelayFrame, PfcFrame, ipv4, link_delay, pfc};
use switch_user::tables::SwitchTables;

use super::slab::Slab;
use super::{Crossing, Datapath, DatapathError, FrameId, FrameKind, HostArrival, SwitchArrival};
use crate::build::WireEnds;
use crate::topology::{NodeKind, SwitchId, WireId};

/// A frame as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFrame {
    /// A RoCEv2 packet.
    Roce(RocePacket),
    /// A PFC frame.
    Pfc(PfcFrame),
    /// A link delay frame.
    LinkDelay(LinkDelayFrame),
}

/// UDP's protocol number.
const PROTOCOL_UDP: u8 = 17;

/// A packet as the pipeline sees it at the end of a wire.
struct PacketView<'a> {
    packet: &'a mut RocePacket,
    length: u32,
    /// Where it is sent to.
    station: u64,
}

impl Frame for PacketView<'_> {
    #[inline(always)]
    fn length(&self) -> u32 {
        self.length
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        let packet = &*self.packet;
        Ok(Parsed::Ipv4(Ipv4Fields {
            station: self.station,
            source: packet.source,
            destination: packet.destination,
            ports: u32::from(packet.source_port) << 16 | u32::from(UDP_PORT),
            protocol: PROTOCOL_UDP,
            type_of_service: ipv4::type_of_service(packet.dscp, packet.ecn),
            ttl: packet.ttl,
            checksum: 0,
        }))
    }

    #[inline(always)]
    fn forward(&mut self, _: u64, _: u64, fields: &Ipv4Fields) -> Result<(), DropReason> {
        self.packet.ttl = fields.ttl - 1;
        Ok(())
    }

    #[inline(always)]
    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        self.packet.ecn = Ecn::CongestionExperienced;
        Ok(())
    }
}

/// A PFC frame as the pipeline sees it. The kinds are views of their own so that the compiler drops
/// from each pipeline what its frames never do.
struct PfcView<'a>(&'a PfcFrame);

impl Frame for PfcView<'_> {
    #[inline(always)]
    fn length(&self) -> u32 {
        pfc::LEN as u32
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        Ok(Parsed::Pfc(PfcFields {
            source: address_to_u64(self.0.source),
            class_enable: self.0.class_enable,
            quanta: self.0.quanta,
        }))
    }

    #[inline(always)]
    fn forward(&mut self, _: u64, _: u64, _: &Ipv4Fields) -> Result<(), DropReason> {
        Ok(())
    }

    #[inline(always)]
    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        Ok(())
    }
}

/// A link delay frame as the pipeline sees it: for the control plane, which reads it itself.
struct LinkDelayView;

impl Frame for LinkDelayView {
    #[inline(always)]
    fn length(&self) -> u32 {
        link_delay::LEN as u32
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        Ok(Parsed::LinkDelay)
    }

    #[inline(always)]
    fn forward(&mut self, _: u64, _: u64, _: &Ipv4Fields) -> Result<(), DropReason> {
        Ok(())
    }

    #[inline(always)]
    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        Ok(())
    }
}

/// A frame in a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(MemoryFrame);

const _: () = assert!(size_of::<Line>() == 64, "a frame fits a cache line");

impl Default for Line {
    fn default() -> Self {
        Self(MemoryFrame::Pfc(PfcFrame::xon([0; 6], 0)))
    }
}

/// All switches of a fabric, native.
#[derive(Debug)]
pub struct MemoryDatapath {
    switches: Vec<SwitchTables>,
    frames: Slab<Line>,
    policy: Policy,
    /// By wire.
    addresses: Vec<LinkAddresses>,
}

impl MemoryDatapath {
    /// Switches with these (configured) tables, and wires with these addresses.
    pub fn new(tables: Vec<SwitchTables>, policy: Policy, addresses: Vec<LinkAddresses>) -> Self {
        Self { switches: tables, frames: Slab::default(), policy, addresses }
    }

    #[inline(always)]
    fn insert(&mut self, frame: MemoryFrame) -> FrameId {
        let id = self.frames.add();
        self.frames[id] = Line(frame);
        id
    }

    /// The auditor of the kernel datapath sits at TC egress; here it is a call.
    #[inline(always)]
    fn audit_egress(&mut self, crossing: &Crossing, frame: FrameId) {
        let WireEnds { from, from_port, .. } = crossing.ends;
        if let NodeKind::Switch(SwitchId(switch)) = from {
            let tables = &self.switches[switch as usize];
            let port = u32::from(from_port);
            match &mut self.frames[frame].0 {
                MemoryFrame::Roce(packet) => {
                    let view = PacketView { packet, length: crossing.length, station: 0 };
                    audit(&view, tables, port, crossing.started)
                }
                MemoryFrame::Pfc(pfc) => audit(&PfcView(pfc), tables, port, crossing.started),
                MemoryFrame::LinkDelay(_) => audit(&LinkDelayView, tables, port, crossing.started),
            };
        }
    }
}

impl Datapath for MemoryDatapath {
    fn tables(&self, switch: u32) -> &SwitchTables {
        &self.switches[switch as usize]
    }

    fn tables_mut(&mut self, switch: u32) -> &mut SwitchTables {
        &mut self.switches[switch as usize]
    }

    fn roce(&mut self, _: WireId, packet: &RocePacket) -> FrameId {
        self.insert(MemoryFrame::Roce(*packet))
    }

    fn pfc(&mut self, pfc: &PfcFrame) -> FrameId {
        self.insert(MemoryFrame::Pfc(*pfc))
    }

    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId {
        self.insert(MemoryFrame::LinkDelay(*message))
    }

    fn stamp(&mut self, frame: FrameId, sent: Nanos) {
        if let MemoryFrame::LinkDelay(message) = &mut self.frames[frame].0 {
            message.stamp(sent);
        }
    }

    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame {
        match self.frames[frame].0 {
            MemoryFrame::LinkDelay(message) => message,
            other => unreachable!("{other:?} is for no control plane"),
        }
    }

    // Called from one place; its result is larger than what it does.
    #[inline(always)]
    fn arrive_at_switch(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<SwitchArrival, DatapathError> {
        self.audit_egress(&crossing, frame);
        let NodeKind::Switch(SwitchId(switch)) = crossing.ends.to else {
            unreachable!("the wire ends at a switch")
        };
        let tables = &self.switches[switch as usize];
        let (policy, port, now) = (self.policy, u32::from(crossing.ends.to_port), crossing.now);
        let outcome = match &mut self.frames[frame].0 {
            MemoryFrame::Roce(packet) => {
                // Nothing is ever sent to another station than the one at the end of the wire.
                let station = tables.port(port).map_or(0, |port| port.address.load());
                let mut view = PacketView { packet, length: crossing.length, station };
                arrival(&mut view, tables, policy, port, now)
            }
            MemoryFrame::Pfc(pfc) => arrival(&mut PfcView(pfc), tables, policy, port, now),
            MemoryFrame::LinkDelay(_) => arrival(&mut LinkDelayView, tables, policy, port, now),
        };
        let mut pause = None;
        if let Outcome::Queued(Queued { pause: Some(order), .. }) = &outcome {
            let address = self.addresses[crossing.wire.0 as usize].destination;
            let pfc = PfcFrame::xoff(address, order.class_enable, order.quanta);
            pause = Some(self.insert(MemoryFrame::Pfc(pfc)));
        }
        Ok(SwitchArrival { outcome, pause })
    }

    #[inline]
    fn arrive_at_host(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<HostArrival, DatapathError> {
        self.audit_egress(&crossing, frame);
        self.frames.remove(frame);
        Ok(match self.frames[frame].0 {
            MemoryFrame::Roce(packet) => HostArrival::Roce(packet),
            MemoryFrame::Pfc(pfc) => HostArrival::Pfc(pfc),
            MemoryFrame::LinkDelay(message) => HostArrival::LinkDelay(message),
        })
    }

    fn mark(&mut self, frame: FrameId) {
        if let MemoryFrame::Roce(packet) = &mut self.frames[frame].0 {
            packet.ecn = Ecn::CongestionExperienced;
        }
    }

    fn discard(&mut self, frame: FrameId) {
        self.frames.remove(frame);
    }

    #[inline(always)]
    fn length(&self, frame: FrameId) -> u32 {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => packet.frame_length() as u32,
            MemoryFrame::Pfc(_) => pfc::LEN as u32,
            MemoryFrame::LinkDelay(_) => link_delay::LEN as u32,
        }
    }

    fn priority(&self, frame: FrameId) -> Option<u8> {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => Some(packet.dscp >> 3),
            MemoryFrame::Pfc(_) | MemoryFrame::LinkDelay(_) => None,
        }
    }

    fn kind(&self, frame: FrameId) -> FrameKind {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => FrameKind::of_roce(packet),
            MemoryFrame::Pfc(pfc) => FrameKind::of_pfc(pfc),
            MemoryFrame::LinkDelay(_) => FrameKind::LinkDelay,
        }
    }

    fn bytes<'a>(&'a self, wire: WireId, frame: FrameId, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        write_frame(&self.addresses[wire.0 as usize], &self.frames[frame].0, buffer);
        buffer
    }

    fn substrate_losses(&mut self) -> u64 {
        0
    }
}

/// Writes a frame's bytes, as they cross a link with these addresses.
pub fn write_frame(addresses: &LinkAddresses, frame: &MemoryFrame, buffer: &mut Vec<u8>) {
    buffer.clear();
    match frame {
        MemoryFrame::Roce(packet) => {
            buffer.resize(MAX_FRAME, 0);
            let length = packet
                .emit(addresses, buffer)
                .expect("a packet with at most 3072 bytes of payload fits a frame");
            buffer.truncate(length);
        }
        MemoryFrame::Pfc(pfc) => {
            let mut bytes = [0; pfc::LEN];
            pfc.emit(&mut bytes);
            buffer.extend_from_slice(&bytes);
        }
        MemoryFrame::LinkDelay(message) => {
            let mut bytes = [0; link_delay::LEN];
            message.emit(&mut bytes);
            buffer.extend_from_slice(&bytes);
        }
    }
}
