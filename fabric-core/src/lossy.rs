//! Lossy buffer: sharing of a switch's buffer among packets of priorities without PFC.
//!
//! The lossy buffer is managed from the egress perspective (DSH, Section II-B): the bytes of the egress queue decide,
//! whatever scheme the lossless priorities run. [`BufferManagement`] is the interface of a scheme; each file has one:
//!
//! | kind | drops at arrival | drops at departure |
//! | --- | --- | --- |
//! | [`dynamic_threshold`] | above alpha times the free buffer (DT) | |
//! | [`complete_sharing`] | if no buffer is free (CS) | |
//! | [`active`] | as DT, with alpha divided by congested queues and times the drain rate (ABM) | |
//! | [`bshare`] | as CS | packets that have waited theta or longer (BSHARE) |
//! | [`flow_aware`] | as DT, with a larger alpha for flows that have sent few bytes (FAB) | |
//! | [`intelligent`] | as DT, and at random beyond the fair share; first packets may join another queue (IB) | |
//!
//! With any scheme, [`codel`] may drop further packets at departure.
//!
//! If no buffer is free, every scheme drops. The buffer is the shared pool, or a pool for lossy packets only
//! ([`SwitchConfig::lossy_pool_bytes`](crate::map_abi::SwitchConfig::lossy_pool_bytes)).
//!
//! # Order of calls
//!
//! At arrival of a lossy packet: [`queue`](BufferManagement::queue), [`admit`](BufferManagement::admit). When the
//! scheduler has chosen it: [`at_departure`](BufferManagement::at_departure), and [`sent`](BufferManagement::sent)
//! unless it is dropped. Once per period: [`update`](BufferManagement::update), for all counts that need no packet.
//! `queue` changes no state. `admit` may count the arrival of a packet that is then dropped for want of a free
//! descriptor.
//!
//! # Adding a scheme
//!
//! Add a file here with a type that implements the trait, in this file a `mod` line, a line of `managements!` and a
//! line in the table above, and settings in [`settings`]. State is stored in lines of `LOSSY_LINES` ([`state`]).

/// Passes the schemes to a macro, each with its number in a policy, module and type. Other tokens follow the list.
macro_rules! managements {
    ($macro:ident $($others:tt)*) => {
        $macro! {
            [
                0 = dynamic_threshold::DynamicThreshold,
                1 = complete_sharing::CompleteSharing,
                2 = active::Active,
                3 = bshare::Bshare,
                4 = flow_aware::FlowAware,
                5 = intelligent::Intelligent,
            ]
            $($others)*
        }
    };
}
pub(crate) use managements;

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

/// Flag of CoDel, in the options of any kind's policy ([`Policy::lossy_options`]).
pub const OPTION_CODEL: u32 = 1 << 31;

/// A scheme by which lossy packets share the buffer. Each method is a decision of the pipeline;
/// time and state are arguments.
pub trait BufferManagement {
    /// Returns the egress queue of a packet for which the switch's scheme has chosen `queue`. Changes no state.
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

    /// Returns the max bytes of an egress queue for a packet. `first` is true at the start of the
    /// packet's flow. `None`: the free buffer is the only limit.
    fn threshold<T: Tables>(at: &Egress<'_, T>, first: bool) -> Option<u64>;

    /// Returns `Ok` if the buffer admits a packet, or the reason to drop it.
    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<(), DropReason> {
        let at = Egress::from_arriving(packet);
        let threshold = Self::threshold(&at, packet.fields.is_first_rtt());
        at.admit(packet.length, threshold)
    }

    /// Returns the max time that a packet may wait, for results. `None`: no limit.
    #[inline(always)]
    fn longest_wait<T: Tables>(_at: &Egress<'_, T>, _first_rtt: bool) -> Option<Nanos> {
        None
    }

    /// Returns the reason to drop a packet whose turn it is. `None`: the packet is sent.
    #[inline(always)]
    fn at_departure<T: Tables>(_packet: &Leaving<'_, T>) -> Option<DropReason> {
        None
    }

    /// Called for a packet to be sent that has released its buffer. The queue still counts it.
    #[inline(always)]
    fn sent<T: Tables>(_packet: &Leaving<'_, T>) {}

    /// Called by the control plane once per [period](Settings::period): counts congested queues, computes rates.
    fn update<T: Tables>(_tables: &T, _policy: Policy, _now: Nanos) {}
}

/// An egress queue with its switch's tables.
#[derive(Debug)]
pub struct Egress<'a, T> {
    /// The switch's tables.
    pub tables: &'a T,
    /// The switch's policy.
    pub policy: Policy,
    /// The configuration.
    pub config: &'a SwitchConfig,
    /// The switch's totals.
    pub switch: &'a SwitchState,
    /// Port number.
    pub port: u32,
    /// The queue.
    pub queue: QueueId,
    /// The queue's row.
    pub row: &'a EgressQueue,
    /// Priority of the arriving or departing packet.
    pub priority: Priority,
}

impl<'a, T: Tables> Egress<'a, T> {
    /// Returns queue `queue` of a port for packets of `priority`. `None` if the queue does not exist.
    pub fn new(
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

    /// Returns the queue that an arriving packet joins.
    #[inline(always)]
    pub fn from_arriving(packet: &Arriving<'a, T>) -> Self {
        let Arriving { ingress, egress_port, queue, egress, .. } = *packet;
        Self::with(ingress, egress_port, queue, egress)
    }

    /// Returns the queue of a departing packet.
    #[inline(always)]
    pub fn from_leaving(packet: &Leaving<'a, T>) -> Self {
        let Leaving { ingress, egress_port, queue, egress, .. } = *packet;
        Self::with(ingress, egress_port, queue, egress)
    }

    #[inline(always)]
    fn with(ingress: Ingress<'a, T>, port: u32, queue: QueueId, row: &'a EgressQueue) -> Self {
        let Ingress { tables, policy, config, switch, priority, .. } = ingress;
        Self { tables, policy, config, switch, port, queue, row, priority }
    }

    /// Free bytes of the lossy buffer: B - Q(t).
    #[inline(always)]
    pub fn free(&self) -> u64 {
        free(self.config, self.switch)
    }

    /// Admits a packet if the queue stays within `threshold` and the buffer has room.
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

/// Size of the buffer for lossy packets: B.
#[inline(always)]
pub fn buffer(config: &SwitchConfig) -> u64 {
    if config.lossy_pool_bytes == 0 { config.shared_pool_bytes } else { config.lossy_pool_bytes }
}

/// Free bytes of the lossy buffer.
#[inline(always)]
pub fn free(config: &SwitchConfig, switch: &SwitchState) -> u64 {
    let used =
        if config.lossy_pool_bytes == 0 { &switch.shared_bytes } else { &switch.lossy_bytes };
    buffer(config).saturating_sub(used.load())
}

/// Returns the number of `LOSSY_LINES` for a switch with these rows of egress queues and lines of its flow table.
pub const fn lines(queue_rows: u32, flow_lines: u32) -> u32 {
    state::QUEUES_AT + queue_rows + flow_lines
}

#[cfg(test)]
mod tests;
