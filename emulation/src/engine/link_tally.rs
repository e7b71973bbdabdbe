//! Traffic of each wire and priority: `link_priorities.csv`.

use fabric_core::map_abi::PRIORITIES;
use topology::WireId;

use crate::datapath::FrameLabel;

/// Number of counters per wire: one per priority, and the last one for frames without a priority.
const CLASSES: usize = PRIORITIES + 1;

/// Traffic of a priority on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames whose transmission began.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Frames with an ECN mark.
    pub marked: u64,
    /// Frames lost by faults.
    pub lost: u64,
    /// Frames that arrived with a wrong FCS.
    pub damaged: u64,
    /// Packets dropped by the switch at the end of the wire.
    pub dropped: u64,
}

impl LinkCount {
    fn add(&mut self, other: &Self) {
        let Self { frames, bytes, marked, lost, damaged, dropped } = other;
        self.frames += frames;
        self.bytes += bytes;
        self.marked += marked;
        self.lost += lost;
        self.damaged += damaged;
        self.dropped += dropped;
    }
}

/// Counters of all wires. It does not allocate during a run.
#[derive(Debug)]
pub struct LinkTally(Box<[[LinkCount; CLASSES]]>);

impl LinkTally {
    /// Zero counters for `wires` wires.
    pub fn new(wires: usize) -> Self {
        Self(vec![[LinkCount::default(); CLASSES]; wires].into())
    }

    /// Counts a frame of `length` bytes that is sent on a wire.
    pub fn sent(&mut self, wire: WireId, label: &FrameLabel, length: u32) {
        let count = self.count_mut(wire, label);
        count.frames += 1;
        count.bytes += u64::from(length);
        count.marked += u64::from(matches!(label, FrameLabel::Packet { marked: true, .. }));
    }

    /// Counts a frame that a switch drops on arrival. A message between neighbours without effect is not counted.
    pub fn dropped(&mut self, wire: WireId, label: &FrameLabel) {
        if let FrameLabel::Packet { .. } = label {
            self.count_mut(wire, label).dropped += 1;
        }
    }

    /// The counters of a frame's priority on a wire.
    pub fn count_mut(&mut self, wire: WireId, label: &FrameLabel) -> &mut LinkCount {
        let class = match label {
            FrameLabel::Packet { priority, .. } => usize::from(*priority),
            FrameLabel::HopControl(_) | FrameLabel::Other => PRIORITIES,
        };
        &mut self.0[wire.0 as usize][class]
    }

    /// Adds the counters of another part of the fabric.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            count.add(more);
        }
    }

    /// All counters that are not zero, by wire and priority; frames without a priority come last.
    pub fn counted(&self) -> impl Iterator<Item = (WireId, Option<u8>, LinkCount)> {
        (0..).map(WireId).zip(&self.0).flat_map(|(wire, counts)| {
            let priorities = (0..PRIORITIES as u8).map(Some).chain([None]);
            let some = priorities.zip(*counts).filter(|(_, count)| *count != LinkCount::default());
            some.map(move |(priority, count)| (wire, priority, count))
        })
    }
}
