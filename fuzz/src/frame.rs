//! Bytes from a wire: both parsers, switches' and hosts', never panic and agree with each other, and emitters write
//! back what the parsers read.

use std::fmt::Display;

use emulation::datapath::HostArrival;
use fabric_core::frame::{ByteFrame, Frame, Ipv4Fields, Parsed, PfcFields, mark_admitted};
use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::map_abi::address_to_u64;
use fabric_core::queue::QueueId;
use fabric_core::record;
use fabric_core::wire::{
    AethHeader, BthHeader, CnpReserved, EmitError, EthernetHeader, HopControlFrame, HopTelemetry,
    IcrcTrailer, Ipv4Header, LinkDelayFrame, MacControlHeader, Packet, ParseError, PauseFrame,
    PfcFrame, RethHeader, RocePacket, TcpSegment, TelemetryFields, UdpHeader, ethernet,
    hop_control, ipv4, link_delay, pause, pfc, roce::UDP_PORT, telemetry,
};

use crate::packets::{self, ADDRESSES, BTH, frame_of};
use crate::seeds::Seeds;

/// Every kind of frame, as it is emitted.
pub fn seeds() -> Seeds {
    let packets = packets::packets().into_iter().map(|packet| frame_of(&packet.into(), &ADDRESSES));
    let segments = crate::host::segments().map(|segment| frame_of(&segment.into(), &ADDRESSES));
    let packets = packets.chain(segments);
    Seeds::from_bytes(packets.chain(packets::control_frames()).collect())
}

/// Checks the bytes as they are, with a right IPv4 checksum, and with all that makes them a packet.
pub fn check(bytes: &[u8]) {
    every_header(bytes);
    control_frames(bytes);
    records(bytes);
    let mut repaired = bytes.to_vec();
    for repair in [|_: &mut [u8]| {}, packets::repair_checksum, packets::repair_packet] {
        repair(&mut repaired);
        parsers_agree(&repaired);
        a_packet_is_its_bytes(&repaired);
        a_segment_is_its_bytes(&repaired);
        if let Ok(Parsed::Ipv4(fields)) = ByteFrame(repaired.clone().as_mut_slice()).parse() {
            forwarding_keeps_a_packet(&repaired, &fields);
        }
        stamping_keeps_a_packet(&repaired);
    }
}

fn every_header(bytes: &[u8]) {
    a_header_is_its_bytes(bytes, EthernetHeader::parse, EthernetHeader::emit);
    a_header_is_its_bytes(bytes, MacControlHeader::parse, MacControlHeader::emit);
    a_header_is_its_bytes(bytes, Ipv4Header::parse, Ipv4Header::emit);
    a_header_is_its_bytes(bytes, UdpHeader::parse, UdpHeader::emit);
    a_header_is_its_bytes(bytes, BthHeader::parse, BthHeader::emit);
    a_header_is_its_bytes(bytes, RethHeader::parse, RethHeader::emit);
    a_header_is_its_bytes(bytes, AethHeader::parse, AethHeader::emit);
    a_header_is_its_bytes(bytes, CnpReserved::parse, CnpReserved::emit);
    a_header_is_its_bytes(bytes, IcrcTrailer::parse, IcrcTrailer::emit);
}

type Parse<H> = fn(&[u8]) -> Result<(&H, &[u8]), ParseError>;
type Emit<H> = fn(H, &mut [u8]) -> Result<&mut [u8], EmitError>;

fn a_header_is_its_bytes<H: Copy + Display>(bytes: &[u8], parse: Parse<H>, emit: Emit<H>) {
    let Ok((header, rest)) = parse(bytes) else { return };
    let length = bytes.len() - rest.len();
    let mut emitted = vec![0; length];
    assert_eq!(emit(*header, &mut emitted).map(|rest| rest.len()), Ok(0));
    assert_eq!(emitted, bytes[..length]);
    assert!(!header.to_string().is_empty());
}

