//! Cells: the fields of a switch's state, shared by eBPF and user space through mapped memory.
//!
//! Two sides may work on cells at once: arrivals in eBPF, on several CPUs, and departures in user space, on one thread.
//! For such tables ([`Sharing::SHARED`]), an addition, a subtraction and a raise are one atomic operation each and
//! return the value that this operation stored. (In eBPF, where loops are bounded, a raise gives up after a few failed
//! attempts.) Tables of a single thread count with a load and a store.
//!
//! # What still relies on turns
//!
//! A standalone switch uses the real clock, so frames arrive at any time. There `turn` provides the
//! turns, with a lock for which arrivals never wait.
//!
//! Atomic additions lose no count. They do not protect a decision that reads a cell and changes a cell later. Under the
//! virtual clock the two sides of a switch take turns: eBPF handles one frame at a time, and user space changes the
//! state only between frames. Only the auditor may run in parallel, on the thread of the next node: it adds, and reads
//! pauses (`PauseState::window`). More parallelism has to solve each problem below.
//!
//! A departure, or the control plane, during an arrival:
//!
//! - **Free slots.** [`slots::take`] moves the stack's pointer and then reads an entry; [`slots::give_back`] writes an
//!   entry and then moves the pointer, by a load and a store. If they overlap, a slot goes to two packets or to none.
//!   Additions order nothing else natively, so a pointer that publishes an entry also needs release and acquire.
//! - **A PAUSE that nobody ends.** In [`pfc::pause`] and [`dsh::two_level`] an arrival finds the queue above `X_off`
//!   and stores OFF. If the queue's last packets depart in between, the departures find it ON and do not resume it, and
//!   the PAUSE is renewed as long as the queue is OFF. After its store, each side must read the other side's cells
//!   again, in sequentially consistent order.
//! - **A PAUSE that is never sent.** In DSH a queue that turns OFF sends no PAUSE while its port is
//!   OFF. If a departure turns the port ON meanwhile, it may have read the queue's state before the
//!   queue turned OFF. Then the neighbour goes on sending.
//! - **Order of hop control frames.** Frames due to an arrival go through the ring of records, frames due to a
//!   departure do not. A RESUME may overtake its PAUSE; the neighbour then waits until the quanta run out.
//! - **The RESUME of a port.** User space reads the pauses of the port's queues again when it sends a RESUME, and
//!   panics if an arrival has turned the port OFF by then (`report_resume` in `switch-user`).
//! - **DSH's insurance.** [`dsh::pools::settle`] moves as many bytes as it has found room for, but
//!   an arrival may have taken that room. It changes six counts one after another, so an arrival
//!   may find the bytes in neither pool.
//! - **SPFC's circuit.** [`reset`] and [`release`] change the paused classes by a load and a store. If an arrival
//!   pauses one class while a departure resumes another, one change is lost: the port stays normal for good, or is a
//!   victim while it pauses. `tick` and `count` of both sides may also begin a period twice, or lose its count.
//! - **Measured headroom.** `set_headroom` in `switch-user` rewrites the configuration, which does not consist of
//!   cells, and computes it from the bytes that queues and pools held a moment before.
//!
//! Arrivals on several CPUs:
//!
//! - **Admission** compares the free room first and charges later. Each further CPU may exceed the
//!   shared pool, and an oversubscribed headroom pool, by a frame.
//! - **State of an ingress port or queue** (its pools, ON and OFF, DSH's averages) is written
//!   without regard to other arrivals at the same port: all frames of a port must stay on one CPU.
//! - **Records.** User space expects the records of a frame's hop control frames right behind the frame's own record.
//!
//! These values may be inexact without harm: the buffer's maximum (a sum of three cells, read one after another), the
//! queue length that DSH measures (also a sum), a random number of the marking (two CPUs may draw the same), and the
//! two ends of a [`PauseState`] (half of a new pause forbids nothing, or begins without its response time).
//!
//! [`PauseState`]: crate::map_abi::PauseState
//! [`dsh::pools::settle`]: crate::scheme::dsh::pools::settle
//! [`dsh::two_level`]: crate::scheme::dsh::two_level
//! [`pfc::pause`]: crate::scheme::pfc::pause
//! [`release`]: crate::scheme::spfc::state::StateLine::release
//! [`reset`]: crate::scheme::spfc::state::StateLine::reset
//! [`slots::give_back`]: crate::slots::give_back
//! [`slots::take`]: crate::slots::take

