//! Dispatch to the scheme that the policy selects; the only file that knows all schemes.

use super::bfc::{self, Bfc};
use super::dsh::{self, Dsh};
use super::gfc::{self, Gfc};
use super::ofc::{self, Ofc};
use super::oversubscribed::Oversubscribed;
use super::pfc::Pfc;
use super::pfc_family::{self, PfcFamily};
use super::pfc_reached::PfcReached;
use super::spfc::{self, Spfc};
use super::watched::{FlowPauses, FlowRow, HeldFlows, Watched};
use super::{
    Announces, Arriving, FlowUse, Ingress, IngressState, Leaving, PortUse, Released, Room, Scheme,
    Stays, Verdict,
};
use crate::arrival::Outcome;
use crate::departure::Departure;
use crate::drop_reason::DropReason;
use crate::frame::{Frame, Ipv4Fields};
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::map_abi::{Descriptor, Pool};
use crate::policy::{Policy, SchemeKind};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueSet};
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes, Nanos};

/// Evaluates `$body` with `$scheme` as the type of the scheme that `$policy` selects. In eBPF the
/// policy is a constant, and the verifier removes the other arms.
macro_rules! select {
    ($policy:expr, $scheme:ident => $body:expr) => {
        match $policy.scheme() {
            SchemeKind::Pfc => {
                type $scheme = Pfc;
                $body
            }
            SchemeKind::Oversubscribed => {
                type $scheme = Oversubscribed;
                $body
            }
            SchemeKind::Dsh => {
                type $scheme = Dsh;
                $body
            }
            SchemeKind::Bfc => {
                type $scheme = Bfc;
                $body
            }
            SchemeKind::Spfc => {
                type $scheme = Spfc;
                $body
            }
            SchemeKind::PfcFamily => {
                type $scheme = PfcFamily;
                $body
            }
            SchemeKind::Gfc => {
                type $scheme = Gfc;
                $body
            }
            SchemeKind::Ofc => {
                type $scheme = Ofc;
                $body
            }
            SchemeKind::PfcReached => {
                type $scheme = PfcReached;
                $body
            }
        }
    };
}

/// Settings of a switch's scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemeSettings {
    /// [`Pfc`], without settings.
    #[default]
    Pfc,
    /// [`Oversubscribed`], without settings.
    Oversubscribed,
    /// [`Dsh`].
    Dsh(dsh::Settings),
    /// [`Bfc`].
    Bfc(bfc::Settings),
    /// [`Spfc`].
    Spfc(spfc::Settings),
    /// [`PfcFamily`].
    PfcFamily(pfc_family::Settings),
    /// [`Gfc`].
    Gfc(gfc::Settings),
    /// [`Ofc`].
    Ofc(ofc::Settings),
    /// [`PfcReached`], without settings.
    PfcReached,
}

impl SchemeSettings {
    /// Settings for each program that can be built, options included.
    pub fn every() -> impl Iterator<Item = Self> {
        let dsh =
            dsh::Options::EVERY.map(|options| dsh::Settings { options, ..Default::default() });
        let bfc =
            bfc::Options::EVERY.map(|options| bfc::Settings { options, ..Default::default() });
        let spfc =
            spfc::Options::EVERY.map(|options| spfc::Settings { options, ..Default::default() });
        let ofc =
            ofc::Options::EVERY.map(|options| ofc::Settings { options, ..Default::default() });
        let plain = [Self::Pfc, Self::Oversubscribed, Self::PfcReached].into_iter();
        let others = plain.chain(dsh.map(Self::Dsh)).chain(bfc.map(Self::Bfc));
        others
            .chain(spfc.map(Self::Spfc))
            .chain(pfc_family::Settings::EVERY.map(Self::PfcFamily))
            .chain([Self::Gfc(gfc::Settings::default())])
            .chain(ofc.map(Self::Ofc))
    }

    /// Returns `policy` with this scheme.
    pub const fn select(&self, policy: Policy) -> Policy {
        match self {
            Self::Pfc => policy.with_scheme(SchemeKind::Pfc, 0),
            Self::Oversubscribed => policy.with_scheme(SchemeKind::Oversubscribed, 0),
            Self::Dsh(dsh) => policy.with_scheme(SchemeKind::Dsh, dsh.options.to_bits()),
            Self::Bfc(bfc) => policy.with_scheme(SchemeKind::Bfc, bfc.options.to_bits()),
            Self::Spfc(spfc) => policy.with_scheme(SchemeKind::Spfc, spfc.options.to_bits()),
            Self::PfcFamily(family) => {
                policy.with_scheme(SchemeKind::PfcFamily, family.options().to_bits())
            }
            Self::Gfc(_) => policy.with_scheme(SchemeKind::Gfc, 0),
            Self::Ofc(ofc) => policy.with_scheme(SchemeKind::Ofc, ofc.options.to_bits()),
            Self::PfcReached => policy.with_scheme(SchemeKind::PfcReached, 0),
        }
    }

    /// Writes the settings into a switch's tables. Each port has its rate, and the headroom needed
    /// by a queue that grows at that rate (Phi in DSH, Eq. 1).
    pub fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        match self {
            Self::Pfc | Self::Oversubscribed | Self::PfcReached => {}
            Self::Dsh(dsh) => dsh.write(tables, ports),
            Self::Bfc(bfc) => bfc.write(tables, ports),
            Self::Spfc(spfc) => spfc.write(tables, ports),
            Self::PfcFamily(family) => family.write(tables),
            Self::Gfc(gfc) => gfc.write(tables, ports),
            Self::Ofc(ofc) => ofc.write(tables, ports),
        }
    }

    /// Writes the turns of the switch, as (ingress, egress) ports, that pause no queue of a
    /// neighbour. Call [`write`](Self::write) first. Only [`Bfc`] has such turns.
    pub fn elide<T: Tables>(&self, tables: &T, turns: impl IntoIterator<Item = (u32, u32)>) {
        match self {
            Self::Pfc
            | Self::Oversubscribed
            | Self::PfcReached
            | Self::Dsh(_)
            | Self::Spfc(_)
            | Self::PfcFamily(_)
            | Self::Gfc(_)
            | Self::Ofc(_) => {}
            Self::Bfc(bfc) => bfc.elide(tables, turns),
        }
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
