//! Marks of packets of a flow's first round trip: a bit of the DSCP ([`ipv4::FIRST_RTT`]).

use fabric_core::wire::ipv4;
use units::Bytes;

/// Rule for marking a transport's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRttMarks {
    /// Payload that a flow sends before its marks end, retransmissions included. Zero: no marks.
    pub limit: Bytes,
    /// True to mark all ACKs and NAKs as well.
    pub acknowledgements: bool,
}

impl FirstRttMarks {
    /// No marks.
    pub const NONE: Self = Self { limit: Bytes(0), acknowledgements: false };

    /// Marker for a flow that has sent nothing.
    pub(crate) const fn of_sender(self) -> FirstRtt {
        FirstRtt { left: self.limit }
    }

    /// Bits to add to the code point of an ACK.
    pub(crate) const fn of_acknowledgements(self) -> u8 {
        if self.acknowledgements { ipv4::FIRST_RTT } else { 0 }
    }
}

/// Marks the packets of one flow.
#[derive(Clone, Copy, Debug)]
pub struct FirstRtt {
    /// Payload bytes left to send before the flow's first round trip counts as over.
    left: Bytes,
}

impl FirstRtt {
    /// The bits that the code point of the next packet gets. It has this much payload, and counts after it was looked at:
    /// the packet that reaches the limit is marked.
    #[inline]
    pub(crate) fn next(&mut self, payload: Bytes) -> u8 {
        if self.left == Bytes(0) {
            return 0;
        }
        self.left = Bytes(self.left.0.saturating_sub(payload.0));
        ipv4::FIRST_RTT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_marked_until_the_limit_was_sent() {
        let marked = |limit, payloads: &[u64]| {
            let mut flow =
                FirstRttMarks { limit: Bytes(limit), acknowledgements: false }.of_sender();
            payloads.iter().filter(|&&payload| flow.next(Bytes(payload)) == ipv4::FIRST_RTT).count()
        };
        assert_eq!(marked(0, &[0, 1000]), 0);
        assert_eq!(marked(1, &[0, 1000, 0, 1000]), 2, "a packet without payload uses nothing up");
        assert_eq!(marked(3000, &[1000; 5]), 3);
        assert_eq!(marked(3001, &[1000; 5]), 4);
        // ABM's simulator: 10 Gbit/s x 80 us, segments of 1400 B.
        assert_eq!(marked(100_000, &[1400; 100]), 72);
    }

    #[test]
    fn acknowledgements_are_marked_if_asked() {
        let bits = [false, true].map(|acknowledgements| {
            FirstRttMarks { limit: Bytes(1), acknowledgements }.of_acknowledgements()
        });
        assert_eq!(bits, [0, 2]);
    }
}
