//! Algorithm 2: what a PAUSE or RESUME of flows changes at the port that it comes in at.

use super::rotation;
use super::settings::Options;
use super::state::{self, ClassLine, FlowTable, PAUSED, PortLine, RESUMES_NEXT};
use crate::drop_reason::DropReason;
use crate::hop_control::{FlowList, HopControl, MAX_FLOWS};
use crate::map_abi::SwitchConfig;
use crate::priority::Priority;
use crate::tables::Tables;

/// The neighbour at a port has paused or resumed flows there.
#[inline(always)]
pub fn receive<T: Tables>(
    tables: &T,
    options: Options,
    port: u32,
    control: &HopControl,
) -> Result<(), DropReason> {
    let HopControl::Flows { priority, paused, flows } = *control else {
        return Err(DropReason::UnexpectedHopControl);
    };
    if !options.covers(priority) {
        return Err(DropReason::UnexpectedHopControl);
    }
    apply(tables, options, port, priority, paused, flows).ok_or(DropReason::BrokenTable)
}

#[inline(always)]
fn apply<T: Tables>(
    tables: &T,
    options: Options,
    number: u32,
    priority: Priority,
    paused: bool,
    flows: FlowList,
) -> Option<()> {
    let config = tables.config()?;
    let port = state::port(tables, number)?;
    let class = state::class(tables, config.ports, number, priority)?;
    let table = FlowTable { options, ports: config.ports, port: number };
    let names = flows.words();
    let mut flow = 0;
    while flow < MAX_FLOWS {
        if flow < usize::from(flows.count()) {
            if paused {
                pause(tables, table, class, priority, names[flow]);
            } else {
                resume(tables, table, class, priority, names[flow]);
            }
        }
        flow += 1;
    }
    if !paused {
        rotate(tables, config, number, class, priority)?;
    }
    show(config, port, class, priority);
    Some(())
}

/// The queues that must not send now.
#[inline(always)]
fn show(config: &SwitchConfig, port: &PortLine, class: &ClassLine, priority: Priority) {
    class.show(port, config.queues_of(priority));
}

/// Lines 3 to 5.
#[inline(always)]
fn pause<T: Tables>(
    tables: &T,
    table: FlowTable,
    class: &ClassLine,
    priority: Priority,
    name: u32,
) {
    match table.find_or_take(tables, priority, name) {
        Some((_, flow)) => {
            if !flow.has(PAUSED) || flow.has(RESUMES_NEXT) {
                class.paused_flows.add::<T>(1);
            }
            flow.set(PAUSED);
            flow.clear(RESUMES_NEXT);
        }
        None => {
            class.paused_flows.add::<T>(1);
            class.unnamed_flows.add::<T>(1);
        }
    }
}

/// Line 8. During a rotation the flow stays paused until that is over, if it has packets.
#[inline(always)]
fn resume<T: Tables>(
    tables: &T,
    table: FlowTable,
    class: &ClassLine,
    priority: Priority,
    name: u32,
) {
    match table.find(tables, priority, name) {
        Some((_, flow)) if flow.has(PAUSED) && !flow.has(RESUMES_NEXT) => {
            class.paused_flows.sub::<T>(1);
            if class.is_draining() && flow.packets.load() != 0 {
                flow.set(RESUMES_NEXT);
                class.wait_for_end();
            } else {
                flow.clear(PAUSED);
            }
        }
        _ => {
            // A RESUME of a flow for which there was no room, or of one that is not paused.
            if class.unnamed_flows.load() != 0 {
                class.paused_flows.sub::<T>(1);
                class.unnamed_flows.sub::<T>(1);
            }
        }
    }
}

/// Line 9: the packets of the paused queue are looked at again, unless the last rotation is not over.
#[inline(always)]
fn rotate<T: Tables>(
    tables: &T,
    config: &SwitchConfig,
    port: u32,
    class: &ClassLine,
    priority: Priority,
) -> Option<()> {
    let paused = class.paused(config.queues_of(priority));
    let row = tables.egress_queue(config.queue_row(port, paused))?;
    if !class.is_draining() && row.bytes.load() != 0 {
        rotation::begin(class);
    }
    Some(())
}