/// The frames that are plain values come back, except for a reserved byte and padding, which they ignore.
fn control_frames(bytes: &[u8]) {
    if let Ok(frame) = PfcFrame::parse(bytes) {
        let mut emitted = [0xff; pfc::LEN];
        frame.emit(&mut emitted);
        assert_eq!((&emitted[..16], &emitted[17..34]), (&bytes[..16], &bytes[17..34]));
        assert_eq!((emitted[16], &emitted[34..]), (0, &[0; 26][..]));
        assert!(!frame.to_string().is_empty());
    }
    if let Ok(frame) = PauseFrame::parse(bytes) {
        let mut emitted = [0xff; pause::LEN];
        frame.emit(&mut emitted);
        assert_eq!((&emitted[..18], &emitted[18..]), (&bytes[..18], &[0; 42][..]));
        assert!(!frame.to_string().is_empty());
    }
    if let Ok(frame) = HopControlFrame::parse(bytes) {
        let mut emitted = [0xff; hop_control::LEN];
        frame.emit(&mut emitted);
        assert_eq!((&emitted[..18], &emitted[38..]), (&bytes[..18], &[0; 22][..]));
        assert_eq!(HopControlFrame::parse(&emitted), Ok(frame), "what means nothing is zero");
        assert!(!frame.to_string().is_empty());
    }
    if let Ok(frame) = LinkDelayFrame::parse(bytes) {
        let mut emitted = [0xff; link_delay::LEN];
        frame.emit(&mut emitted);
        assert_eq!((&emitted[..50], &emitted[50..]), (&bytes[..50], &[0; 10][..]));
        assert!(!frame.to_string().is_empty());
    }
}

/// A ring's records come from eBPF, but user space must read any bytes.
fn records(bytes: &[u8]) {
    match record::Header::read(bytes) {
        None => assert!(bytes.len() < record::HEADER_LEN),
        Some(header) => drop((header.order(), header.outcome())),
    }
}

