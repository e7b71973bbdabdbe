//! `switch.scheme`: the scheme of the switches, with its own settings.
//!
//! A scheme decides on admission, pauses, marks and queues (`fabric_core::scheme`). Buffer, headroom and thresholds are
//! sections of their own: they say how much, and each scheme uses them.
//!
//! # Adding a scheme
//!
//! Add a variant of [`Scheme`] here, and a file for its settings and checks. The compiler reports the matches that need
//! an arm. It does not report functions and lists that name single schemes:
//!
//! - `Scheme::has_victims`, and `Scheme::victims_path` in `spfc.rs`,
//! - `Scheme::pauses_parts`,
//! - the functions of `reserve.rs`, if the scheme reserves other headroom than PFC,
//! - [`Switch::headroom_advice`], if packets are dropped at a limit of the scheme,
//! - [`Switch::thresholds_are_of_ports`] and [`Switch::sends_rates`], if the scheme is a relative of PFC (`Scheme::is_rule`),
//! - `CONDITIONS` of `emulation/src/tables.rs`, if a table depends on the scheme,
//! - the scenarios that `tests/src/fabric/drawn.rs` draws.

mod advice;
mod bfc;
mod dsh;
mod ofc;
mod old_keys;
mod pause_rule;
mod power_of_two;
mod reserve;
mod spfc;

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
use super::ratio::Ratio;
use super::report::ScenarioError;
use super::switch::Switch;
use super::threshold::Threshold;

pub use bfc::{Assignment, Bfc, QueuePauses};
pub use dsh::{Dsh, Estimation};
pub use ofc::Ofc;
pub(super) use old_keys::OldKeys;
pub use pause_rule::MeanOf;
pub use spfc::{Spfc, StateOf, Victims};

pub use power_of_two::{LeftShift, RightShift};

