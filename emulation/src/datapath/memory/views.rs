//! Frames of the memory datapath as a switch's pipeline sees them.
//!
//! Each kind of frame is a type of its own, so that the compiler removes the branches that its pipeline never takes.
#![expect(clippy::cast_possible_truncation, reason = "constant lengths of frames")]

use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{Frame, Ipv4Fields, Parsed, PfcFields};
use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::map_abi::address_to_u64;
use fabric_core::wire::roce::{Ecn, RocePacket, UDP_PORT};
use fabric_core::wire::tcp::{Ports, SackCount, Segment};
use fabric_core::wire::{HopControlFrame, hop_control, ipv4, link_delay};

/// A packet of any transport at the end of a wire.
pub struct PacketView<'a> {
    length: u32,
    fields: Ipv4Fields,
    ttl: &'a mut u8,
    ecn: &'a mut Ecn,
}

impl<'a> PacketView<'a> {
    /// A RoCEv2 packet in a frame of `length` bytes that is sent to `station`.
    #[inline(always)]
    pub fn of_roce(packet: &'a mut RocePacket, length: u32, station: u64) -> Self {
        let fields = Ipv4Fields {
            station,
            source: packet.source,
            destination: packet.destination,
            ports: u32::from(packet.source_port) << 16 | u32::from(UDP_PORT),
            protocol: ipv4::PROTOCOL_UDP,
            type_of_service: ipv4::type_of_service(packet.dscp, packet.ecn),
            ttl: packet.ttl,
            checksum: 0,
        };
        Self { length, fields, ttl: &mut packet.ttl, ecn: &mut packet.ecn }
    }

    /// The same of a TCP segment.
    #[inline(always)]
    pub fn of_tcp(segment: &'a mut Segment<SackCount>, length: u32, station: u64) -> Self {
        let Ports { source, destination } = segment.ports;
        let fields = Ipv4Fields {
            station,
            source: segment.source,
            destination: segment.destination,
            ports: u32::from(source) << 16 | u32::from(destination),
            protocol: ipv4::PROTOCOL_TCP,
            type_of_service: ipv4::type_of_service(segment.dscp, segment.ecn),
            ttl: segment.ttl,
            checksum: 0,
        };
        Self { length, fields, ttl: &mut segment.ttl, ecn: &mut segment.ecn }
    }
}

impl Frame for PacketView<'_> {
    #[inline(always)]
    fn length(&self) -> u32 {
        self.length
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        Ok(Parsed::Ipv4(self.fields))
    }

    #[inline(always)]
    fn forward(&mut self, _: u64, _: u64, fields: &Ipv4Fields) -> Result<(), DropReason> {
        *self.ttl = fields.ttl - 1;
        Ok(())
    }

    #[inline(always)]
    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        *self.ecn = Ecn::CongestionExperienced;
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
