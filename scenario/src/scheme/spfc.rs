//! Kind "spfc" of `switch.scheme`: Selective-PFC (Huang et al., IEEE/ACM Transactions on Networking, 2024).

pub use fabric_core::scheme::spfc::StateOf;
use fabric_core::scheme::{SchemeSettings, spfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::{BitsPerSecond, Bytes, Picos};

use super::kind::{Check, Kind};
use crate::Scenario;
use crate::document::Document;
use crate::priority::Priorities;
use crate::quantity::{MAX_TIME, display};
use crate::ratio::Ratio;

/// Round trips of the longest path in the default period (Section V-B: "TC >= 4RTT is good enough for most cases").
const ROUND_TRIPS: u64 = 4;
/// Default of `k_spfc`.
const DEFAULT_K_SPFC: Ratio = Ratio::new(5, 1);

/// Selective-PFC (SPFC): DT for normal ports, and the whole shared buffer for victims, which are ports whose
/// packets depart fast. A port that pauses its neighbour is normal until it resumes. Needs `threshold` of kind "dt",
/// whose default alpha is then "2".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Spfc {
    /// Divisor of a port's rate that gives the departure rate of victims. The counting number of a period is rate x
    /// period / `k_spfc`, rounded up to a byte. At least 1. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_spfc: Option<Ratio>,
    /// Counting number for ports of all rates, instead of `k_spfc`. It counts bytes on the wire, including preamble and
    /// gap, of all packets that arrived at the port and depart in a period; with `state_of = "queue"`, only of packets
    /// in the queue's priority. The paper counts packets, all of one length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counting_number: Option<Bytes>,
    /// Period in which departures are counted (TC). The periods of all ports run freely from the run's start on. A port
    /// becomes a victim with the packet that reaches the counting number, and stays one at least to the end of the next
    /// period. Default: four times the round trip of the fabric's longest path, with a longest frame each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Picos>,
    /// Ports or queues, which are victims or normal. "port": an ingress port, as in the paper; a PAUSE of any of its
    /// priorities makes it normal until all have resumed. "queue": each priority of a port separately. Default "port".
    pub state_of: StateOf,
}

/// Rule by which a port is a victim of congestion elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "VictimsKeys")]
pub struct Victims {
    /// As in kind "spfc". Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_spfc: Option<Ratio>,
    /// As in kind "spfc".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counting_number: Option<Bytes>,
    /// As in kind "spfc". Default: four times the round trip of the fabric's longest path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Picos>,
}

impl Spfc {
    /// Returns SPFC for ports that are victims by this rule.
    pub(super) const fn of_ports(victims: Victims) -> Self {
        let Victims { k_spfc, counting_number, period } = victims;
        Self { k_spfc, counting_number, period, state_of: StateOf::Port }
    }
}

impl Kind for Spfc {
    const NAME: &'static str = "SPFC";
    const TABLES: &'static [(&'static str, &'static str)] = &[("port_states", "")];

    fn complete(&mut self, _: Priorities, document: &Document<'_>) -> Check {
        let Self { k_spfc, counting_number, period, .. } = *self;
        let mut victims = Victims { k_spfc, counting_number, period };
        victims.complete(Self::VICTIMS_PATH, document)?;
        self.k_spfc = victims.k_spfc;
        Ok(())
    }

    fn settings(&self, scenario: &Scenario, _: SwitchId) -> SchemeSettings {
        SchemeSettings::Spfc(scenario.spfc_settings(self))
    }

    fn victims(&self) -> Option<Self> {
        Some(*self)
    }
}

impl Victims {
    /// Adds the default of `k_spfc`, and checks the keys of the table at `path`.
    pub(super) fn complete(&mut self, path: &str, document: &Document<'_>) -> Check {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("{path}.{key}"), title, help))
        };
        match (self.k_spfc, self.counting_number) {
            (Some(_), Some(_)) => {
                let help = "write this or `k_spfc`, which makes one for each rate";
                return wrong("counting_number", "two ways to a counting number", help);
            }
            (None, Some(Bytes(0))) => {
                let help = "every port would be a victim: write a size such as \"200kB\"";
                return wrong("counting_number", "a counting number of no bytes", help);
            }
            (Some(k), None) if k.numerator < k.denominator => {
                let help = "no port could send as much, so none would be a victim: write 1 or more";
                return wrong("k_spfc", &format!("a k_spfc of {k}"), help);
            }
            (None, None) => self.k_spfc = Some(DEFAULT_K_SPFC),
            (Some(_), None) | (None, Some(_)) => {}
        }
        if self.period.is_some_and(|period| period < Picos::from_nanos(units::Nanos(1))) {
            let help = "a switch counts nanoseconds: write a time such as \"80us\"";
            return wrong("period", "a period of less than a nanosecond", help);
        }
        Ok(())
    }
}

