//! The receiving end of a queue pair: go-back-N with ACKs by bytes.

use units::Nanos;

use super::Settings;

/// State of a receiving end; a new one has received nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Receiver {
    /// Next byte expected.
    pub expected: u32,
    /// Payload bytes taken in order, repeated ones of a chunk included.
    pub delivered: u64,
    /// Instant from which the last NACK may be repeated.
    nack_again: Nanos,
    /// Next byte expected at the last NACK.
    last_nack: u32,
}

/// Answer to a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Ack,
    Nack,
    Nothing,
}

impl Receiver {
    /// Handles a packet whose first byte is `first`.
    pub fn receive(
        &mut self,
        now: Nanos,
        (first, payload): (u32, u16),
        settings: &Settings,
    ) -> Answer {
        let chunk = settings.chunk.get().0;
        let end = first.wrapping_add(u32::from(payload));
        let overlaps = settings.acknowledges_again && first < self.expected && end >= self.expected;
        if first == self.expected || overlaps {
            self.delivered += u64::from(end.wrapping_sub(self.expected));
            self.expected = end;
            let received = u64::from(self.expected);
            let is_due = received >= settings.ack_from.0 || received.is_multiple_of(chunk);
            return if is_due { Answer::Ack } else { Answer::Nothing };
        }
        if first < self.expected {
            return if settings.acknowledges_again { Answer::Ack } else { Answer::Nothing };
        }
        if now < self.nack_again && self.last_nack == self.expected {
            return Answer::Nothing;
        }
        self.nack_again = Nanos(now.0 + settings.nack_interval.get().to_nanos().0);
        self.last_nack = self.expected;
        if settings.repeats_chunk {
            let kept = chunk_start(self.expected, chunk);
            self.delivered -= u64::from(self.expected - kept);
            self.expected = kept;
        }
        Answer::Nack
    }
}

/// The first byte of the chunk of a byte.
pub(super) fn chunk_start(byte: u32, chunk: u64) -> u32 {
    let byte = u64::from(byte);
    (byte - byte % chunk) as u32
}

#[cfg(test)]
mod tests {
    use units::Bytes;
    use units::checked::SomeBytes;

    use super::*;

    fn settings(ack_from: u64, repeats_chunk: bool) -> Settings {
        let chunk = SomeBytes::within(Bytes(4000));
        Settings { ack_from: Bytes(ack_from), repeats_chunk, chunk, ..Settings::default() }
    }

    #[test]
    fn a_packet_in_order_is_acknowledged_from_the_interval_on() {
        let mut receiver = Receiver::default();
        let of = settings(2500, false);
        let mut answers = Vec::new();
        for first in [0, 1000, 2000, 3000] {
            answers.push(receiver.receive(Nanos(0), (first, 1000), &of));
        }
        assert_eq!(answers, [Answer::Nothing, Answer::Nothing, Answer::Ack, Answer::Ack]);
        let mut receiver = Receiver::default();
        let of = settings(9000, false);
        let answers: Vec<_> = [0, 1000, 2000, 3000, 4000]
            .map(|first| receiver.receive(Nanos(0), (first, 1000), &of))
            .into();
        assert_eq!(answers[3], Answer::Ack, "the end of a chunk");
        assert_eq!(answers[4], Answer::Nothing);
    }

    #[test]
    fn a_gap_is_reported_once_in_an_interval_and_again_where_it_has_moved() {
        let (mut receiver, of) = (Receiver::default(), settings(1, false));
        let mut receive = |now, first| receiver.receive(Nanos(now), (first, 1000), &of);
        assert_eq!(receive(5, 1000), Answer::Nack, "of byte 0");
        assert_eq!(receive(6, 2000), Answer::Nothing);
        assert_eq!(receive(500_004, 3000), Answer::Nothing);
        assert_eq!(receive(500_005, 3000), Answer::Nack);
        assert_eq!(receive(500_006, 0), Answer::Ack);
        assert_eq!(receive(500_007, 2000), Answer::Nack, "of byte 1000");
        assert_eq!(receive(500_008, 0), Answer::Nothing, "a duplicate");
        assert_eq!((receiver.expected, receiver.delivered), (1000, 1000));
    }

    /// `ReceiverCheckSeq` of `ConWeave`'s simulator.
    #[test]
    fn a_packet_that_was_there_may_be_acknowledged_and_its_rest_taken() {
        let (mut receiver, of) = (Receiver::default(), Settings::conweave());
        let mut receive = |now, first, length| {
            let answer = receiver.receive(Nanos(now), (first, length), &of);
            (answer, receiver.expected, receiver.delivered)
        };
        assert_eq!(receive(0, 0, 1000), (Answer::Ack, 1000, 1000));
        // All of it is old, to the byte, and more than that.
        assert_eq!(receive(1, 0, 1000), (Answer::Ack, 1000, 1000));
        assert_eq!(receive(2, 0, 999), (Answer::Ack, 1000, 1000));
        // A part is new.
        assert_eq!(receive(3, 600, 1000), (Answer::Ack, 1600, 1600));
        assert_eq!(receive(10, 2000, 1000), (Answer::Nack, 1600, 1600));
        assert_eq!(receive(4009, 3000, 1000), (Answer::Nothing, 1600, 1600));
        assert_eq!(receive(4010, 3000, 1000), (Answer::Nack, 1600, 1600));
    }

    #[test]
    fn a_nack_may_go_back_to_the_start_of_its_chunk() {
        let (mut receiver, of) = (Receiver::default(), settings(1, true));
        for first in (0..6000).step_by(1000) {
            receiver.receive(Nanos(0), (first, 1000), &of);
        }
        assert_eq!(receiver.receive(Nanos(1), (7000, 1000), &of), Answer::Nack);
        assert_eq!((receiver.expected, receiver.delivered), (4000, 4000));
        assert_eq!(receiver.receive(Nanos(2), (4000, 1000), &of), Answer::Ack);
    }
}
