use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::{AethFields, Ecn, RethFields, Syndrome};
use super::*;
use crate::wire::hex;
use crate::wire::psn::Psn;

const LINK: LinkAddresses =
    LinkAddresses { source: [2, 1, 0, 0, 0, 0], destination: [2, 2, 0, 0, 0, 3] };

/// `WRITE_ONLY` of six bytes.
const WRITE_ONLY: RocePacket = RocePacket {
    source: 0x0a00_0101,
    destination: 0x0a00_0102,
    source_port: 49152,
    dscp: 24,
    ecn: Ecn::Capable0,
    ttl: 64,
    opcode: Opcode::WriteOnly,
    ack_request: true,
    congestion_echo: false,
    destination_qp: 0x0012_3456,
    psn: Psn::new(0x00fe_dcba),
    reth: Some(RethFields {
        virtual_address: 0x1122_3344_5566_7788,
        remote_key: 0xdead_beef,
        dma_length: 6,
    }),
    aeth: None,
    payload_length: 6,
    telemetry: None,
    remaining: RemainingSize::UNKNOWN,
};

const NAK: RocePacket = RocePacket {
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
    aeth: Some(AethFields { syndrome: Syndrome::NakSequenceError, message_sequence_number: 5 }),
    payload_length: 0,
    telemetry: None,
    remaining: RemainingSize::UNKNOWN,
};

const CNP: RocePacket = RocePacket {
    opcode: Opcode::Cnp,
    destination_qp: 0x0012_3456,
    psn: Psn::new(0),
    aeth: None,
    ..NAK
};

/// Packet 9 is missing and packet 12 has arrived.
const SELECTIVE_NAK: RocePacket =
    RocePacket { aeth: Some(AethFields::selective_nak(Psn::new(12))), ..NAK };

/// Whole frames as scapy 2.8.0 built them (`Ether / IP / UDP / BTH` of `scapy.contrib.roce`, with
/// migreq=1 and chksum=0): payload pattern computed in Python, IPv4 checksum and ICRC by scapy.
const SCAPY: [(RocePacket, &str); 4] = [
    (
        WRITE_ONLY,
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 62
         00 44 00 00 40 00 40 11 24 45 0a 00 01 01 0a 00
         01 02 c0 00 12 b7 00 30 00 00 0a 60 ff ff 00 12
         34 56 80 fe dc ba 11 22 33 44 55 66 77 88 de ad
         be ef 00 00 00 06 ff d0 94 da 92 d9 00 00 b9 02
         6d db",
    ),
    (
        NAK,
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 c0
         00 30 00 00 40 00 40 11 23 fb 0a 00 01 02 0a 00
         01 01 c0 00 12 b7 00 1c 00 00 11 40 ff ff 00 00
         00 07 00 00 00 09 60 00 00 05 13 c2 c6 57",
    ),
    (
        SELECTIVE_NAK,
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 c0
         00 30 00 00 40 00 40 11 23 fb 0a 00 01 02 0a 00
         01 01 c0 00 12 b7 00 1c 00 00 11 40 ff ff 00 00
         00 07 00 00 00 09 7f 00 00 0c 7e 3d 60 26",
    ),
    (
        CNP,
        "02 02 00 00 00 03 02 01 00 00 00 00 08 00 45 c0
         00 3c 00 00 40 00 40 11 23 ef 0a 00 01 02 0a 00
         01 01 c0 00 12 b7 00 28 00 00 81 40 ff ff 40 12
         34 56 00 00 00 00 00 00 00 00 00 00 00 00 00 00
         00 00 00 00 00 00 cc 62 d6 1d",
    ),
];

fn emitted(packet: &RocePacket) -> Vec<u8> {
    let mut frame = vec![0xee; packet.frame_length()];
    assert_eq!(packet.emit(&LINK, &mut frame), Ok(frame.len()));
    frame
}

/// Corrects the IPv4 checksum and the ICRC in a frame without telemetry.
fn sealed(mut frame: Vec<u8>) -> Vec<u8> {
    let (ipv4, _) = ipv4::Header::parse(&frame[14..]).unwrap();
    let (checksum, end) = (ipv4.expected_checksum(), 14 + usize::from(ipv4.total_length()));
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    let crc = icrc::compute(&frame[14..end - 4]);
    frame[end - 4..end].copy_from_slice(&crc.to_le_bytes());
    frame
}

