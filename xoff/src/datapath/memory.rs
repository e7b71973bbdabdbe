//! The memory datapath: frames are plain values and a switch's arrival function is a call.

use fabric_core::arrival::{Outcome, arrival};
use fabric_core::audit::audit;
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{Frame, Ipv4Fields, Parsed, PfcFields};
use fabric_core::map_abi::address_to_u64;
use fabric_core::policy::Policy;
use fabric_core::record::MAX_FRAME;
use fabric_core::units::Nanos;
use fabric_core::wire::roce::{Ecn, RocePacket, UDP_PORT};
use fabric_core::wire::{LinkAddresses, LinkDelayFrame, PfcFrame, ipv4, link_delay, pfc};
use switch_user::tables::SwitchTables;

use super::{Crossing, Datapath, DatapathError, FrameKind, HostArrival, SwitchArrival};
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
    /// The receiving port's address: nothing is ever sent to another.
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

/// One native switch.
#[derive(Debug)]
struct Switch {
    tables: SwitchTables,
    /// The number of the frame in each slot that holds a packet.
    buffered: Vec<u32>,
}

/// A frame in the slab: frames stay where they are, and their numbers travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(u32);

/// A frame in a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(MemoryFrame);

const _: () = assert!(size_of::<Line>() == 64, "a frame fits a cache line");

/// All frames that exist.
#[derive(Debug, Default)]
struct Slab {
    frames: Vec<Line>,
    free: Vec<FrameId>,
}

impl Slab {
    fn insert(&mut self, frame: MemoryFrame) -> FrameId {
        if let Some(id) = self.free.pop() {
            self.frames[id.0 as usize] = Line(frame);
            return id;
        }
        self.frames.push(Line(frame));
        FrameId(self.frames.len() as u32 - 1)
    }

    fn get(&self, id: FrameId) -> &MemoryFrame {
        &self.frames[id.0 as usize].0
    }

    fn get_mut(&mut self, id: FrameId) -> &mut MemoryFrame {
        &mut self.frames[id.0 as usize].0
    }

    fn remove(&mut self, id: FrameId) -> MemoryFrame {
        self.free.push(id);
        self.frames[id.0 as usize].0
    }
}

/// All switches of a fabric, native.
#[derive(Debug)]
pub struct MemoryDatapath {
    switches: Vec<Switch>,
    slab: Slab,
    policy: Policy,
    wires: Vec<WireEnds>,
}

impl MemoryDatapath {
    /// Switches with these (configured) tables, and wires between their ends.
    pub fn new(tables: Vec<SwitchTables>, policy: Policy, wires: Vec<WireEnds>) -> Self {
        let switches = tables
            .into_iter()
            .map(|tables| {
                let slots = tables.settings().slots as usize;
                Switch { tables, buffered: vec![0; slots] }
            })
            .collect();
        Self { switches, slab: Slab::default(), policy, wires }
    }

