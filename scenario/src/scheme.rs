//! `switch.scheme`: the scheme of the switches, with its own settings.
//!
//! A scheme decides on admission, pauses, marks and queues (`fabric_core::scheme`). Buffer, headroom and thresholds are
//! sections of their own: they say how much, and each scheme uses them.
//!
//! # Adding a scheme
//!
//! 1. In a file here, a struct of its keys, with the documentation of the kind, that implements [`Kind`]. The defaults of the
//!    methods are those of PFC.
//! 2. In this file a `mod` line, a `use` line, and a line of `kinds!`.
//! 3. Not checked by the compiler: the kinds of docs/buffers.md, and the scenarios that `tests/src/fabric/drawn.rs` draws.

mod advice;
mod bfc;
mod dsh;
mod gfc;
mod kind;
mod ofc;
mod old_keys;
mod oversubscribed;
mod pause_rule;
mod pfc;
mod pfc_reached;
mod power_of_two;
mod service_pools;
mod sonic_pools;
mod spfc;

use fabric_core::drop_reason::DropReason;
use fabric_core::scheme::SchemeSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::{Bytes, Picos};

use super::Scenario;
use super::document::Document;
use super::flow_queues::FlowQueues;
use super::headroom::Headroom;
use super::kind::by_kind;
use super::priority::{Priorities, Priority};
use super::switch::Switch;

use gfc::{Gfc, GfcOfc};
use kind::{Check, Kind, Part, PausedParts};
use oversubscribed::Oversubscribed;
use pause_rule::{CaPfc, GPfc, PPfcOfc, PPfcPredict};
use pfc::Pfc;

pub use bfc::{Assignment, Bfc, QueuePauses};
pub use dsh::{Dsh, Estimation};
pub use ofc::{FlowPauses, Ofc};
pub(super) use old_keys::OldKeys;
pub use pause_rule::MeanOf;
pub(super) use pfc_reached::PfcReached;
pub use power_of_two::{LeftShift, RightShift};
pub(super) use service_pools::ServicePools;
pub(super) use sonic_pools::SonicPools;
pub use spfc::{Spfc, StateOf, Victims};

/// Passes the kinds to a macro, each with its name and the type of its keys. Other tokens follow the list.
macro_rules! kinds {
    ($macro:ident $($others:tt)*) => {
        $macro! {
            [
                "pfc" = Pfc,
                "pfc-reached" = PfcReached,
                "pfc-service-pools" = ServicePools,
                "pfc-sonic-pools" = SonicPools,
                "oversubscribed" = Oversubscribed,
                "dsh" = Dsh,
                "bfc" = Bfc,
                "spfc" = Spfc,
                "ofc" = Ofc,
                "capfc" = CaPfc,
                "p-pfc-ofc" = PPfcOfc,
                "p-pfc-predict" = PPfcPredict,
                "g-pfc" = GPfc,
                "gfc" = Gfc,
                "gfc-ofc" = GfcOfc,
            ]
            $($others)*
        }
    };
}

/// Declares the choice among the kinds.
macro_rules! choice {
    ([$($name:literal = $kind:ident,)+]) => {
        /// Scheme of the switches: the rules by which they admit packets and pause their neighbours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, remote = "Self")]
        #[schemars(tag = "kind", rename = "SchemeKeys")]
        pub enum Scheme {
            $(
                #[serde(rename = $name)]
                #[expect(missing_docs, reason = "the type says it, and a schema would repeat it")]
                $kind($kind),
            )+
        }

        impl Scheme {
            /// Each kind's name, and its [`TABLES`](Kind::TABLES).
            const TABLES: &[(&'static str, &'static [(&'static str, &'static str)])] =
                &[$(($name, $kind::TABLES),)+];
        }
    };
}

/// Evaluates `$body` with `$keys` as the keys of the kind that `$scheme` is.
macro_rules! each {
    ([$($name:literal = $kind:ident,)+] $scheme:expr, $keys:ident => $body:expr) => {
        match $scheme {
            $(Scheme::$kind($keys) => $body,)+
        }
    };
}

