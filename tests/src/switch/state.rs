//! The whole state of a switch as one plain value.

use std::fmt::Debug;

use fabric_core::cell::{Cell32, Cell64};
use fabric_core::drop_reason::DropReason;
use fabric_core::map_abi::{
    HeadroomSteps, Logarithms, MAX_PORTS, MAX_QUEUES, PRIORITIES, SwitchConfig, address_from_u64,
};
use fabric_core::marking::slope_q48;
use fabric_core::tables::Tables;
use fabric_core::units::{BitsPerSecond, Bytes, Nanos};
use fabric_core::wire::pfc::quantum_duration;
use switch_user::control_plane::{Marking, PortSettings};
use switch_user::tables::{Capacity, SwitchTables};

use super::frame::{peer_address, port_address};
use super::row::{
    AuditRow, DescriptorRow, EgressQueueRow, IngressQueueRow, PauseRow, PortRow, SwitchRow,
};
use super::{CAPACITY, FIRST_INTERFACE, HOSTS, PORTS};

/// Rows of a table that has one for each (port, priority).
const PORT_PRIORITIES: usize = MAX_PORTS * PRIORITIES;
/// Rows of a table that has one for each (port, queue).
const PORT_QUEUES: usize = MAX_PORTS * MAX_QUEUES;

/// Every table of a switch of [`CAPACITY`], the clock apart. What a list does not reach is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `CONFIG`.
    pub config: SwitchConfig,
    /// `SWITCH`.
    pub switch: SwitchRow,
    /// `PORTS`.
    pub ports: Vec<PortRow>,
    /// What `HEADROOM_STEPS` of every port is computed from: Phi in DSH.
    pub largest_estimate: u64,
    /// `INGRESS_QUEUES`.
    pub ingress_queues: Vec<IngressQueueRow>,
    /// `EGRESS_QUEUES`.
    pub egress_queues: Vec<EgressQueueRow>,
    /// `LANES`: what is paused.
    pub pauses: Vec<PauseRow>,
    /// `ROUTES`: the ECMP group of each host.
    pub routes: Vec<Vec<u8>>,
    /// `DESCRIPTORS`.
    pub descriptors: Vec<DescriptorRow>,
    /// `FREE_SLOTS`.
    pub free_slots: Vec<u64>,
    /// `DROPS`.
    pub drops: Vec<u64>,
    /// `LANES`: what the auditor saw.
    pub audit: Vec<AuditRow>,
}

impl State {
    /// An empty switch of 100 Gbit/s ports: 100 kB of shared buffer under DT with alpha 1/2, 20 kB of
    /// headroom a queue or port, priority 3 lossless, ECN from 5 to 20 kB on priorities 3 and 4, and host n
    /// behind port n modulo [`PORTS`].
    pub fn fresh() -> Self {
        let rate = BitsPerSecond(100_000_000_000);
        let (kmin, kmax) = (5000, 20_000);
        let config = SwitchConfig {
            shared_pool_bytes: 100_000,
            private_bytes: 3000,
            static_xoff_bytes: 30_000,
            xon_offset_bytes: 3000,
            port_xon_offset_bytes: 3000,
            headroom_pool_bytes: 40_000,
            single_queue_window_ns: 10_000,
            lossy_alpha_numerator: 1,
            lossy_alpha_denominator: 4,
            ecmp_seed: 1,
            first_interface_index: FIRST_INTERFACE,
            ports: PORTS,
            hosts: HOSTS,
            slots: CAPACITY.slots,
            lossless_queues: 1,
            gradient_weight_shift: 2,
            deviation_weight_shift: 2,
            deviation_gain_shift: 2,
            reserved: 0,
            lossless_classes: 1 << 3,
            ecn_classes: 1 << 3 | 1 << 4,
            pause_quanta: 0xffff,
        };
        let port = |number| PortRow {
            rate_bps: rate.0,
            headroom_bytes: 20_000,
            alpha_numerator: 1,
            alpha_denominator: 2,
            ecn_kmin_bytes: kmin,
            ecn_kmax_bytes: kmax,
            ecn_slope_q48: slope_q48(kmin.into(), kmax.into(), 200_000),
            response_ns: 300,
            quantum_ps: quantum_duration(rate, 1).0,
            address: port_address(number),
            peer_address: peer_address(number),
            ..PortRow::default()
        };
        Self {
            config,
            switch: SwitchRow {
                random: 1,
                slots_limit: CAPACITY.slots.into(),
                ..SwitchRow::default()
            },
            ports: (0..PORTS).map(port).collect(),
            largest_estimate: 20_000,
            ingress_queues: vec![IngressQueueRow::default(); PORT_PRIORITIES],
            egress_queues: vec![EgressQueueRow::default(); PORT_QUEUES],
            pauses: vec![PauseRow::default(); PORT_PRIORITIES],
            routes: (0..HOSTS).map(|host| vec![(host % PORTS) as u8]).collect(),
            free_slots: vec![0; CAPACITY.slots as usize],
            ..Self::default()
        }
    }

