//! In-band telemetry (docs/telemetry.md): what switches say of the ports that a packet leaves by, as HPCC needs it
//! (Li et al., SIGCOMM 2019, section 4.1). A UDP option (RFC 9868): it lies behind the datagram, which its UDP length
//! ends, and inside the IP packet.
//!
//! ```text
//!  0  checksum       2   OCS: 0, unused as the UDP checksum is
//!  2  kind           1   127, EXP
//!  3  length         1   from the kind to the last stamp: 6 + 8 room
//!  4  identifier     2   ExID 0x584f
//!  6  flags          1   1 echo, 2 exceeded
//!  7  hops           1   stamps there are
//!  8  stamps    8 room   first hop first; what follows the stamps there are is ignored
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::{ethernet, ipv4, udp};

mod stamp;

pub use stamp::{Interval, Measured, RateCode, STAMP_LEN, Stamp};

/// The length of all that comes before the stamps.
pub const LEN: usize = 8;
const _: () = assert!(size_of::<Header>() == LEN);

/// Most stamps for which a packet has room.
pub const MOST_HOPS: u8 = 8;

/// Stamps of one packet; those behind the ones it has mean nothing.
pub type Stamps = [Stamp; MOST_HOPS as usize];

const KIND: u8 = 127;
const IDENTIFIER: u16 = 0x584f;
const FLAG_ECHO: u8 = 1;
const FLAG_EXCEEDED: u8 = 2;
/// Bytes that the option's length counts besides stamps.
const LENGTH_WITHOUT_STAMPS: u8 = 6;

/// What comes before the stamps, as it lies on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    checksum: [u8; 2],
    kind: u8,
    length: u8,
    identifier: [u8; 2],
    flags: u8,
    hops: u8,
}

/// What comes before the stamps, as a plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Stamps for which there is room, 1 to 8: the packet's length never changes on its path.
    pub room: u8,
    /// Stamps there are, up to `room`.
    pub hops: u8,
    /// Whether a responder sends back what it received. Switches leave an echo alone.
    pub echo: bool,
    /// Whether a switch found no room for its stamp.
    pub exceeded: bool,
}

impl Fields {
    /// Of a packet that leaves its source with room for this many stamps, up to 8; `None` for 0.
    #[inline]
    pub const fn with_room(room: u8) -> Option<Self> {
        debug_assert!(room <= MOST_HOPS);
        match room {
            0 => None,
            room => Some(Self { room, hops: 0, echo: false, exceeded: false }),
        }
    }

    /// The same in the packet that sends it back.
    #[inline]
    #[must_use]
    pub const fn echoed(self) -> Self {
        Self { echo: true, ..self }
    }

    /// Counts the stamp of one more hop and returns its place. `None` if there is no place: an echo is left alone,
    /// and a packet whose room is used up says so from now on.
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

    /// Bytes on the wire, stamps included.
    #[inline]
    pub const fn length(self) -> usize {
        LEN + STAMP_LEN * self.room as usize
    }
}

/// Bytes that room for this many stamps adds to a packet; none if there is no room.
#[inline]
pub const fn surplus_length(room: u8) -> usize {
    if room == 0 { 0 } else { LEN + STAMP_LEN * room as usize }
}

impl Header {
    /// A header without checksum.
    pub const fn new(fields: Fields) -> Self {
        let Fields { room, hops, echo, exceeded } = fields;
        let mut flags = 0;
        if echo {
            flags |= FLAG_ECHO;
        }
        if exceeded {
            flags |= FLAG_EXCEEDED;
        }
        Self {
            checksum: [0; 2],
            kind: KIND,
            length: LENGTH_WITHOUT_STAMPS + room * STAMP_LEN as u8,
            identifier: IDENTIFIER.to_be_bytes(),
            flags,
            hops,
        }
    }