#[cfg(target_arch = "bpf")]
mod word {
    use core::cell::UnsafeCell;

    /// Max attempts of a raise, because loops in eBPF are bounded. An attempt fails if another CPU changed the word.
    const RAISE_ATTEMPTS: u32 = 8;

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

        /// Adds `value` and returns the previous value.
        #[inline(always)]
        pub fn fetch_add(&self, value: T) -> T {
            // LLVM 22 compiles a relaxed fetch-and-add for BPF to an instruction that does not fetch.
            // SAFETY: the word is valid and aligned, and every access to it is single.
            unsafe {
                core::intrinsics::atomic_xadd::<T, T, { core::intrinsics::AtomicOrdering::SeqCst }>(
                    self.0.get(),
                    value,
                )
            }
        }

        /// Replaces `expected` by `new`, in sequentially consistent order. False if the word held another value.
        #[inline(always)]
        pub fn exchange(&self, expected: T, new: T) -> bool {
            // SAFETY: the word is valid and aligned, and every access to it is single.
            let (_, done) = unsafe {
                core::intrinsics::atomic_cxchg::<
                    T,
                    { core::intrinsics::AtomicOrdering::SeqCst },
                    { core::intrinsics::AtomicOrdering::SeqCst },
                >(self.0.get(), expected, new)
            };
            done
        }

        #[inline(always)]
        pub fn raise(&self, value: T)
        where
            T: PartialOrd,
        {
            let mut found = self.load();
            for _ in 0..RAISE_ATTEMPTS {
                if value <= found {
                    return;
                }
                // SAFETY: as above.
                let (before, done) = unsafe {
                    core::intrinsics::atomic_cxchg::<
                        T,
                        { core::intrinsics::AtomicOrdering::SeqCst },
                        { core::intrinsics::AtomicOrdering::SeqCst },
                    >(self.0.get(), found, value)
                };
                if done {
                    return;
                }
                found = before;
            }
        }
    }
}

/// Mode of access to a switch's cells: shared by two sides, or owned by one thread.
pub trait Sharing {
    /// True if another side may change the cells at the same time. If false, additions use no
    /// locked instruction, which would be most of the memory datapath's cost.
    const SHARED: bool;
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
            /// Creates a cell that holds `value`.
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

            /// Returns the value.
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

            /// Adds `value` and returns the sum.
            #[inline(always)]
            pub fn add<S: Sharing>(&self, value: $int) -> $int {
                if S::SHARED {
                    return self.fetch_add(value).wrapping_add(value);
                }
                let after = self.load().wrapping_add(value);
                self.store(after);
                after
            }

            /// Subtracts `value` and returns the difference.
            #[inline(always)]
            pub fn sub<S: Sharing>(&self, value: $int) -> $int {
                self.add::<S>(value.wrapping_neg())
            }

            /// Raises the cell to at least `value`.
            #[inline(always)]
            pub fn raise_to<S: Sharing>(&self, value: $int) {
                if S::SHARED {
                    self.raise(value);
                } else if value > self.load() {
                    self.store(value);
                }
            }

            /// Replaces `expected` by `new`. Returns false if the cell held another value. After its own exchange, each
            /// side sees the stores that the other side made before its exchange.
            #[inline(always)]
            pub fn exchange(&self, expected: $int, new: $int) -> bool {
                #[cfg(target_arch = "bpf")]
                {
                    self.0.exchange(expected, new)
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    use core::sync::atomic::Ordering::SeqCst;
                    self.0.compare_exchange(expected, new, SeqCst, SeqCst).is_ok()
                }
            }

