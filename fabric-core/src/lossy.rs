//! Lossy buffer: how packets of priorities that PFC does not protect share a switch's buffer.
//!
//! Lossy buffer is managed from the egress perspective (DSH, Section II-B): what an egress queue holds decides, whatever
//! scheme the lossless priorities of the switch run. [`BufferManagement`] is what a switch asks; one file has one scheme:
//!
//! | kind | drops at arrival | drops at departure |
//! | --- | --- | --- |
//! | [`dynamic_threshold`] | above alpha times the free buffer (DT) | |
//! | [`complete_sharing`] | where no buffer is free (CS) | |
//! | [`active`] | as DT, with alpha divided by congested queues and times the drain rate (ABM) | |
//! | [`bshare`] | as CS | what has waited longer than theta (BSHARE) |
//! | [`flow_aware`] | as DT, with a larger alpha for flows that have sent little (FAB) | |
//! | [`intelligent`] | as DT, and by chance what is beyond its fair share; the first packets of flows may join another queue (IB) | |
//!
//! On top of each, [`codel`] may drop at departure what the scheme does not.
//!
//! Where no buffer is free, every scheme drops. The buffer is the shared pool, or a pool of its own
//! ([`SwitchConfig::lossy_pool_bytes`](crate::map_abi::SwitchConfig::lossy_pool_bytes)).
//!
//! # Which methods are called when
//!
//! A lossy packet arrives: [`queue`](BufferManagement::queue), [`admit`](BufferManagement::admit). It is chosen by the
//! scheduler: [`at_departure`](BufferManagement::at_departure), and if it is not dropped,
//! [`sent`](BufferManagement::sent). Once in a period [`update`](BufferManagement::update) counts what needs no
//! packet. `queue` changes no state. `admit` may count the arrival; the packet may still be dropped after it, if there is no
//! free descriptor.
//!
//! # Adding a scheme
//!
//! A file here with a type that implements the trait; a kind of [`LossyKind`](crate::policy::LossyKind); its settings in
//! [`settings`]; its line in the table above. State is lines of `LOSSY_LINES` ([`state`]).

pub mod active;
pub mod bshare;
pub mod codel;
pub mod complete_sharing;
pub mod congestion;
pub mod dynamic_threshold;
pub mod flow_aware;
pub mod flow_table;
pub mod intelligent;
mod selected;
pub mod settings;
pub mod state;

use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::map_abi::{EgressQueue, SwitchConfig, SwitchState};
use crate::policy::Policy;
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::scheme::{Arriving, Ingress, Leaving};
use crate::tables::Tables;
use units::Nanos;

pub use selected::Selected;
pub use settings::{
    CoDel, FairDropping, FairShares, FlowTable, Kind, Prioritisation, Ratio, Settings,
};

/// CoDel, in the options of any kind's policy ([`Policy::lossy_options`]).
pub const OPTION_CODEL: u32 = 1 << 31;

/// How lossy packets share the buffer. Every method is a decision that the pipeline asks for; time and state are
/// arguments.
pub trait BufferManagement {
    /// The egress queue of a packet for which the switch's scheme has chosen `queue`. Changes no state.
    #[inline(always)]
    fn queue<T: Tables>(
        _at: &Ingress<'_, T>,
        _egress_port: u32,
        _now: Nanos,
        _fields: &Ipv4Fields,
        queue: QueueId,
    ) -> QueueId {
        queue
    }

