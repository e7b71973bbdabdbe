//! Conversion between the number of a connection and its ports.
//!
//! ```text
//! client  49152 + the 13 low bits of the number    49152 to 57343
//! server  61440 + the 11 high bits                 61440 to 63487
//! ```
//!
//! So every connection has separate ports, and the ports of a segment identify its sender. A host's NIC takes packets
//! with such a pair of ports from its kernel, whose services are not expected to use server ports.

use core::fmt;

const CLIENT_BITS: u32 = 13;
const SERVER_BITS: u32 = 11;
const FIRST_CLIENT: u16 = 0xc000;
const FIRST_SERVER: u16 = 0xf000;
const _: () = assert!(CLIENT_BITS + SERVER_BITS == 24, "a connection's number has 24 bits");

/// The two ports of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

/// Sender of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Sent by the end that opened the connection and sends data.
    FromClient,
    /// Sent by the other end.
    FromServer,
}

impl Ports {
    /// Returns the ports of segments of connection `number`, 24 bits, in one direction.
    #[inline]
    pub const fn for_connection(number: u32, direction: Direction) -> Self {
        let client = FIRST_CLIENT | (number & ((1 << CLIENT_BITS) - 1)) as u16;
        let server = FIRST_SERVER | (number >> CLIENT_BITS & ((1 << SERVER_BITS) - 1)) as u16;
        match direction {
            Direction::FromClient => Self { source: client, destination: server },
            Direction::FromServer => Self { source: server, destination: client },
        }
    }

    /// Returns the number of the ports' connection and the direction. `None` if the ports belong to no connection.
    #[inline(always)]
    pub const fn connection(self) -> Option<(u32, Direction)> {
        let Self { source, destination } = self;
        let (client, server, direction) = if is_server(destination) {
            (source, destination, Direction::FromClient)
        } else {
            (destination, source, Direction::FromServer)
        };
        if !is_server(server) || client >> CLIENT_BITS != FIRST_CLIENT >> CLIENT_BITS {
            return None;
        }
        let low = (client - FIRST_CLIENT) as u32;
        Some(((server - FIRST_SERVER) as u32 * (1 << CLIENT_BITS) + low, direction))
    }
}

const fn is_server(port: u16) -> bool {
    port >> SERVER_BITS == FIRST_SERVER >> SERVER_BITS
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.source, self.destination)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_and_the_last_connection() {
        let first = Ports::for_connection(0, Direction::FromClient);
        assert_eq!(first, Ports { source: 49_152, destination: 61_440 });
        let last = Ports::for_connection((1 << 24) - 1, Direction::FromServer);
        assert_eq!(last, Ports { source: 63_487, destination: 57_343 });
    }

    proptest! {
        #[test]
        fn ports_name_their_connection(number in 0..1u32 << 24) {
            for direction in [Direction::FromClient, Direction::FromServer] {
                let ports = Ports::for_connection(number, direction);
                prop_assert_eq!(ports.connection(), Some((number, direction)));
            }
        }

        #[test]
        fn other_ports_are_of_no_connection(source: u16, destination: u16) {
            let ports = Ports { source, destination };
            if let Some((number, direction)) = ports.connection() {
                prop_assert_eq!(Ports::for_connection(number, direction), ports);
            } else {
                let client = |port| (49_152..57_344).contains(&port);
                let server = |port| (61_440..63_488).contains(&port);
                prop_assert!(!(client(source) && server(destination)));
                prop_assert!(!(server(source) && client(destination)));
            }
        }
    }
}
