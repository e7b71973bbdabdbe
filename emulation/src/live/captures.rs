//! Captures of frames on wires of a live fabric.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use fabric_core::drop_reason::DropReason;
use topology::WireId;
use units::Nanos;

use super::desk::CapturedFrame;

/// See the module.
#[derive(Debug, Default)]
pub struct Captures {
    /// Captures by number.
    all: BTreeMap<u16, LiveCapture>,
}

#[derive(Debug)]
struct LiveCapture {
    wires: Vec<WireId>,
    sink: SyncSender<CapturedFrame>,
    /// Counts the lost frames. The capture ends once its reader has dropped the counter.
    reader: Weak<AtomicU64>,
}

impl Captures {
    /// Adds a capture, if there is room. Returns an interface number for each wire, for use with
    /// [`take`](Self::take).
    pub fn add(
        &mut self,
        wires: Vec<WireId>,
        sink: SyncSender<CapturedFrame>,
        reader: Weak<AtomicU64>,
    ) -> Option<impl Iterator<Item = (WireId, u32)> + use<>> {
        let number = (0..u16::MAX).find(|number| !self.all.contains_key(number))?;
        let interfaces = (u32::from(number) << u16::BITS..).take(1 << u16::BITS);
        let interfaces = wires.clone().into_iter().zip(interfaces);
        self.all.insert(number, LiveCapture { wires, sink, reader });
        Some(interfaces)
    }

    /// True if there are no captures.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Passes on a frame that an interface has recorded.
    pub fn take(&mut self, interface: u32, time: Nanos, bytes: &[u8], dropped: Option<DropReason>) {
        let [wire_low, wire_high, low, high] = interface.to_le_bytes();
        let wire = u16::from_le_bytes([wire_low, wire_high]).into();
        let Some(capture) = self.all.get_mut(&u16::from_le_bytes([low, high])) else { return };
        let Some(lost) = capture.reader.upgrade() else { return };
        let lost_before = lost.load(Ordering::Relaxed);
        let frame = CapturedFrame { wire, time, bytes: bytes.into(), dropped, lost: lost_before };
        if let Err(TrySendError::Full(_)) = capture.sink.try_send(frame) {
            lost.store(lost_before + 1, Ordering::Relaxed);
        }
    }

    /// Removes captures whose readers have gone. Returns their wires, and their numbers as in [`number_of`].
    pub fn remove_over(&mut self) -> Vec<(u16, Vec<WireId>)> {
        let over = self.all.extract_if(.., |_, capture| capture.reader.strong_count() == 0);
        over.map(|(number, capture)| (number, capture.wires)).collect()
    }
}

/// The capture to which an interface belongs.
pub fn number_of(interface: u32) -> u16 {
    let [_, _, low, high] = interface.to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn frames_go_to_their_capture_and_what_has_no_room_is_counted() {
        let mut captures = Captures::default();
        let (sink, frames) = sync_channel(2);
        let (reader, other_reader) = (Arc::new(AtomicU64::new(0)), Arc::default());
        let weak = Arc::downgrade(&reader);
        let interfaces: Vec<_> = captures.add(vec![WireId(7)], sink, weak).expect("room").collect();
        assert_eq!(interfaces, [(WireId(7), 0)]);
        let (other, others) = sync_channel(2);
        let wires = vec![WireId(7), WireId(9)];
        let interfaces: Vec<_> =
            captures.add(wires, other, Arc::downgrade(&other_reader)).expect("room").collect();
        assert_eq!(interfaces, [(WireId(7), 1 << 16), (WireId(9), 1 << 16 | 1)]);
        for time in 0..4 {
            captures.take(0, Nanos(time), &[1], None);
        }
        captures.take(1 << 16 | 1, Nanos(9), &[2], None);
        captures.take(5 << 16, Nanos(9), &[2], None);
        assert_eq!(frames.try_iter().map(|frame| frame.time.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(reader.load(Ordering::Relaxed), 2, "known before another frame comes");
        captures.take(0, Nanos(4), &[1], None);
        assert_eq!(frames.try_iter().map(|frame| frame.lost).collect::<Vec<_>>(), [2]);
        assert_eq!(others.try_iter().map(|frame| frame.wire).collect::<Vec<_>>(), [1]);
        assert!(captures.remove_over().is_empty(), "both are read");
        // The end is noticed even if no frame arrives.
        drop((frames, reader));
        assert_eq!(captures.remove_over(), [(0, vec![WireId(7)])]);
        assert!(captures.remove_over().is_empty() && !captures.is_empty());
        assert_eq!(number_of(1 << 16 | 1), 1);
    }
}