/// The frame of `packet` with `bytes` at `at` and correct checksums.
fn altered(packet: &RocePacket, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = emitted(packet);
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    sealed(frame)
}

#[test]
fn frames_are_those_of_scapy() {
    for (packet, bytes) in SCAPY {
        let bytes = hex(bytes);
        assert_eq!(emitted(&packet), bytes, "{packet}");
        assert_eq!(RocePacket::parse(&bytes), Ok(packet));
    }
}

/// The ICRC counts the byte as ones, so no other byte changes.
#[test]
fn an_echo_of_congestion_is_one_bit_of_an_ack() {
    let echo = RocePacket { congestion_echo: true, ..NAK };
    let mut bytes = emitted(&NAK);
    bytes[46] |= 0x40;
    assert_eq!(emitted(&echo), bytes);
    assert_eq!(RocePacket::parse(&bytes), Ok(echo));
}

#[test]
fn each_failure_is_named() {
    let write = |at, bytes: &[u8]| RocePacket::parse(&altered(&WRITE_ONLY, at, bytes)).unwrap_err();
    assert_eq!(write(12, &[0x86, 0xdd]), ParseError::EtherType(0x86dd));
    assert_eq!(write(20, &[0x20, 0x00]), ParseError::Fragment);
    assert_eq!(write(23, &[6]), ParseError::Protocol(6));
    assert_eq!(write(36, &[0x12, 0xb6]), ParseError::UdpPort(4790));
    assert_eq!(write(38, &[0, 47]), ParseError::UdpLength { expected: 48, found: 47 });
    assert_eq!(write(40, &[1, 2]), ParseError::UdpChecksum(0x0102));
    assert_eq!(write(43, &[0x61]), ParseError::BthVersion(1));
    assert_eq!(write(42, &[0x0c]), ParseError::UnknownOpcode(0x0c));
    assert_eq!(write(44, &[0x7f, 0xff]), ParseError::PartitionKey(0x7fff));
    assert_eq!(write(46, &[0x80]), ParseError::CongestionBits(0x80));
    assert_eq!(write(46, &[0x40]), ParseError::CongestionBits(0x40));
    let nak = RocePacket::parse(&altered(&NAK, 46, &[0xc0])).unwrap_err();
    assert_eq!(nak, ParseError::CongestionBits(0xc0));
    assert_eq!(write(70, &[0]), ParseError::PayloadPattern);
    assert_eq!(write(53, &[0xbb]), ParseError::PayloadPattern);

    let unexpected = ParseError::UnexpectedPayload { opcode: Opcode::Acknowledge, length: 20 };
    assert_eq!(write(42, &[0x11, 0x60, 0xff, 0xff, 0, 0, 0, 7, 0, 0, 0, 9, 0x1f]), unexpected);
    let nak = RocePacket::parse(&altered(&NAK, 54, &[0x20])).unwrap_err();
    assert_eq!(nak, ParseError::UnknownSyndrome(0x20));
    let cnp = |at, bytes: &[u8]| RocePacket::parse(&altered(&CNP, at, bytes)).unwrap_err();
    assert_eq!(cnp(46, &[0]), ParseError::CongestionBits(0));
    assert_eq!(cnp(69, &[1]), ParseError::CnpReserved);

    let empty =
        RocePacket { opcode: Opcode::WriteMiddle, reth: None, payload_length: 0, ..WRITE_ONLY };
    let pad = RocePacket::parse(&altered(&empty, 43, &[0x70])).unwrap_err();
    assert_eq!(pad, ParseError::PadCount { pad: 3, available: 0 });
    let reth = RocePacket::parse(&altered(&empty, 42, &[0x06])).unwrap_err();
    assert_eq!(reth, ParseError::Truncated { layer: Layer::Reth, needed: 16, available: 0 });
}

