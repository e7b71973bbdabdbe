//! The control plane: configuration, routes and thresholds into the tables, counters out of them.

use fabric_core::drop_reason::DropReason;
use fabric_core::lossy::{self, BufferManagement};
use fabric_core::map_abi::{
    AuditCounters, FlowKey, IngressQueue, MAX_PORTS, NextHop, PolicyRoute, Route, SwitchConfig,
    SwitchState, address_to_u64, class_row,
};
use fabric_core::marking::slope_q48;
use fabric_core::policy::Policy;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::QueueId;
use fabric_core::scheme::{Ingress, PortUse, Scheme, SchemeSettings, Selected};
use fabric_core::tables::Tables;
use fabric_core::threshold::shared_free;
use fabric_core::wire::pfc::quantum_duration;
use units::{BitsPerSecond, Bytes, Nanos};

use crate::policy_table::PolicyTable;
use crate::tables::SwitchTables;

/// One port as the control plane configures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Headroom: of each lossless ingress queue, or of the port where the scheme reserves it by port.
    pub headroom: Bytes,
    /// The headroom that a queue needs if it grows at line rate: Phi in DSH, Eq. 1.
    pub required_headroom: Bytes,
    /// alpha in DT of its ingress queues: numerator and denominator.
    pub alpha: [u32; 2],
    /// Marking of its egress queues.
    pub marking: Marking,
    /// How long a received PAUSE may go unanswered.
    pub response: Nanos,
    /// This port's address.
    pub address: [u8; 6],
    /// The neighbour's address.
    pub peer_address: [u8; 6],
}

/// When packets are marked, by the length of their egress queue; the default is for a policy without marking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// K_min in DCQCN: nothing is marked up to here.
    pub kmin: Bytes,
    /// K_max in DCQCN: everything is marked above it. At least K_min, and less than 4 GiB.
    pub kmax: Bytes,
    /// p_max in DCQCN: the probability at K_max.
    pub pmax_millionths: u32,
}

/// The entries that [`SwitchTables::install_routes`] needs for these groups, at least 1. Each group
/// should be there once.
pub fn next_hops_for(groups: &[Vec<u8>]) -> u32 {
    let members: usize = groups.iter().map(Vec::len).filter(|members| *members > 1).sum();
    members.max(1).try_into().expect("tables have fewer than 2^32 rows")
}

impl SwitchTables {
    /// Puts a switch into its first state. Call once, before the first frame.
    pub fn configure(
        &mut self,
        config: SwitchConfig,
        ports: &[PortSettings],
        scheme: &SchemeSettings,
        lossy: &lossy::Settings,
        seed: u64,
    ) {
        assert!(ports.len() <= MAX_PORTS, "a switch has at most {MAX_PORTS} ports");
        self.rows.config.write(0, config);
        lossy.write(self);
        scheme.write(self, ports.iter().map(|port| (port.rate, port.required_headroom)));
        for (row, settings) in self.rows.ports.iter().zip(ports) {
            row.rate_bps.store(settings.rate.0);
            row.headroom_bytes.store(settings.headroom.0);
            let [numerator, denominator] = settings.alpha;
            row.alpha_numerator.store(numerator);
            row.alpha_denominator.store(denominator);
            let Marking { kmin, kmax, pmax_millionths } = settings.marking;
            let cell = |bytes: Bytes| u32::try_from(bytes.0).expect("K_max is less than 4 GiB");
            row.ecn_kmin_bytes.store(cell(kmin));
            row.ecn_kmax_bytes.store(cell(kmax));
            row.ecn_slope_q48.store(slope_q48(kmin.0, kmax.0, pmax_millionths));
            row.response_ns.store(settings.response.0);
            row.quantum_ps.store(quantum_duration(settings.rate, 1).0);
            row.address.store(address_to_u64(settings.address));
            row.peer_address.store(address_to_u64(settings.peer_address));
        }
        let switch = &self.rows.switch[0];
        switch.slots_limit.store(self.rows.descriptors.len() as u64);
        // xorshift has one state that it never leaves: zero.
        switch.random.store(seed | 1);
    }

