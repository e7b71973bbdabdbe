//! The arguments of a scheme's decisions: an ingress queue with its port and switch, and a packet.

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
    /// The policy that the switch runs.
    pub policy: Policy,
    /// The configuration.
    pub config: &'a SwitchConfig,
    /// The switch's totals.
    pub switch: &'a SwitchState,
    /// Number of the port.
    pub port_number: u32,
    /// The port.
    pub port: &'a Port,
    /// The queue.
    pub queue: &'a IngressQueue,
    /// Its priority.
    pub priority: Priority,
}

impl<T> Clone for Ingress<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ingress<'_, T> {}

/// A packet that is to be admitted or dropped.
#[derive(Debug)]
pub struct Arriving<'a, T> {
    /// The ingress queue that it came to.
    pub ingress: Ingress<'a, T>,
    /// The port where it leaves.
    pub egress_port: u32,
    /// The egress queue that it is bound for.
    pub queue: QueueId,
    /// Its row.
    pub egress: &'a EgressQueue,
    /// Its headers.
    pub fields: &'a Ipv4Fields,
    /// Its length.
    pub length: u64,
    /// When it came in: now.
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
    /// The hash of its flow by which switches choose queues.
    #[inline(always)]
    pub fn flow_hash(&self) -> u32 {
        self.ingress.queue_hash(self.fields)
    }
}

/// A packet that the scheduler has chosen, before it gives back what it holds.
#[derive(Debug)]
pub struct Leaving<'a, T> {
    /// The ingress queue that it came to.
    pub ingress: Ingress<'a, T>,
    /// The port where it leaves.
    pub egress_port: u32,
    /// The queue that it was in.
    pub queue: QueueId,
    /// Its row; the packet is still counted there.
    pub egress: &'a EgressQueue,
    /// Its length.
    pub length: u64,
    /// When it was admitted.
    pub arrived: Nanos,
    /// Now.
    pub now: Nanos,
    /// What [`Scheme::enqueued`](super::Scheme::enqueued) has kept of it.
    pub note: u32,
    /// Whether it is marked as a packet of its flow's first round trip.
    pub first_rtt: bool,
}

impl<T> Clone for Leaving<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Leaving<'_, T> {}

/// What becomes of a packet that the scheduler has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent, with these changes.
    Send(Changes),
    /// It is dropped.
    Drop(DropReason),
    /// It goes to the end of another queue of its port.
    Requeue(QueueId),
}

/// What is changed in a packet that is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Congestion is marked.
    pub mark: bool,
}

/// What a port holds, if the scheme counts by port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortUse {
    /// Bytes of its queues in the shared pool.
    pub shared_bytes: u64,
    /// Bytes in the port's headroom.
    pub headroom_bytes: u64,
    /// Whether all lossless classes of its neighbour are paused because of the port.
    pub off: bool,
}

/// The state of an ingress port or queue, if the scheme has states (SPFC, Fig. 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngressState {
    /// Whether it is a victim of congestion elsewhere, and not normal.
    pub victim: bool,
    /// Whether a PAUSE keeps it normal.
    pub paused: bool,
    /// Whether it was a victim when it last paused its neighbour.
    pub victim_before_pause: bool,
    /// When the period ends in which it was last brought up to date.
    pub period_ends: Nanos,
}

/// How flows are spread over the queues of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowUse {
    /// Flows with packets in the switch that leave by the port; those that share an entry of its table count as one.
    pub flows: u32,
    /// Its queues that hold packets.
    pub queues: u32,
    /// Its queues that the neighbour has paused.
    pub paused: u32,
    /// Queues of the neighbour that the switch has paused.
    pub pausing: u32,
    /// How often a flow came to have packets.
    pub activations: u32,
    /// How often its queue held other packets then.
    pub collisions: u32,
}

impl<T> Ingress<'_, T> {
    /// The hash of a packet's flow by which the switch chooses queues.
    #[inline(always)]
    pub fn queue_hash(&self, fields: &Ipv4Fields) -> u32 {
        queue_hash(fields, self.config.ecmp_seed)
    }
}

impl<'a, T: Tables> Ingress<'a, T> {
    /// The ingress queue of (`port`, `priority`), if there is one.
    #[inline(always)]
    pub fn of(tables: &'a T, policy: Policy, port: u32, priority: Priority) -> Option<Self> {
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

    /// The queue of another priority at the same port.
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

    /// A PAUSE of the queue's class.
    #[inline(always)]
    pub fn pause_queue(&self, xoff: u64) -> Order {
        let pauses = ClassPauses::xoff(self.priority.bit(), self.config.pause_quanta);
        self.order(pauses, false, xoff)
    }

    /// A RESUME of it.
    #[inline(always)]
    pub fn resume_queue(&self, xon: u64) -> Order {
        self.order(ClassPauses::xon(self.priority.bit()), true, xon)
    }

    /// A rate for the queue's priority, because of the threshold `limit`.
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
