//! The frames that the parts of a fabric take in a window, and when other threads are worth waking for them.

use scenario::Scenario;
use units::Picos;

use super::LONGEST_WINDOW;

/// The threads that a run uses. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// At most so many; a switch and its hosts share one.
    pub most: usize,
    /// Only for windows in which each thread besides the first takes over so many frames; 0: for every window.
    pub least_frames: usize,
}

impl ThreadUse {
    /// One thread.
    pub const ONE: Self = Self { most: 1, least_frames: 0 };
}

/// Frames in the units of an average: it keeps fractions of a frame.
const FRAME: usize = 1 << 8;
/// The part of an average that a window replaces, as a power of two: an eighth.
const WEIGHT: u32 = 3;

/// The frames that each part has taken in recent windows.
///
/// A frame on a long wire is no work of a window that is as long as the shortest wire, and looking for the frames that are
/// due would cost each window a look at all inboxes. So the frames of the next window are those of the last ones, on
/// average: waking threads costs the same for every window, and saves time in proportion to their frames.
#[derive(Debug)]
pub struct Load {
    parts: Box<[PartLoad]>,
    /// See [`ThreadUse`].
    least_frames: usize,
}

/// The frames of one part.
#[derive(Clone, Copy, Debug, Default)]
struct PartLoad {
    /// All until now.
    taken: u64,
    /// In a window, on average, in units of a [`FRAME`]th.
    average: usize,
}

impl Load {
    /// Of so many parts that have taken nothing.
    pub fn new(parts: usize, least_frames: usize) -> Self {
        Self { parts: vec![PartLoad::default(); parts].into(), least_frames }
    }

    /// Ends a window: `taken` are the frames that each part has taken until now.
    pub fn update(&mut self, taken: impl Iterator<Item = u64>) {
        for (part, taken) in self.parts.iter_mut().zip(taken) {
            let frames = usize::try_from(taken - part.taken).unwrap_or(usize::MAX / FRAME);
            part.taken = taken;
            part.average -= part.average >> WEIGHT;
            part.average += (frames * FRAME) >> WEIGHT;
        }
    }

    /// Decides on waking other threads for the next window. `on_their_way` are the frames on their way to each part, which takes
    /// no more. The part that takes most needs as long on any number of threads; the time of the others is saved.
    pub fn is_worth_threads(&self, on_their_way: impl Iterator<Item = usize>) -> bool {
        if self.parts.len() < 2 {
            return false;
        }
        let expected = self.parts.iter().zip(on_their_way);
        let expected = expected.map(|(part, frames)| part.average.min(frames * FRAME));
        let (sum, most) =
            expected.fold((0, 0), |(sum, most), frames| (sum + frames, most.max(frames)));
        sum - most >= (self.parts.len() - 1) * self.least_frames * FRAME
    }
}

/// The least time in which a node can affect another: the shortest frame crosses the shortest wire.
pub fn lookahead(scenario: &Scenario) -> Picos {
    let length = scenario.frames.lengths.shortest();
    let wires = scenario.fabric().wires().iter();
    let shortest =
        wires.map(|wire| wire.delay + scenario.frame_time().serialise(wire.rate, length)).min();
    shortest.unwrap_or(LONGEST_WINDOW).min(LONGEST_WINDOW)
}

/// The frames that arrive in a window at most, if each wire carries the shortest ones back to back.
pub fn most_frames_of_a_window(scenario: &Scenario) -> u64 {
    let window = lookahead(scenario);
    let length = scenario.frames.lengths.shortest();
    let wires = scenario.fabric().wires().iter();
    let frames = wires.map(|wire| {
        let each = scenario.frame_time().serialise(wire.rate, length);
        1 + window.0 / each.0.max(1)
    });
    frames.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parts that take as many frames in each of many windows.
    fn load(least_frames: usize, taken: [u64; 2]) -> Load {
        let mut load = Load::new(2, least_frames);
        for window in 1..=100 {
            load.update(taken.into_iter().map(|frames| frames * window));
        }
        load
    }

    #[test]
    fn frames_on_a_long_wire_are_no_work_of_a_short_window() {
        let flying = [10_000, 10_000];
        assert!(!load(100, [1, 1]).is_worth_threads(flying.into_iter()));
        assert!(!load(100, [98, 98]).is_worth_threads(flying.into_iter()));
        assert!(load(100, [102, 102]).is_worth_threads(flying.into_iter()));
    }

    #[test]
    fn a_window_takes_no_more_than_is_on_its_way() {
        let load = load(100, [1000, 1000]);
        assert!(load.is_worth_threads([100, 100].into_iter()));
        assert!(!load.is_worth_threads([99, 10_000].into_iter()));
    }

    #[test]
    fn threads_save_nothing_where_one_part_has_all_work() {
        assert!(!load(100, [10_000, 50]).is_worth_threads([10_000; 2].into_iter()));
        let mut three = Load::new(3, 100);
        for window in 1..=100 {
            three.update([500, 150, 40].into_iter().map(|frames| frames * window));
        }
        assert!(!three.is_worth_threads([500; 3].into_iter()), "190 are less than 2 x 100");
    }

    #[test]
    fn a_part_alone_wakes_nobody_and_a_fixed_number_of_threads_always_runs() {
        assert!(!Load::new(1, 0).is_worth_threads([1000].into_iter()));
        assert!(Load::new(2, 0).is_worth_threads([0, 0].into_iter()));
    }

    #[test]
    fn work_that_ends_is_forgotten_within_some_windows() {
        let mut load = load(100, [200, 200]);
        let windows = (1..).find(|_| {
            load.update([20_000; 2].into_iter());
            !load.is_worth_threads([10_000; 2].into_iter())
        });
        assert!(windows.is_some_and(|windows| (2..10).contains(&windows)), "{windows:?}");
    }
}
