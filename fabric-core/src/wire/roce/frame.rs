//! Conversion of a RoCEv2 packet to the bytes of its frame, and back with all checks.

use super::super::error::{EmitError, Layer, ParseError};
use super::super::payload::Pattern;
use super::super::telemetry::{self, Carrier, Stamp};
use super::super::{aeth, bth, cnp, ethernet, icrc, ip_packet, ipv4, reth, udp};
use super::{LinkAddresses, Opcode, RemainingSize, RocePacket, TelemetryFields, UDP_PORT};

#[cfg(test)]
mod tests;

impl RocePacket {
    /// Writes the whole frame, payload pattern and ICRC included, and returns its length. Stamps are zeros.
    ///
    /// IPv4 has DF set, UDP has no checksum. Bytes beyond the frame are not touched. A packet that
    /// `parse` would not return is an error.
    pub fn emit(&self, addresses: &LinkAddresses, buffer: &mut [u8]) -> Result<usize, EmitError> {
        self.emit_stamped(addresses, &[], buffer)
    }

    /// Runs [`emit`](Self::emit), with the stamps of any telemetry.
    pub fn emit_stamped(
        &self,
        addresses: &LinkAddresses,
        stamps: &[Stamp],
        buffer: &mut [u8],
    ) -> Result<usize, EmitError> {
        let total = self.check()?;
        let (needed, available) = (self.frame_length(), buffer.len());
        let too_small = EmitError::BufferTooSmall { needed, available };
        let frame = buffer.get_mut(..needed).ok_or(too_small)?;

        let ethernet = ethernet::Header::new(*addresses, ethernet::ETHER_TYPE_IPV4);
        let ip_packet = ethernet.emit(frame)?;
        let rest = self.ipv4(total).emit(ip_packet)?;
        let udp_length = self.udp_length();
        let rest = udp::Header::new(self.source_port, UDP_PORT, udp_length as u16).emit(rest)?;
        let rest = self.bth().emit(rest)?;
        let rest = match (self.reth, self.aeth) {
            (Some(fields), _) => reth::Header::new(fields).emit(rest)?,
            (None, Some(fields)) => aeth::Header::new(fields).emit(rest)?,
            (None, None) if self.opcode == Opcode::Cnp => cnp::Reserved::default().emit(rest)?,
            (None, None) => rest,
        };
        let payload_length = usize::from(self.payload_length);
        let (payload, rest) = rest.split_at_mut_checked(payload_length).ok_or(too_small)?;
        Pattern::for_packet(self.destination_qp, self.psn).fill(payload);
        rest.fill(0);

        let covered = ipv4::LEN + udp_length - icrc::LEN;
        let ip_packet = frame.get_mut(ethernet::LEN..).ok_or(too_small)?;
        let (covered, trailer) = ip_packet.split_at_mut_checked(covered).ok_or(too_small)?;
        let surplus = icrc::Trailer::new(icrc::compute(covered)).emit(trailer)?;
        if let Some(fields) = self.telemetry {
            telemetry::emit_surplus(fields, stamps, surplus)?;
        }
        Ok(needed)
    }

