//! Conversion of a TCP segment to the bytes of its frame, and back with all checks.

use super::super::error::{EmitError, ParseError};
use super::super::ethernet::LinkAddresses;
use super::super::payload::Pattern;
use super::super::telemetry::{Carrier, Stamp};
use super::super::{ethernet, ip_packet, ipv4};
use super::options::{self, Options};
use super::{Flags, Header, LEN, SackBlocks, Segment, header};

#[cfg(test)]
mod tests;

impl Segment {
    /// Writes the whole frame, payload pattern and checksum included, and returns its length.
    ///
    /// IPv4 has DF set and identification 0. Bytes beyond the frame are not touched. A segment that
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
        let (connection, total) = self.check()?;
        let (needed, available) = (self.frame_length(), buffer.len());
        let too_small = EmitError::BufferTooSmall { needed, available };
        let frame = buffer.get_mut(..needed).ok_or(too_small)?;
        let ethernet = ethernet::Header::new(*addresses, ethernet::ETHER_TYPE_IPV4);
        let rest = ethernet.emit(frame)?;
        let type_of_service = ipv4::type_of_service(self.dscp, self.ecn);
        let ipv4 = ipv4::Header::new(
            self.source,
            self.destination,
            type_of_service,
            self.ttl,
            ipv4::PROTOCOL_TCP,
            total,
        );
        let segment = ipv4.emit(rest)?;
        let words = (self.header_length() / 4) as u8;
        let Self { ports, sequence, acknowledgement, flags, window, .. } = *self;
        let header = Header::new(ports, sequence, acknowledgement, words, flags, window);
        let rest = header.emit(segment)?;
        let Self { syn, timestamps, sack, telemetry, .. } = *self;
        let options = Options { syn, timestamps, sack, telemetry };
        let payload = options::emit(&options, stamps, rest)?;
        Pattern::for_segment(connection, sequence).fill(payload);
        let checksum = header::checksum(self.source, self.destination, segment);
        let mut header = header;
        header.set_checksum(checksum);
        header.emit(segment)?;
        Ok(needed)
    }

    /// Parses a frame that `emit` could have written. Only these may differ: MAC addresses, the
    /// IPv4 identification, DF, and stamps (see `telemetry::stamps`).
    ///
    /// The checksum is checked before any field that it covers is used.
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (ipv4, packet) = ip_packet::open(frame, ipv4::PROTOCOL_TCP)?;
        let (source, destination) = (ipv4.source(), ipv4.destination());
        let segment = packet.get(ipv4::LEN..).unwrap_or_default();
        let (header, rest) = Header::parse(segment)?;
        let found = header.checksum();
        let expected = header::checksum(source, destination, segment);
        if found != expected {
            return Err(ParseError::TcpChecksum { expected, found });
        }
        let flags = header.flags()?;
        let ports = header.ports();
        let Some((connection, _)) = ports.connection() else {
            let (source, destination) = (ports.source, ports.destination);
            return Err(ParseError::TcpPorts { source, destination });
        };
        let options = header.length().checked_sub(LEN).ok_or(ParseError::TcpOptions)?;
        let (options, payload) = rest.split_at_checked(options).ok_or(ParseError::TcpOptions)?;
        let opens = flags.contains(Flags::SYN);
        let Options { syn, timestamps, sack, telemetry } = options::parse(opens, options)?;
        if !flags_fit(flags, header.acknowledgement()) {
            return Err(ParseError::TcpFlags(flags.bits()));
        }
        if opens && !payload.is_empty() {
            return Err(ParseError::TcpPayload { length: payload.len() });
        }
        let sequence = header.sequence();
        if !Pattern::for_segment(connection, sequence).verify(payload) {
            return Err(ParseError::PayloadPattern);
        }
        Ok(Self {
            source,
            destination,
            ports,
            sequence,
            acknowledgement: header.acknowledgement(),
            window: header.window(),
            payload_length: payload.len() as u16,
            timestamps,
            dscp: ipv4.dscp(),
            ecn: ipv4.ecn(),
            ttl: ipv4.time_to_live(),
            flags,
            syn,
            sack,
            telemetry,
        })
    }

    /// Returns the connection's number and the IP total length if every field fits its bits and the other fields.
    fn check(&self) -> Result<(u32, u16), EmitError> {
        let opens = self.flags.contains(Flags::SYN);
        let (connection, _) = self.ports.connection().ok_or(EmitError::TcpSegment)?;
        let sacks = self.sack != SackBlocks::NONE;
        if opens != self.syn.is_some()
            || !flags_fit(self.flags, self.acknowledgement)
            || (opens && (self.payload_length > 0 || sacks))
            || (self.telemetry.is_some() && (opens || sacks))
        {
            return Err(EmitError::TcpSegment);
        }
        self.telemetry.map_or(Ok(()), |fields| fields.check(Carrier::Tcp))?;
        if self.dscp > 63 {
            return Err(EmitError::FieldTooWide { field: "dscp", value: self.dscp.into() });
        }
        let total = self.ip_total_length();
        let fits = u16::try_from(total).map_err(|_| EmitError::TooLong { total })?;
        Ok((connection, fits))
    }
}

/// True if a segment may have these flags: all segments but the first have ACK, and SYN excludes FIN and PSH.
fn flags_fit(flags: Flags, acknowledgement: u32) -> bool {
    let acknowledges = flags.contains(Flags::ACK);
    let opens = flags.contains(Flags::SYN);
    let others = flags.contains(Flags::FIN) || flags.contains(Flags::PSH);
    (acknowledges || (opens && acknowledgement == 0)) && !(opens && others)
}
