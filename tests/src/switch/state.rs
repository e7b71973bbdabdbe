//! The whole state of a switch as one plain value.

use std::fmt::Debug;

use fabric_core::cell::{Cell32, Cell64};
use fabric_core::drop_reason::DropReason;
use fabric_core::lossy;
use fabric_core::map_abi::{
    FlowKey, PRIORITIES, SchemeBlock, SchemeLine, SwitchConfig, address_from_u64, port_shift,
};
use fabric_core::marking::slope_q48;
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::priority;
use fabric_core::queue::one_per_priority;
use fabric_core::scheme::dsh::{self, state as dsh_state};
use fabric_core::scheme::{Ingress, SchemeSettings, ofc, spfc};
use fabric_core::tables::Tables;
use fabric_core::wire::pfc::quantum_duration;
use switch_user::control_plane::{Marking, PortSettings};
use switch_user::policy_table::PolicyTable;
use switch_user::tables::{Capacity, SwitchTables};
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::bfc::BfcState;
use super::frame::{peer_address, port_address};
use super::row::{
    AuditRow, DescriptorRow, DshPortRow, DshQueueRow, EgressQueueRow, IngressQueueRow, PauseRow,
    PortRow, SpfcRow, StormRow, SwitchRow,
};
use super::rule::RuleState;
use super::{CAPACITY, FIRST_INTERFACE, HOSTS, PORTS};

/// Rows of a table that has one for each (port, priority).
const CLASS_ROWS: usize = CAPACITY.class_rows() as usize;
/// Rows of a table that has one for each (port, queue).
const QUEUE_ROWS: usize = CAPACITY.queue_rows() as usize;

