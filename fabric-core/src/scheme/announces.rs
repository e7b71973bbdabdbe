//! Pauses that a scheme exchanges with neighbours, other than PFC.

use crate::drop_reason::DropReason;
use crate::hop_control::HopControl;
use crate::policy::Policy;
use crate::queue::QueueSet;
use crate::tables::Tables;
use units::Nanos;

/// Exchange of a scheme with its neighbours: received pauses and repeated frames. The defaults receive no pauses and
/// repeat no frames.
pub trait Announces: Sized {
    /// Applies a received hop control frame other than PFC. By default such a frame is the neighbour's error.
    #[inline(always)]
    fn receive<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _control: &HopControl,
        _now: Nanos,
    ) -> Result<(), DropReason> {
        Err(DropReason::UnexpectedHopControl)
    }

    /// Returns the egress queues of a port that must not send, without those of classes that PFC has paused.
    #[inline(always)]
    fn paused<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _now: Nanos,
    ) -> Option<QueueSet> {
        None
    }

    /// Returns the first time after `now` at which a queue that [`paused`](Self::paused) returned
    /// may send, if it need only wait.
    fn reopens<T: Tables>(_tables: &T, _policy: Policy, _port: u32, _now: Nanos) -> Option<Nanos> {
        None
    }

    /// Called periodically. Passes hop control frames for the neighbour of a port to `send`, so
    /// that lost frames do no lasting harm. May also discard pauses that the neighbour has not
    /// repeated, so that queues which [`paused`](Self::paused) returned may send.
    fn announce<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _send: &mut impl FnMut(HopControl),
    ) {
    }

    /// Called when the link of a port goes down or comes up. Discards the neighbour's pauses,
    /// because the frame that ends such a pause may be lost with the link.
    fn relinked<T: Tables>(_tables: &T, _policy: Policy, _port: u32) {}
}
