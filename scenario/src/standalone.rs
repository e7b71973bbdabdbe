//! Files of a standalone switch and a standalone host, as `xoff-switch` and `xoff-host` read them: the sections
//! `[switch]` and `[host]` of a scenario, and ports in place of its topology.
//!
//! Both become a scenario with one switch, so that all settings of switches and hosts apply here, too. Settings that
//! need a fabric are refused.
//!
//! # Adding a key
//!
//! Keys of `[switch]` and `[host]` are a scenario's. Others: `SwitchFileKeys` or `PortKeys` here, their reader in
//! `standalone/src/switch/setup.rs`, docs/standalone.md, and a test in `tests/tests/kernel/standalone.rs`.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use units::{BitsPerSecond, Bytes, Picos};

use super::dialect::{Numbers, Order};
use super::document::{Document, DocumentKind, Settings};
use super::flows::NeedsFlows;
use super::host::Host;
use super::report::ScenarioError;
use super::schema::in_words;
use super::shape::{Link, Shape};
use super::switch::Switch;
use super::transport::TransportKeys;
use super::{Scenario, ScenarioKeys, ThresholdUpdate, from_disk, schema_of, text_of};

/// Bytes around the payload of a RoCEv2 packet within an MTU: IPv4, UDP, BTH, RETH and ICRC.
const OVERHEAD: u64 = 20 + 8 + 12 + 16 + 4;
/// Length of an Ethernet header.
const LINK_HEADER: u64 = 14;
/// Range of an MTU: a payload of 1 to 3072 bytes.
const MTUS: std::ops::RangeInclusive<u64> = OVERHEAD + 1..=OVERHEAD + super::MAX_PAYLOAD.0;
/// Maximum number of a switch's ports, and of prefixes with routes.
const MAX_PORTS: usize = 256;
const MAX_ROUTES: usize = 4096;
/// Defaults of a standalone host that differ from scenarios: a process may take as long to wake up as the
/// retransmission timeout of scenarios.
const HOST_DEFAULTS: &str = "[host]
retransmission_timeout = \"100ms\"
transport = { kind = \"roce-rc\", congestion_control = \"none\" }
";

/// A standalone switch.
#[derive(Clone, Debug)]
pub struct StandaloneSwitch {
    /// Settings of the only switch, whose ports are in the order of [`Self::ports`].
    pub scenario: Scenario,
    /// MTU of all interfaces.
    pub mtu: u64,
    /// Ports of the switch.
    pub ports: Vec<StandalonePort>,
}

/// A port of a standalone switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandalonePort {
    /// Name of the interface.
    pub interface: String,
    /// Rate to which the port is shaped.
    pub rate: BitsPerSecond,
    /// The only neighbour on the link.
    pub neighbour: Neighbour,
    /// Prefixes with routes through this port: address and length.
    pub routes: Vec<(Ipv4Addr, u8)>,
}

/// The device at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// IPv4 address, for which the kernel finds the MAC address.
    Address(Ipv4Addr),
    /// MAC address.
    Mac([u8; 6]),
}

/// A switch on interfaces of this machine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "xoff-switch")]
struct SwitchFileKeys {
    /// Seed of all randomness: ECN marks, and the ECMP members that flows take. Default 1.
    #[serde(default = "crate::scenario_keys::default_seed")]
    seed: u64,
    /// MTU of all interfaces, 61 to 3132. Headroom includes the longest frame. Default 1500.
    #[serde(default = "default_mtu")]
    mtu: u64,
    /// The switch, as in a scenario.
    #[serde(default)]
    #[schemars(skip_serializing_if = "in_words")]
    switch: Switch,
    /// Ports of the switch, 1 to 256.
    ports: Vec<PortKeys>,
}

/// A port of the switch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PortKeys {
    /// Name of the interface.
    interface: String,
    /// Rate to which the port is shaped. At most the rate of the interface.
    rate: BitsPerSecond,
    /// One-way time of a frame to the neighbour, and of a PAUSE until it is processed there: propagation and software.
    /// Headroom is computed from it.
    delay: Picos,
    /// The device at the other end of the link: its IPv4 address, for which the kernel finds the MAC address, or its
    /// MAC address. Default: the only host in `routes`.
    neighbour: Option<String>,
    /// Destinations of the port: IPv4 prefixes such as "10.0.2.0/24", or hosts. Flows to a prefix of several ports are
    /// spread over them.
    routes: Vec<String>,
}

const fn default_mtu() -> u64 {
    1500
}

