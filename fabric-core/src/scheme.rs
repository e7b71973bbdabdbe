//! Schemes: the decisions of a switch on admission, pausing, marking, queueing and dropping.
//!
//! # Order of calls
//!
//! | a packet | in this order | for lossy packets |
//! | --- | --- | --- |
//! | arrives | [`queue`](Scheme::queue), [`admit`](Scheme::admit), [`charge`](Scheme::charge), [`after_arrival`](Scheme::after_arrival), [`enqueued`](Scheme::enqueued) | `queue`, `enqueued` |
//! | is chosen by the scheduler | [`at_departure`](Scheme::at_departure), [`release`](Scheme::release), [`after_departure`](Scheme::after_departure), [`dequeued`](Scheme::dequeued) | `at_departure`, `dequeued` |
//!
//! The [buffer management](crate::lossy) decides whether to admit a lossy packet, and whether to
//! drop it at departure; if it drops the packet, `at_departure` is not called.
//!
//! `queue` and `admit` change no state: the packet may still be dropped after these calls, for example for want of a
//! free descriptor. The later methods may count. If `at_departure` moves a packet to another queue, it is called again
//! when the packet's turn comes there; until then the packet keeps its buffer.
//!
//! # Adding a scheme
//!
//! 1. In a file or folder here, a type that implements [`Scheme`], [`Announces`] and [`Watched`]. `admit`,
//!    `after_arrival`, `after_departure` and `resume` have no default. They may call PFC's versions: [`pfc::admit`] and
//!    [`pfc::pause`], which take the threshold as an argument (pass the scheme's own
//!    [`threshold`](Scheme::threshold)), and [`pfc::resume`].
//! 2. Its state: `#[repr(C)]` structs of cells that are [`state::Line`]s, and for each struct a
//!    function that finds it by [`Tables::scheme_line`]. [`room`](Scheme::room) returns the number
//!    of lines. The lines start as zeros. Look-up tables are [`Tables::scheme_block`]s.
//! 3. Its settings: a struct that implements [`Configure`], such as [`dsh::Settings`]: options, which are constants of
//!    the program, and a `write` that stores the other settings in lines and blocks.
//! 4. Tests in the same folder, by [`Scheme::arrive_to`] and [`Scheme::depart`], which need no
//!    policy. `scheme/spfc.rs` is an example of these four steps. A scheme whose ports may be
//!    victims of congestion elsewhere uses the state in [`victims`].
//! 5. In this file a `mod` line and a line of `schemes!`, from which the numbers, the dispatch and
//!    [`SchemeSettings`] are derived, and what tries every scheme: `xoff doctor` and the tests of eBPF.
//! 6. Its key: a kind of `switch.scheme`, by the recipe in `scenario/src/scheme.rs`.
//! 7. `cargo xtask build-ebpf`. Tests in `tests/` draw settings and states of known schemes only: add a module to
//!    `tests/src/switch/case/`, and a kind to `tests/src/fabric/drawn.rs`.

/// Passes the schemes to a macro, each with its number in a policy, module and type. Other tokens follow the list.
macro_rules! schemes {
    ($macro:ident $($others:tt)*) => {
        $macro! {
            [
                0 = pfc::Pfc,
                1 = oversubscribed::Oversubscribed,
                2 = dsh::Dsh,
                3 = bfc::Bfc,
                4 = spfc::Spfc,
                5 = pfc_family::PfcFamily,
                6 = gfc::Gfc,
                7 = ofc::Ofc,
                8 = pfc_reached::PfcReached,
                9 = service_pools::ServicePools,
                10 = sonic_pools::SonicPools,
            ]
            $($others)*
        }
    };
}
pub(crate) use schemes;

pub mod announces;
pub mod bfc;
pub mod configure;
pub mod dsh;
pub mod gfc;
#[cfg(test)]
mod held;
pub mod ingress;
pub mod ofc;
pub mod oversubscribed;
pub mod pfc;
pub mod pfc_family;
pub mod pfc_reached;
#[cfg(test)]
mod refused;
mod selected;
pub mod service_pools;
pub mod sonic_pools;
pub mod spfc;
pub mod state;
pub mod victims;
pub mod watched;

