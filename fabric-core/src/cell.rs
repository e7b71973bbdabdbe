//! Cells: the fields of a switch's state, shared by eBPF and user space through mapped memory.
//!
//! In eBPF two CPUs may run the arrival pipeline of one switch at once, so additions are atomic there.
//! User space departs packets only while no frame is being handed to the switch (the engine sends a
//! frame and takes its record before it goes on), so there additions are a plain load and store: a
//! locked instruction per counter would be most of the memory datapath's cost.

#[cfg(target_arch = "bpf")]
mod word {
    use core::cell::UnsafeCell;

    /// A word of map memory. BPF has no 32-bit atomic type in `core`; aligned loads and stores of up to
    /// eight bytes are single there.
    #[repr(transparent)]
    #[derive(Debug, Default, zerocopy::FromBytes)]
    pub struct Word<T>(UnsafeCell<T>);

    // SAFETY: every access is a single aligned load or store, or an atomic addition.
    unsafe impl<T> Sync for Word<T> {}

    impl<T: Copy> Word<T> {
        pub const fn new(value: T) -> Self {
            Self(UnsafeCell::new(value))
        }

        #[inline(always)]
        pub fn load(&self) -> T {
            // SAFETY: the word is valid and aligned.
            unsafe { self.0.get().read_volatile() }
        }

        #[inline(always)]
        pub fn store(&self, value: T) {
            // SAFETY: the word is valid and aligned.
            unsafe { self.0.get().write_volatile(value) }
        }

        #[inline(always)]
        pub fn add(&self, value: T) -> T {
            // LLVM 22 turns a relaxed fetch-and-add on BPF into one that does not fetch.
            // SAFETY: the word is valid and aligned, and every access to it is single.
            unsafe {
                core::intrinsics::atomic_xadd::<T, T, { core::intrinsics::AtomicOrdering::SeqCst }>(
                    self.0.get(),
                    value,
                )
            }
        }
    }
}

macro_rules! cell {
    ($name:ident, $int:ty, $atomic:ty, $doc:literal) => {
        #[doc = $doc]
        #[repr(transparent)]
        #[derive(Debug, Default, zerocopy::FromBytes)]
        pub struct $name(
            #[cfg(target_arch = "bpf")] word::Word<$int>,
            #[cfg(not(target_arch = "bpf"))] $atomic,
        );

        impl $name {
            /// A cell that holds `value`.
            pub const fn new(value: $int) -> Self {
                #[cfg(target_arch = "bpf")]
                {
                    Self(word::Word::new(value))
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    Self(<$atomic>::new(value))
                }
            }

            /// The value now.
            #[inline(always)]
            pub fn load(&self) -> $int {
                #[cfg(target_arch = "bpf")]
                {
                    self.0.load()
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    self.0.load(core::sync::atomic::Ordering::Relaxed)
                }
            }

            /// Replaces the value.
            #[inline(always)]
            pub fn store(&self, value: $int) {
                #[cfg(target_arch = "bpf")]
                {
                    self.0.store(value);
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    self.0.store(value, core::sync::atomic::Ordering::Relaxed);
                }
            }

            /// Adds and returns the sum.
            #[inline(always)]
            pub fn add(&self, value: $int) -> $int {
                #[cfg(target_arch = "bpf")]
                {
                    self.0.add(value).wrapping_add(value)
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    let after = self.load().wrapping_add(value);
                    self.store(after);
                    after
                }
            }

            /// Subtracts and returns the difference.
            #[inline(always)]
            pub fn sub(&self, value: $int) -> $int {
                self.add(value.wrapping_neg())
            }

            /// Raises the value to at least `value`.
            #[inline(always)]
            pub fn raise_to(&self, value: $int) {
                if value > self.load() {
                    self.store(value);
                }
            }
        }
    };
}

cell!(Cell32, u32, core::sync::atomic::AtomicU32, "32 bits of switch state.");
cell!(Cell64, u64, core::sync::atomic::AtomicU64, "64 bits of switch state.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_returns_the_new_value() {
        let cell = Cell64::new(5);
        assert_eq!(cell.add(3), 8);
        assert_eq!(cell.sub(8), 0);
        cell.raise_to(7);
        cell.raise_to(3);
        assert_eq!(cell.load(), 7);
    }
}
