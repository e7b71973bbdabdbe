//! A flow, and what all flows of a workload have in common.

use std::sync::Arc;

use serde::Serialize;
use topology::{HostId, WireId};
use units::{BitsPerSecond, Bytes, Picos};

use super::distribution::SizeDistribution;
use super::random::RandomStream;

/// One transfer of bytes from a host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Dense from 0, in order of start; flows of one start are in the order of the file.
    pub id: u32,
    /// The place of its workload among those of the scenario.
    pub workload: u32,
    /// What the file calls it, or the workload it belongs to.
    pub label: Arc<str>,
    /// The sender.
    pub source: HostId,
    /// The receiver; never the sender.
    pub destination: HostId,
    /// Bytes to transfer, above zero.
    pub bytes: Bytes,
    /// When the sender has them; before the run's end.
    pub start: Picos,
    /// 0 to 7.
    pub priority: u8,
    /// The UDP source port of its packets, if it is given.
    pub source_port: Option<u16>,
    /// The wires that its packets cross, if they are given.
    pub path: Option<Arc<[WireId]>>,
    /// Whether it is meant to outlast the run: `bytes` is then what its sender's link carries until
    /// the run's end, headers not counted, so that it cannot complete; it is not missing when it
    /// has not.
    pub long_lived: bool,
}

impl Flow {
    /// A flow that ends with its bytes, and has neither a number yet nor a port or path of its own.
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
            path: None,
            long_lived: false,
        }
    }
}

/// When flows may start: from `start` up to and without `stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub start: Picos,
    /// The first instant that is too late; after `start`.
    pub stop: Picos,
}

/// The priority of a workload's flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum PriorityChoice {
    /// One for all, 0 to 7.
    #[serde(rename = "priority")]
    Fixed(u8),
    /// Each flow draws one of these; never empty. One that is listed twice is drawn twice as often.
    #[serde(rename = "priorities")]
    Drawn(Vec<u8>),
}

impl PriorityChoice {
    /// Whether flows may have this one.
    pub fn includes(&self, priority: u8) -> bool {
        match self {
            Self::Fixed(fixed) => *fixed == priority,
            Self::Drawn(list) => list.contains(&priority),
        }
    }

    /// A flow's priority.
    pub fn draw(&self, random: &mut RandomStream) -> u8 {
        match self {
            Self::Fixed(priority) => *priority,
            Self::Drawn(list) => *random.pick(list),
        }
    }
}

/// How many bytes a workload's flows have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeChoice {
    /// All the same, above zero.
    Fixed(Bytes),
    /// Each flow draws its size.
    Drawn(Arc<SizeDistribution>),
}

impl SizeChoice {
    /// A flow's bytes.
    pub fn draw(&self, random: &mut RandomStream) -> Bytes {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Drawn(distribution) => distribution.draw(random),
        }
    }

    /// The mean in bytes, with 16 fractional bits.
    pub fn mean_q16(&self) -> u128 {
        match self {
            Self::Fixed(bytes) => u128::from(bytes.0) << 16,
            Self::Drawn(distribution) => distribution.mean_q16(),
        }
    }
}

/// A number of bytes, or no end before the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This many, above zero.
    Bytes(Bytes),
    /// The flow lasts until the run ends.
    Unlimited,
}

impl Length {
    /// The bytes of a flow that a link of `rate` could carry for `span`, and whether it is
    /// long-lived.
    pub fn resolve(self, rate: BitsPerSecond, span: Picos) -> (Bytes, bool) {
        match self {
            Self::Bytes(bytes) => (bytes, false),
            Self::Unlimited => (rate.bytes_in(span).max(Bytes(1)), true),
        }
    }
}

/// What every flow of a workload carries, and where its random numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The label in results.
    pub label: Arc<str>,
    /// The priority.
    pub priority: PriorityChoice,
    /// Names the workload's random streams: [`super::random::key_of`].
    pub key: u64,
}

impl Stamp {
    /// The random stream of one member of the workload.
    pub fn random(&self, seed: u64, member: u64) -> RandomStream {
        RandomStream::new(seed, self.key, member)
    }

    /// A flow that has no number yet.
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
