//! Kinds "capfc" to "gfc-ofc" of `switch.scheme`: rules by which a lossless ingress queue pauses, or slows its neighbour down, before it exceeds
//! `X_off` (the PFC family with which OFC is compared).

use fabric_core::scheme::gfc::state::MAX_STAGES;
use fabric_core::scheme::{SchemeSettings, gfc, pfc_family};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::Scheme;
use super::power_of_two::{RightShift, shift};
use crate::document::Document;
use crate::priority::Priorities;
use crate::quantity::display;
use crate::ratio::Ratio;
use crate::report::ScenarioError;
use crate::switch::Switch;
use crate::{Scenario, Threshold};

/// Maximum horizon, limited by the switch's arithmetic: the change of a queue of 1 GiB times the horizon has 60 bits.
const MAX_HORIZON: Picos = Picos(100_000_000_000);

/// Egress queues over which a mean is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeanOf {
    /// All queues.
    #[default]
    All,
    /// Queues that hold packets.
    NonEmpty,
}

pub(super) const fn default_stages() -> u8 {
    8
}

pub(super) const fn default_steps() -> u8 {
    4
}

pub(super) const fn default_interval() -> Picos {
    Picos(1_000_000)
}

pub(super) fn default_weight() -> RightShift {
    RightShift::within(Ratio::new(1, 1))
}

impl Scheme {
    /// Returns `X_low`, if the rule has it.
    const fn xlow(&self) -> Option<Bytes> {
        match *self {
            Self::CaPfc { xlow, .. } | Self::PPfcOfc { xlow, .. } | Self::GPfc { xlow, .. } => {
                Some(xlow)
            }
            _ => None,
        }
    }

    /// Returns the settings of a relative of PFC. `xoff` is its `X_off` if that is fixed; `overhead` is the bytes on the wire
    /// beyond a frame.
    pub(super) fn rule_settings(&self, xoff: Bytes, overhead: Bytes) -> SchemeSettings {
        let gfc = |form, first, most, stages| {
            SchemeSettings::Gfc(gfc::Settings { form, first, most, stages, overhead })
        };
        match *self {
            Self::Gfc { b1, bm, stages } => gfc(gfc::Form::Halving, b1, bm, stages),
            Self::GfcOfc { b1, stages } => gfc(gfc::Form::Linear, b1, xoff, stages),
            _ => self.family().map_or_else(SchemeSettings::default, SchemeSettings::PfcFamily),
        }
    }

    fn family(&self) -> Option<pfc_family::Settings> {
        Some(match *self {
            Self::CaPfc { xlow: low, xegress: egress } => {
                pfc_family::Settings::CongestionAware { low, egress }
            }
            Self::PPfcOfc { xlow: low, mean_of } => pfc_family::Settings::MeanOfEgress {
                low,
                of: match mean_of {
                    MeanOf::All => pfc_family::MeanOf::All,
                    MeanOf::NonEmpty => pfc_family::MeanOf::NonEmpty,
                },
            },
            Self::PPfcPredict { horizon, interval, weight } => pfc_family::Settings::Predictive {
                horizon: horizon.to_nanos_ceil(),
                interval: interval.to_nanos_ceil(),
                weight_shift: shift(weight.get()),
            },
            Self::GPfc { xlow: low, low: classes } => {
                pfc_family::Settings::PriorityAware { low, classes: classes.0 }
            }
            _ => return None,
        })
    }
}

impl Switch {
    /// Returns true if the switch sets rates of its neighbours (GFC).
    pub const fn sends_rates(&self) -> bool {
        matches!(self.scheme, Scheme::Gfc { .. } | Scheme::GfcOfc { .. })
    }
}

