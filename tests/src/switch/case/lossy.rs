//! Buffer management of lossy packets: every kind, with any settings.

use fabric_core::lossy::congestion::Congestion;
use fabric_core::lossy::{
    CoDel, FairDropping, FairShares, FlowTable, Kind, OPTION_CODEL, Prioritisation, Ratio, Settings,
};
use fabric_core::map_abi::PRIORITIES;
use fabric_core::policy::Policy;
use fabric_core::priority;
use proptest::prelude::*;
use proptest::sample::select;
use units::{Bytes, Nanos};

use crate::switch::State;

/// `plain` with every kind, and every second of them with CoDel.
pub(super) fn policies(plain: Policy) -> impl Iterator<Item = Policy> {
    let codel = CoDel { target: Nanos(0), interval: Nanos(1) };
    let of = move |(number, settings): (usize, Settings)| {
        Settings { codel: (number % 2 == 0).then_some(codel), ..settings }.select(plain)
    };
    Settings::every().enumerate().map(of)
}

/// The kind that a policy is of.
fn kind(policy: Policy) -> Kind {
    let options = policy.lossy_options & !OPTION_CODEL;
    let of = |settings: &Settings| {
        let selected = settings.select(policy);
        (selected.lossy, selected.lossy_options) == (policy.lossy, options)
    };
    Settings::every().find(of).expect("each policy is of a kind").kind
}

/// Settings of any kind.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    alphas: [(Ratio, Ratio); PRIORITIES],
    congestion: Congestion,
    own_pool: u64,
    /// Bytes of a short flow, or of a flow that is not an elephant; `MinBytes`, or bytes of a queue that drops nothing.
    least: (u64, u64),
    flows: FlowTable,
    fair: (FairDropping, u32),
    codel: CoDel,
    /// True if the usual priority is lossy, and queues have long been above CoDel's target.
    is_usual: bool,
}

fn ratio() -> impl Strategy<Value = Ratio> {
    (0..=16u32, 0..=16u32).prop_map(|(numerator, denominator)| Ratio { numerator, denominator })
}

pub(super) fn settings() -> impl Strategy<Value = Drawn> {
    let span = || prop_oneof![1..2000u64, 1..400_000u64];
    let congestion = prop_oneof![
        ratio().prop_map(Congestion::OfThreshold),
        ratio().prop_map(Congestion::OfBuffer),
        (0..40_000u32).prop_map(Congestion::Bytes),
    ];
    let flows = (select(vec![4, 8, 16]), span());
    let flows = flows.prop_map(|(flows, idle)| FlowTable { flows, idle: Nanos(idle) });
    let fair = ((span(), 0..16u32, 0..3000u64), (0..10_000u64, ratio(), ratio()), 0..4u32);
    let fair =
        fair.prop_map(|((window, windows, first_share), (desired, fall, rise), first_packets)| {
            let fair = FairDropping {
                window: Nanos(window),
                windows,
                first_share: Bytes(first_share),
                desired: Bytes(desired),
                fall,
                rise,
                ..FairDropping::DEFAULT
            };
            (fair, first_packets)
        });
    let codel = (prop_oneof![Just(0), 0..100_000u64], span())
        .prop_map(|(target, interval)| CoDel { target: Nanos(target), interval: Nanos(interval) });
    let alphas = proptest::array::uniform8((ratio(), ratio()));
    let own_pool = prop_oneof![Just(0), 0..60_000u64];
    let least = (0..4000u64, prop_oneof![Just(0), 0..30_000u64]);
    let is_usual = proptest::bool::weighted(0.7);
    (alphas, congestion, own_pool, least, flows, fair, codel, is_usual).prop_map(
        |(alphas, congestion, own_pool, least, flows, fair, codel, is_usual)| Drawn {
            alphas,
            congestion,
            own_pool,
            least,
            flows,
            fair,
            codel,
            is_usual,
        },
    )
}

impl Drawn {
    /// Gives a switch that runs `policy` these settings.
    pub(super) fn apply(self, policy: Policy, state: &mut State) {
        let Self { alphas, congestion, own_pool, least, flows, fair, codel, is_usual } = self;
        if is_usual && (policy.lossy != 0 || policy.lossy_options != 0) {
            state.config.lossless_classes &= !(1 << 3);
            state.config.lossless_queues = state.config.lossless_classes.count_ones();
        }
        state.is_above_codels_target = is_usual && policy.lossy_options & OPTION_CODEL != 0;
        let kind = match kind(policy) {
            Kind::Active(_) => Kind::Active(congestion),
            Kind::Bshare { .. } => Kind::Bshare { congestion, least_bytes: Bytes(least.1) },
            Kind::FlowAware { .. } => Kind::FlowAware { short_bytes: Bytes(least.0), flows },
            Kind::Intelligent { fair_dropping, prioritisation, .. } => Kind::Intelligent {
                fair_dropping: fair_dropping.map(|usual| FairDropping {
                    shares: match usual.shares {
                        FairShares::Queues => FairShares::Queues,
                        FairShares::Elephants(_) => FairShares::Elephants(Bytes(least.0)),
                    },
                    least_bytes: Bytes(least.1),
                    ..fair.0
                }),
                prioritisation: prioritisation.map(|_| {
                    let config = &mut state.config;
                    // One that is lossy, or it could not be.
                    config.lossless_classes &= !(1 << 7);
                    config.lossless_queues = config.lossless_classes.count_ones();
                    let lossy = priority::in_mask(!config.lossless_classes).next();
                    let priority = lossy.expect("priority 7 is lossy");
                    Prioritisation { packets: fair.1, priority }
                }),
                flows,
            },
            kind @ (Kind::DynamicThreshold | Kind::CompleteSharing) => kind,
        };
        state.config.lossy_pool_bytes = own_pool;
        state.lossy = Settings {
            kind,
            alphas: alphas.map(|(usual, _)| usual),
            first_alphas: alphas.map(|(_, first)| first),
            codel: (policy.lossy_options & OPTION_CODEL != 0).then_some(codel),
            ..Settings::default()
        };
    }
}
