//! Dispatch to the scheme that the policy selects.

use super::watched::{FlowPauses, FlowRow, HeldFlows, Watched};
use super::{
    Announces, Arriving, Configure, FlowUse, Ingress, IngressState, Leaving, PortUse, Released,
    Room, Scheme, Stays, Verdict,
};
use crate::arrival::Outcome;
use crate::departure::Departure;
use crate::drop_reason::DropReason;
use crate::frame::{Frame, Ipv4Fields};
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::map_abi::{Descriptor, Pool};
use crate::policy::{Policy, SchemeKind, dispatch};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueSet};
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes, Nanos};

/// Evaluates `$body` with `$scheme` as the type of the scheme that `$policy` selects.
macro_rules! select {
    ($policy:expr, $scheme:ident => $body:expr) => {
        schemes!(dispatch SchemeKind, $policy.scheme(), $scheme => $body)
    };
}

/// Declares the settings of the schemes.
macro_rules! settings {
    ([$($number:literal = $module:ident::$kind:ident,)+]) => {
        /// Settings of a switch's scheme.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SchemeSettings {
            $(
                #[doc = concat!("[`", stringify!($module), "`](super::", stringify!($module), ").")]
                $kind(super::$module::Settings),
            )+
        }

        impl SchemeSettings {
            const fn kind(&self) -> SchemeKind {
                match self {
                    $(Self::$kind(_) => SchemeKind::$kind,)+
                }
            }
        }

        impl Configure for SchemeSettings {
            fn every() -> impl Iterator<Item = Self> {
                core::iter::empty()$(.chain(super::$module::Settings::every().map(Self::$kind)))+
            }

            fn option_bits(&self) -> u32 {
                match self {
                    $(Self::$kind(settings) => settings.option_bits(),)+
                }
            }

            fn write<T: Tables>(
                &self,
                tables: &T,
                ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
            ) {
                match self {
                    $(Self::$kind(settings) => settings.write(tables, ports),)+
                }
            }

            fn elide<T: Tables>(&self, tables: &T, turns: impl IntoIterator<Item = (u32, u32)>) {
                match self {
                    $(Self::$kind(settings) => settings.elide(tables, turns),)+
                }
            }
        }
    };
}

schemes!(settings);

impl Default for SchemeSettings {
    fn default() -> Self {
        Self::Pfc(super::pfc::Settings)
    }
}

impl SchemeSettings {
    /// Returns `policy` with this scheme.
    pub fn select(&self, policy: Policy) -> Policy {
        policy.with_scheme(self.kind(), self.option_bits())
    }
}

