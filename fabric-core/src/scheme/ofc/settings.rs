//! Settings of OFC.

use super::state::{self, ENTRIES_IN_A_LINE};
use crate::policy::Policy;
use crate::priority::{self, Priority};
use crate::scheme::Configure;
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes};

/// Options of the policy: constants of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bit n: flows of priority n are paused. Each such priority is lossless and has three queues.
    pub priorities: u8,
    /// Size of an egress port's part of the flow table, in lines of four entries; not zero.
    pub flow_lines: u16,
}

const PRIORITIES_AT: u32 = 16;

impl Options {
    /// Max entries of the flow table for one egress port. All are scanned at the end of a rotation
    /// that flows have waited for.
    pub const MAX_ENTRIES: u32 = ENTRIES_IN_A_LINE * 1024;

    /// Creates options with at least `entries` table entries per egress port. `None` if `entries` is 0 or too large.
    pub fn new(priorities: u8, entries: u32) -> Option<Self> {
        let lines = u16::try_from(entries.div_ceil(ENTRIES_IN_A_LINE)).ok()?;
        ((1..=Self::MAX_ENTRIES).contains(&entries))
            .then_some(Self { priorities, flow_lines: lines })
    }

    /// Number of entries of the flow table for one egress port.
    pub const fn entries(self) -> u32 {
        self.flow_lines as u32 * ENTRIES_IN_A_LINE
    }

    /// Options for each program: tables that are soon full, and larger tables.
    pub const EVERY: [Self; 2] =
        [Self { priorities: 1 << 3, flow_lines: 4 }, Self { priorities: 1 << 3, flow_lines: 16 }];

    /// Returns the options of a policy.
    #[inline(always)]
    pub const fn from_policy(policy: Policy) -> Self {
        Self::from_bits(policy.options)
    }

    /// Decodes the output of [`to_bits`](Self::to_bits).
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self { priorities: (bits >> PRIORITIES_AT) as u8, flow_lines: bits as u16 }
    }

    /// Encodes the options for [`Policy::options`].
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.flow_lines as u32 | (self.priorities as u32) << PRIORITIES_AT
    }

    /// True if flows of a priority are paused.
    #[inline(always)]
    pub const fn covers(self, priority: Priority) -> bool {
        priority.is_in(self.priorities)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::EVERY[0]
    }
}

/// All settings of a switch's OFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Options that are constants of the program.
    pub options: Options,
    /// `X_off^c`: length of the ingress queue at which flows are paused, between `X_on` and `X_off` (Section III-C).
    pub congested: Bytes,
}

impl Configure for Settings {
    fn every() -> impl Iterator<Item = Self> {
        Options::EVERY.into_iter().map(|options| Self { options, ..Self::default() })
    }

    fn option_bits(&self) -> u32 {
        self.options.to_bits()
    }

    /// Writes the settings into the scheme's state, without any paused flows. The tables must be configured.
    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        const ROOM: &str = "the tables have room for the scheme's state";
        let config = tables.config().expect("the tables are configured");
        state::settings(tables).expect(ROOM).congested_bytes.store(self.congested.0);
        for (number, _) in (0..).zip(ports) {
            let port = state::port(tables, number).expect(ROOM);
            for priority in priority::in_mask(self.options.priorities) {
                let class = state::class(tables, config.ports, number, priority).expect(ROOM);
                class.show(port, config.queues_of(priority));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};

    #[test]
    fn options_are_what_they_were_made_of() {
        let plain = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
        for (entries, lines) in [(1, 1), (4, 1), (5, 2), (4096, 1024)] {
            let options = Options::new(0b1010_0001, entries).unwrap();
            assert_eq!((options.flow_lines, options.entries()), (lines, u32::from(lines) * 4));
            let policy = plain.with_scheme(SchemeKind::Ofc, options.to_bits());
            assert_eq!(Options::from_policy(policy), options);
        }
        for entries in [0, Options::MAX_ENTRIES + 1, u32::MAX] {
            assert_eq!(Options::new(1, entries), None);
        }
    }
}