/// Scheme of the switches: the rules by which they admit packets and pause their neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "SchemeKeys")]
pub enum Scheme {
    /// PFC: an ingress queue pauses above `X_off` of `threshold`, and packets that arrive after its PAUSE use its
    /// headroom.
    Pfc {},
    /// PFC as in the HPCC simulator: an ingress queue pauses when it reaches `X_off`, not above it. A packet that does not
    /// fit headroom is dropped if it does not lie below `X_off` as a whole, and then pauses nobody.
    PfcReached {},
    /// PFC with one pool of headroom for all lossless ingress queues, smaller than the sum of their headroom. Packets
    /// may be lost. Needs headroom of kind "sih".
    Oversubscribed {
        /// Divisor of the sum of all headroom, which gives the size of the pool; at least 1. Default "5/4": 80 %, as in
        /// DSH's evaluation.
        #[serde(default = "default_ratio")]
        ratio: Ratio,
    },
    /// Dynamic and shared headroom (DSH): congested queues take headroom from the shared pool, and each port has
    /// insurance headroom for the packets that do not fit there: as much as `headroom` gives a queue, which is also the
    /// maximum estimate for a queue (Phi). Needs headroom of kind "sih".
    Dsh(Dsh),
    /// Backpressure Flow Control (BFC; Goyal et al., NSDI 2022). Each flow gets a queue. If that queue grows too long,
    /// the switch pauses the queue at its neighbour from which the flow comes. PFC protects lossless priorities beneath
    /// BFC; packets of lossy priorities are dropped when the buffer is full. Needs headroom of kind "sih".
    Bfc(Bfc),
    /// Selective-PFC (SPFC): DT for normal ports, and the whole shared buffer for victims, which are ports whose
    /// packets depart fast. A port that pauses its neighbour is normal until it resumes. Needs `threshold` of kind "dt",
    /// whose default alpha is then "2".
    Spfc(Spfc),
    /// Original congestion-based fine-grained priority Flow Control (OFC; Xiao et al.). A switch sends its neighbour
    /// the names of congested flows, and the neighbour keeps their packets in a backup queue while other packets pass.
    /// If congestion comes from beyond an egress port, the switch names only flows that this port's neighbour has
    /// named. From `xoff` on PFC pauses the class. Needs `threshold` of kind "static" and headroom of kind "sih".
    Ofc(Ofc),
    /// caPFC, as OFC describes it: a fixed threshold of egress queues on top of PFC.
    #[serde(rename = "capfc")]
    CaPfc {
        /// Bytes from which on an ingress queue pauses for a packet whose egress queue is congested. Above zero; with
        /// fixed thresholds above `xon` and at most `xoff`. OFC's comparable threshold is "68kB", with an `xoff` of
        /// "75kB".
        xlow: Bytes,
        /// Bytes from which on an egress queue is congested. Above zero, at most the buffer of each switch.
        xegress: Bytes,
    },
    /// P-PFC, as OFC describes it: the threshold of egress queues is their mean length.
    #[serde(rename = "p-pfc-ofc")]
    PPfcOfc {
        /// Bytes from which on an ingress queue pauses for a packet whose egress queue is at least as long as the mean.
        /// Limits as for "capfc".
        xlow: Bytes,
        /// Egress queues of the mean. "all": queues of the packet's priority at all ports of the switch. "non-empty":
        /// queues among these that hold packets. Default "all".
        #[serde(default)]
        mean_of: MeanOf,
    },
    /// P-PFC, after the abstract of its paper. An ingress queue pauses if its growth will take it to `X_off` at the
    /// horizon, and resumes if it will have fallen to `X_on`.
    #[serde(rename = "p-pfc-predict")]
    PPfcPredict {
        /// Time of the prediction; above zero, at most "100ms". Use at least the time until a PAUSE takes effect.
        horizon: Picos,
        /// Minimum time between measurements of a slope, at least a nanosecond. Queues are measured when packets arrive
        /// or depart. Default "1us".
        #[serde(default = "pause_rule::default_interval")]
        interval: Picos,
        /// Weight of the latest slope in its average: "1", "1/2", "1/4" .. "1/64". Default "1".
        #[serde(default = "pause_rule::default_weight")]
        weight: RightShift,
    },
    /// G-PFC, as OFC describes it: low priorities pause first. All its thresholds, including X_off and X_on, apply to
    /// the sum of an ingress port's lossless priorities.
    #[serde(rename = "g-pfc")]
    GPfc {
        /// Bytes from which on a port pauses each low priority when one of its packets arrives. Limits as for "capfc".
        xlow: Bytes,
        /// Low priorities: one or more of the lossless ones.
        low: Priorities,
    },
    /// GFC, in the buffer-based form of its paper. A queue that fills sets its neighbour's rate in stages. Each stage
    /// is half as wide as the one before and has half its rate, which is never zero.
    #[serde(rename = "gfc")]
    Gfc {
        /// Start of the first stage (`B_1`), with half of the link's rate. Above zero, below `bm`. If the neighbour
        /// obeys after tau, the queue never reaches `bm` if this is at most `bm` - 2 x rate x tau.
        b1: Bytes,
        /// Length that the queue never reaches (`B_m`). At most `xoff`, where PFC is a safety net.
        bm: Bytes,
        /// Stages below line rate: 1 to 14. Default 8.
        #[serde(default = "pause_rule::default_stages")]
        stages: u8,
    },
    /// GFC, as OFC describes it: several thresholds below X_off. At each of them the rate falls by one step, to zero at
    /// X_off, which is PFC's PAUSE. Needs fixed thresholds.
    #[serde(rename = "gfc-ofc")]
    GfcOfc {
        /// First of the thresholds, which are evenly spaced up to X_off. Above zero, below X_off.
        b1: Bytes,
        /// Number of thresholds: 1 to 14. Default 4.
        #[serde(default = "pause_rule::default_steps")]
        stages: u8,
    },
}

by_kind!(Scheme);

/// Parameters of flow pauses, equal at all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPauses {
    /// Lengths of an ingress queue at which flows are resumed, flows are paused, and the class is paused.
    pub thresholds: [Bytes; 3],
    /// Entries of a port's flow table.
    pub flow_entries: u32,
    /// Size of a port's flow table.
    pub flow_table: Bytes,
}

const fn default_ratio() -> Ratio {
    Ratio::new(5, 4)
}

impl Default for Scheme {
    fn default() -> Self {
        Self::Pfc {}
    }
}

impl Scheme {
    /// Returns true if normal ports have DT thresholds with SPFC's alpha.
    pub(super) const fn has_victims(&self) -> bool {
        matches!(self, Self::Spfc(_) | Self::Dsh(Dsh { victims: Some(_), .. }))
    }