    /// Parses a frame that `emit` could have written. Only these may differ: MAC addresses, DF, BTH
    /// bits without meaning here (solicited event, migration, the reserved bits next to ACK
    /// request), the values of both paddings, and stamps (see `telemetry::stamps`).
    ///
    /// The ICRC is checked before any field that it covers is used.
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (ipv4, ip_packet) = ip_packet::open(frame, ipv4::PROTOCOL_UDP)?;
        let (udp, segment, telemetry) = segment_of(ip_packet)?;
        let (bth, opcode, rest) = transport_of(segment)?;
        let (reth, aeth, body) = match opcode {
            Opcode::WriteFirst | Opcode::WriteOnly => {
                let (header, body) = reth::Header::parse(rest)?;
                (Some(header.fields()), None, body)
            }
            Opcode::WriteMiddle | Opcode::WriteLast => (None, None, rest),
            Opcode::Acknowledge => {
                let (header, body) = aeth::Header::parse(rest)?;
                (None, Some(header.fields()?), body)
            }
            Opcode::Cnp => (None, None, cnp::Reserved::parse(rest)?.1),
        };
        if !opcode.has_payload() && !body.is_empty() {
            return Err(ParseError::UnexpectedPayload { opcode, length: body.len() });
        }
        let (pad, available) = (bth.pad_count(), body.len());
        let (payload, _) = available
            .checked_sub(usize::from(pad))
            .and_then(|length| body.split_at_checked(length))
            .ok_or(ParseError::PadCount { pad, available })?;
        if !Pattern::for_packet(bth.destination_qp(), bth.psn()).verify(payload) {
            return Err(ParseError::PayloadPattern);
        }
        Ok(Self {
            source: ipv4.source(),
            destination: ipv4.destination(),
            source_port: udp.source_port(),
            dscp: ipv4.dscp(),
            ecn: ipv4.ecn(),
            ttl: ipv4.time_to_live(),
            opcode,
            ack_request: bth.ack_request(),
            congestion_echo: opcode.has_aeth() && bth.congestion() == bth::BECN,
            destination_qp: bth.destination_qp(),
            psn: bth.psn(),
            reth,
            aeth,
            payload_length: payload.len() as u16,
            telemetry,
            remaining: RemainingSize::from_wire(ipv4.identification()),
        })
    }

    /// Returns the IP total length if every field fits its bits and the headers match the opcode.
    fn check(&self) -> Result<u16, EmitError> {
        let Self { opcode, dscp, destination_qp, .. } = *self;
        if self.reth.is_some() != opcode.has_reth()
            || self.aeth.is_some() != opcode.has_aeth()
            || (self.congestion_echo && !opcode.has_aeth())
            || (self.payload_length != 0 && !opcode.has_payload())
        {
            return Err(EmitError::HeadersOfOpcode(opcode));
        }
        self.telemetry.map_or(Ok(()), |fields| fields.check(Carrier::Udp))?;
        let messages = self.aeth.map_or(0, |aeth| aeth.message_sequence_number);
        for (field, value, maximum) in [
            ("dscp", u32::from(dscp), 63),
            ("destination_qp", destination_qp, bth::MAXIMUM_QUEUE_PAIR),
            ("message_sequence_number", messages, aeth::MAXIMUM_MESSAGE_SEQUENCE_NUMBER),
        ] {
            if value > maximum {
                return Err(EmitError::FieldTooWide { field, value });
            }
        }
        let total = self.ip_total_length();
        u16::try_from(total).map_err(|_| EmitError::TooLong { total })
    }

    fn ipv4(&self, total_length: u16) -> ipv4::Header {
        let type_of_service = ipv4::type_of_service(self.dscp, self.ecn);
        ipv4::Header::new(
            self.source,
            self.destination,
            type_of_service,
            self.ttl,
            ipv4::PROTOCOL_UDP,
            total_length,
        )
        .with_identification(self.remaining.to_wire())
    }

    fn bth(&self) -> bth::Header {
        let pad_count = self.pad_count();
        let Self { opcode, destination_qp, ack_request, psn, .. } = *self;
        let header = bth::Header::new(opcode, pad_count, destination_qp, ack_request, psn);
        if self.congestion_echo { header.with_becn() } else { header }
    }
}

/// Returns the UDP header, the bytes from there to a valid ICRC, and the telemetry after the ICRC.
fn segment_of(
    ip_packet: &[u8],
) -> Result<(&udp::Header, &[u8], Option<TelemetryFields>), ParseError> {
    let (most, total) = (ip_packet.len().saturating_sub(ipv4::LEN), ip_packet.len());
    let (udp, _) = udp::Header::parse(ip_packet.get(ipv4::LEN..).unwrap_or_default())?;
    if udp.destination_port() != UDP_PORT {
        return Err(ParseError::UdpPort(udp.destination_port()));
    }
    let length = usize::from(udp.length());
    let wrong_length = ParseError::UdpLength { expected: most, found: length };
    let surplus = most.checked_sub(length).ok_or(wrong_length)?;
    if length < udp::LEN || (1..telemetry::BEFORE_STAMPS).contains(&surplus) {
        return Err(wrong_length);
    }
    if udp.checksum() != 0 {
        return Err(ParseError::UdpChecksum(udp.checksum()));
    }
    if !total.is_multiple_of(4) {
        return Err(ParseError::Unaligned { total });
    }
    let (datagram, surplus) = ip_packet.split_at_checked(total - surplus).ok_or(wrong_length)?;
    let available = length - udp::LEN;
    let cut = ParseError::Truncated { layer: Layer::Icrc, needed: icrc::LEN, available };
    let (covered, trailer) = datagram.split_last_chunk::<{ icrc::LEN }>().ok_or(cut)?;
    let segment = covered.get(ipv4::LEN + udp::LEN..).ok_or(cut)?;
    let (expected, found) = (icrc::compute(covered), icrc::Trailer::parse(trailer)?.0.crc());
    if found != expected {
        return Err(ParseError::Icrc { expected, found });
    }
    let telemetry = (!surplus.is_empty()).then(|| telemetry::parse_surplus(surplus)).transpose()?;
    Ok((udp, segment, telemetry))
}

/// Returns the BTH, its opcode, and the bytes after it.
fn transport_of(segment: &[u8]) -> Result<(&bth::Header, Opcode, &[u8]), ParseError> {
    let (bth, rest) = bth::Header::parse(segment)?;
    let opcode = bth.opcode().ok_or(ParseError::UnknownOpcode(bth.opcode_byte()))?;
    if bth.partition_key() != bth::DEFAULT_PARTITION_KEY {
        return Err(ParseError::PartitionKey(bth.partition_key()));
    }
    // RoCEv2 switches mark ECN in the IP header, never FECN, and the ICRC does not cover this byte.
    match (opcode, bth.congestion()) {
        (Opcode::Cnp | Opcode::Acknowledge, bth::BECN) => Ok((bth, opcode, rest)),
        (Opcode::Cnp, found) => Err(ParseError::CongestionBits(found)),
        (_, 0) => Ok((bth, opcode, rest)),
        (_, found) => Err(ParseError::CongestionBits(found)),
    }
}
