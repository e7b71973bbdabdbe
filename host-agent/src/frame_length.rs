//! How long the frames are that hosts exchange, without FCS.

use fabric_core::wire::telemetry;
use units::Bytes;

/// Ethernet, IPv4, UDP and BTH before the payload, and the ICRC behind it.
pub const ROCE_HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
/// RDMA extended transport header.
pub const RETH: u64 = 16;
/// ACK extended transport header.
const AETH: u64 = 4;
/// Shortest Ethernet frame, without FCS.
const SHORTEST_FRAME: u64 = 60;

/// Frame length of an ACK or a NAK, without FCS, that echoes telemetry with room for `telemetry_hops` stamps (0 to 8;
/// 0 for none).
pub const fn ack_frame(telemetry_hops: u8) -> Bytes {
    Bytes(ROCE_HEADERS + AETH + telemetry::surplus_length(telemetry_hops) as u64)
}

/// Length of a data frame, with a RETH or without one, and without FCS: `payload` is padded to four bytes. Telemetry has
/// room for `telemetry_hops` stamps (0 to 8; 0 for none).
pub const fn data_frame(payload: Bytes, reth: bool, telemetry_hops: u8) -> Bytes {
    let length = ROCE_HEADERS
        + payload.0.next_multiple_of(4)
        + if reth { RETH } else { 0 }
        + telemetry::surplus_length(telemetry_hops) as u64;
    Bytes(if length < SHORTEST_FRAME { SHORTEST_FRAME } else { length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_their_headers_say() {
        assert_eq!(data_frame(Bytes(1000), true, 0), Bytes(1074));
        assert_eq!(data_frame(Bytes(1000), false, 0), Bytes(1058));
        assert_eq!(data_frame(Bytes(1), false, 0), Bytes(62));
        assert_eq!(ack_frame(0), Bytes(62));
        assert_eq!(data_frame(Bytes(1000), true, 8), Bytes(1074 + 72));
        assert_eq!(ack_frame(1), Bytes(62 + 16));
    }
}