kinds!(choice);

by_kind!(Scheme);

impl Default for Scheme {
    fn default() -> Self {
        Self::Pfc(Pfc {})
    }
}

impl Scheme {
    /// Returns true if PFC frames wait behind control packets of their port, in one queue.
    pub const fn shares_control_queue(&self) -> bool {
        matches!(self, Self::ServicePools(_))
    }

    /// Returns true if the kind belongs to a simulator's order of events, which runs in memory, and has no program.
    pub const fn is_in_memory_only(&self) -> bool {
        matches!(self, Self::ServicePools(_) | Self::SonicPools(_))
    }

    /// Returns the kinds that write a table which only some schemes write, in words. Kinds with a condition are last, so that
    /// it does not seem to hold for others.
    pub fn kinds_with(table: &str) -> Vec<String> {
        let of_kind = |(kind, tables): &(&'static str, &[(&str, &'static str)])| {
            let (_, condition) = tables.iter().find(|(name, _)| *name == table)?;
            Some((*kind, *condition))
        };
        let mut kinds: Vec<_> = Self::TABLES.iter().filter_map(of_kind).collect();
        kinds.sort_by_key(|(_, condition)| !condition.is_empty());
        kinds.iter().map(|(kind, condition)| format!("\"{kind}\"{condition}")).collect()
    }

    /// Returns true if runs write a table which only some schemes write.
    pub fn writes(&self, table: &str) -> bool {
        kinds!(each self, keys => keys.writes(table))
    }

    /// Adds defaults, and checks the keys.
    pub(super) fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        kinds!(each self, keys => keys.complete(lossless, document))
    }

    /// Returns the name of the scheme's family in papers.
    pub fn name(&self) -> &'static str {
        fn of<K: Kind>(_: &K) -> &'static str {
            K::NAME
        }
        kinds!(each self, keys => of(keys))
    }

    fn needs_static_headroom(&self) -> Option<&'static str> {
        fn of<K: Kind>(_: &K) -> Option<&'static str> {
            K::NEEDS_STATIC_HEADROOM
        }
        kinds!(each self, keys => of(keys))
    }

    fn victims_path(&self) -> &'static str {
        fn of<K: Kind>(_: &K) -> &'static str {
            K::VICTIMS_PATH
        }
        kinds!(each self, keys => of(keys))
    }

    /// Returns the parameters of SPFC if ports or queues may be victims. Normal ports then have DT thresholds with SPFC's
    /// alpha.
    pub(super) fn victims(&self) -> Option<Spfc> {
        kinds!(each self, keys => keys.victims())
    }

    /// Returns the queues or flows that the scheme pauses one by one.
    pub(super) fn paused_parts(&self) -> Option<PausedParts> {
        kinds!(each self, keys => keys.paused_parts())
    }

    /// Returns the queues of each priority whose queues or flows are paused, in the form of [`Switch::flow_queues`].
    pub(super) fn flow_queues(&self) -> impl Iterator<Item = FlowQueues> + use<> {
        self.paused_parts().into_iter().flat_map(|PausedParts { priorities, queues, .. }| {
            priorities.iter().map(move |it| FlowQueues { priority: Priority(it), queues })
        })
    }

    /// Returns the headroom of a queue or port that requires `required` bytes.
    pub fn reserved(&self, required: Bytes) -> Bytes {
        kinds!(each self, keys => keys.reserved(required))
    }

    /// Returns true if headroom belongs to ports instead of queues.
    pub fn has_port_headroom(&self) -> bool {
        kinds!(each self, keys => keys.has_port_headroom())
    }

    /// Returns true if lossless ingress queues compete for one pool of headroom.
    pub fn pools_headroom(&self) -> bool {
        kinds!(each self, keys => keys.pools_headroom())
    }

    /// Returns all headroom of a switch. `phi` has one item per port; `queues` is the number of a port's lossless queues.
    pub(super) fn total_headroom(&self, phi: impl Iterator<Item = Bytes>, queues: u64) -> Bytes {
        kinds!(each self, keys => keys.total_headroom(phi, queues))
    }

    /// Returns which limit a lossless packet exceeded that was dropped for `reason`, and the key to change, if a key of the
    /// scheme sets the limit.
    fn advice(&self, reason: DropReason) -> Option<&'static str> {
        kinds!(each self, keys => keys.advice(reason))
    }

    /// Describes the headroom of each ingress queue or port for an error, and names the equations. `largest` is the
    /// largest phi.
    pub(super) fn headroom_in_words(&self, largest: &str) -> (String, &'static str) {
        kinds!(each self, keys => keys.headroom_in_words(largest))
    }
}