#[test]
fn lengths_and_checksums_are_checked() {
    let mut frame = emitted(&WRITE_ONLY);
    frame.push(0);
    let long = ParseError::FrameLength { expected: 82, actual: 83 };
    assert_eq!(RocePacket::parse(&frame), Err(long));
    frame.truncate(81);
    let short = ParseError::IpTotalLength { total: 68, available: 67 };
    assert_eq!(RocePacket::parse(&frame), Err(short));

    let mut unaligned = emitted(&WRITE_ONLY);
    unaligned.truncate(81);
    (unaligned[17], unaligned[39]) = (67, 47);
    let unaligned = RocePacket::parse(&sealed(unaligned));
    assert_eq!(unaligned, Err(ParseError::Unaligned { total: 67 }));

    let mut bare = emitted(&WRITE_ONLY);
    bare.truncate(60);
    (bare[17], bare[39]) = (32, 12);
    let no_bth = ParseError::Truncated { layer: Layer::Bth, needed: 12, available: 0 };
    assert_eq!(RocePacket::parse(&sealed(bare.clone())), Err(no_bth));
    bare[17] = 28;
    bare = sealed(bare);
    bare[38..42].copy_from_slice(&[0, 8, 0, 0]);
    let no_icrc = ParseError::Truncated { layer: Layer::Icrc, needed: 4, available: 0 };
    assert_eq!(RocePacket::parse(&bare), Err(no_icrc));

    let mut hop = emitted(&WRITE_ONLY);
    hop[22] -= 1;
    let stale = ParseError::IpChecksum { expected: 0x2545, found: 0x2445 };
    assert_eq!(RocePacket::parse(&hop), Err(stale));
    let mut corrupt = emitted(&WRITE_ONLY);
    corrupt[70] ^= 1;
    assert!(matches!(RocePacket::parse(&corrupt), Err(ParseError::Icrc { .. })));
}

#[test]
fn packets_that_no_frame_can_carry_are_not_emitted() {
    let mut buffer = vec![0; 70_000];
    let mut error = |packet: RocePacket| packet.emit(&LINK, &mut buffer).unwrap_err();
    let wide = |field, value| EmitError::FieldTooWide { field, value };
    assert_eq!(error(RocePacket { dscp: 64, ..NAK }), wide("dscp", 64));
    let destination_qp = 1 << 24;
    let qp = RocePacket { destination_qp, ..NAK };
    assert_eq!(error(qp), wide("destination_qp", destination_qp));
    let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 1 << 24 };
    let messages = RocePacket { aeth: Some(aeth), ..NAK };
    assert_eq!(error(messages), wide("message_sequence_number", 1 << 24));
    let without = RocePacket { reth: None, ..WRITE_ONLY };
    assert_eq!(error(without), EmitError::HeadersOfOpcode(Opcode::WriteOnly));
    let payload = RocePacket { payload_length: 1, ..CNP };
    assert_eq!(error(payload), EmitError::HeadersOfOpcode(Opcode::Cnp));
    let long = RocePacket { payload_length: 65_476, ..WRITE_ONLY };
    assert_eq!(error(long), EmitError::TooLong { total: 65_536 });
    let no_aeth = RocePacket { aeth: None, ..NAK };
    assert_eq!(error(no_aeth), EmitError::HeadersOfOpcode(Opcode::Acknowledge));
    for packet in [WRITE_ONLY, CNP] {
        let echo = RocePacket { congestion_echo: true, ..packet };
        assert_eq!(error(echo), EmitError::HeadersOfOpcode(packet.opcode));
    }
    let both = RocePacket { aeth: NAK.aeth, ..WRITE_ONLY };
    assert_eq!(error(both), EmitError::HeadersOfOpcode(Opcode::WriteOnly));
    let small = EmitError::BufferTooSmall { needed: 62, available: 61 };
    assert_eq!(NAK.emit(&LINK, &mut [0; 61]), Err(small));
}

#[test]
fn the_largest_value_of_each_field_and_the_longest_packet_are_carried() {
    let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 0x00ff_ffff };
    let widest = RocePacket { dscp: 63, destination_qp: 0x00ff_ffff, aeth: Some(aeth), ..NAK };
    let longest = RocePacket { payload_length: 65_472, ..WRITE_ONLY };
    assert_eq!(longest.ip_total_length(), 65_532);
    for packet in [widest, longest] {
        assert_eq!(RocePacket::parse(&emitted(&packet)), Ok(packet));
    }
}

/// Optional telemetry.
fn telemetry() -> impl Strategy<Value = Option<TelemetryFields>> {
    (0..=8u8, any::<u8>(), any::<[bool; 2]>()).prop_map(|(room, hops, [echo, exceeded])| {
        let hops = hops % (room + 1);
        let fields = TelemetryFields { room, hops, echo, exceeded };
        (room > 0).then_some(fields)
    })
}