impl Scheme {
    /// Checks the keys of a relative of PFC.
    pub(super) fn check_rule(
        &self,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            document.error(&format!("switch.scheme.{key}"), title, help)
        };
        let some = |key: &str, size: Bytes, help: &str| match size {
            Bytes(0) => Err(wrong(key, "a threshold of no bytes", help)),
            _ => Ok(()),
        };
        let low = |size| {
            let help = "a queue would never resume: write a size between `xon` and `xoff`";
            some("xlow", size, help)
        };
        if lossless.count() == 0 {
            let help = "only lossless priorities pause: name some in `switch.lossless`, or write another scheme";
            let title = "a rule for pauses, and no lossless priority";
            return Err(document.error("switch.scheme", title, help));
        }
        match *self {
            Self::CaPfc { xlow, xegress } => {
                let help = "every egress queue would be congested: write a size such as \"68kB\"";
                low(xlow)?;
                some("xegress", xegress, help)
            }
            Self::PPfcOfc { xlow, .. } => low(xlow),
            Self::PPfcPredict { horizon, interval, .. } => {
                if horizon < Picos::from_nanos(Nanos(1)) || horizon > MAX_HORIZON {
                    let title = format!("a horizon of {}", display(horizon));
                    let help = "write a nanosecond to \"100ms\"; without one, write kind = \"pfc\"";
                    return Err(wrong("horizon", &title, help));
                }
                if interval < Picos::from_nanos(Nanos(1)) {
                    let help = "a switch counts nanoseconds: write a time such as \"1us\"";
                    return Err(wrong("interval", "an interval of less than a nanosecond", help));
                }
                Ok(())
            }
            Self::GPfc { xlow, low: classes } => {
                let help = "name one or more of the lossless priorities";
                if classes.count() == 0 {
                    return Err(wrong("low", "no low priority", help));
                }
                if let Some(lossy) =
                    (0..8).find(|&it| classes.contains(it) && !lossless.contains(it))
                {
                    let title = format!("priority {lossy} is not lossless, so nothing pauses it");
                    return Err(wrong("low", &title, help));
                }
                low(xlow)
            }
            Self::Gfc { stages, .. } | Self::GfcOfc { stages, .. }
                if !(1..=MAX_STAGES).contains(&stages) =>
            {
                let help = format!("write 1 to {MAX_STAGES}");
                Err(wrong("stages", &format!("{stages} stages"), &help))
            }
            Self::Gfc { b1, bm, stages } => {
                let width = bm.0.saturating_sub(b1.0);
                if width >> (stages - 1) == 0 {
                    let (b1, bm) = (display(b1), display(bm));
                    let title =
                        format!("b1 ({b1}) and bm ({bm}) leave no room for {stages} stages");
                    let help = "each stage has half of what is left to bm: write a smaller b1, or fewer stages";
                    return Err(wrong("b1", &title, help));
                }
                let help =
                    "an empty queue would slow its neighbour down: write a size such as \"60kB\"";
                some("b1", b1, help)
            }
            Self::GfcOfc { b1, .. } => {
                let help =
                    "an empty queue would slow its neighbour down: write a size such as \"60kB\"";
                some("b1", b1, help)
            }
            _ => Ok(()),
        }
    }
}

impl Scenario {
    /// Checks the rule against other keys.
    pub(crate) fn check_pause_rule(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let rule = self.switch.scheme;
        if !rule.is_rule() {
            return Ok(());
        }
        for switch in (0..self.fabric().switch_count()).map(SwitchId) {
            self.check_rule_at(rule, switch, document)?;
        }
        Ok(())
    }