impl Scenario {
    /// Checks the rule by which ports are victims, if there is one, against other keys.
    pub(super) fn check_victims(&self, document: &Document<'_>) -> Check {
        let Some(spfc) = self.switch.scheme.victims() else { return Ok(()) };
        if self.switch.threshold.dt().is_none() {
            let help = "normal ports have dynamic thresholds: write threshold = { kind = \"dt\" }";
            return Err(document.error("switch.threshold", "SPFC with fixed thresholds", help));
        }
        if spfc.period.is_none() && self.round_trips() > Picos(MAX_TIME) {
            let help = "that is the default, four round trips of the fabric's longest path: write a `period`";
            let title = "SPFC's period is longer than a day";
            return Err(document.error(self.switch.scheme.victims_path(), title, help));
        }
        Ok(())
    }

    /// Returns [`ROUND_TRIPS`] of the longest path; saturates.
    const fn round_trips(&self) -> Picos {
        Picos(self.longest_round_trip.0.saturating_mul(ROUND_TRIPS))
    }

    /// Returns the SPFC settings of a switch.
    pub(super) fn spfc_settings(&self, of: &Spfc) -> spfc::Settings {
        let threshold = match (of.counting_number, of.k_spfc) {
            (Some(bytes), _) => spfc::Threshold::Bytes(bytes),
            (None, k) => {
                let Ratio { numerator, denominator } = k.unwrap_or(DEFAULT_K_SPFC);
                spfc::Threshold::Part { numerator, denominator }
            }
        };
        let period = of.period.unwrap_or_else(|| self.round_trips());
        spfc::Settings {
            options: spfc::Options { per: of.state_of },
            period: period.to_nanos_ceil(),
            threshold,
            overhead: Bytes(self.frame_time().overhead),
        }
    }

    /// Returns warnings about rules by which ports are victims that are probably mistakes.
    pub(super) fn warnings_of_victims(&self) -> Vec<String> {
        let Some(spfc) = self.switch.scheme.victims() else { return Vec::new() };
        let mut warnings = Vec::new();
        let path = self.switch.scheme.victims_path();
        let settings = self.spfc_settings(&spfc);
        let least = self.round_trips().to_nanos();
        let period = Picos::from_nanos(settings.period);
        if settings.period < least {
            warnings.push(format!(
                "SPFC counts departures for {}, which is less than 4 round trips of the longest path ({}): the count then \
                 varies with the bursts of senders; write a longer `{path}.period`, or leave it out",
                display(period),
                display(Picos::from_nanos(least))
            ));
        }
        let most = |rate: BitsPerSecond| rate.bytes_in(period);
        let slow = self
            .shape
            .rates()
            .into_iter()
            .find(|&rate| settings.counting_number(rate) > most(rate));
        if let Some(rate) = slow {
            warnings.push(format!(
                "ports of {} never send {} in {}, so none of them is ever a victim: write a smaller \
                 `{path}.counting_number`, or `k_spfc` instead",
                display(rate),
                display(settings.counting_number(rate)),
                display(period)
            ));
        }
        let rates = || self.shape.rates().into_iter();
        let too_long = |&rate: &BitsPerSecond| {
            settings.counting_number(rate) > rate.bytes_in(period.min(self.duration))
        };
        if slow.is_none()
            && let Some(rate) = rates().find(too_long)
        {
            warnings.push(format!(
                "ports of {} cannot send {} before the run ends at {}, so none of them is ever a victim: write a shorter \
                 `{path}.period`",
                display(rate),
                display(settings.counting_number(rate)),
                display(self.duration)
            ));
        }
        let frame = Bytes(self.longest_frame().0 + self.frame_time().overhead);
        if let Some(rate) = rates().find(|&rate| settings.counting_number(rate) < frame) {
            warnings.push(format!(
                "a port of {2} is a victim with {0} in {1}, which is less than one packet ({3}): each port that packets \
                 depart from is one; write a larger `{path}.counting_number`, or a smaller `k_spfc`",
                display(settings.counting_number(rate)),
                display(period),
                display(rate),
                display(frame)
            ));
        }
        warnings
    }
}
