//! The frames of the kernel datapath: bytes with accounted lengths.

use std::sync::Arc;

use fabric_core::frame::mark_admitted;
use fabric_core::hop_control::HopControl;
use fabric_core::queue::QueueId;
use fabric_core::wire::telemetry::Stamp;
use fabric_core::wire::{
    HopControlFrame, LinkAddresses, LinkDelayFrame, Packet, ethernet, hop_control, link_delay,
    telemetry,
};
use host_agent::frame_length::FrameLengths;
use topology::WireId;
use units::Picos;

use crate::datapath::slab::Slab;
use crate::datapath::{Aside, FrameId, FrameKind, FrameLabel, FrameStore, HostArrival, counted};
use crate::mac_addresses::naming;
use crate::queue_pairs;

/// A frame as bytes.
#[derive(Clone, Debug, Default)]
pub struct KernelFrame {
    pub(super) bytes: Vec<u8>,
    /// Accounted length, bytes.
    pub(super) length: u32,
    /// True if a program in a host's namespace has sent it.
    pub(super) is_foreign: bool,
    /// Delay by faults on its current wire; zero once it has crossed the wire.
    pub(super) late: Picos,
}

/// The bytes of frames.
pub struct KernelFrames {
    pub(super) frames: Slab<KernelFrame>,
    pub(super) lengths: FrameLengths,
    /// MAC addresses by wire.
    pub(super) addresses: Arc<[LinkAddresses]>,
}

/// Replaces the content of `buffer` with `bytes`.
pub(super) fn fill(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

impl KernelFrames {
    /// An empty store. `addresses` has one entry per wire.
    pub fn new(addresses: &[LinkAddresses], lengths: FrameLengths) -> Self {
        Self { frames: Slab::default(), lengths, addresses: addresses.into() }
    }

    /// Adds a frame between neighbours.
    pub(super) fn insert_control(&mut self, bytes: &[u8]) -> FrameId {
        let frame = self.frames.add();
        let KernelFrame { bytes: buffer, length, is_foreign, .. } = &mut self.frames[frame];
        fill(buffer, bytes);
        *length = self.lengths.hop_control(length_of(bytes));
        *is_foreign = false;
        frame
    }

    /// Adds a frame that a program in a host's namespace has sent, padded to the min frame length. Returns it with
    /// its accounted length.
    pub fn foreign(&mut self, bytes: &[u8]) -> (FrameId, u32) {
        let frame = self.frames.add();
        let KernelFrame { bytes: buffer, length, is_foreign, .. } = &mut self.frames[frame];
        fill(buffer, bytes);
        if buffer.len() < ethernet::MINIMUM_FRAME_LENGTH {
            buffer.resize(ethernet::MINIMUM_FRAME_LENGTH, 0);
        }
        *length = length_of(buffer);
        *is_foreign = true;
        (frame, *length)
    }

    /// Parses a frame at a NIC or a port; `None` for a foreign frame.
    pub(super) fn parse(&self, frame: FrameId) -> Option<HostArrival> {
        let KernelFrame { bytes, is_foreign, .. } = &self.frames[frame];
        if *is_foreign { None } else { HostArrival::parse(bytes).ok() }
    }
}

pub(super) fn length_of(bytes: &[u8]) -> u32 {
    bytes.len().try_into().expect("a frame is a few kB")
}

impl FrameStore for KernelFrames {
    type Frame = KernelFrame;

    fn take(&mut self, frame: FrameId, _: &mut Vec<Aside>) -> KernelFrame {
        let taken = std::mem::take(&mut self.frames[frame]);
        self.frames.remove(frame);
        taken
    }

    fn put(&mut self, taken: KernelFrame, _: &mut impl Iterator<Item = Aside>) -> FrameId {
        let frame = self.frames.add();
        self.frames[frame] = taken;
        frame
    }

    fn packet(
        &mut self,
        wire: WireId,
        packet: &Packet,
        queue: QueueId,
        stamps: &[Stamp],
    ) -> FrameId {
        let frame = self.frames.add();
        let KernelFrame { bytes: buffer, length, is_foreign, .. } = &mut self.frames[frame];
        *is_foreign = false;
        buffer.resize(packet.frame_length(), 0);
        *length = counted(self.lengths, packet.payload_length(), packet.frame_length());
        packet
            .emit_stamped(&naming(&self.addresses[wire.0 as usize], queue), stamps, buffer)
            .expect("hosts send packets whose fields are in range");
        frame
    }

    fn hop_control(&mut self, source: [u8; 6], control: &HopControl) -> FrameId {
        let mut bytes = [0; hop_control::LEN];
        HopControlFrame { source, control: *control }.emit(&mut bytes);
        self.insert_control(&bytes)
    }

    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId {
        let mut bytes = [0; link_delay::LEN];
        message.emit(&mut bytes);
        self.insert_control(&bytes)
    }

    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame {
        LinkDelayFrame::parse(&self.frames[frame].bytes).expect("eBPF has parsed it")
    }

    fn mark(&mut self, frame: FrameId) {
        mark_admitted(&mut self.frames[frame].bytes);
    }

    fn stamp(&mut self, frame: FrameId, stamp: Stamp) {
        telemetry::stamp(&mut self.frames[frame].bytes, stamp);
    }

    fn stamps(&self, frame: FrameId) -> &[Stamp] {
        telemetry::stamps(&self.frames[frame].bytes)
    }

    fn set_late(&mut self, frame: FrameId, late: Picos) {
        self.frames[frame].late = late;
    }

    fn discard(&mut self, frame: FrameId) {
        self.frames.remove(frame);
    }

    fn lengths(&self) -> FrameLengths {
        self.lengths
    }

    fn length(&self, frame: FrameId) -> u32 {
        self.frames[frame].length
    }

    fn priority(&self, frame: FrameId) -> Option<u8> {
        match self.parse(frame) {
            Some(HostArrival::Packet(packet)) => Some(packet.dscp() >> 3),
            _ => None,
        }
    }

    fn flow(&self, frame: FrameId) -> Option<u32> {
        match self.parse(frame) {
            Some(HostArrival::Packet(packet)) => Some(queue_pairs::flow_of_packet(&packet)),
            _ => None,
        }
    }

    fn kind(&self, frame: FrameId) -> FrameKind {
        match self.parse(frame) {
            Some(HostArrival::Packet(packet)) => FrameKind::from_packet(&packet),
            Some(HostArrival::HopControl(control)) => FrameKind::from_hop_control(&control),
            Some(HostArrival::LinkDelay(_)) => FrameKind::LinkDelay,
            // Hosts and switches of the fabric send no other frames.
            Some(HostArrival::Foreign) | None => FrameKind::Foreign,
        }
    }

    fn label(&self, frame: FrameId) -> FrameLabel {
        match self.parse(frame) {
            Some(HostArrival::Packet(Packet::Roce(packet))) => FrameLabel::from_roce(&packet),
            Some(HostArrival::Packet(Packet::Tcp(segment))) => FrameLabel::from_segment(&segment),
            Some(HostArrival::HopControl(control)) => FrameLabel::HopControl(control),
            _ => FrameLabel::Other,
        }
    }

    fn bytes<'a>(&'a self, _: WireId, frame: FrameId, _: &'a mut Vec<u8>) -> &'a [u8] {
        &self.frames[frame].bytes
    }
}
