//! HPCC as a rate, from the simulator's telemetry.

use units::{BitsPerSecond, Bytes, Nanos};

use super::Feedback;
use crate::ns3::settings::Settings;
use crate::ns3::time::cut;

/// Hops for which packets have room.
pub const MAX_HOPS: usize = 5;
const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 17;
const SENT_UNIT: u64 = 128;
pub(super) const QUEUE_UNIT: u64 = 80;
/// Rates that a stamp can name, in Gbit/s. Another one goes as the first.
const RATES: [u64; 5] = [25, 50, 100, 200, 400];

/// Returns true if a stamp can name a rate.
pub fn has_stamp(rate: BitsPerSecond) -> bool {
    RATES.iter().any(|gigabits| gigabits * 1_000_000_000 == rate.0)
}

/// Telemetry of a hop: 64 bits as in the simulator's `IntHop`.
///
/// ```text
/// 63  rate 3 | time 24, ns | sent 20, units of 128 B | queue 17, units of 80 B  0
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop(pub u64);

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl Hop {
    /// Telemetry of a port that has `sent` these bytes before the packet, or received them for `PowerTCP`, and holds `queue` bytes behind it. Units are
    /// `multiple` times as large.
    pub fn new(rate: BitsPerSecond, now: Nanos, sent: Bytes, queue: Bytes, multiple: u32) -> Self {
        let code = RATES.iter().position(|gigabits| gigabits * 1_000_000_000 == rate.0);
        let code = code.unwrap_or(0) as u64;
        let multiple = u64::from(multiple);
        let sent = (sent.0 / (SENT_UNIT * multiple)) & mask(SENT_BITS);
        let queue = (queue.0 / (QUEUE_UNIT * multiple)) & mask(QUEUE_BITS);
        let time = now.0 & mask(TIME_BITS);
        Self(
            code << (TIME_BITS + SENT_BITS + QUEUE_BITS)
                | time << (SENT_BITS + QUEUE_BITS)
                | sent << QUEUE_BITS
                | queue,
        )
    }

    pub(super) fn rate(self) -> f64 {
        let code = (self.0 >> (TIME_BITS + SENT_BITS + QUEUE_BITS)) as usize;
        (RATES[code.min(RATES.len() - 1)] * 1_000_000_000) as f64
    }

    pub(super) const fn queue(self) -> u64 {
        self.0 & mask(QUEUE_BITS)
    }

    const fn sent(self) -> u64 {
        self.0 >> QUEUE_BITS & mask(SENT_BITS)
    }

    const fn time(self) -> u64 {
        self.0 >> (SENT_BITS + QUEUE_BITS) & mask(TIME_BITS)
    }

    /// Nanoseconds and bytes since earlier telemetry of the hop.
    pub(super) const fn since(self, before: Self, multiple: u32) -> (u64, u64) {
        let elapsed = self.time().wrapping_sub(before.time()) & mask(TIME_BITS);
        let sent = self.sent().wrapping_sub(before.sent()) & mask(SENT_BITS);
        (elapsed, sent * SENT_UNIT * multiple as u64)
    }
}

/// Average utilisation, rate and stage: of the path, or of a hop.
#[derive(Clone, Copy, Debug)]
struct Controller {
    utilisation: f64,
    rate: u64,
    stage: u32,
}

/// State of a sender.
#[derive(Debug)]
pub(crate) struct State {
    /// Bytes sent at the last update; 0 before the first.
    updated: u32,
    hops: [Hop; MAX_HOPS],
    path: Controller,
    of_hops: [Controller; MAX_HOPS],
}

/// Constants of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    /// Base round-trip time, ns.
    pub rtt: u64,
    /// Window; 0 for none.
    pub window: u32,
    /// Line rate of the sender.
    pub line: u64,
}

impl State {
    pub fn new(line: u64) -> Self {
        let path = Controller { utilisation: 1.0, rate: line, stage: 0 };
        Self { updated: 0, hops: [Hop(0); MAX_HOPS], path, of_hops: [path; MAX_HOPS] }
    }

