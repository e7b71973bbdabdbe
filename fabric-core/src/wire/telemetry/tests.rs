use proptest::prelude::*;
use units::{BitsPerSecond, Bytes, Nanos};

use super::super::roce::{AethFields, Ecn, LinkAddresses, Opcode, RocePacket, Syndrome};
use super::super::{RemainingSize, hex, psn::Psn};
use super::*;

const LINK: LinkAddresses =
    LinkAddresses { source: [2, 1, 0, 0, 0, 0], destination: [2, 2, 0, 0, 0, 3] };

/// An ACK with room for two stamps.
const ACK: RocePacket = RocePacket {
    source: 0x0a00_0102,
    destination: 0x0a00_0101,
    source_port: 49152,
    dscp: 48,
    ecn: Ecn::NotCapable,
    ttl: 64,
    opcode: Opcode::Acknowledge,
    ack_request: false,
    congestion_echo: false,
    destination_qp: 7,
    psn: Psn::new(9),
    reth: None,
    aeth: Some(AethFields { syndrome: Syndrome::Ack, message_sequence_number: 5 }),
    payload_length: 0,
    telemetry: Some(Fields { room: 2, hops: 0, echo: false, exceeded: false }),
    remaining: RemainingSize::UNKNOWN,
};

fn stamp_at(at: u64) -> Stamp {
    let rate = RateCode::nearest(BitsPerSecond(100_000_000_000));
    let (at, transmitted, queue) = (Nanos(at), Bytes(128 * at), Bytes(16 * at));
    Stamp::new(&Measured { rate, at, transmitted, queue })
}

fn frame_of(packet: &RocePacket) -> Vec<u8> {
    let mut frame = vec![0xee; packet.frame_length()];
    assert_eq!(packet.emit(&LINK, &mut frame), Ok(frame.len()));
    frame
}

/// Telemetry fields and stamps of a frame.
fn read_stamps(frame: &[u8]) -> (Fields, &[Stamp]) {
    let packet = RocePacket::parse(frame).expect("stamps leave the ICRC right");
    (packet.telemetry.expect("it has telemetry"), stamps(frame))
}

#[test]
fn bytes_to_telemetry_and_back() {
    let fields = Fields { room: 2, hops: 1, echo: true, exceeded: true };
    let bytes = hex("00 00 7f 16 58 4f 03 01  a9 00 00 03 00 00 30 03  00 00 00 00 00 00 00 00");
    assert_eq!(parse_surplus(&bytes), Ok(fields));
    let mut buffer = [0xff; 26];
    assert_eq!(emit_surplus(fields, &[stamp_at(3)], &mut buffer), Ok(&mut [0xff, 0xff][..]));
    assert_eq!(buffer[..24], bytes);
    let small = EmitError::BufferTooSmall { needed: 22, available: 21 };
    assert_eq!(emit_surplus(fields, &[], &mut buffer[..23]), Err(small));
}

#[test]
fn other_options_are_named() {
    let error = |at: usize, value: u8| {
        let mut bytes = hex("00 00 7f 0e 58 4f 00 00  a9 00 00 03 00 00 30 03");
        bytes[at] = value;
        parse_surplus(&bytes).unwrap_err()
    };
    assert_eq!(error(1, 1), ParseError::OptionChecksum(1));
    assert_eq!(error(2, 254), ParseError::UnknownOption { kind: 254, identifier: 0x584f });
    assert_eq!(error(5, 0), ParseError::UnknownOption { kind: 127, identifier: 0x5800 });
    assert_eq!(error(3, 22), ParseError::TelemetryLength { length: 22, stamps: 8 });
    assert_eq!(error(6, 4), ParseError::TelemetryFlags(4));
    assert_eq!(error(7, 2), ParseError::TelemetryHops { hops: 2, room: 1 });
    let room = |room: u8| {
        let fields = Fields { room, hops: 0, echo: false, exceeded: false };
        let mut bytes = vec![0; fields.surplus_length()];
        emit_surplus(fields, &[], &mut bytes).unwrap();
        parse_surplus(&bytes)
    };
    assert_eq!(room(0), Err(ParseError::TelemetryLength { length: 6, stamps: 0 }));
    assert_eq!(room(8).map(|fields| fields.room), Ok(8));
    assert_eq!(room(9), Err(ParseError::TelemetryLength { length: 78, stamps: 72 }));
    let cut = ParseError::Truncated { layer: Layer::Telemetry, needed: 6, available: 5 };
    assert_eq!(parse_surplus(&[0; 7]), Err(cut));
}

