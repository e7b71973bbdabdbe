//! The frames of a fabric as plain values.
#![expect(clippy::cast_possible_truncation, reason = "lengths of frames, on every hop")]

use std::sync::Arc;

use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::queue::QueueId;
use fabric_core::record::MAX_FRAME;
use fabric_core::wire::roce::{Ecn, RocePacket};
use fabric_core::wire::tcp::{SackBlocks, SackCount, Segment};
use fabric_core::wire::telemetry::{Stamp, Stamps};
use fabric_core::wire::{
    HopControlFrame, LinkAddresses, LinkDelayFrame, Packet, TcpSegment, TelemetryFields,
    hop_control, link_delay,
};
use host_agent::frame_length::FrameLengths;
use topology::WireId;

use crate::datapath::slab::Slab;
use crate::datapath::{Aside, FrameId, FrameKind, FrameLabel, FrameStore, HostArrival, counted};
use crate::mac_addresses::naming;
use crate::queue_pairs;

/// A frame as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFrame {
    /// A RoCEv2 packet.
    Roce(RocePacket),
    /// A TCP segment, whose SACK blocks are kept beside it.
    Tcp(Segment<SackCount>),
    /// A hop control frame, PFC or another.
    HopControl(HopControlFrame),
    /// A link delay frame.
    LinkDelay(LinkDelayFrame),
}

impl MemoryFrame {
    /// True if data may be kept beside it, which must move with it.
    #[inline]
    const fn has_aside(&self) -> bool {
        match self {
            Self::Roce(packet) => packet.telemetry.is_some(),
            Self::Tcp(segment) => segment.telemetry.is_some() || segment.sack.0 > 0,
            Self::HopControl(_) | Self::LinkDelay(_) => false,
        }
    }

    /// Telemetry fields of a packet, if it has room for stamps.
    #[inline]
    const fn telemetry(&self) -> Option<TelemetryFields> {
        match self {
            Self::Roce(packet) => packet.telemetry,
            Self::Tcp(segment) => segment.telemetry,
            Self::HopControl(_) | Self::LinkDelay(_) => None,
        }
    }
}

/// A frame in a separate cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(MemoryFrame);

const _: () = assert!(size_of::<Line>() == 64, "a frame fits a cache line");

impl Default for Line {
    fn default() -> Self {
        let control = HopControl::Classes(ClassPauses::default());
        Self(MemoryFrame::HopControl(HopControlFrame { source: [0; 6], control }))
    }
}

/// The frames of a fabric in memory.
#[derive(Debug)]
pub struct MemoryFrames {
    frames: Slab<Line>,
    /// Stamps by frame, up to the last frame with stamps. Kept apart, because frames fill their cache lines.
    stamps: Vec<Stamps>,
    /// SACK blocks by frame, kept apart in the same way.
    sacks: Vec<SackBlocks>,
    /// Queue named by the source address of each frame ([`QueueId::place`]); empty if no frame has ever named one.
    named: Vec<u8>,
    lengths: FrameLengths,
    /// True if the accounted lengths of all frames are their own lengths.
    own_lengths: bool,
    /// MAC addresses by wire.
    addresses: Arc<[LinkAddresses]>,
}

impl MemoryFrames {
    /// An empty store with these rules for accounted lengths and these MAC addresses of wires.
    pub fn new(addresses: Arc<[LinkAddresses]>, lengths: FrameLengths) -> Self {
        Self {
            frames: Slab::default(),
            stamps: Vec::new(),
            sacks: Vec::new(),
            named: Vec::new(),
            lengths,
            own_lengths: lengths == FrameLengths::default(),
            addresses,
        }
    }

    /// True if the accounted lengths of all frames are their own lengths.
    #[inline(always)]
    pub const fn count_as_they_are(&self) -> bool {
        self.own_lengths
    }

    /// An empty store for frames on the same wires.
    #[must_use]
    pub fn for_same_wires(&self) -> Self {
        Self::new(Arc::clone(&self.addresses), self.lengths)
    }

    #[inline(always)]
    fn insert(&mut self, frame: MemoryFrame) -> FrameId {
        let id = self.frames.add();
        self.frames[id] = Line(frame);
        id
    }

    /// Slot for a frame's stamps. Out of line, for the sake of packets without telemetry.
    #[cold]
    fn stamps_mut(&mut self, frame: FrameId) -> &mut Stamps {
        place_of(&mut self.stamps, frame)
    }

    /// Slot for a frame's SACK blocks. Out of line, because few segments have any.
    #[cold]
    fn sack_mut(&mut self, frame: FrameId) -> &mut SackBlocks {
        place_of(&mut self.sacks, frame)
    }

    fn insert_segment(&mut self, segment: &TcpSegment) -> FrameId {
        let blocks = segment.sack.as_slice().len() as u8;
        let id = self.insert(MemoryFrame::Tcp(segment.with_sack(SackCount(blocks))));
        if blocks > 0 {
            *self.sack_mut(id) = segment.sack;
        }
        id
    }

