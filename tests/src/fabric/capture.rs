//! `capture.pcapng` as frames on the wires of a fabric.

use fabric_core::wire::telemetry::{self, Stamps};
use fabric_core::wire::{
    HopControlFrame, HopTelemetry, LinkDelayFrame, Packet, PfcFrame, RocePacket, TcpSegment,
    TelemetryFields,
};
use topology::{Fabric, Wire, WireId};
use units::Picos;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// `if_name`, an option of an interface.
const OPTION_IF_NAME: u16 = 2;
/// `opt_comment`, an option of any block.
const OPTION_COMMENT: u16 = 1;

/// Content of a captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A RoCEv2 packet.
    Roce(RocePacket),
    /// A TCP segment.
    Tcp(TcpSegment),
    /// A PFC frame.
    Pfc(PfcFrame),
    /// A link delay frame.
    LinkDelay(LinkDelayFrame),
    /// A hop control frame other than PFC.
    HopControl(HopControlFrame),
}

/// A frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// The wire that it crossed.
    pub wire: WireId,
    /// Arrival of its last bit.
    pub arrival_ns: u64,
    /// Start of its first bit; exact on wires whose times are whole nanoseconds.
    pub start_ns: u64,
    /// Length without FCS.
    pub length: u64,
    /// Content of the frame.
    pub content: Content,
    stamps: Stamps,
}

impl CapturedFrame {
    /// Telemetry fields of a packet, if it has any.
    pub fn telemetry(&self) -> Option<TelemetryFields> {
        match self.content {
            Content::Roce(packet) => packet.telemetry,
            Content::Tcp(segment) => segment.telemetry,
            Content::Pfc(_) | Content::LinkDelay(_) | Content::HopControl(_) => None,
        }
    }

    /// Stamps of a packet with telemetry; empty for other frames.
    pub fn stamps(&self) -> &[HopTelemetry] {
        &self.stamps[..self.telemetry().map_or(0, |telemetry| usize::from(telemetry.hops))]
    }

    /// The RoCEv2 packet, if it is one.
    pub fn roce(&self) -> Option<RocePacket> {
        if let Content::Roce(packet) = self.content { Some(packet) } else { None }
    }

    /// The data packet, if it is one.
    pub fn data(&self) -> Option<RocePacket> {
        self.roce().filter(|packet| packet.opcode.has_payload())
    }

    /// The TCP segment, if it is one.
    pub fn tcp(&self) -> Option<TcpSegment> {
        if let Content::Tcp(segment) = self.content { Some(segment) } else { None }
    }

    /// The PFC frame, if it is one.
    pub fn pfc(&self) -> Option<PfcFrame> {
        if let Content::Pfc(frame) = self.content { Some(frame) } else { None }
    }

    /// The link delay frame, if it is one.
    pub fn link_delay(&self) -> Option<LinkDelayFrame> {
        if let Content::LinkDelay(frame) = self.content { Some(frame) } else { None }
    }
}

/// The wire of this name.
pub fn wire_named(fabric: &Fabric, name: &str) -> WireId {
    let place = fabric.wires().iter().position(|wire| wire.name == name);
    WireId::at(place.unwrap_or_else(|| panic!("there is no wire {name}")))
}

/// Every frame of a capture, in the order of the file.
pub fn read(bytes: &[u8], fabric: &Fabric) -> Vec<CapturedFrame> {
    read_commented(bytes, fabric).into_iter().map(|(frame, _)| frame).collect()
}

/// Reads the frames with their comments.
pub fn read_commented(bytes: &[u8], fabric: &Fabric) -> Vec<(CapturedFrame, Option<String>)> {
    let mut interfaces = Vec::new();
    let mut frames = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (kind, length) = (le32(rest, 0), le32(rest, 4) as usize);
        let (block, after) = rest.split_at(length);
        assert_eq!(le32(block, length - 4) as usize, length, "a block ends with its length");
        let body = &block[8..length - 4];
        match kind {
            SECTION_HEADER => assert_eq!(le32(body, 0), 0x1a2b_3c4d, "little-endian"),
            INTERFACE_DESCRIPTION => {
                interfaces.push(wire_named(fabric, &text_of(&body[8..], OPTION_IF_NAME)));
            }
            ENHANCED_PACKET => {
                let options = &body[20 + (le32(body, 12) as usize).next_multiple_of(4)..];
                let comment = (!options.is_empty()).then(|| text_of(options, OPTION_COMMENT));
                frames.push((packet(body, &interfaces, fabric), comment));
            }
            other => panic!("the capture has a block of kind {other}"),
        }
        rest = after;
    }
    assert!(frames.is_sorted_by_key(|(frame, _)| frame.arrival_ns), "in the order of arrival");
    frames
}

/// The text of an option of a block.
fn text_of(mut options: &[u8], wanted: u16) -> String {
    loop {
        let (code, length) = (le16(options, 0), le16(options, 2) as usize);
        if code == wanted {
            return String::from_utf8_lossy(&options[4..4 + length]).into_owned();
        }
        assert_ne!(code, 0, "the block has an option {wanted}");
        options = &options[4 + length.next_multiple_of(4)..];
    }
}

fn packet(body: &[u8], interfaces: &[WireId], fabric: &Fabric) -> CapturedFrame {
    let id = interfaces[le32(body, 0) as usize];
    let arrival_ns = u64::from(le32(body, 4)) << 32 | u64::from(le32(body, 8));
    let (captured, original) = (le32(body, 12) as usize, le32(body, 16) as usize);
    assert_eq!(captured, original, "frames are captured whole");
    let bytes = &body[20..20 + captured];
    let content = match bytes[12..14] {
        [0x88, 0x08] => PfcFrame::parse(bytes).map(Content::Pfc),
        [0x88, 0xb5] => LinkDelayFrame::parse(bytes)
            .map(Content::LinkDelay)
            .or_else(|_| HopControlFrame::parse(bytes).map(Content::HopControl)),
        _ => Packet::parse(bytes).map(|packet| match packet {
            Packet::Roce(packet) => Content::Roce(packet),
            Packet::Tcp(segment) => Content::Tcp(segment),
        }),
    };
    let content = content.expect("the capture holds well-formed frames");
    let wire = fabric.wire(id);
    let length = captured as u64;
    let start = Picos(arrival_ns * 1000).since(transit(wire, length));
    let stamps = telemetry::padded(telemetry::stamps(bytes));
    CapturedFrame { wire: id, arrival_ns, start_ns: start.to_nanos().0, length, content, stamps }
}

/// From a frame's first bit sent to its last bit received, with 24 bytes around it.
pub fn transit(wire: &Wire, length: u64) -> Picos {
    wire.rate.serialise(length + 24) + wire.delay
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
