//! Counters of a part of the fabric.

use fabric_core::drop_reason::DropReason;
use units::Picos;

/// Counters of a part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Frames that have crossed a wire.
    pub packet_hops: u64,
    /// Frames lost by faults at random or by number.
    pub injected_losses: u64,
    /// Frames sent while their wire was down, or lost when it went down.
    pub sent_in_vain: u64,
    /// Frames that arrived with a wrong FCS.
    pub damaged: u64,
    /// The last arrival, or the last frame lost by a fault: a fabric that drains has no later event.
    pub last_activity: Picos,
}

impl Tally {
    /// Counts a frame that a fault loses.
    pub fn count_lost(&mut self, reason: DropReason) {
        match reason {
            DropReason::LinkDown => self.sent_in_vain += 1,
            _ => self.injected_losses += 1,
        }
    }

    /// The sum of two parts.
    pub fn and(self, other: Self) -> Self {
        Self {
            packet_hops: self.packet_hops + other.packet_hops,
            injected_losses: self.injected_losses + other.injected_losses,
            sent_in_vain: self.sent_in_vain + other.sent_in_vain,
            damaged: self.damaged + other.damaged,
            last_activity: self.last_activity.max(other.last_activity),
        }
    }
}
