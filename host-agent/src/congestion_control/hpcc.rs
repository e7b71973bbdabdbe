//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019).
//!
//! Every ACK carries, for each switch of the path, the bytes that its port had sent and the length of its queue. Two
//! consecutive stamps of a hop give its utilization, by which the window is divided: Algorithm 1 of the paper. The rate
//! is window / base RTT, so that packets are paced.
//!
//! The implementation follows the authors' simulator (`alibaba-edu/High-Precision-Congestion-Control`, `rdma-hw.cc`)
//! where the paper is silent: the estimate begins at 1, the first ACK only leaves its stamps, and the window stays
//! between the min rate's window and the bandwidth-delay product. A new rate moves the start of the next packet, as
//! `ChangeRate` does there: otherwise a flow whose window is below one packet would wait for a whole packet at a rate
//! that no longer holds.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::Part;
use units::ratio::Probability;
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::line_rate::LineRate;
use super::multiple::Multiple;
use super::path::Path;
use super::rounds::Rounds;
use super::settings::{Complete, Needs, Signal};
use super::{Acknowledged, CongestionControl, Link, Transmitted, rate_of};

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &[] }
}

/// HPCC (Li et al., SIGCOMM 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "HpccKeys", transform = in_words())]
pub struct Settings {
    /// eta: target utilisation, above 0, up to 1. Default 0.95.
    pub utilisation: Part,
    /// maxStage: round trips of additive increase before the window follows the utilisation again. Default 5.
    pub max_stage: u32,
    /// True if every ACK changes the window, in proportion to the window of the last round trip. If false, only the
    /// first ACK of each round trip changes it. Default true.
    pub fast_reaction: bool,
    /// W_AI: growth of the window, may be "0B". Default: (1 - `utilisation`) / 100 of line rate x `base_rtt`, which is
    /// 81 B at 100 Gbit/s and 13 us; the paper has 80 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Bytes>,
    /// Minimum rate. Default "1Mbps"; the authors' simulator has 1 Gbit/s at 100 Gbit/s.
    pub minimum_rate: BitsPerSecond,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            utilisation: Part::within(Probability { millionths: 950_000 }),
            max_stage: 5,
            fast_reaction: true,
            additive_increase: None,
            minimum_rate: BitsPerSecond(1_000_000),
        }
    }
}

impl Settings {
    /// Returns the parameters on a link.
    pub(super) fn parameters(&self, link: &Link) -> Parameters {
        let utilisation = self.utilisation.get().millionths;
        let usual = link.part_of_bandwidth_delay(u64::from(1_000_000 - utilisation), 100_000_000);
        Parameters {
            base_rtt: link.base_rtt,
            utilisation: Multiple::from_millionths(utilisation),
            stages: self.max_stage,
            fast_reaction: self.fast_reaction,
            additive_increase: self.additive_increase.unwrap_or(usual),
            line_rate: link.rate,
            minimum_rate: self.minimum_rate.min(link.rate),
        }
    }
}

