//! The report of `xoff inspect --json`. Keys end in their unit: bytes, bits per second (`_bps`), picoseconds (`_ps`).

use serde_json::{Value, json};
use topology::{Cycle, WireId};
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::text::Report;
use super::{
    Collisions, ElidedTurns, FlowPath, FlowPauses, HeldBack, Inspection, LinkGroup, LossyBuffer,
    Overload, PathGroup, PausingSwitches, PortGroup, Prevention, QueuePauses, StaticRoute,
    SwitchBuffers, TierLoad, TransportPaths,
};

impl Report<'_> {
    /// Formats the report as indented JSON with a line feed at the end. Parts that a scenario lacks are an empty list
    /// or null.
    pub fn to_json(&self) -> String {
        let Inspection {
            shape,
            hosts,
            switches,
            links,
            routes,
            paths,
            lossless,
            buffers,
            headroom,
            lossy,
            queue_pauses,
            flow_pauses,
            held_back,
            load,
            collisions,
            cycles,
        } = self.inspection;
        let json = json!({
            "shape": shape,
            "hosts": hosts,
            "switches": switches,
            "links": each(links, link_group),
            "static_routes": each(&routes.entries, static_route),
            "flow_paths": each(&routes.paths, flow_path),
            "paths": each(paths, transport_paths),
            "lossless_priorities": lossless,
            "buffers": each(buffers, switch_buffers),
            "headroom": each(headroom, |link| link.to_json(self.asic)),
            "lossy": lossy.as_ref().map(self::lossy),
            "queue_pauses": queue_pauses.as_ref().map(self::queue_pauses),
            "flow_pauses": flow_pauses.as_ref().map(FlowPauses::to_json),
            "expected_load": each(load, tier_load),
            "collisions": each(collisions, |found| self.collisions_json(found)),
            "buffer_dependency": { "cycles": each(cycles, |cycle| self.cycle_json(cycle)) },
            "backpressure_graph": held_back.as_ref().map(|graph| self.held_back_json(graph)),
        });
        format!("{json:#}\n")
    }

    fn wires(&self, wires: &[WireId]) -> Vec<&str> {
        wires.iter().map(|wire| self.fabric.wire(*wire).name.as_str()).collect()
    }

    /// Formats a cycle; ports are identified by the wires between them.
    fn cycle_json(&self, cycle: &Cycle) -> Value {
        let Cycle { members, example } = cycle;
        json!({ "members": self.wires(members), "example": self.wires(example) })
    }

    fn collisions_json(&self, found: &Collisions) -> Value {
        let Collisions { label, flows, wires_by_flows, overloaded } = found;
        let overload = |Overload { wire, flows }: &Overload| {
            let name = &self.fabric.wire(*wire).name;
            json!({ "wire": name, "flows": flows })
        };
        json!({
            "label": label,
            "flows": flows,
            "wires_by_flows": wires_by_flows,
            "overloaded": each(overloaded, overload),
        })
    }

    fn held_back_json(&self, graph: &HeldBack) -> Value {
        let HeldBack { ports, edges, cycles, prevention, .. } = graph;
        json!({
            "egress_ports": ports,
            "edges_by_routes": edges,
            "cycles": each(cycles, |cycle| self.cycle_json(cycle)),
            "prevention": prevention.as_ref().map(self::prevention),
        })
    }
}

fn each<T>(all: &[T], json: impl Fn(&T) -> Value) -> Vec<Value> {
    all.iter().map(json).collect()
}

fn link_group(group: &LinkGroup) -> Value {
    let LinkGroup { tiers, rate: BitsPerSecond(rate), delay: Picos(delay), count } = group;
    json!({ "tiers": tiers, "count": count, "rate_bps": rate, "delay_ps": delay })
}

fn static_route(route: &StaticRoute) -> Value {
    let StaticRoute { at, frames, via } = route;
    json!({ "at": at, "frames": frames, "via": via })
}

fn flow_path(path: &FlowPath) -> Value {
    let FlowPath { from, to, switches, flows } = path;
    json!({ "from": from, "to": to, "switches": switches, "flows": flows })
}

fn transport_paths(paths: &TransportPaths) -> Value {
    let TransportPaths { transports, groups } = paths;
    let group = |group: &PathGroup| {
        let PathGroup { links, pairs, paths, base_rtt, bdp: Bytes(bdp) } = group;
        json!({
            "links": links,
            "pairs": pairs,
            "fewest_paths": paths.0,
            "most_paths": paths.1,
            "shortest_base_rtt_ps": base_rtt.0.0,
            "longest_base_rtt_ps": base_rtt.1.0,
            "bdp_bytes": bdp,
        })
    };
    json!({ "transports": transports, "groups": each(groups, group) })
}

fn lossy(of: &LossyBuffer) -> Value {
    let LossyBuffer { kind, priorities, period, codel } = of;
    let period = period.map(|Picos(period)| period);
    json!({ "kind": kind, "priorities": priorities, "period_ps": period, "codel": codel })
}

fn switch_buffers(group: &SwitchBuffers) -> Value {
    let SwitchBuffers { switches, pools, ports, unlinked_ports } = group;
    let port = |port: &PortGroup| {
        let PortGroup { count, rate, delay, headroom, once_measured } = port;
        json!({
            "count": count,
            "rate_bps": rate.0,
            "delay_ps": delay.0,
            "headroom_bytes": headroom.0,
            "headroom_once_measured_bytes": once_measured.map(|Bytes(bytes)| bytes),
        })
    };
    json!({
        "switches": switches,
        "shared_bytes": pools.shared.0,
        "private_bytes": pools.private.0,
        "headroom_bytes": pools.headroom.0,
        "lossy_bytes": pools.lossy.0,
        "headroom_by": if pools.insurance { "port" } else { "queue" },
        "ports": each(ports, port),
        "unlinked_ports": unlinked_ports,
    })
}

fn queue_pauses(pauses: &QueuePauses) -> Value {
    let QueuePauses { priorities, queues, flow_entries, bitmap_period, switches, .. } = pauses;
    let group = |group: &PausingSwitches| {
        let PausingSwitches { switches, thresholds, sticky: Nanos(sticky) } = group;
        let threshold = |threshold: &(BitsPerSecond, Bytes)| {
            let (BitsPerSecond(rate), Bytes(bytes)) = threshold;
            json!({ "rate_bps": rate, "bytes": bytes })
        };
        json!({
            "switches": switches,
            "thresholds_of_one_active_queue": each(thresholds, threshold),
            "sticky_ps": Picos::from_nanos(Nanos(*sticky)).0,
        })
    };
    json!({
        "priorities": priorities,
        "queues": queues,
        "flow_entries": flow_entries,
        "bitmap_period_ps": bitmap_period.0,
        "switches": each(switches, group),
    })
}

fn tier_load(load: &TierLoad) -> Value {
    let TierLoad { direction, wires, mean_millionths, largest_millionths, largest } = load;
    json!({
        "direction": direction,
        "wires": wires,
        "mean_millionths": mean_millionths,
        "largest_millionths": largest_millionths,
        "largest": largest,
    })
}

fn prevention(prevention: &Prevention) -> Value {
    let Prevention { elided, edges_by_routes, edges_by_all_turns, cycles } = prevention;
    let turns = |of_tier: &ElidedTurns| {
        let ElidedTurns { tier, switches, turns } = of_tier;
        json!({ "tier": tier, "switches": switches, "turns_of_each": turns })
    };
    json!({
        "elided": each(elided, turns),
        "edges_by_routes": edges_by_routes,
        "edges_by_all_turns": edges_by_all_turns,
        "cycles": cycles,
    })
}
