//! Effect of the watchdog on a (port, priority) in a PFC storm: a neighbour that pauses it without end.
//!
//! User space, which has timers, decides when the watchdog begins and ends. This module applies its action to arrivals
//! and PFC frames. The policy of a switch without a watchdog is a constant, so it pays nothing for this module.

use units::Nanos;

use crate::cell::Cell64;
use crate::drop_reason::DropReason;
use crate::map_abi::{Storm, class_row};
use crate::policy::{Policy, StormAction};
use crate::priority::Priority;
use crate::tables::Tables;

/// Activates the watchdog on (port, priority). The caller drops the packets that wait there.
pub fn begin<T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    priority: Priority,
    now: Nanos,
) -> Option<()> {
    let row = class_row(port, priority);
    tables.storm(row)?.active.store(1);
    if policy.storm_action() == StormAction::Forward {
        // Ends the pause as a RESUME would, for the auditor and the scheduler.
        tables.egress_class(row)?.pause.receive(now, 0, 0);
    }
    Some(())
}

/// Deactivates the watchdog on (port, priority).
pub fn end<T: Tables>(tables: &T, port: u32, priority: Priority) -> Option<()> {
    tables.storm(class_row(port, priority))?.active.store(0);
    Some(())
}

/// True if a PAUSE of (port, priority) has no effect because the watchdog forwards in spite of it.
#[inline(always)]
pub fn ignores_pause<T: Tables>(tables: &T, policy: Policy, port: u32, priority: Priority) -> bool {
    matches!(policy.storm_action(), StormAction::Forward)
        && tables.storm(class_row(port, priority)).is_some_and(is_active)
}

/// Counts and returns the reason if the watchdog drops an arriving packet of a lossless priority.
#[inline(always)]
pub fn drops<T: Tables>(
    tables: &T,
    policy: Policy,
    [ingress, egress]: [u32; 2],
    priority: Priority,
    bytes: u64,
) -> Option<DropReason> {
    if !matches!(policy.storm_action(), StormAction::Drop) {
        return None;
    }
    let storm = tables.storm(class_row(ingress, priority))?;
    if is_active(storm) {
        count::<T>(&storm.ingress_packets, &storm.ingress_bytes, bytes);
        return Some(DropReason::WatchdogIngress);
    }
    let storm = tables.storm(class_row(egress, priority))?;
    if is_active(storm) {
        count::<T>(&storm.egress_packets, &storm.egress_bytes, bytes);
        return Some(DropReason::WatchdogEgress);
    }
    None
}

/// Counts a packet dropped from the queue of (port, priority).
pub fn count_discarded<T: Tables>(
    tables: &T,
    port: u32,
    priority: Priority,
    bytes: u64,
) -> Option<()> {
    let storm = tables.storm(class_row(port, priority))?;
    count::<T>(&storm.egress_packets, &storm.egress_bytes, bytes);
    Some(())
}

#[inline(always)]
fn is_active(storm: &Storm) -> bool {
    storm.active.load() != 0
}

#[inline(always)]
fn count<T: Tables>(packets: &Cell64, bytes: &Cell64, length: u64) {
    packets.add::<T>(1);
    bytes.add::<T>(length);
}

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of the packets.
    pub bytes: u64,
}

impl Traffic {
    /// Adds a packet.
    pub fn add(&mut self, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
    }

    /// Packets that were added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { packets: self.packets - earlier.packets, bytes: self.bytes - earlier.bytes }
    }
}

#[cfg(test)]
mod tests;
