//! Cubic (RFC 9438), for TCP.
//!
//! After a loss the window is multiplied by beta, and then follows a cubic function of time: steep at first, flat near
//! the window of the loss, steep beyond it. If Reno would be faster, the window follows Reno.
//!
//! Slow start ends at the first loss or mark, without HyStart (RFC 9406).

use std::sync::Arc;

use units::{BitsPerSecond, Bytes, Picos};

use super::line_rate::LineRate;
use super::rounds::Rounds;
use super::settings::{Complete, Needs, Signal};
use super::{Acknowledged, CongestionControl, Ecn, Loss, Transmitted};

mod settings;

pub use settings::Settings;

/// Parameters on a link, shared by a host's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Payload of a full segment, above zero.
    pub segment: Bytes,
    /// C: segments for each second cubed, as numerator and denominator, both above zero (0.4 in RFC 9438).
    pub scaling: (u32, u32),
    /// beta: the part of the window that remains after a loss, in millionths above zero, up to 1,000,000 (0.7 in RFC
    /// 9438).
    pub decrease_millionths: u32,
    /// True to make room for others if the window has not returned to its previous maximum (4.7).
    pub fast_convergence: bool,
    /// True to grow the window at least as fast as Reno (4.3).
    pub reno_friendly: bool,
    /// True to treat a mark as a loss.
    pub ecn: bool,
    /// The window of a connection that has sent nothing; above zero.
    pub initial_window: Bytes,
}

const MILLION: u64 = 1_000_000;

/// Bytes in fixed point with ten fractional bits: an ACK moves a window by less than a byte.
type Fine = u64;
const FINE: u64 = 1 << 10;

/// A stage of congestion avoidance (4.2).
#[derive(Clone, Copy, Debug)]
struct Stage {
    start: Picos,
    /// Time from the start until the window is back at `origin`, us (K).
    back_at: u64,
    /// The window at which the cubic function is flat (`W_max`).
    origin: Fine,
    /// Reno's window (`W_est`).
    reno: Fine,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    window: Fine,
    /// Below it the window doubles in each round trip (`ssthresh`).
    slow_start_until: Fine,
    /// The window of the last loss (`W_max`); `None` if the window has no such target.
    origin: Option<Fine>,
    /// The window before the last cut (`cwnd_prior`).
    before_cut: Fine,
    stage: Option<Stage>,
    round_trip: Picos,
    /// Bytes sent at the last cut. Until more is acknowledged, the window is neither cut again nor grows.
    cut_at: Option<u64>,
    /// True if the timer expired and nothing has been acknowledged since.
    timed_out: bool,
    /// Bytes in flight before the last ACK, or at the last time-out (`FlightSize` in RFC 5681).
    in_flight: Fine,
    cuts: u64,
    rounds: Rounds,
}

