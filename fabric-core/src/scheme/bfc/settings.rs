//! Settings of BFC.

use super::state::{self, ENTRIES_IN_A_LINE};
use crate::frame::Ipv4Fields;
use crate::policy::Policy;
use crate::priority::Priority;
use crate::queue::MAX_DATA_QUEUES;
use crate::scheme::Configure;
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

/// Rule that assigns one of a priority's queues to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Assignment {
    /// An empty queue if one exists, kept while the flow has packets in the switch.
    // Section 3.3.1.
    #[default]
    Dynamic,
    /// The queue selected by the flow's hash.
    // Section 3.2, Appendix A.10.
    Stochastic,
}

/// Options of the policy: constants of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Choice of a flow's queue.
    pub assignment: Assignment,
    /// Bit n: queues of priority n can be paused.
    pub priorities: u8,
    /// True if only a part of the packets is counted.
    pub samples: bool,
    /// True if the last queue of each priority is reserved for labelled incasts (Appendix A.7).
    pub incast_queue: bool,
    /// Size of an egress port's part of the flow table, in lines of four entries; not zero.
    pub flow_lines: u16,
    /// True if the state includes a table of turns without backpressure (Appendix B).
    pub elides: bool,
}

const STOCHASTIC: u32 = 1;
const SAMPLES: u32 = 1 << 2;
const INCAST_QUEUE: u32 = 1 << 3;
const ELIDES: u32 = 1 << 1;
const PRIORITIES_AT: u32 = 8;
const FLOW_LINES_AT: u32 = 16;

impl Options {
    /// Max entries of the flow table for one egress port.
    pub const MAX_ENTRIES: u32 = ENTRIES_IN_A_LINE * u16::MAX as u32;

    /// Creates options with at least `entries` entries of the flow table for each egress port, and
    /// backpressure at all turns. `None` if `entries` is 0 or too large.
    pub fn new(assignment: Assignment, priorities: u8, entries: u32) -> Option<Self> {
        let lines = u16::try_from(entries.div_ceil(ENTRIES_IN_A_LINE)).ok()?;
        let plain = Self { assignment, priorities, flow_lines: lines, ..Self::PLAIN };
        (lines > 0).then_some(plain)
    }

    const PLAIN: Self = Self {
        assignment: Assignment::Dynamic,
        priorities: 1 << 3,
        samples: false,
        incast_queue: false,
        flow_lines: 8,
        elides: false,
    };

    /// Options for each program: each option on and off.
    pub const EVERY: [Self; 3] = [
        Self::PLAIN,
        Self { assignment: Assignment::Stochastic, flow_lines: 1, ..Self::PLAIN },
        Self { samples: true, incast_queue: true, elides: true, ..Self::PLAIN },
    ];

    /// Returns the options of a policy.
    #[inline(always)]
    pub const fn from_policy(policy: Policy) -> Self {
        let bits = policy.options;
        let stochastic = bits & STOCHASTIC != 0;
        Self {
            assignment: if stochastic { Assignment::Stochastic } else { Assignment::Dynamic },
            priorities: (bits >> PRIORITIES_AT) as u8,
            samples: bits & SAMPLES != 0,
            incast_queue: bits & INCAST_QUEUE != 0,
            flow_lines: (bits >> FLOW_LINES_AT) as u16,
            elides: bits & ELIDES != 0,
        }
    }

    /// Encodes the options for [`Policy::options`].
    pub const fn to_bits(self) -> u32 {
        let stochastic = matches!(self.assignment, Assignment::Stochastic);
        (if stochastic { STOCHASTIC } else { 0 })
            | (if self.samples { SAMPLES } else { 0 })
            | (if self.incast_queue { INCAST_QUEUE } else { 0 })
            | (if self.elides { ELIDES } else { 0 })
            | (self.priorities as u32) << PRIORITIES_AT
            | (self.flow_lines as u32) << FLOW_LINES_AT
    }

    /// True if queues of a priority can be paused.
    #[inline(always)]
    pub const fn is_backpressured(self, priority: Priority) -> bool {
        priority.is_in(self.priorities)
    }

    /// True if a packet belongs in the queue of labelled incasts.
    #[inline(always)]
    pub const fn is_labelled(self, fields: &Ipv4Fields) -> bool {
        self.incast_queue && fields.is_of_incast()
    }

    /// Number of entries of the flow table for one egress port.
    #[inline(always)]
    pub const fn entries(self) -> u32 {
        self.flow_lines as u32 * ENTRIES_IN_A_LINE
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::EVERY[0]
    }
}

/// All settings of a switch's BFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Options that are constants of the program.
    pub options: Options,
    /// Time that a flow without packets in the switch keeps its queue (Section 3.3.2).
    pub sticky: Nanos,
    /// HRTT in Th: time in which a queue, at its share of the port's rate, drains from the max unpaused length.
    pub threshold: Nanos,
    /// Sampling rate in units of 2^-32, if the options enable sampling.
    pub sampled: u32,
}

impl Configure for Settings {
    fn every() -> impl Iterator<Item = Self> {
        Options::EVERY.into_iter().map(|options| Self { options, ..Self::default() })
    }

    fn option_bits(&self) -> u32 {
        self.options.to_bits()
    }

    /// Writes the settings into the scheme's state, and Th by number of active queues for ports of
    /// these rates (Section 3.3.2).
    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        const ROOM: &str = "the tables have room for the scheme's state";
        let line = state::settings(tables).expect(ROOM);
        line.sticky_ns.store(self.sticky.0);
        line.sampled.store(self.sampled.into());
        for (port, (rate, _)) in (0..).zip(ports) {
            let Bytes(product) = rate.bytes_in(Picos::from_nanos(self.threshold));
            for active in 1..=MAX_DATA_QUEUES {
                let bytes = product / active as u64;
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                state::threshold(tables, port, active as u32).expect(ROOM).store(bytes);
            }
        }
    }

    /// Writes the turns of the switch, as (ingress, egress) ports, that trigger no backpressure (Appendix B). The
    /// tables must be configured. Does nothing if the options have no table of turns.
    fn elide<T: Tables>(&self, tables: &T, turns: impl IntoIterator<Item = (u32, u32)>) {
        let Self { options, .. } = *self;
        if !options.elides {
            return;
        }
        let ports = tables.config().expect("the tables are configured").ports;
        for (ingress, egress) in turns {
            assert!(ingress < ports && egress < ports, "a turn is between two ports of the switch");
            let elided = state::elided(tables, options, ports, ingress);
            elided.expect("the tables have room for the scheme's state").insert(egress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};

    #[test]
    fn options_are_what_they_were_made_of() {
        for assignment in [Assignment::Dynamic, Assignment::Stochastic] {
            for (entries, lines) in [(1, 1), (4, 1), (3200, 800), (Options::MAX_ENTRIES, u16::MAX)]
            {
                let options = Options::new(assignment, 0b1010_0001, entries).unwrap();
                assert_eq!(options.flow_lines, lines);
                assert!(options.entries() >= entries);
                for options in [
                    options,
                    Options { samples: true, ..options },
                    Options { incast_queue: true, ..options },
                    Options { elides: true, ..options },
                ] {
                    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
                    let policy = policy.with_scheme(SchemeKind::Bfc, options.to_bits());
                    assert_eq!(Options::from_policy(policy), options);
                }
            }
        }
        for entries in [0, Options::MAX_ENTRIES + 1] {
            assert_eq!(Options::new(Assignment::Dynamic, 1, entries), None);
        }
    }
}
