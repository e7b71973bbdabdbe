//! In-band telemetry (docs/telemetry.md): stamps of switches about the ports that a packet leaves by, as HPCC needs
//! them (Li et al., SIGCOMM 2019, section 4.1). An option of the packet's transport.
//!
//! ```text
//!  0  kind           1   UDP: 127, EXP; TCP: 253
//!  1  length         1   from the kind to the last stamp: 6 + 8 room
//!  2  identifier     2   ExID 0x584f
//!  4  flags          1   1 echo, 2 exceeded
//!  5  hops           1   stamps there are
//!  6  stamps    8 room   first hop first; what follows the stamps there are is ignored
//! ```
//!
//! In UDP (RFC 9868) the option follows the datagram, which ends at its UDP length, and lies inside
//! the IP packet. Two zeros, the checksum of options (OCS, unused like the UDP checksum), precede
//! it. In TCP (RFC 6994) the option follows the time stamps.

use core::fmt;
use core::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::{ethernet, ipv4, tcp, udp};

mod stamp;

pub use stamp::{Interval, Measured, QUEUE_UNIT, RateCode, STAMP_LEN, Stamp, TRANSMITTED_UNIT};

/// Max number of stamps in a packet.
pub const MAX_HOPS: u8 = 8;

/// Stamps of one packet; stamps beyond the packet's number are undefined.
pub type Stamps = [Stamp; MAX_HOPS as usize];

/// Pads up to 8 stamps with undefined ones.
pub fn padded(stamps: &[Stamp]) -> Stamps {
    let mut all = Stamps::default();
    for (place, stamp) in all.iter_mut().zip(stamps) {
        *place = *stamp;
    }
    all
}

const IDENTIFIER: u16 = 0x584f;
const FLAG_ECHO: u8 = 1;
const FLAG_EXCEEDED: u8 = 2;
/// Length of the checksum before the option of a UDP datagram.
const CHECKSUM_LEN: usize = 2;
/// Length of all bytes between a UDP datagram and its stamps.
pub const BEFORE_STAMPS: usize = CHECKSUM_LEN + size_of::<Header>();

/// Transport of the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A UDP datagram.
    Udp,
    /// A TCP segment.
    Tcp,
}

impl Carrier {
    const fn kind(self) -> u8 {
        match self {
            Self::Udp => 127,
            Self::Tcp => 253,
        }
    }

    /// Max number of stamps: 8, or the 3 that fit a TCP header besides time stamps.
    pub const fn most_hops(self) -> u8 {
        match self {
            Self::Udp => MAX_HOPS,
            Self::Tcp => 3,
        }
    }
}

/// Bytes before the stamps, on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
struct Header {
    kind: u8,
    length: u8,
    identifier: [u8; 2],
    flags: u8,
    hops: u8,
}

/// Fields before the stamps, as a plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Number of stamps for which there is room, 1 to the max of the [carrier](Carrier::most_hops). The packet's length
    /// never changes on its path.
    pub room: u8,
    /// Number of stamps, up to `room`.
    pub hops: u8,
    /// True if a responder returns the stamps that it received. Switches do not change an echo.
    pub echo: bool,
    /// True if a switch found no room for its stamp.
    pub exceeded: bool,
}

impl Fields {
    /// Creates the fields of a packet that leaves its source with room for up to 8 stamps. `None` for 0.
    #[inline]
    pub const fn with_room(room: u8) -> Option<Self> {
        debug_assert!(room <= MAX_HOPS);
        match room {
            0 => None,
            room => Some(Self { room, hops: 0, echo: false, exceeded: false }),
        }
    }

    /// Marks the fields as an echo.
    #[inline]
    #[must_use]
    pub const fn echoed(self) -> Self {
        Self { echo: true, ..self }
    }

    /// Counts the stamp of one more hop and returns its place. Returns `None` for an echo, which
    /// does not change. If all room is used, returns `None` and sets `exceeded`.
    #[inline]
    pub const fn claim(&mut self) -> Option<u8> {
        if self.echo {
            return None;
        }
        if self.hops >= self.room {
            self.exceeded = true;
            return None;
        }
        self.hops += 1;
        Some(self.hops - 1)
    }