    #[cold]
    fn aside(&mut self, frame: FrameId) -> Aside {
        match self.frames[frame].0.telemetry() {
            Some(_) => Aside::Stamps(*self.stamps_mut(frame)),
            None => Aside::Sack(*self.sack_mut(frame)),
        }
    }

    #[cold]
    fn set_aside(&mut self, frame: FrameId, aside: Aside) {
        match aside {
            Aside::Sack(sack) => *self.sack_mut(frame) = sack,
            Aside::Stamps(stamps) => *self.stamps_mut(frame) = stamps,
        }
    }

    /// The frame with this number.
    #[inline(always)]
    pub fn frame_mut(&mut self, frame: FrameId) -> &mut MemoryFrame {
        &mut self.frames[frame].0
    }

    /// The queue that a packet's source address names.
    #[inline(always)]
    pub fn named(&self, frame: FrameId) -> QueueId {
        QueueId::from_place(self.named.get(frame.0 as usize).map_or(0, |place| usize::from(*place)))
    }

    /// Makes a packet's source address name a queue.
    #[inline(always)]
    pub fn set_named(&mut self, frame: FrameId, queue: QueueId) {
        if queue != QueueId::CONTROL || !self.named.is_empty() {
            *place_of(&mut self.named, frame) = queue.place() as u8;
        }
    }

    /// Arrival of a frame at a host.
    #[inline]
    pub fn received(&self, frame: FrameId) -> HostArrival {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => HostArrival::Packet(Packet::Roce(*packet)),
            MemoryFrame::Tcp(segment) => {
                HostArrival::Packet(Packet::Tcp(self.whole(frame, segment)))
            }
            MemoryFrame::HopControl(frame) => HostArrival::HopControl(frame.control),
            MemoryFrame::LinkDelay(message) => HostArrival::LinkDelay(*message),
        }
    }

    /// A segment with its SACK blocks.
    fn whole(&self, frame: FrameId, segment: &Segment<SackCount>) -> TcpSegment {
        let sack = if segment.sack.0 > 0 { self.sacks[frame.0 as usize] } else { SackBlocks::NONE };
        segment.with_sack(sack)
    }
}

/// Slot of a frame in a list by frame; extends the list if necessary.
fn place_of<T: Clone + Default>(list: &mut Vec<T>, frame: FrameId) -> &mut T {
    let number = frame.0 as usize;
    if number >= list.len() {
        list.resize(number + 1, T::default());
    }
    &mut list[number]
}

impl FrameStore for MemoryFrames {
    type Frame = (MemoryFrame, QueueId);

    #[inline(always)]
    fn take(&mut self, frame: FrameId, aside: &mut Vec<Aside>) -> (MemoryFrame, QueueId) {
        self.frames.remove(frame);
        // Tested in place: to test a copy, the compiler would move it through registers field by field.
        if self.frames[frame].0.has_aside() {
            aside.push(self.aside(frame));
        }
        (self.frames[frame].0, self.named(frame))
    }

    #[inline]
    fn put(
        &mut self,
        (frame, queue): (MemoryFrame, QueueId),
        aside: &mut impl Iterator<Item = Aside>,
    ) -> FrameId {
        let id = self.insert(frame);
        self.set_named(id, queue);
        if self.frames[id].0.has_aside()
            && let Some(aside) = aside.next()
        {
            self.set_aside(id, aside);
        }
        id
    }

    #[inline]
    fn packet(&mut self, _: WireId, packet: &Packet, queue: QueueId, stamps: &[Stamp]) -> FrameId {
        let id = match packet {
            Packet::Roce(packet) => self.insert(MemoryFrame::Roce(*packet)),
            Packet::Tcp(segment) => self.insert_segment(segment),
        };
        self.set_named(id, queue);
        if !stamps.is_empty() {
            let places = self.stamps_mut(id);
            places[..stamps.len()].copy_from_slice(stamps);
        }
        id
    }

    fn hop_control(&mut self, source: [u8; 6], control: &HopControl) -> FrameId {
        self.insert(MemoryFrame::HopControl(HopControlFrame { source, control: *control }))
    }

    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId {
        self.insert(MemoryFrame::LinkDelay(*message))
    }

    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame {
        match self.frames[frame].0 {
            MemoryFrame::LinkDelay(message) => message,
            other => unreachable!("{other:?} is for no control plane"),
        }
    }

    fn mark(&mut self, frame: FrameId) {
        match &mut self.frames[frame].0 {
            MemoryFrame::Roce(packet) => packet.ecn = Ecn::CongestionExperienced,
            MemoryFrame::Tcp(segment) => segment.ecn = Ecn::CongestionExperienced,
            MemoryFrame::HopControl(_) | MemoryFrame::LinkDelay(_) => {}
        }
    }

