//! Settings of SPFC.

use super::state::StateLine;
use crate::policy::Policy;
use crate::scheme::Configure;
use crate::scheme::victims::Circuits;
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

/// Ports or queues, which have a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum StateOf {
    /// Each ingress port, as in the paper.
    #[default]
    Port,
    /// Each ingress queue: the lossless priorities of a port have separate states.
    Queue,
}

/// Options of the policy: constants of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Owner of a state.
    pub per: StateOf,
}

const PER_QUEUE: u32 = 1;

impl Options {
    /// Options for each program.
    pub const EVERY: [Self; 2] = [Self { per: StateOf::Port }, Self { per: StateOf::Queue }];

    /// Encodes the options for [`Policy::options`].
    pub const fn to_bits(self) -> u32 {
        match self.per {
            StateOf::Port => 0,
            StateOf::Queue => PER_QUEUE,
        }
    }

    /// Returns the options of a policy.
    #[inline(always)]
    pub const fn from_policy(policy: Policy) -> Self {
        let per = if policy.options & PER_QUEUE == 0 { StateOf::Port } else { StateOf::Queue };
        Self { per }
    }

    /// Position of the circuits, which are the scheme's whole state.
    #[inline(always)]
    pub const fn circuits(self) -> Circuits {
        Circuits { per: self.per, first_line: 0 }
    }
}

/// Min bytes that must depart in a period for the victim state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The fraction 1 / `K_spfc` of the bytes that the port can send in a period (Section V-B). `K_spfc` is not zero.
    Part {
        /// `K_spfc`, numerator.
        numerator: u32,
        /// `K_spfc`, denominator.
        denominator: u32,
    },
    /// This number of bytes at every port.
    Bytes(Bytes),
}

/// All settings of a switch's SPFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Options that are constants of the program.
    pub options: Options,
    /// TC, above zero.
    pub period: Nanos,
    /// The counting number.
    pub threshold: Threshold,
    /// Bytes of a frame on the wire beyond its length; less than 4 GiB.
    pub overhead: Bytes,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            options: Options::default(),
            period: Nanos(80_000),
            threshold: Threshold::Part { numerator: 5, denominator: 1 },
            overhead: Bytes(24),
        }
    }
}

impl Settings {
    /// Returns the counting number of a port with this rate, at least 1. A count that reaches it
    /// shows a departure rate of at least C / `K_spfc`.
    pub fn counting_number(&self, rate: BitsPerSecond) -> Bytes {
        match self.threshold {
            Threshold::Bytes(bytes) => bytes.max(Bytes(1)),
            Threshold::Part { numerator, denominator } => {
                let Bytes(most) = rate.bytes_in(Picos::from_nanos(self.period));
                let part = u128::from(most) * u128::from(denominator);
                let part = part.div_ceil(u128::from(numerator.max(1)));
                Bytes(u64::try_from(part).unwrap_or(u64::MAX).max(1))
            }
        }
    }

    /// Writes the settings into the circuit of a port with this rate, or of a queue of such a port.
    pub fn write_line(&self, line: &StateLine, rate: BitsPerSecond) {
        let overhead = u32::try_from(self.overhead.0).expect("a frame's overhead is a few bytes");
        line.period_ns.store(self.period.0);
        line.victim_bytes.store(self.counting_number(rate).0);
        line.overhead_bytes.store(overhead);
    }
}

impl Configure for Settings {
    fn every() -> impl Iterator<Item = Self> {
        Options::EVERY.into_iter().map(|options| Self { options, ..Self::default() })
    }

    fn option_bits(&self) -> u32 {
        self.options.to_bits()
    }

    /// Writes the settings into the scheme's state, for ports of these rates.
    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        for (port, (rate, _)) in (0..).zip(ports) {
            self.options.circuits().write(tables, port, rate, self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};

    #[test]
    fn options_are_what_they_were_made_of() {
        let plain = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
        for options in Options::EVERY {
            let policy = plain.with_scheme(SchemeKind::Spfc, options.to_bits());
            assert_eq!(Options::from_policy(policy), options);
        }
    }

    /// Section V-B.
    #[test]
    fn the_counting_number_is_the_ports_own() {
        let part = |numerator, denominator| Threshold::Part { numerator, denominator };
        for (gigabits, microseconds, threshold, expected) in [
            (100, 80, part(5, 1), 200_000),
            (400, 80, part(5, 1), 800_000),
            (10, 80, part(5, 1), 20_000),
            (100, 80, part(9, 2), 222_223),
            (100, 80, part(u32::MAX, 1), 1),
            (100, 80, Threshold::Bytes(Bytes(7)), 7),
            (100, 80, Threshold::Bytes(Bytes(0)), 1),
        ] {
            let period = Nanos(microseconds * 1000);
            let settings = Settings { period, threshold, ..Settings::default() };
            let rate = BitsPerSecond(gigabits * 1_000_000_000);
            let number = settings.counting_number(rate);
            assert_eq!(number, Bytes(expected), "{gigabits} Gbit/s, {threshold:?}");
        }
    }
}
