//! Bytes on the links of a switch, in `summary.json`.

use serde::{Deserialize, Serialize};

/// Bytes that a switch sent, and the capacity of its links, in bytes on the wire: overhead included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkBytes {
    /// To hosts.
    pub to_hosts: u64,
    /// Capacity of its links to hosts in that time, rounded down.
    pub to_hosts_capacity: u64,
    /// To other switches.
    pub to_switches: u64,
    /// Capacity of its links to switches in that time, rounded down.
    pub to_switches_capacity: u64,
}

impl LinkBytes {
    /// Adds a link to a host or a switch, with the bytes sent on it and its capacity.
    pub const fn add(&mut self, to_host: bool, sent: u64, capacity: u64) {
        if to_host {
            self.to_hosts += sent;
            self.to_hosts_capacity += capacity;
        } else {
            self.to_switches += sent;
            self.to_switches_capacity += capacity;
        }
    }
}
