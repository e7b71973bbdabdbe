//! The frames that a switch holds, by number. Their memory is reused.

/// See the module.
#[derive(Debug, Default)]
pub struct Frames {
    frames: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Frames {
    /// Adds a frame. Its buffer may hold bytes of an earlier frame.
    pub fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::new());
            u32::try_from(self.frames.len() - 1).expect("a switch has fewer than 2^32 descriptors")
        })
    }

    /// Adds a frame with these bytes.
    pub fn insert(&mut self, bytes: &[u8]) -> u32 {
        let frame = self.add();
        fill(self.bytes(frame), bytes);
        frame
    }

    /// Bytes of a frame.
    pub fn bytes(&mut self, frame: u32) -> &mut Vec<u8> {
        &mut self.frames[frame as usize]
    }

    /// Releases a frame.
    pub fn remove(&mut self, frame: u32) {
        self.free.push(frame);
    }
}

/// Replaces the content of `buffer` with `bytes`.
pub fn fill(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let mut frames = Frames::default();
        let [first, second] = [&b"abc"[..], b"de"].map(|bytes| frames.insert(bytes));
        assert_eq!(frames.bytes(first), b"abc");
        assert_eq!(frames.bytes(second), b"de");
        frames.remove(first);
        assert_eq!(frames.insert(b"f"), first);
        assert_eq!(frames.bytes(first), b"f");
        assert_eq!(frames.add(), 2);
    }
}
