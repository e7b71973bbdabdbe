//! Setup of a running switch from a file.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use emulation::switch_settings::{self, RouteTables};
use fabric_core::scheme::{Scheme, Selected};
use linux::packet_socket::PacketSocket;
use scenario::standalone::{StandaloneSwitch, longest_frame};
use switch_user::control_plane::next_hops_for;
use switch_user::hook::XdpHook;
use switch_user::prefix_table::{Prefix, PrefixTable};
use switch_user::program::standalone::{StandaloneProgram, Surroundings};
use switch_user::switch::Switch;
use switch_user::tables::Capacity;
use topology::SwitchId;

use super::counting::Counting;
use super::driver::{Driver, Parts};
use super::port::Port;
use crate::clock::Clock;
use crate::interface::{Interface, own_addresses};
use crate::{Error, Node};

/// The only switch of the scenario.
const SWITCH: SwitchId = SwitchId(0);
/// The ring between eBPF and user space holds some 5000 frames, 60 ms at 1 Gbit/s.
const RING_BYTES: u32 = 16 << 20;

/// The ports that lead to each prefix.
struct Routes {
    prefixes: PrefixTable,
    /// Groups of ports, each once.
    groups: Vec<Vec<u8>>,
    /// Group of each prefix, by the prefix's row.
    rows: Vec<usize>,
}

impl Routes {
    /// The routes of the file. Addresses in the switch's `own` lead to no port: they belong to its stack, even if a
    /// route's prefix covers them.
    fn new(settings: &StandaloneSwitch, own: impl IntoIterator<Item = Ipv4Addr>) -> Self {
        let mut ports_to = BTreeMap::<Prefix, Vec<u8>>::new();
        for (number, port) in (0..=u8::MAX).zip(&settings.ports) {
            for &(address, length) in &port.routes {
                let prefix = Prefix::new(address, length).expect("the file was checked");
                let ports = ports_to.entry(prefix).or_default();
                if ports.last() != Some(&number) {
                    ports.push(number);
                }
            }
        }
        for address in own {
            let prefix = Prefix::new(address, 32).expect("an address has 32 bits");
            ports_to.insert(prefix, Vec::new());
        }
        let mut groups = Vec::new();
        let mut rows = Vec::with_capacity(ports_to.len());
        for ports in ports_to.values() {
            let known = groups.iter().position(|group| group == ports);
            rows.push(known.unwrap_or(groups.len()));
            if known.is_none() {
                groups.push(ports.clone());
            }
        }
        let prefixes: Vec<Prefix> = ports_to.keys().copied().collect();
        Self { prefixes: PrefixTable::new(&prefixes), groups, rows }
    }
}

/// Finds the interfaces, loads the program and attaches it.
pub fn start(settings: &StandaloneSwitch, hook: XdpHook) -> Result<Driver, Error> {
    let scenario = &settings.scenario;
    let interfaces = find_interfaces(settings)?;
    let own = own_addresses();
    let own =
        own.map_err(|source| Error::System { step: "list the switch's addresses", source })?;
    let routes = Routes::new(settings, own);
    let policy = switch_settings::policy(scenario);
    let of_fabric = RouteTables::new(scenario, SWITCH);
    let capacity = switch_settings::capacity(scenario, SWITCH, &of_fabric);
    let row_count = u32::try_from(routes.rows.len()).expect("a switch has few routes");
    let capacity = Capacity {
        hosts: capacity.hosts.max(row_count),
        next_hops: next_hops_for(&routes.groups),
        scheme: Selected::room(policy, capacity.ports),
        ..capacity
    };
    let clock = Clock::start();
    let indices: Vec<u32> = interfaces.iter().map(|interface| interface.index).collect();
    let surroundings = Surroundings {
        interfaces: &indices,
        prefixes: &routes.prefixes,
        ring_bytes: RING_BYTES,
        began: clock.began(),
    };
    let (mut program, mut tables) = StandaloneProgram::load(&capacity, policy, hook, &surroundings)
        .map_err(|error| Error::from_loading(Node::Switch, error))?;
    switch_settings::configure(scenario, SWITCH, of_fabric, None, &mut tables);
    let mac_addresses: Vec<[u8; 6]> = interfaces.iter().map(|interface| interface.mac).collect();
    tables.stand_alone(&mac_addresses, &routes.groups, &routes.rows);
    let mut config = switch_settings::switch_config(scenario, SWITCH);
    for (port, mac) in config.ports.iter_mut().zip(mac_addresses) {
        port.address = mac;
    }
    let socket = PacketSocket::open().map_err(Error::from_packet_socket)?;
    for interface in &interfaces {
        program
            .attach(interface.index)
            .map_err(|error| Error::from_attaching(Node::Switch, &interface.name, hook, error))?;
    }
    let ports = settings.ports.iter().zip(interfaces);
    let ports: Vec<Port> = ports.map(|(port, interface)| Port::new(port, interface)).collect();
    let frame_time = scenario.frame_time();
    let switch = Switch::new(config, tables);
    let counting = Counting::new(scenario.lossy_period());
    Ok(Driver::new(Parts { program, switch, socket, clock, ports, frame_time, counting }))
}

fn find_interfaces(settings: &StandaloneSwitch) -> Result<Vec<Interface>, Error> {
    let find = |port: &scenario::standalone::StandalonePort| {
        let interface = Interface::find(&port.interface)?;
        if interface.mtu == settings.mtu {
            return Ok(interface);
        }
        let Interface { name, mtu, .. } = interface;
        let needed = settings.mtu;
        let longest = longest_frame(needed);
        Err(Error::Mtu {
            needed: format!("{needed}"),
            advice: format!(
                "headroom is computed for frames of {longest} bytes: `ip link set {name} mtu {needed}`, \
                 or write the MTU that all ports have into the file (`mtu = {mtu}`)"
            ),
            interface: name,
            mtu,
        })
    };
    settings.ports.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn ports_with_the_same_prefix_are_one_group() {
        let port = |number: u32, routes: &str| {
            format!(
                "[[ports]]\ninterface = \"eth{number}\"\nrate = \"1Gbps\"\ndelay = \"50us\"
neighbour = \"10.0.0.{number}\"\nroutes = [{routes}]\n"
            )
        };
        let text = [
            port(0, r#""10.1.0.0/16", "10.2.0.254""#),
            port(1, r#""10.2.0.0/16", "0.0.0.0/0", "0.0.0.0/0""#),
            port(2, r#""0.0.0.0/0", "10.2.0.0/16""#),
        ];
        let settings = StandaloneSwitch::parse(&text.concat(), Path::new("switch.toml"), &[]);
        let settings = settings.unwrap_or_else(|error| panic!("{error}"));
        let routes = Routes::new(&settings, [Ipv4Addr::new(10, 2, 0, 254)]);
        assert_eq!(routes.groups, [vec![1, 2], vec![0], vec![]]);
        let row = |address: [u8; 4]| routes.prefixes.row_of(u32::from_be_bytes(address));
        let group = |address| routes.rows[row(address).expect("a default route") as usize];
        assert_eq!([[10, 1, 0, 9], [10, 2, 0, 9], [11, 0, 0, 1]].map(group), [1, 0, 0]);
        assert_eq!(group([10, 2, 0, 254]), 2, "its own address");
    }
}
