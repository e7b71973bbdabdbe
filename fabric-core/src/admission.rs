//! Admission: the pool that takes an arriving packet, and the pools' counters.

use crate::cell::Cell64;
use crate::map_abi::Pool;
use crate::scheme::{Arriving, Ingress};
use crate::tables::Tables;
use crate::threshold::shared_free;

/// True if the queue's private buffer has room for the packet (DSH, Algorithm 1, line 1).
#[inline(always)]
pub fn fits_private<T>(packet: &Arriving<'_, T>) -> bool {
    let Ingress { config, queue, .. } = packet.ingress;
    queue.private_bytes.load() + packet.length < config.private_bytes
}

/// True if the shared pool has room for the packet. `threshold` is T(t) of the packet's queue. Static thresholds and
/// alpha > 1 may add up to more than the pool, so the pool's free bytes limit the packet too.
#[inline(always)]
pub fn fits_shared<T>(packet: &Arriving<'_, T>, threshold: u64) -> bool {
    let Ingress { config, switch, queue, .. } = packet.ingress;
    queue.shared_bytes.load() + packet.length < threshold
        && packet.length <= shared_free(config, switch)
}

/// Bytes of the packet beyond the free bytes of the queue's private buffer, where packets may be split between pools.
#[inline(always)]
pub fn beyond_private<T>(packet: &Arriving<'_, T>) -> u64 {
    let Ingress { config, queue, .. } = packet.ingress;
    (queue.private_bytes.load() + packet.length).saturating_sub(config.private_bytes)
}

/// True if the queue's own headroom has room for the packet.
#[inline(always)]
pub fn fits_headroom<T>(packet: &Arriving<'_, T>) -> bool {
    let Ingress { port, queue, .. } = packet.ingress;
    queue.headroom_bytes.load() + packet.length < port.headroom_bytes.load()
}

/// Counts an admitted packet in `pool`. Returns its bytes there, without any part split off to the private pool.
#[inline(always)]
pub fn charge<T: Tables>(at: &Ingress<'_, T>, pool: Pool, length: u64) -> u64 {
    let Ingress { switch, .. } = *at;
    let bytes = match pool {
        Pool::PrivateAndShared => length - fill_private(at, length),
        Pool::Private | Pool::Shared | Pool::Headroom => length,
    };
    let (of_queue, of_switch) = cells(at, pool);
    of_queue.add::<T>(bytes);
    let held = of_switch.add::<T>(bytes);
    if matches!(pool, Pool::Headroom) {
        switch.headroom_max_bytes.raise_to::<T>(held);
    }
    switch.buffer_max_bytes.raise_to::<T>(switch.buffered_bytes());
    bytes
}

/// Counts as much of a packet in the private pool as fits, and returns that number of bytes.
#[inline(always)]
fn fill_private<T: Tables>(at: &Ingress<'_, T>, length: u64) -> u64 {
    let Ingress { config, switch, queue, .. } = *at;
    let room = config.private_bytes.saturating_sub(queue.private_bytes.load());
    let bytes = room.min(length);
    queue.private_bytes.add::<T>(bytes);
    switch.private_bytes.add::<T>(bytes);
    bytes
}

/// Bytes that a departed packet returns to headroom and to the shared pool; the rest returns to the private pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Bytes of headroom.
    pub headroom: u64,
    /// Bytes of the shared pool.
    pub shared: u64,
}

/// Returns a departing packet's bytes to the pools: to headroom first, then to the shared pool, then to the private
/// pool, as switching chips and the HPCC simulator do. The pools of a queue are counters, not places. If each packet
/// returned its bytes to the pool that it was charged to, headroom would stay in use until the last packets of the
/// queue left. The PAUSE would last as long (DSH, Fig. 3: OFF ends only when headroom is empty), however far the queue
/// had fallen below `X_on`.
#[inline(always)]
pub fn release<T: Tables>(at: &Ingress<'_, T>, length: u64) -> Released {
    let Ingress { queue, .. } = *at;
    let headroom = queue.headroom_bytes.load().min(length);
    let rest = length - headroom;
    let shared = queue.shared_bytes.load().min(rest);
    let private = rest - shared;
    for (bytes, pool) in
        [(headroom, Pool::Headroom), (shared, Pool::Shared), (private, Pool::Private)]
    {
        // Most often two of the three are zero, and the processor cannot predict which.
        let (of_queue, of_switch) = cells(at, pool);
        of_queue.sub::<T>(bytes);
        of_switch.sub::<T>(bytes);
    }
    Released { headroom, shared }
}

