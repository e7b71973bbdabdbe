//! CoDel, Controlled Delay (RFC 8289): an AQM at departure, on top of a buffer management.
//!
//! The RFC's `dequeue` takes packets from the queue until it finds one to send. Here one packet is
//! tested per call, when its turn comes, so the RFC's next loop iteration is the call for the
//! queue's next packet, by the queue's [state](CodelLine::state). `maxpacket` is the longest packet
//! that has left the queue so far, and `sqrt` has 16 fractional bits.

use super::state::{self, CodelLine, Parameters};
use crate::drop_reason::DropReason;
use crate::scheme::Leaving;
use crate::tables::Tables;
use units::Nanos;

/// Not in drop state.
const IDLE: u32 = 0;
/// In drop state.
const DROPPING: u32 = 1;
/// In drop state since the last packet, which was dropped: the next packet is sent.
const ENTERED: u32 = 2;
/// In drop state, and the last packet was dropped: the time of the next drop must be set.
const DROPPED: u32 = 3;

/// `maxpacket` of a queue that no packet has left yet: the RFC's minimum MTU.
const MIN_LENGTH: u64 = 512;

/// Returns the reason to drop a packet that the scheme sends. `None`: the packet is sent.
#[inline]
pub fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Option<DropReason> {
    let Leaving { ingress, egress_port, queue, .. } = *packet;
    let row = ingress.config.queue_row(egress_port, queue);
    let line = state::codel_queue(ingress.tables, row)?;
    let parameters = state::parameters(ingress.tables)?;
    is_dropped(packet, parameters, line).then_some(DropReason::Codel)
}

/// `dequeue` (Section 5.5).
fn is_dropped<T: Tables>(
    packet: &Leaving<'_, T>,
    parameters: &Parameters,
    line: &CodelLine,
) -> bool {
    let now = packet.now;
    let may_drop = may_drop(packet, parameters, line);
    let interval = parameters.codel_interval_ns.load();
    match line.state.load() {
        ENTERED => {
            line.state.store(DROPPING);
            false
        }
        DROPPING | DROPPED if !may_drop => {
            line.state.store(IDLE);
            false
        }
        state @ (DROPPING | DROPPED) => {
            if state == DROPPED {
                set_next(line, interval, Nanos(line.drop_next_ns.load()));
            }
            let drops = now.0 >= line.drop_next_ns.load();
            if drops {
                line.count.store(line.count.load().saturating_add(1));
            }
            line.state.store(if drops { DROPPED } else { DROPPING });
            drops
        }
        _ if may_drop => {
            // After a recent drop state, starts at the drop rate that controlled the queue then.
            let dropped = line.count.load().wrapping_sub(line.last_count.load());
            let is_recent = now.0.saturating_sub(line.drop_next_ns.load()) < 16 * interval;
            line.count.store(if dropped > 1 && is_recent { dropped } else { 1 });
            line.last_count.store(line.count.load());
            set_next(line, interval, now);
            line.state.store(ENTERED);
            true
        }
        _ => false,
    }
}

/// `dodequeue` (Section 5.6).
fn may_drop<T: Tables>(packet: &Leaving<'_, T>, parameters: &Parameters, line: &CodelLine) -> bool {
    let Leaving { now, arrived, length, egress, .. } = *packet;
    let behind = egress.bytes.load().saturating_sub(length);
    let longest = u64::from(line.longest_packet.load()).max(MIN_LENGTH);
    if length > longest {
        line.longest_packet.store(length as u32);
    }
    let sojourn = now.0.saturating_sub(arrived.0);
    if sojourn < parameters.codel_target_ns.load() || behind <= longest.max(length) {
        line.first_above_ns.store(0);
        return false;
    }
    match line.first_above_ns.load() {
        0 => {
            line.first_above_ns.store(now.0 + parameters.codel_interval_ns.load());
            false
        }
        first_above => now.0 >= first_above,
    }
}

/// `control_law` (Section 5.6): the next drop is due `interval / sqrt(count)` after `from`.
fn set_next(line: &CodelLine, interval: u64, from: Nanos) {
    let root = (u64::from(line.count.load().max(1)) << 32).isqrt();
    line.drop_next_ns.store(from.0 + (interval << 16) / root);
}
