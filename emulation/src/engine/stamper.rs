//! Telemetry stamps that a switch adds to packets: docs/telemetry.md.

use fabric_core::wire::telemetry::{Measured, RateCode, Stamp};
use scenario::TelemetrySteps;
use units::{BitsPerSecond, Bytes, Picos};

/// Creates stamps for each port of a switch.
#[derive(Debug)]
pub struct Stamper {
    ports: Box<[Port]>,
    steps: TelemetrySteps,
}

#[derive(Debug)]
struct Port {
    rate: RateCode,
    /// Bytes sent on the wire up to now.
    transmitted: u64,
}

impl Stamper {
    /// A stamper for a switch that has sent nothing, with these rates of ports and step sizes of byte values.
    pub fn new(rates: impl Iterator<Item = BitsPerSecond>, steps: TelemetrySteps) -> Self {
        let port = |rate| Port { rate: RateCode::nearest(rate), transmitted: 0 };
        Self { ports: rates.map(port).collect(), steps }
    }

    /// Counts a frame that a port begins to send, and returns its stamp. `wire_length` are its bytes on the wire,
    /// `queue` the bytes behind it.
    pub fn transmit(&mut self, now: Picos, port: u16, wire_length: u64, queue: u64) -> Stamp {
        let Port { rate, transmitted } = &mut self.ports[usize::from(port)];
        let down = |bytes: u64, step: Bytes| Bytes(bytes - bytes % step.0);
        let stamp = Stamp::new(&Measured {
            rate: *rate,
            at: now.to_nanos(),
            transmitted: down(*transmitted, self.steps.sent.get()),
            queue: down(queue, self.steps.queue.get()),
        });
        *transmitted += wire_length;
        stamp
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;
    use units::checked::Checked;

    use super::*;

    #[test]
    fn a_stamp_counts_what_the_port_sent_before() {
        let rates = [100, 25].map(|gigabits| BitsPerSecond(gigabits * 1_000_000_000));
        let mut stamper = Stamper::new(rates.into_iter(), TelemetrySteps::default());
        let first = stamper.transmit(Picos(1_000_999), 1, 1280, 4096);
        assert_eq!((first.rate(), first.queue()), (rates[1], Bytes(4096)));
        stamper.transmit(Picos(2_000_000), 0, 12_800, 0);
        stamper.transmit(Picos(3_000_000), 1, 640, 0);
        let later = stamper.transmit(Picos(5_000_000), 1, 100, 0).since(first);
        assert_eq!((later.elapsed, later.transmitted), (Nanos(4000), Bytes(1920)));
    }

    #[test]
    fn a_stamp_reports_bytes_in_steps() {
        let steps = TelemetrySteps {
            sent: Checked::within(Bytes(512)),
            queue: Checked::within(Bytes(320)),
        };
        let mut stamper = Stamper::new([BitsPerSecond(100_000_000_000)].into_iter(), steps);
        let first = stamper.transmit(Picos(0), 0, 1100, 639);
        assert_eq!(first.queue(), Bytes(320));
        assert_eq!(stamper.transmit(Picos(0), 0, 0, 0).since(first).transmitted, Bytes(1024));
    }
}
