//! Completion times against those of the HPCC authors' simulator.
//!
//! The simulator is ns-3 as in `alibaba-edu/High-Precision-Congestion-Control` at commit 9f4be2a, its model code
//! unmodified, with the parameters of its `run.py` for 100 Gbit/s. Hosts are on one switch, over links of 1 us. It
//! wrote completion times; nothing recorded queues (`QLEN_MON_START` lies after the end), so that queues are not
//! compared.
//!
//! Four differences are known:
//! - It has other headers. Payloads are chosen here so that frames are as long as there, and flows have as many
//!   packets.
//! - It truncates the time of a packet to a nanosecond: its links are faster by up to 1 %. At such a rate, what is
//!   left of the differences of DCTCP and of TIMELY's incast is 0.2 %.
//! - Its stamps tell bytes to 512 B and queues to 320 B (`INT_MULTI 4`), xoff's to 128 B and 16 B.
//! - HPCC and TIMELY depend on the phase of flows that start apart. HPCC adds 20 B to a window of 25 kB in a round trip
//!   of 4 us, and so needs some 5 ms to become fair; what the first round trips after the second start leave decides
//!   the shares of a run of 2 ms. Half a microsecond earlier or later moves the first flow's completion by up to 8 %.
//!
//! Where flows start together, the bottleneck is always busy under DCTCP and TIMELY, and flows are equal by symmetry.
//! Those times would be the same without congestion control; they show that bytes, pacing and rounds of ACKs agree.

use std::fmt::Write;

use tests::fabric::{Run, in_memory};

/// A run of the simulator. Each host but the last sends one flow to the last.
struct Reference {
    /// Payload of a packet of 1000 B there.
    payload: u64,
    /// The rate at which a full packet takes what the simulator truncates its time to.
    truncated_rate: &'static str,
    /// Packets of a flow.
    packets: u64,
    /// The keys of `switch.ecn`.
    ecn: &'static str,
    /// The keys of `host.transport` that choose the congestion control.
    transport: &'static str,
    /// Whether packets have room for five stamps, as there.
    telemetry: bool,
    /// Start and completion time of each flow, in nanoseconds.
    flows: &'static [(u64, u64)],
}

/// Its step of 300 kB, and an increase of 615 Mbit/s as a window.
const DCTCP: Reference = Reference {
    payload: 990,
    truncated_rate: "101012Mbps",
    packets: 0,
    ecn: r#"kmin = "300kB", kmax = "300kB", pmax = 1"#,
    transport: r#"congestion_control = "dctcp", dctcp = { g = "1/16", additive_increase = "320B", minimum_window = "520B" }"#,
    telemetry: false,
    flows: &[],
};

const TIMELY: Reference = Reference {
    payload: 998,
    truncated_rate: "100571Mbps",
    packets: 0,
    ecn: r#"kmin = "400kB", kmax = "1600kB", pmax = 0.2"#,
    transport: r#"congestion_control = "timely", timely = { additive_increase = "100Mbps", hyper_increase = "500Mbps", minimum_rate = "1Gbps" }"#,
    telemetry: false,
    flows: &[],
};

/// An increase of 40 Mbit/s as a window.
const HPCC: Reference = Reference {
    payload: 984,
    truncated_rate: "100230Mbps",
    packets: 0,
    ecn: r#"kmin = "400kB", kmax = "1600kB", pmax = 0.2"#,
    transport: r#"congestion_control = "hpcc", hpcc = { utilisation = 0.95, max_stage = 0, additive_increase = "20B", minimum_rate = "1Gbps" }"#,
    telemetry: true,
    flows: &[],
};

/// Eight hosts send 1 MB each at once.
const DCTCP_INCAST: Reference = Reference {
    packets: 1000,
    flows: &[
        (0, 667_510),
        (0, 667_593),
        (0, 667_676),
        (0, 667_759),
        (0, 667_842),
        (0, 667_925),
        (0, 668_008),
        (0, 668_091),
    ],
    ..DCTCP
};

const TIMELY_INCAST: Reference = Reference {
    packets: 1000,
    flows: &[
        (0, 675_504),
        (0, 675_588),
        (0, 675_672),
        (0, 675_756),
        (0, 675_840),
        (0, 675_924),
        (0, 676_008),
        (0, 676_092),
    ],
    ..TIMELY
};

