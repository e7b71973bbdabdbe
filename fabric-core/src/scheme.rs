//! Schemes: what decides admission, pausing, marking, queueing and dropping in a switch.
//!
//! # Which methods are called when
//!
//! | a packet | in this order | for lossy packets |
//! | --- | --- | --- |
//! | arrives | [`queue`](Scheme::queue), [`admit`](Scheme::admit), [`charge`](Scheme::charge), [`after_arrival`](Scheme::after_arrival), [`enqueued`](Scheme::enqueued) | `queue`, `enqueued` |
//! | is chosen by the scheduler | [`at_departure`](Scheme::at_departure), [`release`](Scheme::release), [`after_departure`](Scheme::after_departure), [`dequeued`](Scheme::dequeued) | `at_departure`, `dequeued` |
//!
//! Whether a lossy packet is admitted is the [buffer management](crate::lossy)'s business, as is whether it is dropped at
//! departure; in that case `at_departure` is not asked.
//!
//! `queue` and `admit` change no state: the packet may still be dropped after them, for example because there is no
//! free descriptor. The methods after them may count. If `at_departure` puts a packet into another queue, it is
//! called again when the packet's turn comes there; until then the packet keeps the buffer that it holds.
//!
//! # Adding a scheme
//!
//! 1. In a file or folder here, a type that implements [`Scheme`]. `admit`, `after_arrival`, `after_departure`
//!    and `resume` have no default. They may call PFC's versions: [`pfc::admit`] and [`pfc::pause`], which take the
//!    threshold as an argument (pass the scheme's own [`threshold`](Scheme::threshold)), and [`pfc::resume`].
//! 2. Its state: `#[repr(C)]` structs of cells that are [`state::Line`]s, and one function for each that finds it
//!    by [`Tables::scheme_line`]. [`room`](Scheme::room) says how many lines there are. They start as zeros.
//!    Look-up tables are [`Tables::scheme_block`]s.
//! 3. Its settings: a struct whose `write` stores them in lines and blocks, like [`dsh::Settings`].
//! 4. Tests in the same folder, by [`Scheme::arrive_to`] and [`Scheme::depart`], which need no policy.
//!    `scheme/spfc.rs` has these four steps, and little else. A scheme whose ports may be victims of congestion elsewhere
//!    needs no state of its own for that: [`victims`].
//! 5. A variant of [`SchemeKind`](crate::policy::SchemeKind) and of [`SchemeSettings`]. The compiler asks for the
//!    other arms in `scheme/selected.rs`. It does not ask for two things: the number in
//!    [`Policy::scheme`](crate::policy::Policy::scheme), without which a switch runs PFC (add it to the list in the
//!    test of `policy.rs`, too), and the entry in [`SchemeSettings::every`], by which `xoff doctor` and the tests of
//!    eBPF try the scheme.
//! 6. Its key, and its arm in `Scenario::scheme` (`scenario/src/backpressure.rs`): a kind of `HeadroomKeys`, `BackpressureKeys`,
//!    `ThresholdKeys` or `PauseRuleKeys`. For a kind of headroom the compiler asks for most of what it reserves
//!    (`scenario/src/headroom/reserve.rs`; look at arms with a wildcard). It asks for no advice when a limit of the
//!    scheme drops packets (`scenario/src/headroom/advice.rs`), nor for docs/scenarios.md's table of kinds.
//! 7. `cargo xtask build-ebpf`. In `tests/`, which [`SchemeSettings::every`] does not cover: the scheme's settings and
//!    room in `tests/src/switch.rs` and `tests/src/switch/state.rs`, whose tables are configured for DSH, and a kind
//!    of headroom in `tests/src/fabric/drawn.rs`.

pub mod bfc;
pub mod dsh;
pub mod gfc;
#[cfg(test)]
mod held;
pub mod ingress;
pub mod ofc;
pub mod oversubscribed;
pub mod pfc;
pub mod pfc_family;
#[cfg(test)]
mod refused;
mod selected;
pub mod spfc;
pub mod state;
pub mod victims;

use crate::arrival::{Outcome, arrival_under};
use crate::departure::{Departure, departure_under, discard_under};
use crate::drop_reason::DropReason;
use crate::frame::{Frame, Ipv4Fields};
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::map_abi::{Descriptor, OFF_WITHOUT_ROOM, Pool, SwitchState};
use crate::policy::{Policy, ThresholdScheme};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueSet};
use crate::tables::Tables;
use crate::threshold;
use units::Nanos;

pub use crate::admission::Released;
pub use ingress::{Arriving, Changes, FlowUse, Ingress, IngressState, Leaving, PortUse, Verdict};
pub use selected::{SchemeSettings, Selected};