    /// Handles an ACK with the telemetry of its packet. Returns the new rate, if it sets one, which may be the present
    /// one.
    pub fn acknowledged(
        &mut self,
        feedback: Feedback,
        hops: &[Hop],
        base: Base,
        settings: &Settings,
    ) -> Option<u64> {
        let hops = &hops[..hops.len().min(MAX_HOPS)];
        let is_full = feedback.number > self.updated;
        if !is_full && !settings.fast_reaction {
            return None;
        }
        if self.updated == 0 {
            self.updated = feedback.sent;
            self.hops[..hops.len()].copy_from_slice(hops);
            return None;
        }
        let rate = if settings.rate_per_hop {
            self.update_hops(is_full, hops, base, settings)
        } else {
            self.update_path(is_full, hops, base, settings)
        };
        if is_full {
            self.updated = self.updated.max(feedback.sent);
        }
        rate
    }

    /// Utilisation of a hop since its last telemetry, which this telemetry replaces, and the time between the two.
    fn measure(&mut self, place: usize, hop: Hop, base: Base, settings: &Settings) -> (f64, u64) {
        let multiple = u64::from(settings.stamp_multiple);
        let before = std::mem::replace(&mut self.hops[place], hop);
        let (elapsed, sent) = hop.since(before, settings.stamp_multiple);
        let speed = (sent * 8) as f64 / (elapsed as f64 * 1e-9);
        let queue = hop.queue().min(before.queue()) * QUEUE_UNIT * multiple;
        let queued = queue as f64 * base.line as f64 / hop.rate() / f64::from(base.window);
        (speed / hop.rate() + queued, elapsed)
    }

    fn update_path(
        &mut self,
        is_full: bool,
        hops: &[Hop],
        base: Base,
        settings: &Settings,
    ) -> Option<u64> {
        let (mut most, mut elapsed, mut any) = (0.0, 0, false);
        for (place, &hop) in hops.iter().enumerate() {
            if settings.skips_empty_queues && !is_full && hop.queue() == 0 {
                continue;
            }
            any = true;
            let (utilisation, time) = self.measure(place, hop, base, settings);
            if utilisation > most {
                (most, elapsed) = (utilisation, time);
            }
        }
        if !any {
            return None;
        }
        let mut next = self.path;
        let rate = next.step(most, elapsed.min(base.rtt), base, settings);
        self.path.utilisation = next.utilisation;
        if is_full {
            self.path = Controller { rate, ..next };
        }
        Some(rate)
    }

    fn update_hops(
        &mut self,
        is_full: bool,
        hops: &[Hop],
        base: Base,
        settings: &Settings,
    ) -> Option<u64> {
        let (mut least, mut any) = (base.line, false);
        for (place, &hop) in hops.iter().enumerate() {
            if settings.skips_empty_queues && !is_full && hop.queue() == 0 {
                least = least.min(self.of_hops[place].rate);
                continue;
            }
            any = true;
            let (utilisation, time) = self.measure(place, hop, base, settings);
            let mut next = self.of_hops[place];
            let rate = next.step(utilisation, time.min(base.rtt), base, settings);
            self.of_hops[place].utilisation = next.utilisation;
            if is_full {
                self.of_hops[place] = Controller { rate, ..next };
            }
            least = least.min(rate);
        }
        any.then_some(least)
    }
}