const HPCC_INCAST: Reference = Reference {
    packets: 1000,
    flows: &[
        (0, 748_553),
        (0, 744_056),
        (0, 717_650),
        (0, 702_096),
        (0, 661_448),
        (0, 730_372),
        (0, 596_115),
        (0, 660_780),
    ],
    ..HPCC
};

/// Two hosts send 10 MB each, the second one 200 us later.
const DCTCP_PAIR: Reference =
    Reference { packets: 10_000, flows: &[(0, 1_464_061), (200_000, 1_464_091)], ..DCTCP };

const TIMELY_PAIR: Reference =
    Reference { packets: 10_000, flows: &[(0, 1_720_782), (200_000, 1_911_933)], ..TIMELY };

const HPCC_PAIR: Reference =
    Reference { packets: 10_000, flows: &[(0, 1_822_905), (200_000, 1_642_644)], ..HPCC };

/// By how much the second start of a pair is moved, in nanoseconds.
const SHIFTS: [i64; 13] =
    [-4000, -3000, -2000, -1500, -1000, -500, 0, 500, 1000, 1500, 2000, 3000, 4000];

impl Reference {
    /// Completion times in the order of the flows; all but the first start `shift` nanoseconds later.
    fn run(&self, rate: &str, shift: i64) -> Vec<u64> {
        let receiver = self.flows.len();
        let bytes = self.packets * self.payload;
        let mut flows = String::new();
        for (sender, &(start, _)) in self.flows.iter().enumerate() {
            let start = if sender == 0 { start } else { start.saturating_add_signed(shift) };
            write!(
                flows,
                "[[flows]]\nkind = \"one\"\nsrc = \"h{sender}\"\ndst = \"h{receiver}\"\n\
                 bytes = \"{bytes}B\"\nstart = \"{start}ns\"\n"
            )
            .expect("a String takes every write");
        }
        let Self { payload, ecn, transport, telemetry, .. } = self;
        let telemetry = if *telemetry { "telemetry_hops = 5" } else { "" };
        let text = format!(
            r#"
name = "reference"
duration = "100ms"
[topology]
kind = "star"
hosts = {hosts}
host_link = {{ rate = "{rate}", delay = "1us" }}
[switch]
buffer = "32MiB"
wire_overhead = "0B"
lossless = [3]
threshold = {{ kind = "dt", alpha = "1/8" }}
ecn = {{ {ecn}, mark_at = "dequeue" }}
[host]
payload = "{payload}B"
ack_interval = 1
ack_priority = 3
cnp_priority = 3
pause_response = "0s"
{telemetry}
transport = {{ kind = "roce-rc", base_rtt = "4160ns", {transport} }}
{flows}"#,
            hosts = receiver + 1
        );
        let run: Run = in_memory(&text, &[]);
        run.assert_lossless();
        run.flows().numbers("fct_ns")
    }

    /// The simulator's.
    fn theirs(&self) -> Vec<u64> {
        self.flows.iter().map(|&(_, fct)| fct).collect()
    }

    #[track_caller]
    fn assert_median_within_a_fiftieth(&self) {
        let (ours, theirs) = (self.run("100Gbps", 0), self.theirs());
        let error = deviation(median(&ours), median(&theirs));
        assert!(error.abs() <= 0.02, "{error:+.4}: {ours:?}, {theirs:?}");
    }

    /// With links that truncate as the simulator's do.
    #[track_caller]
    fn assert_every_flow_within(&self, most: f64) {
        let (ours, theirs) = (self.run(self.truncated_rate, 0), self.theirs());
        for (&ours, &theirs) in ours.iter().zip(&theirs) {
            let error = deviation(ours, theirs);
            assert!(error.abs() <= most, "{error:+.4}: {ours}, {theirs}");
        }
    }
}

fn median(times: &[u64]) -> u64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    u64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

fn deviation(ours: u64, theirs: u64) -> f64 {
    ours as f64 / theirs as f64 - 1.0
}

