//! IB, Cisco's Intelligent Buffer management (Cisco, "Intelligent Buffer Management on Cisco Nexus 9000 Series
//! Switches"): DT with approximate fair dropping (AFD) and dynamic packet prioritisation (DPP), each an option.
//!
//! Parameters and equations are from the simulator of ABM's authors.
//!
//! # AFD
//!
//! Arriving bytes are counted in windows. A window ends with the first arrival after its length. Then two values are
//! computed: `M`, the bytes of the ended window times [`windows`](super::settings::FairDropping::windows), and `M_fair
//! = M_fair - fall (Q - Q_ref) + rise (Q_before - Q_ref)`, at least 0. Q is the length of the egress queue at that time
//! and `Q_before` its length one window earlier. A packet of an egress queue longer than
//! [`least_bytes`](super::settings::FairDropping::least_bytes) is dropped with probability `1 - min(M, M_fair) / M`.
//!
//! `M` is counted for the whole queue, as in the simulator, or for the packet's flow, as in Cisco's
//! description. Per flow, only elephants are counted and dropped: flows that have sent many bytes
//! since they were last silent (in Cisco's switches 1,048,555 bytes, "ETRAP").
//!
//! # DPP
//!
//! The first packets of a flow join the queue of another priority, whose alpha and AFD apply to them. So a flow's first
//! packets may overtake later packets or be overtaken. They never count for an elephant.

use super::state::{FairParameters, FairQueueLine};
use super::{BufferManagement, Egress, flow_table, state};
use crate::cell::Cell32;
use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::map_abi::SwitchState;
use crate::marking::random_q48;
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::scheme::{Arriving, Ingress};
use crate::tables::Tables;
use units::Nanos;

/// Flag of AFD by queue.
pub const OPTION_FAIR_QUEUES: u32 = 1;
/// Flag of AFD by flow.
pub const OPTION_FAIR_FLOWS: u32 = 2;
/// Flag of DPP.
pub const OPTION_PRIORITISES: u32 = 4;
/// Options that need a flow table.
pub(super) const OPTIONS_OF_FLOWS: u32 = OPTION_FAIR_FLOWS | OPTION_PRIORITISES;

/// The scheme.
#[derive(Debug)]
pub struct Intelligent;

impl BufferManagement for Intelligent {
    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        _egress_port: u32,
        now: Nanos,
        fields: &Ipv4Fields,
        queue: QueueId,
    ) -> QueueId {
        if at.policy.lossy_options & OPTION_PRIORITISES == 0 {
            return queue;
        }
        match first_packets(at, fields, now) {
            Some(priority) => at.config.queues_of(priority).select(|| at.queue_hash(fields)),
            None => queue,
        }
    }

    #[inline(always)]
    fn threshold<T: Tables>(at: &Egress<'_, T>, _first: bool) -> Option<u64> {
        Some(threshold(at, at.priority))
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<(), DropReason> {
        is_admitted(packet).unwrap_or(Err(DropReason::BrokenTable))
    }
}

/// Returns the priority of a packet among its flow's first packets; `None` for later packets.
#[inline(always)]
fn first_packets<T: Tables>(
    at: &Ingress<'_, T>,
    fields: &Ipv4Fields,
    now: Nanos,
) -> Option<Priority> {
    let parameters = state::flow_parameters(at.tables)?;
    let before = flow_table::packets_before(at, fields, now)?;
    (before < parameters.packets.load()).then(|| Priority::from_bits(parameters.priority.load()))
}

/// Returns the max bytes of an egress queue for packets of `priority`.
#[inline(always)]
fn threshold<T: Tables>(at: &Egress<'_, T>, priority: Priority) -> u64 {
    state::priority(at.tables, priority).map_or(0, |line| line.scaled(at.free(), false))
}

