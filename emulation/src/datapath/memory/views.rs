//! Frames of the memory datapath as a switch's pipeline sees them.
//!
//! Each kind of frame has a separate type, so that the compiler removes the branches that its pipeline never takes.
#![expect(clippy::cast_possible_truncation, reason = "lengths of frames")]

use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{Frame, Ipv4Fields, Parsed, PfcFields};
use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::map_abi::address_to_u64;
use fabric_core::queue::QueueId;
use fabric_core::wire::roce::{Ecn, RocePacket, UDP_PORT};
use fabric_core::wire::tcp::{Ports, SackCount, Segment};
use fabric_core::wire::{HopControlFrame, hop_control, ipv4, link_delay};

/// A packet of a transport from the point of view of switches.
pub trait Routed {
    /// Length of its frame.
    fn own_length(&self) -> u32;
    /// Its IPv4 header.
    fn fields(&self) -> Ipv4Fields;
    /// Its time to live.
    fn ttl(&mut self) -> &mut u8;
    /// Its ECN field.
    fn ecn(&mut self) -> &mut Ecn;
}

impl Routed for RocePacket {
    #[inline(always)]
    fn own_length(&self) -> u32 {
        self.frame_length() as u32
    }

    #[inline(always)]
    fn fields(&self) -> Ipv4Fields {
        Ipv4Fields {
            source: self.source,
            destination: self.destination,
            ports: u32::from(self.source_port) << 16 | u32::from(UDP_PORT),
            protocol: ipv4::PROTOCOL_UDP,
            type_of_service: ipv4::type_of_service(self.dscp, self.ecn),
            remaining: self.remaining,
            ttl: self.ttl,
            ..Ipv4Fields::default()
        }
    }

    #[inline(always)]
    fn ttl(&mut self) -> &mut u8 {
        &mut self.ttl
    }

    #[inline(always)]
    fn ecn(&mut self) -> &mut Ecn {
        &mut self.ecn
    }
}

impl Routed for Segment<SackCount> {
    #[inline(always)]
    fn own_length(&self) -> u32 {
        self.frame_length() as u32
    }

    #[inline(always)]
    fn fields(&self) -> Ipv4Fields {
        let Ports { source, destination } = self.ports;
        Ipv4Fields {
            source: self.source,
            destination: self.destination,
            ports: u32::from(source) << 16 | u32::from(destination),
            protocol: ipv4::PROTOCOL_TCP,
            type_of_service: ipv4::type_of_service(self.dscp, self.ecn),
            ttl: self.ttl,
            ..Ipv4Fields::default()
        }
    }

    #[inline(always)]
    fn ttl(&mut self) -> &mut u8 {
        &mut self.ttl
    }

    #[inline(always)]
    fn ecn(&mut self) -> &mut Ecn {
        &mut self.ecn
    }
}

/// A packet at the end of a wire.
pub struct PacketView<'a, P> {
    /// The packet.
    pub packet: &'a mut P,
    /// Accounted length of its frame.
    pub length: u32,
    /// MAC address at the end of the wire, to which every frame is sent.
    pub mac: u64,
    /// The queue named by its source address.
    pub named: &'a mut QueueId,
}

impl<'a, P: Routed> PacketView<'a, P> {
    /// A packet that leaves a switch. Its accounted length is its own length, unless `counted` is given; it has no
    /// destination.
    #[inline(always)]
    pub fn leaving(packet: &'a mut P, counted: Option<u32>, named: &'a mut QueueId) -> Self {
        let length = counted.unwrap_or_else(|| packet.own_length());
        Self { packet, length, mac: 0, named }
    }
}

impl<P: Routed> Frame for PacketView<'_, P> {
    #[inline(always)]
    fn length(&self) -> u32 {
        self.length
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        let fields = self.packet.fields();
        Ok(Parsed::Ipv4(Ipv4Fields { mac: self.mac, upstream: *self.named, ..fields }))
    }

    #[inline(always)]
    fn forward(&mut self, source: u64, _: u64, fields: &Ipv4Fields) -> Result<(), DropReason> {
        *self.named = QueueId::from_address(source);
        *self.packet.ttl() = fields.ttl - 1;
        Ok(())
    }

    #[inline(always)]
    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        *self.packet.ecn() = Ecn::CongestionExperienced;
        Ok(())
    }
}

/// A hop control frame.
pub struct ControlView<'a>(pub &'a HopControlFrame);

impl Frame for ControlView<'_> {
    #[inline(always)]
    fn length(&self) -> u32 {
        hop_control::LEN as u32
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        let HopControlFrame { source, control } = *self.0;
        Ok(match control {
            HopControl::Classes(ClassPauses { named, quanta }) => Parsed::Pfc(PfcFields {
                source: address_to_u64(source),
                class_enable: named,
                quanta,
            }),
            control => Parsed::HopControl(control),
        })
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

/// A link delay frame. The pipeline only passes it on; the control plane reads it.
pub struct LinkDelayView;

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