/// Every table of a switch of [`CAPACITY`], except the clock. Rows behind the end of a list are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The buffer management of lossy priorities, which writes `LOSSY_LINES`.
    pub lossy: lossy::Settings,
    /// True if all egress queues have kept packets for longer than CoDel's target for an interval.
    pub is_above_codels_target: bool,
    /// `CONFIG`.
    pub config: SwitchConfig,
    /// `SWITCH`.
    pub switch: SwitchRow,
    /// `PORTS`.
    pub ports: Vec<PortRow>,
    /// Phi in DSH, of every port.
    pub required_headroom: u64,
    /// Configuration and state of BFC, if the policy runs it. Nothing of DSH is written then.
    pub bfc: Option<BfcState>,
    /// Configuration of OFC, if the policy runs it; no flow is known. Nothing of DSH is written then.
    pub ofc: Option<ofc::Settings>,
    /// Ports or queues with a state under SPFC, in the order of its lines, if the policy runs it: alone, or with DSH if
    /// `dsh.options` has victims.
    pub spfc: Option<(spfc::Options, Vec<SpfcRow>)>,
    /// Configuration and state of the PFC family or GFC, if the policy runs it. Nothing of DSH is written then.
    pub rule: Option<RuleState>,
    /// Configuration of DSH, used if the policy runs it.
    pub dsh: dsh::Settings,
    /// DSH's state of each port.
    pub dsh_ports: Vec<DshPortRow>,
    /// DSH's state of each ingress queue.
    pub dsh_queues: Vec<DshQueueRow>,
    /// `INGRESS_QUEUES`.
    pub ingress_queues: Vec<IngressQueueRow>,
    /// `EGRESS_QUEUES`.
    pub egress_queues: Vec<EgressQueueRow>,
    /// `EGRESS_CLASSES`: pauses.
    pub pauses: Vec<PauseRow>,
    /// `STORMS`.
    pub storms: Vec<StormRow>,
    /// `ROUTES`: the ECMP group of each host.
    pub routes: Vec<Vec<u8>>,
    /// `POLICY_ROUTES`: the ECMP group of each key, each once. The entries of `config` about them are replaced.
    pub policies: Vec<(FlowKey, Vec<u8>)>,
    /// `DESCRIPTORS`.
    pub descriptors: Vec<DescriptorRow>,
    /// `FREE_SLOTS`.
    pub free_slots: Vec<u64>,
    /// `DROPS`.
    pub drops: Vec<u64>,
    /// `EGRESS_CLASSES`: the auditor's observations.
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
            headroom_pool_bytes: 40_000,
            ecmp_seed: 1,
            first_interface_index: FIRST_INTERFACE,
            ports: PORTS,
            hosts: HOSTS,
            slots: CAPACITY.slots,
            lossless_queues: 1,
            queues: one_per_priority(None),
            lossless_classes: 1 << 3,
            ecn_classes: 1 << 3 | 1 << 4,
            pause_quanta: 0xffff,
            port_shift: port_shift(PORTS),
            ..SwitchConfig::default()
        };
        let dsh = dsh::Settings {
            options: dsh::Options::default(),
            port_xon_offset: Bytes(3000),
            single_queue_window: Nanos(10_000),
            gradient_weight_shift: 2,
            deviation_weight_shift: 2,
            deviation_gain_shift: 2,
            ..dsh::Settings::default()
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
        let lossy = lossy::Settings {
            alphas: [lossy::Ratio { numerator: 1, denominator: 4 }; PRIORITIES],
            ..lossy::Settings::default()
        };
        Self {
            lossy,
            config,
            switch: SwitchRow {
                random: 1,
                slots_limit: CAPACITY.slots.into(),
                ..SwitchRow::default()
            },
            ports: (0..PORTS).map(port).collect(),
            required_headroom: 20_000,
            dsh,
            dsh_ports: vec![DshPortRow::default(); PORTS as usize],
            dsh_queues: vec![DshQueueRow::default(); CLASS_ROWS],
            ingress_queues: vec![IngressQueueRow::default(); CLASS_ROWS],
            egress_queues: vec![EgressQueueRow::default(); QUEUE_ROWS],
            pauses: vec![PauseRow::default(); CLASS_ROWS],
            storms: vec![StormRow::default(); CLASS_ROWS],
            routes: (0..HOSTS).map(|host| vec![(host % PORTS) as u8]).collect(),
            free_slots: vec![0; CAPACITY.slots as usize],
            ..Self::default()
        }
    }

    /// Replaces everything that `tables` hold, and stops the clock at zero.
    pub fn write(&self, tables: &mut SwitchTables) {
        let mut groups = self.routes.clone();
        groups.resize(CAPACITY.hosts as usize, Vec::new());
        let hosts = 0..groups.len();
        groups.extend(self.policies.iter().map(|(_, group)| group.clone()));
        let policies = self.policies.iter().zip(hosts.end..);
        let policies: Vec<_> = policies.map(|((key, _), group)| (*key, group)).collect();
        let policies = PolicyTable::new(&policies);
        tables.install_routes(&groups, hosts, &policies);
        let settings = |port: &PortRow| PortSettings {
            rate: BitsPerSecond(port.rate_bps),
            headroom: Bytes(port.headroom_bytes),
            required_headroom: Bytes(self.required_headroom),
            alpha: [port.alpha_numerator, port.alpha_denominator],
            // What is stored below.
            marking: Marking::default(),
            response: Nanos(port.response_ns),
            quantum: Picos(port.quantum_ps),
            address: address_from_u64(port.address),
            peer_address: address_from_u64(port.peer_address),
        };
        let settings: Vec<PortSettings> = self.ports.iter().map(settings).collect();
        let scheme = match (&self.rule, &self.bfc, &self.spfc) {
            (Some(rule), ..) => rule.settings,
            _ if self.ofc.is_some() => SchemeSettings::Ofc(self.ofc.unwrap_or_default()),
            (None, Some(bfc), _) => SchemeSettings::Bfc(bfc.settings),
            (None, None, Some((options, _))) if !self.dsh.options.victims => {
                SchemeSettings::Spfc(spfc::Settings { options: *options, ..Default::default() })
            }
            (None, None, _) => SchemeSettings::Dsh(self.dsh),
        };
        let clear = |(): &(), row: &SchemeLine| row.0.iter().for_each(|word| word.store(0));
        store(&[], |index| tables.scheme_line(index), clear);
        store(&[], |index| tables.lossy_line(index), clear);
        tables.configure(policies.announced_in(self.config), &settings, &scheme, &self.lossy, 0);
        self.switch.store(tables.state());
        let tables = &*tables;
        if self.is_above_codels_target {
            for row in 0..CAPACITY.queue_rows() {
                let line = lossy::state::codel_queue(tables, row).expect("it has its line");
                line.first_above_ns.store(1);
            }
        }
        store(&self.ports, |index| tables.port(index), PortRow::store);
        store(&self.ingress_queues, |index| tables.ingress_queue(index), IngressQueueRow::store);
        store(&self.egress_queues, |index| tables.egress_queue(index), EgressQueueRow::store);
        let class = |index| tables.egress_class(index);
        store(&self.pauses, |index| class(index).map(|class| &class.pause), PauseRow::store);
        store(&self.storms, |index| tables.storm(index), StormRow::store);
        let is_alone = !self.dsh.options.victims;
        if let Some((_, rows)) = &self.spfc {
            let first = if is_alone { 0 } else { dsh_state::lines(self.config.ports) };
            for (number, row) in (first..).zip(rows) {
                row.store(tables.scheme_line(number).expect("it has its line").view());
            }
        }
        if let Some(rule) = &self.rule {
            rule.write(tables);
        } else if let Some(bfc) = &self.bfc {
            bfc.write(tables);
        } else if self.ofc.is_none() && (self.spfc.is_none() || !is_alone) {
            let of_port = |port| (port < PORTS).then(|| dsh_state::port_of(tables, port)).flatten();
            store(&self.dsh_ports, of_port, DshPortRow::store);
            store(&self.dsh_queues, |index| dsh_queue(tables, index), DshQueueRow::store);
        }
        store(&self.descriptors, |index| tables.descriptor(index), DescriptorRow::store);
        store(&self.free_slots, |index| tables.free_slot(index), |value, row| row.store(*value));
        store(&self.drops, |index| drop_counter(tables, index), |value, row| row.store(*value));
        store(&self.audit, |index| class(index).map(|class| &class.audit), AuditRow::store);
    }
}