/// Parameters on a link, shared by a host's queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// T: the base round-trip time, above zero.
    pub base_rtt: Picos,
    /// eta: the utilisation that the window aims at, above zero.
    pub utilisation: Multiple,
    /// maxStage: round trips of additive increase before the window follows the utilisation again.
    pub stages: u32,
    /// True if every ACK changes the window; false for only the first ACK of each round trip.
    pub fast_reaction: bool,
    /// W_AI: bytes that the window grows by.
    pub additive_increase: Bytes,
    /// The rate at which a queue pair starts, and the highest.
    pub line_rate: BitsPerSecond,
    /// The lowest rate.
    pub minimum_rate: BitsPerSecond,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    /// Bounds of the window.
    least: u64,
    most: u64,
    /// W.
    window: u64,
    /// `W_c`: the window of the last round trip.
    reference: u64,
    /// Window / base RTT.
    rate: BitsPerSecond,
    /// U: the smoothed utilisation of the busiest hop.
    estimate: Multiple,
    /// Round trips of additive increase so far.
    stage: u32,
    rounds: Rounds,
    path: Path,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        let Parameters { base_rtt, line_rate, minimum_rate, .. } = *parameters;
        let most = line_rate.bytes_in(base_rtt).0;
        Self {
            least: minimum_rate.bytes_in(base_rtt).0.min(most),
            most,
            window: most,
            reference: most,
            rate: line_rate,
            estimate: Multiple::ONE,
            stage: 0,
            rounds: Rounds::default(),
            path: Path::default(),
            parameters,
        }
    }

    /// `MeasureInflight`: the utilisation of the busiest hop, smoothed over a base RTT.
    fn measure(&mut self, acknowledged: &Acknowledged<'_>) {
        let base_rtt = self.parameters.base_rtt.to_nanos();
        let (mut busiest, mut span) = (Multiple::ZERO, Nanos(0));
        for hop in self.path.steps(acknowledged.telemetry) {
            let queue = Bytes(hop.queue.0.min(hop.queue_before.0));
            let utilisation = Multiple::for_link(hop.transmitted, hop.rate, hop.span)
                .plus(Multiple::for_link(queue, hop.rate, base_rtt));
            if utilisation > busiest {
                (busiest, span) = (utilisation, hop.span);
            }
        }
        self.estimate = self.estimate.averaged(busiest, span, base_rtt);
    }

    /// `ComputeWind`: the window, and the stage that follows if this is the first ACK of a round trip.
    fn compute(&self) -> (u64, u32) {
        let Parameters { utilisation, stages, additive_increase, .. } = *self.parameters;
        let (window, stage) = if self.estimate >= utilisation || self.stage >= stages {
            (self.estimate.divides(utilisation.scale(self.reference)), 0)
        } else {
            (self.reference, self.stage + 1)
        };
        let grown = window.saturating_add(additive_increase.0);
        (grown.clamp(self.least, self.most), stage)
    }
}

impl Complete for Settings {}

pub(super) const fn needs(_: &Settings) -> Needs {
    Needs { base_rtt: true, signal: Signal::Telemetry }
}

pub(super) fn ends(parameters: Parameters, _: BitsPerSecond) -> (Control, LineRate) {
    (Control::new(parameters.into()), LineRate)
}

impl CongestionControl for Control {
    #[inline]
    fn transmitted(&mut self, _: Picos, packet: &Transmitted) {
        self.rounds.transmitted(packet);
    }

    fn acknowledged(&mut self, now: Picos, acknowledged: &Acknowledged<'_>) {
        let over = self.rounds.acknowledged(acknowledged.bytes);
        if !over && !self.parameters.fast_reaction {
            return;
        }
        if !self.path.knows(now, acknowledged.telemetry) {
            return self.path.learn(now, acknowledged.telemetry);
        }
        self.measure(acknowledged);
        self.path.learn(now, acknowledged.telemetry);
        let (window, stage) = self.compute();
        self.window = window;
        self.rate = rate_of(Bytes(window), self.parameters.base_rtt);
        if over {
            (self.reference, self.stage) = (window, stage);
        }
    }