    fn is_ecn_capable(&self, frame: FrameId) -> bool {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => packet.ecn != Ecn::NotCapable,
            MemoryFrame::Tcp(segment) => segment.ecn != Ecn::NotCapable,
            MemoryFrame::HopControl(_) | MemoryFrame::LinkDelay(_) => false,
        }
    }

    fn stamp(&mut self, frame: FrameId, stamp: Stamp) {
        let telemetry = match &mut self.frames[frame].0 {
            MemoryFrame::Roce(packet) => &mut packet.telemetry,
            MemoryFrame::Tcp(segment) => &mut segment.telemetry,
            MemoryFrame::HopControl(_) | MemoryFrame::LinkDelay(_) => return,
        };
        if let Some(place) = telemetry.as_mut().and_then(TelemetryFields::claim) {
            self.stamps_mut(frame)[usize::from(place)] = stamp;
        }
    }

    fn stamps(&self, frame: FrameId) -> &[Stamp] {
        match self.frames[frame].0.telemetry() {
            Some(fields) if fields.hops > 0 => {
                &self.stamps[frame.0 as usize][..usize::from(fields.hops)]
            }
            _ => &[],
        }
    }

    #[inline]
    fn prefetch(&self, frame: FrameId) {
        self.frames.prefetch(frame);
    }

    fn discard(&mut self, frame: FrameId) {
        self.frames.remove(frame);
    }

    #[inline(always)]
    fn lengths(&self) -> FrameLengths {
        self.lengths
    }

    #[inline(always)]
    fn length(&self, frame: FrameId) -> u32 {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => {
                counted(self.lengths, packet.payload_length, packet.frame_length())
            }
            MemoryFrame::Tcp(segment) => {
                counted(self.lengths, segment.payload_length, segment.frame_length())
            }
            MemoryFrame::HopControl(_) => self.lengths.hop_control(hop_control::LEN as u32),
            MemoryFrame::LinkDelay(_) => self.lengths.hop_control(link_delay::LEN as u32),
        }
    }

    fn priority(&self, frame: FrameId) -> Option<u8> {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => Some(packet.dscp >> 3),
            MemoryFrame::Tcp(segment) => Some(segment.dscp >> 3),
            MemoryFrame::HopControl(_) | MemoryFrame::LinkDelay(_) => None,
        }
    }

    fn flow(&self, frame: FrameId) -> Option<u32> {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => Some(queue_pairs::flow_of_roce(packet)),
            MemoryFrame::Tcp(segment) => Some(queue_pairs::flow_of_segment(segment)),
            MemoryFrame::HopControl(_) | MemoryFrame::LinkDelay(_) => None,
        }
    }

    fn kind(&self, frame: FrameId) -> FrameKind {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => FrameKind::from_roce(packet),
            MemoryFrame::Tcp(segment) => FrameKind::from_segment(segment),
            MemoryFrame::HopControl(frame) => FrameKind::from_hop_control(&frame.control),
            MemoryFrame::LinkDelay(_) => FrameKind::LinkDelay,
        }
    }

    fn label(&self, frame: FrameId) -> FrameLabel {
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => FrameLabel::from_roce(packet),
            MemoryFrame::Tcp(segment) => FrameLabel::from_segment(segment),
            MemoryFrame::HopControl(frame) => FrameLabel::HopControl(frame.control),
            MemoryFrame::LinkDelay(_) => FrameLabel::Other,
        }
    }

    fn bytes<'a>(&'a self, wire: WireId, frame: FrameId, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let addresses = &naming(&self.addresses[wire.0 as usize], self.named(frame));
        buffer.clear();
        match &self.frames[frame].0 {
            MemoryFrame::Roce(packet) => {
                write_packet(addresses, &Packet::Roce(*packet), self.stamps(frame), buffer);
            }
            MemoryFrame::Tcp(segment) => {
                let segment = self.whole(frame, segment);
                write_packet(addresses, &Packet::Tcp(segment), self.stamps(frame), buffer);
            }
            MemoryFrame::HopControl(frame) => {
                let mut bytes = [0; hop_control::LEN];
                frame.emit(&mut bytes);
                buffer.extend_from_slice(&bytes);
            }
            MemoryFrame::LinkDelay(message) => {
                let mut bytes = [0; link_delay::LEN];
                message.emit(&mut bytes);
                buffer.extend_from_slice(&bytes);
            }
        }
        buffer
    }
}

/// Writes a packet's bytes for a link with these MAC addresses.
fn write_packet(
    addresses: &LinkAddresses,
    packet: &Packet,
    stamps: &[Stamp],
    buffer: &mut Vec<u8>,
) {
    buffer.resize(MAX_FRAME, 0);
    let length = packet
        .emit_stamped(addresses, stamps, buffer)
        .expect("a packet with at most 3072 bytes of payload fits a frame");
    buffer.truncate(length);
}
