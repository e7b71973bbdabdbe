//! The configuration of the buffer management.

use super::congestion::Congestion;
use super::state::{self, WHOLE_RATE};
use crate::map_abi::PRIORITIES;
use crate::policy::{LossyKind, Policy};
use crate::priority;
use crate::tables::Tables;
use units::{Bytes, Nanos};

/// The largest alpha.
pub const LARGEST_ALPHA: u32 = 1 << 16;

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator.
    pub numerator: u32,
    /// Denominator, above zero.
    pub denominator: u32,
}

impl Ratio {
    /// 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };
}

/// A scheme and what it alone needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// [DT](super::dynamic_threshold).
    #[default]
    DynamicThreshold,
    /// [CS](super::complete_sharing).
    CompleteSharing,
    /// [ABM](super::active).
    Active(Congestion),
    /// [BSHARE](super::bshare).
    Bshare {
        /// When a queue is congested.
        congestion: Congestion,
        /// `MinBytes`.
        least_bytes: Bytes,
    },
}

impl Kind {
    /// One of each that a program can be built for.
    pub const EVERY: [Self; 4] = [
        Self::DynamicThreshold,
        Self::CompleteSharing,
        Self::Active(Congestion::OfThreshold(Ratio { numerator: 9, denominator: 10 })),
        Self::Bshare {
            congestion: Congestion::OfThreshold(Ratio { numerator: 9, denominator: 10 }),
            least_bytes: Bytes(0),
        },
    ];

    const fn lossy_kind(&self) -> LossyKind {
        match self {
            Self::DynamicThreshold => LossyKind::DynamicThreshold,
            Self::CompleteSharing => LossyKind::CompleteSharing,
            Self::Active(_) => LossyKind::Active,
            Self::Bshare { .. } => LossyKind::Bshare,
        }
    }
}

/// All settings of a switch's buffer management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The scheme.
    pub kind: Kind,
    /// alpha of each priority, at most [`LARGEST_ALPHA`].
    pub alphas: [Ratio; PRIORITIES],
    /// The same of packets of their flow's first round trip.
    pub first_rtt_alphas: [Ratio; PRIORITIES],
    /// How often congested queues are counted and rates are measured, if they are.
    pub period: Option<Nanos>,
}

impl Default for Settings {
    fn default() -> Self {
        let alphas = [Ratio::ONE; PRIORITIES];
        Self { kind: Kind::default(), alphas, first_rtt_alphas: alphas, period: None }
    }
}

impl Settings {
    /// One of each scheme that a program can be built for.
    pub fn every() -> impl Iterator<Item = Self> {
        Kind::EVERY.into_iter().map(|kind| Self { kind, ..Self::default() })
    }

    /// Lines of the flow table, if the scheme has one.
    pub const fn flow_lines(&self) -> u32 {
        0
    }

    /// `policy` with this buffer management.
    pub const fn select(&self, policy: Policy) -> Policy {
        policy.with_lossy(self.kind.lossy_kind(), 0)
    }

    /// Writes the settings into the tables of a switch, whose configuration is there already.
    pub fn write<T: Tables>(&self, tables: &T) {
        self.try_write(tables)
            .expect("the tables have room for the state of the buffer management");
    }

    fn try_write<T: Tables>(&self, tables: &T) -> Option<()> {
        for priority in priority::all() {
            let line = state::priority(tables, priority)?;
            let (alpha, first) =
                (self.alphas[priority.index()], self.first_rtt_alphas[priority.index()]);
            line.alpha_numerator.store(alpha.numerator);
            line.alpha_denominator.store(alpha.denominator);
            line.first_alpha_numerator.store(first.numerator);
            line.first_alpha_denominator.store(first.denominator);
        }
        let parameters = state::parameters(tables)?;
        match self.kind {
            Kind::DynamicThreshold | Kind::CompleteSharing => {}
            Kind::Active(congestion) => {
                congestion.write(parameters);
                self.begin_at_whole_rate(tables)?;
            }
            Kind::Bshare { congestion, least_bytes } => {
                congestion.write(parameters);
                parameters.least_bytes.store(least_bytes.0);
            }
        }
        Some(())
    }

    fn begin_at_whole_rate<T: Tables>(&self, tables: &T) -> Option<()> {
        let config = tables.config()?;
        for priority in priority::of_mask(!config.lossless_classes) {
            for (port, queue) in config
                .queues_of(priority)
                .iter()
                .flat_map(|queue| (0..config.ports).map(move |port| (port, queue)))
            {
                state::queue(tables, config.queue_row(port, queue))?.drain_rate.store(WHOLE_RATE);
            }
        }
        Some(())
    }
}
