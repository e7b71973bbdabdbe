use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::{Direction, Ports, SackBlock, SynOptions, Timestamps};
use super::*;
use crate::wire::error::Layer;
use crate::wire::hex;
use crate::wire::ipv4::Ecn;
use crate::wire::telemetry::{self, Fields as TelemetryFields, Measured, RateCode, Stamp};

const LINK: LinkAddresses =
    LinkAddresses { source: [2, 1, 0, 0, 0, 0], destination: [2, 2, 0, 0, 0, 3] };

fn syn() -> Segment {
    Segment {
        source: 0x0a00_0101,
        destination: 0x0a00_0102,
        ports: Ports::for_connection(7, Direction::FromClient),
        sequence: 0xffff_fff0,
        acknowledgement: 0,
        window: 65_535,
        payload_length: 0,
        timestamps: Timestamps { value: 7, echo: 0 },
        dscp: 24,
        ecn: Ecn::NotCapable,
        ttl: 64,
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        syn: Some(SynOptions { maximum_segment_size: 1000 }),
        sack: SackBlocks::NONE,
        telemetry: None,
    }
}

fn acknowledgement() -> Segment {
    let blocks = [(0x2000, 0x2400), (0x1800, 0x1c00)];
    Segment {
        source: 0x0a00_0102,
        destination: 0x0a00_0101,
        ports: Ports::for_connection(7, Direction::FromServer),
        sequence: 5,
        acknowledgement: 0x1000,
        timestamps: Timestamps { value: 9, echo: 7 },
        dscp: 48,
        ttl: 63,
        flags: Flags::ACK | Flags::ECE,
        syn: None,
        sack: blocks.iter().map(|&(start, end)| SackBlock { start, end }).collect(),
        ..syn()
    }
}

fn data(payload_length: u16) -> Segment {
    Segment {
        payload_length,
        acknowledgement: 6,
        flags: Flags::ACK | Flags::PSH,
        ecn: Ecn::Capable0,
        syn: None,
        ..syn()
    }
}

fn emitted(segment: &Segment) -> Vec<u8> {
    let mut buffer = vec![0xff; segment.frame_length()];
    assert_eq!(segment.emit(&LINK, &mut buffer), Ok(buffer.len()));
    buffer
}

/// A segment with room for two stamps.
fn stamped() -> Segment {
    let telemetry = TelemetryFields { room: 2, hops: 1, echo: true, exceeded: false };
    Segment { telemetry: Some(telemetry), ..data(0) }
}

/// Built by scapy 2.6.1, which fills in both checksums.
#[test]
fn segments_to_bytes_and_back() {
    let syn_bytes = hex(
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 60 00 3c 00 00 40 00 40 06 24 5a 0a 00 01 01 \
         0a 00 01 02 c0 07 f0 00 ff ff ff f0 00 00 00 00 a0 c2 ff ff 83 02 00 00 02 04 03 e8 04 02 \
         08 0a 00 00 00 07 00 00 00 00 01 03 03 0e",
    );
    let ack_bytes = hex(
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 c0 00 48 00 00 40 00 3f 06 24 ee 0a 00 01 02 \
         0a 00 01 01 f0 00 c0 07 00 00 00 05 00 00 10 00 d0 50 ff ff d2 35 00 00 01 01 08 0a 00 00 \
         00 09 00 00 00 07 01 01 05 12 00 00 20 00 00 00 24 00 00 00 18 00 00 00 1c 00",
    );
    for (segment, bytes) in [(syn(), syn_bytes), (acknowledgement(), ack_bytes)] {
        assert_eq!(emitted(&segment), bytes, "{segment}");
        assert_eq!(Segment::parse(&bytes), Ok(segment));
    }
    let stamped_bytes = hex(
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 62 00 48 00 00 40 00 40 06 24 4c 0a 00 01 01 \
         0a 00 01 02 c0 07 f0 00 ff ff ff f0 00 00 00 06 d0 18 ff ff 32 2b 00 00 08 0a 00 00 00 07 \
         00 00 00 00 fd 16 58 4f 01 01 a9 00 00 03 00 00 30 03 00 00 00 00 00 00 00 00",
    );
    let rate = RateCode::nearest(units::BitsPerSecond(100_000_000_000));
    let (at, transmitted, queue) = (units::Nanos(3), units::Bytes(384), units::Bytes(48));
    let stamp = Stamp::new(&Measured { rate, at, transmitted, queue });
    let mut buffer = vec![0xff; stamped().frame_length()];
    assert_eq!(stamped().emit_stamped(&LINK, &[stamp], &mut buffer), Ok(86));
    assert_eq!(buffer, stamped_bytes);
    assert_eq!(Segment::parse(&stamped_bytes), Ok(stamped()));
}

