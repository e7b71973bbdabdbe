//! OFC as watchers see it.

use super::settings::Options;
use super::state::{
    self, ENTRIES_IN_A_LINE, FlowEntry, FlowTable, INGRESS, INGRESS_AT, NORMAL, PAUSED, REPORTED,
    RESUMES_NEXT,
};
use super::{Ofc, Policy, QueueId};
use crate::priority::Priority;
use crate::scheme::Ingress;
use crate::scheme::watched::{FlowPauses, FlowRow, HeldFlows, Watched};
use crate::tables::Tables;

impl Watched for Ofc {
    fn pauses_flows(_policy: Policy) -> bool {
        true
    }

    fn held_flows<T: Tables>(
        tables: &T,
        _policy: Policy,
        port: u32,
        priority: Priority,
    ) -> HeldFlows {
        let Some(config) = tables.config() else { return HeldFlows::default() };
        let Some(class) = state::class(tables, config.ports, port, priority) else {
            return HeldFlows::default();
        };
        let stops = class.unnamed_flows.load() != 0;
        let stopped: Option<QueueId> = stops.then(|| config.queues_of(priority).member(NORMAL));
        HeldFlows { flows: class.paused_flows.load(), stopped }
    }

    fn held_flow<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
        note: u32,
    ) -> Option<u32> {
        let table = table(tables, policy, port)?;
        let flow = table.resolve_note(tables, priority, note)?;
        let flow = state::flow(tables, table.ports, flow)?;
        is_held(flow).then(|| flow.hash.load())
    }

    fn holds_flow<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
        name: u32,
    ) -> bool {
        table(tables, policy, port).is_some_and(|table| {
            let found = table.find(tables, priority, name, false);
            table.flow(tables, found).is_some_and(is_held)
        })
    }

    fn paused_flows<T: Tables>(at: &Ingress<'_, T>, name: &mut impl FnMut(u32)) {
        let ports = at.config.ports;
        let first = state::class(at.tables, ports, at.port_number, at.priority);
        let mut next = first.map_or(0, |class| class.last_reported.load());
        // There are at most as many flows as entries.
        for _ in 0..ports * Options::from_policy(at.policy).entries() {
            let Some(flow) =
                next.checked_sub(1).and_then(|flow| state::flow(at.tables, ports, flow))
            else {
                break;
            };
            name(flow.hash.load());
            next = flow.link.load();
        }
    }

    fn flow_pauses<T: Tables>(
        tables: &T,
        _policy: Policy,
        port: u32,
        priority: Priority,
    ) -> FlowPauses {
        let class =
            tables.config().and_then(|config| state::class(tables, config.ports, port, priority));
        class.map_or_else(FlowPauses::default, |class| FlowPauses {
            pause_frames: class.pause_frames.load(),
            flows: class.reported_flows.load(),
            resume_frames: class.resume_frames.load(),
            class_pauses: class.class_pauses.load(),
            unnamed_packets: class.unnamed_packets.load(),
        })
    }

    fn flow_rows<T: Tables>(tables: &T, policy: Policy, port: u32, row: &mut impl FnMut(FlowRow)) {
        let Some(table) = table(tables, policy, port) else { return };
        let first = state::first_flow(table.options, port);
        let numbers = first..first + u32::from(table.options.flow_lines) * ENTRIES_IN_A_LINE;
        for flow in numbers.filter_map(|number| state::flow(tables, table.ports, number)) {
            row(FlowRow {
                has_packets: flow.packets.load() != 0,
                is_held: flow.has(PAUSED),
                paused_at: flow.has(REPORTED).then(|| (flow.state.load() & INGRESS) >> INGRESS_AT),
            });
        }
    }
}

fn table<T: Tables>(tables: &T, policy: Policy, port: u32) -> Option<FlowTable> {
    let ports = tables.config()?.ports;
    Some(FlowTable { options: Options::from_policy(policy), ports, port })
}

fn is_held(flow: &FlowEntry) -> bool {
    flow.has(PAUSED) && !flow.has(RESUMES_NEXT)
}
