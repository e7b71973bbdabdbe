//! A port: an interface, its pacing, and the neighbour's MAC address.

use scenario::standalone::{Neighbour, StandalonePort};
use units::BitsPerSecond;

use crate::interface::Interface;
use crate::lateness::Pace;
use crate::neighbours::{self, NeighbourTable};

/// See the module.
#[derive(Debug)]
pub struct Port {
    /// Its interface.
    pub interface: Interface,
    /// Rate to which the port is shaped.
    pub rate: BitsPerSecond,
    /// Pacing of its frames.
    pub pace: Pace,
    neighbour: Neighbour,
    /// The neighbour's MAC address, once it is known.
    mac: Option<[u8; 6]>,
    /// Counters of the port.
    pub counts: PortCounts,
}

/// Counters of a port's departures.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounts {
    /// Frames that its interface took.
    pub sent_frames: u64,
    /// Bytes of these frames, without FCS.
    pub sent_bytes: u64,
    /// Frames that its interface did not take, because it had no carrier or no room.
    pub not_sent: u64,
    /// Packets that were dropped because the neighbour's MAC address was not known.
    pub without_neighbour: u64,
}

impl Port {
    /// A port that has sent nothing.
    pub fn new(settings: &StandalonePort, interface: Interface) -> Self {
        let neighbour = settings.neighbour;
        let mac = match neighbour {
            Neighbour::Mac(mac) => Some(mac),
            Neighbour::Address(_) => None,
        };
        Self {
            interface,
            rate: settings.rate,
            pace: Pace::default(),
            neighbour,
            mac,
            counts: PortCounts::default(),
        }
    }

    /// The neighbour's MAC address, if it is known.
    pub const fn mac_address(&self) -> Option<[u8; 6]> {
        self.mac
    }

    /// True if the kernel has to resolve the neighbour's address.
    pub const fn resolves(&self) -> bool {
        matches!(self.neighbour, Neighbour::Address(_))
    }

    /// Reads the neighbour's MAC address from the kernel's table. Returns true if it has changed.
    pub fn find_neighbour(&mut self, table: &NeighbourTable) -> bool {
        let Neighbour::Address(address) = self.neighbour else { return false };
        match table.mac_address_of(&self.interface.name, address) {
            None if self.mac.is_none() => {
                neighbours::look_for(&self.interface, address);
                false
            }
            // The kernel forgets neighbours without traffic.
            None => false,
            found => std::mem::replace(&mut self.mac, found) != found,
        }
    }
}
