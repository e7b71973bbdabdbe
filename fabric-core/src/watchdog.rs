//! What the watchdog of a switch does to a (port, priority) that a PFC storm holds: a neighbour that pauses without end.
//!
//! When it begins and ends is decided in user space, which has timers; here is its effect, which arrivals and PFC frames
//! meet. A switch without a watchdog has none of it: its policy is a constant.

use units::Nanos;

use crate::cell::Cell64;
use crate::drop_reason::DropReason;
use crate::map_abi::{Storm, class_row};
use crate::policy::{Policy, StormAction};
use crate::priority::Priority;
use crate::tables::Tables;

/// The watchdog begins to act on (port, priority). What waits there is the caller's to drop.
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
        // As a RESUME would: the auditor and the scheduler see that the pause is over.
        tables.egress_class(row)?.pause.receive(now, 0, 0);
    }
    Some(())
}

/// The watchdog no longer acts on it.
pub fn end<T: Tables>(tables: &T, port: u32, priority: Priority) -> Option<()> {
    tables.storm(class_row(port, priority))?.active.store(0);
    Some(())
}

/// Whether a PAUSE of (port, priority) stops nothing, because the watchdog forwards in spite of it.
#[inline(always)]
pub fn ignores_pause<T: Tables>(tables: &T, policy: Policy, port: u32, priority: Priority) -> bool {
    matches!(policy.storm_action(), StormAction::Forward)
        && tables.storm(class_row(port, priority)).is_some_and(is_active)
}

/// Why the watchdog drops a packet of a lossless priority that has come in, if it does; counts it.
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

/// Counts a packet that waited at (port, priority) and is dropped.
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

#[cfg(test)]
mod tests;