    /// Installs the routes: the ports of each ECMP group, for each host the number of its group, and the routes that
    /// go before those. The configuration has to announce the latter.
    ///
    /// # Panics
    /// If there are more hosts, policy routes or members of groups than the tables have room for, or a group is not
    /// among the groups.
    pub fn install_routes(
        &mut self,
        groups: &[Vec<u8>],
        hosts: impl IntoIterator<Item = usize>,
        policies: &PolicyTable,
    ) {
        let mut used = 0;
        let mut place = |group: &Vec<u8>| match group[..] {
            [] => Route::default(),
            [port] => Route { members: 1, first: port.into() },
            _ => {
                let first = used;
                for &port in group {
                    self.rows.next_hops.write(used as usize, NextHop { port: port.into() });
                    used += 1;
                }
                Route { members: used - first, first }
            }
        };
        let routes: Vec<Route> = groups.iter().map(&mut place).collect();
        for (host, group) in hosts.into_iter().enumerate() {
            self.rows.routes.write(host, routes[group]);
        }
        for (row, policy) in policies.iter().enumerate() {
            let route = |(key, group): (FlowKey, usize)| PolicyRoute { key, route: routes[group] };
            self.rows.policy_routes.write(row, policy.map(route).unwrap_or_default());
        }
    }

    /// Makes a configured switch one that stands alone: its ports have these addresses and neighbours that are not known
    /// yet, and the rows of routes are of these groups.
    ///
    /// # Panics
    /// As [`install_routes`](Self::install_routes).
    pub fn stand_alone(&mut self, stations: &[[u8; 6]], groups: &[Vec<u8>], rows: &[usize]) {
        for (row, station) in self.rows.ports.iter().zip(stations) {
            row.address.store(address_to_u64(*station));
            row.peer_address.store(0);
        }
        let hosts = u32::try_from(rows.len()).expect("a switch has few routes");
        let config = self.rows.config[0];
        self.rows.config.write(0, SwitchConfig { hosts, ..config });
        self.install_routes(groups, rows.iter().copied(), &PolicyTable::new(&[]));
    }

    /// Runs `observe` of `policy`'s scheme on every lossless ingress queue: for switches with periodic thresholds.
    pub fn observe(&self, policy: Policy, now: Nanos) {
        self.observe_under::<Selected>(policy, now);
    }

    /// The same under a scheme that need not be the policy's.
    pub fn observe_under<S: Scheme>(&self, policy: Policy, now: Nanos) {
        let config = &self.rows.config[0];
        for port in 0..config.ports {
            for priority in priority::of_mask(config.lossless_classes) {
                let at = Ingress::of(self, policy, port, priority).expect("the port has its rows");
                S::observe(&at, now);
            }
        }
    }

    /// Lets the buffer management of lossy priorities count what needs no packet.
    pub fn update_lossy(&self, policy: Policy, now: Nanos) {
        lossy::Selected::update(self, policy, now);
    }

    /// Gives each lossless ingress queue of `port` `wanted` bytes of headroom, or as near to that as is possible
    /// now: no less than a queue holds, and no more than the shared pool has free bytes for. Freed headroom goes to
    /// the shared pool. Only for schemes that reserve headroom by queue. Returns each queue's new headroom.
    pub fn set_headroom(&mut self, port: u32, wanted: Bytes) -> Bytes {
        let mut config = self.rows.config[0];
        let lossless = priority::of_mask(config.lossless_classes);
        let held = lossless.map(|priority| self.ingress(port, priority).headroom_bytes.load());
        let least = held.max().unwrap_or(0);
        let row = &self.rows.ports[port as usize].headroom_bytes;
        let before = row.load();
        let queues = u64::from(config.lossless_queues);
        let free = shared_free(&config, &self.rows.switch[0]);
        let most = before + free.checked_div(queues).unwrap_or(0);
        let after = wanted.0.max(least).min(most);
        row.store(after);
        config.shared_pool_bytes = config.shared_pool_bytes + before * queues - after * queues;
        config.headroom_pool_bytes = config.headroom_pool_bytes + after * queues - before * queues;
        self.rows.config.write(0, config);
        Bytes(after)
    }

    /// Sets the address of a port's neighbour, for the frames to come.
    pub fn set_peer_address(&self, port: u32, address: [u8; 6]) {
        self.rows.ports[port as usize].peer_address.store(address_to_u64(address));
    }

    /// Whether PFC forbids (port, priority) to start a transmission at `now`.
    #[inline]
    pub fn is_paused(&self, port: u32, priority: Priority, now: Nanos) -> bool {
        let row = class_row(port, priority);
        self.rows.egress_classes[row as usize].pause.forbids(now)
    }

