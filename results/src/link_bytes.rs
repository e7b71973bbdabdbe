//! What the links of a switch carried, in `summary.json`.

use serde::{Deserialize, Serialize};

/// What a switch sent, and what its links would carry at most, in bytes on the wire: overhead of the wire included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkBytes {
    /// To hosts.
    pub to_hosts: u64,
    /// What its links to hosts can carry in that time, rounded down.
    pub to_hosts_capacity: u64,
    /// To other switches.
    pub to_switches: u64,
    /// What its links to switches can carry in that time, rounded down.
    pub to_switches_capacity: u64,
}

impl LinkBytes {
    /// Adds a link: to a host or a switch, with what was sent on it and what it can carry.
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
