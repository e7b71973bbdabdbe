//! Entries of `[[routes]]` that no frame of any flow can take.
//!
//! For flows of lists, receivers and classes are known. For drawn flows, the possible pairs of hosts are known,
//! whatever the seed. A route is used if a frame of such a flow, data or ACK, would take it at its switch, even if
//! today's paths do not reach the switch: the route may be meant for failed links.

use std::collections::{BTreeMap, BTreeSet};

use topology::{FlowClass, HostId, RouteMatch, SwitchId, Traffic};
use workload::{Flow, Source};

use super::Scenario;
use super::document::Document;
use super::report::ScenarioError;

/// An entry that no frame can take.
#[derive(Clone, Debug)]
pub(super) struct UnusedRoute {
    /// Index in `[[routes]]`.
    number: usize,
    /// Report on the entry.
    pub report: ScenarioError,
}

/// Compares the index only, so that equality of scenarios ignores places in the file.
impl PartialEq for UnusedRoute {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for UnusedRoute {}

impl UnusedRoute {
    /// Returns the unused entries. `entries` has the entry of each route.
    pub fn all(
        entries: &BTreeMap<(SwitchId, RouteMatch), usize>,
        scenario: &Scenario,
        document: &Document<'_>,
    ) -> Vec<Self> {
        if entries.is_empty() {
            return Vec::new();
        }
        let mut of_use = vec![false; scenario.routes.len()];
        let senders = Senders::new(scenario);
        for (&(switch, frames), &number) in entries {
            of_use[number] = of_use[number] || senders.take(switch, frames);
        }
        let unused = of_use.iter().enumerate().filter(|(_, of_use)| !**of_use);
        unused.map(|(number, _)| Self::new(number, &senders, document)).collect()
    }