impl Switch {
    /// Returns true if the switch pauses single queues of its neighbours.
    pub fn pauses_queues(&self) -> bool {
        self.scheme.paused_parts().is_some_and(|parts| parts.part == Part::Queue)
    }

    /// Returns true if the switch pauses single flows of its neighbours.
    pub fn pauses_flows(&self) -> bool {
        self.scheme.paused_parts().is_some_and(|parts| parts.part == Part::Flow)
    }

    /// Returns true if ingress ports or queues have states: victim or normal.
    pub fn has_port_states(&self) -> bool {
        self.scheme.victims().is_some()
    }

    /// Returns true if queues are paused and resumed by the bytes of all lossless queues of their port.
    pub fn thresholds_are_of_ports(&self) -> bool {
        kinds!(each &self.scheme, keys => keys.thresholds_are_of_ports())
    }

    /// Returns true if the switch sets rates of its neighbours.
    pub fn sends_rates(&self) -> bool {
        kinds!(each &self.scheme, keys => keys.sends_rates())
    }

    /// Returns the priorities whose queues or flows the switch pauses one by one.
    pub fn paused_parts(&self) -> Priorities {
        self.scheme.paused_parts().map_or(Priorities(0), |parts| parts.priorities)
    }

    /// Returns each priority with several egress queues at a port, or whose queues or flows are paused, once.
    pub fn spread(&self) -> impl Iterator<Item = FlowQueues> {
        self.scheme.flow_queues().chain(self.flow_queues.iter().copied())
    }
}

impl Scenario {
    /// Checks the scheme against other keys.
    pub(super) fn check_scheme(&self, document: &Document<'_>) -> Check {
        let switch = &self.switch;
        if let Some(name) = switch.scheme.needs_static_headroom()
            && matches!(switch.headroom, Headroom::Adaptive { .. })
        {
            let title = format!("{name}, and headroom that is measured");
            let help = "write headroom = { kind = \"sih\" }";
            return Err(document.error("switch.headroom", &title, help));
        }
        kinds!(each &switch.scheme, keys => keys.check(self, document))?;
        if self.results.held_flows && !switch.pauses_queues() {
            let help = "write switch.scheme = { kind = \"bfc\", .. }, or leave the key out";
            return Err(document.error("results.held_flows", "no queue is paused by itself", help));
        }
        self.check_victims(document)
    }

    /// Checks the scheme against the buffers and thresholds of all switches.
    pub(super) fn check_scheme_at_switches(&self, document: &Document<'_>) -> Check {
        let mut switches = (0..self.fabric().switch_count()).map(SwitchId);
        switches.try_for_each(|switch| {
            kinds!(each &self.switch.scheme, keys => keys.check_at(self, switch, document))
        })
    }

    /// Returns warnings about keys of the scheme that are probably mistakes.
    pub(super) fn warnings_of_scheme(&self) -> Vec<String> {
        let mut warnings = self.warnings_of_victims();
        warnings.extend(kinds!(each &self.switch.scheme, keys => keys.warnings(self)));
        warnings
    }

    /// Returns the scheme of a switch.
    pub fn scheme(&self, switch: SwitchId) -> SchemeSettings {
        kinds!(each &self.switch.scheme, keys => keys.settings(self, switch))
    }

    /// Time between announcements of a switch (bitmaps of BFC, flows of OFC); `None` if it sends none.
    pub fn announcement_period(&self) -> Option<Picos> {
        kinds!(each &self.switch.scheme, keys => keys.announcement_period(self))
    }
}