#[test]
fn a_segment_is_one_line() {
    let text = "10.0.1.1:49159 > 10.0.1.2:61440 SYN,ECE,CWR seq 4294967280 ack 0 0 bytes";
    assert_eq!(syn().to_string(), text);
    let text = "10.0.1.2:61440 > 10.0.1.1:49159 ACK,ECE seq 5 ack 4096 0 bytes sack 8192-9216 \
                sack 6144-7168";
    assert_eq!(acknowledgement().to_string(), text);
}

#[test]
fn lengths_by_options_and_payload() {
    for (segment, length) in [
        (syn(), 74),
        (acknowledgement(), 86),
        (data(0), 66),
        (data(1), 67),
        (data(1000), 1066),
        (stamped(), 86),
    ] {
        assert_eq!(segment.frame_length(), length, "{segment}");
    }
    assert_eq!(super::super::frame_length(1000, 0), 1066);
    assert_eq!(super::super::frame_length(1000, 3), 1094);
    assert_eq!(super::super::SYN_FRAME_LENGTH, 74);
}

#[test]
fn what_does_not_fit_is_not_emitted() {
    let ports = Ports { source: 80, destination: 61_440 };
    for segment in [
        Segment { ports, ..data(10) },
        Segment { syn: None, ..syn() },
        Segment { payload_length: 1, ..syn() },
        Segment { sack: acknowledgement().sack, ..syn() },
        Segment { flags: Flags::SYN | Flags::FIN, ..syn() },
        Segment { flags: Flags::PSH, ..data(10) },
        Segment { acknowledgement: 1, ..syn() },
        Segment { telemetry: stamped().telemetry, ..syn() },
        Segment { telemetry: stamped().telemetry, ..acknowledgement() },
    ] {
        let error = segment.emit(&LINK, &mut [0; 2000]);
        assert_eq!(error, Err(EmitError::TcpSegment), "{segment}");
    }
    let wide = Segment { dscp: 64, ..data(10) };
    let error = EmitError::FieldTooWide { field: "dscp", value: 64 };
    assert_eq!(wide.emit(&LINK, &mut [0; 2000]), Err(error));
    let fields = TelemetryFields { room: 4, ..stamped().telemetry.unwrap() };
    let roomy = Segment { telemetry: Some(fields), ..stamped() };
    let error = EmitError::FieldTooWide { field: "room", value: 4 };
    assert_eq!(roomy.emit(&LINK, &mut [0; 2000]), Err(error));
    let small = EmitError::BufferTooSmall { needed: 76, available: 75 };
    assert_eq!(data(10).emit(&LINK, &mut [0; 75]), Err(small));
    let long = Segment { payload_length: u16::MAX, ..data(0) };
    let too_long = EmitError::TooLong { total: 52 + 65_535 };
    assert_eq!(long.emit(&LINK, &mut vec![0; 70_000]), Err(too_long));
}

/// Parses a segment in which some bytes are replaced and the checksum is corrected.
fn refusal(segment: &Segment, at: usize, bytes: &[u8]) -> Result<Segment, ParseError> {
    let mut frame = emitted(segment);
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    let tcp = ethernet::LEN + ipv4::LEN;
    let checksum = header::checksum(segment.source, segment.destination, &frame[tcp..]);
    frame[tcp + 16..tcp + 18].copy_from_slice(&checksum.to_be_bytes());
    Segment::parse(&frame)
}

#[test]
fn each_contradiction_has_its_error() {
    let tcp = 34;
    let (segment, blocks) = (data(10), acknowledgement());
    let ports = ParseError::TcpPorts { source: 80, destination: 61_440 };
    for (segment, at, bytes, error) in [
        (&segment, tcp, &[0, 80][..], ports),
        (&segment, tcp + 12, &[0x81], ParseError::TcpFlags(0x18)),
        (&segment, tcp + 13, &[0x38], ParseError::TcpFlags(0x38)),
        (&segment, tcp + 13, &[0x08], ParseError::TcpFlags(0x08)),
        (&segment, tcp + 18, &[0, 1], ParseError::TcpFlags(0x18)),
        (&segment, tcp + 12, &[0x40], ParseError::TcpOptions),
        (&segment, tcp + 12, &[0xf0], ParseError::TcpOptions),
        (&segment, tcp + 20, &[0], ParseError::TcpOptions),
        (&stamped(), tcp + 12, &[0xc0], ParseError::TelemetryLength { length: 22, stamps: 12 }),
        (
            &stamped(),
            tcp + 12,
            &[0x70],
            ParseError::Truncated { layer: Layer::Tcp, needed: 10, available: 8 },
        ),
        (&stamped(), tcp + 30, &[254], ParseError::UnknownOption { kind: 254, identifier: 0x584f }),
        (&stamped(), tcp + 35, &[3], ParseError::TelemetryHops { hops: 3, room: 2 }),
        (&blocks, tcp + 35, &[0x0a], ParseError::TcpOptions),
        (&blocks, tcp + 12, &[0xc0], ParseError::TcpOptions),
        (&segment, tcp + 32, &[0], ParseError::PayloadPattern),
        (&segment, tcp + 4, &[0], ParseError::PayloadPattern),
        (&syn(), tcp + 20, &[1], ParseError::TcpOptions),
    ] {
        assert_eq!(refusal(segment, at, bytes), Err(error), "{bytes:02x?} at {at}");
    }
    let mut frame = emitted(&segment);
    frame[23] = 17;
    frame[24..26].fill(0);
    let checksum = {
        let (header, _) = ipv4::Header::parse(&frame[14..]).unwrap();
        header.expected_checksum()
    };
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(Segment::parse(&frame), Err(ParseError::Protocol(17)));
}