impl Controller {
    /// Averages the utilisation over `elapsed` of a base round trip, moves the stage, and returns the new rate.
    fn step(&mut self, utilisation: f64, elapsed: u64, base: Base, settings: &Settings) -> u64 {
        let rest = (base.rtt - elapsed) as f64;
        let sum = self.utilisation.mul_add(rest, utilisation * elapsed as f64);
        self.utilisation = sum / base.rtt as f64;
        let excess = self.utilisation / settings.target();
        let increase = settings.additive_increase.0.0;
        let rate = if excess >= 1.0 || self.stage >= settings.max_stage {
            self.stage = 0;
            cut(self.rate as f64 / excess).saturating_add(increase)
        } else {
            self.stage += 1;
            self.rate + increase
        };
        rate.max(settings.minimum_rate.0).min(base.line)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the arithmetic is the simulator's to the last bit")]
mod tests {
    use units::quantity::Increase;

    use super::*;

    const LINE: BitsPerSecond = BitsPerSecond(100_000_000_000);
    const BASE: Base = Base { rtt: 8000, window: 100_000, line: LINE.0 };

    fn hop(now: u64, sent: u64, queue: u64) -> Hop {
        Hop::new(LINE, Nanos(now), Bytes(sent), Bytes(queue), 1)
    }

    fn settings() -> Settings {
        Settings {
            minimum_rate: BitsPerSecond(1_000_000_000),
            additive_increase: Increase(BitsPerSecond(50_000_000)),
            max_stage: 0,
            ..Settings::default()
        }
    }

    #[test]
    fn a_stamp_wraps_where_its_bits_end() {
        let hop =
            Hop::new(BitsPerSecond(50_000_000_000), Nanos((1 << 24) + 5), Bytes(257), Bytes(79), 1);
        assert_eq!((hop.time(), hop.sent(), hop.queue(), hop.rate()), (5, 2, 0, 5e10));
        let coarse = Hop::new(LINE, Nanos(0), Bytes(1 << 30), Bytes(640), 4);
        assert_eq!((coarse.sent(), coarse.queue()), ((1 << 21) & mask(20), 2));
        assert_eq!(
            Hop::new(BitsPerSecond(10_000_000_000), Nanos(0), Bytes(0), Bytes(0), 1).rate(),
            25e9
        );
    }

    #[test]
    fn a_full_link_with_a_queue_slows_down() {
        let (mut state, of) = (State::new(LINE.0), settings());
        let feedback = |number, sent| Feedback { number, sent, marked: false };
        let first = state.acknowledged(feedback(1000, 9000), &[hop(0, 0, 0)], BASE, &of);
        assert_eq!(first, None, "it leaves its telemetry");
        // 12,800 B in 1024 ns are 100 Gbit/s; a queue of 8000 B, with none before, counts nothing.
        let fast =
            state.acknowledged(feedback(2000, 10_000), &[hop(1024, 12_800, 8000)], BASE, &of);
        let utilisation = (1.0f64.mul_add(6976.0, 1024.0)) / 8000.0;
        assert_eq!(state.path.utilisation, utilisation);
        let rate = (1e11 / (utilisation / 0.95)) as u64 + 50_000_000;
        assert_eq!(fast, Some(rate));
        assert_eq!(state.path.rate, LINE.0, "the ACK is not the first of its round trip");
        let queued = 1.0 + 8000.0 * 1e11 / 1e11 / 100_000.0;
        let full =
            state.acknowledged(feedback(9001, 12_000), &[hop(2048, 25_600, 8000)], BASE, &of);
        let utilisation = utilisation.mul_add(6976.0, queued * 1024.0) / 8000.0;
        let rate = ((1e11 / (utilisation / 0.95)) as u64 + 50_000_000).min(LINE.0);
        assert_eq!((full, state.path.rate, state.updated), (Some(rate), rate, 12_000));
    }

    #[test]
    fn empty_queues_may_be_skipped_between_round_trips() {
        let of = Settings { skips_empty_queues: true, ..settings() };
        let mut state = State::new(LINE.0);
        let feedback = |number, sent| Feedback { number, sent, marked: false };
        state.acknowledged(feedback(1000, 9000), &[hop(0, 0, 0)], BASE, &of);
        assert_eq!(state.acknowledged(feedback(2000, 9500), &[hop(1000, 99, 0)], BASE, &of), None);
        assert_eq!(state.hops[0], hop(0, 0, 0), "not even its telemetry is kept");
        assert!(state.acknowledged(feedback(9001, 9500), &[hop(1000, 99, 0)], BASE, &of).is_some());
        let slow = Settings { fast_reaction: false, ..settings() };
        assert_eq!(
            state.acknowledged(feedback(9002, 9600), &[hop(2000, 99, 0)], BASE, &slow),
            None
        );
    }

    #[test]
    fn each_hop_may_have_a_rate_and_the_least_applies() {
        let of = Settings { rate_per_hop: true, ..settings() };
        let mut state = State::new(LINE.0);
        let feedback = |number, sent| Feedback { number, sent, marked: false };
        state.acknowledged(feedback(1000, 9000), &[hop(0, 0, 0), hop(0, 0, 0)], BASE, &of);
        let stamps = [hop(8000, 25_600, 0), hop(8000, 102_400, 0)];
        let rate = state.acknowledged(feedback(9001, 12_000), &stamps, BASE, &of);
        let busy = 102_400.0 * 8.0 / (8000.0 * 1e-9) / 1e11;
        let expected = (1e11 / (busy / 0.95)) as u64 + 50_000_000;
        assert_eq!(rate, Some(expected));
        assert_eq!([0, 1].map(|hop| state.of_hops[hop].rate), [LINE.0, expected]);
    }
}