use crate::arrival::{Outcome, arrival_under};
use crate::departure::{Departure, departure_under, discard_under};
use crate::drop_reason::DropReason;
use crate::frame::{Frame, Ipv4Fields};
use crate::hop_control::{Order, PauseLevel};
use crate::map_abi::{Descriptor, OFF_WITHOUT_ROOM, Pool, SwitchState};
use crate::policy::{Policy, ThresholdScheme};
use crate::queue::QueueId;
use crate::tables::Tables;
use crate::threshold;
use units::Nanos;

pub use crate::admission::Released;
pub use announces::Announces;
pub use configure::Configure;
pub use ingress::{Arriving, Changes, FlowUse, Ingress, IngressState, Leaving, PortUse, Verdict};
pub use selected::{SchemeSettings, Selected};
pub use watched::Watched;

/// One scheme on the path of a packet. Each method is a decision of the pipeline; time and state are arguments.
pub trait Scheme: Announces + Watched {
    /// Runs the arrival pipeline under this scheme, whatever the policy selects, and stores the
    /// result of [`arrival`](crate::arrival::arrival) in `outcome`. A call: if all schemes were
    /// inlined in one function, they would compete for its registers.
    #[inline(never)]
    fn arrive_to<F: Frame, T: Tables>(
        frame: &mut F,
        tables: &T,
        policy: &Policy,
        (port, now): (u32, Nanos),
        send: &mut impl FnMut(&Order),
        outcome: &mut Outcome,
    ) {
        *outcome = arrival_under::<Self, F, T>(frame, tables, *policy, port, now, send);
    }

    /// Runs the departure of a packet under this scheme; see [`departure`](crate::departure::departure). A call, for
    /// the reason given at [`arrive_to`](Self::arrive_to).
    #[inline(never)]
    fn depart<T: Tables>(
        tables: &T,
        policy: &Policy,
        slot: u32,
        now: Nanos,
        send: &mut impl FnMut(&Order),
    ) -> Option<Departure> {
        departure_under::<Self, T>(tables, *policy, slot, now, send)
    }

    /// Drops a waiting packet for a reason that is not the scheme's. `at_departure` is not called;
    /// the other methods are called as after a drop by the scheme.
    fn discard<T: Tables>(
        tables: &T,
        policy: Policy,
        slot: u32,
        now: Nanos,
        reason: DropReason,
        send: &mut impl FnMut(&Order),
    ) -> Option<Departure> {
        discard_under::<Self, T>(tables, policy, slot, now, reason, send)
    }

