//! DSH's choice of a packet's pool, and the counters of a port.

use super::settings::Options;
use super::state;
use super::two_level::port_xoff;
use crate::admission::{beyond_private, fits_private};
use crate::drop_reason::DropReason;
use crate::map_abi::Pool;
use crate::priority;
use crate::scheme::{Arriving, Ingress, Released, Scheme};
use crate::tables::Tables;
use crate::threshold::shared_free;

/// Chooses private, shared up to the port's share, or the port's insurance. `threshold` is the queue's T(t).
///
/// The shared pool is bounded for the port, not for the queue: a congested queue may use the share
/// of the port's other queues (Section IV-E). Without shared headroom the shared pool is only
/// footroom, and packets that arrive after the queue's PAUSE go to insurance headroom.
#[inline(always)]
pub fn admit<T: Tables>(packet: &Arriving<'_, T>, threshold: u64) -> Result<Pool, DropReason> {
    let Arriving { ingress, length, .. } = packet;
    let Ingress { config, switch, port, .. } = *ingress;
    if fits_private(packet) {
        return Ok(Pool::Private);
    }
    let (rest, pool) = match config.splits_packets {
        0 => (*length, Pool::Shared),
        _ => (beyond_private(packet), Pool::PrivateAndShared),
    };
    if rest == 0 {
        return Ok(Pool::Private);
    }
    let line = state::port(ingress).ok_or(DropReason::BrokenTable)?;
    if has_share(ingress)
        && line.shared_bytes.load() + rest <= port_xoff(config, threshold)
        && rest <= shared_free(config, switch)
    {
        return Ok(pool);
    }
    if line.insurance_bytes.load() + length < port.headroom_bytes.load() {
        return Ok(Pool::Headroom);
    }
    Err(DropReason::InsuranceExhausted)
}

/// Counts `bytes` of an admitted packet in the counters of its port, unless the private pool holds them.
#[inline(always)]
pub fn charge<T: Tables>(at: &Ingress<'_, T>, pool: Pool, bytes: u64) {
    let Some(line) = state::port(at) else { return };
    match pool {
        Pool::Private => {}
        Pool::Shared | Pool::PrivateAndShared => {
            line.shared_bytes.add::<T>(bytes);
        }
        Pool::Headroom => {
            line.insurance_bytes.add::<T>(bytes);
        }
    }
}

/// Subtracts the bytes that a departing packet returns from the port's counters.
#[inline(always)]
pub fn release<T: Tables>(at: &Ingress<'_, T>, given_back: Released) {
    if let Some(line) = state::port(at) {
        line.insurance_bytes.sub::<T>(given_back.headroom);
        line.shared_bytes.sub::<T>(given_back.shared);
    }
}

/// True if a queue may use its port's share of the shared pool: without shared headroom, only while it is ON.
#[inline(always)]
pub(super) fn has_share<T>(at: &Ingress<'_, T>) -> bool {
    Options::from_bits(at.policy.options).shared_headroom || at.queue.off.load() == 0
}

/// Moves bytes from insurance headroom to the shared pool as far as the port's share has room.
///
/// A departing packet returns its own queue's insurance headroom first. But insurance belongs to the port: a blocked
/// queue would keep insurance in use and the whole port OFF while the port's other queues drain. Pools are counters,
/// not places, so bytes of any queue can move when the port's share has room.
pub fn settle<T: Tables>(at: &Ingress<'_, T>) {
    let Ingress { config, switch, .. } = *at;
    let Some(port) = state::port(at) else { return };
    if port.insurance_bytes.load() == 0 {
        return;
    }
    let share =
        port_xoff(config, super::Dsh::threshold(at)).saturating_sub(port.shared_bytes.load());
    let mut room = share.min(shared_free(config, switch));
    for queue in priority::all().filter_map(|priority| at.sibling(priority)) {
        if !has_share(&queue) {
            continue;
        }
        let queue = queue.queue;
        let moved = queue.headroom_bytes.load().min(room);
        if moved != 0 {
            queue.headroom_bytes.sub::<T>(moved);
            queue.shared_bytes.add::<T>(moved);
            port.insurance_bytes.sub::<T>(moved);
            port.shared_bytes.add::<T>(moved);
            switch.headroom_bytes.sub::<T>(moved);
            switch.shared_bytes.add::<T>(moved);
            room -= moved;
        }
    }
}

