//! `PowerTCP` and theta-PowerTCP of ns3-datacenter as a rate: `UpdateRatePower` of its `rdma-hw.cc`. Written from the
//! simulator's source; no run of it has been compared.

use std::collections::BTreeMap;

use units::Nanos;

use super::Feedback;
use super::hpcc::{Hop, MAX_HOPS, QUEUE_UNIT};
use crate::ns3::settings::{Control, Settings};
use crate::ns3::time::cut;

/// Constants of the simulator: beta in bit/s, gamma of each algorithm, and the margin of theta-PowerTCP's base round trip.
const INCREASE: u64 = 150_000_000;
const GAMMA: [f64; 2] = [0.9, 0.1];
const THETA_GAMMA: [f64; 2] = [0.7, 0.3];
const MARGIN: f64 = 1.05;
/// Least gradient of theta-PowerTCP.
const LEAST_GRADIENT: f64 = 0.5;

/// State of a sender.
#[derive(Debug)]
pub(crate) struct State {
    /// Bytes sent at the last update; 0 before the first.
    updated: u32,
    hops: [Hop; MAX_HOPS],
    /// Smoothed normalised power.
    power: f64,
    /// Rate of the last round trip.
    rate: u64,
    /// Starts of packets by the byte behind them, until an ACK names the byte.
    starts: BTreeMap<u32, Nanos>,
    /// Round-trip time and instant of the last ACK, ns. The simulator does not initialise them; 0 here.
    last: (f64, f64),
}

impl State {
    pub fn new(line: u64) -> Self {
        Self {
            updated: 0,
            hops: [Hop(0); MAX_HOPS],
            power: 1.0,
            rate: line,
            starts: BTreeMap::new(),
            last: (0.0, 0.0),
        }
    }

    /// Notes the start of a packet that ends before byte `end`.
    pub fn sent(&mut self, now: Nanos, end: u32) {
        self.starts.insert(end, now);
    }

    /// Handles an ACK with the telemetry of its packet, on a flow with this base round-trip time and line rate. Returns the new
    /// rate, if it sets one, which may be the present one. theta-PowerTCP lowers the base to the packet's round trip.
    pub fn acknowledged(
        &mut self,
        now: Nanos,
        feedback: Feedback,
        hops: &[Hop],
        (base, line): (&mut Nanos, u64),
        settings: &Settings,
    ) -> Option<u64> {
        let hops = &hops[..hops.len().min(MAX_HOPS)];
        let is_theta = settings.control == Control::ThetaPowerTcp;
        let is_full = feedback.number > self.updated;
        if !is_full && !settings.fast_reaction {
            return None;
        }
        let mut latest = (base.0 as f64, now.0 as f64);
        if let Some(start) = self.starts.remove(&feedback.number) {
            let taken = now.0.saturating_sub(start.0);
            latest.0 = taken as f64;
            if is_theta {
                base.0 = base.0.min(taken);
            }
        }
        if self.updated == 0 && !is_theta {
            self.last = latest;
            self.updated = feedback.sent;
            self.hops[..hops.len()].copy_from_slice(hops);
            return None;
        }
        let (mut most, mut elapsed, mut any) = (0.0, 0, false);
        for (place, &hop) in hops.iter().enumerate() {
            if settings.skips_empty_queues && !is_full && hop.queue() == 0 {
                continue;
            }
            any = true;
            let before = std::mem::replace(&mut self.hops[place], hop);
            let (power, time) = if is_theta {
                self.power_of_times(latest, *base)
            } else {
                power_of_hop(hop, before, *base, settings.stamp_multiple)
            };
            if power > most {
                (most, elapsed) = (power, time);
            }
        }
        self.last = latest;
        let rate = any.then(|| self.step(most, elapsed.min(base.0), *base, line, settings));
        if is_full {
            self.rate = rate.unwrap_or(self.rate);
            self.updated = self.updated.max(feedback.sent);
        }
        rate
    }

    /// Normalised power from the round-trip times of two ACKs, and the time between them.
    fn power_of_times(&self, (rtt, now): (f64, f64), base: Nanos) -> (f64, u64) {
        let mut gradient = (rtt - self.last.0) / (now - self.last.1) + 1.0;
        if gradient < LEAST_GRADIENT {
            gradient = LEAST_GRADIENT;
        }
        (gradient * rtt / (MARGIN * base.0 as f64), cut(now - self.last.1))
    }

    /// Smooths the power over `elapsed` of a base round trip, and returns the new rate.
    fn step(
        &mut self,
        power: f64,
        elapsed: u64,
        base: Nanos,
        line: u64,
        settings: &Settings,
    ) -> u64 {
        let rest = (base.0 - elapsed) as f64;
        self.power = self.power.mul_add(rest, power * elapsed as f64) / base.0 as f64;
        let (excess, [gamma, kept]) = if settings.control == Control::ThetaPowerTcp {
            (self.power, THETA_GAMMA)
        } else {
            (self.power / settings.target(), GAMMA)
        };
        let aimed = cut(self.rate as f64 / excess).saturating_add(INCREASE);
        let rate = cut(aimed as f64 * gamma).saturating_add(cut(self.rate as f64 * kept));
        rate.max(settings.minimum_rate.0).min(line)
    }
}