    /// When the pause of (port, priority) ends by itself.
    pub fn pause_expiry(&self, port: u32, priority: Priority) -> Nanos {
        let row = class_row(port, priority);
        Nanos(self.rows.egress_classes[row as usize].pause.until_ns.load())
    }

    /// Frames dropped for `reason`.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.rows.drops[reason as usize].load()
    }

    /// Frames that came in at `port`.
    pub fn received_frames(&self, port: u32) -> u64 {
        self.rows.ports[port as usize].received_frames.load()
    }

    /// PFC frames that came in at `port`.
    pub fn received_pfc(&self, port: u32) -> u64 {
        self.rows.ports[port as usize].received_pfc.load()
    }

    /// What the auditor saw of one (port, priority).
    pub fn audited(&self, port: u32, priority: Priority) -> &AuditCounters {
        &self.rows.egress_classes[class_row(port, priority) as usize].audit
    }

    /// Frames that left any port while their priority was paused.
    pub fn violations(&self) -> u64 {
        self.rows.egress_classes.iter().map(|class| class.audit.violations.load()).sum()
    }

    /// The ingress queue of (port, priority).
    pub fn ingress(&self, port: u32, priority: Priority) -> &IngressQueue {
        &self.rows.ingress_queues[class_row(port, priority) as usize]
    }

    /// Bytes in an egress queue.
    #[inline]
    pub fn egress_bytes(&self, port: u32, queue: QueueId) -> u64 {
        self.rows.egress_queues[self.rows.config[0].queue_row(port, queue) as usize].bytes.load()
    }

    /// The egress queues of every port, the control queue first.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + use<> {
        let places = self.rows.egress_queues.len() >> self.rows.config[0].port_shift;
        (0..places).map(QueueId::of_place)
    }

    /// Counters of a drained switch that runs `policy` and are not back at zero, in words; empty if all are.
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
    use fabric_core::map_abi::port_shift;
    use fabric_core::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
    use fabric_core::scheme::dsh::{self, state};

    use super::*;
    use crate::tables::Capacity;

    const CLASS: Priority = Priority::new(3);

    /// DSH, whose state the tables have room for.
    fn policy() -> Policy {
        let plain = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
        plain.with_scheme(SchemeKind::Dsh, 0)
    }

    const PHI: u64 = 5000;

    /// Two ports with two lossless queues of 10,000 bytes of headroom each, and 30,000 shared bytes.
    fn tables() -> SwitchTables {
        let scheme = Selected::room(policy(), 2);
        let capacity = Capacity { scheme, next_hops: 8, ..Capacity::new(2, 6, 64) };
        let mut tables = SwitchTables::owned(capacity).expect("memory for a switch's tables");
        let config = SwitchConfig {
            shared_pool_bytes: 30_000,
            headroom_pool_bytes: 40_000,
            lossless_classes: CLASS.bit() | 1 << 4,
            lossless_queues: 2,
            ports: 2,
            slots: 64,
            port_shift: port_shift(2),
            ..SwitchConfig::default()
        };
        let port = PortSettings {
            rate: BitsPerSecond(100_000_000_000),
            headroom: Bytes(10_000),
            required_headroom: Bytes(PHI),
            alpha: [1, 16],
            marking: Marking::default(),
            response: Nanos(0),
            address: [0; 6],
            peer_address: [0; 6],
        };
        let settings = SchemeSettings::Dsh(dsh::Settings::default());
        tables.configure(config, &[port; 2], &settings, &lossy::Settings::default(), 1);
        tables
    }

    /// Sets port 1's headroom: what it and the pools then are.
    fn set(tables: &mut SwitchTables, wanted: u64) -> [u64; 3] {
        let set = tables.set_headroom(1, Bytes(wanted));
        assert_eq!(tables.rows.ports[1].headroom_bytes.load(), set.0);
        assert_eq!(tables.rows.ports[0].headroom_bytes.load(), 10_000);
        let SwitchConfig { shared_pool_bytes, headroom_pool_bytes, .. } = *tables.settings();
        [set.0, shared_pool_bytes, headroom_pool_bytes]
    }

    #[test]
    fn freed_headroom_is_shared_and_comes_back() {
        let mut tables = tables();
        assert_eq!(set(&mut tables, 4000), [4000, 42_000, 28_000]);
        assert_eq!(set(&mut tables, 12_000), [12_000, 26_000, 44_000]);
    }

    #[test]
    fn no_queue_gets_less_than_it_holds() {
        let mut tables = tables();
        tables.ingress(1, CLASS).headroom_bytes.store(7000);
        assert_eq!(set(&mut tables, 4000), [7000, 36_000, 34_000]);
    }

    #[test]
    fn headroom_grows_by_what_the_shared_pool_has_free() {
        let mut tables = tables();
        tables.rows.switch[0].shared_bytes.store(25_000);
        assert_eq!(set(&mut tables, 20_000), [12_500, 25_000, 45_000]);
        assert_eq!(set(&mut tables, 20_000), [12_500, 25_000, 45_000]);
        tables.rows.switch[0].shared_bytes.store(5000);
        assert_eq!(set(&mut tables, 20_000), [20_000, 10_000, 60_000]);
    }

    /// The peer may declare any response time.
    #[test]
    fn a_queue_that_holds_more_than_it_may_keeps_the_books() {
        let mut tables = tables();
        tables.rows.switch[0].shared_bytes.store(30_000);
        tables.ingress(1, CLASS).headroom_bytes.store(9999);
        assert_eq!(set(&mut tables, 0), [9999, 30_002, 39_998]);
        assert_eq!(set(&mut tables, u64::MAX), [10_000, 30_000, 40_000]);
    }

    /// A queue that grows at line rate needs Phi, and one that is alone needs nothing.
    #[test]
    fn periodic_thresholds_store_tau() {
        let tables = tables();
        let queue = |priority| Ingress::of(&tables, policy(), 1, priority).unwrap();
        let (rising, steady) = (queue(CLASS), queue(Priority::new(4)));
        let average = &state::queue(&rising).unwrap().gradient_average;
        average.store(dsh::estimation::LINE_RATE.try_into().unwrap());
        let stored = |at: &Ingress<'_, SwitchTables>| {
            (at.queue.stored_threshold_bytes.load(), Selected::margin(at))
        };
        tables.observe(policy(), Nanos(0));
        assert_eq!((stored(&rising), stored(&steady)), ((1875, PHI), (1875, 0)));
        tables.rows.switch[0].shared_bytes.store(14_000);
        state::port(&rising).unwrap().single_queue.store(1);
        tables.observe(policy(), Nanos(0));
        assert_eq!((stored(&rising), stored(&steady)), ((1000, 0), (1000, 0)));
    }

    #[test]
    fn violations_of_all_ports_and_classes_are_summed() {
        let tables = tables();
        assert_eq!(tables.violations(), 0);
        for (port, class, violations) in [(0, 0, 2), (1, 3, 3), (1, 7, 4)] {
            tables.audited(port, Priority::new(class)).violations.add::<SwitchTables>(violations);
        }
        assert_eq!(tables.violations(), 9);
    }

    #[test]
    fn hosts_of_one_group_share_its_members() {
        let mut tables = tables();
        let groups = [vec![7], vec![1, 255], vec![], vec![0, 1, 2], vec![1]];
        assert_eq!(next_hops_for(&groups), 5);
        assert_eq!(next_hops_for(&groups[..1]), 1, "a map has an entry");
        tables.install_routes(&groups, [0, 1, 2, 1, 3, 4], &PolicyTable::new(&[]));
        let route = |host| *tables.route(host).unwrap();
        let route = |host| (route(host).members, route(host).first);
        assert_eq!(
            (0..6).map(route).collect::<Vec<_>>(),
            [(1, 7), (2, 0), (0, 0), (2, 0), (3, 2), (1, 1)]
        );
        let hops: Vec<u64> = (0..5).map(|index| tables.next_hop(index).unwrap().port).collect();
        assert_eq!(hops, [1, 255, 0, 1, 2]);
    }

    #[test]
    fn which_packets_are_marked_follows_from_the_seed() {
        let random = |seed| {
            let mut tables = tables();
            let config = *tables.settings();
            tables.configure(config, &[], &SchemeSettings::Pfc, &lossy::Settings::default(), seed);
            tables.state().random.load()
        };
        assert_ne!(random(2), random(4));
        assert_eq!(random(2), random(2));
        assert_ne!(random(0), 0, "xorshift never leaves it");
    }

    /// Nothing but `cell` is off balance.
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
        let rows: [(Upset, &str); 16] = [
            (|it| it.state().private_bytes.store(7), "the private pools' total is 7"),
            (|it| it.state().shared_bytes.store(7), "the shared pool's total is 7"),
            (|it| it.state().headroom_bytes.store(7), "the headroom pools' total is 7"),
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
