//! PowerTCP (Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022).
//!
//! Voltage is the queue at a hop plus the bandwidth-delay product. Current is the rate at which packets come in: the
//! change of the queue plus the output. Their product is power. The window is divided by the ratio of power to the
//! power of a link that is just full: Algorithm 1 of the paper. The rate is window / base RTT.
//!
//! The implementation follows one half of the authors' simulator (`inet-tub/ns3-datacenter`) where the paper is silent:
//! the estimate begins at 1 (RDMA half, `rdma-hw.cc`), the first ACK only leaves its stamps (TCP half,
//! `tcp-advanced.cc`), a hop's current is at least half of its rate (both), and the window of a round trip ago is the
//! window with which the round trip began. The utilization of the reference link can be set: 0.95 in the RDMA half, 1
//! in the paper. No window is above the bandwidth-delay product. A new rate moves the start of the next packet, as in
//! both halves (`ChangeRate` in the RDMA half, `SetCCRate` in the TCP half).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::Part;
use units::ratio::Probability;
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::line_rate::LineRate;
use super::multiple::Multiple;
use super::path::{Path, Step};
use super::rounds::Rounds;
use super::settings::{Complete, Needs, Signal};
use super::{Acknowledged, CongestionControl, Link, Transmitted, rate_of};

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &[] }
}

/// PowerTCP or theta-PowerTCP (Addanki et al., NSDI 2022).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "PowerTcpKeys", transform = in_words())]
pub struct Settings {
    /// gamma: weight of a new window, above 0, up to 1. Default 0.9.
    pub gain: Part,
    /// eta: target utilisation, above 0, up to 1; power is divided by it. Default 1, as in the paper; the authors'
    /// simulator has 0.95 for "powertcp".
    #[serde(skip_serializing_if = "is_whole")]
    pub utilisation: Part,
    /// beta: growth of the window, may be "0B". Default: 6/1000 of line rate x `base_rtt`, as in the authors' simulator
    /// (150 Mbit/s at 25 Gbit/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Bytes>,
    /// Minimum rate. Default "1Mbps"; the authors' simulator has 100 Mbit/s at 25 Gbit/s.
    pub minimum_rate: BitsPerSecond,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gain: Part::within(Probability { millionths: 900_000 }),
            utilisation: Part::within(Probability { millionths: 1_000_000 }),
            additive_increase: None,
            minimum_rate: BitsPerSecond(1_000_000),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to the field")]
fn is_whole(part: &Part) -> bool {
    part.get().millionths == 1_000_000
}

impl Settings {
    /// Returns the parameters on a link.
    pub(super) fn parameters(&self, link: &Link) -> Parameters {
        Parameters {
            base_rtt: link.base_rtt,
            gain: Multiple::from_millionths(self.gain.get().millionths),
            utilisation: Multiple::from_millionths(self.utilisation.get().millionths),
            additive_increase: self
                .additive_increase
                .unwrap_or_else(|| link.part_of_bandwidth_delay(6, 1000)),
            line_rate: link.rate,
            minimum_rate: self.minimum_rate.min(link.rate),
        }
    }
}

/// Parameters of both versions on a link, shared by a host's queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// tau: the base round-trip time, above zero.
    pub base_rtt: Picos,
    /// gamma: the weight of a new window, up to 1.
    pub gain: Multiple,
    /// eta of the RDMA half (`U_TARGET`): the part of a link that is to be in use, up to 1.
    pub utilisation: Multiple,
    /// beta: bytes that the window grows by.
    pub additive_increase: Bytes,
    /// The rate at which a queue pair starts, and the highest.
    pub line_rate: BitsPerSecond,
    /// The lowest rate.
    pub minimum_rate: BitsPerSecond,
}

/// The window of either version.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Bounds.
    least: u64,
    most: u64,
    /// Bytes that may be unacknowledged.
    pub bytes: u64,
    /// The window with which the round trip began (`cwnd_old`).
    pub reference: u64,
    /// Window / base RTT.
    pub rate: BitsPerSecond,
}

impl Window {
    pub fn new(parameters: &Parameters) -> Self {
        let Parameters { base_rtt, line_rate, minimum_rate, .. } = *parameters;
        let most = line_rate.bytes_in(base_rtt).0;
        let least = minimum_rate.bytes_in(base_rtt).0.min(most);
        Self { least, most, bytes: most, reference: most, rate: line_rate }
    }