/// Measured: +1.20 % each, and +0.19 % with truncated times.
#[test]
fn dctcp_incast() {
    DCTCP_INCAST.assert_median_within_a_fiftieth();
    DCTCP_INCAST.assert_every_flow_within(0.003);
}

/// Measured: +1.37 % each, and +0.22 % with truncated times.
#[test]
fn dctcp_pair() {
    DCTCP_PAIR.assert_median_within_a_fiftieth();
    DCTCP_PAIR.assert_every_flow_within(0.003);
}

/// Measured: +0.76 % each, and +0.19 % with truncated times.
#[test]
fn timely_incast() {
    TIMELY_INCAST.assert_median_within_a_fiftieth();
    TIMELY_INCAST.assert_every_flow_within(0.003);
}

/// Measured: the median +0.05 %, the last completion +0.42 %, and half of the flows in the order of completion within
/// 0.8 %; the first to complete does so 11 % later than there, and which flow that is differs. The median depends on
/// phases like all else here: +1.90 % with truncated times, +2.4 % with coarse stamps. With an eta of 0.9 it is +7.4
/// %, with 1 it is -2.8 %.
#[test]
fn hpcc_incast() {
    HPCC_INCAST.assert_median_within_a_fiftieth();
    let (mut ours, mut theirs) = (HPCC_INCAST.run("100Gbps", 0), HPCC_INCAST.theirs());
    ours.sort_unstable();
    theirs.sort_unstable();
    let errors: Vec<f64> =
        ours.iter().zip(&theirs).map(|(&ours, &theirs)| deviation(ours, theirs)).collect();
    let close = errors.iter().filter(|error| error.abs() <= 0.01).count();
    assert!(close * 2 >= errors.len(), "{errors:?}");
    assert!(errors[7].abs() <= 0.01, "{errors:?}");
}

/// Measured: the first flow +6.8 %, the second +0.0 %. With the second start moved by up to 4 us, as here, the first
/// takes 1.732 to 1.882 ms; moved by up to 10 us in steps of 100 ns, 1.720 to 1.898 ms, and once less than the
/// simulator's 1.721 ms. So phases can explain the deviation, but that phase is a rare one, and there may be another
/// cause.
#[test]
fn timely_pair() {
    let ours = TIMELY_PAIR.run("100Gbps", 0);
    let theirs = TIMELY_PAIR.theirs();
    let errors = [deviation(ours[0], theirs[0]), deviation(ours[1], theirs[1])];
    assert!(errors[0].abs() <= 0.07 && errors[1].abs() <= 0.02, "{errors:?}");
    let [shortest, longest] = range_of_first(&TIMELY_PAIR);
    assert!(deviation(shortest, theirs[0]).abs() <= 0.01, "{shortest} to {longest}");
    assert!(deviation(longest, shortest) >= 0.07, "{shortest} to {longest}");
}

/// Measured: the first flow -9.0 %, the second +0.1 %. With the second start moved by up to 4 us, as here, the first
/// takes 1.570 to 1.845 ms; moved by up to 10 us in steps of 100 ns, 1.536 to 1.845 ms, and in 6 of 201 runs more
/// than the simulator's 1.823 ms. The simulator's coarse stamps explain it: with such, in a build that was changed
/// for it, the first flow takes +0.9 % and the second +0.1 %, and as starts move, 1.484 to 1.845 ms, in 21 of 101
/// runs more than the simulator's.
#[test]
fn hpcc_pair() {
    let ours = HPCC_PAIR.run("100Gbps", 0);
    let theirs = HPCC_PAIR.theirs();
    let errors = [deviation(ours[0], theirs[0]), deviation(ours[1], theirs[1])];
    assert!(errors[0].abs() <= 0.10 && errors[1].abs() <= 0.02, "{errors:?}");
    let [shortest, longest] = range_of_first(&HPCC_PAIR);
    assert!((shortest..=longest).contains(&theirs[0]), "{shortest} to {longest}");
}

/// The shortest and the longest time of the first flow, as the second start moves.
fn range_of_first(reference: &Reference) -> [u64; 2] {
    let times = SHIFTS.map(|shift| reference.run("100Gbps", shift)[0]);
    let (shortest, longest) = (times.iter().min(), times.iter().max());
    [shortest, longest].map(|time| *time.expect("there are shifts"))
}