    /// How many bytes an egress queue may hold with a packet that is, or is not, at the start of its flow. `None`: as many
    /// as are free.
    fn threshold<T: Tables>(at: &Egress<'_, T>, first: bool) -> Option<u64>;

    /// Whether the buffer takes a packet.
    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<(), DropReason> {
        let at = Egress::of_arriving(packet);
        let threshold = Self::threshold(&at, packet.fields.is_first_rtt());
        at.admit(packet.length, threshold)
    }

    /// How long a packet may wait, if one may not wait for ever; for results.
    #[inline(always)]
    fn longest_wait<T: Tables>(_at: &Egress<'_, T>, _first_rtt: bool) -> Option<Nanos> {
        None
    }

    /// Why a packet whose turn it is is dropped, if it is.
    #[inline(always)]
    fn at_departure<T: Tables>(_packet: &Leaving<'_, T>) -> Option<DropReason> {
        None
    }

    /// A packet has given back its buffer, to be sent; it is still counted in its queue.
    #[inline(always)]
    fn sent<T: Tables>(_packet: &Leaving<'_, T>) {}

    /// Called by the control plane once in a [period](Settings::period): counts congested queues, computes rates.
    fn update<T: Tables>(_tables: &T, _policy: Policy, _now: Nanos) {}
}

/// An egress queue with its switch.
#[derive(Debug)]
pub struct Egress<'a, T> {
    /// The switch's tables.
    pub tables: &'a T,
    /// The policy that the switch runs.
    pub policy: Policy,
    /// The configuration.
    pub config: &'a SwitchConfig,
    /// The switch's totals.
    pub switch: &'a SwitchState,
    /// Number of the port.
    pub port: u32,
    /// The queue.
    pub queue: QueueId,
    /// Its row.
    pub row: &'a EgressQueue,
    /// The priority of the packets in question.
    pub priority: Priority,
}

impl<'a, T: Tables> Egress<'a, T> {
    /// Queue `queue` of a port, which packets of `priority` join; `None` if there is no such queue.
    pub fn of(
        tables: &'a T,
        policy: Policy,
        port: u32,
        queue: QueueId,
        priority: Priority,
    ) -> Option<Self> {
        let config = tables.config()?;
        let switch = tables.switch()?;
        let row = tables.egress_queue(config.queue_row(port, queue))?;
        Some(Self { tables, policy, config, switch, port, queue, row, priority })
    }

    /// The queue that a packet is bound for.
    #[inline(always)]
    pub fn of_arriving(packet: &Arriving<'a, T>) -> Self {
        let Arriving { ingress, egress_port, queue, egress, .. } = *packet;
        Self::with(ingress, egress_port, queue, egress)
    }

    /// The queue that a packet is in.
    #[inline(always)]
    pub fn of_leaving(packet: &Leaving<'a, T>) -> Self {
        let Leaving { ingress, egress_port, queue, egress, .. } = *packet;
        Self::with(ingress, egress_port, queue, egress)
    }

    #[inline(always)]
    fn with(ingress: Ingress<'a, T>, port: u32, queue: QueueId, row: &'a EgressQueue) -> Self {
        let Ingress { tables, policy, config, switch, priority, .. } = ingress;
        Self { tables, policy, config, switch, port, queue, row, priority }
    }

    /// Bytes of the lossy buffer that nobody holds: B - Q(t).
    #[inline(always)]
    pub fn free(&self) -> u64 {
        free(self.config, self.switch)
    }

    /// Admits a packet to a queue that may hold `threshold` bytes, and to the buffer.
    #[inline(always)]
    pub fn admit(&self, length: u64, threshold: Option<u64>) -> Result<(), DropReason> {
        if threshold.is_some_and(|threshold| self.row.bytes.load() + length > threshold) {
            return Err(DropReason::LossyThreshold);
        }
        if length > self.free() {
            return Err(DropReason::LossyBufferFull);
        }
        Ok(())
    }
}

/// The size of the buffer that lossy packets may take: B.
#[inline(always)]
pub fn buffer(config: &SwitchConfig) -> u64 {
    if config.lossy_pool_bytes == 0 { config.shared_pool_bytes } else { config.lossy_pool_bytes }
}

/// How much of it is free.
#[inline(always)]
pub fn free(config: &SwitchConfig, switch: &SwitchState) -> u64 {
    let used =
        if config.lossy_pool_bytes == 0 { &switch.shared_bytes } else { &switch.lossy_bytes };
    buffer(config).saturating_sub(used.load())
}

/// Lines of `LOSSY_LINES` that a switch needs whose egress queues have so many rows, and whose flow table so many lines.
pub const fn lines(queue_rows: u32, flow_lines: u32) -> u32 {
    state::QUEUES_AT + queue_rows + flow_lines
}

#[cfg(test)]
mod tests;
