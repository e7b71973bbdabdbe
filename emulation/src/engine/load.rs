//! Load of a fabric's parts in frames per window, and the decision to wake other threads.

use scenario::Scenario;
use units::{Nanos, Picos};

use super::MAX_WINDOW;
use crate::wire_timing::PortTime;

/// The threads that a run uses. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// Maximum number of threads; a switch and its hosts share one.
    pub most: usize,
    /// Min number of frames that each thread besides the first must take over in a window; 0 uses threads in every
    /// window.
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
/// On a long wire, frames are not due within a window as long as the shortest wire. To find the due ones, each
/// window would have to scan all inboxes. So the next window is expected to have as many as recent windows had on
/// average. The average decides: waking threads costs a constant time per window, and saves time in proportion to
/// the frames.
#[derive(Debug)]
pub struct Load {
    parts: Box<[PartLoad]>,
    /// See [`ThreadUse`].
    least_frames: usize,
}

/// The frames of one part.
#[derive(Clone, Copy, Debug, Default)]
struct PartLoad {
    /// Frames taken up to now.
    taken: u64,
    /// Average number of frames per window, in units of 1/[`FRAME`].
    average: usize,
}

impl Load {
    /// The load of parts that have taken nothing.
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

    /// Decides on waking other threads for the next window. `on_their_way` are the frames on their way to each
    /// part, an upper bound of the frames that it takes. The part that takes the most frames needs as long on any
    /// number of threads; the time of the other parts is saved.
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

/// The least time in which a node can affect another: the shortest frame crosses the shortest wire. At least a nanosecond:
/// only events in the order of insertion, which one part runs, can reach a node at once.
pub fn lookahead(scenario: &Scenario) -> Picos {
    let length = scenario.frames.lengths().shortest();
    let (wires, time) = (scenario.fabric().wires().iter(), PortTime::new(scenario));
    let shortest = wires.map(|wire| wire.delay + time.serialise(wire.rate, length)).min();
    shortest.unwrap_or(MAX_WINDOW).clamp(Picos::from_nanos(Nanos(1)), MAX_WINDOW)
}

/// The frames that arrive in a window while all wires are busy with as many ACKs as full packets.
pub fn frames_of_a_busy_window(scenario: &Scenario) -> u64 {
    const PARTS: u64 = 1000;
    let (window, time) = (lookahead(scenario), PortTime::new(scenario));
    let lengths = [scenario.link_frames().longest.0, scenario.frames.lengths().shortest()];
    let wires = scenario.fabric().wires().iter();
    let thousandths = wires.map(|wire| {
        let pair: u64 = lengths.iter().map(|&length| time.serialise(wire.rate, length).0).sum();
        (2 * PARTS * window.0).checked_div(pair).unwrap_or(0)
    });
    thousandths.fold(0, u64::saturating_add) / PARTS
}

/// Returns true if all flows of a scenario together have fewer packets than `few`. Draws no more flows than it needs.
pub fn has_few_packets(scenario: &Scenario, few: usize) -> bool {
    let (payload, mut left) = (scenario.host.payload.0, few as u64);
    scenario.flow_stream().all(|flow| {
        left = left.saturating_sub(flow.bytes.0.div_ceil(payload));
        left > 0
    })
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
        let windows = (1..100).find(|_| {
            load.update([20_000; 2].into_iter());
            !load.is_worth_threads([10_000; 2].into_iter())
        });
        assert!(windows.is_some_and(|windows| (2..10).contains(&windows)), "{windows:?}");
    }

    fn dumbbell(hosts: &str, between: &str) -> Scenario {
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\nleft = 20\nright = 20
host_link = {{ rate = \"100Gbps\", delay = \"{hosts}\" }}
bottleneck = {{ rate = \"100Gbps\", delay = \"{between}\" }}
[switch]\nbuffer = \"200MB\"
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n"
        );
        let scenario = Scenario::parse(&text, std::path::Path::new("load.toml"), &[]);
        scenario.unwrap_or_else(|error| panic!("{error}"))
    }

    /// 82 wires; 60 B and 1074 B take 6.72 ns and 87.84 ns with what surrounds them.
    #[test]
    fn the_shortest_wire_decides_how_much_a_window_holds() {
        for (hosts, between, expected) in
            [("1ns", "50us", 13), ("50us", "1ns", 13), ("1us", "1us", 1745)]
        {
            let frames = frames_of_a_busy_window(&dumbbell(hosts, between));
            assert_eq!(frames, expected, "{hosts}, {between}");
        }
    }
}
