//! What a thread that runs a live fabric asks of the system.

/// A thread's sleeps may end this late, in nanoseconds, so that the system can end several at once. The default is 50 us.
const TIMER_SLACK_NS: libc::c_ulong = 1;
/// Gives a thread its default back.
const DEFAULT_SLACK: libc::c_ulong = 0;
/// The highest priority among ordinary threads.
const HURRIED: libc::c_int = -20;

/// The calling thread, and those that it starts as long as this exists, wake up in time and go before ordinary threads.
/// Where the system refuses that, the fabric is later, and says so.
#[derive(Debug)]
pub struct Hurry {
    niceness: libc::c_int,
}

impl Hurry {
    /// From now on.
    pub fn begin() -> Self {
        // SAFETY: reads a number of the calling thread: on Linux a thread has a priority of its own.
        let niceness = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        set(TIMER_SLACK_NS, HURRIED);
        Self { niceness }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        set(DEFAULT_SLACK, self.niceness);
    }
}

fn set(slack: libc::c_ulong, niceness: libc::c_int) {
    // SAFETY: sets two numbers of the calling thread, and takes no pointer.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, slack, 0, 0, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, niceness);
    }
}
