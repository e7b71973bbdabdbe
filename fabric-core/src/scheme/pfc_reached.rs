//! PFC whose thresholds count as exceeded when they are reached: the buffer of HPCC's ns-3 simulator (`SwitchMmu`).
//!
//! | | [`Pfc`] with private buffers filled to the byte | here |
//! | --- | --- | --- |
//! | PAUSE | above `X_off` | at `X_off`, also if that is zero |
//! | no room | the packet fits neither pool nor headroom | it does not fit headroom, and all of it not below `X_off` |
//! | a refused packet | may pause its queue | changes nothing |
//!
//! RESUME is as in [`Pfc`]: at or below `X_on`, and with an empty shared pool at the latest.

use super::pfc::{Pfc, pause_if};
use super::{Announces, Arriving, Configure, Ingress, Leaving, Scheme, Watched};
use crate::admission::beyond_private;
use crate::drop_reason::DropReason;
use crate::hop_control::Order;
use crate::map_abi::Pool;
use crate::tables::Tables;

/// Settings of the scheme: an empty set, because buffer and thresholds are the switch's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings;

impl Configure for Settings {}

/// See the module.
#[derive(Debug)]
pub struct PfcReached;

impl Scheme for PfcReached {
    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        let Ingress { port, queue, .. } = packet.ingress;
        let threshold = Self::threshold(&packet.ingress);
        let shared = queue.shared_bytes.load();
        let fits_headroom =
            queue.headroom_bytes.load() + packet.length <= port.headroom_bytes.load();
        if !fits_headroom && shared + packet.length > threshold {
            return Err(DropReason::HeadroomExhausted);
        }
        let rest = beyond_private(packet);
        if rest == 0 {
            return Ok(Pool::Private);
        }
        if shared + rest > threshold { Ok(Pool::Headroom) } else { Ok(Pool::PrivateAndShared) }
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        _pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let Ingress { queue, .. } = packet.ingress;
        let xoff = Self::threshold(&packet.ingress);
        let is_due = queue.headroom_bytes.load() > 0 || queue.shared_bytes.load() >= xoff;
        pause_if(&packet.ingress, is_due, xoff, send);
    }

    #[inline(always)]
    fn refused<T: Tables>(_packet: &Arriving<'_, T>, _send: &mut impl FnMut(&Order)) {}

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        Pfc::after_departure(packet, send);
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        Pfc::resume(at)
    }
}

impl Announces for PfcReached {}

impl Watched for PfcReached {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::charge;
    use crate::admission::tests::{arriving, idle};
    use crate::map_abi::SwitchConfig;
    use crate::policy::SchemeKind;
    use crate::scheme::Selected;
    use crate::tables::owned::OwnedTables;

    /// A queue with a reserve of 4096 B, an `X_off` of 10,000 B and a headroom of 3000 B.
    fn switch(held: [u64; 3]) -> OwnedTables {
        let config = SwitchConfig {
            shared_pool_bytes: 1_000_000,
            private_bytes: 4096,
            splits_packets: 1,
            ..SwitchConfig::default()
        };
        let tables = idle(config, 10_000);
        let packet = arriving(&tables, SchemeKind::PfcReached, 0, 1048);
        let at = packet.ingress;
        at.port.headroom_bytes.store(3000);
        let cells = [&at.queue.private_bytes, &at.queue.shared_bytes, &at.queue.headroom_bytes];
        cells.iter().zip(held).for_each(|(cell, bytes)| cell.store(bytes));
        tables
    }

    #[test]
    fn a_packet_is_refused_if_it_fits_neither_headroom_nor_below_the_threshold() {
        let exhausted = Err(DropReason::HeadroomExhausted);
        for (held, expected) in [
            ([0, 0, 0], Ok(Pool::Private)),
            ([3048, 0, 0], Ok(Pool::Private)),
            ([3049, 0, 0], Ok(Pool::PrivateAndShared)),
            ([4096, 8952, 0], Ok(Pool::PrivateAndShared)),
            ([4096, 8953, 0], Ok(Pool::Headroom)),
            ([4096, 9000, 1952], Ok(Pool::Headroom)),
            ([4096, 9000, 1953], exhausted),
            ([4096, 8952, 1953], Ok(Pool::PrivateAndShared)),
        ] {
            let tables = switch(held);
            let packet = arriving(&tables, SchemeKind::PfcReached, 0, 1048);
            assert_eq!(Selected::admit(&packet), expected, "{held:?}");
        }
    }

    #[test]
    fn a_packet_above_the_threshold_needs_headroom_even_if_the_reserve_has_room() {
        let tables = switch([0, 0, 2500]);
        let long = arriving(&tables, SchemeKind::PfcReached, 0, 10_001);
        assert_eq!(Selected::admit(&long), Err(DropReason::HeadroomExhausted));
        let fits = arriving(&tables, SchemeKind::PfcReached, 0, 10_000);
        assert_eq!(Selected::admit(&fits), Ok(Pool::PrivateAndShared));
    }

    #[test]
    fn a_queue_pauses_at_the_threshold_and_resumes_below_it() {
        for (shared, headroom, pauses) in [(9999, 0, false), (10_000, 0, true), (0, 1, true)] {
            let tables = switch([4096, shared, headroom]);
            let packet = arriving(&tables, SchemeKind::PfcReached, 0, 1048);
            let mut orders = Vec::new();
            Selected::after_arrival(&packet, Pool::Shared, &mut |order| orders.push(*order));
            assert_eq!(orders.iter().filter(|order| !order.resumes).count(), usize::from(pauses));
            packet.ingress.queue.headroom_bytes.store(0);
            packet.ingress.queue.shared_bytes.store(0);
            assert_eq!(Selected::resume(&packet.ingress).is_some(), pauses);
        }
    }

    #[test]
    fn a_refused_packet_pauses_nobody() {
        let tables = switch([4096, 10_000, 3000]);
        let packet = arriving(&tables, SchemeKind::PfcReached, 0, 1048);
        Selected::refused(&packet, &mut |order| panic!("{order:?}"));
        assert_eq!(charge(&packet.ingress, Pool::Headroom, 1048), 1048);
    }
}
