//! Settings of the buffer management.

use super::congestion::Congestion;
use super::flow_table::{FLOWS_IN_A_LINE, FLOWS_IN_A_SET};
use super::state::{self, WHOLE_RATE};
use super::{OPTION_CODEL, intelligent};
use crate::map_abi::PRIORITIES;
use crate::policy::{LossyKind, Policy};
use crate::priority::{self, Priority};
use crate::queue::{QueueId, places};
use crate::tables::Tables;
use units::{Bytes, Nanos};

/// Max alpha.
pub const MAX_ALPHA: u32 = 1 << 16;

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

/// Table in which a switch counts the bytes and packets of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTable {
    /// Max number of flows: a power of two, at least [`FLOWS_IN_A_SET`].
    pub flows: u32,
    /// Silence after which a flow's counts start again from zero.
    pub idle: Nanos,
}

impl FlowTable {
    /// 4096 flows and 5 ms. The 5 ms are from the simulator of ABM's authors.
    pub const DEFAULT: Self = Self { flows: 4096, idle: Nanos(5_000_000) };
}

/// Owner of a fair share in IB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairShares {
    /// All flows of an egress queue together, as in the simulator of ABM's authors.
    Queues,
    /// Each elephant: a flow that has sent this number of bytes since it was last silent, as in
    /// Cisco's switches. Packets of other flows are not dropped.
    Elephants(Bytes),
}

/// Approximate fair dropping of IB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairDropping {
    /// Owner of a fair share.
    pub shares: FairShares,
    /// Length of a window, above zero.
    pub window: Nanos,
    /// Factor of a window's bytes before they are compared with the fair share.
    pub windows: u32,
    /// `M_fair` before the first window.
    pub first_share: Bytes,
    /// Target of the queue length, `Q_ref`, below 4 GiB.
    pub desired: Bytes,
    /// Decrease of `M_fair` for each byte of the queue above `Q_ref` now.
    pub fall: Ratio,
    /// Increase of `M_fair` for each byte of the queue above `Q_ref` one window ago.
    pub rise: Ratio,
    /// Queue length up to which no packet is dropped, below 4 GiB.
    pub least_bytes: Bytes,
}

impl FairDropping {
    /// Values of the simulator of ABM's authors, for ports of 10 Gbit/s.
    pub const DEFAULT: Self = Self {
        shares: FairShares::Queues,
        window: Nanos(50_000),
        windows: 15,
        first_share: Bytes(4_000_000),
        desired: Bytes(100_000),
        fall: Ratio { numerator: 18, denominator: 10 },
        rise: Ratio { numerator: 17, denominator: 10 },
        least_bytes: Bytes(150 << 10),
    };
}

/// Dynamic packet prioritisation of IB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prioritisation {
    /// Number of prioritised packets of a flow since it was last silent.
    pub packets: u32,
    /// The lossy priority whose queue and alpha these packets use.
    pub priority: Priority,
}

/// [CoDel](super::codel) at departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDel {
    /// Target sojourn time.
    pub target: Nanos,
    /// Max time above the target before a drop, above zero and below 2^40 ns.
    pub interval: Nanos,
}

/// A scheme and its specific settings.
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
        /// Definition of a congested queue.
        congestion: Congestion,
        /// `MinBytes`: queue length below which no packet is dropped at departure.
        least_bytes: Bytes,
    },
    /// [FAB](super::flow_aware).
    FlowAware {
        /// Bytes that a flow sends until it is no longer short.
        short_bytes: Bytes,
        /// Table in which flows are counted.
        flows: FlowTable,
    },
    /// [IB](super::intelligent). Equal to DT without `fair_dropping` and `prioritisation`.
    Intelligent {
        /// Approximate fair dropping (AFD).
        fair_dropping: Option<FairDropping>,
        /// Dynamic packet prioritisation (DPP).
        prioritisation: Option<Prioritisation>,
        /// Table in which flows are counted, if either option needs it.
        flows: FlowTable,
    },
}