#[test]
fn telemetry_follows_the_icrc_and_only_the_total_length_counts_it() {
    let (with, without) = (frame_of(&ACK), frame_of(&RocePacket { telemetry: None, ..ACK }));
    assert_eq!((with.len(), without.len()), (86, 62));
    assert_eq!(with[16..18], [0, 48 + 24], "IP total length");
    assert_eq!(with[38..40], [0, 28], "UDP length");
    assert_eq!(with[26..58], without[26..58], "addresses to AETH");
    assert_eq!(
        with[62..],
        hex("00 00 7f 16 58 4f 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00")
    );
    assert_eq!(read_stamps(&with), (ACK.telemetry.unwrap(), &[][..]));
}

/// Two switches add stamps, the third finds no room.
#[test]
fn stamps_fill_the_room_and_what_exceeds_it_is_named() {
    let mut frame = frame_of(&ACK);
    let untouched = frame[..62].to_vec();
    let fields = |hops, exceeded| Fields { room: 2, hops, echo: false, exceeded };
    stamp(&mut frame, stamp_at(5));
    assert_eq!(read_stamps(&frame), (fields(1, false), &[stamp_at(5)][..]));
    stamp(&mut frame, stamp_at(6));
    let both = [stamp_at(5), stamp_at(6)];
    assert_eq!(read_stamps(&frame), (fields(2, false), &both[..]));
    for at in [7, 8] {
        stamp(&mut frame, stamp_at(at));
        assert_eq!(read_stamps(&frame), (fields(2, true), &both[..]));
    }
    assert_eq!(frame[..62], untouched, "nothing that a checksum covers");
}

#[test]
fn an_echo_is_left_alone() {
    let fields = Fields { room: 2, hops: 1, echo: false, exceeded: false }.echoed();
    let echo = RocePacket { telemetry: Some(fields), ..ACK };
    let mut frame = vec![0; echo.frame_length()];
    assert_eq!(echo.emit_stamped(&LINK, &[stamp_at(5)], &mut frame), Ok(frame.len()));
    let before = frame.clone();
    stamp(&mut frame, stamp_at(6));
    assert_eq!(frame, before);
    assert_eq!(read_stamps(&frame), (fields, &[stamp_at(5)][..]));
}

#[test]
fn a_packet_without_room_stays_as_it_is() {
    assert_eq!(Fields::with_room(0), None);
    let mut frame = frame_of(&RocePacket { telemetry: None, ..ACK });
    let before = frame.clone();
    stamp(&mut frame, stamp_at(6));
    assert_eq!(frame, before);
    assert_eq!(stamps(&frame), []);
}

proptest! {
    /// The memory datapath's value and the kernel datapath's bytes contain equal stamps.
    #[test]
    fn values_and_bytes_are_stamped_alike(room in 1..=8u8, times in prop::collection::vec(0..1u64 << 40, 0..12)) {
        let mut packet = RocePacket { telemetry: Fields::with_room(room), ..ACK };
        let mut bytes = frame_of(&packet);
        let mut kept = Stamps::default();
        for at in times {
            stamp(&mut bytes, stamp_at(at));
            if let Some(place) = packet.telemetry.as_mut().and_then(Fields::claim) {
                kept[usize::from(place)] = stamp_at(at);
            }
        }
        let hops = packet.telemetry.map_or(0, |telemetry| usize::from(telemetry.hops));
        let mut emitted = vec![0; packet.frame_length()];
        packet.emit_stamped(&LINK, &kept[..hops], &mut emitted).unwrap();
        prop_assert_eq!(&emitted, &bytes);
        prop_assert_eq!(stamps(&bytes), &kept[..hops]);
        prop_assert_eq!(RocePacket::parse(&bytes), Ok(packet));
    }

    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = parse_surplus(&bytes);
        let _ = stamps(&bytes);
        stamp(&mut bytes, stamp_at(1));
    }

    /// Arbitrary length fields in an otherwise valid RoCEv2 frame.
    #[test]
    fn no_lengths_panic(total: u16, datagram: u16, tail in prop::collection::vec(any::<u8>(), 24)) {
        let mut frame = frame_of(&ACK);
        frame[16..18].copy_from_slice(&total.to_be_bytes());
        frame[38..40].copy_from_slice(&datagram.to_be_bytes());
        frame[62..].copy_from_slice(&tail);
        let length = frame.len();
        let _ = stamps(&frame);
        let _ = RocePacket::parse(&frame);
        stamp(&mut frame, stamp_at(1));
        prop_assert_eq!(frame.len(), length);
    }
}
