//! BSHARE (Agarwal et al., "BSHARE: Packet Queuing Delay-Driven Buffer Sharing for Datacenter Switches"): admits
//! packets while any buffer is free, and drops a packet that has waited theta or longer when its turn comes.
//!
//! theta = `alpha_p` (B - Q(t)) / (`c_p` C) (Eq. 1), evaluated at each departure ("Threshold update", Section III-B).
//! `c_p` is counted once per period, which is a round-trip time in the paper. Algorithm 1 reads the queue length after
//! the packet has left the queue, so `MinBytes` is compared with the bytes behind the packet.
//!
//! A packet of its flow's first round trip has a separate alpha ("via a larger alpha"). The paper does not say how a
//! switch detects such packets; here hosts mark them, as in ABM ([`FIRST_RTT`](crate::wire::ipv4::FIRST_RTT)).

use super::state::ONE_QUEUE;
use super::{BufferManagement, Egress, congestion, state};
use crate::drop_reason::DropReason;
use crate::policy::Policy;
use crate::scheme::Leaving;
use crate::tables::Tables;
use units::Nanos;

/// The scheme.
#[derive(Debug)]
pub struct Bshare;

/// theta times C: bytes that a queue may send before a packet has waited too long (Eq. 10).
#[inline(always)]
fn limit<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<u64> {
    let line = state::priority(at.tables, at.priority)?;
    Some(line.scaled(at.free(), first_rtt) * u64::from(ONE_QUEUE) / line.congested())
}

/// theta (Eq. 1).
#[inline(always)]
fn theta<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<Nanos> {
    let bytes = limit(at, first_rtt)?;
    // A quantum is 64 bytes.
    let picos = u128::from(bytes) * u128::from(at.tables.port(at.port)?.quantum_ps.load()) / 64;
    Some(Nanos(u64::try_from(picos / 1000).unwrap_or(u64::MAX)))
}

impl BufferManagement for Bshare {
    #[inline(always)]
    fn threshold<T: Tables>(_at: &Egress<'_, T>, _first_rtt: bool) -> Option<u64> {
        None
    }

    fn longest_wait<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<Nanos> {
        theta(at, first_rtt)
    }

    #[inline]
    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Option<DropReason> {
        let at = Egress::from_leaving(packet);
        let behind = at.row.bytes.load() - packet.length;
        let sojourn = packet.now.0.saturating_sub(packet.arrived.0);
        let theta = theta(&at, packet.first_rtt)?;
        let least = state::parameters(at.tables)?.least_bytes.load();
        (sojourn >= theta.0 && behind >= least).then_some(DropReason::SojournTime)
    }

    fn update<T: Tables>(tables: &T, policy: Policy, _now: Nanos) {
        congestion::count(tables, policy, |at| limit(at, false).unwrap_or(0));
    }
}
