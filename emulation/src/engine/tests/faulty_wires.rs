//! Wires with a defect, for checks that must notice it.

use fabric_core::arrival::Outcome;
use fabric_core::cell::Sharing;
use fabric_core::drop_reason::DropReason;
use fabric_core::wire::Packet;
use fabric_core::wire::roce::Opcode;
use scenario::Scenario;
use switch_user::tables::SwitchTables;
use units::Nanos;

use crate::datapath::memory::{MemoryFrames, MemoryWires};
use crate::datapath::{
    Crossing, DatapathError, Departing, Deployed, FrameId, FrameKind, FrameStore, HostArrival,
    Orders, Wires,
};
use crate::partition::Partition;
use crate::run::in_memory;

/// Defect of the wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing is wrong.
    None,
    /// The first frame to a switch never reaches it.
    SkipsFrame,
    /// Frames claim that they left 1 us later.
    LeavesLate,
    /// Each packet leaves a byte behind in the switch's shared pool.
    LeaksByte,
    /// A host receives one byte less of each packet that is a whole message.
    CutsByte,
    /// Three frames are missing at the end.
    LosesFrames,
    /// The first frame to a switch ends the run.
    Fails,
}

/// Wires in memory with one defect. They count arrivals.
pub struct FaultyWires {
    inner: MemoryWires,
    defect: Defect,
    /// Frames that arrived at switches and hosts.
    pub arrivals: u64,
    /// PFC frames among them.
    pub pfc: u64,
}

impl FaultyWires {
    /// A configured fabric.
    pub fn deploy(scenario: &Scenario, defect: Defect) -> Deployed<Self> {
        let Deployed { frames, wires: inner, tables } =
            in_memory(scenario).expect("memory for a few switches");
        let wires = Self { inner, defect, arrivals: 0, pfc: 0 };
        Deployed { frames, wires, tables }
    }
}

impl Sharing for FaultyWires {
    const SHARED: bool = MemoryWires::SHARED;
}

impl Wires for FaultyWires {
    type Frames = MemoryFrames;

    fn divide(self, frames: MemoryFrames, partition: &Partition) -> Vec<(Self, MemoryFrames)> {
        let Self { inner, defect, .. } = self;
        let parts = inner.divide(frames, partition).into_iter();
        parts.map(|(inner, frames)| (Self { inner, defect, arrivals: 0, pfc: 0 }, frames)).collect()
    }

    fn join(mut parts: Vec<Self>) -> Self {
        let part = parts.pop().expect("at least one part");
        let add = |whole: Self, part: Self| Self {
            arrivals: whole.arrivals + part.arrivals,
            pfc: whole.pfc + part.pfc,
            ..whole
        };
        parts.into_iter().fold(part, add)
    }

    fn depart(&mut self, frames: &mut MemoryFrames, departing: &Departing<'_>, frame: FrameId) {
        let late = if self.defect == Defect::LeavesLate { 1000 } else { 0 };
        let now = Nanos(departing.now.0 + late);
        self.inner.depart(frames, &Departing { now, ..*departing }, frame);
    }

    fn send(
        &mut self,
        frames: &mut MemoryFrames,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<(), DatapathError> {
        self.arrivals += 1;
        let is_pfc = matches!(frames.kind(frame), FrameKind::Pause | FrameKind::Resume);
        self.pfc += u64::from(is_pfc);
        self.inner.send(frames, crossing, frame)
    }

    fn poll_switch(
        &mut self,
        frames: &mut MemoryFrames,
        crossing: &Crossing,
        tables: &SwitchTables,
        frame: FrameId,
        outcome: &mut Outcome,
        orders: &mut Orders,
    ) -> Result<bool, DatapathError> {
        match self.defect {
            Defect::SkipsFrame if self.arrivals == 1 => {
                *outcome = Outcome::Dropped(DropReason::Truncated);
                return Ok(true);
            }
            Defect::Fails => {
                let (wire, now) = ("h1->s0".into(), crossing.now.to_nanos());
                return Err(DatapathError::Lost { wire, now, waited_ms: 1000 });
            }
            Defect::LeaksByte => {
                tables.state().shared_bytes.add::<SwitchTables>(1);
            }
            _ => {}
        }
        self.inner.poll_switch(frames, crossing, tables, frame, outcome, orders)
    }

    fn poll_host(
        &mut self,
        frames: &mut MemoryFrames,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<Option<HostArrival>, DatapathError> {
        let mut arrival = self.inner.poll_host(frames, crossing, frame)?;
        if self.defect == Defect::CutsByte
            && let Some(HostArrival::Packet(Packet::Roce(packet))) = &mut arrival
            && packet.opcode == Opcode::WriteOnly
            && let Some(reth) = &mut packet.reth
        {
            packet.payload_length -= 1;
            reth.dma_length -= 1;
        }
        Ok(arrival)
    }

    fn wait(&self, crossing: &Crossing, attempts: u32) -> Result<(), DatapathError> {
        self.inner.wait(crossing, attempts)
    }

    fn substrate_losses(&mut self) -> u64 {
        let own = self.inner.substrate_losses();
        if self.defect == Defect::LosesFrames { own + 3 } else { own }
    }
}
