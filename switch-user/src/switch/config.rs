//! Configuration of a switch.

use fabric_core::headroom::LinkFrames;
use fabric_core::policy::Policy;

use super::PortConfig;
use crate::traffic_manager::PortQueues;
use crate::watchdog::WatchdogConfig;

/// The configuration of a switch, except its tables.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// The switch's schemes.
    pub policy: Policy,
    /// Schemes by which the control plane computes thresholds.
    pub computed: Policy,
    /// Egress queues of each port.
    pub queues: PortQueues,
    /// Number of descriptors.
    pub slots: usize,
    /// Ports, in the order of their numbers.
    pub ports: Vec<PortConfig>,
    /// Lengths of the frames that the ports send and receive.
    pub frames: LinkFrames,
    /// True if ports measure their links and size their headroom accordingly.
    pub measures_links: bool,
    /// Max packets in a FIFO below the egress queues of each port, above zero. `None`: no FIFO.
    pub device_queue: Option<usize>,
    /// True if a PFC frame is sent even if a later one supersedes it while it waits.
    pub sends_superseded: bool,
    /// Watchdog for PFC storms. `None`: no watchdog.
    pub watchdog: Option<WatchdogConfig>,
}
