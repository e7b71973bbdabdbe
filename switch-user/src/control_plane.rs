//! The control plane: writes configuration, routes and thresholds to the tables, reads counters.

mod counters;

use fabric_core::lossy::{self, BufferManagement};
use fabric_core::map_abi::{
    FlowKey, MAX_PORTS, NextHop, PolicyRoute, Route, SwitchConfig, address_to_u64,
};
use fabric_core::marking::slope_q48;
use fabric_core::policy::Policy;
use fabric_core::priority;
use fabric_core::scheme::{Configure, Ingress, Scheme, SchemeSettings, Selected};
use fabric_core::threshold::shared_free;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use crate::policy_table::PolicyTable;
use crate::tables::SwitchTables;

/// Configuration of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Headroom of each lossless ingress queue, or of the port if the scheme reserves headroom per port.
    pub headroom: Bytes,
    /// Headroom needed by a queue that grows at line rate: Phi in DSH, Eq. 1.
    pub required_headroom: Bytes,
    /// alpha of the port's ingress queues in DT: numerator and denominator.
    pub alpha: [u32; 2],
    /// Marking in the port's egress queues.
    pub marking: Marking,
    /// Max delay until a received PAUSE takes effect.
    pub response: Nanos,
    /// Duration of a quantum of received PFC frames.
    pub quantum: Picos,
    /// MAC address of this port.
    pub address: [u8; 6],
    /// MAC address of the neighbour.
    pub peer_address: [u8; 6],
}

/// Marking of packets by the length of their egress queue. The default is for a policy without marking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// K_min in DCQCN: queue length up to which no packet is marked.
    pub kmin: Bytes,
    /// K_max in DCQCN: queue length above which every packet is marked. At least K_min, and less than 4 GiB.
    pub kmax: Bytes,
    /// p_max in DCQCN: the probability at K_max.
    pub pmax_millionths: u32,
}

/// Returns the number of entries that [`SwitchTables::install_routes`] needs for these groups, at
/// least 1. Each group should occur once.
pub fn next_hops_for(groups: &[Vec<u8>]) -> u32 {
    let members: usize = groups.iter().map(Vec::len).filter(|members| *members > 1).sum();
    members.max(1).try_into().expect("tables have fewer than 2^32 rows")
}

impl SwitchTables {
    /// Initialises a switch. Call once, before the first frame.
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
            row.quantum_ps.store(settings.quantum.0);
            row.address.store(address_to_u64(settings.address));
            row.peer_address.store(address_to_u64(settings.peer_address));
        }
        let switch = &self.rows.switch[0];
        switch.slots_limit.store(self.rows.descriptors.len() as u64);
        // xorshift never leaves the state zero.
        switch.random.store(seed | 1);
    }

    /// Installs the routes: the ports of each ECMP group, the number of each host's group, and the policy routes, which
    /// override the hosts' routes. The configuration must announce the policy routes.
    ///
    /// # Panics
    /// If there are more hosts, policy routes or members of groups than rows in the tables, or a
    /// route's group does not exist.
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

    /// Makes a configured switch a standalone one: sets the addresses of its ports and the groups
    /// of its rows of routes. The neighbours' addresses are unknown at first.
    ///
    /// # Panics
    /// As [`install_routes`](Self::install_routes).
    pub fn stand_alone(&mut self, mac_addresses: &[[u8; 6]], groups: &[Vec<u8>], rows: &[usize]) {
        for (row, mac) in self.rows.ports.iter().zip(mac_addresses) {
            row.address.store(address_to_u64(*mac));
            row.peer_address.store(0);
        }
        let hosts = u32::try_from(rows.len()).expect("a switch has few routes");
        let config = self.rows.config[0];
        self.rows.config.write(0, SwitchConfig { hosts, ..config });
        self.install_routes(groups, rows.iter().copied(), &PolicyTable::new(&[]));
    }

    /// Runs `observe` of `policy`'s scheme on every lossless ingress queue, for switches with periodic thresholds.
    pub fn observe(&self, policy: Policy, now: Nanos) {
        self.observe_under::<Selected>(policy, now);
    }

    /// Runs [`observe`](Self::observe) under the scheme `S`, which need not be the policy's.
    pub fn observe_under<S: Scheme>(&self, policy: Policy, now: Nanos) {
        let config = &self.rows.config[0];
        for port in 0..config.ports {
            for priority in priority::in_mask(config.lossless_classes) {
                let at = Ingress::new(self, policy, port, priority).expect("the port has its rows");
                S::observe(&at, now);
            }
        }
    }

    /// Runs the periodic update of the lossy priorities' buffer management.
    pub fn update_lossy(&self, policy: Policy, now: Nanos) {
        lossy::Selected::update(self, policy, now);
    }

    /// Sets the headroom of each lossless ingress queue of `port` to `wanted` bytes, or as near as possible now: at
    /// least the bytes that a queue holds, and at most as the free bytes of the shared pool allow. Freed headroom
    /// returns to the shared pool. Only for schemes that reserve headroom per queue. Returns each queue's new headroom.
    pub fn set_headroom(&mut self, port: u32, wanted: Bytes) -> Bytes {
        let mut config = self.rows.config[0];
        let lossless = priority::in_mask(config.lossless_classes);
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

    /// Sets the MAC address of a port's neighbour for future frames.
    pub fn set_peer_address(&self, port: u32, address: [u8; 6]) {
        self.rows.ports[port as usize].peer_address.store(address_to_u64(address));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use fabric_core::map_abi::port_shift;
    use fabric_core::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
    use fabric_core::priority::Priority;
    use fabric_core::scheme::dsh::{self, state};
    use fabric_core::tables::Tables;

    use super::*;
    use crate::tables::Capacity;

    pub(crate) const CLASS: Priority = Priority::new(3);

    /// DSH, for whose state the tables have room.
    pub(crate) fn policy() -> Policy {
        let plain = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
        plain.with_scheme(SchemeKind::Dsh, 0)
    }

    const PHI: u64 = 5000;

    /// Two ports with two lossless queues of 10,000 bytes of headroom each, and 30,000 shared bytes.
    pub(crate) fn tables() -> SwitchTables {
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
            quantum: Picos(5120),
            address: [0; 6],
            peer_address: [0; 6],
        };
        let settings = SchemeSettings::Dsh(dsh::Settings::default());
        tables.configure(config, &[port; 2], &settings, &lossy::Settings::default(), 1);
        tables
    }

    /// Sets port 1's headroom. Returns the headroom and the sizes of the pools.
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

    /// A queue that grows at line rate needs Phi, and a queue that is alone needs no headroom.
    #[test]
    fn periodic_thresholds_store_tau() {
        let tables = tables();
        let queue = |priority| Ingress::new(&tables, policy(), 1, priority).unwrap();
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
            tables.configure(
                config,
                &[],
                &SchemeSettings::default(),
                &lossy::Settings::default(),
                seed,
            );
            tables.state().random.load()
        };
        assert_ne!(random(2), random(4));
        assert_eq!(random(2), random(2));
        assert_ne!(random(0), 0, "xorshift never leaves it");
    }
}
