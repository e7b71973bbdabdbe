//! Link delay frame: a time-stamped exchange between neighbours (docs/link-delay.md), in the manner of
//! the peer delay mechanism of IEEE 802.1AS, but a protocol of xoff's own.
//!
//! ```text
//!  0  01 80 c2 00 00 0e  6   never forwarded by a bridge
//!  6  source             6
//! 12  88 b5              2   EtherType, IEEE local experimental
//! 14  00 01              2   protocol of xoff: link delay
//! 16  kind               2   1 request, 2 response
//! 18  sequence           4   of the request
//! 22  t1                 8   request sent, nanoseconds, requester's clock
//! 30  t2                 8   request received, responder's clock; 0 in a request
//! 38  t3                 8   response sent, responder's clock; 0 in a request
//! 46  response time      4   nanoseconds from a PAUSE to its effect at the responder; 0 in a request
//! 50  zeros             10   to the minimum of 60 bytes
//! ```
//!
//! A frame is stamped as sent when its last bit leaves, and as received when its last bit arrives.

use core::fmt;

use units::Nanos;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_mut};

use super::error::{Layer, ParseError};
use super::ethernet::Address;
use super::experimental;

/// Number of the link delay protocol among xoff's protocols under the experimental EtherType.
pub const PROTOCOL: u16 = 1;

/// The frame's length in bytes, without FCS.
pub const LEN: usize = 60;
const _: () = assert!(size_of::<Header>() == LEN);

/// The half of an exchange: request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Sent to the neighbour to start an exchange.
    Request = 1,
    /// Sent by the neighbour in return.
    Response = 2,
}

impl Kind {
    /// The kind with this number.
    #[inline(always)]
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Self::Request),
            2 => Some(Self::Response),
            _ => None,
        }
    }
}

/// The frame on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    start: experimental::Header,
    sequence: [u8; 4],
    request_sent: [u8; 8],
    request_received: [u8; 8],
    response_sent: [u8; 8],
    response_time: [u8; 4],
    padding: [u8; 10],
}

/// A link delay frame as a plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The sender's MAC address.
    pub source: [u8; 6],
    /// Request or response.
    pub kind: Kind,
    /// Number of the request at its sender.
    pub sequence: u32,
    /// t1, 0 until the request is sent.
    pub request_sent: Nanos,
    /// t2, 0 in a request.
    pub request_received: Nanos,
    /// t3, 0 in a request.
    pub response_sent: Nanos,
    /// Max delay until a PAUSE takes effect at the responder, ns.
    pub response_time_ns: u32,
}

impl Frame {
    /// A request that has not been sent.
    pub const fn request(source: [u8; 6], sequence: u32) -> Self {
        Self {
            source,
            kind: Kind::Request,
            sequence,
            request_sent: Nanos(0),
            request_received: Nanos(0),
            response_sent: Nanos(0),
            response_time_ns: 0,
        }
    }

    /// Returns the response, not yet sent, from `source` to this request, which was received at
    /// `received`. A response time above 4.29 s is declared as 4.29 s.
    #[must_use]
    pub fn answer(&self, source: [u8; 6], received: Nanos, response_time: Nanos) -> Self {
        Self {
            source,
            kind: Kind::Response,
            request_received: received,
            response_time_ns: u32::try_from(response_time.0).unwrap_or(u32::MAX),
            ..*self
        }
    }

    /// Stamps the frame as sent.
    pub const fn stamp(&mut self, sent: Nanos) {
        match self.kind {
            Kind::Request => self.request_sent = sent,
            Kind::Response => self.response_sent = sent,
        }
    }

