//! Stamps of the switches of a path, compared from one ACK to the next.

use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::HopTelemetry;

/// Changes at a hop between two packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time between them.
    pub span: Nanos,
    /// Bytes that the port transmitted in it.
    pub transmitted: Bytes,
    /// Bytes that waited behind the later one.
    pub queue: Bytes,
    /// Bytes that waited behind the earlier one.
    pub queue_before: Bytes,
    /// The port's rate.
    pub rate: BitsPerSecond,
}

/// Stamps of Ethernet's fastest ports can be this far apart; see [`HopTelemetry::horizon`].
const ALWAYS_NEAR: Nanos = Nanos(250_000);

/// The stamps of the last packet that was acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Path {
    stamps: Vec<HopTelemetry>,
    learned_at: Picos,
}

impl Path {
    /// Returns true if earlier stamps can be compared with `stamps`, which came at `now`: the number of hops is equal
    /// and above zero, and the earlier stamps are recent enough that no counter has wrapped. Packets of a flow take one
    /// path; another number of hops means another path.
    #[inline]
    pub fn knows(&self, now: Picos, stamps: &[HopTelemetry]) -> bool {
        // The time between two ACKs differs from the time between their stamps by the difference of their round trips.
        let age = now.since(self.learned_at).to_nanos();
        let is_near = |stamp: &HopTelemetry| age.0 < stamp.horizon().0 / 2;
        !stamps.is_empty()
            && stamps.len() == self.stamps.len()
            && (age < ALWAYS_NEAR || stamps.iter().all(is_near))
    }

    /// Changes at each hop since the last stamps. Hops without progress in time are left out.
    #[inline]
    pub fn steps(&self, stamps: &[HopTelemetry]) -> impl Iterator<Item = Step> {
        stamps.iter().zip(&self.stamps).filter_map(|(stamp, &before)| {
            let since = stamp.since(before);
            (since.elapsed > Nanos(0)).then(|| Step {
                span: since.elapsed,
                transmitted: since.transmitted,
                queue: stamp.queue(),
                queue_before: before.queue(),
                rate: stamp.rate(),
            })
        })
    }

    /// Keeps stamps that came at `now`. An ACK without stamps changes nothing.
    #[inline]
    pub fn learn(&mut self, now: Picos, stamps: &[HopTelemetry]) {
        if !stamps.is_empty() {
            self.stamps.clear();
            self.stamps.extend_from_slice(stamps);
            self.learned_at = now;
        }
    }
}

#[cfg(test)]
pub mod tests {
    use fabric_core::wire::telemetry::{Measured, RateCode};

    use super::*;

    /// A stamp of a port of 100 Gbit/s, with a resolution of 128 B for bytes transmitted and 16 B for queues.
    pub fn stamp(nanos: u64, transmitted: u64, queue: u64) -> HopTelemetry {
        HopTelemetry::new(&Measured {
            rate: RateCode::nearest(BitsPerSecond(100_000_000_000)),
            at: Nanos(nanos),
            transmitted: Bytes(transmitted),
            queue: Bytes(queue),
        })
    }

    #[test]
    fn a_step_is_what_happened_between_two_stamps() {
        let mut path = Path::default();
        let now = Picos(0);
        assert!(!path.knows(now, &[]), "no stamps say nothing");
        let first = [stamp(10_000, 5120, 704), stamp(12_000, 0, 0)];
        assert!(!path.knows(now, &first));
        path.learn(now, &first);
        assert!(path.knows(now, &first) && !path.knows(now, &first[..1]), "another path");
        path.learn(now, &[]);
        assert!(path.knows(now, &first), "an ACK without stamps changes nothing");
        let second = [stamp(11_000, 17_920, 304), stamp(12_000, 0, 0)];
        let steps: Vec<Step> = path.steps(&second).collect();
        let step = Step {
            span: Nanos(1000),
            transmitted: Bytes(12_800),
            queue: Bytes(304),
            queue_before: Bytes(704),
            rate: BitsPerSecond(100_000_000_000),
        };
        assert_eq!(steps, [step], "the second hop has not moved");
    }

    /// 2^27 B take 10.7 ms at 100 Gbit/s.
    #[test]
    fn stamps_after_which_counters_may_have_wrapped_are_not_compared() {
        let mut path = Path::default();
        let stamps = [stamp(10_000, 0, 0)];
        path.learn(Picos(0), &stamps);
        assert!(path.knows(Picos(5_000_000_000), &stamps));
        assert!(!path.knows(Picos(5_400_000_000), &stamps));
    }
}
