//! What the threads that run a live fabric ask of the system.

use std::io;

/// A thread's sleeps may end this late, in nanoseconds, so that the system can end several at once. The default is 50 us.
const TIMER_SLACK_NS: libc::c_ulong = 1;
/// Gives a thread its default back.
const DEFAULT_SLACK: libc::c_ulong = 0;
/// The lowest of the priorities for real time: above all ordinary threads.
const LOWEST_OF_REAL_TIME: libc::c_int = 1;

/// How the threads of a fabric compete with others for the machine's processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// As any thread: they may have to wait until others have had their turn, some milliseconds.
    #[default]
    Ordinary,
    /// Before all ordinary ones (`SCHED_RR`). Niceness would not do: where sessions are scheduled as groups, it counts only
    /// within the session.
    RealTime,
}

/// The calling thread, and those that it starts as long as this exists, sleep no longer than they ask for, and compete as
/// they should.
#[derive(Debug)]
pub struct Hurry {
    priority: Priority,
}

impl Hurry {
    /// From now on.
    pub fn begin(priority: Priority) -> io::Result<Self> {
        if priority == Priority::RealTime {
            set_scheduling(libc::SCHED_RR, LOWEST_OF_REAL_TIME)?;
        }
        set_slack(TIMER_SLACK_NS);
        Ok(Self { priority })
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if self.priority == Priority::RealTime {
            // A thread may always become an ordinary one.
            let _ = set_scheduling(libc::SCHED_OTHER, 0);
        }
        set_slack(DEFAULT_SLACK);
    }
}

fn set_scheduling(policy: libc::c_int, sched_priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: 0 is the calling thread, and the parameters outlive the call.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn set_slack(nanos: libc::c_ulong) {
    // SAFETY: sets a number of the calling thread, and takes no pointer. It cannot be refused.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos, 0, 0, 0) };
}
