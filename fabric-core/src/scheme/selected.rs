//! Dispatch to the scheme that the policy selects; the only file that knows all schemes.

use super::bfc::{self, Bfc};
use super::dsh::{self, Dsh};
use super::gfc::{self, Gfc};
use super::ofc::{self, Ofc};
use super::oversubscribed::Oversubscribed;
use super::pfc::Pfc;
use super::pfc_family::{self, PfcFamily};
use super::spfc::{self, Spfc};
use super::watched::{FlowPauses, FlowRow, HeldFlows, Watched};
use super::{
    Arriving, FlowUse, Ingress, IngressState, Leaving, PortUse, Released, Room, Scheme, Stays,
    Verdict,
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
        let plain = [Self::Pfc, Self::Oversubscribed].into_iter();
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
            Self::Pfc | Self::Oversubscribed => {}
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
            | Self::Dsh(_)
            | Self::Spfc(_)
            | Self::PfcFamily(_)
            | Self::Gfc(_)
            | Self::Ofc(_) => {}
            Self::Bfc(bfc) => bfc.elide(tables, turns),
        }
    }
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

    #[inline(always)]
    fn depart<T: Tables>(
        tables: &T,
        policy: &Policy,
        slot: u32,
        now: Nanos,
        send: &mut impl FnMut(&Order),
    ) -> Option<Departure> {
        select!(policy, S => S::depart(tables, policy, slot, now, send))
    }

    fn discard<T: Tables>(
        tables: &T,
        policy: Policy,
        slot: u32,
        now: Nanos,
        reason: DropReason,
        send: &mut impl FnMut(&Order),
    ) -> Option<Departure> {
        select!(policy, S => S::discard(tables, policy, slot, now, reason, send))
    }

    #[inline(always)]
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        select!(at.policy, S => S::threshold(at))
    }

    #[inline(always)]
    fn margin<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        select!(at.policy, S => S::margin(at))
    }

    #[inline(always)]
    fn queue<T: Tables>(
        at: &Ingress<'_, T>,
        egress_port: u32,
        now: Nanos,
        fields: &Ipv4Fields,
    ) -> QueueId {
        select!(at.policy, S => S::queue(at, egress_port, now, fields))
    }

    #[inline(always)]
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        select!(packet.ingress.policy, S => S::admit(packet))
    }

    #[inline(always)]
    fn charge<T: Tables>(packet: &Arriving<'_, T>, pool: Pool, bytes: u64) {
        select!(packet.ingress.policy, S => S::charge(packet, pool, bytes));
    }

    #[inline(always)]
    fn release<T: Tables>(packet: &Leaving<'_, T>, given_back: Released) {
        select!(packet.ingress.policy, S => S::release(packet, given_back));
    }

    #[inline(always)]
    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        select!(packet.ingress.policy, S => S::after_arrival(packet, pool, send));
    }

    #[inline(always)]
    fn refused<T: Tables>(packet: &Arriving<'_, T>, send: &mut impl FnMut(&Order)) {
        select!(packet.ingress.policy, S => S::refused(packet, send));
    }

    #[inline(always)]
    fn note_refusal<T: Tables>(at: &Ingress<'_, T>) {
        select!(at.policy, S => S::note_refusal(at));
    }

    #[inline(always)]
    fn named_queue(policy: Policy, queue: QueueId) -> u64 {
        select!(policy, S => S::named_queue(policy, queue))
    }

    #[inline(always)]
    fn enqueued<T: Tables>(
        packet: &Arriving<'_, T>,
        descriptor: &Descriptor,
        send: &mut impl FnMut(&Order),
    ) {
        select!(packet.ingress.policy, S => S::enqueued(packet, descriptor, send));
    }

    #[inline(always)]
    fn dequeued<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        select!(packet.ingress.policy, S => S::dequeued(packet, send));
    }

    #[inline(always)]
    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
        select!(packet.ingress.policy, S => S::at_departure(packet))
    }

    #[inline(always)]
    fn requeued<T: Tables>(packet: &Leaving<'_, T>, descriptor: &Descriptor) {
        select!(packet.ingress.policy, S => S::requeued(packet, descriptor));
    }

    #[inline(always)]
    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        select!(packet.ingress.policy, S => S::after_departure(packet, send));
    }

    #[inline(always)]
    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        select!(at.policy, S => S::resume(at))
    }

    #[inline]
    fn renewal<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        pause: u32,
        now: Nanos,
    ) -> Option<Order> {
        select!(at.policy, S => S::renewal(at, level, pause, now))
    }

    fn may_resume<T: Tables>(
        at: &Ingress<'_, T>,
        level: PauseLevel,
        computed: Policy,
        stays: Stays,
    ) -> bool {
        select!(at.policy, S => S::may_resume(at, level, computed, stays))
    }

    fn observe<T: Tables>(at: &Ingress<'_, T>, now: Nanos) {
        select!(at.policy, S => S::observe(at, now));
    }

    #[inline(always)]
    fn receive<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        control: &HopControl,
        now: Nanos,
    ) -> Result<(), DropReason> {
        select!(policy, S => S::receive(tables, policy, port, control, now))
    }

    #[inline(always)]
    fn paused<T: Tables>(tables: &T, policy: Policy, port: u32, now: Nanos) -> Option<QueueSet> {
        select!(policy, S => S::paused(tables, policy, port, now))
    }

    fn reopens<T: Tables>(tables: &T, policy: Policy, port: u32, now: Nanos) -> Option<Nanos> {
        select!(policy, S => S::reopens(tables, policy, port, now))
    }

    fn announce<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        send: &mut impl FnMut(HopControl),
    ) {
        select!(policy, S => S::announce(tables, policy, port, send));
    }

    fn relinked<T: Tables>(tables: &T, policy: Policy, port: u32) {
        select!(policy, S => S::relinked(tables, policy, port));
    }

    fn port_use<T: Tables>(tables: &T, policy: Policy, port: u32) -> PortUse {
        select!(policy, S => S::port_use(tables, policy, port))
    }

    fn slowest<T: Tables>(tables: &T, policy: Policy, port: u32) -> Option<u32> {
        select!(policy, S => S::slowest(tables, policy, port))
    }

    fn flow_use<T: Tables>(tables: &T, policy: Policy, port: u32) -> Option<FlowUse> {
        select!(policy, S => S::flow_use(tables, policy, port))
    }

    fn states(policy: Policy) -> Option<PauseLevel> {
        select!(policy, S => S::states(policy))
    }

    #[inline]
    fn state<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
    ) -> Option<IngressState> {
        select!(policy, S => S::state(tables, policy, port, priority))
    }

    fn tick<T: Tables>(tables: &T, policy: Policy, port: u32, priority: Priority, now: Nanos) {
        select!(policy, S => S::tick(tables, policy, port, priority, now));
    }

    fn pauses_ports(policy: Policy) -> bool {
        select!(policy, S => S::pauses_ports(policy))
    }

    fn room(policy: Policy, ports: u32) -> Room {
        select!(policy, S => S::room(policy, ports))
    }
}