/// True if [`settle`] cannot empty the port's insurance headroom, whatever room there is, before a
/// packet of one of its queues departs.
pub fn keeps_insurance<T: Tables>(at: &Ingress<'_, T>) -> bool {
    let keeps =
        |queue: Ingress<'_, T>| queue.queue.headroom_bytes.load() != 0 && !has_share(&queue);
    priority::all().filter_map(|priority| at.sibling(priority)).any(keeps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::{arriving, idle};
    use crate::map_abi::SwitchConfig;
    use crate::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
    use crate::priority::Priority;
    use crate::scheme::dsh::Dsh;
    use crate::tables::owned::OwnedTables;

    const UNSHARED: Options = Options { shared_headroom: false, ..Options::from_bits(0) };

    /// rho = 3000, N_q = 4, T = 5000, so that X_poff = 20,000, B_s = 100,000, Phi = 6000, and
    /// packets of 1000 bytes. The queue's own bytes in the shared pool do not count.
    #[test]
    fn a_packet_goes_where_its_port_has_room() {
        let config = SwitchConfig {
            shared_pool_bytes: 100_000,
            private_bytes: 3000,
            lossless_queues: 4,
            ..SwitchConfig::default()
        };
        let insured = Ok(Pool::Headroom);
        let lost = Err(DropReason::InsuranceExhausted);
        // Private of the queue, shared of the port and of all, insurance of the port; with shared
        // headroom, and without it while the queue is OFF.
        let rows = [
            ([1999, 20_000, 0, 0], Ok(Pool::Private), Ok(Pool::Private)),
            ([2000, 19_000, 0, 0], Ok(Pool::Shared), insured),
            ([2000, 19_001, 0, 0], insured, insured),
            ([2000, 0, 99_000, 0], Ok(Pool::Shared), insured),
            ([2000, 0, 99_001, 0], insured, insured),
            ([2000, 20_000, 0, 4999], insured, insured),
            ([2000, 20_000, 0, 5000], lost, lost),
            ([2000, 19_000, 0, 5000], Ok(Pool::Shared), lost),
            ([1999, 20_000, 0, 5000], Ok(Pool::Private), Ok(Pool::Private)),
        ];
        for ([private, of_port, of_all, insurance], expected, unshared) in rows {
            let tables = idle(config, 5000);
            let packet = arriving(&tables, SchemeKind::Dsh, 0, 1000);
            let alone = arriving(&tables, SchemeKind::Dsh, UNSHARED.to_bits(), 1000);
            let at = packet.ingress;
            let line = state::port(&at).unwrap();
            at.queue.private_bytes.store(private);
            at.queue.shared_bytes.store(of_port);
            line.shared_bytes.store(of_port);
            at.switch.shared_bytes.store(of_all);
            line.insurance_bytes.store(insurance);
            at.port.headroom_bytes.store(6000);
            assert_eq!(Dsh::admit(&packet), expected, "{private} {of_port} {insurance}");
            at.queue.off.store(1);
            assert_eq!(Dsh::admit(&packet), expected, "{private} {of_port} {insurance}, OFF");
            assert_eq!(Dsh::admit(&alone), unshared, "OFF without shared headroom");
            at.queue.off.store(0);
            assert_eq!(Dsh::admit(&alone), expected, "ON without shared headroom");
            at.port.headroom_bytes.store(0);
            if expected == Ok(Pool::Headroom) {
                assert_eq!(Dsh::admit(&packet), lost, "without insurance");
            }
        }
    }

    /// rho = 3000, X_poff = 5000, B_s = 100,000, Phi = 6000, and a packet of 1000 bytes with
    /// private buffers filled to the byte. The part beyond the queue's private buffer counts in its
    /// port's share, and insurance takes the packet whole.
    #[test]
    fn a_port_counts_the_part_of_a_split_packet_that_is_shared() {
        let config = SwitchConfig {
            shared_pool_bytes: 100_000,
            private_bytes: 3000,
            lossless_queues: 1,
            splits_packets: 1,
            ..SwitchConfig::default()
        };
        // Private of the queue and shared of its port before; bytes of the packet in the queue's three pools.
        for (private, of_port, expected) in [
            (2000, 5000, [1000, 0, 0]),
            (2400, 4600, [600, 400, 0]),
            (3000, 4000, [0, 1000, 0]),
            (2400, 4601, [0, 0, 1000]),
        ] {
            let tables = idle(config, 5000);
            let packet = arriving(&tables, SchemeKind::Dsh, 0, 1000);
            let at = packet.ingress;
            let line = state::port(&at).unwrap();
            at.port.headroom_bytes.store(6000);
            at.queue.private_bytes.store(private);
            line.shared_bytes.store(of_port);
            let pool = Dsh::admit(&packet).unwrap();
            let bytes = crate::admission::charge(&at, pool, 1000);
            Dsh::charge(&packet, pool, bytes);
            let of_queue = [
                at.queue.private_bytes.load() - private,
                at.queue.shared_bytes.load(),
                at.queue.headroom_bytes.load(),
            ];
            assert_eq!(of_queue, expected, "{private} and {of_port} bytes are held");
            let of_line = [line.shared_bytes.load() - of_port, line.insurance_bytes.load()];
            assert_eq!(of_line, expected[1..], "{private} and {of_port} bytes are held");
        }
    }

    /// Insurance left in queues 2 and 5, which start with `insured` bytes there. N_q T is 40,000
    /// and the shared pool 50,000 bytes, of which the port holds `of_port` and the switch `of_all`.
    fn settled(insured: [u64; 2], of_port: u64, of_all: u64) -> [u64; 2] {
        let config = SwitchConfig {
            shared_pool_bytes: 50_000,
            static_xoff_bytes: 20_000,
            lossless_queues: 2,
            ..SwitchConfig::default()
        };
        let tables = OwnedTables::new(config, 60_000);
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off)
            .with_scheme(SchemeKind::Dsh, 0);
        let at = Ingress::new(&tables, policy, 1, Priority::new(2)).unwrap();
        let (port, queues) = (state::port(&at).unwrap(), [tables.queue(1, 2), tables.queue(1, 5)]);
        for (queue, bytes) in queues.iter().zip(insured) {
            queue.headroom_bytes.store(bytes);
            port.insurance_bytes.add::<OwnedTables>(bytes);
            tables.switch.headroom_bytes.add::<OwnedTables>(bytes);
        }
        port.shared_bytes.store(of_port);
        tables.switch.shared_bytes.store(of_all);
        settle(&at);

        let left = queues.map(|queue| queue.headroom_bytes.load());
        let moved = insured.iter().sum::<u64>() - left.iter().sum::<u64>();
        assert_eq!(
            queues.map(|queue| queue.shared_bytes.load()),
            [0, 1].map(|n| insured[n] - left[n])
        );
        assert_eq!(port.insurance_bytes.load(), left.iter().sum::<u64>());
        assert_eq!(tables.switch.headroom_bytes.load(), left.iter().sum::<u64>());
        assert_eq!(port.shared_bytes.load(), of_port + moved);
        assert_eq!(tables.switch.shared_bytes.load(), of_all + moved);
        left
    }

    #[test]
    fn insurance_is_emptied_as_far_as_the_ports_share_and_the_pool_have_room() {
        assert_eq!(settled([3000, 0], 10_000, 20_000), [0, 0]);
        assert_eq!(settled([3000, 0], 38_000, 40_000), [1000, 0], "2000 below N_q T");
        assert_eq!(
            settled([3000, 0], 10_000, 49_000),
            [2000, 0],
            "1000 bytes of the pool are free"
        );
        assert_eq!(settled([3000, 0], 10_000, 60_000), [3000, 0], "none is");
        assert_eq!(settled([1000, 1000], 38_500, 40_000), [0, 500], "room for one and a half");
    }
}
