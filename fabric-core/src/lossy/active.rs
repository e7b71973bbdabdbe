//! ABM, Active Buffer Management (Addanki et al., SIGCOMM 2022): DT with a threshold that is
//! divided by the number of congested queues of the priority and multiplied by the queue's drain
//! rate, `T = alpha_p / n_p * mu / b * (B - Q(t))`, b being the port's rate.
//!
//! `n_p` and mu are computed once per period. mu is the queue's rate in the last period. If that is less than an equal
//! share of the port's queues, or more than the port's rate, mu is the whole rate, so that a queue that had no packets
//! can start; the simulator of the paper's authors does the same. Packets of a flow's first round trip have a separate
//! alpha; hosts mark such packets ([`FIRST_RTT`](crate::wire::ipv4::FIRST_RTT)).

use super::state::{ONE_QUEUE, WHOLE_RATE};
use super::{BufferManagement, Egress, congestion, state};
use crate::policy::Policy;
use crate::priority;
use crate::scheme::Leaving;
use crate::tables::Tables;
use units::Nanos;

/// The scheme.
#[derive(Debug)]
pub struct Active;

#[inline(always)]
fn threshold<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<u64> {
    let line = state::priority(at.tables, at.priority)?;
    let queue = state::queue(at.tables, at.config.queue_row(at.port, at.queue))?;
    let share = line.scaled(at.free(), first_rtt) * u64::from(ONE_QUEUE) / line.congested();
    Some(share * u64::from(queue.drain_rate.load()) / u64::from(WHOLE_RATE))
}

impl BufferManagement for Active {
    #[inline(always)]
    fn threshold<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<u64> {
        Some(threshold(at, first_rtt).unwrap_or(0))
    }

    #[inline]
    fn sent<T: Tables>(packet: &Leaving<'_, T>) {
        let at = Egress::from_leaving(packet);
        if let Some(line) = state::queue(at.tables, at.config.queue_row(at.port, at.queue)) {
            line.sent_bytes.add::<T>(packet.length);
        }
    }

    fn update<T: Tables>(tables: &T, policy: Policy, now: Nanos) {
        congestion::count(tables, policy, |at| threshold(at, false).unwrap_or(0));
        measure(tables, policy, now);
    }
}

/// Measures the drain rates of all queues since the last call.
fn measure<T: Tables>(tables: &T, policy: Policy, now: Nanos) -> Option<()> {
    let (config, parameters) = (tables.config()?, state::parameters(tables)?);
    let span = now.0.saturating_sub(parameters.period_began_ns.load());
    parameters.period_began_ns.store(now.0);
    let lossy = || priority::in_mask(!config.lossless_classes);
    for port in 0..config.ports {
        let rate = tables.port(port)?.rate_bps.load();
        let queues: u64 =
            lossy().map(|class| u64::from(config.queues_of(class).count.max(1))).sum();
        for class in lossy() {
            for queue in config.queues_of(class).iter() {
                let at = Egress::new(tables, policy, port, queue, class)?;
                let line = state::queue(tables, config.queue_row(at.port, queue))?;
                let sent = line.sent_bytes.load();
                let share = share_of(sent - line.sent_before.load(), span, rate);
                let least = u64::from(WHOLE_RATE) / queues.max(1);
                let counts = (least..=u64::from(WHOLE_RATE)).contains(&share);
                line.sent_before.store(sent);
                line.drain_rate.store(if counts { share as u32 } else { WHOLE_RATE });
            }
        }
    }
    Some(())
}

/// Rate of `bytes` in `span` nanoseconds as a fraction of `rate`, in units of 1 / [`WHOLE_RATE`].
fn share_of(bytes: u64, span: u64, rate: u64) -> u64 {
    let most = u128::from(span) * u128::from(rate);
    let sent = u128::from(bytes) * 8_000_000_000 * u128::from(WHOLE_RATE);
    sent.checked_div(most).map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
}
