//! Datapaths: the transport of frames from node to node, and the arrival functions of switches.
//!
//! A datapath has two parts: a [`FrameStore`], which keeps frames, and [`Wires`], which carry frames for the engine
//! and report arrivals. The engine, the hosts, the switches and the results do not depend on the datapath.

#[cfg(feature = "kernel")]
pub mod kernel;
pub mod memory;
mod slab;

use fabric_core::arrival::Outcome;
use fabric_core::cell::Sharing;
use fabric_core::hop_control::{HopControl, Order};
use fabric_core::queue::QueueId;
use fabric_core::wire::ipv4::Ecn;
use fabric_core::wire::tcp::{Direction, SackBlocks};
use fabric_core::wire::telemetry::{Stamp, Stamps};
use fabric_core::wire::{
    AethFields, HopControlFrame, LinkDelayFrame, Opcode, Packet, ParseError, PfcFrame, RocePacket,
    Syndrome, TcpSegment, experimental, mac_control,
};
use host_agent::frame_length::FrameLengths;
use switch_user::tables::SwitchTables;
use topology::{WireEnds, WireId};
use units::{Nanos, Picos};

use crate::partition::Partition;
use crate::queue_pairs;
use crate::wire_timing::Timing;
pub use slab::FrameId;

/// A frame's kind, for capture filters and injected faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// RDMA WRITE, or a TCP segment of the end that sends data.
    Data,
    /// ACK, of RoCEv2 or TCP.
    Ack,
    /// NAK.
    Nak,
    /// Congestion notification packet.
    Cnp,
    /// PFC frame that stops at least one class.
    Pause,
    /// PFC frame that only resumes.
    Resume,
    /// Hop control frame other than PFC.
    HopControl,
    /// Link delay frame, a request or a response.
    LinkDelay,
    /// Frame of a program in a host's namespace.
    Foreign,
}

/// Hop control frames due after an arrival, with their frames where the pipeline has built them.
pub type Orders = Vec<(Order, Option<FrameId>)>;

/// Frame received by a host's NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostArrival {
    /// A RoCEv2 packet or TCP segment.
    Packet(Packet),
    /// A hop control frame, PFC or another.
    HopControl(HopControl),
    /// A link delay frame.
    LinkDelay(LinkDelayFrame),
    /// A frame for the host's kernel stack.
    Foreign,
}

/// A frame that has crossed a wire.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// The wire.
    pub wire: WireId,
    /// Both ends of the wire.
    pub ends: WireEnds,
    /// Accounted frame length, bytes, without FCS.
    pub length: u32,
    /// The timing of the wire.
    pub timing: Timing,
    /// Current instant, at which its last bit arrives.
    pub now: Picos,
}

impl Crossing {
    /// Beginning of its transmission, if faults made it `late`. The memory datapath does not use it.
    pub fn started(&self, late: Picos) -> Nanos {
        self.timing.started(self.now - late, self.length).to_nanos()
    }
}

/// A frame that a switch begins to send.
#[derive(Clone, Copy, Debug)]
pub struct Departing<'a> {
    /// The switch.
    pub switch: u32,
    /// Its tables.
    pub tables: &'a SwitchTables,
    /// Its port.
    pub port: u16,
    /// Accounted frame length, bytes, without FCS.
    pub length: u32,
    /// Current instant, at which its transmission begins.
    pub now: Nanos,
}