impl Control {
    /// A connection that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self {
            window: parameters.initial_window.0.saturating_mul(FINE),
            slow_start_until: u64::MAX,
            origin: None,
            before_cut: 0,
            stage: None,
            round_trip: Picos::ZERO,
            cut_at: None,
            timed_out: false,
            in_flight: 0,
            cuts: 0,
            rounds: Rounds::default(),
            parameters,
        }
    }

    fn segment(&self) -> Fine {
        self.parameters.segment.0 * FINE
    }

    /// Returns true if more than half of the window is in flight (RFC 7661, 4.2).
    fn is_used(&self) -> bool {
        self.in_flight > self.window / 2
    }

    /// beta of a window.
    fn decreased(&self, window: Fine) -> Fine {
        part(window, self.parameters.decrease_millionths.into(), MILLION)
    }

    /// Handles a loss or a mark (4.6): sets the window to return to, and cuts the used part of the window.
    fn cut(&mut self) {
        self.cuts += 1;
        self.cut_at = Some(self.rounds.sent());
        if !self.is_used() {
            self.window = self.in_flight.max(self.segment());
        }
        self.before_cut = self.window;
        let converging = self.origin.is_some_and(|origin| self.window < origin);
        // 4.7: (1 + beta) / 2 of the window.
        let origin = if self.parameters.fast_convergence && converging {
            self.window.midpoint(self.decreased(self.window))
        } else {
            self.window
        };
        self.origin = Some(origin);
        self.window = self.decreased(self.window).max(2 * self.segment());
        self.slow_start_until = self.window;
        self.stage = None;
    }

    /// The stage of congestion avoidance, which begins with its first ACK.
    fn stage(&mut self, now: Picos) -> Stage {
        if let Some(stage) = self.stage {
            return stage;
        }
        let origin = self.origin.unwrap_or(self.window).max(self.window);
        // K = cbrt((W_max - cwnd) / C), in microseconds: their cube is 10^18 to the second's.
        let (numerator, denominator) = self.parameters.scaling;
        let cube = (u128::from(origin - self.window) * u128::from(denominator))
            .saturating_mul(10_u128.pow(18))
            / (u128::from(self.segment()) * u128::from(numerator));
        let reno = self.window;
        let stage = Stage { start: now, back_at: cube_root(cube), origin, reno };
        self.stage = Some(stage);
        stage
    }

    /// `W_cubic` at a time after the stage's start (equation 1).
    fn cubic(&self, stage: &Stage, after: Picos) -> Fine {
        /// Beyond it the function is out of all bounds.
        const MAX_LENGTH: i128 = 1_000_000_000;
        let distance = i128::from(after.0 / MILLION) - i128::from(stage.back_at);
        let distance = distance.clamp(-MAX_LENGTH, MAX_LENGTH);
        let (numerator, denominator) = self.parameters.scaling;
        let height =
            distance.pow(3) * i128::from(self.parameters.segment.0) * i128::from(numerator)
                / (i128::from(denominator) * (10_i128.pow(18) / i128::from(FINE)));
        u64::try_from((i128::from(stage.origin) + height).max(0)).unwrap_or(u64::MAX)
    }

    /// Grows the window for `bytes` that were acknowledged (4.2 to 4.5).
    fn avoid_congestion(&mut self, now: Picos, bytes: u64) {
        let mut stage = self.stage(now);
        let age = now.since(stage.start);
        // 4.3: alpha is 3 (1 - beta) / (1 + beta) until Reno's window reaches the window before the cut, and then 1.
        let beta = u64::from(self.parameters.decrease_millionths);
        let (numerator, denominator) = if stage.reno < self.before_cut {
            (3 * (MILLION - beta), MILLION + beta)
        } else {
            (1, 1)
        };
        let share = part(self.segment(), bytes * FINE, self.window);
        stage.reno = stage.reno.saturating_add(part(share, numerator, denominator));
        self.stage = Some(stage);
        if self.parameters.reno_friendly && self.cubic(&stage, age) < stage.reno {
            self.window = self.window.max(stage.reno);
            return;
        }
        let most = self.window.saturating_add(self.window / 2);
        let target = self.cubic(&stage, age + self.round_trip).clamp(self.window, most);
        self.window += part(target - self.window, bytes * FINE, self.window);
    }
}

