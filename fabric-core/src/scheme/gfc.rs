//! GFC, Gentle Flow Control (Qian, Cheng, Zhang and Ren, SIGCOMM 2019), for Ethernet: an ingress queue that fills
//! lowers its neighbour's rate in stages instead of stopping it, so that no port in a cycle ever holds and waits.
//!
//! [`settings`] has two forms: the paper's form, whose rates halve and never are zero, and the form
//! of OFC's text, whose rate "goes down step by step to zero". [`state`] is the state. The paper
//! with all of its formulas is not public; only its abstract is certain. The rest is defined here:
//!
//! - A queue is in stage k if it holds at least `B_k` in the shared pool. The switch sends the rate
//!   of stage k when an arriving or departing packet has moved the queue to another stage, up or
//!   down. One message carries the final stage, even if a packet skips stages.
//! - The message is a hop control frame with the rate ([`HopControl::Rate`]); the paper puts the
//!   stage into the time field of a PFC frame.
//! - The neighbour paces an egress port and priority by gaps: a packet may start one packet time, at that rate, after
//!   the start of the last packet. So a new rate changes a running gap. All queues of the priority share it.
//! - PFC remains as a safety net: above `X_off` a queue pauses. This is also OFC's rate of zero. A
//!   queue that pauses sends its stage when packets leave.
//! - A rate is not repeated. If its frame is lost on a wire, the neighbour keeps the previous rate
//!   until the queue's next change of stage.

pub mod settings;
pub mod state;

use super::pfc::Pfc;
use super::{Announces, Arriving, Changes, Ingress, Leaving, Room, Scheme, Verdict, Watched, pfc};
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, LINE_RATE, Order};
use crate::map_abi::Pool;
use crate::policy::Policy;
use crate::priority;
use crate::queue::QueueSet;
use crate::tables::Tables;
use units::Nanos;

pub use settings::{Form, Settings};

/// The scheme.
#[derive(Debug)]
pub struct Gfc;

impl Scheme for Gfc {
    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        Pfc::admit(packet)
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let at = &packet.ingress;
        if !pfc::pause(at, Self::threshold(at), pool, send) {
            send_stage(at, send);
        }
    }

    /// Records the start of a packet, which begins the gap before the next packet.
    #[inline(always)]
    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
        let at = &packet.ingress;
        if let (Some(line), Some(stages)) = (
            state::queue(at.tables, at.config.ports, packet.egress_port, at.priority),
            state::stages(at.tables),
        ) {
            line.start_ns.store(packet.now.0);
            line.bytes.store(packet.length + u64::from(stages.overhead_bytes.load()));
        }
        Verdict::Send(Changes::default())
    }

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        let at = &packet.ingress;
        if let Some(order) = Self::resume(at) {
            send(&order);
        }
        send_stage(at, send);
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        Pfc::resume(at)
    }

    fn room(_policy: Policy, ports: u32) -> Room {
        Room { lines: state::lines(ports), blocks: 1 }
    }
}

impl Announces for Gfc {
    /// A rate of zero, or for a priority that is not lossless, is an error of the neighbour.
    #[inline(always)]
    fn receive<T: Tables>(
        tables: &T,
        _policy: Policy,
        port: u32,
        control: &HopControl,
        _now: Nanos,
    ) -> Result<(), DropReason> {
        let HopControl::Rate { priority, kilobits_per_second } = *control else {
            return Err(DropReason::UnexpectedHopControl);
        };
        let config = tables.config().ok_or(DropReason::BrokenTable)?;
        if kilobits_per_second == 0 || !config.is_lossless(priority) {
            return Err(DropReason::UnexpectedHopControl);
        }
        let rate = tables.port(port).ok_or(DropReason::BrokenTable)?.rate_bps.load();
        let line = state::queue(tables, config.ports, port, priority);
        let is_slow =
            kilobits_per_second != LINE_RATE && u64::from(kilobits_per_second) * 1000 < rate;
        let line = line.ok_or(DropReason::BrokenTable)?;
        line.kilobits.store(if is_slow { kilobits_per_second } else { 0 });
        Ok(())
    }

    /// Returns the queues whose gap is not over.
    fn paused<T: Tables>(tables: &T, _policy: Policy, port: u32, now: Nanos) -> Option<QueueSet> {
        let config = tables.config()?;
        let mut paused = None;
        for priority in priority::in_mask(config.lossless_classes) {
            let line = state::queue(tables, config.ports, port, priority)?;
            if line.opens() > now {
                let queues = config.queues_of(priority).queues();
                paused = Some(paused.map_or(queues, |others: QueueSet| others.or(queues)));
            }
        }
        paused
    }

    fn reopens<T: Tables>(tables: &T, _policy: Policy, port: u32, now: Nanos) -> Option<Nanos> {
        let config = tables.config()?;
        let classes = priority::in_mask(config.lossless_classes);
        let lines =
            classes.filter_map(|priority| state::queue(tables, config.ports, port, priority));
        lines.map(state::QueueLine::opens).filter(|&opens| opens > now).min()
    }
}

impl Watched for Gfc {
    fn slowest<T: Tables>(tables: &T, _policy: Policy, port: u32) -> Option<u32> {
        let (config, stages) = (tables.config()?, state::stages(tables)?);
        let lowest = |class: &priority::Priority| {
            let line = state::queue(tables, config.ports, port, *class);
            line.is_some_and(|line| line.stage.load() == stages.last())
        };
        Some(priority::in_mask(config.lossless_classes).filter(lowest).count() as u32)
    }
}

/// Sends the neighbour the rate of the queue's stage, if it differs from the last rate sent.
#[inline(always)]
fn send_stage<T: Tables>(at: &Ingress<'_, T>, send: &mut impl FnMut(&Order)) {
    let config = at.config;
    let (Some(stages), Some(line), Some(rates)) = (
        state::stages(at.tables),
        state::queue(at.tables, config.ports, at.port_number, at.priority),
        state::rates(at.tables, at.port_number),
    ) else {
        return;
    };
    let stage = stages.stage(at.queue.shared_bytes.load());
    if stage == line.stage.load() {
        return;
    }
    line.stage.store(stage);
    send(&at.limit_rate(rates.rate(stage), stages.begins(stage)));
}

#[cfg(test)]
mod tests;
