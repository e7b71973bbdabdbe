//! How long the frames are that hosts exchange, without FCS.

use units::Bytes;

/// Ethernet, IPv4, UDP and BTH before the payload, and the ICRC behind it.
pub const ROCE_HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
/// RDMA extended transport header.
pub const RETH: u64 = 16;
/// ACK extended transport header.
const AETH: u64 = 4;
/// Shortest Ethernet frame, without FCS.
const SHORTEST_FRAME: u64 = 60;

/// Frame length of an ACK or a NAK, without FCS.
pub const ACK_FRAME: Bytes = Bytes(ROCE_HEADERS + AETH);

/// Length of a data frame, with a RETH or without one, and without FCS: `payload` is padded to four bytes.
pub const fn data_frame(payload: Bytes, reth: bool) -> Bytes {
    let length = ROCE_HEADERS + payload.0.next_multiple_of(4) + if reth { RETH } else { 0 };
    Bytes(if length < SHORTEST_FRAME { SHORTEST_FRAME } else { length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_their_headers_say() {
        assert_eq!(data_frame(Bytes(1000), true), Bytes(1074));
        assert_eq!(data_frame(Bytes(1000), false), Bytes(1058));
        assert_eq!(data_frame(Bytes(1), false), Bytes(62));
        assert_eq!(ACK_FRAME, Bytes(62));
    }
}
