//! How a frame gets from one node to the next, and where a switch's arrival function runs.
//!
//! The engine, the hosts, the queues and the results are the same on every datapath.

pub mod kernel;
pub mod memory;
mod slab;

use fabric_core::arrival::Outcome;
use fabric_core::units::Nanos;
use fabric_core::wire::{
    AethFields, LinkDelayFrame, Opcode, ParseError, PfcFrame, RocePacket, Syndrome, link_delay,
    mac_control,
};
use switch_user::tables::SwitchTables;

use crate::build::WireEnds;
use crate::topology::WireId;

pub use slab::FrameId;

/// A frame's kind, for capture filters and injected faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// RDMA WRITE.
    Data,
    /// ACK.
    Ack,
    /// NAK.
    Nak,
    /// Congestion notification packet.
    Cnp,
    /// PFC frame that stops at least one class.
    Pause,
    /// PFC frame that only resumes.
    Resume,
    /// Link delay frame, a request or a response.
    LinkDelay,
}

/// What a switch made of a frame.
#[derive(Clone, Copy, Debug)]
pub struct SwitchArrival {
    /// What became of it.
    pub outcome: Outcome,
    /// The PAUSE frame that `outcome` asks for.
    pub pause: Option<FrameId>,
}

/// What a host's NIC received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostArrival {
    /// A RoCEv2 packet.
    Roce(RocePacket),
    /// A PFC frame.
    Pfc(PfcFrame),
    /// A link delay frame.
    LinkDelay(LinkDelayFrame),
}

/// A frame that has crossed a wire.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// The wire.
    pub wire: WireId,
    /// Where it leads.
    pub ends: WireEnds,
    /// The frame's length in bytes without FCS.
    pub length: u32,
    /// When its transmission began.
    pub started: Nanos,
    /// When its last bit arrives: now.
    pub now: Nanos,
}

/// The substrate broke a promise: the run's results would be wrong.
#[derive(Debug, thiserror::Error)]
pub enum DatapathError {
    /// A frame was sent and did not arrive.
    #[error(
        "wire {wire}: a frame was sent at {now} and did not arrive within {waited_ms} ms; \
             the substrate lost it, so the run's results would be wrong"
    )]
    Lost {
        /// Name of the wire.
        wire: String,
        /// When it should have arrived.
        now: Nanos,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// Something other than the frame that was sent arrived.
    #[error(
        "wire {wire}: {what} arrived at {now}; another program sends into the fabric's namespaces, \
             so the run's results would be wrong"
    )]
    Foreign {
        /// Name of the wire.
        wire: String,
        /// What arrived.
        what: String,
        /// When.
        now: Nanos,
    },
    /// A frame could not be sent.
    #[error("wire {wire}: {source}")]
    Send {
        /// Name of the wire.
        wire: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The switch's program misbehaved.
    #[error("switch {switch}: {source}")]
    Program {
        /// Name of the switch.
        switch: String,
        /// Why.
        source: switch_user::program::ProgramError,
    },
}

/// Holds frames and carries them between nodes.
pub trait Datapath {
    /// A switch's tables, on which departures work.
    fn tables(&self, switch: u32) -> &SwitchTables;
    /// The same for the control plane, which changes what is configured.
    fn tables_mut(&mut self, switch: u32) -> &mut SwitchTables;
    /// The frame of a packet that a host sends on `wire`.
    fn roce(&mut self, wire: WireId, packet: &RocePacket) -> FrameId;
    /// The frame of a PFC message.
    fn pfc(&mut self, pfc: &PfcFrame) -> FrameId;
    /// The frame of a link delay message.
    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId;
    /// Writes into a link delay frame when its last bit leaves; other frames carry no stamp.
    fn stamp(&mut self, frame: FrameId, sent: Nanos);
    /// The message of a link delay frame.
    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame;
    /// Hands a frame to the switch at the end of its wire. It stays a frame, whatever becomes of it: as it
    /// leaves the switch, if it is queued; as it was sent, if not.
    fn arrive_at_switch(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<SwitchArrival, DatapathError>;
    /// Hands a frame to the host at the end of its wire. It is no frame any more.
    fn arrive_at_host(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<HostArrival, DatapathError>;
    /// Marks congestion in a packet that leaves a switch.
    fn mark(&mut self, frame: FrameId);
    /// Forgets a frame.
    fn discard(&mut self, frame: FrameId);
    /// A frame's length in bytes without FCS.
    fn length(&self, frame: FrameId) -> u32;
    /// A frame's priority; none of a PFC frame.
    fn priority(&self, frame: FrameId) -> Option<u8>;
    /// What a frame is.
    fn kind(&self, frame: FrameId) -> FrameKind;
    /// The bytes of a frame as it crosses `wire`, in `buffer` if they are written first.
    fn bytes<'a>(&'a self, wire: WireId, frame: FrameId, buffer: &'a mut Vec<u8>) -> &'a [u8];
    /// Frames that the substrate knows to have lost; read once, at the end.
    fn substrate_losses(&mut self) -> u64;
}

impl HostArrival {
    /// What a NIC makes of a frame's bytes, by their destination.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        match bytes.first_chunk() {
            Some(&mac_control::DESTINATION) => PfcFrame::parse(bytes).map(Self::Pfc),
            Some(&link_delay::DESTINATION) => LinkDelayFrame::parse(bytes).map(Self::LinkDelay),
            _ => RocePacket::parse(bytes).map(Self::Roce),
        }
    }
}

impl FrameKind {
    /// Of a RoCEv2 packet.
    pub fn of_roce(packet: &RocePacket) -> Self {
        match (packet.opcode, packet.aeth) {
            (Opcode::Cnp, _) => Self::Cnp,
            (
                Opcode::Acknowledge,
                Some(AethFields { syndrome: Syndrome::NakSequenceError, .. }),
            ) => Self::Nak,
            (Opcode::Acknowledge, _) => Self::Ack,
            _ => Self::Data,
        }
    }

    /// Of a PFC frame.
    pub fn of_pfc(pfc: &PfcFrame) -> Self {
        let stops = (0..8).any(|class| pfc.quanta_of(class).is_some_and(|quanta| quanta != 0));
        if stops { Self::Pause } else { Self::Resume }
    }
}