    /// The auditor of the kernel datapath sits at TC egress; here it is a call.
    #[inline(always)]
    fn audit_egress(&mut self, crossing: &Crossing, frame: FrameId) {
        let WireEnds { from, from_port, .. } = crossing.ends;
        if let NodeKind::Switch(SwitchId(switch)) = from {
            let tables = &self.switches[switch as usize].tables;
            let port = u32::from(from_port);
            match self.slab.get_mut(frame) {
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
    type Frame = FrameId;

    fn tables(&self, switch: u32) -> &SwitchTables {
        &self.switches[switch as usize].tables
    }

    fn tables_mut(&mut self, switch: u32) -> &mut SwitchTables {
        &mut self.switches[switch as usize].tables
    }

    fn roce(&mut self, _: WireId, packet: &RocePacket) -> FrameId {
        self.slab.insert(MemoryFrame::Roce(*packet))
    }

    fn pfc(&mut self, pfc: &PfcFrame) -> FrameId {
        self.slab.insert(MemoryFrame::Pfc(*pfc))
    }

    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId {
        self.slab.insert(MemoryFrame::LinkDelay(*message))
    }

    fn stamp(&mut self, frame: &mut FrameId, sent: Nanos) {
        if let MemoryFrame::LinkDelay(message) = self.slab.get_mut(*frame) {
            message.stamp(sent);
        }
    }

    fn read_link_delay(&self, frame: &FrameId) -> LinkDelayFrame {
        match self.slab.get(*frame) {
            MemoryFrame::LinkDelay(message) => *message,
            other => unreachable!("{other:?} is for no control plane"),
        }
    }

    // Called from one place; its result is larger than what it does.
    #[inline(always)]
    fn arrive_at_switch(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<SwitchArrival<FrameId>, DatapathError> {
        self.audit_egress(&crossing, frame);
        let wire = &crossing.ends;
        let address = wire.addresses.destination;
        let NodeKind::Switch(SwitchId(switch)) = wire.to else {
            unreachable!("the wire ends at a switch")
        };
        let Switch { tables, buffered } = &mut self.switches[switch as usize];
        let (policy, port, now) = (self.policy, u32::from(wire.to_port), crossing.now);
        let outcome = match self.slab.get_mut(frame) {
            MemoryFrame::Roce(packet) => {
                let station = address_to_u64(address);
                let mut view = PacketView { packet, length: crossing.length, station };
                arrival(&mut view, tables, policy, port, now)
            }
            MemoryFrame::Pfc(pfc) => arrival(&mut PfcView(pfc), tables, policy, port, now),
            MemoryFrame::LinkDelay(_) => arrival(&mut LinkDelayView, tables, policy, port, now),
        };
        let (mut pause, mut returned) = (None, None);
        match &outcome {
            Outcome::Queued(queued) => {
                buffered[queued.slot as usize] = frame.0;
                if let Some(order) = &queued.pause {
                    let pfc = PfcFrame::xoff(address, order.class_enable, order.quanta);
                    pause = Some(self.slab.insert(MemoryFrame::Pfc(pfc)));
                }
            }
            Outcome::PauseReceived { .. } => drop(self.slab.remove(frame)),
            Outcome::LinkDelayReceived | Outcome::Dropped(_) => returned = Some(frame),
        }
        Ok(SwitchArrival { outcome, pause, returned })
    }

    #[inline]
    fn arrive_at_host(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<HostArrival, DatapathError> {
        self.audit_egress(&crossing, frame);
        Ok(match self.slab.remove(frame) {
            MemoryFrame::Roce(packet) => HostArrival::Roce(packet),
            MemoryFrame::Pfc(pfc) => HostArrival::Pfc(pfc),
            MemoryFrame::LinkDelay(message) => HostArrival::LinkDelay(message),
        })
    }

    fn take(&mut self, switch: u32, slot: u32, congested: bool) -> FrameId {
        let frame = FrameId(self.switches[switch as usize].buffered[slot as usize]);
        if congested && let MemoryFrame::Roce(packet) = self.slab.get_mut(frame) {
            packet.ecn = Ecn::CongestionExperienced;
        }
        frame
    }

    fn discard(&mut self, frame: FrameId) {
        self.slab.remove(frame);
    }

    fn priority(&self, frame: &FrameId) -> Option<u8> {
        match self.slab.get(*frame) {
            MemoryFrame::Roce(packet) => Some(packet.dscp >> 3),
            MemoryFrame::Pfc(_) | MemoryFrame::LinkDelay(_) => None,
        }
    }

    fn kind(&self, frame: &FrameId) -> FrameKind {
        match self.slab.get(*frame) {
            MemoryFrame::Roce(packet) => FrameKind::of_roce(packet),
            MemoryFrame::Pfc(pfc) => FrameKind::of_pfc(pfc),
            MemoryFrame::LinkDelay(_) => FrameKind::LinkDelay,
        }
    }

    fn bytes<'a>(&self, wire: WireId, frame: &'a FrameId, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        write_frame(&self.wires[wire.0 as usize].addresses, self.slab.get(*frame), buffer);
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
