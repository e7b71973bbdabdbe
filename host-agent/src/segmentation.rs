//! Segmentation of a flow's bytes into messages and packets.
//!
//! Requesters send these packets, and the completion time on an idle path is computed from them.

/// Longest RDMA message that a flow is cut into; InfiniBand allows 2^31 bytes.
const MESSAGE_BYTES: u64 = 1 << 30;

/// The cut of one flow. Packets are numbered from 0, and so are messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    bytes: u64,
    payload: u64,
    packets: u64,
    packets_per_message: u64,
}

/// One RDMA message of a flow. All of its packets but the last have full payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Bytes of the flow before it.
    pub start: u64,
    /// Bytes that it carries.
    pub bytes: u64,
    /// Packets that it consists of, at least 1.
    pub packets: u64,
}

impl Segmentation {
    /// A flow of `bytes` in packets of at most `payload` bytes. No bytes are one empty packet.
    ///
    /// # Panics
    /// Without payload.
    pub const fn new(bytes: u64, payload: u64) -> Self {
        let packets = match bytes.div_ceil(payload) {
            0 => 1,
            packets => packets,
        };
        Self { bytes, payload, packets, packets_per_message: MESSAGE_BYTES / payload }
    }

    /// Packets of the flow, at least 1.
    #[inline]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Messages of the flow, at least 1.
    pub const fn messages(&self) -> u64 {
        self.packets.div_ceil(self.packets_per_message)
    }

    /// Message `number` of the flow.
    #[inline]
    pub const fn message(&self, number: u64) -> Message {
        let first = number * self.packets_per_message;
        let (start, full) = (first * self.payload, self.packets_per_message * self.payload);
        let (bytes, packets) = (self.bytes - start, self.packets - first);
        Message {
            start,
            bytes: if bytes < full { bytes } else { full },
            packets: if bytes < full { packets } else { self.packets_per_message },
        }
    }

    /// The message that packet `number` is part of, and the packet's place in it.
    #[inline]
    pub const fn place(&self, number: u64) -> (u64, u64) {
        // Most flows are one message, and a division costs more than the rest of a packet.
        if self.packets <= self.packets_per_message {
            (0, number)
        } else {
            (number / self.packets_per_message, number % self.packets_per_message)
        }
    }

    /// Returns true if packet `number`, whose place in its message is `position`, ends the message.
    #[inline]
    pub const fn ends_message(&self, number: u64, position: u64) -> bool {
        position + 1 == self.packets_per_message || number + 1 == self.packets
    }

    /// Payload bytes of all packets before packet `number`, or before the end of the flow.
    #[inline]
    pub const fn bytes_before(&self, number: u64) -> u64 {
        if number < self.packets { number * self.payload } else { self.bytes }
    }

    /// Payload bytes of packet `number`.
    #[inline]
    pub const fn payload_of(&self, number: u64) -> u64 {
        let left = self.bytes - number * self.payload;
        if left < self.payload { left } else { self.payload }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_packets_between_two_ends() {
        for (bytes, payload) in [
            (0, 1000),
            (1, 1000),
            (1000, 1000),
            (1001, 1000),
            (MESSAGE_BYTES, 1 << 10),
            (MESSAGE_BYTES + 1, 1 << 10),
            (2_500_000_000, 1000),
            (3 * 1_073_741_000, 1000),
            (3 * 1_073_741_000 + 1, 1000),
        ] {
            let cut = Segmentation::new(bytes, payload);
            let (mut first, mut start) = (0, 0);
            for number in 0..cut.messages() {
                let message = cut.message(number);
                assert_eq!(message.start, start, "{bytes} in packets of {payload}");
                assert_eq!(cut.place(first), (number, 0));
                let last = first + message.packets - 1;
                assert_eq!(cut.place(last), (number, message.packets - 1));
                assert!(cut.ends_message(last, message.packets - 1));
                assert_eq!(message.packets < 2, cut.ends_message(first, 0));
                let full = (message.packets - 1) * payload;
                assert_eq!(message.bytes, full + cut.payload_of(last));
                assert!(message.packets == 1 || cut.payload_of(first) == payload);
                (first, start) = (last + 1, start + message.bytes);
            }
            assert_eq!((first, start), (cut.packets(), bytes));
        }
    }

    /// Message, place and bytes of each packet, for a flow whose messages have 3, 3 and 2 packets.
    #[test]
    fn every_packet_has_its_place_and_its_bytes() {
        let payload = MESSAGE_BYTES / 3;
        let cut = Segmentation::new(7 * payload + 5, payload);
        assert_eq!((cut.packets(), cut.messages()), (8, 3));
        let places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)];
        for (number, (message, position)) in (0..).zip(places) {
            assert_eq!(cut.place(number), (message, position));
            assert_eq!(cut.ends_message(number, position), matches!(number, 2 | 5 | 7));
            assert_eq!(cut.payload_of(number), if number == 7 { 5 } else { payload });
            assert_eq!(cut.bytes_before(number), number * payload);
        }
        assert_eq!(cut.bytes_before(8), 7 * payload + 5);
        let full = 3 * payload;
        for (number, (bytes, packets)) in (0..).zip([(full, 3), (full, 3), (payload + 5, 2)]) {
            let expected = Message { start: number * full, bytes, packets };
            assert_eq!(cut.message(number), expected);
        }
    }

    #[test]
    fn a_message_is_whole_packets_up_to_a_gibibyte() {
        let cut = Segmentation::new(2_500_000_000, 1000);
        let bytes: Vec<u64> =
            (0..cut.messages()).map(|message| cut.message(message).bytes).collect();
        assert_eq!(bytes, [1_073_741_000, 1_073_741_000, 352_518_000]);
    }
}