/// `value` x `numerator` / `denominator`, rounded down; saturates.
fn part(value: u64, numerator: u64, denominator: u64) -> u64 {
    let part = u128::from(value) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The largest number whose cube is at most `cube`, below 2^42.
fn cube_root(cube: u128) -> u64 {
    let mut root = 0_u64;
    for bit in (0..42).rev() {
        let next = root | 1 << bit;
        if u128::from(next).pow(3) <= cube {
            root = next;
        }
    }
    root
}

impl Complete for Settings {}

pub(super) const fn needs(settings: &Settings) -> Needs {
    let signal = if settings.ecn { Signal::Marks } else { Signal::Losses };
    Needs { base_rtt: false, signal }
}

pub(super) fn ends(parameters: Parameters, _: BitsPerSecond) -> (Control, LineRate) {
    (Control::new(parameters.into()), LineRate)
}

impl CongestionControl for Control {
    fn transmitted(&mut self, _: Picos, packet: &Transmitted) {
        self.rounds.transmitted(packet);
    }

    fn acknowledged(&mut self, now: Picos, acknowledged: &Acknowledged<'_>) {
        let bytes = acknowledged.bytes;
        self.round_trip = acknowledged.round_trip.unwrap_or(self.round_trip);
        self.in_flight = self.rounds.in_flight().saturating_mul(FINE);
        // A window that is not used gives no information about the path (5.8).
        let used = self.is_used();
        self.rounds.acknowledged(bytes);
        self.cut_at = self.cut_at.filter(|&mark| !self.rounds.is_past(mark));
        self.timed_out &= bytes == Bytes(0);
        if self.cut_at.is_some() {
            return;
        }
        if acknowledged.congestion_echo {
            self.cut();
        } else if used && self.window < self.slow_start_until {
            let grown = self.window.saturating_add(bytes.0 * FINE);
            self.window = grown.min(self.slow_start_until);
        } else if used {
            self.avoid_congestion(now, bytes.0);
        }
    }

    fn lost(&mut self, _: Picos, loss: Loss) {
        match loss {
            Loss::Reported if self.cut_at.is_some() => {}
            Loss::Reported => self.cut(),
            // 4.8: slow start, and then K = 0. RFC 5681, 3.1: the threshold stays if the same segment is lost again.
            Loss::Timeout => {
                self.in_flight = self.rounds.in_flight().saturating_mul(FINE);
                if !self.timed_out {
                    self.cut();
                }
                self.timed_out = true;
                self.window = self.segment();
                (self.origin, self.cut_at) = (None, None);
            }
        }
    }

    fn window(&self, _: Picos) -> Option<Bytes> {
        Some(Bytes(self.window / FINE))
    }

    fn cuts(&self) -> u64 {
        self.cuts
    }

    fn measures_round_trips(&self) -> bool {
        true
    }

    fn tcp_ecn(&self) -> Ecn {
        if self.parameters.ecn { Ecn::Classic } else { Ecn::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000_000;

    fn parameters() -> Parameters {
        Parameters {
            segment: Bytes(1000),
            scaling: (2, 5),
            decrease_millionths: 700_000,
            fast_convergence: true,
            reno_friendly: false,
            ecn: false,
            initial_window: Bytes(10_000),
        }
    }

    impl Control {
        fn with_window(parameters: Parameters, window: u64) -> Self {
            let mut control = Self::new(parameters.into());
            control.window = window * FINE;
            control.send(window);
            control
        }

        fn send(&mut self, bytes: u64) {
            let packet = Transmitted { wire: Bytes(bytes), payload: Bytes(bytes), again: false };
            self.transmitted(Picos(0), &packet);
        }

        /// The window after an ACK, with which as many bytes go out.
        fn acknowledge(&mut self, now: u64, bytes: u64, congestion_echo: bool) -> u64 {
            let acknowledged = Acknowledged {
                bytes: Bytes(bytes),
                round_trip: None,
                congestion_echo,
                telemetry: &[],
                telemetry_exceeded: false,
            };
            self.acknowledged(Picos(now), &acknowledged);
            self.send(bytes);
            self.window / FINE
        }
    }

    #[test]
    fn slow_start_doubles_until_the_first_loss() {
        let mut control = Control::with_window(parameters(), 10_000);
        assert_eq!(control.acknowledge(0, 10_000, false), 20_000);
        control.send(10_000);
        control.acknowledge(0, 0, false);
        control.lost(Picos(0), Loss::Reported);
        assert_eq!(control.window / FINE, 14_000);
        control.lost(Picos(0), Loss::Reported);
        assert_eq!((control.window / FINE, control.cuts()), (14_000, 1), "the same loss");
        assert_eq!(control.acknowledge(0, 20_000, false), 14_000, "all was sent before the cut");
    }

    /// 1000 segments, cut to 700: K = cbrt(300 / 0.4) s = 9.0856 s. A whole window is acknowledged at each instant, so
    /// the window is the function's value.
    #[test]
    fn between_two_losses_the_window_is_a_cubic_function_of_time() {
        let mut control = Control::with_window(parameters(), 1_000_000);
        control.acknowledge(0, 0, false);
        control.lost(Picos(0), Loss::Reported);
        control.acknowledge(0, 1_000_000, false);
        control.send(100_000_000);
        assert_eq!(control.acknowledge(0, 1, false), 700_000, "the stage begins");
        let stage = control.stage.unwrap();
        assert_eq!(stage.back_at, 9_085_602);
        // 1,000,000 + 400 (t - 9.085603)^3.
        for (seconds, expected) in
            [(1, 788_555), (4, 947_387), (9, 999_999), (10, 1_000_305), (15, 1_082_754)]
        {
            let window = control.window / FINE;
            let now = control.acknowledge(seconds * SECOND, window + 1, false);
            assert!(now.abs_diff(expected) < 3, "{seconds} s: {now}, not {expected}");
        }
    }

    #[test]
    fn a_window_that_did_not_get_back_makes_room() {
        for (fast_convergence, origin) in [(true, 850), (false, 1000)] {
            let mut control =
                Control::with_window(Parameters { fast_convergence, ..parameters() }, 2_000_000);
            control.acknowledge(0, 0, false);
            control.lost(Picos(0), Loss::Reported);
            control.acknowledge(0, 2_000_000, false);
            control.acknowledge(0, 1, false);
            control.window = 1_000_000 * FINE;
            control.lost(Picos(0), Loss::Reported);
            assert_eq!(control.origin, Some(origin * 1000 * FINE), "(1 + 0.7) / 2 of 1000");
            assert_eq!(control.window / FINE, 700_000);
        }
    }

    /// alpha = 3 x 0.3 / 1.7 = 0.529 segments in a round trip, and a whole one once the old window is back.
    #[test]
    fn where_reno_is_faster_it_is_followed() {
        let mut control =
            Control::with_window(Parameters { reno_friendly: true, ..parameters() }, 100_000);
        control.acknowledge(0, 0, false);
        control.lost(Picos(0), Loss::Reported);
        control.acknowledge(0, 100_000, false);
        control.send(100_000_000);
        let mut window = 70_000;
        for round in 1..=57 {
            let grown = control.acknowledge(round * 10_000_000, window, false);
            let step = if window < 100_000 { 529 } else { 1000 };
            assert!((grown - window).abs_diff(step) <= 1, "{round}: {window} to {grown}");
            window = grown;
        }
        assert!(control.acknowledge(600_000_000, window, false) - window > 998);
    }

    #[test]
    fn a_timeout_starts_slowly_and_from_there_anew() {
        let mut control = Control::with_window(parameters(), 100_000);
        control.lost(Picos(0), Loss::Timeout);
        assert_eq!(control.window / FINE, 1000);
        assert_eq!(control.acknowledge(0, 1000, false), 2000);
        assert_eq!(control.acknowledge(0, 99_000, false), 70_000, "slow start ends at beta");
        control.acknowledge(0, 1, false);
        assert_eq!(control.stage.unwrap().back_at, 0);
    }

    #[test]
    fn a_second_timeout_in_a_row_keeps_the_threshold() {
        let mut control = Control::with_window(parameters(), 100_000);
        control.lost(Picos(0), Loss::Timeout);
        control.lost(Picos(0), Loss::Timeout);
        assert_eq!((control.window / FINE, control.slow_start_until / FINE), (1000, 70_000));
        assert_eq!(control.cuts(), 1);
        control.acknowledge(0, 1000, false);
        control.lost(Picos(0), Loss::Timeout);
        assert_eq!(control.slow_start_until / FINE, 2000, "another segment");
    }

    /// A sender whose NIC is the bottleneck: its window neither grows nor counts.
    #[test]
    fn a_window_that_is_not_used_does_not_grow_and_the_part_that_is_used_is_cut() {
        let mut control = Control::with_window(parameters(), 100_000);
        assert_eq!(control.acknowledge(0, 1000, false), 101_000);
        control.window = 200_000 * FINE;
        assert_eq!(control.acknowledge(0, 1000, false), 200_000, "half of it is in flight");
        control.lost(Picos(0), Loss::Reported);
        assert_eq!(control.window / FINE, 70_000);
    }

    #[test]
    fn a_mark_cuts_once_a_round_trip() {
        let mut control = Control::with_window(Parameters { ecn: true, ..parameters() }, 100_000);
        assert_eq!(control.tcp_ecn(), Ecn::Classic);
        assert_eq!(control.acknowledge(0, 1000, true), 70_000);
        assert_eq!(control.acknowledge(0, 98_000, true), 70_000);
        assert_eq!(control.acknowledge(0, 2000, true), 49_000);
    }

    #[test]
    fn cube_roots() {
        assert_eq!(cube_root(0), 0);
        for root in [1, 2, 999, 1 << 41, (1 << 42) - 1] {
            let cube = u128::from(root).pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 1), root);
            assert_eq!(cube_root(cube - 1), root - 1);
        }
    }
}
