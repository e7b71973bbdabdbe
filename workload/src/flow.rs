//! A flow, and parameters that all flows of a workload share.

use std::sync::Arc;

use serde::Serialize;
use topology::{HostId, WireId};
use units::{BitsPerSecond, Bytes, Picos};

use super::distribution::SizeDistribution;
use super::random::RandomStream;

/// A transfer of bytes from one host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number from 0, consecutive in order of start time; flows with equal start times are in the
    /// order of the file.
    pub id: u32,
    /// Index of the workload in the scenario.
    pub workload: u32,
    /// Label of the flow or of its workload.
    pub label: Arc<str>,
    /// Sending host.
    pub source: HostId,
    /// Receiving host; never the sender.
    pub destination: HostId,
    /// Bytes to transfer, above zero.
    pub bytes: Bytes,
    /// Start time; before the run's end.
    pub start: Picos,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// UDP source port of its packets, if a list gives it, or a stream counts it.
    pub source_port: Option<u16>,
    /// UDP destination port of its packets, if a stream counts it.
    pub destination_port: Option<u16>,
    /// Wires that its packets cross, if a list gives the path.
    pub path: Option<Arc<[WireId]>>,
    /// True if the flow is meant to outlast the run. `bytes` is then the number of bytes that its
    /// sender's link can carry until the run's end, without headers, so that the flow cannot
    /// complete, and does not count as missing.
    pub long_lived: bool,
}

impl Flow {
    /// Returns a flow with a fixed size, without a number, source port or path.
    pub const fn new(
        label: Arc<str>,
        (source, destination): (HostId, HostId),
        bytes: Bytes,
        start: Picos,
        priority: u8,
    ) -> Self {
        Self {
            id: 0,
            workload: 0,
            label,
            source,
            destination,
            bytes,
            start,
            priority,
            source_port: None,
            destination_port: None,
            path: None,
            long_lived: false,
        }
    }
}

/// Time span in which flows may start: `[start, stop)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First instant.
    pub start: Picos,
    /// End, exclusive; after `start`.
    pub stop: Picos,
}

/// Priority of a workload's flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum PriorityChoice {
    /// One priority for all flows, 0 to 7.
    #[serde(rename = "priority")]
    Fixed(u8),
    /// Priorities from which each flow draws one; never empty. A priority that is listed twice is
    /// drawn twice as often.
    #[serde(rename = "priorities")]
    Drawn(Vec<u8>),
}

impl PriorityChoice {
    /// Returns true if flows may have this priority.
    pub fn includes(&self, priority: u8) -> bool {
        match self {
            Self::Fixed(fixed) => *fixed == priority,
            Self::Drawn(list) => list.contains(&priority),
        }
    }

    /// Draws a flow's priority.
    pub fn draw(&self, random: &mut RandomStream) -> u8 {
        match self {
            Self::Fixed(priority) => *priority,
            Self::Drawn(list) => *random.pick(list),
        }
    }
}

/// Size of a workload's flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeChoice {
    /// One size for all flows, above zero.
    Fixed(Bytes),
    /// A size drawn for each flow.
    Drawn(Arc<SizeDistribution>),
}

impl SizeChoice {
    /// Draws a flow's size.
    pub fn draw(&self, random: &mut RandomStream) -> Bytes {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Drawn(distribution) => distribution.draw(random),
        }
    }

    /// Returns the mean in bytes, with 16 fractional bits.
    pub fn mean_q16(&self) -> u128 {
        match self {
            Self::Fixed(bytes) => u128::from(bytes.0) << 16,
            Self::Drawn(distribution) => distribution.mean_q16(),
        }
    }
}

/// Size of a flow, or no limit within the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Bytes, above zero.
    Bytes(Bytes),
    /// The flow lasts until the run ends.
    Unlimited,
}

impl Length {
    /// Returns the size of a flow, and true if it is long-lived. An unlimited flow has the bytes
    /// that a link of `rate` carries in `span`.
    pub fn resolve(self, rate: BitsPerSecond, span: Picos) -> (Bytes, bool) {
        match self {
            Self::Bytes(bytes) => (bytes, false),
            Self::Unlimited => (rate.bytes_in(span).max(Bytes(1)), true),
        }
    }
}

/// Label, priority and random streams of every flow of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Label in results.
    pub label: Arc<str>,
    /// Priority of the flows.
    pub priority: PriorityChoice,
    /// Key of the workload's random streams: [`super::random::key_of`].
    pub key: u64,
}

impl Stamp {
    /// Returns the random stream of one member of the workload.
    pub fn random(&self, seed: u64, member: u64) -> RandomStream {
        RandomStream::new(seed, self.key, member)
    }

    /// Returns a flow without a number.
    pub fn flow(
        &self,
        hosts: (HostId, HostId),
        (bytes, long_lived): (Bytes, bool),
        start: Picos,
        random: &mut RandomStream,
    ) -> Flow {
        let priority = self.priority.draw(random);
        let flow = Flow::new(self.label.clone(), hosts, bytes, start, priority);
        Flow { long_lived, ..flow }
    }
}
