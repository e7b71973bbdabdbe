//! Processor time, user and system: reported beside results, never in them.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Processor time of this process up to now.
pub fn process_time() -> Duration {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of this thread up to now.
pub fn thread_time() -> Duration {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: ClockId) -> Duration {
    clock_gettime(clock).expect("every system has clocks of processor time").into()
}
