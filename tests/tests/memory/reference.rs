//! Completion times compared with those of the HPCC authors' simulator.
//!
//! The simulator is ns-3 as in `alibaba-edu/High-Precision-Congestion-Control` at commit 9f4be2a, its model code
//! unmodified, with the parameters of its `run.py` for 100 Gbit/s. Hosts are on one switch, over links of 1 us. It
//! wrote completion times; nothing recorded queues (`QLEN_MON_START` lies after the end), so that queues are not
//! compared.
//!
//! `[frames]` has its headers and its times, `telemetry_steps` its stamps (`INT_MULTI 4`). Differences are known:
//! - Events of one instant, of which times in whole nanoseconds make many, have another order.
//! - HPCC has a window here and a rate there.
//! - HPCC and TIMELY depend on the phase of flows that start apart. HPCC adds 20 B to a window of 25 kB in a round trip
//!   of 4 us, and so needs some 5 ms to become fair; what the first round trips after the second start leave decides
//!   the shares of a run of 2 ms. Half a microsecond earlier or later moves the first flow's completion by up to 18 %.
//!
//! Flows that start together keep the bottleneck busy under DCTCP and TIMELY, and are equal by symmetry. Their times
//! would be the same without congestion control; they show that bytes, pacing and rounds of ACKs agree.

use std::fmt::Write;

use tests::fabric::{Run, in_memory};

/// A run of the simulator. Each host but the last sends one flow to the last.
struct Reference {
    /// Headers of a packet in addition to its 1000 B of payload, and the length of an ACK.
    lengths: (u64, u64),
    /// Packets of a flow.
    packets: u64,
    /// The keys of `switch.ecn`.
    ecn: &'static str,
    /// The keys of `host.transport` that choose the congestion control.
    transport: &'static str,
    /// True if packets have room for five stamps, as in the simulator.
    telemetry: bool,
    /// Start and completion time of each flow, in nanoseconds.
    flows: &'static [(u64, u64)],
}

/// The simulator's step of 300 kB, and its increase of 615 Mbit/s as a window.
const DCTCP: Reference = Reference {
    lengths: (48, 60),
    packets: 0,
    ecn: r#"kmin = "300kB", kmax = "300kB", pmax = 1"#,
    transport: r#"congestion_control = "dctcp", dctcp = { g = "1/16", additive_increase = "320B", minimum_window = "520B" }"#,
    telemetry: false,
    flows: &[],
};

const TIMELY: Reference = Reference {
    lengths: (56, 60),
    packets: 0,
    ecn: r#"kmin = "400kB", kmax = "1600kB", pmax = 0.2"#,
    transport: r#"congestion_control = "timely", timely = { additive_increase = "100Mbps", hyper_increase = "500Mbps", minimum_rate = "1Gbps" }"#,
    telemetry: false,
    flows: &[],
};