fn packets() -> impl Strategy<Value = RocePacket> {
    let opcodes = (0..=u8::MAX).filter_map(Opcode::from_wire).collect::<Vec<_>>();
    let network = (any::<u32>(), any::<u32>(), any::<u16>(), 0..64u8, 0..4u8, any::<u8>());
    let transport = (any::<[bool; 2]>(), 0..1u32 << 24, any::<u32>(), 0..600u16, any::<u16>());
    let extensions = (any::<(u64, u32, u32)>(), any::<bool>(), 0..1u32 << 24, telemetry());
    (select(opcodes), network, transport, extensions).prop_map(
        |(opcode, network, transport, (reth, ack, message_sequence_number, telemetry))| {
            let (source, destination, source_port, dscp, ecn, ttl) = network;
            let ([ack_request, echo], destination_qp, psn, payload_length, remaining) = transport;
            let (virtual_address, remote_key, dma_length) = reth;
            let syndrome = if ack { Syndrome::Ack } else { Syndrome::SelectiveNak };
            RocePacket {
                source,
                destination,
                source_port,
                dscp,
                ecn: Ecn::from_wire(ecn),
                ttl,
                opcode,
                ack_request,
                congestion_echo: echo && opcode.has_aeth(),
                destination_qp,
                psn: Psn::new(psn),
                reth: opcode.has_reth().then_some(RethFields {
                    virtual_address,
                    remote_key,
                    dma_length,
                }),
                aeth: opcode.has_aeth().then_some(AethFields { syndrome, message_sequence_number }),
                payload_length: if opcode.has_payload() { payload_length } else { 0 },
                telemetry,
                remaining: RemainingSize::from_wire(remaining),
            }
        },
    )
}

proptest! {
    #[test]
    fn parse_undoes_emit(packet in packets()) {
        prop_assert_eq!(RocePacket::parse(&emitted(&packet)), Ok(packet));
    }

    #[test]
    fn emit_touches_nothing_beyond_the_frame(packet in packets()) {
        let mut buffer = vec![0xee; packet.frame_length() + 9];
        let length = packet.emit(&LINK, &mut buffer).unwrap();
        prop_assert_eq!(&buffer[..length], emitted(&packet));
        prop_assert!(buffer[length..].iter().all(|byte| *byte == 0xee));
    }

    #[test]
    fn every_cut_is_an_error(packet in packets()) {
        let frame = emitted(&packet);
        for length in 0..frame.len() {
            prop_assert!(RocePacket::parse(&frame[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn one_flipped_bit_is_found(packet in packets(), bit: Index) {
        let mut frame = emitted(&packet);
        // Only the FCS protects the MAC addresses, telemetry and the Ethernet padding.
        let bit = bit.index(8 * (2 + 20 + packet.udp_length())) + 8 * 12;
        frame[bit / 8] ^= 1 << (bit % 8);
        // The ICRC excludes BECN, which has a meaning in an ACK.
        let becn = 8 * (14 + 20 + 8 + 4) + 6;
        let echo = !packet.congestion_echo;
        match RocePacket::parse(&frame) {
            Ok(found) if packet.opcode == Opcode::Acknowledge && bit == becn => {
                prop_assert_eq!(found, RocePacket { congestion_echo: echo, ..packet });
            }
            result => prop_assert!(result.is_err()),
        }
    }

    #[test]
    fn a_router_may_change_ttl_and_type_of_service(
        packet in packets(), dscp in 0..64u8, ecn in 0..4u8,
    ) {
        let mut frame = emitted(&packet);
        let ecn = Ecn::from_wire(ecn);
        let routed = RocePacket { dscp, ecn, ttl: packet.ttl.saturating_sub(1).max(1), ..packet };
        prop_assume!(packet.ttl > 1);
        let (mut ipv4, _) = ipv4::Header::parse(&frame[14..]).map(|(h, rest)| (*h, rest)).unwrap();
        prop_assert!(ipv4.decrement_time_to_live());
        ipv4.set_type_of_service(ipv4::type_of_service(dscp, ecn));
        ipv4.emit(&mut frame[14..]).unwrap();
        prop_assert_eq!(RocePacket::parse(&frame), Ok(routed));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = RocePacket::parse(&bytes);
    }

    #[test]
    fn no_well_sealed_bytes_panic(
        packet in packets(), at: Index, bytes in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut frame = emitted(&packet);
        let at = 26 + at.index(frame.len() - 26);
        let end = frame.len().min(at + bytes.len());
        frame[at..end].copy_from_slice(&bytes[..end - at]);
        let _ = RocePacket::parse(&sealed(frame));
    }
}
