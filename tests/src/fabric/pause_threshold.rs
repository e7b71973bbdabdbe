//! Times in which BFC's pauses leave a bottleneck without packets of a flow (Goyal et al., NSDI 2022, Appendix C).

use super::Runner;
use super::backpressure::assert_paired;

/// Rate of h0's link in Mbit/s; delay of both links.
const UPSTREAM: f64 = 100_000.0;
const DELAY_NS: f64 = 5000.0;
/// Bytes of a packet, an ACK and a pause on a link: without preamble and gap (`switch.wire_overhead`), so that a
/// queue's bytes are the bytes on its link.
const PACKET: f64 = 1058.0;
const ACK: f64 = 62.0;
const PAUSE: f64 = 60.0;
/// Packets of the flow.
const PACKETS: f64 = 10_000.0;

/// A bottleneck in Mbit/s, and Th in units of its HRTT.
#[derive(Clone, Copy, Debug)]
struct Case {
    bottleneck: f64,
    round_trips: f64,
}

/// Time of bytes at a rate in Mbit/s, in nanoseconds.
fn time(bytes: f64, rate: f64) -> f64 {
    bytes * 8000.0 / rate
}

/// HRTT over h0's link, as `Scenario::scheme` has it: a packet there, and a pause back.
fn hop_round_trip() -> f64 {
    2.0 * DELAY_NS + time(PACKET + PAUSE, UPSTREAM)
}

impl Case {
    /// h0 sends one flow to h1 over one switch, whose link to h1 is the slower one. So h0 always has packets of the
    /// flow, whereas a switch in its place would run out of them as its own pauses end. The NIC obeys at once: HRTT
    /// accounts for the packets that it still sends.
    fn text(self) -> String {
        let threshold = (self.round_trips * hop_round_trip()).round();
        let bottleneck = self.bottleneck;
        format!(
            r#"
name = "pause-threshold"
[topology]
kind = "custom"
switches = ["s0"]
hosts = ["h0", "h1"]
links = [
    {{ a = "h0", b = "s0", rate = "100Gbps", delay = "5us" }},
    {{ a = "h1", b = "s0", rate = "{bottleneck}Mbps", delay = "5us" }},
]
[switch]
buffer = "4MB"
lossless = []
wire_overhead = "0B"
scheme = {{ kind = "bfc", threshold = "{threshold}ns", bitmap_period = "1ms" }}
[host]
payload = "1000B"
pause_response = "0ns"
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
label = "h0"
bytes = "10MB"
"#
        )
    }

    /// Enqueue rate over dequeue rate.
    fn x(self) -> f64 {
        UPSTREAM / self.bottleneck
    }

    /// Eq. 4.
    fn equation_4(self) -> f64 {
        let x = self.x();
        (x - 1.0) / (self.round_trips * x + (x * x - 1.0))
    }

    /// Eq. 4 for packets, because the flow is not a fluid: min and max fraction.
    ///
    /// - Phase 3 begins when the last packet's transmission does, because it then leaves its queue and the resume goes
    ///   out. So the link is idle for a packet's time less than HRTT. The resume may wait for one ACK.
    /// - Phase 1 ends at the first packet with which the queue exceeds Th; the packet itself counts, the packet in
    ///   transmission does not. That takes up to one packet of queue more than Th and one packet's arrival, beside the
    ///   first packet, which does not wait.
    /// - The pause stops h0 at the end of a packet, so HRTT is up to a packet's time too long, and the pause may wait
    ///   for an ACK. Packets are whole: one more or less arrives meanwhile.
    /// - The flow ends anywhere in a cycle, so up to one idle phase is missing.
    fn bounds(self) -> [f64; 2] {
        let (drain, arrival) = (time(PACKET, self.bottleneck), time(PACKET, UPSTREAM));
        let (x, round_trip, ack) = (self.x(), hop_round_trip(), time(ACK, UPSTREAM));
        let threshold = self.round_trips * round_trip / drain;
        let to_threshold = |queued: f64| queued * x / (x - 1.0);
        let fewest = to_threshold(threshold) + (round_trip - arrival) / arrival;
        let most = 3.0 + to_threshold(threshold + 1.0) + (round_trip + ack) / arrival;
        let part = |phases: f64, idle: f64| phases * idle / (phases * idle + PACKETS * drain);
        [part(PACKETS / most - 1.0, round_trip - drain), part(PACKETS / fewest, round_trip + ack)]
    }

    /// Fraction of the time in which the switch has no packet of the flow to send: the excess of its completion time
    /// over the ideal, which has no pause, divided by the sum of this excess and the packets' time on the link.
    fn measured(self, run: Runner) -> f64 {
        let run = run(&self.text(), &[]);
        run.assert_lossless();
        assert_paired(&run);
        let flows = run.flows();
        let flow = flows.only("label", "h0");
        let idle = flow.number("fct_ns") - flow.number("ideal_ns");
        let idle = f64::from(u32::try_from(idle).expect("less than four seconds"));
        idle / (idle + PACKETS * time(PACKET, self.bottleneck))
    }
}

/// Th of 1, 2 and 4 HRTT of the bottleneck, enqueued at 1.25 to 5 times its rate: each part is within its bounds, which have Eq. 4
/// between them and are a hundredth apart. The largest is at the x of the paper, sqrt(Th / HRTT) + 1: 2 for 1, where it is 0.2, and
/// 3 for 4.
pub fn idle_time(run: Runner) {
    for (round_trips, bottlenecks, largest) in [
        (1.0, &[80_000.0, 66_667.0, 50_000.0, 33_333.0, 25_000.0, 20_000.0][..], 2),
        (2.0, &[50_000.0], 0),
        (4.0, &[66_667.0, 50_000.0, 33_333.0, 25_000.0, 20_000.0], 2),
    ] {
        let mut found = Vec::new();
        for &bottleneck in bottlenecks {
            let case = Case { bottleneck, round_trips };
            let ([least, most], model) = (case.bounds(), case.equation_4());
            assert!(least < model && model < most && most - least < 0.012, "{case:?}");
            let part = case.measured(run);
            assert!(least < part && part < most, "{case:?}: {least} < {part} < {most}");
            found.push(part);
        }
        assert!(found.iter().all(|part| *part <= found[largest]), "{round_trips}: {found:?}");
    }
}
