//! Congestion controls in closed loop: long flows at one bottleneck settle where the papers say.
//!
//! Hosts send to h0 over one switch. The assertions are about the queue of h0's port, by samples, and the payload that
//! flows delivered, after convergence.

use std::fmt::Write;

use tests::fabric::in_memory;

const PAYLOAD: f64 = 1000.0;
/// A full packet without telemetry, as queues count it.
const PACKET: f64 = PAYLOAD + 58.0;
/// Room for two stamps.
const TELEMETRY: f64 = 8.0 + 2.0 * 8.0;
/// Preamble, FCS and gap.
const AROUND: f64 = 24.0;

/// Flows of `h1..` to h0, each 100 us after the one before, which do not end.
struct Loop {
    senders: usize,
    gigabits: f64,
    /// Of a link.
    delay_us: f64,
    /// Delay of a link.
    transport: String,
    /// More settings.
    settings: Vec<String>,
    /// Instant of convergence, and the run's end.
    steady_ms: [u64; 2],
    /// Periods of samples of the queue, and of throughput.
    periods: [&'static str; 2],
}

/// HPCC's and PowerTCP's links, with a bandwidth-delay product of some 50 packets.
fn fast(senders: usize, transport: String) -> Loop {
    Loop {
        senders,
        gigabits: 100.0,
        delay_us: 1.0,
        transport,
        settings: Vec::new(),
        steady_ms: [3, 6],
        periods: ["100ns", "100us"],
    }
}

/// Measurements after convergence.
struct Steady {
    /// Bytes that waited, and nanoseconds of each level.
    levels: Vec<(u64, u64)>,
    /// Payload that each flow delivered.
    delivered: Vec<f64>,
    span_ns: f64,
}

impl Loop {
    fn run(&self) -> Steady {
        let Self { senders, gigabits, delay_us, transport, settings, steady_ms, periods } = self;
        let mut flows = String::new();
        for sender in 1..=*senders {
            let start = 100 * (sender - 1);
            write!(
                flows,
                "[[flows]]\nkind = \"one\"\nsrc = \"h{sender}\"\ndst = \"h0\"\nbytes = \"1GB\"\n\
                 start = \"{start}us\"\n"
            )
            .expect("a String takes every write");
        }
        let text = format!(
            r#"
name = "closed-loop"
duration = "{end}ms"
[topology]
kind = "star"
hosts = {hosts}
host_link = {{ rate = "{gigabits}Gbps", delay = "{delay_us}us" }}
[switch]
buffer = "32MB"
lossless = [3]
threshold = {{ kind = "static", xoff = "8MB", xon = "7MB" }}
[host]
payload = "1000B"
ack_interval = 1
transport = {{ kind = "roce-rc", {transport} }}
[results]
queue_period = "{queue_period}"
throughput = {{ interval = "{throughput_period}" }}
{flows}"#,
            end = steady_ms[1],
            hosts = senders + 1,
            queue_period = periods[0],
            throughput_period = periods[1],
        );
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let run = in_memory(&text, &settings);
        assert!(run.summary.lossless, "{:?}", run.summary.drops);
        assert_eq!(run.summary.pause_frames, 0, "nothing but the congestion control holds flows");
        assert_eq!(run.summary.retransmitted_packets, 0);
        let [from, to] = steady_ms.map(|ms| ms * 1_000_000);
        let mut delivered = vec![0.0; *senders];
        for row in run.table("throughput.csv").rows() {
            if row.number("start_ns") >= from {
                let flow = usize::try_from(row.number("flow")).expect("the number of a sender");
                delivered[flow] += row.number("bytes") as f64;
            }
        }
        let levels = levels(&run.text("queues.csv"), from, to);
        Steady { levels, delivered, span_ns: (to - from) as f64 }
    }
}

/// Bytes that waited at h0's port from `from` to `to`, and the time of each level.
fn levels(queues: &str, from: u64, to: u64) -> Vec<(u64, u64)> {
    // h0 is at port 0, and all data has priority 3.
    let samples = queues.lines().filter(|line| line.contains(",s0,egress,0,3,")).map(|line| {
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        let (time, bytes) = (number(line.split(',').next()), number(line.rsplit(',').next()));
        (time.expect("an instant"), bytes.expect("a size"))
    });
    let (mut levels, mut last, mut level) = (Vec::new(), from, 0);
    for (time, bytes) in samples.chain([(to, 0)]) {
        if time > from {
            levels.push((level, time - last));
            last = time;
        }
        level = bytes;
    }
    levels
}

impl Steady {
    /// Utilization of h0's link, by packets that have `extra` bytes beside payload and headers.
    fn utilisation(&self, gigabits: f64, extra: f64) -> f64 {
        let payload: f64 = self.delivered.iter().sum();
        payload / PAYLOAD * (PACKET + extra + AROUND) * 8.0 / self.span_ns / gigabits
    }