#[inline(always)]
fn cells<'a, T>(at: &Ingress<'a, T>, pool: Pool) -> (&'a Cell64, &'a Cell64) {
    let Ingress { config, switch, queue, priority, .. } = *at;
    match pool {
        Pool::Private => (&queue.private_bytes, &switch.private_bytes),
        Pool::Shared | Pool::PrivateAndShared => {
            let apart = config.lossy_pool_bytes != 0 && !config.is_lossless(priority);
            let of_switch = if apart { &switch.lossy_bytes } else { &switch.shared_bytes };
            (&queue.shared_bytes, of_switch)
        }
        Pool::Headroom => (&queue.headroom_bytes, &switch.headroom_bytes),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::drop_reason::DropReason;
    use crate::frame::Ipv4Fields;
    use crate::map_abi::SwitchConfig;
    use crate::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
    use crate::priority::Priority;
    use crate::queue::QueueId;
    use crate::scheme::pfc::Pfc;
    use crate::scheme::{Leaving, PortUse, Scheme, Selected, Watched};
    use crate::tables::owned::OwnedTables;
    use crate::wire::RemainingSize;
    use units::Nanos;

    pub(crate) const PORT: u32 = 1;
    pub(crate) const CLASS: u8 = 3;
    const FIELDS: Ipv4Fields = Ipv4Fields {
        mac: 0,
        upstream: QueueId::CONTROL,
        source: 0,
        destination: 0,
        ports: 0,
        protocol: 0,
        type_of_service: CLASS << 5,
        remaining: RemainingSize::UNKNOWN,
        ttl: 64,
        checksum: 0,
    };

    /// A switch with an empty buffer and a constant X_off.
    pub(crate) fn idle(config: SwitchConfig, threshold: u64) -> OwnedTables {
        OwnedTables::new(SwitchConfig { static_xoff_bytes: threshold, ..config }, 0)
    }

    /// A packet of `length` bytes from port 1 to port 0.
    pub(crate) fn arriving(
        tables: &OwnedTables,
        kind: SchemeKind,
        options: u32,
        length: u64,
    ) -> Arriving<'_, OwnedTables> {
        let policy =
            Policy::new(ThresholdScheme::Static, MarkingScheme::Off).with_scheme(kind, options);
        let ingress = Ingress::new(tables, policy, PORT, Priority::new(CLASS)).unwrap();
        Arriving {
            ingress,
            egress_port: 0,
            queue: QueueId::data(CLASS),
            egress: tables.egress(0, CLASS),
            fields: &FIELDS,
            length,
            now: Nanos(0),
        }
    }

    struct Row {
        private: u64,
        shared: u64,
        headroom: u64,
        expected: Result<Pool, DropReason>,
    }

    /// Algorithm 1 with rho = 3000, T = 10,000, Phi = 5000 and a packet of 1000 bytes; every comparison
    /// is strict, as in the paper.
    #[test]
    fn algorithm_1_line_by_line() {
        let row = |private, shared, headroom, expected| Row { private, shared, headroom, expected };
        let rows = [
            row(0, 0, 0, Ok(Pool::Private)),
            row(1999, 0, 0, Ok(Pool::Private)),
            row(2000, 0, 0, Ok(Pool::Shared)),
            row(2000, 8999, 0, Ok(Pool::Shared)),
            row(2000, 9000, 0, Ok(Pool::Headroom)),
            row(2000, 9000, 3999, Ok(Pool::Headroom)),
            row(2000, 9000, 4000, Err(DropReason::HeadroomExhausted)),
            row(1000, 9000, 4000, Ok(Pool::Private)),
        ];
        let config = SwitchConfig {
            shared_pool_bytes: 1_000_000,
            private_bytes: 3000,
            ..SwitchConfig::default()
        };
        for (index, row) in rows.iter().enumerate() {
            let tables = idle(config, 10_000);
            let packet = arriving(&tables, SchemeKind::Pfc, 0, 1000);
            let at = packet.ingress;
            at.port.headroom_bytes.store(5000);
            at.queue.private_bytes.store(row.private);
            at.queue.shared_bytes.store(row.shared);
            at.queue.headroom_bytes.store(row.headroom);
            let got = Pfc::admit(&packet);
            assert_eq!(got, row.expected, "row {index}");
        }
    }

    #[test]
    fn a_full_pool_overrules_a_static_threshold() {
        let config = SwitchConfig { shared_pool_bytes: 1500, ..SwitchConfig::default() };
        let tables = idle(config, 10_000);
        tables.switch.shared_bytes.store(600);
        tables.ports[PORT as usize].headroom_bytes.store(5000);
        let packet = arriving(&tables, SchemeKind::Pfc, 0, 1000);
        assert_eq!(Pfc::admit(&packet), Ok(Pool::Headroom));
    }

    #[test]
    fn oversubscribed_headroom_ends_with_its_pool() {
        let config = SwitchConfig { headroom_pool_bytes: 7000, ..SwitchConfig::default() };
        let tables = idle(config, 0);
        let packet = arriving(&tables, SchemeKind::Oversubscribed, 0, 1000);
        let at = packet.ingress;
        at.port.headroom_bytes.store(5000);
        // (headroom of the queue, headroom of the whole switch, outcome) for 1000 bytes.
        let rows = [
            (3999, 3999, Ok(Pool::Headroom)),
            (0, 6000, Ok(Pool::Headroom)),
            (0, 6001, Err(DropReason::HeadroomPoolExhausted)),
            (4000, 4000, Err(DropReason::HeadroomExhausted)),
        ];
        for (of_queue, of_all, expected) in rows {
            at.queue.headroom_bytes.store(of_queue);
            at.switch.headroom_bytes.store(of_all);
            assert_eq!(Selected::admit(&packet), expected, "{of_queue} of {of_all}");
        }
    }

    #[test]
    fn headroom_is_given_back_first_and_private_last() {
        let tables = idle(SwitchConfig::default(), 0);
        let at = arriving(&tables, SchemeKind::Pfc, 0, 700).ingress;
        for pool in [Pool::Private, Pool::Shared, Pool::Headroom] {
            charge(&at, pool, 700);
        }
        let Ingress { switch, queue: ingress, .. } = at;
        assert_eq!(switch.buffer_max_bytes.load(), 2100);
        assert_eq!(switch.headroom_max_bytes.load(), 700);
        let held = || {
            let of_queue = [&ingress.headroom_bytes, &ingress.shared_bytes, &ingress.private_bytes];
            let of_switch = [&switch.headroom_bytes, &switch.shared_bytes, &switch.private_bytes];
            let held = of_queue.map(Cell64::load);
            assert_eq!(held, of_switch.map(Cell64::load));
            held
        };
        let steps =
            [(600, [100, 700, 700]), (600, [0, 200, 700]), (600, [0, 0, 300]), (300, [0, 0, 0])];
        for (length, expected) in steps {
            let before = held();
            let Released { headroom, shared } = release(&at, length);
            assert_eq!(held(), expected);
            assert_eq!([headroom, shared], [0, 1].map(|pool| before[pool] - expected[pool]));
        }
    }

    /// Each scheme has its own limit, and only DSH counts the bytes that a port holds.
    #[test]
    fn the_policy_says_which_pools_there_are() {
        for (kind, outcome, books) in [
            (SchemeKind::Pfc, Ok(Pool::Headroom), [0, 0]),
            (SchemeKind::Oversubscribed, Err(DropReason::HeadroomPoolExhausted), [0, 0]),
            (SchemeKind::Dsh, Err(DropReason::InsuranceExhausted), [300, 50]),
        ] {
            let tables = idle(SwitchConfig::default(), 0);
            let packet = arriving(&tables, kind, 0, 1000);
            let at = packet.ingress;
            at.port.headroom_bytes.store(2000);
            let insurance = |bytes| {
                crate::scheme::dsh::state::port(&at).unwrap().insurance_bytes.store(bytes);
            };
            insurance(1500);
            assert_eq!(Selected::admit(&packet), outcome, "{kind:?}");

            insurance(0);
            Selected::charge(&packet, Pool::Headroom, 700);
            Selected::charge(&packet, Pool::Shared, 150);
            let leaving = Leaving {
                ingress: at,
                egress_port: 0,
                queue: QueueId::data(CLASS),
                egress: tables.egress(0, CLASS),
                length: 500,
                arrived: Nanos(0),
                now: Nanos(0),
                note: 0,
                first_rtt: false,
            };
            Selected::release(&leaving, Released { headroom: 400, shared: 100 });
            let PortUse { headroom_bytes, shared_bytes, .. } =
                Selected::port_use(&tables, at.policy, PORT);
            assert_eq!([headroom_bytes, shared_bytes], books, "{kind:?}");
        }
    }
}
