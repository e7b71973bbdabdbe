//! Frames by number: a frame stays in its slot, and only its number is passed on.

use std::ops::{Index, IndexMut};

use linux::region::prefetch;

/// A frame's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(pub u32);

/// All frames that exist.
#[derive(Debug)]
pub struct Slab<T> {
    frames: Vec<T>,
    free: Vec<FrameId>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { frames: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Slab<T> {
    /// Allocates a frame (last freed first, likely cached). Its contents are stale.
    #[inline]
    pub fn add(&mut self) -> FrameId {
        self.free.pop().unwrap_or_else(|| {
            let number = self.frames.len().try_into().expect("2^32 frames are more than memory");
            self.frames.push(T::default());
            FrameId(number)
        })
    }

    /// Loads a frame into the cache.
    #[inline]
    pub fn prefetch(&self, frame: FrameId) {
        if let Some(frame) = self.frames.get(frame.0 as usize) {
            prefetch(frame);
        }
    }

    /// Frees a frame's number.
    #[inline]
    pub fn remove(&mut self, frame: FrameId) {
        self.free.push(frame);
    }
}

impl<T> Index<FrameId> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, frame: FrameId) -> &T {
        &self.frames[frame.0 as usize]
    }
}

impl<T> IndexMut<FrameId> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, frame: FrameId) -> &mut T {
        &mut self.frames[frame.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_the_last_first() {
        let mut slab = Slab::<u8>::default();
        let frames = [7, 8, 9].map(|value| {
            let frame = slab.add();
            slab[frame] = value;
            frame
        });
        assert_eq!(frames.map(|frame| slab[frame]), [7, 8, 9]);
        slab.remove(frames[0]);
        slab.remove(frames[2]);
        assert_eq!([slab.add(), slab.add()], [frames[2], frames[0]]);
        assert_eq!(slab.add(), FrameId(3));
    }
}
