//! Kinds "capfc" to "g-pfc" of `switch.scheme`: rules by which a lossless ingress queue pauses before it exceeds `X_off` (the
//! PFC family with which OFC is compared), and checks that they share with GFC.

pub use fabric_core::scheme::pfc_family::MeanOf;
use fabric_core::scheme::{SchemeSettings, pfc_family};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::{Bytes, Nanos, Picos};

use super::kind::{Check, Kind};
use super::power_of_two::{RightShift, shift};
use crate::document::Document;
use crate::priority::Priorities;
use crate::quantity::display;
use crate::ratio::Ratio;
use crate::report::ScenarioError;
use crate::{Scenario, Threshold};

/// Maximum horizon, limited by the switch's arithmetic: the change of a queue of 1 GiB times the horizon has 60 bits.
const MAX_HORIZON: Picos = Picos(100_000_000_000);

/// caPFC, as OFC describes it: a fixed threshold of egress queues on top of PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CaPfc {
    /// Bytes from which on an ingress queue pauses for a packet whose egress queue is congested. Above zero; with
    /// fixed thresholds above `xon` and at most `xoff`. OFC's comparable threshold is "68kB", with an `xoff` of
    /// "75kB".
    pub xlow: Bytes,
    /// Bytes from which on an egress queue is congested. Above zero, at most the buffer of each switch.
    pub xegress: Bytes,
}

/// P-PFC, as OFC describes it: the threshold of egress queues is their mean length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PPfcOfc {
    /// Bytes from which on an ingress queue pauses for a packet whose egress queue is at least as long as the mean.
    /// Limits as for "capfc".
    pub xlow: Bytes,
    /// Egress queues of the mean. "all": queues of the packet's priority at all ports of the switch. "non-empty":
    /// queues among these that hold packets. Default "all".
    #[serde(default)]
    pub mean_of: MeanOf,
}

/// P-PFC, after the abstract of its paper. An ingress queue pauses if its growth will take it to `X_off` at the
/// horizon, and resumes if it will have fallen to `X_on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PPfcPredict {
    /// Time of the prediction; above zero, at most "100ms". Use at least the time until a PAUSE takes effect.
    pub horizon: Picos,
    /// Minimum time between measurements of a slope, at least a nanosecond. Queues are measured when packets arrive
    /// or depart. Default "1us".
    #[serde(default = "default_interval")]
    pub interval: Picos,
    /// Weight of the latest slope in its average: "1", "1/2", "1/4" .. "1/64". Default "1".
    #[serde(default = "default_weight")]
    pub weight: RightShift,
}

/// G-PFC, as OFC describes it: low priorities pause first. All its thresholds, including X_off and X_on, apply to
/// the sum of an ingress port's lossless priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct GPfc {
    /// Bytes from which on a port pauses each low priority when one of its packets arrives. Limits as for "capfc".
    pub xlow: Bytes,
    /// Low priorities: one or more of the lossless ones.
    pub low: Priorities,
}

const fn default_interval() -> Picos {
    Picos(1_000_000)
}

fn default_weight() -> RightShift {
    RightShift::within(Ratio::new(1, 1))
}

impl Kind for CaPfc {
    const NAME: &'static str = "caPFC";

    fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        check_lossless(lossless, document)?;
        check_low(self.xlow, document)?;
        let help = "every egress queue would be congested: write a size such as \"68kB\"";
        check_some("xegress", self.xegress, help, document)
    }

    fn check_at(&self, scenario: &Scenario, switch: SwitchId, document: &Document<'_>) -> Check {
        let buffer = scenario.switch_at(switch).buffer();
        if self.xegress > buffer {
            let (xegress, buffer) = (display(self.xegress), display(buffer));
            let name = &scenario.fabric().switch(switch).name;
            let title = format!("xegress ({xegress}) is above the buffer of `{name}` ({buffer})");
            let help = "no egress queue could be congested: write less";
            return Err(wrong("xegress", &title, help, document));
        }
        check_xlow(self.xlow, scenario, switch, document)
    }

    fn warnings(&self, scenario: &Scenario) -> Vec<String> {
        warning_of_an_idle_rule("xlow", self.xlow, scenario).into_iter().collect()
    }

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        let Self { xlow: low, xegress: egress } = *self;
        SchemeSettings::PfcFamily(pfc_family::Settings::CongestionAware { low, egress })
    }
}

