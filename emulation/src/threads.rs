//! Number of threads of a run.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::thread;

use scenario::{DatapathKind, Order, Scenario};

use crate::engine::{ThreadUse, load};

/// Number of threads of a run. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread per processor, if there is enough work for them.
    Auto,
    /// This number, but at most one per switch: a switch and its hosts share a thread.
    Exactly(NonZeroUsize),
}

impl fmt::Display for Threads {
    /// In the form of the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Exactly(threads) => threads.fmt(f),
        }
    }
}

impl FromStr for Threads {
    type Err = String;

    /// Parses the text that `Display` writes.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let threads = text.parse().map(Self::Exactly);
        threads.map_err(|_| "a number of threads from 1 on, or `auto`".to_owned())
    }
}

/// Busy windows whose packets are too few for a second thread.
const FEW_WINDOWS: usize = 100;

impl Threads {
    /// One thread.
    pub const ONE: Self = Self::Exactly(NonZeroUsize::MIN);

    pub(crate) fn for_a_run(self, scenario: &Scenario) -> ThreadUse {
        if scenario.order == Order::Insertion {
            return ThreadUse::ONE;
        }
        match self {
            Self::Exactly(threads) => ThreadUse { most: threads.get(), least_frames: 0 },
            Self::Auto => {
                // Passing a window to a thread and back takes some 10 us, a frame 0.2 us in memory and 3 us through
                // the kernel.
                let least_frames = match scenario.datapath.kind {
                    DatapathKind::Kernel => 8,
                    DatapathKind::Memory => 100,
                };
                let nodes = scenario.fabric().nodes().len();
                let frames = load::frames_of_a_busy_window(scenario);
                let by_work = usize::try_from(frames).unwrap_or(usize::MAX) / least_frames;
                // Parts cost a little if one thread runs them all, which happens if windows or runs are too short.
                // `available_parallelism` reads several files, so it is called last.
                let most = match by_work.min(nodes / 4) {
                    0 | 1 => 1,
                    _ if load::has_few_packets(scenario, FEW_WINDOWS * least_frames) => 1,
                    most => thread::available_parallelism().map_or(1, usize::from).min(most),
                };
                ThreadUse { most, least_frames }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const STAR: &str = "[datapath]\nkind = \"memory\"\n[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";

    #[test]
    fn threads_are_as_many_as_there_is_work_for() {
        let scenario = Scenario::parse(STAR, Path::new("star.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let seven = Threads::Exactly(NonZeroUsize::new(7).expect("seven"));
        assert_eq!(seven.for_a_run(&scenario), ThreadUse { most: 7, least_frames: 0 });
        assert_eq!(Threads::Auto.for_a_run(&scenario).most, 1, "three nodes");
        let large = STAR.replace("hosts = 2", "hosts = 200");
        let scenario = Scenario::parse(&large, Path::new("star.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Threads::Auto.for_a_run(&scenario).most, 1, "one packet");
        let large = large.replace("1kB", "10MB");
        let scenario = Scenario::parse(&large, Path::new("star.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let ThreadUse { most, least_frames } = Threads::Auto.for_a_run(&scenario);
        let processors = thread::available_parallelism().map_or(1, usize::from);
        assert_eq!((most, least_frames), (processors.min(50), 100));
    }
}
