//! Periodic repetition of the pauses of flows, so that lost control frames do no lasting harm. Not part of the paper.
//!
//! At each period a switch repeats the names of all flows that it has reported to a neighbour, and forgets flows that
//! its neighbours have not named for [`FLOW_PAUSE_PERIODS`]. So a lost PAUSE is made up for after one period, a lost RESUME after
//! three to four. Flows without an entry are forgotten at each period, and counted again when they are named again.

use super::notification;
use super::settings::Options;
use super::state::{self, AGE, AGE_AT, ENTRIES_IN_A_LINE, PAUSED, RESUMES_NEXT};
use crate::hop_control::{FLOW_PAUSE_PERIODS, FlowList, HopControl, MAX_FLOWS};
use crate::priority::{self, Priority};
use crate::tables::Tables;

const _: () = assert!(FLOW_PAUSE_PERIODS == AGE >> AGE_AT);

/// Ends a period at a port: forgets flows that were not repeated, and repeats the switch's pauses to the neighbour.
pub fn announce<T: Tables>(
    tables: &T,
    options: Options,
    port: u32,
    send: &mut impl FnMut(HopControl),
) {
    for priority in priority::in_mask(options.priorities) {
        let _ = forget(tables, options, port, priority);
        let _ = repeat(tables, port, priority, send);
    }
}

/// Forgets all flows that a port's neighbour has paused.
pub fn forget_all<T: Tables>(tables: &T, options: Options, port: u32) {
    let paused_flows = |priority: Priority| {
        let ports = tables.config()?.ports;
        let first = state::first_flow(options, port);
        let flows = (first..first + options.entries()).map(move |number| {
            let flow = state::flow(tables, ports, number)?;
            let is_paused = flow.is_of(priority) && flow.has(PAUSED) && !flow.has(RESUMES_NEXT);
            is_paused.then(|| flow.hash.load())
        });
        Some(flows.flatten())
    };
    for priority in priority::in_mask(options.priorities) {
        let _ = forget_unnamed(tables, port, priority);
        let hashes = paused_flows(priority).into_iter().flatten();
        notification::resume_all(tables, options, port, priority, hashes);
    }
}

/// Resumes flows without an entry. `None` if the port does not exist.
fn forget_unnamed<T: Tables>(tables: &T, port: u32, priority: Priority) -> Option<()> {
    let config = tables.config()?;
    let class = state::class(tables, config.ports, port, priority)?;
    let unnamed = class.unnamed_flows.load();
    if unnamed != 0 {
        class.paused_flows.sub::<T>(unnamed);
        class.unnamed_flows.store(0);
        class.show(state::port(tables, port)?, config.queues_of(priority));
    }
    Some(())
}

/// Forgets flows that were not repeated. `None` if the port does not exist.
fn forget<T: Tables>(tables: &T, options: Options, port: u32, priority: Priority) -> Option<()> {
    let config = tables.config()?;
    let class = state::class(tables, config.ports, port, priority)?;
    forget_unnamed(tables, port, priority)?;
    if class.paused_flows.load() == 0 {
        return Some(());
    }
    let first = state::first_flow(options, port);
    for number in first..first + u32::from(options.flow_lines) * ENTRIES_IN_A_LINE {
        let flow = state::flow(tables, config.ports, number)?;
        if !flow.is_of(priority) || !flow.has(PAUSED) || flow.has(RESUMES_NEXT) {
            continue;
        }
        if flow.has(AGE) {
            let flows = FlowList::new(&[flow.hash.load()])?;
            let resume = HopControl::Flows { priority, paused: false, flows };
            notification::receive(tables, options, port, &resume).ok()?;
        } else {
            flow.state.store(flow.state.load() + (1 << AGE_AT));
        }
    }
    Some(())
}

/// Repeats the pauses of flows. `None` if the port does not exist.
fn repeat<T: Tables>(
    tables: &T,
    port: u32,
    priority: Priority,
    send: &mut impl FnMut(HopControl),
) -> Option<()> {
    let ports = tables.config()?.ports;
    let mut next = state::class(tables, ports, port, priority)?.last_reported.load();
    while next != 0 {
        let (mut count, mut names) = (0, [0; MAX_FLOWS]);
        while next != 0 && usize::from(count) < MAX_FLOWS {
            let flow = state::flow(tables, ports, next - 1)?;
            names[usize::from(count)] = flow.hash.load();
            count += 1;
            next = flow.link.load();
        }
        let flows = FlowList::from_first(count, names)?;
        send(HopControl::Flows { priority, paused: true, flows });
    }
    Some(())
}