prop_compose! {
    fn segments()(
        connection in 0..1u32 << 24,
        direction in select(vec![Direction::FromClient, Direction::FromServer]),
        (source, destination, sequence, acknowledgement) in any::<(u32, u32, u32, u32)>(),
        (value, echo, window) in any::<(u32, u32, u16)>(),
        payload_length in 0..1500u16,
        dscp in 0..64u8,
        ecn in select(vec![Ecn::NotCapable, Ecn::Capable0, Ecn::CongestionExperienced]),
        ttl in any::<u8>(),
        kind in 0..4u8,
        blocks in prop::collection::vec(any::<(u32, u32)>(), 0..4),
        maximum_segment_size in any::<u16>(),
        telemetry in prop::option::of((1..4u8, any::<(bool, bool)>(), any::<Index>())),
    ) -> Segment {
        let flags = match kind {
            0 => Flags::SYN,
            1 => Flags::SYN | Flags::ACK,
            2 => Flags::ACK | Flags::ECE,
            _ => Flags::ACK | Flags::FIN | Flags::PSH | Flags::CWR,
        };
        let opens = kind < 2;
        let sack = blocks.iter().map(|&(start, end)| SackBlock { start, end });
        let sack = if opens { SackBlocks::NONE } else { sack.collect() };
        let telemetry = telemetry.filter(|_| !opens && sack == SackBlocks::NONE);
        let telemetry = telemetry.map(|(room, (echo, exceeded), hops)| {
            TelemetryFields { room, hops: hops.index(usize::from(room) + 1) as u8, echo, exceeded }
        });
        Segment {
            source,
            destination,
            ports: Ports::for_connection(connection, direction),
            sequence,
            acknowledgement: if kind == 0 { 0 } else { acknowledgement },
            window,
            payload_length: if opens { 0 } else { payload_length },
            timestamps: Timestamps { value, echo },
            dscp,
            ecn,
            ttl,
            flags,
            syn: opens.then_some(SynOptions { maximum_segment_size }),
            sack,
            telemetry,
        }
    }
}

proptest! {
    /// Stamps of switches in the bytes match stamps in the value, and the checksum stays correct.
    #[test]
    fn values_and_bytes_are_stamped_alike(
        segment in segments(),
        words in prop::collection::vec(any::<(u32, u32, u32)>(), 0..5),
    ) {
        let (mut segment, mut bytes) = (segment, emitted(&segment));
        let mut kept = Vec::from(telemetry::stamps(&bytes));
        for (at, transmitted, queue) in words {
            let (at, transmitted) = (units::Nanos(at.into()), units::Bytes(transmitted.into()));
            let (rate, queue) = (RateCode::default(), units::Bytes(queue.into()));
            let stamp = Stamp::new(&Measured { rate, at, transmitted, queue });
            telemetry::stamp(&mut bytes, stamp);
            if segment.telemetry.as_mut().and_then(TelemetryFields::claim).is_some() {
                kept.push(stamp);
            }
        }
        prop_assert_eq!(Segment::parse(&bytes), Ok(segment));
        prop_assert_eq!(telemetry::stamps(&bytes), &kept[..]);
        let mut again = vec![0; bytes.len()];
        segment.emit_stamped(&LINK, &kept, &mut again).unwrap();
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn what_is_emitted_is_parsed(segment in segments()) {
        prop_assert_eq!(Segment::parse(&emitted(&segment)), Ok(segment));
    }

    /// Any flipped bit after the Ethernet header is detected, except in the identification and DF
    /// of IPv4, which its header's checksum covers.
    #[test]
    fn a_flipped_bit_is_noticed(segment in segments(), bit: Index) {
        let mut frame = emitted(&segment);
        let bit = ethernet::LEN * 8 + bit.index((frame.len() - ethernet::LEN) * 8);
        frame[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Segment::parse(&frame).is_err());
    }

    #[test]
    fn bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Segment::parse(&bytes);
        if bytes.len() > 24 {
            bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
            let _ = Segment::parse(&bytes);
        }
    }
}
