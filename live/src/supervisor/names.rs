//! Lookup of names in clients' requests, and checks of the requests.

use emulation::live::desk::Order;
use emulation::live::impairment::ImpairmentChange;
use emulation::live::view::WireView;
use scenario::quantity::display;
use scenario::{MAX_DELAY, MIN_RATE, Priorities, Scenario, glob};
use topology::{HostId, WireId};
use units::{BitsPerSecond, Bytes};

use super::super::protocol::{Answer, Flow, NamedWire, Wire};

/// Max size of a flow in bytes, as in a scenario.
const MAX_BYTES: u64 = 1_000_000_000_000_000;

/// Names by number, for lookup.
#[derive(Debug)]
pub struct Names {
    /// Host names by number.
    pub hosts: Vec<String>,
    /// Wires by number.
    pub wires: Vec<Wire>,
    /// Priorities that storms can pause.
    pub lossless: Priorities,
}

impl Names {
    pub fn new(scenario: &Scenario) -> Self {
        let fabric = scenario.fabric();
        let hosts = (0..fabric.host_count()).map(|host| fabric.host(HostId(host)).name.clone());
        let wires = fabric.wires().iter();
        let wires = wires.map(|wire| Wire { name: wire.name.clone(), rate_bps: wire.rate.0 });
        let lossless = scenario.switch.lossless;
        Self { hosts: hosts.collect(), wires: wires.collect(), lossless }
    }

    pub fn host(&self, name: &str) -> Result<HostId, String> {
        let found = (0..).zip(&self.hosts).find(|(_, known)| *known == name);
        let (first, last) = (self.hosts.first(), self.hosts.last());
        found.map(|(number, _)| HostId(number)).ok_or_else(|| {
            let known =
                first.zip(last).map(|(first, last)| format!("; its hosts are {first} to {last}"));
            format!("the fabric has no host {name:?}{}", known.unwrap_or_default())
        })
    }

    /// Returns the wires that match a pattern for their names, or for names of links, "h0-leaf0".
    pub fn wires(&self, pattern: &str) -> Result<Vec<WireId>, String> {
        let meant = self.matching_by(|wire| glob::matches_wire(pattern, wire));
        let wires: Vec<WireId> = meant.map(|(wire, _)| wire).collect();
        if wires.is_empty() { Err(self.no_wire(pattern)) } else { Ok(wires) }
    }

    /// Checks impairments: a rate must be below the wires' rates, and all values must be in range.
    pub fn check_change(&self, wires: &[WireId], change: ImpairmentChange) -> Result<(), String> {
        let ImpairmentChange { loss_millionths, corrupt_millionths, delay_ps, jitter_ps, rate_bps } =
            change;
        if [loss_millionths, corrupt_millionths].into_iter().flatten().any(|it| it > 1_000_000) {
            return Err("no more than all frames can be lost or damaged".into());
        }
        if [delay_ps, jitter_ps].into_iter().flatten().any(|it| it > MAX_DELAY.0) {
            return Err("an impairment delays frames by at most 1s".into());
        }
        let Some(rate) = rate_bps.filter(|&rate| rate != 0) else { return Ok(()) };
        if rate < MIN_RATE.0 {
            return Err("an impairment leaves at least 100kbps".into());
        }
        match wires.iter().map(|it| &self.wires[it.0 as usize]).find(|it| it.rate_bps <= rate) {
            None => Ok(()),
            Some(Wire { name, rate_bps }) => {
                let [rate, own] = [rate, *rate_bps].map(|rate| display(BitsPerSecond(rate)));
                Err(format!(
                    "{name} carries {own}, and {rate} is not less: an impairment only slows it"
                ))
            }
        }
    }

    /// Adds the names to states of wires.
    pub fn named(&self, wires: &[WireId], views: Vec<WireView>) -> Answer {
        let named = |(wire, view): (&WireId, WireView)| NamedWire {
            wire: self.wires[wire.0 as usize].name.clone(),
            view,
        };
        Answer::Wires { wires: wires.iter().zip(views).map(named).collect() }
    }

    /// Returns the wires whose names match any of these patterns.
    pub fn matching(&self, patterns: &[String]) -> Result<Vec<(WireId, &Wire)>, String> {
        for pattern in patterns {
            if self.matching_by(|wire| glob::matches_wire(pattern, wire)).next().is_none() {
                return Err(self.no_wire(pattern));
            }
        }
        let matches = |wire: &str| patterns.iter().any(|pattern| glob::matches_wire(pattern, wire));
        Ok(self.matching_by(matches).collect())
    }

    fn matching_by(
        &self,
        is_meant: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (WireId, &Wire)> {
        let wires = (0..).map(WireId).zip(&self.wires);
        wires.filter(move |(_, wire)| is_meant(&wire.name))
    }

    fn no_wire(&self, name: &str) -> String {
        let first = self.wires.first().map_or("", |wire| wire.name.as_str());
        format!("the fabric has no wire {name:?}; a wire is named like {first}")
    }

    pub fn order(&self, flow: &Flow) -> Result<Order, String> {
        let Flow { src, dst, bytes, priority } = flow;
        let (source, destination) = (self.host(src)?, self.host(dst)?);
        if source == destination {
            return Err(format!("{src} sends to itself; name another receiver"));
        }
        if *bytes == 0 {
            return Err(format!("a flow of no bytes from {src} to {dst}; give it some"));
        }
        if *bytes > MAX_BYTES {
            return Err(format!("a flow of {bytes} bytes; at most 1000 TB are allowed"));
        }
        if *priority > 7 {
            return Err(format!("there is no priority {priority}; priorities are 0 to 7"));
        }
        Ok(Order { source, destination, bytes: Bytes(*bytes), priority: *priority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let wire = |name: &str| Wire { name: name.to_owned(), rate_bps: 1 };
        let wires = ["h0->a-b", "a-b->h0", "a-b->c"].map(wire).into();
        Names { hosts: text(&["h0", "h1"]), wires, lossless: Priorities(0b11000) }
    }

    #[test]
    fn a_link_is_both_of_its_wires() {
        let numbers = |name| names().wires(name).map(|wires| wires.iter().map(|it| it.0).collect());
        assert_eq!(numbers("h0->a-b"), Ok(vec![0]));
        assert_eq!(numbers("h0-a-b"), Ok(vec![0, 1]));
        assert_eq!(numbers("a-b-h0"), Ok(vec![0, 1]));
        assert_eq!(numbers("a-b-c"), Ok(vec![2]));
        for unknown in ["h0", "h0-", "", "h1->a-b"] {
            let error = numbers(unknown).expect_err(unknown);
            assert!(error.contains("a wire is named like h0->a-b"), "{error}");
        }
    }

    #[test]
    fn a_flow_has_two_hosts_bytes_and_a_priority() {
        let flow = |src: &str, dst: &str, bytes, priority| {
            let (src, dst) = (src.to_owned(), dst.to_owned());
            names().order(&Flow { src, dst, bytes, priority }).map(|order| order.destination.0)
        };
        assert_eq!(flow("h0", "h1", 1, 7), Ok(1));
        for (asked, why) in [
            (flow("h2", "h1", 1, 0), "no host \"h2\"; its hosts are h0 to h1"),
            (flow("h1", "h1", 1, 0), "sends to itself"),
            (flow("h0", "h1", 0, 0), "no bytes"),
            (flow("h0", "h1", 1, 8), "no priority 8"),
        ] {
            let error = asked.expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }
}
