//! What a switch says of its ports in the packets that it sends: docs/telemetry.md.

use fabric_core::wire::telemetry::{Measured, RateCode, Stamp};
use units::{BitsPerSecond, Bytes, Picos};

/// What stamps tell of each port of a switch.
#[derive(Debug)]
pub struct Stamper {
    ports: Box<[Port]>,
}

#[derive(Debug)]
struct Port {
    rate: RateCode,
    /// Bytes on the wire so far.
    transmitted: u64,
}

impl Stamper {
    /// Of a switch that has sent nothing, whose ports have these rates.
    pub fn new(rates: impl Iterator<Item = BitsPerSecond>) -> Self {
        let port = |rate| Port { rate: RateCode::nearest(rate), transmitted: 0 };
        Self { ports: rates.map(port).collect() }
    }

    /// Takes note of a frame that a port begins to send, `wire_length` bytes on the wire, `queue` bytes behind it: its
    /// stamp.
    pub fn transmit(&mut self, now: Picos, port: u16, wire_length: u64, queue: u64) -> Stamp {
        let Port { rate, transmitted } = &mut self.ports[usize::from(port)];
        let (at, queue) = (now.to_nanos(), Bytes(queue));
        let stamp =
            Stamp::new(&Measured { rate: *rate, at, transmitted: Bytes(*transmitted), queue });
        *transmitted += wire_length;
        stamp
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    #[test]
    fn a_stamp_counts_what_the_port_sent_before() {
        let rates = [100, 25].map(|gigabits| BitsPerSecond(gigabits * 1_000_000_000));
        let mut stamper = Stamper::new(rates.into_iter());
        let first = stamper.transmit(Picos(1_000_999), 1, 1280, 4096);
        assert_eq!((first.rate(), first.queue()), (rates[1], Bytes(4096)));
        stamper.transmit(Picos(2_000_000), 0, 12_800, 0);
        stamper.transmit(Picos(3_000_000), 1, 640, 0);
        let later = stamper.transmit(Picos(5_000_000), 1, 100, 0).since(first);
        assert_eq!((later.elapsed, later.transmitted), (Nanos(4000), Bytes(1920)));
    }
}
