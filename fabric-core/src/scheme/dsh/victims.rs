//! DSH with SPFC's states of ports ([`spfc`](crate::scheme::spfc)): what T(t) is to a port that is a victim. Not in either
//! paper.
//!
//! A victim's T(t) is the size of the shared pool, in Eq. 10 and 11 as elsewhere. X_poff is then never reached, and X_qoff,
//! tau below the pool's size, only by a queue that holds all but tau of the pool. In all other cases a victim pauses when the
//! pool has no room for its packet: the packet goes to insurance headroom, and the port pauses all lossless classes. What comes
//! after that is in insurance, too, which is as large as without victims. So nothing is lost ([`dsh`](super)).
//!
//! A queue that does reach X_qoff pauses twice. Its PAUSE makes the port normal, and a port that holds so much is far above
//! the X_poff of a normal one, so that the next packet goes to insurance and pauses the port. Therefore nothing is gained by
//! more room for shared headroom, that is, if a victim's queue paused whenever less than tau is free. And what is left would
//! not be this queue's: shared headroom is nobody's, and other victims would take it.
//!
//! A PAUSE at either level resets the state holder, and it stays reset until all classes have resumed. One state is a
//! port's, not a queue's, as X_poff is: what a port may hold could not be said of a port with queues of both kinds.

use super::settings::Options;
use super::state;
use crate::hop_control::{HopControl, Order};
use crate::map_abi::SchemeLine;
use crate::scheme::Ingress;
use crate::scheme::spfc::state::StateLine;
use crate::tables::Tables;
use crate::threshold;
use units::Nanos;

/// The circuit of a port of a switch whose options have victims.
#[inline(always)]
pub fn line_of<T: Tables>(tables: &T, port: u32) -> Option<&StateLine> {
    let first = state::lines(tables.config()?.ports);
    tables.scheme_line(first.wrapping_add(port)).map(SchemeLine::view)
}

/// The circuit of an ingress queue's port, if the options have victims.
#[inline(always)]
pub(super) fn line<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a StateLine> {
    if !Options::of_bits(at.policy.options).victims {
        return None;
    }
    line_of(at.tables, at.port_number)
}

/// Whether its port is a victim, as the last arrival, departure or end of a period has left it.
#[inline(always)]
pub(super) fn is_victim<T: Tables>(at: &Ingress<'_, T>) -> bool {
    line(at).is_some_and(|line| line.victim.load() != 0)
}

/// T(t) of a port that is a victim, or is not.
#[inline(always)]
pub(super) fn threshold<T: Tables>(at: &Ingress<'_, T>, is_victim: bool) -> u64 {
    if is_victim {
        return at.config.shared_pool_bytes;
    }
    threshold::evaluate(at.policy, at.config, at.switch, at.port, at.queue)
}

/// Brings the state up to date.
#[inline(always)]
pub(super) fn tick<T: Tables>(at: &Ingress<'_, T>, now: Nanos) {
    if let Some(line) = line(at) {
        line.tick(now);
    }
}

/// A packet departs.
#[inline(always)]
pub(super) fn count<T: Tables>(at: &Ingress<'_, T>, length: u64, now: Nanos) {
    if let Some(line) = line(at) {
        line.tick(now);
        line.count::<T>(length);
    }
}

/// The neighbour is told to pause.
#[inline(always)]
pub(super) fn paused<T: Tables>(at: &Ingress<'_, T>, order: &Order) {
    if let (Some(line), HopControl::Classes(pauses)) = (line(at), order.control) {
        line.reset(pauses.named);
    }
}

/// The neighbour is told to resume. Apart from [`paused`], because a program that looks for the classes that go on in an
/// order of an arrival, of which there are none, is one that verifiers refuse.
pub(super) fn resumed<T: Tables>(at: &Ingress<'_, T>, order: &Order) {
    if let (Some(line), HopControl::Classes(pauses)) = (line(at), order.control) {
        line.release(pauses.resumed());
    }
}

#[cfg(test)]
mod tests;
