//! What the threads that run a live fabric ask of the system.

use std::io;

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

/// The calling thread, and those that it starts as long as this exists, compete as they should.
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

/// By the system call: musl's function of this name refuses, because POSIX means processes by it.
fn set_scheduling(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: 0 is the calling thread, and the kernel reads one number, the priority, which outlives the call.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