/// Switches parse every packet of a host with equal results. The reverse need not hold: switches forward TCP, too.
fn parsers_agree(bytes: &[u8]) {
    let mut copy = bytes.to_vec();
    let at_switch = ByteFrame(copy.as_mut_slice()).parse();
    assert_eq!(copy, bytes, "parsing changes nothing");
    match HostArrival::parse(bytes) {
        Ok(HostArrival::Packet(packet)) => {
            let Ok(Parsed::Ipv4(fields)) = at_switch else { panic!("{packet}: {at_switch:?}") };
            let (source, destination, ports, ttl, ecn) = match packet {
                Packet::Roce(packet) => {
                    let ports = (packet.source_port, UDP_PORT);
                    (packet.source, packet.destination, ports, packet.ttl, packet.ecn)
                }
                Packet::Tcp(segment) => {
                    let ports = (segment.ports.source, segment.ports.destination);
                    (segment.source, segment.destination, ports, segment.ttl, segment.ecn)
                }
            };
            let ports = u32::from(ports.0) << 16 | u32::from(ports.1);
            let expected = (source, destination, ports, ttl);
            assert_eq!((fields.source, fields.destination, fields.ports, fields.ttl), expected);
            assert_eq!(fields.type_of_service, ipv4::type_of_service(packet.dscp(), ecn));
            assert_eq!(fields.priority().number(), packet.dscp() >> 3);
        }
        Ok(HostArrival::HopControl(HopControl::Classes(ClassPauses { named, quanta }))) => {
            let (source, class_enable) = (bytes[6..12].try_into().expect("six bytes"), named);
            let source = address_to_u64(source);
            let fields = PfcFields { source, class_enable, quanta };
            let expected = (class_enable != 0).then_some(Parsed::Pfc(fields));
            assert_eq!(at_switch.ok(), expected, "a switch refuses a frame of no class");
        }
        Ok(HostArrival::HopControl(control)) => {
            assert_eq!(at_switch, Ok(Parsed::HopControl(control)));
        }
        Ok(HostArrival::LinkDelay(_)) => assert_eq!(at_switch, Ok(Parsed::LinkDelay)),
        Ok(HostArrival::Foreign) => panic!("bytes alone never show that a program has sent them"),
        Err(error) => {
            assert_ne!(at_switch, Ok(Parsed::LinkDelay), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Segments that hosts parse completely are emitted with equal bytes, except for identification and DF.
fn a_segment_is_its_bytes(bytes: &[u8]) {
    let Ok(segment) = TcpSegment::parse(bytes) else { return };
    assert!(!segment.to_string().is_empty());
    let (ethernet, _) = EthernetHeader::parse(bytes).expect("a segment has one");
    let mut emitted = vec![0; segment.frame_length()];
    let stamps = telemetry::stamps(bytes);
    assert_eq!(stamps.len(), segment.telemetry.map_or(0, |telemetry| telemetry.hops.into()));
    let length = segment.emit_stamped(&ethernet.addresses(), stamps, &mut emitted);
    assert_eq!(length, Ok(emitted.len()));
    assert_eq!(TcpSegment::parse(&emitted), Ok(segment));
    let mut canonical = bytes.to_vec();
    canonical[18..22].copy_from_slice(&[0, 0, 0x40, 0]);
    if let Some(fields) = segment.telemetry {
        let end = bytes.len() - usize::from(segment.payload_length);
        let unused = usize::from(fields.room - fields.hops);
        canonical[end - unused * telemetry::STAMP_LEN..end].fill(0);
    }
    packets::repair_packet(&mut canonical);
    assert_eq!(emitted, canonical);
}

/// Packets that hosts parse completely are emitted with equal bytes, once meaningless fields are as emitters write
/// them.
fn a_packet_is_its_bytes(bytes: &[u8]) {
    let Ok(packet) = RocePacket::parse(bytes) else { return };
    assert!(!packet.to_string().is_empty());
    let (ethernet, _) = EthernetHeader::parse(bytes).expect("a packet has one");
    let mut emitted = vec![0; packet.frame_length()];
    let stamps = telemetry::stamps(bytes);
    assert_eq!(stamps.len(), packet.telemetry.map_or(0, |telemetry| telemetry.hops.into()));
    let length = packet.emit_stamped(&ethernet.addresses(), stamps, &mut emitted);
    assert_eq!(length, Ok(emitted.len()));
    assert_eq!(RocePacket::parse(&emitted), Ok(packet));

    let mut canonical = bytes.to_vec();
    // Identification, DF.
    canonical[18..22].copy_from_slice(&[0, 0, 0x40, 0]);
    // Solicited event, migration, reserved bits beside the ACK request.
    canonical[BTH + 1] = canonical[BTH + 1] & 0x30 | 0x40;
    canonical[BTH + 8] &= 0x80;
    let end = ethernet::LEN + packet.ip_total_length();
    let trailer = ethernet::LEN + ipv4::LEN + packet.udp_length() - 4;
    canonical[trailer - usize::from(packet.pad_count())..trailer].fill(0);
    canonical[end..].fill(0);
    if packet.telemetry.is_some() {
        let places = trailer + 4 + telemetry::BEFORE_STAMPS;
        canonical[places + stamps.len() * telemetry::STAMP_LEN..].fill(0);
    }
    packets::repair_packet(&mut canonical);
    assert_eq!(emitted, canonical);
}

/// A stamp leaves a packet a packet, and changes nothing before the telemetry.
fn stamping_keeps_a_packet(bytes: &[u8]) {
    let mut stamped = bytes.to_vec();
    telemetry::stamp(&mut stamped, HopTelemetry::default());
    let claimed = |telemetry: Option<TelemetryFields>| {
        telemetry.map(|mut fields| {
            let _ = fields.claim();
            fields
        })
    };
    if let Ok(segment) = TcpSegment::parse(bytes) {
        let telemetry = claimed(segment.telemetry);
        assert_eq!(TcpSegment::parse(&stamped), Ok(TcpSegment { telemetry, ..segment }));
    }
    let Ok(packet) = RocePacket::parse(bytes) else { return };
    let telemetry = claimed(packet.telemetry);
    assert_eq!(RocePacket::parse(&stamped), Ok(RocePacket { telemetry, ..packet }));
    let end = ethernet::LEN + ipv4::LEN + packet.udp_length();
    assert_eq!(stamped[..end], bytes[..end]);
}

/// A switch's rewriting leaves a packet with a right checksum, and changes only the intended fields.
fn forwarding_keeps_a_packet(bytes: &[u8], fields: &Ipv4Fields) {
    let read = |bytes: &[u8]| match ByteFrame(bytes.to_vec().as_mut_slice()).parse() {
        Ok(Parsed::Ipv4(fields)) => Ipv4Fields { checksum: 0, ..fields },
        other => panic!("not a packet any more: {other:?}"),
    };
    let marked = fields.type_of_service | 3;
    let mut admitted = bytes.to_vec();
    mark_admitted(&mut admitted);
    assert_eq!(read(&admitted), Ipv4Fields { checksum: 0, type_of_service: marked, ..*fields });
    assert_eq!(admitted[..15], bytes[..15]);
    assert_eq!(admitted[26..], bytes[26..]);
    // Packets that have no hop left are dropped before.
    if fields.ttl <= 1 {
        return;
    }
    let (source, destination) = ([2, 2, 41, 0, 0, 9], [2, 1, 0, 0, 0, 8]);
    let mac = address_to_u64(destination);
    let mut copy = bytes.to_vec();
    let mut frame = ByteFrame(copy.as_mut_slice());
    assert_eq!(frame.forward(address_to_u64(source), mac, fields), Ok(()));
    let upstream = QueueId::data(40);
    let forwarded = Ipv4Fields { checksum: 0, mac, upstream, ttl: fields.ttl - 1, ..*fields };
    assert_eq!(read(&copy), forwarded);
    assert_eq!((&copy[..6], &copy[6..12]), (&destination[..], &source[..]));
    assert_eq!(ByteFrame(copy.as_mut_slice()).mark_congestion(fields), Ok(()));
    assert_eq!(read(&copy), Ipv4Fields { type_of_service: marked, ..forwarded });
    assert_eq!(copy[26..], bytes[26..]);
}