impl Kind {
    /// One kind for each program that can be built.
    pub const EVERY: [Self; 10] = [
        Self::DynamicThreshold,
        Self::CompleteSharing,
        Self::Active(Congestion::OfThreshold(Ratio { numerator: 9, denominator: 10 })),
        Self::Bshare {
            congestion: Congestion::OfThreshold(Ratio { numerator: 9, denominator: 10 }),
            least_bytes: Bytes(0),
        },
        Self::FlowAware { short_bytes: Bytes(21_000), flows: FlowTable::DEFAULT },
        Self::intelligent(Some(FairShares::Queues), false),
        Self::intelligent(Some(FairShares::Elephants(Bytes(1_048_555))), false),
        Self::intelligent(Some(FairShares::Queues), true),
        Self::intelligent(Some(FairShares::Elephants(Bytes(1_048_555))), true),
        Self::intelligent(None, true),
    ];

    /// IB with priority 0 for the first 72 packets of flows, if `prioritises`.
    const fn intelligent(shares: Option<FairShares>, prioritises: bool) -> Self {
        let fair_dropping = match shares {
            Some(shares) => Some(FairDropping { shares, ..FairDropping::DEFAULT }),
            None => None,
        };
        let first = Prioritisation { packets: 72, priority: Priority::new(0) };
        let prioritisation = if prioritises { Some(first) } else { None };
        Self::Intelligent { fair_dropping, prioritisation, flows: FlowTable::DEFAULT }
    }

    /// Returns the options of the policy.
    const fn options(&self) -> u32 {
        let Self::Intelligent { fair_dropping, prioritisation, .. } = self else { return 0 };
        let fair = match fair_dropping {
            None => 0,
            Some(FairDropping { shares: FairShares::Queues, .. }) => {
                intelligent::OPTION_FAIR_QUEUES
            }
            Some(FairDropping { shares: FairShares::Elephants(_), .. }) => {
                intelligent::OPTION_FAIR_FLOWS
            }
        };
        let first = if prioritisation.is_some() { intelligent::OPTION_PRIORITISES } else { 0 };
        fair | first
    }

    /// Returns the flow table, if the scheme uses one.
    pub const fn flow_table(&self) -> Option<FlowTable> {
        match self {
            Self::FlowAware { flows, .. } => Some(*flows),
            Self::Intelligent { flows, .. }
                if self.options() & intelligent::OPTIONS_OF_FLOWS != 0 =>
            {
                Some(*flows)
            }
            _ => None,
        }
    }
}

/// Declares the kinds' names in a policy.
macro_rules! names {
    ([$($number:literal = $module:ident::$kind:ident,)+]) => {
        impl Kind {
            const fn name(&self) -> LossyKind {
                match self {
                    $(Self::$kind { .. } => LossyKind::$kind,)+
                }
            }
        }
    };
}

managements!(names);

/// All settings of a switch's buffer management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The scheme.
    pub kind: Kind,
    /// alpha of each priority, at most [`MAX_ALPHA`].
    pub alphas: [Ratio; PRIORITIES],
    /// alpha for packets at the start of their flow: of the first round trip in ABM and BSHARE, of a short flow in FAB.
    pub first_alphas: [Ratio; PRIORITIES],
    /// Interval at which congested queues are counted and rates are measured. `None` for schemes that need neither.
    pub period: Option<Nanos>,
    /// CoDel on top of the scheme.
    pub codel: Option<CoDel>,
}

impl Default for Settings {
    fn default() -> Self {
        let alphas = [Ratio::ONE; PRIORITIES];
        Self { kind: Kind::default(), alphas, first_alphas: alphas, period: None, codel: None }
    }
}

impl Settings {
    /// Default settings with each kind of [`Kind::EVERY`].
    pub fn every() -> impl Iterator<Item = Self> {
        Kind::EVERY.into_iter().map(|kind| Self { kind, ..Self::default() })
    }

    /// Number of lines of the flow table; 0 without a table.
    pub const fn flow_lines(&self) -> u32 {
        match self.kind.flow_table() {
            Some(FlowTable { flows, .. }) => flows / FLOWS_IN_A_LINE,
            None => 0,
        }
    }

    /// Returns `policy` with this buffer management.
    pub const fn select(&self, policy: Policy) -> Policy {
        let codel = if self.codel.is_some() { OPTION_CODEL } else { 0 };
        policy.with_lossy(self.kind.name(), self.kind.options() | codel)
    }

