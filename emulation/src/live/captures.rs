//! Captures of frames on wires of a live fabric.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::Duration;

use fabric_core::drop_reason::DropReason;
use topology::WireId;
use units::Nanos;

use super::desk::CapturedFrame;

/// Memory of frames of a capture that wait for its client, in bytes, if there is only this capture. Several have equal
/// shares; a backlog of a time with fewer captures shrinks as it is read.
const ROOM: u64 = 16 << 20;

/// Returns the two ends of a new capture.
pub fn channel() -> (FrameSink, FrameSource) {
    let (sender, receiver) = mpsc::channel();
    let backlog = Arc::<Backlog>::default();
    let sink = FrameSink { sender, backlog: Arc::downgrade(&backlog) };
    (sink, FrameSource { receiver, backlog })
}

/// The sending end of a capture, which never waits.
#[derive(Debug)]
pub struct FrameSink {
    sender: Sender<CapturedFrame>,
    backlog: Weak<Backlog>,
}

/// The receiving end of a capture. The capture ends once it is dropped.
#[derive(Debug)]
pub struct FrameSource {
    receiver: Receiver<CapturedFrame>,
    backlog: Arc<Backlog>,
}

/// Frames of a capture that wait or are lost.
#[derive(Debug, Default)]
struct Backlog {
    /// Memory of the waiting frames.
    bytes: AtomicU64,
    /// Number of frames that found no room.
    lost: AtomicU64,
}

impl FrameSink {
    /// Sends a frame if the waiting frames then take at most `room` bytes of memory; otherwise the frame is lost.
    pub fn send(&self, mut frame: CapturedFrame, room: u64) {
        let Some(backlog) = self.backlog.upgrade() else { return };
        let lost = backlog.lost.load(Ordering::Relaxed);
        let memory = frame.memory();
        if backlog.bytes.load(Ordering::Relaxed) + memory > room {
            backlog.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        frame.lost = lost;
        backlog.bytes.fetch_add(memory, Ordering::Relaxed);
        // Fails if the receiving end has gone: then the capture is over.
        let _ = self.sender.send(frame);
    }

    fn is_over(&self) -> bool {
        self.backlog.strong_count() == 0
    }
}

impl FrameSource {
    /// Waits for a frame.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<CapturedFrame, RecvTimeoutError> {
        let frame = self.receiver.recv_timeout(timeout)?;
        self.backlog.bytes.fetch_sub(frame.memory(), Ordering::Relaxed);
        Ok(frame)
    }

    /// Number of lost frames.
    pub fn lost(&self) -> u64 {
        self.backlog.lost.load(Ordering::Relaxed)
    }
}

impl CapturedFrame {
    const fn memory(&self) -> u64 {
        (size_of::<Self>() + self.bytes.len()) as u64
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Captures {
    /// Captures by number.
    all: BTreeMap<u16, LiveCapture>,
}

#[derive(Debug)]
struct LiveCapture {
    wires: Vec<WireId>,
    sink: FrameSink,
}

impl Captures {
    /// Adds a capture, if there is room. Returns an interface number for each wire, for use with
    /// [`take`](Self::take).
    pub fn add(
        &mut self,
        wires: Vec<WireId>,
        sink: FrameSink,
    ) -> Option<impl Iterator<Item = (WireId, u32)> + use<>> {
        let number = (0..u16::MAX).find(|number| !self.all.contains_key(number))?;
        let interfaces = (u32::from(number) << u16::BITS..).take(1 << u16::BITS);
        let interfaces = wires.clone().into_iter().zip(interfaces);
        self.all.insert(number, LiveCapture { wires, sink });
        Some(interfaces)
    }

    /// True if there are no captures.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Passes on a frame that an interface has recorded.
    pub fn take(&self, interface: u32, time: Nanos, bytes: &[u8], dropped: Option<DropReason>) {
        let [wire_low, wire_high, low, high] = interface.to_le_bytes();
        let wire = u16::from_le_bytes([wire_low, wire_high]).into();
        let Some(capture) = self.all.get(&u16::from_le_bytes([low, high])) else { return };
        let frame = CapturedFrame { wire, time, bytes: bytes.into(), dropped, lost: 0 };
        capture.sink.send(frame, ROOM / self.all.len() as u64);
    }

    /// Removes captures whose readers have gone. Returns their wires, and their numbers as in [`number_of`].
    pub fn remove_over(&mut self) -> Vec<(u16, Vec<WireId>)> {
        let over = self.all.extract_if(.., |_, capture| capture.sink.is_over());
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
    use super::*;

    /// Receives frames that have arrived.
    fn received(source: &FrameSource) -> Vec<CapturedFrame> {
        std::iter::from_fn(|| source.recv_timeout(Duration::ZERO).ok()).collect()
    }

    #[test]
    fn frames_go_to_their_capture() {
        let mut captures = Captures::default();
        let [(sink, source), (other_sink, other)] = [channel(), channel()];
        let interfaces: Vec<_> = captures.add(vec![WireId(7)], sink).expect("room").collect();
        assert_eq!(interfaces, [(WireId(7), 0)]);
        let wires = vec![WireId(7), WireId(9)];
        let interfaces: Vec<_> = captures.add(wires, other_sink).expect("room").collect();
        assert_eq!(interfaces, [(WireId(7), 1 << 16), (WireId(9), 1 << 16 | 1)]);
        captures.take(0, Nanos(3), &[1], None);
        captures.take(1 << 16 | 1, Nanos(9), &[2], None);
        captures.take(5 << 16, Nanos(9), &[2], None);
        assert_eq!(received(&source).iter().map(|frame| frame.time.0).collect::<Vec<_>>(), [3]);
        assert_eq!(received(&other).iter().map(|frame| frame.wire).collect::<Vec<_>>(), [1]);
        assert!(captures.remove_over().is_empty(), "both are read");
        // The end is noticed even if no frame arrives.
        drop(source);
        assert_eq!(captures.remove_over(), [(0, vec![WireId(7)])]);
        assert!(captures.remove_over().is_empty() && !captures.is_empty());
        assert_eq!(number_of(1 << 16 | 1), 1);
    }

    #[test]
    fn frames_without_room_are_lost_and_counted() {
        let (sink, source) = channel();
        let frame = |number| CapturedFrame {
            wire: 0,
            time: Nanos(number),
            bytes: vec![7; 1000].into(),
            dropped: None,
            lost: 0,
        };
        let room = 2 * frame(0).memory();
        (0..4).for_each(|number| sink.send(frame(number), room));
        assert_eq!(source.lost(), 2, "known before another frame comes");
        assert_eq!(received(&source).iter().map(|frame| frame.time.0).collect::<Vec<_>>(), [0, 1]);
        sink.send(frame(4), room);
        assert_eq!(received(&source).iter().map(|frame| frame.lost).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn captures_share_the_room_for_frames_that_nobody_reads() {
        let mut captures = Captures::default();
        let sources: Vec<FrameSource> = (0..64)
            .map(|_| {
                let (sink, source) = channel();
                let _ = captures.add(vec![WireId(0)], sink).expect("room");
                source
            })
            .collect();
        for _ in 0..2000 {
            (0..64).for_each(|number| captures.take(number << 16, Nanos(0), &[7; 1000], None));
        }
        let held: u64 = sources.iter().map(|it| it.backlog.bytes.load(Ordering::Relaxed)).sum();
        assert!(held <= ROOM, "{held}");
        assert!(sources.iter().all(|source| source.lost() > 0));
    }
}