    /// U.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        Some(self.estimate.millionths())
    }

    #[inline]
    fn rate(&mut self, _: Picos) -> BitsPerSecond {
        self.rate
    }

    #[inline]
    fn moves_next_start(&self) -> bool {
        true
    }

    #[inline]
    fn window(&self, _: Picos) -> Option<Bytes> {
        Some(Bytes(self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::tests::stamp;
    use super::*;

    /// A bandwidth-delay product of 51,200 B. Stamps have a resolution of 128 B, so 1024 ns, 12,800 B, are the unit
    /// here.
    fn parameters() -> Parameters {
        Parameters {
            base_rtt: Picos(4_096_000),
            utilisation: Multiple::from_millionths(950_000),
            stages: 5,
            fast_reaction: true,
            additive_increase: Bytes(100),
            line_rate: BitsPerSecond(100_000_000_000),
            minimum_rate: BitsPerSecond(1_000_000_000),
        }
    }

    impl Control {
        fn send(&mut self, packets: u64) {
            let packet = Transmitted { wire: Bytes(1098), payload: Bytes(1000), again: false };
            (0..packets).for_each(|_| self.transmitted(Picos(0), &packet));
        }

        /// The window after an ACK of a packet that one switch has stamped.
        fn acknowledge(&mut self, units: u64, transmitted: u64, queue: u64) -> u64 {
            let acknowledged = Acknowledged {
                bytes: Bytes(1000),
                round_trip: None,
                congestion_echo: false,
                telemetry: &[stamp(1024 * units, transmitted, queue)],
                telemetry_exceeded: false,
            };
            self.acknowledged(Picos(0), &acknowledged);
            self.window
        }
    }

    #[test]
    fn the_papers_algorithm_step_by_step() {
        let mut control = Control::new(parameters().into());
        control.send(50);
        assert_eq!(control.acknowledge(10, 0, 0), 51_200, "the first stamps say nothing yet");
        // Full rate, and the smaller of the two queues is empty: u = 1, U = 1. 51,200 x 0.95 + 100.
        assert_eq!(control.acknowledge(11, 12_800, 12_800), 48_739);
        assert_eq!(control.rate, BitsPerSecond(95_193_359_375));
        // u = 1 + 12,800 / 51,200; U = 3/4 x 1 + 1/4 x 1.25 = 1.0625. The reference is still 51,200.
        assert_eq!(control.acknowledge(12, 25_600, 12_800), 45_877);
        assert_eq!(control.congestion(), Some(1_062_500));
        // A quarter of the rate: U = 3/4 x 1.0625 + 1/4 x 1/4 = 0.859375, so it only grows, to the bound.
        assert_eq!(control.acknowledge(13, 28_800, 0), 51_200);
        assert_eq!(control.stage, 0, "within a round trip the stage stays");
    }

    #[test]
    fn the_reference_changes_once_a_round_trip_and_growth_has_stages() {
        let mut control = Control::new(Parameters { stages: 2, ..parameters() }.into());
        control.send(1);
        control.acknowledge(10, 0, 0);
        let mut sent = 0;
        let mut round_trip = |control: &mut Control, at: u64, bytes: u64| {
            sent += bytes;
            control.send(1);
            control.acknowledge(at, sent, 0);
            (control.reference, control.stage)
        };
        assert_eq!(round_trip(&mut control, 14, 51_200), (48_739, 0));
        // Over a whole base RTT at 1.9 times the rate, were it possible: 48,739 x 0.95 / 1.9 + 100.
        assert_eq!(round_trip(&mut control, 18, 97_280), (24_469, 0));
        // Half: additive increase for two round trips, then the window doubles nearly.
        assert_eq!(round_trip(&mut control, 22, 25_600), (24_569, 1));
        assert_eq!(round_trip(&mut control, 26, 25_600), (24_669, 2));
        assert_eq!(round_trip(&mut control, 30, 25_600), (46_970, 0));
    }

    #[test]
    fn without_fast_reaction_only_the_first_ack_of_a_round_trip_counts() {
        let slow = Parameters { fast_reaction: false, ..parameters() };
        let mut control = Control::new(slow.into());
        control.send(2);
        assert_eq!(control.acknowledge(10, 0, 0), 51_200, "the first stamps say nothing yet");
        assert_eq!(control.acknowledge(12, 51_200, 0), 51_200, "of the same round trip");
        control.send(1);
        // Since the first stamps: 51,200 B in 4 units, one base RTT, so U = 1.
        assert_eq!(control.acknowledge(14, 51_200, 0), 48_739);
    }

    #[test]
    fn the_window_stays_above_the_least_rate_s() {
        let mut control = Control::new(parameters().into());
        control.send(1);
        for at in 0..50 {
            control.acknowledge(10 + 4 * at, 51_200 * at, 1_000_000);
            control.send(1);
        }
        assert_eq!(control.window, 512);
        assert_eq!(control.rate, BitsPerSecond(1_000_000_000));
    }
}
