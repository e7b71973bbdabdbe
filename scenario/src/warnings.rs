//! Warnings about valid settings that are probably mistakes.

use std::collections::BTreeSet;

use topology::Racks;

use super::telemetry;
use super::{CongestionControl, Ecn, Scenario, ScenarioError, Scheduler, Source, Transport};

impl Scenario {
    /// Returns warnings about settings that are probably mistakes, each a sentence without a full
    /// stop.
    pub fn warnings(&self) -> Vec<String> {
        let of_simulators = self.warning_of_failure().into_iter().chain(self.warning_of_stamps());
        let mut warnings: Vec<String> = of_simulators.collect();
        let pairs = self.transports.with_sources(&self.sources);
        for (source, transport) in pairs.filter(|_| self.host.ns3.is_none()) {
            let control = transport.congestion_control();
            if !control.needs_marks() {
                continue;
            }
            let name = control.name();
            // In lossy priorities TCP also slows down for losses.
            let lossless = source.priorities().all(|it| self.switch.lossless.contains(it));
            let never = match transport {
                Transport::Tcp(_) if !lossless => "only losses slow its senders down",
                _ => "it never slows a sender down",
            };
            let otherwise = match control {
                CongestionControl::Cubic(_) => "`cubic = { ecn = false }`",
                _ => "`congestion_control = \"none\"`",
            };
            let unmarked =
                |ecn: &Ecn| source.priorities().find(|&it| !ecn.priorities().contains(it));
            match self.switch.ecn.as_ref().map(unmarked) {
                None => warnings.push(format!(
                    "no switch marks packets, which {name} waits for, so {never}: write `switch.ecn`, or {otherwise} in \
                     its transport if that is meant"
                )),
                Some(Some(priority)) => warnings.push(format!(
                    "no switch marks packets of priority {priority}, which {name} waits for, so {never}: name it in \
                     `switch.ecn.priorities`, which are the lossless ones by default"
                )),
                Some(None) => {}
            }
        }
        let stamped: Vec<&Transport> = self
            .transports_in_use()
            .filter(|transport| transport.congestion_control().needs_telemetry())
            .filter(|_| self.host.ns3.is_none())
            .collect();
        if !stamped.is_empty() {
            let longest = telemetry::longest_path(&self.fabric, &Racks::by_routes(&self.fabric));
            let short = stamped.iter().filter(|it| u32::from(it.telemetry_hops()) < longest);
            warnings.extend(short.map(|transport| {
                let (room, control) = (transport.telemetry_hops(), transport.congestion_control());
                let (name, control) = (transport.name(), control.name());
                format!(
                    "packets of {name} have room for {room} stamp{}, on paths through up to {longest} switches: {control} \
                     knows nothing of the last ones",
                    if room == 1 { "" } else { "s" }
                )
            }));
        }
        if !self.host.flow_pauses && !self.switch.pauses_flows() {
            warnings.push(
                "no switch pauses flows, so `host.flow_pauses = false` changes nothing: write `switch.scheme` of kind \
                 \"ofc\", or leave the key out"
                    .into(),
            );
        }
        if self.results.flow_tables && !self.switch.pauses_flows() {
            warnings.push(
                "no switch pauses flows, so `results.flow_tables` counts nothing: write `switch.scheme` of kind \"ofc\", or \
                 leave the key out"
                    .into(),
            );
        }
        if !self.host.queue_pauses && !self.switch.pauses_queues() {
            warnings.push(
                "no switch pauses single queues, so `host.queue_pauses = false` changes nothing: write \
                 `switch.scheme` of kind \"bfc\", or leave the key out"
                    .into(),
            );
        }
        warnings.extend(self.warnings_of_quanta());
        warnings.extend(self.warnings_of_queues());
        warnings.extend(self.warnings_of_scheme());
        warnings.extend(self.warnings_of_lossy());
        let mut reported = BTreeSet::new();
        warnings.retain(|warning| reported.insert(warning.clone()));
        warnings
    }