/// One scheme. Every method is a decision that the pipeline asks for; time and state are arguments.
pub trait Scheme: Sized {
    /// Runs the arrival pipeline under this scheme, whatever the policy names, and leaves in `outcome` what
    /// [`arrival`](crate::arrival::arrival) returns. A call: inlined with the others, no scheme would have the registers
    /// for itself.
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

    /// Runs the departure of a packet under this scheme; see [`departure`](crate::departure::departure). A call, as
    /// [`arrive_to`](Self::arrive_to).
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

    /// Drops a packet that waits, for a reason that is not the scheme's: `at_departure` is not asked, all that follows a
    /// drop is as after one of the scheme's own.
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

    /// T(t): how many bytes of the shared pool an ingress queue may hold.
    #[inline(always)]
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        threshold::evaluate(at.policy, at.config, at.switch, at.port, at.queue)
    }

    /// How far below T(t) the queue's X_off lies.
    #[inline(always)]
    fn margin<T: Tables>(_at: &Ingress<'_, T>) -> u64 {
        0
    }

    /// The egress queue of a packet: by default the queue of its priority that the hash of its flow selects. Changes no
    /// state.
    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        _egress_port: u32,
        _now: Nanos,
        fields: &Ipv4Fields,
    ) -> QueueId {
        at.config.queues_of(at.priority).select(|| at.queue_hash(fields))
    }

    /// The pool that takes a lossless packet, or why it is dropped. Changes no state.
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason>;

    /// Updates the scheme's own counters for a lossless packet that was admitted to `pool` and counted there, `bytes`
    /// of it not in the private pool unless that is the pool.
    #[inline(always)]
    fn charge<T: Tables>(_packet: &Arriving<'_, T>, _pool: Pool, _bytes: u64) {}

    /// The same for a lossless packet that is sent or dropped and has given back what it held.
    #[inline(always)]
    fn release<T: Tables>(_packet: &Leaving<'_, T>, _given_back: Released) {}

    /// After a lossless packet was admitted to `pool`: hands `send` the orders that are due at the ingress port.
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    );

    /// After [`admit`](Self::admit) has found no room for a lossless packet: hands `send` the orders that are due at the
    /// ingress port. By default the same as if the packet had gone to headroom: its queue has crossed X_off, also if it
    /// has no headroom. An empty queue pauses only if renewals test pauses, because no departure would end that pause.
    #[inline(always)]
    fn refused<T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) {
        let Ingress { config, queue, .. } = packet.ingress;
        if queue.held_bytes() != 0 || config.tests_renewed_pauses != 0 {
            Self::after_arrival(packet, Pool::Headroom, send);
            Self::note_refusal(&packet.ingress);
        }
    }

    /// Notes that what is OFF, the queue `at` or its port, has refused a packet: all its bytes must be at or below X_on
    /// before it resumes, those of the private pool included ([`xon_without_room`]).
    #[inline(always)]
    fn note_refusal<T: Tables>(at: &Ingress<'_, T>) {
        if at.queue.off.load() != 0 {
            at.queue.off.store(OFF_WITHOUT_ROOM);
        }
    }

    /// What a frame's source address tells the neighbour of the egress queue that it leaves, to be added to the
    /// port's: nothing, unless the neighbour pauses queues. See [`QueueId::in_address`].
    #[inline(always)]
    fn named_queue(_policy: Policy, _queue: QueueId) -> u64 {
        0
    }

    /// After a packet, lossless or lossy, has joined its queue: hands `send` the orders that are due at the ingress
    /// port. What it writes into the descriptor's note comes back as [`Leaving::note`].
    #[inline(always)]
    fn enqueued<T: Tables>(
        _packet: &Arriving<'_, T>,
        _descriptor: &Descriptor,
        _send: &mut impl FnMut(&Order),
    ) {
    }

    /// After a packet, lossless or lossy, has left its queue to be sent or dropped: hands `send` the orders that are
    /// due at its ingress port.
    #[inline(always)]
    fn dequeued<T: Tables>(_packet: &Leaving<'_, T>, _send: &mut impl FnMut(&Order)) {}

    /// What becomes of a packet whose turn it is. A scheme that counts departures, also of lossy packets, counts them
    /// here, except those that it puts into other queues.
    #[inline(always)]
    fn at_departure<T: Tables>(_packet: &Leaving<'_, T>) -> Verdict {
        Verdict::Send(Changes { mark: false })
    }

    /// After [`at_departure`](Self::at_departure) has put a packet into another queue: may write the descriptor's note anew.
    #[inline(always)]
    fn requeued<T: Tables>(_packet: &Leaving<'_, T>, _descriptor: &Descriptor) {}

    /// After a lossless packet gave back its buffer: hands `send` the orders that are due at its ingress port.
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order));

    /// Ends the pause of the queue `at`, if it is OFF and has fallen to its X_on: the order by which its class resumes.
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order>;

    /// The order for pause number `pause` of the queue `at`, or of its port, whose quanta are about to run out: renewed
    /// or ended. `None` if it is over already, or another pause covers it. A queue's pause ends here only if the
    /// switch tests pauses when it renews them ([`SwitchConfig`](crate::map_abi::SwitchConfig)).
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

    /// Whether the pause of the queue `at`, or of its port, could end at a renewal, without a departure of its packets,
    /// if of all others only what `stays` were left. `computed` is the policy by which the control plane computes
    /// thresholds, if they are stored. Whether the switch tests pauses of queues at renewals does not matter here.
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

    /// Called periodically by the control plane for each lossless ingress queue; by default stores T(t).
    fn observe<T: Tables>(at: &Ingress<'_, T>, _now: Nanos) {
        at.queue.stored_threshold_bytes.store(Self::threshold(at));
    }

    /// A hop control frame other than PFC came in at a port. By default that is an error of the neighbour's.
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

    /// The egress queues of a port that must not send, besides those of classes that PFC has paused.
    #[inline(always)]
    fn paused<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _now: Nanos,
    ) -> Option<QueueSet> {
        None
    }

    /// The first instant after `now` at which one of the queues that [`paused`](Self::paused) names may send, if time alone
    /// allows it.
    fn reopens<T: Tables>(_tables: &T, _policy: Policy, _port: u32, _now: Nanos) -> Option<Nanos> {
        None
    }

    /// Hands `send` what the scheme tells the neighbour of a port periodically, so that lost hop control frames do no lasting
    /// harm. May also forget what the neighbour has not repeated, so that queues which
    /// [`paused`](Self::paused) has named may send.
    fn announce<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _send: &mut impl FnMut(HopControl),
    ) {
    }

    /// Follows the link of a port, which has gone down or come up: what its neighbour has paused, and would resume by a frame that is lost
    /// with it, may send.
    fn relinked<T: Tables>(_tables: &T, _policy: Policy, _port: u32) {}

    /// What a port holds, if the scheme counts by port.
    fn port_use<T: Tables>(_tables: &T, _policy: Policy, _port: u32) -> PortUse {
        PortUse::default()
    }

    /// Number of priorities of a port's neighbour that have the lowest rate that there is, if the scheme tells rates.
    fn slowest<T: Tables>(_tables: &T, _policy: Policy, _port: u32) -> Option<u32> {
        None
    }

    /// How flows are spread over the queues of a port, if the scheme gives flows queues.
    fn flow_use<T: Tables>(_tables: &T, _policy: Policy, _port: u32) -> Option<FlowUse> {
        None
    }

    /// What has a state by which the scheme treats packets, if something has: each ingress port or each ingress queue.
    fn states(_policy: Policy) -> Option<PauseLevel> {
        None
    }

    /// The state of an ingress queue, or of its port, if the scheme has [states](Self::states). It may be one of a
    /// period that is over, until a packet or [`tick`](Self::tick) comes.
    fn state<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _priority: Priority,
    ) -> Option<IngressState> {
        None
    }

    /// Brings such a state up to date where time alone has changed it.
    fn tick<T: Tables>(_tables: &T, _policy: Policy, _port: u32, _priority: Priority, _now: Nanos) {
    }

    /// Whether the scheme pauses whole ports.
    fn pauses_ports(_policy: Policy) -> bool {
        false
    }

    /// The size of its state for a switch with this many ports.
    fn room(_policy: Policy, _ports: u32) -> Room {
        Room { lines: 1, blocks: 1 }
    }
}

/// [`Scheme::renewal`] of pause number `pause` of a queue.
fn renew_queue<S: Scheme, T: Tables>(at: &Ingress<'_, T>, pause: u32) -> Option<Order> {
    if at.queue.off.load() == 0 || at.queue.pauses.load() != pause {
        return None;
    }
    let again = || at.pause_queue(S::threshold(at).saturating_sub(S::margin(at)));
    Some(end_renewed::<S, T>(at).unwrap_or_else(again))
}

/// Ends the pause of a queue that is due for renewal, if the switch tests these and it is over.
fn end_renewed<S: Scheme, T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
    (at.config.tests_renewed_pauses != 0).then(|| S::resume(at)).flatten()
}

/// The highest T(t) of an ingress queue as long as it and `stays` bytes of the shared pool do not move: a stored
/// threshold may be older than what has left.
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
/// a packet. `None` if it has, and still holds more than [`xon_without_room`].
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

/// What never leaves a switch's buffer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// In the shared pool.
    pub in_pool: u64,
    /// Of these, in the other lossless ingress queues of one's port.
    pub beside: u64,
}

/// How large the state of a scheme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Lines, at least 1, because a map cannot be empty.
    pub lines: u32,
    /// Blocks, at least 1.
    pub blocks: u32,
}