#[inline(always)]
fn is_admitted<T: Tables>(packet: &Arriving<'_, T>) -> Option<Result<(), DropReason>> {
    let Arriving { fields, length, now, .. } = *packet;
    let options = packet.ingress.policy.lossy_options;
    let at = Egress::from_arriving(packet);
    let mut priority = at.priority;
    let mut is_elephant = false;
    let mut flow = None;
    if options & OPTIONS_OF_FLOWS != 0 {
        let parameters = state::flow_parameters(at.tables)?;
        let entry = flow_table::count(&packet.ingress, fields, length, now)?;
        let is_first =
            options & OPTION_PRIORITISES != 0 && entry.packets.load() <= parameters.packets.load();
        if is_first {
            priority = Priority::from_bits(parameters.priority.load());
        }
        is_elephant = !is_first && u64::from(entry.bytes.load()) >= parameters.bytes.load();
        flow = Some(entry);
    }
    let admitted = at.admit(length, Some(threshold(&at, priority)));
    if options & (OPTION_FAIR_QUEUES | OPTION_FAIR_FLOWS) == 0 {
        return Some(admitted);
    }

    let parameters = state::fair_parameters(at.tables)?;
    let line = state::fair_queue(at.tables, at.config.queue_row(at.port, at.queue))?;
    let queue_bytes = at.row.bytes.load();
    roll(parameters, line, queue_bytes, now);
    let arrived = if options & OPTION_FAIR_QUEUES != 0 {
        add(&line.arrived_bytes, length);
        line.arrived_before.load()
    } else if let Some(entry) = flow
        && is_elephant
    {
        let window = line.window.load();
        let last = entry.window.load();
        if last != window {
            let before =
                if last.wrapping_add(1) == window { entry.arrived_bytes.load() } else { 0 };
            entry.arrived_before.store(before);
            entry.arrived_bytes.store(0);
            entry.window.store(window);
        }
        add(&entry.arrived_bytes, length);
        entry.arrived_before.load()
    } else {
        0
    };
    Some(admitted.and_then(|()| {
        let drops = queue_bytes > parameters.least_bytes.load()
            && is_drawn(at.switch, arrived, parameters.windows.load(), line.share_bytes.load());
        if drops { Err(DropReason::FairDrop) } else { Ok(()) }
    }))
}

#[inline(always)]
fn add(cell: &Cell32, bytes: u64) {
    cell.store(cell.load().saturating_add(bytes as u32));
}

/// Ends the current window of a queue if its time is over.
#[inline(always)]
fn roll(parameters: &FairParameters, line: &FairQueueLine, queue_bytes: u64, now: Nanos) {
    if now.0.saturating_sub(line.began_ns.load()) < parameters.window_ns.load() {
        return;
    }
    let desired = parameters.desired_bytes.load();
    let times = |bytes: u64, [numerator, denominator]: &[Cell32; 2]| {
        crate::threshold::scaled(bytes, numerator.load(), denominator.load())
    };
    let before = u64::from(line.queue_before.load());
    // Adds all terms before it subtracts any, so that no intermediate value is below zero.
    let more = times(before, &parameters.rise) + times(desired, &parameters.fall);
    let less = times(queue_bytes, &parameters.fall) + times(desired, &parameters.rise);
    line.share_bytes.store(line.share_bytes.load().saturating_add(more).saturating_sub(less));
    line.queue_before.store(queue_bytes as u32);
    line.arrived_before.store(line.arrived_bytes.load());
    line.arrived_bytes.store(0);
    line.window.store(line.window.load().wrapping_add(1));
    line.began_ns.store(now.0);
}

/// Draws whether to drop a packet. `arrived` times `windows` bytes came in the last window, of
/// which `share` are fair. Draws no random number if the result is certain.
#[inline(always)]
fn is_drawn(switch: &SwitchState, arrived: u32, windows: u32, share: u64) -> bool {
    // At most 2^32 x 1000 bytes; parsing ensures this.
    let arrived = u64::from(arrived) * u64::from(windows);
    if arrived <= share {
        return false;
    }
    // In units of 2^-20.
    (random_q48(switch) >> 28) * arrived < (arrived - share) << 20
}
