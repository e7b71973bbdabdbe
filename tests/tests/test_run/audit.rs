//! The egress auditor on permitted and forbidden frames: the same rows on the TC program, through `BPF_PROG_TEST_RUN`,
//! and on the native function. Needs root.

use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::priority::{self, Priority};
use fabric_core::wire::PfcFrame;
use fabric_core::wire::roce::Ecn;
use tests::switch::frame::{bytes, data, outbound, pfc_bytes};
use tests::switch::{PORTS, State, Twins, in_namespace};
use units::Nanos;

const PORT: u32 = 2;
/// Arrival of the PAUSE.
const PAUSED: u64 = 10_000;
/// Max time until a port must obey its neighbour's PAUSE; see `State::fresh`.
const RESPONSE: u64 = 300;
/// 1000 quanta of 5.12 ns.
const RESUMED: u64 = PAUSED + 5120;
/// Max distance of the switch's clock behind the start of a transmission.
const FAR: u64 = u32::MAX as u64;

struct Row {
    about: &'static str,
    /// Port and priority of the frame.
    port: u32,
    priority: u8,
    /// Start of its transmission.
    started: u64,
    violations: u64,
}

const ROWS: &[Row] = &[
    Row { about: "before the PAUSE", port: PORT, priority: 3, started: PAUSED - 1, violations: 0 },
    Row { about: "with the PAUSE", port: PORT, priority: 3, started: PAUSED, violations: 0 },
    Row {
        about: "at the end of the response time",
        port: PORT,
        priority: 3,
        started: PAUSED + RESPONSE - 1,
        violations: 0,
    },
    Row {
        about: "after the response time",
        port: PORT,
        priority: 3,
        started: PAUSED + RESPONSE,
        violations: 1,
    },
    Row {
        about: "at the pause's end",
        port: PORT,
        priority: 3,
        started: RESUMED - 1,
        violations: 1,
    },
    Row { about: "after the pause", port: PORT, priority: 3, started: RESUMED, violations: 0 },
    Row {
        about: "a lossy priority that was paused too",
        port: PORT,
        priority: 0,
        started: PAUSED + RESPONSE,
        violations: 0,
    },
    Row {
        about: "a lossless priority that was not paused",
        port: PORT,
        priority: 4,
        started: PAUSED + RESPONSE,
        violations: 0,
    },
    Row { about: "another port", port: 1, priority: 3, started: PAUSED + RESPONSE, violations: 0 },
];

/// Both switches at the moment when [`PORT`] has been paused.
fn paused(twins: &mut Twins) {
    let mut state = State::fresh();
    state.config.lossless_classes = 1 << 3 | 1 << 4;
    twins.reset(&state);
    let pause = PfcFrame::xoff([2, 1, 0, 0, 0, 2], 1 << 3 | 1, 1000);
    twins.arrive(PORT, Nanos(PAUSED), &pfc_bytes(&pause)).expect("both agree");
}

fn load() -> Twins {
    Twins::load(Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off))
}

#[test]
fn frames_count_as_violations_only_where_a_pause_binds() {
    in_namespace(|| {
        let mut twins = load();
        let clocks = [0, 85, FAR / 2 + 1, FAR];
        for (row, ahead) in ROWS.iter().flat_map(|row| clocks.map(|ahead| (row, ahead))) {
            paused(&mut twins);
            let frame = bytes(&data(1, row.priority, Ecn::Capable0, 1000), &outbound(row.port));
            let started = Nanos(row.started);
            let now = Nanos(row.started + ahead);
            twins
                .audit(row.port, now, started, &frame)
                .unwrap_or_else(|error| panic!("{}: {error}", row.about));
            let tables = twins.kernel.tables();
            assert_eq!(tables.violations(), row.violations, "{}", row.about);
            let counters = tables.audited(row.port, Priority::new(row.priority));
            let seen = (counters.frames.load(), counters.bytes.load(), counters.violations.load());
            assert_eq!(seen, (1, 1058, row.violations), "{}", row.about);
        }
    });
}

/// The pause before the latest is remembered for frames that were on the wire when a new one began.
#[test]
fn a_frame_is_judged_by_the_pause_that_it_left_in() {
    in_namespace(|| {
        let mut twins = load();
        paused(&mut twins);
        let frame = bytes(&data(1, 3, Ecn::Capable0, 1000), &outbound(PORT));
        let again = pfc_bytes(&PfcFrame::xoff([2, 1, 0, 0, 0, 2], 1 << 3, 1000));
        twins.arrive(PORT, Nanos(RESUMED + 50), &again).expect("both agree");
        let now = RESUMED + 100;
        for (age, violations) in [(60, 0), (100, 0), (101, 1)] {
            twins.audit(PORT, Nanos(now), Nanos(now - age), &frame).expect("both agree");
            assert_eq!(twins.kernel.tables().violations(), violations, "{age} ns");
        }
    });
}

#[test]
fn control_frames_and_garbage_never_violate() {
    in_namespace(|| {
        let mut twins = load();
        paused(&mut twins);
        let pfc = pfc_bytes(&PfcFrame::xon([2, 2, 0, 0, 0, 2], 1 << 3));
        let mut cut = bytes(&data(1, 3, Ecn::Capable0, 1000), &outbound(PORT));
        cut.truncate(500);
        for frame in [pfc, cut, vec![0; 60]] {
            let now = Nanos(PAUSED + 1000);
            twins.audit(PORT, now, now, &frame).expect("both agree");
        }
        let tables = twins.kernel.tables();
        assert_eq!(tables.violations(), 0);
        assert_eq!(tables.audited(PORT, Priority::new(0)).mac_control_frames.load(), 1);
        let rows = (0..PORTS).flat_map(|port| priority::all().map(move |p| (port, p)));
        assert_eq!(rows.map(|(port, p)| tables.audited(port, p).frames.load()).sum::<u64>(), 0);
    });
}