    /// Replaces everything that `tables` hold, and stops the clock at zero.
    pub fn write(&self, tables: &mut SwitchTables) {
        for host in 0..CAPACITY.hosts {
            let group = self.routes.get(host as usize).map_or(&[][..], Vec::as_slice);
            tables.install_route(host as usize, group);
        }
        let settings = |port: &PortRow| PortSettings {
            rate: BitsPerSecond(port.rate_bps),
            headroom: Bytes(port.headroom_bytes),
            largest_estimate: Bytes(self.largest_estimate),
            alpha: [port.alpha_numerator, port.alpha_denominator],
            // What is stored below.
            marking: Marking::default(),
            response: Nanos(port.response_ns),
            address: address_from_u64(port.address),
            peer_address: address_from_u64(port.peer_address),
        };
        let settings: Vec<PortSettings> = self.ports.iter().map(settings).collect();
        tables.configure(self.config, &settings, 0);
        tables.set_clock(Nanos(0));
        self.switch.store(tables.state());
        let tables = &*tables;
        store(&self.ports, |index| tables.port(index), PortRow::store);
        store(&self.ingress_queues, |index| tables.ingress_queue(index), IngressQueueRow::store);
        store(&self.egress_queues, |index| tables.egress_queue(index), EgressQueueRow::store);
        store(&self.pauses, |index| tables.lane(index).map(|lane| &lane.pause), PauseRow::store);
        store(&self.descriptors, |index| tables.descriptor(index), DescriptorRow::store);
        store(&self.free_slots, |index| tables.free_slot(index), |value, row| row.store(*value));
        store(&self.drops, |index| drop_counter(tables, index), |value, row| row.store(*value));
        store(&self.audit, |index| tables.lane(index).map(|lane| &lane.audit), AuditRow::store);
    }
}

/// Stores `values` into a table's rows, and zero into those after them.
fn store<'a, T: 'a, V: Default>(
    values: &[V],
    row: impl Fn(u32) -> Option<&'a T>,
    put: impl Fn(&V, &T),
) {
    let zero = V::default();
    let mut index = 0;
    while let Some(row) = row(index) {
        put(values.get(index as usize).unwrap_or(&zero), row);
        index += 1;
    }
    assert!(values.len() <= index as usize, "{} values for {index} rows", values.len());
}

fn drop_counter(tables: &SwitchTables, number: u32) -> Option<&Cell64> {
    DropReason::from_number(number).and_then(|reason| tables.drops(reason))
}

/// All cells of a port's estimation.
fn steps(row: &HeadroomSteps) -> Vec<u32> {
    let HeadroomSteps { byte_per_ns_log2, phi_bytes, bytes } = row;
    [byte_per_ns_log2, phi_bytes].into_iter().chain(bytes).map(Cell32::load).collect()
}

/// All cells of the tables of logarithms.
fn logarithms(row: &Logarithms) -> Vec<u32> {
    row.log2.iter().chain(&row.exp2).map(Cell32::load).collect()
}

/// The first row that differs between a switch's mapped tables and its native ones, in words.
pub fn first_difference(
    kernel: &SwitchTables,
    native: &SwitchTables,
    capacity: Capacity,
) -> Option<String> {
    if kernel.settings() != native.settings() {
        return Some(format!("CONFIG: {:?}, {:?}", kernel.settings(), native.settings()));
    }
    let both = [kernel, native];
    let reasons = DropReason::ALL.len() as u32;
    compare("SWITCH", 1, both, |tables, _| tables.switch().map(SwitchRow::of))
        .or_else(|| compare("PORTS", capacity.ports, both, |t, at| t.port(at).map(PortRow::of)))
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.ingress_queue(at).map(IngressQueueRow::of);
            compare("INGRESS_QUEUES", PORT_PRIORITIES as u32, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.egress_queue(at).map(EgressQueueRow::of);
            compare("EGRESS_QUEUES", PORT_QUEUES as u32, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.lane(at).map(|lane| PauseRow::of(&lane.pause));
            compare("LANES", PORT_PRIORITIES as u32, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.lane(at).map(|lane| AuditRow::of(&lane.audit));
            compare("LANES", PORT_PRIORITIES as u32, both, row)
        })
        .or_else(|| compare("ROUTES", capacity.hosts, both, |t, at| t.route(at).copied()))
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.descriptor(at).map(DescriptorRow::of);
            compare("DESCRIPTORS", capacity.slots, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.free_slot(at).map(Cell64::load);
            compare("FREE_SLOTS", capacity.slots, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| drop_counter(t, at).map(Cell64::load);
            compare("DROPS", reasons, both, row)
        })
        .or_else(|| compare("LOGARITHMS", 1, both, |t, _| t.logarithms().map(logarithms)))
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.headroom_steps(at).map(steps);
            compare("HEADROOM_STEPS", capacity.ports, both, row)
        })
}

/// The first port's row that is not zero although `capacity` has no such port, in words: mapped tables
/// have rows for [`MAX_PORTS`] ports.
pub fn first_used(tables: &SwitchTables, capacity: Capacity) -> Option<String> {
    (capacity.ports..MAX_PORTS as u32).find_map(|port| {
        let row = PortRow::of(tables.port(port).expect("mapped tables have rows for all ports"));
        (row != PortRow::default()).then(|| format!("PORTS[{port}]: {row:?}"))
    })
}

fn compare<R: PartialEq + Debug>(
    table: &str,
    rows: u32,
    [kernel, native]: [&SwitchTables; 2],
    row: impl Fn(&SwitchTables, u32) -> Option<R>,
) -> Option<String> {
    (0..rows).find_map(|index| {
        let (kernel, native) = (row(kernel, index), row(native, index));
        assert!(native.is_some(), "{table} has a row {index}");
        (kernel != native).then(|| {
            format!("{table}[{index}]: eBPF {:?}, native {:?}", kernel.unwrap(), native.unwrap())
        })
    })
}