/// An increase of 40 Mbit/s as a window.
const HPCC: Reference = Reference {
    lengths: (90, 88),
    packets: 0,
    ecn: r#"kmin = "400kB", kmax = "1600kB", pmax = 0.2"#,
    transport: r#"congestion_control = "hpcc", hpcc = { utilisation = 0.95, max_stage = 0, additive_increase = "21B", minimum_rate = "1Gbps" }"#,
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

/// Shifts of the second start of a pair, in nanoseconds.
const SHIFTS: [i64; 13] =
    [-4000, -3000, -2000, -1500, -1000, -500, 0, 500, 1000, 1500, 2000, 3000, 4000];

impl Reference {
    /// Completion times in the order of the flows; all but the first start `shift` nanoseconds later.
    fn run(&self, shift: i64) -> Vec<u64> {
        let receiver = self.flows.len();
        let bytes = self.packets * 1000;
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
        let Self { lengths: (headers, ack), ecn, transport, telemetry, .. } = self;
        let (telemetry, steps) = if *telemetry {
            ("telemetry_hops = 5", r#"telemetry_steps = { sent = "512B", queue = "320B" }"#)
        } else {
            ("", "")
        };
        let text = format!(
            r#"
name = "reference"
duration = "100ms"
[topology]
kind = "star"
hosts = {hosts}
host_link = {{ rate = "100Gbps", delay = "1us" }}
[switch]
buffer = "32MiB"
private_per_queue = "4KiB"
private_fill = "bytes"
wire_overhead = "0B"
lossless = [3]
threshold = {{ kind = "dt", alpha = "1/8", xon_offset = "3KiB" }}
headroom = {{ kind = "sih", bandwidth_delays = 3 }}
resume_test = "departure"
ecn = {{ {ecn}, mark_at = "dequeue" }}
{steps}
[host]
ack_interval = 1
ack_priority = "data"
ack_queue = 3
pause_response = "0s"
{telemetry}
transport = {{ kind = "roce-rc", base_rtt = "4160ns", window_overrun = true, {transport} }}
[frames]
data_headers = "{headers}B"
ack = "{ack}B"
hop_control = "43B"
time = "whole-nanoseconds"
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
    fn assert_equal(&self) {
        assert_eq!(self.run(0), self.theirs());
    }
}

fn deviation(ours: u64, theirs: u64) -> f64 {
    ours as f64 / theirs as f64 - 1.0
}

/// To the nanosecond.
#[test]
fn dctcp_incast() {
    DCTCP_INCAST.assert_equal();
}

#[test]
fn dctcp_pair() {
    DCTCP_PAIR.assert_equal();
}

#[test]
fn timely_incast() {
    TIMELY_INCAST.assert_equal();
}

/// Measured: half of the flows in the order of completion within 1.6 %, the last -0.05 %; the first to complete does so
/// 11 % later than there, and which flow that is differs.
#[test]
fn hpcc_incast() {
    let (mut ours, mut theirs) = (HPCC_INCAST.run(0), HPCC_INCAST.theirs());
    ours.sort_unstable();
    theirs.sort_unstable();
    let errors: Vec<f64> =
        ours.iter().zip(&theirs).map(|(&ours, &theirs)| deviation(ours, theirs)).collect();
    let close = errors.iter().filter(|error| error.abs() <= 0.02).count();
    assert!(close * 2 >= errors.len(), "{errors:?}");
    assert!(errors[7].abs() <= 0.01, "{errors:?}");
}

/// Measured: the first flow +4.4 %, the second +1.1 %. With the second start moved by up to 4 us, the first takes 1.747 to
/// 1.866 ms, where the simulator's takes 1.721 ms. The cause is not known; packets of the two flows that arrive at one
/// instant are queued in another order.
#[test]
fn timely_pair() {
    let ours = TIMELY_PAIR.run(0);
    let theirs = TIMELY_PAIR.theirs();
    let errors = [deviation(ours[0], theirs[0]), deviation(ours[1], theirs[1])];
    assert!(errors[0].abs() <= 0.05 && errors[1].abs() <= 0.02, "{errors:?}");
    let [shortest, longest] = range_of_first(&TIMELY_PAIR);
    assert!(deviation(shortest, theirs[0]).abs() <= 0.02, "{shortest} to {longest}");
    assert!(deviation(longest, shortest) >= 0.06, "{shortest} to {longest}");
}

/// Measured: the first flow -13 %, the second +0.1 %; together they end when they do there. With the second start moved by up to
/// 4 us the first flow takes from less to more time than there.
#[test]
fn hpcc_pair() {
    let ours = HPCC_PAIR.run(0);
    let theirs = HPCC_PAIR.theirs();
    assert!(deviation(ours[1], theirs[1]).abs() <= 0.01, "{ours:?}");
    let [shortest, longest] = range_of_first(&HPCC_PAIR);
    assert!(shortest < theirs[0] && theirs[0] < longest, "{shortest} to {longest}");
    assert!(deviation(longest, theirs[0]) <= 0.05, "{shortest} to {longest}");
}

/// The shortest and the longest time of the first flow, as the second start moves.
fn range_of_first(reference: &Reference) -> [u64; 2] {
    let times = SHIFTS.map(|shift| reference.run(shift)[0]);
    let (shortest, longest) = (times.iter().min(), times.iter().max());
    [shortest, longest].map(|time| *time.expect("there are shifts"))
}