    /// Parses a frame; bytes beyond its 60 are ignored.
    #[inline(always)]
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (header, _) = super::split::<Header>(frame, Layer::LinkDelay)?;
        header.start.check(PROTOCOL)?;
        let kind = header.start.kind();
        Ok(Self {
            source: header.start.source(),
            kind: Kind::from_number(kind).ok_or(ParseError::LinkDelayKind(kind))?,
            sequence: u32::from_be_bytes(header.sequence),
            request_sent: Nanos(u64::from_be_bytes(header.request_sent)),
            request_received: Nanos(u64::from_be_bytes(header.request_received)),
            response_sent: Nanos(u64::from_be_bytes(header.response_sent)),
            response_time_ns: u32::from_be_bytes(header.response_time),
        })
    }

    /// Writes the whole frame.
    #[inline(always)]
    pub fn emit(&self, buffer: &mut [u8; LEN]) {
        let header: &mut Header = transmute_mut!(buffer);
        header.start = experimental::Header::new(self.source, PROTOCOL, self.kind as u16);
        header.sequence = self.sequence.to_be_bytes();
        header.request_sent = self.request_sent.0.to_be_bytes();
        header.request_received = self.request_received.0.to_be_bytes();
        header.response_sent = self.response_sent.0.to_be_bytes();
        header.response_time = self.response_time_ns.to_be_bytes();
        header.padding = [0; 10];
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, number) = (Address(self.source), self.sequence);
        match self.kind {
            Kind::Request => {
                write!(f, "link delay request {number} from {source} t1={}", self.request_sent)
            }
            Kind::Response => write!(
                f,
                "link delay response {number} from {source} t1={} t2={} t3={} response={}ns",
                self.request_sent, self.request_received, self.response_sent, self.response_time_ns
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;
    use proptest::prelude::*;

    const SOURCE: [u8; 6] = [0x02, 0x02, 0, 0, 0, 0x03];
    const PEER: [u8; 6] = [0x02, 0x01, 0, 0, 0, 0x07];

    fn padded(text: &str) -> [u8; LEN] {
        let mut bytes = hex(text);
        bytes.resize(LEN, 0);
        bytes.try_into().unwrap()
    }

    fn request() -> [u8; LEN] {
        padded(
            "01 80 c2 00 00 0e 02 02 00 00 00 03 88 b5 00 01 00 01 00 00 01 02 \
             00 00 00 00 00 01 e2 40",
        )
    }

    fn response() -> [u8; LEN] {
        padded(
            "01 80 c2 00 00 0e 02 01 00 00 00 07 88 b5 00 01 00 02 00 00 01 02 \
             00 00 00 00 00 01 e2 40 00 00 00 00 00 00 03 e8 00 00 00 00 00 00 07 d0 00 00 01 34",
        )
    }

    #[test]
    fn bytes_to_frame_and_back() {
        let mut sent = Frame::request(SOURCE, 0x102);
        sent.stamp(Nanos(123_456));
        assert_eq!(Frame::parse(&request()), Ok(sent));
        assert_eq!(sent.to_string(), "link delay request 258 from 02:02:00:00:00:03 t1=123456ns");
        let mut answer = sent.answer(PEER, Nanos(1000), Nanos(308));
        answer.stamp(Nanos(2000));
        assert_eq!(Frame::parse(&response()), Ok(answer));
        assert_eq!(
            answer.to_string(),
            "link delay response 258 from 02:01:00:00:00:07 t1=123456ns t2=1000ns t3=2000ns \
             response=308ns"
        );
        for (frame, bytes) in [(sent, request()), (answer, response())] {
            let mut buffer = [0xff; LEN];
            frame.emit(&mut buffer);
            assert_eq!(buffer, bytes);
        }
    }

    #[test]
    fn another_frame_is_named() {
        let error = |at: usize| {
            let mut bytes = request();
            bytes[at] ^= 2;
            Frame::parse(&bytes).unwrap_err()
        };
        let elsewhere = [0x01, 0x80, 0xc2, 0, 0, 0x0c];
        assert_eq!(error(5), ParseError::ExperimentalDestination(elsewhere));
        assert_eq!(error(13), ParseError::EtherType(0x88b7));
        assert_eq!(error(15), ParseError::ExperimentalProtocol(3));
        assert_eq!(error(17), ParseError::LinkDelayKind(3));
    }

    #[test]
    fn every_cut_is_an_error() {
        for length in 0..LEN {
            Frame::parse(&response()[..length]).unwrap_err();
        }
    }

    #[test]
    fn a_response_time_beyond_its_field_is_the_longest() {
        let answer = Frame::request(SOURCE, 1).answer(PEER, Nanos(0), Nanos(1 << 40));
        assert_eq!(answer.response_time_ns, u32::MAX);
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(
            source: [u8; 6], sequence: u32, times: [u64; 3], response_time_ns: u32, response: bool
        ) {
            let [t1, t2, t3] = times.map(Nanos);
            let frame = Frame {
                source,
                kind: if response { Kind::Response } else { Kind::Request },
                sequence,
                request_sent: t1,
                request_received: t2,
                response_sent: t3,
                response_time_ns,
            };
            let mut buffer = [0xff; LEN];
            frame.emit(&mut buffer);
            prop_assert_eq!(Frame::parse(&buffer), Ok(frame));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Frame::parse(&bytes);
        }
    }
}
