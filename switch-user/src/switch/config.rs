//! What a switch is configured with.

use fabric_core::headroom::LinkFrames;
use fabric_core::policy::Policy;

use super::PortConfig;
use crate::traffic_manager::PortQueues;
use crate::watchdog::WatchdogConfig;

/// The configuration of a switch, except its tables.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// The schemes that it runs.
    pub policy: Policy,
    /// The schemes by which its control plane computes thresholds.
    pub computed: Policy,
    /// The egress queues of each port.
    pub queues: PortQueues,
    /// Descriptors.
    pub slots: usize,
    /// Its ports, in the order of their numbers.
    pub ports: Vec<PortConfig>,
    /// The frames that its ports send and receive.
    pub frames: LinkFrames,
    /// Whether ports measure their links and size their headroom by the results.
    pub measures_links: bool,
    /// Packets that a FIFO below the egress queues of each port holds, above zero; `None`: there is none.
    pub device_queue: Option<usize>,
    /// How it deals with PFC storms; `None`: not at all.
    pub watchdog: Option<WatchdogConfig>,
}
