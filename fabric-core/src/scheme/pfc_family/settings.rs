//! Settings of the PFC family.

use super::state::{self, SettingsLine};
use crate::policy::Policy;
use crate::scheme::Configure;
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes, Nanos};

/// Rule that pauses a queue before it is above `X_off`: a constant of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// caPFC.
    #[default]
    CongestionAware,
    /// P-PFC, as OFC describes it.
    MeanOfEgress,
    /// P-PFC, after its abstract.
    Predictive,
    /// G-PFC.
    PriorityAware,
}

/// Options of the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The rule.
    pub rule: Rule,
}

impl Options {
    /// Options for each program.
    pub const EVERY: [Self; 4] = [
        Self { rule: Rule::CongestionAware },
        Self { rule: Rule::MeanOfEgress },
        Self { rule: Rule::Predictive },
        Self { rule: Rule::PriorityAware },
    ];

    /// Encodes the options for [`Policy::options`].
    pub const fn to_bits(self) -> u32 {
        match self.rule {
            Rule::CongestionAware => 0,
            Rule::MeanOfEgress => 1,
            Rule::Predictive => 2,
            Rule::PriorityAware => 3,
        }
    }

    /// Returns the options of a policy.
    #[inline(always)]
    pub const fn from_policy(policy: Policy) -> Self {
        let rule = match policy.options {
            1 => Rule::MeanOfEgress,
            2 => Rule::Predictive,
            3 => Rule::PriorityAware,
            _ => Rule::CongestionAware,
        };
        Self { rule }
    }
}

/// Egress queues over which a mean is taken.
// They are of the packet's priority, at all ports of the switch. If a priority has several queues at a port, each counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum MeanOf {
    /// All queues.
    #[default]
    All,
    /// Queues that hold packets.
    NonEmpty,
}

/// A rule with its thresholds. `low` is `X_low` of an ingress queue, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settings {
    /// Also pauses from `low` on, for a packet whose egress queue holds at least `egress`.
    CongestionAware {
        /// `X_low`.
        low: Bytes,
        /// `X_egress`.
        egress: Bytes,
    },
    /// Also pauses from `low` on, for a packet whose egress queue is at least as long as the mean.
    MeanOfEgress {
        /// `X_low`.
        low: Bytes,
        /// Queues in the mean.
        of: MeanOf,
    },
    /// Also pauses a queue that grows and whose extrapolated length at the horizon is at least
    /// `X_off`. Resumes a queue whose extrapolated length is at most `X_on`.
    Predictive {
        /// H: time to the horizon, above zero, at most 100 ms.
        horizon: Nanos,
        /// Min time between measurements of a slope, above zero. A queue is measured when packets
        /// arrive or leave.
        interval: Nanos,
        /// -log2 of the weight of the latest slope in its average; at most 6.
        weight_shift: u8,
    },
    /// Also pauses low priorities from `low` on. `low` and `X_off` limit the bytes of all lossless
    /// ingress queues of a port together. Each priority is paused when one of its packets arrives.
    PriorityAware {
        /// `X_low`.
        low: Bytes,
        /// Low priorities, one bit each.
        classes: u8,
    },
}

impl Settings {
    /// Settings of each rule.
    pub const EVERY: [Self; 4] = [
        Self::CongestionAware { low: Bytes(68_000), egress: Bytes(68_000) },
        Self::MeanOfEgress { low: Bytes(68_000), of: MeanOf::All },
        Self::Predictive { horizon: Nanos(2000), interval: Nanos(1000), weight_shift: 0 },
        Self::PriorityAware { low: Bytes(68_000), classes: 1 << 3 },
    ];

    /// Returns the options, which are constants of the program.
    pub const fn options(&self) -> Options {
        let rule = match self {
            Self::CongestionAware { .. } => Rule::CongestionAware,
            Self::MeanOfEgress { .. } => Rule::MeanOfEgress,
            Self::Predictive { .. } => Rule::Predictive,
            Self::PriorityAware { .. } => Rule::PriorityAware,
        };
        Options { rule }
    }

    fn write_line(&self, line: &SettingsLine) {
        match *self {
            Self::CongestionAware { low, egress } => {
                line.low_bytes.store(low.0);
                line.egress_bytes.store(egress.0);
            }
            Self::MeanOfEgress { low, of } => {
                line.low_bytes.store(low.0);
                line.of_non_empty.store(u32::from(of == MeanOf::NonEmpty));
            }
            Self::Predictive { horizon, interval, weight_shift } => {
                line.horizon_ns.store(horizon.0);
                line.interval_ns.store(interval.0);
                line.weight_shift.store(weight_shift.into());
            }
            Self::PriorityAware { low, classes } => {
                line.low_bytes.store(low.0);
                line.low_classes.store(classes.into());
            }
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::EVERY[0]
    }
}

impl Configure for Settings {
    fn every() -> impl Iterator<Item = Self> {
        Self::EVERY.into_iter()
    }

    fn option_bits(&self) -> u32 {
        self.options().to_bits()
    }

    fn write<T: Tables>(&self, tables: &T, _: impl IntoIterator<Item = (BitsPerSecond, Bytes)>) {
        self.write_line(
            state::settings(tables).expect("the tables have room for the scheme's state"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};

    #[test]
    fn options_are_what_they_were_made_of() {
        let plain = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
        for (options, settings) in Options::EVERY.into_iter().zip(Settings::EVERY) {
            let policy = plain.with_scheme(SchemeKind::PfcFamily, options.to_bits());
            assert_eq!(Options::from_policy(policy), options);
            assert_eq!(settings.options(), options);
        }
    }
}