    fn new(number: usize, senders: &Senders<'_>, document: &Document<'_>) -> Self {
        let title = if senders.drawn.is_empty() {
            "no frame of a flow takes this route"
        } else {
            "no frame of a flow can take this route, whatever the seed"
        };
        let help = "no flow has these hosts, or this label, or the switch has a route that goes before it: change or \
                    remove the entry";
        let report = document.error(&format!("routes.{number}"), title, help);
        Self { number, report }
    }
}

/// Senders and receivers of all flows.
struct Senders<'a> {
    scenario: &'a Scenario,
    /// Frames of listed flows: receiver, sender, class.
    listed: BTreeSet<(HostId, HostId, Option<FlowClass>)>,
    /// Workloads whose flows are drawn, with their classes.
    drawn: Vec<(&'a Source, Option<FlowClass>)>,
}

impl<'a> Senders<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let (mut listed, mut drawn) = (BTreeSet::new(), Vec::new());
        for (number, source) in scenario.sources().iter().enumerate() {
            let Source::Listed(flows) = source else {
                drawn.push((source, scenario.class_of_workload(number)));
                continue;
            };
            for flow in flows.iter() {
                let own = Flow { workload: topology::in_32_bits(number), ..flow.clone() };
                listed.insert((flow.destination, flow.source, scenario.class_of(&own)));
                listed.insert((flow.source, flow.destination, None));
            }
        }
        Self { scenario, listed, drawn }
    }

    /// Returns true if some frame can take this route of a switch.
    fn take(&self, switch: SwitchId, frames: RouteMatch) -> bool {
        let fabric = self.scenario.fabric();
        let hosts = |given: Option<HostId>| {
            let all = 0..fabric.host_count();
            let hosts = given.map_or(all, |host| host.0..host.0 + 1);
            hosts.map(HostId)
        };
        // A switch delivers to its hosts without routes.
        let receivers = || hosts(frames.destination).filter(|&to| fabric.edge(to) != switch);
        let takes = |traffic: Traffic| {
            fabric.applying(switch, traffic).is_some_and(|(applying, _)| applying == frames)
        };
        let listed = |to| {
            let (first, last) = (HostId(0), HostId(u32::MAX));
            let all = self.listed.range((to, first, None)..=(to, last, Some(FlowClass(u32::MAX))));
            let mut own = all.filter(|(_, from, _)| frames.source.is_none_or(|it| it == *from));
            own.any(|&(to, from, class)| takes(Traffic::between(from, to).with_class(class)))
        };
        if receivers().any(listed) {
            return true;
        }
        let of_class = |(_, class): &&(_, _)| frames.class.is_none() || frames.class == *class;
        let drawn: Vec<_> = self.drawn.iter().filter(of_class).collect();
        let is_drawn = |from, to| {
            let takes = |class| takes(Traffic::between(from, to).with_class(class));
            drawn.iter().any(|(source, class)| {
                let acks = || frames.class.is_none() && source.may_send(to, from) && takes(None);
                source.may_send(from, to) && takes(*class) || acks()
            })
        };
        !drawn.is_empty()
            && receivers().any(|to| hosts(frames.source).any(|from| is_drawn(from, to)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use insta::assert_snapshot;

    use super::*;

    /// Three leaves with two hosts each, h0 and h1 to h4 and h5, and two spines.
    const FABRIC: &str = "duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\n\
        hosts_per_leaf = 2\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
        fabric_link = { rate = \"10Gbps\", delay = \"1us\" }\n";
    const ONE: &str =
        "[[flows]]\nkind = \"one\"\nlabel = \"one\"\nsrc = \"h0\"\ndst = \"h2\"\nbytes = \"1kB\"\n";
    const GROUPS: &str = "[[flows]]\nkind = \"poisson\"\nlabel = \"drawn\"\nload = 0.1\nsizes = \"websearch\"\n\
        pairs = { kind = \"groups\", from = [\"h0\", \"h1\"], to = [\"h2\", \"h3\"] }\n";

    fn warnings(flows: &str, routes: &str) -> Vec<String> {
        let text = format!(
            "{FABRIC}{flows}{routes}[host.transport]\nkind = \"roce-rc\"\ncongestion_control = \"none\"\n"
        );
        let scenario = Scenario::parse(&text, Path::new("a.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        scenario.warnings_with_places().map(ScenarioError::unlabelled).collect()
    }

    fn route(at: &str, frames: &str) -> String {
        format!("[[routes]]\nat = \"{at}\"\n{frames}\nvia = [\"spine0\"]\n")
    }

    /// Data goes from h0 to h2, and ACKs from h2 to h0. Spines receive frames of both; other leaves do if links fail.
    #[test]
    fn routes_for_frames_of_listed_flows() {
        for (at, frames, of_use) in [
            ("leaf0", "to = \"h2\"", true),
            ("leaf1", "to = \"h0\"", true),
            ("leaf0", "from = \"h0\"\nto = \"h2\"", true),
            ("leaf1", "from = \"h2\"\nto = \"h0\"", true),
            ("leaf0", "flows = \"one\"", true),
            ("leaf0", "to = \"*\"", true),
            ("leaf2", "to = \"h2\"", true),
            ("leaf0", "to = \"h3\"", false),
            ("leaf1", "to = \"h1\"", false),
            ("leaf0", "from = \"h1\"\nto = \"h2\"", false),
            ("leaf1", "flows = \"one\"\nto = \"h0\"", false),
        ] {
            let reported = warnings(ONE, &route(at, frames));
            assert_eq!(reported.is_empty(), of_use, "{at} {frames}: {reported:?}");
        }
    }

    #[test]
    fn a_route_that_others_go_before_is_reported_at_its_line() {
        let pair = route("leaf0", "from = \"h0\"\nto = \"h2\"");
        let reported = warnings(ONE, &(route("leaf0", "to = \"h2\"") + &pair));
        assert_eq!(reported.len(), 1);
        assert_snapshot!(reported[0], @"
        no frame of a flow takes this route
          --> a.toml:15:1
           |
        15 | [[routes]]
           | ^^^^^^^^^^
           |
           = help: no flow has these hosts, or this label, or the switch has a route that goes before it: change or remove the entry
        ");
        // Flows with a path in the list take it; a route for their label is for the other flows.
        assert!(warnings(ONE, &pair).is_empty());
    }

    /// Flows between the groups may be drawn, but no flow to h4.
    #[test]
    fn routes_for_frames_of_flows_that_are_drawn() {
        for (at, frames, of_use) in [
            ("leaf0", "from = \"h1\"\nto = \"h3\"", true),
            ("leaf1", "from = \"h3\"\nto = \"h1\"", true),
            ("leaf0", "flows = \"drawn\"\nto = \"h3\"", true),
            ("leaf1", "flows = \"drawn\"\nto = \"h1\"", false),
            ("leaf0", "to = \"h4\"", false),
            ("leaf2", "from = \"h4\"\nto = \"h2\"", false),
        ] {
            let reported = warnings(GROUPS, &route(at, frames));
            assert_eq!(reported.is_empty(), of_use, "{at} {frames}: {reported:?}");
            assert!(reported.iter().all(|it| it.contains("whatever the seed")), "{reported:?}");
        }
        let incast = "[[flows]]\nkind = \"poisson-incast\"\ndegree = 1\nbytes = \"1kB\"\nload = 0.1\n\
                      of = \"sender-links\"\nreceiver = \"h0\"\n";
        for (at, frames, of_use) in [
            ("leaf1", "from = \"h2\"\nto = \"h0\"", true),
            ("leaf0", "from = \"h0\"\nto = \"h2\"", true),
            ("leaf2", "from = \"h4\"\nto = \"h2\"", false),
            // Hosts of the receiver's rack do not send.
            ("leaf1", "from = \"h1\"\nto = \"h0\"", false),
        ] {
            assert_eq!(warnings(incast, &route(at, frames)).is_empty(), of_use, "{at} {frames}");
        }
        for kind in ["permutation", "all-to-all"] {
            let flows = format!("[[flows]]\nkind = \"{kind}\"\nbytes = \"1kB\"\n");
            assert!(warnings(&flows, &route("leaf0", "from = \"h1\"\nto = \"h5\"")).is_empty());
        }
    }

    #[test]
    fn exchanges_go_between_all_hosts_and_no_host_sends_to_itself() {
        for kind in ["permutation", "all-to-all"] {
            let text = format!("{FABRIC}[[flows]]\nkind = \"{kind}\"\nbytes = \"1kB\"\n");
            let scenario = Scenario::parse(&text, Path::new("a.toml"), &[]).unwrap();
            let source = &scenario.sources()[0];
            for (from, to, may) in [(1, 5, true), (5, 0, true), (1, 1, false), (0, 6, false)] {
                assert_eq!(source.may_send(HostId(from), HostId(to)), may, "{kind} {from} {to}");
            }
        }
    }
}
