//! State of a scheme: typed views of the cache lines in its maps.

use zerocopy::FromBytes;

use crate::cell::Cell32;
use crate::map_abi::{SCHEME_BLOCK_WORDS, SchemeBlock, SchemeLine};

/// State of a scheme in one [`SchemeLine`].
///
/// # Safety
/// The type must be `#[repr(C)]` and consist of cells only, so that a shared reference may point to
/// memory that other threads write.
pub unsafe trait Line: FromBytes {}

impl SchemeLine {
    /// Returns the line as the scheme's own type.
    #[inline(always)]
    pub fn view<L: Line>(&self) -> &L {
        const {
            assert!(size_of::<L>() <= size_of::<SchemeLine>(), "a line has 64 bytes");
            assert!(align_of::<L>() <= align_of::<SchemeLine>());
        }
        // SAFETY: `L` fits into the line and is not aligned further (asserted above), any bytes are
        // an `L` (`FromBytes`), and both `L` and the line consist of cells (`Line`).
        unsafe { &*core::ptr::from_ref(self).cast() }
    }
}

impl SchemeBlock {
    /// Returns word `index` of the block. The index wraps around at the block's size: the mask
    /// shows the bound to the verifier of Linux.
    #[inline(always)]
    pub fn word(&self, index: usize) -> &Cell32 {
        const { assert!(SCHEME_BLOCK_WORDS.is_power_of_two()) }
        &self.0[index & (SCHEME_BLOCK_WORDS - 1)]
    }
}
