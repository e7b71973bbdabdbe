//! The control plane: configuration, routes and thresholds into the tables, counters out of them.

use fabric_core::drop_reason::DropReason;
use fabric_core::dsh::two_level;
use fabric_core::flow_control::Ingress;
use fabric_core::map_abi::{
    AuditCounters, MAX_PORTS, MAX_SLOTS, Route, SwitchConfig, address_to_u64,
};
use fabric_core::marking::slope_q48;
use fabric_core::policy::{HeadroomScheme, Policy};
use fabric_core::priority;
use fabric_core::tables::{Tables, egress_index, ingress_index};
use fabric_core::threshold::shared_free;
use fabric_core::units::{BitsPerSecond, Bytes, Nanos};
use fabric_core::wire::ethernet::MINIMUM_FRAME_LENGTH;
use fabric_core::wire::pfc::quantum_duration;

use crate::estimation_tables::{fill_logarithms, fill_steps};
use crate::tables::SwitchTables;

/// One port as the control plane configures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Headroom: of each lossless ingress queue, under DSH of the port.
    pub headroom: Bytes,
    /// The headroom that DSH estimates for a queue that grows at line rate: Phi.
    pub largest_estimate: Bytes,
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

/// The largest buffer for which there are descriptors, however small its frames are.
pub const LARGEST_BUFFER: Bytes = Bytes((MAX_SLOTS * MINIMUM_FRAME_LENGTH) as u64);

const _: () = assert!(
    LARGEST_BUFFER.0.checked_mul(u32::MAX as u64).is_some(),
    "any alpha times the free bytes of a buffer fits into 64 bits"
);

/// Frames that a buffer holds if all of them are as small as can be.
pub const fn frames_in(buffer: Bytes) -> u64 {
    buffer.0 / MINIMUM_FRAME_LENGTH as u64
}

/// Descriptors for a buffer of at most [`LARGEST_BUFFER`], at least 1: as many as it can hold packets.
pub fn slots_for(buffer: Bytes) -> u32 {
    assert!(buffer <= LARGEST_BUFFER, "{buffer:?} is more than there are descriptors for");
    let slots = frames_in(buffer).max(1);
    slots.try_into().expect("the largest buffer has 2^24 slots")
}

