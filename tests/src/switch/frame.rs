//! Frames for a switch under test.

use fabric_core::hop_control::HopControl;
use fabric_core::map_abi::{FIRST_HOST_ADDRESS, address_from_u64, address_to_u64};
use fabric_core::wire::roce::Ecn;
use fabric_core::wire::{
    AethFields, HopControlFrame, LinkAddresses, LinkDelayFrame, Opcode, PfcFrame, Psn,
    RemainingSize, RethFields, RocePacket, Syndrome, hop_control, link_delay, pfc,
};

/// The address of a switch's port, as the tables hold it.
pub fn port_address(port: u32) -> u64 {
    address_to_u64([2, 2, 0, 0, 0, port as u8])
}

/// The address of a port's neighbour, as the tables hold it.
pub fn peer_address(port: u32) -> u64 {
    address_to_u64([2, 1, 0, 0, 0, port as u8])
}

/// MAC addresses of a frame that comes in at `port`.
pub fn inbound(port: u32) -> LinkAddresses {
    LinkAddresses {
        source: address_from_u64(peer_address(port)),
        destination: address_from_u64(port_address(port)),
    }
}

/// MAC addresses of a frame that leaves `port`.
pub fn outbound(port: u32) -> LinkAddresses {
    LinkAddresses {
        source: address_from_u64(port_address(port)),
        destination: address_from_u64(peer_address(port)),
    }
}

/// A packet of a message's middle, from host 0 to `host`.
pub fn data(host: u32, priority: u8, ecn: Ecn, payload_length: u16) -> RocePacket {
    RocePacket {
        source: FIRST_HOST_ADDRESS,
        destination: FIRST_HOST_ADDRESS.wrapping_add(host),
        source_port: 49_152,
        dscp: priority << 3,
        ecn,
        ttl: 64,
        opcode: Opcode::WriteMiddle,
        ack_request: false,
        congestion_echo: false,
        destination_qp: 7,
        psn: Psn::new(9),
        reth: None,
        aeth: None,
        payload_length,
        telemetry: None,
        remaining: RemainingSize::UNKNOWN,
    }
}

/// A message of one packet.
pub fn message(host: u32, priority: u8, ecn: Ecn, payload_length: u16) -> RocePacket {
    RocePacket {
        opcode: Opcode::WriteOnly,
        reth: Some(RethFields {
            virtual_address: 0,
            remote_key: 1,
            dma_length: u32::from(payload_length),
        }),
        ..data(host, priority, ecn, payload_length)
    }
}

/// An acknowledgement.
pub fn acknowledge(host: u32, priority: u8) -> RocePacket {
    RocePacket {
        opcode: Opcode::Acknowledge,
        aeth: Some(AethFields { syndrome: Syndrome::Ack, message_sequence_number: 1 }),
        ..data(host, priority, Ecn::NotCapable, 0)
    }
}

/// A congestion notification packet.
pub fn congestion_notification(host: u32, priority: u8) -> RocePacket {
    RocePacket { opcode: Opcode::Cnp, ..data(host, priority, Ecn::NotCapable, 0) }
}

/// The bytes of a packet on a link.
pub fn bytes(packet: &RocePacket, addresses: &LinkAddresses) -> Vec<u8> {
    let mut frame = vec![0; packet.frame_length()];
    packet.emit(addresses, &mut frame).expect("its fields are in range");
    frame
}

/// The bytes of a PFC frame.
pub fn pfc_bytes(pfc: &PfcFrame) -> Vec<u8> {
    let mut frame = [0; pfc::LEN];
    pfc.emit(&mut frame);
    frame.to_vec()
}

/// The bytes of a hop control frame.
pub fn hop_control_bytes(source: [u8; 6], control: HopControl) -> Vec<u8> {
    let mut frame = [0; hop_control::LEN];
    HopControlFrame { source, control }.emit(&mut frame);
    frame.to_vec()
}

/// The bytes of a link delay frame.
pub fn link_delay_bytes(message: &LinkDelayFrame) -> Vec<u8> {
    let mut frame = [0; link_delay::LEN];
    message.emit(&mut frame);
    frame.to_vec()
}

/// Makes the IPv4 header checksum right, if there is a whole header.
pub fn repair_checksum(frame: &mut [u8]) {
    let Some(header) = frame.get_mut(14..34) else { return };
    header[10..12].fill(0);
    let sum: u32 =
        header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded + (folded >> 16)) as u16);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}