/// The machine below the emulation failed, so the run's results would be wrong.
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
        /// Instant at which it should have arrived.
        now: Nanos,
        /// Time for which the engine waited.
        waited_ms: u64,
    },
    /// A frame arrived that was not the sent one.
    #[error(
        "wire {wire}: {what} arrived at {now}; another program sends into the fabric's namespaces, \
             so the run's results would be wrong"
    )]
    Foreign {
        /// Name of the wire.
        wire: String,
        /// Description of the frame that arrived.
        what: String,
        /// Instant of the arrival.
        now: Nanos,
    },
    /// A frame could not be sent.
    #[error("wire {wire}: {source}")]
    Send {
        /// Name of the wire.
        wire: String,
        /// Reason for the failure.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A host cannot send.
    #[cfg(feature = "kernel")]
    #[error("host {host}: {source}; leave the interface of its wire alone")]
    Host {
        /// Its name.
        host: String,
        /// Reason for the failure.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The switch's program misbehaved.
    #[cfg(feature = "kernel")]
    #[error("switch {switch}: {source}")]
    Program {
        /// Name of the switch.
        switch: String,
        /// Reason for the failure.
        source: switch_user::program::ProgramError,
    },
}

/// Rare data of a packet, which a store may keep beside its frame.
#[derive(Clone, Copy, Debug)]
pub enum Aside {
    /// Stamps of telemetry.
    Stamps(Stamps),
    /// SACK blocks.
    Sack(SackBlocks),
}

/// Accounted length of a packet with `payload` bytes, whose frame has `own` bytes.
#[inline(always)]
fn counted(lengths: FrameLengths, payload: u16, own: usize) -> u32 {
    let counted = lengths.packet(payload.into(), own as u64);
    debug_assert!(counted <= u32::MAX.into());
    (counted & 0xffff_ffff) as u32
}

/// Keeps the frames of a part of the fabric.
pub trait FrameStore {
    /// A frame on its way from one store to another.
    type Frame: Send;

    /// Removes a frame from the store. Data kept beside it is appended to `aside`.
    fn take(&mut self, frame: FrameId, aside: &mut Vec<Aside>) -> Self::Frame;
    /// Adds a frame that another store has given away. Data kept beside it is the next of `aside`.
    fn put(&mut self, frame: Self::Frame, aside: &mut impl Iterator<Item = Aside>) -> FrameId;
    /// The frame of a packet that a host sends on `wire`, with stamps that it echoes. Its source address names `queue`.
    fn packet(
        &mut self,
        wire: WireId,
        packet: &Packet,
        queue: QueueId,
        stamps: &[Stamp],
    ) -> FrameId;
    /// The frame of a hop control message from the MAC address `source` to its neighbour.
    fn hop_control(&mut self, source: [u8; 6], control: &HopControl) -> FrameId;
    /// The frame of a link delay message.
    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId;
    /// The message of a link delay frame.
    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame;
    /// Marks congestion in a packet that leaves a switch.
    fn mark(&mut self, frame: FrameId);
    /// True if a packet says that it may be marked. In memory only: elsewhere the switch asks.
    fn is_ecn_capable(&self, _frame: FrameId) -> bool {
        unreachable!("the kernel's switches ask")
    }
    /// Adds a switch's stamp to a packet that leaves it, if the packet has telemetry.
    fn stamp(&mut self, frame: FrameId, stamp: Stamp);
    /// A packet's stamps, first hop first; empty for other frames.
    fn stamps(&self, frame: FrameId) -> &[Stamp];
    /// Announces that a frame is needed soon, so that the processor can load it.
    fn prefetch(&self, _frame: FrameId) {}
    /// Sets the delay of a sent frame against a wire without faults.
    fn set_late(&mut self, _frame: FrameId, _late: Picos) {}
    /// Removes a frame.
    fn discard(&mut self, frame: FrameId);
    /// Rules for the accounted lengths of frames.
    fn lengths(&self) -> FrameLengths;
    /// Accounted length of a frame: its length in bytes without FCS, unless the scenario sets another rule.
    fn length(&self, frame: FrameId) -> u32;
    /// Accounted length of a packet's frame.
    #[inline(always)]
    fn length_of(&self, packet: &Packet) -> u32 {
        counted(self.lengths(), packet.payload_length(), packet.frame_length())
    }
    /// A frame's priority; `None` for frames other than packets.
    fn priority(&self, frame: FrameId) -> Option<u8>;
    /// The flow of a packet; `None` for other frames.
    fn flow(&self, frame: FrameId) -> Option<u32>;
    /// Kind of a frame.
    fn kind(&self, frame: FrameId) -> FrameKind;
    /// Label of a frame in a log.
    fn label(&self, frame: FrameId) -> FrameLabel;
    /// The bytes of a frame as it crosses `wire`. A store that keeps no bytes writes them to `buffer`.
    fn bytes<'a>(&'a self, wire: WireId, frame: FrameId, buffer: &'a mut Vec<u8>) -> &'a [u8];
}

/// The wires that lead to the nodes of a part of the fabric. Whether they share the tables of its switches with user
/// space is a constant of each datapath.
pub trait Wires: Sharing + Sized + Send {
    /// The store of the frames that they carry.
    type Frames: FrameStore + Send;

    /// Divides the wires of a whole fabric, and their empty store, among the parts of a partition.
    fn divide(self, frames: Self::Frames, partition: &Partition) -> Vec<(Self, Self::Frames)>;

    /// Joins all parts of a division again.
    fn join(parts: Vec<Self>) -> Self;

    /// A switch begins to send a frame out of a port, now.
    fn depart(&mut self, frames: &mut Self::Frames, departing: &Departing<'_>, frame: FrameId);

    /// Sends a frame now, when its last bit arrives at the end of its wire. One of the two `poll` methods returns
    /// the receiving node's result.
    fn send(
        &mut self,
        frames: &mut Self::Frames,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<(), DatapathError>;

    /// Returns true if the switch with these tables is done with the frame that was sent to it. If so, writes the
    /// result to `outcome`, and appends the hop control frames that are due at the port to `orders`. The store
    /// keeps the frame in any case: as it will leave the switch, if it is queued, otherwise as it was sent.
    fn poll_switch(
        &mut self,
        frames: &mut Self::Frames,
        crossing: &Crossing,
        tables: &SwitchTables,
        frame: FrameId,
        outcome: &mut Outcome,
        orders: &mut Orders,
    ) -> Result<bool, DatapathError>;

    /// Runs [`poll_switch`](Self::poll_switch) with the port by which `route` sends a RoCEv2 packet, in place of the
    /// switch's own routes. In memory only: no scenario for the kernel asks for it.
    fn poll_routed(
        &mut self,
        _frames: &mut Self::Frames,
        _crossing: &Crossing,
        (_tables, _route): (&SwitchTables, &impl Fn(&RocePacket) -> Option<u16>),
        _frame: FrameId,
        _outcome: &mut Outcome,
        _orders: &mut Orders,
    ) -> Result<bool, DatapathError> {
        unreachable!("the kernel's switches have their own routes")
    }

    /// The arrival at a host of the frame that was sent to it, if it has arrived. The store keeps the frame.
    fn poll_host(
        &mut self,
        frames: &mut Self::Frames,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<Option<HostArrival>, DatapathError>;

    /// Waits for the frame that was sent, after `attempts` polls without a result.
    fn wait(&self, crossing: &Crossing, attempts: u32) -> Result<(), DatapathError>;

    /// Number of frames that the substrate knows to have lost; read once, at the end.
    fn substrate_losses(&mut self) -> u64;
}

/// A fabric that is up and configured.
pub struct Deployed<W: Wires> {
    /// The store of its frames.
    pub frames: W::Frames,
    /// Its wires.
    pub wires: W,
    /// The tables of its switches.
    pub tables: Vec<SwitchTables>,
}

impl HostArrival {
    /// Parses the bytes of a frame at a NIC, by their destination.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        match bytes.first_chunk() {
            Some(&mac_control::DESTINATION) => {
                let PfcFrame { class_enable, quanta, .. } = PfcFrame::parse(bytes)?;
                Ok(Self::HopControl(HopControl::pfc(class_enable, quanta)))
            }
            Some(&experimental::DESTINATION) => match HopControlFrame::parse(bytes) {
                Ok(frame) => Ok(Self::HopControl(frame.control)),
                Err(ParseError::ExperimentalProtocol(_)) => {
                    LinkDelayFrame::parse(bytes).map(Self::LinkDelay)
                }
                Err(error) => Err(error),
            },
            _ => Packet::parse(bytes).map(Self::Packet),
        }
    }
}

/// Label of a frame in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameLabel {
    /// A packet.
    Packet {
        /// Kind of the packet.
        kind: FrameKind,
        /// Its flow.
        flow: u32,
        /// Its PSN or sequence number; the acknowledged number for an ACK of TCP.
        sequence: u32,
        /// Its priority.
        priority: u8,
        /// True if it carries an ECN mark.
        marked: bool,
    },
    /// A message between neighbours about what may be sent.
    HopControl(HopControl),
    /// Another frame.
    Other,
}

impl FrameLabel {
    /// Label of a RoCEv2 packet.
    pub fn from_roce(packet: &RocePacket) -> Self {
        Self::Packet {
            kind: FrameKind::from_roce(packet),
            flow: queue_pairs::flow_of_roce(packet),
            sequence: packet.psn.value(),
            priority: packet.dscp >> 3,
            marked: packet.ecn == Ecn::CongestionExperienced,
        }
    }

    /// Label of a TCP segment.
    pub fn from_segment<S>(segment: &TcpSegment<S>) -> Self {
        let kind = FrameKind::from_segment(segment);
        let sequence = match kind {
            FrameKind::Data => segment.sequence,
            _ => segment.acknowledgement,
        };
        let (flow, priority) = (queue_pairs::flow_of_segment(segment), segment.dscp >> 3);
        Self::Packet {
            kind,
            flow,
            sequence,
            priority,
            marked: segment.ecn == Ecn::CongestionExperienced,
        }
    }
}

impl FrameKind {
    /// Kind of a packet.
    pub fn from_packet(packet: &Packet) -> Self {
        match packet {
            Packet::Roce(packet) => Self::from_roce(packet),
            Packet::Tcp(segment) => Self::from_segment(segment),
        }
    }

    /// Kind of a TCP segment: segments from the end that sends data are data, SYN included.
    pub fn from_segment<S>(segment: &TcpSegment<S>) -> Self {
        match segment.ports.connection() {
            Some((_, Direction::FromServer)) => Self::Ack,
            _ => Self::Data,
        }
    }

    /// Kind of a RoCEv2 packet.
    pub fn from_roce(packet: &RocePacket) -> Self {
        match (packet.opcode, packet.aeth) {
            (Opcode::Cnp, _) => Self::Cnp,
            (Opcode::Acknowledge, Some(AethFields { syndrome: Syndrome::Ack, .. }) | None) => {
                Self::Ack
            }
            (Opcode::Acknowledge, Some(_)) => Self::Nak,
            _ => Self::Data,
        }
    }

    /// Kind of a hop control frame.
    pub fn from_hop_control(control: &HopControl) -> Self {
        match control {
            HopControl::Classes(pauses) if pauses.paused() != 0 => Self::Pause,
            HopControl::Classes(_) => Self::Resume,
            _ => Self::HopControl,
        }
    }
}