    /// Returns true if the scheme pauses single queues or flows.
    pub(super) const fn pauses_parts(&self) -> bool {
        matches!(self, Self::Bfc(_) | Self::Ofc(_))
    }

    /// Returns true for relatives of PFC: rules by which a queue pauses before it exceeds `X_off`.
    const fn is_rule(&self) -> bool {
        match self {
            Self::CaPfc { .. }
            | Self::PPfcOfc { .. }
            | Self::PPfcPredict { .. }
            | Self::GPfc { .. }
            | Self::Gfc { .. }
            | Self::GfcOfc { .. } => true,
            Self::Pfc {}
            | Self::PfcReached {}
            | Self::Oversubscribed { .. }
            | Self::Dsh(_)
            | Self::Bfc(_)
            | Self::Spfc(_)
            | Self::Ofc(_) => false,
        }
    }

    /// Adds defaults, and checks the keys.
    pub(super) fn complete(
        &mut self,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        match self {
            Self::Oversubscribed { ratio } if ratio.numerator < ratio.denominator => {
                let title = format!("headroom that is oversubscribed {ratio} times");
                let help = "a ratio of \"2\" sets aside half of the headroom; write 1 or more";
                Err(document.error("switch.scheme.ratio", &title, help))
            }
            Self::Pfc {} | Self::PfcReached {} | Self::Oversubscribed { .. } => Ok(()),
            Self::Dsh(dsh) => dsh.complete(document),
            Self::Bfc(bfc) => bfc.check(document),
            Self::Spfc(spfc) => spfc.complete(document),
            Self::Ofc(ofc) => ofc.complete(document),
            Self::CaPfc { .. }
            | Self::PPfcOfc { .. }
            | Self::PPfcPredict { .. }
            | Self::GPfc { .. }
            | Self::Gfc { .. }
            | Self::GfcOfc { .. } => self.check_rule(lossless, document),
        }
    }

    /// Returns the name of the scheme if it needs static headroom: a part of it shares headroom, or has been tried
    /// with nothing else.
    const fn needs_static_headroom(&self) -> Option<&'static str> {
        match self {
            Self::Oversubscribed { .. } => Some("oversubscribed headroom"),
            Self::Dsh(_) => Some("DSH"),
            Self::Bfc(_) => Some("BFC"),
            Self::Ofc(_) => Some("OFC"),
            Self::Pfc {}
            | Self::PfcReached {}
            | Self::Spfc(_)
            | Self::CaPfc { .. }
            | Self::PPfcOfc { .. }
            | Self::PPfcPredict { .. }
            | Self::GPfc { .. }
            | Self::Gfc { .. }
            | Self::GfcOfc { .. } => None,
        }
    }

    /// Returns the name of the scheme's family in papers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pfc {} | Self::PfcReached {} | Self::Oversubscribed { .. } => "PFC",
            Self::Dsh(_) => "DSH",
            Self::Bfc(_) => "BFC",
            Self::Spfc(_) => "SPFC",
            Self::Ofc(_) => "OFC",
            Self::CaPfc { .. } => "caPFC",
            Self::PPfcOfc { .. } | Self::PPfcPredict { .. } => "P-PFC",
            Self::GPfc { .. } => "G-PFC",
            Self::Gfc { .. } | Self::GfcOfc { .. } => "GFC",
        }
    }

    /// Returns the priorities whose queues or flows are paused, and the queues of each at a port.
    const fn paused_parts(&self) -> (Priorities, u32) {
        match self {
            Self::Bfc(bfc) => (bfc.priorities, bfc.queues),
            Self::Ofc(ofc) => (ofc.priorities, ofc::QUEUES as u32),
            _ => (Priorities(0), 0),
        }
    }

    /// Returns the queues of each priority whose queues or flows are paused, in the form of [`Switch::flow_queues`].
    pub(super) fn flow_queues(&self) -> impl Iterator<Item = FlowQueues> + use<> {
        let (priorities, queues) = self.paused_parts();
        priorities.iter().map(move |it| FlowQueues { priority: Priority(it), queues })
    }
}

impl Switch {
    /// Returns the parameters of SPFC if ports or queues may be victims.
    pub const fn spfc(&self) -> Option<Spfc> {
        match self.scheme {
            Scheme::Spfc(spfc) => Some(spfc),
            Scheme::Dsh(Dsh { victims: Some(victims), .. }) => Some(Spfc::of_ports(victims)),
            _ => None,
        }
    }