    /// Checks that an option of this carrier can encode the fields.
    pub(super) fn check(self, carrier: Carrier) -> Result<(), EmitError> {
        let Self { room, hops, .. } = self;
        let room_fits = (1..=carrier.most_hops()).contains(&room);
        for (field, value, fits) in [("room", room, room_fits), ("hops", hops, hops <= room)] {
            if !fits {
                return Err(EmitError::FieldTooWide { field, value: value.into() });
            }
        }
        Ok(())
    }

    /// Bytes of the option, stamps included.
    #[inline]
    pub const fn option_length(self) -> usize {
        size_of::<Header>() + STAMP_LEN * self.room as usize
    }

    /// Number of bytes after a UDP datagram.
    #[inline]
    pub const fn surplus_length(self) -> usize {
        CHECKSUM_LEN + self.option_length()
    }
}

/// Bytes that room for this many stamps adds to a UDP packet; 0 without room.
#[inline]
pub const fn surplus_length(room: u8) -> usize {
    match Fields::with_room(room) {
        None => 0,
        Some(fields) => fields.surplus_length(),
    }
}

impl Header {
    const fn new(carrier: Carrier, fields: Fields) -> Self {
        let Fields { hops, echo, exceeded, .. } = fields;
        let mut flags = 0;
        if echo {
            flags |= FLAG_ECHO;
        }
        if exceeded {
            flags |= FLAG_EXCEEDED;
        }
        Self {
            kind: carrier.kind(),
            length: fields.option_length() as u8,
            identifier: IDENTIFIER.to_be_bytes(),
            flags,
            hops,
        }
    }

    /// Decodes a header that precedes `stamps` bytes.
    fn fields(self, carrier: Carrier, stamps: usize) -> Result<Fields, ParseError> {
        let identifier = u16::from_be_bytes(self.identifier);
        if (self.kind, identifier) != (carrier.kind(), IDENTIFIER) {
            return Err(ParseError::UnknownOption { kind: self.kind, identifier });
        }
        let Self { length, flags, hops, .. } = self;
        let room = stamps / STAMP_LEN;
        let expected = size_of::<Self>() + stamps;
        let fits = (1..=usize::from(carrier.most_hops())).contains(&room);
        if !fits || !stamps.is_multiple_of(STAMP_LEN) || usize::from(length) != expected {
            return Err(ParseError::TelemetryLength { length, stamps });
        }
        let room = room as u8;
        if flags & !(FLAG_ECHO | FLAG_EXCEEDED) != 0 {
            return Err(ParseError::TelemetryFlags(flags));
        }
        if hops > room {
            return Err(ParseError::TelemetryHops { hops, room });
        }
        Ok(Fields {
            room,
            hops,
            echo: flags & FLAG_ECHO != 0,
            exceeded: flags & FLAG_EXCEEDED != 0,
        })
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "telemetry {} of {}", self.hops, self.room)?;
        if self.exceeded {
            f.write_str(" exceeded")?;
        }
        if self.echo { f.write_str(" echo") } else { Ok(()) }
    }
}

/// Parses the bytes between a UDP datagram and the end of its IP packet.
pub fn parse_surplus(surplus: &[u8]) -> Result<Fields, ParseError> {
    let (checksum, option) = super::split::<[u8; CHECKSUM_LEN]>(surplus, Layer::Telemetry)?;
    match u16::from_be_bytes(*checksum) {
        0 => parse_option(Carrier::Udp, option),
        checksum => Err(ParseError::OptionChecksum(checksum)),
    }
}

/// Parses an option, which fills all of `option`.
pub fn parse_option(carrier: Carrier, option: &[u8]) -> Result<Fields, ParseError> {
    let (header, stamps) = super::split::<Header>(option, Layer::Telemetry)?;
    header.fields(carrier, stamps.len())
}

/// Writes the bytes after a UDP datagram; see [`emit_option`].
pub fn emit_surplus<'a>(
    fields: Fields,
    stamps: &[Stamp],
    buffer: &'a mut [u8],
) -> Result<&'a mut [u8], EmitError> {
    let option = super::put([0u8; CHECKSUM_LEN], buffer)?;
    emit_option(Carrier::Udp, fields, stamps, option)
}

