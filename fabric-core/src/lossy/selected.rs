//! Dispatch to the scheme that the policy selects.

use super::{BufferManagement, Egress, OPTION_CODEL, codel};
use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::policy::{LossyKind, Policy, dispatch};
use crate::queue::QueueId;
use crate::scheme::{Arriving, Ingress, Leaving};
use crate::tables::Tables;
use units::Nanos;

/// Evaluates `$body` with `$scheme` as the type of the scheme that `$policy` selects.
macro_rules! select {
    ($policy:expr, $scheme:ident => $body:expr) => {
        managements!(dispatch LossyKind, $policy.lossy(), $scheme => $body)
    };
}

/// The scheme that the policy selects.
///
/// Schemes receive copies (`&{ *packet }`). A reference passed to a function that is not inlined
/// would force the original into memory for every packet, lossless packets too.
#[derive(Debug)]
pub struct Selected;

// A method that is missing here would run the default for every scheme.
#[deny(clippy::missing_trait_methods)]
impl BufferManagement for Selected {
    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        egress_port: u32,
        now: Nanos,
        fields: &Ipv4Fields,
        queue: QueueId,
    ) -> QueueId {
        select!(at.policy, S => S::queue(&{ *at }, egress_port, now, &{ *fields }, queue))
    }

    #[inline(always)]
    fn threshold<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<u64> {
        select!(at.policy, S => S::threshold(at, first_rtt))
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<(), DropReason> {
        select!(packet.ingress.policy, S => S::admit(&{ *packet }))
    }

    fn longest_wait<T: Tables>(at: &Egress<'_, T>, first_rtt: bool) -> Option<Nanos> {
        select!(at.policy, S => S::longest_wait(at, first_rtt))
    }

    #[inline(always)]
    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Option<DropReason> {
        let policy = packet.ingress.policy;
        let dropped = select!(policy, S => S::at_departure(&{ *packet }));
        if dropped.is_some() || policy.lossy_options & OPTION_CODEL == 0 {
            return dropped;
        }
        codel::at_departure(&{ *packet })
    }

    #[inline(always)]
    fn sent<T: Tables>(packet: &Leaving<'_, T>) {
        select!(packet.ingress.policy, S => S::sent(&{ *packet }));
    }

    fn update<T: Tables>(tables: &T, policy: Policy, now: Nanos) {
        select!(policy, S => S::update(tables, policy, now));
    }
}
