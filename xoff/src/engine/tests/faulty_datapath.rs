//! A datapath with a defect, for checks that must notice it.

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::units::Nanos;
use fabric_core::wire::roce::Opcode;
use fabric_core::wire::{LinkDelayFrame, PfcFrame, RocePacket};
use switch_user::tables::SwitchTables;

use crate::datapath::memory::MemoryDatapath;
use crate::datapath::{
    Crossing, Datapath, DatapathError, FrameId, FrameKind, HostArrival, SwitchArrival,
};
use crate::run::in_memory;
use crate::scenario::Scenario;
use crate::topology::WireId;

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing is wrong.
    None,
    /// The first frame to a switch never reaches it.
    SkipsFrame,
    /// Frames claim to have left when their last bit arrives.
    LeavesLate,
    /// Each packet leaves a byte behind in the switch's shared pool.
    LeaksByte,
    /// A host gets a byte less of each packet that is a message of its own.
    CutsByte,
    /// Three frames are missing at the end.
    LosesFrames,
    /// The first frame to a switch ends the run.
    Fails,
}

/// The memory datapath with one fault, and a count of what arrives.
pub struct FaultyDatapath {
    inner: MemoryDatapath,
    defect: Defect,
    /// Frames that arrived at switches and hosts.
    pub arrivals: u64,
    /// PFC frames among them.
    pub pfc: u64,
}

impl FaultyDatapath {
    /// A configured fabric.
    pub fn new(scenario: &Scenario, defect: Defect) -> Self {
        let inner = in_memory(scenario).expect("memory for a few switches");
        Self { inner, defect, arrivals: 0, pfc: 0 }
    }

    fn count(&mut self, frame: FrameId) {
        self.arrivals += 1;
        let is_pfc = matches!(self.inner.kind(frame), FrameKind::Pause | FrameKind::Resume);
        self.pfc += u64::from(is_pfc);
    }

    fn crossing(&self, crossing: Crossing) -> Crossing {
        match self.defect {
            Defect::LeavesLate => Crossing { started: crossing.now, ..crossing },
            _ => crossing,
        }
    }
}

impl Datapath for FaultyDatapath {
    fn tables(&self, switch: u32) -> &SwitchTables {
        self.inner.tables(switch)
    }

    fn tables_mut(&mut self, switch: u32) -> &mut SwitchTables {
        self.inner.tables_mut(switch)
    }

    fn roce(&mut self, wire: WireId, packet: &RocePacket) -> FrameId {
        self.inner.roce(wire, packet)
    }

    fn pfc(&mut self, pfc: &PfcFrame) -> FrameId {
        self.inner.pfc(pfc)
    }

    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId {
        self.inner.link_delay(message)
    }

    fn stamp(&mut self, frame: FrameId, sent: Nanos) {
        self.inner.stamp(frame, sent);
    }

    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame {
        self.inner.read_link_delay(frame)
    }

    fn arrive_at_switch(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<SwitchArrival, DatapathError> {
        self.count(frame);
        match self.defect {
            Defect::SkipsFrame if self.arrivals == 1 => {
                let outcome = Outcome::Dropped(DropReason::Truncated);
                return Ok(SwitchArrival { outcome, pause: None });
            }
            Defect::Fails => {
                let (wire, now) = ("h1->s0".into(), crossing.now);
                return Err(DatapathError::Lost { wire, now, waited_ms: 1000 });
            }
            Defect::LeaksByte => {
                self.inner.tables(0).state().shared_bytes.add(1);
            }
            _ => {}
        }
        self.inner.arrive_at_switch(self.crossing(crossing), frame)
    }

    fn arrive_at_host(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<HostArrival, DatapathError> {
        self.count(frame);
        let mut arrival = self.inner.arrive_at_host(self.crossing(crossing), frame)?;
        if self.defect == Defect::CutsByte
            && let HostArrival::Roce(packet) = &mut arrival
            && packet.opcode == Opcode::WriteOnly
            && let Some(reth) = &mut packet.reth
        {
            packet.payload_length -= 1;
            reth.dma_length -= 1;
        }
        Ok(arrival)
    }

    fn mark(&mut self, frame: FrameId) {
        self.inner.mark(frame);
    }

    fn discard(&mut self, frame: FrameId) {
        self.inner.discard(frame);
    }

    fn length(&self, frame: FrameId) -> u32 {
        self.inner.length(frame)
    }

    fn priority(&self, frame: FrameId) -> Option<u8> {
        self.inner.priority(frame)
    }

    fn kind(&self, frame: FrameId) -> FrameKind {
        self.inner.kind(frame)
    }

    fn bytes<'a>(&'a self, wire: WireId, frame: FrameId, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        self.inner.bytes(wire, frame, buffer)
    }

    fn substrate_losses(&mut self) -> u64 {
        let own = self.inner.substrate_losses();
        if self.defect == Defect::LosesFrames { own + 3 } else { own }
    }
}
