//! `[[routes]]`: next hops that override the shortest paths.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{
    Fabric, FlowClass, HostId, NodeKind, RouteFault, RouteFaultKind, RouteMatch, StaticRoutes,
    SwitchId, Traffic, Wire,
};
use workload::Source;

use super::document::{Document, suggestion};
use super::flow_routes::{FlowRoutes, FlowRoutesFault, MAX_PORTS};
use super::flows::FlowsEntry;
use super::host::Host;
use super::names::Names;
use super::report::{ScenarioError, listed, nearest, ordinal};
use super::shape::Shape;

/// Maximum number of routes of a switch, and of flows with special routes. A routing chip has room for some thousands
/// in its TCAM, and some hundreds of thousands with exact keys.
pub const MAX_ROUTES: usize = 1 << 16;

/// Next hops of some switches for some frames, instead of the shortest paths. If several routes of a switch match a
/// frame, a route that names its flow takes precedence, then a route that names the sender, then a route that names the
/// receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteEntry {
    /// Switches that have the route, such as "leaf0".
    pub at: Names,
    /// Hosts that frames go to; a switch's name stands for its hosts. May be omitted only with `flows`: the route then
    /// applies to these flows whatever their receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Names>,
    /// Hosts that frames come from; a switch's name stands for its hosts. Only with `to`. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Names>,
    /// Label of an entry of `[[flows]]`, to apply the route to packets from its senders only, not to ACKs. Default: all
    /// frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<String>,
    /// Neighbours that are the next hops, by name; the second of parallel links to `spine1` is "spine1#2". Among
    /// several, the hash of a flow selects one.
    pub via: Vec<String>,
}

/// Routes of a file, by switch.
#[derive(Debug, Default)]
pub(super) struct ResolvedRoutes {
    pub(super) routes: StaticRoutes,
    /// Classes of the flows that routes name, by label.
    pub(super) classes: BTreeMap<String, FlowClass>,
    /// Index of the entry of each route.
    pub(super) entries: BTreeMap<(SwitchId, RouteMatch), usize>,
}

/// Inputs for resolving routes.
struct Resolution<'a> {
    shape: &'a Shape,
    fabric: &'a Fabric,
    document: &'a Document<'a>,
}