impl SwitchTables {
    /// Puts a switch into its first state. Call once, before the first frame.
    pub fn configure(&mut self, config: SwitchConfig, ports: &[PortSettings], seed: u64) {
        assert!(ports.len() <= MAX_PORTS, "a switch has at most {MAX_PORTS} ports");
        self.config.write(0, config);
        fill_logarithms(&self.logarithms[0]);
        for (steps, settings) in self.headroom_steps.iter().zip(ports) {
            fill_steps(steps, settings.rate, settings.largest_estimate);
        }
        for (row, settings) in self.ports.iter().zip(ports) {
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
        let switch = &self.switch[0];
        switch.slots_limit.store(self.descriptors.len() as u64);
        // xorshift has one state that it never leaves: zero.
        switch.random.store(seed | 1);
    }

    /// Installs the ECMP group towards a host.
    pub fn install_route(&mut self, host: usize, ports: &[u8]) {
        let bit = |&port: &u8| {
            assert!(usize::from(port) < MAX_PORTS, "ports are numbered below {MAX_PORTS}");
            1 << port
        };
        let ports = ports.iter().map(bit).fold(0, |group: u64, bit: u64| group | bit);
        self.routes.write(host, Route { ports });
    }

    /// Sets the time that eBPF reads.
    #[inline]
    pub fn set_clock(&self, now: Nanos) {
        self.clock[0].now_ns.store(now.0);
    }

    /// Evaluates `policy`'s threshold for every lossless ingress queue and stores it, under DSH with tau:
    /// the control plane of a switch whose thresholds are periodic.
    pub fn set_thresholds(&self, policy: Policy) {
        let config = &self.config[0];
        let lossless = || priority::of_mask(config.lossless_classes).map(u32::from);
        for port in 0..config.ports {
            for priority in lossless() {
                let at = Ingress::of(self, policy, port, priority).expect("the port has its rows");
                at.queue.stored_threshold_bytes.store(at.threshold());
                if policy.headroom() == HeadroomScheme::Dsh {
                    let single_queue = at.port.single_queue.load() != 0;
                    at.queue.tau_bytes.store(two_level::tau(&at, single_queue));
                }
            }
        }
    }

    /// Gives each lossless ingress queue of `port` `wanted` bytes of headroom, or as near to that as can be
    /// done now: what is freed goes to the shared pool, and what is added comes from its free bytes; no
    /// queue gets less than it holds. Not under DSH. The headroom that the queues have from now on.
    pub fn set_headroom(&mut self, port: u32, wanted: Bytes) -> Bytes {
        let mut config = self.config[0];
        let lossless = || priority::of_mask(config.lossless_classes).map(u32::from);
        let held = lossless().map(|class| {
            self.ingress_queues[ingress_index(port, class) as usize].headroom_bytes.load()
        });
        let least = held.max().unwrap_or(0);
        let row = &self.ports[port as usize].headroom_bytes;
        let before = row.load();
        let queues = u64::from(config.lossless_queues);
        let free = shared_free(&config, &self.switch[0]);
        let most = before + free.checked_div(queues).unwrap_or(0);
        let after = wanted.0.max(least).min(most);
        row.store(after);
        config.shared_pool_bytes = config.shared_pool_bytes + before * queues - after * queues;
        config.headroom_pool_bytes = config.headroom_pool_bytes + after * queues - before * queues;
        self.config.write(0, config);
        Bytes(after)
    }

    /// Those of the queues `waiting` of `port`, a bit each, that must not start a transmission at `now`.
    #[inline]
    pub fn paused_queues(&self, port: u32, waiting: u32, now: Nanos) -> u32 {
        let (mut left, mut paused) = (waiting, 0);
        while left != 0 {
            let queue = left.trailing_zeros();
            left &= left - 1;
            let lane = &self.lanes[ingress_index(port, queue) as usize];
            paused |= u32::from(lane.pause.forbids(now)) << queue;
        }
        paused
    }

    /// When the pause of (port, priority) ends by itself.
    pub fn pause_expiry(&self, port: u32, priority: u32) -> Nanos {
        Nanos(self.lanes[ingress_index(port, priority) as usize].pause.until_ns.load())
    }

    /// Frames dropped for `reason`.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize].load()
    }

    /// Frames that came in at `port`.
    pub fn received_frames(&self, port: u32) -> u64 {
        self.ports[port as usize].received_frames.load()
    }

    /// What the auditor saw of one (port, priority).
    pub fn audited(&self, port: u32, priority: u32) -> &AuditCounters {
        &self.lanes[ingress_index(port, priority) as usize].audit
    }