impl Kind for PPfcOfc {
    const NAME: &'static str = "P-PFC";

    fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        check_lossless(lossless, document)?;
        check_low(self.xlow, document)
    }

    fn check_at(&self, scenario: &Scenario, switch: SwitchId, document: &Document<'_>) -> Check {
        check_xlow(self.xlow, scenario, switch, document)
    }

    fn warnings(&self, scenario: &Scenario) -> Vec<String> {
        warning_of_an_idle_rule("xlow", self.xlow, scenario).into_iter().collect()
    }

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        let Self { xlow: low, mean_of: of } = *self;
        SchemeSettings::PfcFamily(pfc_family::Settings::MeanOfEgress { low, of })
    }
}

impl Kind for PPfcPredict {
    const NAME: &'static str = "P-PFC";

    fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        check_lossless(lossless, document)?;
        let Self { horizon, interval, .. } = *self;
        if horizon < Picos::from_nanos(Nanos(1)) || horizon > MAX_HORIZON {
            let title = format!("a horizon of {}", display(horizon));
            let help = "write a nanosecond to \"100ms\"; without one, write kind = \"pfc\"";
            return Err(wrong("horizon", &title, help, document));
        }
        if interval < Picos::from_nanos(Nanos(1)) {
            let help = "a switch counts nanoseconds: write a time such as \"1us\"";
            return Err(wrong("interval", "an interval of less than a nanosecond", help, document));
        }
        Ok(())
    }

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        SchemeSettings::PfcFamily(pfc_family::Settings::Predictive {
            horizon: self.horizon.to_nanos_ceil(),
            interval: self.interval.to_nanos_ceil(),
            weight_shift: shift(self.weight.get()),
        })
    }
}

impl Kind for GPfc {
    const NAME: &'static str = "G-PFC";

    fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        check_lossless(lossless, document)?;
        let help = "name one or more of the lossless priorities";
        if self.low.count() == 0 {
            return Err(wrong("low", "no low priority", help, document));
        }
        if let Some(lossy) = self.low.iter().find(|&it| !lossless.contains(it)) {
            let title = format!("priority {lossy} is not lossless, so nothing pauses it");
            return Err(wrong("low", &title, help, document));
        }
        check_low(self.xlow, document)
    }

    fn check_at(&self, scenario: &Scenario, switch: SwitchId, document: &Document<'_>) -> Check {
        check_xlow(self.xlow, scenario, switch, document)
    }

    fn warnings(&self, scenario: &Scenario) -> Vec<String> {
        warning_of_an_idle_rule("xlow", self.xlow, scenario).into_iter().collect()
    }

    fn settings(&self, _: &Scenario, _: SwitchId) -> SchemeSettings {
        let (low, classes) = (self.xlow, self.low.0);
        SchemeSettings::PfcFamily(pfc_family::Settings::PriorityAware { low, classes })
    }

    fn thresholds_are_of_ports(&self) -> bool {
        true
    }
}

pub(super) fn wrong(key: &str, title: &str, help: &str, document: &Document<'_>) -> ScenarioError {
    document.error(&format!("switch.scheme.{key}"), title, help)
}

/// Refuses a rule if no priority is lossless.
pub(super) fn check_lossless(lossless: Priorities, document: &Document<'_>) -> Check {
    if lossless.count() == 0 {
        let help = "only lossless priorities pause: name some in `switch.lossless`, or write another scheme";
        let title = "a rule for pauses, and no lossless priority";
        return Err(document.error("switch.scheme", title, help));
    }
    Ok(())
}

