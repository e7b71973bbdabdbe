//! Scheduling of the threads that run a live fabric.

use std::io;

/// Lowest real-time priority: above all ordinary threads.
const MIN_REAL_TIME: libc::c_int = 1;

/// Scheduling priority of a fabric's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Ordinary scheduling: threads may wait some milliseconds for other threads.
    #[default]
    Ordinary,
    /// Real-time scheduling (`SCHED_RR`): the threads run before all ordinary ones. Niceness would not suffice:
    /// where sessions are scheduled as groups, it counts only within the session.
    RealTime,
}

/// Sets the priority of the calling thread, and of threads it starts, until it is dropped.
#[derive(Debug)]
pub struct Hurry {
    priority: Priority,
}

impl Hurry {
    /// Sets the priority.
    pub fn begin(priority: Priority) -> io::Result<Self> {
        if priority == Priority::RealTime {
            set_scheduling(libc::SCHED_RR, MIN_REAL_TIME)?;
        }
        Ok(Self { priority })
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if self.priority == Priority::RealTime {
            // A thread may always become an ordinary one.
            let _ = set_scheduling(libc::SCHED_OTHER, 0);
        }
    }
}

/// Uses the system call directly: musl's function of this name always fails, because POSIX defines it for
/// processes.
fn set_scheduling(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: 0 is the calling thread, and the kernel reads one number, the priority, which outlives the call.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
