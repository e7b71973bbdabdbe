//! Algorithm 2: what a PAUSE or RESUME of flows changes at the port that it comes in at.

use super::rotation;
use super::settings::Options;
use super::state::{self, ClassLine, FlowEntry, FlowTable, PAUSED, PortLine, RESUMES_NEXT};
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, MAX_FLOWS};
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
    let head = u64::from(options.to_bits()) | u64::from(port) << 32;
    let [said, low, high] = HopControl::Flows { priority, paused, flows }.to_words();
    if apply(tables, head, said, low, high) { Ok(()) } else { Err(DropReason::BrokenTable) }
}

/// Obeys a message, in words. In eBPF a call, with a stack of its own: that of the arrival program is full. Whether the
/// tables have their rows.
#[cfg_attr(target_arch = "bpf", inline(never))]
#[cfg_attr(not(target_arch = "bpf"), inline(always))]
fn apply<T: Tables>(tables: &T, head: u64, said: u64, low: u64, high: u64) -> bool {
    let (options, number) = (Options::of_bits(head as u32), (head >> 32) as u32);
    let [_, priority, paused, count, ..] = said.to_le_bytes();
    let priority = Priority::of_bits(priority.into());
    obey(tables, options, number, priority, paused != 0, count, [low, high]).is_some()
}

/// The flows are the first `count` of those in two words.
#[inline(always)]
fn obey<T: Tables>(
    tables: &T,
    options: Options,
    number: u32,
    priority: Priority,
    paused: bool,
    count: u8,
    [mut low, mut high]: [u64; 2],
) -> Option<()> {
    let config = tables.config()?;
    let port = state::port(tables, number)?;
    let class = state::class(tables, config.ports, number, priority)?;
    let table = FlowTable { options, ports: config.ports, port: number };
    let mut flow = 0;
    while flow < MAX_FLOWS as u8 && flow < count {
        let name = low as u32;
        (low, high) = (low >> 32 | high << 32, high >> 32);
        let mut found = table.find(tables, priority, name);
        if paused {
            found = found.or_else(|| table.take(tables, priority, name));
            pause::<T>(class, found.map(|(_, flow)| flow));
        } else {
            resume::<T>(class, found.map(|(_, flow)| flow));
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

/// Lines 3 to 5: of a flow that has an entry now, or of one for which there was no room.
#[inline(always)]
fn pause<T: Tables>(class: &ClassLine, flow: Option<&FlowEntry>) {
    match flow {
        Some(flow) => {
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
fn resume<T: Tables>(class: &ClassLine, flow: Option<&FlowEntry>) {
    match flow {
        Some(flow) if flow.has(PAUSED) && !flow.has(RESUMES_NEXT) => {
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
