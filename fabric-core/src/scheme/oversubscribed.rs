//! PFC with oversubscribed headroom: the queues share one pool of headroom, which is smaller than
//! the sum of their headroom limits (DSH, Section III-C).

use super::pfc::Pfc;
pub use super::pfc::Settings;
use super::{Announces, Arriving, Ingress, Leaving, Scheme, Watched};
use crate::drop_reason::DropReason;
use crate::hop_control::Order;
use crate::map_abi::Pool;
use crate::tables::Tables;

/// [`Pfc`] with a headroom pool that may be full for all queues at once.
#[derive(Debug)]
pub struct Oversubscribed;

impl Scheme for Oversubscribed {
    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        let pool = Pfc::admit(packet)?;
        let Ingress { config, switch, .. } = packet.ingress;
        if matches!(pool, Pool::Headroom)
            && switch.headroom_bytes.load() + packet.length > config.headroom_pool_bytes
        {
            return Err(DropReason::HeadroomPoolExhausted);
        }
        Ok(pool)
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        Pfc::after_arrival(packet, pool, send);
    }

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        Pfc::after_departure(packet, send);
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        Pfc::resume(at)
    }
}

impl Announces for Oversubscribed {}

impl Watched for Oversubscribed {}