    /// Writes the settings into a switch's tables. Write the switch's configuration first.
    ///
    /// # Panics
    /// If the tables have too few lines, the size of the flow table is invalid, or the priority of
    /// prioritised packets is lossless.
    pub fn write<T: Tables>(&self, tables: &T) {
        self.try_write(tables)
            .expect("the tables have room for the state of the buffer management");
    }

    fn try_write<T: Tables>(&self, tables: &T) -> Option<()> {
        for priority in priority::all() {
            let line = state::priority(tables, priority)?;
            let (alpha, first) =
                (self.alphas[priority.index()], self.first_alphas[priority.index()]);
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
                for row in lossy_queue_rows(tables)? {
                    state::queue(tables, row)?.drain_rate.store(WHOLE_RATE);
                }
            }
            Kind::Bshare { congestion, least_bytes } => {
                congestion.write(parameters);
                parameters.least_bytes.store(least_bytes.0);
            }
            Kind::FlowAware { short_bytes, .. } => {
                state::flow_parameters(tables)?.bytes.store(short_bytes.0);
            }
            Kind::Intelligent { fair_dropping, prioritisation, .. } => {
                if let Some(fair_dropping) = fair_dropping {
                    fair_dropping.write(tables)?;
                }
                if let Some(Prioritisation { packets, priority }) = prioritisation {
                    let is_lossless = tables.config()?.is_lossless(priority);
                    assert!(!is_lossless, "lossy packets join queues of lossy priorities only");
                    let line = state::flow_parameters(tables)?;
                    line.packets.store(packets);
                    line.priority.store(priority.number().into());
                }
            }
        }
        if let Some(flows) = self.kind.flow_table() {
            flows.write(tables)?;
        }
        if let Some(CoDel { target, interval }) = self.codel {
            parameters.codel_target_ns.store(target.0);
            parameters.codel_interval_ns.store(interval.0);
        }
        Some(())
    }
}

/// Returns the rows of all egress queues of lossy priorities.
fn lossy_queue_rows<T: Tables>(tables: &T) -> Option<impl Iterator<Item = u32>> {
    let config = *tables.config()?;
    let queues = priority::in_mask(!config.lossless_classes)
        .flat_map(move |priority| config.queues_of(priority).iter());
    let row = move |queue: QueueId, port| config.queue_row(port, queue);
    Some(queues.flat_map(move |queue| (0..config.ports).map(move |port| row(queue, port))))
}

impl FlowTable {
    fn write<T: Tables>(self, tables: &T) -> Option<()> {
        let Self { flows, idle } = self;
        assert!(flows.is_power_of_two() && flows >= FLOWS_IN_A_SET, "a table has whole sets");
        let config = tables.config()?;
        let queue_rows = (places(&config.queues) as u32) << config.port_shift;
        let first = super::lines(queue_rows, 0);
        tables.lossy_line(first + flows / FLOWS_IN_A_LINE - 1)?;
        let line = state::flow_parameters(tables)?;
        line.first_line.store(first);
        line.last_set.store(flows / FLOWS_IN_A_SET - 1);
        line.idle_ns.store(idle.0);
        Some(())
    }
}

impl FairDropping {
    fn write<T: Tables>(self, tables: &T) -> Option<()> {
        let Self { shares, window, windows, first_share, desired, fall, rise, least_bytes } = self;
        let line = state::fair_parameters(tables)?;
        line.window_ns.store(window.0);
        line.windows.store(windows);
        line.desired_bytes.store(desired.0);
        line.least_bytes.store(least_bytes.0);
        for (cells, Ratio { numerator, denominator }) in [(&line.fall, fall), (&line.rise, rise)] {
            cells[0].store(numerator);
            cells[1].store(denominator);
        }
        if let FairShares::Elephants(bytes) = shares {
            state::flow_parameters(tables)?.bytes.store(bytes.0);
        }
        for row in lossy_queue_rows(tables)? {
            state::fair_queue(tables, row)?.share_bytes.store(first_share.0);
        }
        Some(())
    }
}