/// Forwards a method to the scheme that a policy selects.
macro_rules! forward {
    ($policy:expr => $(#[$attribute:meta])* fn $name:ident $(<$tables:ident>)?
        ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?) => {
        $(#[$attribute])*
        fn $name $(<$tables: Tables>)? ($($argument: $type),*) $(-> $result)? {
            select!($policy, S => S::$name($($argument),*))
        }
    };
}

/// The scheme that the policy of the ingress queue selects.
#[derive(Debug)]
pub struct Selected;

// A method that is missing here would run the default for every scheme.
#[deny(clippy::missing_trait_methods)]
impl Scheme for Selected {
    // One jump per frame.
    #[inline(always)]
    fn arrive_to<F: Frame, T: Tables>(
        frame: &mut F,
        tables: &T,
        policy: &Policy,
        at: (u32, Nanos),
        send: &mut impl FnMut(&Order),
        outcome: &mut Outcome,
    ) {
        select!(policy, S => S::arrive_to(frame, tables, policy, at, send, outcome));
    }

    forward!(policy => #[inline(always)] fn depart<T>(
        tables: &T, policy: &Policy, slot: u32, now: Nanos, send: &mut impl FnMut(&Order)
    ) -> Option<Departure>);
    forward!(policy => fn discard<T>(
        tables: &T,
        policy: Policy,
        slot: u32,
        now: Nanos,
        reason: DropReason,
        send: &mut impl FnMut(&Order),
    ) -> Option<Departure>);
    forward!(at.policy => #[inline(always)] fn threshold<T>(at: &Ingress<'_, T>) -> u64);
    forward!(at.policy => #[inline(always)] fn margin<T>(at: &Ingress<'_, T>) -> u64);
    forward!(at.policy => #[inline(always)] fn queue<T>(
        at: &Ingress<'_, T>, egress_port: u32, now: Nanos, fields: &Ipv4Fields
    ) -> QueueId);
    forward!(packet.ingress.policy => #[inline(always)] fn admit<T>(
        packet: &Arriving<'_, T>
    ) -> Result<Pool, DropReason>);
    forward!(packet.ingress.policy => #[inline(always)] fn charge<T>(
        packet: &Arriving<'_, T>, pool: Pool, bytes: u64
    ));
    forward!(packet.ingress.policy => #[inline(always)] fn release<T>(
        packet: &Leaving<'_, T>, given_back: Released
    ));
    forward!(packet.ingress.policy => #[inline(always)] fn after_arrival<T>(
        packet: &Arriving<'_, T>, pool: Pool, send: &mut impl FnMut(&Order)
    ));
    forward!(packet.ingress.policy => #[inline(always)] fn refused<T>(
        packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)
    ));
    forward!(at.policy => #[inline(always)] fn note_refusal<T>(at: &Ingress<'_, T>));
    forward!(policy => #[inline(always)] fn named_queue(policy: Policy, queue: QueueId) -> u64);
    forward!(packet.ingress.policy => #[inline(always)] fn enqueued<T>(
        packet: &Arriving<'_, T>, descriptor: &Descriptor, send: &mut impl FnMut(&Order)
    ));
    forward!(packet.ingress.policy => #[inline(always)] fn dequeued<T>(
        packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)
    ));
    forward!(packet.ingress.policy => #[inline(always)] fn at_departure<T>(
        packet: &Leaving<'_, T>
    ) -> Verdict);
    forward!(packet.ingress.policy => #[inline(always)] fn requeued<T>(
        packet: &Leaving<'_, T>, descriptor: &Descriptor
    ));
    forward!(packet.ingress.policy => #[inline(always)] fn after_departure<T>(
        packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)
    ));
    forward!(at.policy => #[inline(always)] fn resume<T>(at: &Ingress<'_, T>) -> Option<Order>);
    forward!(at.policy => #[inline] fn renewal<T>(
        at: &Ingress<'_, T>, level: PauseLevel, pause: u32, now: Nanos
    ) -> Option<Order>);
    forward!(at.policy => fn may_resume<T>(
        at: &Ingress<'_, T>, level: PauseLevel, computed: Policy, stays: Stays
    ) -> bool);
    forward!(at.policy => fn observe<T>(at: &Ingress<'_, T>, now: Nanos));
    forward!(policy => fn room(policy: Policy, ports: u32) -> Room);
}

#[deny(clippy::missing_trait_methods)]
impl Announces for Selected {
    forward!(policy => #[inline(always)] fn receive<T>(
        tables: &T, policy: Policy, port: u32, control: &HopControl, now: Nanos
    ) -> Result<(), DropReason>);
    forward!(policy => #[inline(always)] fn paused<T>(
        tables: &T, policy: Policy, port: u32, now: Nanos
    ) -> Option<QueueSet>);
    forward!(policy => fn reopens<T>(
        tables: &T, policy: Policy, port: u32, now: Nanos
    ) -> Option<Nanos>);
    forward!(policy => fn announce<T>(
        tables: &T, policy: Policy, port: u32, send: &mut impl FnMut(HopControl)
    ));
    forward!(policy => fn relinked<T>(tables: &T, policy: Policy, port: u32));
}

#[deny(clippy::missing_trait_methods)]
impl Watched for Selected {
    forward!(policy => fn pauses_flows(policy: Policy) -> bool);
    forward!(policy => fn queue_behind(policy: Policy, note: u32) -> Option<QueueId>);
    forward!(policy => fn held_flows<T>(
        tables: &T, policy: Policy, port: u32, priority: Priority
    ) -> HeldFlows);
    forward!(policy => fn held_flow<T>(
        tables: &T, policy: Policy, port: u32, priority: Priority, note: u32
    ) -> Option<u32>);
    forward!(policy => fn holds_flow<T>(
        tables: &T, policy: Policy, port: u32, priority: Priority, name: u32
    ) -> bool);
    forward!(at.policy => fn paused_flows<T>(at: &Ingress<'_, T>, name: &mut impl FnMut(u32)));
    forward!(policy => fn flow_pauses<T>(
        tables: &T, policy: Policy, port: u32, priority: Priority
    ) -> FlowPauses);
    forward!(policy => fn flow_rows<T>(
        tables: &T, policy: Policy, port: u32, row: &mut impl FnMut(FlowRow)
    ));
    forward!(policy => fn port_use<T>(tables: &T, policy: Policy, port: u32) -> PortUse);
    forward!(policy => fn slowest<T>(tables: &T, policy: Policy, port: u32) -> Option<u32>);
    forward!(policy => fn flow_use<T>(tables: &T, policy: Policy, port: u32) -> Option<FlowUse>);
    forward!(policy => fn states(policy: Policy) -> Option<PauseLevel>);
    forward!(policy => #[inline] fn state<T>(
        tables: &T, policy: Policy, port: u32, priority: Priority
    ) -> Option<IngressState>);
    forward!(policy => fn tick<T>(
        tables: &T, policy: Policy, port: u32, priority: Priority, now: Nanos
    ));
    forward!(policy => fn pauses_ports(policy: Policy) -> bool);
}
