//! The program of the hosts' NICs.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use aya::maps::{Map, XskMap};
use aya::{Ebpf, EbpfLoader};
use fabric_core::map_abi::{SwitchConfig, names};

use super::{OBJECT, ProgramError, attach_xdp, load_error, xdp};
use crate::hook::XdpHook;
use linux::region::Region;

/// Frames of a host's NIC that go to its AF_XDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketTakes {
    /// Frames of the emulation; the interface's stack receives all others.
    Ours,
    /// All frames.
    All,
}

/// The program of a fabric's hosts.
pub struct HostProgram {
    ebpf: Ebpf,
    hook: XdpHook,
    first_interface_index: u32,
    name: &'static str,
}

impl HostProgram {
    /// Loads the program for `hosts` hosts with consecutive interface indices from `first_interface_index`, attached at
    /// `hook`.
    pub fn load(
        hosts: u32,
        first_interface_index: u32,
        takes: SocketTakes,
        hook: XdpHook,
    ) -> Result<Self, ProgramError> {
        let name = match takes {
            SocketTakes::Ours => HOST_PORT,
            SocketTakes::All => WHOLE_HOST_PORT,
        };
        let mut ebpf = EbpfLoader::new().map_max_entries(names::SOCKETS, hosts).load(OBJECT)?;
        let program = xdp(&mut ebpf, name)?;
        program.load().map_err(|source| load_error(name, source))?;
        let Some(Map::Array(config)) = ebpf.map(names::CONFIG) else {
            return Err(ProgramError::Missing(names::CONFIG));
        };
        let mut config = Region::<SwitchConfig>::from_array(config.fd().as_fd(), 1)?;
        config.write(0, SwitchConfig { first_interface_index, ..SwitchConfig::default() });
        Ok(Self { ebpf, hook, first_interface_index, name })
    }

    /// Attaches to a host's interface, from inside its namespace, and connects its receive queue 0
    /// to `socket`.
    pub fn attach(&mut self, interface_index: u32, socket: RawFd) -> Result<(), ProgramError> {
        attach_xdp(&mut self.ebpf, self.name, interface_index, self.hook)?;
        let sockets =
            self.ebpf.map_mut(names::SOCKETS).ok_or(ProgramError::Missing(names::SOCKETS))?;
        let mut sockets = XskMap::try_from(sockets).map_err(|source| ProgramError::Map {
            name: names::SOCKETS,
            source: Box::new(source),
        })?;
        sockets
            .set(interface_index - self.first_interface_index, BorrowedSocket(socket), 0)
            .map_err(|source| ProgramError::Map { name: names::SOCKETS, source: Box::new(source) })
    }
}

/// A socket's descriptor in the form that aya accepts.
struct BorrowedSocket(RawFd);

impl AsRawFd for BorrowedSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

const HOST_PORT: &str = "host_port";
const WHOLE_HOST_PORT: &str = "whole_host_port";
