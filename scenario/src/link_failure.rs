//! A link that goes down while HPCC's simulator runs (`LINK_DOWN`): a fault of kind "down" under its rules.
//!
//! From that instant on, routes avoid the link. Base round-trip times and windows do not change; the standalone completion
//! time of a flow uses the lowest link rate of its new path. Written from the simulator's source; no run of it has been compared.

use host_agent::ns3::List;
use topology::{HostId, WireId};
use units::Picos;
use workload::{Flow, FlowStream};

use crate::document::Document;
use crate::report::ScenarioError;
use crate::{Dialect, Ecmp, Fault, Numbers, Order, PauseLasts, Scenario};

/// A link that goes down for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// Index of the fault in the scenario.
    pub fault: u32,
    /// The instant.
    pub at: Picos,
    /// The first of the link's two wires.
    pub link: WireId,
}

impl LinkFailure {
    /// True for both wires of the link.
    #[inline]
    pub fn covers(&self, wire: WireId) -> bool {
        wire == self.link || wire == self.link.reverse()
    }
}

impl Scenario {
    /// Returns the link that goes down under the rules of HPCC's simulator, if one does.
    pub fn link_failure(&self) -> Option<LinkFailure> {
        if self.order == Order::Nodes {
            return None;
        }
        let (fault, down) =
            (0..).zip(&self.faults).find(|(_, it)| matches!(it, Fault::Down { .. }))?;
        let mut wires = (0..self.fabric.wires().len()).map(WireId::at);
        let link = wires.find(|wire| down.covers(&self.fabric.wire(*wire).name))?;
        Some(LinkFailure { fault, at: down.span().from, link })
    }

    /// Returns a warning about flows that a link may take with it.
    pub(super) fn warning_of_failure(&self) -> Option<String> {
        let failure = self.link_failure()?;
        let link = self.fabric.wire(failure.link).name.replacen("->", "-", 1);
        let has_timer = self.host.ns3.as_ref().is_some_and(|hosts| hosts.timeout.is_some());
        (!has_timer).then(|| {
            format!(
                "{link} goes down: a flow whose last packets are lost with it never completes, because hosts of HPCC's \
                 simulator have no retransmission timer (`host.ns3.timeout`)"
            )
        })
    }

    /// Checks that a link goes down as in HPCC's simulator.
    pub(super) fn check_link_failure(
        &self,
        number: usize,
        fault: &Fault,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let Fault::Down { r#for, reroute, reroute_after, flap, .. } = fault else { return Ok(()) };
        let error = |key: &str, what: &str, help: &str| {
            let path = format!("faults.{number}{key}");
            let title = format!("{what}, and events in the order of insertion");
            Err(document.error(&path, &title, help))
        };
        let follows_hpcc = self.switch.ecmp == Ecmp::Murmur3
            && self.switch.pause_lasts == PauseLasts::UntilResume
            && self.numbers != Numbers::Mrg32k3aOfSwitches
            && self.dialect != Some(Dialect::Ns3Datacenter)
            && self.host.ns3.as_ref().is_some_and(|hosts| hosts.list == List::Cleared);
        if !follows_hpcc {
            let help = "only HPCC's simulator takes a link down: write dialect = \"hpcc-ns3\", or leave the link out of the \
                        topology, or write order = \"nodes\"";
            return error("", "a link that goes down", help);
        }
        let is_down = |other: &&Fault| matches!(other, Fault::Down { .. });
        if self.faults[..number].iter().any(|other| is_down(&other)) {
            return error("", "a second link that goes down", "HPCC's simulator takes one down");
        }
        let in_the_way = [
            (".for", r#for.is_some(), "a link that comes back", "leave out `for`: it stays down"),
            (".flap", flap.is_some(), "a link that flaps", "leave out `flap`: it stays down"),
            (
                "",
                !reroute,
                "a link that goes down without new routes",
                "write reroute = true: HPCC's simulator has new routes at once",
            ),
            (
                ".reroute_after",
                reroute_after.is_some(),
                "routes that change later",
                "leave out `reroute_after`: HPCC's simulator has new routes at once",
            ),
        ];
        if let Some((key, _, what, help)) = in_the_way.iter().find(|(_, is_there, ..)| *is_there) {
            return error(key, what, help);
        }
        let wires = (0..self.fabric.wires().len()).map(WireId::at);
        let covered: Vec<WireId> =
            wires.filter(|wire| fault.covers(&self.fabric.wire(*wire).name)).collect();
        if !matches!(covered[..], [one, other] if other == one.reverse()) {
            let help = "name the link, such as wire = \"s0-s1\"";
            return error(".wire", "wires other than the two of one link", help);
        }
        self.check_flows_stay_connected(number, document)
    }

    /// Checks that the link is not the last way of a flow: the simulator then reads a value that is not there.
    fn check_flows_stay_connected(
        &self,
        number: usize,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let routes = self.routes_after_failure().expect("a link fails");
        let connects = |ends: [HostId; 2]| routes.connects(&self.fabric, ends);
        let is_cut = |flow: &Flow| {
            !connects([flow.source, flow.destination]) || !connects([flow.destination, flow.source])
        };
        match FlowStream::new(&self.sources, self.seed).find(is_cut) {
            None => Ok(()),
            Some(flow) => {
                let name = |host| &self.fabric.host(host).name;
                let title = format!(
                    "a link without which flow {} has no way from {} to {}",
                    flow.id,
                    name(flow.source),
                    name(flow.destination)
                );
                let help = "HPCC's simulator has no defined course then: it chooses the port of a queue pair from an empty list";
                Err(document.error(&format!("faults.{number}"), &title, help))
            }
        }
    }
}