    /// What it says, if it heads `stamps` bytes.
    pub fn fields(&self, stamps: usize) -> Result<Fields, ParseError> {
        let identifier = u16::from_be_bytes(self.identifier);
        if self.checksum != [0; 2] {
            return Err(ParseError::OptionChecksum(u16::from_be_bytes(self.checksum)));
        }
        if (self.kind, identifier) != (KIND, IDENTIFIER) {
            return Err(ParseError::UdpOption { kind: self.kind, identifier });
        }
        let Self { length, flags, hops, .. } = *self;
        let room = stamps / STAMP_LEN;
        let expected = usize::from(LENGTH_WITHOUT_STAMPS) + stamps;
        let fits = (1..=usize::from(MOST_HOPS)).contains(&room);
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

/// Reads what lies between a UDP datagram and the end of its IP packet.
pub fn parse(surplus: &[u8]) -> Result<Fields, ParseError> {
    let (header, stamps) = super::split::<Header>(surplus, Layer::Telemetry)?;
    header.fields(stamps.len())
}

/// Writes the option at the start of `buffer`, zeros where `stamps` ends before its room, and returns what follows it.
pub fn emit<'a>(
    fields: Fields,
    stamps: &[Stamp],
    buffer: &'a mut [u8],
) -> Result<&'a mut [u8], EmitError> {
    let error = EmitError::BufferTooSmall { needed: fields.length(), available: buffer.len() };
    let (surplus, rest) = buffer.split_at_mut_checked(fields.length()).ok_or(error)?;
    let places = super::put(Header::new(fields), surplus)?;
    places.fill(0);
    for (place, stamp) in places.chunks_exact_mut(STAMP_LEN).zip(stamps) {
        place.copy_from_slice(stamp.as_bytes());
    }
    Ok(rest)
}

/// Puts a switch's stamp into a frame that has telemetry and is not an echo, or notes that there is no room. Other
/// frames stay as they are, and so does everything that the IPv4 checksum and the ICRC cover.
pub fn stamp(frame: &mut [u8], stamp: Stamp) {
    let Some(surplus) = surplus_at(frame).and_then(|at| frame.get_mut(at)) else { return };
    let Ok((header, places)) = Header::mut_from_prefix(surplus) else { return };
    let Ok(mut fields) = header.fields(places.len()) else { return };
    let place = fields.claim();
    *header = Header::new(fields);
    let mut places = places.chunks_exact_mut(STAMP_LEN);
    if let Some(place) = place.and_then(|place| places.nth(place.into())) {
        place.copy_from_slice(stamp.as_bytes());
    }
}

/// The stamps in a frame, first hop first; none in a frame without telemetry.
pub fn stamps(frame: &[u8]) -> &[Stamp] {
    let stamps = || {
        let surplus = frame.get(surplus_at(frame)?)?;
        let hops = parse(surplus).ok()?.hops;
        let (stamps, _) =
            <[Stamp]>::ref_from_prefix_with_elems(surplus.get(LEN..)?, hops.into()).ok()?;
        Some(stamps)
    };
    stamps().unwrap_or_default()
}

/// Where the bytes between UDP datagram and end of the IP packet lie in a `RoCEv2` frame, if there are any.
fn surplus_at(frame: &[u8]) -> Option<core::ops::Range<usize>> {
    let (ethernet, ip_packet) = ethernet::Header::parse(frame).ok()?;
    if ethernet.ether_type() != ethernet::ETHER_TYPE_IPV4 {
        return None;
    }
    let (ipv4, datagram) = ipv4::Header::parse(ip_packet).ok()?;
    if ipv4.protocol() != ipv4::PROTOCOL_UDP || ipv4.is_fragment() {
        return None;
    }
    let (udp, _) = udp::Header::parse(datagram).ok()?;
    if udp.destination_port() != super::roce::UDP_PORT {
        return None;
    }
    let start = ethernet::LEN + ipv4::LEN + usize::from(udp.length());
    let end = ethernet::LEN + usize::from(ipv4.total_length());
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests;
