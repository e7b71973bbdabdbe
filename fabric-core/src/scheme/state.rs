//! The state of a scheme: typed views of the cache lines that its maps are made of.

use zerocopy::FromBytes;

use crate::cell::Cell32;
use crate::map_abi::{SCHEME_BLOCK_WORDS, SchemeBlock, SchemeLine};

/// What a scheme keeps in one [`SchemeLine`].
///
/// # Safety
/// The type is `#[repr(C)]` and made of cells only, so that a shared reference may point to memory that
/// others write.
pub unsafe trait Line: FromBytes {}

impl SchemeLine {
    /// The line as the scheme's own type.
    #[inline(always)]
    pub fn view<L: Line>(&self) -> &L {
        const {
            assert!(size_of::<L>() <= size_of::<SchemeLine>(), "a line has 64 bytes");
            assert!(align_of::<L>() <= align_of::<SchemeLine>());
        }
        // SAFETY: `L` fits into the line and is not aligned further (asserted above), any bytes are an `L`
        // (`FromBytes`), and it is made of cells, as the line is (`Line`).
        unsafe { &*core::ptr::from_ref(self).cast() }
    }
}

impl SchemeBlock {
    /// Word `index` of the block, or of its first 512 if there is no such word: the mask shows the bound to
    /// the verifier of Linux.
    #[inline(always)]
    pub fn word(&self, index: usize) -> &Cell32 {
        const { assert!(SCHEME_BLOCK_WORDS.is_power_of_two()) }
        &self.0[index & (SCHEME_BLOCK_WORDS - 1)]
    }
}
