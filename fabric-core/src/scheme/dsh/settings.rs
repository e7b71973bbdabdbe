//! Settings of DSH.

use super::look_up::{fill_logarithms, fill_steps};
use super::{state, victim_ports};
use crate::scheme::{Configure, spfc};
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes, Nanos};

/// Computation of the headroom that a queue needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Estimation {
    /// With look-up tables, as in a switch chip (DSH Algorithm 3).
    #[default]
    Practical,
    /// With a division and a multiplication (DSH Algorithm 2).
    Conceptual,
}

/// Options of the policy: constants of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Form of the headroom estimate.
    pub estimation: Estimation,
    /// True if queues use headroom in the shared pool; false for insurance headroom only.
    pub shared_headroom: bool,
    /// True if ports have the states victim and normal (SPFC).
    pub victims: bool,
}

const CONCEPTUAL: u32 = 1;
const INSURANCE_ALONE: u32 = 2;
const VICTIMS: u32 = 4;

impl Options {
    /// Options for each program.
    pub const EVERY: [Self; 8] = [
        Self::from_bits(0),
        Self::from_bits(CONCEPTUAL),
        Self::from_bits(INSURANCE_ALONE),
        Self::from_bits(CONCEPTUAL | INSURANCE_ALONE),
        Self::from_bits(VICTIMS),
        Self::from_bits(CONCEPTUAL | VICTIMS),
        Self::from_bits(INSURANCE_ALONE | VICTIMS),
        Self::from_bits(CONCEPTUAL | INSURANCE_ALONE | VICTIMS),
    ];

    /// Encodes the options for [`Policy::options`](crate::policy::Policy::options).
    pub const fn to_bits(self) -> u32 {
        let conceptual = matches!(self.estimation, Estimation::Conceptual);
        (if conceptual { CONCEPTUAL } else { 0 })
            | (if self.shared_headroom { 0 } else { INSURANCE_ALONE })
            | (if self.victims { VICTIMS } else { 0 })
    }

    /// Decodes the output of [`to_bits`](Self::to_bits).
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        let conceptual = bits & CONCEPTUAL != 0;
        let estimation = if conceptual { Estimation::Conceptual } else { Estimation::Practical };
        let victims = bits & VICTIMS != 0;
        Self { estimation, shared_headroom: bits & INSURANCE_ALONE == 0, victims }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::from_bits(0)
    }
}

/// All settings of a switch's DSH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Options that are constants of the program.
    pub options: Options,
    /// delta_p: X_poff minus X_pon.
    pub port_xon_offset: Bytes,
    /// window_length in Algorithm 4.
    pub single_queue_window: Nanos,
    /// -log2 of w_g in Eq. 5.
    pub gradient_weight_shift: u8,
    /// -log2 of w_v in Eq. 6.
    pub deviation_weight_shift: u8,
    /// log2 of k in Eq. 7.
    pub deviation_gain_shift: u8,
    /// SPFC's settings of victim ports, if the options enable victims; each port has one state.
    pub spfc: spfc::Settings,
}

impl Configure for Settings {
    fn every() -> impl Iterator<Item = Self> {
        Options::EVERY.into_iter().map(|options| Self { options, ..Self::default() })
    }

    fn option_bits(&self) -> u32 {
        self.options.to_bits()
    }

    /// Writes the settings into the scheme's state, and the look-up tables of ports with these
    /// rates and Phi (the headroom estimated for a queue that grows at line rate).
    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        const ROOM: &str = "the tables have room for the scheme's state";
        let line = state::settings(tables).expect(ROOM);
        line.port_xon_offset_bytes.store(self.port_xon_offset.0);
        line.single_queue_window_ns.store(self.single_queue_window.0);
        line.gradient_weight_shift.store(self.gradient_weight_shift.into());
        line.deviation_weight_shift.store(self.deviation_weight_shift.into());
        line.deviation_gain_shift.store(self.deviation_gain_shift.into());
        fill_logarithms(state::logarithms(tables).expect(ROOM));
        for (port, (rate, phi)) in (0..).zip(ports) {
            fill_steps(state::steps(tables, port).expect(ROOM), rate, phi);
            if self.options.victims {
                let config = tables.config().expect(ROOM);
                victim_ports::circuits(config.ports).write(tables, port, rate, &self.spfc);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_they_were_made_of() {
        for estimation in [Estimation::Practical, Estimation::Conceptual] {
            for (shared_headroom, victims) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let options = Options { estimation, shared_headroom, victims };
                assert_eq!(Options::from_bits(options.to_bits()), options);
                assert!(Options::EVERY.contains(&options), "{options:?}");
            }
        }
        assert_eq!(Options::default().to_bits(), 0);
    }
}
