//! DSH with [`victims`](crate::scheme::victims): T(t) of a port that is a victim. Neither paper describes it.
//!
//! A victim's T(t) is the size of the shared pool, in Eq. 10 and 11 and elsewhere. Then X_poff is
//! never reached, and X_qoff, the pool's size minus tau, only by a queue that holds all but tau of
//! the pool. In all other cases a victim pauses when the pool has no room for its packet: the
//! packet goes to insurance headroom, and the port pauses all lossless classes. The following bytes
//! go to insurance, too, which is as large as without victims. So no packet is lost
//! ([`dsh`](super)).
//!
//! A queue that does reach X_qoff pauses twice. Its PAUSE makes the port normal, and the port holds
//! far more than the X_poff of a normal port, so the next packet goes to insurance and pauses the
//! port. More room for shared headroom, by pauses of a victim's queue whenever less than tau is
//! free, would not help: shared headroom belongs to no queue, and other victims would take it.
//!
//! A PAUSE at either level resets the state holder until all classes have resumed. The state belongs to a port, not to
//! a queue, as X_poff does: the max bytes of a port with queues in both states would be undefined.

use super::settings::Options;
use super::{Dsh, state};
use crate::policy::Policy;
use crate::scheme::spfc::StateOf;
use crate::scheme::victims::{Circuits, HasVictims};

impl HasVictims for Dsh {
    #[inline(always)]
    fn circuits(policy: Policy, ports: u32) -> Option<Circuits> {
        let options = Options::from_bits(policy.options);
        options.victims.then(|| circuits(ports))
    }
}

/// Returns the position of the circuits, which follow DSH's own state.
#[inline(always)]
pub(super) const fn circuits(ports: u32) -> Circuits {
    Circuits { per: StateOf::Port, first_line: state::lines(ports) }
}

#[cfg(test)]
mod tests;