#[deny(clippy::missing_trait_methods)]
impl Watched for Selected {
    fn pauses_flows(policy: Policy) -> bool {
        select!(policy, S => S::pauses_flows(policy))
    }

    fn queue_behind(policy: Policy, note: u32) -> Option<QueueId> {
        select!(policy, S => S::queue_behind(policy, note))
    }

    fn held_flows<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
    ) -> HeldFlows {
        select!(policy, S => S::held_flows(tables, policy, port, priority))
    }

    fn held_flow<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
        note: u32,
    ) -> Option<u32> {
        select!(policy, S => S::held_flow(tables, policy, port, priority, note))
    }

    fn holds_flow<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
        name: u32,
    ) -> bool {
        select!(policy, S => S::holds_flow(tables, policy, port, priority, name))
    }

    fn paused_flows<T: Tables>(at: &Ingress<'_, T>, name: &mut impl FnMut(u32)) {
        select!(at.policy, S => S::paused_flows(at, name));
    }

    fn flow_pauses<T: Tables>(
        tables: &T,
        policy: Policy,
        port: u32,
        priority: Priority,
    ) -> FlowPauses {
        select!(policy, S => S::flow_pauses(tables, policy, port, priority))
    }

    fn flow_rows<T: Tables>(tables: &T, policy: Policy, port: u32, row: &mut impl FnMut(FlowRow)) {
        select!(policy, S => S::flow_rows(tables, policy, port, row));
    }
}