    /// Frames that left any port while their priority was paused.
    pub fn violations(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.audit.violations.load()).sum()
    }

    /// Bytes in the egress queue.
    pub fn egress_bytes(&self, port: u32, queue: u32) -> u64 {
        self.egress_queues[egress_index(port, queue) as usize].bytes.load()
    }

    /// What a drained switch still holds that it should not, in words; empty if the books balance.
    pub fn imbalances(&self) -> Vec<String> {
        let (config, switch) = (&self.config[0], &self.switch[0]);
        let mut found = Vec::new();
        let mut expect_zero = |what: String, value: u64| {
            if value != 0 {
                found.push(format!("{what} is {value} instead of 0"));
            }
        };
        expect_zero("the private pools' total".into(), switch.private_bytes.load());
        expect_zero("the shared pool's total".into(), switch.shared_bytes.load());
        expect_zero("the headroom pools' total".into(), switch.headroom_bytes.load());
        for (number, port) in (0..config.ports).zip(self.ports.iter()) {
            expect_zero(format!("port {number} shared"), port.shared_bytes.load());
            expect_zero(format!("port {number} insurance"), port.insurance_bytes.load());
            expect_zero(format!("port {number} OFF state"), u64::from(port.off.load()));
        }
        for port in 0..config.ports {
            for priority in priority::all().map(u32::from) {
                let queue = &self.ingress_queues[ingress_index(port, priority) as usize];
                let name = format!("ingress queue (port {port}, priority {priority})");
                expect_zero(format!("{name} private"), queue.private_bytes.load());
                expect_zero(format!("{name} shared"), queue.shared_bytes.load());
                expect_zero(format!("{name} headroom"), queue.headroom_bytes.load());
                expect_zero(format!("{name} OFF state"), u64::from(queue.off.load()));
                let bytes = self.egress_bytes(port, priority);
                expect_zero(format!("egress queue (port {port}, queue {priority})"), bytes);
            }
        }
        let free = switch.slots_limit.load() - switch.slots_taken.load();
        let leaked = self.descriptors.len() as u64 - free;
        expect_zero("the number of leaked descriptors".into(), leaked);
        let (admitted, departed) = (switch.admitted_bytes.load(), switch.departed_bytes.load());
        expect_zero("bytes admitted less bytes departed".into(), admitted.abs_diff(departed));
        found
    }

    /// The switch's totals.
    pub fn state(&self) -> &fabric_core::map_abi::SwitchState {
        self.switch().expect("the region has one entry")
    }

    /// The switch's configuration.
    pub fn settings(&self) -> &SwitchConfig {
        self.config().expect("the region has one entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Capacity;
    use fabric_core::map_abi::{IngressQueue, LINE_RATE};
    use fabric_core::policy::{MarkingScheme, ThresholdScheme};

    const CLASS: u32 = 3;

    #[test]
    fn there_is_a_slot_for_every_frame_of_any_buffer() {
        for (buffer, slots) in [
            (0, 1),
            (59, 1),
            (60 * 4096, 4096),
            (60 * 4097 + 59, 4097),
            (16_000_000, 266_666),
            (LARGEST_BUFFER.0, 1 << 24),
        ] {
            assert_eq!(slots_for(Bytes(buffer)), slots, "{buffer}");
        }
    }

    /// Two ports with two lossless queues of 10,000 bytes of headroom each, and 30,000 shared bytes.
    fn tables() -> SwitchTables {
        let capacity = Capacity { ports: 2, hosts: 1, slots: 64 };
        let mut tables = SwitchTables::owned(capacity).expect("memory for a switch's tables");
        let config = SwitchConfig {
            shared_pool_bytes: 30_000,
            headroom_pool_bytes: 40_000,
            lossless_classes: 1 << CLASS | 1 << 4,
            lossless_queues: 2,
            ports: 2,
            slots: 64,
            ..SwitchConfig::default()
        };
        let port = PortSettings {
            rate: BitsPerSecond(100_000_000_000),
            headroom: Bytes(10_000),
            largest_estimate: Bytes(0),
            alpha: [1, 16],
            marking: Marking::default(),
            response: Nanos(0),
            address: [0; 6],
            peer_address: [0; 6],
        };
        tables.configure(config, &[port; 2], 1);
        tables
    }

    /// Sets port 1's headroom: what it and the pools then are.
    fn set(tables: &mut SwitchTables, wanted: u64) -> [u64; 3] {
        let set = tables.set_headroom(1, Bytes(wanted));
        assert_eq!(tables.ports[1].headroom_bytes.load(), set.0);
        assert_eq!(tables.ports[0].headroom_bytes.load(), 10_000);
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
        tables.ingress_queues[ingress_index(1, CLASS) as usize].headroom_bytes.store(7000);
        assert_eq!(set(&mut tables, 4000), [7000, 36_000, 34_000]);
    }

    #[test]
    fn headroom_grows_by_what_the_shared_pool_has_free() {
        let mut tables = tables();
        tables.switch[0].shared_bytes.store(25_000);
        assert_eq!(set(&mut tables, 20_000), [12_500, 25_000, 45_000]);
        assert_eq!(set(&mut tables, 20_000), [12_500, 25_000, 45_000]);
        tables.switch[0].shared_bytes.store(5000);
        assert_eq!(set(&mut tables, 20_000), [20_000, 10_000, 60_000]);
    }

    /// The peer may declare any response time.
    #[test]
    fn a_queue_that_holds_more_than_it_may_keeps_the_books() {
        let mut tables = tables();
        tables.switch[0].shared_bytes.store(30_000);
        tables.ingress_queues[ingress_index(1, CLASS) as usize].headroom_bytes.store(9999);
        assert_eq!(set(&mut tables, 0), [9999, 30_002, 39_998]);
        assert_eq!(set(&mut tables, u64::MAX), [10_000, 30_000, 40_000]);
    }

    /// A queue that grows at line rate needs Phi, and one that is alone needs nothing.
    #[test]
    fn periodic_thresholds_store_tau() {
        const PHI: u64 = 5000;
        let tables = tables();
        fill_steps(&tables.headroom_steps[1], BitsPerSecond(100_000_000_000), Bytes(PHI));
        let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off)
            .with_headroom(HeadroomScheme::Dsh);
        let rising = &tables.ingress_queues[ingress_index(1, CLASS) as usize];
        let steady = &tables.ingress_queues[ingress_index(1, 4) as usize];
        rising.gradient_average.store(LINE_RATE.try_into().unwrap());
        let stored = |queue: &IngressQueue| {
            (queue.stored_threshold_bytes.load(), u64::from(queue.tau_bytes.load()))
        };
        tables.set_thresholds(policy);
        assert_eq!((stored(rising), stored(steady)), ((1875, PHI), (1875, 0)));
        tables.switch[0].shared_bytes.store(14_000);
        tables.ports[1].single_queue.store(1);
        tables.set_thresholds(policy);
        assert_eq!((stored(rising), stored(steady)), ((1000, 0), (1000, 0)));
    }

    #[test]
    fn which_packets_are_marked_follows_from_the_seed() {
        let random = |seed| {
            let mut tables = tables();
            let config = *tables.settings();
            tables.configure(config, &[], seed);
            tables.state().random.load()
        };
        assert_ne!(random(2), random(4));
        assert_eq!(random(2), random(2));
        assert_ne!(random(0), 0, "xorshift never leaves it");
    }

    /// Nothing but `cell` is off balance.
    fn imbalance_of(cell: impl FnOnce(&SwitchTables)) -> Vec<String> {
        let tables = tables();
        assert_eq!(tables.imbalances(), [""; 0]);
        cell(&tables);
        tables.imbalances()
    }

    #[test]
    fn what_a_drained_switch_still_holds_is_named() {
        fn queue(tables: &SwitchTables) -> &IngressQueue {
            &tables.ingress_queues[ingress_index(1, CLASS) as usize]
        }
        type Upset = fn(&SwitchTables);
        let rows: [(Upset, &str); 15] = [
            (|it| it.state().private_bytes.store(7), "the private pools' total is 7"),
            (|it| it.state().shared_bytes.store(7), "the shared pool's total is 7"),
            (|it| it.state().headroom_bytes.store(7), "the headroom pools' total is 7"),
            (|it| it.ports[1].shared_bytes.store(7), "port 1 shared is 7"),
            (|it| it.ports[1].insurance_bytes.store(7), "port 1 insurance is 7"),
            (|it| it.ports[1].off.store(1), "port 1 OFF state is 1"),
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
            (
                |it| it.egress_queues[egress_index(0, 7) as usize].bytes.store(7),
                "egress queue (port 0, queue 7) is 7",
            ),
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