    /// Jain's index of the flows' delivered payload.
    fn fairness(&self) -> f64 {
        let sum: f64 = self.delivered.iter().sum();
        let squares: f64 = self.delivered.iter().map(|bytes| bytes * bytes).sum();
        sum * sum / (self.delivered.len() as f64 * squares)
    }

    fn mean_queue(&self) -> f64 {
        let area: f64 = self.levels.iter().map(|&(bytes, span)| bytes as f64 * span as f64).sum();
        area / self.span_ns
    }

    /// The level that the queue is at or below for this part of the time.
    fn quantile(&self, part: f64) -> u64 {
        let mut sorted = self.levels.clone();
        sorted.sort_unstable();
        let mut time = 0.0;
        for (bytes, span) in sorted {
            time += span as f64;
            if time >= part * self.span_ns {
                return bytes;
            }
        }
        panic!("levels cover the whole time")
    }

    /// Mean peak and trough in packets, and the mean time between peaks in microseconds. Turns of less than five
    /// packets are bursts, and do not count.
    fn sawtooth(&self) -> Sawtooth {
        const TURN: u64 = 5 * 1058;
        let (mut peaks, mut troughs) = (Vec::new(), Vec::new());
        let (mut now, mut rising) = (0, true);
        let mut extreme = (self.levels[0].0, 0);
        for &(bytes, span) in &self.levels {
            let beyond = if rising { bytes >= extreme.0 } else { bytes <= extreme.0 };
            if beyond {
                extreme = (bytes, now);
            } else if bytes.abs_diff(extreme.0) >= TURN {
                let turns = if rising { &mut peaks } else { &mut troughs };
                turns.push(extreme);
                (extreme, rising) = ((bytes, now), !rising);
            }
            now += span;
        }
        let mean = |turns: &[(u64, u64)]| {
            let sum: u64 = turns.iter().map(|&(bytes, _)| bytes).sum();
            sum as f64 / turns.len() as f64 / PACKET
        };
        assert!(peaks.len() > 10, "{} peaks", peaks.len());
        let between = peaks[peaks.len() - 1].1 - peaks[0].1;
        let period_us = between as f64 / 1000.0 / (peaks.len() - 1) as f64;
        Sawtooth { peak: mean(&peaks), trough: mean(&troughs), period_us }
    }
}

#[derive(Debug)]
struct Sawtooth {
    peak: f64,
    trough: f64,
    period_us: f64,
}

#[track_caller]
fn assert_near(what: &str, measured: f64, expected: f64, part: f64) {
    let error = measured / expected - 1.0;
    assert!(error.abs() <= part, "{what}: {measured:.2}, expected {expected:.2}: {error:+.3}");
}

/// The link is as busy as eta, hardly a packet waits, and flows are equal (Li et al., SIGCOMM 2019, Section 3.2).
/// Growth adds N `W_AI` / BDP to eta: 0.006 here. Measured: 0.953 and 0.903, mean queues of 646 and 522 B, Jain's index
/// 0.994 and 0.998.
///
/// `W_AI` is the paper's 80 B, three times xoff's default at this BDP: with the default Jain's index of four flows is
/// still 0.84 after 8 to 12 ms. Also tried, at the default: with an eta of 0.98 or with 16 flows utilization is up to
/// 0.02 below eta.
#[test]
fn hpcc_keeps_its_utilisation_and_no_queue() {
    for eta in [0.95, 0.9] {
        let hpcc = format!("utilisation = {eta}, additive_increase = \"80B\"");
        let transport = format!("congestion_control = \"hpcc\", hpcc = {{ {hpcc} }}");
        let settings = vec!["host.telemetry_hops=2".to_owned()];
        let steady = Loop { settings, steady_ms: [4, 8], ..fast(4, transport) }.run();
        assert_near("utilisation", steady.utilisation(100.0, TELEMETRY), eta, 0.01);
        let packet = PACKET + TELEMETRY;
        assert!(steady.mean_queue() < packet, "{}", steady.mean_queue());
        assert!(steady.quantile(0.99) as f64 <= 3.0 * packet, "{}", steady.quantile(0.99));
        assert!(steady.fairness() >= 0.98, "{}", steady.fairness());
    }
}

/// The queue is a sawtooth from K + N packets down, with the amplitude sqrt(2 N (C RTT + K)) / 2 and the period
/// sqrt(2 (C RTT + K) / N) / 2 round trips of N flows in step (Alizadeh et al., SIGCOMM 2010, Section 3.3,
/// Equations 8, 9 and 10).
///
/// The model is for small N, and wants a slow alpha: g < 1.386 / sqrt(2 (C RTT + K)) (Equation 15). Measured
/// amplitudes: -8, -4, -11 and -9 %. Also tried were other pairs of g, of 1/16 to 1/128, and K, with N of 2 to 4: -4
/// to -13 % where g keeps that bound, -15 % where it is a little above.
///
/// All are below the model. One reason is that a cut uses an alpha that has decayed since the last marks, whereas the
/// model has its mean: two flows that are paced, and so in step exactly, have -20 % at a g of 1/16, -16 % at 1/32, -14
/// % at 1/64 and -12 % at 1/128. The rest has not been explained.
#[test]
fn dctcp_s_queue_is_the_sawtooth_of_its_model() {
    for (senders, delay_us, threshold, gain, steady_ms) in [
        (2, 20.0, 65_000, "1/32", [30, 80]),
        (2, 50.0, 100_000, "1/64", [50, 100]),
        (3, 20.0, 100_000, "1/32", [30, 80]),
        (4, 20.0, 65_000, "1/32", [30, 80]),
    ] {
        let gigabits = 10.0;
        let dctcp = format!("dctcp = {{ start = \"slow-start\", g = \"{gain}\" }}");
        let transport = format!("congestion_control = \"dctcp\", {dctcp}");
        let ecn = format!("kmin = \"{threshold}B\", kmax = \"{threshold}B\", pmax = 1");
        let settings = vec![format!("switch.ecn={{ {ecn}, mark_at = \"enqueue\" }}")];
        let periods = ["1us", "1ms"];
        let steady =
            Loop { senders, gigabits, delay_us, transport, settings, steady_ms, periods }.run();
        assert!(steady.utilisation(gigabits, 0.0) > 0.999, "the queue never runs empty");
        let packet_us = (PACKET + AROUND) * 8.0 / gigabits / 1000.0;
        let (flows, marked) = (senders as f64, f64::from(threshold) / PACKET);
        let base_rtt_us = 4.0 * delay_us + 2.0 * packet_us;
        let in_flight = base_rtt_us / packet_us + marked;
        let sawtooth = steady.sawtooth();
        let amplitude = sawtooth.peak - sawtooth.trough;
        let what = format!("{senders} flows, {delay_us} us, {threshold} B, {gain}: {sawtooth:?}");
        assert_near(&what, amplitude, (2.0 * flows * in_flight).sqrt() / 2.0, 0.15);
        assert_near(&what, sawtooth.peak, marked + flows, 0.03);
        let round_trip_us = in_flight * packet_us;
        let period_us = (2.0 * in_flight / flows).sqrt() / 2.0 * round_trip_us;
        assert_near(&what, sawtooth.period_us, period_us, 0.15);
    }
}

/// Round trips of packets at 10 Gbit/s, in microseconds, from the queue that they meet: the least, the mean, and the
/// most. Beside them Jain's index.
fn round_trips(transport: String, senders: usize) -> ([f64; 3], f64) {
    let (gigabits, delay_us, periods) = (10.0, 1.0, ["2us", "1ms"]);
    let steady_ms = [100, 150];
    let steady =
        Loop { senders, gigabits, delay_us, transport, settings: Vec::new(), steady_ms, periods }
            .run();
    assert!(steady.utilisation(gigabits, 0.0) > 0.999, "the queue never runs empty");
    let packet_us = (PACKET + AROUND) * 8.0 / gigabits / 1000.0;
    let base_us = 4.0 * delay_us + 2.0 * packet_us;
    let [least, most] = [0.0, 1.0].map(|part| steady.quantile(part) as f64);
    let bytes = [least, steady.mean_queue(), most];
    (bytes.map(|bytes| base_us + bytes / PACKET * packet_us), steady.fairness())
}

/// The patched form has one fixed point: `T_low` (1 + N delta / (beta C)) (Zhu et al., "ECN or Delay", CoNEXT 2016).
/// Measured: within 0.3 %.
///
/// Windows bound the packets that flows starting at line rate leave in the queue, and have no effect at the fixed
/// point. Above `T_high` a rate falls by at most 0.8 % in a round trip: without windows 15 MB stayed for more than 200
/// ms.
#[test]
fn patched_timely_keeps_the_round_trip_of_its_fixed_point() {
    let timely =
        "congestion_control = \"timely\", timely = { form = \"patched\" }, window = \"50kB\"";
    for senders in [2, 4, 8] {
        let ([least, mean, most], fairness) = round_trips(timely.to_owned(), senders);
        let expected = 50.0 * (1.0 + senders as f64 * 10.0 / (0.008 * 10_000.0));
        assert_near("mean round trip", mean, expected, 0.02);
        assert!(0.95 * expected < least && most < 1.05 * expected, "{least} to {most}");
        assert!(fairness >= 0.99, "{fairness}");
    }
}

/// The original form keeps round trips between the thresholds if beta is 1/5. Measured: 61 to 73 us with four flows,
/// 73 to 246 us with eight. It has no fixed point to settle at, so that flows need not be equal.
///
/// With the paper's beta of 4/5 it does not: four flows have round trips of 6 to 83 us, 19 % of the time above `T_low`,
/// and leave the link idle for 17 % of the time. A round trip that takes 14 us longer than the last halves a rate then.
/// Not shown is whether computing once a segment of 16 to 64 KB, as the paper does, would change that.
#[test]
fn timely_keeps_round_trips_between_its_thresholds() {
    let timely =
        "congestion_control = \"timely\", timely = { decrease = \"1/5\" }, window = \"100kB\"";
    for senders in [4, 8] {
        let ([least, _, most], _) = round_trips(timely.to_owned(), senders);
        assert!(50.0 < least && most < 500.0, "{senders}: {least} to {most}");
    }
}

/// The queue holds the sum of the windows' increases, and the link is busy, so that one BDP and that sum are in flight
/// (Addanki et al., NSDI 2022, Theorem 1). Measured: 0 to +14 %.
///
/// This holds if the sum is more than some packets. With the default beta, 6/1000 of the BDP, it is not: the queue of
/// four flows swings between 0 and 15 kB, and the link is busy for 0.98 of the time with two flows, 0.94 with four,
/// 0.92 with eight. With a gamma of 0.1 in place of 0.9 it is 0.99 with four.
#[test]
fn powertcp_s_queue_is_the_sum_of_its_increases() {
    for (senders, increase, delay_us) in
        [(4, 4000, 1.0), (8, 2000, 1.0), (8, 4000, 1.0), (4, 4000, 5.0), (8, 4000, 5.0)]
    {
        let powertcp = format!("powertcp = {{ additive_increase = \"{increase}B\" }}");
        let transport = format!("congestion_control = \"powertcp\", {powertcp}");
        let settings = vec!["host.telemetry_hops=2".to_owned()];
        let steady = Loop { delay_us, settings, ..fast(senders, transport) }.run();
        let what = format!("{senders} flows, {increase} B, {delay_us} us");
        assert_near(&what, steady.mean_queue(), (senders * increase) as f64, 0.2);
        let utilisation = steady.utilisation(100.0, TELEMETRY);
        assert!(utilisation >= 0.99, "{what}: {utilisation}");
        assert!(steady.fairness() >= 0.99, "{what}: {}", steady.fairness());
    }
}

/// Overhead of TCP segments with room for one stamp, over a full RoCEv2 packet.
const STAMPED_SEGMENT: f64 = 78.0 - 58.0;

/// HPCC and PowerTCP settle in the same place over TCP. Measured: a utilization of 0.954 at an eta of 0.95 and a mean
/// queue of 668 B; a mean queue of 34.0 kB where increases add up to 32.
#[test]
fn stamps_in_segments_do_the_same() {
    let tcp = |control: &str| vec![format!("host.transport={{kind=\"tcp\",{control}}}")];
    let settings = tcp("congestion_control=\"hpcc\",hpcc={additive_increase=\"80B\"}");
    let steady = Loop { settings, steady_ms: [4, 8], ..fast(4, String::new()) }.run();
    assert_near("utilisation", steady.utilisation(100.0, STAMPED_SEGMENT), 0.95, 0.01);
    assert!(steady.mean_queue() < PACKET + STAMPED_SEGMENT, "{}", steady.mean_queue());
    assert!(steady.fairness() >= 0.98, "{}", steady.fairness());

    let settings = tcp("congestion_control=\"powertcp\",powertcp={additive_increase=\"4000B\"}");
    let steady = Loop { settings, ..fast(8, String::new()) }.run();
    assert_near("queue", steady.mean_queue(), 32_000.0, 0.2);
    let utilisation = steady.utilisation(100.0, STAMPED_SEGMENT);
    assert!(utilisation >= 0.99, "{utilisation}");
    assert!(steady.fairness() >= 0.99, "{}", steady.fairness());
}

/// Theta-PowerTCP's queue also holds the sum of its increases. Measured: -1 to +7 %.
///
/// The sum must be at most some 2 % of the BDP. Windows are computed once a round trip, and with a larger sum the queue
/// swings: four flows that grow by 4000 B at 1 us have a mean queue of 39 kB in place of 16 kB.
#[test]
fn theta_powertcp_s_queue_is_the_sum_of_its_increases() {
    for (senders, increase, delay_us) in
        [(2, 500, 5.0), (4, 500, 5.0), (8, 500, 5.0), (4, 312, 1.0)]
    {
        let powertcp = format!("theta_powertcp = {{ additive_increase = \"{increase}B\" }}");
        let transport = format!("congestion_control = \"theta-powertcp\", {powertcp}");
        let steady = Loop { delay_us, ..fast(senders, transport) }.run();
        let what = format!("{senders} flows, {increase} B, {delay_us} us");
        assert_near(&what, steady.mean_queue(), (senders * increase) as f64, 0.2);
        let utilisation = steady.utilisation(100.0, 0.0);
        assert!(utilisation >= 0.985, "{what}: {utilisation}");
        assert!(steady.fairness() >= 0.95, "{what}: {}", steady.fairness());
    }
}
