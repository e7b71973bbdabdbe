//! `switch.lossy`: sharing of a switch's buffer by packets of lossy priorities.
//!
//! # Adding a kind
//!
//! `fabric-core/src/lossy.rs` has the recipe of a buffer management. Its key is a kind of `Lossy` in
//! `lossy/kinds.rs`. Not checked by the compiler: `KEYS` in
//! `tests/src/fabric/drawn/lossy.rs`, docs/lossy.md. Periodic counts (congested queues, drain rates) come from the
//! control plane: `Task::BufferManagement` in a fabric, `standalone/src/switch/counting.rs` in a standalone switch.

mod alphas;
mod checks;
mod codel;
mod congested;
mod flow_table;
mod intelligent;
mod kinds;
mod period;
mod pool;

use fabric_core::lossy;
use units::{Bytes, Picos};

use super::Scenario;
use super::ratio::Ratio;
use alphas::default_alpha;

pub use alphas::AlphaOfPriority;
pub use codel::CoDel;
pub use congested::Congested;
pub use flow_table::FlowTable;
pub use intelligent::{FairDropping, FairShares, Prioritisation};
pub use kinds::{Abm, Bshare, Cs, Dt, Fab, Ib, Lossy};
pub use period::LossyPeriod;
pub use pool::LossyPool;

impl Lossy {
    /// Returns the kind's name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dt(_) => "dt",
            Self::Cs(_) => "cs",
            Self::Abm(_) => "abm",
            Self::Bshare(_) => "bshare",
            Self::Fab(_) => "fab",
            Self::Ib(_) => "ib",
        }
    }

    /// Returns the additional AQM, if any.
    pub const fn codel(&self) -> Option<CoDel> {
        match self {
            Self::Dt(Dt { codel, .. })
            | Self::Cs(Cs { codel, .. })
            | Self::Abm(Abm { codel, .. })
            | Self::Bshare(Bshare { codel, .. })
            | Self::Fab(Fab { codel, .. })
            | Self::Ib(Ib { codel, .. }) => *codel,
        }
    }

    /// Returns the part of the buffer that lossy packets may use.
    pub const fn pool(&self) -> LossyPool {
        match self {
            Self::Dt(Dt { pool, .. })
            | Self::Cs(Cs { pool, .. })
            | Self::Abm(Abm { pool, .. })
            | Self::Bshare(Bshare { pool, .. })
            | Self::Fab(Fab { pool, .. })
            | Self::Ib(Ib { pool, .. }) => *pool,
        }
    }

    /// Returns alpha of all lossy priorities and the exceptions, if the kind has them.
    fn alphas(&self) -> Option<(Ratio, &[AlphaOfPriority])> {
        match self {
            Self::Dt(Dt { alpha, alphas, .. })
            | Self::Abm(Abm { alpha, alphas, .. })
            | Self::Bshare(Bshare { alpha, alphas, .. })
            | Self::Fab(Fab { alpha, alphas, .. })
            | Self::Ib(Ib { alpha, alphas, .. }) => Some((*alpha, alphas)),
            Self::Cs(_) => None,
        }
    }

    /// Returns alpha of each priority, if the kind has it.
    fn alpha_by_priority(&self) -> Option<[Ratio; 8]> {
        let (alpha, exceptions) = self.alphas()?;
        let mut all = [alpha; 8];
        for own in exceptions {
            all[usize::from(own.priority.0)] = own.alpha;
        }
        Some(all)
    }

    /// Returns the period in which congested queues are counted, if they are.
    const fn period(&self) -> Option<LossyPeriod> {
        match self {
            Self::Abm(Abm { period, .. }) | Self::Bshare(Bshare { period, .. }) => Some(*period),
            _ => None,
        }
    }

    /// Returns alpha of packets of their flow's first round trip, if the file gives it.
    const fn first_rtt_alpha(&self) -> Option<Ratio> {
        match self {
            Self::Abm(Abm { first_rtt_alpha, .. })
            | Self::Bshare(Bshare { first_rtt_alpha, .. }) => *first_rtt_alpha,
            _ => None,
        }
    }

    /// Returns alpha of packets at the start of their flow, if it differs.
    const fn first_alpha(&self) -> Option<Ratio> {
        match self {
            Self::Fab(fab) => Some(fab.short_alpha),
            _ => self.first_rtt_alpha(),
        }
    }

    const fn min_bytes(&self) -> Option<Bytes> {
        match self {
            Self::Bshare(bshare) => Some(bshare.min_bytes),
            _ => None,
        }
    }
}

impl Scenario {
    /// Returns the settings of every switch's buffer management.
    pub fn lossy_settings(&self) -> lossy::Settings {
        let lossy = &self.switch.lossy;
        let alphas = lossy.alpha_by_priority().unwrap_or([default_alpha(); 8]);
        let first = lossy.first_alpha();
        let congestion = |congested: &Option<Congested>| {
            congested.expect("a scenario has all defaults").settings()
        };
        let kind = match lossy {
            Lossy::Dt(_) => lossy::Kind::DynamicThreshold,
            Lossy::Cs(_) => lossy::Kind::CompleteSharing,
            Lossy::Abm(abm) => lossy::Kind::Active(congestion(&abm.congested)),
            Lossy::Bshare(bshare) => lossy::Kind::Bshare {
                congestion: congestion(&bshare.congested),
                least_bytes: bshare.min_bytes,
            },
            Lossy::Fab(fab) => lossy::Kind::FlowAware {
                short_bytes: fab.short_bytes,
                flows: fab.flow_table.settings(),
            },
            Lossy::Ib(ib) => lossy::Kind::Intelligent {
                fair_dropping: ib.fair_dropping.settings(),
                prioritisation: ib.prioritisation.map(Prioritisation::settings),
                flows: ib.flow_table.settings(),
            },
        };
        lossy::Settings {
            kind,
            alphas: alphas.map(fraction),
            first_alphas: alphas.map(|alpha| fraction(first.unwrap_or(alpha))),
            period: self.lossy_period().map(Picos::to_nanos_ceil),
            codel: lossy.codel().map(CoDel::settings),
        }
    }

    /// Returns the period in which congested queues are counted, if they are.
    pub fn lossy_period(&self) -> Option<Picos> {
        Some(self.switch.lossy.period()?.at(self.longest_round_trip))
    }

    /// Returns true if a default depends on the longest round trip.
    pub(super) fn counts_each_round_trip(&self) -> bool {
        self.switch.lossy.period() == Some(LossyPeriod::RoundTrip)
    }
}

const fn fraction(ratio: Ratio) -> lossy::Ratio {
    lossy::Ratio { numerator: ratio.numerator, denominator: ratio.denominator }
}
