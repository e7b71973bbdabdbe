//! A link that goes down as in HPCC's simulator: its routes, and errors at their lines.

use topology::{HostId, SwitchId};
use units::Picos;

use super::{parse, report};
use crate::SimulatorRoutes;

/// Two hosts on two ways between two switches, and hosts of a third.
const RING: &str = "dialect = \"hpcc-ns3\"
[topology]\nkind = \"custom\"\nhosts = [\"h0\", \"h1\", \"h2\"]\nswitches = [\"s0\", \"s1\", \"s2\"]\nlinks = [
{ a = \"h0\", b = \"s0\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"h1\", b = \"s1\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"h2\", b = \"s2\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"s0\", b = \"s1\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"s0\", b = \"s2\", rate = \"100Gbps\", delay = \"1us\" },
{ a = \"s2\", b = \"s1\", rate = \"100Gbps\", delay = \"1us\" },
]
[frames]\ndata_headers = \"48B\"
";
const FLOW: &str =
    "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\nstart = \"0s\"\n";
const DOWN: &str = "[[faults]]\nkind = \"down\"\nreroute = true\nat = \"5us\"\n";

/// The port by which a switch sends packets from its host to another one.
fn port(routes: &SimulatorRoutes, [from, to]: [u32; 2]) -> Option<u16> {
    routes.port_between(SwitchId(from), [HostId(from), HostId(to)], [10_000, 100])
}

#[test]
fn routes_go_round_the_link_that_fails_and_base_values_stay() {
    let scenario = parse(&format!("{RING}{FLOW}{DOWN}wire = \"s0-s1\"\n"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let failure = scenario.link_failure().expect("a link fails");
    assert_eq!((failure.fault, failure.at), (0, Picos(5_000_000)));
    let name = |wire| scenario.fabric().wire(wire).name.as_str();
    assert_eq!([name(failure.link), name(failure.link.reverse())], ["s0->s1", "s1->s0"]);
    let [before, after] = [scenario.simulator_routes(), scenario.routes_after_failure()]
        .map(|routes| routes.expect("the dialect has them"));
    let ways = |from: u32, to: u32| [before, after].map(|routes| port(routes, [from, to]));
    // Port 0 leads to the host, ports 1 and 2 to other switches.
    assert_eq!(
        [ways(0, 1), ways(0, 2), ways(2, 1)],
        [[Some(1), Some(2)], [Some(2); 2], [Some(2); 2]]
    );
    assert_eq!(before.longest, (6000 + 3 * 80, 78_000));
    let ends = [HostId(0), HostId(1)];
    let rtt = |routes: &SimulatorRoutes| routes.base(scenario.fabric(), ends, 1000).rtt;
    assert_eq!([rtt(before), rtt(after)], [6240, 8320]);
    let warnings = scenario.warnings();
    assert!(warnings.iter().any(|warning| warning.contains("s0-s1")), "{warnings:?}");
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, scenario);
}

/// A host may lose its link, if no flow has an end there.
#[test]
fn a_switch_has_no_port_to_a_host_that_is_cut_off() {
    let text = format!("{RING}{FLOW}{DOWN}wire = \"h2-s2\"\n");
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let after = scenario.routes_after_failure().expect("a link fails");
    assert_eq!(port(after, [0, 2]), None);
    assert_eq!(port(after, [2, 1]), Some(2));
}

#[test]
fn failures_that_the_simulator_does_not_have_are_errors_at_their_lines() {
    for (faults, title) in [
        ("wire = \"h0-s0\"\n", "a link without which flow 0 has no way from h0 to h1"),
        ("wire = \"s0->s1\"\n", "wires other than the two of one link"),
        ("wire = \"s*\"\n", "wires other than the two of one link"),
        ("wire = \"s0-s1\"\nfor = \"1ms\"\n", "a link that comes back"),
        ("wire = \"s0-s1\"\nreroute_after = \"1us\"\n", "routes that change later"),
        ("wire = \"s0-s1\"\nflap = { period = \"1ms\" }\n", "a link that flaps"),
        (
            "wire = \"s0-s1\"\n[[faults]]\nkind = \"down\"\nwire = \"s0-s2\"\nreroute = true\n",
            "a second link that goes down",
        ),
    ] {
        let report = report(&format!("{RING}{FLOW}{DOWN}{faults}"));
        assert!(report.starts_with(&format!("error: {title}")), "{report}");
        let place = report.lines().nth(1).unwrap_or_default();
        let line = place.rsplit(':').nth(1).and_then(|line| line.trim().parse::<u32>().ok());
        assert!(line.is_some_and(|line| line > 18), "{report}");
    }
    let conweave = RING.replace("hpcc-ns3", "conweave-ns3");
    let report = report(&format!("{conweave}{FLOW}{DOWN}wire = \"s0-s1\"\n"));
    assert!(report.starts_with("error: a link that goes down, and"), "{report}");
}
