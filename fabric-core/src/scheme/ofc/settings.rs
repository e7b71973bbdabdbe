//! The configuration of OFC.

use super::state::{self, ENTRIES_IN_A_LINE};
use crate::policy::Policy;
use crate::priority::{self, Priority};
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes};

/// The policy's options: constants of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bit n: flows of priority n are paused. Each is lossless and has three queues.
    pub priorities: u8,
    /// Entries of the flow table that an egress port has, in lines of four; not zero.
    pub flow_lines: u16,
}

const PRIORITIES_AT: u32 = 16;

impl Options {
    /// The most entries of the flow table that an egress port can have: all are looked at when a rotation ends that flows have
    /// waited for.
    pub const MOST_ENTRIES: u32 = ENTRIES_IN_A_LINE * 1024;

    /// A flow table with at least `entries` for each egress port; `None` if there cannot be as many entries, or none.
    pub fn new(priorities: u8, entries: u32) -> Option<Self> {
        let lines = u16::try_from(entries.div_ceil(ENTRIES_IN_A_LINE)).ok()?;
        ((1..=Self::MOST_ENTRIES).contains(&entries))
            .then_some(Self { priorities, flow_lines: lines })
    }

    /// Entries of the flow table that an egress port has.
    pub const fn entries(self) -> u32 {
        self.flow_lines as u32 * ENTRIES_IN_A_LINE
    }

    /// Forms that a program can have: tables that are soon full, and larger ones.
    pub const EVERY: [Self; 2] =
        [Self { priorities: 1 << 3, flow_lines: 4 }, Self { priorities: 1 << 3, flow_lines: 16 }];

    /// Those of a policy.
    #[inline(always)]
    pub const fn of(policy: Policy) -> Self {
        Self::of_bits(policy.options)
    }

    /// The inverse of [`to_bits`](Self::to_bits).
    #[inline(always)]
    pub const fn of_bits(bits: u32) -> Self {
        Self { priorities: (bits >> PRIORITIES_AT) as u8, flow_lines: bits as u16 }
    }

    /// As [`Policy::options`].
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.flow_lines as u32 | (self.priorities as u32) << PRIORITIES_AT
    }

    /// Whether flows of a priority are paused.
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
    /// What is a constant of the program.
    pub options: Options,
    /// `X_off^c`: flows are paused while the ingress queue holds this much; below `X_off`, above `X_on` (Section III-C).
    pub congested: Bytes,
}

impl Settings {
    /// Writes the settings into the scheme's state, in tables that are configured. No flow is paused then.
    pub fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        const ROOM: &str = "the tables have room for the scheme's state";
        let config = tables.config().expect("the tables are configured");
        state::settings(tables).expect(ROOM).congested_bytes.store(self.congested.0);
        for (number, _) in (0..).zip(ports) {
            let port = state::port(tables, number).expect(ROOM);
            for priority in priority::of_mask(self.options.priorities) {
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
            assert_eq!(Options::of(policy), options);
        }
        for entries in [0, Options::MOST_ENTRIES + 1, u32::MAX] {
            assert_eq!(Options::new(1, entries), None);
        }
    }
}
