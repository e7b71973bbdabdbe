//! What the switches of a path have stamped, from one ACK to the next.

use units::{BitsPerSecond, Bytes, Nanos};

use super::HopTelemetry;

/// Switches that stamp a packet at most.
pub const MAX_HOPS: usize = 8;

/// What happened at a hop between two packets of a flow.
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

/// The stamps of the last packet that was acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Path {
    stamps: Vec<HopTelemetry>,
}

impl Path {
    /// Whether there are stamps of as many hops to compare these with, and of at least one. Packets of a flow take one
    /// path; of another number of hops is another path.
    #[inline]
    pub fn knows(&self, stamps: &[HopTelemetry]) -> bool {
        !stamps.is_empty() && stamps.len() == self.stamps.len()
    }

    /// What has happened at each hop since the last stamps; hops that have not moved in time are left out.
    #[inline]
    pub fn steps(&self, stamps: &[HopTelemetry]) -> impl Iterator<Item = Step> {
        stamps.iter().zip(&self.stamps).filter_map(|(stamp, before)| {
            let span = stamp.at.since(before.at).to_nanos();
            (span > Nanos(0)).then(|| Step {
                span,
                transmitted: Bytes(stamp.transmitted.0 - before.transmitted.0),
                queue: stamp.queue,
                queue_before: before.queue,
                rate: stamp.rate,
            })
        })
    }

    /// Keeps the stamps; an ACK without any changes nothing.
    #[inline]
    pub fn learn(&mut self, stamps: &[HopTelemetry]) {
        if !stamps.is_empty() {
            self.stamps.clear();
            self.stamps.extend_from_slice(stamps);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use units::Picos;

    /// A stamp of a port of 100 Gbit/s.
    pub fn stamp(microseconds: u64, transmitted: u64, queue: u64) -> HopTelemetry {
        HopTelemetry {
            at: Picos(microseconds * 1_000_000),
            transmitted: Bytes(transmitted),
            queue: Bytes(queue),
            rate: BitsPerSecond(100_000_000_000),
        }
    }

    #[test]
    fn a_step_is_what_happened_between_two_stamps() {
        let mut path = Path::default();
        assert!(!path.knows(&[]), "no stamps say nothing");
        let first = [stamp(10, 5000, 700), stamp(12, 0, 0)];
        assert!(!path.knows(&first));
        path.learn(&first);
        assert!(path.knows(&first) && !path.knows(&first[..1]), "another path");
        path.learn(&[]);
        assert!(path.knows(&first), "an ACK without stamps changes nothing");
        let second = [stamp(11, 17_500, 300), stamp(12, 0, 0)];
        let steps: Vec<Step> = path.steps(&second).collect();
        let step = Step {
            span: Nanos(1000),
            transmitted: Bytes(12_500),
            queue: Bytes(300),
            queue_before: Bytes(700),
            rate: BitsPerSecond(100_000_000_000),
        };
        assert_eq!(steps, [step], "the second hop has not moved");
    }
}
