//! Frames from the crate's own emitters, and frames with repaired checksums.

use fabric_core::wire::link_delay;
use fabric_core::wire::{
    AethFields, Ipv4Header, LinkAddresses, LinkDelayFrame, Opcode, Packet, PauseFrame, PfcFrame,
    Psn, RemainingSize, RethFields, RocePacket, Syndrome, TelemetryFields, aeth, bth, cnp,
    ethernet, icrc, ipv4, payload, pfc, reth, roce, tcp, telemetry, udp,
};
use fabric_core::wire::{EthernetHeader, IcrcTrailer};

/// Offset of the BTH in a frame.
pub const BTH: usize = ethernet::LEN + ipv4::LEN + udp::LEN;

/// MAC addresses of frames between two fictitious hosts.
pub const ADDRESSES: LinkAddresses =
    LinkAddresses { source: [2, 1, 0, 0, 0, 1], destination: [2, 1, 0, 0, 0, 2] };

/// A packet of 100 bytes of data.
pub const DATA: RocePacket = RocePacket {
    source: 0x0a00_0101,
    destination: 0x0a00_0102,
    source_port: 50_000,
    dscp: 24,
    ecn: roce::Ecn::Capable0,
    ttl: 64,
    opcode: Opcode::WriteMiddle,
    ack_request: false,
    congestion_echo: false,
    destination_qp: 9,
    psn: Psn::new(7),
    reth: None,
    aeth: None,
    payload_length: 100,
    telemetry: None,
    remaining: RemainingSize::UNKNOWN,
};

/// A packet of every opcode, with and without padding and telemetry.
pub fn packets() -> Vec<RocePacket> {
    let reth = RethFields { virtual_address: 0, remote_key: 9, dma_length: 203 };
    let answer = |syndrome| RocePacket {
        opcode: Opcode::Acknowledge,
        aeth: Some(AethFields { syndrome, message_sequence_number: 1 }),
        payload_length: 0,
        ..DATA
    };
    let echo = Some(TelemetryFields { room: 8, hops: 8, echo: true, exceeded: true });
    vec![
        DATA,
        RocePacket { opcode: Opcode::WriteFirst, reth: Some(reth), ..DATA },
        RocePacket { opcode: Opcode::WriteLast, payload_length: 3, ack_request: true, ..DATA },
        RocePacket { opcode: Opcode::WriteOnly, reth: Some(reth), payload_length: 0, ..DATA },
        RocePacket { ecn: roce::Ecn::CongestionExperienced, payload_length: 1, ..DATA },
        answer(Syndrome::Ack),
        answer(Syndrome::NakSequenceError),
        answer(Syndrome::SelectiveNak),
        RocePacket { opcode: Opcode::Cnp, payload_length: 0, ..DATA },
        RocePacket { telemetry: TelemetryFields::with_room(3), ..DATA },
        RocePacket { telemetry: echo, ..answer(Syndrome::Ack) },
    ]
}

/// The frame of a packet.
pub fn frame_of(packet: &Packet, addresses: &LinkAddresses) -> Vec<u8> {
    let mut frame = vec![0; packet.frame_length()];
    let length =
        packet.emit_stamped(addresses, &[], &mut frame).expect("every field fits its bits");
    assert_eq!(length, frame.len(), "the length is known before");
    frame
}

/// Control frames that a port handles, in addition to packets.
pub fn control_frames() -> Vec<Vec<u8>> {
    let source = ADDRESSES.source;
    let mut frames = Vec::new();
    for frame in [PfcFrame::xoff(source, 0x18, 0xffff), PfcFrame::xon(source, 0x08)] {
        let mut bytes = [0; pfc::LEN];
        frame.emit(&mut bytes);
        frames.push(bytes.to_vec());
    }
    let mut bytes = [0; fabric_core::wire::pause::LEN];
    PauseFrame { source, quanta: 0xffff }.emit(&mut bytes);
    frames.push(bytes.to_vec());
    let mut bytes = [0; link_delay::LEN];
    LinkDelayFrame::request(source, 5).emit(&mut bytes);
    frames.push(bytes.to_vec());
    frames
}

/// Makes the IPv4 checksum right, if there is such a header.
pub fn repair_checksum(frame: &mut [u8]) {
    let Ok((ethernet, rest)) = EthernetHeader::parse(frame) else { return };
    if ethernet.ether_type() != ethernet::ETHER_TYPE_IPV4 {
        return;
    }
    let Ok((header, _)) = Ipv4Header::parse(rest) else { return };
    let checksum = header.expected_checksum().to_be_bytes();
    frame[ethernet::LEN + 10..ethernet::LEN + 12].copy_from_slice(&checksum);
}