/// Stores `values` into a table's rows, and zero into the rows after them.
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

/// DSH's state of the ingress queue in a row.
fn dsh_queue(tables: &SwitchTables, row: u32) -> Option<&dsh_state::QueueLine> {
    let (port, priority) = (row >> 3, row & 7);
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    let priority = priority::all().nth(priority as usize)?;
    dsh_state::queue(&Ingress::new(tables, policy, port, priority)?)
}

fn line(row: &SchemeLine) -> [u64; 8] {
    row.0.each_ref().map(Cell64::load)
}

fn block(row: &SchemeBlock) -> Vec<u32> {
    row.0.iter().map(Cell32::load).collect()
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
    compare("SWITCH", 1, both, |tables, _| tables.switch().map(SwitchRow::new))
        .or_else(|| compare("PORTS", capacity.ports, both, |t, at| t.port(at).map(PortRow::new)))
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.ingress_queue(at).map(IngressQueueRow::new);
            compare("INGRESS_QUEUES", CLASS_ROWS as u32, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.egress_queue(at).map(EgressQueueRow::new);
            compare("EGRESS_QUEUES", QUEUE_ROWS as u32, both, row)
        })
        .or_else(|| {
            let row =
                |t: &SwitchTables, at| t.egress_class(at).map(|row| PauseRow::new(&row.pause));
            compare("EGRESS_CLASSES", CLASS_ROWS as u32, both, row)
        })
        .or_else(|| {
            let row =
                |t: &SwitchTables, at| t.egress_class(at).map(|row| AuditRow::new(&row.audit));
            compare("EGRESS_CLASSES", CLASS_ROWS as u32, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.storm(at).map(StormRow::new);
            compare("STORMS", CLASS_ROWS as u32, both, row)
        })
        .or_else(|| compare("ROUTES", capacity.hosts, both, |t, at| t.route(at).copied()))
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.policy_route(at).copied();
            compare("POLICY_ROUTES", capacity.policies, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.descriptor(at).map(DescriptorRow::new);
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
        .or_else(|| compare("NEXT_HOPS", capacity.next_hops, both, |t, at| t.next_hop(at).copied()))
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.scheme_line(at).map(line);
            compare("SCHEME_LINES", capacity.scheme.lines, both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.lossy_line(at).map(line);
            compare("LOSSY_LINES", capacity.lossy_lines(), both, row)
        })
        .or_else(|| {
            let row = |t: &SwitchTables, at| t.scheme_block(at).map(block);
            compare("SCHEME_BLOCKS", capacity.scheme.blocks, both, row)
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