    /// Returns T(t), the max bytes of an ingress queue in the shared pool.
    #[inline(always)]
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        threshold::evaluate(at.policy, at.config, at.switch, at.port, at.queue)
    }

    /// Returns T(t) minus X_off of the queue.
    #[inline(always)]
    fn margin<T: Tables>(_at: &Ingress<'_, T>) -> u64 {
        0
    }

    /// Returns the egress queue of a packet. By default the flow's hash selects a queue of the
    /// packet's priority. Changes no state.
    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        _egress_port: u32,
        _now: Nanos,
        fields: &Ipv4Fields,
    ) -> QueueId {
        at.config.queues_of(at.priority).select(|| at.queue_hash(fields))
    }

    /// Returns the pool that takes a lossless packet, or the reason to drop it. Changes no state.
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason>;

    /// Updates the scheme's own counters for a lossless packet that was admitted to `pool` and
    /// counted there. `bytes` is its length without any part split off to the private pool.
    #[inline(always)]
    fn charge<T: Tables>(_packet: &Arriving<'_, T>, _pool: Pool, _bytes: u64) {}

    /// Updates the scheme's own counters for a lossless packet that is sent or dropped and has released its buffer.
    #[inline(always)]
    fn release<T: Tables>(_packet: &Leaving<'_, T>, _given_back: Released) {}

    /// Called after a lossless packet was admitted to `pool`. Passes the orders due at the ingress port to `send`.
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    );

    /// Called after [`admit`](Self::admit) found no room for a lossless packet. Passes the orders due at the ingress
    /// port to `send`. By default acts as if the packet had gone to headroom: the queue has crossed X_off, even without
    /// headroom. An empty queue pauses only if renewals test pauses, because no departure would end that pause.
    #[inline(always)]
    fn refused<T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) {
        let Ingress { config, queue, .. } = packet.ingress;
        if queue.held_bytes() != 0 || config.tests_renewed_pauses != 0 {
            Self::after_arrival(packet, Pool::Headroom, send);
            Self::note_refusal(&packet.ingress);
        }
    }

    /// Notes that what is OFF, the queue `at` or its port, has refused a packet: all its bytes must be at or below X_on
    /// before it resumes, those of the private pool included (`xon_without_room`).
    #[inline(always)]
    fn note_refusal<T: Tables>(at: &Ingress<'_, T>) {
        if at.queue.off.load() != 0 {
            at.queue.off.store(OFF_WITHOUT_ROOM);
        }
    }

    /// Returns bits to add to the port's MAC address in a frame's source address, which name the frame's egress queue
    /// to the neighbour. 0 unless the neighbour pauses single queues. See [`QueueId::in_address`].
    #[inline(always)]
    fn named_queue(_policy: Policy, _queue: QueueId) -> u64 {
        0
    }

    /// Called after a packet, lossless or lossy, has joined its queue. Passes the orders due at the
    /// ingress port to `send`. A note stored in the descriptor here returns as [`Leaving::note`].
    #[inline(always)]
    fn enqueued<T: Tables>(
        _packet: &Arriving<'_, T>,
        _descriptor: &Descriptor,
        _send: &mut impl FnMut(&Order),
    ) {
    }

    /// Called after a packet, lossless or lossy, has left its queue to be sent or dropped. Passes
    /// the orders due at its ingress port to `send`.
    #[inline(always)]
    fn dequeued<T: Tables>(_packet: &Leaving<'_, T>, _send: &mut impl FnMut(&Order)) {}

    /// Decides about a packet whose turn it is. A scheme that counts departures, of lossy packets
    /// too, counts them here, except packets that it moves to other queues.
    #[inline(always)]
    fn at_departure<T: Tables>(_packet: &Leaving<'_, T>) -> Verdict {
        Verdict::Send(Changes { mark: false })
    }

    /// Called after [`at_departure`](Self::at_departure) moved a packet to another queue. May replace its note.
    #[inline(always)]
    fn requeued<T: Tables>(_packet: &Leaving<'_, T>, _descriptor: &Descriptor) {}

    /// Called after a lossless packet has released its buffer. Passes the orders due at its ingress port to `send`.
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order));

    /// Ends the pause of the queue `at` if it is OFF and at or below X_on. Returns the order to resume its class.
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order>;

    /// Renews or ends pause number `pause` of the queue `at`, or of its port, whose quanta are about to run out.
    /// Returns `None` if the pause is over or another pause covers it. A queue's pause ends here only if the switch
    /// tests pauses at renewals ([`SwitchConfig`](crate::map_abi::SwitchConfig)).
    fn renewal<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        pause: u32,
        _now: Nanos,
    ) -> Option<Order> {
        match level {
            PauseLevel::Queue => renew_queue::<Self, T>(at, pause),
            PauseLevel::Port => None,
        }
    }

    /// True if the pause of the queue `at`, or of its port, could end at a renewal without a departure of its packets,
    /// once all other packets except `stays` have left. `computed` is the policy for stored thresholds, which the
    /// control plane computes. The result does not depend on whether the switch tests the pauses of queues at renewals.
    fn may_resume<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        computed: Policy,
        stays: Stays,
    ) -> bool {
        let highest = highest_threshold::<Self, T>(at, computed, stays.in_pool);
        let xon = highest.saturating_sub(Self::margin(at) + at.config.xon_offset_bytes);
        level == PauseLevel::Queue
            && at.queue.headroom_bytes.load() == 0
            && at.queue.shared_bytes.load() <= xon
            && xon_of_queue(at, xon, free_beside(at, stays)).is_some()
    }

    /// Called periodically by the control plane for each lossless ingress queue. Stores T(t) by default.
    fn observe<T: Tables>(at: &Ingress<'_, T>, _now: Nanos) {
        at.queue.stored_threshold_bytes.store(Self::threshold(at));
    }

    /// Returns the size of the scheme's state for a switch with `ports` ports.
    fn room(_policy: Policy, _ports: u32) -> Room {
        Room { lines: 1, blocks: 1 }
    }
}