/// Makes a frame one of RoCEv2 as far as that is a matter of lengths, checksums and the payload's pattern: no
/// mutation finds a CRC of 32 bits.
pub fn repair_packet(frame: &mut [u8]) {
    if frame.get(ethernet::LEN + ipv4::PROTOCOL_AT) == Some(&ipv4::PROTOCOL_TCP) {
        repair_segment(frame);
    } else {
        repair_roce(frame);
    }
}

/// Makes length, payload and checksums of a TCP segment right.
fn repair_segment(frame: &mut [u8]) {
    const TCP: usize = ethernet::LEN + ipv4::LEN;
    const CHECKSUM: core::ops::Range<usize> = TCP + 16..TCP + 18;
    if frame.len() < (TCP + tcp::LEN).max(ethernet::MINIMUM_FRAME_LENGTH) {
        return;
    }
    frame[12..14].copy_from_slice(&ethernet::ETHER_TYPE_IPV4.to_be_bytes());
    let total = (frame.len() - ethernet::LEN) as u16;
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    repair_checksum(frame);
    let (header, _) = tcp::Header::parse(&frame[TCP..]).expect("the header has its place");
    let (start, sequence) = (TCP + header.length(), header.sequence());
    let connection = header.ports().connection();
    if let (Some((connection, _)), Some(payload)) = (connection, frame.get_mut(start..)) {
        payload::Pattern::for_segment(connection, sequence).fill(payload);
    }
    let address = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().expect("four"));
    let (source, destination) = (address(26), address(30));
    let checksum = tcp::checksum(source, destination, &frame[TCP..]);
    frame[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
}

/// Repairs a RoCEv2 packet.
fn repair_roce(frame: &mut [u8]) {
    let smallest = BTH + bth::LEN + icrc::LEN;
    if frame.len() < smallest.max(ethernet::MINIMUM_FRAME_LENGTH) {
        return;
    }
    frame[12..14].copy_from_slice(&ethernet::ETHER_TYPE_IPV4.to_be_bytes());
    // A frame of 60 bytes may be padded: its own length is kept if it fits.
    let stated = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let (most, fits) = (frame.len() - ethernet::LEN, smallest - ethernet::LEN);
    let is_shortest = frame.len() == ethernet::MINIMUM_FRAME_LENGTH;
    let total = if is_shortest && (fits..=most).contains(&stated) { stated } else { most };
    frame[16..18].copy_from_slice(&(total as u16).to_be_bytes());
    let datagram = datagram_length(frame, total);
    frame[38..40].copy_from_slice(&(datagram as u16).to_be_bytes());
    let end = ethernet::LEN + ipv4::LEN + datagram - icrc::LEN;
    fill_payload(&mut frame[BTH..end]);
    repair_checksum(frame);
    let crc = icrc::compute(&frame[ethernet::LEN..end]);
    IcrcTrailer::new(crc).emit(&mut frame[end..]).expect("the trailer has its place");
}

/// UDP length of an IP packet of `total` bytes: the frame's own value if telemetry lies behind the datagram, otherwise
/// the rest of the packet.
fn datagram_length(frame: &[u8], total: usize) -> usize {
    let most = total - ipv4::LEN;
    let stated = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
    let fits = (udp::LEN + bth::LEN + icrc::LEN..most).contains(&stated);
    let surplus = frame.get(ethernet::LEN + ipv4::LEN + stated..ethernet::LEN + total);
    let is_telemetry = surplus.is_some_and(|surplus| telemetry::parse_surplus(surplus).is_ok());
    if fits && is_telemetry { stated } else { most }
}

/// Writes the pattern into the payload of a segment that starts with a BTH.
fn fill_payload(segment: &mut [u8]) {
    let Ok((bth, _)) = bth::Header::parse(segment) else { return };
    let extension = match bth.opcode() {
        Some(Opcode::WriteFirst | Opcode::WriteOnly) => reth::LEN,
        Some(Opcode::Acknowledge) => aeth::LEN,
        Some(Opcode::Cnp) => cnp::LEN,
        Some(Opcode::WriteMiddle | Opcode::WriteLast) | None => 0,
    };
    let (qp, psn, pad) = (bth.destination_qp(), bth.psn(), usize::from(bth.pad_count()));
    let Some(end) = segment.len().checked_sub(pad) else { return };
    if let Some(payload) = segment.get_mut(bth::LEN + extension..end) {
        payload::Pattern::for_packet(qp, psn).fill(payload);
    }
}