    /// `UpdateWindow`: gamma (eta `cwnd_old` / power + beta) + (1 - gamma) cwnd.
    pub fn update(&mut self, power: Multiple, parameters: &Parameters) {
        let Parameters { gain, utilisation, additive_increase, base_rtt, .. } = *parameters;
        let wanted =
            power.divides(utilisation.scale(self.reference)).saturating_add(additive_increase.0);
        let kept = Multiple::ONE.minus(gain).scale(self.bytes);
        let window = gain.scale(wanted).saturating_add(kept);
        self.bytes = window.clamp(self.least, self.most);
        self.rate = rate_of(Bytes(self.bytes), base_rtt);
    }
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    window: Window,
    /// Smoothed power of the hop that has most, as a multiple of a full link's.
    power: Multiple,
    rounds: Rounds,
    path: Path,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self {
            window: Window::new(&parameters),
            power: Multiple::ONE,
            rounds: Rounds::default(),
            path: Path::default(),
            parameters,
        }
    }

    /// `NormPower`.
    fn measure(&mut self, acknowledged: &Acknowledged<'_>) {
        let base_rtt = self.parameters.base_rtt.to_nanos();
        let (mut greatest, mut span) = (Multiple::ZERO, Nanos(0));
        for step in self.path.steps(acknowledged.telemetry) {
            let power = current(&step).times(voltage(&step, base_rtt));
            if power > greatest {
                (greatest, span) = (power, step.span);
            }
        }
        self.power = self.power.averaged(greatest, span, base_rtt);
    }
}

/// lambda / b: the input rate as a multiple of the port's rate, at least 1/2.
fn current(step: &Step) -> Multiple {
    let came_in = (step.transmitted.0 + step.queue.0).saturating_sub(step.queue_before.0);
    Multiple::for_link(Bytes(came_in), step.rate, step.span).max(Multiple::HALF)
}

/// nu / (b tau): the queue and the bandwidth-delay product, as a multiple of the latter.
fn voltage(step: &Step, base_rtt: Nanos) -> Multiple {
    Multiple::for_link(step.queue, step.rate, base_rtt).plus(Multiple::ONE)
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
        if !self.path.knows(now, acknowledged.telemetry) {
            return self.path.learn(now, acknowledged.telemetry);
        }
        self.measure(acknowledged);
        self.path.learn(now, acknowledged.telemetry);
        self.window.update(self.power, &self.parameters);
        if over {
            self.window.reference = self.window.bytes;
        }
    }

    /// Smoothed power.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        Some(self.power.millionths())
    }

    #[inline]
    fn rate(&mut self, _: Picos) -> BitsPerSecond {
        self.window.rate
    }

    #[inline]
    fn moves_next_start(&self) -> bool {
        true
    }

    #[inline]
    fn window(&self, _: Picos) -> Option<Bytes> {
        Some(Bytes(self.window.bytes))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::path::tests::stamp;
    use super::*;

    /// A bandwidth-delay product of 51,200 B. Stamps have a resolution of 128 B, so 1024 ns, 12,800 B, are the unit
    /// here.
    pub fn parameters() -> Parameters {
        Parameters {
            base_rtt: Picos(4_096_000),
            gain: Multiple::from_millionths(900_000),
            utilisation: Multiple::ONE,
            additive_increase: Bytes(300),
            line_rate: BitsPerSecond(100_000_000_000),
            minimum_rate: BitsPerSecond(1_000_000_000),
        }
    }

    impl Control {
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
            self.window.bytes
        }
    }

    #[test]
    fn the_papers_algorithm_step_by_step() {
        let mut control = Control::new(parameters().into());
        let packet = Transmitted { wire: Bytes(1098), payload: Bytes(1000), again: false };
        (0..50).for_each(|_| control.transmitted(Picos(0), &packet));
        assert_eq!(control.acknowledge(10, 0, 0), 51_200, "the first stamps say nothing yet");
        // Twice the rate came in, since as much as was sent now waits: current 2, voltage 1.25, power 2.5.
        // Smoothed: 3/4 x 1 + 1/4 x 2.5 = 1.375. 0.9 (51,200 / 1.375 + 300) + 0.1 x 51,200.
        assert_eq!(control.acknowledge(11, 12_800, 12_800), 38_902);
        assert_eq!(control.window.rate, BitsPerSecond(75_980_468_750));
        assert_eq!(control.congestion(), Some(1_375_000));
        // The queue is gone and nothing came in: current at least 1/2, voltage 1. Smoothed: 1.15625.
        assert_eq!(control.acknowledge(12, 12_800, 0), 44_012);
        assert_eq!(control.window.reference, 51_200, "within a round trip it stays");
    }

    #[test]
    fn a_link_may_be_aimed_at_in_part() {
        let half = Parameters { utilisation: Multiple::HALF, ..parameters() };
        let mut window = Window::new(&half);
        // 0.9 (51,200 / 2 + 300) + 0.1 x 51,200 = 28,430, and 0.9 is cut.
        window.update(Multiple::ONE, &half);
        assert_eq!(window.bytes, 28_429);
    }
}