impl StandaloneSwitch {
    /// Reads a file and applies `overrides` such as `switch.buffer=4MB`.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::parse(&text_of(path, &from_disk)?, path, overrides)
    }

    /// Parses the text of a file. `path` names it in errors.
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let kind = DocumentKind {
            noun: "the switch",
            schema: "xoff-switch --schema",
            ..DocumentKind::SCENARIO
        };
        let file = path.to_string_lossy();
        let document = Document::parse(kind, &file, text, overrides, Settings::default())?;
        let keys: SwitchFileKeys = document.read()?;
        check_mtu(keys.mtu, &document)?;
        let ports = resolve_ports(&keys.ports, &document)?;
        let link = |(number, port): (usize, &PortKeys)| Link {
            a: "switch".to_owned(),
            b: neighbour_name(number),
            rate: port.rate,
            delay: port.delay,
        };
        let topology = Shape::Custom {
            switches: vec!["switch".to_owned()],
            hosts: (0..ports.len()).map(neighbour_name).collect(),
            links: keys.ports.iter().enumerate().map(link).collect(),
            failed_links: Vec::new(),
        };
        let host = Host::for_payload(Bytes(keys.mtu - OVERHEAD));
        let scenario = scenario_of(keys.seed, topology, keys.switch, host);
        let scenario = scenario.resolve(path, &document, &from_disk, NeedsFlows::No)?;
        refuse_what_needs_a_fabric(&scenario, &document)?;
        Ok(Self { scenario, mtu: keys.mtu, ports })
    }

    /// Returns the JSON Schema of the file.
    pub fn json_schema() -> serde_json::Value {
        schema_of::<SwitchFileKeys>()
    }
}

