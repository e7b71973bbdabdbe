//! Frames for the interfaces of a capture.

use fabric_core::drop_reason::DropReason;
use scenario::CaptureFilter;
use topology::{NodeId, WireId};
use units::Picos;

use super::Core;
use crate::datapath::{FrameId, FrameKind, FrameStore, Wires};
use crate::engine::journal::Note;
use crate::engine::transmitter::Receiver;

impl<W: Wires> Core<W> {
    #[cold]
    pub(super) fn capture(
        &mut self,
        now: Picos,
        node: NodeId,
        receiver: &Receiver,
        frame: FrameId,
    ) {
        let kind = self.frames.kind(frame);
        for &(interface, filter) in &receiver.captures {
            if captured_by(filter, kind) {
                self.record(now, node, receiver.wire, interface, frame, None);
            }
        }
    }

    /// Records a frame that a switch has dropped. If it is dropped on arrival, the bytes are unchanged; if it is
    /// dropped later, they are the ones that would have been sent. It has the addresses of a frame on `wire`.
    #[cold]
    pub fn capture_dropped(
        &mut self,
        now: Picos,
        node: NodeId,
        receiver: &Receiver,
        (frame, wire): (FrameId, WireId),
        reason: DropReason,
    ) {
        for &(interface, filter) in &receiver.captures {
            if filter == CaptureFilter::Drops {
                self.record(now, node, wire, interface, frame, Some(reason));
            }
        }
    }

    /// Notes a frame for an interface of the capture.
    pub(super) fn record(
        &mut self,
        now: Picos,
        node: NodeId,
        wire: WireId,
        interface: u32,
        frame: FrameId,
        dropped: Option<DropReason>,
    ) {
        let bytes = self.frames.bytes(wire, frame, &mut self.scratch).into();
        self.journal.note(now, node, Note::Captured { interface, bytes, dropped });
    }
}

fn captured_by(filter: CaptureFilter, kind: FrameKind) -> bool {
    match filter {
        CaptureFilter::All => true,
        CaptureFilter::Pfc => matches!(kind, FrameKind::Pause | FrameKind::Resume),
        CaptureFilter::HopControl => kind == FrameKind::HopControl,
        CaptureFilter::Cnp => kind == FrameKind::Cnp,
        CaptureFilter::Data => kind == FrameKind::Data,
        // Recorded later, once it is known if the frame is dropped.
        CaptureFilter::Drops => false,
    }
}
