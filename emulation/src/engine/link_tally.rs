//! What each wire carries of each priority: `link_priorities.csv`.

use fabric_core::map_abi::PRIORITIES;
use topology::WireId;

use crate::datapath::FrameLabel;

/// Frames that have no priority come behind those of all priorities.
const CLASSES: usize = PRIORITIES + 1;

/// What a wire has carried of a priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames whose transmission began.
    pub frames: u64,
    /// Their lengths.
    pub bytes: u64,
    /// Those of them that carried an ECN mark.
    pub marked: u64,
    /// Those of them that faults took.
    pub lost: u64,
    /// Those of them that arrived with a wrong FCS.
    pub damaged: u64,
    /// Packets that came by the wire and that the switch at its end dropped.
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

/// Counts of all wires. Nothing here allocates while a run lasts.
#[derive(Debug)]
pub struct LinkTally(Box<[[LinkCount; CLASSES]]>);

impl LinkTally {
    /// Of so many wires that have carried nothing.
    pub fn new(wires: usize) -> Self {
        Self(vec![[LinkCount::default(); CLASSES]; wires].into())
    }

    /// A frame of `length` bytes is put on a wire.
    pub fn sent(&mut self, wire: WireId, label: &FrameLabel, length: u32) {
        let count = self.of(wire, label);
        count.frames += 1;
        count.bytes += u64::from(length);
        count.marked += u64::from(matches!(label, FrameLabel::Packet { marked: true, .. }));
    }

    /// A switch drops a frame that came by a wire. A message between neighbours that has no effect is no loss.
    pub fn dropped(&mut self, wire: WireId, label: &FrameLabel) {
        if let FrameLabel::Packet { .. } = label {
            self.of(wire, label).dropped += 1;
        }
    }

    /// The counts that a frame of a wire belongs to.
    pub fn of(&mut self, wire: WireId, label: &FrameLabel) -> &mut LinkCount {
        let class = match label {
            FrameLabel::Packet { priority, .. } => usize::from(*priority),
            FrameLabel::HopControl(_) | FrameLabel::Other => PRIORITIES,
        };
        &mut self.0[wire.0 as usize][class]
    }

    /// Adds what another part of the fabric has counted.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            count.add(more);
        }
    }

    /// What was counted, in the order of wires and priorities; frames without a priority come last.
    pub fn counted(&self) -> impl Iterator<Item = (WireId, Option<u8>, LinkCount)> {
        (0..).map(WireId).zip(&self.0).flat_map(|(wire, counts)| {
            let priorities = (0..PRIORITIES as u8).map(Some).chain([None]);
            let some = priorities.zip(*counts).filter(|(_, count)| *count != LinkCount::default());
            some.map(move |(priority, count)| (wire, priority, count))
        })
    }
}
