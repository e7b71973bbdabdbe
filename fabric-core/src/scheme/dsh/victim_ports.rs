//! DSH with [`victims`](crate::scheme::victims): what T(t) is to a port that is a victim. Not in either paper.
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
use super::{Dsh, state};
use crate::policy::Policy;
use crate::scheme::spfc::Per;
use crate::scheme::victims::{Circuits, HasVictims};

impl HasVictims for Dsh {
    #[inline(always)]
    fn circuits(policy: Policy, ports: u32) -> Option<Circuits> {
        let options = Options::of_bits(policy.options);
        options.victims.then(|| circuits(ports))
    }
}

/// They lie behind what DSH itself keeps.
#[inline(always)]
pub(super) const fn circuits(ports: u32) -> Circuits {
    Circuits { per: Per::Port, first_line: state::lines(ports) }
}

#[cfg(test)]
mod tests;
