//! Reserved bytes after the BTH of a congestion notification packet (InfiniBand Architecture,
//! RoCEv2 annex, A17.9.3).
//!
//! ```text
//!  0  reserved, zero  16
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};

/// Number of the reserved bytes.
pub const LEN: usize = 16;
const _: () = assert!(size_of::<Reserved>() == LEN);

/// The reserved bytes on the wire.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct Reserved {
    zeros: [u8; LEN],
}

impl Reserved {
    /// Returns the reserved bytes at the start of `bytes` and the bytes after them. Reserved bytes
    /// other than zero are an error.
    #[inline(always)]
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        let (reserved, rest) = super::split::<Self>(bytes, Layer::Cnp)?;
        if *reserved == Self::default() {
            Ok((reserved, rest))
        } else {
            Err(ParseError::CnpReserved)
        }
    }

    /// Writes the reserved bytes at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reserved {:x}", u128::from_be_bytes(self.zeros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_zero_bytes_and_nothing_else() {
        let mut bytes = [0xff; LEN + 1];
        assert_eq!(Reserved::default().emit(&mut bytes).unwrap(), [0xff]);
        assert_eq!(bytes[..LEN], [0; LEN]);
        let (reserved, rest) = Reserved::parse(&bytes).unwrap();
        assert_eq!((reserved.to_string().as_str(), rest), ("reserved 0", &[0xff][..]));
        bytes[LEN - 1] = 1;
        assert_eq!(Reserved::parse(&bytes).unwrap_err(), ParseError::CnpReserved);
        Reserved::parse(&bytes[..LEN - 1]).unwrap_err();
    }
}
