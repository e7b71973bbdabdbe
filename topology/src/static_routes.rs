//! Static routes: next hops that an operator has written. They override the shortest paths.
//!
//! All code that follows paths calls [`Fabric::ports`](super::Fabric::ports), the one place that combines static routes
//! and shortest paths. Hosts with equal routes form a group ([`Racks::by_routes`](super::Racks::by_routes)), so a
//! fabric without static routes is analysed rack by rack.
//!
//! # Adding a way to match frames
//!
//! 1. [`RouteMatch`] and [`Traffic`] here.
//! 2. Its key: `RouteEntry` in `scenario/src/routes.rs`. For policy routes of switches: `Scenario::policy_routes`.
//! 3. `static_routes.rs` of `xoff inspect`, and docs/topologies.md.

use std::collections::{BTreeMap, BTreeSet};

use super::{HostId, SwitchId};

/// Flows to which routes may apply apart from other flows of their hosts; the caller numbers the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowClass(pub u32);

/// Frames that all take the same routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traffic {
    /// The class of the flows, if they have their own routes.
    pub class: Option<FlowClass>,
    /// The sender; `None` for traffic of all senders of which no route names sender and destination.
    pub source: Option<HostId>,
    /// The receiver.
    pub destination: HostId,
}

impl Traffic {
    /// Traffic from one host to another, without a class.
    pub const fn between(source: HostId, destination: HostId) -> Self {
        Self { class: None, source: Some(source), destination }
    }

    /// Replaces the class.
    #[must_use]
    pub fn with_class(self, class: Option<FlowClass>) -> Self {
        Self { class, ..self }
    }

    /// The routes that may apply, the most specific first.
    fn matches(self) -> impl Iterator<Item = RouteMatch> {
        let Self { class, source, destination } = self;
        let of = move |class: Option<FlowClass>| {
            let pair = source.map(|source| RouteMatch {
                class,
                source: Some(source),
                destination: Some(destination),
            });
            let to = RouteMatch { class, source: None, destination: Some(destination) };
            let any = RouteMatch { class, source: None, destination: None };
            pair.into_iter().chain([to]).chain(class.map(|_| any))
        };
        class.map(|class| of(Some(class))).into_iter().flatten().chain(of(None))
    }
}

/// Frames that a route is for. A route with a class takes precedence over one without; then one with a source, then
/// one with a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteMatch {
    /// Flows of this class only.
    pub class: Option<FlowClass>,
    /// Frames from this host only; set only with a destination.
    pub source: Option<HostId>,
    /// Frames to this host only.
    pub destination: Option<HostId>,
}

/// The static routes of a fabric's switches, and the flows that have their own routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticRoutes {
    routes: BTreeMap<(SwitchId, RouteMatch), Vec<u16>>,
    /// Pairs of hosts that routes name, with the class if the route names one.
    pairs: BTreeSet<(Option<FlowClass>, HostId, HostId)>,
    flows: BTreeSet<(FlowClass, HostId, HostId)>,
}

impl StaticRoutes {
    /// Adds a route with its ECMP group, ascending and not empty. Returns false and keeps the old route if the
    /// switch already has one for these frames.
    pub fn add(&mut self, switch: SwitchId, frames: RouteMatch, ports: Vec<u16>) -> bool {
        let place = (switch, frames);
        if self.routes.contains_key(&place) {
            return false;
        }
        self.routes.insert(place, ports);
        if let (Some(source), Some(destination)) = (frames.source, frames.destination) {
            self.pairs.insert((frames.class, source, destination));
        }
        true
    }

    /// Registers flows of a class from one host to another.
    pub fn add_flows(&mut self, class: FlowClass, source: HostId, destination: HostId) {
        self.flows.insert((class, source, destination));
    }

    /// True if there are no routes.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// All routes, by switch.
    pub fn iter(&self) -> impl Iterator<Item = (SwitchId, RouteMatch, &[u16])> {
        self.routes.iter().map(|(&(switch, frames), ports)| (switch, frames, ports.as_slice()))
    }

    /// The routes of one switch.
    pub fn at(&self, switch: SwitchId) -> impl Iterator<Item = (RouteMatch, &[u16])> {
        let first = RouteMatch { class: None, source: None, destination: None };
        let routes = self.routes.range((switch, first)..);
        routes
            .take_while(move |((at, _), _)| *at == switch)
            .map(|((_, frames), ports)| (*frames, ports.as_slice()))
    }

    /// The flows that have their own routes.
    pub fn flows(&self) -> impl Iterator<Item = Traffic> {
        let flow = |&(class, source, destination)| {
            Traffic::between(source, destination).with_class(Some(class))
        };
        self.flows.iter().map(flow)
    }

    /// The static route of a switch that applies to `traffic`, and its ECMP group.
    pub(super) fn applying(
        &self,
        switch: SwitchId,
        traffic: Traffic,
    ) -> Option<(RouteMatch, &[u16])> {
        if self.routes.is_empty() {
            return None;
        }
        traffic.matches().find_map(|frames| {
            self.routes.get(&(switch, frames)).map(|ports| (frames, ports.as_slice()))
        })
    }

    /// True if a route names this pair of hosts, for all flows or for flows of `class`.
    pub fn name_pair(&self, class: Option<FlowClass>, source: HostId, destination: HostId) -> bool {
        let named = |class| self.pairs.contains(&(class, source, destination));
        named(None) || class.is_some() && named(class)
    }

    /// For each host that routes name, the content of these routes.
    pub(super) fn by_host(&self) -> BTreeMap<HostId, Vec<NamingRoute<'_>>> {
        let mut hosts: BTreeMap<HostId, Vec<NamingRoute<'_>>> = BTreeMap::new();
        for (switch, RouteMatch { class, source, destination }, ports) in self.iter() {
            let mut name = |host, is_source, other| {
                let route = NamingRoute { switch, class, is_source, other, ports };
                hosts.entry(host).or_default().push(route);
            };
            if let Some(source) = source {
                name(source, true, destination);
            }
            if let Some(destination) = destination {
                name(destination, false, source);
            }
        }
        hosts
    }
}

/// A route from the point of view of a host that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamingRoute<'a> {
    switch: SwitchId,
    class: Option<FlowClass>,
    is_source: bool,
    /// The other host that the route names, if any.
    other: Option<HostId>,
    ports: &'a [u16],
}

/// Static routes on which frames do not reach their destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFault {
    /// The traffic that does not arrive.
    pub traffic: Traffic,
    /// The reason.
    pub kind: RouteFaultKind,
}

/// Reason why frames do not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFaultKind {
    /// The frames loop through these switches: each sends to the next one, and the last to the first.
    Loop(Vec<SwitchId>),
    /// The frames cross these switches, and the last one has no path to the destination.
    DeadEnd(Vec<SwitchId>),
}

#[cfg(test)]
mod tests;