/// Implements [`Scheme::renewal`] for pause number `pause` of a queue.
fn renew_queue<S: Scheme, T: Tables>(at: &Ingress<'_, T>, pause: u32) -> Option<Order> {
    if at.queue.off.load() == 0 || at.queue.pauses.load() != pause {
        return None;
    }
    let again = || at.pause_queue(S::threshold(at).saturating_sub(S::margin(at)));
    Some(end_renewed::<S, T>(at).unwrap_or_else(again))
}

/// Ends the pause of a queue that is due for renewal, if the pause is over and the switch tests pauses at renewals.
fn end_renewed<S: Scheme, T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    (at.config.tests_renewed_pauses != 0).then(|| S::resume(at)).flatten()
}

/// Returns the max T(t) of an ingress queue while the queue and `stays` bytes of the shared pool do
/// not move. A stored threshold may be older than the latest departures.
fn highest_threshold<S: Scheme, T: Tables>(
    at: &Ingress<'_, T>,
    computed: Policy,
    stays: u64,
) -> u64 {
    let left = SwitchState::default();
    left.shared_bytes.store(stays);
    let evaluate = |policy| threshold::evaluate(policy, at.config, &left, at.port, at.queue);
    match at.policy.threshold() {
        ThresholdScheme::Stored => evaluate(computed).max(S::threshold(at)),
        ThresholdScheme::Dynamic | ThresholdScheme::Static => evaluate(at.policy),
    }
}

/// X_on of a queue that is OFF and without headroom, `free` bytes of the shared pool being free: `xon`, unless it has refused
/// a packet. `None` if it has, and still holds more than `xon_without_room`.
#[inline(always)]
fn xon_of_queue<T: Tables>(at: &Ingress<'_, T>, xon: u64, free: u64) -> Option<u64> {
    if at.queue.off.load() != OFF_WITHOUT_ROOM {
        return Some(xon);
    }
    let shared = at.queue.shared_bytes.load();
    let xon = xon_without_room(xon, shared + free, at.config.xon_offset_bytes);
    (at.queue.private_bytes.load() + shared <= xon).then_some(xon)
}

/// X_on for all bytes of a queue or port that has refused a packet: `xon`, or as far below the `room` that the shared pool has
/// for it as X_on lies below X_off.
///
/// The papers compare shared bytes with X_on, because headroom takes what comes in until a PAUSE has its effect. A queue
/// without headroom whose X_off is a few packets would resume at its next departure, with its private buffer full,
/// before its neighbour has stopped. So would one that finds the shared pool full of the packets of others.
#[inline(always)]
fn xon_without_room(xon: u64, room: u64, offset: u64) -> u64 {
    xon.min(room.saturating_sub(offset))
}

/// Bytes of the shared pool that are free if only what `stays` is left.
fn free_beside<T: Tables>(at: &Ingress<'_, T>, stays: Stays) -> u64 {
    at.config.shared_pool_bytes.saturating_sub(stays.in_pool)
}

/// Bytes that never leave a switch's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// Bytes in the shared pool.
    pub in_pool: u64,
    /// Part of `in_pool` held by the other lossless ingress queues of the port.
    pub beside: u64,
}

/// Size of a scheme's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Number of lines, at least 1, because a map cannot be empty.
    pub lines: u32,
    /// Number of blocks, at least 1.
    pub blocks: u32,
}
