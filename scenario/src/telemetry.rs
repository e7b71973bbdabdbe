//! Telemetry: `host.telemetry_hops`, room for stamps in packets, and `switch.telemetry_steps`, resolution of stamps.

use fabric_core::wire::telemetry::{Carrier, MAX_HOPS, QUEUE_UNIT, TRANSMITTED_UNIT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Fabric, Racks, Reach};
use units::Bytes;
use units::checked::{Checked, Range};
use units::refusal::Refusal;
use units::schema::DefaultsInWords;

use super::document::Document;
use super::flows::FlowsEntry;
use super::host::Host;
use super::report::ScenarioError;
use super::transport::Transport;

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &[] }
}

/// Resolution of the stamps of switches: values are rounded down to multiples of these steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "TelemetryStepsKeys", transform = in_words())]
pub struct TelemetrySteps {
    /// Step of the bytes that a port has sent, above zero. Default "128B", the unit of stamps.
    pub sent: Checked<Bytes, Steps>,
    /// Step of the bytes that wait at the port, above zero. Default "16B", the unit of stamps.
    pub queue: Checked<Bytes, Steps>,
}

/// Steps above zero.
#[derive(Debug)]
pub enum Steps {}

impl Range<Bytes> for Steps {
    fn check(step: &Bytes) -> Result<(), Refusal> {
        match *step {
            Bytes(0) => {
                Err(Refusal::sentence("a step of no bytes", "write a size such as \"128B\""))
            }
            _ => Ok(()),
        }
    }
}

impl Default for TelemetrySteps {
    /// Finest resolution of a stamp.
    fn default() -> Self {
        let [sent, queue] = [TRANSMITTED_UNIT, QUEUE_UNIT].map(|unit| Checked::within(Bytes(unit)));
        Self { sent, queue }
    }
}

/// Sets the room for stamps of all transports of a scenario.
pub(super) fn set_rooms(
    host: &mut Host,
    workloads: &mut [FlowsEntry],
    fabric: &Fabric,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let (given, groups) = (host.telemetry_hops, &Racks::by_routes(fabric));
    set_room(&mut host.transport, "host.transport", given, fabric, groups, document)?;
    for (number, entry) in workloads.iter_mut().enumerate() {
        if let Some(transport) = &mut entry.transport {
            let path = format!("flows.{number}.transport");
            set_room(transport, &path, given, fabric, groups, document)?;
        }
    }
    Ok(())
}

/// Sets the room for stamps of the transport at `path`. `given` is `host.telemetry_hops`. Without it the room is the
/// number of switches on the longest path if congestion control needs telemetry, otherwise 0. TCP has room only if
/// congestion control needs telemetry, and at most for as many stamps as fit into a segment.
fn set_room(
    transport: &mut Transport,
    path: &str,
    given: Option<u8>,
    fabric: &Fabric,
    groups: &Racks,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let wrong = |key: &str, title: &str, help: &str| Err(document.error(key, title, help));
    if let Some(given) = given.filter(|&given| given > MAX_HOPS) {
        let help = format!("write 0 to {MAX_HOPS}; 0 is no telemetry");
        return wrong("host.telemetry_hops", &format!("room for {given} stamps"), &help);
    }
    let control = *transport.congestion_control();
    let (room, carrier, name, others) = match transport {
        Transport::RoceRc(roce) => {
            (&mut roce.telemetry_hops, Carrier::Udp, "telemetry", "another algorithm")
        }
        Transport::Tcp(_) if !control.needs_telemetry() => return Ok(()),
        Transport::Tcp(tcp) => {
            (&mut tcp.telemetry_hops, Carrier::Tcp, "a TCP segment", "RoCEv2, another algorithm")
        }
    };
    let most = carrier.most_hops();
    if let Some(given) = given {
        if given == 0 && control.needs_telemetry() {
            let title = format!("no telemetry for {}, which lives on it", control.name());
            let help = "leave the key out, and packets have room for the longest path";
            return wrong("host.telemetry_hops", &title, help);
        }
        *room = given.min(most);
        return Ok(());
    }
    if !control.needs_telemetry() {
        return Ok(());
    }
    let longest = longest_path(fabric, groups);
    let Some(fits) = u8::try_from(longest).ok().filter(|&longest| longest <= most) else {
        let control = control.name();
        let title =
            format!("{control} on paths through {longest} switches; {name} has room for {most}");
        let help = format!(
            "choose {others}, or write `host.telemetry_hops = {most}`, and the last switches of such paths say nothing"
        );
        return wrong(&format!("{path}.congestion_control"), &title, &help);
    };
    *room = fits;
    Ok(())
}

