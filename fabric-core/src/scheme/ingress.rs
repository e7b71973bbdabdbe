//! Arguments of a scheme's decisions: an ingress queue with its port and switch, and a packet.

use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::hop_control::{ClassPauses, HopControl, Order, PauseLevel};
use crate::map_abi::{EgressQueue, IngressQueue, Port, SwitchConfig, SwitchState, class_row};
use crate::policy::Policy;
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::routing::queue_hash;
use crate::tables::Tables;
use crate::threshold::shared_free;
use units::Nanos;

/// The ingress queue of one (port, priority).
#[derive(Debug)]
pub struct Ingress<'a, T> {
    /// The switch's tables.
    pub tables: &'a T,
    /// The switch's policy.
    pub policy: Policy,
    /// The configuration.
    pub config: &'a SwitchConfig,
    /// The switch's totals.
    pub switch: &'a SwitchState,
    /// Port number.
    pub port_number: u32,
    /// The port.
    pub port: &'a Port,
    /// The queue.
    pub queue: &'a IngressQueue,
    /// The queue's priority.
    pub priority: Priority,
}

impl<T> Clone for Ingress<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ingress<'_, T> {}

/// A packet to be admitted or dropped.
#[derive(Debug)]
pub struct Arriving<'a, T> {
    /// Ingress queue of the packet.
    pub ingress: Ingress<'a, T>,
    /// Port by which the packet leaves.
    pub egress_port: u32,
    /// Egress queue that the packet joins.
    pub queue: QueueId,
    /// The egress queue's row.
    pub egress: &'a EgressQueue,
    /// The packet's headers.
    pub fields: &'a Ipv4Fields,
    /// Length of the packet, bytes.
    pub length: u64,
    /// Arrival time of the packet, which is now.
    pub now: Nanos,
}

impl<T> Clone for Arriving<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Arriving<'_, T> {}

impl<T> Arriving<'_, T> {
    /// Returns the hash of the packet's flow by which switches choose queues.
    #[inline(always)]
    pub fn flow_hash(&self) -> u32 {
        self.ingress.queue_hash(self.fields)
    }
}

/// A packet that the scheduler has chosen, before it releases its buffer.
#[derive(Debug)]
pub struct Leaving<'a, T> {
    /// Ingress queue of the packet.
    pub ingress: Ingress<'a, T>,
    /// Port by which the packet leaves.
    pub egress_port: u32,
    /// Egress queue that the packet leaves.
    pub queue: QueueId,
    /// The egress queue's row, which still counts the packet.
    pub egress: &'a EgressQueue,
    /// Length of the packet, bytes.
    pub length: u64,
    /// Time of admission.
    pub arrived: Nanos,
    /// Time now.
    pub now: Nanos,
    /// Note from [`Scheme::enqueued`](super::Scheme::enqueued).
    pub note: u32,
    /// True if the packet is marked as part of its flow's first round trip.
    pub first_rtt: bool,
}

impl<T> Clone for Leaving<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Leaving<'_, T> {}

/// Decision about a packet that the scheduler has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send the packet with these changes.
    Send(Changes),
    /// Drop the packet.
    Drop(DropReason),
    /// Move the packet to the end of another queue of its port.
    Requeue(QueueId),
}

/// Changes of a packet that is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// True if congestion is marked.
    pub mark: bool,
}

/// Bytes and state of a port, if the scheme counts per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortUse {
    /// Bytes of the port's queues in the shared pool.
    pub shared_bytes: u64,
    /// Bytes in the port's headroom.
    pub headroom_bytes: u64,
    /// True if all lossless classes of the port's neighbour are paused because of the port.
    pub off: bool,
}

/// The state of an ingress port or queue, if the scheme has states (SPFC, Fig. 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngressState {
    /// True for a victim of congestion elsewhere, false for normal.
    pub victim: bool,
    /// True if a PAUSE keeps the state normal.
    pub paused: bool,
    /// True if the state was victim at the last PAUSE of the neighbour.
    pub victim_before_pause: bool,
    /// End of the period in which the state was last updated.
    pub period_ends: Nanos,
}

/// Distribution of flows over the queues of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowUse {
    /// Flows with packets in the switch that leave by the port. Flows that share a table entry count as one.
    pub flows: u32,
    /// Queues of the port that hold packets.
    pub queues: u32,
    /// Queues of the port that the neighbour has paused.
    pub paused: u32,
    /// Queues of the neighbour that the switch has paused.
    pub pausing: u32,
    /// Times that a flow without packets received one.
    pub activations: u32,
    /// Times that the flow's queue held other packets at that moment.
    pub collisions: u32,
}

impl<T> Ingress<'_, T> {
    /// Returns the hash of a packet's flow by which the switch chooses queues.
    #[inline(always)]
    pub fn queue_hash(&self, fields: &Ipv4Fields) -> u32 {
        queue_hash(fields, self.config.ecmp_seed)
    }
}

impl<'a, T: Tables> Ingress<'a, T> {
    /// Returns the ingress queue of (`port`, `priority`). `None` if it does not exist.
    #[inline(always)]
    pub fn new(tables: &'a T, policy: Policy, port: u32, priority: Priority) -> Option<Self> {
        let config = tables.config()?;
        Some(Self {
            tables,
            policy,
            config,
            switch: tables.switch()?,
            port_number: port,
            port: tables.port(port)?,
            queue: tables.ingress_queue(class_row(port, priority))?,
            priority,
        })
    }

    /// Returns the queue of another priority at this port.
    #[inline(always)]
    pub fn sibling(&self, priority: Priority) -> Option<Self> {
        let row = class_row(self.port_number, priority);
        Some(Self { queue: self.tables.ingress_queue(row)?, priority, ..*self })
    }

    /// Free bytes of the shared pool.
    #[inline(always)]
    pub fn shared_free(&self) -> u64 {
        shared_free(self.config, self.switch)
    }

    /// Returns the order to pause the queue's class.
    #[inline(always)]
    pub fn pause_queue(&self, xoff: u64) -> Order {
        let pauses = ClassPauses::xoff(self.priority.bit(), self.config.pause_quanta);
        self.order(pauses, false, xoff)
    }

    /// Returns the order to resume the queue's class.
    #[inline(always)]
    pub fn resume_queue(&self, xon: u64) -> Order {
        self.order(ClassPauses::xon(self.priority.bit()), true, xon)
    }

    /// Returns the order to limit the rate of the queue's priority. The threshold `limit` is the reason.
    #[inline(always)]
    pub fn limit_rate(&self, kilobits_per_second: u32, limit: u64) -> Order {
        let control = HopControl::Rate { priority: self.priority, kilobits_per_second };
        Order { control, ..self.order(ClassPauses::default(), false, limit) }
    }

    #[inline(always)]
    fn order(&self, pauses: ClassPauses, resumes: bool, threshold_bytes: u64) -> Order {
        Order {
            control: HopControl::Classes(pauses),
            level: PauseLevel::Queue,
            resumes,
            pause: self.queue.pauses.load(),
            occupancy_bytes: self.queue.shared_bytes.load() + self.queue.headroom_bytes.load(),
            threshold_bytes,
            shared_free_bytes: self.shared_free(),
        }
    }
}