/// Refuses a threshold of no bytes.
pub(super) fn check_some(key: &str, size: Bytes, help: &str, document: &Document<'_>) -> Check {
    match size {
        Bytes(0) => Err(wrong(key, "a threshold of no bytes", help, document)),
        _ => Ok(()),
    }
}

fn check_low(xlow: Bytes, document: &Document<'_>) -> Check {
    let help = "a queue would never resume: write a size between `xon` and `xoff`";
    check_some("xlow", xlow, help, document)
}

/// The most bytes at which a queue of a switch pauses under PFC.
pub(super) struct Limit {
    /// `X_off`, if it is fixed.
    pub xoff: Option<Bytes>,
    /// `X_off`, or the shared pool.
    pub highest: Bytes,
}

impl Limit {
    /// Returns the limit of a switch.
    pub fn new(scenario: &Scenario, switch: SwitchId) -> Self {
        let xoff = match scenario.switch.threshold {
            Threshold::Static { .. } | Threshold::EqualShares { .. } => {
                Some(scenario.static_xoff(switch))
            }
            Threshold::Dt(_) => None,
        };
        Self { xoff, highest: xoff.unwrap_or_else(|| scenario.buffer_pools(switch).shared) }
    }

    /// Returns the name of `highest`.
    pub const fn name(&self) -> &'static str {
        if self.xoff.is_some() { "X_off" } else { "the shared pool" }
    }
}

/// Checks `X_low` against the thresholds of a switch.
fn check_xlow(
    xlow: Bytes,
    scenario: &Scenario,
    switch: SwitchId,
    document: &Document<'_>,
) -> Check {
    let name = &scenario.fabric().switch(switch).name;
    let limit = Limit::new(scenario, switch);
    if xlow > limit.highest {
        let title = format!(
            "xlow ({}) is above {} of `{name}` ({})",
            display(xlow),
            limit.name(),
            display(limit.highest)
        );
        let help = "PFC alone would pause earlier: write less";
        return Err(wrong("xlow", &title, help, document));
    }
    let Some(xoff) = limit.xoff else { return Ok(()) };
    let xon = Bytes(xoff.0.saturating_sub(scenario.switch.threshold.xon_offset().0));
    if xlow <= xon {
        let title =
            format!("xlow ({}) is not above X_on of `{name}` ({})", display(xlow), display(xon));
        let help = "a queue resumes at X_on: write more, or a lower X_on";
        return Err(wrong("xlow", &title, help, document));
    }
    Ok(())
}

/// Returns the highest DT threshold that a queue can meet at a switch, when it holds that much and all other queues are
/// empty.
fn highest_threshold(scenario: &Scenario, switch: SwitchId) -> Bytes {
    let fabric = scenario.fabric();
    let wires = fabric.switch(switch).ports.iter().map(|&wire| fabric.wire(wire));
    let alphas = wires.filter_map(|wire| scenario.switch.threshold.alpha(wire.rate));
    let shared = scenario.buffer_pools(switch).shared.0;
    // T = alpha x (shared - T).
    let highest = alphas.map(|alpha| alpha.part_beside(shared)).max();
    Bytes(highest.unwrap_or(shared))
}

/// Returns a warning if the rule's threshold is above every DT threshold, so that the rule has no effect.
pub(super) fn warning_of_an_idle_rule(
    key: &str,
    bytes: Bytes,
    scenario: &Scenario,
) -> Option<String> {
    if !matches!(scenario.switch.threshold, Threshold::Dt(_)) {
        return None;
    }
    let switches = (0..scenario.fabric().switch_count()).map(SwitchId);
    let highest = switches.map(|switch| highest_threshold(scenario, switch)).max()?;
    (bytes > highest).then(|| {
        format!(
            "`switch.scheme.{key}` ({}) is above the highest X_off that DT gives ({}), so that PFC alone pauses: write \
             less, or a larger alpha",
            display(bytes),
            display(highest)
        )
    })
}
