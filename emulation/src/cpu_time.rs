//! Processor time, user and system: reported beside results, never in them.

use std::time::Duration;

/// Processor time of this process up to now.
pub fn process_time() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of this thread up to now.
pub fn thread_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Duration {
    // SAFETY: all-zero is a valid timespec, and the call fills it.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(clock, &raw mut time);
        time
    };
    let seconds = time.tv_sec.try_into().expect("processor time is not negative");
    Duration::new(seconds, time.tv_nsec.try_into().expect("less than a second"))
}
