//! theta-PowerTCP (Addanki et al., NSDI 2022): PowerTCP without help of the switches.
//!
//! The gradient of the round-trip time stands for the current and the round-trip time for the voltage: Algorithm 2 of
//! the paper. Power is measured and the window changes once a round trip, as in the TCP half of the authors' simulator
//! (`inet-tub/ns3-datacenter`, `tcp-advanced.cc`), which also has the bound of -1/2 for the gradient and the first ACK
//! that only leaves its round trip; there the estimate begins at 0 and gamma is 0.7. It begins at 1 here, as in the RDMA
//! half (`rdma-hw.cc`), and gamma is the paper's 0.9. A new rate moves the start of the next packet, as in both halves.

use std::sync::Arc;

use units::{BitsPerSecond, Bytes, Picos};

use super::line_rate::LineRate;
use super::multiple::Multiple;
use super::powertcp::Window;
pub use super::powertcp::{Parameters, Settings};
use super::rounds::Rounds;
use super::settings::{Needs, Signal};
use super::{Acknowledged, CongestionControl, Transmitted};

/// The last round trip that was measured.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Picos,
    round_trip: Picos,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    window: Window,
    /// Smoothed power, as a multiple of an idle path's.
    power: Multiple,
    last: Option<Sample>,
    rounds: Rounds,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self {
            window: Window::new(&parameters),
            power: Multiple::ONE,
            last: None,
            rounds: Rounds::default(),
            parameters,
        }
    }

    /// `NormPower`: (1 + change of the RTT / time) x RTT / base RTT, smoothed over a base RTT.
    fn measure(&mut self, before: Sample, sample: Sample) {
        let base_rtt = self.parameters.base_rtt.to_nanos();
        let span = sample.at.since(before.at).to_nanos();
        let change = |later: Picos, earlier: Picos| {
            Multiple::ratio(later.since(earlier).to_nanos().0, span.0.max(1))
        };
        let current = Multiple::ONE
            .plus(change(sample.round_trip, before.round_trip))
            .minus(change(before.round_trip, sample.round_trip))
            .max(Multiple::HALF);
        let voltage = Multiple::ratio(sample.round_trip.to_nanos().0, base_rtt.0.max(1));
        self.power = self.power.averaged(current.times(voltage), span, base_rtt);
    }
}

pub(super) const fn needs(_: &Settings) -> Needs {
    Needs { base_rtt: true, signal: Signal::Nothing }
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
        let Some(round_trip) = acknowledged.round_trip.filter(|_| over || self.last.is_none())
        else {
            return;
        };
        let sample = Sample { at: now, round_trip };
        if let Some(before) = self.last.replace(sample) {
            self.measure(before, sample);
            self.window.update(self.power, &self.parameters);
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

    #[inline]
    fn measures_round_trips(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::powertcp::tests::parameters;
    use super::*;
    use units::Bytes;

    impl Control {
        fn send(&mut self) {
            let packet = Transmitted { wire: Bytes(1098), payload: Bytes(1000), again: false };
            self.transmitted(Picos(0), &packet);
        }

        /// The window after an ACK, with its round trip in nanoseconds.
        fn acknowledge(&mut self, nanos: u64, round_trip: u64) -> u64 {
            let acknowledged = Acknowledged {
                bytes: Bytes(1000),
                round_trip: Some(Picos(round_trip * 1000)),
                congestion_echo: false,
                telemetry: &[],
                telemetry_exceeded: false,
            };
            self.acknowledged(Picos(nanos * 1000), &acknowledged);
            self.window.bytes
        }
    }

    #[test]
    fn the_papers_algorithm_once_a_round_trip() {
        let mut control = Control::new(parameters().into());
        control.send();
        control.send();
        assert_eq!(control.acknowledge(100_000, 4096), 51_200, "the first one is kept");
        assert_eq!(control.acknowledge(101_000, 9000), 51_200, "within the round trip");
        control.send();
        // 1024 ns more in 4096 ns: 1 + 1/4 and 5/4 of the base RTT. 0.9 (51,200 / 1.5625 + 300) + 0.1 x 51,200.
        assert_eq!(control.acknowledge(104_096, 5120), 34_881);
        control.send();
        // The round trip falls as fast as time passes: at least 1/2, x 1/4: power 1/8 for a whole base RTT, and the
        // bound.
        assert_eq!(control.acknowledge(108_192, 1024), 51_200);
        assert_eq!(control.power, Multiple::ratio(1, 8));
        assert_eq!(control.congestion(), Some(125_000));
    }
}
