//! RDMA extended transport header (InfiniBand Architecture 1.4, 9.3.3): the destination of a WRITE in memory.
//!
//! ```text
//!  0  virtual address  8
//!  8  remote key       4
//! 12  DMA length       4
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};

/// The header's length in bytes.
pub const LEN: usize = 16;
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    virtual_address: [u8; 8],
    remote_key: [u8; 4],
    dma_length: [u8; 4],
}

/// RDMA extended transport header: the destination of a WRITE in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Remote virtual address.
    pub virtual_address: u64,
    /// Remote key.
    pub remote_key: u32,
    /// The message's length in bytes.
    pub dma_length: u32,
}

impl Header {
    /// Creates a header from `fields`.
    #[inline(always)]
    pub const fn new(fields: Fields) -> Self {
        Self {
            virtual_address: fields.virtual_address.to_be_bytes(),
            remote_key: fields.remote_key.to_be_bytes(),
            dma_length: fields.dma_length.to_be_bytes(),
        }
    }

    /// Returns the header's fields.
    #[inline(always)]
    pub const fn fields(&self) -> Fields {
        Fields {
            virtual_address: u64::from_be_bytes(self.virtual_address),
            remote_key: u32::from_be_bytes(self.remote_key),
            dma_length: u32::from_be_bytes(self.dma_length),
        }
    }

    /// Returns the header at the start of `bytes` and the bytes after it.
    #[inline(always)]
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(bytes, Layer::Reth)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { virtual_address, remote_key, dma_length } = self.fields();
        write!(f, "va {virtual_address:#x} rkey {remote_key:#x} length {dma_length}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_to_header_and_back() {
        let bytes = super::super::hex("11 22 33 44 55 66 77 88 de ad be ef 00 00 00 06");
        let (header, _) = Header::parse(&bytes).unwrap();
        assert_eq!(header.to_string(), "va 0x1122334455667788 rkey 0xdeadbeef length 6");
        let mut buffer = [0; LEN];
        Header::new(header.fields()).emit(&mut buffer).unwrap();
        assert_eq!(buffer[..], bytes);
        Header::parse(&bytes[..LEN - 1]).unwrap_err();
    }
}
