//! Scheduling of the calling thread, and of threads that it starts.

use std::io;

use nix::errno::Errno;

/// Lowest real-time priority: above all ordinary threads.
const MIN_REAL_TIME: libc::c_int = 1;

/// Makes the thread a real-time thread (`SCHED_RR`) of the lowest priority.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` or a limit on real-time priorities.
pub fn be_real_time() -> io::Result<()> {
    set_scheduling(libc::SCHED_RR, MIN_REAL_TIME)
}

/// Makes the thread an ordinary one. A thread may always become one.
pub fn be_ordinary() -> io::Result<()> {
    set_scheduling(libc::SCHED_OTHER, 0)
}

/// Uses the system call directly: musl's function of this name always fails, because POSIX defines it for
/// processes.
fn set_scheduling(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: 0 is the calling thread, and the kernel reads one number, the priority, which outlives the call.
    let result = unsafe { libc::syscall(call, 0, policy, &raw const priority) };
    Ok(Errno::result(result).map(drop)?)
}