/// A standalone host.
#[derive(Clone, Debug)]
pub struct StandaloneHost {
    /// Settings of the host, which is the scenario's first.
    pub scenario: Scenario,
    /// MTU that the interface needs.
    pub mtu: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFileKeys {
    rate: BitsPerSecond,
    #[serde(default)]
    host: Host<TransportKeys>,
}

impl StandaloneHost {
    /// Returns a host with settings from `overrides`: `rate=1Gbps`, which is mandatory, `host.payload=1400B` and so on.
    pub fn parse(overrides: &[String]) -> Result<Self, ScenarioError> {
        let kind = DocumentKind { noun: "the host", ..DocumentKind::SCENARIO };
        let path = Path::new("host");
        let settings = Settings::default();
        let document = Document::parse(kind, "the defaults", HOST_DEFAULTS, overrides, settings)?;
        let HostFileKeys { rate, host } = document.read()?;
        let delay = Picos::ZERO;
        let link = |number| Link { a: "switch".to_owned(), b: neighbour_name(number), rate, delay };
        let topology = Shape::Custom {
            switches: vec!["switch".to_owned()],
            hosts: [0, 1].map(neighbour_name).to_vec(),
            links: [0, 1].map(link).into(),
            failed_links: Vec::new(),
        };
        let scenario = scenario_of(1, topology, Switch::default(), host);
        let scenario = scenario.resolve(path, &document, &from_disk, NeedsFlows::No)?;
        let transport = scenario.host.transport;
        if transport.is_tcp() {
            let help = "leave it at \"roce-rc\": TCP belongs to the kernel's stack here";
            return Err(document.error("host.transport.kind", "a host that speaks TCP", help));
        }
        if transport.telemetry_hops() > 0 {
            let title = "no switch on the way stamps packets";
            let help = "choose a congestion control that needs no telemetry: \"none\", \"dcqcn\", \
                        \"dctcp\", \"timely\"";
            return Err(document.error("host.transport.congestion_control", title, help));
        }
        let mtu = scenario.host.payload.0 + OVERHEAD;
        Ok(Self { scenario, mtu })
    }
}

/// Returns the length of the longest frame for an MTU, without FCS.
pub const fn longest_frame(mtu: u64) -> u64 {
    mtu + LINK_HEADER
}

fn neighbour_name(port: usize) -> String {
    format!("n{port}")
}

fn scenario_of(
    seed: u64,
    topology: Shape,
    switch: Switch,
    host: Host<TransportKeys>,
) -> ScenarioKeys {
    ScenarioKeys {
        dialect: None,
        order: Order::default(),
        numbers: Numbers::default(),
        name: Some("standalone".to_owned()),
        seed,
        duration: crate::scenario_keys::default_duration(),
        stop: super::Stop::default(),
        clock: super::Clock::default(),
        datapath: super::Datapath::default(),
        topology,
        switch,
        switches: Vec::new(),
        host,
        frames: super::Frames::default(),
        flows: Vec::new(),
        routes: Vec::new(),
        captures: Vec::new(),
        faults: Vec::new(),
        storms: Vec::new(),
        results: super::Results::default(),
        expect: Vec::new(),
    }
}

fn check_mtu(mtu: u64, document: &Document<'_>) -> Result<(), ScenarioError> {
    if MTUS.contains(&mtu) {
        return Ok(());
    }
    let help = format!(
        "write a number from {} to {}: a frame lies in one piece of a page where XDP sees it",
        MTUS.start(),
        MTUS.end()
    );
    Err(document.error("mtu", &format!("an MTU of {mtu}"), &help))
}

fn resolve_ports(
    keys: &[PortKeys],
    document: &Document<'_>,
) -> Result<Vec<StandalonePort>, ScenarioError> {
    if keys.is_empty() || keys.len() > MAX_PORTS {
        let title = format!("a switch with {} ports", keys.len());
        return Err(document.error("ports", &title, "write 1 to 256 tables [[ports]]"));
    }
    let mut names = BTreeSet::new();
    let mut ports = Vec::with_capacity(keys.len());
    for (number, port) in keys.iter().enumerate() {
        let path = |key: &str| format!("ports.{number}.{key}");
        if port.interface.is_empty() || port.interface.len() > 15 {
            let help = "write the name of an interface, as `ip link` shows it";
            return Err(document.error(&path("interface"), "not an interface's name", help));
        }
        if !names.insert(port.interface.as_str()) {
            let title = format!("interface `{}` is two ports", port.interface);
            let help = "give each port an interface of its own";
            return Err(document.error(&path("interface"), &title, help));
        }
        let mut routes = Vec::with_capacity(port.routes.len());
        for (place, text) in port.routes.iter().enumerate() {
            let prefix = parse_prefix(text).ok_or_else(|| {
                let help = "write an address and a length such as \"10.0.2.0/24\", or an address";
                let title = format!("`{text}` is not an IPv4 prefix");
                document.error(&path(&format!("routes.{place}")), &title, help)
            })?;
            routes.push(prefix);
        }
        let neighbour = match (&port.neighbour, &routes[..]) {
            (Some(text), _) => parse_neighbour(text).ok_or_else(|| {
                let help = "write an IPv4 address, or a MAC address such as \"02:00:00:00:00:01\"";
                document.error(
                    &path("neighbour"),
                    &format!("`{text}` is not the address of a device"),
                    help,
                )
            })?,
            (None, [(host, 32)]) => Neighbour::Address(*host),
            (None, _) => {
                let title = format!("`{}` does not say who is its neighbour", port.interface);
                let help = "write the IPv4 address of the device at the other end of the link";
                return Err(document.error(&path("neighbour"), &title, help));
            }
        };
        let (interface, rate) = (port.interface.clone(), port.rate);
        ports.push(StandalonePort { interface, rate, neighbour, routes });
    }
    if ports.iter().map(|port| port.routes.len()).sum::<usize>() > MAX_ROUTES {
        let help = "write prefixes that cover several of them";
        return Err(document.error("ports", "more than 4096 routes", help));
    }
    Ok(ports)
}

/// Parses an IPv4 prefix, or an address as a prefix of 32 bits. Bits behind the prefix must be 0.
fn parse_prefix(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let (address, length): (Ipv4Addr, u8) = (address.parse().ok()?, length.parse().ok()?);
    let behind = u32::MAX.checked_shr(length.into()).unwrap_or(0);
    (length <= 32 && address.to_bits() & behind == 0).then_some((address, length))
}

fn parse_neighbour(text: &str) -> Option<Neighbour> {
    match text.parse() {
        Ok(address) => Some(Neighbour::Address(address)),
        Err(_) => parse_mac_address(text).map(Neighbour::Mac),
    }
}

/// Parses a unicast MAC address, such as `02:00:00:00:00:01`.
pub fn parse_mac_address(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut steps = text.split(':');
    for byte in &mut mac {
        let step = steps.next().filter(|step| (1..=2).contains(&step.len()))?;
        *byte = u8::from_str_radix(step, 16).ok()?;
    }
    (steps.next().is_none() && mac[0] & 1 == 0 && mac != [0; 6]).then_some(mac)
}

/// Refuses settings that need a fabric: BFC names queues in MAC addresses that a fabric assigns, standalone switches do
/// not implement OFC, and measured headroom needs time stamps.
fn refuse_what_needs_a_fabric(
    scenario: &Scenario,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let wrong = |key, title, help| Err(document.error(key, title, help));
    if scenario.switch.pauses_queues() {
        let help = "write another kind: packets name their queues in the MAC addresses of a fabric";
        return wrong("switch.scheme", "pauses of single queues without a fabric", help);
    }
    if scenario.switch.pauses_flows() {
        let help = "write another kind: a switch on its own does not send lists of flows";
        return wrong("switch.scheme", "pauses of flows without a fabric", help);
    }
    if scenario.switch.scheme.is_in_memory_only() {
        let help = "write another kind: it belongs to a simulator's order of events";
        return wrong("switch.scheme", "a simulator's pools without a fabric", help);
    }
    if scenario.switch.device_queue.is_some() {
        let help = "leave it out: the interfaces have queues of their own";
        return wrong("switch.device_queue", "a modelled FIFO below real ports", help);
    }
    if scenario.switch.headroom.measurement_period().is_some() {
        let help = "choose another kind: software cannot stamp frames as precisely as a wire is \
                    short; `delay` of each port says how long its link is";
        return wrong("switch.headroom.kind", "links that are measured without a fabric", help);
    }
    if matches!(scenario.switch.thresholds, ThresholdUpdate::Period(_)) {
        let help = "leave it at \"per-packet\"";
        return wrong("switch.thresholds", "thresholds that are computed now and then", help);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PORTS: &str = r#"
mtu = 1500
[switch]
lossless = [3]
[[ports]]
interface = "eth1"
rate = "1Gbps"
delay = "50us"
routes = ["10.0.1.1"]
[[ports]]
interface = "eth2"
rate = "100Mbps"
delay = "100us"
neighbour = "02:00:00:00:00:0A"
routes = ["10.0.2.0/24", "0.0.0.0/0"]
"#;

    fn parse(text: &str) -> Result<StandaloneSwitch, String> {
        let parsed = StandaloneSwitch::parse(text, Path::new("switch.toml"), &[]);
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_a_switch_with_its_ports() {
        let switch = parse(TWO_PORTS).unwrap();
        let [first, second] = &switch.ports[..] else { panic!("two ports") };
        assert_eq!(first.neighbour, Neighbour::Address(Ipv4Addr::new(10, 0, 1, 1)));
        assert_eq!(first.routes, [(Ipv4Addr::new(10, 0, 1, 1), 32)]);
        assert_eq!(second.neighbour, Neighbour::Mac([2, 0, 0, 0, 0, 10]));
        assert_eq!(second.routes, [(Ipv4Addr::new(10, 0, 2, 0), 24), (Ipv4Addr::UNSPECIFIED, 0)]);
        let pools = switch.scenario.buffer_pools(topology::SwitchId(0));
        // 2 x 125 B/us x 50 us, 3840 B, three longest frames and a PAUSE; the second port likewise.
        let rest = 3840 + 3 * (1514 + 24) + 84;
        assert_eq!(pools.headroom_by_port, [Bytes(12_500 + rest), Bytes(2500 + rest)]);
        assert_eq!(longest_frame(switch.mtu), 1514);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let rows = [
            ("10.0.1.1", "10.0.1.1/33", "`10.0.1.1/33` is not an IPv4 prefix"),
            ("10.0.1.1", "10.0.1.1/24", "not an IPv4 prefix"),
            ("10.0.1.1", "10.0.1.0/24", "`eth1` does not say who is its neighbour"),
            ("02:00:00:00:00:0A", "03:00:00:00:00:0A", "is not the address of a device"),
            ("02:00:00:00:00:0A", "02:00:00:00:00", "is not the address of a device"),
            ("\"eth2\"", "\"eth1\"", "interface `eth1` is two ports"),
            ("\"eth2\"", "\"\"", "not an interface's name"),
            ("mtu = 1500", "mtu = 9000", "an MTU of 9000"),
            ("mtu = 1500", "mtus = 1500", "mtu"),
            (
                "lossless = [3]",
                "headroom = { kind = \"adaptive\", period = \"10ms\" }",
                "links that are measured",
            ),
            ("lossless = [3]", "thresholds = { period = \"10us\" }", "now and then"),
            ("\"1Gbps\"", "\"1\"", "the rate `1` has no unit"),
        ];
        for (from, to, message) in rows {
            assert!(TWO_PORTS.contains(from), "{from}");
            let error = parse(&TWO_PORTS.replacen(from, to, 1)).expect_err(to);
            assert!(error.contains(message), "{to}: {error}");
            assert!(error.contains("switch.toml"), "{error}");
        }
        let error = parse("ports = []").expect_err("no port");
        assert!(error.contains("a switch with 0 ports"), "{error}");
    }

    #[test]
    fn a_host_is_what_its_overrides_say() {
        let parse = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
            StandaloneHost::parse(&overrides).map_err(|error| error.to_string())
        };
        let host = parse(&["rate=1Gbps", "host.payload=1440B"]).unwrap();
        assert_eq!(host.mtu, 1500);
        assert_eq!(host.scenario.host.retransmission_timeout, units::Picos(100_000_000_000));
        for (wrong, message) in [
            ("host.transport.congestion_control=hpcc", "no switch on the way stamps packets"),
            ("host.transport={ kind = \"tcp\" }", "a host that speaks TCP"),
            ("host.payload=4kB", "3072B"),
        ] {
            let error = parse(&["rate=1Gbps", wrong]).expect_err(wrong);
            assert!(error.contains(message), "{wrong}: {error}");
        }
        assert!(parse(&[]).expect_err("no rate").contains("rate"));
    }
}
