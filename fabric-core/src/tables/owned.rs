//! Tables of a small switch in owned memory, for unit tests.

use super::Tables;
use crate::cell::{Cell32, Cell64, Sharing};
use crate::drop_reason::DropReason;
use crate::lossy::{self, state};
use crate::map_abi::{
    Descriptor, EgressClass, EgressQueue, FIRST_HOST_ADDRESS, IngressQueue, NextHop, PRIORITIES,
    PolicyRoute, Port, QUEUE_ROWS, Route, SCHEME_BLOCK_WORDS, SchemeBlock, SchemeLine, Storm,
    SwitchConfig, SwitchState, address_to_u64, class_row, port_shift,
};
use crate::priority::Priority;
use crate::queue::{QueueId, one_per_priority};
use crate::scheme::{Configure, dsh};
use units::{BitsPerSecond, Bytes};

use crate::wire::psn::Psn;
use crate::wire::roce::{Ecn, Opcode, RocePacket};
use crate::wire::{LinkAddresses, RemainingSize};

/// Ports. Host n is behind port n.
pub const PORTS: usize = 2;
/// Default number of descriptors. Tests may raise `config.slots` and `slots_limit` up to [`MAX_SLOTS`].
pub const SLOTS: usize = 4;
/// Descriptors in the table.
pub const MAX_SLOTS: usize = 32;

/// Line rate of every port.
const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
/// Lines and blocks, enough for the tests of any scheme.
const LINES: usize = 64;
const LOSSY_LINES: usize = state::QUEUES_AT as usize + PORTS * QUEUE_ROWS + 64;
const BLOCKS: usize = 4;

/// MAC address of the switch at `port`.
fn mac_address(port: u32) -> [u8; 6] {
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
    /// Ingress queues of the ports.
    pub queues: [IngressQueue; PORTS * PRIORITIES],
    /// The route to each host.
    pub routes: [Route; PORTS],
    /// The members of ECMP groups.
    pub next_hops: Vec<NextHop>,
    /// The routes of flows and pairs.
    pub policy_routes: Vec<PolicyRoute>,
    egress_queues: Vec<EgressQueue>,
    egress_classes: Vec<EgressClass>,
    storms: Vec<Storm>,
    lossy_lines: Vec<SchemeLine>,
    scheme_lines: Vec<SchemeLine>,
    scheme_blocks: Vec<SchemeBlock>,
    descriptors: [Descriptor; MAX_SLOTS],
    free_slots: [Cell64; MAX_SLOTS],
    drops: [Cell64; DropReason::ALL.len()],
}

impl OwnedTables {
    /// Returns tables of 100 Gbit/s ports with `phi` bytes of headroom each, one queue for each
    /// priority and room for any scheme's state.
    pub fn new(config: SwitchConfig, phi: u64) -> Self {
        let port = |number: usize| Port {
            address: Cell64::new(address_to_u64(mac_address(number as u32))),
            rate_bps: Cell64::new(RATE.0),
            quantum_ps: Cell64::new(5120),
            headroom_bytes: Cell64::new(phi),
            ..Port::default()
        };
        let config = SwitchConfig {
            ports: PORTS as u32,
            hosts: PORTS as u32,
            slots: SLOTS as u32,
            queues: one_per_priority(None),
            port_shift: port_shift(PORTS as u32),
            ..config
        };
        let block = || SchemeBlock([const { Cell32::new(0) }; SCHEME_BLOCK_WORDS]);
        let tables = Self {
            config,
            switch: SwitchState {
                slots_limit: Cell64::new(SLOTS as u64),
                ..SwitchState::default()
            },
            ports: core::array::from_fn(port),
            queues: core::array::from_fn(|_| IngressQueue::default()),
            routes: core::array::from_fn(|port| Route { members: 1, first: port as u32 }),
            next_hops: Vec::new(),
            policy_routes: Vec::new(),
            egress_queues: (0..PORTS * QUEUE_ROWS).map(|_| EgressQueue::default()).collect(),
            egress_classes: (0..PORTS * PRIORITIES).map(|_| EgressClass::default()).collect(),
            storms: (0..PORTS * PRIORITIES).map(|_| Storm::default()).collect(),
            lossy_lines: (0..LOSSY_LINES).map(|_| SchemeLine::default()).collect(),
            scheme_lines: (0..LINES).map(|_| SchemeLine::default()).collect(),
            scheme_blocks: (0..BLOCKS).map(|_| block()).collect(),
            descriptors: Default::default(),
            free_slots: Default::default(),
            drops: core::array::from_fn(|_| Cell64::new(0)),
        };
        lossy::Settings::default().write(&tables);
        dsh::Settings::default().write(&tables, [(RATE, Bytes(phi)); PORTS]);
        tables
    }

    /// The ingress queue of (`port`, `priority`).
    pub fn queue(&self, port: u32, priority: u8) -> &IngressQueue {
        &self.queues[class_row(port, Priority::new(priority)) as usize]
    }

    /// The egress queue of `priority` at `port`.
    pub fn egress(&self, port: u32, priority: u8) -> &EgressQueue {
        &self.egress_queues[self.config.queue_row(port, QueueId::data(priority)) as usize]
    }

    /// The egress class (`port`, `priority`).
    pub fn egress_class_of(&self, port: u32, priority: u8) -> &EgressClass {
        &self.egress_classes[class_row(port, Priority::new(priority)) as usize]
    }
}

/// A switch whose priorities 3 and 4 are lossless, with room for two packets in each private buffer.
pub fn lossless_switch() -> OwnedTables {
    let config = SwitchConfig {
        private_bytes: 3000,
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: 100_000,
        lossless_classes: 1 << 3 | 1 << 4,
        ..SwitchConfig::default()
    };
    OwnedTables::new(config, 0)
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

/// A 1000-byte packet's frame, 1058 bytes on the wire, that arrives at `port` and is addressed to `host`.
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
        congestion_echo: false,
        destination_qp: 9,
        psn: Psn::new(0),
        reth: None,
        aeth: None,
        payload_length: 1000,
        telemetry: None,
        remaining: RemainingSize::UNKNOWN,
    };
    let mut frame = vec![0; packet.frame_length()];
    let addresses = LinkAddresses { source: [2, 2, 0, 0, 0, 0], destination: mac_address(port) };
    packet.emit(&addresses, &mut frame).unwrap();
    frame
}

impl Sharing for OwnedTables {
    const SHARED: bool = false;
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

    fn egress_class(&self, row: u32) -> Option<&EgressClass> {
        self.egress_classes.get(row as usize)
    }

    fn storm(&self, row: u32) -> Option<&Storm> {
        self.storms.get(row as usize)
    }

    fn route(&self, host: u32) -> Option<&Route> {
        self.routes.get(host as usize)
    }

    fn next_hop(&self, index: u32) -> Option<&NextHop> {
        self.next_hops.get(index as usize)
    }

    fn policy_route(&self, index: u32) -> Option<&PolicyRoute> {
        self.policy_routes.get(index as usize)
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

    fn lossy_line(&self, index: u32) -> Option<&SchemeLine> {
        self.lossy_lines.get(index as usize)
    }

    fn scheme_line(&self, index: u32) -> Option<&SchemeLine> {
        self.scheme_lines.get(index as usize)
    }

    fn scheme_block(&self, index: u32) -> Option<&SchemeBlock> {
        self.scheme_blocks.get(index as usize)
    }
}