    fn check_rule_at(
        &self,
        rule: Scheme,
        switch: SwitchId,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let name = &self.fabric().switch(switch).name;
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.scheme.{key}"), title, help))
        };
        let buffer = self.switch_at(switch).buffer();
        if let Scheme::CaPfc { xegress, .. } = rule
            && xegress > buffer
        {
            let (xegress, buffer) = (display(xegress), display(buffer));
            let title = format!("xegress ({xegress}) is above the buffer of `{name}` ({buffer})");
            return wrong("xegress", &title, "no egress queue could be congested: write less");
        }
        let (xoff, highest) = match self.switch.threshold {
            Threshold::Static { .. } | Threshold::EqualShares { .. } => {
                (Some(self.static_xoff(switch)), self.static_xoff(switch))
            }
            Threshold::Dt(_) => (None, self.buffer_pools(switch).shared),
        };
        let what = if xoff.is_some() { "X_off" } else { "the shared pool" };
        match rule {
            Scheme::Gfc { bm, .. } if bm > highest => {
                let (bm, highest) = (display(bm), display(highest));
                let title = format!("bm ({bm}) is above {what} of `{name}` ({highest})");
                return wrong("bm", &title, "the queue would pause before: write less");
            }
            Scheme::GfcOfc { .. } if xoff.is_none() => {
                let help = "its rate is zero at a fixed X_off: write threshold = { kind = \"static\", .. }";
                let title = "GFC as OFC describes it, and thresholds that move";
                return Err(document.error("switch.scheme", title, help));
            }
            Scheme::GfcOfc { b1, stages } if highest.0 < b1.0 + u64::from(stages) => {
                let (b1, highest) = (display(b1), display(highest));
                let title = format!(
                    "b1 ({b1}) and X_off of `{name}` ({highest}) leave no room for {stages} stages"
                );
                return wrong("b1", &title, "write a smaller b1, or fewer stages");
            }
            _ => {}
        }
        let Some(xlow) = rule.xlow() else { return Ok(()) };
        if xlow > highest {
            let title = format!(
                "xlow ({}) is above {what} of `{name}` ({})",
                display(xlow),
                display(highest)
            );
            return wrong("xlow", &title, "PFC alone would pause earlier: write less");
        }
        let Some(xoff) = xoff else { return Ok(()) };
        let xon = Bytes(xoff.0.saturating_sub(self.switch.threshold.xon_offset().0));
        if xlow <= xon {
            let title = format!(
                "xlow ({}) is not above X_on of `{name}` ({})",
                display(xlow),
                display(xon)
            );
            return wrong("xlow", &title, "a queue resumes at X_on: write more, or a lower X_on");
        }
        Ok(())
    }

    /// Returns the highest DT threshold that a queue can meet at a switch, when it holds that much and all other queues
    /// are empty.
    fn highest_threshold(&self, switch: SwitchId) -> Bytes {
        let fabric = self.fabric();
        let wires = fabric.switch(switch).ports.iter().map(|&wire| fabric.wire(wire));
        let alphas = wires.filter_map(|wire| self.switch.threshold.alpha(wire.rate));
        let shared = self.buffer_pools(switch).shared.0;
        // T = alpha x (shared - T).
        let highest = alphas.map(|alpha| alpha.part_beside(shared)).max();
        Bytes(highest.unwrap_or(shared))
    }

    /// Returns warnings about a rule that is probably a mistake.
    pub(crate) fn warnings_of_pause_rule(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.warning_of_an_idle_rule().into_iter().collect();
        warnings.extend(self.warning_of_gfc());
        warnings
    }

    /// Returns a warning if the rule's threshold is above every DT threshold, so that the rule has no effect.
    fn warning_of_an_idle_rule(&self) -> Option<String> {
        let rule = self.switch.scheme;
        if !matches!(self.switch.threshold, Threshold::Dt(_)) {
            return None;
        }
        let (key, bytes) = match rule {
            Scheme::Gfc { b1, .. } => ("b1", b1),
            _ => ("xlow", rule.xlow()?),
        };
        let switches = (0..self.fabric().switch_count()).map(SwitchId);
        let highest = switches.map(|switch| self.highest_threshold(switch)).max()?;
        (bytes > highest).then(|| {
            format!(
                "`switch.scheme.{key}` ({}) is above the highest X_off that DT gives ({}), so that PFC alone pauses: write \
                 less, or a larger alpha",
                display(bytes),
                display(highest)
            )
        })
    }

    fn warning_of_gfc(&self) -> Option<String> {
        let Scheme::Gfc { b1, bm, .. } = self.switch.scheme else { return None };
        let frame = self.longest_frame().0 + self.frame_time().overhead;
        // Bytes in flight during tau: a frame that blocks the message, a frame that has just begun at the neighbour,
        // and the wire.
        let in_flight = |rate: BitsPerSecond, delay: Picos| {
            2 * frame + rate.bytes_in(Picos(delay.0.saturating_mul(2))).0
        };
        let wires = self.fabric().wires().iter();
        let most = wires.map(|wire| 2 * in_flight(wire.rate, wire.delay)).max().unwrap_or(0);
        if b1.0 + most <= bm.0 {
            return None;
        }
        Some(format!(
            "a queue may pass GFC's bm ({}), because its neighbour sends up to {} until its stages have slowed it down: \
             write a `switch.scheme.b1` of {} or less, if there is room for it",
            display(bm),
            display(Bytes(most)),
            display(Bytes(bm.0.saturating_sub(most)))
        ))
    }
}
