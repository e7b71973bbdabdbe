//! State read from a switch's tables: pauses, counters, and imbalances of a drained switch.

use fabric_core::drop_reason::DropReason;
use fabric_core::map_abi::{AuditCounters, IngressQueue, SwitchConfig, SwitchState, class_row};
use fabric_core::policy::Policy;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::QueueId;
use fabric_core::scheme::{PortUse, Selected, Watched};
use fabric_core::tables::Tables;
use units::Nanos;

use crate::tables::SwitchTables;

impl SwitchTables {
    /// True if PFC forbids (port, priority) to start a transmission at `now`.
    #[inline]
    pub fn is_paused(&self, port: u32, priority: Priority, now: Nanos) -> bool {
        let row = class_row(port, priority);
        self.rows.egress_classes[row as usize].pause.forbids(now)
    }

    /// Returns the expiry of the pause of (port, priority).
    pub fn pause_expiry(&self, port: u32, priority: Priority) -> Nanos {
        let row = class_row(port, priority);
        Nanos(self.rows.egress_classes[row as usize].pause.until_ns.load())
    }

    /// Returns the number of frames dropped for `reason`.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.rows.drops[reason as usize].load()
    }

    /// Returns the number of frames received at `port`.
    pub fn received_frames(&self, port: u32) -> u64 {
        self.rows.ports[port as usize].received_frames.load()
    }

    /// Returns the number of PFC frames received at `port`.
    pub fn received_pfc(&self, port: u32) -> u64 {
        self.rows.ports[port as usize].received_pfc.load()
    }

    /// Returns the auditor's counts for one (port, priority).
    pub fn audited(&self, port: u32, priority: Priority) -> &AuditCounters {
        &self.rows.egress_classes[class_row(port, priority) as usize].audit
    }

    /// Returns the number of frames that left any port while their priority was paused.
    pub fn violations(&self) -> u64 {
        self.rows.egress_classes.iter().map(|class| class.audit.violations.load()).sum()
    }

    /// The ingress queue of (port, priority).
    pub fn ingress(&self, port: u32, priority: Priority) -> &IngressQueue {
        &self.rows.ingress_queues[class_row(port, priority) as usize]
    }

    /// Returns the number of bytes in an egress queue.
    #[inline]
    pub fn egress_bytes(&self, port: u32, queue: QueueId) -> u64 {
        self.rows.egress_queues[self.rows.config[0].queue_row(port, queue) as usize].bytes.load()
    }

    /// The egress queues of every port, the control queue first.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + use<> {
        let places = self.rows.egress_queues.len() >> self.rows.config[0].port_shift;
        (0..places).map(QueueId::from_place)
    }

    /// Returns descriptions of counters that are not back at zero in a drained switch under `policy`; empty if all are.
    pub fn imbalances(&self, policy: Policy) -> Vec<String> {
        let (config, switch) = (&self.rows.config[0], &self.rows.switch[0]);
        let mut found = Vec::new();
        let mut expect_zero = |what: String, value: u64| {
            if value != 0 {
                found.push(format!("{what} is {value} instead of 0"));
            }
        };
        expect_zero("the private pools' total".into(), switch.private_bytes.load());
        expect_zero("the shared pool's total".into(), switch.shared_bytes.load());
        expect_zero("the headroom pools' total".into(), switch.headroom_bytes.load());
        expect_zero("the lossy pool's total".into(), switch.lossy_bytes.load());
        for port in 0..config.ports {
            let PortUse { shared_bytes, headroom_bytes, off } =
                Selected::port_use(self, policy, port);
            expect_zero(format!("port {port} shared"), shared_bytes);
            expect_zero(format!("port {port} headroom"), headroom_bytes);
            expect_zero(format!("port {port} OFF state"), u64::from(off));
        }
        for port in 0..config.ports {
            for priority in priority::all() {
                let queue = self.ingress(port, priority);
                let name = format!("ingress queue (port {port}, priority {priority})");
                expect_zero(format!("{name} private"), queue.private_bytes.load());
                expect_zero(format!("{name} shared"), queue.shared_bytes.load());
                expect_zero(format!("{name} headroom"), queue.headroom_bytes.load());
                expect_zero(format!("{name} OFF state"), u64::from(queue.off.load()));
            }
            for queue in self.queues() {
                let bytes = self.egress_bytes(port, queue);
                expect_zero(format!("egress queue (port {port}, queue {queue})"), bytes);
            }
        }
        let free = switch.slots_limit.load() - switch.slots_taken.load();
        let leaked = self.rows.descriptors.len() as u64 - free;
        expect_zero("the number of leaked descriptors".into(), leaked);
        let (admitted, departed) = (switch.admitted_bytes.load(), switch.departed_bytes.load());
        expect_zero("bytes admitted less bytes departed".into(), admitted.abs_diff(departed));
        found
    }

    /// The switch's totals.
    pub fn state(&self) -> &SwitchState {
        self.switch().expect("the region has one entry")
    }

    /// The switch's configuration.
    #[inline]
    pub fn settings(&self) -> &SwitchConfig {
        self.config().expect("the region has one entry")
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::scheme::dsh::state;

    use super::*;
    use crate::control_plane::tests::{CLASS, policy, tables};

    #[test]
    fn violations_of_all_ports_and_classes_are_summed() {
        let tables = tables();
        assert_eq!(tables.violations(), 0);
        for (port, class, violations) in [(0, 0, 2), (1, 3, 3), (1, 7, 4)] {
            tables.audited(port, Priority::new(class)).violations.add::<SwitchTables>(violations);
        }
        assert_eq!(tables.violations(), 9);
    }

    /// Returns the imbalances after `cell` has changed a counter of balanced tables.
    fn imbalance_of(cell: impl FnOnce(&SwitchTables)) -> Vec<String> {
        let tables = tables();
        assert_eq!(tables.imbalances(policy()), [""; 0]);
        cell(&tables);
        tables.imbalances(policy())
    }

    #[test]
    fn what_a_drained_switch_still_holds_is_named() {
        fn queue(tables: &SwitchTables) -> &IngressQueue {
            tables.ingress(1, CLASS)
        }
        fn port(tables: &SwitchTables) -> &state::PortLine {
            state::port_of(tables, 1).unwrap()
        }
        fn egress(tables: &SwitchTables, port: u32, queue: QueueId) {
            let row = tables.settings().queue_row(port, queue);
            tables.egress_queue(row).unwrap().bytes.store(7);
        }
        type Upset = fn(&SwitchTables);
        let rows: [(Upset, &str); 17] = [
            (|it| it.state().private_bytes.store(7), "the private pools' total is 7"),
            (|it| it.state().shared_bytes.store(7), "the shared pool's total is 7"),
            (|it| it.state().headroom_bytes.store(7), "the headroom pools' total is 7"),
            (|it| it.state().lossy_bytes.store(7), "the lossy pool's total is 7"),
            (|it| port(it).shared_bytes.store(7), "port 1 shared is 7"),
            (|it| port(it).insurance_bytes.store(7), "port 1 headroom is 7"),
            (|it| port(it).off.store(1), "port 1 OFF state is 1"),
            (
                |it| queue(it).private_bytes.store(7),
                "ingress queue (port 1, priority 3) private is 7",
            ),
            (
                |it| queue(it).shared_bytes.store(7),
                "ingress queue (port 1, priority 3) shared is 7",
            ),
            (
                |it| queue(it).headroom_bytes.store(7),
                "ingress queue (port 1, priority 3) headroom is 7",
            ),
            (|it| queue(it).off.store(1), "ingress queue (port 1, priority 3) OFF state is 1"),
            (|it| egress(it, 0, QueueId::data(7)), "egress queue (port 0, queue 7) is 7"),
            (|it| egress(it, 1, QueueId::CONTROL), "egress queue (port 1, queue control) is 7"),
            (|it| it.state().slots_taken.store(7), "the number of leaked descriptors is 7"),
            (|it| it.state().slots_limit.store(57), "the number of leaked descriptors is 7"),
            (|it| it.state().admitted_bytes.store(7), "bytes admitted less bytes departed is 7"),
            (|it| it.state().departed_bytes.store(7), "bytes admitted less bytes departed is 7"),
        ];
        for (upset, expected) in rows {
            assert_eq!(imbalance_of(upset), [format!("{expected} instead of 0")]);
        }
    }
}