    /// Returns warnings about old keys, keys without an effect, and entries that are probably mistakes, with their places.
    pub fn warnings_with_places(&self) -> impl Iterator<Item = &ScenarioError> {
        let routes = self.unused_routes.iter().map(|route| &route.report);
        self.old_keys.0.iter().chain(&self.idle_keys.0).chain(routes)
    }

    /// Returns the priorities of flows, one bit each.
    pub(super) fn used_priorities(&self) -> u8 {
        self.sources.iter().flat_map(Source::priorities).fold(0, |all, it| all | 1 << it)
    }

    /// Returns warnings about queues, and about priorities with several queues.
    fn warnings_of_queues(&self) -> Vec<String> {
        let used = self.used_priorities();
        let mut warnings = Vec::new();
        if let Some(priority) = self.switch.control_priority.0.filter(|it| used >> it & 1 != 0) {
            warnings.push(format!(
                "flows have priority {priority}, whose packets go before all others, as ACKs and CNPs do \
                 (`switch.control_priority`): give them another one if that is not meant"
            ));
        }
        if self.switch.scheduler == (Scheduler::Srf {}) {
            let spread = self.switch.spread().fold(0, |all, it| all | 1 << it.priority.0);
            let single = (0..8).find(|priority| (used & !spread) >> priority & 1 != 0);
            if let Some(priority) = single {
                warnings.push(format!(
                    "flows of priority {priority} share one queue, in which none can go before another: give the \
                     priority several queues by `switch.flow_queues`, or by `switch.scheme` of kind \"bfc\""
                ));
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_algorithm_that_waits_for_marks_in_vain_is_reported() {
        let text = "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                    [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";
        let warnings = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            Scenario::parse(text, Path::new("a.toml"), &sets).unwrap().warnings()
        };
        for control in ["dcqcn", "dctcp"] {
            let set =
                format!("host.transport={{kind=\"roce-rc\",congestion_control=\"{control}\"}}");
            let reported = warnings(&[&set]);
            assert!(reported.len() == 1 && reported[0].contains(control), "{reported:?}");
            let ecn = "switch.ecn={kmin=\"1kB\",kmax=\"2kB\",pmax=1}";
            assert!(warnings(&[&set, ecn]).is_empty());
        }
        let unmarked = "switch.ecn={kmin=\"1kB\",kmax=\"2kB\",pmax=1,priorities=[5]}";
        let tcp = "flows.0.transport={kind=\"tcp\",congestion_control=\"dctcp\"}";
        let reported = warnings(&[unmarked, tcp]);
        assert!(
            reported.len() == 1 && reported[0].contains("priority 3, which dctcp"),
            "{reported:?}"
        );
        for control in ["none", "timely", "theta-powertcp"] {
            let set =
                format!("host.transport={{kind=\"roce-rc\",congestion_control=\"{control}\"}}");
            assert!(warnings(&[&set]).is_empty(), "{control}");
        }
    }

    #[test]
    fn data_before_all_others_is_reported() {
        let text = "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                    [host]\ntransport = { kind = \"roce-rc\", congestion_control = \"none\" }\n\
                    [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";
        let warnings = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            Scenario::parse(text, Path::new("a.toml"), &sets).unwrap().warnings()
        };
        let reported = warnings(&["flows.0.priority=6"]);
        assert!(
            reported.len() == 1 && reported[0].contains("priority 6, whose packets go before all")
        );
        assert_eq!(warnings(&["flows.0.priority=5"]), [""; 0]);
        assert_eq!(warnings(&["flows.0.priority=6", "switch.control_priority=\"none\""]), [""; 0]);
    }

    #[test]
    fn stamps_that_have_no_room_are_reported() {
        let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n\
                    host_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                    fabric_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                    [host]\ntransport = { kind = \"roce-rc\", congestion_control = \"hpcc\" }\n\
                    [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";
        let warnings = |set: &str| {
            Scenario::parse(text, Path::new("a.toml"), &[set.to_owned()]).unwrap().warnings()
        };
        assert_eq!(warnings("host.telemetry_hops=3"), [""; 0]);
        let reported = warnings("host.telemetry_hops=2");
        assert!(
            reported.len() == 1
                && reported[0].contains("room for 2 stamps, on paths through up to 3")
        );
    }
}
