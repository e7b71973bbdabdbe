//! Turns at a switch that stands alone.
//!
//! Cells lose no addition, but decisions rely on turns (`cell`). Under the virtual clock the engine makes them. Under the
//! real clock frames arrive on any CPU at any time, so arrivals and departures exclude each other by a lock.
//!
//! eBPF must not wait, so it only tries. If it is not its turn, it leaves the frame alone: the frame goes through the ring
//! as it came in, and user space runs the same pipeline on it when it has the turn. As long as such a frame lies in the
//! ring, eBPF leaves all frames alone. So frames of a port are never overtaken, and a RESUME does not come before its
//! PAUSE. User space waits for its turn: a pipeline takes about a microsecond.

use crate::cell::Sharing;
use crate::map_abi::Turn;

/// Nobody's turn.
const NOBODY: u64 = 0;
/// An arrival in eBPF.
const ARRIVAL: u64 = 1;
/// User space.
const USER_SPACE: u64 = 2;

/// Both sides count the frames that were left alone.
enum BothSides {}

impl Sharing for BothSides {
    const SHARED: bool = true;
}

impl Turn {
    /// Begins an arrival in eBPF; false if the frame has to be left alone.
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

    /// Ends the arrival that has begun.
    #[inline(always)]
    pub fn end_arrival(&self) {
        self.holder.exchange(ARRIVAL, NOBODY);
    }

    /// eBPF puts a frame into the ring that it leaves alone.
    #[inline(always)]
    pub fn leave_alone(&self) {
        self.left_alone.add::<BothSides>(1);
    }

    /// Tries to begin the turn of user space.
    #[inline]
    pub fn try_begin(&self) -> bool {
        self.holder.exchange(NOBODY, USER_SPACE)
    }

    /// Ends the turn of user space.
    #[inline]
    pub fn end(&self) {
        self.holder.exchange(USER_SPACE, NOBODY);
    }

    /// User space has run the pipeline on a frame that was left alone.
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
        // Relaxed loads and stores that lose additions unless they are ordered by turns.
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
