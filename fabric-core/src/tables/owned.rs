//! The tables of a small switch in memory of their own, for unit tests.

use super::{Tables, ingress_index};
use crate::cell::{Cell32, Cell64};
use crate::drop_reason::DropReason;
use crate::map_abi::{
    Descriptor, EgressQueue, HeadroomSteps, IngressQueue, LINE_RATE, LOGARITHM_ENTRIES, Lane,
    Logarithms, MAX_PORTS, PRIORITIES, Port, Route, STEPS, SwitchConfig, SwitchState,
};

/// Ports.
pub const PORTS: usize = 2;

/// What flow control and admission look at; the other tables are empty.
pub struct OwnedTables {
    /// The configuration.
    pub config: SwitchConfig,
    /// The totals.
    pub switch: SwitchState,
    /// The ports.
    pub ports: [Port; PORTS],
    /// Their ingress queues.
    pub queues: [IngressQueue; MAX_PORTS * PRIORITIES],
    /// Their gradients.
    pub steps: [HeadroomSteps; PORTS],
    /// Logarithm and exponential.
    pub logarithms: Logarithms,
}

impl OwnedTables {
    /// Ports of 100 Gbit/s that need `phi` bytes of headroom.
    #[expect(clippy::cast_sign_loss, reason = "both functions are above zero there")]
    pub fn new(config: SwitchConfig, phi: u64) -> Self {
        let zeros = || core::array::from_fn(|_| Cell32::new(0));
        let port = || Port {
            rate_bps: Cell64::new(100_000_000_000),
            headroom_bytes: Cell64::new(phi),
            ..Port::default()
        };
        let step = |n: usize| Cell32::new((phi * (n as u64 + 1)).div_ceil(STEPS as u64) as u32);
        let steps = || HeadroomSteps {
            // log2(8 bits x 10^9 x 2^16 / 100 Gbit/s) = 12.35610.
            byte_per_ns_log2: Cell32::new(12_653),
            phi_bytes: Cell32::new(phi as u32),
            bytes: core::array::from_fn(step),
        };
        let logarithms = Logarithms { log2: zeros(), exp2: zeros() };
        for n in 0..LOGARITHM_ENTRIES {
            let middle = (n as f64 + 0.5) / LOGARITHM_ENTRIES as f64;
            logarithms.log2[n]
                .store((middle.ln_1p() / core::f64::consts::LN_2 * 1024.0).round() as u32);
            logarithms.exp2[n].store((middle.exp2() * LINE_RATE as f64).round() as u32);
        }
        Self {
            config,
            switch: SwitchState::default(),
            ports: core::array::from_fn(|_| port()),
            queues: core::array::from_fn(|_| IngressQueue::default()),
            steps: core::array::from_fn(|_| steps()),
            logarithms,
        }
    }

    /// The queue of (`port`, `priority`).
    pub fn queue(&self, port: u32, priority: u32) -> &IngressQueue {
        &self.queues[ingress_index(port, priority) as usize]
    }
}

impl Tables for OwnedTables {
    fn config(&self) -> Option<&SwitchConfig> {
        Some(&self.config)
    }

    fn switch(&self) -> Option<&SwitchState> {
        Some(&self.switch)
    }

    fn port(&self, port: u32) -> Option<&Port> {
        self.ports.get(port as usize)
    }

    fn ingress_queue(&self, index: u32) -> Option<&IngressQueue> {
        self.queues.get(index as usize)
    }

    fn egress_queue(&self, _index: u32) -> Option<&EgressQueue> {
        None
    }

    fn lane(&self, _index: u32) -> Option<&Lane> {
        None
    }

    fn route(&self, _host: u32) -> Option<&Route> {
        None
    }

    fn descriptor(&self, _slot: u32) -> Option<&Descriptor> {
        None
    }

    fn free_slot(&self, _index: u32) -> Option<&Cell64> {
        None
    }

    fn drops(&self, _reason: DropReason) -> Option<&Cell64> {
        None
    }

    fn logarithms(&self) -> Option<&Logarithms> {
        Some(&self.logarithms)
    }

    fn headroom_steps(&self, port: u32) -> Option<&HeadroomSteps> {
        self.steps.get(port as usize)
    }
}
