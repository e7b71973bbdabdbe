//! Algorithm 2: effect of a PAUSE or RESUME of flows at the port that receives it.

use super::rotation;
use super::settings::Options;
use super::state::{self, AGE, ClassLine, FlowEntry, FlowTable, PAUSED, RESUMES_NEXT};
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, MAX_FLOWS};
use crate::map_abi::SwitchConfig;
use crate::priority::Priority;
use crate::tables::Tables;

/// Applies a PAUSE or RESUME of flows by the neighbour at a port.
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
    let about = About::new(options, port, priority, paused);
    let [_, mut low, mut high] = control.to_words();
    let mut flow = 0;
    while flow < MAX_FLOWS as u8 && flow < flows.count() {
        obey(tables, about, low as u32);
        (low, high) = (low >> 32 | high << 32, high >> 32);
        flow += 1;
    }
    if show(tables, about) { Ok(()) } else { Err(DropReason::BrokenTable) }
}

/// Acts as if the neighbour at a port had resumed the flows `names` at once.
pub fn resume_all<T: Tables>(
    tables: &T,
    options: Options,
    port: u32,
    priority: Priority,
    names: impl Iterator<Item = u32>,
) {
    let about = About::new(options, port, priority, false);
    for name in names {
        obey(tables, about, name);
    }
    show(tables, about);
}

/// Content of a message that is common to its flows, and the port that received it, in one word.
#[derive(Clone, Copy)]
struct About(u64);

impl About {
    #[inline(always)]
    fn new(options: Options, port: u32, priority: Priority, paused: bool) -> Self {
        let high = port << 8 | u32::from(priority.number()) << 1 | u32::from(paused);
        Self(u64::from(options.to_bits()) | u64::from(high) << 32)
    }

    #[inline(always)]
    const fn options(self) -> Options {
        Options::from_bits(self.0 as u32)
    }

    #[inline(always)]
    const fn port(self) -> u32 {
        (self.0 >> 40) as u32
    }

    #[inline(always)]
    const fn priority(self) -> Priority {
        Priority::from_bits((self.0 >> 33) as u32)
    }

    #[inline(always)]
    const fn paused(self) -> bool {
        self.0 >> 32 & 1 != 0
    }
}

/// Pauses or resumes the flow `name`. In eBPF a call with its own stack, because the arrival program's stack is full.
#[cfg_attr(target_arch = "bpf", inline(never))]
#[cfg_attr(not(target_arch = "bpf"), inline(always))]
fn obey<T: Tables>(tables: &T, about: About, name: u32) -> u32 {
    let Some(config) = tables.config() else { return 0 };
    let priority = about.priority();
    let table = FlowTable { options: about.options(), ports: config.ports, port: about.port() };
    let note = table.find(tables, priority, name, about.paused());
    if let Some(class) = state::class(tables, config.ports, about.port(), priority) {
        if about.paused() {
            pause::<T>(class, table.flow(tables, note));
        } else {
            resume::<T>(class, table.flow(tables, note));
        }
    }
    note
}

/// Completes a message after all its flows: begins a rotation after a RESUME, and updates the
/// queues that must not send. Returns true if the tables have the rows. Also a call.
#[cfg_attr(target_arch = "bpf", inline(never))]
#[cfg_attr(not(target_arch = "bpf"), inline(always))]
fn show<T: Tables>(tables: &T, about: About) -> bool {
    let shown = |config: &SwitchConfig| {
        let port = state::port(tables, about.port())?;
        let class = state::class(tables, config.ports, about.port(), about.priority())?;
        if !about.paused() {
            rotate(tables, config, about.port(), class, about.priority())?;
        }
        class.show(port, config.queues_of(about.priority()));
        Some(())
    };
    tables.config().and_then(shown).is_some()
}

/// Lines 3 to 5. `flow` is the flow's entry; `None` if the table had no room for it.
#[inline(always)]
fn pause<T: Tables>(class: &ClassLine, flow: Option<&FlowEntry>) {
    let Some(flow) = flow else {
        class.paused_flows.add::<T>(1);
        class.unnamed_flows.add::<T>(1);
        return;
    };
    if !flow.has(PAUSED) || flow.has(RESUMES_NEXT) {
        class.paused_flows.add::<T>(1);
    }
    flow.set(PAUSED);
    flow.clear(RESUMES_NEXT | AGE);
}

/// Line 8. During a rotation, a flow with packets stays paused until the rotation ends.
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
            // A RESUME of a flow without an entry, or of a flow that is not paused.
            if class.unnamed_flows.load() != 0 {
                class.paused_flows.sub::<T>(1);
                class.unnamed_flows.sub::<T>(1);
            }
        }
    }
}

/// Line 9: begins to drain the paused queue, unless a rotation is going on.
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