    /// Returns the parameters of BFC if the switch pauses single queues of its neighbours.
    pub const fn bfc(&self) -> Option<&Bfc> {
        match &self.scheme {
            Scheme::Bfc(bfc) => Some(bfc),
            _ => None,
        }
    }

    /// Returns the parameters of OFC if the switch pauses flows.
    pub const fn ofc(&self) -> Option<&Ofc> {
        match &self.scheme {
            Scheme::Ofc(ofc) => Some(ofc),
            _ => None,
        }
    }

    /// Returns the parameters of flow pauses, if the switch pauses flows.
    pub fn flow_pauses(&self) -> Option<FlowPauses> {
        let (Some(ofc), Threshold::Static { xoff, xon }) = (self.ofc(), &self.threshold) else {
            return None;
        };
        Some(FlowPauses {
            thresholds: [*xon, ofc.congested(*xoff), *xoff],
            flow_entries: ofc.flow_table,
            flow_table: ofc.table_size(),
        })
    }

    /// Returns true if ingress ports or queues have states: victim or normal.
    pub const fn has_port_states(&self) -> bool {
        self.spfc().is_some()
    }

    /// Returns true if the switch pauses single queues of its neighbours.
    pub const fn pauses_queues(&self) -> bool {
        self.bfc().is_some()
    }

    /// Returns true if the switch pauses single flows of its neighbours.
    pub const fn pauses_flows(&self) -> bool {
        self.ofc().is_some()
    }

    /// Returns true if queues are paused and resumed by the bytes of all lossless queues of their port.
    pub const fn thresholds_are_of_ports(&self) -> bool {
        matches!(self.scheme, Scheme::GPfc { .. })
    }

    /// Returns the priorities whose queues or flows the switch pauses one by one.
    pub const fn paused_parts(&self) -> Priorities {
        self.scheme.paused_parts().0
    }

    /// Returns each priority with several egress queues at a port, or whose queues or flows are paused, once.
    pub fn spread(&self) -> impl Iterator<Item = FlowQueues> {
        self.scheme.flow_queues().chain(self.flow_queues.iter().copied())
    }
}

impl Scenario {
    /// Checks the scheme against other keys.
    pub(super) fn check_scheme(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let switch = &self.switch;
        if let Some(name) = switch.scheme.needs_static_headroom()
            && matches!(switch.headroom, Headroom::Adaptive { .. })
        {
            let title = format!("{name}, and headroom that is measured");
            let help = "write headroom = { kind = \"sih\" }";
            return Err(document.error("switch.headroom", &title, help));
        }
        if let Some(ofc) = switch.ofc() {
            ofc.check(switch, document)?;
        }
        self.check_bfc(document)?;
        self.check_spfc(document)
    }

    /// Returns the scheme of a switch.
    pub fn scheme(&self, switch: SwitchId) -> SchemeSettings {
        match &self.switch.scheme {
            Scheme::Pfc {} => SchemeSettings::Pfc,
            Scheme::PfcReached {} => SchemeSettings::PfcReached,
            Scheme::Oversubscribed { .. } => SchemeSettings::Oversubscribed,
            Scheme::Dsh(dsh) => SchemeSettings::Dsh(
                dsh.settings(self.switch.spfc().map(|it| self.spfc_settings(&it))),
            ),
            Scheme::Bfc(bfc) => SchemeSettings::Bfc(self.bfc_settings(bfc, switch)),
            Scheme::Spfc(spfc) => SchemeSettings::Spfc(self.spfc_settings(spfc)),
            Scheme::Ofc(ofc) => ofc.settings(self.static_xoff(switch)),
            rule @ (Scheme::CaPfc { .. }
            | Scheme::PPfcOfc { .. }
            | Scheme::PPfcPredict { .. }
            | Scheme::GPfc { .. }
            | Scheme::Gfc { .. }
            | Scheme::GfcOfc { .. }) => {
                rule.rule_settings(self.static_xoff(switch), Bytes(self.frame_time().overhead))
            }
        }
    }

    /// Time between announcements of a switch (bitmaps of BFC, flows of OFC); `None` if it sends none.
    pub fn announcement_period(&self) -> Option<Picos> {
        self.switch.ofc().map_or_else(|| self.bitmap_period(), |ofc| ofc.repeat)
    }
}