/// Returns the number of switches on the longest path between two hosts, including paths of flows with special routes.
pub(super) fn longest_path(fabric: &Fabric, groups: &Racks) -> u32 {
    let to_groups = (0..groups.len()).flat_map(|to| Reach::to_group(fabric, groups, to, None));
    let all = to_groups.chain(Reach::for_flows(fabric, groups));
    let links = all.filter_map(|reach| {
        let links = |&source: &usize| reach.links_from(groups.switch(source));
        reach.sources.iter().map(links).max()
    });
    links.max().map_or(0, |links| links - 1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Scenario;

    const BASE: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n\
                        host_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                        fabric_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                        [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";

    fn room(text: &str, sets: &[&str]) -> Result<u8, String> {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let scenario = Scenario::parse(text, Path::new("a.toml"), &sets);
        scenario
            .map(|scenario| scenario.host.transport.telemetry_hops())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn packets_have_room_for_the_longest_path_where_it_is_needed() {
        let hpcc = "host.transport={kind=\"roce-rc\",congestion_control=\"hpcc\"}";
        assert_eq!(room(BASE, &[]), Ok(0));
        assert_eq!(room(BASE, &[hpcc]), Ok(3), "leaf, spine, leaf");
        assert_eq!(room(BASE, &[hpcc, "host.telemetry_hops=5"]), Ok(5));
        assert_eq!(room(BASE, &["host.telemetry_hops=8"]), Ok(8));
        let tcp = "host.transport={kind=\"tcp\",congestion_control=\"timely\"}";
        let powertcp = "host.transport={kind=\"tcp\",congestion_control=\"powertcp\"}";
        assert_eq!(room(BASE, &[powertcp]), Ok(3));
        assert_eq!(room(BASE, &[powertcp, "host.telemetry_hops=2"]), Ok(2));
        assert_eq!(room(BASE, &[powertcp, "host.telemetry_hops=8"]), Ok(3), "no segment has more");
        assert_eq!(room(BASE, &[tcp, "host.telemetry_hops=8"]), Ok(0), "nobody reads it");
        for (sets, part) in [
            (&["host.telemetry_hops=9"][..], "room for 9 stamps"),
            (&[tcp, "host.telemetry_hops=9"], "room for 9 stamps"),
            (&[hpcc, "host.telemetry_hops=0"], "no telemetry for hpcc"),
        ] {
            let error = room(BASE, sets).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    /// Nine switches in a row.
    #[test]
    fn a_path_beyond_eight_switches_is_an_error_where_telemetry_is_needed() {
        let names: Vec<String> = (0..9).map(|number| format!("s{number}")).collect();
        let link = |a: &str, b: &str| {
            format!("{{ a = \"{a}\", b = \"{b}\", rate = \"10Gbps\", delay = \"1us\" }}")
        };
        let mut links: Vec<String> =
            names.windows(2).map(|pair| link(&pair[0], &pair[1])).collect();
        links.extend([link("h0", "s0"), link("h1", "s8")]);
        let row = format!(
            "[topology]\nkind = \"custom\"\nswitches = {names:?}\nhosts = [\"h0\", \"h1\"]\nlinks = [{}]\n\
             [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n",
            links.join(", ")
        );
        let powertcp = "host.transport={kind=\"roce-rc\",congestion_control=\"powertcp\"}";
        assert_eq!(room(&row, &[]), Ok(0));
        let error = room(&row, &[powertcp]).unwrap_err();
        assert!(error.contains("powertcp on paths through 9 switches"), "{error}");
        assert_eq!(room(&row, &[powertcp, "host.telemetry_hops=8"]), Ok(8));
        let tcp = "host.transport={kind=\"tcp\",congestion_control=\"hpcc\"}";
        let error = room(&row, &[tcp]).unwrap_err();
        let part = "hpcc on paths through 9 switches; a TCP segment has room for 3";
        assert!(error.contains(part), "{error}");
        assert_eq!(room(&row, &[tcp, "host.telemetry_hops=3"]), Ok(3));
    }
}