/// Writes an option at the start of `buffer`, pads missing `stamps` with zeros, and returns the rest of `buffer`.
pub fn emit_option<'a>(
    carrier: Carrier,
    fields: Fields,
    stamps: &[Stamp],
    buffer: &'a mut [u8],
) -> Result<&'a mut [u8], EmitError> {
    let (needed, available) = (fields.option_length(), buffer.len());
    let error = EmitError::BufferTooSmall { needed, available };
    let (option, rest) = buffer.split_at_mut_checked(needed).ok_or(error)?;
    let places = super::put(Header::new(carrier, fields), option)?;
    places.fill(0);
    for (place, stamp) in places.chunks_exact_mut(STAMP_LEN).zip(stamps) {
        place.copy_from_slice(stamp.as_bytes());
    }
    Ok(rest)
}

/// Adds a switch's stamp to a frame with telemetry that is not an echo, or sets `exceeded` if there
/// is no room. Updates a TCP checksum, as a router updates the IPv4 checksum (RFC 1624). Other
/// frames do not change, and neither do the bytes that the IPv4 checksum and the ICRC cover.
pub fn stamp(frame: &mut [u8], stamp: Stamp) {
    let Some((carrier, place)) = find(frame) else { return };
    let Some(option) = frame.get_mut(place.clone()) else { return };
    let before = ipv4::sum_of_words(option);
    if !stamp_option(carrier, option, stamp) {
        return;
    }
    let after = ipv4::sum_of_words(option);
    if carrier == Carrier::Tcp
        && let Some(segment) = frame.get_mut(ethernet::LEN + ipv4::LEN..)
        && let Ok((header, _)) = tcp::Header::mut_from_prefix(segment)
    {
        let words = [before, after].map(ipv4::fold);
        header.set_checksum(ipv4::incremental_checksum(header.checksum(), words[0], words[1]));
    }
}

/// Returns true if there was an option that is not an echo.
fn stamp_option(carrier: Carrier, option: &mut [u8], stamp: Stamp) -> bool {
    let Ok((header, places)) = Header::mut_from_prefix(option) else { return false };
    let Ok(mut fields) = header.fields(carrier, places.len()) else { return false };
    if fields.echo {
        return false;
    }
    let place = fields.claim();
    *header = Header::new(carrier, fields);
    let mut places = places.chunks_exact_mut(STAMP_LEN);
    if let Some(place) = place.and_then(|place| places.nth(place.into())) {
        place.copy_from_slice(stamp.as_bytes());
    }
    true
}

/// Returns the stamps in a frame, first hop first; empty for a frame without telemetry.
pub fn stamps(frame: &[u8]) -> &[Stamp] {
    let stamps = || {
        let (carrier, place) = find(frame)?;
        let option = frame.get(place)?;
        let hops = parse_option(carrier, option).ok()?.hops;
        let stamps = option.get(size_of::<Header>()..)?;
        let (stamps, _) = <[Stamp]>::ref_from_prefix_with_elems(stamps, hops.into()).ok()?;
        Some(stamps)
    };
    stamps().unwrap_or_default()
}

/// Returns the range of the option in a frame of an emulated host. `None` without an option.
fn find(frame: &[u8]) -> Option<(Carrier, Range<usize>)> {
    const SEGMENT: usize = ethernet::LEN + ipv4::LEN;
    let (ethernet, ip_packet) = ethernet::Header::parse(frame).ok()?;
    if ethernet.ether_type() != ethernet::ETHER_TYPE_IPV4 {
        return None;
    }
    let (ipv4, segment) = ipv4::Header::parse(ip_packet).ok()?;
    if ipv4.is_fragment() {
        return None;
    }
    let (carrier, start, end) = match ipv4.protocol() {
        ipv4::PROTOCOL_UDP => {
            let (udp, _) = udp::Header::parse(segment).ok()?;
            if udp.destination_port() != super::roce::UDP_PORT {
                return None;
            }
            let start = SEGMENT + usize::from(udp.length()) + CHECKSUM_LEN;
            (Carrier::Udp, start, ethernet::LEN + usize::from(ipv4.total_length()))
        }
        ipv4::PROTOCOL_TCP => {
            let (header, _) = tcp::Header::parse(segment).ok()?;
            header.ports().connection()?;
            let place = header.telemetry_place();
            (Carrier::Tcp, SEGMENT + place.start, SEGMENT + place.end)
        }
        _ => return None,
    };
    (start < end).then_some((carrier, start..end))
}

#[cfg(test)]
mod tests;