impl ResolvedRoutes {
    pub(super) fn new(
        entries: &[RouteEntry],
        shape: &Shape,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<Self, ScenarioError> {
        let resolution = Resolution { shape, fabric, document };
        let mut resolved = Self::default();
        let mut counts = vec![0; fabric.switch_count() as usize];
        for (number, entry) in entries.iter().enumerate() {
            resolved.add(number, entry, &resolution, &mut counts)?;
        }
        Ok(resolved)
    }

    fn add(
        &mut self,
        number: usize,
        entry: &RouteEntry,
        resolution: &Resolution<'_>,
        counts: &mut [usize],
    ) -> Result<(), ScenarioError> {
        let path = format!("routes.{number}");
        let &Resolution { fabric, document, .. } = resolution;
        let switches = entry.at.switches(&format!("{path}.at"), fabric, document)?;
        let frames = self.frames(&path, entry, resolution)?;
        // A switch delivers frames to its hosts directly, so that routes are for other hosts.
        let is_own = |switch: SwitchId, frames: &RouteMatch| {
            frames.destination.is_some_and(|host| fabric.edge(host) == switch)
        };
        if switches.iter().all(|&switch| frames.iter().all(|frames| is_own(switch, frames))) {
            let host = frames[0].destination.expect("a switch's own frames have a destination");
            let (name, host) = (&fabric.switch(switches[0]).name, &fabric.host(host).name);
            let title =
                format!("`{host}` is on `{name}`, which hands frames to it over their link");
            let help = "name switches that are on the way there";
            return Err(document.error(&format!("{path}.at"), &title, help));
        }
        for switch in switches {
            let frames: Vec<RouteMatch> =
                frames.iter().copied().filter(|frames| !is_own(switch, frames)).collect();
            if frames.is_empty() {
                continue;
            }
            let ports = resolution.ports(&path, switch, &entry.via, &frames)?;
            counts[switch.0 as usize] += frames.len();
            if counts[switch.0 as usize] > MAX_ROUTES {
                let name = &fabric.switch(switch).name;
                let title = format!("switch `{name}` has more than {MAX_ROUTES} routes");
                let help = "name fewer pairs of hosts: a route without `from` is for all senders";
                return Err(document.error(&path, &title, help));
            }
            for &frames in &frames {
                if !self.routes.add(switch, frames, ports.clone()) {
                    let other = self.entries[&(switch, frames)];
                    return Err(resolution.twice(&path, switch, frames, other));
                }
                self.entries.insert((switch, frames), number);
            }
        }
        Ok(())
    }

    /// Returns the matches of a route.
    fn frames(
        &mut self,
        path: &str,
        entry: &RouteEntry,
        resolution: &Resolution<'_>,
    ) -> Result<Vec<RouteMatch>, ScenarioError> {
        let &Resolution { fabric, document, .. } = resolution;
        let next = FlowClass(topology::in_32_bits(self.classes.len()));
        let class = entry.flows.as_ref();
        let class = class.map(|label| *self.classes.entry(label.clone()).or_insert(next));
        let Some(to) = &entry.to else {
            if entry.from.is_some() {
                let help = "add the hosts that frames go to: to = \"*\" for all of them";
                return Err(document.error(&format!("{path}.from"), "`from` without `to`", help));
            }
            if class.is_none() {
                let help = "add to = \"h0\" or flows = \"label\"";
                return Err(document.error(path, "a route without `to` or `flows`", help));
            }
            return Ok(vec![RouteMatch { class, source: None, destination: None }]);
        };
        let to = to.hosts(&format!("{path}.to"), fabric, document)?;
        let Some(from) = &entry.from else {
            let frames = |host| RouteMatch { class, source: None, destination: Some(host) };
            return Ok(to.into_iter().map(frames).collect());
        };
        let from = from.hosts(&format!("{path}.from"), fabric, document)?;
        let pairs = from.iter().flat_map(|&source| to.iter().map(move |&to| (source, to)));
        let frames = pairs.filter(|(source, to)| source != to).map(|(source, destination)| {
            RouteMatch { class, source: Some(source), destination: Some(destination) }
        });
        let frames: Vec<RouteMatch> = frames.take(MAX_ROUTES + 1).collect();
        if frames.is_empty() {
            let title = format!("a route from `{}` to itself", fabric.host(from[0]).name);
            let help = "name two different hosts";
            return Err(document.error(&format!("{path}.to"), &title, help));
        }
        Ok(frames)
    }

    /// Adds flows with special routes, and returns their classes.
    pub(super) fn with_flows(
        mut self,
        seed: u64,
        workloads: &[FlowsEntry],
        sources: &[Source],
        host: &Host,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<(Self, FlowRoutes), ScenarioError> {
        let labels: Vec<&str> = workloads.iter().map(FlowsEntry::label).collect();
        for (RouteMatch { class, .. }, number) in
            self.entries.iter().map(|((_, frames), number)| (frames, number))
        {
            let label = self.classes.iter().find(|(_, known)| Some(**known) == *class);
            if let Some((label, _)) = label.filter(|(label, _)| !labels.contains(&label.as_str())) {
                let title = format!("no flows are called `{label}`");
                let help = suggestion(label, "the labels are", labels.iter().copied());
                return Err(document.error(&format!("routes.{number}.flows"), &title, &help));
            }
        }
        let known = |entry: &FlowsEntry| {
            let is_tcp = entry.transport.unwrap_or(host.transport).is_tcp();
            (self.classes.get(entry.label()).copied(), is_tcp)
        };
        let known = workloads.iter().map(known).collect();
        let flows = FlowRoutes::new(seed, sources, known, fabric, &mut self.routes);
        let flows = flows.map_err(|fault| {
            let name = |host: HostId| &fabric.host(host).name;
            let (workload, title, help) = match fault {
                FlowRoutesFault::TooMany(workload) => (
                    workload,
                    format!("more than {MAX_ROUTES} flows have routes of their own"),
                    "name fewer flows, or routes for pairs of hosts, which are for any number of flows",
                ),
                FlowRoutesFault::Ports(workload, from, to) => (
                    workload,
                    format!(
                        "flows with routes of their own have more than {MAX_PORTS} source ports between `{}` and `{}`",
                        name(from),
                        name(to)
                    ),
                    "write a route for the pair, with `from` and `to`, which is for any number of flows",
                ),
                FlowRoutesFault::SamePort(workload, from, to, port) => (
                    workload,
                    format!(
                        "flows from `{}` to `{}` with source port {port} take different routes",
                        name(from),
                        name(to)
                    ),
                    "switches distinguish them by that port alone: give them different ones, or routes for the pair",
                ),
            };
            document.error(&format!("flows.{workload}"), &title, help)
        })?;
        Ok((self, flows))
    }

    /// Explains why the fabric refuses routes, at the last route that the frames have taken.
    pub(super) fn explain(
        &self,
        fault: &RouteFault,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> ScenarioError {
        let names = |switches: &[SwitchId]| {
            let names: Vec<&str> =
                switches.iter().map(|it| fabric.switch(*it).name.as_str()).collect();
            names.join(" -> ")
        };
        let who = self.described(fault.traffic, fabric);
        let (switches, title, help) = match &fault.kind {
            RouteFaultKind::Loop(members) => {
                let first = &fabric.switch(members[0]).name;
                let title = format!("{who} go round: {} -> {first}", names(members));
                let help = "give the next switches routes, too, or send the frames to a switch from which the shortest \
                            path does not lead back";
                (members, title, help)
            }
            RouteFaultKind::DeadEnd(switches) => {
                let title = format!("{who} come to a dead end: {}", names(switches));
                (switches, title, "send them to a switch from which a path leads on")
            }
        };
        let entry = |switch: &SwitchId| {
            let (frames, _) = fabric.applying(*switch, fault.traffic)?;
            self.entries.get(&(*switch, frames))
        };
        match switches.iter().rev().find_map(entry) {
            Some(number) => document.error(&format!("routes.{number}.via"), &title, help),
            None => document.error("routes", &title, help),
        }
    }

    fn described(&self, traffic: Traffic, fabric: &Fabric) -> String {
        let label = self.classes.iter().find(|(_, class)| Some(**class) == traffic.class);
        let what = label.map_or_else(|| "frames".into(), |(label, _)| format!("flows `{label}`"));
        let name = |host| &fabric.host(host).name;
        let from = traffic.source.map(|source| format!(" from `{}`", name(source)));
        format!("{what}{} to `{}`", from.unwrap_or_default(), name(traffic.destination))
    }
}

impl Resolution<'_> {
    /// Returns the ports of next hops, ascending.
    fn ports(
        &self,
        path: &str,
        switch: SwitchId,
        via: &[String],
        frames: &[RouteMatch],
    ) -> Result<Vec<u16>, ScenarioError> {
        let fabric = self.fabric;
        if via.is_empty() {
            let help = "name neighbours of the switch: via = [\"spine0\"]";
            return Err(self.document.error(&format!("{path}.via"), "no next hop", help));
        }
        let mut ports = Vec::with_capacity(via.len());
        for (place, name) in via.iter().enumerate() {
            let at = format!("{path}.via.{place}");
            let port = port_named(fabric, self.shape, switch, name)
                .map_err(|(title, help)| self.document.error(&at, &title, &help))?;
            if ports.contains(&port) {
                let help = "name each next hop once: members of a group have equal shares";
                return Err(self.document.error(&at, &format!("`{name}` is named twice"), help));
            }
            let peer = fabric.node(fabric.peer(fabric.switch_node(switch), port).node);
            if let NodeKind::Host(host) = peer.kind
                && let Some(other) = frames.iter().find(|it| it.destination != Some(host))
            {
                let whose = other.destination.map_or_else(
                    || "flows that may go to other hosts".to_owned(),
                    |other| format!("frames to `{}`", fabric.host(other).name),
                );
                let title = format!("the next hop of {whose} is the host `{name}`");
                let help = "hosts do not forward: name a switch";
                return Err(self.document.error(&at, &title, help));
            }
            ports.push(port);
        }
        ports.sort_unstable();
        Ok(ports)
    }

    /// Returns an error for two routes with equal matches at one switch.
    fn twice(
        &self,
        path: &str,
        switch: SwitchId,
        frames: RouteMatch,
        other: usize,
    ) -> ScenarioError {
        let host = |host: HostId| &self.fabric.host(host).name;
        let to = frames.destination.map(|it| format!(" to `{}`", host(it))).unwrap_or_default();
        let from = frames.source.map(|it| format!(" from `{}`", host(it))).unwrap_or_default();
        let name = &self.fabric.switch(switch).name;
        let what = if frames.class.is_some() { "these flows" } else { "frames" };
        let title = format!("`{name}` has two routes for {what}{from}{to}");
        let help = format!(
            "the other one is the {} of [[routes]]: leave one out, or name all next hops in one",
            ordinal(other)
        );
        self.document.error(path, &title, &help)
    }
}

/// Sets the static routes of the fabric.
pub(super) fn set_routes(
    fabric: &mut Fabric,
    routes: &ResolvedRoutes,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let refused = fabric.set_static_routes(routes.routes.clone());
    refused.map_err(|fault| routes.explain(&fault, fabric, document))
}

/// Returns the port of a switch that leads to the neighbour with this name. An error is a title and a help text.
pub(super) fn port_named(
    fabric: &Fabric,
    shape: &Shape,
    switch: SwitchId,
    name: &str,
) -> Result<u16, (String, String)> {
    let node = fabric.switch(switch);
    let names = || node.ports.iter().map(|&wire| Wire::port_name(fabric.wire(wire)));
    if let Some((port, _)) = (0u16..).zip(names()).find(|(_, known)| *known == name) {
        return Ok(port);
    }
    let here = &node.name;
    let neighbours = format!("the neighbours of `{here}` are {}", listed(names()));
    let (peer, number) = name.split_once('#').unwrap_or((name, "1"));
    if let Ok(number) = number.parse()
        && let usual = topology::port_name(peer, number)
        && name != usual
        && names().any(|known| known == usual)
    {
        return Err((
            format!("no link leads from `{here}` to `{name}`"),
            format!("write `{usual}`"),
        ));
    }
    let planned = shape.links_between(here, peer);
    if number.parse().is_ok_and(|number: usize| (1..=planned).contains(&number)) {
        let title = format!("the link from `{here}` to `{name}` has failed");
        return Err((title, format!("`topology.failed_links` takes it out; {neighbours}")));
    }
    if fabric.nodes().iter().any(|node| node.name == peer) {
        return Err((format!("no link leads from `{here}` to `{name}`"), neighbours));
    }
    let help = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`? {neighbours}"),
        None => neighbours,
    };
    Err((format!("no node is called `{peer}`"), help))
}
