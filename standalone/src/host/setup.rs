//! Setup of a running host from its options.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use emulation::host_settings::HostSettings;
use host_agent::{Host, HostConfig};
use linux::af_xdp;
use scenario::standalone::StandaloneHost;
use switch_user::hook::XdpHook;
use switch_user::program::{HostProgram, SocketTakes};
use topology::HostId;

use super::checksums::SoftwareChecksums;
use super::driver::{Driver, Parts};
use crate::clock::Clock;
use crate::interface::Interface;
use crate::wait::Waiter;
use crate::{Error, Node};

/// The host of the scenario.
const HOST: HostId = HostId(0);
/// Frames of its UMEM, 16 MiB: at 1 Gbit/s full packets fill it in 50 ms.
const FRAMES: u32 = 4096;

/// Settings of a host.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its interface.
    pub interface: String,
    /// Its IPv4 address. `None` takes the first address of the interface.
    pub address: Option<Ipv4Addr>,
    /// MAC address of the neighbour to which all packets go. `None` takes the neighbours from the kernel's routes.
    pub gateway: Option<[u8; 6]>,
    /// NIC and transport.
    pub host: StandaloneHost,
    /// Hook at which XDP runs.
    pub hook: XdpHook,
}

/// Finds the interface, loads the program and opens the socket.
pub fn start(settings: &Settings) -> Result<Driver, Error> {
    let interface = Interface::find(&settings.interface)?;
    let name = || interface.name.clone();
    let mtu = settings.host.mtu;
    if interface.mtu < mtu {
        return Err(Error::Mtu {
            interface: name(),
            mtu: interface.mtu,
            needed: format!("at least {mtu}"),
            advice: format!(
                "`ip link set {} mtu {mtu}`, or shorter packets: --payload {}B",
                interface.name,
                (settings.host.scenario.host.payload.0 + interface.mtu).saturating_sub(mtu)
            ),
        });
    }
    let queues = interface.receive_queues();
    if queues > 1 {
        return Err(Error::Queues { interface: name(), queues });
    }
    let address = settings.address.or_else(|| interface.address());
    let address = address.ok_or_else(|| Error::NoAddress(name()))?;
    let scenario = &settings.host.scenario;
    let of_scenario = HostSettings::new(scenario);
    let config =
        HostConfig { address: address.to_bits(), mac: interface.mac, ..of_scenario.config(HOST) };
    // From here on, signals do not end the process before it has restored the settings it changes.
    let mut waiter = Waiter::new().map_err(|source| Error::System { step: "wait", source })?;
    let host = Host::new(config, &of_scenario.transports(HOST));
    // Prepared before any descriptor is open that the guardian could inherit.
    let checksums = SoftwareChecksums::prepare(&interface, &mut waiter)?;
    let mut program = HostProgram::load(1, interface.index, SocketTakes::Ours, settings.hook)
        .map_err(|error| Error::from_loading(Node::Host, error))?;
    let options = af_xdp::Options { frames: FRAMES, ..af_xdp::Options::default() };
    let socket = af_xdp::Socket::open_with(interface.index, 0, options)
        .map_err(|error| Error::from_af_xdp(&interface.name, error))?;
    program.attach(interface.index, socket.as_raw_fd()).map_err(|error| {
        Error::from_attaching(Node::Host, &interface.name, settings.hook, error)
    })?;
    if let Some(checksums) = &checksums {
        checksums.begin();
    }
    Ok(Driver::new(Parts {
        host,
        config,
        socket,
        clock: Clock::start(),
        interface,
        least_mtu: mtu,
        _program: program,
        waiter,
        gateway: settings.gateway,
        mac_addresses: BTreeMap::new(),
        _checksums: checksums,
    }))
}
