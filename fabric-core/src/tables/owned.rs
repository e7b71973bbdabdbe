//! The tables of a small switch in memory of their own, for unit tests.

use super::{Tables, egress_index, ingress_index};
use crate::cell::{Cell32, Cell64};
use crate::drop_reason::DropReason;
use crate::map_abi::{
    Descriptor, EgressQueue, FIRST_HOST_ADDRESS, HeadroomSteps, IngressQueue, LINE_RATE,
    LOGARITHM_ENTRIES, Lane, Logarithms, MAX_PORTS, PRIORITIES, Port, Route, STEPS, SwitchConfig,
    SwitchState, address_to_u64,
};
use crate::wire::LinkAddresses;
use crate::wire::psn::Psn;
use crate::wire::roce::{Ecn, Opcode, RocePacket};

/// Ports. Host n is behind port n.
pub const PORTS: usize = 2;
/// Descriptors.
pub const SLOTS: usize = 4;

/// A switch's address at `port`.
fn station(port: u32) -> [u8; 6] {
    [2, 1, 0, 0, 0, port as u8]
}

/// The tables of one switch.
#[derive(Debug)]
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
    egress_queues: Vec<EgressQueue>,
    lanes: Vec<Lane>,
    descriptors: [Descriptor; SLOTS],
    free_slots: [Cell64; SLOTS],
    drops: [Cell64; DropReason::ALL.len()],
}

impl OwnedTables {
    /// Ports of 100 Gbit/s that need `phi` bytes of headroom.
    #[expect(clippy::cast_sign_loss, reason = "both functions are above zero there")]
    pub fn new(config: SwitchConfig, phi: u64) -> Self {
        let zeros = || core::array::from_fn(|_| Cell32::new(0));
        let port = |number: usize| Port {
            address: Cell64::new(address_to_u64(station(number as u32))),
            rate_bps: Cell64::new(100_000_000_000),
            quantum_ps: Cell64::new(5120),
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
        let config = SwitchConfig {
            ports: PORTS as u32,
            hosts: PORTS as u32,
            slots: SLOTS as u32,
            ..config
        };
        let rows = MAX_PORTS * PRIORITIES;
        Self {
            config,
            switch: SwitchState {
                slots_limit: Cell64::new(SLOTS as u64),
                ..SwitchState::default()
            },
            ports: core::array::from_fn(port),
            queues: core::array::from_fn(|_| IngressQueue::default()),
            steps: core::array::from_fn(|_| steps()),
            logarithms,
            egress_queues: (0..rows).map(|_| EgressQueue::default()).collect(),
            lanes: (0..rows).map(|_| Lane::default()).collect(),
            descriptors: Default::default(),
            free_slots: Default::default(),
            drops: core::array::from_fn(|_| Cell64::new(0)),
        }
    }

    /// The queue of (`port`, `priority`).
    pub fn queue(&self, port: u32, priority: u32) -> &IngressQueue {
        &self.queues[ingress_index(port, priority) as usize]
    }

    /// The egress queue (`port`, `priority`).
    pub fn egress(&self, port: u32, priority: u32) -> &EgressQueue {
        &self.egress_queues[egress_index(port, priority) as usize]
    }

    /// The way out (`port`, `priority`).
    pub fn way_out(&self, port: u32, priority: u32) -> &Lane {
        &self.lanes[ingress_index(port, priority) as usize]
    }
}

/// A switch whose lossless priority 3 is marked at port 1: K_min is 1000 bytes, K_max 2000, and nothing is
/// marked at random between them.
pub fn marking_switch() -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: 100_000,
        lossless_classes: 1 << 3,
        ecn_classes: 1 << 3,
        ..SwitchConfig::default()
    };
    let tables = OwnedTables::new(config, 0);
    tables.ports[1].ecn_kmin_bytes.store(1000);
    tables.ports[1].ecn_kmax_bytes.store(2000);
    tables
}

/// The frame of a packet of 1000 bytes, 1058 on the wire, that comes in at `port` and goes to `host`.
pub fn packet(port: u32, host: u32, priority: u8, ecn: Ecn) -> Vec<u8> {
    let packet = RocePacket {
        source: FIRST_HOST_ADDRESS + port,
        destination: FIRST_HOST_ADDRESS + host,
        source_port: 50_000,
        dscp: priority << 3,
        ecn,
        ttl: 64,
        opcode: Opcode::WriteMiddle,
        ack_request: false,
        destination_qp: 9,
        psn: Psn::new(0),
        reth: None,
        aeth: None,
        payload_length: 1000,
    };
    let mut frame = vec![0; packet.frame_length()];
    let addresses = LinkAddresses { source: [2, 2, 0, 0, 0, 0], destination: station(port) };
    packet.emit(&addresses, &mut frame).unwrap();
    frame
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

    fn egress_queue(&self, index: u32) -> Option<&EgressQueue> {
        self.egress_queues.get(index as usize)
    }

    fn lane(&self, index: u32) -> Option<&Lane> {
        self.lanes.get(index as usize)
    }

    fn route(&self, host: u32) -> Option<&Route> {
        const ROUTES: [Route; PORTS] = [Route { ports: 1 }, Route { ports: 2 }];
        ROUTES.get(host as usize)
    }

    fn descriptor(&self, slot: u32) -> Option<&Descriptor> {
        self.descriptors.get(slot as usize)
    }

    fn free_slot(&self, index: u32) -> Option<&Cell64> {
        self.free_slots.get(index as usize)
    }

    fn drops(&self, reason: DropReason) -> Option<&Cell64> {
        self.drops.get(reason as usize)
    }

    fn logarithms(&self) -> Option<&Logarithms> {
        Some(&self.logarithms)
    }

    fn headroom_steps(&self, port: u32) -> Option<&HeadroomSteps> {
        self.steps.get(port as usize)
    }
}