/// Normalised power of a hop since its last telemetry, and the time between the two.
fn power_of_hop(hop: Hop, before: Hop, base: Nanos, multiple: u32) -> (f64, u64) {
    let (elapsed, received) = hop.since(before, multiple);
    let current = received as f64 * 8.0 / (elapsed as f64 * 1e-9);
    let queue = (hop.queue() * QUEUE_UNIT * u64::from(multiple)) as f64 * 8.0;
    let rate = hop.rate();
    let voltage = queue + rate * (base.0 as f64 * 1e-9);
    // The simulator multiplies the rate and the time as integers, and rounds only the product with 1e-9.
    let product = (rate as u64).wrapping_mul(base.0) as f64 * 1e-9;
    (current * voltage / (rate * product), elapsed)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the arithmetic is the simulator's to the last bit")]
mod tests {
    use units::checked::Part;
    use units::ratio::Probability;
    use units::{BitsPerSecond, Bytes};

    use super::*;

    const LINE: u64 = 25_000_000_000;

    fn hop(now: u64, received: u64, queue: u64) -> Hop {
        Hop::new(BitsPerSecond(LINE), Nanos(now), Bytes(received), Bytes(queue), 1)
    }

    fn settings(control: Control) -> Settings {
        Settings {
            control,
            utilisation: Part::within(Probability { millionths: 1_000_000 }),
            ..Settings::default()
        }
    }

    fn feedback(number: u32, sent: u32) -> Feedback {
        Feedback { number, sent, marked: false }
    }

    /// A base round trip of 8192 ns carries 25,600 B, the queue is 6400 B: the voltage is 5/4 of the path's. 6400 B in 1024 ns
    /// are twice the rate. The power of 5/2 over an eighth of a round trip makes 7/8 + 5/16 = 19/16.
    #[test]
    fn power_is_the_rate_of_what_comes_in_times_path_and_queue() {
        let (mut state, of) = (State::new(LINE), settings(Control::PowerTcp));
        let mut base = Nanos(8192);
        let mut ack = |now, number, sent, hops: &[Hop]| {
            let rate = state.acknowledged(
                Nanos(now),
                feedback(number, sent),
                hops,
                (&mut base, LINE),
                &of,
            );
            (rate, state.power, state.rate)
        };
        assert_eq!(
            ack(0, 1000, 9000, &[hop(0, 0, 0)]),
            (None, 1.0, LINE),
            "it leaves its telemetry"
        );
        let (rate, power, kept) = ack(1024, 2000, 10_000, &[hop(1024, 6400, 6400)]);
        assert!((power - 19.0 / 16.0).abs() < 1e-12);
        let aimed = (25e9 / power) as u64 + 150_000_000;
        let expected = (aimed as f64 * 0.9) as u64 + 2_500_000_000;
        assert_eq!((rate, kept), (Some(expected), LINE), "the round trip is not over");
        // The least rate is 100 Mbit/s, and the round trip's rate is kept from now on.
        let (rate, power, kept) = ack(9216, 9001, 12_000, &[hop(9216, 6400 + 128 * 16_000, 6400)]);
        assert!((power - 100.0).abs() < 1e-9, "2,048,000 B in a round trip are 80, times 5/4");
        let expected = ((25e9 / power) as u64 + 150_000_000) as f64 * 0.9;
        assert_eq!(rate, Some(expected as u64 + 2_500_000_000));
        assert_eq!((Some(kept), base), (rate, Nanos(8192)));
    }

    /// The first ACK compares with zero at zero: (9000 - 0) / 1,000,000 + 1 = 1.009, times 9000 / (1.05 x 8000).
    #[test]
    fn theta_measures_the_gradient_of_round_trips_and_keeps_the_least() {
        let (mut state, of) = (State::new(LINE), settings(Control::ThetaPowerTcp));
        let mut base = Nanos(8000);
        let stamps = [hop(0, 0, 0)];
        state.sent(Nanos(991_000), 1000);
        state.sent(Nanos(994_000), 2000);
        let first = (feedback(1000, 2000), (&mut base, LINE));
        let rate = state.acknowledged(Nanos(1_000_000), first.0, &stamps, first.1, &of);
        let power = (9000.0 / 1e6 + 1.0) * 9000.0 / (1.05 * 8000.0);
        assert_eq!((state.power, base), (power, Nanos(8000)));
        let aimed = (25e9 / power) as u64 + 150_000_000;
        assert_eq!(rate, Some((aimed as f64 * 0.7) as u64 + 7_500_000_000));
        assert_eq!((Some(state.rate), state.updated), (rate, 2000));
        // 7000 ns after 9000 ns, within 1000 ns: the gradient of -1 counts as 1/2, and the base is 7000 ns now.
        let second = (feedback(2000, 3000), (&mut base, LINE));
        state.acknowledged(Nanos(1_001_000), second.0, &stamps, second.1, &of);
        let next = 0.5 * 7000.0 / (1.05 * 7000.0);
        assert_eq!(state.power, power.mul_add(6000.0, next * 1000.0) / 7000.0);
        assert_eq!((base, state.starts.len()), (Nanos(7000), 0));
    }

    #[test]
    fn an_ack_within_the_round_trip_may_change_nothing() {
        let of = Settings { fast_reaction: false, ..settings(Control::PowerTcp) };
        let mut state = State::new(LINE);
        let mut base = Nanos(8000);
        let mut ack = |number, sent| {
            let hops = [hop(u64::from(number), u64::from(number), 0)];
            state.acknowledged(Nanos(0), feedback(number, sent), &hops, (&mut base, LINE), &of)
        };
        assert_eq!(ack(1000, 9000), None);
        assert_eq!(ack(2000, 9500), None);
        assert!(ack(9001, 9500).is_some());
    }
}