            #[inline(always)]
            fn fetch_add(&self, value: $int) -> $int {
                #[cfg(target_arch = "bpf")]
                {
                    self.0.fetch_add(value)
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    self.0.fetch_add(value, core::sync::atomic::Ordering::Relaxed)
                }
            }

            #[inline(always)]
            fn raise(&self, value: $int) {
                #[cfg(target_arch = "bpf")]
                {
                    self.0.raise(value);
                }
                #[cfg(not(target_arch = "bpf"))]
                {
                    self.0.fetch_max(value, core::sync::atomic::Ordering::Relaxed);
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

    enum Alone {}
    impl Sharing for Alone {
        const SHARED: bool = false;
    }

    enum Shared {}
    impl Sharing for Shared {
        const SHARED: bool = true;
    }

    fn arithmetic_returns_the_new_value<S: Sharing>() {
        let (narrow, wide) = (Cell32::new(5), Cell64::new(5));
        assert_eq!((narrow.add::<S>(3), wide.add::<S>(3)), (8, 8));
        assert_eq!((narrow.sub::<S>(8), wide.sub::<S>(8)), (0, 0));
        for (value, highest) in [(7, 7), (3, 7), (u32::MAX, u32::MAX), (0, u32::MAX)] {
            narrow.raise_to::<S>(value);
            wide.raise_to::<S>(value.into());
            assert_eq!((narrow.load(), wide.load()), (highest, highest.into()));
        }
        assert_eq!((narrow.add::<S>(2), wide.sub::<S>(1 << 32)), (1, u64::MAX));
    }

    /// Rounds enough for two threads to overlap even on a busy machine.
    const ROUNDS: u32 = if cfg!(miri) { 300 } else { 5_000_000 };

    /// Calls `work` on two threads at once.
    fn on_two_threads(work: impl Fn() + Sync) {
        let start = std::sync::Barrier::new(2);
        let work = || {
            start.wait();
            work();
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
    }

    #[test]
    fn two_threads_lose_nothing() {
        let (narrow, wide) = (Cell32::new(1), Cell64::new(1));
        on_two_threads(|| {
            for _ in 0..ROUNDS {
                narrow.add::<Shared>(3);
                wide.add::<Shared>(1 << 32);
                narrow.sub::<Shared>(2);
                wide.sub::<Shared>(1);
            }
        });
        assert_eq!(narrow.load(), 1 + 2 * ROUNDS);
        assert_eq!(wide.load(), 1 + 2 * u64::from(ROUNDS) * ((1 << 32) - 1));
    }

    /// A cell that a thread has raised never falls below that value.
    #[test]
    fn two_threads_lower_nothing() {
        let (next, narrow, wide) = (Cell32::new(0), Cell32::new(0), Cell64::new(0));
        on_two_threads(|| {
            for _ in 0..ROUNDS {
                let value = next.add::<Shared>(1);
                narrow.raise_to::<Shared>(value);
                wide.raise_to::<Shared>(value.into());
                assert!(narrow.load() >= value && wide.load() >= value.into());
            }
        });
        assert_eq!((narrow.load(), wide.load()), (2 * ROUNDS, 2 * u64::from(ROUNDS)));
    }

    /// Each sum is returned exactly once.
    #[test]
    fn what_an_addition_returns_is_its_own() {
        let (cell, returned) = (Cell64::new(0), Cell64::new(0));
        on_two_threads(|| {
            let sum = (0..ROUNDS).map(|_| cell.add::<Shared>(1)).sum();
            returned.add::<Shared>(sum);
        });
        assert_eq!(returned.load(), (1..=2 * u64::from(ROUNDS)).sum::<u64>());
    }

    #[test]
    fn alone_or_shared_arithmetic_is_the_same() {
        arithmetic_returns_the_new_value::<Alone>();
        arithmetic_returns_the_new_value::<Shared>();
    }
}
