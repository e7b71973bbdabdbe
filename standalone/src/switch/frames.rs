//! The frames that a switch holds, by number. Their memory is used again.

/// See the module.
#[derive(Debug, Default)]
pub struct Frames {
    frames: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Frames {
    /// A frame with other bytes in it.
    pub fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::new());
            u32::try_from(self.frames.len() - 1).expect("a switch has fewer than 2^32 descriptors")
        })
    }

    /// A frame of these bytes.
    pub fn insert(&mut self, bytes: &[u8]) -> u32 {
        let frame = self.add();
        fill(self.bytes(frame), bytes);
        frame
    }

    /// Its bytes.
    pub fn bytes(&mut self, frame: u32) -> &mut Vec<u8> {
        &mut self.frames[frame as usize]
    }

    /// Gives it back.
    pub fn remove(&mut self, frame: u32) {
        self.free.push(frame);
    }
}

/// Makes `buffer` hold `bytes`.
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
