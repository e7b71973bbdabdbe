//! Turns between eBPF and user space at a standalone switch.
//!
//! Cells lose no addition, but decisions rely on turns (`cell`). Under the virtual clock the engine alternates the two
//! sides. Under the real clock frames arrive on any CPU at any time, so a lock excludes departures during arrivals.
//!
//! eBPF must not wait, so it only tries to take the turn. If it fails, it leaves the frame alone: the frame goes
//! through the ring unchanged, and user space runs the pipeline on it in its own turn. As long as the ring holds such a
//! frame, eBPF leaves all frames alone. So a port's frames stay in order, and a RESUME never precedes its PAUSE. User
//! space waits for its turn, because a pipeline takes only about a microsecond.

use crate::cell::Sharing;
use crate::map_abi::Turn;

/// The turn is free.
const NOBODY: u64 = 0;
/// An arrival in eBPF has the turn.
const ARRIVAL: u64 = 1;
/// User space has the turn.
const USER_SPACE: u64 = 2;

/// Sharing mode of the count of frames left alone, which both sides change.
enum BothSides {}

impl Sharing for BothSides {
    const SHARED: bool = true;
}

impl Turn {
    /// Begins an arrival in eBPF. Returns false if the frame must be left alone.
    #[inline(always)]
    pub fn begin_arrival(&self) -> bool {
        if !self.holder.exchange(NOBODY, ARRIVAL) {
            return false;
        }
        if self.left_alone.load() == 0 {
            return true;
        }
        self.end_arrival();
        false
    }

    /// Ends an arrival.
    #[inline(always)]
    pub fn end_arrival(&self) {
        self.holder.exchange(ARRIVAL, NOBODY);
    }

    /// Counts a frame that eBPF puts into the ring and leaves alone.
    #[inline(always)]
    pub fn leave_alone(&self) {
        self.left_alone.add::<BothSides>(1);
    }

    /// Tries to begin a turn of user space. Returns true on success.
    #[inline]
    pub fn try_begin(&self) -> bool {
        self.holder.exchange(NOBODY, USER_SPACE)
    }

    /// Ends a turn of user space.
    #[inline]
    pub fn end(&self) {
        self.holder.exchange(USER_SPACE, NOBODY);
    }

    /// Counts a frame that was left alone and that user space has now handled.
    #[inline]
    pub fn catch_up(&self) {
        self.left_alone.sub::<BothSides>(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_at_a_time() {
        let turn = Turn::default();
        assert!(turn.begin_arrival());
        assert!(!turn.begin_arrival() && !turn.try_begin(), "an arrival on another CPU");
        turn.end_arrival();
        assert!(turn.try_begin());
        assert!(!turn.begin_arrival());
        turn.end_arrival();
        assert!(!turn.begin_arrival(), "nobody ends another's turn");
        turn.end();
        assert!(turn.begin_arrival());
    }

    #[test]
    fn all_frames_are_left_alone_behind_one_that_was() {
        let turn = Turn::default();
        turn.leave_alone();
        turn.leave_alone();
        for _ in 0..2 {
            assert!(!turn.begin_arrival());
            assert!(turn.try_begin(), "the arrival has given its turn back");
            turn.catch_up();
            turn.end();
        }
        assert!(turn.begin_arrival());
    }

    #[test]
    fn two_threads_exclude_each_other() {
        const ROUNDS: u32 = if cfg!(miri) { 100 } else { 100_000 };
        let turn = Turn::default();
        // Relaxed loads and stores lose additions unless turns order them.
        let count = crate::cell::Cell64::new(0);
        let work = |begin: fn(&Turn) -> bool, end: fn(&Turn)| {
            for _ in 0..ROUNDS {
                while !begin(&turn) {
                    core::hint::spin_loop();
                }
                count.store(count.load() + 1);
                end(&turn);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| work(Turn::begin_arrival, Turn::end_arrival));
            work(Turn::try_begin, Turn::end);
        });
        assert_eq!(count.load(), 2 * u64::from(ROUNDS));
    }
}
